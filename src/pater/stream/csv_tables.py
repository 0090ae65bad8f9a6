"""Text tables to Arrow tables, and back to text.

Knows `formats/csv_cells.py` and pyarrow. The type of a column is known when all its cells are: numbers that are written
as numbers, truth values, dates and times, else text. What would not come back as it was stays text: 01234, and whole
numbers that neither 64 bits nor a float hold exactly. From text to text every field stays as it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..formats import csv_fields as fields
from ..formats.arrow_files import pyarrow
from ..formats.csv_blocks import table_blocks
from ..formats.csv_cells import Cells
from ..formats.delimiters import FIXED
from ..formats.errors import Fault, InputError
from ..formats.numbers import LARGEST_LABEL
from ..formats.schema import Wishes
from ..formats.sources import Source

_NOT_UTF8 = "it is not UTF-8; write the file as UTF-8, for example with iconv -f LATIN1 -t UTF-8"
_QUOTE, _ZERO, _NINE = b'"09'
_SURELY_EXACT = 15  # digits


class Piece(NamedTuple):
    """Some rows of a source as a table, their line numbers, and what was malformed between them."""

    table: Any
    source: str
    lines: NDArray[np.int64]
    unit: str
    faults: list[Fault]


def cells_of(source: Source, wishes: Wishes) -> Iterator[Cells]:
    """The fields of a file, block by block; text that is not UTF-8 is a fault."""
    delimiter = wishes.delimiter or FIXED[source.format]
    empty = True
    for block in table_blocks(source, delimiter, wishes.decimal, hashed=False):
        empty = False
        cells = Cells(block, ord(block.delimiter), source.shown)
        for r in () if cells.is_utf8 else range(len(cells)):
            for j in range(len(block.header)):
                try:
                    block.text[cells.starts[r, j] : cells.ends[r, j]].decode()
                except UnicodeDecodeError:
                    cells.fault_in(r, j, _NOT_UTF8)
            if cells.codes[r] != fields.SOUND:
                cells.starts[r] = cells.ends[r] = 0  # else pyarrow refuses the whole column
        yield cells
    if empty:
        raise InputError(f"{source.shown} is empty.")


def strings(cells: Cells, j: int, *, quotes: bool = False) -> Any:
    """The texts of a column; with `quotes`, as they are written."""
    pa = pyarrow()
    starts, ends = cells.starts[:, j].astype(np.int64), cells.ends[:, j].astype(np.int64)
    quoted = cells.text[starts - 1] == _QUOTE if len(cells) else np.zeros(0, np.bool_)
    if quotes:
        starts, ends = starts - quoted, ends + quoted
    offsets = np.zeros(len(cells) + 1, np.int32)
    np.cumsum(ends - starts, out=offsets[1:])
    data = cells.text[np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], ends - starts)]
    found = pa.StringArray.from_buffers(len(cells), pa.py_buffer(offsets), pa.py_buffer(data))
    if not quotes and quoted.any() and (data == _QUOTE).any():
        found = _where(quoted, pyarrow(".compute").replace_substring(found, '""', '"'), found)
    return found


def _places(cells: Cells, names: list[str]) -> NDArray[np.int64]:
    where = {name: j for j, name in enumerate(cells.block.header)}
    return np.array([where[name] for name in names], np.int64)


def _where(rows: NDArray[np.bool_], there: Any, elsewhere: Any) -> Any:
    return pyarrow(".compute").if_else(pyarrow().array(rows), there, elsewhere)


@dataclass
class _Held:
    """What the cells of a column can be, by those seen so far."""

    some: bool = False
    numbers: bool = True
    whole: bool = True
    exact: bool = True  # as floats
    others: list[Any] = field(default_factory=list)  # Arrow types that fit all cells

    def type(self) -> Any:
        pa = pyarrow()
        if self.numbers:
            return pa.int64() if self.some and self.whole else pa.float64() if self.exact else pa.string()
        return self.others[0] if self.others else pa.string()


def _other_kinds() -> list[Any]:
    pa = pyarrow()
    return [pa.bool_(), pa.date32(), pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("ns", "UTC")]


class TextColumns:
    """Finds the types of the columns of a file from all its cells."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def look(self, cells: Cells, wanted: list[str]) -> None:
        """Look at the cells of some more rows."""
        places = _places(cells, wanted)
        _, kinds = cells.numbers(places, by_column=True)
        sound = cells.codes == fields.SOUND
        for k, name in enumerate(wanted):
            held = self._held.get(name)
            if held is None:
                held = self._held[name] = _Held(others=_other_kinds())
            there = sound & (kinds[:, k] != fields.IS_MISSING)
            if there.any() and (held.numbers or held.others):
                self._note(held, cells, int(places[k]), there, kinds[:, k])

    def _note(self, held: _Held, cells: Cells, j: int, there: NDArray[np.bool_], kinds: NDArray[np.uint8]) -> None:
        are_text = kinds[there] == fields.IS_TEXT
        held.some = True
        held.numbers = held.numbers and not are_text.any() and not _has_zeros_first(cells, j, there)
        if not are_text.all():
            held.others = []
        if held.numbers:
            held.exact = held.exact and not _are_wide(cells, j, there)
            held.whole = held.whole and _casts(_trimmed(cells, j, there), pyarrow().int64())
        elif held.others:
            texts = _trimmed(cells, j, there)
            held.others = [kind for kind in held.others if _casts(texts, kind)]

    def schema(self, categorical: tuple[str, ...]) -> Any:
        """The types of the columns, after all cells were seen."""
        pa = pyarrow()
        kinds = [(name, pa.string() if name in categorical else held.type()) for name, held in self._held.items()]
        return pa.schema(kinds)


def _has_zeros_first(cells: Cells, j: int, there: NDArray[np.bool_]) -> bool:
    """Whether a number has leading zeros, such as 007, as codes and identifiers do."""
    starts, text = cells.starts[there, j].astype(np.int64), cells.text
    starts = starts + np.isin(text[starts], (fields.PLUS, fields.MINUS))
    after = text[np.minimum(starts + 1, text.size - 1)]  # no digit ends a field
    return bool(((text[starts] == _ZERO) & (after >= _ZERO) & (after <= _NINE)).any())


def _are_wide(cells: Cells, j: int, there: NDArray[np.bool_]) -> bool:
    """Whether there is a whole number that a float does not hold exactly."""
    starts, ends = cells.starts[there, j], cells.ends[there, j]
    for k in np.flatnonzero(ends - starts > _SURELY_EXACT).tolist():
        text = cells.block.text[starts[k] : ends[k]].strip().lstrip(b"+-")
        if text.isdigit() and (len(text) > 18 or int(text) > LARGEST_LABEL):
            return True
    return False


def _trimmed(cells: Cells, j: int, there: NDArray[np.bool_]) -> Any:
    """The texts of a column without surrounding blanks and plus signs; None where a cell is missing."""
    pc = pyarrow(".compute")
    texts = pc.utf8_trim(strings(cells, j), " \t")
    texts = pc.if_else(pc.starts_with(texts, "+"), pc.utf8_ltrim(texts, "+"), texts)
    return _where(there, texts, None)


def _casts(texts: Any, kind: Any) -> bool:
    """Whether all texts can be cast to a type without loss: a time in a zone other than UTC would lose its clock."""
    pa, pc = pyarrow(), pyarrow(".compute")
    if pa.types.is_timestamp(kind) and kind.tz and not pc.all(pc.ends_with(texts, "Z")).as_py():
        return False
    try:
        texts.cast(kind)
    except pa.ArrowException:
        return False
    return True


def piece_of(cells: Cells, schema: Any) -> Piece:
    """The rows of a block as a table of this schema."""
    pa = pyarrow()
    places = _places(cells, schema.names)
    values, kinds = cells.numbers(places, by_column=True)
    keep = cells.codes == fields.SOUND
    columns = []
    for k, column in enumerate(schema):
        there = keep & (kinds[:, k] != fields.IS_MISSING)
        if pa.types.is_string(column.type):
            columns.append(strings(cells, int(places[k])))
        elif pa.types.is_floating(column.type):
            infinite = kinds[:, k] == fields.IS_INFINITE
            if infinite.any():
                values[infinite, k] = [float(text) for text in _bytes_of(cells, int(places[k]), infinite)]
            columns.append(pa.array(values[:, k], column.type, mask=~there))
        else:
            columns.append(_trimmed(cells, int(places[k]), there).cast(column.type))
    table = pa.Table.from_arrays(columns, schema=schema)
    lines = cells.lines
    if not keep.all():
        table, lines = table.filter(pa.array(keep)), lines[keep]
    return Piece(table, cells.source, lines, "line", cells.faults)


def _bytes_of(cells: Cells, j: int, rows: NDArray[np.bool_]) -> Iterator[bytes]:
    return (cells.block.text[cells.starts[r, j] : cells.ends[r, j]] for r in np.flatnonzero(rows).tolist())


def text_of(cells: Cells, wanted: list[str], delimiter: str, with_points: set[str]) -> bytes:
    """The rows of a block as text with another delimiter; some columns with decimal points instead of commas."""
    pa, pc = pyarrow(), pyarrow(".compute")
    keep = cells.codes == fields.SOUND
    columns = []
    for name, j in zip(wanted, _places(cells, wanted).tolist(), strict=True):
        texts = strings(cells, j, quotes=True)
        if name in with_points and cells.block.decimal == ",":
            texts = pc.replace_substring(texts, ",", ".")
        quoted = pc.starts_with(texts, '"')
        odd = pc.or_(pc.match_substring(texts, delimiter), pc.match_substring(texts, '"'))
        odd = pc.and_(odd, pc.invert(quoted))
        if pc.any(odd).as_py():
            texts = pc.if_else(odd, as_quoted(texts), texts)
        columns.append(texts)
    lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*columns, delimiter), "", "\n")
    if not keep.all():
        lines = lines.filter(pa.array(keep))
    return "".join(lines.to_pylist()).encode()


def as_quoted(texts: Any) -> Any:
    """Texts in quotes, with quotes inside doubled."""
    pc = pyarrow(".compute")
    return pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")


def header_line(names: list[str], delimiter: str) -> bytes:
    """The first line of a table of text."""
    odd = ('"', delimiter, "\n", "\r")
    shown = [f'"{name.replace(chr(34), chr(34) * 2)}"' if any(c in name for c in odd) else name for name in names]
    return (delimiter.join(shown) + "\n").encode()
