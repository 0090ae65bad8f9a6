"""A learner as a model file holds it, and back.

Knows `model_file`, `columns`, `scaling` and `encoder`, and what a learner is made of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..files.model_file import Saved
from ..formats.columns import ENCODED, NUMBER, TABLE, Columns
from ..formats.hashed_names import HashedNames
from ..models.labels import is_text
from ..models.metrics import SCORES
from ..models.model import Model
from ..models.pool import Pool
from ..models.truth import are_truths
from ..preprocessing.scaling import Scaler
from .encoder import Encoder

if TYPE_CHECKING:
    from .learner import Learner


def to_save(learner: Learner, model: Model | Pool, progress: dict[str, Any] | None) -> Saved:
    """What a model file is to hold; with `progress`, a checkpoint, which keeps spare columns too."""
    width, columns, scaler = model.n_features, learner.columns, learner.scaler
    if progress is None and width > learner.n_features > 0:
        width = learner.n_features
        model = replace(model)
        model.resize(width)
    described = columns.to_json() if columns else None
    arrays = scaler.arrays(width) if scaler else {}
    if described is not None and learner.encoder is not None:
        described["encoder"], more = learner.encoder.state()
        arrays |= more
    return Saved(
        model,
        scoring=learner.scoring,
        scoring_settings=learner.scoring_settings,
        feature_names=[name for name, _ in columns.table] if columns and columns.kind == TABLE else None,
        columns=described,
        counts={
            "rows": learner.rows,
            "skipped": learner.skipped,
            "missing": learner.missing,
            "features": learner.n_features,
        },
        scaler={"rows": scaler.rows} if scaler else None,
        sources=learner.sources,
        progress=progress,
        hashed_names=learner.names.to_json() if learner.names is not None else None,
        arrays=arrays,
    )


def parts_of(saved: Saved) -> dict[str, Any]:
    """What the learner of a model file is made of; a ValueError if the file describes none."""
    model, newer = saved.model, saved.newer
    described, encoder, scaler = dict(saved.columns or {}), None, None
    if "encoder" in described:
        encoder = Encoder.from_state(described.pop("encoder"), saved.arrays, newer=newer)
    columns = Columns.from_json(described, newer=newer) if saved.columns is not None else _of_matrix(saved)
    if (encoder is not None) != (columns.kind == ENCODED):
        raise ValueError("its columns do not fit its encoder")
    width = model.n_features
    fixed = {"hashed": 1 << columns.bits, "table": len(columns.table)}.get(columns.kind, width)
    if encoder is not None:
        fixed = encoder.n_columns
        if set(encoder.encoding.names) != {name for name, _ in columns.table}:
            raise ValueError("its encoder has other columns than its table")
    if fixed != width:
        raise ValueError("its columns do not fit its features")
    if columns.table and model.classes.size and is_text(model.classes) == columns.numeric_labels:
        raise ValueError("its classes do not fit its labels")
    columns = replace(columns, truths=columns.numeric_labels and are_truths(model.classes))
    if saved.scoring not in SCORES:
        raise ValueError(f"there is no score {saved.scoring!r}")
    if not set(saved.scoring_settings or {}) <= set(SCORES[saved.scoring].settings):
        raise ValueError(f"the score {saved.scoring!r} has other settings")
    if saved.scaler is not None:
        scaler = Scaler.from_arrays(saved.scaler, saved.arrays, width, newer=newer)
    return {
        "specs": model.specs,
        "columns": columns,
        "scoring": saved.scoring,
        "scoring_settings": saved.scoring_settings,
        "scale": scaler is not None,
        "model": model,
        "scaler": scaler,
        "encoder": encoder,
        "names": _names(saved, columns),
        "n_features": min(saved.counts.get("features", width), width),
        "sources": list(saved.sources),
        **{name: saved.counts.get(name, 0) for name in ("rows", "skipped", "missing")},
    }


def _names(saved: Saved, columns: Columns) -> HashedNames | None:
    if saved.hashed_names is None:
        return None
    if not columns.bits:
        raise ValueError("it has names of hashed columns, but hashes none")
    return HashedNames.from_json(saved.hashed_names, columns.bits)


def _of_matrix(saved: Saved) -> Columns:
    """The columns of a model that an estimator has learned from matrices: by name, or else by number."""
    names = saved.feature_names
    numeric = not (saved.model.classes.size and is_text(saved.model.classes))
    if names is None or len(set(names)) < len(names):
        return Columns(numeric_labels=numeric)
    return Columns(TABLE, table=tuple((name, NUMBER) for name in names), numeric_labels=numeric)
