"""Learning from files and pipes: `read` yields batches, `train` learns from them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Batch": "formats.batches",
    "InputError": "formats.errors",
    "Learner": "stream.learner",
    "OnlinePipeline": "estimators.pipeline",
    "load": "stream.learner",
    "read": "formats.reading",
    "train": "stream.training",
}

__all__ = ["Batch", "InputError", "Learner", "OnlinePipeline", "load", "read", "train"]

if TYPE_CHECKING:
    from ..estimators.pipeline import OnlinePipeline
    from ..formats.batches import Batch
    from ..formats.errors import InputError
    from ..formats.reading import read
    from .learner import Learner, load
    from .training import train


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pater.stream' has no attribute {name!r}")
    return getattr(import_module(f"pater.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
