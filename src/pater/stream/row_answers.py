"""Predicting single rows of an encoded table, with functions that are kept ready from row to row.

Knows `learner`, `row_batch` and `predict`. The results are those of `Learner.margins` and `Learner.probabilities` for a
batch of one row, by the same kernels and to the same bits, in half the time. Where this is not possible, use those.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

from ..formats.row_batch import RowBatch
from ..kernels.doors import CheckedRows
from ..kernels.run import Rows
from ..kernels.state import State
from ..models.pool import Pool
from ..models.predict import RowMargins
from ..preprocessing.encoding import Encoding
from ..preprocessing.row_encoding import AskedRow, encode_row
from .encoder import Encoder
from .learner import Learner


class Said(NamedTuple):
    """The margin of a row, and the probability of the second of two classes, where probabilities are fitted."""

    margin: float
    probability: float | None


class RowAnswers:
    """Functions kept ready; valid as long as the same model predicts, with the same arrays."""

    def __init__(self) -> None:
        self._ready: tuple[Any, Any, bool, RowMargins] | None = None
        self._asked: tuple[Encoding | None, AskedRow | None] = None, None

    def __deepcopy__(self, memo: Any) -> RowAnswers:
        return RowAnswers()

    def of(self, learner: Learner, batch: RowBatch) -> Said | None:
        """The prediction of a row; None if it has to be predicted as a batch."""
        model, encoder = learner.model, learner.encoder
        if model is None or encoder is None or learner.scaler is not None or batch.cells is None:
            return None
        pool = model if isinstance(model, Pool) else None
        speaker = model if pool is None else pool.speaker
        if speaker.classes.size != 2 or (pool is None and len(model.specs) > 1):
            return None
        found = self._encoded(encoder, batch)
        if found.width > model.n_features:  # columns were added since the model last learned
            return None
        rows = tuple(found if pool is None else pool.views.of(found, pool.level(pool.leader)))
        state = speaker.state
        said = self._margins(rows, state, average=model.spec.average)
        if said is None:
            return None
        said.ask(rows, *said.to_ask[1:])
        margin = said.margins.item()
        if not isfinite(margin):  # the lazy form overflowed where the weights themselves may not
            return None
        if state.has_means:
            said.tell(*said.to_tell)
            margin = said.margins.item()
        if not learner.specs[0].calibrate or not isfinite(margin):
            return Said(margin, None) if isfinite(margin) else None
        said.judge(*said.to_judge)
        return Said(margin, said.p.item())

    def _encoded(self, encoder: Encoder, batch: RowBatch) -> CheckedRows:
        encoding, cells = encoder.encoding, batch.cells
        assert cells is not None
        if self._asked[0] is not encoding:
            self._asked = encoding, AskedRow.of(encoding, encoder.resolution)
        asked = self._asked[1]
        found = None if asked is None else asked.rows(cells)
        return encode_row(encoding, cells, batch.column).rows(encoder.resolution) if found is None else found

    def _margins(self, rows: Rows, state: State, *, average: bool) -> RowMargins | None:
        ready = self._ready
        if ready is not None and ready[0] is state.vectors and ready[1] is state.scalars and ready[2] == average:
            return ready[3]
        if state.has_means and state.metric != "full" and state.layout != "lanes":
            return None
        said = RowMargins.of(rows, state, average=average)
        self._ready = state.vectors, state.scalars, average, said
        return said
