"""The moments of a batch solution in a file: their description in the header, and their numbers.

Knows `codec`, `container` and `moments`. The claims of the header are checked before memory is allocated, and each
number before it is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.rules import LARGEST_ROW
from ..models.batch import BatchModel
from ..models.moments import Moments, OfClass, most_rows
from .codec import BATCH_RULE, is_number, require
from .container import Arrays, Places
from .stored_state import MOST_ROWS, Plan

ORIGIN, WEIGHTS, MEANS, FACTORS = (f"moments.{name}" for name in ("origin", "weights", "means", "factors"))
LARGEST_NUMBER = 4 * LARGEST_ROW**0.5  # in a difference of rows
LARGEST_WEIGHT = 1e20 * MOST_ROWS


def moments_described(model: BatchModel) -> tuple[dict[str, Any] | None, Arrays]:
    """The description of the moments of a batch solution for the header, and their arrays."""
    if model.moments is None:
        return None, {}
    moments, of_class = model.moments, model.moments.of_class
    header = {
        "ridge": model.ridge,
        "rows": [each.rows for each in of_class],
        "factor_rows": [len(each.factor) for each in of_class],
    }
    return header, {
        ORIGIN: moments.origin,
        WEIGHTS: np.array([each.weight for each in of_class]),
        MEANS: np.array([each.mean for each in of_class]),
        FACTORS: np.concatenate([each.factor for each in of_class]),
    }


def moments_in(described: Any, plan: Plan) -> Places:
    """The shapes and types of the arrays of the moments that a header describes, if it is sound."""
    require(plan.specs[0].rule == BATCH_RULE, "it has moments, but its rule makes none")
    rows, factor_rows, ridge = described["rows"], described["factor_rows"], described["ridge"]
    require(is_number(ridge) and ridge >= 0, "its ridge is not a penalty")
    n_classes, width = plan.classes.size, plan.n_features
    for counts, most in ((rows, MOST_ROWS), (factor_rows, most_rows(width))):
        sound = isinstance(counts, list) and len(counts) == n_classes
        require(sound and all(type(n) is int and 0 <= n <= most for n in counts), "its moments count rows wrongly")
    require(sum(rows) <= MOST_ROWS, "its moments count rows wrongly")
    return {
        ORIGIN: ((width,), np.float64),
        WEIGHTS: ((n_classes,), np.float64),
        MEANS: ((n_classes, width), np.float64),
        FACTORS: ((sum(factor_rows), width), np.float64),
    }


def moments_of(described: Any, arrays: Arrays) -> Moments:
    """The moments that the numbers make up; their arrays are removed from `arrays`."""
    origin, weights, means, factors = (arrays.pop(name) for name in (ORIGIN, WEIGHTS, MEANS, FACTORS))
    limits = {"origin": LARGEST_NUMBER, "means": LARGEST_NUMBER, "factors": LARGEST_NUMBER * LARGEST_WEIGHT**0.5}
    for (name, limit), numbers in zip(limits.items(), (origin, means, factors), strict=True):
        require((np.abs(numbers) <= limit).all(), f"its moments hold a number that is too large among the {name}")
    sound = all(0 < w <= LARGEST_WEIGHT if n else w == 0 for n, w in zip(described["rows"], weights, strict=True))
    require(sound, "the weights of its moments do not go with their rows")
    ends = np.cumsum(described["factor_rows"]).tolist()
    cut = [factors[end - n : end] for n, end in zip(described["factor_rows"], ends, strict=True)]
    each = zip(described["rows"], weights.tolist(), means, cut, strict=True)
    of_class = tuple(OfClass(*one) for one in each)
    empty = all(one.rows or not (one.mean.any() or len(one.factor)) for one in of_class)
    require(empty, "its moments are of rows that it does not have")
    return Moments(origin, of_class)
