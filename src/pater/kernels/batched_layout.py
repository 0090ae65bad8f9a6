"""The layout of many models' vectors side by side, for passes that work on all of them at once.

The models of a search read the same rows. In a herd, all models' numbers for a feature form one cell:

- of three cache lines: U of up to eight models, then S⁺ of each, then S⁻ of each; or,
- if the models also share their class sums (those of PATER-II, which every sample enters), of two lines: U of the
  first, S⁺, S⁻, and U of up to thirteen more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import part_of_callers
from .memory import S_NEG, S_POS, V
from .rules import RULES

LINE = 8  # numbers
CELL, SHARED_CELL = 3 * LINE, 2 * LINE
MOST, MOST_SHARING = LINE, 2 * LINE - 2  # models in a herd
SMALLEST_HERD = 3  # a herd costs about as much as two or three models alone
_EVERYONE_ENTERS = np.array([not rule.passive for rule in RULES.values()])


@part_of_callers
def place(k, shares):
    """The columns that hold U, S⁺ and S⁻ of the k-th model of a herd."""
    if shares:
        return k + 2 if k > 0 else 0, np.int64(S_POS), np.int64(S_NEG)  # of the others' type
    return k, LINE + k, 2 * LINE + k


class Herd(NamedTuple):
    """Some models of a state, by number."""

    models: tuple[int, ...]
    sharing: bool

    def at(self, model: int) -> tuple[int, int, int]:
        return place(self.models.index(model), self.sharing)  # type: ignore[no-any-return]


Herds = tuple[Herd, ...]


def fit_in_herds(settings: NDArray[np.void]) -> bool:
    """Whether these models can learn in herds: all have the same intercept, and nothing but the plain steps to do."""
    forget = (settings["forgetting"] > 0) & (settings["forgetting"] < 1)
    mixed = settings["intercept"] != settings["intercept"][0]
    return not (forget.any() or mixed.any() or settings["average"].any() or settings["calibrate"].any())


def herds_of(state: Any, settings: NDArray[np.void]) -> Herds:
    """The herds in which the models of a state can learn.

    Class sums that every sample enters depend only on the rows and are shared, except among models that began at
    different rows, whose sums differ.
    """
    sharing = _EVERYONE_ENTERS[settings["rule"]]
    if state.layout == "herd":
        before = {k for herd in state.herds if herd.sharing for k in herd.models}
        sharing &= [k in before for k in range(state.n_models)]
    elif not state.is_fresh:
        sums = state.kinds()[:, S_POS : S_NEG + 1]
        for start in range(0, state.n_models, state.group):
            some = start + np.flatnonzero(sharing[start : start + state.group])
            sharing[some] = all(np.array_equal(sums[k], sums[some[0]]) for k in some)
    return plan(list(sharing), state.group)


def plan(sharing: Sequence[bool], group: int) -> Herds:
    """The models grouped into herds: each of one target, with class sums that are shared by all or by none."""
    herds = []
    for target in range(0, len(sharing), group):
        models = range(target, min(target + group, len(sharing)))
        for shares in (False, True):
            together = [k for k in models if bool(sharing[k]) is shares]
            most = MOST_SHARING if shares else MOST
            herds += [Herd(tuple(together[k : k + most]), shares) for k in range(0, len(together), most)]
    return tuple(herds)


def order(herds: Herds) -> list[int]:
    """The models, one herd after the other."""
    return [model for herd in herds for model in herd.models]


def spans_of(herds: Herds) -> NDArray[np.int64]:
    """The start and end of each herd in that order, and whether it shares."""
    ends = np.cumsum([len(herd.models) for herd in herds])
    return np.array([(end - len(herd.models), end, herd.sharing) for end, herd in zip(ends, herds, strict=True)])


def cells(slab: NDArray[np.float64], herd: Herd) -> NDArray[np.float64]:
    """The cells of a herd in its slab of memory, which has room for (features, CELL)."""
    return slab.reshape(-1)[: slab.shape[0] * SHARED_CELL].reshape(-1, SHARED_CELL) if herd.sharing else slab


def pack(vectors: NDArray[np.float64], herds: Herds, out: NDArray[np.float64]) -> None:
    """Copy the first three kinds of (models, kinds, features) into (herds, features, CELL)."""
    for slab, herd in zip(out, herds, strict=True):
        for k in herd.models:
            cells(slab, herd)[:, herd.at(k)] = vectors[k, :3].T


def unpack(slabs: NDArray[np.float64], herds: Herds, models: Sequence[int]) -> NDArray[np.float64]:
    """The vectors of these models from (herds, features, CELL), as (models, features, kinds)."""
    lanes = np.zeros((len(models), slabs.shape[1], V + 1))
    for vectors, k in zip(lanes, models, strict=True):
        h = next(h for h, herd in enumerate(herds) if k in herd.models)
        vectors[:, :3] = cells(slabs[h], herds[h])[:, herds[h].at(k)]
    return lanes
