"""--interactions, as people type it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    random, n = np.random.default_rng(0), 4_000
    file = tmp_path_factory.mktemp("interactions") / "t.csv"
    amounts, countries = random.lognormal(3, 1, n), random.choice(["fr", "de", "us"], n)
    labels = np.where((amounts > 20) ^ (countries == "fr") ^ (random.random(n) < 0.1), "yes", "no")
    notes = [" ".join(words) for words in random.choice([f"w{k}" for k in range(20)], (n, 3)).tolist()]
    rows = [f"{a:.2f},{c},{note},{y}" for a, c, note, y in zip(amounts, countries, notes, labels, strict=True)]
    file.write_text("amount,country,note,y\n" + "\n".join(rows) + "\n")
    return str(file)


@pytest.mark.first_quick
@pytest.mark.parametrize("given", [("amount:country",), ("all",), (" country : amount ,amount:country",)])
def test_they_find_what_columns_alone_do_not_show(run, path, tmp_path, given):
    options = [text for one in given for text in ("--interactions", one)]
    done = run("train", path, "--label", "y", *options, "-m", str(tmp_path / "m"))
    assert done.code == 0
    told = run("inspect", str(tmp_path / "m"))
    assert " × " in told.out.split("largest weights")[1].splitlines()[1]
    assert "no interactions" not in told.out
    done = run("evaluate", path, "--label", "y", *options, "--json")
    assert json.loads(done.out)["balanced_accuracy"] > 0.8
    done = run("evaluate", path, "--label", "y", "--json")
    assert json.loads(done.out)["balanced_accuracy"] < 0.75


def test_inspect_says_that_the_leader_does_without(run, tmp_path):
    random = np.random.default_rng(0)
    x = random.standard_normal((4_000, 3))
    rows = [f"{a},{b},{c},{int(a > 0)}" for a, b, c in x.tolist()]
    (tmp_path / "t.csv").write_text("a,b,c,y\n" + "\n".join(rows) + "\n")
    done = run("train", str(tmp_path / "t.csv"), "--interactions", "b:c", "-m", str(tmp_path / "m"))
    assert done.code == 0
    assert ", no interactions" in run("inspect", str(tmp_path / "m")).out


@pytest.mark.parametrize(
    ("given", "code", "what"),
    [
        ("amount:nope", 1, "there is no column 'nope' that could be crossed"),
        ("amount:y", 1, "'y' is the label, which cannot be crossed"),
        ("note:amount", 1, "t.csv: the column 'note' cannot be crossed: it holds free text"),
        ("amount:amount", 1, "'amount' is crossed with itself"),
        ("amount", 2, "--interactions expects two columns, as in country:amount, or all; got 'amount'"),
        ("amount:country:note", 2, "got 'amount:country:note'"),
        ("amount:country,", 2, "got ''"),
        ("all,amount:country", 2, "all stands alone"),
    ],
)
@pytest.mark.parametrize("verb", ["train", "evaluate"])
def test_what_cannot_be_crossed_is_one_line(run, path, tmp_path, verb, given, code, what):
    more = ("-m", str(tmp_path / "m")) if verb == "train" else ()
    done = run(verb, path, "--label", "y", "--interactions", given, *more)
    assert done.code == code
    assert what in done.err
    assert len(done.err.splitlines()) == 1
    assert not Path(tmp_path / "m").exists()


def test_what_they_do_not_go_with(run, path, tmp_path):
    model = str(tmp_path / "m")
    for option in ("--scale", "--bits=10", "--encoding=plain"):
        done = run("train", path, "--label", "y", "--interactions", "all", option, "-m", model)
        assert (done.code, "is for encoded tables" in done.err) == (2, True)
    assert run("train", path, "--label", "y", "-m", model).code == 0
    done = run("train", path, "--interactions", "all", "-i", model, "-m", model)
    assert (done.code, "--interactions cannot be combined with --initial-model" in done.err) == (2, True)
    done = run("evaluate", path, "--interactions", "all", "-m", model)
    assert (done.code, "--interactions cannot be combined with --model" in done.err) == (2, True)
    (tmp_path / "r.svm").write_text("1 1:2\n-1 1:3\n")
    done = run("train", str(tmp_path / "r.svm"), "--interactions", "all", "-m", model)
    assert (done.code, "for tables that are encoded" in done.err) == (1, True)
