"""The online learners as River classifiers. The parameters are those of the estimator of the same name.

Knows `classifier`, which does the work, and the estimators.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..estimators import auto, baselines, baselines_second_order, pater
from .classifier import RiverClassifier


class ALMAClassifier(RiverClassifier):
    """The approximate large margin algorithm: a perceptron with shrinking steps, kept in the unit ball.

    Parameters are those of `pater.ALMAClassifier`.

    Examples
    --------
    >>> from pater.river import ALMAClassifier
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | ALMAClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 86.63%
    """

    _kind = baselines.ALMAClassifier


class AROWClassifier(RiverClassifier):
    """Adaptive regularisation of weights: ridge regression along the stream, from samples inside the margin.

    Parameters are those of `pater.AROWClassifier`.

    Examples
    --------
    >>> from pater.river import AROWClassifier
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), AROWClassifier(), metrics.Accuracy())
    Accuracy: 89.67%
    """

    _kind = baselines_second_order.AROWClassifier


class AutoPATERClassifier(RiverClassifier):
    """Several learners side by side, of which the best so far predicts.

    Parameters are those of `pater.AutoPATERClassifier`. Which candidates suit a stream depends on the number of
    features: at the 257th they start over with a diagonal covariance, and a warning says so.

    Examples
    --------
    >>> from pater.river import AutoPATERClassifier
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), AutoPATERClassifier(), metrics.BalancedAccuracy())
    BalancedAccuracy: 89.61%
    """

    _kind = auto.AutoPATERClassifier

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"variants": ("I", "II"), "weights": (0.1, 0.5)}


class ConfidenceWeightedClassifier(RiverClassifier):
    """Confidence-weighted learning: the smallest change of normally distributed weights to be right with probability η.

    Parameters are those of `pater.ConfidenceWeightedClassifier`.

    Examples
    --------
    >>> from pater.river import ConfidenceWeightedClassifier
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), ConfidenceWeightedClassifier(), metrics.Accuracy())
    Accuracy: 89.75%
    """

    _kind = baselines_second_order.ConfidenceWeightedClassifier

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"variant": "CW", "covariance": "diagonal"}


class PassiveAggressiveClassifier(RiverClassifier):
    """Passive-aggressive learning: the smallest step that classifies a sample correctly with a margin of 1.

    Parameters are those of `pater.PassiveAggressiveClassifier`. Unlike in River's `PAClassifier`, the
    intercept's constant 1 is part of ‖x‖², and there may be any number of classes.

    Examples
    --------
    >>> from pater.river import PassiveAggressiveClassifier
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | PassiveAggressiveClassifier(C=0.01)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.59%
    """

    _kind = baselines.PassiveAggressiveClassifier


class PATERClassifier(RiverClassifier):
    """Passive-aggressive minimisation of the total error rate, the sum of false-positive and false-negative rates.

    Parameters are those of `pater.PATERClassifier`; with `class_weight` it is wPATER.

    Examples
    --------
    >>> from pater.river import PATERClassifier
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | PATERClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.BalancedAccuracy())
    BalancedAccuracy: 86.85%
    """

    _kind = pater.PATERClassifier

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"variant": "II", "average": True, "probability": True}
        yield {"class_weight": {True: 2.0}, "forgetting": 0.99}


class Perceptron(RiverClassifier):
    """Rosenblatt's rule: a mistake adds the sample to the weights, or subtracts it.

    Parameters are those of `pater.Perceptron`.

    Examples
    --------
    >>> from pater.river import Perceptron
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> model = preprocessing.StandardScaler() | Perceptron()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 85.91%
    """

    _kind = baselines.Perceptron


class SecondOrderPATERClassifier(RiverClassifier):
    """PATER in the metric of a running covariance, which accounts for the scales and correlations of the features.

    Parameters are those of `pater.SecondOrderPATERClassifier`.

    Examples
    --------
    >>> from pater.river import SecondOrderPATERClassifier
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), SecondOrderPATERClassifier(), metrics.BalancedAccuracy())
    BalancedAccuracy: 87.75%
    """

    _kind = pater.SecondOrderPATERClassifier

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {}
        yield {"variant": "II", "covariance": "diagonal", "probability": True}


class SecondOrderPerceptron(RiverClassifier):
    """The perceptron in the coordinates that whiten its mistakes.

    Parameters are those of `pater.SecondOrderPerceptron`.

    Examples
    --------
    >>> from pater.river import SecondOrderPerceptron
    >>> from river import datasets, evaluate, metrics
    >>> evaluate.progressive_val_score(datasets.Phishing(), SecondOrderPerceptron(), metrics.Accuracy())
    Accuracy: 85.67%
    """

    _kind = baselines_second_order.SecondOrderPerceptron
