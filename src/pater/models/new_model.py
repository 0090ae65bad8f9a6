"""A new, empty learner for given settings.

Knows `model` and `pool`.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from .candidates import is_pool
from .choice import JudgedBy
from .model import Model
from .pool import Pool
from .spec import Specs
from .views import Views


def new_model(
    classes: NDArray[Any],
    views: Views,
    specs: Specs,
    judged_by: JudgedBy,
    *,
    more_may_come: bool = False,
    fixed: bool = False,
) -> Model | Pool:
    """An empty learner with these settings over columns in these views; a pool if they are candidates of one."""
    if not is_pool(specs):
        return Model.new(classes, views.n_features, specs, fixed=fixed)
    scoring, settings, fading = judged_by
    return Pool.new(
        classes,
        views,
        specs,
        scoring,
        settings,
        fading=fading,
        more_may_come=more_may_come,
        fixed=fixed,
    )
