"""The model file: it is restored bit for bit, anyone can open it, and nothing damaged is accepted."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pater.files import container
from pater.files import model_file as modelfile
from pater.files.model_file import ModelFileError, Saved
from pater.files.stored_state import WHOLE_NUMBERS
from pater.kernels.run import NOTHING
from pater.kernels.state import State
from pater.models.matrices import rows_of
from pater.models.model import Model
from pater.models.spec import Spec
from pater.stream import load, train

SPECS = {
    "pater-i": (Spec("pater-i"),),
    "weights": (Spec("pa-i", 0.5, ((0, 2.0), (1, 3.0)), average=True),),
    "several": tuple(Spec(rule, alphas=(a, 1.0), watch=True) for rule in ("pater-i", "pater-ii") for a in (0.5, 1.0)),
    "calibrated": (Spec("pater-ii", class_weight="balanced", calibrate=True, intercept=False),),
}


def learned(specs: tuple[Spec, ...], labels: Any = (0, 1), rows: int = 300) -> Model:
    random = np.random.default_rng(0)
    X = random.standard_normal((rows, 5))
    y = np.asarray(labels)[(X[:, 0] > 0).astype(int) + (len(labels) > 2) * (X[:, 1] > 0)]
    model = Model.new(np.empty(0, y.dtype), 5, specs)
    model.learn(rows_of(sp.csr_array(X)), y, weights=NOTHING)  # sparse, so that several models are a herd
    return model


def assert_same(a: Model, b: Model) -> None:
    assert a.classes.tolist() == b.classes.tolist()
    assert a.classes.dtype.kind == b.classes.dtype.kind
    assert (a.specs, a.fixed) == (b.specs, b.fixed)
    assert a.state.kinds().tobytes() == b.state.kinds().tobytes()
    assert a.state.scalars.tobytes() == b.state.scalars.tobytes()
    assert (a.history is None) == (b.history is None)
    if a.history is not None and b.history is not None:
        assert (a.history.rows, a.history.next_point) == (b.history.rows, b.history.next_point)
        for (n, x), (m, y) in zip(a.history.points, b.history.points, strict=True):
            assert n == m
            assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes"), (-1.0, 1.0), (False, True), ("a", "b", "c")])
def test_comes_back_bit_for_bit(tmp_path: Path, name: str, labels: Any) -> None:
    model = learned(SPECS[name], labels)
    modelfile.save(tmp_path / "m", Saved(model, feature_names=list("abcde"), counts={"rows": 300}, sources=["x"]))
    saved = modelfile.load(tmp_path / "m")
    assert_same(model, saved.model)
    assert (saved.feature_names, saved.counts, saved.sources) == (list("abcde"), {"rows": 300}, ["x"])
    more = np.random.default_rng(1).standard_normal((100, 5))
    y = model.classes[(more[:, 0] > 0).astype(int)]
    for each in (model, saved.model):
        each.learn((more,), y)
    assert_same(model, saved.model)


def test_columns_of_zeros_take_no_room(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 7:1 900000:2\n-1 3:1\n")
    learner = train(tmp_path / "a.svm", model=tmp_path / "m", algo="pater-i")
    assert (tmp_path / "m").stat().st_size < 10_000
    again = load(tmp_path / "m")
    assert again.model is not None
    assert again.model.state.n_features == 900_001
    np.testing.assert_array_equal(again.state().weights()[0], learner.state().weights()[0][:, :900_001])


def test_any_safetensors_reader_opens_it(tmp_path: Path) -> None:
    modelfile.save(tmp_path / "m", Saved(learned(SPECS["pater-i"])))
    with safetensors.safe_open(str(tmp_path / "m"), framework="np") as file:
        header = json.loads(file.metadata()["pater"])
        vectors = file.get_tensor("vectors")
    assert header["format"] == "pater model"
    assert header["classes"]["values"] == [0, 1]
    assert vectors.shape == (1, 4, 5)


def test_the_same_model_has_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        modelfile.save(tmp_path / name, Saved(learned(SPECS["several"])))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "m"
    modelfile.save(path, Saved(learned(SPECS["several"]), feature_names=list("abcde")))
    return path.read_bytes()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_flipped_bit_gets_in(tmp_path: Path, content: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[place] ^= 1 << data.draw(st.integers(0, 7))
    (tmp_path / "m").write_bytes(changed)
    with pytest.raises(ModelFileError, match="m: "):
        load(tmp_path / "m")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_nothing_cut_off_or_added_gets_in(tmp_path: Path, content: bytes, data: st.DataObject) -> None:
    changed = data.draw(
        st.one_of(
            st.integers(0, len(content) - 1).map(lambda n: content[:n]),
            st.binary(min_size=1, max_size=64).map(lambda more: content + more),
            st.binary(max_size=200),
        )
    )
    (tmp_path / "m").write_bytes(changed)
    with pytest.raises(ModelFileError):
        load(tmp_path / "m")


def forged(content: bytes, path: Path, change: Any) -> None:
    """Write the same file with another header, correctly signed."""
    size = int.from_bytes(content[:8], "little")
    described = json.loads(content[8 : 8 + size])
    header = json.loads(described.pop("__metadata__")["pater"])
    data = content[8 + size :]
    arrays = {
        name: np.frombuffer(data[slice(*place["data_offsets"])], container.TYPES[place["dtype"]])
        .reshape(place["shape"])
        .copy()
        for name, place in described.items()
    }
    for name in ("checksum", "format", "version"):
        header.pop(name)
    change(header, arrays)
    container.write(path, header, arrays)


def _set(*keys: Any) -> Any:
    *path, last, value = keys

    def change(header: Any, arrays: Any) -> None:
        place = header
        for key in path:
            place = place[key]
        place[last] = value

    return change


def _in_array(name: str, place: Any, value: float) -> Any:
    def change(header: Any, arrays: Any) -> None:
        arrays[name][place] = value

    return change


def _of_type(name: str, kind: Any) -> Any:
    def change(header: Any, arrays: Any) -> None:
        arrays[name] = arrays[name].astype(kind)

    return change


def _after_the_vectors(header: Any, arrays: Any) -> None:
    header["state"]["kept"] = 4
    arrays["vectors"] = np.ascontiguousarray(arrays["vectors"][..., :4])
    arrays["kept"] = np.arange(4)


FORGERIES = {
    "vectors of whole numbers": _of_type("vectors", np.int64),
    "counts of real numbers": _of_type("counts", np.float64),
    "columns after the vectors": _after_the_vectors,
    "classes out of order": _set("classes", "values", [1, 0]),
    "classes of two types": _set("classes", "values", [0, "1"]),
    "three classes": _set("classes", "values", [0, 1, 2]),
    "class type": _set("classes", "type", "complex"),
    "no specs": _set("specs", []),
    "rule": _set("specs", 0, "rule", "svm"),
    "C": _set("specs", 0, "C", -1.0),
    "C is no number": _set("specs", 0, "C", "1"),
    "alphas": _set("specs", 0, "alphas", [0.0, 1.0]),
    "class weight": _set("specs", 0, "class_weight", "heavy"),
    "switch": _set("specs", 0, "average", 1),
    "forgetting": _set("specs", 0, "forgetting", 1.5),
    "mixed rules": _set("specs", 0, "rule", "pa"),
    "unknown setting": _set("specs", 0, "extra", 1),
    "features": _set("state", "features", 6),
    "kept": _set("state", "kept", 4),
    "models": _set("state", "models", 5),
    "layout": _set("state", "layout", "upside down"),
    "vectors": _set("state", "vectors", ["U"]),
    "sharing": _set("state", "sharing", [0]),
    "sharing what differs": _in_array("vectors", (3, 1, 0), 7.5),
    "sharing nobody": _set("state", "sharing", 3),
    "reals": _set("state", "reals", []),
    "history": _set("history", None),
    "history that goes back": _set("history", "next_point", 17),
    "history that stands still": _set("history", "next_point", 0),
    "history points": _set("history", "points", [[16, 1000]]),
    "names": _set("feature_names", ["a"]),
    "counts": _set("counts", {"rows": -1}),
    "columns": _set("columns", {"kind": "hashed"}),
    "columns type": _set("columns", 3),
    "scaler": _set("scaler", {"rows": 3}),
    "scoring": _set("scoring", "luck"),
    "NaN": _in_array("vectors", (0, 0, 0), float("nan")),
    "infinity": _in_array("reals", (0, 0), float("inf")),
    "negative count": _in_array("counts", (0, -1), -1),
    "flag": _in_array("counts", (0, WHOLE_NUMBERS.index("careful")), 2),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_is_signed_is_still_not_believed(tmp_path: Path, content: bytes, name: str) -> None:
    forged(content, tmp_path / "same", lambda header, arrays: None)
    load(tmp_path / "same")
    forged(content, tmp_path / "m", FORGERIES[name])
    with pytest.raises(ModelFileError, match="sound"):
        load(tmp_path / "m")


@pytest.mark.parametrize("layout", ["lanes", "herd"])
def test_a_rule_in_a_layout_that_it_cannot_have(tmp_path: Path, layout: str) -> None:
    modelfile.save(tmp_path / "m", Saved(learned(SPECS["weights"])))

    def change(header: Any, arrays: Any) -> None:
        header["state"]["layout"] = layout
        header["state"]["vectors"] = ["U", "V"] if layout == "lanes" else ["U"]

    forged((tmp_path / "m").read_bytes(), tmp_path / "m", change)
    with pytest.raises(ModelFileError, match="its rule has another layout"):
        load(tmp_path / "m")


def test_a_model_that_there_is_no_room_for(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m").write_bytes(content)

    def full(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(State, "new", full)
    with pytest.raises(MemoryError, match="a model of 4 × 5 weights needs more memory"):
        load(tmp_path / "m")
    (tmp_path / "m").write_bytes(content[:-8] + b"damaged!")
    with pytest.raises(ModelFileError, match="checksum"):
        load(tmp_path / "m")


def test_loading_takes_the_memory_of_the_model_once(tmp_path: Path) -> None:
    specs = tuple(Spec(rule, alphas=(a, 1.0), watch=True) for rule in ("pater-i", "pater-ii") for a in (0.3, 0.5, 1, 2))
    random = np.random.default_rng(0)
    model = Model.new(np.array([0, 1]), 1 << 16, specs)
    columns = np.arange(1 << 16, dtype=np.uint32)
    indptr = np.arange(0, (1 << 16) + 1, 1 << 10, dtype=np.uint32)
    model.learn((indptr, columns, random.standard_normal(1 << 16)), np.resize([0, 1], 64))
    modelfile.save(tmp_path / "m", Saved(model))
    modelfile.load(tmp_path / "m")
    tracemalloc.start()
    try:
        saved = modelfile.load(tmp_path / "m")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert_same(model, saved.model)
    assert saved.model.state.layout == "herd"
    assert peak < 4 * 8 * (1 << 16)  # some vectors; the model itself uses large pages, which are not counted here


def test_a_newer_version_is_refused_by_name(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "MAJOR", 2)
    forged(content, tmp_path / "m", lambda header, arrays: None)
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=r"version 2\.\d+ of the format; this pater reads version 1"):
        load(tmp_path / "m")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = learned(SPECS["pater-i"])
    modelfile.save(tmp_path / "m", Saved(model))
    before = (tmp_path / "m").read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match="m: cannot be written: No space left on device"):
        modelfile.save(tmp_path / "m", Saved(model, sources=["other"]))
    assert (tmp_path / "m").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
