"""The crosses of two columns as an exported model takes them.

Knows the crosses of an encoding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..preprocessing.column_encoders import NumberEncoder
from ..preprocessing.crosses import Crosses
from ..preprocessing.facets import Facet

PARTS = ("hour", "weekday", "month")


def crosses(of: Crosses, weights: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Each cross with a weight other than 0: its two sides, and its weights (models, places)."""
    plan, found = of._plan, []
    for k, (left, right) in enumerate(plan.of.tolist()):
        own = weights[:, int(plan.starts[k]) : int(plan.starts[k + 1])]
        if not own.any():
            continue
        seed = int(plan.seeds[k])
        found.append(
            {
                "left": _side(of, plan.facets[left]),
                "right": _side(of, plan.facets[right]),
                "hash": None if plan.direct[k] else [seed >> 32, seed & 0xFFFFFFFF],
                "weights": own.tolist(),
            }
        )
    return found


def _side(of: Crosses, facet: Facet) -> dict[str, Any]:
    """One side of a cross: a part of a date, the bin of a number, or a category."""
    column = of.columns[facet.column]
    if not facet.values:
        return {"column": column.name, "part": "category"}
    if facet.slot >= 0:
        return {"column": column.name, "part": PARTS[facet.slot]}
    assert isinstance(column, NumberEncoder)
    edges = column.edges[np.diff(column.groups) > 0].tolist() if np.isnan(facet.split) else [facet.split]
    return {"column": column.name, "part": "bin", "edges": edges}
