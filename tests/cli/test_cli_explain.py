"""pater explain and pater inspect: by name, in readable units, and to the bit what pater predict gives."""

from __future__ import annotations

import json
import re
from functools import reduce
from operator import add

import numpy as np
import pandas as pd
import pytest

from pater.files import model_file
from pater.stream import load


def frame(n=3000, seed=0):
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "amount": random.gamma(2, 20, n).round(2),
            "country": random.choice(["fr", "de", "<b>&jp"], n),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 60 * 86400, n), unit="s"),
        }
    )
    table.loc[random.random(n) < 0.05, "amount"] = None
    odds = np.sin(table["amount"].fillna(0) / 15) + (table["country"] == "fr") + (table["when"].dt.hour < 6)
    table["label"] = np.where(odds + random.standard_normal(n) > 1, "yes", "no")
    return table


@pytest.fixture
def files(tmp_path, run):
    """A table, some of its rows, and a model of it."""
    table = frame()
    table.to_csv(tmp_path / "t.csv", index=False)
    table[:25].drop(columns="label").to_csv(tmp_path / "few.csv", index=False)
    assert run("train", str(tmp_path / "t.csv"), "-m", str(tmp_path / "m.pater"), "-q").code == 0
    return str(tmp_path / "t.csv"), str(tmp_path / "few.csv"), str(tmp_path / "m.pater")


def add_up(margin):
    return reduce(add, [*(term["adds"] for term in margin["terms"]), margin["base"], margin["rounding"]])


def margins_of(run, model, rows):
    done = run("predict", model, rows, "--margins", "--output-format", "jsonl")
    return [json.loads(line) for line in done.out.splitlines()]


def test_curves_as_a_table(run, files):
    done = run("explain", files[2])
    assert done.code == 0
    assert re.match(r"class yes: the average row has a margin of \S+; yes is predicted from 0 on", done.out)
    assert re.search(r"^amount \(number\), spread 0\.\d+$", done.out, re.MULTILINE)
    assert re.search(r"^  missing +\d+ +[+-]0\.\d+ ± 0\.\d+", done.out, re.MULTILINE)
    assert re.search(r"^  hour 22 to 23 +\d+ ", done.out, re.MULTILINE)
    assert "fr" in done.out
    assert "country" not in run("explain", files[2], "--top", "1").out


def test_curves_as_json_are_those_of_python(run, files):
    import pater

    told = json.loads(run("explain", files[2], "--json").out)
    wanted = pater.load(files[2]).effect_curves()
    found = [(curve, effect) for curve in told["curves"] for effect in curve["effects"]]
    assert told["counted"] is True
    assert told["rows"] == 3000
    assert [effect["effect"] for _, effect in found] == wanted["effect"].tolist()
    assert [effect["rows"] for _, effect in found] == wanted["rows"].tolist()
    assert [effect["standard_error"] for _, effect in found] == wanted["standard_error"].tolist()
    assert [curve["column"] for curve, _ in found] == wanted["column"].tolist()


@pytest.mark.first_quick
@pytest.mark.parametrize("how", ["few.csv", "few.parquet"])
def test_contributions_sum_to_the_margins_of_predict(run, files, how, tmp_path):
    pd.read_csv(files[1]).to_parquet(tmp_path / "few.parquet", index=False)
    rows = str(tmp_path / how)
    done = run("explain", files[2], rows, "--json")
    told = [json.loads(line) for line in done.out.splitlines()]
    wanted = margins_of(run, files[2], rows)
    assert [add_up(row["margins"][0]) for row in told] == [row["margin"] for row in wanted]
    assert [row["margins"][0]["margin"] for row in told] == [row["margin"] for row in wanted]
    assert [row["prediction"] for row in told] == [row["label"] for row in wanted]
    assert {term["name"] for term in told[0]["margins"][0]["terms"]} == {"amount", "country", "when"}
    assert len(run("explain", files[2], rows, "--json", "--limit", "3").out.splitlines()) == 3


@pytest.mark.first_quick
@pytest.mark.parametrize(
    "options",
    [
        ("--encoding", "plain"),
        ("--encoding", "plain", "--scale"),
        ("--algo", "arow", "--covariance", "diagonal", "--average"),
        ("--max-fpr", "0.1"),
        ("--algo", "pater-ii"),
        ("--algo", "wpater", "--bits", "10"),
    ],
)
def test_every_model_is_explained(run, files, options, tmp_path):
    model = str(tmp_path / "other.pater")
    assert run("train", files[0], "-m", model, "-q", *options).code == 0
    told = [json.loads(line) for line in run("explain", model, files[1], "--json").out.splitlines()]
    wanted = margins_of(run, model, files[1])
    assert [add_up(row["margins"][0]) for row in told] == [row["margin"] for row in wanted]
    if "--max-fpr" in options:
        assert told[0]["threshold"] == load(model).threshold() != 0
        assert [row["prediction"] for row in told] == [row["label"] for row in wanted]
        assert f"predicted from {told[0]['threshold']:.4g} on" in run("explain", model).out
    if "--encoding" in options or "--bits" in options:
        done = run("explain", model)
        assert done.code == 1
        assert "no effect curves" in done.err
        assert "amount" in run("explain", model, files[1]).out or "--bits" in options


def test_rows_as_a_table_are_told_by_value(run, files):
    done = run("explain", files[2], files[1], "--limit", "2")
    assert done.code == 0
    assert "Only the first 2 rows are shown" in done.err
    assert "Only the first row is shown" in run("explain", files[2], files[1], "--limit", "1").err
    first = pd.read_csv(files[1]).iloc[0]
    assert f"amount = {first['amount']:g}" in done.out
    assert "few.csv, line 2: predicted" in done.out
    assert done.out.count("margin of yes") == 2
    assert "more rows" not in run("explain", files[2], files[1], "--limit", "25").err


@pytest.mark.slow
def test_several_classes(run, tmp_path):
    table = frame()
    table["label"] = np.digitize(table["amount"].fillna(0), [20, 50])
    table.to_csv(tmp_path / "t.csv", index=False)
    rows, model = str(tmp_path / "t.csv"), str(tmp_path / "m.pater")
    assert run("train", rows, "-m", model, "-q").code == 0
    assert "amount (number, class 2)" in run("explain", model).out
    told = [json.loads(line) for line in run("explain", model, rows, "--json", "--limit", "9").out.splitlines()]
    for row, wanted in zip(told, margins_of(run, model, rows), strict=False):
        assert "threshold" not in row
        assert [add_up(margin) for margin in row["margins"]] == [wanted[f"margin_{k}"] for k in range(3)]
    assert run("explain", model, rows, "--html", str(tmp_path / "page.html")).code == 0
    assert "margin of 2" in (tmp_path / "page.html").read_text()


def test_libsvm_rows_have_their_indices(run, tmp_path):
    (tmp_path / "r.svm").write_text("0 1:1 7:2\n1 2:1 7:-1\n" * 20)
    rows, model = str(tmp_path / "r.svm"), str(tmp_path / "m.pater")
    assert run("train", rows, "-m", model, "-q", "--algo", "pa").code == 0
    told = json.loads(run("explain", model, rows, "--json", "--limit", "1").out)
    assert [term["name"] for term in told["margins"][0]["terms"]] == ["1", "7"]
    assert run("explain", model, rows, "--html", str(tmp_path / "page.html")).code == 0
    assert run("explain", model, "--html", str(tmp_path / "page.html")).code == 1


def test_the_page_is_whole_and_escapes_what_data_holds(run, files, tmp_path):
    page = tmp_path / "page.html"
    assert run("explain", files[2], files[1], "--html", str(page), "--limit", "3").code == 0
    text = page.read_text()
    assert "<b>&jp" not in text
    assert "&lt;b&gt;&amp;jp" in text
    assert not re.search(r"(?:src|href)=", text)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert text.count("<figure>") == 6 + 3
    assert "nan" not in text
    done = run("explain", files[2], files[1], "--html", files[1])
    assert done.code == 1
    assert "cannot be written" in done.err
    assert run("explain", files[2], "--html", str(page), "--json").code == 2


@pytest.mark.slow
def test_what_was_not_counted_is_said(run, files, tmp_path):
    saved = model_file.load(files[2])
    for name in ("encoder.bin_rows", "encoder.indicator_rows"):
        saved.arrays.pop(name)
    old = str(tmp_path / "old.pater")
    model_file.save(old, saved)
    done = run("explain", old)
    assert done.code == 0
    assert "rows were not counted" in done.out
    assert "not counted  " in done.out
    assert json.loads(run("explain", old, "--json").out)["counted"] is False
    told = json.loads(run("explain", old, files[1], "--json", "--limit", "1").out)
    assert add_up(told["margins"][0]) == told["margins"][0]["margin"]
    assert run("explain", old, "--html", str(tmp_path / "page.html")).code == 0


@pytest.mark.first_quick
@pytest.mark.parametrize("rows", ["nothing.csv", "wrong.csv"])
def test_wrong_rows_are_one_line(run, files, tmp_path, rows):
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    done = run("explain", files[2], str(tmp_path / rows))
    assert done.code == 1
    assert len(done.err.splitlines()) == 1


def test_inspect_names_what_matters(run, files):
    done = run("inspect", files[2], "--top", "60")
    assert re.search(r"columns that matter, class yes.*\n  (amount|country|when) ", done.out)
    assert "amount, per deviation (" in done.out
    assert re.search(r"amount [\d.]+ to [\d.]+", done.out)
    assert "country = fr" in done.out
    assert "when: hour 3 to 4" in done.out
    assert "amount missing" in done.out
    told = json.loads(run("inspect", files[2], "--json").out)
    assert {name for name, _ in told["columns_that_matter"][0]["spreads"]} == {"amount", "country", "when"}


@pytest.mark.slow
def test_as_many_columns_as_wanted_in_json(run, files):
    everything = json.loads(run("explain", files[2], "--json").out)
    first = json.loads(run("explain", files[2], "--json", "--top", "1").out)
    column = everything["curves"][0]["column"]
    assert first["curves"] == [curve for curve in everything["curves"] if curve["column"] == column]
    assert first | {"curves": ()} == everything | {"curves": ()}
    assert {curve["column"] for curve in everything["curves"]} == {"amount", "country", "when"}
    assert json.loads(run("explain", files[2], "--json", "--top", "0").out)["curves"] == []


@pytest.mark.slow
def test_flags_come_first_and_what_has_no_effect_last(run, tmp_path):
    random = np.random.default_rng(0)
    flag = random.random(4000) < 0.3
    table = pd.DataFrame({"noise": random.standard_normal(4000), "same": 7, "flag": flag.astype(int)})
    table["y"] = (random.random(4000) < np.where(flag, 0.6, 0.05)).astype(int)
    table.to_csv(tmp_path / "t.csv", index=False)
    model, page = str(tmp_path / "m.pater"), tmp_path / "page.html"
    assert run("train", str(tmp_path / "t.csv"), "--label", "y", "-m", model, "-q").code == 0
    out = run("explain", model).out
    assert re.search(
        rf"flag \(number\), spread 0\.\d+\n  0 +{(~flag).sum():,} +-.*-\n  1 +{flag.sum():,} +\+.*\+\n", out
    )
    assert out.index("flag (number)") < out.index("noise (number)") < out.index("no effect: same")
    assert json.loads(run("explain", model, "--json").out)["without_effect"] == ["same"]
    assert run("inspect", model).out.index("  flag ") < run("inspect", model).out.index("  noise ")
    assert run("explain", model, "--html", str(page)).code == 0
    assert "What matters most: <b>flag</b>" in page.read_text()


def test_rounding_has_no_bars(capsys):
    from pater.cli.explain import _curves
    from pater.preprocessing.curves import Curve, Effect
    from pater.stream.effects_page import _curves as drawn

    def curve(column, *sizes):
        effects = tuple(Effect(str(size), "category", size, rows=1) for size in sizes)
        return Curve(column, "", "category", 0, effects, True, max(map(abs, sizes)))

    told = {"base": [{"class": 1, "margin": 0.5}], "counted": True, "without_effect": []}
    _curves(told, [curve("a", 1.0, -0.5), curve("b", 1e-18, -1e-18)], 10)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines if line.startswith("  ")] == ["+" * 20, "-" * 10, "+0.000", "-0.000"]
    bars = re.findall(r'class="bar \w+".*?width="([\d.]+)"', drawn([curve("b", 1e-18, -1e-18)], 1, several=False))
    assert bars == ["0.5", "0.5"]


@pytest.mark.slow
def test_bars_take_what_a_narrow_terminal_leaves(run, files, monkeypatch):
    def without_bars(text):
        return [re.sub(r" [+-]+$", "", line).rstrip() for line in text.splitlines()]

    wide = run("explain", files[2]).out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "58")
    narrow = run("explain", files[2]).out
    assert max(len(line) for line in narrow.splitlines() if re.search(r" [+-]+$", line)) == 58
    assert without_bars(narrow) == without_bars(wide)
