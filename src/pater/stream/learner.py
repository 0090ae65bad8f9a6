"""A learner of batches: a model, and what has to be done to a batch before the model sees it.

Knows `model`, `search`, `model_file`, `scaling` and `columns`; knows no file format of data. This is what `pater train`
saves and `pater predict` loads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files import model_file as modelfile
from ..files.container import OF_ANOTHER_KIND
from ..formats.batches import Batch, too_large
from ..formats.columns import INDICES, NUMBER, TABLE, Columns
from ..formats.errors import Fault, InputError
from ..kernels.doors import WEIGHTS_WANTED, check_lengths, check_rows, checked, first_unsound_weight
from ..kernels.pages import zeros
from ..kernels.run import Rows, available_threads
from ..kernels.state import State, TooWideError, triangle_size
from ..models.labels import encode, is_text
from ..models.matrices import part
from ..models.metrics import (
    SCORES,
    accuracy,
    balanced_accuracy,
    false_negative_rate,
    false_positive_rate,
    total_error_rate,
)
from ..models.model import Model, NotFiniteError, UnknownLabelError
from ..models.predict import margins_of, places_of_labels, probabilities
from ..models.search import best, confusion
from ..models.spec import Specs
from ..preprocessing.scaling import Scaler

SMALLEST = 1 << 10  # columns that a model of indices begins with
NOT_FINITE = "its numbers, or those of the model, are so large that what the model says of it is no number"
STATE_TOO_LARGE = "the model's own numbers have become too large to learn from this; scale the features and begin anew."
TOO_LARGE = "its numbers are too large to square and sum; scale the features, for example with --scale"


@contextmanager
def width_told(source: str) -> Iterator[None]:
    """Say of what is too wide for a full covariance how the command line asks for another."""
    try:
        yield
    except TooWideError as error:
        raise InputError(f"{source}: {error.what}; use --covariance diagonal.") from None


@dataclass
class Learner:
    """Learns from batches, predicts them, and can be saved."""

    specs: Specs
    columns: Columns | None = None
    scoring: str = "balanced_accuracy"
    scale: bool = False
    skip: bool = False
    scoring_settings: dict[str, float] | None = None
    model: Model | None = None
    scaler: Scaler | None = None
    rows: int = 0
    skipped: int = 0
    missing: int = 0
    n_features: int = 0
    sources: list[str] = field(default_factory=list)
    threads: int = field(default_factory=available_threads)
    _spoke: tuple[Any, State] | None = field(default=None, init=False, repr=False, compare=False)

    def learn(self, batch: Batch, *, at: Iterable[int] = (), report: Callable[[], None] = lambda: None) -> list[Fault]:
        """Learn from a batch, in order, stopping to `report` after each number of rows in `at`; what was refused."""
        faults = self.prepare(batch)
        if not len(batch):
            return faults
        assert self.model is not None
        assert batch.labels is not None
        ends = [stop - self.rows for stop in at if self.rows < stop < self.rows + len(batch)]
        start = 0
        for stop in [*ends, len(batch)]:
            some, weights = part(batch.rows, start, stop), batch.weights[start:stop]
            try:
                with width_told(batch.source):  # a new class takes room too
                    self.model.learn(some, batch.labels[start:stop], weights=weights, threads=self.threads)
            except UnknownLabelError as error:
                raise InputError(f"{batch.source}: {error}") from None
            except NotFiniteError as error:
                line = _line(batch, start + error.row)
                raise InputError(f"{batch.source}, {batch.unit} {line}: {STATE_TOO_LARGE}") from None
            self.rows += stop - start
            start = stop
            if stop < len(batch):
                report()
        return faults

    def prepare(self, batch: Batch) -> list[Fault]:
        """Make room for a batch, scale it, and leave out what cannot be learned from."""
        self._check_rows(batch)
        if len(batch):
            self._check(batch)
        faults = [] if self.scale else self._refuse(batch)
        if len(batch):
            with width_told(batch.source):
                self._make_room(batch)
        if self.scaler is not None:
            self.scaler(batch.rows, learn=True)
            faults = self._refuse(batch)
        self.skipped += len(faults) + len(batch.faults)
        self.missing += batch.missing
        return faults

    def _check(self, batch: Batch) -> None:
        """Whether the rows of a batch have labels and importances, and fit the model, before anything is touched."""
        if batch.labels is None:
            raise InputError(f"{batch.source}: the rows have no labels to learn from.")
        try:
            check_lengths(batch.rows, batch.labels, batch.weights)
        except ValueError as error:
            raise InputError(f"{batch.source}: {error}") from None
        row = first_unsound_weight(batch.weights)
        if row >= 0:
            raise InputError(
                f"{batch.source}, line {_line(batch, row)}: the importance must be {WEIGHTS_WANTED}, "
                f"got {batch.weights[row]}."
            )
        if self.model is not None and self.model.classes.size and is_text(self.model.classes) != is_text(batch.labels):
            told = f"{batch.labels[0].item()!r}, but the classes so far are {self.model.classes.tolist()}"
            raise InputError(f"{batch.source}, line {_line(batch, 0)}: the label is {told}.")
        width = 0 if self.model is None else self.model.state.n_features
        if len(batch.rows) == 1 and batch.n_features < width:
            raise InputError(f"{batch.source}: the rows have {batch.n_features} columns, but the model has {width}.")

    def _check_rows(self, batch: Batch) -> None:
        """Whether the rows of a batch are sound, and as many columns wide as it says."""
        try:
            rows = check_rows(batch.rows, batch.n_features)
        except ValueError as error:
            raise InputError(f"{batch.source}: {error}") from None
        batch.rows = rows if len(rows) == 1 else checked(rows, batch.n_features)

    def _make_room(self, batch: Batch) -> None:
        labels = batch.labels
        assert labels is not None
        n_features = max(self.n_features, batch.n_features)
        wanted = n_features
        if len(batch.rows) == 3 and (self.columns is None or self.columns.kind == INDICES):
            wanted = max(SMALLEST, 1 << max(0, n_features - 1).bit_length())
        if self.specs[0].family[1] == "full":
            wanted = n_features  # room to spare is too dear in a triangle
        if self.model is None:
            # Two classes may as well be known from the start. Of more, each is added at the row that brings it.
            classes = np.sort(encode(labels, labels[:0]).new.astype(np.str_ if is_text(labels) else np.int64))
            known = classes if classes.size == 2 else classes[:0]
            self.model = Model.new(known, wanted, self.specs)
            self.scaler = Scaler.new(wanted) if self.scale else None
        if self.model.state.n_features < n_features:
            self.model.state = resized(self.model.state, wanted)
            if self.scaler is not None:
                self.scaler.grow(wanted)
        self.n_features = n_features

    def _refuse(self, batch: Batch) -> list[Fault]:
        """Take rows that no pass takes out of a batch, or raise an error for the first."""
        bad = too_large(batch.rows)
        if not bad.any():
            return []
        faults = [Fault(batch.source, _line(batch, r), 0, TOO_LARGE, batch.unit) for r in np.flatnonzero(bad).tolist()]
        if not self.skip:
            raise InputError(str(faults[0]))
        batch.take(~bad)
        return faults

    def go_on_with(self, columns: Columns) -> None:
        """Get ready to learn more, from data of these columns, whatever the model was saved by."""
        self.columns = columns
        self.specs = tuple(spec._replace(watch=True) for spec in self.specs)  # an estimator leaves most unwatched
        self.model = self._fitted().with_specs(self.specs)

    def _fitted(self) -> Model:
        if self.model is None or self.model.classes.size == 0:
            raise InputError("nothing was learned: there was no row to learn from.")
        return self.model

    @property
    def classes(self) -> NDArray[Any]:
        return self._fitted().classes

    def chosen(self) -> list[int]:
        """Which model speaks for each class, or for both of two: the best by its progressive score."""
        model = self._fitted()
        places = best(confusion(model), self.scoring, self.scoring_settings)
        return [int(problem * len(model.specs) + place) for problem, place in enumerate(places)]

    def state(self) -> State:
        """The models that were chosen."""
        return self._fitted().state.some_of(self.chosen())

    def margins(self, batch: Batch) -> NDArray[np.float64]:
        """What the model says of rows: (rows, 1) for two classes, else a column for each class."""
        model = self._fitted()
        self._check_rows(batch)
        rows, width = batch.rows, model.state.n_features
        if len(rows) == 3 and batch.n_features > width:
            rows = _without_columns_from(width, rows)  # of features never seen, a model says nothing
        elif len(rows) == 1 and batch.n_features != width:
            raise InputError(f"{batch.source}: the rows have {batch.n_features} columns, but the model has {width}.")
        if self.scaler is not None:
            rows = tuple(array.copy() for array in rows)
            self.scaler(rows, learn=False)
            rows = rows if len(rows) == 1 else checked(rows, width)
        return margins_of(rows, self._speaker(), average=model.specs[0].average)

    def finite_margins(self, batch: Batch, *, skip: bool) -> NDArray[np.float64]:
        """The margins of a batch; one that is not finite is an error, or with `skip` its row becomes a fault."""
        with np.errstate(over="ignore", invalid="ignore"):
            margins = self.margins(batch)
        bad = np.asarray(~np.isfinite(margins).all(axis=1))
        faults = [Fault(batch.source, _line(batch, r), 0, NOT_FINITE, batch.unit) for r in np.flatnonzero(bad).tolist()]
        if not faults:
            return margins
        if not skip:
            raise InputError(str(faults[0]))
        batch.take(~bad)
        batch.faults = sorted([*batch.faults, *faults], key=lambda fault: fault.line)
        return margins[~bad]

    def _speaker(self) -> State:
        """The models that were chosen, taken out of the others once for as long as nothing is learned."""
        model = self._fitted()
        moment = (id(model), int(model.state.scalars["t"].max()), self.chosen())
        if self._spoke is None or self._spoke[0] != moment:
            self._spoke = (moment, self.state())
        return self._spoke[1]

    def labels(self, margins: NDArray[np.float64]) -> NDArray[Any]:
        """The class of each row of margins."""
        return np.asarray(self.classes[places_of_labels(margins, self.classes.size)])

    def probabilities(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes, fitted along the stream if that was asked for when training began."""
        model = self._fitted()
        if not model.specs[0].calibrate:
            raise InputError("the model has no probabilities: train it with --probabilities.")
        return probabilities(margins, model.state.scalars[self.chosen()], model.classes.size)

    def scores(self) -> dict[str, float]:
        """Progressive scores of the model that predicts; with more than two classes, the mean over the classes."""
        model = self._fitted()
        counts = confusion(model)
        places = best(counts, self.scoring, self.scoring_settings)
        of_best = type(counts)(*(np.take_along_axis(each, places[:, None], axis=1) for each in counts))
        rates = {
            "accuracy": accuracy,
            "balanced_accuracy": balanced_accuracy,
            "fpr": false_positive_rate,
            "fnr": false_negative_rate,
            "ter": total_error_rate,
        }
        return {name: float(rate(of_best).mean()) for name, rate in rates.items()}

    def save(self, path: str | os.PathLike[str], *, progress: dict[str, Any] | None = None) -> None:
        """Write the model file; with `progress`, a checkpoint, which keeps spare columns too."""
        model = self._fitted()
        width = model.state.n_features
        if progress is None and width > self.n_features > 0:
            width = self.n_features
            model = replace(model, state=resized(model.state, width))
        saved = modelfile.Saved(
            model,
            scoring=self.scoring,
            scoring_settings=self.scoring_settings,
            feature_names=[name for name, _ in self.columns.table]
            if self.columns and self.columns.kind == "table"
            else None,
            columns=self.columns.to_json() if self.columns else None,
            counts={"rows": self.rows, "skipped": self.skipped, "missing": self.missing, "features": self.n_features},
            scaler={"rows": self.scaler.rows} if self.scaler else None,
            sources=self.sources,
            progress=progress,
            arrays=self.scaler.arrays(width) if self.scaler else {},
        )
        modelfile.save(path, saved, accept=Learner.from_saved)

    @classmethod
    def from_saved(cls, saved: modelfile.Saved) -> Learner:
        """The learner of a model file; a ValueError if the file describes none."""
        model = saved.model
        columns = Columns.from_json(saved.columns) if saved.columns is not None else _of_matrix(saved)
        width = model.state.n_features
        fixed = {"hashed": 1 << columns.bits, "table": len(columns.table)}.get(columns.kind, width)
        if fixed != width:
            raise ValueError("its columns do not fit its features")
        if columns.table and model.classes.size and is_text(model.classes) == columns.numeric_labels:
            raise ValueError("its classes do not fit its labels")
        if saved.scoring not in SCORES:
            raise ValueError(f"there is no score {saved.scoring!r}")
        if not set(saved.scoring_settings or {}) <= set(SCORES[saved.scoring].settings):
            raise ValueError(f"the score {saved.scoring!r} has other settings")
        scaler = Scaler.from_arrays(saved.scaler, saved.arrays, width) if saved.scaler is not None else None
        n_features = min(saved.counts.get("features", width), width)
        return cls(
            model.specs,
            columns,
            saved.scoring,
            scaler is not None,
            scoring_settings=saved.scoring_settings,
            model=model,
            scaler=scaler,
            n_features=n_features,
            sources=list(saved.sources),
            rows=saved.counts.get("rows", 0),
            skipped=saved.counts.get("skipped", 0),
            missing=saved.counts.get("missing", 0),
        )


def _line(batch: Batch, row: int) -> int:
    """Where a row stands in its source: its line, or its place where lines are not known."""
    return int(batch.lines[row]) if batch.lines.size else int(row) + 1


def _of_matrix(saved: modelfile.Saved) -> Columns:
    """The columns of a model that an estimator has learned from matrices: by name, or else by number."""
    names = saved.feature_names
    if names is None or len(set(names)) < len(names):
        return Columns()
    numeric = not (saved.model.classes.size and is_text(saved.model.classes))
    return Columns(TABLE, table=tuple((name, NUMBER) for name in names), numeric_labels=numeric)


def load(path: str | os.PathLike[str]) -> Learner:
    """The learner that a model file holds."""
    saved = modelfile.load(path)
    try:
        return Learner.from_saved(saved)
    except OF_ANOTHER_KIND as error:
        raise modelfile.ModelFileError(path, f"it is not a sound model file: {str(error)[:200]}.") from None


def resized(state: State, n_features: int) -> State:
    """The same models without the last columns, not copied; or with more columns, which no row has filled yet."""
    axis, width = (2 if state.layout == "split" else 1), state.n_features
    if n_features <= width:
        vectors = state.vectors[:, :, :n_features] if axis == 2 else state.vectors[:, :n_features]
    else:
        vectors = zeros(tuple(n_features if k == axis else n for k, n in enumerate(state.vectors.shape)))
        (vectors[:, :, :width] if axis == 2 else vectors[:, :width])[:] = state.vectors
    if state.second is None:
        return replace(state, vectors=vectors)
    size = triangle_size(state.n_models, n_features)
    second = state.second[:, :size]
    if size > second.shape[1]:
        second = zeros((state.n_models, size))
        second[:, : state.second.shape[1]] = state.second
    return replace(state, vectors=vectors, second=second)


def _without_columns_from(width: int, rows: Rows) -> Rows:
    indptr, indices, data = rows
    known = indices < width
    starts = np.concatenate([[0], np.cumsum(known)])
    return checked((starts[indptr].astype(np.uint32), indices[known], data[known]), width)
