"""What the columns of a table are: by its header, its first rows, and what the caller says of them.

Knows `csv`, `arrow` and `columns`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import csv_fields as fields
from .arrow import is_number, is_text, is_whole
from .columns import CATEGORY, DEFAULT_BITS, HASHED, NUMBER, TABLE, Columns
from .csv import Cells, TableBlock
from .errors import InputError, listed
from .labels import label_faults

LABELS = ("label", "target", "class", "y")


@dataclass(frozen=True)
class Wishes:
    """What a caller may say of a table: its label and importance, what to hash, what to leave out."""

    label: str | None = None
    weight: str | None = None
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    bits: int | None = None

    def check(self, header: Sequence[str], source: str) -> None:
        known = set(header)
        for name in (*self.categorical, *self.drop, *([self.weight] if self.weight else [])):
            if name not in known:
                raise InputError(f"{source}: there is no column {name!r}; the header names {listed(header)}.")

    def left_out(self, label: str) -> set[str | None]:
        """The columns that are no features."""
        return {label, self.weight, *self.drop}


def columns_of_text(block: TableBlock, source: str, delimiter: str, wishes: Wishes) -> Columns:
    """A column is one of numbers if every value of the first block is."""
    cells = Cells(block, ord(delimiter), source)
    label = label_of(wishes.label, block.header, source)
    wishes.check(block.header, source)
    values, kinds = cells.numbers(np.arange(len(block.header)))
    text = (kinds == fields.IS_TEXT).any(axis=0)
    left_out, categorical = wishes.left_out(label), set(wishes.categorical)
    table = [
        (name, CATEGORY if name in categorical or text[j] else NUMBER)
        for j, name in enumerate(block.header)
        if name not in left_out
    ]
    place = block.header.index(label)
    labels = values[:, place]
    numeric_labels = not text[place] and not label_faults(labels[np.isfinite(labels)]).any()
    return _columns(table, wishes, label, numeric_labels, source)


def columns_of_schema(schema: Any, source: str, wishes: Wishes) -> Columns:
    """Parquet and Arrow say themselves what their columns are."""
    label = label_of(wishes.label, schema.names, source)
    wishes.check(schema.names, source)
    table: list[tuple[str, str]] = []
    left_out, categorical = wishes.left_out(label), set(wishes.categorical)
    for column in schema:
        if column.name in left_out:
            continue
        if not is_number(column.type) and not is_text(column.type):
            raise InputError(
                f"{source}: column {column.name!r} is of type {column.type}, neither a number nor text. "
                f"Leave it out with --drop {column.name!r}."
            )
        text = column.name in categorical or not is_number(column.type)
        table.append((column.name, CATEGORY if text else NUMBER))
    return _columns(table, wishes, label, is_whole(schema.field(label).type), source)


def _columns(table: list[tuple[str, str]], wishes: Wishes, label: str, numeric_labels: bool, source: str) -> Columns:
    """Hashed if there is a column of text, or if the caller wants it; else a column each."""
    if not table:
        raise InputError(f"{source}: there is no column to learn from beside the label.")
    needed = any(kind == CATEGORY for _, kind in table)
    bits = wishes.bits if wishes.bits is not None else (DEFAULT_BITS if needed else 0)
    return Columns(HASHED if bits else TABLE, bits, tuple(table), label, wishes.weight, numeric_labels)


def label_of(label: str | None, header: Sequence[str], source: str) -> str:
    """The column that the caller names, else the one that is called label, target, class or y."""
    if label is not None:
        if label not in header:
            raise InputError(f"{source}: there is no column {label!r}; the header names {listed(header)}.")
        return label
    found = [name for name in header if name.lower() in LABELS]
    if len(found) != 1:
        raise InputError(f"{source}: say which column is the label with --label; the header names {listed(header)}.")
    return found[0]
