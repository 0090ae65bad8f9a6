"""The paper's experiment: from the protocol to rows, and from rows to tables, statistics, figures and a page.

Needs the libraries of ``pip install "pater[study]"``, which are loaded when a name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {"Plan": "plan", "Reproduction": "reproduction", "StudyError": "store", "reproduce": "reproduction"}

__all__ = ["Plan", "Reproduction", "StudyError", "reproduce"]

if TYPE_CHECKING:
    from .plan import Plan
    from .reproduction import Reproduction, reproduce
    from .store import StudyError


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pater.study' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted(__all__)
