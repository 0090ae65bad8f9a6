"""What a learner of an encoded table says of one row, by functions that are kept ready from row to row.

Knows `learner`, `row_batch` and `predict`. What `Learner.margins` and `Learner.probabilities` say of a batch of one row
is said here by the same kernels and to the same bits, in half the time; where it cannot be, they are to be asked.
"""

from __future__ import annotations

from math import isfinite
from typing import Any, NamedTuple

from ..formats.row_batch import RowBatch
from ..kernels.run import Rows
from ..kernels.state import State
from ..models.pool import Pool
from ..models.predict import RowMargins
from ..preprocessing.row_encoding import encode_row
from .learner import Learner


class Said(NamedTuple):
    """The margin of a row, and the probability of the second of two classes, where probabilities are fitted."""

    margin: float
    probability: float | None


class RowAnswers:
    """What is kept ready: good for as long as the same model speaks, with the same arrays."""

    def __init__(self) -> None:
        self._ready: tuple[Any, Any, bool, RowMargins] | None = None

    def __deepcopy__(self, memo: Any) -> RowAnswers:
        return RowAnswers()

    def of(self, learner: Learner, batch: RowBatch) -> Said | None:
        """What is said of a row; None if it has to be asked about as a batch."""
        model, encoder = learner.model, learner.encoder
        if model is None or encoder is None or learner.scaler is not None or batch.cells is None:
            return None
        if model.classes.size != 2 or (len(model.specs) > 1 and not isinstance(model, Pool)):
            return None
        found = encode_row(encoder.encoding, batch.cells, batch.column).rows(encoder.resolution)
        if found.width > model.n_features:  # of columns that came since it has last learned
            return None
        rows = tuple(model.views.of(found, model.level(model.leader)) if isinstance(model, Pool) else found)
        said = self._margins(rows, model.state, average=model.spec.average)
        if said is None:
            return None
        said.ask(rows, *said.to_ask[1:])
        if not isfinite(said.margins.item()):  # the lazy form overflowed where the weights themselves may not
            return None
        if model.state.has_means:
            said.tell(*said.to_tell)
        margin = said.margins.item()
        if not learner.specs[0].calibrate or not isfinite(margin):
            return Said(margin, None) if isfinite(margin) else None
        said.judge(*said.to_judge)
        return Said(margin, said.p.item())

    def _margins(self, rows: Rows, state: State, *, average: bool) -> RowMargins | None:
        ready = self._ready
        if ready is not None and ready[0] is state.vectors and ready[1] is state.scalars and ready[2] == average:
            return ready[3]
        if state.has_means and state.metric != "full" and state.layout != "lanes":
            return None
        said = RowMargins.of(rows, state, average=average)
        self._ready = state.vectors, state.scalars, average, said
        return said
