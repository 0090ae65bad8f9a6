"""What was learned can be saved, and what was saved can be loaded: it is read back before it replaces the old file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pater
from pater import PATERClassifier
from pater.files import container
from pater.files import model_file as modelfile
from pater.files import vectors as filing
from pater.files.model_file import ModelFileError, Saved
from pater.kernels.rules import RULES
from pater.kernels.state import State
from pater.models.matrices import rows_of
from pater.models.model import Model
from pater.models.search import alpha_grid
from pater.models.spec import Spec
from pater.models.state_operations import mirrored
from pater.stream import InputError, load, train
from pater.stream.prediction import predict_to

pytestmark = pytest.mark.slow

SPECS: dict[str, tuple[Spec, ...]] = {
    name: (Spec(name, watch=True, calibrate=True, average=True),)
    for name, rule in RULES.items()
    if not rule.second_order
}
SPECS |= {
    f"{name}, {covariance}": (Spec(name, watch=True, covariance=covariance, average=covariance == "diagonal"),)  # type: ignore[arg-type]
    for name, rule in RULES.items()
    if rule.second_order
    for covariance in ("full", "diagonal")
}
SPECS["auto"] = tuple(
    Spec(rule, alphas=pair, watch=True, discount=True) for pair in alpha_grid() for rule in ("pater-i", "pater-ii")
)
SPECS["forgetting"] = (Spec("pater-ii", forgetting=0.9, class_weight="balanced"),)
SPECS["forgetting of second order"] = (Spec("so-pater-i", forgetting=0.9, average=True),)
SPECS["forgetting by a diagonal"] = (Spec("arow", forgetting=0.9, covariance="diagonal"),)

VALUES = st.sampled_from([0.0, -0.0, -0.3, -0.1, 0.4, 0.1, 0.2, -0.7, 1.0, 3.0, 1e-3, 1e3, -1e3])
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES, st.integers(0, 3)), min_size=1, max_size=12)


def bits(model: Model) -> list[Any]:
    state = model.state
    points = [] if model.history is None else [counts.tobytes() for _, counts in model.history.points]
    second = b"" if state.second is None else state.second.tobytes()
    return [
        model.classes.tolist(),
        model.specs,
        model.fixed,
        state.layout,
        state.herds,
        np.ascontiguousarray(state.kinds()).tobytes(),
        second,
        *(state.scalars[name].tobytes() for name in state.scalars.dtype.names or ()),
        points,
    ]


def comes_back(model: Model, path: Path) -> None:
    modelfile.save(path, Saved(model))
    assert bits(modelfile.load(path).model) == bits(model)


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("form", ["dense", "sparse"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, n_classes=st.integers(1, 4))
def test_whatever_was_learned_comes_back(tmp_path: Path, name: str, form: str, rows: Any, n_classes: int) -> None:
    X = np.array([row[:3] for row in rows])
    y = np.array([row[3] % n_classes for row in rows])
    model = Model.new(np.empty(0, y.dtype), 3, SPECS[name])
    half = len(rows) // 2
    for some in (slice(0, half), slice(half, None)):
        model.learn(rows_of(X[some] if form == "dense" else sp.csr_array(X[some])), y[some])
        if model.classes.size:
            comes_back(model, tmp_path / "m")
    if model.classes.size == 2:
        comes_back(Model(model.classes, mirrored(model.state), model.specs, history=model.history), tmp_path / "m")
    comes_back(model.merge(model), tmp_path / "m")


def test_squares_that_rounding_leaves_below_zero(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("label,a\n1,-0.3\n1,-0.1\n1,0.4\n0,1.0\n")
    learner = train(tmp_path / "f.csv", model=tmp_path / "m", algo="auto")
    assert load(tmp_path / "m").state().weights()[0].tobytes() == learner.state().weights()[0].tobytes()
    model = PATERClassifier("I").fit([[-0.3], [-0.1], [0.4], [1.0]], [1, 1, 1, 0])
    model._model.state.scalars["pp"] = -1e-17  # whatever the kernels leave there
    model._model.state.scalars["nn"] = -1e-17
    model.save(tmp_path / "e")
    assert pater.load(tmp_path / "e").coef_.tobytes() == model.coef_.tobytes()


def broken_disk(monkeypatch: pytest.MonkeyPatch, *, after: int = 0) -> None:
    """After `after` more writes, the disk no longer holds what was written."""
    left = [after]
    parts = container._parts

    def damaged(arrays: Any) -> Any:
        left[0] -= 1
        for part in parts(arrays):
            yield bytes(reversed(bytes(part))) if left[0] < 0 and len(part) > 16 else part

    monkeypatch.setattr(container, "_parts", damaged)


def test_what_comes_back_changed_does_not_replace_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checksum is right, but the numbers differ."""
    model = PATERClassifier("I").fit([[1.0, 2.0, 3.0], [-1.0, 0.5, 0.25]], [0, 1])
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    broken_disk(monkeypatch)
    with pytest.raises(ModelFileError, match="m: cannot be written, since it could not be read again"):
        model.partial_fit([[3.0, 1.0, 1.0]], [0]).save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_what_cannot_be_loaded_does_not_replace_the_old_file(tmp_path: Path) -> None:
    model = PATERClassifier("I").fit([[1.0], [-1.0]], [0, 1])
    model.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    model._model.state.scalars["bias"] = np.inf
    with pytest.raises(ModelFileError, match=r"m: cannot be written.*reals holds a number that is not finite"):
        model.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before


def test_a_checkpoint_that_comes_back_changed(
    libsvm_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole"
    train(libsvm_file, model=whole, algo="pater-i")
    broken_disk(monkeypatch, after=2)
    with pytest.raises(ModelFileError, match=r"m\.checkpoint: cannot be written"):
        train(libsvm_file, model=tmp_path / "m", algo="pater-i", checkpoint_every=1)
    monkeypatch.undo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.checkpoint", "whole"]
    train(libsvm_file, model=tmp_path / "m", algo="pater-i", resume=True)
    assert (tmp_path / "m").read_bytes() == whole.read_bytes()


def test_reading_back_takes_no_second_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model.new(np.array([0, 1]), 5, (Spec("arow"),))
    model.learn((np.random.default_rng(0).standard_normal((50, 5)),), np.resize([0, 1], 50))

    def taken(*_: Any, **__: Any) -> None:
        raise AssertionError("memory is taken for a second state")

    monkeypatch.setattr(State, "new", taken)
    monkeypatch.setattr(filing, "Room", taken)
    modelfile.save(tmp_path / "m", Saved(model))


def test_a_row_of_which_the_model_says_nothing_finite(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n-1 1:-1\n")
    (tmp_path / "b.svm").write_text("1 1:1\n1 1:1e100\n1 1:1e300\n1 1:2\n")
    learner = train(tmp_path / "a.svm", algo="pa")
    assert learner.model is not None
    learner.model.state.vectors[:] = 1e100

    def predict(on_error: str) -> Any:
        return predict_to(
            learner,
            [str(tmp_path / "b.svm")],
            tmp_path / "out.jsonl",
            margins=True,
            probabilities=False,
            output_format=None,
            format=None,
            on_error=on_error,
            threads=1,
        )

    with pytest.raises(InputError, match=r"b\.svm, line 3: .*its prediction is not finite"):
        predict("stop")
    assert not (tmp_path / "out.jsonl").exists()
    predict("skip")
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert len(lines) == 4
    assert lines[2] == '{"label": null, "margin": null}'
    assert "null" not in lines[0] + lines[1] + lines[3]


def test_names_of_files_that_are_no_text(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.svm")
    Path(path).write_text("1 1:1\n-1 1:-1\n")
    train(path, model=tmp_path / "m", algo="pa", checkpoint_every=1)
    assert load(tmp_path / "m").sources == [f"{tmp_path}/a\\xff.svm"]


def test_a_run_beside_another(libsvm_file: Path, tmp_path: Path) -> None:
    """The first run is untouched, and ends as if it had been alone."""
    whole = tmp_path / "whole"
    train(libsvm_file, model=whole, algo="pater-i")
    refused = []

    def second(run: Any) -> None:
        for resume in (False, True):
            with pytest.raises(ModelFileError, match=r"m: cannot be written: another run is at work on it"):
                train(libsvm_file, model=tmp_path / "m", algo="pater-i", checkpoint_every=1, resume=resume)
        refused.append(run.learner.rows)

    train(libsvm_file, model=tmp_path / "m", algo="pater-i", checkpoint_every=1, show=second)
    assert refused
    assert (tmp_path / "m").read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "whole"]


def test_a_run_leaves_what_another_is_writing(libsvm_file: Path, tmp_path: Path) -> None:
    """Someone saves an estimator to the same place while a run begins and ends."""
    with container.replacing(tmp_path / "m") as file:
        file.write(b"mine")
        train(libsvm_file, model=tmp_path / "m", algo="pater-i", resume=True)
        assert load(tmp_path / "m").rows == 25_000
    assert (tmp_path / "m").read_bytes() == b"mine"
