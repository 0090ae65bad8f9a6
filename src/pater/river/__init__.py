"""The online learners as River classifiers, which learn from dicts, one at a time, or from frames.

Features may come and go by name, new classes are added as they appear, and River's pipelines, metrics and drift
detectors work as usual. `learn_one` of each row, `learn_many`, and the estimator's `partial_fit` of the same rows as a
sparse matrix give the same bits.

Examples
--------
>>> from pater.river import PATERClassifier
>>> from river import datasets, evaluate, metrics, preprocessing
>>> model = preprocessing.StandardScaler() | PATERClassifier()
>>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.BalancedAccuracy())
BalancedAccuracy: 86.85%
"""

from __future__ import annotations

try:
    import river.utils.dataframe  # noqa: F401
except ImportError as error:
    raise ImportError(f'pater.river needs River 0.26.1 or later ({error}): pip install "pater[river]".') from None

from .conversion import from_river, to_river
from .learners import (
    ALMAClassifier,
    AROWClassifier,
    AutoPATERClassifier,
    ConfidenceWeightedClassifier,
    PassiveAggressiveClassifier,
    PATERClassifier,
    Perceptron,
    SecondOrderPATERClassifier,
    SecondOrderPerceptron,
)

__all__ = [
    "ALMAClassifier",
    "AROWClassifier",
    "AutoPATERClassifier",
    "ConfidenceWeightedClassifier",
    "PATERClassifier",
    "PassiveAggressiveClassifier",
    "Perceptron",
    "SecondOrderPATERClassifier",
    "SecondOrderPerceptron",
    "from_river",
    "to_river",
]
