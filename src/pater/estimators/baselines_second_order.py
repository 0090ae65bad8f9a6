"""Second-order learners for comparison: AROW, confidence-weighted learning and the second-order perceptron.

Knows `online`, which does the work.
"""

from __future__ import annotations

from typing import Any, ClassVar

from .online import OnlineClassifier


class AROWClassifier(OnlineClassifier):
    """Adaptive regularisation of weights: ridge regression along the stream, from samples inside the margin.

    Parameters
    ----------
    r : float, default=1.0
        The larger r, the smaller the steps, and the less label noise matters.
    covariance : {"full", "diagonal"}, default="full"
        "full" costs O(d²) time per row and memory, "diagonal" only touches the non-zeros of a row.
    forgetting : float, default=1.0
        As in `SecondOrderPATERClassifier`.
    class_weight : dict of label: weight, "balanced" or None, default=None
        Multiplies the sample's part in the objective, as sample weights do: r is divided by them.
    fit_intercept, n_passes, shuffle, average, probability, operating_point, warm_start, random_state, n_jobs
        As in `PATERClassifier`.

    References
    ----------
    Crammer, Kulesza and Dredze, "Adaptive Regularization of Weight Vectors", NIPS (2009).

    Examples
    --------
    >>> from pater import AROWClassifier
    >>> model = AROWClassifier(r=1.0, fit_intercept=False).partial_fit([[1.0, 0.0]], [1], classes=[0, 1])
    >>> model.coef_
    array([[0.5, 0. ]])

    """

    _rules: ClassVar = {"": "arow"}

    def __init__(
        self,
        r: float = 1.0,
        *,
        covariance: str = "full",
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
        self.r = r
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


class ConfidenceWeightedClassifier(OnlineClassifier):
    """Confidence-weighted learning: the smallest change of normally distributed weights to be right with probability η.

    Parameters
    ----------
    variant : {"CW", "SCW-I", "SCW-II"}, default="SCW-I"
        "CW" always takes the full step, which suffers from label noise; the soft variants are limited by `C`.
    eta : float, default=0.9
        The probability, above 0.5 and below 1.
    C : float, default=1.0
        Aggressiveness. Not used by "CW".
    covariance : {"full", "diagonal"}, default="full"
        "full" costs O(d²) time per row and memory, "diagonal" only touches the non-zeros of a row.
    forgetting : float, default=1.0
        As in `SecondOrderPATERClassifier`.
    class_weight : dict of label: weight, "balanced" or None, default=None
        Multiplies C, as sample weights do; in "CW", which has no C, it multiplies the step.
    fit_intercept, n_passes, shuffle, average, probability, operating_point, warm_start, random_state, n_jobs
        As in `PATERClassifier`.

    References
    ----------
    Crammer, Dredze and Kulesza, "Exact Convex Confidence-Weighted Learning", NIPS (2008);
    Wang, Zhao and Hoi, "Exact Soft Confidence-Weighted Learning", ICML (2012).

    Examples
    --------
    >>> from pater import ConfidenceWeightedClassifier
    >>> ConfidenceWeightedClassifier("CW").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[-1.0], [4.0]])
    array([0, 1])

    """

    _rules: ClassVar = {"CW": "cw", "SCW-I": "scw-i", "SCW-II": "scw-ii"}

    def __init__(
        self,
        variant: str = "SCW-I",
        eta: float = 0.9,
        C: float = 1.0,
        *,
        covariance: str = "full",
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
        self.eta = eta
        self.C = C
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


class SecondOrderPerceptron(OnlineClassifier):
    """The perceptron in the coordinates that whiten its mistakes.

    Parameters
    ----------
    r : float, default=1.0
        The paper's a: how many mistakes of unit size it takes to outweigh the prior.
    covariance : {"full", "diagonal"}, default="full"
        "full" costs O(d²) time per row and memory, "diagonal" only touches the non-zeros of a row.
    forgetting : float, default=1.0
        As in `SecondOrderPATERClassifier`.
    class_weight : dict of label: weight, "balanced" or None, default=None
        How many times a mistake counts, multiplied by the sample weight.
    fit_intercept, n_passes, shuffle, average, probability, operating_point, warm_start, random_state, n_jobs
        As in `PATERClassifier`.

    References
    ----------
    Cesa-Bianchi, Conconi and Gentile, "A Second-Order Perceptron Algorithm", SIAM J. Comput. 34 (2005).

    Examples
    --------
    >>> from pater import SecondOrderPerceptron
    >>> SecondOrderPerceptron().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[-1.0], [4.0]])
    array([0, 1])

    """

    _rules: ClassVar = {"": "so-perceptron"}

    def __init__(
        self,
        r: float = 1.0,
        *,
        covariance: str = "full",
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
        self.r = r
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
