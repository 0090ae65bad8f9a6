"""What each term adds to a margin, such that the terms make up the margin to the bit.

Knows the form of rows, `model` and `pool`. The terms of a row are multiples of one power of two, small enough to keep
fifteen digits of the largest, and large enough that all their sums are exact, in any order. The rest of the margin,
which was summed in another order, is the last term, the rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..kernels.run import Rows
from .choice import ScoringSettings
from .matrices import number_of_rows
from .model import Model
from .pool import Pool

Reals = NDArray[np.float64]
DIGITS = 51  # bits of the largest sum that the terms keep


def weights_of(
    model: Model | Pool, scored_by: tuple[str, ScoringSettings], columns: NDArray[np.int64], *, average: bool
) -> tuple[Reals, Reals]:
    """Weights (models, columns) of some columns, and the intercepts; no memory is taken for the other columns.

    A column that the leader of a pool does not see has a weight of 0.
    """
    state, places = model.speaking(*scored_by), places_in(model, columns)
    seen = places >= 0
    some = state.vectors[:, :, places[seen]] if state.layout == "split" else state.vectors[:, places[seen]]
    with np.errstate(over="ignore", invalid="ignore"):
        found, intercepts = replace(state, vectors=some).weights(average=average)
    weights = np.zeros((len(found), columns.size))
    weights[:, seen] = found
    return weights, intercepts


def places_in(model: Model | Pool, columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of columns in the state of the models that predict, or −1 for columns that they do not see."""
    if not isinstance(model, Pool) or model.views.n_levels == 1:
        return columns
    return model.views.places(model.level(model.leader))[columns]


@dataclass(frozen=True)
class Contributions:
    """What makes up the margins of some rows.

    terms
        (rows, models, terms): what each adds.
    base
        (rows, models): the margin before the terms are added, the same for all rows up to its last digit.
    rounding
        (rows, models): what is left.
    margins
        (rows, models): terms, base and rounding, added in this order; the exact sum of them is the same number.
    """

    terms: Reals
    base: Reals
    rounding: Reals
    margins: Reals


def contributions(
    rows: Rows, margins: Reals, weights: Reals, intercepts: Reals, term_of: NDArray[np.int64], centres: Reals
) -> Contributions:
    """What the terms add to margins (rows, models) of weights (models, columns).

    `term_of` is the term that each column belongs to, and `centres`, (models, terms), is moved from each term to the
    base.
    """
    n_rows, n_terms = number_of_rows(rows), centres.shape[1]
    found = np.empty((n_rows, len(weights), n_terms))
    for k, w in enumerate(weights):
        if len(rows) == 3:
            indptr, indices, data = rows
            used = indices[: int(indptr[-1])].astype(np.int64)
            of_row = np.searchsorted(indptr, np.arange(used.size), side="right") - 1
            at = of_row * n_terms + term_of[used]
            products = w[used] * data[: used.size]
        else:
            at = (np.arange(n_rows)[:, None] * n_terms + term_of).ravel()
            products = (rows[0] * w).ravel()
        found[:, k] = np.bincount(at, products, minlength=n_rows * n_terms).reshape(n_rows, n_terms)
    return exact(found - centres, np.broadcast_to(intercepts + centres.sum(axis=1), margins.shape), margins)


def exact(terms: Reals, base: Reals, margins: Reals) -> Contributions:
    """The same terms and base, adjusted to add up to these margins to the bit."""
    size = np.abs(terms).sum(axis=2) + np.abs(base) + np.abs(margins)
    unit = np.ldexp(1.0, np.maximum(np.frexp(size)[1] - DIGITS, -1074))
    terms = np.rint(terms / unit[..., None]) * unit[..., None] + 0.0  # no negative zeros
    base = np.rint(base / unit) * unit + 0.0
    total = terms.sum(axis=2) + base
    rounding = margins - total
    # A margin of nearly 0 has digits that none of its terms has. Then the base takes up all of the difference.
    lost = (total + rounding != margins) | (margins - rounding != total)
    base = np.where(lost, base - total, base)
    return Contributions(terms, base, np.where(lost, margins, rounding), margins)
