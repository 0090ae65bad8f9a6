"""explain(X), effect_curves() and plot_effects: for every estimator, pipeline and file, to the bit."""

from __future__ import annotations

import copy
import math
import warnings
from functools import reduce
from operator import add

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

import pater
from pater import (
    AROWClassifier,
    AutoPATERClassifier,
    PassiveAggressiveClassifier,
    PATERClassifier,
    Perceptron,
    SecondOrderPATERClassifier,
    TERClassifier,
)
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline, train

matplotlib.use("Agg")


def matrix(n=400, classes=2):
    random = np.random.default_rng(0)
    X = np.where(random.random((n, 7)) < 0.5, random.standard_normal((n, 7)), 0.0)
    return X, np.digitize(X[:, 0] + X[:, 1], [0.3] if classes == 2 else [-0.3, 0.4])


def frame(n=3000, seed=0):
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "amount": random.gamma(2, 20, n),
            "country": random.choice(["fr", "de", "jp"], n),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 60 * 86400, n), unit="s"),
        }
    )
    table.loc[random.random(n) < 0.05, "amount"] = None
    odds = np.sin(table["amount"].fillna(0) / 15) + (table["country"] == "fr")
    return table, np.where(odds + random.standard_normal(n) > 0.8, "yes", "no")


def added_up(explained):
    return reduce(add, [explained[name].to_numpy() for name in explained.columns])


def check_sums(model, X):
    explained, margins = model.explain(X), np.ravel(model.decision_function(X))
    np.testing.assert_array_equal(added_up(explained), margins)
    assert [math.fsum(line) for line in explained.to_numpy()] == margins.tolist()
    size = np.abs(explained.to_numpy()).sum(axis=1)
    assert (np.abs(explained["(rounding)"]) <= 1e-9 * size).all()
    return explained


LEARNERS = [
    AutoPATERClassifier(),
    AutoPATERClassifier(variants=("I", "II")),
    PATERClassifier("I"),
    PATERClassifier("II"),
    PATERClassifier("I", average=True),
    SecondOrderPATERClassifier(),
    SecondOrderPATERClassifier(covariance="diagonal"),
    AROWClassifier(covariance="diagonal", average=True),
    Perceptron(average=True),
    PassiveAggressiveClassifier(),
    TERClassifier(),
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", ["dense", "sparse", "frame"])
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_contributions_of_features_add_up_to_the_margin(learner, form, classes):
    X, y = matrix(classes=classes)
    X = {"dense": X, "sparse": csr_array(X), "frame": pd.DataFrame(X, columns=[f"f{j}" for j in range(7)])}[form]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pater.OneClassWarning)
        model = learner.fit(X, y)
    explained = check_sums(model, X[:50])
    assert len(explained) == (50 if classes == 2 else 150)
    names = [f"f{j}" if form == "frame" else str(j) for j in range(7)]
    assert explained.columns.tolist() == [*names, "(base)", "(rounding)"]
    if classes == 3:
        assert explained.index.names == ["row", "class"]
        one = explained.xs(2, level="class")
        np.testing.assert_array_equal(added_up(one), model.decision_function(X[:50])[:, 2])
    np.testing.assert_allclose(
        explained["(base)"].to_numpy()[:classes], np.resize(model.intercept_, classes), atol=1e-12
    )


@pytest.mark.parametrize("form", ["csr-f8-i4", "csr-f8-i8"])
def test_of_a_wide_sparse_matrix_only_what_rows_have(form):
    places = np.array([[0, 0, 1, 2], [5, 99_999, 5, 70]], form[-2:])
    X = csr_array((np.ones(4), tuple(places)), shape=(3, 100_000))
    model = AROWClassifier(covariance="diagonal").fit(X, [0, 1, 1])
    assert check_sums(model, X).columns.tolist() == ["5", "70", "99999", "(base)", "(rounding)"]


@pytest.mark.parametrize(
    "learner",
    [AutoPATERClassifier(), SecondOrderPATERClassifier(operating_point={"max_fpr": 0.1}), PATERClassifier("II")],
)
def test_a_pipeline_is_explained_by_the_columns_of_its_table(learner, tmp_path):
    table, y = frame()
    table.index = table.index + 10
    model = OnlinePipeline([("encode", TableEncoder()), ("learn", learner)]).partial_fit(table, y)
    explained = check_sums(model, table[:300])
    assert explained.columns.tolist() == ["amount", "country", "when", "(base)", "(rounding)"]
    assert explained.index.tolist() == list(range(10, 310))
    pd.testing.assert_frame_equal(
        model.explain(pl.from_pandas(table[:300])), explained.reset_index(drop=True), check_exact=True
    )
    curves = model.effect_curves()
    assert set(curves["column"]) == {"amount", "country", "when"}
    assert curves.groupby(["column", "part"])["rows"].sum().eq(3000).all()
    # a category's effect is what it adds to a row
    of_country = curves[curves["column"] == "country"].set_index("value")["effect"]
    np.testing.assert_allclose(explained["country"], of_country[table["country"][:300]], atol=1e-9)
    weighted = curves[curves["column"] == "country"]
    np.testing.assert_allclose(np.average(weighted["effect"], weights=weighted["rows"]), 0, atol=1e-9)


def test_several_classes_have_a_line_each():
    table, _ = frame()
    y = np.digitize(table["amount"].fillna(0), [20, 50])
    model = OnlinePipeline([("encode", TableEncoder()), ("learn", AutoPATERClassifier())]).partial_fit(table, y)
    explained = check_sums(model, table[:40])
    assert explained.index.nlevels == 2
    curves = model.effect_curves()
    assert curves.columns[0] == "class"
    assert set(curves["class"]) == {0, 1, 2}
    axes = pater.plot_effects(model, label=2)
    assert axes[0].get_ylabel() == "adds to the margin of 2"
    with pytest.raises(ValueError, match="label must be"):
        pater.plot_effects(model)


def test_rows_that_are_held_back_are_explained():
    table, y = frame(400)
    model = OnlinePipeline([("encode", TableEncoder()), ("learn", AutoPATERClassifier())]).partial_fit(table, y)
    check_sums(model, table[:50])
    assert model.effect_curves()["rows"].max() <= 400


def test_other_transformers_have_the_features_that_come_out():
    X, y = matrix()
    model = OnlinePipeline([("scale", StandardScaler()), ("learn", PATERClassifier())]).partial_fit(X, y)
    assert check_sums(model, X).shape == (400, 9)
    with pytest.raises(TypeError, match="TableEncoder"):
        model.effect_curves()
    with pytest.raises(TypeError, match="TableEncoder"):
        pater.plot_effects(model)
    with pytest.raises(TypeError, match="TableEncoder"):
        PATERClassifier().fit(X, y).effect_curves()
    with pytest.raises(TypeError, match="TableEncoder"):
        pater.plot_effects(PATERClassifier().fit(X, y))
    other = OnlinePipeline([("scale", StandardScaler()), ("learn", SGDClassifier())]).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(TypeError, match="SGDClassifier"):
        other.explain(X)


@pytest.mark.parametrize("algo", ["auto", "arow", "pater-i"])
def test_a_file_of_the_command_line_is_explained_alike(tmp_path, algo):
    table, y = frame()
    table.assign(label=y).to_csv(tmp_path / "t.csv", index=False)
    train(tmp_path / "t.csv", model=tmp_path / "m", algo=algo)
    model = pater.load(tmp_path / "m")
    explained = check_sums(model, table[:100])
    assert explained.columns.tolist()[:3] == ["amount", "country", "when"]
    assert model.effect_curves()["rows"].notna().all()


def test_names_and_counts_survive_a_merge():
    table, y = frame()
    table["city"] = np.where(np.arange(3000) < 1000, "old", np.where(np.arange(3000) < 2000, "west", "east"))
    steps = [("encode", TableEncoder()), ("learn", SecondOrderPATERClassifier())]
    first = OnlinePipeline(steps).partial_fit(table[:1000], y[:1000])
    second = copy.deepcopy(first)
    first.partial_fit(table[1000:2000], y[1000:2000])
    second.partial_fit(table[2000:], y[2000:])
    first.merge(second)
    curves = first.effect_curves()
    of_city = curves[curves["column"] == "city"].set_index("value")
    # the first rows of both count twice
    assert of_city["rows"].to_dict() == {"old": 2000, "west": 998, "east": 998, "rare ones": 4}
    check_sums(first, table[::50])


@pytest.mark.slow
def test_pictures_are_drawn_of_what_is_asked_for():
    import matplotlib.pyplot as plt

    table, y = frame()
    model = OnlinePipeline([("encode", TableEncoder()), ("learn", AutoPATERClassifier())]).partial_fit(table, y)
    axes = pater.plot_effects(model)
    assert {ax.get_title() for ax in axes} == {
        "amount",
        "country",
        "when",
        "when: hour",
        "when: weekday",
        "when: month",
    }
    axes[0].figure.canvas.draw()
    one = pater.plot_effects(model, ["when: hour"])
    assert [ax.get_title() for ax in one] == ["when: hour"]
    assert [ax.get_title() for ax in pater.plot_effects(model, ["country"], axes=[plt.gca()])] == ["country"]
    with pytest.raises(ValueError, match="no effect of 'amuont'"):
        pater.plot_effects(model, ["amuont"])
    with pytest.raises(ValueError, match="4 curves to draw, but 1"):
        pater.plot_effects(model, ["when"], axes=[plt.gca()])
    without = OnlinePipeline([("encode", TableEncoder()), ("learn", PATERClassifier())]).partial_fit(table, y)
    pater.plot_effects(without)[0].figure.canvas.draw()
    plt.close("all")
