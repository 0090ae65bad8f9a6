"""Second-order learners on streams: files, growing columns, model files, checkpoints and merging."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pater import ALMAClassifier, AROWClassifier, ConfidenceWeightedClassifier, SecondOrderPATERClassifier
from pater.files import container
from pater.files.model_file import ModelFileError
from pater.kernels import state as state_module
from pater.kernels.rules import RULES
from pater.kernels.state import State
from pater.models.state_operations import resized
from pater.stream import InputError, load, train
from pater.stream.merging import merged

ALGOS = ["so-pater-i", "so-pater-ii", "arow", "scw-i", "scw-ii", "cw", "so-perceptron", "alma"]
KINDS = [
    (algo, covariance)
    for algo in ALGOS
    for covariance in ("full", "diagonal")
    if algo != "alma" or covariance == "full"
]


def written(path, X, y):
    lines = (
        f"{label} " + " ".join(f"{j + 1}:{x!r}" for j, x in enumerate(row.tolist()) if x)
        for row, label in zip(X, y, strict=True)
    )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)) * (rng.random((400, 6)) < 0.6)
    X[:200, 4:] = 0  # columns that appear later
    X[0, 3] = 1.0
    return X, np.where(X @ [1, -1, 0.5, 0, 2, -2] + 0.3 * rng.normal(size=400) > 0, 1, -1)


def same(a, b):
    assert a.model.classes.tolist() == b.model.classes.tolist()
    assert a.model.specs == b.model.specs
    n = min(a.model.state.n_features, b.model.state.n_features)
    first, second = (resized(each.model.state, n) for each in (a, b))
    assert first.scalars.tobytes() == second.scalars.tobytes()
    assert np.ascontiguousarray(first.kinds()).tobytes() == np.ascontiguousarray(second.kinds()).tobytes()
    if first.second is not None:
        assert np.ascontiguousarray(first.second).tobytes() == np.ascontiguousarray(second.second).tobytes()


@pytest.mark.parametrize(("algo", "covariance"), KINDS)
def test_saved_loaded_and_gone_on_with(algo, covariance, rows, tmp_path):
    X, y = rows
    halves = [
        written(tmp_path / f"{k}.svm", X[part], y[part]) for k, part in enumerate((slice(0, 200), slice(200, None)))
    ]
    params = {"algo": algo, "covariance": covariance if RULES[algo].second_order else None}
    whole = train(halves, model=tmp_path / "whole.pater", **params)
    train(halves[0], model=tmp_path / "first.pater", **params)
    resumed = train(halves[1], model=tmp_path / "both.pater", initial=tmp_path / "first.pater")
    same(resumed, whole)
    same(load(tmp_path / "both.pater"), whole)
    same(load(tmp_path / "whole.pater"), whole)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_the_command_line_learns_what_the_library_learns(covariance, rows, tmp_path):
    X, y = rows
    learner = train(written(tmp_path / "rows.svm", X, y), algo="arow", covariance=covariance, r=2.0)
    model = AROWClassifier(2.0, covariance=covariance).fit(X, y)
    w, bias = learner.state().weights()
    np.testing.assert_allclose(w[0, 1:7], model.coef_[0], rtol=1e-10)
    np.testing.assert_allclose(bias, model.intercept_, rtol=1e-10)


def test_defaults_are_those_of_the_estimator(rows, tmp_path):
    X, y = rows
    path = written(tmp_path / "rows.svm", X, y)
    for covariance in ("full", "diagonal"):
        learner = train(path, algo="so-pater-i", covariance=covariance)
        model = SecondOrderPATERClassifier(covariance=covariance).fit(X, y)
        w, _ = learner.state().weights(average=learner.specs[0].average)
        np.testing.assert_allclose(w[0, 1:7], model.coef_[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("forgetting", [1.0, 0.999])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("average", [None, True, False])
def test_whether_the_average_predicts_is_told_or_follows_from_the_rest(average, covariance, forgetting, rows, tmp_path):
    X, y = rows
    path = written(tmp_path / "rows.svm", X, y)
    settings = {"covariance": covariance, "forgetting": forgetting, "average": average}
    learner = train(path, algo="so-pater-i", **settings)
    model = SecondOrderPATERClassifier(**settings).fit(X, y)
    by_itself = covariance == "diagonal" and forgetting == 1
    assert learner.specs[0].average == (by_itself if average is None else average)
    w, _ = learner.state().weights(average=learner.specs[0].average)
    np.testing.assert_allclose(w[0, 1:7], model.coef_[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_the_step_is_that_of_the_estimator(covariance, rows, tmp_path):
    X, y = rows
    learner = train(written(tmp_path / "rows.svm", X, y), algo="so-pater-ii", form="step", covariance=covariance)
    model = SecondOrderPATERClassifier("II", form="step", covariance=covariance).fit(X, y)
    w, _ = learner.state().weights(average=learner.specs[0].average)
    np.testing.assert_allclose(w[0, 1:7], model.coef_[0], rtol=1e-9, atol=1e-12)


def test_the_approximation_is_that_of_the_estimator(rows, tmp_path):
    X, y = rows
    learner = train(written(tmp_path / "rows.svm", X, y), algo="alma", approximation=0.3)
    np.testing.assert_allclose(learner.state().weights()[0][0, 1:7], ALMAClassifier(0.3).fit(X, y).coef_[0], rtol=1e-9)


@pytest.mark.parametrize(("algo", "name", "value"), [("so-pater-i", "form", "step"), ("alma", "approximation", 0.5)])
def test_a_run_does_not_go_on_with_other_settings(algo, name, value, rows, tmp_path):
    X, y = rows
    path, model = written(tmp_path / "rows.svm", X, y), tmp_path / "m"

    def stop(run):
        run.save_checkpoint()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(path, algo=algo, model=model, checkpoint_every=1, show=stop)
    with pytest.raises(InputError, match=f"was written with {name} = "):
        train(path, algo=algo, model=model, resume=True, **{name: value})


def test_wrong_settings_and_too_many_columns_are_one_line(rows, tmp_path):
    path = written(tmp_path / "rows.svm", *rows)
    wrong = [("covariance", "round"), ("form", "leap"), ("eta", 0.5), ("eta", 1.0), ("approximation", 2.0)]
    wrong += [(name, value) for name in ("r", "C") for value in (0.0, -1.0, math.inf, math.nan)]
    for name, value in wrong:
        with pytest.raises(InputError, match=f"^{name} must be"):
            train(path, algo="scw-i", **{name: value})
    (tmp_path / "wide.svm").write_text("1 1:1\n-1 60000:1\n")
    with pytest.raises(InputError, match=r"wide\.svm: .* use --covariance diagonal\.$"):
        train(tmp_path / "wide.svm", algo="arow")
    assert train(tmp_path / "wide.svm", algo="arow", covariance="diagonal").rows == 2


def test_a_class_too_many_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(state_module, "LARGEST_TRIANGLES", 8 * 66 * 2)  # room for two models of ten columns
    (tmp_path / "a.svm").write_text("1 9:1\n2 9:1\n3 9:1\n")
    with pytest.raises(InputError, match=r"a\.svm: .* for 3 models, .* use --covariance diagonal\.$"):
        train(tmp_path / "a.svm", algo="arow")


def test_models_too_many_together_are_one_line(tmp_path, monkeypatch):
    learners = []
    for labels in ("12", "34"):
        (tmp_path / "a.svm").write_text("".join(f"{label} 9:1\n" for label in labels))
        learners.append(train(tmp_path / "a.svm", algo="arow"))
    monkeypatch.setattr(state_module, "LARGEST_TRIANGLES", 8 * 66 * 2)
    with pytest.raises(InputError, match=r"b and those before it together: .* use --covariance diagonal\.$"):
        merged(learners, ["a", "b"])


@pytest.mark.parametrize(("algo", "name", "value"), [("pater-i", "C", 2.0), ("wpater", "r", 1.0), ("alma", "eta", 0.8)])
def test_a_setting_that_the_algorithm_does_not_have_is_not_ignored(rows, tmp_path, algo, name, value):
    path = written(tmp_path / "rows.svm", *rows)
    with pytest.raises(InputError, match=f"^{algo} has no {name}; it is for "):
        train(path, algo=algo, **{name: value})


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan])
def test_estimators_refuse_what_is_no_positive_number(value, rows):
    for model in (AROWClassifier(value), SecondOrderPATERClassifier(r=value), ConfidenceWeightedClassifier(C=value)):
        with pytest.raises(ValueError, match="must be a positive number"):
            model.fit(*rows)


def test_a_metric_that_is_none_is_refused(rows, tmp_path):
    train(written(tmp_path / "rows.svm", *rows), model=tmp_path / "m.pater", algo="arow")
    header, arrays = container.read(tmp_path / "m.pater", {})
    header = {name: value for name, value in header.items() if name not in ("checksum", "format", "version")}
    arrays["second"][0, 0] = -1.0
    container.write(tmp_path / "bad.pater", header, arrays)
    with pytest.raises(ModelFileError, match="not positive"):
        load(tmp_path / "bad.pater")
    container.write(tmp_path / "bad.pater", header, {**arrays, "second": arrays["second"][:, :-1]})
    with pytest.raises(ModelFileError, match="second"):
        load(tmp_path / "bad.pater")


def test_a_triangle_grows_by_its_end():
    state = State.new(2, 3, means=True, metric="full")
    state.second[:] = np.arange(20).reshape(2, 10)
    wider = resized(state, 5)
    assert wider.second.shape == (2, 21)
    assert (wider.second[:, :10] == state.second).all()
    assert not wider.second[:, 10:].any()
    assert (resized(wider, 3).second == state.second).all()
