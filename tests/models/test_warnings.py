"""Warnings about a model that predicts only one class, or decides for the wrong class."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from pater import AutoPATERClassifier, OneClassWarning, PATERClassifier, SecondOrderPATERClassifier
from pater.models.warnings import PositiveClassWarning


def rare(n: int = 4_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows with 5 % of class 1, which is hard to recognise."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.05).astype(int)
    return rng.normal(size=(n, 4)) + y[:, None] * 0.7, y


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_weights_that_make_a_model_predict_one_class_only_are_told_of(call):
    X, y = rare()
    with pytest.warns(OneClassWarning, match="predicts class 1 nearly always, and hardly ever class 0"):
        getattr(PATERClassifier(class_weight={1: 3.0}), call)(X, y)
    with pytest.warns(OneClassWarning, match="predicts class 0 nearly always"):
        getattr(PATERClassifier(class_weight={0: 10.0}), call)(X, y)


def test_a_model_that_predicts_both_is_left_alone():
    X, y = rare()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PATERClassifier(class_weight={1: 1.1}).fit(X, y)
        PATERClassifier().fit(X, y)
        SecondOrderPATERClassifier(class_weight={0: 0.95, 1: 50 * 0.05}).fit(X, y)
        PATERClassifier(class_weight={1: 1000.0}).partial_fit(X[:30], y[:30], classes=[0, 1])  # too few to tell


def test_weights_of_cost_times_share_have_nearly_the_least_cost_in_second_order():
    """{0: 1 − π, 1: c·π}: no other threshold on its own margins is more than 5 % cheaper, on rows not learned from."""
    (X, y), (X_test, y_test) = rare(40_000), rare(40_000, seed=1)
    model = SecondOrderPATERClassifier(class_weight={0: 0.95, 1: 20 * 0.05}).fit(X, y)
    margins = model.decision_function(X_test)

    def cost(threshold: float) -> float:
        return float(
            np.sum((margins >= threshold) & (y_test == 0)) + 20 * np.sum((margins < threshold) & (y_test == 1))
        )

    assert cost(0.0) <= 1.05 * min(map(cost, np.quantile(margins, np.linspace(0, 1, 401))))


@pytest.mark.parametrize(
    "learner",
    [PATERClassifier(operating_point={"max_fpr": 0.01}), AutoPATERClassifier(operating_point={"max_fpr": 0.01})],
)
def test_rows_are_not_learned_if_a_warning_about_them_is_an_error(learner):
    rows = sp.random(400, 10_000, 1e-3, "csr", random_state=0)  # short beside the model, which would learn in place
    labels = NAMES[(np.random.default_rng(0).random(400) < 0.02).astype(int)]
    learner.partial_fit(rows[:150], labels[:150], classes=NAMES)
    before = learner.coef_.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PositiveClassWarning):
            learner.partial_fit(rows[150:250], labels[150:250])
    assert learner.t_ == 150
    np.testing.assert_array_equal(learner.coef_, before)


@pytest.mark.parametrize("columns", [4, 4_000])
def test_rows_are_not_learned_if_a_warning_of_one_class_is_an_error(columns):
    dense, y = rare(900)
    X = sp.csr_array(np.hstack([dense, np.zeros((900, columns - 4))]))
    model = PATERClassifier(class_weight={0: 10.0}).partial_fit(X[:100], y[:100], classes=[0, 1])
    before = model.coef_.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(OneClassWarning):
            model.partial_fit(X, y)
    assert model.t_ == 100
    np.testing.assert_array_equal(model.coef_, before)


COST = {"false_positive": 1, "false_negative": 50}
NAMES = np.array(["legit", "fraud"])  # the frequent one is the second in order


@pytest.mark.parametrize("learner", [SecondOrderPATERClassifier, AutoPATERClassifier])
@pytest.mark.parametrize(("point", "mend"), [({"max_fpr": 0.01}, "give max_fnr instead"), ({"cost": COST}, "exchange")])
def test_an_operating_point_for_the_frequent_class_is_told_of_once(learner, point, mend):
    X, y = rare(1000)
    model = learner(operating_point=point)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for start in range(0, 1000, 50):
            model.partial_fit(X[start : start + 50], NAMES[y[start : start + 50]], classes=NAMES)
    (warning,) = told
    assert warning.category is PositiveClassWarning
    assert "class legit is the positive one, as it comes after fraud" in str(warning.message)
    assert mend in str(warning.message)


def test_operating_points_that_nobody_means_otherwise_are_left_alone():
    X, y = rare(1000)
    exchanged = {"cost": {"false_positive": 50, "false_negative": 1}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for point in ({"max_fnr": 0.01}, exchanged):
            SecondOrderPATERClassifier(operating_point=point).fit(X, NAMES[y])
        for labels in (np.array(["legit", "theft"])[y], 1 - y, 1 - 2 * y, y == 0, np.array(["true", "false"])[y]):
            SecondOrderPATERClassifier(operating_point={"max_fpr": 0.01}).fit(X, labels)
