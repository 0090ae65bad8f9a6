"""The model file: what the header and the arrays of a container mean for a model. Described in docs/model-file.md.

Knows `container`, `filing`, `model` and `state`; knows no estimator. Loading executes nothing, and believes nothing:
the checksum covers every byte of the file, and each shape, type and range is checked before anything is made of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from .checked import (
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
from .container import Arrays, ModelFileError, Shape, read, write
from .filing import NoRoom, Room, Vectors, columns_in_use, kinds
from .herds import plan as plan_herds
from .history import History
from .model import Model, Specs
from .state import SCALARS, Layout, Metric, State, TooWideError, triangle_size
from .triangle import packed_size

__all__ = ["BATCH_RULE", "ModelFileError", "Saved", "load", "save"]

_REALS = [name for name, (kind, *_) in (SCALARS.fields or {}).items() if kind == np.float64]
_COUNTS = [name for name, (kind, *_) in (SCALARS.fields or {}).items() if kind == np.int64]
_ANY_SIGN = {"bias", "bias_steps", "A_pos", "A_neg", "B_pos", "B_neg", "slope", "offset", "slope_offset"}
_ANY_SIGN |= {name for name in _REALS if name.endswith("_low")} | {"pn", "P_pos", "P_neg"}
_FLAGS = {"products_known", "careful"}


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


def save(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a model file: beside its place, to the disk, then in one step to its place."""
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
    write(path, header, {**arrays, **saved.arrays})


_OF_ANOTHER_KIND = (KeyError, TypeError, AttributeError, IndexError, OverflowError)


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model file, or raise a `ModelFileError` that says what is wrong with it."""
    header, arrays = read(path, {"vectors": _room})
    try:
        return _saved(header, arrays)
    except UnsoundError as error:
        raise ModelFileError(path, f"it is not a sound model file: {error}.") from None


class _Plan(NamedTuple):
    """What a header says of the state."""

    classes: NDArray[Any]
    specs: Specs
    fixed: bool
    layout: Layout
    sharing: list[int]
    means: bool
    metric: Metric
    n_models: int
    n_features: int
    n_kept: int

    @classmethod
    def of(cls, header: dict[str, Any]) -> _Plan:
        classes = labels_from_json(header["classes"])
        specs = tuple(spec_from_json(value) for value in header["specs"])
        described, fixed = header["state"], header["classes"]["fixed"]
        layout, sharing = described["layout"], described["sharing"]
        n_features, n_kept = described["features"], described["kept"]
        require(specs and type(fixed) is bool and layout in get_args(Layout), "its settings are unsound")
        means, metric = family(specs[0])
        require(all(family(spec) == (means, metric) for spec in specs), "its rules do not go together")
        require(len(specs) == 1 or all(spec.rule != BATCH_RULE for spec in specs), "its rules do not go together")
        layouts = {"none": get_args(Layout), "diagonal": ("split", "lanes"), "full": ("split",)}[metric]
        require(layout == "split" or (means and layout in layouts), "its rule has another layout")
        n_models = (1 if classes.size == 2 else classes.size) * len(specs)
        require(described["models"] == n_models, "it counts its models wrongly")
        can_share = [k for k in range(n_models) if layout == "herd" and specs[k % len(specs)].rule == "pater-ii"]
        require(isinstance(sharing, list) and set(sharing) <= set(can_share), "models share what they cannot")
        require(described["vectors"] == kinds(means, metric, layout), "it names other vectors than its rule has")
        require(described["reals"] == _REALS and described["counts"] == _COUNTS, "it holds other numbers than expected")
        counted = type(n_features) is int and type(n_kept) is int and 0 <= n_kept <= n_features <= 1 << 30
        require(counted, "it counts its columns wrongly")
        if metric == "full":
            try:
                triangle_size(max(1, n_models), n_features)
            except TooWideError as error:
                raise UnsoundError(error.what) from None
        return cls(classes, specs, fixed, layout, sharing, means, metric, n_models, n_features, n_kept)

    def room(self) -> State:
        group = len(self.specs)
        herds = plan_herds([k in self.sharing for k in range(self.n_models)], group) if self.layout == "herd" else ()
        return State.new(
            self.n_models,
            self.n_features,
            means=self.means,
            metric=self.metric,
            layout=self.layout,
            group=group,
            herds=herds,
        )

    @property
    def shape(self) -> Shape:
        """Of the vectors in the file."""
        return self.n_models, len(kinds(self.means, self.metric, self.layout)), self.n_kept


def _room(header: dict[str, Any], arrays: Arrays, shape: Shape, kind: Any) -> Room | NoRoom | None:
    """Where the vectors go; None if the header is unsound."""
    try:
        plan = _Plan.of(header)
        return Room(plan.room(), _kept(arrays, plan)) if (shape, kind) == (plan.shape, np.float64) else None
    except (*_OF_ANOTHER_KIND, UnsoundError):
        return None
    except (MemoryError, OSError):
        return NoRoom()


def _kept(arrays: Arrays, plan: _Plan) -> NDArray[np.int64] | None:
    """Which columns are in the file, if not all of them."""
    if plan.n_kept == plan.n_features:
        return None
    kept = _checked(arrays["kept"], "kept", (plan.n_kept,), np.int64)
    require((np.diff(kept, prepend=-1) > 0).all() and (kept < plan.n_features).all(), "its columns are not in order")
    return kept


def _saved(header: dict[str, Any], arrays: Arrays) -> Saved:
    try:
        plan = _Plan.of(header)
        added = {name: header[name] for name in _ADDED}
        kept, room = _kept(arrays, plan), arrays.pop("vectors")
        if isinstance(room, NoRoom):
            raise MemoryError(f"a model of {plan.n_models} × {plan.n_features} weights needs more memory")
        if not isinstance(room, Room):
            _checked(room, "vectors", plan.shape, np.float64)
            raise UnsoundError("its columns come after its vectors")
        if kept is not None:
            del arrays["kept"]
        require(room.finite, "vectors holds a number that is not finite")
        require(room.agreed, "models share what they do not have in common")
        state = replace(room.state, scalars=_scalars(arrays, plan.n_models))
        _check_reach(state)
        _fill_triangles(arrays, state)
        model = Model(plan.classes, state, plan.specs, plan.fixed, _history(header["history"], arrays))
        require((model.history is not None) == (len(plan.specs) > 1), "it lacks its history")
        _check_added(added, plan.n_features)
    except _OF_ANOTHER_KIND as error:
        raise UnsoundError(f"a part is missing or of the wrong type ({error})") from None
    return Saved(model, arrays=arrays, **added)


def _check_added(added: dict[str, Any], n_features: int) -> None:
    names = added["feature_names"]
    if names is not None:
        sound = isinstance(names, list) and all(isinstance(name, str) for name in names)
        require(sound and len(names) == n_features, "its feature names do not fit its features")
    counts = added["counts"]
    require(
        isinstance(counts, dict) and all(type(n) is int and n >= 0 for n in counts.values()), "its counts are unsound"
    )
    settings = added["scoring_settings"]
    require(isinstance(added["scoring"], str), "its scoring has no name")
    require(settings is None or all(map(is_number, dict(settings).values())), "its scoring has unsound settings")
    sources = added["sources"]
    require(isinstance(sources, list) and all(isinstance(name, str) for name in sources), "its sources are unsound")
    for name in ("columns", "scaler", "estimator", "progress"):
        require(added[name] is None or isinstance(added[name], dict), f"{name} is unsound")


def _checked(array: NDArray[Any], name: str, shape: Shape, kind: Any) -> NDArray[Any]:
    require(array.shape == shape and array.dtype == kind, f"{name} has the wrong shape or type")
    if kind == np.float64:
        require(all(np.isfinite(part).all() for part in array), f"{name} holds a number that is not finite")
    return array


def _scalars(arrays: Arrays, n_models: int) -> NDArray[np.void]:
    reals = _checked(arrays.pop("reals"), "reals", (n_models, len(_REALS)), np.float64)
    counts = _checked(arrays.pop("counts"), "counts", (n_models, len(_COUNTS)), np.int64)
    scalars = np.zeros(n_models, SCALARS)
    for k, name in enumerate(_REALS):
        scalars[name] = reals[:, k]
        require(name in _ANY_SIGN or (reals[:, k] >= 0).all(), f"{name} is negative")
    for k, name in enumerate(_COUNTS):
        scalars[name] = counts[:, k]
        require(((counts[:, k] >= 0) & (counts[:, k] <= 1 << 53)).all(), f"{name} is out of range")
        require(name not in _FLAGS or (counts[:, k] <= 1).all(), f"{name} is neither 0 nor 1")
    require((scalars["unit"] == np.exp2(-scalars["exponent"].astype(float))).all(), "its exponent is none")
    require((scalars["updates"] <= scalars["t"]).all(), "it took more steps than it saw samples")
    return scalars


def _check_reach(state: State) -> None:
    """The columns that rows have reached: passes go as far. Files that do not tell mean all of them."""
    width, full = state.scalars["width"], state.metric == "full"
    if not full:
        width[(width == 0) & (state.scalars["entered"] > 0)] = state.n_features
    require((width <= state.n_features + full).all(), "it reaches beyond its features")


def _fill_triangles(arrays: Arrays, state: State) -> None:
    """Those of a full metric, whose variances are positive where a row has reached."""
    if state.second is None:
        return
    width = state.scalars["width"]
    size = packed_size(int(width.max(initial=0)))
    stored = _checked(arrays.pop("second"), "second", (state.n_models, size), np.float64)
    for triangle, columns in zip(stored, width, strict=True):
        ends = np.arange(1, columns + 1).cumsum() - 1
        require((triangle[ends] > 0).all(), "its metric is not positive")
    state.second[:, :size] = stored


def _history(value: Any, arrays: Arrays) -> History | None:
    if value is None:
        return None
    points = value["points"]
    numbers = [value["rows"], value["next_point"], *(n for point in points for n in point)]
    require(all(type(n) is int and 0 <= n < 1 << 53 for n in numbers), "its history is unsound")
    require(value["next_point"] == History.after(value["rows"]).next_point, "its history goes on elsewhere")
    counts = _checked(arrays.pop("history"), "history", (sum(n for _, n in points), 4), np.float64)
    ends = np.cumsum([n for _, n in points]).tolist()
    cut = [(rows, counts[end - n : end]) for (rows, n), end in zip(points, ends, strict=True)]
    return History(value["rows"], value["next_point"], cut)
