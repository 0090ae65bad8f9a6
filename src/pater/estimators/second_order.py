"""Second-order PATER: its step under the metric of what the stream has shown so far.

Knows `online`, which does the work.
"""

from __future__ import annotations

from typing import Any

from ..models.model import Specs
from .online import OnlineClassifier, noise, one_of


class SecondOrderPATERClassifier(OnlineClassifier):
    """PATER in the metric of a running covariance: it allows for the features' scales and for their correlations.

    Σ⁻¹, to which each sample adds x·xᵀ/r, remembers how much is known in which direction; each class weighs the same in
    it, however rare it is. The weights go along Σz instead of z, the difference of the class means, which is where the
    batch solution of the total error rate lies.

    Parameters
    ----------
    variant : {"I", "II"}, default="I"
        "I" learns from samples inside the margin only; "II" from every sample.
    r : float, default=30.0
        How many samples of unit size it takes to outweigh the prior, Σ = I.
    covariance : {"full", "diagonal"}, default="full"
        "full" costs O(d²) of time a row and of memory; "diagonal" only what the row holds, as the first-order learners.
    form : {"leader", "step"}, default="leader"
        "leader": the weights are the best fit to all that was learned from, and stay of a size. "step": the paper's
        step taken in the metric of Σ, w ← w + τΣz; on data that no plane separates the weights grow without end, as
        those of PATER-II do.
    average : bool or None, default=None
        Whether predictions use the average of the weights after each sample. None: with a diagonal covariance, whose
        leader oscillates.
    class_weight, fit_intercept, n_passes, shuffle, probability, warm_start, random_state, n_jobs
        As in :class:`PATERClassifier`; class weights are wPATER's α⁻ and α⁺.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_, t_
        As in :class:`PATERClassifier`.

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
        probability: bool = False,
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
        self.probability = probability
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _averages(self) -> bool:
        return self.covariance == "diagonal" if self.average is None else bool(self.average)

    def _specs(self) -> Specs:
        variant = one_of("variant", self.variant, ("I", "II"))
        covariance = one_of("covariance", self.covariance, ("full", "diagonal"))
        form, r = one_of("form", self.form, ("leader", "step")), noise("r", self.r)
        return (self._spec(f"so-pater-{variant.lower()}", form=form, r=r, covariance=covariance),)
