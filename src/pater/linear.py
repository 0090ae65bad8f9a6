"""The online learners: PATER and its weighted form, the passive-aggressive family, the Perceptron.

Knows `online`, which does the work.
"""

from __future__ import annotations

from typing import Any

from .model import Specs
from .online import OnlineClassifier, forgetting_factor, one_of, positive_number


class PATERClassifier(OnlineClassifier):
    """Passive-aggressive minimisation of the total error rate, the sum of false-positive and false-negative rates.

    Each step moves the weights along the difference of the class means, by as much as the loss asks for. With
    `class_weight` it is the weighted form, wPATER, whose α⁻ and α⁺ are the weights of the classes.

    Parameters
    ----------
    variant : {"I", "II"}, default="I"
        "I" learns from samples inside the margin only, by the loss of each; "II" learns from every sample, by the mean
        loss so far.
    class_weight : dict of label: weight, "balanced" or None, default=None
        Weights from 1e-20 to 1e20. "balanced" is n/(2·n_c) of the samples seen so far, in `partial_fit` as in `fit`.
    fit_intercept : bool, default=True
        Whether there is a constant feature 1. It takes part in the class means.
    n_passes : int, default=1
        How often `fit` passes over the data.
    shuffle : bool, default=False
        Whether each pass of `fit` takes the rows in a new random order.
    average : bool, default=False
        Whether predictions use the average of the weights after each sample. Asked for in mid-stream, it begins there,
        with the weights of that moment as those after each sample before.
    forgetting : float, default=1.0
        For streams that drift: what is left of the sum, count and loss of a class when its next sample comes. 1 forgets
        nothing; with 0.999 a class remembers about its last thousand samples. At least 1e-12.
    probability : bool, default=False
        Whether to fit probabilities along the stream, for `predict_proba`; to be set before the first row is learned.
    warm_start : bool, default=False
        Whether `fit` goes on from what was learned before.
    random_state : int, RandomState or None, default=None
        For `shuffle`.
    n_jobs : int or None, default=None
        Threads that share the classes of a multiclass problem; None for one on each processor.

    Attributes
    ----------
    classes_, coef_, intercept_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn; `coef_` and `intercept_` are made when asked for.
    t_ : int
        Samples seen.

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
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _specs(self) -> Specs:
        variant = one_of("variant", self.variant, ("I", "II"))
        return (self._spec(f"pater-{variant.lower()}", forgetting=forgetting_factor("forgetting", self.forgetting)),)


class PassiveAggressiveClassifier(OnlineClassifier):
    """Passive-aggressive learning: the smallest step after which a sample is right by a margin of 1.

    Unlike in scikit-learn and River, the intercept's constant 1 is part of ‖x‖², so that an uncapped step ends exactly
    on the margin.

    Parameters
    ----------
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        "PA" always goes all the way; "PA-I" goes at most `C`; "PA-II" goes less far, the smaller `C` is.
    C : float, default=1.0
        Aggressiveness. Not used by "PA".
    class_weight, sample_weight
        Multiply the step.
    fit_intercept, n_passes, shuffle, average, probability, warm_start, random_state, n_jobs
        As in :class:`PATERClassifier`.

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
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _specs(self) -> Specs:
        variant = one_of("variant", self.variant, ("PA", "PA-I", "PA-II"))
        return (self._spec(variant.lower(), C=positive_number("C", self.C)),)


class Perceptron(OnlineClassifier):
    """Rosenblatt's rule: a mistake adds the sample to the weights, or takes it away.

    Parameters
    ----------
    class_weight, fit_intercept, n_passes, shuffle, average, probability, warm_start, random_state, n_jobs
        As in :class:`PATERClassifier`; weights multiply the step.

    Examples
    --------
    >>> from pater import Perceptron
    >>> Perceptron().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]).predict([[-1.0], [4.0]])
    array(['no', 'yes'], dtype='<U3')

    """

    def __init__(
        self,
        *,
        class_weight: Any = None,
        fit_intercept: bool = True,
        n_passes: int = 1,
        shuffle: bool = False,
        average: bool = False,
        probability: bool = False,
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
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _specs(self) -> Specs:
        return (self._spec("perceptron"),)
