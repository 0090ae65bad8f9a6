"""The moments from which a batch solution is computed: each class's weight, mean and factor of the second moments.

Knows NumPy. Moments are never changed: learning and merging give new ones. Nothing is squared: rows enter by their QR
decomposition, so no more digits are lost than in a solution from the rows themselves. docs/algorithms.md gives the
bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..kernels.state import TooWideError

Floats = NDArray[np.float64]

LARGEST = 4 << 30  # bytes that the factors of all classes may come to
SPARE = 32  # rows of a factor beyond twice its columns, before it is brought into a triangle
FEW, MANY = 1 << 17, 1 << 22  # numbers in a block of rows, of few columns and of many


class TooWideForMomentsError(TooWideError):
    """There are too many columns for their second moments."""

    def __init__(self, n_classes: int, n_features: int) -> None:
        size, classes = _size(n_classes, n_features) / 2**30, "one class" if n_classes == 1 else f"{n_classes} classes"
        self.what = (
            f"the second moments of {n_features:,} columns take {size:.1f} GiB for {classes}, more than "
            f"{LARGEST >> 30} GiB"
        )
        ValueError.__init__(
            self,
            f"{self.what}. Use fit, which keeps none for such rows, or a learner that needs none, such as "
            "SecondOrderPATERClassifier(covariance='diagonal').",
        )


def _size(n_classes: int, n_features: int) -> int:
    return 8 * n_classes * most_rows(n_features) * n_features


def most_rows(n_features: int) -> int:
    """The largest number of rows of a factor."""
    return 2 * n_features + SPARE


def is_too_wide(n_classes: int, n_features: int) -> bool:
    """Whether the moments of this many classes would take too much memory."""
    return _size(n_classes, n_features) > LARGEST


@dataclass(frozen=True)
class OfClass:
    """Rows of one class: how many, the sum of their weights s, their mean, and the rest.

    The rest is a `factor` with factorᵀ·factor = Σ s·(x − mean)(x − mean)ᵀ: a triangle, or a few more rows.
    """

    rows: int
    weight: float
    mean: Floats
    factor: Floats

    @classmethod
    def empty(cls, n_features: int) -> Self:
        return cls(0, 0.0, np.zeros(n_features), np.zeros((0, n_features)))

    @classmethod
    def of(cls, X: Floats, s: Floats) -> Self:
        """The moments of rows with positive weights."""
        weight = float(s.sum())
        mean = (s / weight) @ X
        factor = np.sqrt(s)[:, None] * (X - mean) if len(X) > 1 else X[:0]
        return cls(len(X), weight, mean if len(X) > 1 else X[0].copy(), _short(factor))

    def together(self, other: OfClass) -> OfClass:
        """The moments of the rows of both: the difference of their means is one more row of the factor."""
        if self.rows == 0 or other.rows == 0:
            return other if self.rows == 0 else self
        weight = self.weight + other.weight
        share, gap = other.weight / weight, other.mean - self.mean
        factor = np.vstack([self.factor, other.factor, math.sqrt(self.weight * share) * gap])
        return OfClass(self.rows + other.rows, weight, self.mean + share * gap, _short(factor))


def _short(factor: Floats) -> Floats:
    """A factor of the same moments that is not long."""
    return factor if len(factor) <= most_rows(factor.shape[1]) else np.asarray(np.linalg.qr(factor, mode="r"))


@dataclass(frozen=True)
class Moments:
    """The moments of each class, of rows relative to the `origin`, which is one of them.

    So constant columns are exactly zero, and no digits are lost where rows are far from zero.
    """

    origin: Floats
    of_class: tuple[OfClass, ...]

    @classmethod
    def empty(cls, n_classes: int, n_features: int) -> Self:
        return cls(np.zeros(n_features), (OfClass.empty(n_features),) * n_classes)

    @property
    def rows(self) -> int:
        """How many rows of positive weight there were."""
        return sum(each.rows for each in self.of_class)

    @property
    def n_features(self) -> int:
        return self.origin.size

    def among(self, places: NDArray[np.int64], n_classes: int) -> Moments:
        """The same moments, with class k as class `places[k]` of `n_classes`; the others have no rows."""
        found = [OfClass.empty(self.n_features)] * n_classes
        for place, each in zip(places.tolist(), self.of_class, strict=True):
            found[place] = each
        return replace(self, of_class=tuple(found))

    def learned(self, X: Any, codes: NDArray[np.int64], s: Floats) -> Moments:
        """The moments after more rows, dense or sparse, of these classes and weights, without those of weight 0."""
        found, origin = list(self.of_class), self.origin
        entering = np.flatnonzero(s > 0)
        if self.rows == 0 and entering.size:
            origin = _dense(X[entering[:1]])[0]
        for k in range(len(found)):
            for some in _blocks(entering[codes[entering] == k], self.n_features):
                found[k] = found[k].together(OfClass.of(_dense(X[some]) - origin, s[some]))
        return Moments(origin, tuple(found))

    def together(self, other: Moments) -> Moments:
        """The moments of the rows of both, which have the same classes and columns."""
        if self.rows == 0 or other.rows == 0:
            return other if self.rows == 0 else self
        far = other.origin - self.origin
        seen = [replace(each, mean=each.mean + far) if each.rows else each for each in other.of_class]
        return replace(self, of_class=tuple(a.together(b) for a, b in zip(self.of_class, seen, strict=True)))

    def placed(self, columns: NDArray[np.int64], n_features: int) -> Moments:
        """The moments with column j moved to `columns[j]`, or dropped where that is −1; new columns are zero."""
        kept = np.flatnonzero(columns >= 0)

        def moved(array: Floats) -> Floats:
            result = np.zeros((*array.shape[:-1], n_features))
            result[..., columns[kept]] = array[..., kept]
            return result

        of_class = [replace(each, mean=moved(each.mean), factor=_short(moved(each.factor))) for each in self.of_class]
        return Moments(moved(self.origin), tuple(of_class))

    def solution(
        self, positive: int, alphas: tuple[float, float], *, ridge: float, intercept: bool
    ) -> tuple[Floats, float]:
        """The w and b that minimise Σ_c α^c/n^c·Σ s(y − w·x − b)² + ridge·‖w‖², with one class as +1, all others as −1.

        Of many such w it is the shortest. A side without rows has no part in it, and b is 0 without an `intercept`.
        """
        sides = [int(k == positive) for k in range(len(self.of_class))]
        weights = [sum(c.weight for c, at in zip(self.of_class, sides, strict=True) if at == side) for side in (0, 1)]
        parts, shares, means, targets = [], [], [], []
        for each, side in zip(self.of_class, sides, strict=True):
            if each.rows:
                parts.append(math.sqrt(alphas[side]) * (each.factor / math.sqrt(weights[side])))
                shares.append(alphas[side] * (each.weight / weights[side]))
                means.append(each.mean)
                targets.append(2.0 * side - 1.0)
        if not parts:
            return np.zeros(self.n_features), 0.0
        share, mean, y = np.array(shares), np.array(means), np.array(targets)
        centre, level = -self.origin, 0.0
        if intercept:
            centre, level = (share / share.sum()) @ mean, float((share / share.sum()) @ y)
        gaps = np.sqrt(share)[:, None] * (mean - centre)
        prior = [math.sqrt(ridge) * np.eye(self.n_features)] if ridge > 0 else []
        A = np.vstack([gaps, *parts, *prior])
        target = np.concatenate([np.sqrt(share) * (y - level), np.zeros(len(A) - len(y))])
        rounding = np.finfo(np.float64).eps * max(self.rows, *A.shape)
        used, w = A.any(axis=0), np.zeros(self.n_features)  # a column of zeros has no weight, not even by rounding
        w[used] = np.linalg.lstsq(A if used.all() else A[:, used], target, rcond=rounding)[0]
        return w, level - float((self.origin + centre) @ w) if intercept else 0.0


def _dense(X: Any) -> Floats:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), np.float64)


def _blocks(rows: NDArray[np.int64], n_features: int) -> Iterator[NDArray[np.int64]]:
    """Rows in blocks: large enough that triangles are rarely recomputed, small enough to need little memory."""
    width = max(1, n_features)
    size = max(most_rows(width), min(max(8 * width, FEW // width), MANY // width))
    return (rows[start : start + size] for start in range(0, rows.size, size))
