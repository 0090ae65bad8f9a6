"""Forged model files: some hundreds of cases of benchmarks/forge_models.py, and those that once got through."""

from __future__ import annotations

import importlib.util
import json
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import pater
from pater import PATERClassifier, stream
from pater.cli import main
from pater.files.model_file import ModelFileError
from pater.models.errors import NotFiniteError
from pater.models.model import Model

pytestmark = pytest.mark.slow


def _script() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / "forge_models.py"
    spec = importlib.util.spec_from_file_location("forge_models", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["forge_models"] = module
    spec.loader.exec_module(module)
    return module


forge = _script()


def test_forged_files_work_or_are_refused_in_one_line(tmp_path: Path) -> None:
    ended = {how for _, how in forge.cases(tmp_path, 400, seed=11)}
    assert {"works", "refused"} <= ended <= {"works", "refused", "too large"}


def test_the_same_seed_forges_the_same(tmp_path: Path) -> None:
    forge.SEEDS["one"](tmp_path / "rows", tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    assert forge.signed(*_parts(content)) == content
    for seed in range(30):
        a, b = (forge.forged(content, forge.random.Random(seed)) for _ in range(2))
        assert a == b


def _parts(content: bytes) -> tuple[bytes, bytes]:
    size = int.from_bytes(content[:8], "little")
    return content[8 : 8 + size], content[8 + size :]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "m"
    PATERClassifier("I").fit([[1.0, 2.0], [-1.0, 0.5], [2.0, 1.0]], [0, 1, 1]).save(path)
    return path.read_bytes()


def _header(*keys: Any) -> Callable[..., bytes]:
    *path, last, value = keys

    def change(header: Any, described: Any, data: bytes) -> bytes:
        place = header
        for key in path:
            place = place[key]
        place[last] = value
        return bytes(forge.together(header, described, data))

    return change


def _text(old: str, new: str) -> Callable[..., bytes]:
    def change(header: Any, described: Any, data: bytes) -> bytes:
        assert old in json.dumps(header)
        return bytes(forge.together(header, described, data, lambda told: told.replace(old, new, 1)))

    return change


def _shape(*shape: int) -> Callable[..., bytes]:
    def change(header: Any, described: Any, data: bytes) -> bytes:
        described["more"] = {"dtype": "F64", "shape": list(shape), "data_offsets": [len(data), len(data)]}
        return bytes(forge.together(header, described, data))

    return change


def _wide_text(header: Any, described: Any, data: bytes) -> bytes:
    header["classes"] |= {"type": "<U99999", "values": [f"{k:06}" for k in range(20_000)]}
    return bytes(forge.together(header, described, data))


def _wide_text_of_its_size(header: Any, described: Any, data: bytes) -> bytes:
    """Everything else fits: there are as many models as classes."""
    header["classes"] |= {"type": "<U99999", "values": [f"{k:06}" for k in range(20_000)]}
    return _of_models(20_000, header, described)


def _no_classes(header: Any, described: Any, data: bytes) -> bytes:
    header["classes"]["values"] = []
    return _of_models(0, header, described)


def _of_models(n: int, header: Any, described: Any) -> bytes:
    """This many models without columns, all of whose numbers are zero."""
    header["state"] |= {"models": n, "features": 0, "kept": 0}
    offset = 0
    for name, place in described.items():
        shape = [n, len(header["state"]["vectors"]), 0] if name == "vectors" else [n, place["shape"][1]]
        size = 8 * shape[0] * shape[1] * (shape[2] if len(shape) > 2 else 1)
        described[name] = {**place, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    return bytes(forge.together(header, described, bytes(offset)))


def _many_models(header: Any, described: Any, data: bytes) -> bytes:
    """10⁸ models: ten thousand classes, ten thousand specs, and vectors without columns."""
    header["specs"] *= 10_000
    header["classes"]["values"] = list(range(10_000))
    header["state"] |= {"models": 10**8, "features": 0, "kept": 0}
    start, end = described["vectors"]["data_offsets"]
    described["vectors"] |= {"shape": [10**8, 4, 0], "data_offsets": [start, start]}
    for name in ("reals", "counts"):
        described[name]["data_offsets"] = [n - (end - start) for n in described[name]["data_offsets"]]
    return bytes(forge.together(header, described, data[:start] + data[end:]))


def _unsigned(header: Any, described: Any, data: bytes) -> bytes:
    changed = bytearray(_wide_text_of_its_size(header, described, data))
    changed[-1] ^= 1
    return bytes(changed)


FORGERIES: dict[str, Callable[..., bytes]] = {
    "labels of 99,999 characters": _wide_text,
    "labels of 99,999 characters of as many models": _wide_text_of_its_size,
    "the same with a wrong checksum": _unsigned,
    "10⁸ models": _many_models,
    "a shape of no numbers, too large": _shape(1 << 47, 1 << 47, 0),
    "a hundred dimensions": _shape(*[0] * 100),
    "no dimension": _shape(),
    "scoring settings that are a list": _header("scoring_settings", [1.0]),
    "scoring settings that are pairs": _header("scoring_settings", [["a", 1.0]]),
    "C of 10⁴⁰⁰": _header("specs", 0, "C", 10**400),
    "r of 10⁴⁰⁰": _header("specs", 0, "r", 10**400),
    "a class weight of 10⁴⁰⁰": _header("specs", 0, "class_weight", [[0, 10**400]]),
    "a class weight that is no pair": _header("specs", 0, "class_weight", [[0, 1.0, 2.0]]),
    "alphas that are an object": _header("specs", 0, "alphas", {"a": 1, "b": 2}),
    "no classes": _no_classes,
    "a class of 10⁴⁰⁰": _header("classes", {"type": "|O", "values": [1, 10**400], "fixed": False}),
    "half a surrogate pair in a name": _header("feature_names", ["a", "\ud800"]),
    "half a surrogate pair in a source": _header("sources", ["\udcff"]),
    "half a surrogate pair in a label": _header("classes", {"type": "<U1", "values": ["a", "\ud800"], "fixed": False}),
    "10⁴⁰⁰⁰ rows": _header("counts", {"rows": 10**4000}),
    "10⁵⁰⁰⁰ rows": _text('"rows": 3', '"rows": 1' + "0" * 5000),
    "deep lists": _text('"sources": []', f'"sources": {"[" * 100_000}'),
    "a name twice": _text('"sources": []', '"sources": [], "sources": ["a"]'),
    "NaN": _text('"C": 1.0', '"C": NaN'),
    "Infinity": _text('"C": 1.0', '"C": Infinity'),
    "1e999": _text('"C": 1.0', '"C": 1e999'),
    "a version of another type": _header("version", ["1"]),
    "a table of numbered features": _header(
        "columns",
        {
            "kind": "indices",
            "bits": 0,
            "table": [["a", "number"]],
            "label": None,
            "weight": None,
            "numeric_labels": True,
        },
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_what_once_got_through(
    tmp_path: Path, content: bytes, name: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = FORGERIES[name](*forge.apart(content))
    monkeypatch.chdir(tmp_path)
    Path("m").write_bytes(changed)
    Path("rows.svm").write_text("0 1:1\n1 1:-1\n")
    tracemalloc.start()
    try:
        for load in (pater.load, stream.load):
            with pytest.raises(ModelFileError, match=r"m: it") as caught:
                load("m")
            assert len(str(caught.value)) < 500
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * len(changed) + (1 << 24)
    for verb in (
        ("inspect", "m"),
        ("predict", "m", "rows.svm"),
        ("train", "rows.svm", "-i", "m", "-m", "new"),
        ("evaluate", "rows.svm", "-m", "m"),
        ("merge", "m", "m", "-m", "new"),
        ("train", "rows.svm", "--resume", "-m", "n", "-q"),
    ):
        Path("n.checkpoint").write_bytes(changed)
        with pytest.raises(SystemExit) as leave:
            main(verb)
        out, err = capfd.readouterr()
        assert (leave.value.code, out) == (1, "")
        assert err.startswith("pater: n.checkpoint: it" if "n" in verb else "pater: m: it")
        assert err.count("\n") == 1
    assert not Path("new").exists()


OF_ESTIMATORS: dict[str, Callable[..., bytes]] = {
    "a parameter of 10⁴⁰⁰": _header("estimator", "params", "forgetting", 10**400),
    "passes of 10⁴⁰⁰": _header("estimator", "params", "n_passes", 10**400),
    "a class weight of 10⁴⁰⁰": _header("estimator", "params", "class_weight", [[0, 10**400]]),
    "a class weight of a list": _header("estimator", "params", "class_weight", [[[0], 1.0]]),
    "a name that is a list": _header("estimator", {"name": ["Perceptron"], "params": {}}),
    "no parameters": _header("estimator", {"name": "Perceptron", "params": None}),
}


@pytest.mark.parametrize("name", OF_ESTIMATORS)
def test_an_estimator_that_is_none(tmp_path: Path, content: bytes, name: str) -> None:
    """The command line does not ask which estimator has saved a model."""
    (tmp_path / "m").write_bytes(OF_ESTIMATORS[name](*forge.apart(content)))
    with pytest.raises(ModelFileError, match="m: it is not a sound model file"):
        pater.load(tmp_path / "m")
    assert stream.load(tmp_path / "m").rows == 3


def test_more_columns_than_the_machine_has_room_for(tmp_path: Path) -> None:
    """Columns of zeros take no room in a file, so nothing in it contradicts their number."""
    (tmp_path / "a.svm").write_text("1 1:1 900:1\n-1 5:1\n")
    stream.train(tmp_path / "a.svm", model=tmp_path / "m", algo="pater-i")
    header, described, data = forge.apart((tmp_path / "m").read_bytes())
    header["state"]["features"] = 1 << 30
    (tmp_path / "m").write_bytes(forge.together(header, described, data))
    with forge.held_to(1 << 30), pytest.raises(MemoryError, match="needs more memory"):
        stream.load(tmp_path / "m")
    header["state"]["features"] = (1 << 30) + 1
    (tmp_path / "m").write_bytes(forge.together(header, described, data))
    with pytest.raises(ModelFileError, match="counts its columns wrongly"):
        stream.load(tmp_path / "m")


@pytest.mark.parametrize("column", [-1, -(1 << 63), 901, 1 << 40, 5])
def test_columns_that_are_none(tmp_path: Path, column: int) -> None:
    (tmp_path / "a.svm").write_text("1 1:1 900:1\n-1 5:1\n")
    stream.train(tmp_path / "a.svm", model=tmp_path / "m", algo="pater-i")
    header, described, data = forge.apart((tmp_path / "m").read_bytes())
    start, end = described["kept"]["data_offsets"]
    assert np.frombuffer(data[start:end], np.int64).tolist() == [1, 5, 900]
    for place in (0, 2):
        changed = bytearray(data)
        changed[start + 8 * place : start + 8 * place + 8] = column.to_bytes(8, "little", signed=True)
        (tmp_path / "m").write_bytes(forge.together(header, described, bytes(changed)))
        with pytest.raises(ModelFileError, match="its columns are not in order"):
            stream.load(tmp_path / "m")


def test_a_state_too_large_to_learn_with_is_not_blamed_on_the_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bad(self: Model, rows: Any, *_: Any, **__: Any) -> None:
        raise NotFiniteError(1)

    (tmp_path / "a.svm").write_text("1 1:1\n\n-1 1:-1 2:1\n")
    monkeypatch.setattr(Model, "learn", bad)
    with pytest.raises(stream.InputError, match=r"a\.svm, line 3: the model's own numbers have become too large"):
        stream.train(tmp_path / "a.svm", algo="pater-i")


def test_inspecting_takes_no_memory_for_columns_of_zeros(tmp_path: Path) -> None:
    from pater.stream.inspection import summary

    (tmp_path / "a.svm").write_text("1 1:1 4000000:1\n-1 5:1\n")
    learner = stream.train(tmp_path / "a.svm", algo="pater-i")
    summary(learner, 3)
    tracemalloc.start()
    try:
        told = summary(learner, 3)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert {name for name, _ in told["largest_weights"][0]["weights"]} == {"1", "5", "4000000"}
    assert peak < 3 * 4_200_000  # of one byte per column
