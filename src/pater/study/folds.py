"""From a data set to a training half and a test half, scaled by the training half alone.

Knows NumPy, pandas and SciPy's sparse arrays; knows no learner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]
from numpy.typing import NDArray

from pater.data import DATA_SETS, DataSet

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Dense = NDArray[np.float64]
Indices = NDArray[np.intp]


class Fold(NamedTuple):
    """A stream to learn from and the rows to test on; classes are 1 (positive) and 0.

    If the data set is a table, its raw columns are included.
    """

    X_train: Dense | csr_array
    X_test: Dense | csr_array
    train_codes: NDArray[np.int64]
    test_codes: NDArray[np.int64]
    train_table: Any = None
    test_table: Any = None


def folds(data: DataSet, seed: int, run: int) -> list[Fold]:
    """The two folds of a run: each half is learned from once, in random order, and tested on once."""
    codes = (data.y > 0).astype(np.int64)
    first, second = random_halves(len(codes), (seed, DATA_SETS[data.key].number, run))
    table = raw_table(data)
    return [
        Fold(
            *_scaled(data.X, train, test),
            codes[train],
            codes[test],
            *(None if table is None else table.iloc[rows] for rows in (train, test)),
        )
        for train, test in ((first, second), (second, first))
    ]


def raw_table(data: DataSet) -> pd.DataFrame | None:
    """The columns of a data set as in its file, with categories as texts; None if it is not a table."""
    if not isinstance(data.X, np.ndarray):
        return None
    listings = getattr(DATA_SETS[data.key].format, "codes", {})
    columns: dict[str, Any] = dict(zip(data.feature_names, data.X.T, strict=True))
    for name in listings.keys() & columns.keys():
        columns[name] = np.array(listings[name].split(), object)[columns[name].astype(np.intp)]
    return pd.DataFrame(columns)


def _scaled(X: Any, train: Indices, test: Indices) -> tuple[Any, Any]:
    return (standardised if isinstance(X, np.ndarray) else tf_idf)(X[train], X[test])


def random_halves(n: int, seed: tuple[int, ...]) -> tuple[Indices, Indices]:
    """The rows 0..n in random order, cut in the middle, not stratified by class."""
    order = np.random.default_rng(seed).permutation(n)
    return order[: n // 2], order[n // 2 :]


def standardised(train: Dense, test: Dense) -> tuple[Dense, Dense]:
    """z-scores by the mean and standard deviation of `train`; a column that is constant there is only centred."""
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    deviation[np.ptp(train, axis=0) == 0] = 1.0
    return (train - mean) / deviation, (test - mean) / deviation


def tf_idf(train: csr_array, test: csr_array) -> tuple[csr_array, csr_array]:
    """Word counts times ln((1 + n)/(1 + documents with the word)) + 1 over `train`, each row scaled to length 1."""
    documents_with = np.bincount(train.indices, minlength=train.shape[1])
    idf = np.log((1 + train.shape[0]) / (1 + documents_with)) + 1
    return _weighted(train, idf), _weighted(test, idf)


def _weighted(counts: csr_array, idf: Dense) -> csr_array:
    result = counts.copy()
    result.data *= idf[counts.indices]
    lengths = np.sqrt(result.multiply(result).sum(axis=1))
    result.data /= np.repeat(lengths, np.diff(counts.indptr))
    return result
