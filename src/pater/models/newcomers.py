"""New classes: room for them in a model, and learning from the rows that bring them.

Knows `run`, `labels`, `errors` and `state_operations`, and what models and pools can do. Two classes need one model,
with the second class as +1. Three or more have a model each, the class against the rest. A class that appears later is
added before its first row: with one class or two, the model of either is the mirror image of the other, so nothing is
lost in going to three; the model of the new class starts empty at that row.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from ..kernels.memory import COUNTS
from ..kernels.run import NOTHING, Rows, arrange_for, available_threads, learn
from .errors import BadRowError, NotFiniteError, stopped_at
from .labels import Encoded, ranks
from .matrices import part
from .operating_points import SeenMargins
from .state_operations import among, joined, mirrored
from .warnings import MANY_CLASSES, warn_of_many

if TYPE_CHECKING:
    from ..kernels.state import State
    from .model import Model
    from .pool import Pool

Room = Callable[[int, int], NDArray[np.float64] | None]


def learn_encoded(
    model: Model | Pool,
    rows: Rows,
    encoded: Encoded,
    *,
    weights: NDArray[np.float64] = NOTHING,
    threads: int | None = 1,
    room: Room = lambda start, stop: None,
    one_by_one: bool = False,
) -> None:
    """Pass rows through the models, new classes included; after an error the state is undefined.

    Up to three classes, or `one_by_one` all, each is added before the row that brings it; then the models of all others
    are made at once. `room`, called before some rows are passed, may return an array (models, rows) to receive their
    margins.
    """
    found, n_known, n_rows = np.concatenate([model.classes, encoded.new]), model.classes.size, encoded.codes.size
    n_single = encoded.new.size if one_by_one else max(0, min(encoded.new.size, 3 - n_known))
    ends = [*encoded.first_rows.tolist(), n_rows]
    start = 0
    try:
        for k, stop in enumerate(ends[: n_single + 1]):
            if k > 0:
                model.add_class(encoded.new[k - 1])
            codes = encoded.codes[start:stop]
            codes = ranks(found[: n_known + k])[codes] if encoded.new.size else codes
            some, margins = part(rows, start, stop), room(start, stop)
            model.learn_all(some, codes, weights=weights[start:stop], threads=threads, margins=margins)
            start = stop
        if n_single < encoded.new.size:
            model.add_classes(encoded.new[n_single:])
            rank = ranks(found)
            begins = np.zeros(found.size, np.int64)
            begins[rank[n_known + n_single :]] = encoded.first_rows[n_single:] - start
            codes, last = rank[encoded.codes], ends[-2]
            some, margins = part(rows, start, last), room(start, last)
            _learn_as_they_come(
                cast("Model", model), some, codes[start:last], begins, weights[start:last], threads, margins
            )
            start = last
            some, margins = part(rows, last, n_rows), room(last, n_rows)
            model.learn_all(some, codes[last:], weights=weights[last:], threads=threads, margins=margins)
    except (BadRowError, NotFiniteError) as error:
        raise stopped_at(rows, start + error.row) from None


def _learn_as_they_come(
    model: Model,
    rows: Rows,
    codes: NDArray[np.int64],
    begins: NDArray[np.int64],
    weights: NDArray[np.float64],
    threads: int | None,
    margins: NDArray[np.float64] | None,
) -> None:
    """Pass rows through the models, each class's from the row at which it begins.

    One class at a time, since a state of all classes known so far would otherwise be rebuilt at each new one.
    """
    width, settings, n_rows = len(model.specs), model.settings(), codes.size
    stops = model.history.cuts(n_rows) if model.history is not None else []
    counts = np.zeros((len(stops), model.state.n_models, len(COUNTS)))
    arrange_for(rows, model.state, settings)

    def learn_class(k: int) -> int:
        start, models = int(begins[k]), slice(k * width, (k + 1) * width)
        if start >= n_rows:
            return n_rows
        first, mine = bisect_right(stops, start), model.state.of_target(k)
        said = None if margins is None else np.empty((width, n_rows - start))
        bad = learn(
            part(rows, start, n_rows),
            codes[start:],
            mine,
            settings[models],
            weights=weights[start:],
            stops=[stop - start for stop in stops[first:]],
            counts=counts[first:, models],
            margins=said,
        )
        if margins is not None:
            margins[models, start:] = said
        assert np.may_share_memory(mine.vectors, model.state.vectors)  # else what was learned is lost
        return start + bad if bad >= 0 else n_rows

    with ThreadPoolExecutor(threads or available_threads()) as pool:
        bad = min(pool.map(learn_class, range(begins.size)))
    if bad < n_rows:
        raise stopped_at(rows, bad)
    if model.history is not None:
        for (start, stop), so_far in zip(itertools.pairwise([0, *stops]), counts, strict=True):
            model.history.passed(stop - start, so_far[np.repeat(begins < stop, width)])


def add_class(model: Model, label: Any) -> None:
    """Make room for one more class."""
    model.stored_choice = model.taken_out = None
    labels = np.append(model.classes, np.asarray([label]))
    place = int(np.argsort(labels, kind="stable").tolist().index(model.classes.size))
    width, state = len(model.specs), model.state
    model.check_room(labels.size)
    empty = state.empty(width)
    if model.classes.size == 0:
        model.state = empty
        if model.seen is not None:
            model.seen = SeenMargins.new(width)
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
    if model.classes.size < MANY_CLASSES <= model.classes.size + labels.size:
        warn_of_many(model.classes.size + labels.size)
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
