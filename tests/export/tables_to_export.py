"""Rows and labels for the tests of exported models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def matrix(n: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows, labels of two classes, and labels of three."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6)) * [1, 5, 0.5, 1, 1, 1] + [0, 5, 0, 0, 0, 20]
    X[rng.random(X.shape) < 0.3] = 0.0
    two = np.where(X[:, 0] + rng.normal(0, 0.3, n) > 1, "yes", "no")
    return X, two, np.where(X[:, 3] > 0.5, "other", two)


def table(n: int, seed: int = 0) -> pd.DataFrame:
    """Raw columns of every kind, with gaps."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 61)
    found = pd.DataFrame(
        {
            "amount": rng.lognormal(3, 2, n),
            "items": rng.poisson(2.0, n).astype(float),
            "flag": (rng.random(n) < 0.3).astype(float),
            "constant": np.full(n, 7.0),
            "member": rng.choice([True, False], n),
            "price": [f"${x:,.2f}" for x in rng.lognormal(8, 1, n)],
            "preis": [f"{x:_.2f} €".replace(".", ",").replace("_", ".") for x in rng.lognormal(8, 1, n)],
            "country": rng.choice([f"c{k}" for k in range(60)], n, p=shares / shares.sum()),
            "code": rng.choice(["1", "2.5", "1e3", "x"], n),
            "clock": pd.Timestamp("2024-02-27 22:00") + pd.to_timedelta(np.arange(n) * 3600.5, unit="s"),
            "born": pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20000, n), unit="D"),
            "created_ts": rng.integers(1_500_000_000_000, 1_600_000_000_000, n).astype(float),
            "seen": [f"202{k % 4}-0{k % 9 + 1}-1{k % 10}T1{k % 10}:20:00" for k in rng.integers(0, 10**6, n)],
            "note": [" ".join(rng.choice(["big", "red", "late", "Fox", "no", f"w{k}"], 4)) for k in range(n)],
            "id": [f"u{k * 7919 % 1000003}" for k in range(n)],
        }
    ).astype({"country": object, "note": object, "id": object, "price": object, "seen": object})
    for name in ("amount", "items", "country", "clock", "born", "note", "id", "price", "created_ts", "seen"):
        found.loc[rng.random(n) < 0.05, name] = None
    return found


def as_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {name: None if value is pd.NaT or value != value else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def labels(frame: pd.DataFrame, *, three: bool) -> Any:
    noise = np.random.default_rng(1).normal(0, 0.5, len(frame))
    two = np.where((frame["amount"].fillna(0) > 60) + (frame["country"] == "c1") + noise > 1, "yes", "no")
    return np.where(frame["flag"] > 0, "other", two) if three else two
