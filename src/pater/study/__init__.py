"""The paper's experiment: protocol to rows; tables, statistics, figures and a page from the rows.

Needs the libraries of ``pip install "pater[study]"``. Importing this costs nothing; the first use of a name does.
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
