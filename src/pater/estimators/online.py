"""What the online learners share as scikit-learn estimators.

Knows scikit-learn, `base` and `model`; holds no mathematics: it checks what is handed over and lets `model` learn.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..kernels.run import IN_ORDER, Rows, available_threads
from ..models.choice import JudgedBy
from ..models.errors import OtherModelsError
from ..models.labels import classes_and_codes, in_order
from ..models.matrices import number_of_rows, that_weigh
from ..models.model import Model
from ..models.pool import Pool
from ..models.settings import Setting
from ..models.spec import Spec, Specs
from .base import at_least_two, wanted_classes
from .inputs import check_labels, check_sample_weight, not_all_zero, take_rows
from .mergeable import check_alike
from .parameters import OF_LEARNING, names_of, one_of, settings_of
from .probabilities import WithProbabilities

FEW = 1 << 10  # numbers in a batch, up to which threads are not worth asking for


class OnlineClassifier(WithProbabilities):
    """A subclass defines which models its parameters stand for."""

    variant: str
    fit_intercept: bool
    n_passes: int
    shuffle: bool
    average: bool | None
    forgetting: float | None
    operating_point: Any
    warm_start: bool
    random_state: Any

    _parameter_constraints: ClassVar = OF_LEARNING
    _rules: ClassVar[dict[str, str]]  # by variant; "" where there is one rule only, and no parameter `variant`

    def _specs(self) -> Specs:
        """The models that the parameters stand for, one or several for each class."""
        variant = one_of("variant", self.variant, tuple(self._rules)) if "" not in self._rules else ""
        return (self._spec(self._rules[variant]),)

    def _value(self, setting: Setting) -> Any:
        """The value of a setting from its parameter."""
        return getattr(self, setting.parameter)

    def _averages(self, rule: str) -> bool:
        """Whether the average of the weights predicts."""
        return bool(self.average)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows, in order, `n_passes` times.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Importance of each sample; one of weight 0 is ignored, and adds no class.

        Returns
        -------
        self
            The estimator.
        """
        return self._all_or_nothing(self._fit, X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        specs = self._checked_specs()
        go_on = self.warm_start and self.__sklearn_is_fitted__()
        rows = take_rows(self, X, reset=not go_on)
        labels = check_labels(y, rows)
        weights = check_sample_weight(sample_weight, rows)
        not_all_zero(weights)
        if weights.size:
            rows, labels, weights = that_weigh(rows, labels, weights)
        if go_on:
            model = self._model.with_specs(specs, self._judged_by()).copy()
            encoded = model.encoded(labels)
            found, codes = in_order(np.concatenate([model.classes, encoded.new]), encoded.codes)
            model.add_classes(encoded.new)
        else:
            found, codes = classes_and_codes(labels)
            model = self._new(found, specs)
        at_least_two(found)
        self._check_weighted_classes(found)
        random = check_random_state(self.random_state) if self.shuffle else None
        for _ in range(self.n_passes):
            order = IN_ORDER if random is None else random.permutation(number_of_rows(rows)).astype(np.int64)
            model.learn_all(rows, codes, weights=weights, order=order, threads=self._threads(model, rows))
        self._model = model
        model.warn(rows, labels)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more rows, once and in order.

        The result does not depend on how a stream is split into calls. Parameters that are changed between calls apply
        from the next row on. Changes that would need different models are an error: `fit_intercept`, `covariance`,
        `form`, `variants`, `weights`, `probability` turned on, and of `AutoPATERClassifier` `scoring` and `forgetting`
        where they would change the candidates.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of labels, optional
            All classes. If given, any other label is an error; if not, a class that appears later is added, and its
            one-vs-rest model starts at that row.
        sample_weight : array-like of shape (n_samples,), optional
            Importance of each sample; one of weight 0 is ignored, and adds no class.

        Returns
        -------
        self
            The estimator.
        """
        return self._all_or_nothing(self._partial_fit, X, y, classes, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        specs = self._checked_specs()
        model: Model | Pool | None = vars(self).get("_model")
        rows = take_rows(self, X, reset=model is None)
        labels = check_labels(y, rows)
        weights = check_sample_weight(sample_weight, rows)
        if weights.size:
            rows, labels, weights = that_weigh(rows, labels, weights)
        if classes is not None:
            model = self._with_fixed_classes(model, classes, specs)
        elif model is None:
            model = self._new(np.empty(0, labels.dtype), specs)
        else:
            model = model.with_specs(specs, self._judged_by())
        self._check_weights_to_learn(model, labels)
        model.learn(rows, labels, weights=weights, threads=self._threads(model, rows))
        self._model = model

    def _new(self, classes: NDArray[Any], specs: Specs, fixed: bool = False) -> Model | Pool:
        return Model.new(classes, int(self.n_features_in_), specs, fixed=fixed)

    def _judged_by(self) -> JudgedBy:
        return (*self._scored_by(), vars(self).get("fading"))

    def _with_fixed_classes(self, model: Model | Pool | None, classes: Any, specs: Specs) -> Model | Pool:
        wanted = wanted_classes(classes, model)
        if model is None:
            self._check_weighted_classes(wanted)
            return self._new(wanted, specs, fixed=True)
        model = model.with_specs(specs, self._judged_by())
        if not np.array_equal(wanted, model.classes):
            model = model.copy()
            model.add_classes(np.setdiff1d(wanted, model.classes))
        model.fixed = True
        return model

    def merge(self, other: Self) -> Self:
        """Add what `other` has learned from other rows of the same kind.

        Class sums, counts and inverse covariances are added exactly. The weights become the average of both, weighted
        by the number of samples each has seen; those of second-order PATER are computed again from the sums.

        Parameters
        ----------
        other : estimator of the same class
            Fitted on the same features, with the same settings; an error names the first difference. Classes that only
            one of the two has seen are added to the other.

        Returns
        -------
        self
            The estimator. `other` does not change; after an error, neither does this one.
        """
        check_alike(self, other)
        mine, theirs = self._fitted_model(), other._fitted_model()
        self._model = mine.with_specs(mine.specs, self._judged_by()).merge(theirs)  # type: ignore[arg-type]  # with the same specs, they are of one kind
        return self

    @property
    def t_(self) -> int:
        """How many samples the model has seen."""
        return int(self._fitted_model().state.scalars["t"].max(initial=0))

    @property
    def threshold_(self) -> float:
        """The margin from which the second of two classes is predicted: 0, or that of the `operating_point`."""
        return self._threshold(self._fitted_model())

    def _threshold(self, model: Model | Pool) -> float:
        if self.operating_point is None:
            return 0.0
        if model.seen is None:
            raise ValueError(
                "operating_point is set, but nothing was learned since: it takes effect with the next rows."
            )
        return model.threshold(self._checked_specs()[0].operating_point, *self._scored_by())

    def _average_of(self, model: Model | Pool) -> bool:
        """Whether the average predicts. It can be turned off at any time, but not on where no average was kept."""
        kept = super()._average_of(model)
        if self.average and not kept:
            raise ValueError("average=True, but no average was kept: one begins with the next rows that are learned.")
        return kept and (self.average is None or bool(self.average))

    def _to_save(self) -> Model | Pool:
        model, specs = self._fitted_model(), self._checked_specs()
        try:
            return model.with_specs(specs, self._judged_by())
        except OtherModelsError as error:
            raise OtherModelsError(error.names, "fit again, then save") from None

    def _take_over(self, model: Model | Pool) -> None:
        if self.average is None and isinstance(model, Model):  # the default rule may have been another then
            kept = model.spec.average
            self.average = None if self._checked_specs()[0].average == kept else kept
        if model.specs != self._checked_specs():
            raise ValueError("its settings are not those of its estimator")
        self._model = model

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_checked"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # one pass over the few hundred rows of scikit-learn's checks
        return tags

    def _threads(self, model: Model | Pool, rows: Rows) -> int | None:
        """How many threads may share the models; None means one per processor."""
        if self.n_jobs is None:  # learning from a few numbers is faster than asking joblib
            return 1 if rows[-1].size < FEW or model.state.n_models == 1 else int(effective_n_jobs(None))
        if self.n_jobs > 0:
            return int(self.n_jobs)
        return None if self.n_jobs == -1 else max(1, available_threads() + 1 + int(self.n_jobs))

    def _checked_specs(self) -> Specs:
        """The specs that the parameters stand for, checked again only when a parameter has changed."""
        kind: Any = type(self)
        values = [*map(self.__dict__.__getitem__, names_of(kind))]
        key = (*map(id, values), *self._contents())
        known = vars(self).get("_checked")
        if known is None or known[0] != key:
            self._validate_params()
            known = (key, self._specs(), values)  # the values are held, so that no other can get their address
            self._checked = known
        specs: Specs = known[1]
        return specs

    def _contents(self) -> tuple[Any, ...]:
        """What the parameters hold that can be changed in place, where a value stays the same object."""
        weight, point = self.class_weight, self.operating_point
        return tuple(weight.items()) if isinstance(weight, dict) else None, None if point is None else repr(point)

    def _spec(self, rule: str, **more: Any) -> Spec:
        """A spec of this rule, with the settings that are parameters of this estimator, and more."""
        values = {name: each.checked(self._value(each), each.parameter) for name, each in settings_of(type(self))}
        return Spec(rule, **{**values, "average": self._averages(rule), **more})
