"""River's own checks, and River around the learners: pipelines, evaluation, selection, drift."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse as sp
from river import (
    checks,
    compose,
    datasets,
    drift,
    ensemble,
    evaluate,
    feature_extraction,
    metrics,
    multiclass,
    preprocessing,
    stream,
    utils,
)

import pater
from pater import river as learners

KINDS = [getattr(learners, name) for name in learners.__all__ if name[0].isupper()]
TRIED = [(kind, params) for kind in KINDS for params in kind._unit_test_params()]


@pytest.mark.first_quick
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_checks_of_river_pass(kind):
    model = kind()
    model._unit_test_skips = lambda: {"check_bounded_memory_growth"}  # whose long streams take most of the time
    checks.check_estimator(model)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "params"), TRIED, ids=lambda each: getattr(each, "__name__", None))
def test_all_checks_of_river_pass_with_all_parameters_tried(kind, params):
    checks.check_estimator(kind(**params))


def test_every_online_learner_is_here():
    here = {kind._kind for kind in KINDS}
    there = {getattr(pater, name) for name in pater.__all__ if hasattr(getattr(pater, name), "partial_fit")}
    assert here == there - {pater.TERClassifier}
    for kind in KINDS:
        assert kind.__name__ == kind._kind.__name__
        assert str(kind()) == kind.__name__


def phishing(n=400):
    return list(datasets.Phishing().take(n))


def row_of(x):
    """A matrix of one row, zeros included."""
    places, ends = np.arange(len(x), dtype=np.int32), np.array([0, len(x)], np.int32)
    return sp.csr_array((list(x.values()), places, ends), shape=(1, len(x)))


@pytest.mark.first_quick
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_a_pipeline_scores_along_the_stream_is_what_the_estimator_scores(kind):
    rows, estimator, scaler = phishing(), kind._kind(), preprocessing.StandardScaler()
    assert rows[0][1]  # until the other class appears, it is certain of this one
    accuracy, auc = metrics.Accuracy(), metrics.ROCAUC()
    for t, (x, y) in enumerate(rows):
        if t > 0:
            row = row_of(scaler.transform_one(x))
            accuracy.update(y, estimator.predict(row)[0])
            two = estimator.classes_.size == 2
            auc.update(y, {True: utils.math.sigmoid(estimator.decision_function(row)[0]) if two else 1.0})
        scaler.learn_one(x)
        estimator.partial_fit(row_of(scaler.transform_one(x)), [y])
    model = preprocessing.StandardScaler() | kind()
    assert evaluate.progressive_val_score(rows, model.clone(), accuracy.clone()).get() == accuracy.get()
    assert evaluate.progressive_val_score(rows, model, auc.clone()).get() == pytest.approx(auc.get())


def test_fitted_probabilities_are_good_ones():
    fitted = preprocessing.StandardScaler() | learners.SecondOrderPATERClassifier(probability=True)
    plain = preprocessing.StandardScaler() | learners.SecondOrderPATERClassifier()
    losses = [evaluate.progressive_val_score(phishing(1250), each, metrics.LogLoss()).get() for each in (fitted, plain)]
    assert losses[0] < losses[1]


def test_several_classes():
    model = preprocessing.StandardScaler() | learners.AROWClassifier()
    metric = evaluate.progressive_val_score(datasets.ImageSegments().take(1000), model, metrics.MacroF1())
    assert metric.get() > 0.75
    x, label = next(iter(datasets.ImageSegments()))
    assert model.predict_one(x) == label
    said = model.predict_proba_one(x)
    assert max(said, key=said.get) == label
    assert sum(said.values()) == pytest.approx(1.0)
    assert len(said) == 7


def test_composition_of_parts():
    numbers = compose.Select("age_of_domain", "ip_in_url") | preprocessing.StandardScaler()
    others = compose.Discard("age_of_domain", "ip_in_url") | preprocessing.OneHotEncoder()
    model = (numbers + others) | learners.PATERClassifier()
    assert evaluate.progressive_val_score(phishing(), model, metrics.Accuracy()).get() > 0.8
    assert len(learners.from_river(model["PATERClassifier"]).feature_names_in_) > 10


def test_text_of_which_every_line_brings_words():
    lines = [(f"cheap pills offer{k}", True) for k in range(30)] + [
        (f"meeting at noon room{k}", False) for k in range(30)
    ]
    model = feature_extraction.BagOfWords() | learners.AROWClassifier(covariance="diagonal")
    for text, spam in lines[::-1] + lines:
        model.learn_one(text, spam)
    assert model.predict_one("pills today")
    assert not model.predict_one("noon today")
    texts = pd.Series([text for text, _ in lines])
    assert model.predict_many(texts).tolist() == [spam for _, spam in lines]
    again = feature_extraction.BagOfWords() | learners.AROWClassifier(covariance="diagonal")
    for part in (lines[::-1], lines):
        again.learn_many(pd.Series([text for text, _ in part]), pd.Series([spam for _, spam in part]))
    ours = [learners.from_river(each["AROWClassifier"]) for each in (model, again)]
    weights = [dict(zip(each.feature_names_in_, each.coef_[0], strict=True)) for each in ours]
    assert weights[0] == pytest.approx(weights[1])


@pytest.mark.parametrize(
    "around",
    [
        lambda model: drift.DriftRetrainingClassifier(model, drift.binary.DDM()),
        lambda model: ensemble.BaggingClassifier(model, n_models=3, seed=1),
        lambda model: ensemble.ADWINBaggingClassifier(model, n_models=3, seed=1),
        lambda model: ensemble.AdaBoostClassifier(model, n_models=3, seed=1),
        lambda model: ensemble.LeveragingBaggingClassifier(model, n_models=3, seed=1),
        lambda model: multiclass.OneVsRestClassifier(model),
    ],
    ids=["drift", "bagging", "adwin", "boosting", "leveraging", "one-vs-rest"],
)
def test_inside_of_what_river_wraps_around_models(around):
    model = preprocessing.StandardScaler() | around(learners.PATERClassifier())
    assert evaluate.progressive_val_score(phishing(300), model, metrics.Accuracy()).get() > 0.75


def test_a_detector_of_drift_beside_it():
    rng, detector, model = np.random.default_rng(0), drift.ADWIN(), learners.SecondOrderPATERClassifier(forgetting=0.99)
    found = []
    for t in range(3000):
        x = dict(enumerate(rng.normal(size=3).tolist()))
        y = (x[0] > 0) if t < 1500 else (x[0] < 0)
        detector.update(int(model.predict_one(x) != y))
        if detector.drift_detected:
            found.append(t)
        model.learn_one(x, y)
    assert any(1500 < t < 1800 for t in found)


def test_parameters_of_a_grid():
    models = utils.expand_param_grid(learners.PassiveAggressiveClassifier(), {"C": [0.01, 1.0], "variant": ["PA-I"]})
    assert [model.C for model in models] == [0.01, 1.0]


def test_copies_learn_by_themselves():
    model = learners.PATERClassifier()
    rows = phishing(60)
    for x, y in rows[:30]:
        model.learn_one(x, y)
    before = pickle.dumps(learners.from_river(model).coef_)
    for other in (
        copy.copy(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        model.clone(include_attributes=True),
    ):
        assert pickle.dumps(learners.from_river(other).coef_) == before
        for x, y in rows[30:]:
            other.learn_one(x, y)
        assert pickle.dumps(learners.from_river(model).coef_) == before
    for x, y in rows[30:]:
        model.learn_one(x, y)
    assert (learners.from_river(model).coef_ == learners.from_river(other).coef_).all()
    assert model.clone().predict_one(rows[0][0]) is None


def test_derived_classes_have_their_own_parameters():
    class Costly(learners.AROWClassifier):
        """With one parameter."""

        def __init__(self, cost=5.0):
            super().__init__(class_weight={True: cost})
            self.cost = cost

    model = Costly(2.0)
    model.learn_one({"a": 1.0}, True)
    assert model.clone().class_weight == {True: 2.0}
    assert repr(model) == "Costly (\n  cost=2.\n)"


def test_memory_is_that_of_the_model():
    model = preprocessing.StandardScaler() | learners.AROWClassifier()
    for x, y in phishing(60):
        model.learn_one(x, y)
    before = model._raw_memory_usage
    model.predict_one(x)
    assert before <= model._raw_memory_usage < 50_000


def test_frames_of_other_libraries():
    rows = phishing(100)
    X, y = pd.DataFrame([x for x, _ in rows]), pd.Series([y for _, y in rows], name="spam")
    one, other = learners.AROWClassifier(), learners.AROWClassifier()
    one.learn_many(X, y)
    other.learn_many(polars.from_pandas(X), polars.Series("spam", y.tolist()))
    said, also = one.predict_many(X.set_index(X.index + 7)), other.predict_many(polars.from_pandas(X))
    assert said.tolist() == also.to_list()
    assert said.name == also.name == "spam"
    assert said.index.tolist() == list(range(7, 107))
    assert isinstance(other.predict_proba_many(polars.from_pandas(X)), polars.DataFrame)


def test_arrays_and_generated_streams():
    X, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 2
    model = learners.PATERClassifier()
    for x, label in stream.iter_array(X, y):
        model.learn_one(x, label)
    np.testing.assert_allclose(learners.from_river(model).coef_, pater.PATERClassifier().partial_fit(X, y).coef_)
