"""A learner of batches: a model, and the preparation of batches for it.

Knows `model`, `pool`, `predict`, `model_file`, `scaling`, `encoder` and `columns`; knows no file format of data. This
is what `pater train` saves and `pater predict` loads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import model_file as modelfile
from ..files.container import OF_ANOTHER_KIND
from ..formats.batches import TOO_LARGE_TO_SCALE, Batch, too_large, too_large_to_scale
from ..formats.columns import INDICES, Columns
from ..formats.errors import Fault, InputError
from ..formats.hashed_names import HashedNames, with_news
from ..kernels.doors import checked
from ..kernels.run import available_threads
from ..kernels.state import State, TooWideError
from ..models.candidates import WIDEST
from ..models.labels import is_text
from ..models.matrices import part
from ..models.metrics import RATES
from ..models.model import Model
from ..models.pool import Pool
from ..models.predict import labels_of, probabilities
from ..models.spec import Specs, is_pool
from ..models.views import NO_LEVELS, Views
from ..preprocessing.scaling import Scaler
from .encoder import Encoder
from .learner_file import parts_of, to_save
from .ready_rows import ready_rows
from .refusals import REFUSALS, refused, too_wide
from .widths import as_before_an_error, by_width, weighing

SMALLEST = 1 << 10  # columns that a model of indices begins with
NOT_FINITE = "its numbers, or those of the model, are so large that its prediction is not finite"
TOO_LARGE = "its numbers are too large to square and sum; scale the features, for example with --scale"
NO_CLASSES = np.zeros(0, np.int64)
Undo = list[Callable[[], None]]


@dataclass
class Learner:
    """Learns from batches, predicts them, and can be saved."""

    specs: Specs
    columns: Columns | None = None
    scoring: str = "balanced_accuracy"
    scale: bool = False
    skip: bool = False
    scoring_settings: dict[str, float] | None = None
    model: Model | Pool | None = None
    scaler: Scaler | None = None
    encoder: Encoder | None = None  # of a table that is encoded before the model sees it
    rows: int = 0
    skipped: int = 0
    missing: int = 0
    n_features: int = 0
    sources: list[str] = field(default_factory=list)
    threads: int = field(default_factory=available_threads)
    names: HashedNames | None = None  # behind hashed columns
    fading: float | None = None  # of the scores by which a pool chooses; None is the default

    def learn(self, batch: Batch, *, at: Iterable[int] = (), report: Callable[[], None] = lambda: None) -> list[Fault]:
        """Learn from a batch, in order, calling `report` after each number of rows in `at`; return what was refused.

        Rows of weight 0 are left out. The batch is not changed. After an error the learner is unchanged.
        """
        batch = weighing(batch, self) if batch.weights.size else batch
        parts = by_width(batch, self) if is_pool(self.specs) else [batch]
        if len(parts) > 1:
            with as_before_an_error(self):
                return [fault for some in parts for fault in self.learn(some, at=at, report=report)]
        with self._all_or_nothing() as undo:
            ready, faults = self.prepare(parts[0], undo)
            if len(ready):
                ends = [stop - self.rows for stop in at if self.rows < stop < self.rows + len(ready)]
                self._learn_in_pieces(ready, ends, report)
        if batch.news is not None and self.columns is not None and self.columns.bits:
            self.names = with_news(self.names, batch.news, self.columns.bits)
        return faults

    def _learn_in_pieces(self, batch: Batch, ends: list[int], report: Callable[[], None]) -> None:
        assert self.model is not None
        assert batch.labels is not None
        start = 0
        try:
            if ends:  # so that what a later piece would be refused for is known before the first
                self.model.encoded(batch.labels)
            for start, stop in pairwise([0, *ends, len(batch)]):
                some, weights = part(batch.rows, start, stop), batch.weights[start:stop]
                self.model.learn(some, batch.labels[start:stop], weights=weights, threads=self.threads, sound=True)
                self.rows += stop - start
                if stop < len(batch):
                    report()
        except REFUSALS as error:
            raise refused(error, batch, start) from None

    @contextmanager
    def _all_or_nothing(self) -> Iterator[Undo]:
        """Undo everything after an error: what the block has noted, and every attribute."""
        owners = [owner for owner in (self, self.model, self.scaler) if owner is not None]
        before = [dict(vars(owner)) for owner in owners]
        undo: Undo = []
        try:
            yield undo
        except BaseException:
            for step in undo:
                step()
            for owner, attributes in zip(owners, before, strict=True):
                vars(owner).update(attributes)
            raise

    def prepare(self, batch: Batch, undo: Undo | None = None) -> tuple[Batch, list[Fault]]:
        """Make room for a batch; return its rows for the model, scaled if set, and what was refused.

        `undo` records how the scaler can forget the batch.
        """
        batch.check_form(to_scale=self.scale)
        ready, faults, model = replace(batch), [], self.model
        if len(ready):
            classes, width = (NO_CLASSES, 0) if model is None else (model.classes, model.n_features)
            ready.check_to_learn(classes, width)
        if not (self.scale or batch.small):
            faults = ready.refuse(too_large(ready.rows), TOO_LARGE, skip=self.skip)
        if len(ready):
            try:
                self._make_room(ready)
            except TooWideError as error:
                raise too_wide(error, ready.source) from None
        if self.scaler is not None:
            faults, forget = self._scale(ready, self.scaler)
            if undo is not None:
                undo.append(forget)
        self.skipped += len(faults) + len(batch.faults)
        self.missing += batch.missing
        return ready, faults

    def _scale(self, batch: Batch, scaler: Scaler) -> tuple[list[Fault], Callable[[], None]]:
        """Scale a batch, each row with the accepted rows up to it; return what was refused, and how to undo it."""
        faults = batch.refuse(too_large_to_scale(batch.rows), TOO_LARGE_TO_SCALE, skip=self.skip)
        while True:
            forget = scaler.way_back(batch.rows)
            rows = scaler.scaled(batch.rows, learn=True)
            bad = too_large(rows)
            if not bad.any():
                batch.rows = rows if len(rows) == 1 else checked(rows, batch.n_features)
                return sorted(faults, key=lambda fault: fault.line), forget
            forget()
            faults += batch.refuse(bad, TOO_LARGE, skip=self.skip)

    def _make_room(self, batch: Batch) -> None:
        labels = batch.labels
        assert labels is not None
        n_features = max(self.n_features, batch.n_features)
        wanted, is_open = n_features, len(batch.rows) == 3 and (self.columns is None or self.columns.kind == INDICES)
        if is_open:
            wanted = max(SMALLEST, 1 << max(0, n_features - 1).bit_length())
        if self.specs[0].family[1] == "full" and not (is_pool(self.specs) and n_features > WIDEST):
            wanted = n_features  # spare room is too expensive in a triangle
        if self.model is None:
            # Each class is added at the row that brings it, so that it does not matter where a stream is cut.
            known = np.zeros(0, np.str_ if is_text(labels) else np.int64)
            if is_pool(self.specs):
                self.model = self._new_pool(known, wanted, more_may_come=is_open or self.encoder is not None)
            else:
                self.model = Model.new(known, wanted, self.specs)
            self.scaler = Scaler.new(wanted) if self.scale else None
        if self.model.n_features < n_features:
            self.model.resize(wanted)
            if self.scaler is not None:
                self.scaler.grow(wanted)
        self.n_features = n_features

    def _new_pool(self, classes: NDArray[Any], n_features: int, *, more_may_come: bool) -> Pool:
        views = Views(n_features, NO_LEVELS if self.encoder is None else self.encoder.levels()[:n_features])
        return Pool.new(classes, views, self.specs, *self.scored_by, fading=self.fading, more_may_come=more_may_come)

    def go_on_with(self, columns: Columns) -> None:
        """Get ready to learn more from data with these columns, whatever the model was saved by."""
        self.columns = columns
        self.specs = tuple(spec._replace(watch=True) for spec in self.specs)  # an estimator leaves most unwatched
        self.model = self._fitted().with_specs(self.specs)

    def _fitted(self) -> Model | Pool:
        if self.model is None or self.model.classes.size == 0:
            raise InputError("nothing was learned: there were no rows to learn from.")
        return self.model

    @property
    def classes(self) -> NDArray[Any]:
        return self._fitted().classes

    def chosen(self) -> list[int]:
        """The model that predicts each class (with two classes, both): the best by its progressive score."""
        return self._fitted().chosen(*self.scored_by)

    @property
    def scored_by(self) -> tuple[str, dict[str, float] | None]:
        """The score by which models are chosen."""
        return self.scoring, self.scoring_settings

    def state(self) -> State:
        """The chosen models; for a pool behind an encoder, with only the columns that its leader sees."""
        return self._fitted().speaking(*self.scored_by)

    def margins(self, batch: Batch) -> NDArray[np.float64]:
        """The margins of rows: (rows, 1) for two classes, else a column for each class."""
        model = self._fitted()
        rows = ready_rows(batch, self.encoder, self.scaler, model.n_features)
        return model.margins(rows, self.scored_by, average=model.spec.average)

    def margins_and_bad(self, batch: Batch) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The margins of a batch, and which of its rows have one that is not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            margins = self.margins(batch)
        return margins, np.asarray(~np.isfinite(margins).all(axis=1))

    def finite_margins(self, batch: Batch, *, skip: bool) -> NDArray[np.float64]:
        """The margins of a batch; one that is not finite is an error, or with `skip` its row becomes a fault."""
        margins, bad = self.margins_and_bad(batch)
        faults = batch.refuse(bad, NOT_FINITE, skip=skip)
        if not faults:
            return margins
        batch.faults = sorted([*batch.faults, *faults], key=lambda fault: fault.line)
        return margins[~bad]

    def labels(self, margins: NDArray[np.float64]) -> NDArray[Any]:
        """The class of each row of margins."""
        return labels_of(margins, self.classes, self.threshold())

    def threshold(self) -> float:
        """The margin from which the second of two classes is predicted."""
        return self._fitted().threshold(self.specs[0].operating_point, *self.scored_by)

    def probabilities(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes, if the model was trained with them."""
        model = self._fitted()
        if not model.specs[0].calibrate:
            raise InputError("the model has no probabilities: train it with --probabilities.")
        scalars, chosen = model.state.scalars, self.chosen()
        scalars = scalars if len(chosen) == scalars.size else scalars[chosen]
        return probabilities(margins, scalars, model.classes.size, average=model.spec.average)

    def probabilities_if_fitted(self, margins: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """The same, or None if the model was trained without."""
        return self.probabilities(margins) if self.specs[0].calibrate else None

    def scores(self) -> dict[str, float]:
        """Progressive scores; with more than two classes, the mean over the classes.

        With probabilities, these include their Brier score and log loss, for each class against the rest.
        """
        counts = self._fitted().progressive(*self.scored_by)
        scores = {name: float(rate(counts).mean()) for name, rate in RATES.items()}
        of_class = self.probability_scores()
        names = of_class[0] if of_class else ()
        return scores | {name: float(np.mean([each[name] for each in of_class])) for name in names}

    def probability_scores(self) -> list[dict[str, float]]:
        """How good the probabilities were before each row was learned from, for each class (of two, the second)."""
        model = self._fitted()
        if not model.specs[0].calibrate:
            return []
        return [
            {name: float(m[name] / m["told"]) if m["told"] > 0 else 0.0 for name in ("brier", "log_loss")}
            for m in model.state.scalars[self.chosen()]
        ]

    def save(self, path: str | os.PathLike[str], *, progress: dict[str, Any] | None = None) -> None:
        """Write the model file; with `progress`, a checkpoint, which keeps spare columns too."""
        modelfile.save(path, to_save(self, self._fitted(), progress), accept=Learner.from_saved)

    @classmethod
    def from_saved(cls, saved: modelfile.Saved) -> Learner:
        """The learner of a model file; a ValueError if the file describes none."""
        return cls(**parts_of(saved))


def load(path: str | os.PathLike[str]) -> Learner:
    """The learner that a model file holds."""
    saved = modelfile.load(path)
    try:
        return Learner.from_saved(saved)
    except OF_ANOTHER_KIND as error:
        raise modelfile.ModelFileError(path, f"it is not a sound model file: {str(error)[:200]}.") from None
