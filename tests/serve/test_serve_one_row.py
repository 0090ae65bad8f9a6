"""JSON rows that come one by one: encoded, learned and answered as in a batch, to the bit."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from pater.formats.errors import InputError
from pater.formats.row_batch import RowBatch
from pater.preprocessing.row_encoding import AskedRow
from pater.serve.initial_learner import new_learner
from pater.serve.rows.rows import rows_of_json
from pater.serve.served_learner import Served
from pater.stream.row_answers import RowAnswers

CATEGORIES = [*(f"c{k}" for k in range(8)), "NA", "true", " c1", "7", "é"]


def rows(n, seed=0, n_classes=2):
    """Rows with all kinds of columns, and cells that are missing, new, or of another kind than the others."""
    rng = np.random.default_rng(seed)

    def odd(value, *others):
        return value if rng.random() < 0.93 else [None, *others][int(rng.integers(1 + len(others)))]

    found = []
    for k in range(n):
        x = float(rng.normal())
        features = {
            "x": odd(x, "1.5", True, -0.0, 10**200, 10**305),
            "n": odd(int(rng.integers(-3, 40)), "n/a", 2**70),
            "c": odd(CATEGORIES[int(rng.integers(len(CATEGORIES)))], 7, False, f"new {k}"),
            "when": odd(f"2024-0{1 + k % 9}-1{k % 7}T{k % 24:02}:30:00", "never", 12.5),
            "text": odd(" ".join(f"w{w}" for w in rng.integers(0, 20, 1 + k % 12)), 3.0),
            "id": f"{k}-{rng.integers(1 << 40)}",
        }
        found.append({"features": features, "label": int(np.digitize(x + rng.normal(), np.arange(1, n_classes) / 2))})
    return found


ALGORITHMS = {
    "auto": {"algo": "auto", "options": {"probability": True}},
    "auto, crossed": {"algo": "auto", "interactions": [["c", "n"], ["x", "n"]], "options": {}},
    "auto, operating point": {"algo": "auto", "options": {"operating_point": {"max_fpr": 0.1}}},
    "second order": {"algo": "so-pater-i", "options": {"covariance": "diagonal", "probability": True}},
    "first order": {"algo": "pater-i", "options": {"average": True}},
}


def read(body, columns=None, labelled=True):
    return rows_of_json({"rows": body}, columns, labelled=labelled)


def served(settings, told, columns):
    """A service that has learned some rows together."""
    found = Served(new_learner(settings, columns))
    found.learn(read(told, columns).batch)
    return found


@pytest.mark.first_quick
@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_one_by_one_is_as_together(name, plain):
    told, others = rows(1080), rows(20, seed=1)
    if plain:
        for row in told + others:
            row["features"] = {key: row["features"][key] for key in ("x", "n", "c")}
    columns, first = read(told).columns, 1000
    together, single = (served(ALGORITHMS[name], told[:first], columns) for _ in range(2))
    assert single.is_settled
    kinds = set()
    for row in told[first:]:
        one = read([row], columns).batch
        kinds.add(type(one))
        asked = read([{"features": row["features"]}], columns, labelled=False).batch
        batch = copy.copy(asked)
        batch.table, batch.cells = asked.table, None  # as a batch is read
        said = single.answers(asked)
        assert said == single.answers(batch)
        assert single.answers(asked, 0.25) == single.answers(batch, 0.25)
        single.learn(one)
    assert RowBatch in kinds
    together.learn(read(told[first:], columns).batch)
    assert single.content() == together.content()
    encoder = single.learner.encoder
    assert (AskedRow.of(encoder.encoding, encoder.resolution) is not None) == (plain and "crossed" not in name)
    some = [{"features": row["features"]} for row in others]
    alone = [single.answers(read([row], columns, labelled=False).batch)[0] for row in some]
    assert alone == together.answers(read(some, columns, labelled=False).batch)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ALGORITHMS, "three classes"])
def test_who_asks_while_a_row_is_learned_changes_nothing(name):
    told = rows(1060, n_classes=3 if name == "three classes" else 2)
    columns, first = read(told).columns, 1000
    settings = ALGORITHMS.get(name, ALGORITHMS["auto"])
    asked, undisturbed = (served(settings, told[:first], columns) for _ in range(2))
    pauses = []
    for row in told[first:]:
        pauses.append(0)
        about = read([{"features": row["features"]}], columns, labelled=False).batch
        for _ in asked.learning(read([row], columns).batch):
            pauses[-1] += 1
            assert asked.answers(about)[0]["label"] in asked.learner.classes
            asked.answers(about, explain=True)
        undisturbed.learn(read([row], columns).batch)
        assert asked.rows == undisturbed.rows
    assert asked.content() == undisturbed.content()
    in_steps = name in ("auto", "auto, crossed", "three classes")
    assert max(pauses) > 2 if in_steps else max(pauses) == 0


def test_a_row_that_brings_a_class_or_a_column_is_learned_at_once():
    told = rows(1000)
    columns = read(told).columns
    found = served(ALGORITHMS["auto"], told, columns)
    assert not list(found.learning(read([{**told[0], "label": 2}], columns).batch))
    new = {**told[0], "features": {**told[0]["features"], "c": "a new one"}}
    brought = []
    for _ in range(10):
        before = found.learner.n_features
        pauses = list(found.learning(read([new], columns).batch))
        brought.append(found.learner.n_features > before)
        assert len(pauses) == 0 if brought[-1] else len(pauses) > 2
    assert sum(brought) == 1


def test_a_row_that_makes_the_model_overflow_is_told_of(monkeypatch):
    told = rows(1000)
    columns = read(told).columns
    found = served(ALGORITHMS["auto"], told, columns)
    monkeypatch.setattr("pater.models.pool_pass.pass_row", lambda *arguments: 0)
    with pytest.raises(InputError, match="row 1: the model's own numbers"):
        found.learn(read(told[:1], columns).batch)


def test_three_classes_are_asked_about_as_a_batch():
    told = rows(600, n_classes=3)
    columns = read(told).columns
    found = served({"algo": "auto", "options": {"probability": True}}, told, columns)
    one = read([{"features": told[0]["features"]}], columns, labelled=False).batch
    assert RowAnswers().of(found.learner, one) is None
    assert set(found.answers(one)[0]["margin"]) == {"0", "1", "2"}


def test_the_table_of_a_row_is_made_when_it_is_asked_for():
    told = rows(300)
    columns = read(told).columns
    one = read(told[:1], columns).batch
    assert isinstance(one, RowBatch)
    assert "table" not in vars(one)
    assert list(one.table) == list(told[0]["features"])
    assert len(copy.deepcopy(one)) == 1
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        one.other  # noqa: B018
    wrong = {"features": {**told[0]["features"], "x": True}, "label": 1}
    assert not isinstance(read([wrong], columns).batch, RowBatch)
