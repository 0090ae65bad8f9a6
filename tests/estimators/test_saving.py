"""Estimators in files: what is loaded is what was saved, to the bit, and nothing else is ever loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import pater
from pater import (
    ALMAClassifier,
    AROWClassifier,
    AutoPATERClassifier,
    ConfidenceWeightedClassifier,
    PassiveAggressiveClassifier,
    PATERClassifier,
    Perceptron,
    SecondOrderPATERClassifier,
    SecondOrderPerceptron,
    TERClassifier,
    stream,
)
from pater.cli import main
from pater.estimators.load import ESTIMATORS, OF_RULE
from pater.files import container
from pater.files.model_file import ModelFileError
from pater.models.settings import SETTINGS

ONLINE: dict[str, Callable[[], Any]] = {
    "PATER-I": PATERClassifier,
    "PATER-II, everything": lambda: PATERClassifier(
        "II",
        class_weight="balanced",
        fit_intercept=False,
        average=True,
        forgetting=0.99,
        probability=True,
        n_passes=2,
        shuffle=True,
        random_state=3,
        n_jobs=1,
    ),
    "PA": lambda: PassiveAggressiveClassifier("PA", 7.0),
    "PA-I": lambda: PassiveAggressiveClassifier(C=0.3, average=True, probability=True, warm_start=True),
    "PA-II": lambda: PassiveAggressiveClassifier("PA-II", np.float64(0.5)),
    "Perceptron": lambda: Perceptron(average=True),
    "ALMA": lambda: ALMAClassifier(0.7, average=True),
    "AROW": lambda: AROWClassifier(3.0, class_weight="balanced"),
    "AROW, diagonal": lambda: AROWClassifier(covariance="diagonal", average=True, probability=True),
    "CW": lambda: ConfidenceWeightedClassifier("CW", 0.7),
    "SCW-I, diagonal": lambda: ConfidenceWeightedClassifier(C=0.3, covariance="diagonal"),
    "SCW-II": lambda: ConfidenceWeightedClassifier("SCW-II"),
    "second-order Perceptron": lambda: SecondOrderPerceptron(2.0, fit_intercept=False),
    "second-order PATER": SecondOrderPATERClassifier,
    "second-order PATER, step": lambda: SecondOrderPATERClassifier("II", 3.0, form="step", average=True),
    "second-order PATER, diagonal": lambda: SecondOrderPATERClassifier(covariance="diagonal", probability=True),
    "auto": AutoPATERClassifier,
    "auto, everything": lambda: AutoPATERClassifier(
        ["II"],
        np.array([0.2, 0.7]),
        "cost",
        scoring_settings={"of_false_negative": 50.0},
        fading=0.999,
        discount=False,
        average=True,
        forgetting=0.999,
        probability=True,
        class_weight="balanced",
    ),
}
LABELS: dict[str, Any] = {
    "int": np.array([-1, 1]),
    "int8, three": np.array([3, 5, 7], np.int8),
    "uint64": np.array([1, 2**64 - 1], np.uint64),
    "bool": np.array([False, True]),
    "float": np.array([0.0, 1.0], np.float32),
    "str": np.array(["maybe", "no", "yes"], "<U9"),
    "object": np.array(["no", "yes"], object),
    "object of numbers": np.array([0, np.int64(4)], object),
}


def rows(n: int, seed: int = 0, d: int = 6) -> tuple[Any, Any]:
    """Rows, and a number from 0 to 2 for each that depends on them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] + 0.5 * rng.standard_normal(n) > 0.4).astype(int) + (X[:, 1] > 1)


def labelled(labels: Any, n: int, seed: int = 0) -> tuple[Any, Any]:
    X, codes = rows(n, seed)
    return X, labels[np.minimum(codes, len(labels) - 1)]


def round_trip(estimator: Any, path: Path) -> Any:
    estimator.save(path)
    return pater.load(path)


def assert_same(a: Any, b: Any, X: Any) -> None:
    assert type(a) is type(b)
    assert a.classes_.dtype == b.classes_.dtype
    assert a.classes_.tolist() == b.classes_.tolist()
    assert a.n_features_in_ == b.n_features_in_
    for name in ("coef_", "intercept_"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()
    assert a.decision_function(X).tobytes() == b.decision_function(X).tobytes()
    says, again = a.predict(X), b.predict(X)
    assert says.dtype == again.dtype
    assert says.tolist() == again.tolist()
    if hasattr(a, "predict_proba"):
        assert a.predict_proba(X).tobytes() == b.predict_proba(X).tobytes()


@pytest.mark.parametrize(
    "labels", [pytest.param(name, marks=() if name in ("int", "str") else pytest.mark.slow) for name in LABELS]
)
@pytest.mark.parametrize("name", ONLINE)
def test_online_learners_go_on_as_if_nothing_had_been(name: str, labels: str, tmp_path: Path, bits: Any) -> None:
    X, y = labelled(LABELS[labels], 400)
    more, y_more = labelled(LABELS[labels], 300, seed=1)
    unsaved = ONLINE[name]().partial_fit(X, y)
    loaded = round_trip(unsaved, tmp_path / "m")
    assert_same(unsaved, loaded, more)
    assert bits(unsaved) == bits(loaded)
    for estimator in (unsaved, loaded):
        estimator.partial_fit(more, y_more).partial_fit(sp.csr_array(X), y)
    assert_same(unsaved, loaded, more)
    assert bits(unsaved) == bits(loaded)


@pytest.mark.parametrize("d", [200, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ONLINE)
def test_sparse_rows_and_a_class_that_turns_up_later(name: str, d: int, tmp_path: Path, bits: Any) -> None:
    rng = np.random.default_rng(0)
    X = sp.random_array((600, d), density=30 / d, rng=rng, format="csr")
    y = np.array(["a", "b", "c"])[rng.integers(0, 2, 600) + (np.arange(600) > 500)]
    unsaved = ONLINE[name]().partial_fit(X[:200], y[:200])
    loaded = round_trip(unsaved, tmp_path / "m")
    for start in (200, 400):
        for estimator in (unsaved, loaded):
            estimator.partial_fit(X[start : start + 200], y[start : start + 200])
        assert bits(unsaved) == bits(loaded)
        loaded = round_trip(loaded, tmp_path / "m")
    assert_same(unsaved, loaded, X)


@pytest.mark.parametrize("name", ONLINE)
def test_parameters_come_back(name: str, tmp_path: Path) -> None:
    X, y = labelled(LABELS["int"], 100)
    unsaved = ONLINE[name]().fit(X, y)
    params = round_trip(unsaved, tmp_path / "m").get_params()
    for key, value in unsaved.get_params().items():
        assert params[key] == (tuple(value) if key in ("variants", "weights") and value is not None else value)
    clone(pater.load(tmp_path / "m")).fit(X, y)


def test_class_weights_keep_the_type_of_their_labels(tmp_path: Path) -> None:
    for labels, weight in (
        (np.array([0, 1]), {1: 10}),
        (np.array(["0", "1"]), {"1": 2.5}),
        (np.array([False, True]), {np.bool_(True): np.float32(3.0)}),
    ):
        X, y = labelled(labels, 200)
        for kind in (PATERClassifier, AutoPATERClassifier, TERClassifier):
            loaded = round_trip(kind(class_weight=weight).fit(X, y), tmp_path / "m")
            assert loaded.class_weight == weight
            assert [type(label) for label in loaded.class_weight] == [type(np.asarray(*weight).item())]


def test_one_class_and_fixed_classes(tmp_path: Path, bits: Any) -> None:
    X, _ = rows(50)
    one = PATERClassifier().partial_fit(X, ["only"] * 50)
    assert bits(round_trip(one, tmp_path / "m")) == bits(one)
    fixed = Perceptron().partial_fit(X, [1] * 50, classes=[0, 1])
    with pytest.raises(ValueError, match=r"the label \w+ in row 0, which is not among the classes that were fixed"):
        round_trip(fixed, tmp_path / "m").partial_fit(X, [2] * 50)


def test_auto_keeps_its_history_and_its_choice(tmp_path: Path) -> None:
    X, y = labelled(LABELS["str"], 3000)
    unsaved = AutoPATERClassifier(scoring="cost", scoring_settings={"of_false_negative": 30}).fit(X, y)
    loaded = round_trip(unsaved, tmp_path / "m")
    assert loaded.best_params_ == unsaved.best_params_
    pd.testing.assert_frame_equal(loaded.scores_frame(), unsaved.scores_frame())
    ours, theirs = loaded._model.history, unsaved._model.history
    assert (ours.rows, ours.next_point) == (theirs.rows, theirs.next_point)
    for (n, a), (m, b) in zip(ours.points, theirs.points, strict=True):
        assert n == m
        assert a.tobytes() == b.tobytes()


def test_an_average_that_predicted_by_itself_goes_on_to_predict(tmp_path: Path, monkeypatch: Any) -> None:
    """In older files, the average of a diagonal learner predicted whatever its forgetting."""
    X, y = np.random.default_rng(3).standard_normal((60, 4)), np.arange(60) % 2
    with monkeypatch.context() as patch:
        patch.setattr("pater.estimators.pater.averages_by_itself", lambda *of: True)
        model = SecondOrderPATERClassifier(covariance="diagonal", forgetting=0.9).fit(X, y)
        model.save(tmp_path / "m.pater")
        said = model.decision_function(X)
    loaded = pater.load(tmp_path / "m.pater")
    assert loaded.average is True
    assert np.array_equal(loaded.decision_function(X), said)
    loaded.partial_fit(X, y)
    assert not np.array_equal(loaded.coef_, loaded.set_params(average=False).coef_)
    assert SecondOrderPATERClassifier(covariance="diagonal", forgetting=0.9).fit(X, y).average is None


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("settings", [{}, {"ridge": 0.5, "fit_intercept": False, "class_weight": "balanced"}])
def test_the_batch_solution(labels: str, settings: dict[str, Any], tmp_path: Path) -> None:
    X, y = labelled(LABELS[labels], 200)
    unsaved = TERClassifier(**settings).fit(X, y)
    loaded = round_trip(unsaved, tmp_path / "m")
    assert_same(unsaved, loaded, X)
    assert loaded.get_params() == unsaved.get_params()


@pytest.mark.parametrize("kind", [PATERClassifier, AutoPATERClassifier, TERClassifier])
def test_feature_names(kind: Any, tmp_path: Path) -> None:
    X, y = labelled(LABELS["int"], 200)
    frame = pd.DataFrame(X, columns=list("abcdéf"))
    loaded = round_trip(kind().fit(frame, y), tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == list("abcdéf")
    loaded.predict(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame[list("fédcba")])


def test_what_was_loaded_can_be_merged(tmp_path: Path) -> None:
    X, y = labelled(LABELS["int"], 400)
    a, b = PATERClassifier("II").fit(X[:200], y[:200]), PATERClassifier("II").fit(X[200:], y[200:])
    b = round_trip(b, tmp_path / "m")
    assert a.merge(b).t_ == 400


def test_parameters_that_changed_after_fitting(tmp_path: Path) -> None:
    X, y = labelled(LABELS["int"], 200)
    unsaved = PassiveAggressiveClassifier("PA-I").fit(X, y).set_params(C=0.1, variant="PA-II")
    loaded = round_trip(unsaved, tmp_path / "m")
    assert (loaded.C, loaded.variant) == (0.1, "PA-II")
    other = AutoPATERClassifier().fit(X, y).set_params(weights=(0.5,))
    with pytest.raises(ValueError, match="fit again, then save"):
        other.save(tmp_path / "m")


class _Mine(PATERClassifier):
    pass


@pytest.mark.parametrize(
    ("estimator", "labels", "error", "what"),
    [
        (PATERClassifier(), None, NotFittedError, "not fitted"),
        (TERClassifier(), None, NotFittedError, "not fitted"),
        (_Mine(), [0, 1], TypeError, "_Mine is not one of the estimators"),
        (PATERClassifier(random_state=np.random.RandomState(0)), [0, 1], ValueError, "use None or a whole number"),
        (Perceptron(), [b"no", b"yes"], ValueError, "labels such as .*b'no'.* cannot be kept"),
    ],
)
def test_what_cannot_be_saved(estimator: Any, labels: Any, error: Any, what: str, tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"what was there")
    if labels is not None:
        estimator.fit([[0.0], [1.0]], np.array(labels))
    with pytest.raises(error, match=what):
        estimator.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == b"what was there"
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = labelled(LABELS["int"], 200)
    estimator = PATERClassifier().fit(X, y)
    estimator.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    estimator.partial_fit(X, y)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, full)
        with pytest.raises(ModelFileError, match="m: cannot be written: No space left on device"):
            estimator.save(tmp_path / "m")
        monkeypatch.undo()
        assert (tmp_path / "m").read_bytes() == before
        assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("estimator") / "m"
    X, y = labelled(LABELS["str"], 300)
    AutoPATERClassifier(weights=(0.5,), class_weight={"yes": 3}).fit(pd.DataFrame(X, columns=list("abcdef")), y).save(
        path
    )
    return path.read_bytes()


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_flipped_bit_and_no_part_is_loaded(tmp_path: Path, content: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(content) - 1))
    changed = bytearray(content)
    changed[place] ^= 1 << data.draw(st.integers(0, 7))
    for damaged in (bytes(changed), content[:place]):
        (tmp_path / "m").write_bytes(damaged)
        with pytest.raises(ModelFileError, match="m: "):
            pater.load(tmp_path / "m")


def forged(content: bytes, path: Path, *keys: Any) -> None:
    """Write the file with another value in its header, correctly signed."""
    size = int.from_bytes(content[:8], "little")
    described = json.loads(content[8 : 8 + size])
    header = json.loads(described.pop("__metadata__")["pater"])
    data = content[8 + size :]
    arrays = {
        name: np.frombuffer(data[slice(*place["data_offsets"])], container.TYPES[place["dtype"]]).reshape(
            place["shape"]
        )
        for name, place in described.items()
    }
    *path_to, last, value = keys
    place = header
    for key in path_to:
        place = place[key]
    place[last] = value
    container.write(path, {name: header[name] for name in header if name not in _OF_THE_CONTAINER}, arrays)


_OF_THE_CONTAINER = ("checksum", "format", "version")


@pytest.mark.parametrize(
    "change",
    [
        ("estimator", "name", "Popen"),
        ("estimator", "name", ["PATERClassifier"]),
        ("estimator", "name", "PATERClassifier"),
        ("estimator", "name", "TERClassifier"),
        ("estimator", "extra", 1),
        ("estimator", "params", 3),
        ("estimator", "params", "__class__", "int"),
        ("estimator", "params", "weights", [0.5, 0.7]),
        ("estimator", "params", "weights", "0.5"),
        ("estimator", "params", "weights", [True]),
        ("estimator", "params", "variants", ["I", "III"]),
        ("estimator", "params", "scoring", "luck"),
        ("estimator", "params", "scoring_settings", {"of_false_negative": 2}),
        ("estimator", "params", "class_weight", [["yes", -1.0]]),
        ("estimator", "params", "class_weight", [["yes"]]),
        ("estimator", "params", "class_weight", {"yes": 3}),
        ("estimator", "params", "average", 1),
        ("estimator", "params", "n_passes", 0),
        ("estimator", "params", "n_jobs", "all"),
        ("estimator", "params", "random_state", [1]),
        ("estimator", "params", "fading", 7),
        ("specs", 0, "average", True),
        ("scoring_settings", {"of_false_negative": 2}),
        ("scoring_settings", [1]),
        ("classes", "type", "<U1"),
        ("classes", "type", "<U99999999"),
        ("classes", "type", "|S3"),
        ("classes", "type", "|V8"),
        ("classes", "type", "<i8"),
        ("classes", "values", [1, 2, 3]),
    ],
    ids=str,
)
def test_what_is_signed_is_still_not_believed(tmp_path: Path, content: bytes, change: Any) -> None:
    forged(content, tmp_path / "same", "sources", ["elsewhere"])
    pater.load(tmp_path / "same")
    forged(content, tmp_path / "m", *change)
    with pytest.raises(ModelFileError, match="it is not a sound model file"):
        pater.load(tmp_path / "m")


def test_the_table_is_what_can_be_saved() -> None:
    public = {name: getattr(pater, name) for name in pater.__all__}
    assert set(ESTIMATORS) == {name for name, kind in public.items() if hasattr(kind, "fit")}


def run(*arguments: Any) -> int:
    with pytest.raises(SystemExit) as leave:
        main([str(argument) for argument in arguments])
    return int(leave.value.code or 0)


def libsvm(path: Path, X: Any, y: Any) -> Path:
    lines = [
        f"{label} " + " ".join(f"{j}:{x!r}" for j, x in enumerate(row))
        for label, row in zip(y, X.tolist(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("algo", ["auto", *OF_RULE])
@pytest.mark.parametrize("labels", ["int", "int8, three"])
def test_what_pater_train_wrote(algo: str, labels: str, tmp_path: Path) -> None:
    X, y = labelled(LABELS[labels], 500)
    data = libsvm(tmp_path / "a.svm", X, y)
    options = ["-q", "-a", algo, "--probabilities", "--average", "--class-weight", f"{y[0]}:2"]
    if SETTINGS["C"].has(algo):
        options += ["-C", "0.4"]
    assert run("train", data, "-m", tmp_path / "m", *options) == 0
    loaded, learner = pater.load(tmp_path / "m"), stream.load(tmp_path / "m")
    assert loaded.get_params()["class_weight"] == {int(y[0]): 2.0}
    (batch,) = stream.read(data)
    margins = learner.margins(batch)
    np.testing.assert_array_equal(loaded.predict(batch.X), learner.labels(margins))
    assert loaded.decision_function(batch.X).tobytes() == margins.tobytes()
    assert loaded.predict_proba(batch.X).tobytes() == learner.probabilities(margins).tobytes()
    more, y_more = labelled(LABELS[labels], 200, seed=2)
    learner.learn(next(iter(stream.read(libsvm(tmp_path / "b.svm", more, y_more)))))
    loaded.partial_fit(more, y_more.astype(np.int64))
    assert loaded.t_ == 700
    assert_same(loaded, round_trip(loaded, tmp_path / "again"), more)
    weights = learner.state().weights(average=True)[0][:, :6]
    np.testing.assert_allclose(loaded.coef_, weights, rtol=1e-12, atol=1e-12)


def test_what_pater_train_learned_from_a_table(tmp_path: Path) -> None:
    X, y = labelled(LABELS["str"], 300)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.assign(label=y).to_csv(tmp_path / "a.csv", index=False)
    stream.train(tmp_path / "a.csv", model=tmp_path / "m", algo="pater-ii", encoding="plain")
    loaded = pater.load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == list("abcdef")
    assert set(loaded.predict(frame)) <= {"maybe", "no", "yes"}


@pytest.mark.parametrize(("settings", "what"), [({"scale": True}, "scaled"), ({"bits": 8}, "hashed")])
def test_what_no_estimator_can_do(settings: Any, what: str, tmp_path: Path) -> None:
    data = libsvm(tmp_path / "a.svm", *labelled(LABELS["int"], 50))
    stream.train(data, model=tmp_path / "m", **settings)
    with pytest.raises(ModelFileError, match=f"features are {what} along the stream.*use pater predict"):
        pater.load(tmp_path / "m")


def test_merged_by_the_command_line(tmp_path: Path) -> None:
    X, y = labelled(LABELS["int"], 600)
    settings: dict[str, Any] = {"scoring": "cost", "scoring_settings": {"of_false_negative": 9}, "fading": 0.99}
    for name, part in (("a", slice(300)), ("b", slice(300, 600))):
        AutoPATERClassifier(("II",), (0.1, 0.6), **settings).fit(X[part], y[part]).save(tmp_path / name)
    assert run("merge", tmp_path / "a", tmp_path / "b", "-m", tmp_path / "both") == 0
    both, expected = pater.load(tmp_path / "both"), pater.load(tmp_path / "a").merge(pater.load(tmp_path / "b"))
    params = expected.get_params()
    assert both.get_params() == params
    assert_same(both, expected, X)


@pytest.mark.parametrize("name", [*ONLINE, "TER"])
def test_predicted_by_the_command_line(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    X, y = labelled(LABELS["int8, three"], 300)
    estimator = ONLINE[name]() if name in ONLINE else TERClassifier()
    estimator.fit(X, y).save(tmp_path / "m")
    data = libsvm(tmp_path / "a.svm", X, y)
    assert run("predict", tmp_path / "m", data) == 0
    assert capfd.readouterr().out.split()[1:] == list(map(str, estimator.predict(sp.csr_array(X))))
    assert run("inspect", tmp_path / "m", "--json") == 0
    told = json.loads(capfd.readouterr().out)
    assert told["classes"] == [3, 5, 7]
    assert told["features"] == 6
    assert run("evaluate", data, "--model", tmp_path / "m", "--json") == 0
    assert json.loads(capfd.readouterr().out)["accuracy"] == pytest.approx(estimator.score(X, y), abs=0.02)


def test_tables_are_read_by_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    X, y = labelled(LABELS["str"], 300)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    estimator = PATERClassifier("II").fit(frame, y)
    estimator.save(tmp_path / "m")
    frame[list("fedcba")].assign(truth=y).to_csv(tmp_path / "a.csv", index=False)
    frame[list("fedcba")].assign(truth=y).to_parquet(tmp_path / "a.parquet")
    for data in (tmp_path / "a.csv", tmp_path / "a.parquet"):
        assert run("predict", tmp_path / "m", data) == 0
        assert capfd.readouterr().out.split()[1:] == estimator.predict(frame).tolist()
        assert run("evaluate", data, "--model", tmp_path / "m", "--label", "truth", "--json") == 0
        assert json.loads(capfd.readouterr().out)["accuracy"] == pytest.approx(estimator.score(frame, y))
        assert run("evaluate", data, "--model", tmp_path / "m") == 1
        assert "name the label column with --label" in capfd.readouterr().err
        options = ["-i", tmp_path / "m", "--label", "truth", "-q"]
        assert run("train", data, "-m", tmp_path / "more", *options) == 0
        capfd.readouterr()
        assert pater.load(tmp_path / "more").feature_names_in_.tolist() == list("abcdef")
        expected = pater.load(tmp_path / "m").partial_fit(frame, y)
        assert pater.load(tmp_path / "more").coef_.tobytes() == expected.coef_.tobytes()
    assert run("inspect", tmp_path / "m", "--json") == 0
    named = [name for name, _ in json.loads(capfd.readouterr().out)["largest_weights"][0]["weights"]]
    assert set(named) == set("abcdef")


def test_without_names_a_table_says_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    X, y = labelled(LABELS["int"], 100)
    PATERClassifier().fit(X, y).save(tmp_path / "m")
    pd.DataFrame(X, columns=list("abcdef")).to_csv(tmp_path / "a.csv", index=False)
    assert run("predict", tmp_path / "m", tmp_path / "a.csv") == 1
    assert "a.csv is csv, but the model learned from numbered features." in capfd.readouterr().err


def test_going_on_with_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    X, y = labelled(LABELS["int"], 400)
    PATERClassifier().partial_fit(sp.csr_array(X[:200]), y[:200]).save(tmp_path / "m")
    data = libsvm(tmp_path / "a.svm", X[200:], y[200:])
    assert run("train", data, "-i", tmp_path / "m", "-m", tmp_path / "more", "--log-json") == 0
    told = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert told["rows"] == 400
    assert told["accuracy"] > 0.5
    expected = pater.load(tmp_path / "m").partial_fit(sp.csr_array(X[200:]), y[200:])
    np.testing.assert_allclose(pater.load(tmp_path / "more").coef_, expected.coef_, rtol=1e-12)  # in a wider model


def test_a_batch_solution_learns_no_more_here_nor_without_its_moments(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    X, y = labelled(LABELS["int"], 100)
    TERClassifier().fit(X, y).save(tmp_path / "m")
    data = libsvm(tmp_path / "a.svm", X, y)
    assert run("train", data, "-i", tmp_path / "m", "-m", tmp_path / "more") == 1
    assert "m is a batch solution, which cannot learn from more rows" in capfd.readouterr().err
    old = Path(__file__).parents[1] / "files" / "golden" / "format-1.5" / "ter.pater"
    for call in (lambda ter: ter.partial_fit(X[:, :4], y), lambda ter: ter.merge(ter), lambda ter: ter.solve()):
        with pytest.raises(ValueError, match="only the solution was kept"):
            call(pater.load(old))
    assert run("merge", old, old, "-m", tmp_path / "more") == 1
    assert "ter.pater cannot be merged: only the solution was kept" in capfd.readouterr().err


def test_a_pool_that_no_estimator_is(tmp_path: Path) -> None:
    (tmp_path / "rows.svm").write_text("1 1:2\n-1 1:-1\n" * 20)
    stream.train(tmp_path / "rows.svm", model=tmp_path / "m", r=5.0)
    with pytest.raises(ModelFileError, match="narrowed down by --r"):
        pater.load(tmp_path / "m")
    assert stream.load(tmp_path / "m").rows == 40
