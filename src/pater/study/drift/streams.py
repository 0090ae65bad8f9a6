"""Streams whose rare class moves: at once, slowly, or back and forth.

Knows NumPy only. Negatives are Gaussian around 0, positives around Δ·u, with the same covariance; u is a unit vector,
and a drift rotates it. Only the few positives reveal a drift, as in fraud. A best linear rule is always right for a
share Φ(Δ/2) of both classes, so the best reachable balanced accuracy is the same on all streams.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Kind = Literal["stationary", "abrupt", "gradual", "recurring"]
Vector = NDArray[np.float64]

ROWS = 40_000
COLUMNS = 12
DISTANCE = 2.6  # Δ, between the means of the classes in the metric of their covariance
BEST_REACHABLE = 50 * (1 + math.erf(DISTANCE / 2 / math.sqrt(2)))  # Φ(Δ/2) in percent: 90.3

TURN = 2 * math.pi / 3  # of an abrupt or recurring drift; more than a right angle, so that old weights mislead
ABRUPT_PARTS = 4
RECURRING_PARTS = 8


class Stream(NamedTuple):
    """A kind of drift and the share of positives."""

    kind: Kind
    share: float

    @property
    def key(self) -> str:
        return f"{self.kind}-{100 * self.share:g}"

    @property
    def changes(self) -> tuple[float, ...]:
        """Where the rare class jumps, as shares of the stream."""
        parts = {"abrupt": ABRUPT_PARTS, "recurring": RECURRING_PARTS}.get(self.kind, 1)
        return tuple(k / parts for k in range(1, parts))


KINDS: tuple[Kind, ...] = ("stationary", "abrupt", "gradual", "recurring")
SHARES = (0.01, 0.03, 0.10)
STREAMS = {stream.key: stream for kind in KINDS for share in SHARES for stream in [Stream(kind, share)]}


def rows_of(stream: Stream, seed: int, run: int, n_rows: int = ROWS) -> tuple[Vector, NDArray[np.int64]]:
    """The rows of a stream in order, and their labels, 0 or 1; columns of negatives have deviation 1."""
    rng = np.random.default_rng([seed, KINDS.index(stream.kind), round(1000 * stream.share), run])
    mixing = rng.normal(size=(COLUMNS, COLUMNS)) / math.sqrt(COLUMNS) + np.eye(COLUMNS) / 2
    mixing /= np.linalg.norm(mixing, axis=1, keepdims=True)
    towards = _directions(stream, rng, n_rows)
    labels = (rng.random(n_rows) < stream.share).astype(np.int64)
    white = rng.normal(size=(n_rows, COLUMNS)) + DISTANCE * labels[:, None] * towards
    return white @ mixing.T, labels


def _directions(stream: Stream, rng: np.random.Generator, n_rows: int) -> Vector:
    """The direction of the positives at each row, as unit vectors."""
    first = _unit(rng.normal(size=COLUMNS))
    time = np.arange(n_rows) / n_rows
    if stream.kind == "gradual":  # half a turn along the stream
        angles = math.pi * time[:, None]
        return np.asarray(np.cos(angles) * first + np.sin(angles) * _at_right_angles(first, rng))
    places = [first]
    for _ in stream.changes:
        places.append(math.cos(TURN) * places[-1] + math.sin(TURN) * _at_right_angles(places[-1], rng))
    part = (time * len(places)).astype(int)
    return np.asarray(np.array(places)[part % 2 if stream.kind == "recurring" else part])


def _at_right_angles(u: Vector, rng: np.random.Generator) -> Vector:
    v = rng.normal(size=len(u))
    return _unit(v - (v @ u) * u)


def _unit(v: Vector) -> Vector:
    return np.asarray(v / np.linalg.norm(v))
