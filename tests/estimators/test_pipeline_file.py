"""A pipeline of a TableEncoder and an online learner: saved, loaded, and read by the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

import pater
from pater import AROWClassifier, AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier
from pater.cli import main
from pater.formats.errors import Hint
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

LEARNERS = {
    "pater": lambda: PATERClassifier("II", n_passes=2, class_weight="balanced"),
    "second order": lambda: SecondOrderPATERClassifier(covariance="diagonal", r=3.0, probability=True),
    "arow": AROWClassifier,
    "auto": lambda: AutoPATERClassifier(operating_point={"max_fpr": 0.1}),
}


def table(n: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    random = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "amount": random.lognormal(3, 1, n).round(2),
            "country": random.choice(["DE", "FR", "IT", f"of {seed}"], n),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 10**7, n), unit="s"),
            "epoch": random.integers(1_700_000_000, 1_710_000_000, n),
            "share": [f"{k}%" for k in random.integers(0, 100, n)],
        }
    )
    is_fraud = (rows.amount > 40) ^ (rows.country == "FR")
    rows.loc[random.random(n) < 0.05, "amount"] = None
    return rows, np.where(is_fraud, "yes", "no")


def pipeline(learner: Any, **settings: Any) -> OnlinePipeline:
    return OnlinePipeline([("encode", TableEncoder(**settings)), ("learn", learner)])


def run(*arguments: Any) -> int:
    with pytest.raises(SystemExit) as end:
        main([str(each) for each in arguments])
    return int(end.value.code or 0)


@pytest.mark.first_quick
@pytest.mark.parametrize("name", LEARNERS)
def test_it_comes_back_and_goes_on_alike(name: str, tmp_path: Path) -> None:
    X, y = table(1_500)
    model = pipeline(LEARNERS[name](), warm_up=300, interactions=[("amount", "country")])
    model.partial_fit(X[:200], y[:200], classes=["no", "yes"]).partial_fit(X[200:], y[200:])
    model.save(tmp_path / "m")
    again = pater.load(tmp_path / "m")
    new, of_new = table(500, seed=1)
    for _ in range(2):
        np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
        pd.testing.assert_frame_equal(again.effect_curves(), model.effect_curves())
        for each in (model, again):
            each.partial_fit(new, of_new)
    learners = [each.steps[1][1] for each in (model, again)]
    assert learners[0].get_params() == learners[1].get_params()
    assert learners[0].t_ == learners[1].t_
    for each, file in ((model, "a"), (again, "b")):
        each.save(tmp_path / file)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_commands_take_it(format: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    X, y = table(1_500)
    model = pipeline(PATERClassifier()).partial_fit(X, y)
    model.save(tmp_path / "m")
    new, of_new = table(200, seed=1)
    file = tmp_path / f"t.{format}"
    labelled = new.assign(fraud=of_new)
    labelled.to_csv(file, index=False) if format == "csv" else labelled.to_parquet(file)
    assert run("predict", tmp_path / "m", file, "--output", tmp_path / "p", "--margins") == 0
    told = [line.split(",") for line in (tmp_path / "p").read_text().splitlines()[1:]]
    np.testing.assert_array_equal([float(margin) for _, margin in told], model.decision_function(new))
    assert [label for label, _ in told] == model.predict(new).tolist()
    assert run("inspect", tmp_path / "m", "--json") == 0
    capfd.readouterr()
    assert run("explain", tmp_path / "m", file, "--json") == 0
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert [line["prediction"] for line in lines] == model.predict(new).tolist()
    assert run("train", file, "-i", tmp_path / "m", "--label", "fraud", "-m", tmp_path / "n", "-q") == 0
    model.partial_fit(new, of_new)
    np.testing.assert_allclose(pater.load(tmp_path / "n").decision_function(X), model.decision_function(X), rtol=1e-9)


def test_a_matrix_has_the_names_of_its_encoder(tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((400, 3))
    model = pipeline(PATERClassifier(), warm_up=100).partial_fit(X, X[:, 0] > 0)
    model.save(tmp_path / "m")
    again = pater.load(tmp_path / "m")
    assert again.steps[0][1].feature_names_in_.tolist() == model.steps[0][1].encoding_.names
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.predict(X).dtype == model.predict(X).dtype


def test_few_rows_that_were_fitted_are_not_held_back(tmp_path: Path) -> None:
    X, y = table(200)
    model = pipeline(PATERClassifier()).fit(X, y)
    model.save(tmp_path / "m")
    again = pater.load(tmp_path / "m")
    for each in (model, again):
        with pytest.warns(Hint, match="decided from 200 rows at most"):
            each.partial_fit(X[:50], y[:50])
    assert model.named_steps["learn"].t_ == again.named_steps["model"].t_ == 250
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_what_cannot_be_saved(tmp_path: Path) -> None:
    X, y = table(200)
    numbers = X[["amount"]].fillna(0)
    path = tmp_path / "m"
    with pytest.raises(TypeError, match="step 'scale' is a StandardScaler"):
        OnlinePipeline([("scale", StandardScaler()), ("learn", PATERClassifier())]).partial_fit(numbers, y).save(path)
    with pytest.raises(TypeError, match="step 'learn' is a SGDClassifier"):
        pipeline(SGDClassifier()).fit(X, y).save(path)
    three = OnlinePipeline([("e", TableEncoder()), ("s", StandardScaler(with_mean=False)), ("l", PATERClassifier())])
    with pytest.raises(TypeError, match="step 's' is a StandardScaler"):
        three.fit(X, y).save(path)
    with pytest.raises(ValueError, match="learn from 800 more rows first"):
        pipeline(PATERClassifier()).partial_fit(X, y).save(path)
    with pytest.raises(NotFittedError):
        pipeline(PATERClassifier()).save(path)
    assert not path.exists()
