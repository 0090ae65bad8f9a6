"""What candidates see of encoded rows: views against columns taken out by hand, and pools that choose among them."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from pater.files.model_file import Saved, load, save
from pater.models import candidates as rules_of_entry
from pater.models import race as rules_of_race
from pater.models.board import Board
from pater.models.candidates import WIDEST_ENCODED, candidates
from pater.models.entrants import entrants
from pater.models.matrices import part, rows_of
from pater.models.model import Model
from pater.models.placement import with_columns_at
from pater.models.pool import Pool
from pater.models.race import race, too_dear
from pater.models.spec import Spec
from pater.models.views import Views

SPECS = candidates(Spec("so-pater-i"), "balanced_accuracy")
LEVELS = np.array([0, 1, 0, 2, 2, 1, 0, 0], np.uint8)
SCORED_BY = ("balanced_accuracy", None)


def rows_and_labels(n=1500, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    y = (X @ np.linspace(-1, 1, d) + 0.5 * rng.standard_normal(n) > 0.8).astype(np.int64)
    return X, y


def pool_of(levels=LEVELS, d=8, specs=SPECS):
    return Pool.new(np.array([0, 1]), Views(d, levels), specs, *SCORED_BY, fixed=True)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_a_view_has_the_columns_up_to_its_level(form):
    X, _ = rows_and_labels(40)
    views = Views(8, LEVELS)
    assert views.n_levels == 3
    for level in range(3):
        kept = level >= LEVELS
        assert views.width(level) == views.first_widths[level] == kept.sum()
        seen = views.of(rows_of(form(X)), level)
        expected = X[:, kept] if form is np.asarray else csr_array(X[:, kept])
        for found, wanted in zip(seen, rows_of(expected), strict=True):
            assert np.array_equal(found, wanted)
        spread = views.spread(np.ones((2, kept.sum())), level)
        assert np.array_equal(spread, np.tile(kept.astype(float), (2, 1)))


def test_part_of_some_rows_is_seen_as_those_rows():
    X, _ = rows_and_labels(60)
    views, rows = Views(8, LEVELS), rows_of(csr_array(X))
    seen, wanted = views.of(part(rows, 20, 45), 1), rows_of(csr_array(X[20:45][:, LEVELS <= 1]))
    assert all(np.array_equal(a, b) for a, b in zip(seen, wanted, strict=True))


def test_columns_that_come_later_are_seen_by_all():
    views = Views(8, LEVELS).resized(11)
    assert [views.width(level) for level in range(3)] == [7, 9, 11]
    assert views.first_widths[:3].tolist() == [4, 6, 8]
    assert views.places(0)[8:].tolist() == [4, 5, 6]


def test_a_candidate_is_the_same_model_alone_on_its_columns():
    X, y = rows_and_labels(100)
    pool = pool_of()
    pool.learn(rows_of(csr_array(X)), y)
    assert {pool.level(k) for k in pool.models} == {0, 1, 2}
    for k, model in pool.models.items():
        alone = Model.new(np.array([0, 1]), model.n_features, (SPECS[k % len(SPECS)],), fixed=True)
        alone.learn(rows_of(csr_array(X[:, pool.level(k) >= LEVELS])), y)
        assert alone.state.vectors.tobytes() == model.state.vectors.tobytes()


@pytest.mark.parametrize("leader_level", [0, 1, 2])
def test_weights_and_margins_are_of_all_columns(leader_level):
    X, y = rows_and_labels(100)
    pool = pool_of()
    pool.learn(rows_of(csr_array(X)), y)
    pool.leader = next(k for k in pool.models if pool.level(k) == leader_level)
    weights, intercepts = pool.weights(SCORED_BY, average=pool.spec.average)
    assert weights.shape == (1, 8)
    assert not weights[0, leader_level < LEVELS].any()
    for form in (np.asarray, csr_array):
        margins = pool.margins(rows_of(form(X)), SCORED_BY, average=pool.spec.average)
        np.testing.assert_allclose(margins[:, 0], X @ weights[0] + intercepts[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cuts", [[1], [16, 17, 900], list(range(100, 1500, 100))])
def test_cuts_and_new_columns_leave_no_trace(cuts):
    X, y = rows_and_labels()
    X[:700, 6:] = 0.0  # two columns appear later
    whole, cut = pool_of(LEVELS[:6]), pool_of(LEVELS[:6], d=6)
    whole.learn(rows_of(csr_array(X)), y)
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        width = 8 if stop > 700 else 6
        cut.resize(max(width, cut.n_features))
        cut.learn(rows_of(csr_array(X[start:stop, :width])), y[start:stop])
    assert whole.leader == cut.leader
    assert list(whole.models) == list(cut.models)
    for k, model in whole.models.items():
        np.testing.assert_array_equal(model.state.weights()[0], cut.models[k].state.weights()[0])


def test_an_order_passes_the_rows_in_it():
    X, y = rows_and_labels(400)
    order = np.random.default_rng(1).permutation(400)
    ordered, plain = pool_of(), pool_of()
    ordered.learn_all(rows_of(csr_array(X)), y, order=order)
    plain.learn_all(rows_of(csr_array(X[order])), y[order])
    assert (
        ordered.weights(SCORED_BY, average=False)[0].tobytes() == plain.weights(SCORED_BY, average=False)[0].tobytes()
    )


def test_full_covariances_are_for_the_beginning(monkeypatch):
    monkeypatch.setattr(rules_of_entry, "ENOUGH_FOR_EACH", 10)
    X, y = rows_and_labels(1500)
    pool = pool_of()
    assert sorted(set(pool.entered.until)) == [40.0, 60.0, 80.0, np.inf]
    seen = []
    for start in range(0, 1500, 50):
        pool.learn(rows_of(csr_array(X[start : start + 50])), y[start : start + 50])
        seen.append({pool.level(k) for k in pool.models if k in pool.entered.passing})
        assert pool.entered.common in pool.models
        assert pool.leader in pool.models
    assert seen[0] == {0, 1, 2}
    assert not seen[-1]
    assert len({k for k in pool.models if k != pool.entered.common}) > 0  # the best of the lasting ones are there


def test_full_covariances_have_a_budget(monkeypatch):
    monkeypatch.setattr(rules_of_race, "DEAREST", 5e4)
    X, y = rows_and_labels(600)
    whole, cut = pool_of(), pool_of()
    whole.learn(rows_of(csr_array(X)), y)
    for start in range(0, 600, 7):
        cut.learn(rows_of(csr_array(X[start : start + 7])), y[start : start + 7])
    assert whole.spent.tolist() == cut.spent.tolist()
    assert not whole.entered.passing.intersection(whole.models)
    assert 5e4 < whole.spent[2] < 5e4 + 64 * 18 * 40  # it ends with the decision after which it is used up
    assert list(whole.models) == list(cut.models)


def test_full_covariances_stay_while_none_of_those_that_last_is_as_good():
    entered = pool_of().entered
    board = Board.new(len(entered.fits), 1)
    board.seen[:] = board.total[:] = 1e6
    best, last = min(entered.passing), min(entered.lasting)
    awake, spent = [best, last], [0.0] * len(entered.fits)
    board.right[best], board.right[last] = 7e5, 5e5
    assert too_dear(board, entered, awake, spent, SCORED_BY) == set()
    spent[best] = rules_of_race.DEAREST * rules_of_race.MUCH_TOO_DEAR + 1
    assert too_dear(board, entered, awake, spent, SCORED_BY) == {best}
    board.right[last], spent[best] = 7e5, 0.0
    assert too_dear(board, entered, awake, spent, SCORED_BY) == {best}


def test_who_goes_on_beside_the_winners_leads_by_more_than_chance_only():
    entered = pool_of().entered
    board = Board.new(len(entered.fits), 1)
    board.seen[:] = board.total[:] = 1e4
    other = next(k for k in sorted(entered.lasting) if entered.teams[k] != entered.teams[entered.common])
    for ahead, leads in ((1.0, other), (500.0, entered.common)):
        board.right[other], board.right[entered.common] = 7e3, 7e3 + ahead
        assert race(board, entered, [other, entered.common], SCORED_BY) == ([other, entered.common], leads)


def test_who_takes_part_depends_on_the_width_of_its_view():
    levels = np.repeat(np.array([0, 1, 2], np.uint8), [100, 300, WIDEST_ENCODED])
    entered = entrants(SPECS, Views(levels.size, levels), more_may_come=False)
    of_levels = np.reshape(entered.fits, (3, -1))
    full = np.array([spec.covariance == "full" for spec in SPECS])
    memories = np.array([spec.forgetting for spec in SPECS])
    assert of_levels[0, full].any()
    assert not of_levels[2, full].any()
    assert set(memories[of_levels[0] & full]) == {1.0, 0.999}  # at least 200 rows
    assert set(memories[of_levels[1] & full]) == {1.0, 0.999}
    assert set(memories[of_levels[0] & ~full]) == {1.0, 0.999, 0.99}
    assert set(memories[of_levels[2] & ~full]) == {1.0, 0.999}
    assert SPECS[entered.common % len(SPECS)].covariance == "diagonal"
    assert entered.common // len(SPECS) == 2


def test_one_covariance_alone_is_taken_at_its_word():
    for covariance in ("full", "diagonal"):
        specs = candidates(Spec("so-pater-i"), "balanced_accuracy", covariances=(covariance,))
        entered = entrants(specs, Views(8, LEVELS), more_may_come=False)
        assert entered.places
        assert set(entered.until) == {np.inf}


@pytest.mark.slow
def test_a_pool_with_views_is_saved_and_goes_on(tmp_path):
    X, y = rows_and_labels()
    pool = pool_of()
    pool.learn(rows_of(csr_array(X[:800])), y[:800])
    for k in pool.models:  # whoever leads
        pool.leader = k
        save(tmp_path / "m", Saved(pool))
        again = load(tmp_path / "m").model
        assert np.array_equal(again.views.levels, LEVELS)
        assert again.leader == k
        assert again.n_features == 8
    again.learn(rows_of(csr_array(X[800:])), y[800:])
    pool.learn(rows_of(csr_array(X[800:])), y[800:])
    assert again.weights(SCORED_BY, average=False)[0].tobytes() == pool.weights(SCORED_BY, average=False)[0].tobytes()
    assert list(again.models) == list(pool.models)


def test_columns_are_put_elsewhere_in_every_view():
    X, y = rows_and_labels(500)
    pool = pool_of(LEVELS[:6])
    pool.learn(rows_of(csr_array(X)), y)
    columns = np.array([0, 1, 2, 3, 4, 5, 9, 7])  # the last two came later
    moved = with_columns_at(pool, columns, 10)
    wide = np.zeros((len(X), 10))
    wide[:, columns] = X
    for k in pool.models:
        pool.leader = moved.leader = k
        average = pool.spec.average
        np.testing.assert_allclose(
            moved.margins(rows_of(csr_array(wide)), SCORED_BY, average=average),
            pool.margins(rows_of(csr_array(X)), SCORED_BY, average=average),
            rtol=1e-9,
            atol=1e-12,
        )


def test_pools_of_shards_are_merged_view_by_view():
    X, y = rows_and_labels()
    one, other = pool_of(), pool_of()
    one.learn(rows_of(csr_array(X[:700])), y[:700])
    other.learn(rows_of(csr_array(X[700:])), y[700:])
    both = one.merge(other)
    assert both.rows == 1500
    assert set(both.models) <= set(one.models) & set(other.models)
    right = (both.margins(rows_of(csr_array(X)), SCORED_BY, average=both.spec.average)[:, 0] >= 0) == y
    assert right.mean() > 0.8
    with pytest.raises(ValueError, match="encoded differently"):
        one.merge(pool_of(LEVELS[:5]))
