"""The figures of the paper: S.-I. Jang, "Online Passive-Aggressive Total-Error-Rate Minimization".

The files next to this one hold its Tables 2, 4 and 3, in this order, and nothing of ours. Table 1 is in the registry of
data sets.
"""

from __future__ import annotations

from importlib.resources import files

import pandas as pd  # type: ignore[import-untyped, unused-ignore]

from pater.data import DATA_SETS

from .plan import ALGORITHMS

_KEYS = {entry.number: key for key, entry in DATA_SETS.items()}


def accuracy() -> pd.DataFrame:
    """Accuracy in percent over 20 folds and its rank: data_set, algorithm, mean, std, rank."""
    table = _read("accuracy.csv")
    parts = [
        table[["data_set", *(f"{algorithm}_{name}" for name in ("mean", "std", "rank"))]]
        .set_axis(["data_set", "mean", "std", "rank"], axis=1)
        .assign(algorithm=algorithm)
        for algorithm in ALGORITHMS
    ]
    return pd.concat(parts, ignore_index=True)


def cpu_seconds() -> pd.DataFrame:
    """Processor time in seconds: data_set, algorithm, seconds."""
    table = _read("cpu_seconds.csv")
    return table.melt("data_set", list(ALGORITHMS), var_name="algorithm", value_name="seconds")


def best_weights() -> pd.DataFrame:
    """The class that needs the weight and the one whose weight did best, N, P or a dash: data_set, needed, best."""
    return _read("best_weights.csv")[["data_set", "needed", "best"]]


def _read(name: str) -> pd.DataFrame:
    with files(__package__).joinpath("published", name).open(encoding="utf-8") as file:
        table = pd.read_csv(file)
    return table.assign(data_set=table["no"].map(_KEYS))
