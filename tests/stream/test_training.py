"""Training from files: the same as the estimators, to the bit; checkpoints; and what stops a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from pater import AutoPATERClassifier, PATERClassifier
from pater.files.model_file import ModelFileError
from pater.kernels.rules import RULES
from pater.models.pool import Pool
from pater.stream import InputError, load, read, train
from pater.stream.prediction_quality import Judged
from pater.stream.training import Every, Run
from pater.stream.windows import Windows

FORMS = ["csr-f8-i4", "csr-f8-i8"]


def matrix_of(path: Path, form: str, n_features: int | None = None) -> tuple[Any, Any]:
    """The content of a file as scikit-learn reads it, with indices of this form."""
    X, y = load_svmlight_file(str(path), n_features=n_features, zero_based=True)
    X.indices, X.indptr = X.indices.astype(form[-2:]), X.indptr.astype(form[-2:])
    return X, y.astype(int)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_as_the_estimator_bit_for_bit(form: str, libsvm_file: Path, tmp_path: Path) -> None:
    X, y = matrix_of(libsvm_file, form, 1024)
    learner = train(libsvm_file, model=tmp_path / "m", algo="pater-i", class_weight={"1": 3.0})
    estimator = PATERClassifier("I", class_weight={1: 3.0}).partial_fit(X, y)
    assert learner.state().weights()[0][:, :201].tobytes() == estimator.coef_[:, :201].tobytes()
    (batch, *_) = read(libsvm_file)
    loaded = load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.labels(loaded.margins(batch)), estimator.predict(X[: len(batch)]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("algo", RULES)
def test_the_width_of_the_state_changes_no_bit(
    algo: str, form: str, learner: Callable[..., Any], tmp_path: Path
) -> None:
    """A file's columns appear one by one and its state has spare room; a matrix has its columns from the start.

    There are enough rows for the lazy form to be folded more than once.
    """
    rng = np.random.default_rng(0)
    last = np.repeat([20, 60, 100], [1000, 1000, 2000])
    columns = [np.sort(rng.choice(np.arange(1, most), 15, replace=False)) for most in last]
    signs = rng.choice([-1, 1], last.size)
    lines = [
        f"{label} "
        + " ".join(f"{j}:{(1 + j % 7) * label + noise:.6f}" for j, noise in zip(row, rng.normal(0, 5, 15), strict=True))
        for label, row in zip(signs, columns, strict=True)
    ]
    (tmp_path / "a.svm").write_text("\n".join(lines))
    X, y = matrix_of(tmp_path / "a.svm", form)
    covariance = {"covariance": "diagonal"} if RULES[algo].second_order else {}
    ours = train(tmp_path / "a.svm", algo=algo, **covariance).state().weights()[0]
    theirs = learner(algo, average=False, **covariance).partial_fit(X, y).coef_
    assert ours[:, : X.shape[1]].tobytes() == theirs.tobytes()


@pytest.mark.parametrize("form", FORMS)
def test_wpater_is_the_auto_classifier_with_the_papers_weights(form: str, libsvm_file: Path) -> None:
    X, y = matrix_of(libsvm_file, form, 1024)
    learner = train(libsvm_file, algo="wpater")
    estimator = AutoPATERClassifier(("I", "II")).partial_fit(X, y)
    assert learner.state().weights()[0].tobytes() == estimator.coef_.tobytes()


def test_auto_is_the_auto_classifier(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = random.standard_normal((2000, 5)).round(6)
    y = (X[:, 0] + random.standard_normal(2000) > 1).astype(int)
    np.savetxt(tmp_path / "a.csv", np.c_[X, y], "%.6f,%.6f,%.6f,%.6f,%.6f,%d", header="a,b,c,d,e,y", comments="")
    learner = train(tmp_path / "a.csv", label="y", encoding="plain")
    estimator = AutoPATERClassifier().partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:])  # meets classes as they come
    assert learner.state().weights()[0].tobytes() == estimator.coef_.tobytes()
    assert learner.scores()["balanced_accuracy"] == estimator.progressive_score_


def test_threads_change_nothing(libsvm_file: Path, tmp_path: Path) -> None:
    for threads in (1, 4):
        train(libsvm_file, model=tmp_path / f"{threads}", threads=threads)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "4").read_bytes()


def test_several_classes(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    lines = [
        f"{k} 1:{a} 2:{b}"
        for k, (a, b) in zip(random.integers(0, 3, 500), random.standard_normal((500, 2)), strict=True)
    ]
    (tmp_path / "a.svm").write_text("\n".join(lines))
    learner = train(tmp_path / "a.svm", algo="pater-ii", probability=True)
    (batch,) = read(tmp_path / "a.svm")
    margins = learner.margins(batch)
    assert margins.shape == (500, 3)
    np.testing.assert_allclose(learner.probabilities(margins).sum(axis=1), 1)
    assert set(learner.labels(margins).tolist()) <= {0, 1, 2}


def test_features_never_seen_say_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
    (tmp_path / "b.svm").write_text("1 1:1 4000000:7\n1 1:1\n")
    learner = train(tmp_path / "a.svm", algo="pa")
    (batch,) = read(tmp_path / "b.svm")
    a, b = learner.margins(batch)[:, 0]
    assert a == b


def test_going_on_from_a_model(libsvm_file: Path, tmp_path: Path, libsvm_text: Callable[..., bytes]) -> None:
    (tmp_path / "more.svm").write_bytes(libsvm_text(500, seed=1))
    train(libsvm_file, model=tmp_path / "a", algo="pater-ii", scale=True, features=2000)
    train(tmp_path / "more.svm", model=tmp_path / "b", initial=tmp_path / "a")
    both = load(tmp_path / "b")
    assert both.rows == 25_500
    assert both.sources == [str(libsvm_file), str(tmp_path / "more.svm")]


class _KilledError(Exception):
    pass


def stop_after(batches: int) -> Callable[[Run], None]:
    left = [batches]

    def show(run: Run) -> None:
        left[0] -= 1
        if left[0] == 0:
            raise _KilledError

    return show


@pytest.mark.first_quick
@pytest.mark.parametrize(
    "settings", [{"algo": "pater-i"}, {"algo": "auto"}, {"algo": "pa-i", "scale": True, "passes": 2}]
)
@pytest.mark.parametrize("batches", [5, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 9))])
def test_resumed_ends_with_the_same_bytes(
    libsvm_file: Path, tmp_path: Path, settings: dict[str, object], batches: int, libsvm_text: Callable[..., bytes]
) -> None:
    (tmp_path / "second.svm").write_bytes(libsvm_text(4000, seed=3, features=3000))
    paths = [libsvm_file, tmp_path / "second.svm"]
    train(paths, model=tmp_path / "whole", **settings)  # type: ignore[arg-type]
    with pytest.raises(_KilledError):
        train(paths, model=tmp_path / "m", checkpoint_every=1, show=stop_after(batches), **settings)  # type: ignore[arg-type]
    assert (tmp_path / "m.checkpoint").exists()
    train(paths, model=tmp_path / "m", checkpoint_every=1, resume=True, **settings)  # type: ignore[arg-type]
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()
    assert not (tmp_path / "m.checkpoint").exists()


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("batches", [5, 7])
def test_a_resumed_run_need_not_write_checkpoints(libsvm_file: Path, tmp_path: Path, passes: int, batches: int) -> None:
    (tmp_path / "second.svm").write_bytes(libsvm_file.read_bytes()[: 1 << 20])
    paths, settings = [libsvm_file, tmp_path / "second.svm"], {"algo": "pater-i", "passes": passes}
    train(paths, model=tmp_path / "whole", **settings)  # type: ignore[arg-type]
    with pytest.raises(_KilledError):
        train(paths, model=tmp_path / "m", checkpoint_every=1, show=stop_after(batches), **settings)  # type: ignore[arg-type]
    train(paths, model=tmp_path / "m", resume=True, **settings)  # type: ignore[arg-type]
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def interrupted(path: Path, model: Path, **settings: object) -> None:
    with pytest.raises(_KilledError):
        train(path, model=model, algo="pater-i", checkpoint_every=1, show=stop_after(4), **settings)  # type: ignore[arg-type]


def test_a_resumed_run_says_that_its_windows_begin_late(libsvm_file: Path, tmp_path: Path) -> None:
    interrupted(libsvm_file, tmp_path / "m")
    windows: list[dict[str, Any]] = []
    with pytest.warns(UserWarning, match=r"goes on after row [\d,]+: windows and alarms begin there"):
        train(
            libsvm_file, model=tmp_path / "m", algo="pater-i", resume=True, judged=Judged(Windows(500, windows.append))
        )
    assert windows


def test_a_changed_input_is_noticed(libsvm_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    text = libsvm_file.read_bytes()
    path.write_bytes(text)
    interrupted(path, tmp_path / "m")
    path.write_bytes(text[:1000].replace(b"1", b"2", 1) + text[1000:])
    with pytest.raises(InputError, match=r"rows\.svm changed before line"):
        train(path, model=tmp_path / "m", algo="pater-i", resume=True)
    path.write_bytes(text[:5000])
    with pytest.raises(InputError, match=r"rows\.svm changed before line"):
        train(path, model=tmp_path / "m", algo="pater-i", resume=True)
    path.write_bytes(text + b"+1 1:1\n")  # anything may be added after the position
    train(path, model=tmp_path / "m", algo="pater-i", resume=True)


def test_other_settings_are_noticed(libsvm_file: Path, tmp_path: Path) -> None:
    interrupted(libsvm_file, tmp_path / "m")
    with pytest.raises(InputError, match="was written with algo = 'pater-i', but now it is 'pa'"):
        train(libsvm_file, model=tmp_path / "m", algo="pa", resume=True)


def test_a_damaged_checkpoint_is_an_error(libsvm_file: Path, tmp_path: Path) -> None:
    interrupted(libsvm_file, tmp_path / "m")
    (tmp_path / "m.checkpoint").write_bytes((tmp_path / "m.checkpoint").read_bytes()[:-1])
    with pytest.raises(ModelFileError, match=r"m\.checkpoint: .* Start over without --resume, or delete it\."):
        train(libsvm_file, model=tmp_path / "m", algo="pater-i", resume=True)


def test_a_full_disk_leaves_the_last_checkpoint(
    libsvm_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, left = os.fsync, [4]

    def full(handle: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        sync(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match=r"m\.checkpoint: cannot be written: No space left on device"):
        train(libsvm_file, model=tmp_path / "m", algo="pater-i", checkpoint_every=1)
    monkeypatch.undo()
    assert load(tmp_path / "m.checkpoint").rows > 0
    train(libsvm_file, model=tmp_path / "m", algo="pater-i", resume=True)
    train(libsvm_file, model=tmp_path / "whole", algo="pater-i")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()


def test_rows_too_large_name_their_line(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1e200\n1 1:2\n")
    with pytest.raises(InputError, match=r"a\.svm, line 2: its numbers are too large"):
        train(tmp_path / "a.svm")
    learner = train(tmp_path / "a.svm", on_error="skip")
    assert (learner.rows, learner.skipped) == (2, 1)


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"algo": "svm"}, "no algorithm 'svm'"),
        ({"passes": 0}, "passes"),
        ({"format": "xml"}, "format must be one of"),
        ({"on_error": "ignore"}, "on_error"),
        ({"bits": 99}, "bits"),
        ({"scoring": "luck"}, "scoring"),
        ({"class_weight": {"yes": 2.0}}, "labels are whole numbers"),
        ({"resume": True}, "name the model file"),
        ({"checkpoint_every": "soon"}, "checkpoint_every"),
    ],
)
def test_settings_that_make_no_sense(tmp_path: Path, settings: dict[str, object], what: str) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
    with pytest.raises(InputError, match=what):
        train(tmp_path / "a.svm", **settings)  # type: ignore[arg-type]


def test_nothing_to_learn_from(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("# nothing\n\n")
    with pytest.raises(InputError, match="no row to learn from"):
        train(tmp_path / "a.svm")


def test_how_often() -> None:
    assert Every.of("1000") == Every(rows=1000)
    assert Every.of(5) == Every(rows=5)
    assert Every.of("30s") == Every(seconds=30)
    assert Every.of("2h") == Every(seconds=7200)


@pytest.mark.first_quick
@pytest.mark.parametrize("fading", [0.9, 0.999])
def test_answers_of_a_pool_fade_as_asked(libsvm_file: Path, tmp_path: Path, fading: float) -> None:
    learner = train(libsvm_file, model=tmp_path / "m", fading=fading)
    assert isinstance(learner.model, Pool)
    assert learner.model.fading == fading
    assert np.sum(learner.model.progressive()) == learner.rows
    again = load(tmp_path / "m")
    assert again.model.fading == fading
    assert again.scores() == learner.scores()
