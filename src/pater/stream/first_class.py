"""The rows of a stream up to its second class, so that how it is cut leaves no trace.

Knows what a learner learns with. Two classes are best known from the start: a row of which a model says nothing yet is
counted as one of the second class, which is not known before it comes. So a model that began with one class is made
anew when the second comes, from the same rows, if they are few. Where they are many, each class is added at the row
that brings it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..formats.batches import Batch
from ..models.choice import JudgedBy
from ..models.labels import encode, is_text
from ..models.model import Model
from ..models.new_model import new_model
from ..models.pool import Pool
from ..models.spec import Specs
from ..models.views import Views

FEW = 1 << 12  # rows of the first class


@dataclass(frozen=True)
class FirstClass:
    """What a model began with, and the rows that it has learned from since, each batch with the columns it had."""

    views: Views
    specs: Specs
    judged_by: JudgedBy
    more_may_come: bool
    batches: tuple[tuple[Batch, int], ...] = ()
    rows: int = 0

    def model(self, labels: NDArray[np.generic]) -> tuple[Model | Pool, FirstClass | None]:
        """A model for a stream that begins with these labels; and itself, if they are of one class so far."""
        encoded = encode(labels, labels[:0])
        known = encoded.new[:2].astype(np.str_ if is_text(labels) else np.int64)
        both = known.size == 2 and encoded.first_rows[1] <= FEW
        model = self._new(np.sort(known) if both else known[:0])
        return model, None if known.size == 2 else self

    def _new(self, known: NDArray[np.generic]) -> Model | Pool:
        return new_model(known, self.views, self.specs, self.judged_by, more_may_come=self.more_may_come)

    def then(self, batch: Batch, width: int, threads: int) -> tuple[Model | Pool | None, FirstClass | None]:
        """One more batch, before it is learned: a model that is made anew, and itself if there is one class still."""
        assert batch.labels is not None
        first = self.batches[0][0].labels if self.batches else batch.labels
        assert first is not None
        others = np.flatnonzero(batch.labels != first[0])
        if not others.size:
            rows = self.rows + len(batch)
            return None, replace(self, batches=(*self.batches, (batch, width)), rows=rows) if rows <= FEW else None
        if self.rows + others[0] > FEW:
            return None, None
        labels = np.array([first[0], batch.labels[others[0]]])
        model = self._new(np.sort(labels.astype(np.str_ if is_text(labels) else np.int64)))
        for some, columns in (*self.batches, (None, width)):
            if model.n_features < columns:
                model.resize(columns)
            if some is not None:
                assert some.labels is not None
                model.learn_encoded(some.rows, model.encoded(some.labels), weights=some.weights, threads=threads)
        return model, None
