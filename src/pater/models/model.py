"""A learner of labelled rows: which classes there are, and a one-vs-rest model for each.

Knows `run`, `state`, `labels`, `matrices`, `state_operations` and `doors`; knows neither scikit-learn nor files.
Estimators and the command line are two faces of this.

Two classes need one model, with the second class as +1. Three or more have a model each, the class against the rest. A
class that turns up later is added before the row that brings it: of one class or two, the model of either is the mirror
image of the other, so nothing is lost in going over to three; the model of the new class starts empty at that row.
"""

from __future__ import annotations

import itertools
import warnings
from bisect import bisect_right
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.doors import check_lengths
from ..kernels.run import IN_ORDER, NOTHING, Rows, available_threads, layout_for, learn
from ..kernels.state import COUNTS, State, triangle_size
from .history import History
from .labels import Encoded, encode
from .matrices import STATE_NOT_FINITE, first_bad_row, part, row_is_bad
from .spec import Specs, positives, settings_of
from .state_operations import among, averaging, joined, merged, mirrored, remembering

MANY_CLASSES = 100


class ManyClassesWarning(UserWarning):
    """So many classes that the labels may not be what was meant."""


def _warn_of_many(before: int, after: int) -> None:
    if before < MANY_CLASSES <= after:
        warnings.warn(
            f"there are {after} classes so far. Each has a model of its own: time and memory grow with their number. "
            "If the labels are numbers to be estimated, or names of rows, they are no classes.",
            ManyClassesWarning,
            stacklevel=2,
        )


class BadRowError(ValueError):
    """A row that no pass takes, by its place in the rows."""

    def __init__(self, rows: Rows, row: int) -> None:
        super().__init__(f"row {row} holds a NaN, an infinity or a number too large")
        self.rows, self.row = rows, row


class NotFiniteError(ValueError):
    """Weights that are no numbers any more, found when a sound row was to be learned from."""

    def __init__(self, row: int) -> None:
        super().__init__(STATE_NOT_FINITE.format(row=row))
        self.row = row


class OtherModelsError(ValueError):
    """Settings that what was learned cannot go on with."""

    def __init__(self, names: list[str], todo: str = "fit again without warm_start") -> None:
        super().__init__(
            f"the parameters ask for other models than have been learned: {' and '.join(names)} cannot change between "
            f"calls. Set the parameters back, or {todo}."
        )
        self.names = names


class UnknownLabelError(ValueError):
    """A label outside the classes that were fixed."""

    def __init__(self, label: Any, row: int, classes: NDArray[Any]) -> None:
        super().__init__(
            f"y contains the label {label!r} in row {row}, which is not among the classes that were fixed: "
            f"{classes.tolist()}."
        )


def _ranks(labels: NDArray[Any]) -> NDArray[np.intp]:
    return np.argsort(np.argsort(labels, kind="stable"), kind="stable")


def _unlike(before: Specs, after: Specs) -> list[str]:
    """The parameters in which these settings ask for other models: what was learned means something else to them."""
    if len(before) != len(after):
        return ["variants", "weights"]
    names = []
    if len(before) > 1 and any((a.rule, a.alphas) != (b.rule, b.alphas) for a, b in zip(before, after, strict=True)):
        names = ["variants", "weights"]
    for a, b in zip(before, after, strict=True):
        names += ["covariance"] * (a.family != b.family)
        names += ["form"] * (a.form != b.form)
        names += ["fit_intercept"] * (a.intercept != b.intercept)
        names += ["probability"] * (b.calibrate and not a.calibrate)
    return list(dict.fromkeys(names))


def _bad_row(rows: Rows, row: int) -> BadRowError | NotFiniteError:
    """What to say of a row that a pass has stopped at: a sound one is not to blame."""
    return BadRowError(rows, row) if row_is_bad(rows, row) else NotFiniteError(row)


@dataclass
class Model:
    """Classes in sorted order and the state of their models; `fixed` when no other class may turn up.

    With several specs there are as many models of each class, learned side by side.
    """

    classes: NDArray[Any]
    state: State
    specs: Specs
    fixed: bool = False
    history: History | None = None  # kept when there are several specs to compare

    @classmethod
    def new(cls, classes: NDArray[Any], n_features: int, specs: Specs, *, fixed: bool = False) -> Model:
        _warn_of_many(0, classes.size)
        n_models = len(positives(classes.size)) * len(specs)
        means, metric = specs[0].family
        state = State.new(n_models, n_features, means=means, metric=metric, group=len(specs))
        return cls(classes, state, specs, fixed, History() if len(specs) > 1 else None)

    def copy(self) -> Model:
        history = self.history.copy() if self.history is not None else None
        return replace(self, state=self.state.copy(), history=history)

    def with_specs(self, specs: Specs) -> Model:
        """The same model, to go on with these settings; an `OtherModelsError` if it cannot."""
        state = self.state
        if specs is not self.specs and specs != self.specs:
            names = _unlike(self.specs, specs)
            if names:
                raise OtherModelsError(names)
            before, after = self.specs[0], specs[0]  # in these all specs of a learner agree
            if before.forgetting < 1 and after.forgetting == 1:
                state = remembering(state)
            if after.average and not before.average:
                state = averaging(state)
        return Model(self.classes, state, specs, self.fixed, self.history)

    def settings(self) -> NDArray[np.void]:
        return settings_of(self.specs, tuple(self.classes.tolist()))

    def add_class(self, label: Any) -> None:
        """Make room for one more class."""
        labels = np.append(self.classes, np.asarray([label]))
        place = int(np.argsort(labels, kind="stable").tolist().index(self.classes.size))
        width, state = len(self.specs), self.state
        if state.metric == "full":
            triangle_size(len(positives(labels.size)) * width, state.n_features)  # an error before anything is made
        empty = state.empty(width)
        if self.classes.size == 0:
            self.state = empty
        elif self.classes.size == 1:
            self.state = state if place == 0 else self._other_side()
        else:
            each = joined([self._other_side(), state]) if self.classes.size == 2 else state
            self.state = joined([each.some(0, place * width), empty, each.some(place * width, each.n_models)])
        self.classes = np.sort(labels)

    def add_classes(self, labels: NDArray[Any]) -> None:
        """Make room for more classes. From three on, another changes no model that is there."""
        _warn_of_many(self.classes.size, self.classes.size + labels.size)
        n_single = max(0, min(labels.size, 3 - self.classes.size))
        for label in labels[:n_single]:
            self.add_class(label)
        if n_single == labels.size:
            return
        new = labels[n_single:] if labels.dtype.kind != "O" else np.asarray(labels[n_single:].tolist())
        found, width = np.concatenate([self.classes, new]), len(self.specs)
        rank = _ranks(found)
        if self.state.metric == "full":
            triangle_size(found.size * width, self.state.n_features)  # an error before anything is made
        places = (rank[: self.classes.size, None] * width + np.arange(width)).ravel()
        self.state = among(self.state, places, found.size * width)
        self.classes = np.sort(found)

    def _other_side(self) -> State:
        """The models of one class seen as those of the other.

        The mirror image of a model has learned with α⁻ and α⁺ exchanged. A spec whose counterpart is not among the
        specs starts empty.
        """
        state, there = mirrored(self.state), {spec: k for k, spec in enumerate(self.specs)}
        empty = state.empty(1)
        sources = [there.get(spec._replace(alphas=spec.alphas[::-1])) for spec in self.specs]
        return joined([empty if k is None else state.some(k, k + 1) for k in sources])

    def learn(
        self,
        rows: Rows,
        labels: NDArray[Any],
        *,
        weights: NDArray[np.float64] = NOTHING,
        threads: int | None = 1,
    ) -> None:
        """Pass rows through the models, in order. After an error the model is as it was before."""
        check_lengths(rows, labels, weights)
        encoded = encode(labels, self.classes)
        if self.fixed and encoded.new.size:
            raise UnknownLabelError(encoded.new[0], int(encoded.first_rows[0]), self.classes)
        # Either look at a short batch before anything changes, or let a long one change a copy: O(batch) both ways.
        if 4 * rows[-1].size <= self.state.size:
            bad = first_bad_row(rows)
            if bad >= 0:
                raise BadRowError(rows, bad)
            target = self if not encoded.new.size else self.copy()
        else:
            target = self.copy()
        if not encoded.new.size:
            target.learn_all(rows, encoded.codes, weights=weights, threads=threads)
        else:
            target.learn_encoded(rows, encoded, weights=weights, threads=threads)
        self.classes, self.state, self.history = target.classes, target.state, target.history

    def learn_encoded(
        self,
        rows: Rows,
        encoded: Encoded,
        *,
        weights: NDArray[np.float64] = NOTHING,
        threads: int | None = 1,
        room: Callable[[int, int], NDArray[np.float64] | None] = lambda start, stop: None,
    ) -> None:
        """Pass rows through the models, new classes included; after an error the state is undefined.

        Up to three classes, each is added before the row that brings it; then the models of all others are made at
        once. `room`, asked before some rows are passed, may give an array (models, rows) for what is said of them.
        """
        found, n_known, n_rows = np.concatenate([self.classes, encoded.new]), self.classes.size, encoded.codes.size
        n_single = max(0, min(encoded.new.size, 3 - n_known))
        ends = [*encoded.first_rows.tolist(), n_rows]
        start = 0
        try:
            for k, stop in enumerate(ends[: n_single + 1]):
                if k > 0:
                    self.add_class(encoded.new[k - 1])
                codes = _ranks(found[: n_known + k])[encoded.codes[start:stop]]
                some, margins = part(rows, start, stop), room(start, stop)
                self.learn_all(some, codes, weights=weights[start:stop], threads=threads, margins=margins)
                start = stop
            if n_single < encoded.new.size:
                self.add_classes(encoded.new[n_single:])
                rank = _ranks(found)
                begins = np.zeros(found.size, np.int64)
                begins[rank[n_known + n_single :]] = encoded.first_rows[n_single:] - start
                codes, last = rank[encoded.codes], ends[-2]
                some, margins = part(rows, start, last), room(start, last)
                self._learn_as_they_come(some, codes[start:last], begins, weights[start:last], threads, margins)
                start = last
                some, margins = part(rows, last, n_rows), room(last, n_rows)
                self.learn_all(some, codes[last:], weights=weights[last:], threads=threads, margins=margins)
        except (BadRowError, NotFiniteError) as error:
            raise _bad_row(rows, start + error.row) from None

    def _learn_as_they_come(
        self,
        rows: Rows,
        codes: NDArray[np.int64],
        begins: NDArray[np.int64],
        weights: NDArray[np.float64],
        threads: int | None,
        margins: NDArray[np.float64] | None,
    ) -> None:
        """Pass rows through the models, those of each class from the row on where it begins.

        A class at a time, since a state of as many classes as are known at each row would be made anew for each.
        """
        width, settings, n_rows = len(self.specs), self.settings(), codes.size
        stops = self.history.cuts(n_rows) if self.history is not None else []
        counts = np.zeros((len(stops), self.state.n_models, len(COUNTS)))
        self.state.arrange(*layout_for(rows, self.state, settings))

        def learn_class(k: int) -> int:
            start, models = int(begins[k]), slice(k * width, (k + 1) * width)
            if start >= n_rows:
                return n_rows
            first, mine = bisect_right(stops, start), self.state.of_target(k)
            said = None if margins is None else np.empty((width, n_rows - start))
            bad = learn(
                part(rows, start, n_rows),
                codes[start:],
                mine,
                settings[models],
                weights=weights[start:],
                stops=[stop - start for stop in stops[first:]],
                counts=counts[first:, models],
                margins=said,
            )
            if margins is not None:
                margins[models, start:] = said
            assert np.may_share_memory(mine.vectors, self.state.vectors)  # else what was learned is lost
            return start + bad if bad >= 0 else n_rows

        with ThreadPoolExecutor(threads or available_threads()) as pool:
            bad = min(pool.map(learn_class, range(begins.size)))
        if bad < n_rows:
            raise _bad_row(rows, bad)
        if self.history is not None:
            for (start, stop), so_far in zip(itertools.pairwise([0, *stops]), counts, strict=True):
                self.history.passed(stop - start, so_far[np.repeat(begins < stop, width)])

    def learn_all(
        self,
        rows: Rows,
        codes: NDArray[np.int64],
        *,
        weights: NDArray[np.float64] = NOTHING,
        order: NDArray[np.int64] = IN_ORDER,
        threads: int | None = 1,
        margins: NDArray[np.float64] | None = None,
    ) -> None:
        """Pass rows of known classes through the models in the given order; after an error the state is undefined."""
        if not codes.size:  # before the first class turns up
            return
        stops, counts = [], None
        if self.history is not None:
            stops = self.history.cuts(codes.size)
            counts = np.zeros((len(stops), self.state.n_models, len(COUNTS)))
        settings = self.settings()
        bad = learn(
            rows,
            codes,
            self.state,
            settings,
            weights=weights,
            order=order,
            margins=margins,
            stops=stops,
            counts=counts,
            threads=threads,
        )
        if bad >= 0:
            raise _bad_row(rows, int(order[bad]) if order.size else bad)
        if self.history is not None and counts is not None:
            for (start, stop), so_far in zip(itertools.pairwise([0, *stops]), counts, strict=True):
                self.history.passed(stop - start, so_far)

    def merge(self, other: Model) -> Model:
        """A model of what both have seen."""
        a, b = self.copy(), other.copy()
        for mine, theirs in ((a, b), (b, a)):
            mine.add_classes(np.setdiff1d(theirs.classes, mine.classes))
        average = any(spec.average for spec in self.specs)
        endless = [spec.grows_without_end for spec in self.specs]
        by_direction = np.tile(endless, a.state.n_models // len(self.specs))
        state = merged(a.state, b.state, a.settings(), average=average, by_direction=by_direction)
        both = replace(a, state=state, fixed=a.fixed and b.fixed)
        if a.history is not None and b.history is not None:
            both.history = History.after(a.history.rows + b.history.rows)
        return both
