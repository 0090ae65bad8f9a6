"""Rows of named values whose names are hashed, as an exported model takes them.

Knows `speaker` and `numbers`, and what the columns of a file are.
"""

from __future__ import annotations

from typing import Any

from ..formats.columns import Columns
from .numbers import Scale
from .speaker import Speaker


def hashed(speaker: Speaker, columns: Columns, scale: Scale) -> dict[str, Any]:
    """The description of rows of hashed names: those of a text, or those that the columns of a table come to."""
    return {
        "kind": "hashed",
        "bits": columns.bits,
        "table": [{"name": name, "kind": kind} for name, kind in columns.table] if columns.table else None,
        "columns": speaker.columns.tolist(),
        "deviations": None if scale.deviations is None else scale.deviations[speaker.columns].tolist(),
        "weights": speaker.weights.tolist(),
    }
