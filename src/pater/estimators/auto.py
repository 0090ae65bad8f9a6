"""PATER with its weights chosen along the stream.

Knows `online`, `pater`, `choice` and `search`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.choice import score
from ..models.metrics import SCORES
from ..models.model import Model
from ..models.search import PAPER_WEIGHTS, alpha_grid
from ..models.settings import SETTINGS
from ..models.spec import Specs
from .online import OnlineClassifier
from .parameters import one_of
from .pater import PATERClassifier


class AutoPATERClassifier(OnlineClassifier):
    """PATER-I and -II with many class weights, learned side by side in one pass; the best so far predicts.

    Every model says what it thinks of a sample before it learns from it. These progressive answers tell which weights
    are best, honestly and at any time, without a second pass or data set aside.

    Parameters
    ----------
    variants : tuple of {"I", "II"}, default=("I", "II")
        The variants to try.
    weights : tuple of float, default=(0.01, 0.1, 0.3, 0.5, 0.9, 0.99)
        The weights to try, each as α⁻ with α⁺ = 1 and the other way round, beside the unweighted form.
    scoring : {"accuracy", "balanced_accuracy", "ter", "wter", "f1", "g_mean", "cost"}, default="balanced_accuracy"
        What "best" means. Of equals, the unweighted model is chosen.
    scoring_settings : dict or None, default=None
        For "wter" `alpha_neg` and `alpha_pos`, for "cost" `of_false_positive` and `of_false_negative`; 1 by default.
    fading : float, default=1.0
        What is left of a sample's part in the scores when the next one comes. Below 1 the choice follows a drift: 0.999
        looks at about the last thousand samples.
    discount : bool, default=True
        Whether a sample counts in proportion to its place in the stream, so that the clumsy beginnings of a model tell
        less than what it has become. On the paper's data sets this chooses better than plain progressive scores.
    operating_point : dict or None, default=None
        As in :class:`PATERClassifier`; the scores are then those of what was predicted at the operating point.
    class_weight, fit_intercept, n_passes, shuffle, average, forgetting, probability, warm_start, random_state, n_jobs
        As in :class:`PATERClassifier`; class weights multiply those that are tried, and `n_jobs` threads share all
        models of all classes.

    Attributes
    ----------
    best_params_ : dict, or list of dicts
        The chosen variant, `alpha_neg` and `alpha_pos`; with more than two classes, one for each.
    progressive_scores_ : ndarray of shape (n_settings,) or (n_classes, n_settings)
        The score of every setting so far, in the order of `scores_frame()`.
    classes_, coef_, intercept_, n_features_in_, feature_names_in_, t_
        As in :class:`PATERClassifier`, of the chosen models.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from pater import AutoPATERClassifier
    >>> X, y = make_classification(5000, weights=[0.95], random_state=0)
    >>> model = AutoPATERClassifier().fit(X, y)
    >>> model.best_params_["variant"]
    'II'
    """

    _rules = PATERClassifier._rules

    def __init__(
        self,
        variants: tuple[str, ...] = ("I", "II"),
        weights: tuple[float, ...] = PAPER_WEIGHTS,
        scoring: str = "balanced_accuracy",
        *,
        scoring_settings: dict[str, float] | None = None,
        fading: float = 1.0,
        discount: bool = True,
        class_weight: Any = None,
        fit_intercept: bool = True,
        n_passes: int = 1,
        shuffle: bool = False,
        average: bool = False,
        forgetting: float = 1.0,
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
        for name in ("variants", "weights"):
            if not isinstance(getattr(self, name), tuple | list | np.ndarray):
                raise ValueError(f"{name} must be a tuple, got {getattr(self, name)!r}.")
        rules = [self._rules[one_of("variants", variant, tuple(self._rules))] for variant in self.variants]
        alphas = [SETTINGS["alphas"].checked(pair, "weights") for pair in alpha_grid(self.weights)]
        if not rules:
            raise ValueError("variants must name at least one of 'I' and 'II'.")
        if len(rules) * len(alphas) < 2:
            raise ValueError(
                "there is nothing to choose between: give more variants or weights, or use PATERClassifier."
            )
        one_of("scoring", self.scoring, tuple(SCORES))
        if not isinstance(self.scoring_settings, dict | None):
            raise ValueError(f"scoring_settings must be a dict or None, got {self.scoring_settings!r}.")
        settings = self.scoring_settings or {}
        unknown = set(settings) - set(SCORES[self.scoring].settings)
        if unknown:
            raise ValueError(f"scoring_settings names {sorted(unknown)}, which {self.scoring!r} does not use.")
        for name, value in settings.items():
            if not (isinstance(value, int | float | np.number) and 0 <= value < math.inf):
                raise ValueError(f"scoring_settings must hold numbers from 0 on, got {value!r} for {name!r}.")
        base = self._spec(rules[0], watch=True)
        return tuple(base._replace(rule=rule, alphas=pair) for pair in alphas for rule in rules)

    def _scored_by(self) -> tuple[str, dict[str, float] | None]:
        return self.scoring, self.scoring_settings

    @property
    def best_params_(self) -> dict[str, Any] | list[dict[str, Any]]:
        """The chosen settings; with more than two classes, those of each class."""
        model = self._fitted_model()
        chosen = [_params(model, k % len(model.specs)) for k in self._chosen(model)]
        return chosen if len(chosen) > 1 else chosen[0]

    @property
    def progressive_scores_(self) -> NDArray[np.float64]:
        """The score of every setting on the samples so far, each judged before it was learned from."""
        values = score(self._fitted_model().confusion(), self.scoring, self.scoring_settings)
        return values if len(values) > 1 else values[0]

    def scores_frame(self) -> Any:
        """All progressive scores of all settings as a pandas DataFrame, a row for each class and setting."""
        import pandas as pd

        model = self._fitted_model()
        counts, chosen = model.confusion(), set(self._chosen(model))
        frame = pd.DataFrame([_params(model, k) for k in range(len(model.specs))] * len(counts.tp))
        if len(counts.tp) > 1:
            frame.insert(0, "class", np.repeat(model.classes, len(model.specs)))
        for name in SCORES:
            frame[name] = score(counts, name, self.scoring_settings if name == self.scoring else None).ravel()
        frame["chosen"] = [k in chosen for k in range(len(frame))]
        return frame


def _params(model: Model, k: int) -> dict[str, Any]:
    spec = model.specs[k]
    return {
        "variant": next(variant for variant, rule in AutoPATERClassifier._rules.items() if rule == spec.rule),
        "alpha_neg": spec.alphas[0],
        "alpha_pos": spec.alphas[1],
    }
