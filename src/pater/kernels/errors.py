"""Errors that can be sent from one process to another, whatever arguments they take."""

from __future__ import annotations

import copyreg
from typing import Any


class SentWhole(Exception):  # noqa: N818
    """An exception that unpickles with its message and attributes, not remade from its arguments."""

    def __reduce__(self) -> Any:
        """Pickle the message and the attributes."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]
