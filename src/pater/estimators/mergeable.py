"""Whether two learners can be merged: of one class, fitted, with the same settings, on the same features.

Knows `differences` and what a learner holds.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ..models.differences import DifferenceError, check_classes, check_same, check_settings
from ..models.pool import Pool
from .parameters import names_of

if TYPE_CHECKING:
    from .base import LinearClassifier
    from .online import OnlineClassifier


def check_type(mine: Any, other: Any) -> None:
    """Raise a TypeError if these are not of one class."""
    if type(other) is not type(mine):
        raise TypeError(f"cannot merge a {type(other).__name__} into a {type(mine).__name__}.")


def check_alike(mine: OnlineClassifier, other: OnlineClassifier) -> None:
    """Raise an error that names the first difference that keeps two learners from being merged."""
    own = mine._fitted_model()
    check_type(mine, other)
    theirs = other._fitted_model()
    if _judged(mine) != _judged(other):
        name = _differing_parameter(mine, other)
        if name is not None:
            raise DifferenceError.of(name, getattr(other, name), getattr(mine, name))
    check_settings(theirs.specs, own.specs, lambda setting: setting.parameter)
    check_same(zip(("scoring", "scoring_settings", "fading"), _judged(other)[1:], _judged(mine)[1:], strict=True))
    check_features(mine, other)
    check_classes(theirs.classes, own.classes)


def check_features(mine: LinearClassifier, other: LinearClassifier) -> None:
    """Raise a `DifferenceError` if two learners that are fitted have learned from different features."""
    check_same([("n_features_in_", other._fitted_model().n_features, mine._fitted_model().n_features)])
    names = [[] if found is None else list(found) for found in (other._names(), mine._names())]
    for k, (their_name, own_name) in enumerate(zip_longest(*names) if all(names) else ()):
        check_same([(f"feature_names_in_[{k}]", their_name, own_name)])


def _judged(learner: OnlineClassifier) -> tuple[Any, ...]:
    """The settings of what was learned, and the score by which its models are chosen."""
    model = learner._fitted_model()
    scoring, settings, fading = learner._judged_by()
    of_pool = (fading or model.usual_fading) if isinstance(model, Pool) else None
    return model.specs, scoring, settings or {}, of_pool


def _differing_parameter(mine: OnlineClassifier, other: OnlineClassifier) -> str | None:
    """The first parameter whose value in the other learner would give different models here."""
    kind: Any = type(mine)
    params = mine.get_params(deep=False)
    asked = mine._checked_specs(), mine._judged_by()
    for name in names_of(kind):
        try:
            changed = kind(**{**params, name: getattr(other, name)})
            if (changed._checked_specs(), changed._judged_by()) != asked:
                return str(name)
        except ValueError:  # it does not fit the other parameters
            return str(name)
    return None
