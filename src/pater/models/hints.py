"""Hints about inputs that are read all the same. Knows nothing."""

from __future__ import annotations


class Hint(UserWarning):
    """Something about an input that is not wrong, but may not be what was meant."""
