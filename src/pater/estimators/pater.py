"""PATER and its weighted form, of first and of second order.

Knows `online`, which does the work.
"""

from __future__ import annotations

from typing import Any, ClassVar

from ..models.settings import averages_by_itself
from .online import OnlineClassifier


class PATERClassifier(OnlineClassifier):
    """Passive-aggressive minimisation of the total error rate, the sum of false-positive and false-negative rates.

    Each step moves the weights along the difference of the class means, by as much as the loss requires. With
    `class_weight` it is the weighted form, wPATER, whose α⁻ and α⁺ are the weights of the classes.

    Parameters
    ----------
    variant : {"I", "II"}, default="I"
        "I" learns from samples inside the margin only, by the loss of each; "II" learns from every sample, by the mean
        loss so far.
    class_weight : dict of label: weight, "balanced" or None, default=None
        The α⁻ and α⁺ of wPATER. The total error rate weighs both classes equally however rare one is, so "balanced"
        changes nothing here. Weights far from 1 ruin a first-order model: every step moves the intercept the same way,
        until it predicts one class only (a `OneClassWarning` says so). For costs, use `SecondOrderPATERClassifier` with
        weights of cost times the share of the class, {0: 0.99, 1: 50 * 0.01} for 1 % positives and misses that cost
        fifty times as much as false alarms.
    fit_intercept : bool, default=True
        Whether there is a constant feature 1. It takes part in the class means.
    n_passes : int, default=1
        The number of passes of `fit` over the data.
    shuffle : bool, default=False
        Whether each pass of `fit` takes the rows in a new random order.
    average : bool, default=False
        Whether to predict with the weights averaged over the stream. If turned on in mid-stream, the average starts as
        if the weights had been the current ones all along.
    forgetting : float, default=1.0
        For streams that drift: the factor by which the sum, count and loss of a class fade with each new sample of that
        class. 1 forgets nothing; with 0.999 a class remembers about its last thousand samples. At least 1e-12.
    probability : bool, default=False
        Whether to fit probabilities along the stream, for `predict_proba`. Must be set before the first row.
    operating_point : dict or None, default=None
        Where to decide between two classes: {"max_fpr": 0.01}, {"max_fnr": 0.05} or {"cost": {"false_positive": 1,
        "false_negative": 50}}. `predict` then returns the second class from `threshold_` on, which is estimated along
        the stream from the margin of each sample before it was learned from. None decides at 0, as the rule does.
    warm_start : bool, default=False
        Whether `fit` continues from what was learned before.
    random_state : int, RandomState or None, default=None
        For `shuffle`.
    n_jobs : int or None, default=None
        Threads that share the classes of a multiclass problem. None means one, unless in a `joblib.parallel_config`
        context; -1 means one per processor, -2 one less. The result does not depend on it.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn; `coef_` and `intercept_` are computed on access.
    t_ : int
        Samples seen.
    threshold_ : float
        The margin from which the second of two classes is predicted: 0, or that of the `operating_point`.

    References
    ----------
    Se-In Jang, "Online Passive-Aggressive Total-Error-Rate Minimization".

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from pater import PATERClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PATERClassifier().fit(scale(X), y)
    >>> round(model.score(scale(X), y), 3)
    0.97

    """

    _rules: ClassVar = {"I": "pater-i", "II": "pater-ii"}

    def __init__(
        self,
        variant: str = "I",
        *,
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
        self.variant = variant
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


class SecondOrderPATERClassifier(OnlineClassifier):
    """PATER in the metric of a running covariance, which accounts for the scales and correlations of the features.

    Σ⁻¹, to which each sample adds x·xᵀ/r, records how much is known in each direction; both classes weigh the same in
    it, however rare one is. The weights move along Σz instead of z, the difference of the class means. Along Σz lies
    the batch solution of the total error rate.

    Parameters
    ----------
    variant : {"I", "II"}, default="I"
        "I" learns from samples inside the margin only; "II" from every sample.
    r : float, default=30.0
        How many samples of unit size it takes to outweigh the prior, Σ = I.
    covariance : {"full", "diagonal"}, default="full"
        "full" costs O(d²) time per row and memory; "diagonal" only touches the non-zeros of a row, as in first order.
    form : {"leader", "step"}, default="leader"
        "leader": the weights are the best fit to all samples learned from, and stay bounded. "step": the paper's step
        in the metric of Σ, w ← w + τΣz; on data that no plane separates, the weights grow without limit, as those of
        PATER-II do.
    average : bool or None, default=None
        Whether to predict with the weights averaged over the stream. None averages with a diagonal covariance, whose
        leader oscillates, but not with `forgetting`, because the average covers the whole past.
    forgetting : float, default=1.0
        For streams that drift: the factor by which Σ⁻¹, class sums, counts and losses fade with each new sample. 1
        forgets nothing; with 0.999 the learner remembers about its last thousand samples. Samples of both classes
        count, because both share Σ; in first order each class fades with its own samples. A full covariance costs
        O(d²) per row as long as 1 − `forgetting` is at most about 1/d. At least 1e-12.
    class_weight, fit_intercept, n_passes, shuffle, probability, operating_point, warm_start, random_state, n_jobs
        As in `PATERClassifier`; class weights are wPATER's α⁻ and α⁺.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_, t_
        As in `PATERClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from pater import SecondOrderPATERClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SecondOrderPATERClassifier().fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2)
    0.96

    """

    _rules: ClassVar = {"I": "so-pater-i", "II": "so-pater-ii"}

    def __init__(
        self,
        variant: str = "I",
        r: float = 30.0,
        *,
        form: str = "leader",
        covariance: str = "full",
        class_weight: Any = None,
        fit_intercept: bool = True,
        n_passes: int = 1,
        shuffle: bool = False,
        average: bool | None = None,
        forgetting: float = 1.0,
        probability: bool = False,
        operating_point: dict[str, Any] | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.variant = variant
        self.r = r
        self.form = form
        self.covariance = covariance
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

    def _averages(self, rule: str) -> bool:
        if self.average is None:
            return averages_by_itself(rule, self.covariance, float(self.forgetting or 1.0))
        return bool(self.average)
