"""Rows of values with hashed names, as an exported model takes them.

Knows `speaker`, `numbers` and the columns of a file.
"""

from __future__ import annotations

from typing import Any

from ..formats.columns import Columns
from .numbers import Scale
from .speaker import Speaker


def hashed(speaker: Speaker, columns: Columns, scale: Scale) -> dict[str, Any]:
    """The description of rows of hashed names: those in a text, or those made from the columns of a table."""
    return {
        "kind": "hashed",
        "bits": columns.bits,
        "table": [{"name": name, "kind": kind} for name, kind in columns.table] if columns.table else None,
        "columns": speaker.columns.tolist(),
        "deviations": None if scale.deviations is None else scale.deviations[speaker.columns].tolist(),
        "weights": speaker.weights.tolist(),
    }
