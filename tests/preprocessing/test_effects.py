"""Effect curves: a known sum of functions is found, at any resolution of the bins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pater import AROWClassifier, AutoPATERClassifier, SecondOrderPATERClassifier
from pater.preprocessing import TableEncoder
from pater.preprocessing.effects import Described, curves
from pater.preprocessing.features import Feature
from pater.stream import OnlinePipeline

OF_COUNTRY = {"fr": 1.0, "de": -0.5, "jp": 0.0}


def additive(n=20_000, seed=0):
    """A label whose odds are a sum of functions of the columns."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame({"x": random.uniform(0, 6, n), "country": random.choice(list(OF_COUNTRY), n)})
    odds = np.sin(table["x"]) + table["country"].map(OF_COUNTRY)
    return table, (random.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


LEARNERS = [SecondOrderPATERClassifier(r=10), AROWClassifier(r=10), AROWClassifier(r=10, covariance="diagonal")]


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_a_known_sum_of_functions_is_found(learner):
    table, y = additive()
    encoder = TableEncoder(resolution="fine")
    model = OnlinePipeline([("encode", encoder), ("learn", learner)]).partial_fit(table, y)
    found = model.effect_curves()
    assert set(found["column"]) == {"x", "country"}
    of_x = found[(found["column"] == "x")]
    place = of_x["low"].clip(0, 6) / 2 + of_x["high"].clip(0, 6) / 2
    truth = np.sin(place)
    truth -= np.average(truth, weights=of_x["rows"])
    of_country = found[found["column"] == "country"].set_index("value")
    effects = pd.Series(OF_COUNTRY)[of_country.index]
    effects -= np.average(effects, weights=of_country["rows"])
    # A margin has its own unit: one factor converts both functions to that of the odds.
    told = np.concatenate([of_x["effect"], of_country["effect"]])
    known = np.concatenate([truth, effects])
    factor = told @ known / (known @ known)
    errors = np.concatenate([of_x["standard_error"], of_country["standard_error"]])
    assert np.corrcoef(told, known)[0, 1] > 0.99
    assert (np.abs(told - factor * known) < 3.5 * errors + 0.05 * np.ptp(told)).all()  # least squares bend a little
    assert (errors < 0.1 * np.ptp(told)).all()
    assert of_x["rows"].sum() == of_country["rows"].sum() == 20_000


def test_the_leader_of_a_pool_finds_it_at_the_resolution_that_it_sees():
    table, y = additive()
    model = OnlinePipeline([("encode", TableEncoder()), ("learn", AutoPATERClassifier(forgetting=1.0))])
    found = model.partial_fit(table, y).effect_curves()
    of_x = found[found["column"] == "x"]
    truth = np.sin(of_x["low"].clip(0, 6) / 2 + of_x["high"].clip(0, 6) / 2)
    assert np.corrcoef(of_x["effect"], truth)[0, 1] > 0.85
    of_country = found[found["column"] == "country"].set_index("value")["effect"]
    assert np.corrcoef(of_country, pd.Series(OF_COUNTRY)[of_country.index])[0, 1] > 0.99
    assert (found["standard_error"] < 0.1 * np.ptp(found["effect"])).all()


def described(seed=0, n=500):
    table, _ = additive(n, seed)
    encoder = TableEncoder(resolution="fine", warm_up=100).fit(table)
    return Described.of(encoder.encoding_, "fine"), encoder, table


def test_an_effect_is_what_the_column_adds_to_the_margin():
    told, encoder, table = described()
    weights = np.random.default_rng(1).standard_normal((2, len(told.features)))
    found = curves(told, weights, None)
    column = encoder.encoding_.numbers[0]
    values = table["x"].to_numpy()[:50]
    margins = encoder.transform(table[:50]) @ weights.T
    centres = told.centres(weights)
    for k in range(2):
        of_x = next(curve for curve in found if curve.column == "x" and curve.model == k)
        of_country = next(curve for curve in found if curve.column == "country" and curve.model == k)
        by_value = {effect.value: effect.effect for effect in of_country.effects}
        for r, value in enumerate(values):
            piece = of_x.effects[np.searchsorted(column.edges, value, "right")]
            share = (value - piece.start) / (piece.end - piece.start)
            on_line = piece.effect_at_start + share * (piece.effect_at_end - piece.effect_at_start)
            sum_of_both = on_line + by_value[table["country"][r]] + centres[k].sum()
            assert sum_of_both == pytest.approx(margins[r, k], abs=1e-9)


def test_two_resolutions_side_by_side_are_one_curve():
    """Coarse and fine bins of a column: the effect is the sum of both, over all edges."""
    fine, encoder, _ = described()
    coarse = [f for f in encoder.encoding_.features("coarse") if f.kind == "bin"]
    both = replace(
        fine, features=[*fine.features, *coarse], rows=np.concatenate([fine.rows, np.full(len(coarse), np.nan)])
    )
    weights = np.random.default_rng(2).standard_normal((1, len(both.features)))
    of_both, of_fine = (
        next(curve for curve in curves(each, weights[:, : len(each.features)], None) if curve.column == "x")
        for each in (both, fine)
    )
    assert [e.value for e in of_both.effects] == [e.value for e in of_fine.effects]
    for one, other in zip(of_both.effects, of_fine.effects, strict=True):
        (place,) = [k for k, f in enumerate(coarse) if f.low <= one.low and one.high <= f.high]
        assert one.effect - other.effect == pytest.approx(weights[0, len(fine.features) + place])
        assert one.rows == other.rows


def test_a_cross_is_a_term_of_its_own_and_in_no_curve():
    told, _, _ = described()
    cross = Feature("x", "bin", low=1.0, high=2.0, crossed="country", text="fr")
    crossed = replace(told, features=[*told.features, cross], rows=np.append(told.rows, np.nan))
    weights = np.random.default_rng(3).standard_normal((1, len(crossed.features)))
    assert crossed.terms == ["x", "country", "x × country"]
    assert crossed.term_of[-1] == 2
    one, other = curves(crossed, weights, None), curves(told, weights[:, :-1], None)
    assert str(one) == str(other)


def test_dates_words_ids_and_missing_values():
    random = np.random.default_rng(0)
    n = 400
    table = pd.DataFrame(
        {
            "when": pd.Timestamp("2024-03-01") + pd.to_timedelta(random.integers(0, 40 * 86400, n), unit="s"),
            "note": [" ".join(random.choice(["red", "big", "fox", "late"], 3)) + f" n{k}" for k in range(n)],
            "id": [f"u{k}" for k in range(n)],
            "two": random.integers(0, 2, n),
            "none": np.full(n, np.nan),
        }
    )
    table.loc[::7, ["when", "id"]] = None
    encoder = TableEncoder().fit(table)
    told = Described.of(encoder.encoding_, "fine")
    found = curves(told, np.ones((1, len(told.features))), None)
    by_name = {curve.name: curve for curve in found}
    assert set(by_name) == {"when", "when: hour", "when: weekday", "when: month", "note", "id", "two", "none"}
    assert [e.value for e in by_name["when: weekday"].effects][:2] == ["Monday", "Tuesday"]
    assert [e.value for e in by_name["when: month"].effects] == ["March", "April"]
    assert by_name["when"].effects[-1].value == "missing"
    assert by_name["when"].effects[-1].rows == 58
    assert [e.value for e in by_name["id"].effects] == ["missing"]
    assert [(e.value, e.rows) for e in by_name["two"].effects] == [
        (str(value), int((table["two"] == value).sum())) for value in (0, 1)
    ]
    assert [e.value for e in by_name["none"].effects if e.kind == "missing"] == ["missing"]
    assert any("fox" in e.value for e in by_name["note"].effects)
