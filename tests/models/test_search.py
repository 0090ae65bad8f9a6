"""Many settings in one pass: each model as if alone, scores as if predicted row by row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from pater.kernels.batched_layout import Herd, order, plan, spans_of
from pater.kernels.run import layout_for, learn
from pater.kernels.state import State
from pater.models import metrics
from pater.models.choice import best
from pater.models.errors import BadRowError
from pater.models.matrices import rows_of
from pater.models.metrics import Confusion
from pater.models.model import Model
from pater.models.search import Grid, alpha_grid
from pater.models.spec import Spec, settings_of
from pater.reference import first_order as reference

ALL = tuple(
    Spec(rule, alphas=pair, watch=True, discount=True) for pair in alpha_grid() for rule in ("pater-i", "pater-ii")
)


def stream(n, d, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + shift
    y = (X @ rng.standard_normal(d) / np.sqrt(d) + 0.5 * rng.standard_normal(n) > 1.0 + shift).astype(np.int64)
    return X, y


def sparse(X):
    """The form for which herds are used: rows of a search that are not narrow."""
    return sp.csr_array(X)


def run(X, y, specs, *, group=None, cuts=(), **options):
    state = State.new(len(specs), X.shape[1], means=True, group=group or len(specs))
    edges = [0, *cuts, len(y)]
    for start, stop in itertools.pairwise(edges):
        assert learn(rows_of(X[start:stop]), y[start:stop], state, settings_of(specs, (0, 1)), **options) == -1
    return state


def same(a: State, b: State, k: int) -> None:
    """Assert that model k of a is the only model of b, to the last bit."""
    assert a.scalars[k].tobytes() == b.scalars[0].tobytes()
    assert_array_equal(a.kinds()[k, :3], b.kinds()[0, :3])


@pytest.mark.parametrize("form", ["narrow", "wide", "csr"])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_model_of_a_grid_is_the_model_alone_bit_for_bit(form, threads):
    X, y = stream(3000, 90 if form == "wide" else 7)
    X = sp.csr_array(np.where(np.abs(X) > 0.7, X, 0.0)) if form == "csr" else X
    together = run(X, y, ALL, threads=threads)
    for k in range(0, len(ALL), 5):
        same(together, run(X, y, ALL[k : k + 1]), k)


def test_a_herd_is_used_and_does_not_depend_on_how_the_stream_is_cut():
    X, y = stream(2000, 5)
    X = sparse(X)
    state = State.new(len(ALL), 5, means=True, group=len(ALL))
    assert layout_for(rows_of(X), state, settings_of(ALL, (0, 1)))[0] == "herd"
    whole, cut = run(X, y, ALL), run(X, y, ALL, cuts=[1, 2, 40, 777, 1999])
    assert whole.scalars.tobytes() == cut.scalars.tobytes()
    assert_array_equal(whole.vectors, cut.vectors)


@pytest.mark.parametrize("form", [sparse, np.asarray])
@pytest.mark.parametrize("duplicate", [True, False])
def test_care_and_rescaling_of_many_leave_the_bits_of_the_model_alone(duplicate, form):
    rng = np.random.default_rng(3)
    if duplicate:  # means that coincide, then means a million times their spread
        X = np.repeat(rng.standard_normal((300, 4)), 2, axis=0)
        X[300:] = 1e6 + rng.standard_normal((300, 4))
        y = np.tile([0, 1], 300)
    else:  # noise: the weights of PATER-II grow past 2^400
        X, y = rng.standard_normal((120_000, 3)), rng.integers(0, 2, 120_000)
    specs, X = ALL[:6], form(X)
    together = run(X, y, specs)
    assert duplicate or together.scalars["exponent"].max() > 0
    for k in range(6):
        same(together, run(X, y, specs[k : k + 1]), k)


@pytest.mark.parametrize("form", [sparse, np.asarray])
@pytest.mark.parametrize("setting", [{"average": True}, {"forgetting": 0.99}])
def test_models_that_do_not_fit_a_herd_are_themselves_too(setting, form):
    X, y = stream(1500, 6)
    X = form(X)
    specs = tuple(spec._replace(**setting) for spec in ALL[:5])
    together = run(X, y, specs)
    assert together.layout == ("split" if form is np.asarray else "lanes")
    for k in range(5):
        same(together, run(X, y, specs[k : k + 1]), k)


@pytest.mark.parametrize("form", [sparse, np.asarray])
def test_sample_weights_of_many(form):
    X, y = stream(1000, 6)
    X = form(X)
    s = np.random.default_rng(1).choice([0.0, 0.5, 3.0], 1000)
    together = run(X, y, ALL, weights=s)
    for k in (0, 9, 25):
        same(together, run(X, y, ALL[k : k + 1], weights=s), k)


def in_units(margins):
    """Margins over the root of their mean square so far, as those of PATER are reported."""
    told, square = [], 0.0
    for t, margin in enumerate(margins, start=1):
        told.append(margin / np.sqrt(square) if square > 0 else margin)
        square = margin**2 if square == 0 else square + (margin**2 - square) / min(t, 1000)
    return told


@pytest.mark.parametrize("form", [sparse, np.asarray])
def test_margins_of_many_are_those_before_learning(form):
    X, y = stream(200, 4)
    margins = np.empty((len(ALL), 200))
    run(form(X), y, ALL, margins=margins)
    Xb, signs = np.c_[X, np.ones(200)], 2 * y - 1
    for k in (0, 1, 4, 11):
        variant = "I" if ALL[k].rule == "pater-i" else "II"
        w = reference.pater(Xb, signs, variant, alpha=ALL[k].alphas)
        before = np.vstack([np.zeros(5), w[:-1]])
        exact = (before * Xb).sum(axis=1)
        assert_allclose(margins[k], in_units(exact), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("fading", "discount"), [(1.0, False), (0.99, False), (1.0, True), (0.98, True)])
def test_progressive_counts_are_those_of_predicting_row_by_row(fading, discount):
    X, y = stream(300, 4)
    spec = Spec("pater-i", watch=True, fading=fading, discount=discount)
    s = np.random.default_rng(2).choice([0.0, 1.0, 2.0], 300)
    margins = np.empty((1, 300))
    state = run(X, y, (spec,), margins=margins, weights=s)
    expected = dict.fromkeys(("tp", "fp", "tn", "fn"), 0.0)
    t = 0
    for margin, label, weight in zip(margins[0], y, s, strict=True):
        if weight == 0:
            continue
        t += 1
        for name in expected:
            expected[name] *= fading * ((t - 1) / t if discount else 1.0)
        right = (margin >= 0) == (label == 1)
        expected[("t" if right else "f") + ("p" if margin >= 0 else "n")] += weight
    for name, value in expected.items():
        assert_allclose(state.scalars[name][0], value, rtol=1e-12)


def test_a_grid_of_both_families_and_its_scores():
    X, y = stream(2000, 5)
    specs = [Spec("pater-i"), Spec("pa-i", C=0.01), Spec("pater-ii", alphas=(0.1, 1.0)), Spec("pa-i", C=1.0)]
    grid = Grid(specs, "accuracy", discount=False)
    grid.start(np.array([0, 1]), 5)
    for start in range(0, 2000, 300):
        grid.learn(X[start : start + 300], y[start : start + 300])
    scores = grid.scores()
    assert set(scores) == set(metrics.SCORES)
    for k, spec in enumerate(specs):
        alone = Model.new(np.array([0, 1]), 5, (spec._replace(watch=True),))
        alone.learn((X,), y)
        assert scores["accuracy"][0, k] == metrics.accuracy(alone.confusion())[0, 0]
    assert grid.best[0] == np.argmax(scores["accuracy"][0])


def test_ties_go_to_the_first_and_errors_leave_a_grid_as_it_was():
    X, y = stream(100, 3)
    grid = Grid([Spec("pater-i"), Spec("pater-i", alphas=(2.0, 2.0))], "accuracy")
    grid.learn(X, y)
    assert grid.best[0] == 0  # weights in the same proportion are the same model
    before = grid.models[0].state.copy()
    X[50, 1] = np.nan
    with pytest.raises(BadRowError, match="row 50"):
        grid.learn(X, y)
    assert before.scalars.tobytes() == grid.models[0].state.scalars.tobytes()
    with pytest.raises(ValueError, match="scoring must be one of"):
        Grid([Spec("pa")], "acuracy")
    with pytest.raises(ValueError, match="at least one spec"):
        Grid([])


def test_best_knows_which_way_a_score_goes():
    counts = Confusion(*(np.array([[a, b]]) for a, b in ((8, 9), (2, 5), (8, 5), (2, 1))))
    assert best(counts, "accuracy")[0] == 0
    assert best(counts, "ter")[0] == 0
    assert best(counts, "cost", {"of_false_negative": 10.0})[0] == 1


def test_scores_against_scikit_learn():
    from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

    rng = np.random.default_rng(0)
    truth, says, s = rng.integers(0, 2, 200), rng.integers(0, 2, 200), rng.random(200)
    c = Confusion.of(truth, says, 1, s)
    assert_allclose(metrics.accuracy(c), accuracy_score(truth, says, sample_weight=s))
    assert_allclose(metrics.balanced_accuracy(c), balanced_accuracy_score(truth, says, sample_weight=s))
    assert_allclose(metrics.f1(c), f1_score(truth, says, sample_weight=s))
    fpr, fnr = metrics.false_positive_rate(c), metrics.false_negative_rate(c)
    assert_allclose(metrics.total_error_rate(c), fpr + fnr)
    assert_allclose(metrics.weighted_total_error_rate(c, 0.5, 2.0), 0.5 * fpr + 2 * fnr)
    assert_allclose(metrics.g_mean(c), np.sqrt((1 - fpr) * (1 - fnr)))
    assert_allclose(metrics.balanced_accuracy(Confusion(3.0, 0.0, 0.0, 1.0)), 0.75)  # one class so far


def test_herds_never_mix_targets():
    both = [False] * 13 + [True] * 13
    spans = [(0, 8, False), (8, 13, False), (13, 26, True)]
    assert plan(both, 26) == tuple(Herd(tuple(range(a, b)), shares) for a, b, shares in spans)
    assert plan(both, 13) == plan(both, 26)
    alone = plan([False] * 30, 10)
    assert [herd.models[0] for herd in alone] == [0, 8, 10, 18, 20, 28]
    assert [len(herd.models) for herd in plan([True] * 30, 15)] == [14, 1, 14, 1]


def test_models_that_share_need_not_be_neighbours():
    herds = plan([False, True] * 13, 26)
    assert [herd.models for herd in herds] == [
        (0, 2, 4, 6, 8, 10, 12, 14),
        (16, 18, 20, 22, 24),
        tuple(range(1, 26, 2)),
    ]
    assert order(herds) == [*range(0, 26, 2), *range(1, 26, 2)]
    assert spans_of(herds).tolist() == [[0, 8, 0], [8, 13, 0], [13, 26, 1]]
    X, y = stream(300, 5)
    assert len(run(sparse(X), y, ALL).herds) == 3


def test_no_two_vectors_of_a_herd_share_a_column():
    for herd in (Herd(tuple(range(5, 13)), False), Herd(tuple(range(5, 19)), True)):
        columns = {column for model in herd.models for column in herd.at(model)}
        assert columns == set(range(24 if not herd.sharing else 16))


def test_layouts_hold_the_same_numbers():
    X, y = stream(500, 6)
    state = run(sparse(X), y, ALL)
    split = state.kinds().copy()
    picked = state.some_of([3, 17])
    assert_array_equal(picked.kinds(), split[[3, 17]])
    herds = state.herds
    for layout in ("lanes", "split", "herd", "split"):
        state.arrange(layout, herds if layout == "herd" else ())
        assert_array_equal(state.kinds(), split)


def test_leaders_and_steps_are_searched_in_one_grid():
    X, y = stream(400, 5)
    specs = [Spec("so-pater-i", form=form, r=r) for form in ("leader", "step") for r in (1.0, 30.0)]
    grid = Grid(specs)
    grid.learn(X, y)
    for k, spec in enumerate(specs):
        alone = Grid([spec])
        alone.learn(X, y)
        family, model = next((those, m) for those, m in zip(grid.families, grid.models, strict=True) if k in those)
        w, bias = model.state.weights()
        expected_w, expected_bias = alone.models[0].state.weights()
        assert_array_equal(w[family.index(k)], expected_w[0])
        assert_array_equal(bias[family.index(k)], expected_bias[0])
