"""The model file: a safetensors container whose header says everything in JSON. Described in docs/model-file.md.

Knows `model` and `state`; knows no estimator. Loading executes nothing, and believes nothing: the checksum covers every
byte of the file, and each shape, type and range is checked before anything is made of it.

The container is written here rather than by the safetensors package, array by array straight to the disk: a model of
200 MB is saved in no more memory than it already takes. Any safetensors reader opens it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, get_args

import numpy as np
from numpy.typing import NDArray

from .history import History
from .model import Model, Spec
from .rules import RULES
from .state import RESCALE_BITS, SCALARS, Layout, Metric, State, TooWideError, triangle_size
from .triangle import packed_size

FORMAT = "pater model"
MAJOR, MINOR = 1, 0
_UNSIGNED = "sha256:" + "0" * 64
_TYPES = {"F64": np.dtype("<f8"), "I64": np.dtype("<i8")}
_REALS = [name for name, (kind, *_) in (SCALARS.fields or {}).items() if kind == np.float64]
_COUNTS = [name for name, (kind, *_) in (SCALARS.fields or {}).items() if kind == np.int64]
_ANY_SIGN = {"bias", "bias_steps", "A_pos", "A_neg", "B_pos", "B_neg", "slope", "offset", "slope_offset"}
_ANY_SIGN |= {name for name in _REALS if name.endswith("_low")} | {"pn", "P_pos", "P_neg"}
_FLAGS = {"products_known", "careful"}
_KINDS = {True: ["U", "S_pos", "S_neg", "V"], False: ["U", "V"]}  # a herd has no V
_METRIC_KINDS = {"diagonal": ["Q"], "full": ["P_pos", "P_neg"]}  # those of a full metric with class means only
_LARGEST_HEADER = 1 << 28

Arrays = dict[str, Any]  # of NDArray, or what is written like one


class ModelFileError(ValueError):
    """A file that is no sound model file, or that cannot be written."""

    def __init__(self, path: str | os.PathLike[str], what: str) -> None:
        super().__init__(f"{os.fspath(path)}: {what}")


@dataclass
class Saved:
    """What a model file holds.

    model
        Classes, settings and state.
    scoring
        By which progressive score the best of several specs is chosen.
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
    feature_names: list[str] | None = None
    columns: dict[str, Any] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    scaler: dict[str, Any] | None = None
    sources: list[str] = field(default_factory=list)
    estimator: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
    arrays: Arrays = field(default_factory=dict)


_ADDED = ("scoring", "feature_names", "columns", "counts", "scaler", "sources", "estimator", "progress")


def save(path: str | os.PathLike[str], saved: Saved) -> None:
    """Write a model file: beside its place, to the disk, then in one step to its place."""
    model, state = saved.model, saved.model.state
    kept = _columns_in_use(state)
    header: dict[str, Any] = {
        "classes": {"type": _label_type(model.classes), "values": model.classes.tolist(), "fixed": model.fixed},
        "specs": [_spec_to_json(spec) for spec in model.specs],
        "state": {
            "models": state.n_models,
            "features": state.n_features,
            "kept": int(kept.size),
            "layout": state.layout,
            "vectors": _kinds(state.has_means, state.metric, state.layout),
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
    if state.second is not None:  # only what rows have reached
        arrays["second"] = state.second[:, : packed_size(int(state.scalars["width"].max(initial=0)))]
    write(path, header, {**arrays, **saved.arrays})


def _kinds(means: bool, metric: Metric, layout: str) -> list[str]:
    kinds = [name for name in _KINDS[means] if layout != "herd" or name != "V"]
    return kinds + (_METRIC_KINDS.get(metric, []) if means or metric == "diagonal" else [])


def _columns_in_use(state: State) -> NDArray[np.int64]:
    """The columns that hold anything but zeros; or all, if that is most of them."""
    used = np.zeros(state.n_features, np.bool_)
    for vector in _each_vector(state, len(_kinds(state.has_means, state.metric, state.layout))):
        used |= vector.view(np.uint64) != 0  # −0 counts as something: a model is to come back bit for bit
    return np.flatnonzero(used) if 2 * used.sum() < used.size else np.arange(used.size)


class _Vectors:
    """The vectors as they stand in the file, (models, kinds, columns kept), taken model by model in writing."""

    dtype, ndim = np.dtype(np.float64), 3

    def __init__(self, state: State, kept: NDArray[np.int64]) -> None:
        self._state, self._kept = state, kept
        self._kinds = len(_kinds(state.has_means, state.metric, state.layout))
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


def write(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write the container: the header and the arrays, with a checksum over all of it."""
    described, offset = {}, 0
    types = {kind: name for name, kind in _TYPES.items()}
    for name, array in arrays.items():
        described[name] = {
            "dtype": types[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + array.nbytes],
        }
        offset += array.nbytes
    told = json.dumps(
        {"checksum": _UNSIGNED, "format": FORMAT, "version": f"{MAJOR}.{MINOR}", **header}, allow_nan=False
    )
    text = json.dumps({"__metadata__": {"pater": told}, **described}).encode()
    text += b" " * (-len(text) % 8)
    target = Path(path)
    beside = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with open(beside, "wb") as file:
            digest = hashlib.sha256()
            for part in itertools.chain((len(text).to_bytes(8, "little"), text), _parts(arrays)):
                digest.update(part)
                file.write(part)
            file.seek(8 + text.index(_UNSIGNED.encode()) + len("sha256:"))
            file.write(digest.hexdigest().encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
        _sync_folder(target.parent)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ModelFileError(path, f"cannot be written: {error.strerror or error}.") from None
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _parts(arrays: Arrays) -> Iterator[Any]:
    for array in arrays.values():
        for row in array if array.ndim > 1 else [array]:
            yield _bytes(np.ascontiguousarray(row)) if row.size else b""


def _bytes(array: Any) -> memoryview:
    return memoryview(array).cast("B")


def _sync_folder(folder: Path) -> None:
    """The new name, too, has to outlive a power failure; where folders cannot be synced, the system sees to it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Read the container: the header and the arrays, once the checksum is right."""
    try:
        with open(path, "rb") as file:
            return _read(path, file, os.fstat(file.fileno()).st_size)
    except OSError as error:
        raise ModelFileError(path, f"cannot be read: {error.strerror or error}.") from None


def _read(path: str | os.PathLike[str], file: IO[bytes], size: int) -> tuple[dict[str, Any], Arrays]:
    start = file.read(8)
    length = int.from_bytes(start, "little")
    if size < 8 or not 2 <= length <= min(_LARGEST_HEADER, size - 8):
        raise ModelFileError(path, "it is not a model file, or it was cut off.")
    text = file.read(length)
    try:
        described = json.loads(text)
        header = json.loads(described.pop("__metadata__")["pater"])
        ours, stored = header["format"] == FORMAT, header["checksum"]
        major = int(header["version"].partition(".")[0])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ModelFileError(path, "it is not a pater model file, or it is damaged.") from None
    if not ours:
        raise ModelFileError(path, "it is not a pater model file.")
    if major > MAJOR:
        told = f"it has version {header['version']} of the format; this pater reads version {MAJOR}. Update pater."
        raise ModelFileError(path, told)
    try:
        arrays = _empty_arrays(described, size - 8 - length)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise ModelFileError(path, "its header is damaged, or the file was cut off.") from None
    at = text.find(b"sha256:")
    digest = hashlib.sha256(start + text[:at] + _UNSIGNED.encode() + text[at + len(_UNSIGNED) :])
    for array in arrays.values():
        content = _bytes(array) if array.size else memoryview(bytearray())
        if file.readinto(content) != len(content):  # type: ignore[attr-defined]
            raise ModelFileError(path, "it was cut off.")
        digest.update(content)
    if stored != f"sha256:{digest.hexdigest()}":
        raise ModelFileError(path, "its checksum is wrong: the file was cut off or changed.")
    return header, arrays


def _empty_arrays(described: dict[str, Any], size: int) -> Arrays:
    """Room for the arrays that a header describes, in the order of the file, which they fill exactly."""
    arrays: Arrays = {}
    offset = 0
    for name, place in sorted(described.items(), key=lambda item: item[1]["data_offsets"]):
        kind, shape, (start, end) = _TYPES[place["dtype"]], place["shape"], place["data_offsets"]
        sound = all(type(n) is int and 0 <= n < 1 << 48 for n in (*shape, start, end))
        if not sound or start != offset or end > size or end - start != math.prod(shape) * kind.itemsize:
            raise ValueError(name)
        arrays[name] = np.empty(shape, kind)
        offset = end
    if offset != size:
        raise ValueError("size")
    return arrays


class _UnsoundError(ValueError):
    pass


def _require(sound: Any, what: str) -> None:
    if not sound:
        raise _UnsoundError(what)


def _saved(header: dict[str, Any], arrays: Arrays) -> Saved:
    try:
        classes = _labels(header["classes"])
        specs = tuple(_spec_from_json(value) for value in header["specs"])
        described, history = header["state"], header["history"]
        fixed, layout = header["classes"]["fixed"], described["layout"]
        added = {name: header[name] for name in _ADDED}
        _require(specs and type(fixed) is bool and layout in get_args(Layout), "its settings are unsound")
        means, metric = specs[0].family
        _require(all(spec.family == (means, metric) for spec in specs), "its rules do not go together")
        n_models = (1 if classes.size == 2 else classes.size) * len(specs)
        n_features = described["features"]
        _require(described["models"] == n_models and type(n_features) is int, "it counts its models wrongly")
        _require(described["vectors"] == _kinds(means, metric, layout), "it names other vectors than its rule has")
        _require(
            described["reals"] == _REALS and described["counts"] == _COUNTS, "it holds other numbers than expected"
        )
        vectors = _vectors(arrays, described, (n_models, len(_kinds(means, metric, "split")), n_features))
        state = State(vectors, _scalars(arrays, n_models), "split", len(specs), metric=metric)
        if metric == "full":
            state.second = _triangles(arrays, state)
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
    _require(isinstance(added["scoring"], str), "its scoring has no name")
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


def _triangles(arrays: Arrays, state: State) -> NDArray[np.float64]:
    """The triangles of a full metric, whose variances are positive where a row has reached."""
    width = state.scalars["width"]
    _require((width <= state.n_features + 1).all(), "its metric is wider than its features")
    size = packed_size(int(width.max(initial=0)))
    stored = _take(arrays, "second", (state.n_models, size), np.float64)
    for triangle, columns in zip(stored, width, strict=True):
        ends = np.arange(1, columns + 1).cumsum() - 1
        _require((triangle[ends] > 0).all(), "its metric is not positive")
    try:
        second = np.zeros((state.n_models, triangle_size(max(1, state.n_models), state.n_features)))
    except TooWideError as error:
        raise _UnsoundError(str(error)) from None
    second[:, :size] = stored
    return second


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


def _label_type(classes: NDArray[Any]) -> str:
    kind = classes.dtype.kind
    return {"i": "int", "u": "int", "b": "bool", "f": "float", "U": "str", "O": "object"}[kind]


def _labels(value: dict[str, Any]) -> NDArray[Any]:
    types = {"int": int, "bool": bool, "float": float, "str": str, "object": str}
    labels, kind = value["values"], types[value["type"]]
    _require(
        isinstance(labels, list) and all(type(label) is kind for label in labels), "its classes are not of one type"
    )
    dtypes: dict[str, Any] = {"int": np.int64, "bool": np.bool_, "float": np.float64, "str": np.str_, "object": object}
    classes: NDArray[Any] = np.array(labels, dtype=dtypes[value["type"]])
    _require(all(a < b for a, b in itertools.pairwise(labels)), "its classes are not in order")
    return classes


def _spec_to_json(spec: Spec) -> dict[str, Any]:
    weight = spec.class_weight
    if weight is not None and not isinstance(weight, str):
        weight = [[np.asarray(label).item(), float(value)] for label, value in weight]  # type: ignore[assignment]
    numbers = {name: float(getattr(spec, name)) for name in ("C", "r", "eta", "approximation")}
    return {**spec._asdict(), **numbers, "class_weight": weight, "alphas": [float(a) for a in spec.alphas]}


def _spec_from_json(value: dict[str, Any]) -> Spec:
    _require(isinstance(value, dict) and set(value) == set(Spec._fields), "its settings have other names than expected")
    weight, alphas = value["class_weight"], value["alphas"]
    if isinstance(weight, list):
        weight = tuple((label, share) for label, share in weight)
        _require(all(_positive(share) for _, share in weight), "a class weight is not positive")
        _require(all(type(label) in (int, float, bool, str) for label, _ in weight), "a class weight has no label")
    else:
        _require(weight in (None, "balanced"), "its class weights are unsound")
    _require(value["rule"] in RULES, f"there is no rule {value['rule']!r}")
    _require(_positive(value["C"]) and len(alphas) == 2 and all(map(_positive, alphas)), "a weight is not positive")
    _require(
        all(_positive(value[name]) and value[name] <= 1 for name in ("forgetting", "fading")), "it forgets wrongly"
    )
    _require(_positive(value["r"]) and value["covariance"] in ("full", "diagonal"), "its metric is unsound")
    _require(value["form"] in ("leader", "step"), "its form is unsound")
    sound = [_positive(value[name]) and value[name] <= 1 for name in ("eta", "approximation")]
    _require(all(sound) and 0.5 < value["eta"] < 1, "its confidence is unsound")
    switches = ("intercept", "average", "watch", "discount", "calibrate")
    _require(all(type(value[name]) is bool for name in switches), "a switch is neither on nor off")
    return Spec(**{**value, "class_weight": weight, "alphas": tuple(alphas)})


def _positive(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < math.inf
