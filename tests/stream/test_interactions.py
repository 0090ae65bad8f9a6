"""Crosses in front of a pool: found where they matter, left out where they do not, and kept in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pater
from pater import AutoPATERClassifier
from pater.formats.reading import make_input
from pater.models.pool import Pool
from pater.preprocessing import TableEncoder
from pater.stream import InputError, OnlinePipeline, load, train
from pater.stream.explanation import curves_of, explain_batch, row_told
from pater.stream.merging import merged

PAIRS = [("a", "b"), ("kind", "switch")]


def frame(n: int, *, seed: int = 0, crossed: bool = True) -> pd.DataFrame:
    """Ten columns and a label that depends on two pairs of them, or on two columns alone."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(random.standard_normal((n, 8)), columns=list("abcdefgh"))
    table["switch"] = random.integers(0, 2, n)
    table["kind"] = random.choice(["u", "v", "w", "x"], n)
    one, other = (table["a"] > 0) ^ (table["b"] > 0), table["kind"].isin(["u", "w"]) ^ (table["switch"] == 1)
    z = 3.0 * one + 1.5 * other - 2.2 if crossed else 2.0 * table["a"] - 1.5 * table["b"]
    table["y"] = np.where(z + 0.3 * random.logistic(size=n) > 0, "yes", "no")
    return table


def learned(interactions: Any, table: pd.DataFrame) -> tuple[OnlinePipeline, Pool]:
    model = OnlinePipeline([("table", TableEncoder(interactions=interactions)), ("model", AutoPATERClassifier())])
    model.partial_fit(table.drop(columns="y"), table["y"].to_numpy())
    return model, model.named_steps["model"]._model


def right(model: OnlinePipeline, table: pd.DataFrame) -> float:
    return float(np.mean(model.predict(table.drop(columns="y")) == table["y"]))


@pytest.mark.first_quick
@pytest.mark.parametrize("interactions", [PAIRS, "all"])
def test_the_pool_finds_what_only_crosses_show(interactions: Any) -> None:
    table, test = frame(12_000), frame(4_000, seed=1)
    without, _ = learned(None, table)
    model, pool = learned(interactions, table)
    assert pool.level(pool.leader) == pool.views.n_levels - 1 == 3
    assert right(without, test) < 0.65
    assert right(model, test) > 0.85
    names = model.named_steps["table"].get_feature_names_out()
    largest = names[np.argmax(np.abs(model.named_steps["model"].coef_[0]))]
    assert " × " in largest


@pytest.mark.slow
def test_the_pool_does_without_crosses_that_say_nothing() -> None:
    table, test = frame(12_000, crossed=False), frame(4_000, seed=1, crossed=False)
    without, _ = learned(None, table)
    model, pool = learned("all", table)
    assert pool.level(pool.leader) < pool.views.n_levels - 1
    assert right(model, test) > right(without, test) - 0.01
    weights = model.named_steps["model"].coef_[0]
    crosses = np.array([" × " in name for name in model.named_steps["table"].get_feature_names_out()])
    assert not weights[crosses].any()


def test_batches_leave_no_trace() -> None:
    table = frame(3_000)
    whole, _ = learned("all", table)
    parts = OnlinePipeline([("table", TableEncoder(interactions="all")), ("model", AutoPATERClassifier())])
    for start in range(0, 3_000, 700):
        piece = table[start : start + 700]
        parts.partial_fit(piece.drop(columns="y"), piece["y"].to_numpy(), classes=["no", "yes"])
    one, other = (each.decision_function(table.drop(columns="y")) for each in (whole, parts))
    assert one.tobytes() == other.tobytes()


def test_files_keep_crosses_and_their_names(tmp_path: Path) -> None:
    file, model = tmp_path / "t.csv", tmp_path / "m"
    table = frame(3_000)
    table.to_csv(file, index=False)
    learner = train(file, model=model, label="y", interactions=PAIRS)
    again, pipeline = load(model), pater.load(model)
    assert learner.encoder is not None
    assert again.encoder is not None
    names = learner.encoder.names()
    assert any(name.startswith("kind=u × switch: ") for name in names)
    assert again.encoder.names() == names == pipeline.named_steps["table"].get_feature_names_out().tolist()
    (batch,) = make_input(file, columns=again.columns).batches()
    assert again.margins(batch).tobytes() == learner.margins(batch).tobytes()
    X = table.drop(columns="y")
    np.testing.assert_array_equal(pipeline.decision_function(X), learner.margins(batch)[:, 0])
    pipeline.partial_fit(X, table["y"].to_numpy())
    assert "interactions" in str(pipeline.named_steps["table"])
    after = train(file, initial=model)
    np.testing.assert_allclose(pipeline.decision_function(X), after.margins(batch)[:, 0], rtol=1e-9)


def test_a_run_that_goes_on_ends_alike_and_wants_the_same_interactions(tmp_path: Path) -> None:
    for k in range(4):
        frame(1_500, seed=k).to_csv(tmp_path / f"{k}.csv", index=False)
    settings = {"label": "y", "algo": "so-pater-i", "covariance": "diagonal", "checkpoint_every": 1}
    files = str(tmp_path / "*.csv")
    train(files, model=tmp_path / "whole", interactions="all", **settings)

    class StoppedError(Exception):
        pass

    def stop(run: Any) -> None:
        if run.learner.rows == 3_000:
            raise StoppedError

    with pytest.raises(StoppedError):
        train(files, model=tmp_path / "cut", interactions="all", show=stop, **settings)
    for other in (None, PAIRS):
        with pytest.raises(InputError, match="was written with interactions = 'all'"):
            train(files, model=tmp_path / "cut", interactions=other, resume=True, **settings)
    train(files, model=tmp_path / "cut", interactions="all", resume=True, **settings)
    assert (tmp_path / "cut").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.slow
def test_models_merge_and_names_of_both_stay(tmp_path: Path) -> None:
    for k in range(3):
        frame(2_500, seed=k).replace({"kind": {"x": f"x{k}"}}).to_csv(tmp_path / f"{k}.csv", index=False)
    train(tmp_path / "0.csv", model=tmp_path / "m", label="y", interactions="all")
    parts = [train(tmp_path / f"{k}.csv", initial=tmp_path / "m") for k in (1, 2)]
    both = merged(parts, ["one", "two"])
    assert both.encoder is not None
    names = both.encoder.names()
    for kind in ("x0", "x1", "x2"):
        assert any(f"kind={kind}" in name and " × " in name for name in names)
    frame(4_000, seed=9).to_csv(tmp_path / "test.csv", index=False)
    (batch,) = make_input(tmp_path / "test.csv", columns=both.columns).batches()
    assert np.mean(both.labels(both.margins(batch)) == batch.labels) > 0.75


@pytest.mark.slow
def test_explanations_tell_of_crosses(tmp_path: Path) -> None:
    table = frame(3_000)
    table.loc[:5, "kind"] = None
    table.to_csv(tmp_path / "t.csv", index=False)
    learner = train(tmp_path / "t.csv", label="y", interactions=[("a", "b"), ("kind", "switch")], algo="arow")
    assert learner.encoder is not None
    (batch,) = make_input(tmp_path / "t.csv", columns=learner.columns).batches()
    explained = explain_batch(learner, batch)
    crossed = explained.terms.index("kind × switch")
    assert explained.values[crossed][0] == f"missing × {table['switch'][0]}"
    assert explained.values[crossed][9] == f"{table['kind'][9]} × {table['switch'][9]}"
    for r in (0, 9):
        (told,) = row_told(learner, explained, r)["margins"]
        assert {term["name"] for term in told["terms"]} >= {"a × b", "kind × switch", "a"}
        total = 0.0
        for adds in (*(term["adds"] for term in told["terms"]), told["base"], told["rounding"]):
            total += adds
        assert total == told["margin"]
    curves = {curve.column: curve for curve in curves_of(learner)}
    assert next(iter(curves)) == "a × b"
    effects = {effect.value: effect for effect in curves["kind × switch"].effects}
    assert sum(effect.rows or 0 for effect in effects.values()) == 3_000
    assert effects["u × below 0.5"].rows == int(((table["kind"] == "u") & (table["switch"] == 0)).sum())
    assert abs(sum((e.rows or 0) * e.effect for e in effects.values())) < 1e-6 * 3_000


def test_explanations_leave_out_crosses_that_nobody_looks_at(tmp_path: Path) -> None:
    frame(3_000, crossed=False).to_csv(tmp_path / "t.csv", index=False)
    learner = train(tmp_path / "t.csv", label="y", interactions=[("g", "h")])
    assert isinstance(learner.model, Pool)
    assert learner.model.level(learner.model.leader) < learner.model.views.n_levels - 1
    (batch,) = make_input(tmp_path / "t.csv", columns=learner.columns).batches()
    (told,) = row_told(learner, explain_batch(learner, batch), 0)["margins"]
    assert not any("×" in term["name"] for term in told["terms"])
    assert not any("×" in curve.column for curve in curves_of(learner))


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"interactions": [("a", "y")]}, "'y' is the label, which cannot be crossed"),
        ({"interactions": [("h", "a")], "weight": "h"}, "'h' is the importance of rows, which cannot be crossed"),
        ({"interactions": [("a", "nope")]}, r"no column 'nope' that could be crossed; choose from \['a', 'b'"),
        ({"interactions": [("a", "a")]}, "'a' is crossed with itself"),
        ({"interactions": "a:b"}, 'must be "all" or pairs of columns'),
        ({"interactions": "all", "encoding": "plain"}, "for tables that are encoded"),
        ({"interactions": "all", "scale": True}, "for tables that are encoded"),
    ],
)
def test_what_cannot_be_crossed(tmp_path: Path, settings: dict[str, Any], what: str) -> None:
    table = frame(50)
    table["h"] = 1.0
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=what):
        train(tmp_path / "t.csv", label="y", **settings)


def test_a_model_has_its_own_interactions(tmp_path: Path) -> None:
    frame(50).to_csv(tmp_path / "t.csv", index=False)
    train(tmp_path / "t.csv", label="y", model=tmp_path / "m")
    with pytest.raises(InputError, match="the model keeps its own settings"):
        train(tmp_path / "t.csv", initial=tmp_path / "m", interactions="all")
