"""Dense rows: every width, and no read beyond a row."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from pater import PATERClassifier
from pater.kernels.class_means import TOO_LARGE
from pater.kernels.rules import RULES
from pater.kernels.run import learn
from pater.kernels.state import State
from pater.models.spec import RECORD
from pater.reference import first_order as reference

N = 600


WIDTHS = [*range(1, 42), 63, 64, 65, 200, 700]


def stream(d, seed=0):
    rng = np.random.default_rng(seed + d)
    y = np.where(rng.random(N) < 0.3, 1, -1)
    X = rng.normal(size=(N, d)) + np.outer(y, rng.normal(size=d)) / np.sqrt(d)
    return X.astype(np.float32).astype(np.float64), y, rng.exponential(size=N) * (rng.random(N) < 0.9)


def settings_for(rule, *, average=False, intercept=True):
    p = np.zeros(1, RECORD)
    p["rule"], p["positive"], p["intercept"], p["average"] = RULES[rule].code, 1, intercept, average
    p["alpha_neg"], p["alpha_pos"] = 0.4, 1.0
    return p


def run(X, y, p, **options):
    state = State.new(1, X.shape[1], means=True)
    assert learn((X,), (y > 0).astype(np.int64), state, p, **options) == -1
    return state


@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("rule", ["pater-i", "pater-ii"])
def test_every_width_follows_the_reference(rule, d):
    X, y, _ = stream(d)
    margins = np.empty((1, N))
    state = run(X, y, settings_for(rule), margins=margins)
    Xb = np.hstack([X, np.ones((N, 1))])
    w = reference.pater(Xb, y, rule.removeprefix("pater-").upper(), alpha=(0.4, 1.0))
    before = np.vstack([np.zeros(d + 1), w[:-1]])
    assert_allclose(margins[0], (before * Xb).sum(axis=1), rtol=1e-9, atol=1e-9 * np.abs(w).max())
    assert_allclose(np.append(*state.weights()), w[-1], rtol=0, atol=1e-10 * np.abs(w[-1]).max())


@pytest.mark.parametrize("d", [1, 7, 8, 9, 40, 90, 200, 1000])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("floats", ["f8", "f4"])
def test_importances_follow_the_reference(d, average, floats):
    X, y, s = stream(d, 7)
    margins = np.empty((1, N))
    state = run(X.astype(floats), y, settings_for("pater-ii", average=average), weights=s, margins=margins)
    Xb = np.hstack([X, np.ones((N, 1))])
    w = reference.pater(Xb, y, "II", alpha=(0.4, 1.0), s=s)
    if not average:
        before = np.vstack([np.zeros(d + 1), w[:-1]])
        assert_allclose(margins[0], (before * Xb).sum(axis=1), rtol=1e-9, atol=1e-9 * np.abs(w).max())
    expected = reference.averaged(w, s) if average else w[-1]
    assert_allclose(np.append(*state.weights(average=average)), expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("d", [1, 3, 4, 7, 12, 16, 17, 32, 33, 40, 101])
@pytest.mark.parametrize("rule", ["pater-i", "pater-ii"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("floats", ["f8", "f4"])
def test_what_is_seldom_asked_for_follows_the_reference_too(rule, d, intercept, floats):
    """Single precision, importances including 0, averages: each has its own form of the pass."""
    X, y, s = stream(d, 100)
    state = run(X.astype(floats), y, settings_for(rule, average=True, intercept=intercept), weights=s)
    Xb = np.hstack([X, np.ones((N, 1))]) if intercept else X
    w = reference.pater(Xb, y, rule.removeprefix("pater-").upper(), alpha=(0.4, 1.0), s=s)
    for average, expected in ((False, w[-1]), (True, reference.averaged(w, s))):
        coef, bias = state.weights(average=average)
        ours = np.append(coef, bias)[: Xb.shape[1]]
        assert_allclose(ours, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("d", [2, 9, 20, 50])
@pytest.mark.parametrize("rule", ["pater-i", "pater-ii"])
def test_forms_of_the_pass_agree_bit_for_bit(rule, d):
    """Weights (of 1), averages, margins or counts to record change nothing in what is learned."""
    X, y, _ = stream(d)
    plain = run(X, y, settings_for(rule))
    watched = settings_for(rule)
    watched["watch"] = watched["discount"] = 1
    others = [
        run(X, y, settings_for(rule), weights=np.ones(N)),
        run(X, y, settings_for(rule, average=True)),
        run(X, y, settings_for(rule), margins=np.empty((1, N))),
        run(X, y, settings_for(rule), order=np.arange(N)),
        run(X, y, watched),
    ]
    for other in others:
        assert np.array_equal(other.kinds()[0, :3], plain.kinds()[0, :3])
        for name in ("A_pos", "A_neg", "bias", "n_pos", "n_neg", "loss_pos", "loss_neg", "pp", "nn", "pn", "updates"):
            assert other.scalars[name] == plain.scalars[name]


@pytest.mark.parametrize("cut", [1, 7, 250])
@pytest.mark.parametrize("d", [6, 45])
@pytest.mark.parametrize("rule", ["pater-i", "pater-ii"])
def test_rows_that_are_not_plain_do_not_depend_on_how_the_stream_is_cut(rule, d, cut):
    """Rows beyond the safe range of the registers, duplicates in both classes: in one call or in many."""
    X, y, _ = stream(d)
    X[50:60] *= 1e102
    X[300:400] = X[300]  # means that coincide
    X[450] *= 1e-90
    whole = run(X, y, settings_for(rule))
    parts = State.new(1, d, means=True)
    for start in range(0, N, cut):
        some = slice(start, start + cut)
        assert learn((X[some],), (y[some] > 0).astype(np.int64), parts, settings_for(rule)) == -1
    assert whole.scalars.tobytes() == parts.scalars.tobytes()
    assert whole.vectors.tobytes() == parts.vectors.tobytes()
    assert np.isfinite(whole.weights()[0]).all()


def test_steps_that_would_overflow_in_the_lazy_form_are_folded_in_time():
    """Rows of 1e-90, then rows of 1e90: A alone is about 1e180, and A times such a row overflows."""
    X, y, _ = stream(3)
    X[:300] *= 1e-90
    X[300:] *= 1e90
    before = run(X[:300], y[:300], settings_for("pater-i", intercept=False))
    assert (before.scalars["A_pos"] + before.scalars["A_neg"])[0] > 1e100
    margins = np.empty((1, N))
    state = run(X, y, settings_for("pater-i", intercept=False), margins=margins)
    w = reference.pater(X, y, "I", alpha=(0.4, 1.0))
    assert_allclose(np.ldexp(state.weights()[0][0], int(state.scalars["exponent"][0])), w[-1], rtol=1e-9)
    assert np.abs(margins).max() > TOO_LARGE


@pytest.mark.parametrize("d", [5, 40])
@pytest.mark.parametrize("variant", ["I", "II"])
def test_an_average_that_pauses_is_that_of_sparse_rows(variant, d):
    """What waits in B must still be subtracted from V when a row enters while no average is wanted."""
    X, y, _ = stream(d)
    averages = []
    for form in (np.asarray, sp.csr_array):
        model, rows = PATERClassifier(variant), form(X)
        for average, some in ((True, slice(0, 100)), (False, slice(100, 200)), (True, slice(200, 300))):
            model.set_params(average=average).partial_fit(rows[some], y[some], classes=[-1, 1])
        averages.append(model.coef_)
    assert_allclose(*averages, rtol=1e-9)


@pytest.mark.parametrize(("scale", "weight"), [(1.0, 1e-130), (1e-100, 1e-30)])
def test_a_class_of_hardly_any_weight_is_learned_from_while_it_is_alone(scale, weight):
    X, _, _ = stream(3)
    X, y = X[:20] * scale, np.ones(20)
    p = settings_for("pater-i", intercept=False)
    p["alpha_neg"], p["alpha_pos"] = 1.0, weight
    w = reference.pater(X, y, "I", alpha=(1.0, weight))
    assert_allclose(run(X, y, p).weights()[0][0], w[-1], rtol=1e-9)


def test_rows_without_columns_are_none_to_learn_from():
    state = State.new(1, 0, means=True)
    assert learn((np.zeros((3, 0)),), np.array([0, 1, 1]), state, settings_for("pater-i")) == -1
    assert state.scalars["t"] == 3


def test_a_bad_row_is_named_wherever_it_is():
    X, y, _ = stream(5)
    for row, value in ((0, np.nan), (17, np.inf), (N - 1, -np.inf), (300, 1e200)):
        bad = X.copy()
        bad[row, 4] = value
        assert learn((bad,), (y > 0).astype(np.int64), State.new(1, 5, means=True), settings_for("pater-ii")) == row


GUARDED = """
import ctypes, mmap
import numpy as np
from pater import PATERClassifier

libc = ctypes.CDLL(None, use_errno=True)
page = mmap.PAGESIZE
for dtype in (np.float64, np.float32):
    for d in (1, 3, 5, 11, 20, 37):
        memory = mmap.mmap(-1, 16 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert libc.mprotect(ctypes.c_void_p(start + 15 * page), page, 0) == 0  # whoever reads there is stopped
        n = 15 * page // (d * np.dtype(dtype).itemsize)
        offset = 15 * page - n * d * np.dtype(dtype).itemsize
        X = np.frombuffer(memory, dtype, n * d, offset).reshape(n, d)
        X[:] = np.random.default_rng(0).normal(size=X.shape)
        PATERClassifier("II").fit(X, np.arange(n) % 2)
print("unharmed")
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect by its Linux name")
def test_nothing_is_read_beyond_the_last_row():
    done = subprocess.run([sys.executable, "-c", GUARDED], capture_output=True, text=True, check=False)
    assert done.stdout == "unharmed\n", done.stderr
