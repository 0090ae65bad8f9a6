"""Several learners in one pass, of which the best so far predicts, and those that trail stop.

Knows `model`, `race` and `candidates`. A pool has the face of a `Model`: what it says is what its leader says. Time is
cut into stretches by the number of rows alone, so that batches leave no trace, except where new columns make a full
covariance too dear. At the end of a stretch the best candidate becomes the leader, and those that trail by more than
chance stop for good: a whole team at once, which is all lengths of memory of one rule and prior. The leader's team goes
on side by side, so that the memory which suits the stream is at hand whenever the stream changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.doors import check_lengths
from ..kernels.run import IN_ORDER, NOTHING, Rows
from ..kernels.state import State
from .candidates import lasting, suited, unlike_candidates
from .choice import JudgedBy, ScoringSettings
from .errors import BadRowError, NotFiniteError, OtherModelsError, stopped_at
from .history import History
from .labels import Encoded, ranks
from .matrices import first_bad_row, part
from .metrics import Confusion
from .model import Model
from .newcomers import Room
from .operating_points import Point, SeenMargins
from .pool_operations import add_class, counts_of, merged, resized
from .race import FADING, Board, count_answers, race, stretch
from .spec import Spec, Specs
from .warnings import warn_of_one_class


@dataclass
class Pool:
    """Candidates with a spec each: `models` are those that still learn, by their places among `specs`.

    `made` counts the answers that the pool itself gave up to the last decision, (problems, 4). The answers of a
    candidate since then are its own counts and what `adjustments` adds: of two classes, minus its counts of then; of
    more, the answers themselves, since the class that is predicted depends on all its models.
    """

    specs: Specs
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

    @classmethod
    def new(
        cls,
        classes: NDArray[Any],
        n_features: int,
        specs: Specs,
        scoring: str,
        scoring_settings: ScoringSettings = None,
        *,
        fading: float = FADING,
        more_may_come: bool = False,
        fixed: bool = False,
    ) -> Pool:
        places = [k for k, fits in enumerate(suited(specs, n_features, more_may_come=more_may_come)) if fits]
        models = {k: Model.new(classes, n_features, (specs[k],), fixed=fixed) for k in places}
        made = np.zeros((models[places[0]].state.n_models, 4))
        adjustments = dict.fromkeys(places, made)
        board = Board.new(len(specs), len(made))
        return cls(specs, models, board, made, adjustments, scoring, scoring_settings, fading, more_may_come, places[0])

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
        """The candidate that speaks for all."""
        return self.models[self.leader]

    @property
    def spec(self) -> Spec:
        return self.specs[self.leader]

    @property
    def common(self) -> int:
        """The candidate that never stops: it suits any width that may come, and by it pools can be merged."""
        return lasting(self.specs, self.suited(), more_may_come=self.more_may_come)

    def suited(self) -> list[bool]:
        """Which of the specs are for rows of as many columns."""
        return suited(self.specs, self.state.n_features, more_may_come=self.more_may_come)

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
        """The same pool, to go on with these settings and this score; an `OtherModelsError` if it cannot."""
        result = replace(self)
        if judged_by is not None:
            result.scoring, result.scoring_settings, fading = judged_by
            result.fading = fading or FADING
        if specs is not self.specs and specs != self.specs:
            names = unlike_candidates(self.specs, specs)
            if names:
                raise OtherModelsError(names)
            result.specs = specs
            result.models = {k: model.with_specs((specs[k],)) for k, model in self.models.items()}
            result.adjustments = {k: self.since(k) - counts_of(model) for k, model in result.models.items()}
        return result

    def progressive(self, scoring: str = "", settings: ScoringSettings = None) -> Confusion:
        """The counts of the answers that the pool gave, each (problems)."""
        return Confusion(*(self.made + self.since(self.leader)).T)

    def since(self, k: int) -> NDArray[np.float64]:
        """The answers of a candidate since the last decision, (problems, 4)."""
        return counts_of(self.models[k]) + self.adjustments[k]

    def chosen(self, scoring: str = "", settings: ScoringSettings = None) -> list[int]:
        """Which models of the speaker speak: all."""
        return list(range(self.state.n_models))

    def speaking(self, scoring: str = "", settings: ScoringSettings = None) -> State:
        return self.state

    def threshold(self, point: Point | None, scoring: str, settings: ScoringSettings = None) -> float:
        """The margin from which on a row is of the second class, at this operating point."""
        return self.speaker.threshold(point, scoring, settings)

    def resize(self, n_features: int) -> None:
        """Make room for more columns, or leave out the last."""
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

    def learn(
        self,
        rows: Rows,
        labels: NDArray[Any],
        *,
        weights: NDArray[np.float64] = NOTHING,
        threads: int | None = 1,
        sound: bool = False,
    ) -> None:
        """Pass rows through the candidates, in order. After an error the pool is as it was before.

        Of `sound` rows it is known that a pass takes them, so that they are not looked at again.
        """
        check_lengths(rows, labels, weights)
        encoded, target = self.encoded(labels), self
        if encoded.new.size or 4 * rows[-1].size > self.state.size:
            target = self.copy()
        else:  # a short batch is looked at before anything changes
            bad = -1 if sound else first_bad_row(rows)
            if bad >= 0:
                raise BadRowError(rows, bad)
        target.learn_encoded(rows, encoded, weights=weights, threads=threads)
        if target is not self:
            vars(self).update(vars(target))
        warn_of_one_class(self.speaker, rows, labels)

    def learn_encoded(
        self,
        rows: Rows,
        encoded: Encoded,
        *,
        weights: NDArray[np.float64] = NOTHING,
        threads: int | None = 1,
        room: Room = lambda start, stop: None,
    ) -> None:
        """Pass rows through the candidates, each new class added before the row that brings it.

        `room`, asked before some rows are passed, may give an array (problems, rows) for what is said of them.
        """
        found, n_known, start = np.concatenate([self.classes, encoded.new]), self.classes.size, 0
        for k, stop in enumerate([*encoded.first_rows.tolist(), encoded.codes.size]):
            if k > 0:
                self.add_class(encoded.new[k - 1])
            codes = encoded.codes if not encoded.new.size else ranks(found[: n_known + k])[encoded.codes[start:stop]]
            some, margins = part(rows, start, stop), room(start, stop)
            try:
                self.learn_all(some, codes, weights=weights[start:stop], threads=threads, margins=margins)
            except (BadRowError, NotFiniteError) as error:
                raise stopped_at(rows, start + error.row) from None
            start = stop

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
        n_rows, stop = order.size or codes.size, 0
        while stop < n_rows:
            start, stop = stop, min(n_rows, stop + self.next_decision - self.rows)
            whole, in_order = stop - start == n_rows, not order.size
            some = rows if whole or not in_order else part(rows, start, stop)
            those = slice(start, stop) if in_order else slice(None)
            several = self.classes.size > 2
            for k, model in self.models.items():
                wanted = several or (margins is not None and k == self.leader)
                said = np.empty((len(self.made), stop - start)) if wanted else None
                try:
                    model.learn_all(
                        some,
                        codes[those],
                        weights=weights[those],
                        order=order[start:stop],
                        threads=threads,
                        margins=said,
                    )
                except (BadRowError, NotFiniteError) as error:
                    raise stopped_at(rows, error.row + (start if in_order else 0)) from None
                if said is not None and margins is not None and k == self.leader:
                    margins[:, start:stop] = said
                if said is not None and several:
                    passed = slice(start, stop) if in_order else order[start:stop]
                    self.adjustments[k] = self.adjustments[k].copy()
                    count_answers(
                        said, codes[passed], weights[passed] if weights.size else NOTHING, self.adjustments[k]
                    )
            self.rows += stop - start
            if self.rows == self.next_decision:
                self._decide()

    def _decide(self) -> None:
        """Look at the answers since the last decision: who leads from here on, and who stops."""
        awake, now = list(self.models), {k: counts_of(model) for k, model in self.models.items()}
        since = np.stack([now[k] + self.adjustments[k] for k in awake])
        self.made = self.made + since[awake.index(self.leader)]
        self.adjustments = {k: -counts for k, counts in now.items()}
        self.board.note(awake, since, self.fading)
        self.next_decision = self.rows + stretch(self.rows)
        self.history.reached(self.rows, self.made)
        self.race()

    def race(self) -> None:
        """Who leads from here on, and who stops, by the answers so far."""
        fits = self.suited()
        begun = [k for k, each in enumerate(fits) if each]
        common = lasting(self.specs, fits, more_may_come=self.more_may_come)
        staying, self.leader = race(
            self.board, self.specs, list(self.models), begun, common, (self.scoring, self.scoring_settings)
        )
        self.models = {k: self.models[k] for k in staying}
        self.adjustments = {k: self.adjustments[k] for k in staying}

    def merge(self, other: Pool) -> Pool:
        """A pool of what both have seen."""
        both = merged(self, other)
        both.race()
        return both
