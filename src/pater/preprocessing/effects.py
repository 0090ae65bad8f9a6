"""The contribution of each column of a table to a margin, as a function of its value.

Knows `curves`, `features`, `encoding` and the certainty of a model. A linear model on encoded rows is a sum of
functions, one for each raw column, which adds up its z-score and all its indicators at every resolution, and one for
each pair of crossed columns. Functions are given as differences from the average row, so that their levels mean
something.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import floor, hypot, inf, isinf, log10, nan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models.certainty import Certainty
from .curves import Curve, Effect
from .encoding import Encoding
from .features import MONTHS, WEEKDAYS, Feature, written

Reals = NDArray[np.float64]
FIRST, LAST = -62135596800.0, 253402300799.0  # moments with a year of four digits


@dataclass(frozen=True)
class Described:
    """The meanings of the output columns of an encoding, and how many rows had each.

    rows
        By output column; NaN for those that are not indicators, or were not counted.
    scales
        The mean and the deviation of each column of numbers or dates.
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
        """The terms of which margins are sums: the columns of the table, then their crosses."""
        return list(dict.fromkeys([*self.encoding.names, *(feature.term for feature in self.features)]))

    @cached_property
    def term_of(self) -> NDArray[np.int64]:
        """The term of each output column, by its place in `terms`."""
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
        """An output column, described in a phrase."""
        feature = self.features[j]
        return feature.told(self.scales[feature.column][1] if feature.kind == "z" else None)


def curves(described: Described, weights: Reals, certainty: Certainty | None) -> list[Curve]:
    """The effects of all columns on the margins of weights (models, output columns), the largest spread first.

    A column that cannot change a margin has no curve: one that always holds the same value, or a clock.
    """
    found = []
    for name, kind in described.encoding.kinds.items():
        own = [j for j, each in enumerate(described.features) if each.column == name and not each.crossed]
        of_column = []
        for part in dict.fromkeys(described.features[j].part for j in own):
            columns = np.array([j for j in own if described.features[j].part == part], np.int64)
            points = list(_numbers(described, name, columns, weights)) + list(_others(described, columns))
            for k, w in enumerate(weights if points else ()):
                effects = tuple(_effects(points, described.mean[columns], w[columns], k, columns, certainty))
                spread = _spread(points, effects, w[columns])
                of_column.append(Curve(name, part, kind, k, effects, described.is_counted, spread))
        if of_column:
            found.append(sorted(of_column, key=lambda curve: -curve.spread))
    found += [[curve] for curve in _crossed(described, weights, certainty)]
    found.sort(key=lambda some: -hypot(*(curve.spread for curve in some)))
    return [curve for some in found for curve in some]


def _crossed(described: Described, weights: Reals, certainty: Certainty | None) -> Iterable[Curve]:
    """The effects of the crosses that rows had, beyond those of their columns, where any has a weight."""
    first = next((j for j, feature in enumerate(described.features) if feature.crossed), 0)
    for name, places in described.encoding.crosses.groups():
        group = np.arange(first + places.start, first + places.stop)
        group = group[described.encoding.crosses.rows[places] > 0]
        points = list(_others(described, group))
        for k, w in enumerate(weights):
            if w[group].any():
                effects = tuple(_effects(points, described.mean[group], w[group], k, group, certainty))
                spread = _spread(points, effects, w[group])
                yield Curve(name, "", "cross", k, effects, described.is_counted, spread)


@dataclass(frozen=True)
class _Point:
    """One value or range of values of a column.

    at
        The encoded row in the middle, and at both ends if it is drawn as a line.
    rows, varying
        How many rows it stands for in the spread, and by how much their output columns deviate from the middle.
    """

    told: dict[str, Any]
    at: list[Reals]
    rows: float
    varying: Reals | None = None


def _spread(points: list[_Point], effects: tuple[Effect, ...], weights: Reals) -> float:
    """The root mean square of an effect over all rows.

    For a line, the true mean over its rows is 0. Any other mean found here comes from taking rows to lie in the middle
    of their ranges, and is subtracted.
    """
    rows, sizes = np.array([point.rows for point in points]), np.array([effect.effect for effect in effects])
    within = np.array([0.0 if point.varying is None else float(point.varying @ weights) for point in points])
    if not rows.sum() > 0:
        return 0.0
    shares = rows / rows.sum()
    mean = shares @ sizes if any(point.varying is not None for point in points) else 0.0
    parts = np.sqrt(shares) * np.array([sizes - mean, within])
    return hypot(*parts.ravel())  # hypot, since squared weights of a forged file may overflow


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


def _numbers(described: Described, column: str, columns: NDArray[np.int64], weights: Reals) -> Iterable[_Point]:
    """The points of a column of numbers or dates: ranges, two values, or points on a straight line."""
    encoding, features = described.encoding, [described.features[j] for j in columns.tolist()]
    place = next((j for j, each in enumerate(encoding.numbers) if each.name == column), -1)
    if place < 0 or features[0].part:
        return
    n, mean, _ = encoding.moments[place].tolist()
    deviation, clip = described.scales[column][1], encoding.settings.clip
    is_z = np.array([feature.kind == "z" for feature in features], np.float64)
    in_bins = any(feature.kind == "bin" for feature in features)
    rows = nan if encoding.counts is None else float(encoding.counts.bins[place].sum())

    def at(value: float, low: float) -> Reals:
        z = min(max((value - mean) / deviation, -clip), clip) if deviation > 0 else 0.0
        return z * is_z + np.array([f.kind == "bin" and f.low <= low < f.high for f in features], np.float64)

    if not in_bins and (deviation == 0 or not (weights[:, columns] @ is_z).any()):
        if rows != 0 and any(feature.kind == "missing" for feature in features):
            yield _point({"value": "not missing", "kind": "value"}, [np.zeros(len(features))], rows)
    elif encoding.numbers[place].edges.size:
        yield from _ranges(described, place, columns, at)
    elif two := _two_values(mean, deviation):
        for value, share in zip(two, (two[1] - mean, mean - two[0]), strict=True):
            told = {"value": written(value), "kind": "value", "low": value, "high": value}
            yield _point(told, [at(value, nan)], round(n * share / (two[1] - two[0])) if described.is_counted else nan)
    else:
        yield from _line(
            mean,
            deviation * min(2.0, clip) / 2,
            is_date=encoding.numbers[place].kind == "date",
            at=at,
            rows=rows,
            varying=min(1.0, clip) * is_z,
        )


def _line(
    mean: float, step: float, *, is_date: bool, at: Callable[[float, float], Reals], rows: float, varying: Reals
) -> Iterable[_Point]:
    """Five points on a straight line; the one in the middle stands for all rows."""
    values = [mean + k * step for k in range(-2, 3)]
    if is_date:
        values = [float(round(min(max(value, FIRST), LAST))) for value in values]
    else:
        values = [round(value, 2 - floor(log10(step))) for value in values]
    ends = [values[0], *((one + other) / 2 for one, other in pairwise(values)), values[-1]]
    for k, (value, (start, end)) in enumerate(zip(values, pairwise(ends), strict=True)):
        told = {"value": written(value, is_date), "kind": "point", "low": value, "high": value}
        told |= {"rows": None, "start": start, "end": end}
        weight = 0.0 if k != 2 else 1.0 if np.isnan(rows) else rows
        yield _Point(told, [at(each, nan) for each in (value, start, end)], weight, varying)


def _point(told: dict[str, Any], at: list[Reals], rows: float, varying: Reals | None = None) -> _Point:
    """A point that this many rows hold; `rows` is NaN where they were not counted."""
    counted = not np.isnan(rows)
    return _Point(told | {"rows": int(rows) if counted else None}, at, rows if counted else 1.0, varying)


def _two_values(mean: float, deviation: float) -> tuple[float, float] | None:
    """The two values of a column of flags, neighbouring whole numbers or ±1, if its mean and deviation reveal them.

    With two values, the variance is the product of the mean's distances from them; any third whole number beside two
    neighbours makes it larger.
    """
    for low, high in ((floor(mean), floor(mean) + 1), (-1, 1)):
        variance = (high - mean) * (mean - low)
        if variance > 0 and abs(deviation**2 - variance) <= 1e-9 * variance:
            return float(low), float(high)
    return None


def _ranges(
    described: Described, place: int, columns: NDArray[np.int64], at: Callable[[float, float], Reals]
) -> Iterable[_Point]:
    """The ranges between all edges of a column at any resolution; where no features are bins, the fine bins."""
    rows = {(f.low, f.high): described.rows[j] for j in columns.tolist() if (f := described.features[j]).kind == "bin"}
    column, counts = described.encoding.numbers[place], described.encoding.counts
    if not rows:
        fine = column.bins("fine")
        counted = [nan] * len(fine) if counts is None else counts.bins[place, : len(fine)].tolist()
        rows = {(f.low, f.high): float(n) for f, n in zip(fine, counted, strict=True)}
    edges = sorted({edge for ends in rows for edge in ends if not isinf(edge)})
    drawn = _drawn(edges, described.scales[column.name][1])
    for (low, high), (start, end) in zip(pairwise([-inf, *edges, inf]), pairwise(drawn), strict=True):
        value = Feature(column.name, "bin", low=low, high=high, is_date=column.kind == "date").range
        told = {"value": value, "kind": "range", "low": low, "high": high, "start": start, "end": end}
        places = [at(value, low) for value in ((start + end) / 2, start, end)]
        yield _point(told, places, rows.get((low, high), nan), (places[2] - places[1]) / sqrt(12))  # evenly spread


def _drawn(edges: list[float], deviation: float) -> list[float]:
    """Edges with an end added on both sides: outer ranges are as wide as their neighbours, or as the deviation."""
    first, last = (edges[1] - edges[0], edges[-1] - edges[-2]) if len(edges) > 1 else (deviation or 1.0,) * 2
    return [edges[0] - first, *edges, edges[-1] + last]


def _others(described: Described, columns: NDArray[np.int64]) -> Iterable[_Point]:
    """The points of the indicators of a column that are not bins."""
    there = [j for j in columns.tolist() if described.features[j].kind not in ("z", "bin")]
    for j in sorted(there, key=lambda j: _in_order(described.features[j])):
        feature, n = described.features[j], described.rows[j]
        yield _point({"value": feature.value, "kind": feature.kind}, [(columns == j).astype(np.float64)], n)


def _in_order(feature: Feature) -> tuple[int, int]:
    """The sort key: hours, days and months by the calendar; buckets, rare ones and missing values come last."""
    calendar = {"weekday": WEEKDAYS, "month": MONTHS, "hour": tuple(f"hour {hour}" for hour in range(24))}
    place = calendar[feature.kind].index(feature.text) if feature.kind in calendar else 0
    return {"missing": 3, "rare": 2, "bucket": 1}.get(feature.kind, 0), place
