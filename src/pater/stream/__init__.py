"""Learning from files and pipes: `read` gives batches, `train` learns from them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Batch": "batches",
    "InputError": "errors",
    "Learner": "learner",
    "OnlinePipeline": "pipeline",
    "load": "learner",
    "read": "reading",
    "train": "training",
}

__all__ = ["Batch", "InputError", "Learner", "OnlinePipeline", "load", "read", "train"]

if TYPE_CHECKING:
    from .batches import Batch
    from .errors import InputError
    from .learner import Learner, load
    from .pipeline import OnlinePipeline
    from .reading import read
    from .training import train


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pater.stream' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
