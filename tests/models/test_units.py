"""Margins and weights in a unit that holds along the stream and for all models, where their own length means nothing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from pater import AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier

GROWING = {
    "PATER-II": lambda: PATERClassifier("II"),
    "PATER-II, forgetting": lambda: PATERClassifier("II", forgetting=0.999),
    "second order, step": lambda: SecondOrderPATERClassifier("II", form="step"),
    "second order, step, diagonal": lambda: SecondOrderPATERClassifier(
        "II", form="step", covariance="diagonal", average=False
    ),
    "Auto": lambda: AutoPATERClassifier(("II",)),
}


def noisy(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Classes that no plane separates, 10 % of them positive."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.1).astype(int)
    return rng.normal(size=(n, 5)) + y[:, None] * 0.6, y


@pytest.mark.parametrize("name", GROWING)
def test_margins_keep_their_size_along_the_stream(name):
    X, y = noisy(60_000)
    X_new, _ = noisy(2_000, seed=1)
    model, sizes = GROWING[name](), []
    for start in range(0, len(y), 10_000):
        model.partial_fit(X[start : start + 10_000], y[start : start + 10_000])
        sizes.append(np.std(model.decision_function(X_new)))
    assert max(sizes) < 2 * min(sizes)
    assert 0.1 < min(sizes) <= max(sizes) < 10
    np.testing.assert_allclose(X_new @ model.coef_[0] + model.intercept_, model.decision_function(X_new), rtol=1e-9)


@pytest.mark.parametrize("name", GROWING)
def test_a_threshold_for_one_percent_of_false_alarms_holds_ten_thousand_rows_later(name):
    X, y = noisy(60_000)
    model = GROWING[name]().fit(X[:30_000], y[:30_000])
    negatives = X[20_000:30_000][y[20_000:30_000] == 0]
    threshold = np.quantile(model.decision_function(negatives), 0.99)
    model.partial_fit(X[30_000:40_000], y[30_000:40_000])
    later = X[40_000:][y[40_000:] == 0]
    assert 0.005 < np.mean(model.decision_function(later) >= threshold) < 0.02


def test_one_against_the_rest_compares_what_can_be_compared():
    X, y = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1200], order[1200:]
    for model, least in ((PATERClassifier("II"), 0.86), (SecondOrderPATERClassifier(), 0.94)):
        assert model.fit(X[train], y[train]).score(X[test], y[test]) >= least


def test_calibrated_classifier_has_the_auc_of_the_margins():
    X, y = noisy(30_000)
    X_new, y_new = noisy(10_000, seed=1)
    own = roc_auc_score(y_new, AutoPATERClassifier().fit(X, y).decision_function(X_new))
    calibrated = CalibratedClassifierCV(AutoPATERClassifier()).fit(X, y).predict_proba(X_new)[:, 1]
    assert roc_auc_score(y_new, calibrated) == pytest.approx(own, abs=0.01)


def test_the_paper_s_own_numbers_stay_in_the_state():
    """Told weights are those divided by the usual size of the margins, and nothing else."""
    X, y = noisy(800)
    model = PATERClassifier("II").fit(X, y)
    state = model._model.state
    w, bias = state.own_weights()
    size = np.sqrt(state.scalars["size_square"])
    np.testing.assert_allclose(model.coef_, w / size, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, bias / size, rtol=1e-12)
