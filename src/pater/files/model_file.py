"""The model file: what the header and the arrays of a container mean for a model. Described in docs/model-file.md.

Knows `container`, `vectors`, `model` and `state`; knows no estimator. Loading executes nothing, and believes nothing:
the checksum covers every byte of the file, what the header claims is held against what the file holds before memory is
taken for it, and each number is checked before anything is made of it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..kernels.batched_layout import plan as plan_herds
from ..kernels.state import COUNTS, SCALARS, Layout, Metric, State, TooWideError, triangle_size
from ..kernels.triangle import packed_size
from ..models.history import History
from ..models.model import Model
from ..models.spec import Specs
from .codec import (
    BATCH_RULE,
    UnsoundError,
    family,
    is_number,
    labels_from_json,
    labels_to_json,
    require,
    spec_from_json,
    spec_to_json,
)
from .container import OF_ANOTHER_KIND, Arrays, ModelFileError, Places, Shape, is_newer, minor, read, write
from .vectors import Room, Rows, Same, Vectors, columns_in_use, kinds

__all__ = ["BATCH_RULE", "ModelFileError", "Saved", "load", "save"]

_REALS = [name for name, (kind, *_) in (SCALARS.fields or {}).items() if kind == np.float64]
_COUNTS = [name for name, (kind, *_) in (SCALARS.fields or {}).items() if kind == np.int64]
_DEFAULTS = State.new(1, 0, means=False).scalars
# Sums of what is never negative. The squares pp and nn are not among them: they are kept up by sums and differences of
# products, and where classes cancel, rounding may leave them a little below zero.
_NEVER_NEGATIVE = {"n_pos", "n_neg", "loss_pos", "loss_neg", "seen_pos", "seen_neg", "largest", "unit", "scales"}
_NEVER_NEGATIVE |= {"tp", "fp", "tn", "fn", "margin_square", "slope_slope", "offset_offset", "bias_Q"}
_POSITIVE = {"gain_pos", "gain_neg"}  # they are divided by
_FLAGS = {"products_known", "careful"}
MOST_FEATURES = 1 << 30
MOST_ROWS = 1 << 53


@dataclass
class Saved:
    """What a model file holds.

    model
        Classes, settings and state.
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
            "reals": _REALS,
            "counts": _COUNTS,
        },
        "history": None,
        **{name: getattr(saved, name) for name in _ADDED},
    }
    arrays: Arrays = {} if kept.size == state.n_features else {"kept": kept}  # before the vectors, to know their places
    arrays |= {
        "vectors": Vectors(state, kept),
        "reals": np.stack([state.scalars[name] for name in _REALS], axis=1),
        "counts": np.stack([state.scalars[name] for name in _COUNTS], axis=1),
    }
    if model.history is not None:
        points = model.history.points
        header["history"] = {
            "rows": model.history.rows,
            "next_point": model.history.next_point,
            "points": [[rows, len(counts)] for rows, counts in points],
        }
        arrays["history"] = np.concatenate([np.zeros((0, 4)), *(counts for _, counts in points)])
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


class _Plan(NamedTuple):
    """What a header says of the state."""

    classes: NDArray[Any]
    specs: Specs
    fixed: bool
    layout: Layout
    sharing: frozenset[int]
    means: bool
    metric: Metric
    n_models: int
    n_features: int
    n_kept: int

    @classmethod
    def of(cls, header: dict[str, Any], n_models: int) -> _Plan:
        """What the header says, if it is sound and comes to so many models."""
        described, fixed = header["state"], header["classes"]["fixed"]
        n_classes, n_specs = len(header["classes"]["values"]), len(header["specs"])
        counted = n_models == (1 if n_classes == 2 else n_classes) * n_specs and described["models"] == n_models
        require(counted, "it counts its models wrongly")
        classes = labels_from_json(header["classes"])
        newer = is_newer(header["version"])
        specs = tuple(spec_from_json(value, newer=newer) for value in header["specs"])
        layout, sharing = described["layout"], described["sharing"]
        n_features, n_kept = described["features"], described["kept"]
        require(specs and type(fixed) is bool and layout in get_args(Layout), "its settings are unsound")
        means, metric = family(specs[0])
        require(all(family(spec) == (means, metric) for spec in specs), "its rules do not go together")
        require(len(specs) == 1 or all(spec.rule != BATCH_RULE for spec in specs), "its rules do not go together")
        layouts = {"none": get_args(Layout), "diagonal": ("split", "lanes"), "full": ("split",)}[metric]
        require(layout == "split" or (means and layout in layouts), "its rule has another layout")
        can_share = {k for k in range(n_models) if layout == "herd" and specs[k % len(specs)].rule == "pater-ii"}
        sound = isinstance(sharing, list) and all(type(k) is int for k in sharing)
        require(sound and can_share.issuperset(sharing), "models share what they cannot")
        require(described["vectors"] == kinds(means, metric, layout), "it names other vectors than its rule has")
        for names, known in ((described["reals"], _REALS), (described["counts"], _COUNTS)):
            sound = isinstance(names, list) and all(type(name) is str for name in names)
            require(sound and len(set(names)) == len(names), "its numbers have no names")
            require(newer or set(names) <= set(known), "it holds other numbers than expected")
        counted = type(n_features) is int and type(n_kept) is int and 0 <= n_kept <= n_features <= MOST_FEATURES
        require(counted, "it counts its columns wrongly")
        if metric == "full":
            try:
                triangle_size(max(1, n_models), n_features)
            except TooWideError as error:
                raise UnsoundError(error.what) from None
        return cls(classes, specs, fixed, layout, frozenset(sharing), means, metric, n_models, n_features, n_kept)

    def room(self) -> State:
        """A state to be filled. Columns that were not kept take no memory, but they must fit into the machine."""
        group = len(self.specs)
        herds = plan_herds([k in self.sharing for k in range(self.n_models)], group) if self.layout == "herd" else ()
        try:
            if (
                8 * math.prod((self.n_models, len(kinds(self.means, self.metric, "split")), self.n_features))
                > _memory()
            ):
                raise MemoryError
            return State.new(
                self.n_models,
                self.n_features,
                means=self.means,
                metric=self.metric,
                layout=self.layout,
                group=group,
                herds=herds,
            )
        except (MemoryError, OSError):
            raise MemoryError(f"a model of {self.n_models} × {self.n_features} weights needs more memory") from None

    @property
    def shape(self) -> Shape:
        """Of the vectors in the file."""
        return self.n_models, len(kinds(self.means, self.metric, self.layout)), self.n_kept


def _memory() -> float:
    """What the machine has, in bytes, where it says so."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf


class _Reading:
    """A file being read: first what it claims, then its numbers, then what they mean.

    With a state it is that state's own file that is read, of which every number is known to be right by the time that
    its meaning is looked at; otherwise a state is made and filled.
    """

    def __init__(self, state: State | None = None) -> None:
        self._state = state
        self._plan: _Plan | None = None
        self._size = 0  # of a triangle in the file

    def claims(self, header: dict[str, Any], places: Places) -> None:
        """See that the header is sound and fits the arrays, before memory is taken for them."""
        with _parts_in_place():
            n_models = places["reals"][0][0]  # a row for each, in a file that really is so long
            self._plan = plan = _Plan.of(header, n_models)
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
                wanted["history"] = ((_points(header["history"]), 4), np.float64)
            for name, place in wanted.items():
                require(places[name] == place, f"{name} has the wrong shape or type")
            if plan.metric == "full":
                self._size = places["second"][0][1]
                sound = places["second"] == ((n_models, self._size), np.float64)
                sound = sound and self._size <= triangle_size(max(1, n_models), plan.n_features)
                require(sound, "second has the wrong shape or type")
            _check_added(_added(header), plan.n_features)

    def vectors(self, header: dict[str, Any], arrays: Arrays, shape: Shape, kind: Any) -> Room:
        assert self._plan is not None
        return Room(self._room(), _kept(arrays, self._plan))

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
            if _kept(arrays, plan) is not None:
                del arrays["kept"]
            room = arrays.pop("vectors")
            require(room.finite, "vectors holds a number that is not finite")
            require(room.agreed, "models share what they do not have in common")
            state = replace(self._room(), scalars=_scalars(arrays, header["state"], plan.n_models))
            _check_reach(state, told=minor(header["version"]) > 0)
            if state.second is not None:
                require(arrays.pop("second").finite, "second holds a number that is not finite")
                _check_triangles(state, self._size)
            model = Model(plan.classes, state, plan.specs, plan.fixed, _history(header["history"], arrays))
            require((model.history is not None) == (len(plan.specs) > 1), "it lacks its history")
            return Saved(model, arrays=arrays, newer=is_newer(header["version"]), **_added(header))


@contextmanager
def _parts_in_place() -> Iterator[None]:
    """What a part that is missing or of another type leads to is said as what it is."""
    try:
        yield
    except UnsoundError:
        raise
    except OF_ANOTHER_KIND as error:
        raise UnsoundError(f"a part is missing or of the wrong type ({str(error)[:80]})") from None


def _kept(arrays: Arrays, plan: _Plan) -> NDArray[np.int64] | None:
    """Which columns are in the file, if not all of them."""
    if plan.n_kept == plan.n_features:
        return None
    kept: NDArray[np.int64] = arrays["kept"]
    inside = (kept >= 0).all() and (kept < plan.n_features).all()  # so that no difference overflows
    require(inside and (np.diff(kept) > 0).all(), "its columns are not in order")
    return kept


def _added(header: dict[str, Any]) -> dict[str, Any]:
    """What was added to the model; what the header does not name has its default."""
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


def _finite(array: NDArray[Any], name: str) -> NDArray[Any]:
    require(np.isfinite(array).all(), f"{name} holds a number that is not finite")
    return array


def _scalars(arrays: Arrays, described: dict[str, Any], n_models: int) -> NDArray[np.void]:
    """The scalars that the file names, and the defaults of the others.

    Those are refused that would lead outside of arrays or have no meaning.
    """
    reals, counts = _finite(arrays.pop("reals"), "reals"), arrays.pop("counts")
    scalars = np.repeat(_DEFAULTS, n_models)
    for k, name in enumerate(described["reals"]):
        if name not in _REALS:
            continue
        scalars[name] = reals[:, k]
        require(name not in _NEVER_NEGATIVE or (reals[:, k] >= 0).all(), f"{name} is negative")
        require(name not in _POSITIVE or (reals[:, k] > 0).all(), f"{name} is not positive")
    for k, name in enumerate(described["counts"]):
        if name not in _COUNTS:
            continue
        scalars[name] = counts[:, k]
        least = -MOST_ROWS if name == "work_since_fold" else 0  # folds may be owed
        require(((counts[:, k] >= least) & (counts[:, k] <= MOST_ROWS)).all(), f"{name} is out of range")
        require(name not in _FLAGS or (counts[:, k] <= 1).all(), f"{name} is neither 0 nor 1")
    with np.errstate(over="ignore"):
        require(np.isfinite(sum(scalars[name] for name in COUNTS)).all(), "its right and wrong answers are too many")
    require(
        (scalars["unit"] == np.exp2(-scalars["exponent"].astype(float))).all(),
        "its unit is not 2 to the minus exponent",
    )
    require((scalars["updates"] <= scalars["t"]).all(), "it took more steps than it saw samples")
    return scalars


def _check_reach(state: State, *, told: bool) -> None:
    """The columns that rows have reached: passes go as far. Files of version 1.0 tell it of full metrics only."""
    width, full = state.scalars["width"], state.metric == "full"
    if not told and not full:
        width[:] = state.n_features
    require((width <= state.n_features + full).all(), "it reaches beyond its features")


def _check_triangles(state: State, size: int) -> None:
    """Those of a full metric are as wide as rows have reached, and their variances are positive."""
    assert state.second is not None
    width = state.scalars["width"]
    require(size == packed_size(int(width.max(initial=0))), "second has the wrong shape or type")
    for triangle, columns in zip(state.second, width, strict=True):
        ends = np.arange(1, columns + 1).cumsum() - 1
        require((triangle[ends] > 0).all(), "its metric is not positive")


def _points(value: Any) -> int:
    """How many rows of counts a history has."""
    numbers = [value["rows"], value["next_point"], *(n for point in value["points"] for n in point)]
    require(all(type(n) is int and 0 <= n < MOST_ROWS for n in numbers), "its history is unsound")
    require(value["next_point"] == History.after(value["rows"]).next_point, "its history goes on elsewhere")
    return sum(n for _, n in value["points"])


def _history(value: Any, arrays: Arrays) -> History | None:
    if value is None:
        return None
    counts = _finite(arrays.pop("history"), "history")
    ends = np.cumsum([n for _, n in value["points"]]).tolist()
    cut = [(rows, counts[end - n : end]) for (rows, n), end in zip(value["points"], ends, strict=True)]
    return History(value["rows"], value["next_point"], cut)
