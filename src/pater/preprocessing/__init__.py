"""The preparation of columns before a model sees them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {"TableEncoder": "estimators.table_encoder"}

__all__ = ["TableEncoder"]

if TYPE_CHECKING:
    from ..estimators.table_encoder import TableEncoder


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pater.preprocessing' has no attribute {name!r}")
    return getattr(import_module(f"pater.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
