"""What the page for users of scikit-learn calls the same is the same."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier
from sklearn.utils.class_weight import compute_class_weight

from pater import PassiveAggressiveClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5)) * (rng.random((400, 5)) < 0.7)
ONES = np.hstack([X, np.ones((400, 1))])
LABELS = {2: (X[:, 0] + 0.3 * rng.normal(size=400) > 0.5).astype(int), 3: np.digitize(X[:, 1], [-0.3, 0.6])}
WEIGHTS = rng.uniform(0.5, 1.5, 400)


def theirs(rate, **more):
    settings = {"loss": "hinge", "penalty": None, "shuffle": False, "tol": None, "fit_intercept": False, "max_iter": 1}
    return SGDClassifier(learning_rate=rate, eta0=0.1, **settings, **more)


def same(ours, there):
    np.testing.assert_allclose(np.c_[ours.coef_, ours.intercept_], there.coef_, atol=1e-12)


@pytest.mark.parametrize("classes", LABELS)
@pytest.mark.parametrize(("rate", "variant"), [("pa1", "PA-I"), ("pa2", "PA-II")])
def test_weights_are_those_of_rows_with_a_constant(rate, variant, classes):
    y = LABELS[classes]
    ours = PassiveAggressiveClassifier(variant, 0.1)
    same(ours.fit(X, y), theirs(rate).fit(ONES, y))
    same(ours.fit(csr_matrix(X), y), theirs(rate).fit(csr_matrix(ONES), y))
    same(ours.fit(X, y, sample_weight=WEIGHTS), theirs(rate).fit(ONES, y, sample_weight=WEIGHTS))
    ours, there = PassiveAggressiveClassifier(variant, 0.1), theirs(rate)
    for rows in np.array_split(np.arange(400), 7):
        for model, data in ((ours, X), (there, ONES)):
            model.partial_fit(data[rows], y[rows], classes=np.unique(y))
        same(ours, there)


def test_balanced_weights_of_all_rows_are_given_by_hand():
    y = LABELS[2]
    weights = dict(enumerate(compute_class_weight("balanced", classes=np.array([0, 1]), y=y)))
    ours = PassiveAggressiveClassifier("PA-I", 0.1, class_weight=weights).fit(X, y)
    same(ours, theirs("pa1", class_weight="balanced").fit(ONES, y))
