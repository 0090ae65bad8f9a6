"""A learner that answers while it learns.

Knows `stream/learner.py` and explanations; knows no log and no server. While an encoder holds back the first rows of a
stream, the answers are those of a learner whose stream ended there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.in_bytes import to_bytes
from ..formats.batches import Batch
from ..formats.errors import InputError
from ..formats.row_batch import RowBatch
from ..models.predict import labels_of
from ..stream.explanation import explain_batch, spoken_for
from ..stream.learner import NOT_FINITE, Learner
from ..stream.row_answers import RowAnswers, Said
from ..stream.row_steps import learned_in_steps
from .errors import Refusal

BASE, ROUNDING = "(base)", "(rounding)"  # the parts of a margin that come from no column
NOTHING_SAID = {"label": None, "decision": None, "probability": None, "margin": None}
STALE = 8  # a learner of rows that are held back is made anew once their number has grown by 1/STALE


class Served:
    """The model of a service: it learns from batches, answers for rows, and can be written to a file."""

    def __init__(self, learner: Learner, version: int = 1) -> None:
        self.learner, self.version = learner, version
        self._held = 0  # rows that the encoder holds back
        self._ended: tuple[int, Learner] | None = None  # a number of rows held back, and the learner they would give
        self._of_row = RowAnswers()

    @property
    def rows(self) -> int:
        """How many rows were taken in, including those held back."""
        return self.learner.rows + self._held

    @property
    def is_settled(self) -> bool:
        """Whether there is a model and no rows are held back, so that the learner can be saved and resumed."""
        return self.learner.model is not None and not self._held

    def learn(self, batch: Batch) -> None:
        """Learn from rows; after an error the learner is undefined, since its encoder may have taken them in."""
        for _ in self.learning(batch):
            pass

    def learning(self, batch: Batch) -> Iterator[None]:
        """Do the same with pauses, in which the model can be asked, but neither saved nor given other rows."""
        batch, encoder = batch.that_weighs(), self.learner.encoder
        pieces = [batch] if encoder is None else encoder.take(batch)
        for piece in pieces:
            yield from learned_in_steps(self.learner, piece)
        self._held = 0 if pieces else self._held + len(batch)
        if pieces:
            self._ended = None

    def speaker(self, *, fresh: bool = False) -> Learner | None:
        """The learner that answers; None before anything was learned.

        While rows are held back, this is a learner made from most of them, or, if `fresh`, from all.
        """
        if self.learner.model is not None:
            return self.learner
        if not self._held:
            return None
        if self._ended is None or self._held - self._ended[0] >= (1 if fresh else max(1, self._ended[0] // STALE)):
            learner = deepcopy(self.learner)
            assert learner.encoder is not None
            for piece in learner.encoder.finish():
                learner.learn(piece)
            self._ended = self._held, learner
        return self._ended[1]

    def content(self) -> bytes:
        """The model file, as `pater train` would have written it."""
        learner = self.speaker(fresh=True)
        if learner is None:
            raise Refusal(409, "there is no model yet: nothing has been learned.")
        return to_bytes(learner.save)

    def answers(self, batch: Batch, threshold: float | None = None, *, explain: bool = False) -> list[dict[str, Any]]:
        """The answer for each row: label, decision, probability, margin and, if asked for, contributions to the margin.

        A `threshold` replaces the model's own in the decision between two classes. Before anything was learned, all
        values are None. A row whose margins are not finite is refused.
        """
        learner = self.speaker()
        if learner is None:
            return [dict(NOTHING_SAID) for _ in range(len(batch))]
        if isinstance(batch, RowBatch) and not explain:
            said = self._of_row.of(learner, batch)
            if said is not None:
                return [_answer(learner, said, threshold)]
        margins, classes = _margins(learner, batch), learner.classes
        p = learner.probabilities_if_fitted(margins)
        told = learner.labels(margins).tolist()
        decided = told if threshold is None or classes.size != 2 else labels_of(margins, classes, threshold).tolist()
        nothing: list[Any] = [None] * len(told)
        if classes.size == 1:  # there is no other class to compare with yet
            sizes, shares = nothing, nothing
        elif classes.size == 2:
            sizes, shares = margins[:, 0].tolist(), nothing if p is None else p[:, 1].tolist()
        else:
            sizes, shares = _by_class(classes, margins), nothing if p is None else _by_class(classes, p)
        found = [
            {"label": label, "decision": decision, "probability": share, "margin": margin}
            for label, decision, share, margin in zip(told, decided, shares, sizes, strict=True)
        ]
        if explain:
            for row, terms in zip(found, _contributions(learner, batch), strict=True):
                row["contributions"] = terms
        return found


def _answer(learner: Learner, said: Said, threshold: float | None) -> dict[str, Any]:
    """The answer for a row, where there are two classes."""
    margin, classes = said.margin, learner.classes.tolist()
    label = classes[margin >= learner.threshold()]
    decision = label if threshold is None else classes[margin >= threshold]
    return {"label": label, "decision": decision, "probability": said.probability, "margin": margin}


def _margins(learner: Learner, batch: Batch) -> NDArray[np.float64]:
    margins, bad = learner.margins_and_bad(batch)
    if bad.any():
        rows = np.flatnonzero(bad).tolist()
        raise Refusal(422, f"row {rows[0]}: {NOT_FINITE}.", rows=[(row, NOT_FINITE) for row in rows])
    return margins


def _by_class(classes: NDArray[Any], values: NDArray[np.float64]) -> list[dict[str, float]]:
    """For each row, the values of the classes by name."""
    names = [str(label) for label in classes.tolist()]
    return [dict(zip(names, row, strict=True)) for row in values.tolist()]


def _contributions(learner: Learner, batch: Batch) -> list[dict[str, Any]]:
    """For each row, what each column adds to the margin; with more than two classes, grouped by class."""
    try:
        explained = explain_batch(learner, batch)
    except InputError as error:
        raise Refusal(422, str(error)) from None
    found, names = explained.found, [str(label) for label in spoken_for(learner)]
    rows = []
    base, rounding = (_unlike(name, explained.terms) for name in (BASE, ROUNDING))
    for r in range(len(explained)):
        there = np.flatnonzero(explained.there[r]).tolist()
        of_class = {
            name: {
                **{explained.terms[j]: float(found.terms[r, k, j]) for j in there},
                base: float(found.base[r, k]),
                rounding: float(found.rounding[r, k]),
            }
            for k, name in enumerate(names)
        }
        rows.append(of_class[names[0]] if len(names) == 1 else of_class)
    return rows


def _unlike(name: str, others: Sequence[str]) -> str:
    """The name, in as many more parentheses as it takes to differ from every column."""
    while name in others:
        name = f"({name})"
    return name
