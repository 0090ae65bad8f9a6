"""The estimators within scikit-learn: frames, pipelines, searches, parameters that change."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pater import PassiveAggressiveClassifier, PATERClassifier, Perceptron, TERClassifier

EVERY = [PATERClassifier(), PassiveAggressiveClassifier(), Perceptron(), TERClassifier()]
every = pytest.mark.parametrize("model", EVERY, ids=lambda model: type(model).__name__)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def frames(X, names):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    return pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)


@every
def test_frames_keep_their_names(model, cancer, weights):
    X, y = cancer
    names = [f"f{j}" for j in range(X.shape[1])]
    expected = weights(sklearn.clone(model).fit(X, y))
    for frame in frames(X, names):
        learned = sklearn.clone(model).fit(frame, y)
        assert learned.feature_names_in_.tolist() == names
        assert learned.n_features_in_ == 30
        assert weights(learned).tobytes() == expected.tobytes()
        assert (learned.predict(frame) == sklearn.clone(model).fit(X, y).predict(X)).all()
        renamed = type(frame)({f"g{j}": X[:, j] for j in range(30)})
        with pytest.raises(ValueError, match="feature names should match"):
            learned.predict(renamed)
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            learned.predict(X)


def test_names_do_not_outlive_a_fit_without_them(cancer, weights):
    X, y = cancer
    for frame in frames(X[:, :5], list("abcde")):
        learned = PATERClassifier().fit(frame, y).fit(X, y)
        assert not hasattr(learned, "feature_names_in_")
        assert learned.n_features_in_ == 30
        assert weights(learned).tobytes() == weights(PATERClassifier().fit(X, y)).tobytes()
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        PATERClassifier().fit(X[:, :0], y)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        PATERClassifier().partial_fit(X[:0], y[:0])


def test_frames_in_partial_fit(cancer, unchanged_by, bits):
    X, y = cancer
    names = [f"f{j}" for j in range(30)]
    expected = PATERClassifier().fit(X, y)
    for frame in frames(X, names):
        model = PATERClassifier()
        for start in range(0, len(y), 100):
            model.partial_fit(frame[start : start + 100], y[start : start + 100])
        assert bits(model) == bits(expected)
        backwards = frame[names[::-1]]
        message = unchanged_by(model, lambda model=model, backwards=backwards: model.partial_fit(backwards, y))
        assert "feature names" in message


def test_labels_may_be_series(cancer):
    X, y = cancer
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    text = np.where(y == 1, "benign", "malignant")
    expected = PATERClassifier().fit(X, text).predict(X)
    for series in (pd.Series(text), pl.Series(text), pd.Series(text, dtype="category"), list(text)):
        model = PATERClassifier().fit(X, series)
        assert model.classes_.tolist() == ["benign", "malignant"]
        assert (model.predict(X) == expected).all()
    with pytest.warns(sklearn.exceptions.DataConversionWarning):
        PATERClassifier().fit(X, y[:, None])


@every
def test_shapes_and_attributes(model, cancer):
    X, y = cancer
    model = sklearn.clone(model).fit(X, y)
    assert model.coef_.shape == (1, 30)
    assert model.intercept_.shape == (1,)
    assert model.classes_.tolist() == [0, 1]
    assert model.decision_function(X).shape == (569,)
    assert ((model.decision_function(X) >= 0) == model.predict(X)).all()
    assert model.score(X, y) == (model.predict(X) == y).mean() > 0.9
    three = sklearn.clone(model).fit(X, y + (X[:, 0] < -1))
    assert three.coef_.shape == (3, 30)
    assert three.decision_function(X).shape == (569, 3)
    assert (three.decision_function(X).argmax(axis=1) == three.predict(X)).all()


def test_a_margin_of_zero_is_the_second_class():
    model = PATERClassifier().partial_fit(np.zeros((1, 2)), [0], classes=[0, 1])
    model = model.partial_fit(np.zeros((1, 2)), [1])
    model._model.state.scalars["bias"] = 0
    assert model.decision_function(np.zeros((1, 2))) == 0
    assert model.predict(np.zeros((1, 2))) == 1


@every
def test_in_pipelines_searches_and_cross_validation(model, cancer):
    X, y = cancer
    pipeline = make_pipeline(StandardScaler(), sklearn.clone(model))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9
    name = pipeline.steps[-1][0]
    grid = {f"{name}__fit_intercept": [True, False], f"{name}__class_weight": [None, "balanced", {0: 0.5, 1: 1.0}]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    calibrated = CalibratedClassifierCV(sklearn.clone(model), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (569, 2)


@every
def test_sample_weight_is_routed(model, cancer, weights):
    X, y = cancer
    s = np.random.default_rng(0).exponential(size=len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        inner = sklearn.clone(model).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), inner)
        pipeline.fit(X, y, sample_weight=s)
        expected = sklearn.clone(model).fit(StandardScaler().fit_transform(X), y, sample_weight=s)
        assert weights(pipeline[-1]).tobytes() == weights(expected).tobytes()
        inner = sklearn.clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(inner, {"fit_intercept": [True]}, cv=3).fit(X, y, sample_weight=s)
        expected = sklearn.clone(model).fit(X, y, sample_weight=s)
        assert weights(search.best_estimator_).tobytes() == weights(expected).tobytes()
        if hasattr(model, "partial_fit"):
            online = sklearn.clone(model).set_partial_fit_request(sample_weight=True, classes=True)
            request = online.get_metadata_routing().partial_fit.requests
            assert request == {"sample_weight": True, "classes": True}


def test_parameters_may_change_in_mid_stream(stream):
    """What was learned stays; later rows are learned from by the new rule."""
    X, y = stream(400, 5)
    model = PATERClassifier("I").partial_fit(X[:200], y[:200])
    before = model.coef_
    model.set_params(variant="II", class_weight={-1: 0.1, 1: 1.0})
    assert (model.coef_ == before).all()
    model.partial_fit(X[200:], y[200:])
    assert model.t_ == 400
    assert not (model.coef_ == PATERClassifier("I").fit(X, y).coef_).all()
    assert not (model.coef_ == PATERClassifier("II", class_weight={-1: 0.1, 1: 1.0}).fit(X, y).coef_).all()


@pytest.mark.parametrize("rule", ["pa", "pater-i", "pater-ii"])
def test_the_average_may_be_asked_for_in_mid_stream(rule, learner, as_form, stream, weights):
    """Whatever it then means, it does not depend on the form of the rows."""
    X, y = stream(400, 70)
    found = []
    for form in ("dense-f8", "csr-f8-i4"):
        model = learner(rule).partial_fit(as_form(X[:200], form), y[:200])
        model.set_params(average=True).partial_fit(as_form(X[200:], form), y[200:])
        found.append(weights(model))
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-10 * np.abs(found[0]).max())


def test_shuffling_follows_the_random_state(stream, bits):
    X, y = stream(400, 5)
    fit = lambda **params: bits(PATERClassifier(shuffle=True, **params).fit(X, y))  # noqa: E731
    assert fit(random_state=1) == fit(random_state=1)
    assert fit(random_state=1) != fit(random_state=2)
    assert fit(random_state=np.random.RandomState(1)) == fit(random_state=1)
    order = np.random.RandomState(1).permutation(400)
    assert fit(random_state=1) == bits(PATERClassifier().fit(X[order], y[order]))
    twice = np.random.RandomState(1)
    orders = np.concatenate([twice.permutation(400), twice.permutation(400)])
    assert fit(random_state=1, n_passes=2) == bits(PATERClassifier().fit(X[orders], y[orders]))


def test_not_fitted():
    for model in EVERY:
        for call in (model.predict, model.decision_function):
            with pytest.raises(sklearn.exceptions.NotFittedError):
                call([[1.0]])
        assert not hasattr(model, "coef_")
        assert not hasattr(model, "classes_")


def test_inputs_are_not_written_to(cancer):
    X, y = cancer
    s = np.ones(len(y))
    for array in (X, y, s):
        array.flags.writeable = False
    sparse = sp.csr_array(X)
    copies = X.copy(), y.copy(), sparse.data.copy(), sparse.indices.copy()
    for model in EVERY:
        for rows in (X, sparse):
            sklearn.clone(model).fit(rows, y, sample_weight=s).predict(rows)
    for array, before in zip((X, y, sparse.data, sparse.indices), copies, strict=True):
        assert (array == before).all()


def test_rows_that_cannot_be_predicted(cancer, unchanged_by):
    X, y = cancer
    for model in EVERY:
        fitted = sklearn.clone(model).fit(X, y)
        rows = X[:5].copy()
        rows[3, 2] = np.nan
        for form in (rows, rows.astype(np.float32), sp.csr_array(rows)):
            for call in (fitted.predict, fitted.decision_function):
                message = unchanged_by(fitted, lambda call=call, form=form: call(form), ValueError)
                assert "X contains NaN in row 3, column 2" in message
