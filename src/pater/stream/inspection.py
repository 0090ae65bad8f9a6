"""What there is to say of a learner: where it comes from, how it is set, what it learned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.vectors import columns_in_use
from ..formats.errors import InputError
from ..models.pool import Pool
from ..models.settings import AUTO, SETTINGS, WPATER
from ..models.spec import Spec
from .learner import Learner


def summary(learner: Learner, top: int) -> dict[str, Any]:
    """Everything worth reading, as JSON would have it."""
    model, columns = learner.model, learner.columns
    assert model is not None
    chosen = learner.chosen()
    pool, base = isinstance(model, Pool), model.spec
    specs = [base if pool else model.specs[k % len(model.specs)] for k in chosen]
    told: dict[str, Any] = {
        "learner": AUTO if pool else WPATER if len(model.specs) > 1 else base.rule,
        "sources": learner.sources,
        "classes": model.classes.tolist(),
        "features": learner.n_features or model.n_features,
        "columns": _told(learner),
        "settings": {
            "class_weight": base.class_weight if isinstance(base.class_weight, str | None) else dict(base.class_weight),
            "intercept": base.intercept,
            "average": base.average,
            "probabilities": base.calibrate,
            **({} if base.operating_point is None else {"operating_point": _point(base.operating_point)}),
            **{SETTINGS[name].parameter or name: value for name, value in base.own_settings().items()},
            "scale": learner.scaler is not None,
        },
        "counts": {
            "rows": learner.rows,
            "skipped": learner.skipped,
            "missing": learner.missing,
            "updates": model.state.scalars["updates"][chosen].tolist(),
        },
        "progressive": learner.scores() if base.watch else {},
    }
    if base.operating_point is not None:
        told["threshold"] = learner.threshold()
    if len(model.specs) > 1:
        told["settings"] = {"models": len(model.specs), "scoring": learner.scoring, **told["settings"]}
        told["chosen"] = [_candidate(learner, model)] if isinstance(model, Pool) else list(map(_weighted, specs))
    used, weights, intercepts = _weights(learner)
    encoded = learner.encoder.names() if learner.encoder is not None else None
    names = model.classes.tolist() if model.classes.size != 2 else [model.classes.tolist()[1]]
    told["largest_weights"] = [
        {
            "class": name,
            "rule": spec.rule,
            "intercept": float(intercept),
            "weights": [
                (_name(columns, encoded, int(used[j])), float(w[j]))
                for j in np.argsort(-np.abs(w), kind="stable")[:top]
                if w[j] != 0
            ],
        }
        for name, spec, w, intercept in zip(names, specs, weights, intercepts, strict=True)
    ]
    return told


def _candidate(learner: Learner, pool: Pool) -> str:
    spec = pool.spec
    weight = ", balanced" if spec.class_weight == "balanced" else ""
    memory = f", forgetting = {spec.forgetting:g}" if spec.forgetting < 1 else ""
    return f"{spec.rule}{weight}, r = {spec.r:g}{memory}, {spec.covariance} covariance{_detail(learner, pool)}"


def _detail(learner: Learner, pool: Pool) -> str:
    """How much of what the encoder says the leader looks at."""
    level, highest = pool.level(pool.leader), pool.views.n_levels - 1
    crossed = learner.encoder is not None and learner.encoder.encoding.crosses.width > 0
    bins = "" if level >= highest - crossed else ", no bins" if level == 0 else ", coarse bins only"
    return bins + (", no interactions" if crossed and level < highest else "")


def _weighted(spec: Spec) -> str:
    return f"{spec.rule}, α⁻ = {spec.alphas[0]:g}, α⁺ = {spec.alphas[1]:g}"


def _weights(learner: Learner) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The columns that hold anything, their weights and the intercepts; no memory is taken for the other columns."""
    assert learner.model is not None
    model, average = learner.model, learner.model.spec.average
    state = model.speaking(*learner.scored_by)
    used = columns_in_use(state)
    vectors = state.vectors[:, :, used] if state.layout == "split" else state.vectors[:, used]
    with np.errstate(over="ignore", invalid="ignore"):
        weights, intercepts = replace(state, vectors=vectors).weights(average=average)
    if not (np.isfinite(weights).all() and np.isfinite(intercepts).all()):
        raise InputError("the model's numbers are so large that its weights are none.")
    if isinstance(model, Pool):
        used = np.flatnonzero(model.views.places(model.level(model.leader)) >= 0)[used]
    return used, weights, intercepts


def _point(point: tuple[Any, ...]) -> str:
    name, *numbers = point
    return f"{name} {':'.join(f'{number:g}' for number in numbers)}"


def _name(columns: Any, encoded: list[str] | None, j: int) -> str:
    if encoded is not None:
        return encoded[j]
    name = columns.name_of(j) if columns is not None else str(j)
    return name if name is not None else f"#{j}"


def _told(learner: Learner) -> str:
    columns = learner.columns
    if columns is None:
        return "as the caller gave them"
    if columns.kind == "table":
        return f"a table of {len(columns.table)} columns, label {columns.label!r}"
    if columns.kind == "encoded":
        return f"a table of {len(columns.table)} columns, encoded to {learner.n_features}, label {columns.label!r}"
    if columns.kind == "indices":
        return "the indices of the file"
    table = f", a table of {len(columns.table)} columns, label {columns.label!r}" if columns.table else ""
    return f"hashed to {columns.bits} bits{table}"
