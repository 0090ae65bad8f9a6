"""The part of a model that predicts: weights, intercepts, the threshold and the probabilities.

Knows estimators and learners of files, and `models`. Of several candidates, only the chosen one is kept; where the
average predicts, only the average. All are in the units of the reported margins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.base import LinearClassifier
from ..estimators.online import OnlineClassifier
from ..files.vectors import columns_in_use
from ..kernels.progress import FARTHEST, FEW
from ..kernels.state import sizes
from ..models.choice import ScoringSettings
from ..models.contributions import weights_of
from ..models.model import Model
from ..models.operating_points import Point
from ..models.pool import Pool
from ..models.setting_kinds import OperatingPoint
from ..stream.learner import Learner
from .errors import ExportError


@dataclass(frozen=True)
class Speaker:
    """The numbers that predict.

    columns
        The columns in which some model has a weight other than 0, ascending.
    weights
        (models, columns). There is one model for two classes, else one for each class.
    probabilities
        The parameters that turn each model's margin into a probability; None where none were fitted.
    """

    classes: list[Any]
    rules: list[str]
    n_features: int
    columns: NDArray[np.int64]
    weights: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    threshold: float
    operating_point: dict[str, Any] | None
    probabilities: list[dict[str, Any]] | None

    @classmethod
    def of_estimator(cls, estimator: LinearClassifier) -> Speaker:
        model = estimator._fitted_model()
        _check_classes(model)
        online = isinstance(estimator, OnlineClassifier)
        return _speaker(
            model,
            estimator._scored_by(),
            average=estimator._average_of(model),
            threshold=estimator._threshold(model),
            point=estimator._checked_specs()[0].operating_point if online else None,
            calibrated=online and bool(estimator.probability) and model.spec.calibrate,
        )

    @classmethod
    def of_learner(cls, learner: Learner) -> Speaker:
        if learner.model is None:
            raise ExportError("nothing has been learned yet: there is nothing to export.")
        model = learner.model
        _check_classes(model)
        return _speaker(
            model,
            learner.scored_by,
            average=model.spec.average,
            threshold=learner.threshold(),
            point=learner.specs[0].operating_point,
            calibrated=learner.specs[0].calibrate,
        )

    def only(self, columns: NDArray[np.bool_]) -> Speaker:
        """A copy with weights of 0 in all columns but these."""
        kept = columns[self.columns]
        return replace(self, columns=self.columns[kept], weights=self.weights[:, kept])


def _check_classes(model: Model | Pool) -> None:
    if not model.classes.size:
        raise ExportError("the model has not seen any class yet: there is nothing to export.")


def _label(label: Any) -> Any:
    """A label in JSON's types."""
    label = label.item() if isinstance(label, np.generic) else label
    if not isinstance(label, (str, int, float)):
        raise ExportError(f"the label {label!r} is neither a text nor a number, and JSON has no others.")
    return label


def _speaker(
    model: Model | Pool,
    scored_by: tuple[str, ScoringSettings],
    *,
    average: bool,
    threshold: float,
    point: Point | None,
    calibrated: bool,
) -> Speaker:
    used = columns_in_use(model.speaking(*scored_by))
    if isinstance(model, Pool):
        used = np.flatnonzero(model.views.places(model.level(model.leader)) >= 0)[used]
    weights, intercepts = weights_of(model, scored_by, used, average=average)
    if not (np.isfinite(weights).all() and np.isfinite(intercepts).all()):
        raise ExportError(
            "the model's numbers are so large that its weights are not finite: scale the features, fit again."
        )
    matter = (weights != 0).any(axis=0)
    chosen = model.chosen(*scored_by)
    specs = [model.spec if isinstance(model, Pool) else model.specs[k % len(model.specs)] for k in chosen]
    return Speaker(
        [_label(label) for label in model.classes.tolist()],
        [spec.rule for spec in specs],
        model.n_features,
        used[matter],
        weights[:, matter] + 0.0,  # no negative zeros
        intercepts + 0.0,
        threshold,
        OperatingPoint.told(point),
        _probabilities(model.state.scalars[chosen], average) if calibrated else None,
    )


def _probabilities(scalars: NDArray[np.void], average: bool) -> list[dict[str, Any]]:
    """The parameters that turn reported margins into probabilities (`models.predict.probabilities`)."""
    found = []
    for m, usual in zip(scalars, sizes(scalars, average=average).tolist(), strict=True):
        square = float(m["margin_square"])
        found.append(
            {
                "size": math.sqrt(square) / usual if square > 0 else None,
                "most": FARTHEST,
                "slope": float(m["slope"] * (m["t"] / (m["t"] + FEW))),
                "offset": float(m["offset"]),
            }
        )
    return found
