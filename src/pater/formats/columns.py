"""What the columns of the rows mean: indices as given, hashed names, or the columns of a table.

Knows JSON's types only. Part of the model file, so that a model reads new data as it read its training data.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

INDICES, HASHED, TABLE, ENCODED = "indices", "hashed", "table", "encoded"
NUMBER, CATEGORY, TEXT = "number", "category", "text"
DEFAULT_BITS, MOST_BITS = 18, 30


@dataclass(frozen=True)
class Columns:
    """How features become columns.

    kind
        "indices": column j is feature j of the file. "hashed": names go to 2^bits columns by MurmurHash3. "table": one
        column for each column of a table, in the order of `table`. "encoded": what an encoder makes of a table.
    bits
        Of the hash; 0 where nothing is hashed.
    table
        Name and kind ("number" or "category") of the columns of a table that are features. In an encoded table the kind
        is "text" where the encoder decides what texts are, and "category" only where the caller says so.
    label
        The table's column with the label.
    weight
        The table's column with the importance of a row.
    numeric_labels
        Whether the labels of the table are whole numbers rather than text.
    truths
        Whether labels that are numbers are known to be truth values, so that words for these are read as 1 and 0. Not
        kept in a file, as its classes show it.
    decimal
        The decimal mark in text, a point or a comma, if the caller has given it.
    """

    kind: str = INDICES
    bits: int = 0
    table: tuple[tuple[str, str], ...] = ()
    label: str | None = None
    weight: str | None = None
    numeric_labels: bool = True
    truths: bool = field(default=False, compare=False)
    decimal: str | None = field(default=None, compare=False)

    def to_json(self) -> dict[str, Any]:
        told = {**asdict(self), "table": [list(column) for column in self.table]}
        del told["truths"]
        if self.decimal is None:  # as in older files
            del told["decimal"]
        return told

    @classmethod
    def from_json(cls, value: Any, *, newer: bool = False) -> Columns:
        """The columns that a model file describes; a ValueError if it describes none.

        What a `newer` version of the format adds is left out.
        """
        known = set(cls.__dataclass_fields__) - {"truths"}
        if newer and isinstance(value, dict):
            value = {name: each for name, each in value.items() if name in known}
        if not isinstance(value, dict) or set(value) | {"decimal"} != known:
            raise ValueError("its description of the columns has other fields than this version knows")
        table = value["table"]
        sound = (
            value["kind"] in (INDICES, HASHED, TABLE, ENCODED)
            and type(value["bits"]) is int
            and (1 <= value["bits"] <= MOST_BITS if value["kind"] == HASHED else value["bits"] == 0)
            and isinstance(table, list)
            and (value["kind"] != INDICES or not table)
            and all(isinstance(column, list) and len(column) == 2 for column in table)
            and all(isinstance(name, str) and kind in (NUMBER, CATEGORY, TEXT) for name, kind in table)
            and (value["kind"] == ENCODED or all(kind != TEXT for _, kind in table))
            and (value["kind"] != ENCODED or len(table) > 0)
            and len({name for name, _ in table}) == len(table)
            and (value["kind"] != TABLE or (len(table) > 0 and all(kind == NUMBER for _, kind in table)))
            and all(value[name] is None or isinstance(value[name], str) for name in ("label", "weight"))
            and type(value["numeric_labels"]) is bool
            and value.get("decimal") in (None, ".", ",")
        )
        if not sound:
            raise ValueError("its description of the columns is not sound")
        return cls(**{**value, "table": tuple((name, kind) for name, kind in table)})

    def name_of(self, column: int) -> str | None:
        """What a user calls a column; None if its name was hashed."""
        if self.kind == TABLE:
            return self.table[column][0]
        return str(column) if self.kind == INDICES else None
