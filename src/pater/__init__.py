"""Linear classifiers learned from a stream in one pass, made for imbalanced data.

Importing this costs nothing: scikit-learn and Numba come with the first name that needs them.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # `typing` itself would take half of the time that importing this takes

__version__ = "0.2.0"

_HOMES = {
    "ALMAClassifier": "estimators.baselines",
    "AROWClassifier": "estimators.baselines_second_order",
    "AutoPATERClassifier": "estimators.auto",
    "ConfidenceWeightedClassifier": "estimators.baselines_second_order",
    "OneClassWarning": "models.warnings",
    "PATERClassifier": "estimators.pater",
    "PassiveAggressiveClassifier": "estimators.baselines",
    "Perceptron": "estimators.baselines",
    "SecondOrderPATERClassifier": "estimators.pater",
    "SecondOrderPerceptron": "estimators.baselines_second_order",
    "TERClassifier": "estimators.ter",
    "load": "estimators.load",
    "merge_all": "estimators.merging",
    "plot_effects": "estimators.plots",
    "plot_progress": "estimators.plots",
}

__all__ = [
    "ALMAClassifier",
    "AROWClassifier",
    "AutoPATERClassifier",
    "ConfidenceWeightedClassifier",
    "OneClassWarning",
    "PATERClassifier",
    "PassiveAggressiveClassifier",
    "Perceptron",
    "SecondOrderPATERClassifier",
    "SecondOrderPerceptron",
    "TERClassifier",
    "__version__",
    "load",
    "merge_all",
    "plot_effects",
    "plot_progress",
]

if TYPE_CHECKING:
    from typing import Any

    from .estimators.auto import AutoPATERClassifier
    from .estimators.baselines import ALMAClassifier, PassiveAggressiveClassifier, Perceptron
    from .estimators.baselines_second_order import AROWClassifier, ConfidenceWeightedClassifier, SecondOrderPerceptron
    from .estimators.load import load
    from .estimators.merging import merge_all
    from .estimators.pater import PATERClassifier, SecondOrderPATERClassifier
    from .estimators.plots import plot_effects, plot_progress
    from .estimators.ter import TERClassifier
    from .models.warnings import OneClassWarning


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pater' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
