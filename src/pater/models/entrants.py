"""The candidates that compete: each learner at each level of detail that suits the columns.

Knows `candidates`, `views` and `spec`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .candidates import outweigh_prior, rows_at_most, suited, suited_to_encoded
from .spec import Specs
from .views import Views


@dataclass(frozen=True)
class Entrants:
    """Candidates by their places: all specs at the first level, then all at the next.

    fits
        Whether each may take part.
    places
        Those that do, from the beginning; files of older versions may hold others.
    common
        The one that never stops: it suits any width that may come, and lets pools be merged.
    teams, forgets
        The team of each (candidates that differ only in their memory), and what each forgets with a row.
    until
        After how many rows of the rarer class each stops in any case.
    """

    fits: list[bool]
    places: list[int]
    common: int
    teams: list[int]
    forgets: NDArray[np.float64]
    until: list[float]

    @cached_property
    def lasting(self) -> frozenset[int]:
        """The places that may learn for ever."""
        return frozenset(k for k, fits in enumerate(self.fits) if fits and math.isinf(self.until[k]))

    @cached_property
    def passing(self) -> frozenset[int]:
        """The places that stop at some point."""
        return frozenset(k for k, fits in enumerate(self.fits) if fits) - self.lasting


def entrants(specs: Specs, views: Views, *, more_may_come: bool) -> Entrants:
    """The candidates for rows of these columns."""
    n_levels = views.n_levels
    widths = views.first_widths[:n_levels].tolist()
    if views.encoded:
        fits = [fit for width in widths for fit in suited_to_encoded(specs, width)]
        until = [rows for width in widths for rows in rows_at_most(specs, width)]
    else:
        fits = suited(specs, widths[0], more_may_come=more_may_come)
        until = [math.inf] * len(specs)
    places = [k for k, fit in enumerate(fits) if fit]
    diagonal = [k for k in places if specs[k % len(specs)].covariance == "diagonal"]
    common = diagonal[0] if diagonal and more_may_come else places[0]
    if diagonal and views.encoded:  # the usual best, with all columns in view
        in_view = [k for k in diagonal if k // len(specs) == diagonal[-1] // len(specs)]
        common = max(in_view, key=lambda k: (specs[k % len(specs)].r, -k))
    alike = [spec._replace(forgetting=1.0, average=False) for spec in specs]
    first = [alike.index(spec) for spec in alike]
    teams = [level * len(specs) + team for level in range(n_levels) for team in first]
    forgets = np.tile([1.0 - spec.forgetting for spec in specs], n_levels)
    longest = {team: min(forgets[k] for k in places if teams[k] == team) for team in {teams[k] for k in places}}
    of_use = n_levels * outweigh_prior(specs)
    begin = [k for k in places if of_use[k] or k == common or forgets[k] == longest[teams[k]]]
    return Entrants(fits, begin, common, teams, forgets, until)
