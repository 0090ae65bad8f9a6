"""Tables of any format as pieces of one schema, and a caller's wishes for their columns.

Knows `csv_tables`, `json_conversion`, `formats/arrow.py` and pyarrow. Several files are one table: their columns are
those of the first, in any order, each of a type that holds what all of them hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..formats.arrow import RecordParser
from ..formats.arrow_files import is_text, pyarrow, schema_of
from ..formats.columns import Columns
from ..formats.csv_cells import Cells
from ..formats.delimiters import FIXED
from ..formats.errors import Fault, InputError, MalformedError, Skipped
from ..formats.reading import Input
from ..formats.sources import Source
from ..formats.suggestions import no_column
from .csv_tables import Piece, TextColumns, cells_of, header_line, piece_of, text_of
from .json_conversion import pieces_of_lines, schema_of_lines
from .written_times import as_categories

LINES = "jsonl"


class Tables:
    """Sources that hold tables, read as often as needed."""

    def __init__(self, source: Input) -> None:
        self._sources, self._wishes, self._skip = source.sources, source.wishes, source.skip
        self._names: list[str] = []

    @property
    def are_text(self) -> bool:
        """Whether all of them are CSV or TSV."""
        return all(source.format in FIXED for source in self._sources)

    def schema(self) -> Any:
        """The columns that are wanted, and what they hold in all sources together."""
        pa = pyarrow()
        found: dict[str, Any] = {}
        for source in self._sources:
            held = self._schema_of(source)
            for column in held:
                kind = found.setdefault(column.name, column.type)
                found[column.name] = _common(kind, column.type)
        return pa.schema(list(found.items()))

    def _schema_of(self, source: Source) -> Any:
        pa, wishes = pyarrow(), self._wishes
        if source.format in FIXED:
            columns = TextColumns()
            for cells in cells_of(source, wishes):
                self._refuse(cells.faults)
                columns.look(cells, self._wanted(cells.block.header, source))
            return columns.schema(wishes.categorical)
        whole = schema_of_lines(source, wishes.drop, self._refuse) if source.format == LINES else schema_of(source)
        wanted = self._wanted(whole.names, source)
        kinds = {name: pa.string() if name in wishes.categorical else whole.field(name).type for name in wanted}
        return pa.schema(list(kinds.items()))

    def _wanted(self, header: Sequence[str], source: Source) -> list[str]:
        """The wanted columns of a source; an error unless they are those of the first source."""
        shown, wishes = source.shown, self._wishes
        wishes.check(header, shown)
        if wishes.label is not None and wishes.label not in header:
            raise no_column(wishes.label, header, shown)
        wanted = [name for name in header if name not in wishes.drop]
        if not wanted:
            raise InputError(f"{shown}: no column is left.")
        if not self._names:
            self._names = wanted
        elif set(wanted) != set(self._names):
            for name in self._names:
                if name not in wanted:
                    raise no_column(name, header, shown)
            other = next(name for name in wanted if name not in self._names)
            first = self._sources[0].shown
            raise InputError(f"{shown}: column {other!r} is not in {first}; leave it out with --drop {other!r}.")
        return self._names

    def _refuse(self, faults: Sequence[Fault]) -> None:
        if faults and not self._skip:
            raise MalformedError(faults[0])

    def pieces(self, schema: Any) -> Iterator[Piece]:
        """All rows, as tables of this schema."""
        for source in self._sources:
            for piece in self._pieces_of(source, schema):
                self._refuse(piece.faults)
                yield piece

    def _pieces_of(self, source: Source, schema: Any) -> Iterator[Piece]:
        if source.format in FIXED:
            yield from (piece_of(cells, schema) for cells in cells_of(source, self._wishes))
        elif source.format == LINES:
            yield from pieces_of_lines(source, schema)
        else:
            for block in RecordParser(Columns()).blocks(source, hashed=False):
                lines = np.arange(block.first_line, block.first_line + block.records.num_rows)
                yield Piece(_as(block.records, schema, source.shown), source.shown, lines, "row", [])

    def without(self, piece: Piece, rows: Any, what: str, skipped: Skipped) -> Any:
        """The table of a piece without rows that cannot be written; an error unless such rows are skipped."""
        faults = [Fault(piece.source, int(line), 0, what, piece.unit) for line in piece.lines[rows].tolist()]
        self._refuse(faults)
        skipped.add(faults)
        return piece.table.filter(pyarrow().array(~rows))

    def lines_of_text(self, delimiter: str, skipped: Skipped) -> Iterator[bytes]:
        """Text tables as text with this delimiter: a header, then rows, each field as it is written.

        Numbers with a decimal comma get a point, so that they can be read between commas and tabs.
        """
        begun, with_points = False, set[str]()
        for source in self._sources:
            for cells in cells_of(source, self._wishes):
                if not begun:
                    with_points = self._numbers(cells)
                wanted = self._wanted(cells.block.header, source)
                self._refuse(cells.faults)
                skipped.add(cells.faults)
                if not begun:
                    yield header_line(wanted, delimiter)
                begun = True
                yield text_of(cells, wanted, delimiter, with_points)

    def _numbers(self, cells: Cells) -> set[str]:
        """The columns of numbers that may be written with a comma."""
        if cells.block.decimal != ",":
            return set()
        return {column.name for column in self.schema() if pyarrow().types.is_floating(column.type)}


def _common(one: Any, other: Any) -> Any:
    """A type that holds the values of both."""
    pa = pyarrow()
    types = pa.types
    if one.equals(other) or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    if types.is_integer(one) and types.is_integer(other):
        return pa.int64()
    if all(types.is_integer(kind) or types.is_floating(kind) for kind in (one, other)):
        return pa.float64()
    return pa.string()


def _as(records: Any, schema: Any, source: str) -> Any:
    """Rows of a columnar file as a table of this schema."""
    pa = pyarrow()
    columns = []
    for column in schema:
        values = records.column(column.name)
        try:
            columns.append(values if values.type.equals(column.type) else _cast(values, column.type))
        except pa.ArrowException as error:
            what = str(error).partition("\n")[0]
            raise InputError(f"{source}: column {column.name!r} cannot be {column.type}: {what}") from None
    return pa.Table.from_arrays(columns, schema=schema)


def _cast(values: Any, kind: Any) -> Any:
    types = pyarrow().types
    unlike = types.is_floating(values.type) or types.is_time(values.type) or types.is_duration(values.type)
    return as_categories(values) if unlike and is_text(kind) else values.cast(kind)  # 5, not 5.0
