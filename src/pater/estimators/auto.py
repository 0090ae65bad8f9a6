"""The default learner: several candidates side by side; the best one predicts.

Knows `online`, `pater`, `candidates`, `choice`, `pool` and `search`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.candidates import MEMORIES, candidates
from ..models.choice import score
from ..models.metrics import SCORES
from ..models.model import Model
from ..models.pool import Pool
from ..models.search import PAPER_WEIGHTS, alpha_grid
from ..models.settings import SETTINGS, Setting
from ..models.spec import Spec, Specs, is_pool
from ..models.views import NO_LEVELS, Views
from .online import OnlineClassifier
from .parameters import one_of
from .pater import PATERClassifier

PLAIN = {"forgetting": 1.0, "fading": 1.0, "average": False}  # of wPATER, where the parameter is None


class AutoPATERClassifier(OnlineClassifier):
    """Several learners side by side in one pass; the best so far predicts.

    Without `variants` and `weights`: second-order PATER and balanced AROW, each with a weak, a usual and a strong
    prior, and with three lengths of memory. Every candidate predicts a sample before it learns from it, and these
    predictions show honestly and at any time which one is best, without a second pass or a validation set. Candidates
    that trail by more than chance are dropped, so that in the long run two to four are left. They keep a full
    covariance for up to 256 columns, and a diagonal one for more.

    With `variants` or `weights`: the paper's wPATER, PATER-I and -II with many class weights.

    Parameters
    ----------
    variants : tuple of {"I", "II"} or None, default=None
        The variants of wPATER to try; both if only `weights` is given.
    weights : tuple of float or None, default=None
        The weights of wPATER to try, each as α⁻ with α⁺ = 1 and the other way round, beside the unweighted form. If
        only `variants` is given, those of the paper: (0.01, 0.1, 0.3, 0.5, 0.9, 0.99).
    scoring : {"accuracy", "balanced_accuracy", "ter", "wter", "f1", "g_mean", "cost"}, default="balanced_accuracy"
        What "best" means. Among equals, the first candidate is chosen. For "accuracy" the candidates are AROW without
        class weights; for "f1" and "cost" candidates of both kinds compete.
    scoring_settings : dict or None, default=None
        For "wter" `alpha_neg` and `alpha_pos`, for "cost" `of_false_positive` and `of_false_negative`; 1 by default.
    fading : float or None, default=None
        The factor by which older predictions fade in the scores with each new sample of their class. None means 0.985,
        which covers about the last seventy samples of each class, or 0.995 behind a TableEncoder. While all candidates
        fail by more than chance, predictions fade faster. For wPATER they fade with every sample, and None means 1.
    discount : bool, default=True
        For wPATER: whether a sample counts in proportion to its place in the stream, so that a model's early mistakes
        count less than later ones.
    average : bool or None, default=None
        Whether to predict with the averaged weights; None uses what is best for each candidate.
    forgetting : float or None, default=None
        The factor by which the past fades with each new sample; None chooses among 1, 0.999 and 0.99 along the stream.
    operating_point : dict or None, default=None
        As in `PATERClassifier`; the scores are then those of predictions at the operating point.
    class_weight, fit_intercept, n_passes, shuffle, probability, warm_start, random_state, n_jobs
        As in `PATERClassifier`; class weights multiply those that are tried.

    Attributes
    ----------
    best_params_ : dict
        The settings of the candidate that predicts; for wPATER with more than two classes, a list with one for each.
    progressive_score_ : float
        The score of the predictions, each made before the sample was learned from; with more than two classes, the
        mean over each class against the rest. For wPATER, the score of the candidate that is chosen now.
    progressive_scores_ : ndarray of shape (n_settings,) or (n_classes, n_settings)
        The score by which each candidate is compared, in the order of `scores_frame()`.
    classes_, coef_, intercept_, n_features_in_, feature_names_in_, t_
        As in `PATERClassifier`, for the candidate that predicts.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from pater import AutoPATERClassifier
    >>> X, y = make_classification(5000, weights=[0.95], random_state=0)
    >>> model = AutoPATERClassifier().fit(X, y)
    >>> model.best_params_["algorithm"]
    'arow'
    """

    _rules = PATERClassifier._rules

    def __init__(
        self,
        variants: tuple[str, ...] | None = None,
        weights: tuple[float, ...] | None = None,
        scoring: str = "balanced_accuracy",
        *,
        scoring_settings: dict[str, float] | None = None,
        fading: float | None = None,
        discount: bool = True,
        class_weight: Any = None,
        fit_intercept: bool = True,
        n_passes: int = 1,
        shuffle: bool = False,
        average: bool | None = None,
        forgetting: float | None = None,
        probability: bool = False,
        operating_point: dict[str, Any] | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.variants = variants
        self.weights = weights
        self.scoring = scoring
        self.scoring_settings = scoring_settings
        self.fading = fading
        self.discount = discount
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.average = average
        self.forgetting = forgetting
        self.probability = probability
        self.operating_point = operating_point
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _specs(self) -> Specs:
        one_of("scoring", self.scoring, tuple(SCORES))
        if not isinstance(self.scoring_settings, dict | None):
            raise ValueError(f"scoring_settings must be a dict or None, got {self.scoring_settings!r}.")
        settings = self.scoring_settings or {}
        unknown = set(settings) - set(SCORES[self.scoring].settings)
        if unknown:
            raise ValueError(f"scoring_settings names {sorted(unknown)}, which {self.scoring!r} does not use.")
        for name, value in settings.items():
            if not (isinstance(value, int | float | np.number) and 0 <= value < math.inf):
                raise ValueError(f"scoring_settings must hold non-negative numbers, got {value!r} for {name!r}.")
        base = self._spec(self._rules["I"], watch=True)
        if self.variants is None and self.weights is None:
            memories = MEMORIES if self.forgetting is None else (base.forgetting,)
            base = base._replace(fading=1.0, discount=False)
            return candidates(base, self.scoring, memories=memories, average=self.average)
        return self._grid(base)

    def _grid(self, base: Spec) -> Specs:
        variants = tuple(self._rules) if self.variants is None else self.variants
        weights = PAPER_WEIGHTS if self.weights is None else self.weights
        for name, value in (("variants", variants), ("weights", weights)):
            if not isinstance(value, tuple | list | np.ndarray):
                raise ValueError(f"{name} must be a tuple, got {value!r}.")
        rules = [self._rules[one_of("variants", variant, tuple(self._rules))] for variant in variants]
        alphas = [SETTINGS["alphas"].checked(pair, "weights") for pair in alpha_grid(weights)]
        if not rules:
            raise ValueError("variants must name at least one of 'I' and 'II'.")
        if len(rules) * len(alphas) < 2:
            raise ValueError(
                "there is nothing to choose between: give more variants or weights, or use PATERClassifier."
            )
        return tuple(base._replace(rule=rule, alphas=pair) for pair in alphas for rule in rules)

    def _new(self, classes: NDArray[Any], specs: Specs, fixed: bool = False) -> Model | Pool:
        levels = self.__dict__.pop("_levels", NO_LEVELS)  # that an encoder left here
        if not is_pool(specs):
            return super()._new(classes, specs, fixed)
        views = Views(int(self.n_features_in_), levels)
        return Pool.new(classes, views, specs, *self._scored_by(), fading=self.fading, fixed=fixed)

    def _value(self, setting: Setting) -> Any:
        value = super()._value(setting)
        return PLAIN[setting.name] if value is None and setting.name in PLAIN else value

    def _scored_by(self) -> tuple[str, dict[str, float] | None]:
        settings = self.scoring_settings  # a copy, as the model would not notice what is changed in place
        return self.scoring, settings.copy() if isinstance(settings, dict) else settings

    def _contents(self) -> tuple[Any, ...]:
        given = self.scoring_settings, self.variants, self.weights
        return *super()._contents(), *(None if each is None else repr(each) for each in given)

    @property
    def best_params_(self) -> dict[str, Any] | list[dict[str, Any]]:
        """The settings of the candidate that predicts; for wPATER with more than two classes, those of each class."""
        model = self._fitted_model()
        if isinstance(model, Pool):
            return _candidate(model, model.leader)
        chosen = [_params(model, k % len(model.specs)) for k in self._chosen(model)]
        return chosen if len(chosen) > 1 else chosen[0]

    @property
    def progressive_score_(self) -> float:
        """The score of the predictions, each made before the sample was learned from."""
        counts = self._fitted_model().progressive(*self._scored_by())
        return float(np.mean(score(counts, *self._scored_by())))

    @property
    def progressive_scores_(self) -> NDArray[np.float64]:
        """The score of every candidate on the samples so far, each judged before it was learned from."""
        model = self._fitted_model()
        if isinstance(model, Pool):
            return self._scores_of_pool(model, self.scoring)[model.entered.places]
        values = score(model.confusion(), *self._scored_by())
        return values if len(values) > 1 else values[0]

    def scores_frame(self) -> Any:
        """All candidates and their progressive scores as a pandas DataFrame; for wPATER, with a row for each class."""
        import pandas as pd

        model = self._fitted_model()
        if isinstance(model, Pool):
            places = model.entered.places
            frame = pd.DataFrame([_candidate(model, k) for k in places])
            for name in SCORES:
                frame[name] = self._scores_of_pool(model, name)[places]
            frame["learning"] = [k in model.models for k in places]
            frame["chosen"] = [k == model.leader for k in places]
            return frame
        counts, chosen = model.confusion(), set(self._chosen(model))
        frame = pd.DataFrame([_params(model, k) for k in range(len(model.specs))] * len(counts.tp))
        if len(counts.tp) > 1:
            frame.insert(0, "class", np.repeat(model.classes, len(model.specs)))
        for name in SCORES:
            frame[name] = score(counts, name, self.scoring_settings if name == self.scoring else None).ravel()
        frame["chosen"] = [k in chosen for k in range(len(frame))]
        return frame

    def _scores_of_pool(self, pool: Pool, name: str) -> NDArray[np.float64]:
        values = pool.board.scores(name, self.scoring_settings if name == self.scoring else None)
        return values if SCORES[name].more_is_better else -values


def _params(model: Model, k: int) -> dict[str, Any]:
    spec = model.specs[k]
    return {
        "variant": next(variant for variant, rule in AutoPATERClassifier._rules.items() if rule == spec.rule),
        "alpha_neg": spec.alphas[0],
        "alpha_pos": spec.alphas[1],
    }


def _candidate(pool: Pool, k: int) -> dict[str, Any]:
    spec = pool.specs[k % len(pool.specs)]
    weight = spec.class_weight
    return {
        **({"detail": pool.level(k)} if pool.views.encoded else {}),
        "algorithm": spec.rule,
        "covariance": spec.covariance,
        "r": spec.r,
        "forgetting": spec.forgetting,
        "class_weight": dict(weight) if isinstance(weight, tuple) else weight,
    }
