"""First-order learners for comparison: the Perceptron, the passive-aggressive family and ALMA.

Knows `online`, which does the work.
"""

from __future__ import annotations

from typing import Any, ClassVar

from .online import OnlineClassifier


class Perceptron(OnlineClassifier):
    """Rosenblatt's rule: a mistake adds the sample to the weights, or subtracts it.

    Parameters
    ----------
    class_weight, fit_intercept, n_passes, shuffle, average, probability, operating_point
        As in `PATERClassifier`; weights multiply the step.
    warm_start, random_state, n_jobs
        As in `PATERClassifier`.

    Examples
    --------
    >>> from pater import Perceptron
    >>> Perceptron().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]).predict([[-1.0], [4.0]])
    array(['no', 'yes'], dtype='<U3')

    """

    _rules: ClassVar = {"": "perceptron"}

    def __init__(
        self,
        *,
        class_weight: Any = None,
        fit_intercept: bool = True,
        n_passes: int = 1,
        shuffle: bool = False,
        average: bool = False,
        probability: bool = False,
        operating_point: dict[str, Any] | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.average = average
        self.probability = probability
        self.operating_point = operating_point
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs


class PassiveAggressiveClassifier(OnlineClassifier):
    """Passive-aggressive learning: the smallest step that classifies a sample correctly with a margin of 1.

    Unlike in scikit-learn and River, the intercept's constant 1 is part of ‖x‖², so that an uncapped step ends exactly
    on the margin.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        "PA" always takes the full step; "PA-I" caps it at `C`; "PA-II" shortens it the more, the smaller `C` is.
    C : float, default=1.0
        Aggressiveness. Not used by "PA".
    class_weight : dict of label: weight, "balanced" or None, default=None
        Multiplies the step, as sample weights do.
    fit_intercept, n_passes, shuffle, average, probability, operating_point, warm_start, random_state, n_jobs
        As in `PATERClassifier`.

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, "Online Passive-Aggressive Algorithms", JMLR 7 (2006).

    Examples
    --------
    >>> from pater import PassiveAggressiveClassifier
    >>> model = PassiveAggressiveClassifier("PA").partial_fit([[2.0, 0.0]], [1], classes=[0, 1])
    >>> model.decision_function([[2.0, 0.0]])
    array([1.])

    """

    _rules: ClassVar = {"PA": "pa", "PA-I": "pa-i", "PA-II": "pa-ii"}

    def __init__(
        self,
        variant: str = "PA-I",
        C: float = 1.0,
        *,
        class_weight: Any = None,
        fit_intercept: bool = True,
        n_passes: int = 1,
        shuffle: bool = False,
        average: bool = False,
        probability: bool = False,
        operating_point: dict[str, Any] | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.variant = variant
        self.C = C
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.average = average
        self.probability = probability
        self.operating_point = operating_point
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs


class ALMAClassifier(OnlineClassifier):
    """The approximate large margin algorithm: a perceptron with shrinking steps, kept in the unit ball (p = 2).

    Parameters
    ----------
    alpha : float, default=0.9
        On separable data the margin reaches at least 1 − α times the largest possible; above 0 and at most 1.
    class_weight : dict of label: weight, "balanced" or None, default=None
        Multiplies the step, as sample weights do.
    fit_intercept, n_passes, shuffle, average, probability, operating_point, warm_start, random_state, n_jobs
        As in `PATERClassifier`.

    References
    ----------
    Gentile, "A New Approximate Maximal Margin Classification Algorithm", JMLR 2 (2001).

    Examples
    --------
    >>> from pater import ALMAClassifier
    >>> ALMAClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[-1.0], [4.0]])
    array([0, 1])

    """

    _rules: ClassVar = {"": "alma"}

    def __init__(
        self,
        alpha: float = 0.9,
        *,
        class_weight: Any = None,
        fit_intercept: bool = True,
        n_passes: int = 1,
        shuffle: bool = False,
        average: bool = False,
        probability: bool = False,
        operating_point: dict[str, Any] | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.n_passes = n_passes
        self.shuffle = shuffle
        self.average = average
        self.probability = probability
        self.operating_point = operating_point
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
