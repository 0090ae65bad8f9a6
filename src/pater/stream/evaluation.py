"""Evaluating a saved model on labelled data, or a learner on each row before it learns from it.

Knows `learner`, `prediction_quality`, `label_times` and `widths`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats.batches import Batch
from ..formats.errors import Fault, InputError, Skipped, listed
from ..formats.unread_warnings import UnreadCells
from ..models.labels import encode
from ..models.matrices import part
from ..models.pool import Pool
from ..models.predict import probabilities
from ..models.spec import is_pool
from .label_times import LabelTimes
from .learner import Learner
from .prediction_quality import LOWEST, Judged, Said
from .refusals import REFUSALS, refused
from .widths import by_width, piece_of, weighing

PIECE = 4096  # rows judged by the model that was best before them
FIRST_PIECE = 64
MOST_MARGINS = 1 << 24  # of a piece: with very many models it is shorter
DELAYED_PIECES = 20  # in which the rows of a delay are judged


def judge(
    learner: Learner,
    batches: Iterator[Batch],
    skipped: Skipped,
    judged: Judged | None = None,
    *,
    threshold: float | None = None,
) -> Judged:
    """Evaluate a saved model on labelled rows; `skipped` records those that were left out.

    `judged` receives the predictions; rows of weight 0 are left out. A `threshold` replaces the model's own.
    """
    judged, before, unread = judged or Judged(), 0, UnreadCells()
    for each in batches:
        skipped.add(each.faults)
        batch = each.that_weighs()
        if len(batch):
            assert batch.labels is not None
            margins = learner.finite_margins(batch, skip=False)
            unread.add(batch.unread, len(batch))
            p = learner.probabilities_if_fitted(margins)
            at = learner.threshold() if threshold is None else threshold
            batch.check_labels(learner.classes)
            _check_known(learner, batch)
            judged.add(Said(learner.classes, margins, batch.labels, at, p, before))
            before += len(batch)
    unread.tell()
    return judged


def _check_known(learner: Learner, batch: Batch) -> None:
    """Raise an error for a row of a class that the model has never seen."""
    assert batch.labels is not None
    found = encode(batch.labels, learner.classes)
    if found.new.size:
        where = f"{batch.source}, {batch.unit} {batch.lines[found.first_rows[0]]}"
        classes = listed([str(each) for each in learner.classes.tolist()])
        raise InputError(
            f"{where}: the model does not know the class {found.new.tolist()[0]!r}; it knows {classes}. Train it with "
            "rows of this class, or leave them out."
        )


def judge_progressively(
    learner: Learner,
    batches: Iterator[Batch],
    skipped: Skipped,
    judged: Judged | None = None,
    *,
    delay: int | LabelTimes = 0,
) -> Judged:
    """Evaluate a learner on each row just before it learns from it; `skipped` records those left out.

    With a delay, a row is learned from after that many more rows have been predicted, or when its label becomes known.
    """
    judged, unread = judged or Judged(), UnreadCells()
    delayed: _Delayed | None = None
    if isinstance(delay, LabelTimes):
        delayed = _ByTime(learner, delay, judged)
    elif delay:
        delayed = _Delayed(learner, delay, judged)
    for batch in batches:
        unread.add(batch.unread, len(batch))
        if delayed is None:
            skipped.add([*batch.faults, *learn_and_judge(learner, batch, judged)])
            continue
        ready, faults = learner.prepare(weighing(batch, learner))
        skipped.add([*batch.faults, *faults])
        delayed.take(ready)
    if delayed is not None:
        delayed.finish()
    elif learner.model is not None:
        judged.probabilities = learner.probability_scores()
    unread.tell()
    return judged


def learn_and_judge(
    learner: Learner,
    batch: Batch,
    judged: Judged,
    *,
    at: Iterable[int] = (),
    report: Callable[[], None] = lambda: None,
) -> list[Fault]:
    """Predict each row of a batch just before learning from it; return what was refused.

    The result is that of `Learner.learn`, but after an error the learner is undefined.
    """
    batch = weighing(batch, learner) if batch.weights.size else batch
    parts = by_width(batch, learner) if is_pool(learner.specs) else [batch]
    if len(parts) > 1:
        return [fault for some in parts for fault in learn_and_judge(learner, some, judged, at=at, report=report)]
    ready, faults = learner.prepare(parts[0])
    stops, stop = [each for each in at if learner.rows < each < learner.rows + len(ready)], 0
    while stop < len(ready):
        assert ready.labels is not None
        start, stop = stop, min(stop + _piece(learner), len(ready), *(each - learner.rows + stop for each in stops[:1]))
        labels, weights = ready.labels[start:stop], ready.weights[start:stop]
        try:
            _learn_and_judge(learner, part(ready.rows, start, stop), labels, weights, judged)
        except REFUSALS as error:
            raise refused(error, ready, start) from None
        if stops and learner.rows == stops[0]:
            del stops[0]
            report()
    return faults


def _piece(learner: Learner) -> int:
    """How many rows are predicted with the model and the threshold that were best before them."""
    assert learner.model is not None
    if isinstance(learner.model, Pool):  # which may change its leader
        return learner.model.next_decision - learner.model.rows
    most = max(1, MOST_MARGINS // max(1, learner.model.state.n_models))
    return min(max(FIRST_PIECE, min(PIECE, learner.rows)), most)


def _learn_and_judge(learner: Learner, rows: Any, labels: NDArray[Any], weights: Any, judged: Judged) -> None:
    model = learner.model
    assert model is not None
    said = []

    def room(start: int, stop: int) -> NDArray[np.float64] | None:
        if start == stop:
            return None
        margins, chosen = np.full((model.state.n_models, stop - start), LOWEST), learner.chosen()
        fitted = model.state.scalars[chosen] if learner.specs[0].calibrate else None
        said.append((model.classes, chosen, margins, labels[start:stop], learner.threshold(), fitted, start))
        return margins

    encoded = model.encoded(labels)
    model.learn_encoded(rows, encoded, weights=weights, threads=learner.threads, room=room)
    model.warn(rows, labels)
    for classes, chosen, all_margins, some, threshold, fitted, start in said:
        margins = all_margins[chosen].T
        p = None if fitted is None else probabilities(margins, fitted, classes.size, average=model.spec.average)
        judged.add(Said(classes, margins, some, threshold, p, learner.rows + start))
    learner.rows += labels.size


class _Delayed:
    """Predicts rows as they arrive, and learns from each after a number of further rows.

    Rows are predicted in pieces of a twentieth of the delay, with what had been learned when the piece began.
    """

    def __init__(self, learner: Learner, delay: int, judged: Judged) -> None:
        self._learner, self._delay, self._judged = learner, delay, judged
        self._waiting: deque[Batch] = deque()
        self._n_waiting = self._n_never = 0  # rows whose labels are to come, and those whose labels never do

    def take(self, batch: Batch) -> None:
        """Predict rows, and learn from those whose labels have become due."""
        size = max(1, self._delay // DELAYED_PIECES)
        for start in range(0, len(batch), size):
            piece = piece_of(batch, start, min(start + size, len(batch)))
            self._judge(piece)
            self._waiting.append(piece)
            self._n_waiting += len(piece)
            while self._n_waiting > self._delay:
                self._learn(self._n_waiting - self._delay)

    def _judge(self, piece: Batch) -> None:
        learner = self._learner
        if learner.rows:  # before a label has come, there is nothing to judge
            model = learner.model
            assert model is not None
            assert piece.labels is not None
            margins = model.margins(piece.rows, learner.scored_by, average=model.spec.average)
            p = learner.probabilities_if_fitted(margins)
            before = learner.rows + self._n_waiting + self._n_never
            self._judged.add(Said(model.classes, margins, piece.labels, learner.threshold(), p, before))

    def finish(self) -> None:
        """Learn from the rows whose labels arrive after the last row."""
        while self._n_waiting:
            self._learn(self._n_waiting)
        if self._learner.model is not None:
            self._judged.classes = self._learner.classes

    def _learn(self, most: int) -> None:
        piece = self._waiting.popleft()
        n = min(most, len(piece))
        self._learn_rows(piece_of(piece, 0, n))
        if n < len(piece):
            self._waiting.appendleft(piece_of(piece, n, len(piece)))

    def _learn_rows(self, piece: Batch) -> None:
        learner = self._learner
        assert learner.model is not None
        assert piece.labels is not None
        try:
            learner.model.learn(piece.rows, piece.labels, weights=piece.weights, threads=learner.threads, sound=True)
        except REFUSALS as error:
            raise refused(error, piece) from None
        learner.rows += len(piece)
        self._n_waiting -= len(piece)


class _ByTime(_Delayed):
    """The same with a time for each label: a row is learned from when another arrives at or after that time.

    Rows whose labels have arrived are learned from in their own order, in pieces of a twentieth of the waiting rows.
    """

    def __init__(self, learner: Learner, times: LabelTimes, judged: Judged) -> None:
        super().__init__(learner, 0, judged)
        self._times = times
        self._known: deque[NDArray[np.float64]] = deque()  # of what is waiting

    def take(self, batch: Batch) -> None:
        """Predict rows in pieces, after learning from all labels known when each piece begins."""
        stop = 0
        now, known = self._times.of(batch) if len(batch) else (np.zeros(0), np.zeros(0))
        while stop < len(batch):
            start, stop = stop, min(stop + max(1, self._n_waiting // DELAYED_PIECES), len(batch))
            self._learn_known(now[start])
            piece = piece_of(batch, start, stop)
            self._judge(piece)
            self._wait(piece, known[start:stop])

    def _wait(self, piece: Batch, known: NDArray[np.float64]) -> None:
        comes = ~np.isnan(known)
        self._n_never += int((~comes).sum())
        if comes.any():
            self._waiting.append(_some(piece, comes))
            self._known.append(known[comes])
            self._n_waiting += int(comes.sum())

    def _learn_known(self, now: float) -> None:
        """Learn from the rows whose labels are known by now."""
        for _ in range(len(self._waiting)):
            piece, known = self._waiting.popleft(), self._known.popleft()
            there = known <= now
            if there.any():
                self._learn_rows(_some(piece, there))
            if not there.all():
                self._waiting.append(_some(piece, ~there))
                self._known.append(known[~there])


def _some(piece: Batch, keep: NDArray[np.bool_]) -> Batch:
    if keep.all():
        return piece
    some = copy(piece)
    some.take(keep)
    return some
