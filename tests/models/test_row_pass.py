"""Rows that come one by one: the reused pass gives the bits of a batch, whatever changes in between."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from pater import AROWClassifier, AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier
from pater.models import model as models


def stream(n=300, d=7, n_classes=2):
    rng = np.random.default_rng(5)
    y = rng.choice(n_classes, n)
    y[: 2 * n_classes] = np.tile(np.arange(n_classes), 2)
    return rng.standard_normal((n, d)) + y[:, None], y


def states(estimator):
    model = estimator._model
    return [each.state for each in getattr(model, "models", {0: model}).values()]


def same(a, b):
    """Assert that two estimators have learned the same, to the bit."""
    assert len(states(a)) == len(states(b))
    for mine, theirs in zip(states(a), states(b), strict=True):
        assert mine.scalars.tobytes() == theirs.scalars.tobytes()
        assert_array_equal(mine.kinds(), theirs.kinds())
        assert mine.second is None or mine.second.tobytes() == theirs.second.tobytes()
    return True


LEARNERS = {
    "auto": AutoPATERClassifier,
    "auto, probability": lambda: AutoPATERClassifier(probability=True),
    "auto, operating point": lambda: AutoPATERClassifier(operating_point={"max_fpr": 0.1}),
    "wPATER": lambda: AutoPATERClassifier(weights=(0.5,)),
    "PATER-I": PATERClassifier,
    "PATER-I, average": lambda: PATERClassifier(average=True, probability=True),
    "second order": SecondOrderPATERClassifier,
    "AROW, diagonal": lambda: AROWClassifier(covariance="diagonal", probability=True),
}
FORMS = {"dense": np.asarray, "sparse": csr_array}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LEARNERS)
def test_one_by_one_is_as_a_batch(name, form, n_classes):
    if n_classes > 2 and "operating" in name:
        pytest.skip("an operating point is for two classes")
    X, y = stream(n_classes=n_classes)
    X, s = FORMS[form](X), np.random.default_rng(1).choice([0.0, 1.0, 2.5], len(y))
    whole = LEARNERS[name]().partial_fit(X, y, sample_weight=s)
    single = LEARNERS[name]()
    for i in range(len(y)):
        single.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=s[i : i + 1])
    assert same(whole, single)


def test_what_happens_between_rows_leaves_no_trace():
    X, y = stream()
    whole, single = AutoPATERClassifier().partial_fit(X, y), AutoPATERClassifier()
    changes = {
        20: lambda: copy.deepcopy(single),
        40: lambda: copy.copy(single),
        60: lambda: pickle.loads(pickle.dumps(single)),
        80: lambda: single.set_params(fading=None),
    }
    i = 0
    while i < len(y):
        before = changes.get(i, lambda: single)()
        if i:
            single.predict(X[:3])
        step = 1 if i % 10 else 10  # rows one by one, and some together
        before.partial_fit(X[i : i + step], y[i : i + step])
        if before is not single:  # a copy learns independently
            single.partial_fit(X[i : i + step], y[i : i + step])
            assert same(before, single)
        i += step
    assert same(whole, single)


def test_a_row_that_cannot_be_learned_changes_nothing():
    X, y = stream(50)
    auto = AutoPATERClassifier().partial_fit(X, y)
    for i in range(5):
        auto.partial_fit(X[i : i + 1], y[i : i + 1])
    before = copy.deepcopy(auto)
    bad = X[:1].copy()
    bad[0, 2] = np.nan
    with pytest.raises(ValueError, match="NaN in row 0, column 2"):
        auto.partial_fit(bad, y[:1])
    assert same(auto, before)


@pytest.mark.parametrize("form", FORMS)
def test_the_pass_is_found_once(form, monkeypatch):
    X, y = stream()
    X = FORMS[form](X)
    learners = [AutoPATERClassifier(), PATERClassifier(), SecondOrderPATERClassifier()]
    for learner in learners:
        learner.partial_fit(X[:200], y[:200])
        learner.partial_fit(X[200:201], y[200:201])

    def anew(*arguments, **more):
        raise AssertionError("the pass was looked for again")

    monkeypatch.setattr(models, "learn", anew)
    monkeypatch.setattr("pater.models.row_pass.row_pass", anew)
    for learner in learners:
        for i in range(201, 215):
            learner.partial_fit(X[i : i + 1], y[i : i + 1])
            learner.predict(X[:2])


@pytest.mark.parametrize("learner", [AutoPATERClassifier(), PATERClassifier()])
def test_a_pass_that_is_ready_checks_what_it_is_given(learner):
    X, y = stream(50)
    learner.partial_fit(X, y).partial_fit(X[:1], y[:1])
    model, one = learner._model, np.zeros(1, np.int64)
    for codes, weights in ((one.astype(np.int32), np.zeros(0)), (one, np.ones(1, np.float32)), (one, np.ones(2))):
        with pytest.raises(ValueError, match="must be"):
            model.learn_all((X[:1],), codes, weights=weights)
    with pytest.raises(ValueError, match="must be"):
        model.learn_all((X[:2],), one)
