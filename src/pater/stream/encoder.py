"""The encoder of a table in front of a learner: batches of raw columns in, batches of encoded rows out.

Knows batches that are `raw` or one row, and `preprocessing/stream_encoder.py`. The first rows are held back until they
show how to encode the columns; the rest of a batch (labels, lines, faults) stays with its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats.batches import Batch
from ..formats.columns import CATEGORY, ENCODED, NUMBER, Columns
from ..formats.errors import Fault, InputError
from ..formats.raw import RawBatch
from ..formats.row_batch import RowBatch
from ..models.differences import check_same
from ..preprocessing.columns import Table
from ..preprocessing.crosses import check_names
from ..preprocessing.encoded import Encoded
from ..preprocessing.encoding import Encoding
from ..preprocessing.encoding_merge import merge_encodings
from ..preprocessing.encoding_state import from_state, to_state
from ..preprocessing.row_encoding import encode_row
from ..preprocessing.settings import RESOLUTIONS, EncodingSettings
from ..preprocessing.shard_encodings import begun_with, without
from ..preprocessing.stream_encoder import Piece, StreamEncoder

Interactions = Sequence[tuple[str, str]] | str | None
Later = Callable[[], list[Batch]]
RESOLUTION = "nested"
FIRST = "fine"  # the resolution of model files that name none


class Encoder:
    """Learns how to encode a table as its rows pass."""

    def __init__(self, stream: StreamEncoder | None = None, resolution: str = RESOLUTION) -> None:
        self.resolution = resolution
        self._stream = stream or StreamEncoder(EncodingSettings())
        self._held: list[RawBatch] = []
        self._loose: list[Fault] = []  # malformed lines of batches that have no row

    @property
    def encoding(self) -> Encoding:
        """What was decided from the first rows."""
        assert self._stream.encoding is not None
        return self._stream.encoding

    @property
    def warm_up(self) -> int:
        """How many rows decide how columns are encoded."""
        return self._stream.settings.warm_up

    @property
    def n_columns(self) -> int:
        """How many columns encoded rows have so far."""
        return self.encoding.width(self.resolution)

    def levels(self) -> NDArray[np.uint8]:
        """How much detail each of the columns so far adds; in a shard, each of those at its start."""
        return self._stream.first_levels(self.resolution)

    def decided_early(self) -> str | None:
        """The warning for whoever continues, if too few rows have decided how to encode."""
        return self._stream.decided_early()

    def over(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """A stream of batches, encoded."""
        for batch in batches:
            yield from self.take(batch)
        yield from self.finish()

    def take(self, batch: Batch) -> list[Batch]:
        """Learn from a batch; return the batches that are ready for the learner: none while rows are held back."""
        return self.learn(batch)()

    def learn(self, batch: Batch) -> Later:
        """Learn from a batch; return a function that writes the rows that are ready, to be called at any time in any
        thread.

        Memory that one thread allocates and another frees goes back to the system, so the thread that needs the rows
        should write them.
        """
        assert isinstance(batch, RawBatch)
        if self._stream.encoding is None and not len(batch):
            self._loose += batch.faults
            return list
        if self._stream.encoding is not None and isinstance(batch, RowBatch) and batch.cells is not None and len(batch):
            return partial(list, [self._row(batch, batch.cells, learn=True)])
        if self._stream.encoding is None:
            self._held.append(batch)
        try:
            pieces = self._stream.take(batch.table, batch.labels, batch.weights, batch.lines)
        except ValueError as error:
            raise InputError(f"{batch.source}: {error}") from None
        return self._later(pieces, self._released(len(pieces)) if self._held else [batch])

    def finish(self) -> list[Batch]:
        """The rows still held back when a stream ends before it is known how to encode it."""
        if not self._held:
            return []
        try:
            pieces = self._stream.settle()
        except ValueError as error:
            raise InputError(f"{self._held[0].source}: {error}") from None
        return self._later(pieces, self._released(len(pieces)))()

    def read(self, batch: Batch) -> Batch:
        """A batch encoded by what is known now, without learning from it; `batch.unread` records what could not be
        read.
        """
        if not isinstance(batch, RawBatch):
            raise InputError(
                f"{batch.source}: the model learned from a table as it is. Read it as the model does, with "
                "stream.read(..., columns=learner.columns)."
            )
        if isinstance(batch, RowBatch) and batch.cells is not None:
            found = self._row(batch, batch.cells, learn=False)
        else:
            encoded = self.encoding.encode(batch.table)
            found = self._batch((encoded, (batch.labels, batch.weights, batch.lines)), batch)
        batch.unread = found.unread
        return found

    def _row(self, batch: RowBatch, cells: Mapping[str, Any], *, learn: bool) -> Batch:
        encoded = encode_row(self.encoding, cells, batch.column, learn=learn)
        return self._batch((encoded, (batch.labels, batch.weights, batch.lines)), batch)

    def _released(self, n_pieces: int) -> list[RawBatch]:
        """The batches of the rows held back, once encoded in `n_pieces` pieces; the last batch may be in two."""
        if not n_pieces:
            return []
        held, self._held = self._held, []
        held[0], self._loose = replace(held[0], faults=[*self._loose, *held[0].faults]), []
        return [*held, *([replace(held[-1], missing=0, faults=[])] if n_pieces > len(held) else [])]

    def _later(self, pieces: list[Piece], of_pieces: list[RawBatch]) -> Later:
        return lambda: [self._batch(piece, batch) for piece, batch in zip(pieces, of_pieces, strict=True)]

    def _batch(self, piece: tuple[Encoded, tuple[Any, ...]], of: RawBatch) -> Batch:
        encoded, (labels, weights, lines) = piece
        unread = encoded.unread
        return Batch(
            encoded.rows(self.resolution),
            encoded.width(self.resolution),
            labels,
            weights,
            source=of.source,
            source_number=of.source_number,
            lines=lines,
            unit=of.unit,
            faults=of.faults,
            missing=of.missing + sum([each.missing for each in unread.values()]),
            end=of.end,
            small=True,  # all but indicators are clipped, or part of a vector of length 1
            unread=unread,
        )

    def names(self) -> list[str]:
        """What the columns of encoded rows stand for."""
        return [feature.name for feature in self.encoding.features(self.resolution)]

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Its content for a model file: JSON and arrays."""
        told, arrays = to_state(self.encoding)
        return {**told, "resolution": self.resolution}, arrays

    @classmethod
    def from_state(cls, told: Any, arrays: Mapping[str, NDArray[Any]], *, newer: bool = False) -> Encoder:
        """The encoder that a model file holds; a ValueError if it holds none.

        What a `newer` version of the format adds is left out.
        """
        told = dict(told or {})
        resolution = told.pop("resolution", FIRST)
        if resolution not in RESOLUTIONS:
            raise ValueError(f"its encoder has a resolution {resolution!r}, which is not known")
        encoding = from_state(told, arrays, newer=newer)
        return cls(StreamEncoder(encoding.settings, encoding), resolution)

    def copy(self) -> Encoder:
        """An independent copy."""
        return Encoder(self._stream.copy(), self.resolution)

    def begun_with(self, tables: Sequence[Table]) -> Encoder:
        """One with the same settings for shards, decided from some rows of the whole, which their shards repeat."""
        try:
            begun = begun_with(tables, self._stream.settings)
        except ValueError as error:
            raise InputError(str(error)) from None
        return Encoder(StreamEncoder.of_shard(begun), self.resolution)

    def of_shard(self) -> Encoder:
        """A copy of an encoder that has begun, for a shard to start from."""
        return Encoder(StreamEncoder.of_shard(self.encoding), self.resolution)

    def without(self, begun: Encoder) -> Encoder:
        """What it has counted since it started as a copy of `begun`, so that merged shards count each row once."""
        encoding = without(self.encoding, begun.encoding)
        return Encoder(StreamEncoder(encoding.settings, encoding), self.resolution)

    def merged(self, other: Encoder) -> tuple[Encoder, NDArray[np.int64]]:
        """The encoder of what both have seen, and the column in it of each column of the other, or −1 for none.

        A `DifferenceError` says what was decided differently.
        """
        check_same([("resolution", other.resolution, self.resolution)])
        encoding, columns = merge_encodings(self.encoding, other.encoding, self.resolution)
        return Encoder(StreamEncoder(encoding.settings, encoding), self.resolution), columns


def new_encoder(columns: Columns, interactions: Interactions = None) -> Encoder | None:
    """An encoder for a table of these columns, with these interactions; None if it is not to be encoded."""
    if columns.kind != ENCODED:
        if interactions:
            raise InputError("interactions are for tables that are encoded, not for plain columns.")
        return None
    try:
        settings = EncodingSettings(interactions=interactions)  # type: ignore[arg-type]
        for name, what in ((columns.label, "label"), (columns.weight, "importance of rows")):
            if settings.interactions != "all" and any(name in pair for pair in settings.interactions):
                raise ValueError(f"{name!r} is the {what}, which cannot be crossed.")
        check_names(settings, [name for name, _ in columns.table])
    except ValueError as error:
        raise InputError(str(error)) from None
    are_numbers = {name: kind == NUMBER for name, kind in columns.table if kind != CATEGORY}
    return Encoder(StreamEncoder(settings, are_numbers=are_numbers))
