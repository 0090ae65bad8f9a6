"""Tables for the tests of the encoder, and a second encoder in plain Python."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd

from pater.preprocessing.columns import Column
from pater.preprocessing.encoded import Encoded
from pater.preprocessing.encoding import Encoding
from pater.preprocessing.tables import table_of


def largest_width(encoding: Encoding) -> int:
    """The most output columns that there can ever be, at any resolution."""
    return encoding.layout("nested")[1] + encoding.places.size


def frame(n: int, seed: int = 0) -> pd.DataFrame:
    """Numbers of many kinds, categories, dates, texts and ids, with gaps."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, 61)
    table = pd.DataFrame(
        {
            "normal": rng.standard_normal(n),
            "skewed": rng.lognormal(3, 2, n),
            "count": rng.poisson(2.0, n).astype(float),
            "mostly zero": np.where(rng.random(n) < 0.7, 0.0, rng.random(n)),
            "flag": (rng.random(n) < 0.3).astype(float),
            "constant": np.full(n, 7.0),
            "country": rng.choice([f"c{k}" for k in range(60)], n, p=shares / shares.sum()),
            "when": pd.Timestamp("2024-02-27 22:00")
            + pd.to_timedelta(np.sort(rng.integers(0, 86400 * 90, n)), unit="s"),
            "note": [" ".join(rng.choice(["big", "red", "late", "Fox", "no", f"w{k}"], 4)) for k in range(n)],
            "id": [f"u{k * 7919 % 1000003}" for k in range(n)],
        }
    )
    for name in ("normal", "skewed", "count", "country", "when", "note", "id"):
        table.loc[rng.random(n) < 0.05, name] = None
    return table


def as_dicts(encoded: Encoded, encoding: Encoding, resolution: str) -> list[dict[str, float]]:
    """Encoded rows by column name."""
    names = [feature.name for feature in encoding.features(resolution)]
    indptr, indices, data = encoded.rows(resolution)
    return [
        {names[indices[k]]: float(data[k]) for k in range(int(indptr[r]), int(indptr[r + 1]))}
        for r in range(indptr.size - 1)
    ]


def raw_rows(table: Any) -> list[dict[str, Any]]:
    """A frame as rows of numbers, texts and datetimes, or None."""
    rows = table.to_dict("records") if isinstance(table, pd.DataFrame) else table
    return [{name: None if pd.isna(value) else value for name, value in row.items()} for row in rows]


class Plain:
    """What an encoder knows, row by row, with bin edges taken from another encoder."""

    def __init__(self, first: list[dict[str, Any]], encoding: Encoding) -> None:
        self.s, self.edges = encoding.settings, {c.name: c.edges.tolist() for c in encoding.numbers}
        self.groups = {c.name: c.groups.tolist() for c in encoding.numbers}
        self.kinds = {c.name: c.kind for c in encoding.columns}
        self.clocks = {c.name for c in encoding.columns if getattr(c, "clock", False)}
        self.numbers: dict[str, list[float]] = {name: [] for name in self.edges}
        self.counts: dict[str, dict[str, int]] = {name: {} for name in self.kinds}
        self.own: dict[str, list[str]] = {name: [] for name in self.kinds}
        for row in first:
            for name in self.kinds:
                self.learn_number(name, row[name])
                if self.kinds[name] == "category" and row[name] is not None:
                    self.counts[name][row[name]] = self.counts[name].get(row[name], 0) + 1
        for name, counts in self.counts.items():
            self.own[name] = [text for text, count in counts.items() if count >= self.s.min_count]
            assert len(self.own[name]) <= self.s.max_categories

    def learn_number(self, name: str, value: Any) -> None:
        if name in self.numbers and value is not None:
            self.numbers[name].append(number(value))

    def encode(self, row: dict[str, Any], resolution: str, learn: bool) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, kind in self.kinds.items():
            value = row[name]
            if value is None:
                found[f"{name}: missing"] = 1.0
                continue
            if name in self.numbers:
                if learn:
                    self.learn_number(name, value)
                found |= self.of_number(name, number(value), resolution)
            if kind == "date":
                found[f"{name}: hour {value.hour}"] = 1.0
                found[f"{name}: {value.strftime('%A')}"] = found[f"{name}: {value.strftime('%B')}"] = 1.0
            if kind == "category":
                found[self.of_category(name, value, learn)] = 1.0
            if kind == "text":
                words = set(re.findall(r"\w+", value.lower()))
                found |= {f"{name}~{word}": 1 / math.sqrt(len(words)) for word in words}
        return found

    def of_number(self, name: str, value: float, resolution: str) -> dict[str, float]:
        seen = np.array(self.numbers[name])
        z = (value - seen.mean()) / seen.std() if np.ptp(seen) > 0 else 0.0
        found = {name: float(np.clip(z, -self.s.clip, self.s.clip))} if z and name not in self.clocks else {}
        if resolution == "none" or not self.edges[name]:
            return found
        for kind in ("coarse", "fine") if resolution == "nested" else (resolution,):
            found[f"{name}: {self.bin_of(name, value, kind)}"] = 1.0
        return found

    def bin_of(self, name: str, value: float, resolution: str) -> str:
        edges, groups = self.edges[name], self.groups[name]
        if resolution == "coarse":
            edges = [edge for k, edge in enumerate(edges) if groups[k] != groups[k + 1]]
        low = max((edge for edge in edges if edge <= value), default=None)
        high = min((edge for edge in edges if edge > value), default=None)
        is_date = self.kinds[name] == "date"
        a, b = ("" if edge is None else shown(edge, is_date) for edge in (low, high))
        return f"below {b}" if low is None else f"from {a}" if high is None else f"{a} to {b}"

    def of_category(self, name: str, text: str, learn: bool) -> str:
        if text not in self.own[name] and learn:
            self.counts[name][text] = self.counts[name].get(text, 0) + 1
            if self.counts[name][text] >= self.s.min_count:
                self.own[name].append(text)
        return f"{name}={text}" if text in self.own[name] else f"{name}: rare"


def number(value: Any) -> float:
    return (value - datetime(1970, 1, 1)).total_seconds() if isinstance(value, datetime) else float(value)


def shown(edge: float, is_date: bool) -> str:
    return str(datetime.fromtimestamp(edge, UTC).replace(tzinfo=None)) if is_date else f"{edge:.15g}"


def columns(n: int, seed: int = 0) -> dict[str, Column]:
    return table_of(frame(n, seed))
