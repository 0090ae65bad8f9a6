"""Models that share a call, a process or a pickle are independent: bit for bit as if each were alone."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from pater import PATERClassifier
from pater.kernels.rules import RULES
from pater.kernels.run import learn
from pater.kernels.state import State
from pater.models.matrices import rows_of
from pater.models.spec import RECORD

FORMS = ["dense-f8", "dense-f4", "csr-f8-i4"]
WIDTHS = [6, 90]


def settings_of_several(means):
    """Models that differ in every way that models may differ."""
    codes = [rule.code for rule in RULES.values() if rule.moves_along_means == means]
    p = np.zeros(5, RECORD)
    p["rule"] = np.resize(codes, 5)
    p["C"], p["positive"] = [1, 0.1, 0.01, 2, 1], [1, 0, 1, 2, 1]
    p["alpha_pos"], p["alpha_neg"] = [1, 0.3, 1, 2, 1], [1, 1, 0.01, 1, 1]
    p["balanced"], p["intercept"], p["average"] = [0, 0, 0, 0, 1], [1, 1, 0, 1, 1], [0, 1, 0, 1, 1]
    return p


@pytest.mark.parametrize("means", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_several_models_in_one_call_are_each_alone(means, form, d, threads, as_form, stream):
    """Long enough for several blocks of rows, and for threads to be used."""
    n = 6000
    X, y = stream(n, d, density=0.7)
    codes = (y > 0).astype(np.int64) + (X[:, 0] > 1)
    rows, p = rows_of(as_form(X, form)), settings_of_several(means)
    s = np.random.default_rng(0).exponential(size=n)
    together, margins = State.new(5, d, means=means), np.empty((5, n))
    assert learn(rows, codes, together, p, weights=s, margins=margins, threads=threads) == -1
    for k in range(5):
        alone, own = State.new(1, d, means=means), np.empty((1, n))
        learn(rows, codes, alone, p[k : k + 1], weights=s, margins=own)
        assert together.vectors[k].tobytes() == alone.vectors[0].tobytes()
        assert together.scalars[k].tobytes() == alone.scalars[0].tobytes()
        assert margins[k].tobytes() == own[0].tobytes()


@pytest.mark.parametrize("means", [True, False])
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
@pytest.mark.parametrize("wanted", ["margins", "counts only"])
@pytest.mark.parametrize("threads", [1, 2])
def test_counts_at_stops_are_those_of_the_rows_up_to_each(means, form, wanted, threads, as_form, stream):
    n, d, stops = 6000, 6, [0, 1, 700, 701, 701, 4096, 5999, 6000]
    X, y = stream(n, d, density=0.7)
    codes, p = (y > 0).astype(np.int64), settings_of_several(means)
    p["watch"] = 1
    counts, margins = np.full((len(stops), 5, 4), -1.0), np.empty((5, n)) if wanted == "margins" else None
    whole = State.new(5, d, means=means)
    rows = rows_of(as_form(X, form))
    assert learn(rows, codes, whole, p, margins=margins, stops=stops, counts=counts, threads=threads) == -1
    pieces = State.new(5, d, means=means)
    for start, stop, told in zip([0, *stops], stops, counts, strict=False):
        learn(rows_of(as_form(X[start:stop], form)), codes[start:stop], pieces, p)
        assert told.tobytes() == np.stack([pieces.scalars[name] for name in ("tp", "fp", "tn", "fn")], axis=1).tobytes()
    assert whole.scalars.tobytes() == pieces.scalars.tobytes()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_first_bad_row_is_found_whoever_meets_it(threads, stream):
    X, y = stream(9000, 6)
    X[[4321, 8000], 2] = np.nan
    codes, p = (y > 0).astype(np.int64), settings_of_several(means=True)
    assert learn(rows_of(X), codes, State.new(5, 6, means=True), p, threads=threads) == 4321


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("d", WIDTHS)
def test_one_model_of_a_multiclass_learner_is_its_class_against_the_rest(rule, form, d, learner, as_form, stream):
    X, y = stream(3000, d)
    y = y + 3 * (X[:, 0] > 0.7)
    X = as_form(X, form)
    together = learner(rule, average=True).fit(X, y)
    assert together.coef_.shape == (4, d)
    for k, label in enumerate(together.classes_):
        alone = learner(rule, average=True).fit(X, y == label)
        assert together.coef_[k].tobytes() == alone.coef_[0].tobytes()
        assert together.intercept_[k] == alone.intercept_[0]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
def test_n_jobs_changes_nothing(rule, form, learner, as_form, stream, bits):
    X, y = stream(5000, 20)
    y = y + 3 * (X[:, 0] > 0.7) + 6 * (X[:, 1] > 1.1)
    X = as_form(X, form)
    expected = bits(learner(rule, n_jobs=1).fit(X, y))
    for n_jobs in (None, -1, 2, 7, 64):
        assert bits(learner(rule, n_jobs=n_jobs).fit(X, y)) == expected


@pytest.mark.parametrize("other_forms", [[], ["dense-f4"]], ids=["doubles", "f4"])
def test_estimators_in_threads_learn_what_they_learn_one_by_one(other_forms, stream, as_form, bits):
    """Different estimators, the same data; each call releases the interpreter's lock while it learns."""
    X, y = stream(4000, 30)
    forms = [as_form(X, form) for form in ("dense-f8", "csr-f8-i4", *other_forms)]
    jobs = [(v, weight, form) for v in ("I", "II") for weight in (None, "balanced") for form in forms] * 3

    def learned(job):
        variant, weight, data = job
        model = PATERClassifier(variant, class_weight=weight, average=True)
        for start in range(0, 4000, 250):
            model.partial_fit(data[start : start + 250], y[start : start + 250])
            model.predict(data[:10])
        return bits(model)

    one_by_one = [learned(job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(learned, jobs)) == one_by_one


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", ["dense-f8", "csr-f8-i4"])
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize(
    "other",
    [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)
def test_copies_go_on_as_the_model_itself(rule, form, d, other, learner, as_form, stream, bits):
    """In mid-stream, and the original stays as it was."""
    X, y = stream(400, d)
    X = as_form(X, form)
    model = learner(rule, average=True, class_weight="balanced").partial_fit(X[:150], y[:150])
    twin, before = other(model), bits(model)
    assert bits(twin) == before
    twin.partial_fit(X[150:151], y[150:151]).partial_fit(X[151:], y[151:])
    assert bits(model) == before
    assert bits(twin) == bits(learner(rule, average=True, class_weight="balanced").fit(X, y))


def test_a_copy_of_either_kind_does_not_see_new_classes(stream, bits):
    X, y = stream(300, 4)
    model = PATERClassifier().partial_fit(X, y)
    twin, before = copy.copy(model), bits(model)
    twin.partial_fit(X[:1], [5])
    twin.partial_fit(X[:1], [1], classes=[-1, 1, 5])
    assert bits(model) == before


def test_a_clone_has_learned_nothing(stream):
    X, y = stream(100, 4)
    model = PATERClassifier("II", class_weight={-1: 0.5, 1: 1.0}, average=True).fit(X, y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "coef_")
    assert not hasattr(fresh, "n_features_in_")
