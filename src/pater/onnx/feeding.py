"""Rows as the inputs of an ONNX model.

Knows how an exported document describes rows, and batches of files.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats.batches import Batch
from ..models.matrices import is_sparse
from .conversion import takes_lists, told_of
from .feeding_tables import encoding_of, of_table
from .matrices import as_numbers


def feed(model: Any, X: Any, *, sparse: bool | None = None) -> dict[str, NDArray[Any]]:
    """The inputs of `to_onnx(model)` for some rows, as an onnxruntime session takes them.

    Parameters
    ----------
    model : estimator, OnlinePipeline, stream.Learner or dict
        As for `to_onnx`.
    X : array-like, sparse matrix, table or stream.Batch
        The rows.
    sparse : bool, optional
        As for `to_onnx`.

    Returns
    -------
    dict of str to ndarray
        An array for each input.

    Examples
    --------
    >>> from pater import Perceptron
    >>> from pater.onnx import feed
    >>> feed(Perceptron().fit([[0.0], [3.0]], ["no", "yes"]), [[4]])
    {'X': array([[4.]])}
    """
    told = told_of(model)["input"]
    if told["kind"] == "table":
        takes_lists(told, sparse)
        return of_table(told, encoding_of(model), X)
    if isinstance(X, Batch):
        X.check_form(to_scale=told.get("means") is not None)
        X = X.X
    return _of_lists(as_numbers(told), X) if takes_lists(told, sparse) else {"X": _matrix(told, X)}


def _matrix(told: dict[str, Any], X: Any) -> NDArray[np.float64]:
    """Rows as a matrix of the model's columns."""
    names = getattr(X, "columns", None)
    if names is not None and told["names"] is not None and list(map(str, names)) != told["names"]:
        raise ValueError(f"the columns are {list(map(str, names))}, but the model has {told['names']}, in this order.")
    array = np.ascontiguousarray(X.toarray() if is_sparse(X) else X, np.float64)
    if array.ndim != 2 or array.shape[1] != told["width"]:
        raise ValueError(f"rows of {told['width']} numbers are wanted, not an array of shape {array.shape}.")
    return array


def _of_lists(told: dict[str, Any], X: Any) -> dict[str, NDArray[Any]]:
    """Rows as the three lists of a CSR matrix."""
    from scipy.sparse import csr_array

    rows = csr_array(X, dtype=np.float64)
    if rows.ndim != 2 or (told["others"] == "error" and rows.shape[1] != told["width"]):
        raise ValueError(f"rows of {told['width']} columns are wanted, not a matrix of shape {rows.shape}.")
    indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    return {"indptr": indptr, "indices": indices, "data": rows.data}
