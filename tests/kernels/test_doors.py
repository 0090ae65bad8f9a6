"""The door into the compiled passes: input that does not fit is a clear error, and nothing is touched."""

from __future__ import annotations

import importlib.util
import itertools
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from pater import (
    ALMAClassifier,
    AROWClassifier,
    AutoPATERClassifier,
    ConfidenceWeightedClassifier,
    PassiveAggressiveClassifier,
    PATERClassifier,
    Perceptron,
    SecondOrderPATERClassifier,
    SecondOrderPerceptron,
    TERClassifier,
)
from pater.formats.batches import Batch
from pater.formats.errors import InputError
from pater.kernels.doors import CheckedRows
from pater.kernels.run import learn
from pater.kernels.state import State
from pater.models.matrices import csr_rows, rows_of
from pater.models.predict import margins_of
from pater.models.search import PAPER_WEIGHTS, Grid
from pater.models.spec import Spec, settings_of
from pater.reference import first_order as reference
from pater.stream.algorithms import specs_of
from pater.stream.learner import Learner


def _script():
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "forge_csr.py"
    spec = importlib.util.spec_from_file_location("forge_csr", path)
    sys.modules["forge_csr"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


forge_csr = _script()

N, D = 60, 5


def wpater():
    return AutoPATERClassifier(("I", "II"), PAPER_WEIGHTS)


ONLINE = [
    PATERClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
    ALMAClassifier,
    AROWClassifier,
    ConfidenceWeightedClassifier,
    SecondOrderPATERClassifier,
    SecondOrderPerceptron,
    AutoPATERClassifier,
]

# Another value for each parameter, and its effect between two calls: it counts from the next row on, it is only for
# `fit` or for prediction, or the learned state cannot continue with it.
COUNTS, NEITHER, REFUSED = "counts", "has no part in learning", "refused"
CHANGES = {
    "C": (0.05, COUNTS),
    "alpha": (0.5, COUNTS),
    "average": (True, COUNTS),
    "class_weight": ({0: 5.0, 1: 2.0}, COUNTS),
    "covariance": ("diagonal", REFUSED),
    "discount": (False, COUNTS),
    "eta": (0.6, COUNTS),
    "fading": (0.9, COUNTS),
    "fit_intercept": (False, REFUSED),
    "forgetting": (0.9, COUNTS),
    "form": ("step", REFUSED),
    "n_jobs": (1, NEITHER),
    "n_passes": (3, NEITHER),
    "operating_point": ({"max_fpr": 0.2}, COUNTS),  # margins are kept from then on
    "probability": (True, REFUSED),
    "r": (3.0, COUNTS),
    "random_state": (7, NEITHER),
    "scoring": ("accuracy", NEITHER),
    "scoring_settings": ({}, NEITHER),
    "shuffle": (True, NEITHER),
    "variant": ({"I": "II", "PA-I": "PA-II", "SCW-I": "SCW-II"}, COUNTS),
    "variants": (("II", "I"), REFUSED),
    "warm_start": (True, NEITHER),
    "weights": ((0.5,), REFUSED),
}
OF_THE_POOL = {"discount": NEITHER, "fading": NEITHER, "forgetting": REFUSED, "scoring": REFUSED}


def rows(seed=0, n=N, d=D):
    rng = np.random.default_rng(seed)
    y = np.resize([0, 1, 1, 0, 1], n)
    return rng.normal(size=(n, d)) + 0.8 * y[:, None], y


def changed(kind, name):
    value, effect = CHANGES[name]
    if kind is AutoPATERClassifier:
        effect = OF_THE_POOL.get(name, effect)
    return (value[kind().variant] if name == "variant" else value), effect


EVERY = [(kind, name) for kind in (*ONLINE, wpater) for name in kind().get_params()]


@pytest.mark.parametrize(("kind", "name"), EVERY, ids=[f"{kind.__name__}-{name}" for kind, name in EVERY])
def test_every_parameter_between_two_calls(kind, name, bits, unchanged_by):
    X, y = rows()
    more, z = rows(1)
    value, effect = changed(kind, name)
    model, same = (kind().partial_fit(X, y).partial_fit(X, y) for _ in range(2))
    before = getattr(model, name)
    model.set_params(**{name: value})
    if effect == REFUSED:
        assert name in unchanged_by(model, lambda: model.partial_fit(more, z), ValueError)
        assert name in unchanged_by(model, lambda: model.partial_fit(more, z, classes=[0, 1]), ValueError)
        model.set_params(warm_start=True)
        assert name in unchanged_by(model, lambda: model.fit(more, z), ValueError)
        model.set_params(**{name: before}, warm_start=False)
    model.partial_fit(more, z)
    same.partial_fit(more, z)
    assert model.t_ == 3 * N
    assert np.isfinite(model.decision_function(X)).all()
    assert (bits(model) == bits(same)) == (effect != COUNTS)
    model.set_params(**{name: value})
    assert model.fit(X, y).t_ == N * {"n_passes": 3, "warm_start": 4}.get(name, 1)  # from scratch, anything goes


@pytest.mark.parametrize(
    "change",
    [
        {"weights": (0.5,)},
        {"weights": (*PAPER_WEIGHTS, 0.7)},
        {"variants": ("I",)},
        {"variants": ["I"]},
    ],
    ids=str,
)
def test_other_models_than_have_been_learned(change, bits, unchanged_by):
    """As many or fewer or more: an error before anything is touched, and with the old parameters all is well again."""
    X, y = rows()
    model, same = (AutoPATERClassifier(("I", "II"), PAPER_WEIGHTS).partial_fit(X, y) for _ in range(2))
    model.set_params(**change)
    assert "do not match the models" in unchanged_by(model, lambda: model.partial_fit(X, y), ValueError)
    model.set_params(warm_start=True)
    assert "do not match the models" in unchanged_by(model, lambda: model.fit(X, y), ValueError)
    name = next(iter(change))
    model.set_params(**{name: getattr(same, name)}, warm_start=False)
    assert bits(model.partial_fit(X, y)) == bits(same.partial_fit(X, y))


@pytest.mark.parametrize("rule", ["pa-i", "pater-i", "pater-ii", "alma", "arow", "so-pater-i"])
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_an_average_that_begins_in_mid_stream(rule, form, learner, as_form, weights):
    """The weights at that moment count as those after each row before."""
    (X, y), (more, z) = rows(), rows(1)
    X, more = as_form(X, form), as_form(more, form)
    plain, averaged = learner(rule).partial_fit(X, y), learner(rule).partial_fit(X, y)
    total = N * weights(plain)
    for i in range(N):
        plain.partial_fit(more[i : i + 1], z[i : i + 1])
        total = total + weights(plain)
    averaged.set_params(average=True)
    with pytest.raises(ValueError, match="no average was kept"):
        averaged.decision_function(X)
    averaged.partial_fit(more, z)
    np.testing.assert_allclose(weights(averaged), total / (2 * N), rtol=1e-8, atol=1e-10)
    averaged.set_params(average=False)
    np.testing.assert_allclose(weights(averaged), weights(plain), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_forgetting_that_ends(variant, form, as_form, weights):
    """The same as if a class forgot hardly anything from then on."""
    (X, y), (more, z) = rows(n=200), rows(1)
    found = []
    for then in (1.0, 1.0 - 1e-13):
        model = PATERClassifier(variant, forgetting=0.8).partial_fit(as_form(X, form), y)
        found.append(weights(model.set_params(forgetting=then).partial_fit(as_form(more, form), z)))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-7, atol=1e-9)


def test_probabilities_that_were_not_asked_for_in_time(unchanged_by):
    X, y = rows()
    model = PATERClassifier().fit(X, y).set_params(probability=True)
    assert "probability" in unchanged_by(model, lambda: model.predict_proba(X), ValueError)
    model = PATERClassifier(probability=True).fit(X, y).set_params(probability=False).partial_fit(X, y)
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize(
    ("params", "named"),
    [
        ({"variants": "II"}, "variants must be a tuple"),
        ({"weights": 0.5}, "weights must be a tuple"),
        ({"variants": ([1],)}, "variants must be one of"),
        ({"scoring_settings": [1]}, "scoring_settings must be a dict"),
        ({"scoring": "cost", "scoring_settings": {"of_false_positive": "2"}}, "scoring_settings must hold non-neg"),
        ({"scoring": "cost", "scoring_settings": {"of_false_positive": np.nan}}, "scoring_settings must hold non-neg"),
    ],
    ids=str,
)
def test_parameters_of_the_search_that_are_none(params, named, unchanged_by):
    X, y = rows()
    for model in (AutoPATERClassifier(**params), AutoPATERClassifier().fit(X, y).set_params(**params)):
        assert named in unchanged_by(model, lambda model=model: model.partial_fit(X, y), ValueError)


# --- the pass itself


def a_pass(**changes):
    X, y = rows()
    given = {"rows": (X,), "codes": y, "state": State.new(1, D, means=True), "settings": settings_of((SPEC,), (0, 1))}
    given |= changes
    return learn(given.pop("rows"), given.pop("codes"), given.pop("state"), given.pop("settings"), **given)


SPEC = Spec("pater-i")
X0, Y0 = rows()
SPARSE = tuple(csr_rows(sp.csr_array(X0)))
UNFIT = {
    "narrow rows": {"rows": (X0[:, :3].copy(),)},
    "wide rows": {"rows": (np.hstack([X0, X0]),)},
    "rows in columns": {"rows": (np.asfortranarray(X0),)},
    "rows of integers": {"rows": (X0.astype(int),)},
    "one row": {"rows": (X0[0],)},
    "two arrays": {"rows": SPARSE[:2]},
    "sparse rows that are wider": {"rows": tuple(csr_rows(sp.csr_array(np.hstack([X0, X0]))))},
    "sparse rows that were checked, and are wider": {"rows": csr_rows(sp.csr_array(np.hstack([X0, X0])))},
    "signed indices": {"rows": (SPARSE[0], SPARSE[1].view(np.int32), SPARSE[2])},
    "columns out of order": {"rows": (SPARSE[0], SPARSE[1][::-1].copy(), SPARSE[2])},
    "an indptr that goes back": {"rows": (SPARSE[0][::-1].copy(), *SPARSE[1:])},
    "an indptr beyond the end": {"rows": (SPARSE[0], SPARSE[1][:-1], SPARSE[2])},
    "an indptr beyond the numbers": {"rows": (*SPARSE[:2], SPARSE[2][:-1])},
    "no indptr": {"rows": (SPARSE[0][:0], *SPARSE[1:])},
    "few codes": {"codes": Y0[:-1]},
    "many codes": {"codes": np.append(Y0, 1)},
    "codes of another type": {"codes": Y0.astype(np.int32)},
    "codes in steps": {"codes": np.repeat(Y0, 2)[::2]},
    "codes in two dimensions": {"codes": Y0[:, None]},
    "few weights": {"weights": np.ones(N - 1)},
    "many weights": {"weights": np.ones(N + 1)},
    "weights of another type": {"weights": np.ones(N, np.float32)},
    "an order beyond the end": {"order": np.array([0, N])},
    "an order before the beginning": {"order": np.array([0, -1])},
    "an order of another type": {"order": np.array([0, 1], np.int32)},
    "few margins": {"margins": np.zeros((1, N - 1))},
    "margins of too many models": {"margins": np.zeros((2, N))},
    "margins of another type": {"margins": np.zeros((1, N), np.float32)},
    "settings of too many models": {"settings": settings_of((SPEC, SPEC), (0, 1))},
    "a state of too many models": {"state": State.new(2, D, means=True)},
    "no settings": {"settings": settings_of((SPEC,), (0, 1))[:0]},
    "leaders and steps": {
        "state": State.new(2, D, means=True, metric="full"),
        "settings": settings_of((Spec("so-pater-i"), Spec("so-pater-i", form="step")), (0, 1)),
    },
    "stops beyond the end": {"stops": [N + 1]},
    "stops that go back": {"stops": [5, 3, N]},
    "few counts": {"stops": [5, N], "counts": np.zeros((1, 1, 4))},
}


@pytest.mark.parametrize("what", UNFIT)
def test_a_pass_takes_only_what_fits_together(what):
    state = UNFIT[what].get("state", State.new(1, D, means=True))
    before = pickle.dumps(state)
    with pytest.raises(ValueError, match=r"rows|codes|weights|order|margins|settings|stops|counts"):
        a_pass(**{**UNFIT[what], "state": state})
    assert pickle.dumps(state) == before
    assert a_pass() == -1


@pytest.mark.parametrize("metric", ["none", "diagonal", "full"])
@pytest.mark.parametrize("means", [True, False])
def test_margins_take_only_rows_of_the_same_width(means, metric):
    state = State.new(1, D, means=means, metric=metric)
    for X in (X0[:, :3], np.hstack([X0, X0])):
        for form in (np.ascontiguousarray(X), sp.csr_array(X)):
            if X.shape[1] < D and sp.issparse(form):  # missing columns are zeros
                assert margins_of(rows_of(form), state, average=False).shape == (N, 1)
                continue
            with pytest.raises(ValueError, match=f"the rows have {X.shape[1]} columns, but the model has {D}"):
                margins_of(rows_of(form), state, average=False)


def test_rows_that_were_checked_say_so():
    found = rows_of(sp.csr_array(X0))
    assert type(found) is CheckedRows
    assert found.width == D


# --- the grid


def a_grid():
    return Grid([Spec("pater-i"), Spec("pa-i"), Spec("arow", covariance="diagonal")], "accuracy")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("started", [True, False])
def test_a_grid_takes_only_what_fits_together(form, started, unchanged_by):
    X, y = rows()
    grid = a_grid()
    if started:
        grid.learn(form(X), y)
    calls = {
        "labels": lambda: grid.learn(form(X), y[:-1]),
        "1d": lambda: grid.learn(form(X), y[:, None]),
        "NaN": lambda: grid.learn(form(X), np.where(y == 1, np.nan, y)),
        "weights has shape": lambda: grid.learn(form(X), y, weights=np.ones(N - 1)),
        "weights must be": lambda: grid.learn(form(X), y, weights=np.full(N, 1e300)),
        "weights must hold": lambda: grid.learn(form(X), y, weights=np.full(N, 1j)),
        "row 7": lambda: grid.learn(form(np.where(np.arange(N)[:, None] == 7, np.nan, X)), y),
    }
    if started:
        calls |= {
            "X has 3 features": lambda: grid.learn(form(X[:, :3]), y),
            "X has 10 features": lambda: grid.learn(form(np.hstack([X, X])), y),
        }
    for named, call in calls.items():
        assert named in unchanged_by(grid, call, ValueError)
    grid.learn(form(X), y)
    assert grid.counts().tp.shape == (1, 3)


def test_a_grid_takes_what_becomes_an_array():
    X, y = rows()
    a, b = a_grid(), a_grid()
    a.learn(X.tolist(), y.tolist())
    b.learn(X, y)
    assert (a.counts().tp == b.counts().tp).all()


# --- the learner of the command line


def a_batch(X, y, **fields):
    return Batch(tuple(rows_of(X)), X.shape[1], y, source="rows", **fields)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("form", [np.array, sp.csr_array], ids=["dense", "csr"])
def test_a_learner_takes_rows_of_its_own_width(form, scale, unchanged_by):
    X, y = rows()
    learner = Learner(specs_of("pater-i"), scale=scale)
    learner.learn(a_batch(form(X), y))
    narrow, wide = form(X[:, :3]), form(np.hstack([X, X]))
    if form is np.array:
        message = unchanged_by(learner, lambda: learner.learn(a_batch(narrow, y)), InputError)
        assert "3 columns" in message
        assert "3 columns" in unchanged_by(learner, lambda: learner.margins(a_batch(narrow, None)), InputError)
    else:
        learner.learn(a_batch(narrow, y))
        assert learner.margins(a_batch(narrow, None)).shape == (N, 1)
    learner.learn(a_batch(wide, y))
    assert learner.n_features == 2 * D
    assert np.isfinite(learner.margins(a_batch(wide, None))).all()


@pytest.mark.parametrize("started", [True, False])
def test_a_learner_takes_only_what_fits_together(started, unchanged_by):
    X, y = rows()
    S = sp.csr_array(X)
    learner = Learner(specs_of("pater-i"), scale=True)
    if started:
        learner.learn(a_batch(S, y))
    indptr, indices, data = (array.copy() for array in rows_of(S))
    wrong = {
        "columns": Batch((X.copy(),), D + 1, y),
        "column index outside": Batch((indptr, indices + np.uint32(3), data), D, y),
        "indptr": Batch((indptr + np.uint32(1), indices, data), D, y),
        "out of order": Batch((indptr, indices[::-1].copy(), data), D, y),
        "59": Batch((indptr, indices, data), D, y[:-1]),
        "61": Batch((indptr, indices, data), D, y, weights=np.ones(N + 1)),
        "no labels": Batch((indptr, indices, data), D, None),
        "line 3: the importance": Batch((indptr, indices, data), D, y, weights=np.resize([1, 1, 1e21], N)),
    }
    if started:
        wrong["the label is 'a'"] = Batch((indptr, indices, data), D, np.full(N, "a"))
    for named, batch in wrong.items():
        assert named in unchanged_by(learner, lambda batch=batch: learner.learn(batch), InputError)
    learner.learn(a_batch(S, y))
    assert learner.rows == N * (1 + started)


# --- sparse matrices


INDEX_TYPES = ["i1", "u1", "i2", "u2", "u4", "u8", "i8", ">i2", ">i4", ">i8", ">u4", ">u8"]


def other_indices(matrix, name, kind):
    X = matrix.copy()
    for each in ("indptr", "indices") if name == "both" else (name,):
        setattr(X, each, getattr(X, each).astype(kind))
    return X


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if np.dtype(kind).itemsize > 4 else ()) for kind in INDEX_TYPES]
)
@pytest.mark.parametrize("name", ["indptr", "indices", "both"])
@pytest.mark.parametrize("order", ["ascending", "descending", "twice"])
def test_indices_of_any_type(name, kind, order, weights):
    X, y = rows(n=20)
    S = sp.csr_matrix(X)
    if order != "ascending":
        turned = np.concatenate([np.arange(k, k + D)[::-1] for k in range(0, 20 * D, D)])
        S.indices, S.data = S.indices[turned], S.data[turned]
    if order == "twice":
        S.indices[1::D] = S.indices[::D]
    S.has_sorted_indices = S.has_canonical_format = True  # a false claim
    expected = PATERClassifier().fit(np.asarray(S.toarray()), y)
    T = other_indices(S, name, kind)
    before = [array.tobytes() for array in (T.indptr, T.indices, T.data)]
    np.testing.assert_allclose(weights(PATERClassifier().fit(T, y)), weights(expected), rtol=1e-9)
    np.testing.assert_allclose(expected.decision_function(T), expected.decision_function(S.toarray()), rtol=1e-9)
    assert before == [array.tobytes() for array in (T.indptr, T.indices, T.data)]
    assert T.indices.dtype == (kind if name != "indptr" else S.indices.dtype)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", ">i4", ">i8"])
@pytest.mark.parametrize("index", [-1, D, 100])
@pytest.mark.parametrize("row", ["in order", "out of order"])
def test_indices_outside(kind, index, row, unchanged_by):
    X, y = rows(n=20)
    model = PATERClassifier().fit(X, y)
    S = sp.csr_array(X)
    S.indices = S.indices.astype(kind)
    S.indices[10 * D + (D - 1 if row == "in order" else 0)] = index
    for call in (lambda: model.fit(S, y), lambda: model.partial_fit(S, y), lambda: model.predict(S)):
        assert f"index outside 0..{D - 1}" in unchanged_by(model, call, ValueError)


@pytest.mark.parametrize("kind", ["f2", "f4", "g", "i1", "i8", "u2", "b1", ">f8", ">f4", ">i4", "O"])
def test_numbers_of_any_type(kind, weights):
    X, y = rows(n=20)
    S = sp.csr_array(X)
    S.data = S.data.astype(kind)
    dense = np.zeros((20, D))
    dense[np.repeat(np.arange(20), D), S.indices] = S.data.astype(float)
    np.testing.assert_allclose(
        weights(PATERClassifier().fit(S, y)), weights(PATERClassifier().fit(dense, y)), rtol=1e-9
    )


@pytest.mark.parametrize("kind", ["c16", "U9", "S9", "m8[s]", "V8"])
def test_numbers_that_are_none_at_all(kind, unchanged_by):
    X, y = rows(n=20)
    S, model = sp.csr_array(X), PATERClassifier().fit(X, y)
    S.data = np.zeros(S.data.size, kind)
    for call in (lambda: model.fit(S, y), lambda: model.predict(S)):
        assert "X" in unchanged_by(model, call)


def test_arrays_that_are_longer_than_the_rows(weights):
    X, y = rows(n=20)
    S = sp.csr_array(X)
    S.indices, S.data = np.append(S.indices, [-7, 99]).astype("i4"), np.append(S.data, [np.nan, np.inf])
    assert (
        weights(PATERClassifier().fit(S, y)).tobytes() == weights(PATERClassifier().fit(sp.csr_array(X), y)).tobytes()
    )
    assert S.indices.size == 20 * D + 2


@pytest.mark.parametrize("form", ["csc", "coo", "bsr", "dia", "lil", "dok"])
@pytest.mark.parametrize("make", ["array", "matrix"])
def test_other_formats(form, make, weights):
    X, y = rows(n=20, d=4)
    X[np.abs(X) < 0.3] = 0
    S = getattr(sp, f"csr_{make}")(X).asformat(form)
    expected = weights(PATERClassifier().fit(sp.csr_array(X), y))
    np.testing.assert_allclose(weights(PATERClassifier().fit(S, y)), expected, rtol=1e-12)


def forged_formats():
    X = np.where(np.abs(rows(n=20, d=4)[0]) < 0.5, 0, 1.5)
    for outside in (-1, 20, 10**6):
        S = sp.csc_array(X)
        S.indices[3] = outside
        yield S
    S = sp.csc_array(X)
    S.indptr = S.indptr[::-1].copy()
    yield S
    for outside in (-1, 2, 10**6):
        S = sp.csr_array(X).tobsr((2, 2))
        S.indices[0] = outside
        yield S
    S = sp.csr_array(X).tobsr((2, 2))
    S.data = S.data[:, :, :1].repeat(3, axis=2)
    yield S
    for name, outside in itertools.product(("row", "col"), (-1, 20, 10**6)):
        S = sp.coo_matrix(X)
        S.row, S.col = (array.copy() for array in (S.row, S.col))
        getattr(S, name)[5] = outside
        yield S
    S = sp.coo_matrix(X)
    S.data = S.data[:3]
    yield S
    S = sp.dia_array(X)
    S.data = S.data[:1]
    yield S
    S = sp.lil_array(X)
    S.rows[2] = [0, 9]
    S.data[2] = [1.0, 2.0]
    yield S
    S = sp.lil_array(X)
    S.rows[2] = [0]
    S.data[2] = [1.0] * 9
    yield S


@pytest.mark.parametrize("S", list(forged_formats()), ids=lambda S: S.format)
def test_forgeries_of_other_formats(S, unchanged_by):
    X, y = rows(n=20, d=4)
    for model in (PATERClassifier().fit(X, y), TERClassifier().fit(X, y)):
        for call in (lambda model=model: model.fit(S, y), lambda model=model: model.predict(S)):
            assert "X is not a sound" in unchanged_by(model, call, ValueError)


def test_read_only_and_unaligned_memory(tmp_path, weights):
    X, y = rows(n=20)
    expected = weights(PATERClassifier().fit(X, y))
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    raw = np.zeros(X.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(X.shape)
    unaligned[:] = X
    for form in (mapped, unaligned, unaligned[::-1][::-1], X.astype(">f8")):
        assert weights(PATERClassifier().fit(form, y)).tobytes() == expected.tobytes()
        assert weights(PATERClassifier().partial_fit(X[:3], y[:3]).partial_fit(form[3:], y[3:])).shape == (1, D + 1)
    S = sp.csr_array(X)
    S.data, S.indices, S.indptr = (np.load(_saved(tmp_path, a), mmap_mode="r") for a in (S.data, S.indices, S.indptr))
    np.testing.assert_allclose(weights(PATERClassifier().fit(S, y)), expected, rtol=1e-9)


def _saved(folder, array):
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, array)
    return path


@pytest.mark.parametrize("ndim", [1, 3])
def test_sparse_arrays_of_other_dimensions(ndim, unchanged_by):
    X, y = rows(n=20)
    S = sp.coo_array(np.ones(20)) if ndim == 1 else sp.coo_array(np.ones((20, 2, 2)))
    model = PATERClassifier().fit(X, y)
    assert "two dimensions" in unchanged_by(model, lambda: model.fit(S, y), ValueError)


@pytest.mark.slow
def test_forged_matrices():
    """Some hundreds of cases of `benchmarks/forge_csr.py`."""
    ended = forge_csr.main(400, seed=1)
    assert ended.total() == 400
    assert {how for _, how in ended} == {"learned", "refused"}


# --- labels, weights, classes


ODD_LABELS = {
    "two columns": np.zeros((N, 2), int),
    "one number": np.int64(3),
    "missing": np.array([None, *[1] * (N - 1)], object),
    "a NaN among objects": np.array([np.nan, *[1] * (N - 1)], object),
    "infinity among objects": np.array([np.inf, *[1] * (N - 1)], object),
    "a big-endian NaN": np.full(N, np.nan, ">f8"),
    "bytes and text": np.array([b"a", *["a"] * (N - 1)], object),
    "complex among objects": np.array([1j, *[1] * (N - 1)], object),
    "dates": np.full(N, "2020-01-01", "M8[D]"),
    "records": np.zeros(N, [("a", "i4")]),
    "too few": Y0[:-1],
    "sparse": sp.csr_array(np.eye(N)),
    "ragged": [[1], [1, 2]] * (N // 2),
    "text": "0" * N,
}


@pytest.mark.parametrize("kind", [*ONLINE, TERClassifier])
@pytest.mark.parametrize("what", ODD_LABELS)
def test_labels_of_odd_kinds(kind, what, unchanged_by):
    X, y = rows()
    for model in (kind(), kind().fit(X, y)):
        for call in (model.fit, getattr(model, "partial_fit", model.fit)):
            assert unchanged_by(model, lambda call=call: call(X, ODD_LABELS[what]))


SAME_LABELS = {
    "big-endian": Y0.astype(">i8"),
    "small and big-endian": Y0.astype(">u2"),
    "big-endian floats": Y0.astype(">f4"),
    "half precision": Y0.astype("f2"),
    "booleans": Y0.astype(bool),
    "objects": Y0.astype(object),
    "in steps": np.repeat(Y0, 2)[::2],
    "a column of one": Y0[:, None].ravel(),
    "unsigned": Y0.astype("u8"),
    "extended precision": Y0.astype("g"),
}


@pytest.mark.parametrize("kind", [*ONLINE, TERClassifier])
@pytest.mark.parametrize("what", SAME_LABELS)
def test_labels_of_any_type_are_the_same(kind, what, weights):
    X, y = rows()
    model = kind().fit(X, SAME_LABELS[what])
    assert weights(model).tobytes() == weights(kind().fit(X, y)).tobytes()
    assert model.classes_.tolist() == [0, 1]
    assert model.classes_.dtype.isnative


def test_text_of_other_widths_surrogates_and_byte_orders(weights):
    X, y = rows()
    names = np.array(["n", "a\ud800"])[y]
    model = PATERClassifier().partial_fit(X, names.astype(">U2")).partial_fit(X, np.where(y, "a\ud800", "n" * 1)[:N])
    assert model.partial_fit(X[:1], ["longer than any before"]).classes_.tolist() == [
        "a\ud800",
        "longer than any before",
        "n",
    ]


def test_labels_that_no_table_holds_are_told_apart():
    X, _ = rows(n=4)
    big = np.array([2**63 + 1, 2**63 + 3, 2**63 + 1, 5], np.uint64)
    assert PATERClassifier().fit(X, big).classes_.tolist() == sorted(set(big.tolist()))
    model = PATERClassifier().partial_fit(X, np.array([2.0**53, 1.0, 1.0, 1.0]))
    with pytest.raises(ValueError, match="9007199254740993 would be another class"):
        model.partial_fit(X, np.array([2**53, 1, 1, 1]), classes=[1.0, 2.0**53]).partial_fit(X, [2**53 + 1, 1, 1, 1])


@pytest.mark.parametrize(
    "classes",
    [
        [None, 1],
        [np.nan, 1.0],
        [[0, 1]],
        [0.5, 1.0],
        ["a", 1],
        np.array([0, "a"], object),
        [1j, 2],
        3,
        [0, 0],
        [b"a", "a"],
    ],
    ids=str,
)
def test_classes_that_are_none(classes, unchanged_by):
    X, y = rows()
    for model in (PATERClassifier(), PATERClassifier().partial_fit(X, y)):
        message = unchanged_by(model, lambda model=model: model.partial_fit(X, y, classes=classes))
        assert "classes" in message


@pytest.mark.parametrize(
    "s", [np.full(N, 1j), np.full(N, "1e400"), np.full(N, None), 1e300, [np.nan] * N, [[1]] * N, "x"]
)
@pytest.mark.parametrize("kind", [*ONLINE, TERClassifier])
def test_weights_of_odd_kinds(kind, s, unchanged_by):
    X, y = rows()
    for model in (kind(), kind().fit(X, y)):
        for call in (model.fit, getattr(model, "partial_fit", model.fit)):
            assert "sample_weight" in unchanged_by(model, lambda call=call: call(X, y, sample_weight=s), ValueError)


@pytest.mark.parametrize("kind", ONLINE)
@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", np.nan, [1]])
def test_numbers_of_threads_that_are_none(kind, n_jobs, unchanged_by):
    X, y = rows()
    for model in (kind(n_jobs=n_jobs), kind().fit(X, y).set_params(n_jobs=n_jobs)):
        assert "n_jobs" in unchanged_by(model, lambda model=model: model.fit(X, y), ValueError)
    for many in (-1, 10**30, np.int8(3)):
        assert kind(n_jobs=many).fit(X, y).t_ == N


# --- settings that cannot work, and states that are lost


@pytest.mark.parametrize("kind", [PATERClassifier, AutoPATERClassifier])
@pytest.mark.parametrize("forgetting", [0.0, 1e-13, 5e-324, np.nan, 1.0000001, "0.9"])
def test_forgetting_that_cannot_work(kind, forgetting, unchanged_by):
    X, y = rows()
    for model in (kind(forgetting=forgetting), kind().fit(X, y).set_params(forgetting=forgetting)):
        assert "forgetting must be" in unchanged_by(model, lambda model=model: model.partial_fit(X, y), ValueError)


@pytest.mark.parametrize("forgetting", [0.3, 1e-3, 1e-7, 1e-12])
@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_the_least_forgetting_works(forgetting, variant, form, as_form, weights):
    X, y = rows(n=300)
    w = reference.pater(np.c_[X, np.ones(300)], 2 * y - 1, variant, forgetting=forgetting)[-1]
    found = weights(PATERClassifier(variant, forgetting=forgetting).fit(as_form(X, form), y))[0]
    np.testing.assert_allclose(found, w, rtol=0, atol=1e-9 * np.abs(w).max())
    s = np.resize([1e20, 1e-20, 1.0], 300)
    for size in (1e102, 1e-102):
        model = PATERClassifier(variant, forgetting=forgetting).fit(as_form(size * X, form), y, sample_weight=s)
        assert np.isfinite(weights(model)).all()


@pytest.mark.parametrize("kind", [AROWClassifier, SecondOrderPATERClassifier, SecondOrderPerceptron])
@pytest.mark.parametrize("r", [5e-324, 1e-300, 1e-101, 1e101, 1e300])
def test_noise_that_cannot_work(kind, r, unchanged_by):
    X, y = rows()
    model = kind(r=r)
    assert "r must be a positive number between" in unchanged_by(model, lambda: model.fit(X, y), ValueError)
    with pytest.raises(InputError, match="r must be a positive number between"):
        specs_of("arow", r=r)


@pytest.mark.parametrize("kind", [*ONLINE, TERClassifier])
@pytest.mark.parametrize("weight", [0.0, -1.0, np.inf, np.nan])
def test_class_weights_that_cannot_work(kind, weight, unchanged_by):
    X, y = rows()
    model = kind(class_weight={0: weight, 1: 1.0})
    assert "class_weight must be" in unchanged_by(model, lambda: model.fit(X, y), ValueError)
    with pytest.raises(InputError, match="class_weight must be"):
        specs_of("pa", class_weight={0: weight})


@pytest.mark.parametrize("kind", [*ONLINE, TERClassifier])
def test_the_largest_weights_work(kind, weights):
    X, y = rows()
    s = np.resize([1e20, 1e-20, 1.0], N)
    for weight in (1e300, 1e20, 1e-20, 1e-300):
        model = kind(class_weight={0: weight, 1: 1.0}).fit(X, y, sample_weight=s)
        assert np.isfinite(weights(model)).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_a_state_that_is_lost_is_not_blamed_on_a_row(form):
    X, y = rows()
    model = PATERClassifier().fit(form(X), y)
    model._model.state.scalars["bias"] = np.nan
    calls = [lambda: model.predict(form(X))] + [lambda: model.partial_fit(X, y)] * (form is np.asarray)
    for call in calls:
        with pytest.raises(
            ValueError, match=r"weights of the model are not finite.*row 0 of X, whose own numbers are sound"
        ):
            call()
    with pytest.raises(ValueError, match="norm above"):
        PATERClassifier().fit(form(X * 1e110), y)


@pytest.mark.parametrize("margins", [np.zeros((2, 5)), np.zeros(2), np.zeros((1, 1, 1)), np.zeros((1, 3_000_000))])
def test_margins_that_are_not_those_of_the_models(margins):
    X, y = rows()
    learner = Learner((Spec("pater-i", watch=True, calibrate=True),))
    learner.learn(Batch((X,), X.shape[1], y))
    for call in (learner.probabilities, learner.labels):
        with pytest.raises(ValueError, match=r"margins must be of shape \(rows, 1\)"):
            call(margins)


def test_margins_that_are_whole_numbers():
    X, y = rows()
    learner = Learner((Spec("pater-i", watch=True, calibrate=True),))
    learner.learn(Batch((X,), X.shape[1], y))
    np.testing.assert_array_equal(learner.probabilities(np.ones((2, 1), int)), learner.probabilities(np.ones((2, 1))))
