"""--max-fpr, --max-fnr, --cost and --probabilities: the command line does what the library does."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import pater as library
from pater import stream


@pytest.fixture
def data(tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(4_000, 4)), (random.random(4_000) < 0.1).astype(int)
    X[:, 0] += 1.5 * y
    values = [" ".join(f"{j}:{x!r}" for j, x in enumerate(row, 1)) for row in X.tolist()]
    lines = [f"{label} {row}" for label, row in zip(y, values, strict=True)]
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    return path, X, y


POINTS = {
    ("--max-fpr", "0.02"): {"max_fpr": 0.02},
    ("--max-fnr", "0.1"): {"max_fnr": 0.1},
    ("--cost", "1:30"): {"cost": {"false_positive": 1.0, "false_negative": 30.0}},
}


@pytest.mark.first_quick
@pytest.mark.parametrize("options", POINTS)
@pytest.mark.parametrize("algo", ["so-pater-i", "auto"])
def test_the_command_is_the_library(run, data, tmp_path, options, algo):
    rows, X, y = data
    model = str(tmp_path / "m.pater")
    assert run("train", str(rows), "-m", model, "--algo", algo, *options, "-q").code == 0
    learner = stream.train(rows, algo=algo, operating_point=POINTS[options])
    assert stream.load(model).threshold() == learner.threshold() != 0
    if algo == "so-pater-i":
        estimator = library.SecondOrderPATERClassifier(operating_point=POINTS[options])
        estimator.fit(np.hstack([np.zeros((len(y), 1)), X]), y)
        assert estimator.threshold_ == pytest.approx(learner.threshold(), rel=1e-9)
        assert library.load(model).threshold_ == learner.threshold()
    printed = list(csv.DictReader(io.StringIO(run("predict", model, str(rows), "--margins").out)))
    said = [float(row["margin"]) >= learner.threshold() for row in printed]
    assert [row["label"] == "1" for row in printed] == said
    told = json.loads(run("inspect", model, "--json").out)
    name, numbers = options
    assert told["settings"]["operating_point"] == f"{name[2:].replace('-', '_')} {numbers}"
    assert told["threshold"] == learner.threshold()
    judged = json.loads(run("evaluate", str(rows), "--model", model, "--json").out)
    assert judged["confusion"][0][1] == sum(bool(a) and b == 0 for a, b in zip(said, y.tolist(), strict=True))


def test_evaluated_progressively_the_rate_is_near_the_one_allowed(run, data):
    rows, _, _ = data
    options = ("--algo", "so-pater-i", "--json")
    plain = json.loads(run("evaluate", str(rows), *options).out)["of_class"][0]
    held = json.loads(run("evaluate", str(rows), *options, "--max-fpr", "0.03").out)["of_class"][0]
    assert abs(held["fpr"] - 0.03) < 0.015 < 0.05 < plain["fpr"]
    assert held["roc_auc"] == plain["roc_auc"]


def test_progressive_scores_are_those_at_the_operating_point(run, data, tmp_path):
    rows, _, _ = data
    model = str(tmp_path / "m.pater")
    done = run("train", str(rows), "-m", model, "--algo", "so-pater-i", "--max-fpr", "0.03", "--log-json", "-q")
    assert abs(json.loads(done.out.splitlines()[-1])["fpr"] - 0.03) < 0.015


def test_progressive_brier_score_and_log_loss(run, data, tmp_path):
    rows, X, y = data
    model = str(tmp_path / "m.pater")
    done = run("train", str(rows), "-m", model, "--algo", "so-pater-i", "--probabilities", "--log-json", "-q")
    told = json.loads(done.out.splitlines()[-1])
    learner = stream.load(model)
    assert told["brier"] == round(learner.scores()["brier"], 6)
    judged = json.loads(run("evaluate", str(rows), "--algo", "so-pater-i", "--probabilities", "--json").out)
    assert judged["of_class"][0]["log_loss"] == pytest.approx(told["log_loss"], abs=1e-6)
    share = y.mean()
    assert told["brier"] < share * (1 - share)
    assert told["log_loss"] < -share * np.log(share) - (1 - share) * np.log(1 - share)
    shown = run("evaluate", str(rows), "--model", model).out
    judged = json.loads(run("evaluate", str(rows), "--model", model, "--json").out)["of_class"][0]
    assert f"Brier score {judged['brier']:.4f}, log loss {judged['log_loss']:.4f}" in shown
    p = library.load(model).predict_proba(np.hstack([np.zeros((len(y), 1)), X]))[:, 1]
    assert judged["brier"] == pytest.approx(np.mean((p - y) ** 2))
    assert judged["log_loss"] == pytest.approx(-np.mean(np.log(np.where(y == 1, p, 1 - p))))
    plain = json.loads(run("evaluate", str(rows), "--algo", "so-pater-i", "--json").out)["of_class"][0]
    assert "brier" not in plain


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--max-fpr", "0.1", "--max-fnr", "0.1"), "--max-fpr and --max-fnr cannot be combined"),
        (("--max-fpr", "1.5"), "--max-fpr must be above 0 and below 1, got 1.5."),
        (("--max-fnr", "0"), "--max-fnr must be above 0 and below 1, got 0.0."),
        (
            ("--cost", "50"),
            "--cost expects two positive numbers, as in 1:50 or false_negative=50,false_positive=1; got '50'.",
        ),
        (("--cost", "1:-5"), "--cost expects two positive numbers"),
        (("--cost", "a:b"), "--cost expects two positive numbers"),
    ],
)
@pytest.mark.parametrize("verb", ["train", "evaluate"])
def test_wrong_usage_is_one_line(run, data, tmp_path, verb, options, told):
    more = ("-m", str(tmp_path / "m.pater")) if verb == "train" else ()
    done = run(verb, str(data[0]), *more, *options)
    assert done.code == 2
    assert told in done.err
    assert len(done.err.strip().splitlines()) == 1


@pytest.mark.parametrize("verb", ["train", "evaluate"])
def test_a_third_class_is_one_line(run, tmp_path, verb):
    rows = tmp_path / "three.svm"
    rows.write_text("0 1:1\n1 1:2\n0 1:1\n2 1:3\n")
    more = ("-m", str(tmp_path / "m.pater")) if verb == "train" else ()
    done = run(verb, str(rows), *more, "--max-fpr", "0.1")
    assert done.code == 1
    assert "an operating point is for two classes, but there are 3" in done.err
    assert not (tmp_path / "m.pater").exists()


def test_a_saved_model_keeps_its_operating_point(run, data, tmp_path):
    rows, model = str(data[0]), str(tmp_path / "m.pater")
    assert run("train", rows, "-m", model, "--algo", "pater-i", "--max-fpr", "0.1", "-q").code == 0
    done = run("train", rows, "-m", model, "-i", model, "--max-fpr", "0.2")
    assert done.code == 2
    assert "--max-fpr cannot be combined with --initial-model" in done.err
    before = stream.load(model).threshold()
    assert run("train", rows, "-m", model, "-i", model, "-q").code == 0
    assert stream.load(model).threshold() not in (0, before)
    merged = str(tmp_path / "both.pater")
    assert run("merge", model, model, "-m", merged).code == 0
    assert stream.load(merged).threshold() != 0
