"""What the columns of a table are, from its header, its first rows, and what the caller says about them.

Knows `csv_blocks`, `csv_cells`, `arrow_files` and `columns`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..preprocessing.values import STYLES, number_in
from . import csv_fields as fields
from .arrow_files import is_number, is_text, is_truth, is_whole
from .columns import CATEGORY, DEFAULT_BITS, ENCODED, HASHED, NUMBER, TABLE, TEXT, Columns
from .csv_blocks import TableBlock
from .csv_cells import Cells
from .errors import Hint, InputError, listed
from .labels import are_truths, label_faults
from .suggestions import DATA_FIRST, label_to_name, looks_like_a_row, no_column

LABELS = ("label", "target", "class", "y")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
INDEX_FIRST, INDEX = ("", "Unnamed: 0"), "__index_level_0__"  # what pandas calls an index without a name


@dataclass(frozen=True)
class Wishes:
    """What a caller may say about a table: its label and importance, what to hash or leave out, and how to read it."""

    label: str | None = None
    weight: str | None = None
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    bits: int | None = None
    delimiter: str | None = None
    decimal: str | None = None
    encoded: bool = False

    def check(self, header: Sequence[str], source: str, label: str | None = None) -> None:
        """Raise an error if a named column does not exist, or if the label is also named for something else."""
        known = set(header)
        if label is not None and label in (self.weight, *self.drop):
            what = "left out" if label in self.drop else "the importance"
            raise InputError(
                f"{source}: column {label!r} is the label, and cannot be {what}; name another with --label."
            )
        for name in (*self.categorical, *self.drop, *([self.weight] if self.weight else [])):
            if name not in known:
                raise no_column(name, header, source)

    @property
    def text(self) -> str:
        """The kind of a column that holds text."""
        return TEXT if self.encoded else CATEGORY

    def left_out(self, label: str, header: Sequence[str], source: str) -> set[str | None]:
        """The columns that are not features: those that the caller names, and the index of a data frame."""
        named = {label, self.weight, *self.drop, *self.categorical}
        index = {name for name in header if name == INDEX or (name == header[0] and name in INDEX_FIRST)} - named
        for name in index:
            what = f"column {name!r} is" if name else "the first column has no name; it seems to be"
            warnings.warn(
                f"{source}: {what} the index of a data frame, and is left out. Write the table without it, by "
                "to_csv(index=False), or give the column a name if it is to be learned from.",
                Hint,
                stacklevel=2,
            )
        return {label, self.weight, *self.drop, *index}


def columns_of_text(block: TableBlock, source: str, wishes: Wishes) -> Columns:
    """The columns of a text table; a column holds numbers if every value in the first block is one."""
    cells = Cells(block, ord(block.delimiter), source)
    label = label_of(wishes.label, block.header, source)
    wishes.check(block.header, source, label)
    if looks_like_a_row(block.header):
        warnings.warn(f"{source}: {DATA_FIRST}, unless {listed(block.header)} are the names.", Hint, stacklevel=2)
    _, kinds = cells.numbers(np.arange(len(block.header)), by_column=True)
    text = (kinds == fields.IS_TEXT).any(axis=0)
    if not wishes.encoded:
        _hint_of_numbers(cells, np.flatnonzero(text).tolist(), source)
    left_out, categorical = wishes.left_out(label, block.header, source), set(wishes.categorical)
    table = [
        (name, CATEGORY if name in categorical else wishes.text if text[j] else NUMBER)
        for j, name in enumerate(block.header)
        if name not in left_out
    ]
    place = block.header.index(label)
    (labels, kind), written = cells.label_numbers(place), cells.texts(place).names
    truths = are_truths(written)
    wrong = label_faults(labels[~np.isnan(labels) & (kind != fields.IS_INFINITE)]).any()
    numeric_labels = truths or not (text[place] or wrong)
    columns = columns_of_table(table, wishes, label, numeric_labels, source)
    return replace(columns, decimal=wishes.decimal, truths=truths)


def _hint_of_numbers(cells: Cells, columns: list[int], source: str) -> None:
    """Warn of numbers that are read as text, as plain columns do; an encoder looks at the texts itself."""
    for j in columns:
        texts, what = [text for text in cells.texts(j).names if text], ""
        if cells.block.decimal == "." and all(map(_DECIMAL_COMMA.fullmatch, texts)):
            what = f"a decimal comma, such as {texts[0] if texts else ''}, which are read as text; say --decimal ,"
        elif all(any(not np.isnan(number_in(text, style)) for style in STYLES) for text in texts):
            long = max(texts, key=len, default="")
            what = f"marks in them, such as {long}, which are read as text; an encoded table (without --scale, --bits "
            what += "and --encoding plain) takes them for numbers."
        if texts and what:
            what = f"{source}: column {cells.block.header[j]!r} holds numbers with {what}"
            warnings.warn(what, Hint, stacklevel=3)


def columns_of_schema(schema: Any, source: str, wishes: Wishes) -> Columns:
    """The columns of Parquet and Arrow, which state them in their schema."""
    label = label_of(wishes.label, schema.names, source)
    wishes.check(schema.names, source, label)
    table: list[tuple[str, str]] = []
    left_out, categorical = wishes.left_out(label, schema.names, source), set(wishes.categorical)
    for column in schema:
        if column.name in left_out:
            continue
        if not is_number(column.type) and not is_text(column.type) and not wishes.encoded:
            raise InputError(
                f"{source}: column {column.name!r} is of type {column.type}, neither a number nor text. "
                f"Leave it out with --drop {column.name!r}."
            )
        kind = NUMBER if is_number(column.type) else wishes.text
        table.append((column.name, CATEGORY if column.name in categorical else kind))
    kind = schema.field(label).type
    return replace(columns_of_table(table, wishes, label, is_whole(kind), source), truths=is_truth(kind))


def columns_of_table(
    table: list[tuple[str, str]], wishes: Wishes, label: str, numeric_labels: bool, source: str
) -> Columns:
    """Encoded if the caller wants it; hashed if a column holds text, or with `bits`; else one column for each."""
    if not table:
        raise InputError(f"{source}: there is no column to learn from beside the label.")
    if wishes.encoded:
        return Columns(ENCODED, 0, tuple(table), label, wishes.weight, numeric_labels)
    needed = any(kind == CATEGORY for _, kind in table)
    bits = wishes.bits if wishes.bits is not None else (DEFAULT_BITS if needed else 0)
    return Columns(HASHED if bits else TABLE, bits, tuple(table), label, wishes.weight, numeric_labels)


def label_of(label: str | None, header: Sequence[str], source: str) -> str:
    """The column that the caller names, else the one called label, target, class or y."""
    if label is not None:
        if label not in header:
            raise no_column(label, header, source)
        return label
    found = [name for name in header if name.lower() in LABELS]
    if len(found) != 1:
        raise label_to_name(header, source, found)
    return found[0]
