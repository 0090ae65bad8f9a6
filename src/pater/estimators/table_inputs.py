"""Tables as an encoder takes them: with rows, and with the columns that it knows.

Knows the readers of tables.
"""

from __future__ import annotations

from typing import Any

from ..preprocessing.columns import Table, rows_in
from ..preprocessing.tables import table_of


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
