"""The model file: what the header and the arrays of a container mean for a model. Described in docs/model-file.md.

Knows `container`, `stored_state`, `vectors`, `model` and `choice`; knows no estimator. Loading executes nothing, and
believes nothing: the checksum covers every byte of the file, what the header claims is held against what the file holds
before memory is taken for it, and each number is checked before anything is made of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..kernels.state import State, triangle_size
from ..kernels.triangle import packed_size
from ..models.choice import Stored
from ..models.model import Model
from .codec import (
    BATCH_RULE,
    UnsoundError,
    is_number,
    labels_to_json,
    require,
    spec_to_json,
)
from .container import OF_ANOTHER_KIND, Arrays, ModelFileError, Places, Shape, is_newer, minor, read, write
from .stored_margins import OPERATING, seen_arrays, seen_in, seen_of
from .stored_state import (
    MOST_ROWS,
    REALS,
    WHOLE_NUMBERS,
    Plan,
    check_reach,
    check_triangles,
    columns_kept,
    history_of,
    points_in,
    scalars_of,
)
from .vectors import Room, Rows, Same, Vectors, columns_in_use, kinds

__all__ = ["BATCH_RULE", "ModelFileError", "Saved", "load", "save"]


@dataclass
class Saved:
    """What a model file holds.

    model
        Classes, settings and state; and, as it was read, which of several models speak.
    scoring, scoring_settings
        By which progressive score the best of several specs is chosen, and its costs or weights.
    feature_names
        One for each feature, if they have names.
    columns, counts, scaler, sources, estimator, progress
        What the one who saved it adds, as JSON: how input becomes columns; rows learned, skipped and the like; how
        columns are scaled; what was learned from; an estimator's class and parameters; how far a checkpoint is.
    arrays
        Arrays that belong to these, by name.
    newer
        Whether a later version of the format wrote it, which may name what this one does not know.
    """

    model: Model
    scoring: str = "balanced_accuracy"
    scoring_settings: dict[str, float] | None = None
    feature_names: list[str] | None = None
    columns: dict[str, Any] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    scaler: dict[str, Any] | None = None
    sources: list[str] = field(default_factory=list)
    estimator: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
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
)
_NOTHING_ADDED = Saved(None)  # type: ignore[arg-type]


def save(path: str | os.PathLike[str], saved: Saved, *, accept: Callable[[Saved], Any] = lambda again: None) -> None:
    """Write a model file: beside its place, to the disk, and, once it was read back, in one step to its place.

    It is read back as `load` reads it, and compared to the bit with what was to be written, number by number as they
    pass, so that it takes no second copy. `accept` raises a ValueError if the caller cannot use what came back.
    """
    model, state = saved.model, saved.model.state
    kept = columns_in_use(state)
    header: dict[str, Any] = {
        "classes": {**labels_to_json(model.classes), "fixed": model.fixed},
        "specs": [spec_to_json(spec) for spec in model.specs],
        "state": {
            "models": state.n_models,
            "features": state.n_features,
            "kept": int(kept.size),
            "layout": state.layout,
            "sharing": sorted(model for herd in state.herds if herd.sharing for model in herd.models),
            "vectors": kinds(state.has_means, state.metric, state.layout),
            "reals": REALS,
            "counts": WHOLE_NUMBERS,
        },
        "history": None,
        "operating": None if model.seen is None else list(OPERATING),
        "chosen": model.chosen(saved.scoring, saved.scoring_settings) if len(model.specs) > 1 else None,
        **{name: getattr(saved, name) for name in _ADDED},
    }
    arrays: Arrays = {} if kept.size == state.n_features else {"kept": kept}  # before the vectors, to know their places
    arrays |= {
        "vectors": Vectors(state, kept),
        "reals": np.stack([state.scalars[name] for name in REALS], axis=1),
        "counts": np.stack([state.scalars[name] for name in WHOLE_NUMBERS], axis=1),
    }
    if model.history is not None:
        points = model.history.points
        header["history"] = {
            "rows": model.history.rows,
            "next_point": model.history.next_point,
            "points": [[rows, len(counts)] for rows, counts in points],
        }
        arrays["history"] = np.concatenate([np.zeros((0, 4)), *(counts for _, counts in points)])
    if model.seen is not None:
        arrays |= seen_arrays(model.seen)
    if state.second is not None:  # only what rows have reached
        arrays["second"] = state.second[:, : packed_size(int(state.scalars["width"].max(initial=0)))]
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
        return reading.saved(*read(path, {"vectors": reading.vectors, "second": reading.second}, reading.claims))
    except UnsoundError as error:
        raise ModelFileError(path, f"it is not a sound model file: {error}.") from None


def _read_back(path: Path, saved: Saved, arrays: Arrays) -> Saved:
    """What a file says that was just written, of which all arrays must be those that were to be written."""
    rooms = {name: Same(array) for name, array in arrays.items()}
    reading = _Reading(saved.model.state)
    header, _ = read(path, {name: lambda *_, room=room: room for name, room in rooms.items()}, reading.claims)
    require(all(room.agreed for room in rooms.values()), "the numbers that came back are others")
    large: Arrays = {name: rooms[name] for name in ("vectors", "second") if name in rooms}
    again = reading.saved(header, {**arrays, **large})
    model, was = again.model, saved.model
    same = model.specs == was.specs and model.classes.tolist() == was.classes.tolist() and model.fixed == was.fixed
    require(
        same and model.state.scalars.tobytes() == was.state.scalars.tobytes(), "the settings that came back are others"
    )
    return again


class _Reading:
    """A file being read: first what it claims, then its numbers, then what they mean.

    With a state it is that state's own file that is read, of which every number is known to be right by the time that
    its meaning is looked at; otherwise a state is made and filled.
    """

    def __init__(self, state: State | None = None) -> None:
        self._state = state
        self._plan: Plan | None = None
        self._size = 0  # of a triangle in the file

    def claims(self, header: dict[str, Any], places: Places) -> None:
        """See that the header is sound and fits the arrays, before memory is taken for them."""
        with _parts_in_place():
            n_models = places["reals"][0][0]  # a row for each, in a file that really is so long
            self._plan = plan = Plan.of(header, n_models)
            wanted: Places = {
                "vectors": (plan.shape, np.float64),
                "reals": ((n_models, len(header["state"]["reals"])), np.float64),
                "counts": ((n_models, len(header["state"]["counts"])), np.int64),
            }
            if plan.n_kept != plan.n_features:
                wanted["kept"] = ((plan.n_kept,), np.int64)
                before = list(places).index("kept") < list(places).index("vectors")
                require(before, "its columns come after its vectors")
            if header["history"] is not None:
                wanted["history"] = ((points_in(header["history"]), 4), np.float64)
            if header.get("operating") is not None:
                wanted |= seen_in(header["operating"], n_models)
            for name, place in wanted.items():
                require(places[name] == place, f"{name} has the wrong shape or type")
            if plan.metric == "full":
                self._size = places["second"][0][1]
                sound = places["second"] == ((n_models, self._size), np.float64)
                sound = sound and self._size <= triangle_size(max(1, n_models), plan.n_features)
                require(sound, "second has the wrong shape or type")
            _check_added(_added(header), plan.n_features)
            _check_chosen(header.get("chosen"), plan)

    def vectors(self, header: dict[str, Any], arrays: Arrays, shape: Shape, kind: Any) -> Room:
        assert self._plan is not None
        return Room(self._room(), columns_kept(arrays, self._plan))

    def second(self, header: dict[str, Any], arrays: Arrays, shape: Shape, kind: Any) -> Rows | None:
        table = self._room().second
        return None if table is None else Rows(table, shape[1])

    def _room(self) -> State:
        assert self._plan is not None
        if self._state is None:
            self._state = self._plan.room()
        return self._state

    def saved(self, header: dict[str, Any], arrays: Arrays) -> Saved:
        plan = self._plan
        assert plan is not None
        with _parts_in_place():
            if columns_kept(arrays, plan) is not None:
                del arrays["kept"]
            room = arrays.pop("vectors")
            require(room.finite, "vectors holds a number that is not finite")
            require(room.agreed, "models share what they do not have in common")
            state = replace(self._room(), scalars=scalars_of(arrays, header["state"], plan.n_models))
            check_reach(state, told=minor(header["version"]) > 0)
            if state.second is not None:
                require(arrays.pop("second").finite, "second holds a number that is not finite")
                check_triangles(state, self._size)
            added = _added(header)
            models, scored_by = header.get("chosen"), (added["scoring"], added["scoring_settings"])
            choice = Stored(tuple(models), *scored_by) if models is not None else None
            history = history_of(header["history"], arrays)
            seen = seen_of(header.get("operating"), arrays, plan)
            model = Model(plan.classes, state, plan.specs, plan.fixed, history, choice, seen)
            require((model.history is not None) == (len(plan.specs) > 1), "it lacks its history")
            return Saved(model, arrays=arrays, newer=is_newer(header["version"]), **added)


@contextmanager
def _parts_in_place() -> Iterator[None]:
    """What a part that is missing or of another type leads to is said as what it is."""
    try:
        yield
    except UnsoundError:
        raise
    except OF_ANOTHER_KIND as error:
        raise UnsoundError(f"a part is missing or of the wrong type ({str(error)[:80]})") from None


def _added(header: dict[str, Any]) -> dict[str, Any]:
    """What was added to the model; what the header does not name has its default."""
    return {name: header.get(name, getattr(_NOTHING_ADDED, name)) for name in _ADDED}


def _check_chosen(models: Any, plan: Plan) -> None:
    """One model of each class speaks, or the file does not say which."""
    if models is not None:
        width = len(plan.specs)
        sound = width > 1 and isinstance(models, list) and all(type(k) is int for k in models)
        require(
            sound and [k // width for k in models] == list(range(plan.n_models // width)),
            "the models that it chose are not its own",
        )


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
