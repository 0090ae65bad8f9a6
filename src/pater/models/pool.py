"""Several learners in one pass: the best so far predicts, and those that trail stop.

Knows `model`, `board`, `race`, `entrants` and `views`. A pool has the interface of a `Model` and predicts what its
leader predicts. A candidate may see only part of encoded rows: its view. Time is cut into stretches by the number of
rows alone, so that batches leave no trace; new columns that make a full covariance too expensive take effect at the row
that brings them (`stream/widths.py`). At the end of a stretch the best candidate becomes the leader, and those that
trail by more than chance stop for good: a whole team at once, which is all lengths of memory of one rule, prior and
view. The leader's team goes on side by side, so that the memory that suits the stream is at hand whenever the stream
changes; in the long run the common candidate may stand in for the longest one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.run import IN_ORDER, NOTHING, Rows
from ..kernels.state import State
from .board import FADING, FADING_ENCODED, Board
from .candidates import unlike_candidates
from .choice import JudgedBy, ScoringSettings
from .entrants import Entrants, entrants
from .errors import OtherModelsError
from .history import History
from .labels import Encoded
from .metrics import Confusion
from .model import Model, learn_labelled
from .newcomers import learn_encoded
from .operating_points import Point, SeenMargins
from .pool_operations import add_class, counts_of, merged, resized
from .pool_pass import learn_all
from .race import race, stretch
from .spec import Spec, Specs
from .views import MOST_LEVELS, Views
from .warnings import warn_of_one_class, warn_of_positive_class


@dataclass
class Pool:
    """Candidates with a spec and a view each: `models` are those that still learn, by their places (`entrants`).

    `made` counts the pool's own predictions up to the last decision, (problems, 4). A candidate's predictions since
    then are its own counts plus `adjustments`: with two classes, minus its counts at that time; with more, the
    predictions themselves, since the predicted class depends on all its models.
    """

    specs: Specs
    views: Views
    models: dict[int, Model]
    board: Board
    made: NDArray[np.float64]
    adjustments: dict[int, NDArray[np.float64]]
    scoring: str
    scoring_settings: ScoringSettings = None
    fading: float = FADING
    more_may_come: bool = False  # of columns
    leader: int = 0
    rows: int = 0
    next_decision: int = stretch(0)
    history: History = field(default_factory=History)
    spent: NDArray[np.float64] = field(default_factory=lambda: np.zeros(MOST_LEVELS))  # on full covariances, by level
    in_shards: bool = False  # in shards none stops for trailing, so that all shards have the same
    _entered: Entrants | None = field(default=None, repr=False, compare=False)  # until columns or specs change
    dear: tuple[Any, NDArray[np.float64]] | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def new(
        cls,
        classes: NDArray[Any],
        views: Views,
        specs: Specs,
        scoring: str,
        scoring_settings: ScoringSettings = None,
        *,
        fading: float | None = None,
        more_may_come: bool = False,
        fixed: bool = False,
    ) -> Pool:
        places = entrants(specs, views, more_may_come=more_may_come).places
        models = {
            k: Model.new(classes, views.width(k // len(specs)), (specs[k % len(specs)],), fixed=fixed) for k in places
        }
        made = np.zeros((models[places[0]].state.n_models, 4))
        board = Board.new(len(specs) * views.n_levels, len(made))
        adjustments = dict.fromkeys(places, made)
        pool = cls(specs, views, models, board, made, adjustments, scoring, scoring_settings, leader=places[0])
        pool.fading, pool.more_may_come = fading or pool.usual_fading, more_may_come
        return pool

    def copy(self) -> Pool:
        models = {k: model.copy() for k, model in self.models.items()}
        return replace(
            self,
            models=models,
            board=self.board.copy(),
            adjustments=dict(self.adjustments),
            history=self.history.copy(),
        )

    @property
    def speaker(self) -> Model:
        """The candidate that predicts for the pool."""
        return self.models[self.leader]

    @property
    def spec(self) -> Spec:
        return self.specs[self.leader % len(self.specs)]

    @property
    def entered(self) -> Entrants:
        """The candidates in the race, for this number of columns."""
        if self._entered is None:
            self._entered = entrants(self.specs, self.views, more_may_come=self.more_may_come)
        return self._entered

    def level(self, k: int) -> int:
        """The level of detail up to which a candidate sees columns."""
        return k // len(self.specs)

    @property
    def usual_fading(self) -> float:
        """The default fading of predictions in the scores."""
        return FADING_ENCODED if self.views.encoded else FADING

    @property
    def n_features(self) -> int:
        return self.views.n_features

    @property
    def classes(self) -> NDArray[Any]:
        return self.speaker.classes

    @property
    def state(self) -> State:
        return self.speaker.state

    @property
    def seen(self) -> SeenMargins | None:
        return self.speaker.seen

    @property
    def fixed(self) -> bool:
        return self.speaker.fixed

    @fixed.setter
    def fixed(self, value: bool) -> None:
        for model in self.models.values():
            model.fixed = value

    def with_specs(self, specs: Specs, judged_by: JudgedBy | None = None) -> Pool:
        """The same pool, to continue with these settings and this score; an `OtherModelsError` if it cannot."""
        result = object.__new__(Pool)
        vars(result).update(vars(self))  # as `replace`, in a tenth of the time
        if judged_by is not None:
            result.scoring, result.scoring_settings, fading = judged_by
            result.fading = fading or self.usual_fading
        if specs is not self.specs and specs != self.specs:
            names = unlike_candidates(self.specs, specs)
            if names:
                raise OtherModelsError(names)
            result.specs, result._entered = specs, None
            result.models = {k: model.with_specs((specs[k % len(specs)],)) for k, model in self.models.items()}
            result.adjustments = {k: self.since(k) - counts_of(model) for k, model in result.models.items()}
        return result

    def progressive(self, scoring: str = "", settings: ScoringSettings = None) -> Confusion:
        """The counts of the pool's predictions, each (problems)."""
        return Confusion(*(self.made + self.since(self.leader)).T)

    def since(self, k: int) -> NDArray[np.float64]:
        """The counts of a candidate's predictions since the last decision, (problems, 4)."""
        return counts_of(self.models[k]) + self.adjustments[k]

    def chosen(self, scoring: str = "", settings: ScoringSettings = None) -> list[int]:
        """The models of the speaker that predict: all."""
        return list(range(self.state.n_models))

    def speaking(self, scoring: str = "", settings: ScoringSettings = None) -> State:
        """The state of the leader, with the columns of its view."""
        return self.state

    def margins(self, rows: Rows, scored_by: tuple[str, ScoringSettings], *, average: bool) -> NDArray[np.float64]:
        """The leader's margins of rows, (rows, models)."""
        return self.speaker.margins(self.views.of(rows, self.level(self.leader)), scored_by, average=average)

    def weights(
        self, scored_by: tuple[str, ScoringSettings], *, average: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights of the leader, 0 where it sees no column, and the intercepts."""
        weights, intercepts = self.speaker.weights(scored_by, average=average)
        return self.views.spread(weights, self.level(self.leader)), intercepts

    def threshold(self, point: Point | None, scoring: str, settings: ScoringSettings = None) -> float:
        """The margin at and above which a row is of the second class, at this operating point."""
        return self.speaker.threshold(point, scoring, settings)

    def resize(self, n_features: int) -> None:
        """Make room for more columns, or drop the last ones."""
        vars(self).update(vars(resized(self, n_features)))

    def encoded(self, labels: NDArray[Any]) -> Encoded:
        """Labels as codes; an error for those of new classes if the classes are fixed, or if there is no room."""
        return self.speaker.encoded(labels)

    def add_class(self, label: Any) -> None:
        """Make room for one more class."""
        add_class(self, label)

    def add_classes(self, labels: NDArray[Any]) -> None:
        for label in labels:
            self.add_class(label)

    def learn(self, rows: Rows, labels: NDArray[Any], **more: Any) -> None:
        """Pass rows through the candidates, see `learn_labelled`; after an error the pool is unchanged."""
        learn_labelled(self, rows, labels, **more)

    def warn(self, rows: Rows, labels: NDArray[Any]) -> None:
        """Warn if the leader has come to predict only one class, or if the positive class may not be the one meant."""
        if isinstance(self.spec.class_weight, tuple):
            warn_of_one_class(self.speaker, self.views.of(rows, self.level(self.leader)), labels)
        warn_of_positive_class(self.speaker, labels.size)

    def learn_encoded(self, rows: Rows, encoded: Encoded, **more: Any) -> None:
        """Pass rows through the candidates, see `newcomers`, each new class added before the row that brings it."""
        learn_encoded(self, rows, encoded, one_by_one=True, **more)

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
        """Pass rows of known classes through the candidates in the given order; after an error all is undefined."""
        learn_all(self, rows, codes, weights=weights, order=order, threads=threads, margins=margins)

    def merge(self, other: Pool) -> Pool:
        """A pool of what both have seen: the best by all predictions leads, and the next decision says who goes on."""
        both = merged(self, other)
        _, both.leader = race(both.board, both.entered, list(both.models), (both.scoring, both.scoring_settings))
        return both
