"""Crosses of two columns: find the place of a row's pair of values.

Knows `graph`, and how `preprocessing.crosses` hashes two values. All pairs of values are known, so their places are a
table.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .graph import Graph

Codes = NDArray[np.uint64]
_BEYOND = 1 << 32  # above all hashes of texts: the first of the codes for rare, missing and buckets


def codes_of(told: dict[str, Any]) -> Codes:
    """The code that is hashed for each place of a category."""
    n_buckets = len(told["buckets"][0]) if told["buckets"] is not None else 0
    hashes = [crc32(name.encode("utf-8", "replace")) for name in told["values"]]
    return np.array([*hashes, *range(_BEYOND, _BEYOND + 2 + n_buckets)], np.uint64)


def places_of(cross: dict[str, Any], left: Codes, right: Codes) -> NDArray[np.int64]:
    """The place of each pair of values, by their codes, (left, right)."""
    if cross["hash"] is None:
        return np.arange(left.size * right.size, dtype=np.int64).reshape(left.size, right.size)
    seed = np.uint64(cross["hash"][0] << 32 | cross["hash"][1])
    return (_mixed(left[:, None], right, seed) % np.uint64(len(cross["weights"][0]))).astype(np.int64)


def _mixed(a: Codes, b: Codes, seed: np.uint64) -> Codes:
    """A hash of two numbers, the same as in `preprocessing.encoding_kernels`, for arrays."""
    with np.errstate(over="ignore"):
        h = np.array(seed)
        for code in (a, b):
            h = (h ^ code) + np.uint64(0x9E3779B97F4A7C15)
            h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            h = h ^ (h >> np.uint64(31))
    return h


def crossed(graph: Graph, places: NDArray[np.int64], left: str, right: str) -> str:
    """The places of the pairs of values, (rows, 1), from those of both columns."""
    pair = graph.apply("Add", graph.apply("Mul", left, places.shape[1]), right)
    return graph.apply("Gather", places.ravel().astype(np.int64), pair)
