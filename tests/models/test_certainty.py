"""Standard errors from Σ: as the matrix gives them, and as far as streams really differ."""

from __future__ import annotations

import numpy as np
import pytest

from pater import AROWClassifier, AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier
from pater.models.certainty import Certainty


def stream(seed, n=3000, share=0.5):
    random = np.random.default_rng(seed)
    x, z = random.integers(0, 8, n), random.integers(0, 5, n)
    said = np.sin(x) + 0.5 * (z == 2) + random.logistic(size=n)
    X = np.zeros((n, 13))
    X[np.arange(n), x] = X[np.arange(n), 8 + z] = 1
    return X, (said > np.quantile(said, 1 - share)).astype(int)


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_it_is_the_matrix(covariance, forgetting):
    X, y = stream(0, 700)
    model = AROWClassifier(r=5, covariance=covariance, forgetting=forgetting).partial_fit(X, y)._fitted_model()
    state, n = model.state, 13
    gain = state.scalars["gain_pos"][0]
    if covariance == "full":
        upper = np.zeros((n + 1, n + 1))
        rows, across = np.tril_indices(n + 1)
        upper[across, rows] = state.second[0]
        d = np.diag(upper).copy()
        np.fill_diagonal(upper, 1.0)
        sigma = gain * (upper * d) @ upper.T
        sigma = sigma[1:, 1:]
    else:
        sigma = np.diag(gain / np.maximum(1 + state.kinds()[0, 2], gain))
    columns = np.array([3, 0, 11])
    sums = np.random.default_rng(1).standard_normal((6, 3))
    shares = np.array([np.mean(y == 0), np.mean(y == 1)])
    if forgetting < 1:
        seen = np.array([state.scalars["seen_neg"][0], state.scalars["seen_pos"][0]])
        shares = seen / seen.sum()
    wanted = np.einsum("ij,jk,ik->i", sums, sigma[np.ix_(columns, columns)], sums) / 5 * 4 * shares.prod()
    wanted *= (1 + forgetting**700) / (1 + forgetting)
    np.testing.assert_allclose(Certainty.of(model).deviations(0, columns, sums), np.sqrt(wanted), rtol=1e-9)


def test_columns_that_no_row_has_reached_have_the_variance_of_the_prior():
    X, y = stream(0, 300)
    model = AROWClassifier(r=4).partial_fit(X, y)._fitted_model().copy()
    model.resize(16)
    alone = Certainty.of(model).deviations(0, np.array([15]), np.ones((1, 1)))
    np.testing.assert_allclose(alone, np.sqrt(4 * np.mean(y) * np.mean(1 - y) / 4))


@pytest.mark.parametrize("share", [0.5, 0.05])
@pytest.mark.parametrize(
    "learner",
    [
        AROWClassifier(r=30, class_weight="balanced"),
        AROWClassifier(r=1),
        AROWClassifier(r=10, covariance="diagonal", class_weight="balanced"),
        SecondOrderPATERClassifier(r=30),
        SecondOrderPATERClassifier(r=30, variant="II"),
        AROWClassifier(r=10, class_weight="balanced", forgetting=0.999),
    ],
    ids=str,
)
def test_streams_differ_as_much_as_it_says(learner, share):
    effects, errors = [], []
    for seed in range(12):
        X, y = stream(seed, share=share)
        fitted = learner.fit(X, y)
        sums = np.eye(8) - X.mean(axis=0)[:8]
        effects.append(sums @ fitted.coef_[0, :8])
        errors.append(Certainty.of(fitted._fitted_model()).deviations(0, np.arange(8), sums))
    ratio = np.mean(errors) / np.mean(np.std(effects, axis=0, ddof=1))
    assert 0.75 < ratio < 1.7  # over twelve streams; labels vary less about a fit than about their mean


def test_what_nobody_knows_is_not_told():
    X, y = stream(0, 300)
    for learner in (
        PATERClassifier(),
        SecondOrderPATERClassifier(covariance="diagonal"),
        SecondOrderPATERClassifier("II", form="step"),
    ):
        assert Certainty.of(learner.fit(X, y)._fitted_model()) is None
    assert Certainty.of(AutoPATERClassifier().fit(X, y)._fitted_model()) is not None
