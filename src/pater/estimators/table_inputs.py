"""Tables as an encoder needs them: with rows, and with the columns that it knows.

Knows the readers of tables, what labels and importances are, and how scikit-learn picks rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from ..models.row_weights import check_weights
from ..preprocessing.columns import Table, rows_in
from ..preprocessing.tables import table_of
from .inputs import not_all_zero, one_column


def table_like(X: Any, names: list[str] | None, taker: str) -> Table:
    """The columns of a table; with `names`, those and no others, in their order."""
    table = table_of(X, names)
    n_rows = rows_in(table)
    for n, what in ((len(table), "feature"), (n_rows, "sample")):
        if not n:
            shape = (len(X) if hasattr(X, "__len__") else n_rows, len(table))
            raise ValueError(f"Found array with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
    if names is None:
        return table
    if not has_names(X) and len(table) != len(names):
        raise ValueError(f"X has {len(table)} features, but {taker} is expecting {len(names)} features as input.")
    absent, new = ([a for a in one if a not in other] for one, other in ((names, table), (table, names)))
    if absent or new:
        what = f"lacks the column {absent[0]!r}" if absent else f"has a column {new[0]!r} that was not there before"
        raise ValueError(f"the table {what}; the encoder knows {names}.")
    return {name: table[name] for name in names}


def has_names(X: Any) -> bool:
    """Whether the columns of a table have names."""
    return hasattr(X, "columns") or hasattr(X, "keys") or (isinstance(X, (list, tuple)) and hasattr(X[0], "keys"))


def that_weigh(X: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    """Rows in any form, labels and weights, without the rows of weight 0, which are ignored."""
    found = np.asarray(weights)
    if found.dtype.kind not in "iufb" or found.ndim != 1 or found.all() or len(y) != found.size:
        return X, y, weights  # if they are wrong, the learner says so
    keep = np.flatnonzero(found)
    return _picked(X, keep), np.asarray(y)[keep], found[keep]


def _picked(X: Any, rows: Any) -> Any:
    if isinstance(X, dict):
        return {name: _safe_indexing(column, rows) for name, column in X.items()}
    return X.take(rows) if hasattr(X, "column_names") else _safe_indexing(X, rows)  # of pyarrow; of all others


def weighing(X: Any, y: Any, params: dict[str, Any], *, some: bool = False) -> tuple[Any, Any, dict[str, Any]]:
    """The same, with the weights, if there are any, among other parameters.

    An error if they are wrong, or if `some` rows must have a weight and none has.
    """
    if params.get("sample_weight") is None:
        return X, y, params
    weights = check_weights(params["sample_weight"], len(one_column(y) if y is None else y), "sample_weight")
    if some:
        not_all_zero(weights)
    if not weights.all():
        X, y, weights = that_weigh(X, one_column(y), weights)
    return X, y, {**params, "sample_weight": weights}
