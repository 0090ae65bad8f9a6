"""Second order with `forgetting`: as the plain reference has it, bounded whatever pauses, and better where data drift."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from test_second_reference import LEARNERS, WEIGHTS, data, params_of

from pater.reference import first_order as reference

COVARIANCES = ["full", "diagonal"]
FORMS = ["dense-f8", "csr-f8-i4"]


@functools.cache
def expected(name, d, covariance, kind, importance, forgetting):
    X, y, s = data(d)
    balances = kind == "balanced" and "pater" not in name  # PATER weighs classes alike by itself
    options = {
        "alpha": WEIGHTS["plain" if kind == "balanced" and not balances else kind],
        "s": s if importance else None,
        "forgetting": forgetting,
    }
    return LEARNERS[name][1](X, y, diagonal=covariance == "diagonal", **options)


@pytest.mark.parametrize("form", [*FORMS, "dense-f4", "csr-f4-i8"])
@pytest.mark.parametrize(("d", "forgetting"), [(9, 0.999), (9, 0.98), (9, 0.7), (9, 1e-3), (40, 0.99)])
@pytest.mark.parametrize(
    ("kind", "importance"), [("plain", False), ("class weights", True), ("balanced", True)], ids=lambda v: str(v)
)
@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("name", LEARNERS)
def test_kernel_follows_the_reference(name, covariance, kind, importance, d, forgetting, form, as_form, weights):
    X, y, s = data(d)
    s = s if importance else None
    w = expected(name, d, covariance, kind, importance, forgetting)
    for average in (False, True):
        model = LEARNERS[name][0](covariance=covariance, forgetting=forgetting, average=average, **params_of(kind))
        model.fit(as_form(X[:, :-1], form), y, sample_weight=s)
        exact = reference.averaged(w, s) if average else w[-1]
        np.testing.assert_allclose(weights(model)[0], exact, rtol=0, atol=1e-9 * np.abs(exact).max())
