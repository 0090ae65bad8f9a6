"""The memory of a learner: a few vectors and a record of scalars for each model.

The weight vector of a mean rule is kept in the lazy form w = U + A⁺S⁺ − A⁻S⁻, where S⁺ and S⁻ are the sums of the
samples of each class. A step along the class means then changes two scalars, not d numbers. A point rule needs U alone,
and its A is always 0.

The running sum of the weights, for averaging, follows from one more vector in the same form: with δₜ the step taken at
time t, Σ wₜ = (T + 1)·w_T − Σ t·δₜ, and Σ t·δₜ = V + B⁺S⁺ − B⁻S⁻.

On data that no plane separates, the weights of PATER grow without end (those of PATER-II past 1e150 in half a million
noisy rows), and only their direction matters. Before they overflow, everything in the unit of a weight or a margin is
divided by 2^600, and `exponent` grows by 600: no bit is lost, and the margin to reach becomes 2^−600.

A second-order rule also keeps a metric, Σ, with the intercept as its first feature:

- "diagonal": the precision of each feature is 1 + Q, one more vector. With class means, w = U + Σ(A⁺S⁺ − A⁻S⁻).
- "full": Σ is a packed triangle (`triangle.py`) in `second`, with the first `width` columns in use. With class means,
  P± = ΣS± are two more vectors, and w = U + A⁺P⁺ − A⁻P⁻.

A state of zeros is a metric that has seen nothing, Σ = I, so memory that no row reaches is never allocated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .batched_layout import CELL, Herds, pack, unpack
from .errors import SentWhole
from .memory import P_NEG, P_POS, POINT_V, S_NEG, S_POS, SCALARS, Q, U, V
from .pages import whole_lines, zeros, zeros_in_lines

Layout = Literal["split", "lanes", "herd"]
Metric = Literal["none", "diagonal", "full"]
LARGEST_TRIANGLES = 4 << 30  # bytes, of all models


def sizes(scalars: NDArray[np.void], *, average: bool) -> NDArray[np.float64]:
    """The divisors of the margins of some models, or of their averages, that give the reported margins.

    Files written before averages had a size of their own still use that of the last weights.
    """
    size = np.sqrt(scalars["size_square"])
    if average:
        size = np.where(scalars["mean_size"] > 0, scalars["mean_size"], size)
    return np.where(scalars["size_square"] > 0, size, 1.0)


class TooWideError(SentWhole, ValueError):
    """More columns than a full covariance has room for."""

    def __init__(self, n_models: int, n_features: int, needed: int) -> None:
        models = "one model" if n_models == 1 else f"{n_models} models"
        self.what = (
            f"the full covariance of {n_features:,} features takes {needed / 2**30:.1f} GiB for {models}, more than "
            f"{LARGEST_TRIANGLES >> 30} GiB"
        )
        super().__init__(f"{self.what}; use covariance='diagonal'.")


def triangle_size(n_models: int, n_features: int) -> int:
    """Numbers in one model's triangle, the intercept's column included; an error if `n_models` take too much."""
    size = (n_features + 1) * (n_features + 2) // 2
    if 8 * size * n_models > LARGEST_TRIANGLES:
        raise TooWideError(n_models, n_features, 8 * size * n_models)
    return size


def _shape(layout: Layout, herds: Herds, n_models: int, n_features: int, kinds: int) -> tuple[int, int, int]:
    if layout == "herd":
        return len(herds), n_features, CELL
    return (n_models, kinds, n_features) if layout == "split" else (n_models, n_features, kinds)


@dataclass
class State:
    """Some models over the same features.

    `vectors` is in the order that suits the current pass:

    - "split", (models, kinds, features): each vector by itself;
    - "lanes", (models, features, kinds): the vectors of a model side by side;
    - "herd", (herds, features, CELL): those of many models of one target side by side, without V, as `herds` says.

    `group` is the number of models per target. `second` holds the triangles of a full metric, (models, size).
    """

    vectors: NDArray[np.float64]
    scalars: NDArray[np.void]
    layout: Layout = "split"
    group: int = 1
    herds: Herds = ()
    metric: Metric = "none"
    second: NDArray[np.float64] | None = None
    _lines: tuple[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)
    _rooms: Any = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def new(
        cls,
        n_models: int,
        n_features: int,
        *,
        means: bool,
        metric: Metric = "none",
        layout: Layout = "split",
        group: int = 1,
        herds: Herds = (),
    ) -> State:
        """Models that have seen nothing. Memory that no pass writes to is never allocated."""
        second = zeros((n_models, triangle_size(max(1, n_models), n_features))) if metric == "full" else None
        kinds = (4 if means else 2) + {"none": 0, "diagonal": 1, "full": 2 if means else 0}[metric]
        shape = _shape(layout, herds, n_models, n_features, kinds)
        scalars = np.zeros(n_models, SCALARS)
        for name in ("unit", "gain_pos", "gain_neg", "slope", "scale"):
            scalars[name] = 1.0
        return cls(zeros(shape), scalars, layout, group, herds, metric, second)

    def empty(self, n_models: int) -> State:
        """Models of the same kind, over the same features, that have seen nothing."""
        return State.new(n_models, self.n_features, means=self.has_means, metric=self.metric, group=self.group)

    @property
    def n_kinds(self) -> int:
        return V + 1 if self.layout == "herd" else int(self.vectors.shape[1 if self.layout == "split" else 2])

    @property
    def has_means(self) -> bool:
        """Whether these are models of a mean rule."""
        return self.n_kinds >= 4

    @property
    def size(self) -> int:
        """How many numbers these models hold, apart from their scalars."""
        return self.vectors.size + (0 if self.second is None else self.second.size)

    @property
    def n_models(self) -> int:
        return int(self.scalars.size)

    @property
    def n_features(self) -> int:
        return int(self.vectors.shape[2 if self.layout == "split" else 1])

    @property
    def is_fresh(self) -> bool:
        """Whether nothing was learned: no row was counted, and nothing was inherited from a model that had rows."""
        return not any(self.scalars[name].any() for name in ("t", "width", "entered"))

    def copy(self) -> State:
        fresh = self.is_fresh  # then all is 0, and no page is touched
        vectors = zeros(self.vectors.shape) if fresh else self.vectors.copy()
        second = self.second if self.second is None else zeros(self.second.shape) if fresh else self.second.copy()
        return replace(self, vectors=vectors, scalars=self.scalars.copy(), second=second)

    def of_target(self, target: int) -> State:
        """The models of one target, in the memory of this state: what they learn, this state learns."""
        first, last = target * self.group, (target + 1) * self.group
        if self.layout != "herd":
            return self.some_of(range(first, last))
        there = [h for h, herd in enumerate(self.herds) if first <= herd.models[0] < last]
        mine = slice(there[0], there[-1] + 1)
        herds = tuple(herd._replace(models=tuple(k - first for k in herd.models)) for herd in self.herds[mine])
        return replace(self, vectors=self.vectors[mine], scalars=self.scalars[first:last], herds=herds)

    def some_of(self, models: Sequence[int]) -> State:
        """The models with these numbers; this state itself if that is all of them.

        A range of models is not copied unless they are in a herd.
        """
        if list(models) == list(range(self.n_models)):
            return self
        which: Any = slice(models.start, models.stop) if isinstance(models, range) else models
        if self.layout != "herd":
            second = None if self.second is None else self.second[which]
            return replace(self, vectors=self.vectors[which], scalars=self.scalars[which], second=second)
        return State(unpack(self.vectors, self.herds, models), self.scalars[which], "lanes", self.group)

    def arrange(self, layout: Layout, herds: Herds = ()) -> None:
        """Put the vectors in the order that the next pass wants; the numbers stay as they are."""
        if layout == self.layout and herds == self.herds:
            return
        fresh = self.is_fresh  # then there is nothing to carry over, and no page is touched
        if fresh or layout == "herd":
            new = zeros(_shape(layout, herds, self.n_models, self.n_features, self.n_kinds))
            if not fresh:
                pack(self.kinds(), herds, new)
            self.vectors = new
        else:
            kinds = self.kinds()
            self.vectors = np.ascontiguousarray(kinds if layout == "split" else kinds.swapaxes(1, 2))
        self.layout, self.herds = layout, herds

    def in_lines(self) -> NDArray[np.float64]:
        """The split vectors of a mean rule and room for a row, each with the zeros after it, in whole cache lines.

        They are moved there if they are elsewhere.
        """
        if self._lines is None or self._lines[0] is not self.vectors:
            lines: Any = whole_lines(self.vectors, rooms=1)
            if lines is None:
                n_models, kinds, n_features = self.vectors.shape
                vectors = zeros_in_lines((n_models, kinds + 1, n_features))[:, :kinds]
                if not self.is_fresh:
                    vectors[...] = self.vectors
                self.vectors, lines = vectors, whole_lines(vectors, rooms=1)
            self._lines = self.vectors, lines
        return self._lines[1]  # type: ignore[no-any-return]

    def rooms(self) -> NDArray[np.float64]:
        """Scratch space in which a pass works on a row: four vectors for each model, the intercept's number first."""
        if self._rooms is None or self._rooms.shape[0] != self.n_models or self._rooms.shape[2] <= self.n_features:
            self._rooms = whole_lines(zeros_in_lines((self.n_models, 4, self.n_features + 1)))
        return self._rooms  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_lines": None, "_rooms": None}  # a copy's vectors are elsewhere

    def kinds(self) -> NDArray[np.float64]:
        """The vectors as (models, kinds, features), whatever their order in memory."""
        if self.layout == "split":
            return self.vectors
        herds = self.layout == "herd"
        return (unpack(self.vectors, self.herds, range(self.n_models)) if herds else self.vectors).swapaxes(1, 2)

    def own_weights(self, *, average: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights (models, features) and intercepts (models,), each model's in its own unit."""
        vectors, m = self.kinds(), self.scalars
        w, bias = vectors[:, U], m["bias"]
        if self.has_means:
            w = w + self.along_means("A")
        if average:
            steps = vectors[:, V if self.has_means else POINT_V]
            if self.has_means:
                steps = steps + self.along_means("B")
            t = np.maximum(m["t"], 1)
            extra = np.where(m["scales"] > 0, m["scales"] - m["t"], 1.0)
            w = w + (extra[:, None] * w - steps) / t[:, None]
            bias = bias + (extra * bias - m["bias_steps"]) / t
        elif (m["scale"] != 1.0).any():
            w, bias = m["scale"][:, None] * w, m["scale"] * bias
        return w, bias

    def along_means(self, letter: str) -> NDArray[np.float64]:
        """The lazy part of w (letter A) or of Σ t·δₜ (B)."""
        vectors, m = self.kinds(), self.scalars
        pos, neg = (P_POS, P_NEG) if self.metric == "full" else (S_POS, S_NEG)
        lazy: NDArray[np.float64] = (
            m[f"{letter}_pos"][:, None] * vectors[:, pos] - m[f"{letter}_neg"][:, None] * vectors[:, neg]
        )
        return lazy / (1.0 + vectors[:, Q]) if self.metric == "diagonal" else lazy

    def weights(self, *, average: bool = False) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Weights and intercepts as reported: in a unit that holds along the stream and for all models."""
        w, bias = self.own_weights(average=average)
        size, shift = self.units(average=average)
        return np.ldexp(w / size[:, None], shift[:, None]), np.ldexp(bias / size, shift)

    def units(self, *, average: bool) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The divisors of margins, and the powers of two by which to multiply afterwards, that give the reported
        margins.

        The unit is the usual size of a model's margins if its weights only grow longer with the stream; else it is that
        of the largest exponent.
        """
        m = self.scalars
        sized = m["size_square"] > 0
        exponent = np.where(sized, 0, m["exponent"])
        return sizes(m, average=average), exponent - exponent.max(initial=0)
