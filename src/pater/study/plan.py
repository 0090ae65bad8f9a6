"""What to run: the algorithms with their weights, the data sets, the number of runs, and the seed.

Knows the registry of data sets; runs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pater.data import DATA_SETS


class Model(NamedTuple):
    """One algorithm with one pair of weights."""

    algorithm: str
    rule: str  # its name in `pater.kernels.rules`
    alpha_neg: float = 1.0
    alpha_pos: float = 1.0


GRID = (0.01, 0.1, 0.3, 0.5, 0.9, 0.99)
WEIGHTS = (*((alpha, 1.0) for alpha in GRID), *((1.0, alpha) for alpha in GRID))
"""The paper's 12 pairs (α⁻, α⁺): one varies, the other is 1."""

MODELS = (
    Model("PE", "perceptron"),
    Model("PA", "pa"),
    Model("PATER-I", "pater-i"),
    Model("PATER-II", "pater-ii"),
    *(Model("wPATER-I", "pater-i", *weights) for weights in WEIGHTS),
    *(Model("wPATER-II", "pater-ii", *weights) for weights in WEIGHTS),
)

ALGORITHMS = tuple(dict.fromkeys(model.algorithm for model in MODELS))
UNWEIGHTED = {"wPATER-I": "PATER-I", "wPATER-II": "PATER-II"}

NOT_COMPARABLE = frozenset({"20news-talk", "20news-comp", "20news-sci"})
"""The paper does not say what its three features for these sets are; here they are bags of words."""

WITH_CURVES = tuple(key for key, entry in DATA_SETS.items() if entry.number >= 26)
"""The six large sets of the paper's Figure 1."""


class Unit(NamedTuple):
    """What is run, saved and resumed as a whole: one run of 2-fold cross-validation on one data set."""

    data_set: str
    run: int


@dataclass(frozen=True)
class Plan:
    """A study to run. The results of a unit depend on `seed` and `algorithms`, not on other units."""

    sets: tuple[str, ...]
    algorithms: tuple[str, ...] = ALGORITHMS
    runs: int = 10
    seed: int = 0

    @property
    def models(self) -> list[Model]:
        return [model for model in MODELS if model.algorithm in self.algorithms]

    @property
    def units(self) -> list[Unit]:
        return [Unit(key, run) for key in self.sets for run in range(self.runs)]
