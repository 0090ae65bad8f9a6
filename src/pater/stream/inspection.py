"""A summary of a learner: its sources, its settings, and what it learned."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.vectors import columns_in_use
from ..formats.columns import NUMBER, Columns
from ..formats.errors import InputError
from ..formats.hashing import place_of
from ..models.batch import BatchModel
from ..models.contributions import weights_of
from ..models.pool import Pool
from ..models.settings import AUTO, SETTINGS, WPATER
from ..models.spec import Spec
from ..preprocessing.effects import Described, curves
from .learner import Learner


def summary(learner: Learner, top: int) -> dict[str, Any]:
    """The summary, in JSON's types."""
    model = learner.model
    assert model is not None
    chosen = learner.chosen()
    pool, base = isinstance(model, Pool), model.spec
    specs = [base if pool else model.specs[k % len(model.specs)] for k in chosen]
    told: dict[str, Any] = {
        "learner": AUTO if pool else WPATER if len(model.specs) > 1 else base.rule,
        "sources": learner.sources,
        "classes": model.classes.tolist(),
        "features": learner.n_features or model.n_features,
        "columns": _kind_of_columns(learner),
        "settings": {
            "class_weight": base.class_weight if isinstance(base.class_weight, str | None) else dict(base.class_weight),
            "intercept": base.intercept,
            "average": base.average,
            "probabilities": base.calibrate,
            **({} if base.operating_point is None else {"operating_point": _point(base.operating_point)}),
            **{SETTINGS[name].parameter or name: value for name, value in base.own_settings().items()},
            **({"ridge": model.ridge} if isinstance(model, BatchModel) and model.moments is not None else {}),
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
    table = None if learner.encoder is None else Described.of(learner.encoder.encoding, learner.encoder.resolution)
    names = model.classes.tolist() if model.classes.size != 2 else [model.classes.tolist()[1]]
    told["largest_weights"] = [
        {
            "class": name,
            "rule": spec.rule,
            "intercept": float(intercept),
            "weights": [
                (name_of(learner, table, int(used[j])), float(w[j]))
                for j in np.argsort(-np.abs(w), kind="stable")[:top]
                if w[j] != 0
            ],
        }
        for name, spec, w, intercept in zip(names, specs, weights, intercepts, strict=True)
    ]
    if table is not None:
        told["columns_that_matter"] = _spreads(learner, table, names)
    return told


def _spreads(learner: Learner, table: Described, names: list[Any]) -> list[dict[str, Any]]:
    """How much of a difference each raw column makes to the margin of each class: the deviation of its effect."""
    assert learner.model is not None
    spreads: dict[int, dict[str, float]] = {}
    weights, _ = learner.model.weights(learner.scored_by, average=learner.model.spec.average)
    for curve in curves(table, weights, None):
        of_class = spreads.setdefault(curve.model, {})
        of_class[curve.column] = float(np.hypot(of_class.get(curve.column, 0.0), curve.spread))
    return [{"class": name, "spreads": list(spreads.get(k, {}).items())} for k, name in enumerate(names)]


def candidate_told(learner: Learner) -> str:
    """The learner that predicts, with its settings."""
    model = learner.model
    assert model is not None
    return _candidate(learner, model) if isinstance(model, Pool) else model.spec.rule


def _candidate(learner: Learner, pool: Pool) -> str:
    spec = pool.spec
    weight = ", balanced" if spec.class_weight == "balanced" else ""
    memory = f", forgetting = {spec.forgetting:g}" if spec.forgetting < 1 else ""
    return f"{spec.rule}{weight}, r = {spec.r:g}{memory}, {spec.covariance} covariance{_detail(learner, pool)}"


def _detail(learner: Learner, pool: Pool) -> str:
    """How much detail of the encoder the leader uses."""
    level, highest = pool.level(pool.leader), pool.views.n_levels - 1
    crossed = learner.encoder is not None and learner.encoder.encoding.crosses.width > 0
    bins = "" if level >= highest - crossed else ", no bins" if level == 0 else ", coarse bins only"
    return bins + (", no interactions" if crossed and level < highest else "")


def _weighted(spec: Spec) -> str:
    return f"{spec.rule}, α⁻ = {spec.alphas[0]:g}, α⁺ = {spec.alphas[1]:g}"


def _weights(learner: Learner) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The columns that hold anything, their weights and the intercepts; no memory is taken for the other columns."""
    assert learner.model is not None
    model = learner.model
    used = columns_in_use(learner.state())
    if isinstance(model, Pool):
        used = np.flatnonzero(model.views.places(model.level(model.leader)) >= 0)[used]
    weights, intercepts = weights_of(model, learner.scored_by, used, average=model.spec.average)
    if not (np.isfinite(weights).all() and np.isfinite(intercepts).all()):
        raise InputError("the model's numbers are so large that its weights are not finite.")
    return used, weights, intercepts


def _point(point: tuple[Any, ...]) -> str:
    name, *numbers = point
    return f"{name} {':'.join(f'{number:g}' for number in numbers)}"


def name_of(learner: Learner, table: Described | None, j: int) -> str:
    """The name of a column of the model; for a hashed one, all names known to land there."""
    if table is not None:
        return table.told(j)
    columns = learner.columns
    if columns is None or not columns.bits:
        return str(j) if columns is None else str(columns.name_of(j))
    seen = learner.names.names.get(j, []) if learner.names is not None else []
    return " or ".join([*_numbers_at(columns).get(j, []), *seen]) or f"#{j}"


@lru_cache(maxsize=4)
def _numbers_at(columns: Columns) -> dict[int, list[str]]:
    """Where the columns of numbers of a hashed table land."""
    found: dict[int, list[str]] = {}
    for name, kind in columns.table:
        if kind == NUMBER:
            found.setdefault(place_of(name, columns.bits)[0], []).append(name)
    return found


def _kind_of_columns(learner: Learner) -> str:
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
