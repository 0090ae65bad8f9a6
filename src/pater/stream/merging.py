"""Several learners made one: of what each has seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..formats.errors import InputError
from ..kernels.state import TooWideError
from ..models.batch import NO_MOMENTS, BatchModel
from ..models.placement import with_columns_at
from ..preprocessing.scaling import Scaler
from .learner import Learner, width_told


def merged(learners: Sequence[Learner], names: Sequence[str]) -> Learner:
    """One learner of what all have seen. Class sums and counts add; weights average by the rows seen."""
    first = learners[0]
    model, scaler, encoder = first.model, first.scaler, first.encoder
    assert model is not None
    result = Learner(
        first.specs,
        first.columns,
        first.scoring,
        first.scale,
        scoring_settings=first.scoring_settings,
        n_features=first.n_features,
    )
    for learner, name in zip(learners, names, strict=True):
        _check_batch(learner, name, first, names[0])
        chosen_by = (learner.scoring, learner.scoring_settings)
        if learner.specs != first.specs or chosen_by != (first.scoring, first.scoring_settings):
            raise InputError(
                f"{name} has other settings than {names[0]}; only models of the same settings can be merged."
            )
        if (
            (learner.encoder is None) != (first.encoder is None)
            or learner.columns != first.columns
            or learner.scale != first.scale
        ):
            raise InputError(
                f"{name} has other columns than {names[0]}; only models of the same columns can be merged."
            )
        result.rows += learner.rows
        result.skipped += learner.skipped
        result.missing += learner.missing
        result.sources += learner.sources
        result.n_features = max(result.n_features, learner.n_features)
        if learner.names is not None:
            result.names = learner.names if result.names is None else result.names.merged(learner.names)
    for learner in learners[1:]:
        other, their_scaler = learner.model, learner.scaler
        assert other is not None
        if model.classes.size and other.classes.size and model.classes.dtype.kind != other.classes.dtype.kind:
            raise InputError("the models have classes of different types.")
        if encoder is not None and learner.encoder is not None:
            encoder, places = encoder.merged(learner.encoder)
            with width_told("the models together"):
                other = with_columns_at(other, places, encoder.n_columns)
        width = max(model.n_features, other.n_features)
        with width_told("the models together"):
            for each in (model, other):
                if each.n_features < width:
                    each.resize(width)
            try:
                model = model.merge(other)  # type: ignore[arg-type]  # of the same specs, they are of one kind
            except TooWideError:
                raise
            except ValueError as error:  # what makes no metric, say, since its numbers are too far apart
                raise InputError(f"{', '.join(names)}: the models cannot be merged: {error}.") from None
        if scaler is not None and their_scaler is not None:
            scaler = _together(scaler, their_scaler, width)
    result.model, result.scaler, result.encoder = model, scaler, encoder
    if encoder is not None:
        result.n_features = encoder.n_columns
    return result


def _check_batch(learner: Learner, name: str, first: Learner, its_name: str) -> None:
    """An error if a batch solution has nothing that could be merged, or another penalty than the first."""
    model, other = learner.model, first.model
    if isinstance(model, BatchModel):
        if model.moments is None:
            raise InputError(f"{name} cannot be merged: {NO_MOMENTS}")
        if isinstance(other, BatchModel) and model.ridge != other.ridge:
            raise InputError(f"{name} has a ridge of {model.ridge:g}, {its_name} one of {other.ridge:g}.")


def _together(a: Scaler, b: Scaler, width: int) -> Scaler:
    """The scaler of all rows of both: means by their counts, and the distance of the means in the squares."""
    for each in (a, b):
        each.grow(width)
    count = a.count + b.count
    share = np.divide(b.count, count, out=np.zeros(width), where=count > 0)
    gap = b.mean - a.mean
    return Scaler(a.rows + b.rows, count, a.mean + gap * share, a.square + b.square + gap * gap * a.count * share)
