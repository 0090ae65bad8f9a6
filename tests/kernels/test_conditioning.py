"""How exactly the passes know ‖z‖², the one number in which digits cancel, and what happens when none is left.

z = α⁺S⁺/n⁺ − α⁻S⁻/n⁻ is a difference of means. With u = 2⁻⁵³, M± the length of the class mean of |x|, and

    κ = (α⁺M⁺ + α⁻M⁻)/‖z‖

its condition number, n additions round a class mean by at most n·u·M, hence z by at most κ·n·u of its length, and

    |computed ‖z‖² − ‖z‖²| ≤ (2ε + ε² + (d + 8)·u)·‖z‖²,   ε = κ·n·u,

where the last term is for the d squares and their sum. No pass with sums in double precision can promise more. Where a
pass takes care (dense rows: ‖z‖² from the sums themselves; sparse rows: from products in twice the precision), it must
keep this bound. While it takes ‖z‖² from ‖S⁺‖², ‖S⁻‖² and S⁺·S⁻ in working precision, their rounding over the r rows
since they were last recomputed is amplified by κ²: 4·(r + d + 8)·u·κ² more. It may do so only while ‖z‖² is above 1e-5
of its terms, where κ² ≤ 4e5.

A probe reads the kernel's ‖z‖²: a copy of the model forgets its weights and losses but keeps its class sums and their
products, so the next row has ℓ = 1, and its step is τ = (α/n)/‖z‖². Exact values are in extended precision.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy.sparse import issparse

from pater import PATERClassifier
from pater.kernels.lazy_form import CANCELLED, FOLD_AT_LEAST, FOLD_EVERY
from pater.reference import first_order as reference

u = 2.0**-53

if np.finfo(np.longdouble).eps > 2.0**-60:
    pytest.skip("no extended precision on this machine", allow_module_level=True)


def probed_gap(model, row, label):
    """The kernel's ‖z‖² once `row` is in, or None just after a fold; and whether sparse rows take care of it."""
    twin = copy.deepcopy(model)
    state = twin._model.state
    state.kinds()[:, [0, 3]] = 0
    for name in ("bias", "bias_steps", "A_pos", "A_neg", "B_pos", "B_neg", "loss_pos", "loss_neg", "exponent"):
        state.scalars[name] = 0
    state.scalars["unit"] = 1
    twin.partial_fit(row, [label])
    m = twin._model.state.scalars[0]
    if m["work_since_fold"] == 0:
        return None, bool(m["careful"])
    side = "pos" if label > 0 else "neg"
    step, a = m[f"A_{side}"], 1 / m[f"n_{side}"]
    return (float(a * a / step) if step > 0 else 0.0), bool(m["careful"])


def distant_means(n, d, ratio):
    """Rows whose mean is `ratio` times their spread; the classes are two spreads apart."""
    rng = np.random.default_rng(3)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    mean = rng.normal(size=d)
    X = mean * (ratio / np.abs(mean).max()) + rng.normal(size=(n, d))
    X[:, 0] += y
    return X, y


@pytest.mark.parametrize("ratio", [0.0, 1e2, 3e3, 1e4, 1e6, 1e8, 1e10])
@pytest.mark.parametrize(("d", "form"), [(5, "dense-f8"), (50, "dense-f8"), (100, "dense-f8"), (80, "csr-f8-i4")])
def test_the_squared_gap_is_as_exact_as_its_condition_permits(d, form, ratio, as_form):
    n = 700
    X, y = distant_means(n, d, ratio)
    rows, exact = as_form(X, form), X.astype(np.longdouble)
    model = PATERClassifier("II", fit_intercept=False)
    probes = 0
    for t in range(n):
        if t % 23 == 22:
            found, careful = probed_gap(model, rows[t : t + 1], y[t])
            pos, neg = exact[: t + 1][y[: t + 1] > 0], exact[: t + 1][y[: t + 1] < 0]
            z = pos.mean(axis=0) - neg.mean(axis=0)
            zz = z @ z
            means = [np.sqrt((np.abs(side).mean(axis=0) ** 2).sum()) for side in (pos, neg)]
            kappa = float(sum(means) / np.sqrt(zz))
            rounding = kappa * (t + 1) * u
            bound = 2 * rounding + rounding**2 + (d + 8) * u
            if issparse(rows) and not careful:
                assert kappa**2 <= 4 / CANCELLED
            if not careful and kappa**2 <= 4 / CANCELLED:
                bound += 4 * (min(t, max(FOLD_AT_LEAST // d, FOLD_EVERY)) + d + 8) * u * kappa**2
            if found is not None:
                probes += 1
                assert found > 0, "a gap that can be known was taken for none"
                assert abs(found - zz) <= bound * zz
        model.partial_fit(rows[t : t + 1], y[t : t + 1], classes=[-1, 1])
    assert probes > 20


@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize(("d", "form"), [(5, "dense-f8"), (50, "dense-f8"), (100, "dense-f8"), (80, "csr-f8-i4")])
def test_every_step_moves_along_the_gap_never_against_it(d, form, variant, ratio, as_form):
    """One row at a time: additions to A⁺ and A⁻ are never negative, that is, ‖z‖² never has the wrong sign."""
    X, y = distant_means(300, d, ratio)
    rows = as_form(X, form)
    model = PATERClassifier(variant, fit_intercept=False)
    steps = 0
    for t in range(300):
        m = None if t == 0 else model._model.state.scalars[0].copy()
        model.partial_fit(rows[t : t + 1], y[t : t + 1], classes=[-1, 1])
        after = model._model.state.scalars[0]
        if m is not None and after["exponent"] == m["exponent"] and after["work_since_fold"] > 0:
            entered = after["entered"] - m["entered"]
            folded = after["work_since_fold"] != m["work_since_fold"] + entered * d  # before the row entered
            before = (m["A_pos"], m["A_neg"]) if not folded else (0.0, 0.0)
            assert after["A_pos"] >= before[0]
            assert after["A_neg"] >= before[1]
            steps += after["updates"] > m["updates"]
        assert after["pp"] >= 0
        assert after["nn"] >= 0
    assert steps > 50


@pytest.mark.parametrize(("d", "form"), [(1, "dense-f8"), (5, "dense-f8"), (100, "dense-f8"), (100, "csr-f8-i4")])
@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [100, 30_000])
def test_the_same_row_in_both_classes_is_no_gap(d, form, variant, intercept, n, as_form):
    """z = 0 from the second row on, and the weights stay, however often the class sums have been rounded since."""
    rng = np.random.default_rng(d)
    x = rng.normal(size=d)
    y = rng.choice([-1, 1], n)
    y[:2] = 1, -1
    rows = as_form(np.tile(x, (n, 1)), form)
    model = PATERClassifier(variant, fit_intercept=intercept).fit(rows, y)
    assert model.decision_function(rows[:1])[0] == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(model.coef_[0], x / (x @ x + intercept), rtol=1e-9)


@pytest.mark.first_quick
@pytest.mark.parametrize(("d", "form"), [(4, "dense-f8"), (100, "dense-f8"), (100, "csr-f8-i4")])
def test_a_million_rows_of_no_gap(d, form, as_form):
    n = 20_000
    x = np.random.default_rng(0).normal(size=d)
    y = np.resize([1, -1, -1], n)
    rows = as_form(np.tile(x, (n, 1)), form)
    model = PATERClassifier("II")
    for _ in range(50):
        model.partial_fit(rows, y)
    assert model.t_ == 10**6
    assert model.decision_function(rows[:1])[0] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize(("d", "form"), [(5, "dense-f8"), (50, "dense-f8"), (100, "dense-f8"), (80, "csr-f8-i4")])
def test_whole_streams_against_extended_precision(d, form, variant, as_form):
    """Means ten times the spread, 2000 rows: only the rounding of ‖z‖², at most κ²·n·u, may be visible at the end.

    No such bound holds for every stream: each step depends on all before it, and one that blows up the weights blows up
    their rounding, too. In this stream κ is at most 100, and nothing flips.
    """
    n = 2000
    X, y = distant_means(n, d, 10.0)
    ones = np.ones((n, 1))
    exact = reference.pater(np.hstack([X, ones]).astype(np.longdouble), y, variant)[-1]
    model = PATERClassifier(variant).fit(as_form(X, form), y)
    found = np.ldexp(
        np.append(*model._model.state.own_weights()).astype(np.longdouble),
        int(model._model.state.scalars["exponent"][0]),
    )
    assert np.abs(found - exact).max() <= 100**2 * n * u * np.abs(exact).max()
