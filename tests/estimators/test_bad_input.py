"""Bad input: a clear error that names the argument and the first offending row, and a model unchanged, bit for bit.

A short batch is checked before anything changes, a long one changes a copy; both ways are tested, dense and sparse, in
`fit` and in `partial_fit`, on untrained and on trained estimators.
"""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp

from pater import PATERClassifier, TERClassifier
from pater.kernels.rules import RULES

LENGTHS = {"short": (4, 40), "long": (300, 6)}  # rows, columns
FORMS = ["dense-f8", "dense-f4", "csr-f8-i4", "csr-f4-i8"]
BAD_NUMBERS = {"nan": np.nan, "infinity": np.inf, "minus infinity": -np.inf}


def batch(length, seed=0):
    n, d = LENGTHS[length]
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.resize([0, 1, 1], n)


def learners_of(length, make, form, as_form):
    """One untrained, one fitted, one in the middle of a stream."""
    X, y = batch(length, seed=1)
    X = as_form(X, form)
    return [make(), make().fit(X, y), make().partial_fit(X[:3], y[:3]).partial_fit(X[3:], y[3:])]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", BAD_NUMBERS)
@pytest.mark.parametrize("rule", ["perceptron", "pater-i", "pater-ii"])
def test_numbers_that_are_none(rule, what, form, length, learner, as_form, unchanged_by):
    X, y = batch(length)
    row, column = len(X) - 2, 3
    X[row, column] = BAD_NUMBERS[what]
    X[row + 1, 0] = np.nan  # not the first
    X = as_form(X, form)
    for model in learners_of(length, lambda: learner(rule), form, as_form):
        for call in (model.fit, model.partial_fit):
            message = unchanged_by(model, lambda call=call: call(X, y), ValueError)
            assert f"X contains {what.split()[-1].replace('nan', 'NaN')} in row {row}, column {column}" in message


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_numbers_that_are_none_in_a_multiclass_batch(length, n_jobs, unchanged_by):
    """Also when the row comes after others that bring new classes, and when threads share the models."""
    n, d = LENGTHS[length]
    X, _ = batch(length)
    model = PATERClassifier(n_jobs=n_jobs).partial_fit(X, np.arange(n) % 3)
    X[n - 1, 2] = np.nan
    assert f"row {n - 1}, column 2" in unchanged_by(model, lambda: model.partial_fit(X, np.arange(n) % 4 + 1))
    assert f"row {n - 1}, column 2" in unchanged_by(model, lambda: model.partial_fit(X, np.arange(n) % 3))
    big = np.zeros((20_000, d))
    big[15_000, 1] = np.inf
    message = unchanged_by(model, lambda: model.partial_fit(big, np.arange(20_000) % 3))
    assert "infinity in row 15000, column 1" in message


def test_a_shuffled_pass_names_the_row_as_the_caller_counts_it(unchanged_by):
    X, y = batch("long")
    X[123, 4] = np.nan
    model = PATERClassifier(shuffle=True, random_state=0, n_passes=2)
    assert "row 123, column 4" in unchanged_by(model, lambda: model.fit(X, y))


def test_columns_are_named_where_they_have_names(unchanged_by):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"width": [1.0, 2.0], "height": [1.0, np.nan]})
    message = unchanged_by(PATERClassifier(), lambda: PATERClassifier().fit(frame, [0, 1]))
    assert "row 1, column 1 ('height')" in message


@pytest.mark.parametrize("rule", RULES)
def test_a_known_classes_flag_does_not_outlive_a_failed_call(rule, learner, unchanged_by):
    """`classes` named in a call that fails are not fixed by it."""
    X, y = batch("short")
    model = learner(rule).partial_fit(X, y)
    bad = np.full_like(X, np.nan)
    unchanged_by(model, lambda: model.partial_fit(bad, y, classes=[0, 1]))
    unchanged_by(model, lambda: model.partial_fit(bad, y, classes=[0, 1, 2]))
    model.partial_fit(X[:1], [7])
    assert model.classes_.tolist() == [0, 1, 7]


@pytest.mark.parametrize("make", [PATERClassifier, TERClassifier])
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_wrong_width(make, form, as_form, unchanged_by):
    X, y = batch("short")
    model = make().fit(as_form(X, form), y)
    narrow = as_form(X[:, :-1], form)
    calls = [lambda: model.predict(narrow), lambda: model.decision_function(narrow)]
    if make is PATERClassifier:
        calls.append(lambda: model.partial_fit(narrow, y))
    for call in calls:
        message = unchanged_by(model, call, ValueError)
        assert "X has 39 features" in message
        assert "40 features" in message


@pytest.mark.parametrize("make", [PATERClassifier, TERClassifier])
@pytest.mark.parametrize("labels", [[1, 1, 1, 1], ["a"] * 4, [True] * 4])
def test_one_class_only_in_fit(make, labels, unchanged_by):
    X, y = batch("short")
    for model in (make(), make().fit(X, y)):
        message = unchanged_by(model, lambda model=model: model.fit(X, labels), ValueError)
        assert re.search(r"\by\b.*one class", message)


def test_labels_outside_the_classes_that_were_fixed(unchanged_by):
    X, y = batch("short")
    for classes in ([0, 1], [0, 1, 2]):
        model = PATERClassifier().partial_fit(X, y, classes=classes)
        message = unchanged_by(model, lambda model=model: model.partial_fit(X, [0, 1, 9, 8]), ValueError)
        assert "y " in message
        assert "9 in row 2" in message.replace("np.int64(9)", "9")
        assert str(classes) in message
    fresh = PATERClassifier()
    assert "row 3" in unchanged_by(fresh, lambda: fresh.partial_fit(X, [0, 1, 1, 9], classes=[0, 1]), ValueError)


def test_classes_that_change(unchanged_by):
    X, y = batch("short")
    model = PATERClassifier().partial_fit(X, y, classes=[0, 1])
    for classes in ([0, 1, 2], [1, 2], [0]):
        assert "classes" in unchanged_by(model, lambda c=classes: model.partial_fit(X, y, classes=c), ValueError)


@pytest.mark.parametrize("alpha", [0, -1, -0.5, np.nan, np.inf, "heavy", None])
@pytest.mark.parametrize("make", [PATERClassifier, TERClassifier])
def test_class_weights_that_are_none(make, alpha, unchanged_by):
    X, y = batch("short")
    for model in (make(class_weight={0: 1.0, 1: alpha}), make().fit(X, y).set_params(class_weight={1: alpha})):
        calls = [model.fit] + ([model.partial_fit] if make is PATERClassifier else [])
        for call in calls:
            message = unchanged_by(model, lambda call=call: call(X, y), ValueError)
            assert "class_weight" in message
            assert repr(alpha) in message
            assert "class 1" in message


@pytest.mark.parametrize("make", [PATERClassifier, TERClassifier])
@pytest.mark.parametrize("weight", ["balance", [1, 2], np.array([1.0, 2.0]), 3], ids=str)
def test_class_weight_of_another_kind(make, weight, unchanged_by):
    X, y = batch("short")
    for model in (make(class_weight=weight), make().fit(X, y).set_params(class_weight=weight)):
        assert "class_weight" in unchanged_by(model, lambda model=model: model.fit(X, y), ValueError)


@pytest.mark.parametrize("make", [PATERClassifier, TERClassifier])
def test_class_weight_of_a_class_that_there_is_not(make, unchanged_by):
    X, y = batch("short")
    model = make(class_weight={0: 1.0, "1": 2.0})
    assert "class_weight" in unchanged_by(model, lambda: model.fit(X, y), ValueError)


@pytest.mark.parametrize("make", [PATERClassifier, TERClassifier])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("bad", [-1.0, -1e-300, np.nan, np.inf])
def test_sample_weights_that_are_none(make, length, bad, unchanged_by):
    X, y = batch(length)
    s = np.ones(len(y))
    s[2:] = bad
    for model in (make(), make().fit(X, y)):
        calls = [model.fit] + ([model.partial_fit] if make is PATERClassifier else [])
        for call in calls:
            message = unchanged_by(model, lambda call=call: call(X, y, sample_weight=s), ValueError)
            assert "sample_weight" in message
            assert "row 2" in message
            assert str(bad) in message


@pytest.mark.parametrize("s", [[1.0, 1.0], np.ones((4, 1)), ["a"] * 4, [0.0] * 4], ids=["short", "2d", "text", "zeros"])
@pytest.mark.parametrize("make", [PATERClassifier, TERClassifier])
def test_sample_weights_of_another_form(make, s, unchanged_by):
    X, y = batch("short")
    for model in (make(), make().fit(X, y)):
        assert "sample_weight" in unchanged_by(model, lambda model=model: model.fit(X, y, sample_weight=s))


@pytest.mark.parametrize("make", [PATERClassifier, TERClassifier])
def test_empty_batches(make, unchanged_by):
    X, y = batch("short")
    for model in (make(), make().fit(X, y)):
        calls = [model.fit] + ([model.partial_fit] if make is PATERClassifier else [])
        for call in calls:
            for rows in (X[:0], sp.csr_array(X[:0]), X[:0].astype(np.float32)):
                assert "0 sample(s)" in unchanged_by(model, lambda call=call, rows=rows: call(rows, y[:0]), ValueError)
            assert "0 feature(s)" in unchanged_by(model, lambda call=call: call(X[:, :0], y), ValueError)


@pytest.mark.parametrize("make", [PATERClassifier, TERClassifier])
@pytest.mark.parametrize("value", ["red", b"red", {}, [1, 2], object()], ids=lambda v: type(v).__name__)
def test_non_numeric_data(make, value, unchanged_by):
    X = np.ones((4, 3), dtype=object)
    X[2, 1] = value
    for model in (make(), make().fit(np.arange(12.0).reshape(4, 3), [0, 1, 0, 1])):
        calls = [model.fit] + ([model.partial_fit] if make is PATERClassifier else [])
        for call in calls:
            message = unchanged_by(model, lambda call=call: call(X, [0, 1, 0, 1]))
            assert re.search(r"\bX\b", message)
            assert "row 2, column 1" in message


def test_non_numeric_columns_of_frames(unchanged_by):
    columns = {"size": [1.0, 2.0, 3.0, 4.0], "colour": ["1", "2", "red", "blue"]}
    for package in ("pandas", "polars"):
        frame = pytest.importorskip(package).DataFrame(columns)
        model = PATERClassifier()
        message = unchanged_by(model, lambda frame=frame, model=model: model.fit(frame, [0, 1, 0, 1]))
        assert "X" in message
        assert "'red' in row 2, column 1" in message


BAD_LABELS = {
    "too few": ([0, 1, 0], "3 labels"),
    "a table": (np.zeros((4, 2), int), "1d"),
    "none": (None, "None"),
    "nan": ([0.0, 1.0, np.nan, 1.0], "row 2"),
    "infinity": ([0.0, 1.0, 1.0, np.inf], "row 3"),
    "continuous": ([0.0, 1.0, 0.5, 1.0], "row 2"),
    "missing among text": (np.array(["a", "b", None, "a"], object), "row 2"),
    "text and numbers": (np.array(["a", 1, "b", 2], object), "strings and numbers"),
    "things": (np.array([1, (1, 2), 3, (1, 2)], object), "row 1"),
    "complex": (np.array([1j, 2, 1j, 2]), "complex"),
}


@pytest.mark.parametrize("make", [PATERClassifier, TERClassifier])
@pytest.mark.parametrize("what", BAD_LABELS)
def test_labels_that_are_none(make, what, unchanged_by):
    X, y = batch("short")
    labels, named = BAD_LABELS[what]
    for model in (make(), make().fit(X, y)):
        calls = [model.fit] + ([model.partial_fit] if make is PATERClassifier else [])
        for call in calls:
            message = unchanged_by(model, lambda call=call: call(X, labels))
            assert named in message
            assert re.search(r"\by\b", message)


@pytest.mark.parametrize(
    ("rule", "params", "named"),
    [
        ("pa-i", {"C": 0}, "C"),
        ("pa-i", {"C": -1.0}, "C"),
        ("pa-ii", {"C": np.nan}, "C"),
        ("pa-ii", {"C": "1"}, "C"),
        ("pater-i", {"variant": "III"}, "variant"),
        ("pater-i", {"variant": 1}, "variant"),
        ("pa", {"variant": "pa"}, "variant"),
        ("pater-i", {"n_passes": 0}, "n_passes"),
        ("pater-i", {"n_passes": 1.0}, "n_passes"),
        ("pater-i", {"n_passes": "1"}, "n_passes"),
        ("pa-i", {"average": 10}, "average"),
        ("pater-i", {"average": "no"}, "average"),
        ("pater-i", {"fit_intercept": "no"}, "fit_intercept"),
        ("pater-i", {"shuffle": "False"}, "shuffle"),
        ("pater-i", {"probability": 0.5}, "probability"),
        ("pater-i", {"warm_start": None}, "warm_start"),
        ("pater-i", {"n_jobs": 0}, "n_jobs"),
        ("pater-i", {"n_jobs": 1.5}, "n_jobs"),
    ],
)
def test_parameters_that_are_none(rule, params, named, learner, unchanged_by):
    """Checked when they are used, on a fresh estimator and on one whose parameters were set later."""
    X, y = batch("short")
    for model in (learner(rule), learner(rule).fit(X, y)):
        model.set_params(**params)
        for call in (model.fit, model.partial_fit):
            assert named in unchanged_by(model, lambda call=call: call(X, y))


def test_an_interrupted_call_leaves_no_trace(monkeypatch):
    X, y = batch("long")
    model = PATERClassifier().fit(X, y)
    before = pickle.dumps(model)

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("pater.models.model.learn", interrupted)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(KeyboardInterrupt):
            call(X[:, :3], y) if call == model.fit else call(X, y)
    assert pickle.dumps(model) == before
