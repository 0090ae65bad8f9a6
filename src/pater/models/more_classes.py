"""Adding one or more classes to a model: where their one-vs-rest models come from.

Knows `state_operations`, and what a model is made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .labels import ranks
from .operating_points import seen_by
from .state_operations import among, joined, mirrored
from .warnings import warn_of_many

if TYPE_CHECKING:
    from ..kernels.state import State
    from .model import Model


def add_class(model: Model, label: Any) -> None:
    """Make room for one more class."""
    model.stored_choice = model.taken_out = None
    labels = np.append(model.classes, np.asarray([label]))
    place = int(np.argsort(labels, kind="stable").tolist().index(model.classes.size))
    width, state = len(model.specs), model.state
    model.check_room(labels.size)
    empty = state.empty(width)
    if model.classes.size == 0:
        model.state, model.seen = empty, seen_by(model.specs, 1, width)
    elif model.classes.size == 1:
        model.state = state if place == 0 else _other_side(model)
        if model.seen is not None and place > 0:
            model.seen = model.seen.mirrored(_counterparts(model))
    else:
        each = joined([_other_side(model), state]) if model.classes.size == 2 else state
        model.state = joined(
            [each.some_of(range(place * width)), empty, each.some_of(range(place * width, each.n_models))]
        )
    model.classes = np.sort(labels)


def add_classes(model: Model, labels: NDArray[Any]) -> None:
    """Make room for more classes. From three on, a new class does not change the existing models."""
    warn_of_many(model.classes.size, model.classes.size + labels.size)
    model.stored_choice = model.taken_out = None
    n_single = max(0, min(labels.size, 3 - model.classes.size))
    for label in labels[:n_single]:
        model.add_class(label)
    if n_single == labels.size:
        return
    new = labels[n_single:] if labels.dtype.kind != "O" else np.asarray(labels[n_single:].tolist())
    found, width = np.concatenate([model.classes, new]), len(model.specs)
    rank = ranks(found)
    model.check_room(found.size)
    places = (rank[: model.classes.size, None] * width + np.arange(width)).ravel()
    model.state = among(model.state, places, found.size * width)
    model.classes = np.sort(found)


def _other_side(model: Model) -> State:
    """The models of one class seen as those of the other.

    The mirror image of a model has learned with α⁻ and α⁺ exchanged. A spec whose counterpart is not among the
    specs starts empty.
    """
    sources = _counterparts(model)
    result = model.state.empty(len(sources))
    for place, k in enumerate(sources):
        if k is not None:  # one by one, since a search's models are large and have to be copied out of their herds
            one = mirrored(model.state.some_of(range(k, k + 1)))
            result.vectors[place], result.scalars[place] = one.vectors[0], one.scalars[0]
            if result.second is not None and one.second is not None:
                result.second[place] = one.second[0]
    return result


def _counterparts(model: Model) -> list[int | None]:
    """For each spec, the one with α⁻ and α⁺ exchanged, if it is there."""
    there = {spec: k for k, spec in enumerate(model.specs)}
    return [there.get(spec._replace(alphas=spec.alphas[::-1])) for spec in model.specs]
