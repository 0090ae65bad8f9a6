"""The columns of a table as an exported model takes them: what each value adds to the margins.

Knows `speaker`, and the encoding of tables. The encoder's output columns do not appear: the weights stand with the
values, so that each raw column is described by itself. A number has one weight for each fine bin, which includes that
of its coarse bin.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..preprocessing.column_encoders import COUNTERS, CategoryEncoder, DateEncoder, NumberEncoder
from ..preprocessing.encoding import Encoding
from ..preprocessing.encoding_kernels import SMALLEST
from .crosses import crosses
from .speaker import Speaker

Weights = NDArray[np.float64]  # (models, places)


def table(speaker: Speaker, encoding: Encoding, resolution: str) -> dict[str, Any]:
    """The description of the rows of a table with this encoding."""
    width = encoding.width(resolution)
    weights = np.zeros((len(speaker.weights), max(width, speaker.n_features)))
    weights[:, speaker.columns] = speaker.weights
    at, first = encoding.layout(resolution)
    settled = _with_nothing(weights[:, first:width])
    columns, begin, number = [], 0, 0
    for column in encoding.columns:
        size = sum(column.slots()) + column.n_tokens()
        own = settled[:, encoding.places[begin : begin + size]]
        told: dict[str, Any] = {"name": column.name, "kind": column.kind}
        if isinstance(column, NumberEncoder):
            told |= {"style": column.style} if column.kind == "number" else {}
            told |= _z_score(column, encoding.moments[number], float(encoding.settings.clip), weights[:, number])
            told["bins"] = _bins(column, _with_nothing(weights), at[:, number])
            told["missing"] = own[:, 0].tolist()
            number += 1
        if isinstance(column, DateEncoder):
            told |= _date(column, own)
        elif isinstance(column, CategoryEncoder):
            told |= _category(column, own)
        elif not isinstance(column, NumberEncoder):
            told["missing"] = own[:, 0].tolist()
            if column.n_tokens():
                told["words"] = own[:, 1:].tolist()
        columns.append(told)
        begin += size
    of_crosses = weights[:, first - encoding.crosses.width : first]
    return {"kind": "table", "columns": columns, "crosses": crosses(encoding.crosses, of_crosses)}


def _with_nothing(weights: Weights) -> Weights:
    """The same weights with a 0 at the end, which a place of −1 points to."""
    return np.concatenate([weights, np.zeros((len(weights), 1))], axis=1)


def _z_score(column: NumberEncoder, moments: Weights, clip: float, weights: Weights) -> dict[str, Any]:
    """The z-score of numbers, or of the seconds of dates; None where it adds nothing."""
    count, mean, square = moments.tolist()
    deviation = math.sqrt(square / count) if square > SMALLEST else math.inf
    clock = isinstance(column, DateEncoder) and column.clock
    if clock or not math.isfinite(deviation) or not weights.any():
        return {"z": None}
    return {"z": {"mean": mean, "deviation": deviation, "most": clip, "weights": weights.tolist()}}


def _bins(column: NumberEncoder, weights: Weights, at: NDArray[np.int32]) -> dict[str, Any] | None:
    """The weights of the fine bins, by the output columns (layers, bins) of each; None where they add nothing."""
    own = weights[:, at[:, : column.edges.size + 1]].sum(axis=1)
    return {"edges": column.edges.tolist(), "weights": own.tolist()} if own.any() else None


def _date(column: DateEncoder, own: Weights) -> dict[str, Any]:
    parts = {"hour": own[:, 1:25], "weekday": own[:, 25:32], "month": own[:, 32:44]}
    return {"unit": column.unit or None, **{part: each.tolist() for part, each in parts.items()}}


def _category(column: CategoryEncoder, own: Weights) -> dict[str, Any]:
    most, known = column.settings.max_categories, len(column.names)
    full = known == most
    return {
        "values": list(column.names),
        **column.naming._asdict(),
        "weights": own[:, :known].tolist(),
        "rare": own[:, most].tolist(),
        "missing": own[:, most + 1].tolist(),
        "counters": COUNTERS if full else None,
        "often": np.flatnonzero(column.seen >= column.settings.min_count).tolist() if full else None,
        "buckets": own[:, most + 2 :].tolist() if full else None,
    }
