"""What each column of a table adds to a margin, as a function of what it holds.

Knows `features`, `encoding` and how sure a model can be. A linear model on encoded rows is a sum of functions, one of
each raw column: of its z-score and of all indicators that its value has, whatever their resolution; and where columns
are crossed, of two of them. Functions are told as differences from the average row, so that their levels mean
something.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf, isinf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.certainty import Certainty
from .encoding import Encoding
from .features import MONTHS, WEEKDAYS, Feature

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Effect:
    """What a column adds to the margin where it holds one thing, compared with the average row.

    value
        What it holds: "12.5 to 40", "fr", "missing", "hour 22 to 23".
    kind
        As that of a feature; "range" for numbers from `low` on that are below `high`.
    effect, standard_error
        In units of the margin; NaN where the model does not know how sure it is. Of a range, in its middle.
    rows
        How many rows held it; None where that was not counted.
    start, end
        Where a range is drawn from and to. One without an end is drawn as wide as its neighbour.
    effect_at_start, effect_at_end
        The effect there: in between it is a straight line, but for where the z-score is clipped.
    """

    value: str
    kind: str
    effect: float
    standard_error: float = nan
    rows: int | None = None
    low: float = nan
    high: float = nan
    start: float = nan
    end: float = nan
    effect_at_start: float = nan
    effect_at_end: float = nan


@dataclass(frozen=True)
class Curve:
    """The effects of a column, or of one part of a date, on the margin of one class."""

    column: str  # or two of them, with × in between
    part: str  # "hour", "weekday" or "month" of dates; else ""
    kind: str  # of the column: "number", "date", "category", "text" or "id"; of two, "cross"
    model: int  # which class the margin speaks for, by its place
    effects: tuple[Effect, ...]
    is_counted: bool

    @property
    def name(self) -> str:
        return f"{self.column}: {self.part}" if self.part else self.column

    def foremost(self, most: int) -> list[Effect]:
        """Of many categories or words, those that make most of the spread; everything of any other curve."""
        if self.part or len(self.effects) <= most or any(effect.kind == "range" for effect in self.effects):
            return list(self.effects)
        return sorted(self.effects, key=lambda each: -(each.effect**2) * (1 if each.rows is None else each.rows))[:most]

    @property
    def spread(self) -> float:
        """How much of a difference the column makes: the root of the mean square of its effect over all rows."""
        rows = np.array([1 if effect.rows is None else effect.rows for effect in self.effects], np.float64)
        effects = np.array([effect.effect for effect in self.effects])
        return float(np.sqrt(rows @ effects**2 / rows.sum())) if rows.sum() > 0 else 0.0


@dataclass(frozen=True)
class Described:
    """What the output columns of an encoding stand for, and how often.

    rows
        Of each output column, the rows that had it; NaN for those that are no indicators, or were not counted.
    scales
        Of each column of numbers or dates its mean and its deviation.
    """

    encoding: Encoding
    features: list[Feature]
    rows: Reals
    scales: dict[str, tuple[float, float]]

    @classmethod
    def of(cls, encoding: Encoding, resolution: str) -> Described:
        features, counts = encoding.features(resolution), encoding.counts
        rows = np.full(len(features), nan)
        if counts is not None:
            edges = {column.name: (column.edges, counts.bins[j]) for j, column in enumerate(encoding.numbers)}
            indicators, crosses = iter(counts.indicators.tolist()), iter(encoding.crosses.rows.tolist())
            for j, feature in enumerate(features):
                if feature.crossed:
                    rows[j] = next(crosses)
                elif feature.kind == "bin":
                    cuts, fine = edges[feature.column]
                    first, last = np.searchsorted(cuts, [feature.low, feature.high])
                    rows[j] = fine[first + (not isinf(feature.low)) : last + 1].sum()
                elif feature.kind != "z":
                    rows[j] = next(indicators)
        scales = {}
        for column, (n, mean, square) in zip(encoding.numbers, encoding.moments.tolist(), strict=True):
            scales[column.name] = mean, float(np.sqrt(square / n)) if n > 0 else 0.0
        return cls(encoding, features, rows, scales)

    @property
    def is_counted(self) -> bool:
        return self.encoding.counts is not None

    @cached_property
    def terms(self) -> list[str]:
        """What margins are made up of: the columns of the table, then their crosses."""
        return list(dict.fromkeys([*self.encoding.names, *(feature.term for feature in self.features)]))

    @cached_property
    def term_of(self) -> NDArray[np.int64]:
        """The term that each output column belongs to."""
        place = {term: k for k, term in enumerate(self.terms)}
        return np.array([place[feature.term] for feature in self.features], np.int64)

    @cached_property
    def mean(self) -> Reals:
        """The average row: the share of rows with each indicator. Its z-scores are 0, and it has no words."""
        known = [
            not np.isnan(n) and feature.kind != "word" for n, feature in zip(self.rows, self.features, strict=True)
        ]
        return np.where(known, self.rows, 0.0) / max(1, self.encoding.rows)

    def centres(self, weights: Reals) -> Reals:
        """What each term adds to the margin of the average row, (models, terms)."""
        found = np.zeros((len(weights), len(self.terms)))
        for k, w in enumerate(weights):
            np.add.at(found[k], self.term_of, w * self.mean)
        return found

    def told(self, j: int) -> str:
        """An output column as a phrase."""
        feature = self.features[j]
        return feature.told(self.scales[feature.column][1] if feature.kind == "z" else None)


def curves(described: Described, weights: Reals, certainty: Certainty | None) -> list[Curve]:
    """The effects of all columns on the margins of weights (models, output columns), those that matter most first."""
    found = []
    for name, kind in described.encoding.kinds.items():
        own = [j for j, each in enumerate(described.features) if each.column == name and not each.crossed]
        of_column = []
        for part in dict.fromkeys(described.features[j].part for j in own):
            columns = np.array([j for j in own if described.features[j].part == part], np.int64)
            points = list(_ranges(described, name, columns)) + list(_others(described, columns))
            for k, w in enumerate(weights):
                effects = _effects(points, described.mean[columns], w[columns], k, columns, certainty)
                of_column.append(Curve(name, part, kind, k, tuple(effects), described.is_counted))
        if of_column:
            found.append(sorted(of_column, key=lambda curve: -curve.spread))
    found += [[curve] for curve in _crossed(described, weights, certainty)]
    found.sort(key=lambda some: -sum(curve.spread**2 for curve in some))
    return [curve for some in found for curve in some]


def _crossed(described: Described, weights: Reals, certainty: Certainty | None) -> Iterable[Curve]:
    """The effects of crosses that rows had, beyond those of the columns, where the model looks at them."""
    first = next((j for j, feature in enumerate(described.features) if feature.crossed), 0)
    for name, places in described.encoding.crosses.groups():
        group = np.arange(first + places.start, first + places.stop)
        group = group[described.encoding.crosses.rows[places] > 0]
        points = list(_others(described, group))
        for k, w in enumerate(weights):
            if w[group].any():
                effects = _effects(points, described.mean[group], w[group], k, group, certainty)
                yield Curve(name, "", "cross", k, tuple(effects), described.is_counted)


@dataclass(frozen=True)
class _Point:
    """Something that a column holds: what it is, and the output columns at its middle and at both ends."""

    told: dict[str, Any]
    at: list[Reals]


def _effects(
    points: list[_Point],
    mean: Reals,
    weights: Reals,
    model: int,
    columns: NDArray[np.int64],
    certainty: Certainty | None,
) -> Iterable[Effect]:
    if not points:
        return
    middles = np.stack([point.at[0] for point in points]) - mean
    errors = np.full(len(points), nan) if certainty is None else certainty.deviations(model, columns, middles)
    for point, middle, error in zip(points, middles, errors.tolist(), strict=True):
        ends = [float((x - mean) @ weights) for x in point.at[1:]]
        start, end = ends or (nan, nan)
        effect = float(middle @ weights)
        yield Effect(effect=effect, standard_error=error, effect_at_start=start, effect_at_end=end, **point.told)


def _ranges(described: Described, column: str, columns: NDArray[np.int64]) -> Iterable[_Point]:
    """The ranges between all edges of a column of numbers or dates, at any resolution."""
    features = [described.features[j] for j in columns.tolist()]
    bins = [feature for feature in features if feature.kind == "bin"]
    if column not in described.scales or not any(feature.kind == "z" for feature in features):
        return
    mean, deviation = described.scales[column]
    clip, is_date = described.encoding.settings.clip, any(feature.is_date for feature in features)
    rows = {(f.low, f.high): described.rows[j] for f, j in zip(features, columns.tolist(), strict=True) if f in bins}
    edges = sorted({edge for each in bins for edge in (each.low, each.high) if not isinf(edge)})
    drawn = _drawn(edges, mean, deviation)

    def at(value: float, low: float) -> Reals:
        z = min(max((value - mean) / deviation, -clip), clip) if deviation > 0 else 0.0
        return np.array(
            [z if f.kind == "z" else float(f.kind == "bin" and f.low <= low < f.high) for f in features], np.float64
        )

    for (low, high), (start, end) in zip(pairwise([-inf, *edges, inf]), pairwise(drawn), strict=True):
        value = Feature(column, "bin", low=low, high=high, is_date=is_date).range if edges else "any"
        n = rows.get((low, high), nan) if edges else _of_column(described, column)
        told: dict[str, Any] = {"value": value, "kind": "range", "rows": None if np.isnan(n) else int(n)}
        told |= {"low": low, "high": high, "start": start, "end": end}
        yield _Point(told, [at(value, low) for value in ((start + end) / 2, start, end)])


def _of_column(described: Described, column: str) -> float:
    """The rows that have a number in a column."""
    counts = described.encoding.counts
    names = [each.name for each in described.encoding.numbers]
    return nan if counts is None else float(counts.bins[names.index(column)].sum())


def _drawn(edges: list[float], mean: float, deviation: float) -> list[float]:
    """Edges with an end on both sides: outer ranges are as wide as their neighbours, or as the values vary."""
    if not edges:
        return [mean - 2 * (deviation or 0.5), mean + 2 * (deviation or 0.5)]
    first, last = (edges[1] - edges[0], edges[-1] - edges[-2]) if len(edges) > 1 else (deviation or 1.0,) * 2
    return [edges[0] - first, *edges, edges[-1] + last]


def _others(described: Described, columns: NDArray[np.int64]) -> Iterable[_Point]:
    """Everything of a column that is there or not."""
    there = [j for j in columns.tolist() if described.features[j].kind not in ("z", "bin")]
    for j in sorted(there, key=lambda j: _in_order(described.features[j])):
        feature, n = described.features[j], described.rows[j]
        x = (columns == j).astype(np.float64)
        rows = None if np.isnan(n) else int(n)
        yield _Point({"value": feature.value, "kind": feature.kind, "rows": rows}, [x])


def _in_order(feature: Feature) -> tuple[int, int]:
    """Hours, days and months by the calendar; of anything else, what stands for many or for nothing comes last."""
    calendar = {"weekday": WEEKDAYS, "month": MONTHS, "hour": tuple(f"hour {hour}" for hour in range(24))}
    place = calendar[feature.kind].index(feature.text) if feature.kind in calendar else 0
    return {"missing": 3, "rare": 2, "bucket": 1}.get(feature.kind, 0), place
