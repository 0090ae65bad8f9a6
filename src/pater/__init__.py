"""Linear classifiers learned from a stream in one pass, made for imbalanced data.

Importing this costs nothing: scikit-learn and Numba come with the first name that needs them.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # `typing` itself would take half of the time that importing this takes

__version__ = "0.1.0"

_HOMES = {
    "ALMAClassifier": "peers",
    "AROWClassifier": "peers",
    "AutoPATERClassifier": "auto",
    "ConfidenceWeightedClassifier": "peers",
    "PATERClassifier": "linear",
    "PassiveAggressiveClassifier": "linear",
    "Perceptron": "linear",
    "SecondOrderPATERClassifier": "secondorder",
    "SecondOrderPerceptron": "peers",
    "TERClassifier": "ter",
    "load": "loading",
    "plot_progress": "plots",
}

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
    "TERClassifier",
    "__version__",
    "load",
    "plot_progress",
]

if TYPE_CHECKING:
    from typing import Any

    from .auto import AutoPATERClassifier
    from .linear import PassiveAggressiveClassifier, PATERClassifier, Perceptron
    from .loading import load
    from .peers import ALMAClassifier, AROWClassifier, ConfidenceWeightedClassifier, SecondOrderPerceptron
    from .plots import plot_progress
    from .secondorder import SecondOrderPATERClassifier
    from .ter import TERClassifier


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pater' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
