"""A batch solution and the moments that it is computed from, which can grow and be solved again.

Knows `model`, `moments`, `labels` and `truth`; knows neither files nor scikit-learn.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.doors import Rows
from ..kernels.memory import POINT_U
from ..kernels.run import NOTHING
from ..kernels.state import State
from .choice import JudgedBy
from .labels import in_order, ranks
from .matrices import matrix_of
from .model import Model
from .moments import Moments, TooWideForMomentsError, is_too_wide
from .spec import Specs, positives
from .truth import classes_as_spelled
from .warnings import MANY_CLASSES, warn_of_many

Solutions = list[tuple[NDArray[np.float64], float]]

NO_MOMENTS = (
    "only the solution was kept, without the moments of its rows, so that no rows can be added and nothing can be "
    "solved again. Files before version 1.6 of the format have none, and fit keeps none for very many columns or "
    "sparse rows. Learn from the first rows on by partial_fit, which keeps them."
)


class Asked(NamedTuple):
    """The penalty and the settings of a batch solution."""

    ridge: float
    specs: Specs


@dataclass
class BatchModel(Model):
    """Weights that solve for all rows at once, computed from the `moments` of the rows on access.

    Without moments there are only weights. Copies share moments, since they never change.
    """

    moments: Moments | None = None
    ridge: float = 0.0
    _state: State | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def begun(cls, classes: NDArray[Any], n_features: int, asked: Asked) -> BatchModel:
        """A model of no rows."""
        if is_too_wide(max(1, classes.size), n_features):
            raise TooWideForMomentsError(max(1, classes.size), n_features)
        if classes.size >= MANY_CLASSES:
            warn_of_many(classes.size)
        moments = Moments.empty(classes.size, n_features)
        return cls(classes, None, asked.specs, moments=moments, ridge=asked.ridge)  # type: ignore[arg-type]

    @property  # type: ignore[misc]
    def state(self) -> State:
        """The weights, as any other model has them."""
        return self.solve()

    @state.setter
    def state(self, state: State | None) -> None:
        self._state = state

    def solve(self) -> State:
        """Compute the weights, unless they are known."""
        if self._state is None:
            assert self.moments is not None
            self._state = _state_of(self._solutions(), self.moments.n_features, self.moments.rows)
        return self._state

    def _solutions(self) -> Solutions:
        assert self.moments is not None
        weight = dict(self.spec.class_weight) if isinstance(self.spec.class_weight, tuple) else {}
        alphas = [float(weight.get(label, 1.0)) for label in self.classes.tolist()]
        rest = alphas[0] if len(alphas) == 2 else 1.0
        return [
            self.moments.solution(k, (rest, alphas[k]), ridge=self.ridge, intercept=self.spec.intercept)
            for k in positives(len(alphas))
        ]

    @property
    def n_features(self) -> int:
        return self.state.n_features if self.moments is None else self.moments.n_features

    def copy(self) -> BatchModel:
        result = copy(self)
        result._state = None if self._state is None else self._state.copy()
        return result

    def solved(self, asked: Asked) -> BatchModel:
        """The same model, to be solved with this penalty and these settings."""
        return self._with(self._kept(), ridge=asked.ridge, specs=asked.specs)

    def with_specs(self, specs: Specs, judged_by: JudgedBy | None = None) -> BatchModel:
        """The same weights, under other settings."""
        result, solved = self.copy(), self.state
        result._state = solved.copy()
        result.specs = specs
        return result

    def learned(self, rows: Rows, labels: NDArray[Any], weights: NDArray[np.float64]) -> BatchModel:
        """The model after more rows, which have been checked."""
        encoded = self.encoded(labels)
        found = np.concatenate([self.classes, encoded.new]) if encoded.new.size else self.classes
        classes, codes = in_order(found, encoded.codes)
        moments, s = self.with_classes(classes)._kept(), weights if weights.size else np.ones(labels.size)
        return self._with(moments.learned(matrix_of(rows, self.n_features), codes, s), classes=classes)

    def check_room(self, n_classes: int) -> None:
        """Raise an error if the moments of this many classes would be too large."""
        if self.moments is not None and is_too_wide(n_classes, self.n_features):
            raise TooWideForMomentsError(n_classes, self.n_features)

    def with_classes(self, classes: NDArray[Any]) -> BatchModel:
        """The model with more classes, in order, which have no rows yet."""
        if np.array_equal(classes, self.classes):
            return copy(self)
        if self.classes.size < MANY_CLASSES <= classes.size:
            warn_of_many(classes.size)
        self.check_room(classes.size)
        new = np.setdiff1d(classes, self.classes)
        places = ranks(np.concatenate([self.classes, new]))[: self.classes.size]
        return self._with(self._kept().among(places, classes.size), classes=classes)

    def learn(self, rows: Rows, labels: NDArray[Any], **more: Any) -> None:
        """Learn from rows that have been checked."""
        vars(self).update(vars(self.learned(rows, labels, more.get("weights", NOTHING))))

    def add_classes(self, labels: NDArray[Any]) -> None:
        """Make room for more classes."""
        vars(self).update(vars(self.with_classes(np.sort(np.concatenate([self.classes, labels])))))

    def emptied(self) -> BatchModel:
        """A model with the same columns and classes, without rows."""
        return self._with(Moments.empty(self.classes.size, self.n_features))

    def merge(self, other: Model) -> BatchModel:
        """A model of the rows of both, with the settings of this one."""
        assert isinstance(other, BatchModel)
        other = other._with(other._kept(), classes=classes_as_spelled(other.classes, self.classes))
        new = np.setdiff1d(other.classes, self.classes)
        classes = np.sort(np.concatenate([self.classes, new])) if new.size else self.classes
        mine, theirs = (each.with_classes(classes)._kept() for each in (self, other))
        return self._with(mine.together(theirs), classes=classes, fixed=self.fixed and other.fixed)

    def resize(self, n_features: int) -> None:
        """Make room for more columns, which were zero so far, or drop the last ones."""
        columns = np.arange(self.n_features)
        vars(self).update(vars(self.with_columns_at(np.where(columns < n_features, columns, -1), n_features)))

    def with_columns_at(self, columns: NDArray[np.int64], n_features: int) -> BatchModel:
        """A copy in which column j moves to `columns[j]`, or is dropped where that is −1."""
        from .placement import placed  # which knows batch solutions

        result = self.copy()
        if self.moments is not None:
            if is_too_wide(self.classes.size, n_features):
                raise TooWideForMomentsError(self.classes.size, n_features)
            result.moments = self.moments.placed(columns, n_features)
        if result._state is not None:
            result._state = placed(result._state, columns, n_features)
        return result

    def _kept(self) -> Moments:
        if self.moments is None:
            raise ValueError(NO_MOMENTS)
        return self.moments

    def _with(self, moments: Moments, **changed: Any) -> BatchModel:
        """The same model with these moments, to be solved on access."""
        result = copy(self)
        vars(result).update(moments=moments, _state=None, **changed)
        return result


def solved_without_moments(classes: NDArray[Any], n_features: int, solutions: Solutions, asked: Asked) -> BatchModel:
    """A model of these weights and intercepts, without moments."""
    return BatchModel(classes, _state_of(solutions, n_features, 1), asked.specs, True, ridge=asked.ridge)


def _state_of(solutions: Solutions, n_features: int, rows: int) -> State:
    state = State.new(len(solutions), n_features, means=False)
    for k, (w, b) in enumerate(solutions):
        state.vectors[k, POINT_U], state.scalars["bias"][k] = w, b
    state.scalars["t"] = rows
    return state
