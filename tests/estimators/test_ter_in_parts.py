"""The batch solution learned in parts: any batches and shards in any order give that of all rows, to rounding."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import pater
from pater import TERClassifier, merge_all
from pater.estimators.least_squares import solve
from pater.files.model_file import ModelFileError
from pater.reference.second_order import so_pater, so_pater_by_the_end

FORMS = {
    "dense": np.asarray,
    "sparse": sp.csr_array,
    "columns": sp.csc_matrix,
    "single": lambda X: X.astype(np.float32),
}
CUTS = {"one": 1, "two": 2, "many": 23, "rows": 400}


def rows_of(n=400, d=7, classes=2, seed=0):
    random = np.random.default_rng(seed)
    y = random.choice(classes, n, p=[0.7, 0.3] if classes == 2 else [0.6, 0.3, 0.1])
    X = random.normal(size=(n, d)).round(2) + 0.5 * y[:, None]
    return X.astype(np.float32).astype(float), y


def solved(X, y, s=None, *, ridge=0.0, alpha=None, intercept=True):
    """The solution from the rows themselves, one class against the rest."""
    s = np.ones(len(y)) if s is None else s
    found = []
    for k in [1] if y.max() == 1 else range(y.max() + 1):
        sides = {True: (alpha or {}).get(k, 1.0), False: (alpha or {}).get(0, 1.0) if y.max() == 1 else 1.0}
        v = s * np.where(y == k, sides[True] / s[y == k].sum(), sides[False] / s[y != k].sum())
        w, b = solve(X, np.where(y == k, 1.0, -1.0), v, ridge=ridge, intercept=intercept)
        found.append([*w, b])
    return np.array(found)


def weights(model):
    return np.hstack([model.coef_, model.intercept_[:, None]])


def assert_same(model, expected, bound=1e-10):
    error = np.linalg.norm(weights(model) - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert (error <= bound).all(), error


def parts_of(n, count, seed=1):
    return np.array_split(np.random.default_rng(seed).permutation(n), count)


def learned(X, y, some, s=None, **params):
    return TERClassifier(**params).partial_fit(X[some], y[some], sample_weight=None if s is None else s[some])


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", FORMS)
def test_parts_in_any_order_are_the_whole(cut, classes, form):
    X, y = rows_of(classes=classes)
    s = np.random.default_rng(2).integers(0, 4, len(y)).astype(float)
    made, model, parts = FORMS[form](X), TERClassifier(), parts_of(len(y), CUTS[cut])
    for some in parts:
        rows = made.tocsr()[some] if sp.issparse(made) else made[some]
        model.partial_fit(rows, y[some], sample_weight=s[some])
    expected = solved(X, y, s)
    assert_same(model, expected)
    assert_same(TERClassifier().fit(made, y, sample_weight=s), expected)
    assert model.t_ == (s > 0).sum()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("shards", [2, 5, 40])
def test_shards_in_any_order_and_grouping_are_the_whole(classes, shards):
    """The first shard holds rows of one class only, the second only rows of weight 0."""
    X, y = rows_of(classes=classes)
    s = np.ones(len(y))
    order = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y > 0)])
    models = [learned(X, y, some, s) for some in np.array_split(order, shards)]
    models.insert(1, learned(X, y, slice(0, 3), np.zeros(len(y))))
    before = pickle.dumps(models)
    expected = solved(X, y)
    assert_same(merge_all(models), expected)
    assert_same(merge_all(models[::-1]), expected)
    half = len(models) // 2
    assert_same(merge_all([merge_all(models[half:]), merge_all(models[:half])]), expected)
    assert pickle.dumps(models) == before
    assert merge_all(models).t_ == len(y)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_ridge_weights_and_intercept_are_chosen_afterwards(classes, intercept):
    X, y = rows_of(classes=classes)
    model = merge_all(learned(X, y, some) for some in parts_of(len(y), 5))
    first = weights(model)
    for ridge, alpha in ((0.3, {1: 2.0}), (0.0, {0: 0.1, 1: 1.5}), (2.0, None)):
        before = weights(model)
        model.set_params(ridge=ridge, class_weight=alpha, fit_intercept=intercept)
        assert np.array_equal(weights(model), before)  # not before it is asked to
        assert_same(model.solve(), solved(X, y, ridge=ridge, alpha=alpha, intercept=intercept))
    model.set_params(ridge=0.3, class_weight=None).partial_fit(X[:9], y[:9])
    seen = np.concatenate([np.arange(len(y)), np.arange(9)])
    assert_same(model, solved(X[seen], y[seen], ridge=0.3, intercept=intercept))
    model.set_params(ridge=0.0, fit_intercept=True).merge(TERClassifier(ridge=5.0).partial_fit(X[:9], y[:9]))
    seen = np.append(seen, np.arange(9))
    assert_same(model, solved(X[seen], y[seen]))
    assert not np.allclose(weights(model), first, rtol=1e-6)


def test_fit_goes_on():
    X, y = rows_of()
    model = TERClassifier(0.1).fit(X[:100], y[:100]).partial_fit(X[100:250], y[100:250])
    assert_same(model.merge(TERClassifier(0.1).fit(X[250:], y[250:])), solved(X, y, ridge=0.1))
    assert_same(model.fit(X[:50], y[:50]), solved(X[:50], y[:50], ridge=0.1))


def test_classes_that_turn_up_later_count_from_the_start():
    X, y = rows_of(classes=3)
    order = np.argsort(y)
    model = TERClassifier()
    for some in np.array_split(order, 7):
        model.partial_fit(X[some], y[some])
    assert model.classes_.tolist() == [0, 1, 2]
    assert_same(model, solved(X, y))
    named = TERClassifier().partial_fit(X[order[:20]], np.array(["a", "bb", "ccc"])[y[order[:20]]])
    named.partial_fit(X[order[20:]], np.array(["a", "bb", "ccc"])[y[order[20:]]])
    assert named.classes_.tolist() == ["a", "bb", "ccc"]
    assert_same(named, solved(X, y))


def test_one_class_and_no_rows_at_all():
    X, y = rows_of()
    zeros, ones = X[y == 0], X[y == 1]
    model = TERClassifier().partial_fit(zeros, np.zeros(len(zeros), int))
    assert (model.predict(X) == 0).all()
    assert (model.coef_ == 0).all()
    for rows, label in ((zeros, 0), (ones, 1)):
        model = TERClassifier().partial_fit(rows, np.full(len(rows), label), classes=[0, 1])
        assert (model.predict(X) == label).all()
        without = TERClassifier(fit_intercept=False).partial_fit(rows, np.full(len(rows), label), classes=[0, 1])
        assert np.isfinite(without.coef_).all()
    three = TERClassifier().partial_fit(X, y, classes=[0, 1, 2])  # no row of the third
    assert set(three.predict(X)) == {0, 1}
    assert_same(three.partial_fit(X[:5], np.full(5, 2)), solved(np.vstack([X, X[:5]]), np.append(y, [2] * 5)))
    empty = TERClassifier().partial_fit(X, y, sample_weight=np.zeros(len(y)))
    assert (empty.decision_function(X) == 0).all()
    assert empty.t_ == 0
    assert_same(empty.partial_fit(X, y), solved(X, y))


def test_columns_that_stay_the_same_far_from_zero():
    """Their class means must not differ even by rounding: that would separate the classes perfectly."""
    X, y = rows_of()
    wide = np.hstack([X, np.full((len(y), 1), 1.7e9 / 3), np.full((len(y), 1), 0.1)])
    for model in (
        TERClassifier().fit(wide, y),
        merge_all(learned(wide, y, some) for some in parts_of(len(y), 30)),
        merge_all(learned(sp.csr_array(wide), y, some) for some in parts_of(len(y), 3)),
    ):
        assert (model.coef_[0, -2:] == 0).all()
        np.testing.assert_allclose(model.coef_[0, :-2], solved(X, y)[0, :-1], rtol=1e-10)
    tiny = 2.0**-60 * X  # next to which a weight of mere rounding would drown all others
    wide = np.hstack([np.full((len(y), 2), 7e8), tiny])
    model = merge_all(learned(wide, y, some) for some in parts_of(len(y), 9))
    assert (model.coef_[0, :2] == 0).all()
    np.testing.assert_allclose(
        model.decision_function(wide), TERClassifier().fit(tiny, y).decision_function(tiny), rtol=1e-8
    )


def test_rows_far_from_zero_lose_no_digits():
    X, y = rows_of()
    model = merge_all(learned(X + 2.0**20, y, some) for some in parts_of(len(y), 10))  # which is exact
    np.testing.assert_allclose(model.coef_[0], solved(X, y)[0, :-1], rtol=1e-11)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_shortest_of_many_solutions(intercept):
    """Repeated columns, a column of zeros, fewer rows than columns: as from the rows themselves."""
    X, y = rows_of()
    doubled = np.hstack([X, X, np.zeros((len(y), 1))])
    model = merge_all(learned(doubled, y, some, fit_intercept=intercept) for some in parts_of(len(y), 20))
    assert_same(model, solved(doubled, y, intercept=intercept), 1e-9)
    wide, y = rows_of(30, 60)
    model = merge_all(learned(wide, y, some, fit_intercept=intercept) for some in parts_of(30, 4))
    assert_same(model, solved(wide, y, intercept=intercept), 1e-9)


def exact(X, y, s):
    """Eq. 9 in rational numbers, rounded only at the end: the weights, then the intercept."""
    side = [sum(map(Fraction, s[y == c].tolist())) for c in (0, 1)]
    rows = [[*map(Fraction, x), Fraction(1)] for x in X.tolist()]
    size = len(rows[0])
    system = [[Fraction(0)] * (size + 1) for _ in range(size)]
    for x, c, weight in zip(rows, y.tolist(), s.tolist(), strict=True):
        for i in range(size):
            part = Fraction(weight) / side[c] * x[i]
            for j, value in enumerate([*x, Fraction(2 * c - 1)]):
                system[i][j] += part * value
    for i in range(size):
        pivot = next(k for k in range(i, size) if system[k][i])
        system[i], system[pivot] = system[pivot], system[i]
        system[i] = [value / system[i][i] for value in system[i]]
        for k in range(size):
            if k != i:
                system[k] = [a - system[k][i] * b for a, b in zip(system[k], system[i], strict=True)]
    return np.array([float(line[-1]) for line in system])


def rounding(X, y, s, w):
    """ε·‖A seen from the origin‖/‖A‖·κ·(2 + (κ + 1)ρ), see docs/algorithms.md: what one rounding of A costs w."""
    v = s * np.where(y == 1, 1 / s[y == 1].sum(), 1 / s[y == 0].sum())
    sign = 2.0 * y - 1
    A = np.sqrt(v)[:, None] * (X - v @ X / v.sum())
    values = np.linalg.svd(A, compute_uv=False)
    kappa = values[0] / values[-1]
    rho = np.linalg.norm(np.sqrt(v) * (sign - v @ sign / v.sum()) - A @ w) / (values[0] * np.linalg.norm(w))
    far = np.linalg.norm(np.sqrt(v)[:, None] * (X - X[0])) / values[0]
    return np.finfo(float).eps * far * kappa * (2 + (kappa + 1) * rho)


@pytest.mark.parametrize("decades", [0, 3, 6, 9])
@pytest.mark.parametrize("far", [0.0, 1e5])
def test_what_ill_conditioned_columns_lose(decades, far):
    """Against rational numbers: no more than two roundings of the rows, whose cost grows with the condition."""
    random = np.random.default_rng(decades)
    y = (random.random(120) < 0.3).astype(int)
    turn = np.linalg.qr(random.normal(size=(4, 4)))[0]
    X = (random.normal(size=(120, 4)) + y[:, None]) * np.logspace(0, -decades, 4) @ turn + far
    s = random.integers(1, 4, 120).astype(float)
    w = exact(X, y, s)[:-1]
    bound = 2 * rounding(X, y, s, w)
    models = [TERClassifier().fit(X, y, sample_weight=s)]
    for count in (1, 9, 120):
        model = TERClassifier()
        for some in np.array_split(np.arange(120), count):
            model.partial_fit(X[some], y[some], sample_weight=s[some])
        models += [model, merge_all(learned(X, y, some, s) for some in parts_of(120, count))]
    for model in models:
        assert np.linalg.norm(model.coef_[0] - w) <= bound * np.linalg.norm(w)


@pytest.mark.parametrize("alpha", [(1.0, 1.0), (0.3, 2.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_second_order_pater_ii_by_the_balance_of_the_end(alpha, weighted):
    """Its r is a ridge of r·(α⁻ + α⁺)/n, and its intercept a column of ones like any other."""
    X, y = rows_of(60, 4)
    s = np.random.default_rng(3).integers(0, 3, 60).astype(float) if weighted else np.ones(60)
    with_ones, sign = np.hstack([X, np.ones((60, 1))]), 2 * y - 1
    expected = so_pater_by_the_end(with_ones, sign, 30.0, alpha=alpha, s=s)
    model = TERClassifier(class_weight={0: alpha[0], 1: alpha[1]}, fit_intercept=False)
    for t in range(60):
        model.partial_fit(with_ones[t : t + 1], y[t : t + 1], classes=[0, 1], sample_weight=s[t : t + 1])
        n = s[: t + 1].sum()
        if n > 0 and min(s[: t + 1][y[: t + 1] == c].sum() for c in (0, 1)) > 0:
            model.set_params(ridge=30.0 * sum(alpha) / n).solve()
            np.testing.assert_allclose(model.coef_[0], expected[t], rtol=1e-9, atol=1e-12)
    entered = so_pater(with_ones, sign, "II", 30.0, alpha=alpha, s=s)[-1]  # by the balance at entry: near, but not it
    assert 1e-6 < np.abs(entered - expected[-1]).max() < 0.1


def test_what_is_refused_leaves_no_trace(unchanged_by):
    X, y = rows_of()
    model = TERClassifier().partial_fit(X, y, classes=[0, 1])
    bad = X.copy()
    bad[3, 2] = np.nan
    calls = {
        "row 3, column 2": lambda: model.partial_fit(bad, y),
        "features": lambda: model.partial_fit(X[:, :3], y),
        "7": lambda: model.partial_fit(X, np.where(y == 1, 7, 0)),
        "classes": lambda: model.partial_fit(X, y, classes=[0, 1, 2]),
        "sample_weight": lambda: model.partial_fit(X, y, sample_weight=-np.ones(len(y))),
        "text": lambda: model.partial_fit(X, np.where(y == 1, "a", "b")),
        "n_features_in_=3 where this one has n_features_in_=7": lambda: model.merge(TERClassifier().fit(X[:, :3], y)),
        "the other has text as classes": lambda: model.merge(TERClassifier().fit(X, np.where(y == 1, "a", "b"))),
        "Perceptron": lambda: model.merge(pater.Perceptron().fit(X, y)),
        "not fitted": lambda: model.merge(TERClassifier()),
    }
    for named, call in calls.items():
        assert named in unchanged_by(model, call)
    fresh = TERClassifier()
    assert "not fitted" in unchanged_by(fresh, lambda: fresh.merge(model))
    assert "not fitted" in unchanged_by(fresh, fresh.solve)
    assert "row 3, column 2" in unchanged_by(fresh, lambda: fresh.partial_fit(bad, y))
    model.set_params(ridge=-1.0)
    for call in (model.solve, lambda: model.merge(model), lambda: model.partial_fit(X, y)):
        assert "ridge" in unchanged_by(model, call)
    weighted = TERClassifier(class_weight={5: 2.0})
    assert "class_weight names [5]" in unchanged_by(weighted, lambda: weighted.partial_fit(X, y, classes=[0, 1]))


def test_columns_too_many_for_moments(unchanged_by):
    X = sp.csr_array(([1.0, 2.0], ([0, 1], [5, 29_999])), shape=(2, 30_000))
    model = TERClassifier()
    said = unchanged_by(model, lambda: model.partial_fit(X, [0, 1], classes=[0, 1]))
    assert "30,000 columns take 26.8 GiB for 2 classes" in said
    assert "Use fit" in said
    model.fit(X, [0, 1])  # fewer rows than columns, made dense
    for call in (lambda: model.partial_fit(X, [0, 1]), lambda: model.merge(model), model.solve):
        assert "only the solution was kept" in unchanged_by(model, call)
    assert not hasattr(model, "t_")


@pytest.mark.slow
def test_sparse_rows_are_filled_in_some_at_a_time():
    random = np.random.default_rng(0)
    X = sp.random_array((60_000, 60), density=0.02, format="csr", rng=random)  # 29 MB when dense
    y = random.choice([0, 1], 60_000)
    TERClassifier().partial_fit(X[:500], y[:500])
    tracemalloc.start()
    model = TERClassifier().partial_fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12e6
    assert_same(model, solved(X.toarray(), y))


def test_copies_and_files_go_on_to_the_bit(tmp_path):
    X, y = rows_of(classes=3)
    model = TERClassifier(0.01, class_weight={1: 2.0}).partial_fit(X[:90], y[:90])
    model.save(tmp_path / "m")
    loaded = pater.load(tmp_path / "m")
    assert loaded.get_params() == model.get_params()
    others = [loaded, copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    more = TERClassifier(class_weight={1: 2.0}).partial_fit(X[90:200], y[90:200])
    model.merge(more).partial_fit(X[200:], y[200:])
    expected = model.set_params(ridge=0.5).solve().coef_.tobytes()
    for other in others:
        other.merge(more).partial_fit(X[200:], y[200:])
        assert other.set_params(ridge=0.5).solve().coef_.tobytes() == expected
        assert other.t_ == 400
    assert not hasattr(clone(model), "classes_")


def test_a_file_tells_what_was_solved_and_what_is_asked(tmp_path):
    """Parameters that were set since count from the next call on, in the file as in memory."""
    X, y = rows_of()
    model = TERClassifier().partial_fit(X, y).set_params(ridge=3.0)
    model.save(tmp_path / "m")
    again = pater.load(tmp_path / "m")
    assert again.coef_.tobytes() == model.coef_.tobytes()
    assert again.solve().coef_.tobytes() == model.solve().coef_.tobytes()
    assert_same(model, solved(X, y, ridge=3.0))
    for label in (1.0, 2.0):
        TERClassifier(label).partial_fit(X[:1], y[:1], sample_weight=[0.0]).save(tmp_path / "empty")
        assert pater.load(tmp_path / "empty").partial_fit(X, y).t_ == 400


def test_the_command_line_merges_files(tmp_path, capfd):
    X, y = rows_of(classes=3)
    models = [learned(X, y, some, ridge=0.2) for some in parts_of(len(y), 4)]
    names = [str(tmp_path / f"{k}.pater") for k in range(4)]
    for model, name in zip(models, names, strict=True):
        model.save(name)
    both = str(tmp_path / "all.pater")
    assert run("merge", *names, "-m", both) == 0
    merged, expected = pater.load(both), merge_all(models)
    assert weights(merged).tobytes() == weights(expected).tobytes()
    assert (merged.ridge, merged.t_) == (0.2, 400)
    assert_same(merged.partial_fit(X[:9], y[:9]), weights(expected.partial_fit(X[:9], y[:9])), 0.0)
    models[1].set_params(ridge=0.0).solve().save(names[1])
    capfd.readouterr()
    assert run("merge", *names, "-m", both) == 1
    assert f"{names[1]} has ridge=0.0 where {names[0]} has ridge=0.2" in capfd.readouterr().err
    assert run("inspect", both) == 0
    assert "ridge 0.2" in capfd.readouterr().out


def run(*arguments):
    from pater.cli import main

    with pytest.raises(SystemExit) as leave:
        main(list(arguments))
    return leave.value.code


def test_behind_an_encoder_columns_may_turn_up():
    pd = pytest.importorskip("pandas")
    from pater.estimators.shards import begun_bytes, starting_from, together, without_begun
    from pater.preprocessing import TableEncoder
    from pater.stream import OnlinePipeline

    random = np.random.default_rng(0)
    table = pd.DataFrame({"amount": random.normal(size=900), "kind": random.choice(list("uvw"), 900)})
    table.loc[600:, "kind"] = random.choice(list("vwxyz"), 300)
    y = (table["amount"] + (table["kind"] == "w") > 0.5).to_numpy().astype(int)
    begun = OnlinePipeline([("table", TableEncoder(warm_up=200)), ("model", TERClassifier(1e-3))])
    begun.partial_fit(table[:200], y[:200])
    whole, one, two = (copy.deepcopy(begun) for _ in range(3))
    whole.partial_fit(table[200:600], y[200:600]).partial_fit(table[600:], y[600:])
    one.partial_fit(table[200:600], y[200:600])
    two.partial_fit(table[600:], y[600:])
    assert whole.named_steps["model"].t_ == 900
    assert whole.named_steps["model"].n_features_in_ > begun.named_steps["model"].n_features_in_
    assert one.merge(two).named_steps["model"].t_ == 1100  # those of the common beginning count twice
    assert (one.predict(table) == whole.predict(table)).mean() > 0.95
    content = begun_bytes(begun, [(table[:200], y[:200], None)])
    shards = []
    for some in (slice(0, 500), slice(500, 900)):
        shard = starting_from(content, begun).partial_fit(table[some], y[some])
        shards.append(without_begun(content, shard))
    merged = together(content, merge_all(shards))
    assert merged.named_steps["model"].t_ == 900  # each row once
    assert (merged.predict(table) == whole.predict(table)).mean() > 0.95


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda header, arrays: header["moments"].update(ridge=-1.0), "ridge"),
        (lambda header, arrays: header["moments"].update(rows=[1]), "count rows"),
        (lambda header, arrays: header["moments"].update(rows=[1 << 53, 1 << 53]), "count rows"),
        (lambda header, arrays: header["moments"].update(rows=[0, 31]), "do not go with their rows"),
        (lambda header, arrays: header["moments"].update(factor_rows=[1.0, 2]), "count rows"),
        (lambda header, arrays: header["moments"].update(factor_rows=[10**6, 0]), "count rows"),
        (lambda header, arrays: header["moments"].update(factor_rows=[1, 1]), "wrong shape"),
        (lambda header, arrays: header["moments"].pop("rows"), "missing"),
        (lambda header, arrays: header.update(moments=[1]), "missing or of the wrong type"),
        (lambda header, arrays: header["specs"][0].update(rule="pa"), "makes none"),
        (lambda header, arrays: arrays["moments.weights"].__setitem__(0, -1.0), "weights"),
        (lambda header, arrays: arrays["moments.weights"].__setitem__(0, np.nan), "weights"),
        (lambda header, arrays: arrays["moments.origin"].__setitem__(0, np.inf), "origin"),
        (lambda header, arrays: arrays["moments.means"].__setitem__((0, 0), 1e200), "means"),
        (lambda header, arrays: arrays["moments.factors"].__setitem__((0, 0), np.nan), "factors"),
        (lambda header, arrays: arrays.update({"moments.means": np.zeros((2, 3))}), "wrong shape"),
        (lambda header, arrays: arrays.pop("moments.origin"), "missing"),
    ],
)
def test_forged_moments_are_refused(tmp_path, change, said):
    from pater.files import container

    X, y = rows_of(40, 2)
    TERClassifier().partial_fit(X, y).save(tmp_path / "m")
    header, arrays = container.read(tmp_path / "m", {})
    change(header, arrays)
    container.write(tmp_path / "m", {k: v for k, v in header.items() if k not in ("checksum", "version")}, arrays)
    with pytest.raises(ModelFileError, match=said):
        pater.load(tmp_path / "m")
