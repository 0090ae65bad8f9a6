"""Merging several learners into one.

Knows `learner`, and how models, scalers and encoders are merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from ..formats.columns import Columns
from ..formats.errors import InputError
from ..formats.hashed_names import HashedNames
from ..kernels.state import TooWideError
from ..models.batch import NO_MOMENTS, BatchModel
from ..models.differences import DifferenceError, check_classes, check_same, check_settings
from ..models.model import Model
from ..models.placement import with_columns_at
from ..models.pool import Pool
from ..preprocessing.scaling import Scaler
from .learner import Learner
from .refusals import too_wide


def merged(learners: Iterable[Learner], names: Iterable[str]) -> Learner:
    """Merge learners one by one in the order given; they are not changed.

    A generator of learners needs memory for only two. Class sums and counts are added; weights are averaged by the rows
    seen. An `InputError` names what cannot be merged, by `names`, and the first difference.
    """
    result, first, several = None, "", iter(learners)
    for name in names:
        first = first or name
        result = _with(result, next(several), name, first)  # nobody holds what was merged while the next is read
    if result is None:
        raise InputError("there is no model to merge.")
    return result


def _with(result: Learner | None, learner: Learner, name: str, first: str) -> Learner:
    """Merge one more learner into the result so far."""
    if isinstance(learner.model, BatchModel) and learner.model.moments is None:
        raise InputError(f"{name} cannot be merged: {NO_MOMENTS}")
    if result is None:
        return _copied(learner)
    try:
        _check(learner, result)
        return _together(result, learner)
    except TooWideError as error:
        raise too_wide(error, f"{name} and those before it together") from None
    except DifferenceError as error:
        raise InputError(error.told(name, first)) from None
    except InputError:
        raise
    except ValueError as error:  # for example, numbers too far apart to make a metric
        raise InputError(f"{name} cannot be merged with those before it: {str(error).removesuffix('.')}.") from None


def _copied(learner: Learner) -> Learner:
    """An independent copy."""
    scaler, encoder, names = learner.scaler, learner.encoder, learner.names
    return replace(
        learner,
        model=learner._fitted().copy(),
        scaler=None if scaler is None else _wide_scaler(scaler, scaler.count.size),
        encoder=None if encoder is None else encoder.copy(),
        names=None if names is None else HashedNames(names.bits).merged(names),
        sources=list(learner.sources),
    )


def _check(theirs: Learner, mine: Learner) -> None:
    """Raise a `DifferenceError` for the first difference that keeps learners from being merged."""
    check_same(
        [
            ("scoring", theirs.scoring, mine.scoring),
            ("scoring_settings", theirs.scoring_settings or {}, mine.scoring_settings or {}),
        ]
    )
    check_settings(theirs.specs, mine.specs, lambda setting: setting.keyword)
    models = theirs._fitted(), mine._fitted()
    fading = [model.fading if isinstance(model, Pool) else None for model in models]
    ridge = [model.ridge if isinstance(model, BatchModel) else None for model in models]
    check_same([("fading", fading[0], fading[1]), ("ridge", ridge[0], ridge[1]), ("scale", theirs.scale, mine.scale)])
    check_classes(models[0].classes, models[1].classes)
    own, other = mine.columns or Columns(), theirs.columns or Columns()
    check_same([("columns", other.kind, own.kind)])
    check_same((name, getattr(other, name), getattr(own, name)) for name in ("bits", "label", "weight"))
    for k, pair in enumerate(zip_longest(other.table, own.table), start=1):
        if pair[0] != pair[1]:
            shown = [f"{each[0]!r} ({each[1]}) as column {k}" if each else f"no column {k}" for each in pair]
            raise DifferenceError(*shown)
    check_same([("numeric_labels", other.numeric_labels, own.numeric_labels)])


def _together(mine: Learner, theirs: Learner) -> Learner:
    model, other, encoder = mine._fitted(), theirs._fitted(), mine.encoder
    if encoder is not None and theirs.encoder is not None:
        encoder, places = encoder.merged(theirs.encoder)
        other = with_columns_at(other, places, encoder.n_columns)
    width = max(model.n_features, other.n_features)
    both = _wide(model, width).merge(_wide(other, width))  # type: ignore[arg-type]  # of the same specs, of one kind
    names = mine.names
    if theirs.names is not None:
        names = (names or HashedNames(theirs.names.bits)).merged(theirs.names)
    scaler = mine.scaler
    if scaler is not None and theirs.scaler is not None:
        scaler = scalers_merged(scaler, theirs.scaler, width)
    return replace(
        mine,
        model=both,
        scaler=scaler,
        encoder=encoder,
        names=names,
        rows=mine.rows + theirs.rows,
        skipped=mine.skipped + theirs.skipped,
        missing=mine.missing + theirs.missing,
        sources=mine.sources + theirs.sources,
        n_features=max(mine.n_features, theirs.n_features) if encoder is None else encoder.n_columns,
    )


def _wide(model: Model | Pool, width: int) -> Model | Pool:
    """A copy of a model with this many columns."""
    if model.n_features < width:
        model = replace(model)
        model.resize(width)
    return model


def _wide_scaler(scaler: Scaler, width: int) -> Scaler:
    """A copy with this many columns."""
    scaler = replace(scaler)
    scaler.grow(width)
    return scaler


def scalers_merged(a: Scaler, b: Scaler, width: int) -> Scaler:
    """The scaler of all rows of both: means by their counts, and the distance of the means in the squares."""
    a, b = _wide_scaler(a, width), _wide_scaler(b, width)
    count = a.count + b.count
    share = np.divide(b.count, count, out=np.zeros(width), where=count > 0)
    gap = b.mean - a.mean
    return Scaler(a.rows + b.rows, count, a.mean + gap * share, a.square + b.square + gap * gap * a.count * share)
