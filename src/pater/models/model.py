"""A learner of labelled rows: its classes, and a one-vs-rest model for each.

Knows the kernels, and what else can be done with models (`newcomers`, `state_operations`, `predict`);
knows neither scikit-learn nor files. Estimators and the command line are two interfaces to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.doors import check_lengths
from ..kernels.memory import COUNTS
from ..kernels.run import IN_ORDER, NOTHING, Rows, learn
from ..kernels.state import State, triangle_size
from .choice import JudgedBy, ScoringSettings, Stored, best
from .errors import BadRowError, OtherModelsError, UnknownLabelError, stopped_at, unlike
from .history import History
from .labels import Encoded, encode
from .matrices import first_bad_row
from .metrics import Confusion
from .newcomers import add_class, add_classes, learn_encoded
from .operating_points import Point, SeenMargins, check_classes, seen_by
from .predict import margins_of
from .row_pass import RowPass, learn_row
from .spec import Spec, Specs, positives, settings_of
from .state_operations import averaging, merged, remembering, resized
from .truth import classes_as_spelled
from .warnings import MANY_CLASSES, may_be_errors, warn_of_many, warn_of_one_class, warn_of_positive_class

if TYPE_CHECKING:
    from .pool import Pool

MOST_MARGINS = 1 << 22  # kept at a time for the thresholds


@dataclass
class Model:
    """Classes in sorted order and the state of their models; `fixed` if no other class may appear.

    With several specs, each class has a model of each, learned side by side.
    """

    classes: NDArray[Any]
    state: State
    specs: Specs
    fixed: bool = False
    history: History | None = None  # kept when there are several specs to compare
    stored_choice: Stored | None = None  # what a model file names, until more is learned or a class is added
    seen: SeenMargins | None = None  # kept where there is an operating point
    taken_out: tuple[list[int], State] | None = field(default=None, init=False, repr=False, compare=False)
    ready: RowPass | None = field(default=None, init=False, repr=False, compare=False)  # where rows come one by one

    @classmethod
    def new(cls, classes: NDArray[Any], n_features: int, specs: Specs, *, fixed: bool = False) -> Model:
        if classes.size >= MANY_CLASSES:
            warn_of_many(classes.size)
        n_models = len(positives(classes.size)) * len(specs)
        means, metric = specs[0].family
        state = State.new(n_models, n_features, means=means, metric=metric, group=len(specs))
        seen = None if specs[0].operating_point is None else seen_by(specs, classes.size, n_models)
        return cls(classes, state, specs, fixed, History() if len(specs) > 1 else None, seen=seen)

    def copy(self) -> Model:
        history = self.history.copy() if self.history is not None else None
        seen = self.seen.copy() if self.seen is not None else None
        return replace(self, state=self.state.copy(), history=history, seen=seen)

    def with_specs(self, specs: Specs, judged_by: JudgedBy | None = None) -> Model:
        """The same model, to continue with these settings; an `OtherModelsError` if it cannot."""
        state, seen = self.state, self.seen
        if specs is not self.specs and specs != self.specs:
            names = unlike(self.specs, specs)
            if names:
                raise OtherModelsError(names)
            before, after = self.specs[0], specs[0]  # all specs of a learner agree on these
            if before.forgetting < 1 and after.forgetting == 1:
                state = remembering(state, leads=before.form == "leader")
            if after.average and not before.average:
                state = averaging(state)
            if seen is None or after.operating_point is None:
                seen = seen_by(specs, self.classes.size, state.n_models)
        result = Model(self.classes, state, specs, self.fixed, self.history, self.stored_choice, seen)
        result.ready = self.ready
        return result

    def confusion(self) -> Confusion:
        """The progressive counts of what is predicted, each (problems, specs)."""
        if self.seen is not None:
            return self.seen.confusion(len(self.specs))
        m = self.state.scalars.reshape(-1, len(self.specs))
        return Confusion(m["tp"], m["fp"], m["tn"], m["fn"])

    @property
    def spec(self) -> Spec:
        """The settings of the model that predicts, as far as all specs share them."""
        return self.specs[0]

    def progressive(self, scoring: str, settings: ScoringSettings = None) -> Confusion:
        """The counts of the predictions of the chosen models, each (problems)."""
        places = np.reshape(self.chosen(scoring, settings), (-1, 1)) % len(self.specs)
        return Confusion(*(np.take_along_axis(each, places, axis=1)[:, 0] for each in self.confusion()))

    def chosen(self, scoring: str, settings: ScoringSettings = None) -> list[int]:
        """The number of the model that predicts each class (with two classes, both): the best by this score."""
        width, stored = len(self.specs), self.stored_choice
        if width == 1:
            return list(range(self.state.n_models))
        if stored is not None and (stored.scoring, stored.settings) == (scoring, settings):
            return list(stored.models)
        places = best(self.confusion(), scoring, settings).tolist()
        return [problem * width + place for problem, place in enumerate(places)]

    def speaking(self, scoring: str, settings: ScoringSettings = None) -> State:
        """The chosen models, extracted once for as long as nothing is learned."""
        if len(self.specs) == 1:
            return self.state
        models = self.chosen(scoring, settings)
        if self.taken_out is None or self.taken_out[0] != models:
            self.taken_out = models, self.state.some_of(models)
        return self.taken_out[1]

    @property
    def n_features(self) -> int:
        return self.state.n_features

    def margins(self, rows: Rows, scored_by: tuple[str, ScoringSettings], *, average: bool) -> NDArray[np.float64]:
        """The margins of the chosen models for rows, (rows, models)."""
        return margins_of(rows, self.speaking(*scored_by), average=average)

    def weights(
        self, scored_by: tuple[str, ScoringSettings], *, average: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The weights of the chosen models, (models, columns), and their intercepts."""
        return self.speaking(*scored_by).weights(average=average)

    def threshold(self, point: Point | None, scoring: str, settings: ScoringSettings = None) -> float:
        """The margin at and above which a row is of the second class, at this operating point."""
        if point is None or self.seen is None or self.classes.size < 2:
            return 0.0
        return self.seen.threshold(self.chosen(scoring, settings)[0], point)

    def settings(self) -> NDArray[np.void]:
        return settings_of(self.specs, tuple(self.classes.tolist()))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "taken_out": None, "ready": None}

    def resize(self, n_features: int) -> None:
        """Make room for more columns, or drop the last ones."""
        self.state, self.taken_out, self.ready = resized(self.state, n_features), None, None

    def add_class(self, label: Any) -> None:
        """Make room for one more class."""
        add_class(self, label)

    def add_classes(self, labels: NDArray[Any]) -> None:
        """Make room for more classes. From three on, a new class does not change the existing models."""
        add_classes(self, labels)

    def encoded(self, labels: NDArray[Any]) -> Encoded:
        """Labels as codes; an error for those of new classes if the classes are fixed, or if there is no room."""
        encoded = encode(labels, self.classes)
        if encoded.new.size:
            if self.fixed:
                raise UnknownLabelError(encoded.new.tolist()[0], int(encoded.first_rows[0]), self.classes)
            self.check_room(self.classes.size + encoded.new.size)
        return encoded

    def check_room(self, n_classes: int) -> None:
        """Raise an error if there would be too many classes, or their triangles would be too large."""
        if self.specs[0].operating_point is not None:
            check_classes(self.specs, n_classes)
        if self.state.metric == "full":
            triangle_size(len(positives(n_classes)) * len(self.specs), self.state.n_features)

    def learn(self, rows: Rows, labels: NDArray[Any], **more: Any) -> None:
        """Pass rows through the models, see `learn_labelled`; after an error the model is unchanged."""
        learn_labelled(self, rows, labels, **more)

    def warn(self, rows: Rows, labels: NDArray[Any]) -> None:
        """Warn if the model has come to predict only one class, or if the positive class may not be the one meant."""
        if isinstance(self.specs[0].class_weight, tuple):
            warn_of_one_class(self, rows, labels)
        if self.seen is not None:
            warn_of_positive_class(self, labels.size)

    def learn_encoded(self, rows: Rows, encoded: Encoded, **more: Any) -> None:
        """Pass rows through the models, new classes included, see `newcomers`; after an error all is undefined."""
        learn_encoded(self, rows, encoded, **more)

    def learn_all(
        self,
        rows: Rows,
        codes: NDArray[np.int64],
        *,
        weights: NDArray[np.float64] = NOTHING,
        order: NDArray[np.int64] = IN_ORDER,
        threads: int | None = 1,
        margins: NDArray[np.float64] | None = None,
        stops: Sequence[int] = (),
        counts: NDArray[np.float64] | None = None,
    ) -> None:
        """Pass rows of known classes through the models in the given order; after an error the state is undefined.

        Where no history is kept, `counts` may receive the counts up to some stops, see `kernels.run.learn`.
        """
        if not codes.size:  # before the first class turns up
            return
        n_rows, point = order.size or codes.size, self.specs[0].operating_point
        if self.seen is not None and margins is None:
            most = max(1, MOST_MARGINS // self.state.n_models)
            if n_rows > most:
                ordered = order if order.size else np.arange(n_rows, dtype=np.int64)
                for start in range(0, n_rows, most):
                    some = ordered[start : start + most]
                    self.learn_all(rows, codes, weights=weights, order=some, threads=threads)
                return
            margins = np.empty((self.state.n_models, n_rows))
        self.stored_choice = self.taken_out = None
        if self.history is not None:
            stops = self.history.cuts(n_rows)
            counts = np.zeros((len(stops), self.state.n_models, len(COUNTS)))
        settings = self.settings()
        if codes.size == 1 and len(self.specs) == 1 and not order.size and not stops:
            bad = learn_row(self, rows, codes, settings, weights=weights, margins=margins)
        else:
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
            raise stopped_at(rows, int(order[bad]) if order.size else bad)
        if self.seen is not None and margins is not None and point is not None:
            self.seen.note(margins, codes, point, settings, weights=weights, order=order)
        if self.history is not None and counts is not None:
            for (start, stop), so_far in zip(itertools.pairwise([0, *stops]), counts, strict=True):
                self.history.passed(stop - start, so_far)

    def merge(self, other: Model) -> Model:
        """A model of what both have seen."""
        a, b = self.copy(), replace(other.copy(), classes=classes_as_spelled(other.classes, self.classes))
        for mine, theirs in ((a, b), (b, a)):
            mine.add_classes(np.setdiff1d(theirs.classes, mine.classes))
        average = any(spec.average for spec in self.specs)
        endless = [spec.grows_without_end for spec in self.specs]
        by_size = np.tile(endless, a.state.n_models // len(self.specs))
        state = merged(a.state, b.state, a.settings(), average=average, by_size=by_size)
        both = replace(a, state=state, fixed=a.fixed and b.fixed, stored_choice=None)
        point = self.specs[0].operating_point
        if a.seen is not None and b.seen is not None and point is not None:
            both.seen = a.seen.merged(b.seen, point)
        if a.history is not None and b.history is not None:
            both.history = History.after(a.history.rows + b.history.rows)
        return both


def learn_labelled(
    model: Model | Pool,
    rows: Rows,
    labels: NDArray[Any],
    *,
    weights: NDArray[np.float64] = NOTHING,
    threads: int | None = 1,
    sound: bool = False,
) -> None:
    """Pass rows through the models, in order. After an error they are unchanged.

    There is a label for each row. `sound` rows have been checked before and are not checked again.
    """
    encoded, target = model.encoded(labels), model
    if encoded.new.size:  # else the kernels' door sees whether lengths agree
        check_lengths(rows, labels, weights)
    # Either look at a short batch before anything changes, or let a copy learn: O(batch) both ways.
    if encoded.new.size or 4 * rows[-1].size > model.state.size or may_be_errors(model, labels.size):
        target = model.copy()
    else:
        bad = -1 if sound else first_bad_row(rows)
        if bad >= 0:
            raise BadRowError(rows, bad)
    if encoded.new.size:
        target.learn_encoded(rows, encoded, weights=weights, threads=threads)
    else:
        target.learn_all(rows, encoded.codes, weights=weights, threads=threads)
    target.warn(rows, labels)
    if target is not model:
        vars(model).update(vars(target))
