"""Dask collections as delayed batches: one for each block of rows, in order.

Knows Dask's collections. Whatever can be checked is checked before anything is computed.
"""

from __future__ import annotations

from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.base import tokenize
from dask.core import flatten
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

from ..estimators.inputs import ENCODE

Blocks = list[tuple[Any, ...]]  # each a tuple of delayed rows, labels and importances, or of one delayed batch of them


def batches_of(X: Any, y: Any, sample_weight: Any, *, is_table: bool) -> Blocks:
    """The blocks of rows with their labels and importances; an error if these do not match."""
    if isinstance(X, list | tuple):
        if y is not None or sample_weight is not None:
            raise TypeError(
                "batches bring their own labels and weights: give a list of delayed (X, y) or (X, y, sample_weight), "
                "and neither y nor sample_weight."
            )
        if not X:
            raise ValueError("X is an empty list: there is nothing to learn from.")
        return [each if isinstance(each, tuple) else (each,) for each in X]
    check_rows(X, is_table=is_table)
    beside = {"y": y, "sample_weight": sample_weight}
    if sample_weight is None:
        del beside["sample_weight"]
    for name, values in beside.items():
        _check_beside(name, values, X)
    if isinstance(X, dd.DataFrame) and all(isinstance(values, dd.Series) for values in beside.values()):
        return _of_frames(X, *beside.values())
    given = [X, *beside.values()]
    of_arrays = iter(_of_arrays(*(each for each in given if isinstance(each, da.Array))))
    parts = [next(of_arrays) if isinstance(each, da.Array) else _of_frame(each) for each in given]
    return list(zip(*parts, strict=True))


def check_rows(X: Any, *, is_table: bool) -> None:
    """Raise an error unless X is a collection of blocks that each have all columns."""
    if isinstance(X, dd.DataFrame):
        _check_columns(X, is_table=is_table)
    elif not isinstance(X, da.Array):
        raise TypeError(
            f"X is a {_called(X)}; it must be a dask array, a dask DataFrame or a list of delayed batches. For data in "
            "memory, call the estimator's own method."
        )
    elif X.ndim != 2:
        raise ValueError(f"X must have rows and columns, but it has {X.ndim} dimension{'s' * (X.ndim != 1)}.")
    elif X.numblocks[1] != 1:
        raise ValueError(
            f"X is cut into {X.numblocks[1]} chunks of columns; a block must have all of them: X.rechunk({{1: -1}})."
        )


def _check_columns(X: Any, *, is_table: bool) -> None:
    """Raise an error if a column is not numeric, unless the estimator encodes tables."""
    if is_table:
        return
    import pandas as pd

    for name, kind in X.dtypes.items():
        if not pd.api.types.is_numeric_dtype(kind):
            raise TypeError(
                f"X must hold numbers, but its column {name!r} has dtype {kind}. {ENCODE} Put one in front: "
                'OnlinePipeline([("table", TableEncoder()), ("model", estimator)]).'
            )


def _check_beside(name: str, values: Any, X: Any) -> None:
    if values is None:
        raise TypeError(f"{name} is None; it must be a dask array or a dask Series, cut like X.")
    if not isinstance(values, da.Array | dd.Series):
        kind = "dask array or a dask Series"
        raise TypeError(f"{name} is a {_called(values)}; it must be a {kind}, cut like X.")
    if values.ndim != 1:
        raise ValueError(f"{name} must be one column, but it has {values.ndim} dimensions.")
    n_blocks, wanted = values.npartitions, X.npartitions
    if n_blocks != wanted:
        raise ValueError(f"X has {wanted} blocks of rows, {name} has {n_blocks}. {_mend(name, X)}")
    if isinstance(X, dd.DataFrame) and isinstance(values, dd.Series):
        both = X.divisions, values.divisions
        if X.known_divisions and values.known_divisions and both[0] != both[1]:
            raise ValueError(
                f"the partitions of X and {name} begin at different places of their index: {both[0]} and {both[1]}. "
                "Take both from one frame, or divide them alike with repartition(divisions=…)."
            )
    if isinstance(X, da.Array) and isinstance(values, da.Array):
        for k, (rows, others) in enumerate(zip(X.chunks[0], values.chunks[0], strict=True)):
            if rows != others and not np.isnan(rows) and not np.isnan(others):
                raise ValueError(f"block {k} of X has {rows} rows, that of {name} has {others}. {_mend(name, X)}")


def _mend(name: str, X: Any) -> str:
    return f"Cut {name} like X: {name}.rechunk((X.chunks[0],))." if isinstance(X, da.Array) else f"Cut {name} like X."


def _called(value: Any) -> str:
    return f"{type(value).__module__.partition('.')[0]} {type(value).__name__}".removeprefix("builtins ")


def _of_frames(X: Any, *beside: Any) -> Blocks:
    """Batches of frames, combined before anything is optimised, so that each partition of a file is read once."""
    together = dd.map_partitions(
        _batch, X, *beside, meta=X._meta, enforce_metadata=False, transform_divisions=False, align_dataframes=False
    )
    return [(batch,) for batch in _of_frame(together)]


def _of_frame(frame: Any) -> list[Delayed]:
    """The partitions, without the last steps of the optimiser, which may reduce their number."""
    return list(frame.simplify().to_delayed(optimize_graph=False))


def _batch(*parts: Any) -> tuple[Any, ...]:
    return parts


def _of_arrays(*arrays: Any) -> list[list[Delayed]]:
    """The blocks of arrays, optimised together, so that what they share is computed once."""
    keys = [list(flatten(each.__dask_keys__())) for each in arrays]
    graph = HighLevelGraph.merge(*(each.__dask_graph__() for each in arrays))
    layer = f"blocks-{tokenize(keys)}"
    made = dict(arrays[0].__dask_optimize__(graph, [key for some in keys for key in some]))
    graph = HighLevelGraph.from_collections(layer, made, dependencies=())
    return [[Delayed(key, graph, layer=layer) for key in some] for some in keys]
