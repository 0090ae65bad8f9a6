"""The learners that a pool begins with.

Knows `settings` and `spec`. Measured on the study's data sets (docs/algorithms.md): second-order PATER and AROW with
balanced classes, each with a weak, a usual and a strong prior, and three lengths of memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..kernels.rules import RULES
from .settings import averages_by_itself
from .spec import Spec, Specs, is_pool

BALANCED = ("balanced_accuracy", "ter", "g_mean", "wter")  # scores in which both classes count alike, however rare
MEMORIES = (1.0, 0.999, 0.99)
PRIORS = {"full": (30.0, 1.0, 300.0), "diagonal": (10.0, 100.0, 1.0, 0.1)}
PRIORS_ENCODED = (100.0, 10.0)  # those of a diagonal covariance that are tried on encoded columns
WIDEST = 256  # columns for which a full covariance is kept
WIDEST_ENCODED = 1024  # the same for encoded columns, where it is kept only for a while
ROWS_FOR_EACH = 2  # column, which a full covariance must at least remember
ENOUGH_FOR_EACH = 100  # encoded column: with so many rows of the rarer class, a diagonal covariance is as good
ROUNDING = 1e-9
DEAREST = 3e9  # squared columns times rows that all full covariances of a view may cost: half a second


def candidates(
    base: Spec,
    scoring: str,
    *,
    memories: Iterable[float] = MEMORIES,
    priors: Iterable[float] | None = None,
    covariances: Iterable[str] = tuple(PRIORS),
    average: bool | None = None,
) -> Specs:
    """The specs of a pool, with the best single learners first; all other settings are those of `base`."""
    return tuple(
        base._replace(
            rule=rule,
            r=r,
            forgetting=forgetting,
            covariance=covariance,
            class_weight=weight,
            average=averages_by_itself(rule, covariance, forgetting) if average is None else average,
            watch=True,
        )
        for covariance in covariances
        for r in priors or PRIORS[covariance]
        for rule, weight in _rules(base.class_weight, scoring)
        for forgetting in memories
    )


def _rules(class_weight: Any, scoring: str) -> list[tuple[str, Any]]:
    """The rules that suit a score, with their class weights."""
    if class_weight is not None:
        return [("so-pater-i", class_weight), ("arow", class_weight)]
    balanced, plain = [("so-pater-i", None), ("arow", "balanced")], [("arow", None)]
    if scoring in BALANCED:
        return balanced
    return plain if scoring == "accuracy" else [*plain, *balanced]


def suited(specs: Specs, n_features: int, *, more_may_come: bool = False) -> list[bool]:
    """Which candidates suit rows of this many columns: those with a full covariance, unless that is too expensive.

    If more columns may come, those with a diagonal one take part from the beginning. A full covariance needs a memory
    of a few rows for each column.
    """
    full = [spec.covariance == "full" for spec in specs]
    if not all(full) and n_features > WIDEST:
        long = [1 - spec.forgetting <= 1 / WIDEST for spec in specs]
        return [not each and (enough or not any(long)) for each, enough in zip(full, long, strict=True)]
    fits = [1 - spec.forgetting <= 1 / (ROWS_FOR_EACH * n_features + 1) for spec in specs]
    full = [each and enough for each, enough in zip(full, fits, strict=True)]
    if not any(full):
        return [True] * len(specs)
    return [each or (more_may_come and spec.covariance == "diagonal") for each, spec in zip(full, specs, strict=True)]


def suited_to_encoded(specs: Specs, n_features: int) -> list[bool]:
    """Which candidates suit this many columns of an encoder: both covariances, unless the full one is too expensive.

    With a diagonal covariance, rules that move along the row, here AROW, learn better from indicators, of which a row
    has a few and most are rare.
    """
    diagonal = [spec for spec in specs if spec.covariance == "diagonal"]
    along_rows = [spec for spec in diagonal if not RULES[spec.rule].moves_along_means]
    usual = [spec for spec in along_rows if spec.r in PRIORS_ENCODED] or diagonal
    too_wide = bool(diagonal) and n_features > WIDEST_ENCODED
    fits = [not too_wide if spec.covariance == "full" else spec in usual for spec in specs]
    least = {"full": ROWS_FOR_EACH * n_features, "diagonal": WIDEST if n_features > WIDEST else 0}
    long = [1 - spec.forgetting <= 1 / (least[spec.covariance] + 1) for spec in specs]
    both = [fit and enough for fit, enough in zip(fits, long, strict=True)]
    return both if any(both) else fits


def outweigh_prior(specs: Specs) -> list[bool]:
    """Whether, for each spec, the rows in memory can outweigh the prior, which weighs as much as r rows.

    Others hardly learn a covariance: without them, nothing is lost (docs/log.md).
    """
    return [(1 - spec.forgetting) * spec.r <= 1 + ROUNDING for spec in specs]


def rows_at_most(specs: Specs, n_features: int) -> list[float]:
    """After how many rows of the rarer class each stops, for this many columns of an encoder, if others remain."""
    all_full = all(spec.covariance == "full" for spec in specs)
    enough = ENOUGH_FOR_EACH * n_features
    return [enough if spec.covariance == "full" and not all_full else math.inf for spec in specs]


def unlike_candidates(before: Specs, after: Specs) -> list[str]:
    """The parameters in which these settings would give other candidates."""
    if not is_pool(after):
        return ["variants", "weights"]
    memories = [[spec.forgetting for spec in specs] for specs in (before, after)]
    others = [[(spec.rule, spec.r, spec.covariance) for spec in specs] for specs in (before, after)]
    if set(memories[0]) != set(memories[1]):
        return ["forgetting"]
    return [] if memories[0] == memories[1] and others[0] == others[1] else ["scoring"]
