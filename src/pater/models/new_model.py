"""The learner that settings ask for, before it has seen anything.

Knows `model` and `pool`.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from .candidates import is_pool
from .choice import ScoringSettings
from .model import Model
from .pool import Pool
from .race import FADING
from .spec import Specs


def new_model(
    classes: NDArray[Any],
    n_features: int,
    specs: Specs,
    scored_by: tuple[str, ScoringSettings],
    *,
    fading: float | None = None,
    more_may_come: bool = False,
    fixed: bool = False,
) -> Model | Pool:
    """An empty learner of these settings: a pool if they are candidates of one."""
    if not is_pool(specs):
        return Model.new(classes, n_features, specs, fixed=fixed)
    return Pool.new(
        classes,
        n_features,
        specs,
        *scored_by,
        fading=fading or FADING,
        more_may_come=more_may_come,
        fixed=fixed,
    )
