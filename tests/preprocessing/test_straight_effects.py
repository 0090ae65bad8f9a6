"""Effects of numbers without bins: flags, straight lines, and columns that cannot change a margin."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pater import AROWClassifier, AutoPATERClassifier, SecondOrderPATERClassifier, plot_effects
from pater.estimators.explaining import curves_of
from pater.preprocessing import TableEncoder
from pater.preprocessing.effects import Described, curves
from pater.stream import OnlinePipeline


def flagged(values=(0, 1), share=0.3, n=6000, seed=0):
    """Positives are 60 % of those with a flag and 5 % of others; two more columns say little or nothing."""
    random = np.random.default_rng(seed)
    flag = random.random(n) < share
    table = pd.DataFrame({"noise": random.standard_normal(n), "flag": np.where(flag, values[1], values[0])})
    y = (random.random(n) < np.where(flag, 0.6, 0.05)).astype(int)
    table["hint"] = random.standard_normal(n) + 0.3 * y
    return table, y


def fitted(table, y, learner=None, **settings):
    steps = [("encode", TableEncoder(**settings)), ("learn", learner or AROWClassifier(r=10))]
    return OnlinePipeline(steps).partial_fit(table, y)


@pytest.mark.parametrize("learner", [SecondOrderPATERClassifier(r=10), AutoPATERClassifier()], ids=str)
@pytest.mark.parametrize("values", [(0, 1), (1, 2), (-1, 1), (False, True)])
def test_a_flag_has_an_effect_of_each_value(learner, values):
    table, y = flagged(values)
    model = fitted(table, y, learner)
    found = model.effect_curves()
    assert found["column"].iloc[0] == "flag"
    of_flag = found[found["column"] == "flag"].set_index("value")
    why = model.explain(table)["flag"]
    for value in values:
        told = of_flag["effect"][str(value)]
        assert why[table["flag"] == value].to_numpy() == pytest.approx(told, abs=1e-9)
    assert sorted(of_flag["rows"]) == sorted(table["flag"].value_counts())


@pytest.mark.parametrize("share", [0.5, 0.02])  # if rare, the z-score is clipped
def test_the_spread_of_a_flag_is_that_of_what_it_adds(share):
    table, y = flagged(share=share)
    model = fitted(table, y)
    spread = next(curve.spread for curve in curves_of(model._speaking()) if curve.column == "flag")
    assert spread == pytest.approx(np.sqrt(np.square(model.explain(table)["flag"]).mean()))


def test_other_values_are_points_on_a_line():
    table, y = flagged((3.5, 700.25))
    table.loc[::7, "flag"] = np.nan
    model = fitted(table, y)
    found = model.effect_curves()
    assert found["column"].iloc[0] == "flag"
    of_flag = found[found["column"] == "flag"]
    line, missing = of_flag[:-1], of_flag.iloc[-1]
    assert missing["value"] == "missing"
    assert line["value"].astype(float).tolist() == line["low"].tolist() == line["high"].tolist()
    assert line["rows"].isna().all()
    slope = np.diff(line["effect"]) / np.diff(line["low"])
    why = model.explain(table)["flag"]
    by_value = why.groupby(table["flag"]).first()
    assert slope == pytest.approx((by_value[700.25] - by_value[3.5]) / (700.25 - 3.5))
    spread = next(curve.spread for curve in curves_of(model._speaking()) if curve.column == "flag")
    assert spread == pytest.approx(np.sqrt(np.square(why).mean()), rel=1e-3)


@pytest.mark.parametrize("later", [2, -1, 0.5])
def test_a_third_value_after_the_first_rows_makes_it_a_line(later):
    table, y = flagged()
    table["flag"] = table["flag"].astype(float)
    table.loc[5990, "flag"] = later
    found = fitted(table, y).effect_curves()
    assert (found["column"] == "flag").sum() == 5


def test_a_linear_effect_without_bins_is_a_line_with_its_slope():
    random = np.random.default_rng(3)
    table = pd.DataFrame({"x": random.uniform(-3, 9, 5000), "noise": random.standard_normal(5000)})
    y = (random.random(5000) < 1 / (1 + np.exp(-table["x"] + 3))).astype(int)
    model = fitted(table, y, resolution="none")
    why = model.explain(table)["x"]
    slope = np.polyfit(table["x"], why, 1)[0]
    assert slope > 0.1
    curve = curves_of(model._speaking())[0]
    assert curve.column == "x"
    assert sum(piece.rows for piece in curve.pieces) == 5000
    for piece in curve.pieces:
        assert (piece.effect_at_end - piece.effect_at_start) / (piece.end - piece.start) == pytest.approx(slope)
    assert curve.spread == pytest.approx(np.sqrt(np.square(why).mean()), rel=0.02)


def test_spreads_are_those_of_what_is_added():
    """Ranges also have a slope within them."""
    random = np.random.default_rng(4)
    table = pd.DataFrame({"x": random.uniform(0, 6, 4000)})
    encoder = TableEncoder(resolution="coarse", coarse_bins=4).fit(table)
    told = Described.of(encoder.encoding_, "coarse")
    weights = np.array([[1.0, *np.zeros(len(told.features) - 1)]])
    (curve,) = curves(told, weights, None)
    assert curve.spread == pytest.approx(1.0, rel=0.02)


def test_where_an_outer_range_ends_matters_little_to_the_spread():
    """Most rows hold 1, far below the middle of the drawn range below 2: no constant is taken for spread."""
    table, y = flagged()
    table["tries"] = 1 + np.random.default_rng(6).poisson(0.2, len(y))
    encoder = TableEncoder(resolution="fine").fit(table[["tries"]])
    told = Described.of(encoder.encoding_, "fine")
    weights = np.array([[1.0, *np.zeros(len(told.features) - 1)]])
    (curve,) = curves(told, weights, None)
    true = np.std(encoder.transform(table[["tries"]]) @ weights.T)
    assert 0.4 * true < curve.spread < 1.2 * true


def test_what_cannot_change_a_margin_has_no_curve():
    table, y = flagged()
    table["same"] = 7
    table["gaps"] = np.where(np.arange(len(y)) % 3 == 0, np.nan, 7.0)
    model = fitted(table, y)
    found = model.effect_curves()
    assert set(found["column"]) == {"flag", "noise", "hint", "gaps"}
    of_gaps = found[found["column"] == "gaps"]
    assert of_gaps["value"].tolist() == ["not missing", "missing"]
    assert of_gaps["rows"].tolist() == [4000, 2000]
    assert of_gaps["effect"] @ of_gaps["rows"] == pytest.approx(0, abs=1e-6)


def test_a_clock_without_weight_has_no_curve():
    random = np.random.default_rng(5)
    table = pd.DataFrame({"when": pd.date_range("2024-03-04", periods=500, freq="h"), "x": random.random(500)})
    encoder = TableEncoder().fit(table)
    told = Described.of(encoder.encoding_, "fine")
    weights = np.array([[float(feature.kind != "z" or feature.column == "x") for feature in told.features]])
    assert {curve.name for curve in curves(told, weights, None)} == {"x", "when: hour", "when: weekday", "when: month"}


def test_pictures_of_flags_and_lines():
    plt = pytest.importorskip("matplotlib.pyplot")
    table, y = flagged()
    table["far"] = np.where(table["flag"] == 1, 3.5, 700.25)
    axes = plot_effects(fitted(table, y), ["flag", "far"])
    assert [label.get_text() for label in axes[0].get_yticklabels()] == ["0", "1"]
    assert np.ptp(axes[1].lines[-1].get_xdata()) > 1000
    plt.close("all")
