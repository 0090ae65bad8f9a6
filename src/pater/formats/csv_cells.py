"""The fields of a block of CSV: where they are, what they hold, and what is wrong with them.

Knows `csv_fields`, `csv_numbers`, `csv_blocks`, `csv_headers` and `labels`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import csv_fields as fields
from .csv_blocks import TableBlock
from .csv_headers import HEADER_AGAIN, headers_again
from .csv_numbers import other_numbers, short_numbers
from .errors import Fault, shortened
from .labels import Texts, is_rounded
from .many_bytes import how_many
from .numbers import LARGEST_LABEL

_WRONG = {
    fields.TOO_FEW: "too few fields: the header has {width}",
    fields.TOO_MANY: "too many fields: the header has {width}",
    fields.AFTER_QUOTE: "text after the closing quote of a field",
    fields.OPEN_QUOTE: "a quote is opened and never closed",
    fields.LONE_RETURN: "a carriage return that does not end a line; put text that holds one in quotes",
}


class Cells:
    """The fields of those rows of a block that have as many as the header.

    `malformed` are the other rows. Faults found later in these rows are in `what`, by row: the column of the text and
    the message; their `codes` are not 0.
    """

    def __init__(self, block: TableBlock, delimiter: int, source: str) -> None:
        self.block, self.source, self.text = block, source, np.frombuffer(block.text, np.uint8)
        n_lines, width = how_many(self.text, fields.NEWLINE), len(block.header)
        kind = np.int32 if self.text.size < 1 << 31 else np.int64  # half the memory to go through for each column
        lines, wrong = np.arange(n_lines), np.empty((3, n_lines), np.int64)
        plain = 1 < width <= self.text.size // max(1, n_lines) and b'"' not in block.text and b"\r" not in block.text
        n, n_wrong = n_lines, 0
        starts, ends = (np.empty(n * width * plain + spare, kind) for spare in (fields.SPARE, 0))
        if not (plain and fields.split_plain(self.text, delimiter, width, starts, ends)):
            starts, ends = (np.empty(n_lines + how_many(self.text, delimiter), kind) for _ in range(2))
            n, n_wrong = fields.split(self.text, delimiter, width, starts, ends, lines, wrong)
        self.starts, self.ends = starts[: n * width].reshape(n, width), ends[: n * width].reshape(n, width)
        self.lines, self.codes = lines[:n] + block.first_line, np.zeros(n, np.uint8)
        self.what: dict[int, tuple[int, str]] = {}
        self.malformed = [
            Fault(source, line + block.first_line, column, _WRONG[code].format(width=width))
            for line, column, code in wrong[:, :n_wrong].T.tolist()
        ]
        again = headers_again(self)
        if again.size:
            self.malformed += [Fault(source, line, 0, HEADER_AGAIN) for line in self.lines[again].tolist()]
            self.starts, self.ends, self.lines, self.codes = (
                np.delete(each, again, axis=0) for each in (self.starts, self.ends, self.lines, self.codes)
            )

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def is_utf8(self) -> bool:
        """Whether every text can be decoded without loss."""
        if self.block.text.isascii():  # needs no copy
            return True
        try:
            self.block.text.decode("utf-8")
        except UnicodeDecodeError:
            return False
        return True

    @cached_property
    def with_points(self) -> bytes:
        """The text of the block with a point in every number; delimiters stay."""
        if self.block.decimal == ".":
            return self.block.text
        text = np.where(self.text == ord(","), np.uint8(ord(".")), self.text)
        text[self.ends] = self.text[self.ends]
        return text.tobytes()

    @property
    def faults(self) -> list[Fault]:
        """All malformed rows, in order."""
        here = [Fault(self.source, int(self.lines[r]), *wrong) for r, wrong in self.what.items()]
        return sorted([*self.malformed, *here], key=lambda fault: fault.line)

    def texts(self, j: int) -> Texts:
        """The texts in column j."""
        text, spans = self.block.text, zip(self.starts[:, j].tolist(), self.ends[:, j].tolist(), strict=True)
        rows = (
            text[start:end] if text[start - 1 : start] != b'"' else text[start:end].replace(b'""', b'"')
            for start, end in spans
        )
        return Texts.of(rows, len(self))

    def numbers(
        self, wanted: NDArray[np.int64], *, by_column: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """The numbers of some columns and the kind of each, (rows, wanted), optionally stored column by column."""
        order: Literal["C", "F"] = "F" if by_column else "C"
        values = np.empty((len(self), wanted.size), order=order)
        kinds = np.empty(values.shape, np.uint8, order=order)
        text = self.text if self.block.decimal == "." else np.frombuffer(self.with_points, np.uint8)
        if short_numbers(text, self.starts, self.ends, wanted, self.codes, values.T, kinds.T):
            other_numbers(text, self.starts, self.ends, wanted, values.T, kinds.T)
            for r, k in np.argwhere(kinds == fields.IS_SLOW).tolist():
                j = wanted[k]
                values[r, k] = float(self.with_points[self.starts[r, j] : self.ends[r, j]])
                kinds[r, k] = fields.IS_NUMBER if np.isfinite(values[r, k]) else fields.IS_INFINITE
        return values, kinds

    def label_numbers(self, j: int) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """The numbers of a column of labels and the kind of each; infinity for those that a float cannot hold."""
        all_values, all_kinds = self.numbers(np.array([j]), by_column=True)
        values, kinds = all_values[:, 0], all_kinds[:, 0]
        for r in np.flatnonzero(np.abs(values) == LARGEST_LABEL).tolist():
            if is_rounded(self.with_points[self.starts[r, j] : self.ends[r, j]]):
                values[r] = np.inf
        return values, kinds

    def fault(self, rows: Any, j: int, what: str) -> None:
        """Mark rows as malformed in column j."""
        for r in np.flatnonzero(rows & (self.codes == fields.SOUND)).tolist():
            self.fault_in(r, j, what)

    def fault_in(self, r: int, j: int, what: str) -> None:
        """Mark row r as malformed in column j, unless it is already."""
        if self.codes[r] == fields.SOUND:
            start, end = int(self.starts[r, j]), int(self.ends[r, j])
            line_start = self.block.text.rfind(b"\n", 0, int(self.starts[r, 0])) + 1
            text = shortened(self.block.text[start:end])
            self.what[r] = start - line_start + 1, what.format(name=self.block.header[j], text=text)
            self.codes[r] = fields.WRONG
