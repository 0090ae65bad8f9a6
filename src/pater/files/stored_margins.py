"""The histograms of margins in a file, from which an operating point is read.

Knows `container`, `codec`, `stored_state` and `models/margin_counts.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..models.margin_counts import BINS, FARTHEST, LARGEST_GAIN, LARGEST_MARGIN, NUMBERS
from ..models.operating_points import SeenMargins
from .codec import require
from .container import Arrays, Places
from .stored_state import MOST_ROWS, Plan, finite

OPERATING = NUMBERS.names or ()
LARGEST_COUNT = 1e280  # so that the sum of all counts is finite
_COUNTED = {"t", "n_neg", "n_pos", "due"}  # in samples


def seen_arrays(seen: SeenMargins) -> Arrays:
    """The arrays for a file: the histograms, two for each model, and each model's numbers."""
    numbers = np.stack([seen.numbers[name] for name in OPERATING], axis=1)
    return {"operating.counts": seen.counts.reshape(-1, BINS), "operating.numbers": numbers}


def seen_in(names: Any, n_models: int) -> Places:
    """The shapes and types of the arrays of a file, if its header names these numbers."""
    sound = isinstance(names, list) and all(type(name) is str for name in names)
    require(sound and len(set(names)) == len(names), "the numbers of its operating point have no names")
    require(set(OPERATING) <= set(names), "it lacks numbers of its operating point")
    return {
        "operating.counts": ((2 * n_models, BINS), np.float64),
        "operating.numbers": ((n_models, len(names)), np.float64),
    }


def seen_of(names: Any, arrays: Arrays, plan: Plan) -> SeenMargins:
    """The margins seen by the models of a file with an operating point, with each number checked."""
    require(len({spec.operating_point for spec in plan.specs}) == 1, "its models have several operating points")
    wanted = plan.specs[0].operating_point is not None
    require(wanted and names is not None, "it lacks its operating point, or has one that is not its own")
    require(plan.classes.size <= 2, "it has an operating point for more than two classes")
    seen = SeenMargins.new(plan.n_models)
    seen.counts[:] = finite(arrays.pop("operating.counts"), "operating.counts").reshape(-1, 2, BINS)
    stored = finite(arrays.pop("operating.numbers"), "operating.numbers")
    require(((seen.counts >= 0) & (seen.counts <= LARGEST_COUNT)).all(), "it counts margins wrongly")
    for name in OPERATING:
        values = stored[:, names.index(name)]
        seen.numbers[name] = values
        if name == "threshold":
            require((np.abs(values) <= FARTHEST).all(), "its threshold is out of range")
            continue
        most = MOST_ROWS if name in _COUNTED else LARGEST_MARGIN**2
        require(((values >= 0) & (values <= most)).all(), f"the {name} of its operating point is out of range")
        fits = not name.startswith("gain") or ((values > 0) & (values <= LARGEST_GAIN)).all()
        require(fits, f"the {name} of its margins is out of range")
    return seen
