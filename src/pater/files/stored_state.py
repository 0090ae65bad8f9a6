"""The state of models in a file: its shape as the header claims it, and its numbers.

Knows `codec`, `container`, `vectors` and `state`. The claims of the header are checked before memory is allocated, and
each number before it is used.
"""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..kernels.batched_layout import plan as plan_herds
from ..kernels.memory import COUNTS, SCALARS
from ..kernels.rules import RULES
from ..kernels.state import Layout, Metric, State, TooWideError, triangle_size
from ..kernels.triangle import packed_size
from ..models.history import History
from ..models.spec import Specs
from .codec import BATCH_RULE, UnsoundError, family, labels_from_json, require, spec_from_json
from .container import Arrays, Shape, is_newer
from .vectors import kinds

REALS = [name for name, (kind, *_) in (SCALARS.fields or {}).items() if kind == np.float64]
WHOLE_NUMBERS = [name for name, (kind, *_) in (SCALARS.fields or {}).items() if kind == np.int64]
_DEFAULTS = State.new(1, 0, means=False).scalars
# Numbers that are never negative. The squares pp and nn are not among them: they are maintained by sums and differences
# of products, and where classes cancel, rounding may leave them a little below zero.
_NEVER_NEGATIVE = {"n_pos", "n_neg", "loss_pos", "loss_neg", "seen_pos", "seen_neg", "largest", "unit", "scales"}
_NEVER_NEGATIVE |= {"tp", "fp", "tn", "fn", "margin_square", "slope_slope", "offset_offset", "bias_Q"}
_NEVER_NEGATIVE |= {"told", "brier", "log_loss", "size_square", "mean_size", "usual_weight"}
_GAINS = {"gain_pos", "gain_neg"}  # used as divisors and as factors
LEAST_GAIN, LARGEST_GAIN = 2.0**-2, 2.0**82
_FLAGS = {"products_known", "careful"}
MOST_FEATURES = 1 << 30
MOST_ROWS = 1 << 53


class Plan(NamedTuple):
    """The state of the models as a header describes it."""

    classes: NDArray[Any]
    specs: Specs
    fixed: bool
    layout: Layout
    sharing: frozenset[int]
    means: bool
    metric: Metric
    n_models: int
    n_features: int
    n_kept: int

    @classmethod
    def of(cls, header: dict[str, Any], n_models: int) -> Plan:
        """The plan in the header, if it is sound and describes this number of models."""
        described, fixed = header["state"], header["classes"]["fixed"]
        n_classes, n_specs = len(header["classes"]["values"]), len(header["specs"])
        counted = n_models == (1 if n_classes == 2 else n_classes) * n_specs and described["models"] == n_models
        require(counted, "it counts its models wrongly")
        classes = labels_from_json(header["classes"])
        newer = is_newer(header["version"])
        specs = tuple(spec_from_json(value, newer=newer) for value in header["specs"])
        layout, sharing = described["layout"], described["sharing"]
        n_features, n_kept = described["features"], described["kept"]
        require(specs and type(fixed) is bool and layout in get_args(Layout), "its settings are unsound")
        means, metric = family(specs[0])
        require(all(family(spec) == (means, metric) for spec in specs), "its rules do not go together")
        require(len(specs) == 1 or all(spec.rule != BATCH_RULE for spec in specs), "its rules do not go together")
        layouts = {"none": get_args(Layout), "diagonal": ("split", "lanes"), "full": ("split",)}[metric]
        require(layout == "split" or (means and layout in layouts), "its rule has another layout")
        herd = range(n_models) if layout == "herd" else ()  # of first order along class means, as was checked
        can_share = {k for k in herd if not RULES[specs[k % len(specs)].rule].passive}
        sound = isinstance(sharing, list) and all(type(k) is int for k in sharing)
        require(sound and can_share.issuperset(sharing), "models share what they cannot")
        require(described["vectors"] == kinds(means, metric, layout), "it names other vectors than its rule has")
        for names, known in ((described["reals"], REALS), (described["counts"], WHOLE_NUMBERS)):
            sound = isinstance(names, list) and all(type(name) is str for name in names)
            require(sound and len(set(names)) == len(names), "its numbers have no names")
            require(newer or set(names) <= set(known), "it holds other numbers than expected")
        counted = type(n_features) is int and type(n_kept) is int and 0 <= n_kept <= n_features <= MOST_FEATURES
        require(counted, "it counts its columns wrongly")
        if metric == "full":
            try:
                triangle_size(max(1, n_models), n_features)
            except TooWideError as error:
                raise UnsoundError(error.what) from None
        return cls(classes, specs, fixed, layout, frozenset(sharing), means, metric, n_models, n_features, n_kept)

    def room(self) -> State:
        """An empty state to fill. Columns that were not kept take no memory, but all must fit into the machine."""
        group = len(self.specs)
        herds = plan_herds([k in self.sharing for k in range(self.n_models)], group) if self.layout == "herd" else ()
        try:
            if (
                8 * math.prod((self.n_models, len(kinds(self.means, self.metric, "split")), self.n_features))
                > _memory()
            ):
                raise MemoryError
            return State.new(
                self.n_models,
                self.n_features,
                means=self.means,
                metric=self.metric,
                layout=self.layout,
                group=group,
                herds=herds,
            )
        except (MemoryError, OSError):
            raise MemoryError(f"a model of {self.n_models} × {self.n_features} weights needs more memory") from None

    @property
    def shape(self) -> Shape:
        """The shape of the vectors in the file."""
        return self.n_models, len(kinds(self.means, self.metric, self.layout)), self.n_kept


def _memory() -> float:
    """The memory of the machine in bytes; infinite where it is unknown."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def columns_kept(arrays: Arrays, plan: Plan) -> NDArray[np.int64] | None:
    """The columns that are in the file; None if all are."""
    if plan.n_kept == plan.n_features:
        return None
    kept: NDArray[np.int64] = arrays["kept"]
    inside = (kept >= 0).all() and (kept < plan.n_features).all()  # so that no difference overflows
    require(inside and (np.diff(kept) > 0).all(), "its columns are not in order")
    return kept


def finite(array: NDArray[Any], name: str) -> NDArray[Any]:
    require(np.isfinite(array).all(), f"{name} holds a number that is not finite")
    return array


def scalars_of(arrays: Arrays, described: dict[str, Any], n_models: int) -> NDArray[np.void]:
    """The scalars that the file names, and the defaults of the others.

    Values that would lead outside of arrays, or have no meaning, are refused.
    """
    reals, counts = finite(arrays.pop("reals"), "reals"), arrays.pop("counts")
    scalars = np.repeat(_DEFAULTS, n_models)
    for k, name in enumerate(described["reals"]):
        if name not in REALS:
            continue
        scalars[name] = reals[:, k]
        require(name not in _NEVER_NEGATIVE or (reals[:, k] >= 0).all(), f"{name} is negative")
        sound = name not in _GAINS or ((reals[:, k] >= LEAST_GAIN) & (reals[:, k] <= LARGEST_GAIN)).all()
        require(sound, f"{name} is out of range")
    for k, name in enumerate(described["counts"]):
        if name not in WHOLE_NUMBERS:
            continue
        scalars[name] = counts[:, k]
        least = -MOST_ROWS if name == "work_since_fold" else 0  # folds may be owed
        require(((counts[:, k] >= least) & (counts[:, k] <= MOST_ROWS)).all(), f"{name} is out of range")
        require(name not in _FLAGS or (counts[:, k] <= 1).all(), f"{name} is neither 0 nor 1")
    with np.errstate(over="ignore"):
        require(np.isfinite(sum(scalars[name] for name in COUNTS)).all(), "its right and wrong answers are too many")
    require(
        (scalars["unit"] == np.exp2(-scalars["exponent"].astype(float))).all(),
        "its unit is not 2 to the minus exponent",
    )
    require((scalars["updates"] <= scalars["t"]).all(), "it took more steps than it saw samples")
    if "usual_weight" not in described["reals"]:
        _in_units_of_the_usual_weight(scalars)
    return scalars


def _in_units_of_the_usual_weight(scalars: NDArray[np.void]) -> None:
    """Divide the curvature of the probabilities by the mean weight, as it is kept since version 1.7."""
    known = (scalars["told"] > 0) & (scalars["t"] > 0)
    usual = scalars["told"][known] / scalars["t"][known]
    scalars["usual_weight"][known] = usual
    for name in ("slope_slope", "slope_offset", "offset_offset"):
        scalars[name][known] /= usual


def check_reach(state: State, *, told: bool) -> None:
    """Check the number of columns that rows have reached, which bounds every pass.

    Files of version 1.0 (not `told`) have it for full metrics only; elsewhere it is set to all columns.
    """
    width, full = state.scalars["width"], state.metric == "full"
    if not told and not full:
        width[:] = state.n_features
    require((width <= state.n_features + full).all(), "it reaches beyond its features")


def check_triangles(state: State, size: int) -> None:
    """Check that the triangles of a full metric are as wide as rows have reached, with positive variances."""
    assert state.second is not None
    width = state.scalars["width"]
    require(size == packed_size(int(width.max(initial=0))), "second has the wrong shape or type")
    for triangle, columns in zip(state.second, width, strict=True):
        ends = np.arange(1, columns + 1).cumsum() - 1
        require((triangle[ends] > 0).all(), "its metric is not positive")


def points_in(value: Any) -> int:
    """The number of rows of counts of a history."""
    numbers = [value["rows"], value["next_point"], *(n for point in value["points"] for n in point)]
    require(all(type(n) is int and 0 <= n < MOST_ROWS for n in numbers), "its history is unsound")
    require(value["next_point"] == History.after(value["rows"]).next_point, "its history goes on elsewhere")
    return sum(n for _, n in value["points"])


def history_of(value: Any, arrays: Arrays) -> History | None:
    if value is None:
        return None
    counts = finite(arrays.pop("history"), "history")
    ends = np.cumsum([n for _, n in value["points"]]).tolist()
    cut = [(rows, counts[end - n : end]) for (rows, n), end in zip(value["points"], ends, strict=True)]
    return History(value["rows"], value["next_point"], cut)
