"""The pool behind AutoPATERClassifier and --algo auto: its predictions, who leads, who stops, and what is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import pater
from pater import AutoPATERClassifier
from pater.files.model_file import Saved, load, save
from pater.models import pool_pass, race
from pater.models.board import AT_FIRST, FAILURE, FASTER, Board
from pater.models.candidates import MEMORIES, WIDEST, candidates
from pater.models.entrants import entrants
from pater.models.metrics import SCORES, Confusion, balanced_accuracy
from pater.models.model import Model
from pater.models.pool import Pool
from pater.models.spec import Spec
from pater.models.views import Views

BASE = Spec("so-pater-i")


def stream(n=3000, d=6, seed=0, n_classes=2, drift=0.0):
    rng = np.random.default_rng(seed)
    centres = 2.0 * rng.standard_normal((n_classes, d))
    y = rng.choice(n_classes, n, p=[0.9] + [0.1 / (n_classes - 1)] * (n_classes - 1))
    X = centres[y] + 2.0 * rng.standard_normal((n, d))
    turned = np.arange(n) >= (1 - drift) * n
    X[turned] *= -1
    return X, y


def same(a: Pool, b: Pool) -> bool:
    """Whether two pools are the same to the bit."""
    assert list(a.models) == list(b.models)
    assert (a.leader, a.rows, a.next_decision) == (b.leader, b.rows, b.next_decision)
    for k in a.models:
        assert a.models[k].state.scalars.tobytes() == b.models[k].state.scalars.tobytes()
        for average in (False, True):
            for mine, theirs in zip(
                a.models[k].state.own_weights(average=average),
                b.models[k].state.own_weights(average=average),
                strict=True,
            ):
                assert_array_equal(mine, theirs)
        assert_array_equal(a.since(k), b.since(k))
    for name, mine in vars(a.board).items():
        assert_array_equal(mine, getattr(b.board, name))
    assert_array_equal(np.stack(a.progressive()), np.stack(b.progressive()))
    return True


@pytest.mark.first_quick
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("known", [True, False], ids=["classes known", "classes as they come"])
def test_cuts_of_the_stream_leave_no_trace(n_classes, form, known):
    X, y = stream(n_classes=n_classes)
    s = np.random.default_rng(1).choice([0.0, 1.0, 2.5], len(y))
    rows = X if form == "dense" else csr_array(X)
    pools = []
    for step in (len(y), 501, 97):
        auto = AutoPATERClassifier(probability=True)
        classes = np.unique(y) if known else None
        for start in range(0, len(y), step):
            part = slice(start, start + step)
            auto.partial_fit(rows[part], y[part], classes=classes if start == 0 else None, sample_weight=s[part])
        pools.append(auto._model)
    assert same(pools[0], pools[1])
    assert same(pools[0], pools[2])


def test_row_by_row_is_the_same_too():
    X, y = stream(400)
    whole = AutoPATERClassifier().partial_fit(X, y, classes=[0, 1])
    single = AutoPATERClassifier()
    for i in range(len(y)):
        single.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    assert same(whole._model, single._model)


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_decisions_taken_together_are_those_taken_one_by_one(scoring, shuffle, monkeypatch):
    X, y = stream(9000, drift=0.3)
    weights = np.random.default_rng(1).choice([0.5, 2.0, 3.3], len(y))
    taken = []
    together = pool_pass._decide_together
    monkeypatch.setattr(pool_pass, "_decide_together", lambda *given: (taken.append(given[1]), together(*given)))
    auto = AutoPATERClassifier(scoring=scoring, shuffle=shuffle, random_state=0)
    fast = auto.fit(X, y, sample_weight=weights)._model
    assert max(map(len, taken)) > 10
    monkeypatch.setattr(pool_pass, "is_over", lambda *of: False)
    n_taken = len(taken)
    slow = auto.fit(X, y, sample_weight=weights)._model
    assert len(taken) == n_taken
    assert same(fast, slow)
    assert [rows for rows, _ in fast.history.points] == [rows for rows, _ in slow.history.points]
    for (_, mine), (_, theirs) in zip(fast.history.points, slow.history.points, strict=True):
        assert_array_equal(mine, theirs)


def test_a_model_of_the_pool_is_the_same_model_alone():
    X, y = stream()
    pool = AutoPATERClassifier().fit(X, y)._model
    assert 1 < len(pool.models) < len(pool.specs)
    for k, model in pool.models.items():
        alone = Model.new(np.array([0, 1]), X.shape[1], (pool.specs[k],))
        alone.learn_all((X,), y.astype(np.int64))
        assert model.state.scalars.tobytes() == alone.state.scalars.tobytes()
        assert_array_equal(model.state.weights()[0], alone.state.weights()[0])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("point", [None, {"max_fpr": 0.05}], ids=["at 0", "at an operating point"])
def test_what_is_told_as_progressive_is_what_was_predicted(n_classes, point):
    if n_classes > 2 and point is not None:
        pytest.skip("an operating point is for two classes")
    X, y = stream(700, n_classes=n_classes, drift=0.3)
    auto = AutoPATERClassifier(operating_point=point).partial_fit(X[:1], y[:1], classes=np.unique(y))
    said = [0 if n_classes == 2 else int(y[0])]
    before = np.stack(auto._model.progressive())
    for i in range(1, len(y)):
        said.append(int(auto.predict(X[i : i + 1])[0]))
        auto.partial_fit(X[i : i + 1], y[i : i + 1])
    told, truth, said = np.stack(auto._model.progressive()) - before, y[1:], np.array(said[1:])
    for problem, label in enumerate([1] if n_classes == 2 else range(n_classes)):
        positive, called = truth == label, said == label
        counts = [
            np.sum(a & b)
            for a, b in ((positive, called), (~positive, called), (~positive, ~called), (positive, ~called))
        ]
        if point is None:
            assert_array_equal(told[:, problem], counts)
        else:  # its threshold is updated only now and then, see models/margin_counts.py
            assert_allclose(told[:, problem], counts, atol=0.02 * len(y))


def test_the_board_against_a_plain_count():
    rng = np.random.default_rng(0)
    board, fading = Board.new(3, 1), 0.9
    positive, right = rng.random(60) < 0.3, rng.random((60, 3)) < 0.7
    for start in range(0, 60, 10):
        truth, hits = positive[start : start + 10], right[start : start + 10]
        counts = [
            [[np.sum(truth & hit), np.sum(~truth & ~hit), np.sum(~truth & hit), np.sum(truth & ~hit)]] for hit in hits.T
        ]
        awake = [0, 1, 2] if start < 30 else [0, 2]
        board.note(awake, np.array(counts, float)[awake], fading)
    for k in (0, 2):
        for side, of_class in ((0, ~positive), (1, positive)):
            later = [np.sum(of_class[(i // 10 + 1) * 10 :]) for i in range(60)]
            weight = of_class * fading ** np.array(later)
            assert_allclose(board.seen[0, side], weight.sum())
            assert_allclose(board.right[k, 0, side], weight[right[:, k]].sum())
    stopped = [right[:30, 1][positive[:30] == side] for side in (False, True)]
    later = [
        np.sum(positive[:30] == positive[i]) - np.sum(positive[: (i // 10 + 1) * 10] == positive[i]) for i in range(30)
    ]
    for side in (0, 1):
        weight = (positive[:30] == bool(side)) * fading ** np.array(later)
        assert stopped[side].size
        assert_allclose(board.right[1, 0, side] / board.seen[0, side], weight[right[:30, 1]].sum() / weight.sum())


@pytest.mark.parametrize("rows", [AT_FIRST - 1, AT_FIRST], ids=["at first", "later"])
@pytest.mark.parametrize("wrong", [7, 8])
def test_answers_fade_faster_while_candidates_fail_by_more_than_chance(rows, wrong):
    fading, awake = 0.99, [0, 2]
    board = Board(np.full((3, 1, 2), 79.0), np.full((1, 2), 98.0), np.array([[rows - 200.0, 200.0]]))
    before, rate = board.copy(), 80 / 100
    counts = np.array([[[20.0 - wrong - more, 0.0, 30.0, wrong + more]] for more in (-1, 1)])  # tp, fp, tn, fn
    board.note(awake, counts, fading)
    fails = rows >= AT_FIRST and 20 * rate - (20 - wrong) > FAILURE * math.sqrt(20 * rate * (1 - rate))
    assert fails == (rows == AT_FIRST and wrong == 8)
    kept = np.array([fading**30, fading ** (20 * (FASTER if fails else 1))])
    assert_allclose(board.seen, before.seen * kept + [30, 20])
    assert_allclose(board.right[awake], before.right[awake] * kept + counts[..., [2, 0]])
    assert_allclose(board.right[1] / board.seen, before.right[1] / before.seen)


@pytest.mark.parametrize("scoring", SCORES)
def test_scores_of_the_board_are_those_of_counts(scoring):
    board = Board(np.array([[[30.0, 6.0]], [[20.0, 8.0]]]), np.array([[40.0, 10.0]]), np.array([[400.0, 100.0]]))
    settings = dict.fromkeys(SCORES[scoring].settings[:1], 2.0)
    told = board.scores(scoring, settings)
    for k, (tn, tp) in enumerate([(300, 60), (200, 80)]):
        counts = Confusion(float(tp), 400.0 - tn, float(tn), 100.0 - tp)
        value = SCORES[scoring].of(counts, **settings)
        assert_allclose(told[k], value if SCORES[scoring].more_is_better else -value)
    if scoring == "balanced_accuracy":
        rates = np.array([[31 / 42, 7 / 12]])
        wanted = math.sqrt(sum(0.25 * rates[0, c] * (1 - rates[0, c]) / (40, 10)[c] for c in (0, 1)))
        assert_allclose(board.deviation(0, scoring, None), wanted, rtol=1e-6)


@pytest.mark.parametrize("n_rows", [16_000, 20_000], ids=["a while", "long"])
def test_few_are_left_in_the_long_run_and_one_always(n_rows):
    X, y = stream(n_rows)
    auto = AutoPATERClassifier().fit(X, y)
    pool, frame = auto._model, auto.scores_frame()
    assert len(pool.models) <= len(MEMORIES) + 1
    assert pool.entered.common in pool.models
    assert frame["learning"].sum() == len(pool.models)
    assert frame["chosen"].sum() == 1
    assert frame.loc[frame["chosen"], "learning"].all()
    winners = {
        spec._replace(forgetting=1.0)
        for k, spec in enumerate(pool.specs)
        if k in pool.models and k != pool.entered.common
    }
    if n_rows < race.LONG_RUN:
        assert winners == {pool.spec._replace(forgetting=1.0)}
    else:  # one of them is now the common candidate
        assert len(winners) == 1
        assert [pool.specs[k].forgetting for k in pool.models] == list(MEMORIES)


def begin(**options) -> list[tuple[float, float]]:
    specs = candidates(BASE, "balanced_accuracy", covariances=["full"], **options)
    return sorted({(specs[k].r, specs[k].forgetting) for k in entrants(specs, Views(6), more_may_come=False).places})


def test_a_memory_that_cannot_outweigh_the_prior_does_not_begin_unless_it_is_the_longest_of_its_team():
    all_pairs = {(r, memory) for r in (1.0, 30.0, 300.0) for memory in MEMORIES}
    assert begin() == sorted(all_pairs - {(300.0, 0.99)})
    assert begin(memories=[0.95]) == [(1.0, 0.95), (30.0, 0.95), (300.0, 0.95)]
    assert begin(memories=[0.95, 0.999], priors=[100.0]) == [
        (100.0, 0.95),
        (100.0, 0.999),
    ]  # the common one always begins
    assert begin(memories=[1.0, 0.99], priors=[100.0]) == [(100.0, 0.99), (100.0, 1.0)]


def test_a_pool_in_which_such_a_memory_began_is_loaded_and_goes_on(tmp_path, monkeypatch):
    X, y = stream(4000)
    specs = candidates(BASE, "balanced_accuracy")
    with monkeypatch.context() as older:
        older.setattr("pater.models.entrants.outweigh_prior", lambda specs: [True] * len(specs))
        pool = Pool.new(np.array([0, 1]), Views(6), specs, "balanced_accuracy")
        older_one = next(k for k in pool.models if (specs[k].r, specs[k].forgetting) == (300.0, 0.99))
        pool.learn((X[:15],), y[:15])
    save(tmp_path / "older.pater", Saved(pool))
    loaded = load(tmp_path / "older.pater").model
    assert older_one in loaded.models
    assert same(loaded, pool)
    assert same(learned(loaded, X[15:], y[15:], 77), learned(pool, X[15:], y[15:], len(y)))
    won = with_winner(loaded, loaded.entered.teams[older_one])
    assert older_one in learned(won, X[15:], y[15:], 500).models


def test_who_is_left_of_a_team_stops_no_other():
    specs = candidates(BASE, "balanced_accuracy")
    entered = entrants(specs, Views(6), more_may_come=False)
    common, others = entered.common, [k for k in entered.places if entered.teams[k] in (3, 6)]
    board = Board.new(len(specs), 1)
    board.seen[:] = board.total[:] = 1e5
    board.right[:], board.right[others], board.right[common] = 0.0, 7e4, 9e4
    staying, leader = race.race(board, entered, [common, *others], ("balanced_accuracy", None))
    assert leader == common
    assert set(staying) == {common, *others}  # they are equals
    assert race.race(board, entered, entered.places, ("balanced_accuracy", None))[0] == [0, 1, 2]


def with_winner(pool: Pool, team: int) -> Pool:
    """The same pool after one team has won."""
    staying = [k for k in pool.models if k == pool.entered.common or pool.entered.teams[k] == team]
    pool.models = {k: pool.models[k] for k in staying}
    pool.adjustments = {k: pool.adjustments[k] for k in staying}
    pool.leader = staying[-1]
    return pool


def learned(pool: Pool, X, y, step: int) -> Pool:
    pool = pool.copy()
    for start in range(0, len(y), step):
        pool.learn((X[start : start + step],), y[start : start + step])
    return pool


SHORT_RUN = 1024


@pytest.fixture
def begun(monkeypatch) -> tuple[Pool, np.ndarray, np.ndarray]:
    """A pool just won by a team other than the common candidate's, rows to continue with, and a shorter long run."""
    monkeypatch.setattr(race, "LONG_RUN", SHORT_RUN)
    X, y = stream(6000)
    pool = Pool.new(np.array([0, 1]), Views(6), candidates(BASE, "balanced_accuracy"), "balanced_accuracy")
    pool.learn((X[:100],), y[:100])
    team = next(team for team in sorted(pool.entered.teams) if team != pool.entered.teams[pool.entered.common])
    return with_winner(pool, team), X[100:], y[100:]


def test_in_the_long_run_the_common_candidate_stands_for_the_longest_memory(begun):
    pool, X, y = begun
    common, longest, *shorter = pool.models
    assert [pool.specs[k].forgetting for k in (common, longest, *shorter)] == [1.0, *MEMORIES]
    pool = learned(pool, X, y, 100)
    assert list(pool.models) == [common, *shorter]
    for step in (1, 77, len(y)):
        assert same(learned(begun[0], X, y, step), pool)


def test_the_longest_memory_goes_on_while_it_is_better_and_in_shards(begun, monkeypatch):
    pool, X, y = begun
    n_models = len(pool.models)
    pool.in_shards = True
    assert len(learned(pool, X, y, 100).models) == n_models
    pool.in_shards = False
    monkeypatch.setattr(pool_pass, "AS_GOOD", -np.inf)
    monkeypatch.setattr(pool_pass, "BEYOND_CHANCE", np.inf)
    better = learned(pool, X, y, len(y))
    assert len(better.models) == n_models
    assert same(learned(pool, X, y, 100), better)
    monkeypatch.undo()  # then it is checked only in the long run
    assert len(learned(pool, X, y, len(y)).models) == n_models


@pytest.mark.parametrize("memories", [(1.0,), (0.999,)])
def test_a_team_of_one_memory_goes_on(begun, memories):
    _, X, y = begun
    specs = candidates(BASE, "balanced_accuracy", memories=memories)
    pool = with_winner(Pool.new(np.array([0, 1]), Views(6), specs, "balanced_accuracy"), 1)
    assert list(learned(pool, X, y, 500).models) == [0, 1]


def test_it_is_asked_at_the_first_decision_after_a_power_of_two():
    asked = [rows for rows in range(race.LONG_RUN - 10_000, 80_000, race.LONGEST) if race.asks_for_spare(rows)]
    assert len(asked) == 3
    for rows, power in zip(asked, (1 << 14, 1 << 15, 1 << 16), strict=True):
        assert power <= rows < power + race.LONGEST


def test_who_stands_for_the_longest_memory_leads_like_all_others():
    specs = candidates(BASE, "balanced_accuracy")
    entered = entrants(specs, Views(6), more_may_come=False)
    board = Board.new(len(specs), 1)
    board.seen[:] = board.total[:] = 1e4
    board.right[:], board.right[entered.common] = 7e3, 7e3 + 1.0
    for team, leads in (([3, 4, 5], 3), ([4, 5], entered.common)):
        assert race.race(board, entered, [entered.common, *team], ("balanced_accuracy", None))[1] == leads


def test_it_follows_a_drift_and_says_by_which_memory():
    X, y = stream(12_000, drift=0.5)
    late = slice(7_000, None)
    auto, fixed = AutoPATERClassifier(), AutoPATERClassifier(forgetting=1.0)
    for each in (auto, fixed):
        each.partial_fit(X[:7_000], y[:7_000], classes=[0, 1])
    assert auto.best_params_["forgetting"] < 1
    assert fixed.best_params_["forgetting"] == 1
    rates = [np.mean([np.mean(each.predict(X[late])[y[late] == c] == c) for c in (0, 1)]) for each in (auto, fixed)]
    assert rates[0] > rates[1] + 0.1


def test_the_candidates_suit_the_score_the_width_and_what_was_asked_for():
    def begun(auto, d=4):
        rng = np.random.default_rng(0)
        frame = auto.fit(rng.standard_normal((40, d)), np.arange(40) % 2).scores_frame()
        return {tuple(row) for row in frame[["algorithm", "class_weight", "covariance"]].fillna("").to_numpy()}

    balanced = {("so-pater-i", "", "full"), ("arow", "balanced", "full")}
    assert begun(AutoPATERClassifier()) == balanced
    assert begun(AutoPATERClassifier(scoring="accuracy")) == {("arow", "", "full")}
    assert begun(AutoPATERClassifier(scoring="f1")) == {*balanced, ("arow", "", "full")}
    wide = {(rule, weight, "diagonal") for rule, weight, _ in balanced}
    assert begun(AutoPATERClassifier(), WIDEST + 1) == wide
    memories = AutoPATERClassifier(forgetting=0.9).fit(*stream(100)).scores_frame()["forgetting"]
    assert set(memories) == {0.9}
    assert set(AutoPATERClassifier().fit(*stream(100, d=60)).scores_frame()["forgetting"]) == {1.0, 0.999}


@pytest.mark.slow
def test_more_columns_than_a_full_covariance_is_for():
    specs = candidates(BASE, "balanced_accuracy")
    X, y = stream(2000)
    pool = Pool.new(np.array([0, 1]), Views(6), specs, "balanced_accuracy", more_may_come=True)
    pool.learn((X,), y)
    assert pool.specs[pool.entered.common].covariance == "diagonal"
    before = np.stack(pool.progressive())
    pool.resize(4096)
    assert {pool.specs[k].covariance for k in pool.models} == {"diagonal"}
    assert_array_equal(np.stack(pool.progressive()), before)
    assert pool.state.scalars["t"][0] == 2000
    pool.learn((np.hstack([X, np.zeros((2000, 4090))]),), y)
    assert pool.rows == 4000

    closed = Pool.new(np.array([0, 1]), Views(6), specs, "balanced_accuracy")
    closed.learn((X,), y)
    closed.resize(4096)  # others begin
    assert closed.state.scalars["t"][0] == 0
    assert closed.rows == 2000
    assert np.sum(closed.progressive()) == 2000


@pytest.mark.parametrize("n_classes", [2, 3])
def test_it_is_saved_and_goes_on_to_the_bit(n_classes, tmp_path):
    X, y = stream(n_classes=n_classes)
    auto = AutoPATERClassifier(probability=True, fading=0.98).partial_fit(X[:1234], y[:1234], classes=np.unique(y))
    auto.save(tmp_path / "auto.pater")
    again = pater.load(tmp_path / "auto.pater")
    assert same(again._model, auto._model)
    assert again.get_params() == auto.get_params()
    for each in (auto, again):
        each.partial_fit(X[1234:], y[1234:])
    assert same(again._model, auto._model)
    assert_array_equal(again.predict_proba(X), auto.predict_proba(X))
    assert again.progressive_score_ == auto.progressive_score_


@pytest.mark.first_quick
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pools_merge(n_classes):
    X, y = stream(6000, n_classes=n_classes)
    a, b = (AutoPATERClassifier().fit(X[part], y[part]) for part in (slice(0, 3500), slice(3500, None)))
    mine, theirs = a._model.copy(), b._model
    a.merge(b)
    both = a._model
    assert both.rows == a.t_ == 6000
    assert set(both.models) <= set(mine.models) & set(theirs.models)
    assert both.entered.common in both.models
    assert_allclose(np.stack(both.progressive()), np.stack(mine.progressive()) + np.stack(theirs.progressive()))
    for k, model in both.models.items():
        assert_array_equal(model.state.weights()[0], mine.models[k].merge(theirs.models[k]).state.weights()[0])
    assert a.partial_fit(X, y).t_ == 12_000


def test_a_third_class_keeps_what_was_answered():
    X, y = stream(1000)
    pool = AutoPATERClassifier().partial_fit(X, y)._model
    before = pool.progressive()
    pool.add_class(2)
    after = pool.progressive()
    assert_array_equal(after.tp, [before.tn[0], before.tp[0], 0])
    assert_array_equal(after.fp, [before.fn[0], before.fp[0], 0])
    assert balanced_accuracy(after)[1] == balanced_accuracy(before)[0]


def test_an_error_leaves_the_pool_as_it_was():
    X, y = stream(1000)
    auto = AutoPATERClassifier().partial_fit(X, y, classes=[0, 1])
    before = auto._model.copy()
    bad = X.copy()
    bad[700, 2] = np.nan
    for rows in (bad, bad[700:701]):
        with pytest.raises(ValueError, match="NaN"):
            auto.partial_fit(rows, y[: len(rows)])
        assert same(auto._model, before)
    with pytest.raises(ValueError, match="not among the classes"):
        auto.partial_fit(X[:1], [7])
    auto.set_params(scoring="accuracy")
    with pytest.raises(ValueError, match="scoring cannot change"):
        auto.partial_fit(X, y)
    assert same(auto._model, before)


def test_an_operating_point_from_some_row_on_keeps_what_was_answered():
    X, y = stream(1000)
    auto = AutoPATERClassifier().partial_fit(X[:330], y[:330], classes=[0, 1])
    told = np.sum(auto._model.progressive())
    auto.set_params(operating_point={"max_fpr": 0.1}).partial_fit(X[330:700], y[330:700])
    assert told == 330
    assert 680 < np.sum(auto._model.progressive()) <= 700  # there is no threshold before both classes were seen
    assert (np.stack(auto._model.progressive()) >= 0).all()
    auto.set_params(operating_point=None).partial_fit(X[700:], y[700:])
    assert 980 < np.sum(auto._model.progressive()) <= 1000


@pytest.mark.slow
def test_a_pool_whose_leader_went_away_is_saved(tmp_path):
    X, y = stream(8, d=200)
    wide = np.zeros((1, 300))
    wide[0, 299] = 1.0
    for seed in range(20):
        X, y = stream(8 + seed, d=200, seed=seed)
        pool = Pool.new(
            np.array([0, 1]), Views(200), candidates(BASE, "balanced_accuracy"), "balanced_accuracy", more_may_come=True
        )
        pool.learn((X,), y)
        pool.resize(300)
        pool.learn((wide,), np.array([1]))
        save(tmp_path / "m", Saved(pool))
        assert same(load(tmp_path / "m").model, pool)


def test_the_deviation_of_a_score_is_a_number_at_any_rates():
    for seen in (1.0, 1e7):
        board = Board(np.zeros((1, 1, 2)), np.full((1, 2), seen), np.full((1, 2), seen))
        with np.errstate(all="raise"):
            assert all(np.isfinite(board.deviation(0, scoring, None)) for scoring in SCORES)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_threads_that_take_candidates_leave_no_trace(n_classes, monkeypatch):
    X, y = stream(1500, n_classes=n_classes)
    pools = []
    for worth, threads in ((1 << 60, 1), (0, 2), (0, None)):
        monkeypatch.setattr(pool_pass, "WORTH_A_THREAD", worth)
        pool = AutoPATERClassifier().partial_fit(X[:5], y[:5], classes=np.arange(n_classes))._model
        pool.learn((X[5:],), y[5:], threads=threads)
        pools.append(pool)
    assert same(pools[0], pools[1])
    assert same(pools[0], pools[2])


def test_a_bad_row_is_the_same_one_by_threads(monkeypatch):
    X, y = stream(500)
    X[300, 2], X[310, 3] = np.nan, np.inf
    monkeypatch.setattr(pool_pass, "WORTH_A_THREAD", 0)
    for threads in (1, 2):
        pool = AutoPATERClassifier().partial_fit(X[:5], y[:5])._model
        with pytest.raises(ValueError, match="row 295"):
            pool.learn((X[5:],), y[5:], threads=threads, sound=True)
