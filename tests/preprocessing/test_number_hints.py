"""A column of numbers that are written in a way that is not read is told of, as it is taken as text."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from pater.models.hints import Hint
from pater.preprocessing import TableEncoder

AMOUNTS = np.random.default_rng(0).uniform(-900, 900, 1000)


def plain_or(write, share=0.5):
    """Amounts of which some are written otherwise."""
    otherwise = np.random.default_rng(1).random(AMOUNTS.size) < share
    return [write(x) if odd else f"{abs(x):.2f}" for x, odd in zip(AMOUNTS, otherwise, strict=True)]


@pytest.mark.parametrize(
    ("column", "example"),
    [
        ([f"-${-x:.2f}" if x < 0 else f"${x:.2f}" for x in AMOUNTS], r"'-\$"),
        (plain_or(lambda x: f"({abs(x):,.2f})"), r"'\("),
        (plain_or(lambda x: f"−{abs(x):.2f}"), "'−"),
        (plain_or(lambda x: f"1 {abs(x):.2f}"), "'1 "),
        (plain_or(lambda x: f"1'{abs(x):.2f}"), "1'"),
        (plain_or(lambda x: "unknown", 0.13), "'unknown'"),
        (plain_or(lambda x: "#DIV/0!", 0.15), "'#DIV/0!'"),
    ],
)
def test_numbers_in_an_unusual_form(column, example):
    with pytest.warns(Hint, match=rf"column 'amount' is taken as text, since only \d\d% .* such as .*{example}"):
        TableEncoder().fit(pd.DataFrame({"amount": column, "other": AMOUNTS}))


@pytest.mark.parametrize(
    "column",
    [
        plain_or(lambda x: "x"),  # codes, of which half happen to be numbers
        [f"{k:05d}" for k in range(0, 100_000, 100)],  # with zeros in front
        [f"A{k % 7}" for k in range(1000)],
        [f"{k % 90}-{k % 7}" for k in range(1000)],
        [f"+49 {k} {k * 7 % 1000}" for k in range(1000)],
        ["1.2", "1.2.3", "10.3", "10.0.1.1"] * 250,
        ["1", "1+", "1-", "2", "3"] * 200,
        [f"{k % 90}" if k % 7 else f"{k % 90}a" for k in range(1000)],
        [f"{k % 9 + 1}" if k % 7 else "A" for k in range(1000)],
    ],
)
def test_other_texts(column):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TableEncoder().fit(pd.DataFrame({"code": column, "other": AMOUNTS}))


def test_a_column_that_is_declared_categorical():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        column = pd.Series(plain_or(lambda x: "unknown", 0.13), dtype="category")
        TableEncoder().fit(pd.DataFrame({"amount": column, "other": AMOUNTS}))
