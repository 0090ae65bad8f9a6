"""Errors are clear and leave the learner unchanged; parameters, and conversion to estimators and back."""

from __future__ import annotations

import datetime
import pickle
import warnings
from collections import Counter, UserDict
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from river import compose, linear_model, preprocessing

import pater
from pater import river as learners
from pater.river import from_river, to_river

KINDS = ["PATERClassifier", "AROWClassifier", "SecondOrderPATERClassifier", "AutoPATERClassifier"]


def begun(kind="PATERClassifier", **params):
    model = getattr(learners, kind)(**params)
    for t in range(40):
        model.learn_one({"a": float(t % 7), "b": float(t % 3)}, t % 7 > 3)
    return model


def state_of(model):
    return pickle.dumps((from_river(model).coef_, from_river(model).t_, list(model._columns)))


BAD = {
    "text": ({"a": "x", "b": 1.0}, True, TypeError, "'a' is 'x', which is not a number.*OneHotEncoder.*TableEncoder"),
    "text like a number": ({"a": 1.0, "b": "2"}, True, TypeError, "'b' is '2', which is not a number"),
    "date": ({"a": datetime.date(2024, 1, 1), "b": 1.0}, True, TypeError, "OneHotEncoder"),
    "complex": ({"a": 1j, "b": 1.0}, True, TypeError, "which is not a number"),
    "none": ({"a": None, "b": 1.0}, True, ValueError, "'a' is None.*StatImputer"),
    "nan": ({"a": float("nan"), "b": 1.0}, True, ValueError, "'a' is NaN.*StatImputer"),
    "infinity": ({"a": 1.0, "b": -np.inf}, True, ValueError, "'b' is infinite"),
    "whole number beyond all": ({"a": 10**400, "b": 1.0}, True, ValueError, "'a' is infinite"),
    "too large": ({"a": 1e200, "b": 1.0}, True, ValueError, "norm above"),
    "new and bad": ({"a": 1.0, "b": 1.0, "c": "x"}, True, TypeError, "'c' is 'x'"),
    "new and nan": ({"a": 1.0, "b": 1.0, "c": float("nan")}, True, ValueError, "'c' is NaN"),
    "no dict": ([1.0, 2.0], True, TypeError, "must be a dict"),
    "nothing": (None, True, TypeError, "must be a dict"),
    "label of another kind": ({"a": 1.0, "b": 1.0}, "yes", TypeError, "of one kind"),
    "label with news": ({"a": 1.0, "c": 1.0}, "yes", TypeError, "of one kind"),
    "no label": ({"a": 1.0, "b": 1.0}, None, ValueError, "needs a label"),
    "half a label": ({"a": 1.0, "b": 1.0}, 0.5, ValueError, "continuous"),
    "list as label": ({"a": 1.0, "b": 1.0}, [1], ValueError, "1d array"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_learned_changes_nothing(kind, what):
    x, y, error, message = BAD[what]
    model = begun(kind)
    before = state_of(model)
    for _ in range(2):
        with pytest.raises(error, match=message):
            model.learn_one(x, y)
        assert state_of(model) == before
    other = begun(kind)
    for each in (model, other):
        each.learn_one({"a": 3.0, "b": 1.0}, True)
    assert state_of(model) == state_of(other)


@pytest.mark.parametrize("w", [-1.0, float("nan"), 1e30, None, "much"])
def test_importance_is_checked(w):
    model = begun()
    with pytest.raises(ValueError, match="sample_weight"):
        model.learn_one({"a": 1.0, "b": 1.0}, True, w)
    before = state_of(model)
    model.learn_one({"a": 1.0, "b": 1.0}, True, 0.0)
    assert state_of(model) == before
    model.learn_one({"a": 1.0, "b": 1.0}, True)
    assert state_of(model) != before


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_asked(kind):
    model = begun(kind)
    for ask in (model.predict_one, model.predict_proba_one):
        with pytest.raises(ValueError, match="'a' is NaN"):
            ask({"a": float("nan")})
        with pytest.raises(TypeError, match="'b' is 'x', which is not a number"):
            ask({"b": "x"})
        with pytest.raises(TypeError, match="must be a dict"):
            ask(3.0)
        assert ask({"never": "learned", "b": 1.0}) == ask({"b": 1.0})


def test_before_anything_is_learned():
    model, frame = learners.PATERClassifier(), pd.DataFrame({"a": [1.0, 2.0]})
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({}) == {}
    assert model.predict_many(frame).tolist() == [None, None]
    assert model.predict_proba_many(frame).empty
    model.learn_many(frame[:0], pd.Series([], dtype=bool))
    model.learn_one({}, "yes")
    assert model.predict_one({"a": 1.0}) == "yes"
    assert model.predict_proba_one({"a": 1.0}) == {"yes": 1.0}


def test_numbers_of_every_kind():
    one, other = learners.PATERClassifier(), learners.PATERClassifier()
    rows = [
        ({"a": True, "b": 2}, True),
        ({"a": np.float32(0.5), "b": Decimal("0.25")}, False),
        (Counter(b=3, a=np.int8(1)), np.True_),
        (UserDict(a=2, b=np.bool_(False)), np.False_),
    ]
    for x, y in rows * 3:
        one.learn_one(x, y)
        other.learn_one({name: float(value) for name, value in x.items()}, bool(y))
        assert one.predict_one(x) is other.predict_one(dict(x))
    assert state_of(one) == state_of(other)


def test_frames_are_checked():
    model = begun()
    before = state_of(model)
    y = pd.Series([True, False])
    for frame, error, message in (
        (pd.DataFrame({"a": [1.0, 2.0], "c": ["x", "y"]}), TypeError, "row 0: feature 'c' is 'x'.*OneHotEncoder"),
        (pd.DataFrame({"a": [1.0, "2"]}, dtype=object), TypeError, "row 1: feature 'a' is '2'"),
        (pd.DataFrame({"c": [1.0, None], "a": [1.0, 2.0]}), ValueError, "row 1: feature 'c' is NaN.*StatImputer"),
        (pd.DataFrame({"c": [1.0, 0.0], "a": [np.inf, 2.0]}), ValueError, "row 0: feature 'a' is infinite"),
        (pd.DataFrame({"a": pd.to_datetime(["2024-01-01", "2024-01-02"])}), TypeError, "row 0: feature 'a'"),
        (pd.DataFrame({"c": pd.arrays.SparseArray([0.0, np.nan], fill_value=0.0)}), ValueError, "row 1: feature 'c'"),
    ):
        with pytest.raises(error, match=message):
            model.learn_many(frame, y)
        assert state_of(model) == before
    with pytest.raises(TypeError, match="mixes strings and numbers"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series(["yes", 1], dtype=object))
    with pytest.raises(ValueError, match="2 rows, y 3 labels"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series([True, False, True]))
    assert model.predict_many(pd.DataFrame({"a": [1.0, 6.0], "never": ["x", "y"]})).dtype == bool
    model.learn_many(pd.DataFrame({"b": [True, False], 7: [1, 2]}), [True, False])
    assert list(model._columns) == ["a", "b", 7]


def test_parameters_are_checked_at_once_and_can_be_changed():
    with pytest.raises(ValueError, match="variant must be one of 'I', 'II'"):
        learners.PATERClassifier("III")
    with pytest.raises(TypeError, match="PATERClassifier: got an unexpected keyword argument 'n_passes'"):
        learners.PATERClassifier(n_passes=2)
    with pytest.raises(ValueError, match="C"):
        learners.PassiveAggressiveClassifier(C=-1.0)
    model = begun("PassiveAggressiveClassifier", C=0.5)
    assert "C=0.5" in repr(model)
    before = state_of(model)
    with pytest.raises(ValueError, match="C"):
        model.mutate({"C": -1.0})
    with pytest.raises(ValueError, match="fit_intercept cannot change"):
        model.fit_intercept = False
    assert (model.C, model.fit_intercept, state_of(model)) == (0.5, True, before)
    model.mutate({"C": 1e-3})
    estimator = from_river(begun("PassiveAggressiveClassifier", C=0.5)).set_params(C=1e-3)
    model.learn_one({"a": 9.0, "b": 1.0}, False)
    estimator.partial_fit(pd.DataFrame({"a": [9.0], "b": [1.0]}), [False])
    np.testing.assert_allclose(from_river(model).coef_, estimator.coef_)


@pytest.mark.first_quick
@pytest.mark.parametrize("kind", [*KINDS, "ALMAClassifier", "SecondOrderPerceptron"])
def test_there_and_back(kind, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    y = np.where(frame["a"] > 0.3, "yes", "no")
    estimator = getattr(pater, kind)().partial_fit(frame[:100], y[:100])
    coef = estimator.coef_
    model = to_river(estimator)
    assert type(model) is getattr(learners, kind)
    back = from_river(model)
    assert (back.coef_ == coef).all()
    assert back.get_params() == estimator.get_params()
    assert model.predict_many(frame).tolist() == estimator.predict(frame).tolist()
    for x, label in zip(frame[100:].to_dict("records"), y[100:], strict=True):
        assert model.predict_one(x) == from_river(model).predict(pd.DataFrame([x]))[0]
        model.learn_one(x, str(label))
    assert (estimator.coef_ == coef).all()
    assert from_river(model).t_ == 200
    from_river(model).save(tmp_path / "model.pater")
    loaded = pater.load(tmp_path / "model.pater")
    assert loaded.predict(frame).tolist() == model.predict_many(frame).tolist()
    model.learn_one({"a": 1.0, "d": 2.0}, "yes")
    assert from_river(model).feature_names_in_.tolist() == ["a", "b", "c", "d"]


def test_numbers_as_names_are_places():
    model = to_river(pater.AROWClassifier().partial_fit(np.eye(3), [0, 1, 1]))
    assert from_river(model).n_features_in_ == 3
    assert not hasattr(from_river(model), "feature_names_in_")
    other = learners.AROWClassifier()
    for row, y in zip(np.eye(3).tolist(), [0, 1, 1], strict=True):
        other.learn_one(dict(zip([2, 1, 0], row[::-1], strict=True)), y)
    np.testing.assert_allclose(from_river(other).coef_, from_river(model).coef_)


def test_what_cannot_be_converted():
    with pytest.raises(TypeError, match="TERClassifier is not one of the online learners: ALMAClassifier"):
        to_river(pater.TERClassifier())
    with pytest.raises(TypeError, match=r"not a classifier of pater\.river"):
        from_river(linear_model.PAClassifier())
    with pytest.raises(TypeError, match="last step, PATERClassifier"):
        from_river(compose.Pipeline(preprocessing.StandardScaler(), learners.PATERClassifier()))
    assert not from_river(learners.PATERClassifier("II")).__sklearn_is_fitted__()
    assert from_river(to_river(pater.PATERClassifier("II"))).variant == "II"
    model = learners.PATERClassifier()
    model.learn_one({"1": 1.0, 1: 2.0}, True)
    with pytest.raises(TypeError, match="the same as text"):
        from_river(model)


def test_classes_that_an_estimator_has_fixed_stay_so():
    model = to_river(pater.PATERClassifier().partial_fit([[1.0]], [0], classes=[0, 1]))
    with pytest.raises(ValueError, match="among the classes that were fixed"):
        model.learn_one({0: 1.0}, 2)


def test_candidates_begin_anew_when_there_are_too_many_features_for_them():
    model = learners.AutoPATERClassifier()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.learn_one(dict.fromkeys(range(250), 1.0), True)
        model.learn_one(dict.fromkeys(range(256), -1.0), False)
    with pytest.warns(UserWarning, match="257 features.*diagonal covariance, and start over"):
        model.learn_one({256: 1.0}, True)
    assert model.predict_one({256: 1.0})
