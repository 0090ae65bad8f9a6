"""What an estimator learned, in terms of the user's columns: contributions to margins, and effects of columns.

Knows `base`, the table encoder, and how contributions and effects are computed; pandas comes with the first frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..models.certainty import Certainty
from ..models.contributions import Contributions, contributions, weights_of
from ..preprocessing.curves import Curve
from ..preprocessing.effects import Described, curves
from .inputs import take_rows
from .table_encoder import TableEncoder

if TYPE_CHECKING:
    from .base import LinearClassifier

BASE, ROUNDING = "(base)", "(rounding)"
NEEDS_ENCODER = (
    "effect curves are functions of the raw columns of a table: let a TableEncoder encode them, as in "
    "OnlinePipeline([('encode', TableEncoder()), ('learn', AutoPATERClassifier())]). explain(X) tells what each "
    "feature adds to the margin of a row."
)


def explained(classifier: LinearClassifier, X: Any, described: Described | None) -> tuple[Contributions, list[str]]:
    """What makes up the margins of rows, and the names of the terms: raw columns, or else features."""
    model, margins = classifier._fitted_model(), classifier._checked_margins(X)
    rows = take_rows(classifier, X, reset=False)
    used = np.arange(model.n_features)
    if described is None and len(rows) == 3:
        indptr, indices, data = rows
        used = np.unique(indices[: int(indptr[-1])]).astype(np.int64)
        rows = indptr, np.searchsorted(used, indices[: int(indptr[-1])]), data
    weights, intercepts = weights_of(model, classifier._scored_by(), used, average=classifier._average_of(model))
    if described is not None:
        terms, term_of, centres = described.terms, described.term_of, described.centres(weights)
    else:
        names = classifier._names()
        terms = [str(j) if names is None else str(names[j]) for j in used.tolist()]
        term_of, centres = np.arange(used.size), np.zeros((len(weights), used.size))
    return contributions(rows, margins, weights, intercepts, term_of, centres), terms


def explanation_frame(classifier: LinearClassifier, X: Any, described: Described | None, index: Any) -> Any:
    """The same as a pandas DataFrame: a line for each row, or for each row and class."""
    import pandas as pd

    found, terms = explained(classifier, X, described)
    table = np.concatenate([found.terms, found.base[..., None], found.rounding[..., None]], axis=2)
    n_rows, n_models, width = table.shape
    index = getattr(index, "index", None) if isinstance(index, pd.DataFrame) else None
    index = pd.RangeIndex(n_rows) if index is None else index
    if n_models > 1:
        index = pd.MultiIndex.from_product([index, spoken_for(classifier)], names=["row", "class"])
    return pd.DataFrame(table.reshape(-1, width), index=index, columns=[*terms, BASE, ROUNDING])


def spoken_for(classifier: LinearClassifier) -> list[Any]:
    """The class that each model stands for; with two classes, the second."""
    classes: NDArray[Any] = classifier.classes_
    return list(classes.tolist()) if classes.size != 2 else [classes.tolist()[1]]


def curves_of(steps: list[tuple[str, Any]]) -> list[Curve]:
    """The effects of the raw columns of a table on the margins of a classifier."""
    from .base import LinearClassifier

    encoder, classifier = steps[0][1], steps[-1][1]
    if len(steps) != 2 or not isinstance(encoder, TableEncoder) or not isinstance(classifier, LinearClassifier):
        raise TypeError(NEEDS_ENCODER)
    model = classifier._fitted_model()
    described = described_by(encoder, model.n_features)
    return curves(described, classifier.coef_, Certainty.of(model))


def described_by(encoder: TableEncoder, n_features: int) -> Described:
    """What the columns that a classifier has learned from stand for."""
    described = Described.of(encoder.encoding_, encoder.resolution)
    if len(described.features) != n_features:
        raise ValueError(
            f"the encoder gives {len(described.features)} columns, but the classifier has learned from {n_features}."
        )
    return described


def curves_frame(steps: list[tuple[str, Any]]) -> Any:
    """The same as a pandas DataFrame: a line for each value, or for each value and class."""
    import pandas as pd

    found, labels = curves_of(steps), spoken_for(steps[-1][1])
    lines = [
        {
            "class": labels[curve.model],
            "column": curve.column,
            "part": curve.part,
            "value": effect.value,
            "low": effect.low,
            "high": effect.high,
            "rows": effect.rows,
            "effect": effect.effect,
            "standard_error": effect.standard_error,
        }
        for curve in found
        for effect in curve.effects
    ]
    names = ["class", "column", "part", "value", "low", "high", "rows", "effect", "standard_error"]
    frame = pd.DataFrame(lines, columns=names).astype({"rows": "Int64"})
    return frame.drop(columns="class") if len(labels) == 1 else frame
