"""The model file: what the header and the arrays of a container mean for a model. Described in docs/model-file.md.

Knows `container`, `model` and `state`; knows no estimator. Loading executes nothing, and believes nothing: the checksum
covers every byte of the file, and each shape, type and range is checked before anything is made of it.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from .container import Arrays, ModelFileError, read, write
from .history import History
from .model import Model, Spec
from .rules import RULES
from .state import RESCALE_BITS, SCALARS, Layout, State

__all__ = ["BATCH_RULE", "ModelFileError", "Saved", "load", "save"]

BATCH_RULE = "ter"  # the batch solution: weights, and no rule to go on learning by
_REALS = [name for name, (kind, *_) in (SCALARS.fields or {}).items() if kind == np.float64]
_COUNTS = [name for name, (kind, *_) in (SCALARS.fields or {}).items() if kind == np.int64]
_ANY_SIGN = {"bias", "bias_steps", "A_pos", "A_neg", "B_pos", "B_neg", "slope", "offset", "slope_offset"}
_ANY_SIGN |= {name for name in _REALS if name.endswith("_low")} | {"pn"}
_FLAGS = {"products_known", "careful"}
_LABELS = re.compile(r"[<|](?:[iu][1248]|f[248]|b1|U[0-9]{1,5}|O)")
_KINDS = {True: ["U", "S_pos", "S_neg", "V"], False: ["U", "V"]}  # a herd has no V


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
    kept = _columns_in_use(state)
    header: dict[str, Any] = {
        "classes": {**_labels_to_json(model.classes), "fixed": model.fixed},
        "specs": [_spec_to_json(spec) for spec in model.specs],
        "state": {
            "models": state.n_models,
            "features": state.n_features,
            "kept": int(kept.size),
            "layout": state.layout,
            "vectors": _kinds(state.has_means, state.layout),
            "reals": _REALS,
            "counts": _COUNTS,
        },
        "history": None,
        **{name: getattr(saved, name) for name in _ADDED},
    }
    arrays: Arrays = {
        "vectors": _Vectors(state, kept),
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
    if kept.size < state.n_features:
        arrays["kept"] = kept
    write(path, header, {**arrays, **saved.arrays})


def _kinds(means: bool, layout: str) -> list[str]:
    return [name for name in _KINDS[means] if layout != "herd" or name != "V"]


def _columns_in_use(state: State) -> NDArray[np.int64]:
    """The columns that hold anything but zeros; or all, if that is most of them."""
    used = np.zeros(state.n_features, np.bool_)
    for vector in _each_vector(state, len(_kinds(state.has_means, state.layout))):
        used |= vector.view(np.uint64) != 0  # −0 counts as something: a model is to come back bit for bit
    return np.flatnonzero(used) if 2 * used.sum() < used.size else np.arange(used.size)


class _Vectors:
    """The vectors as they stand in the file, (models, kinds, columns kept), taken model by model in writing."""

    dtype, ndim = np.dtype(np.float64), 3

    def __init__(self, state: State, kept: NDArray[np.int64]) -> None:
        self._state, self._kept = state, kept
        self._kinds = len(_kinds(state.has_means, state.layout))
        self.shape = (state.n_models, self._kinds, kept.size)
        self.nbytes = 8 * math.prod(self.shape)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        for vector in _each_vector(self._state, self._kinds):
            yield vector if self._kept.size == self._state.n_features else vector[self._kept]


def _each_vector(state: State, kinds: int) -> Iterator[NDArray[np.float64]]:
    """Every vector of every model, not copied."""
    if state.layout == "herd":
        for cells, herd in zip(state.vectors, state.herds, strict=True):
            for model in range(herd.first, herd.last):
                yield from (cells[:, column] for column in herd.at(model))
        return
    for vectors in state.vectors.swapaxes(1, 2) if state.layout == "split" else state.vectors:
        for kind in range(kinds):
            yield vectors[:, kind]


def load(path: str | os.PathLike[str]) -> Saved:
    """Read a model file, or raise a `ModelFileError` that says what is wrong with it."""
    header, arrays = read(path)
    try:
        return _saved(header, arrays)
    except _UnsoundError as error:
        raise ModelFileError(path, f"it is not a sound model file: {error}.") from None


class _UnsoundError(ValueError):
    pass


def _require(sound: Any, what: str) -> None:
    if not sound:
        raise _UnsoundError(what)


def _saved(header: dict[str, Any], arrays: Arrays) -> Saved:
    try:
        classes = _labels_from_json(header["classes"])
        specs = tuple(_spec_from_json(value) for value in header["specs"])
        described, history = header["state"], header["history"]
        fixed, layout = header["classes"]["fixed"], described["layout"]
        added = {name: header[name] for name in _ADDED}
        _require(specs and type(fixed) is bool and layout in get_args(Layout), "its settings are unsound")
        means = _moves_along_means(specs[0])
        _require(all(_moves_along_means(spec) is means for spec in specs), "its rules do not go together")
        batch = any(spec.rule == BATCH_RULE for spec in specs)
        _require(not batch or (len(specs) == 1 and layout == "split"), "its rules do not go together")
        n_models = (1 if classes.size == 2 else classes.size) * len(specs)
        n_features = described["features"]
        _require(described["models"] == n_models and type(n_features) is int, "it counts its models wrongly")
        _require(described["vectors"] == _kinds(means, layout), "it names other vectors than its rule has")
        _require(
            described["reals"] == _REALS and described["counts"] == _COUNTS, "it holds other numbers than expected"
        )
        vectors = _vectors(arrays, described, (n_models, len(_KINDS[means]), n_features))
        state = State(vectors, _scalars(arrays, n_models), "split", len(specs))
        state.arrange(
            "lanes" if layout == "herd" else layout
        )  # what is asked of a herd is asked of lanes taken from it
        model = Model(classes, state, specs, fixed, _history(history, arrays))
        _require((model.history is not None) == (len(specs) > 1), "it lacks its history")
        _check_added(added, n_features)
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise _UnsoundError(f"a part is missing or of the wrong type ({error})") from None
    return Saved(model, arrays=arrays, **added)


def _check_added(added: dict[str, Any], n_features: int) -> None:
    names = added["feature_names"]
    if names is not None:
        sound = isinstance(names, list) and all(isinstance(name, str) for name in names)
        _require(sound and len(names) == n_features, "its feature names do not fit its features")
    counts = added["counts"]
    _require(
        isinstance(counts, dict) and all(type(n) is int and n >= 0 for n in counts.values()), "its counts are unsound"
    )
    settings = added["scoring_settings"]
    _require(isinstance(added["scoring"], str), "its scoring has no name")
    _require(settings is None or all(map(_is_number, dict(settings).values())), "its scoring has unsound settings")
    sources = added["sources"]
    _require(isinstance(sources, list) and all(isinstance(name, str) for name in sources), "its sources are unsound")
    for name in ("columns", "scaler", "estimator", "progress"):
        _require(added[name] is None or isinstance(added[name], dict), f"{name} is unsound")


def _take(arrays: Arrays, name: str, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
    array: NDArray[Any] = arrays.pop(name)
    _require(array.shape == shape and array.dtype == kind, f"{name} has the wrong shape or type")
    if kind == np.float64:
        _require(all(np.isfinite(part).all() for part in array), f"{name} holds a number that is not finite")
    return array


def _vectors(arrays: Arrays, described: dict[str, Any], shape: tuple[int, int, int]) -> NDArray[np.float64]:
    """The vectors, zero in the columns that were not kept, and V where there was none."""
    n_models, _, n_features = shape
    n_kept, kinds = described["kept"], len(described["vectors"])
    _require(type(n_kept) is int and 0 <= n_kept <= n_features <= 1 << 30, "it counts its columns wrongly")
    stored = _take(arrays, "vectors", (n_models, kinds, n_kept), np.float64)
    if stored.shape == shape:
        return stored
    kept = np.arange(n_features) if n_kept == n_features else _take(arrays, "kept", (n_kept,), np.int64)
    _require((np.diff(kept, prepend=-1) > 0).all() and (kept < n_features).all(), "its columns are not in order")
    vectors = np.zeros(shape)
    vectors[:, :kinds, kept] = stored
    return vectors


def _scalars(arrays: Arrays, n_models: int) -> NDArray[np.void]:
    reals = _take(arrays, "reals", (n_models, len(_REALS)), np.float64)
    counts = _take(arrays, "counts", (n_models, len(_COUNTS)), np.int64)
    scalars = np.zeros(n_models, SCALARS)
    for k, name in enumerate(_REALS):
        scalars[name] = reals[:, k]
        _require(name in _ANY_SIGN or (reals[:, k] >= 0).all(), f"{name} is negative")
    for k, name in enumerate(_COUNTS):
        scalars[name] = counts[:, k]
        _require(((counts[:, k] >= 0) & (counts[:, k] <= 1 << 53)).all(), f"{name} is out of range")
        _require(name not in _FLAGS or (counts[:, k] <= 1).all(), f"{name} is neither 0 nor 1")
    sound = (scalars["exponent"] % RESCALE_BITS == 0) & (scalars["unit"] == np.exp2(-scalars["exponent"].astype(float)))
    _require(sound.all(), "its exponent is none")
    _require((scalars["updates"] <= scalars["t"]).all(), "it took more steps than it saw samples")
    return scalars


def _history(value: Any, arrays: Arrays) -> History | None:
    if value is None:
        return None
    points = value["points"]
    numbers = [value["rows"], value["next_point"], *(n for point in points for n in point)]
    _require(all(type(n) is int and 0 <= n < 1 << 53 for n in numbers), "its history is unsound")
    counts = _take(arrays, "history", (sum(n for _, n in points), 4), np.float64)
    ends = np.cumsum([n for _, n in points]).tolist()
    cut = [(rows, counts[end - n : end]) for (rows, n), end in zip(points, ends, strict=True)]
    return History(value["rows"], value["next_point"], cut)


def _labels_to_json(classes: NDArray[Any]) -> dict[str, Any]:
    values = [np.asarray(label).item() for label in classes.tolist()]
    described = {"type": classes.dtype.newbyteorder("<").str, "values": values}
    try:
        _labels_from_json(described)
    except (_UnsoundError, OverflowError):
        told = "whole numbers, booleans or text"
        raise ValueError(f"labels such as {classes[0]!r} cannot be kept in a model file; use {told}.") from None
    return described


def _labels_from_json(value: dict[str, Any]) -> NDArray[Any]:
    name, labels = value["type"], value["values"]
    _require(_LABELS.fullmatch(name) and isinstance(labels, list), "its classes have no type")
    kinds: dict[str, tuple[type, ...]] = {"i": (int,), "u": (int,), "f": (float,), "b": (bool,), "U": (str,)}
    numbers = (bool, int, float)
    allowed = kinds.get(name[1], (str,) if labels and type(labels[0]) is str else numbers)
    _require(all(type(label) in allowed for label in labels), "its classes are not of one type")
    _require(all(math.isfinite(label) for label in labels if type(label) is float), "a class is not finite")
    classes: NDArray[Any] = np.array(labels, dtype=name)
    _require(classes.tolist() == labels, "its classes do not fit their type")
    _require(all(a < b for a, b in itertools.pairwise(labels)), "its classes are not in order")
    return classes


def _spec_to_json(spec: Spec) -> dict[str, Any]:
    weight = spec.class_weight
    if weight is not None and not isinstance(weight, str):
        weight = [[np.asarray(label).item(), float(value)] for label, value in weight]  # type: ignore[assignment]
    return {**spec._asdict(), "C": float(spec.C), "class_weight": weight, "alphas": [float(a) for a in spec.alphas]}


def _spec_from_json(value: dict[str, Any]) -> Spec:
    _require(isinstance(value, dict) and set(value) == set(Spec._fields), "its settings have other names than expected")
    weight, alphas = value["class_weight"], value["alphas"]
    if isinstance(weight, list):
        weight = tuple((label, share) for label, share in weight)
        _require(all(_positive(share) for _, share in weight), "a class weight is not positive")
        _require(all(type(label) in (int, float, bool, str) for label, _ in weight), "a class weight has no label")
    else:
        _require(weight in (None, "balanced"), "its class weights are unsound")
    _require(value["rule"] in (*RULES, BATCH_RULE), f"there is no rule {value['rule']!r}")
    _require(_positive(value["C"]) and len(alphas) == 2 and all(map(_positive, alphas)), "a weight is not positive")
    _require(
        all(_positive(value[name]) and value[name] <= 1 for name in ("forgetting", "fading")), "it forgets wrongly"
    )
    switches = ("intercept", "average", "watch", "discount", "calibrate")
    _require(all(type(value[name]) is bool for name in switches), "a switch is neither on nor off")
    return Spec(**{**value, "class_weight": weight, "alphas": tuple(alphas)})


def _moves_along_means(spec: Spec) -> bool:
    return spec.rule != BATCH_RULE and RULES[spec.rule].moves_along_means


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _positive(value: Any) -> bool:
    return _is_number(value) and value > 0
