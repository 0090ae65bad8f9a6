"""`learn_one` for each row, `learn_many` and the estimator's `partial_fit` give the same bits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import pater
from pater import river as learners
from pater.river import from_river

LEARNERS = {
    "perceptron": (learners.Perceptron, {}),
    "pa-i": (learners.PassiveAggressiveClassifier, {"C": 0.1}),
    "alma": (learners.ALMAClassifier, {}),
    "pater-i": (learners.PATERClassifier, {}),
    "pater-ii averaged": (learners.PATERClassifier, {"variant": "II", "average": True}),
    "pater-i forgetting": (learners.PATERClassifier, {"forgetting": 0.99, "probability": True}),
    "wpater": (learners.PATERClassifier, {"class_weight": {"b": 2.0}, "average": True, "probability": True}),
    "so-pater full": (learners.SecondOrderPATERClassifier, {}),
    "so-pater step": (learners.SecondOrderPATERClassifier, {"form": "step", "variant": "II", "forgetting": 0.99}),
    "so-pater diagonal": (learners.SecondOrderPATERClassifier, {"covariance": "diagonal"}),
    "arow": (learners.AROWClassifier, {"class_weight": "balanced"}),
    "scw-i diagonal": (learners.ConfidenceWeightedClassifier, {"covariance": "diagonal"}),
    "so-perceptron": (learners.SecondOrderPerceptron, {}),
    "auto": (learners.AutoPATERClassifier, {}),
    "auto wpater": (learners.AutoPATERClassifier, {"variants": ("I",), "weights": (0.5,)}),
    "operating point": (learners.PATERClassifier, {"operating_point": {"max_fpr": 0.1}}),
}
NAMES = [f"f{j}" for j in range(7)]


def stream_of(n_classes, n_rows=240):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n_rows, len(NAMES))) * 10.0 ** rng.integers(-1, 2, len(NAMES))
    X[rng.random(X.shape) < 0.1] = 0.0
    scores = X @ rng.normal(size=(len(NAMES), n_classes)) + rng.normal(size=(n_rows, n_classes))
    return X, np.array(list("abcd"))[scores.argmax(axis=1)]


def bits(estimator):
    """Everything learned, as numbers."""
    model = estimator._model
    models = model.models.values() if hasattr(model, "models") else [model]
    found = []
    for each in models:
        state = each.state.copy()
        state.arrange("split")
        found += [state.vectors.tobytes(), state.scalars.tobytes(), each.classes.tolist()]
        found += [b"" if state.second is None else state.second.tobytes()]
        found += [] if each.seen is None else [each.seen.counts.tobytes(), each.seen.numbers.tobytes()]
    return found


def fields(found):
    """What was learned, shortened for the message of a failure."""
    return [each if isinstance(each, list) else hash(each) for each in found]


@pytest.mark.parametrize("form", ["csr-f8-i4", "csr-f8-i8"])
@pytest.mark.parametrize(
    ("name", "n_classes"), [(name, n) for name in LEARNERS for n in (2, 4) if (name, n) != ("operating point", 4)]
)
def test_one_by_one_in_frames_and_as_an_estimator_it_is_the_same(name, n_classes, form):
    kind, params = LEARNERS[name]
    X, y = stream_of(n_classes)
    w = np.where(np.arange(len(y)) % 5 == 0, 2.5, 1.0)
    one, many, estimator = kind(**params), kind(**params), kind._kind(**params)
    for x, label, weight in zip(X.tolist(), y.tolist(), w.tolist(), strict=True):
        one.learn_one(dict(zip(NAMES, x, strict=True)), label, weight)
    for start, stop in ((0, 1), (1, 90), (90, 240)):
        frame = pd.DataFrame(X[start:stop], columns=NAMES)
        many.learn_many(frame, pd.Series(y[start:stop]), pd.Series(w[start:stop]))
    kind = form[-2:]
    places, starts = np.arange(len(NAMES), dtype=kind), np.arange(len(X) + 1, dtype=kind) * len(NAMES)
    explicit = (X.ravel(), np.tile(places, len(X)), starts)
    estimator.partial_fit(sp.csr_array(explicit, shape=X.shape), y, sample_weight=w)
    assert fields(bits(from_river(one))) == fields(bits(from_river(many))) == fields(bits(estimator))
    np.testing.assert_allclose(from_river(one).coef_, estimator.coef_, rtol=0)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_said_is_the_same(name):
    kind, params = LEARNERS[name]
    X, y = stream_of(2)
    model = kind(**params)
    frame = pd.DataFrame(X, columns=NAMES)
    model.learn_many(frame, pd.Series(y))
    estimator, rows = from_river(model), [dict(zip(NAMES, x, strict=True)) for x in X.tolist()]
    said = [model.predict_one(x) for x in rows]
    assert said == model.predict_many(frame).tolist() == estimator.predict(frame).tolist()
    one, many = pd.DataFrame([model.predict_proba_one(x) for x in rows]), model.predict_proba_many(frame)
    assert (one == many).all(axis=None)
    assert many.columns.tolist() == ["a", "b"]
    if params.get("probability"):
        np.testing.assert_allclose(many, estimator.predict_proba(frame), rtol=1e-9)


@pytest.mark.parametrize("name", ["pater-i", "pa-i", "alma", "so-pater full", "so-pater diagonal", "arow", "wpater"])
def test_features_that_come_and_go_are_those_of_a_wide_sparse_matrix(name):
    kind, params = LEARNERS[name]
    rng = np.random.default_rng(5)
    model, columns, rows, labels = kind(**params), {}, [], []
    for t in range(300):
        names = rng.permutation(40)[: rng.integers(0, 9)] if t < 150 else rng.permutation(60)[: rng.integers(1, 30)]
        x = {f"w{name}": float(value) for name, value in zip(names, rng.normal(size=names.size), strict=True)}
        for feature in x:
            columns.setdefault(feature, len(columns))
        rows.append(x)
        labels.append("b" if sum(x.values()) > 0 else "a")
        model.predict_one(x)
        model.learn_one(x, labels[-1])
    entries = [(t, columns[feature], value) for t, x in enumerate(rows) for feature, value in x.items()]
    at, places, values = zip(*entries, strict=True)
    estimator = kind._kind(**params).partial_fit(
        sp.coo_array((values, (at, places)), shape=(300, len(columns))), labels
    )
    learned = from_river(model)
    assert learned.feature_names_in_.tolist() == list(columns)
    assert fields(bits(learned)) == fields(bits(estimator))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_row_that_is_refused_leaves_every_bit(name):
    kind, params = LEARNERS[name]
    X, y = stream_of(2)
    model = kind(**params)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        model.learn_one(dict(zip(NAMES, x, strict=True)), label)
    before = fields(bits(from_river(model)))
    for value in (np.nan, np.inf, 1e300, "1.0"):
        for more in ({}, {"new": value}):
            with pytest.raises((ValueError, TypeError)):
                model.learn_one({**dict.fromkeys(NAMES, 1.0), **(more or {"f3": value})}, "a")
            assert fields(bits(from_river(model))) == before


def test_a_dense_matrix_comes_to_the_same_but_for_rounding():
    X, y = stream_of(2)
    model = learners.PATERClassifier()
    model.learn_many(pd.DataFrame(X, columns=NAMES), pd.Series(y))
    dense = pater.PATERClassifier().partial_fit(X, y)
    np.testing.assert_allclose(from_river(model).coef_, dense.coef_, rtol=1e-9)
