"""Rows of numbers, dense or sparse, as an exported model takes them.

Knows `speaker`, and the scalers that may precede it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..preprocessing.scaling import Scaler
from .errors import ExportError
from .speaker import Speaker

Floats = NDArray[np.float64]


class Scale(NamedTuple):
    """The mean that is subtracted from each column and the deviation that it is divided by; None for neither."""

    means: Floats | None = None
    deviations: Floats | None = None


NO_SCALE = Scale()


def numbers(
    speaker: Speaker,
    scale: Scale = NO_SCALE,
    *,
    names: Iterable[Any] | None = None,
    others: str = "error",
    missing: str = "error",
) -> dict[str, Any]:
    """The description of rows of numbers.

    `others` says how columns unknown to the model are treated, and `missing` how missing numbers are.
    """
    columns, weights = speaker.columns, speaker.weights
    return {
        "kind": "numbers",
        "width": speaker.n_features,
        "names": None if names is None else [str(name) for name in names],
        "others": others,
        "missing": missing,
        "columns": columns.tolist(),
        "means": None if scale.means is None else scale.means[columns].tolist(),
        "deviations": None if scale.deviations is None else scale.deviations[columns].tolist(),
        "weights": weights.tolist(),
    }


def scale_along(scaler: Scaler, *, dense: bool) -> Scale:
    """The scale of a scaler that learns along a stream (`preprocessing.scaling`).

    A column that has not varied is left as it is in a sparse row. In a dense row it becomes 0, as if its weight were 0.
    """
    count, mean, square = scaler.count, scaler.mean, scaler.square
    if dense:
        with np.errstate(divide="ignore", invalid="ignore"):
            return Scale(mean, np.where(square > 0, np.sqrt(square / count), 1.0))
    rows = max(scaler.rows, 1)
    spread = square + count * mean * mean * (1.0 - count / rows)
    return Scale(None, np.where((count > 0) & (spread > 0), np.sqrt(spread / rows), 1.0))


def scale_of(step: Any) -> Scale:
    """The scale of a scikit-learn scaler."""
    from sklearn.preprocessing import MaxAbsScaler, RobustScaler, StandardScaler
    from sklearn.utils.validation import check_is_fitted

    if type(step) not in (MaxAbsScaler, RobustScaler, StandardScaler):
        raise ExportError(
            f"a {type(step).__name__} in front of the classifier cannot be exported. TableEncoder, StandardScaler, "
            "MaxAbsScaler and RobustScaler can; export the classifier by itself and do the rest elsewhere."
        )
    if getattr(step, "clip", False):
        raise ExportError(f"a {type(step).__name__} with clip=True cannot be exported: numbers are cut off only there.")
    check_is_fitted(step)
    means = None
    if isinstance(step, StandardScaler):
        means = step.mean_ if step.with_mean else None
    elif isinstance(step, RobustScaler):
        means = step.center_ if step.with_centering else None
    return Scale(means, step.scale_)
