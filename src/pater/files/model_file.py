"""The model file: what the header and the arrays of a container mean for a model. Described in docs/model-file.md.

Knows `container`, `stored_model` and `stored_pool`; knows no estimator. Loading executes nothing and trusts nothing:
the checksum covers every byte of the file, the claims of the header are compared with the content of the file before
memory is allocated, and each number is checked before it is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..models.model import Model
from ..models.pool import Pool
from .codec import BATCH_RULE, UnsoundError, is_number, labels_to_json, require
from .container import Arrays, ModelFileError, Places, is_newer, read, write
from .stored_model import StoredModel, described, parts_in_place
from .stored_pool import StoredPool, pool_described
from .stored_state import MOST_ROWS
from .vectors import Same

__all__ = ["BATCH_RULE", "ModelFileError", "Saved", "load", "save"]


@dataclass
class Saved:
    """The content of a model file.

    model
        Classes, settings and state; and, once read, which of several models predict.
    scoring, scoring_settings
        The progressive score by which the best of several specs is chosen, and its costs or weights.
    feature_names
        One for each feature, if they have names.
    columns, counts, scaler, sources, estimator, progress
        What the program that saved it adds, as JSON: how input becomes columns; rows learned, skipped and the like; how
        columns are scaled; what was learned from; an estimator's class and parameters; how far a checkpoint is.
    hashed_names
        Columns and the names that are hashed to them, if any were kept.
    arrays
        Arrays that belong to these, by name.
    newer
        Whether it was written in a later version of the format, so that it may hold things unknown to this one.
    """

    model: Model | Pool
    scoring: str = "balanced_accuracy"
    scoring_settings: dict[str, float] | None = None
    feature_names: list[str] | None = None
    columns: dict[str, Any] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    scaler: dict[str, Any] | None = None
    sources: list[str] = field(default_factory=list)
    estimator: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
    hashed_names: list[Any] | None = None
    arrays: Arrays = field(default_factory=dict)
    newer: bool = False


_ADDED = (
    "scoring",
    "scoring_settings",
    "feature_names",
    "columns",
    "counts",
    "scaler",
    "sources",
    "estimator",
    "progress",
    "hashed_names",
)
_NOTHING_ADDED = Saved(None)  # type: ignore[arg-type]


def save(path: str | os.PathLike[str], saved: Saved, *, accept: Callable[[Saved], Any] = lambda again: None) -> None:
    """Write a model file beside its place, sync it to the disk, read it back, and only then move it to its place.

    It is read back as `load` reads it, and compared bit for bit with what was to be written, number by number as they
    are read, so that no second copy is needed. `accept` raises a ValueError if the caller cannot use what came back.
    """
    model, scored_by = saved.model, (saved.scoring, saved.scoring_settings)
    speaker = model.speaker if isinstance(model, Pool) else model
    own, arrays = described(speaker, scored_by)
    header: dict[str, Any] = {
        "classes": {**labels_to_json(model.classes), "fixed": model.fixed},
        **own,
        **{name: getattr(saved, name) for name in _ADDED},
    }
    if isinstance(model, Pool):
        header["pool"], more = pool_described(model)
        arrays |= more
    arrays |= saved.arrays

    def check(written: Path) -> None:
        try:
            again = _read_back(written, saved, arrays)
            accept(again)
        except (ValueError, TypeError) as error:
            told = str(error).removeprefix(f"{written}: ").removesuffix(".")
            raise ModelFileError(path, f"cannot be written, since it could not be read again: {told}.") from None

    write(path, header, arrays, check=check)


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model file, or raise a `ModelFileError` that says what is wrong with it."""
    reading = _Reading()
    try:
        return reading.saved(*read(path, reading.rooms, reading.claims))
    except UnsoundError as error:
        raise ModelFileError(path, f"it is not a sound model file: {error}.") from None


def _read_back(path: Path, saved: Saved, arrays: Arrays) -> Saved:
    """Read a file that was just written, and check that its content is what was to be written."""
    rooms = {name: Same(array) for name, array in arrays.items()}
    reading = _Reading(saved.model)
    header, _ = read(path, {name: lambda *_, room=room: room for name, room in rooms.items()}, reading.claims)
    require(all(room.agreed for room in rooms.values()), "other numbers came back")
    large: Arrays = {name: room for name, room in rooms.items() if name in reading.rooms}
    again = reading.saved(header, {**arrays, **large})
    model, was = again.model, saved.model
    same = model.specs == was.specs and model.classes.tolist() == was.classes.tolist() and model.fixed == was.fixed
    same = same and all(
        one.state.scalars.tobytes() == other.state.scalars.tobytes()
        for one, other in zip(_models(model), _models(was), strict=True)
    )
    require(same, "other settings came back")
    return again


def _models(model: Model | Pool) -> list[Model]:
    return list(model.models.values()) if isinstance(model, Pool) else [model]


class _Reading:
    """A file being read: the model that predicts, and the pool behind it, if there is one.

    If a model is given, the file is that model's own, read back after writing.
    """

    def __init__(self, model: Model | Pool | None = None) -> None:
        self._speaker = StoredModel(None if model is None else model.state)
        self._pool: StoredPool | None = None
        self._own = model
        self.rooms = self._speaker.rooms()

    def claims(self, header: dict[str, Any], places: Places) -> None:
        """Check that the header is sound and fits the arrays, before memory is allocated for them."""
        with parts_in_place():
            self._speaker.claims(header, places)
            told = header.get("pool") or {}
            _check_added(_added(header), told.get("features", self._speaker.plan.n_features))
            if header.get("pool") is not None:
                self._pool = StoredPool(self._own if isinstance(self._own, Pool) else None)
                self._pool.claims(header, places, self._speaker)
                for other in self._pool.others.values():
                    self.rooms |= other.rooms()

    def saved(self, header: dict[str, Any], arrays: Arrays) -> Saved:
        with parts_in_place():
            added = _added(header)
            scored_by = added["scoring"], added["scoring_settings"]
            model: Model | Pool = self._speaker.model(header, arrays, scored_by)
            if self._pool is not None:
                assert isinstance(model, Model)
                model = self._pool.pool(header, arrays, model, scored_by)
            return Saved(model, arrays=arrays, newer=is_newer(header["version"]), **added)


def _added(header: dict[str, Any]) -> dict[str, Any]:
    """The fields beside the model; those that the header lacks have their defaults."""
    return {name: header.get(name, getattr(_NOTHING_ADDED, name)) for name in _ADDED}


def _check_added(added: dict[str, Any], n_features: int) -> None:
    names = added["feature_names"]
    if names is not None:
        sound = isinstance(names, list) and all(isinstance(name, str) for name in names)
        require(sound and len(names) == n_features, "its feature names do not fit its features")
    counts = added["counts"]
    sound = isinstance(counts, dict) and all(type(n) is int and 0 <= n <= MOST_ROWS for n in counts.values())
    require(sound, "its counts are unsound")
    settings = added["scoring_settings"]
    require(isinstance(added["scoring"], str), "its scoring has no name")
    sound = settings is None or (isinstance(settings, dict) and all(map(is_number, settings.values())))
    require(sound, "its scoring has unsound settings")
    sources = added["sources"]
    require(isinstance(sources, list) and all(isinstance(name, str) for name in sources), "its sources are unsound")
    for name in ("columns", "scaler", "estimator", "progress"):
        require(added[name] is None or isinstance(added[name], dict), f"{name} is unsound")
