"""`pater merge` of any number of files: in order, the same bits as `merge_all`, and errors that name files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import pater as library
from pater.stream import load, train
from pater.stream.merging import merged


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Five shards of rows."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    for k in range(5):
        X = random.standard_normal((200, 6))
        y = np.where(X[:, 0] + 0.3 * random.standard_normal(200) > 0.6, 1, 0)
        lines = [
            f"{label} " + " ".join(f"{j}:{x:.4f}" for j, x in enumerate(row)) for label, row in zip(y, X, strict=True)
        ]
        (tmp_path / f"{k}.svm").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.first_quick
@pytest.mark.parametrize("algo", ["auto", "pater-ii", "arow"])
def test_the_same_bits_as_merge_all(run, files, algo):
    for k in range(5):
        train(f"{k}.svm", model=f"{k}.pater", algo=algo)
    names = [f"{k}.pater" for k in range(5)]
    assert run("merge", *names, "-m", "all.pater")[0] == 0
    both, expected = library.load("all.pater"), library.merge_all(map(library.load, names))
    np.testing.assert_array_equal(both.coef_, expected.coef_)
    np.testing.assert_array_equal(both.intercept_, expected.intercept_)
    assert load("all.pater").rows == both.t_ == 1000
    assert load("all.pater").sources == [f"{k}.svm" for k in range(5)]
    before = (files / "all.pater").read_bytes()
    assert run("merge", *names, "-m", "2.pater")[0] == 0
    assert (files / "2.pater").read_bytes() == before


@pytest.mark.slow
def test_tables_give_the_same_bits_too(run, files):
    random = np.random.default_rng(1)
    for k in range(4):
        country = random.choice(["DE", "FR", "IT", f"only {k}"], 400)
        table = pd.DataFrame({"amount": random.lognormal(3, 1, 400), "country": country})
        table["y"] = np.where((table["amount"] > 30) ^ (table["country"] == "FR"), "yes", "no")
        table.to_csv(f"{k}.csv", index=False)
    train(["0.csv", "1.csv", "2.csv"], model="begun", label="y")
    for k in range(4):
        train(f"{k}.csv", model=f"{k}.pater", initial="begun")
    names = [f"{k}.pater" for k in range(4)]
    assert run("merge", *names, "-m", "all")[0] == 0
    both, expected = library.load("all"), library.merge_all(map(library.load, names))
    rows = pd.read_csv("3.csv").drop(columns="y")
    np.testing.assert_array_equal(both.decision_function(rows), expected.decision_function(rows))
    assert "country=only 3" in both.named_steps["table"].get_feature_names_out()


def test_errors_name_the_files_and_write_nothing(run, files):
    train("0.svm", model="a", algo="arow")
    train("1.svm", model="b", algo="arow")
    others = {
        "r=5.0 where a has r=1.0": {"algo": "arow", "r": 5.0},
        "intercept=False where a has intercept=True": {"algo": "arow", "intercept": False},
        "algo='auto' where a has algo='arow'": {},
        "scale=True where a has scale=False": {"algo": "arow", "scale": True},
    }
    for told, settings in others.items():
        train("2.svm", model="c", **settings)
        code, _, err = run("merge", "a", "b", "c", "-m", "out")
        assert (code, err) == (1, f"pater: c has {told}.\n")
    train("2.svm", model="x", scoring="ter")
    train("2.svm", model="z", fading=0.9)
    assert "c has scoring='balanced_accuracy' where x has scoring='ter'" in run("merge", "x", "c", "-m", "out")[2]
    train("0.svm", model="y")
    assert run("merge", "y", "x", "-m", "out")[2] == (
        "pater: x has scoring='ter' where y has scoring='balanced_accuracy'.\n"
    )
    assert run("merge", "y", "z", "-m", "out")[2] == "pater: z has fading=0.9 where y has fading=0.985.\n"
    library.AROWClassifier().fit([[0.0], [1.0]], [0, 1]).save("e")
    assert "e has watch=False where a has watch=True. pater train counts" in run("merge", "a", "e", "-m", "out")[2]
    (files / "w.csv").write_text("x,y\n" + "1,yes\n2,no\n" * 20)
    train("w.csv", model="w", algo="arow", label="y", encoding="plain")
    assert run("merge", "a", "w", "-m", "out")[2] == (
        "pater: w has text as classes, such as 'no', where a has numbers as classes, such as 0.\n"
    )
    (files / "w.csv").write_text("x,y\n" + "1,1\n2,0\n" * 20)
    train("w.csv", model="w", algo="arow", label="y", encoding="plain")
    assert run("merge", "a", "w", "-m", "out")[2] == ("pater: w has columns='table' where a has columns='indices'.\n")
    (files / "d").write_bytes((files / "a").read_bytes()[:-9])
    code, _, err = run("merge", "a", "b", "d", "-m", "out")
    assert code == 1
    assert err.startswith("pater: d: its checksum is wrong")
    code, _, err = run("merge", "a", "nowhere", "b", "-m", "out")
    assert (code, err) == (1, "pater: nowhere: cannot be read: No such file or directory.\n")
    assert not (files / "out").exists()


def test_other_columns_of_tables(run, files):
    for name, header in (("a", "x,z"), ("b", "x,w"), ("c", "x")):
        values = ",".join("1" for _ in header.split(","))
        (files / f"{name}.csv").write_text(f"{header},y\n" + f"{values},yes\n{values},no\n" * 20)
        train(f"{name}.csv", model=name, algo="arow", label="y", encoding="plain")
    assert run("merge", "a", "b", "-m", "out")[2] == (
        "pater: b has 'w' (number) as column 2 where a has 'z' (number) as column 2.\n"
    )
    assert run("merge", "a", "c", "-m", "out")[2] == (
        "pater: c has no column 2 where a has 'z' (number) as column 2.\n"
    )


def test_learners_stay_as_they_are(files):
    learners = [train(f"{k}.svm", algo="pater-ii", scale=True) for k in range(3)]
    learners[0].save("before")
    both = merged(learners, list("abc"))
    learners[0].save("after")
    assert (files / "before").read_bytes() == (files / "after").read_bytes()
    one = merged(learners[:1], ["a"])
    (batch,) = library.stream.read("4.svm")
    one.learn(batch)
    both.learn(batch)
    learners[0].save("after")
    assert (files / "before").read_bytes() == (files / "after").read_bytes()
    grouped = merged([learners[0], merged(learners[1:], ["b", "c"])], ["a", "bc"])
    again = merged(learners, list("abc"))
    for name in ("count", "mean", "square"):
        np.testing.assert_allclose(getattr(grouped.scaler, name), getattr(again.scaler, name), rtol=1e-12)


def test_a_pattern_that_no_file_matches(run, files):
    train("0.svm", model="0.pater", algo="pater-ii")
    for models in (["m*.nope"], ["0.pater", "m*.nope"]):
        assert run("merge", *models, "-m", "x.pater") == (1, "", "pater: m*.nope: no file has a name like this.\n")
