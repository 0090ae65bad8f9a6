"""Warnings on the command line about columns that a model cannot read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pater import Perceptron
from pater.formats.errors import Hint
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline, load

Run = Callable[..., Any]
N = 60
DAYS = pd.date_range("2024-01-01", periods=N, freq="31h")[np.random.default_rng(0).permutation(N)]
LEARNER = "--algo", "perceptron", "--label", "y"


def rows(path: Path, dates: list[str], amounts: list[str] | None = None) -> str:
    amounts = amounts or [f"{k}.5" for k in range(N)]
    cells = zip(dates, amounts, (k % 2 for k in range(N)), strict=True)
    path.write_text("at,amount,y\n" + "".join(f'"{at}","{amount}",{y}\n' for at, amount, y in cells))
    return str(path)


def test_dates_in_another_form_are_told(run: Run, tmp_path: Path) -> None:
    iso, model = rows(tmp_path / "iso.csv", [f"{day}" for day in DAYS]), str(tmp_path / "m.pater")
    us = rows(tmp_path / "us.csv", [f"{day:%m/%d/%Y}" for day in DAYS])
    assert run("train", iso, "-m", model, *LEARNER).code == 0
    told = f"hint: column 'at': 60 of 60 values are not dates as the model learned them, such as '{DAYS[0]:%m/%d/%Y}'"
    for verb in (["predict", model], ["evaluate", "--model", model], ["explain", model], ["train", "-i", model]):
        done = run(*verb, us, *(["-m", str(tmp_path / "n.pater")] if verb[0] == "train" else []))
        assert done.code == 0
        assert done.err.count(told) == 1
        assert done.err.count("they count as missing.") == 1
        assert told not in run(*verb, iso, *(["-m", str(tmp_path / "n.pater")] if verb[0] == "train" else [])).err
    counts = json.loads(run("inspect", str(tmp_path / "n.pater"), "--json").out)["counts"]
    assert counts["missing"] == 0


def test_they_are_counted_as_missing(run: Run, tmp_path: Path) -> None:
    amounts = [f"{k}.5" if k else "12,5" for k in range(N)]
    data, model = rows(tmp_path / "a.csv", [f"{day}" for day in DAYS], amounts), str(tmp_path / "m.pater")
    done = run("train", data, "-m", model, *LEARNER)
    assert "hint" not in done.err
    assert json.loads(run("inspect", model, "--json").out)["counts"]["missing"] == 1


def test_python_warns_once_for_each_column() -> None:
    table = pd.DataFrame({"at": DAYS, "amount": np.arange(float(N))})
    model = OnlinePipeline([("encode", TableEncoder()), ("learn", Perceptron())]).fit(table, np.arange(N) % 2)
    other = table.assign(at=[f"{day:%d.%m.%Y}" for day in DAYS], amount=[f"{k},5" for k in range(N)])
    with pytest.warns(Hint) as told:
        model.predict(other)
    assert [str(each.message).split(":")[0] for each in told] == ["column 'at'", "column 'amount'"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(table)
        model.predict(other[:19])


def test_a_model_keeps_the_decimal_mark(run: Run, tmp_path: Path) -> None:
    days, model = [f"{day}" for day in DAYS], str(tmp_path / "m.pater")
    comma = rows(tmp_path / "comma.csv", days, [f"{k},5" for k in range(N)])
    point = rows(tmp_path / "point.csv", days, [f"{k}.5" for k in range(N)])
    both = rows(tmp_path / "both.csv", days, [f"{k},5" if k % 2 else f"{k}.5" for k in range(N)])
    assert run("train", comma, "-m", model, "--decimal", ",", *LEARNER).code == 0
    want = run("predict", model, comma, "--decimal", ",", "--margins")
    for path in (comma, point, both):
        assert run("predict", model, path, "--margins") == want
    told = run("explain", model, comma, "--json").out
    assert told == run("explain", model, comma, "--json", "--decimal", ",").out
    assert '"20.5"' in told
    assert "not numbers as the model" in run("predict", model, comma, "--decimal", ".").err
    assert run("evaluate", "--model", model, comma).out == run("evaluate", "--model", model, point).out


@pytest.mark.parametrize(("form", "is_told"), [("%m/%d/%Y", True), ("%d.%m.%y %H:%M", True), ("%Y/%m/%d", False)])
def test_dates_that_are_read_as_text_are_told(run: Run, tmp_path: Path, form: str, is_told: bool) -> None:
    path, model = rows(tmp_path / "a.csv", [f"{day:{form}}" for day in DAYS]), str(tmp_path / "m.pater")
    done = run("train", path, "-m", model, *LEARNER)
    assert ("hint: column 'at' holds dates such as" in done.err) == is_told
    encoder = load(model).encoder
    assert encoder is not None
    assert (encoder.encoding.kinds["at"] == "date") != is_told


@pytest.mark.parametrize("options", [[], ["--workers", "1", "--shard-size", "20K"]], ids=["one-run", "workers"])
def test_a_column_that_turns_into_text_is_told_by_workers_too(run: Run, tmp_path: Path, options: list[str]) -> None:
    path, random = tmp_path / "turns.csv", np.random.default_rng(0)
    cells = [f"{x:.3f}" if k < 1500 else f"w{k % 7}" for k, x in enumerate(random.normal(size=8000))]
    path.write_text("a,b,y\n" + "".join(f"{cell},{k % 5},{k % 2}\n" for k, cell in enumerate(cells)))
    done = run("train", str(path), "-m", str(tmp_path / "m.pater"), *LEARNER, *options)
    assert done.code == 0
    assert done.err.count("hint: ") == 1
    assert "hint: column 'a': 6,500 of 8,000 values are not numbers as the model learned them, such as 'w2'" in done.err
