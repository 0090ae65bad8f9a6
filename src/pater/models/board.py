"""How good the candidates of a pool are by their predictions, and how long these count.

Knows `metrics`. A prediction fades with each further row of its class, so that a rare class is remembered for
as many of its rows as a frequent one. It fades much faster while the candidates fail, since predictions from before a
change of the stream say little about which candidate is best after it. Any score is computed from the rates of both
classes and their shares in the stream.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import exact_kernel, exact_part, kernel
from .choice import ScoringSettings
from .metrics import SCORES, Confusion

FADING = 0.985  # of a prediction, with the next row of its class
FADING_ENCODED = 0.995  # the same for encoded rows, where more candidates are compared
AT_FIRST = 1000  # rows during which a stream is not taken to have changed
FAILURE = 2.0  # standard deviations that right predictions must fall short of before, for the stream to have changed
FASTER = 30  # times as fast predictions fade then
NUDGE = 1e-3  # of a rate, for the slope of a score
_NUDGES = NUDGE * np.concatenate([np.eye(2), -np.eye(2)])
TINY = np.finfo(np.float64).tiny

Floats = NDArray[np.float64]


@dataclass
class Board:
    """Right predictions for rows of the negative and of the positive class, and how many rows there were.

    A board may hold several points in time, along the first axis.
    """

    right: Floats  # (candidates, problems, 2), faded
    seen: Floats  # (problems, 2), faded alike
    total: Floats  # (problems, 2), of the whole stream

    @classmethod
    def new(cls, n_candidates: int, n_problems: int) -> Board:
        return cls(*(np.zeros((*shape, n_problems, 2)) for shape in ((n_candidates,), (), ())))

    @classmethod
    def of(cls, counts: Floats) -> Board:
        """A board of one candidate with all its predictions, (problems, 4), none of them faded."""
        right = counts[..., [2, 0]]
        seen = right + counts[..., [1, 3]]
        return cls(right[None], seen, seen)

    def copy(self) -> Board:
        return Board(self.right.copy(), self.seen.copy(), self.total.copy())

    def after(self, awake: list[int], counts: Floats, fading: float) -> Board:
        """The boards at later moments, from the counts of predictions made between them.

        `counts` is (moments, awake, problems, 4), in the order of `COUNTS`.
        """
        rows = counts[:, 0][..., [1, 0]] + counts[:, 0][..., [2, 3]]  # fp + tn and tp + fn, the same for all
        moments = [np.concatenate([each[None], np.empty((len(rows), *each.shape))]) for each in vars(self).values()]
        note_answers(*moments, np.array(awake), counts[..., [2, 0]], rows, fading**rows)
        return Board(*(each[1:] for each in moments))

    def among(self, some: list[int]) -> Board:
        """The board of some candidates."""
        return Board(self.right[..., some, :, :], self.seen, self.total)

    def at(self, moment: int) -> Board:
        """The board at one of several points in time."""
        return Board(self.right[moment].copy(), self.seen[moment].copy(), self.total[moment].copy())

    def note(self, awake: list[int], counts: Floats, fading: float) -> None:
        """Count predictions, (awake, problems, 4), made since the last time."""
        vars(self).update(vars(self.after(awake, counts[None], fading).at(0)))

    def scores(self, scoring: str, settings: ScoringSettings) -> Floats:
        """The score of each candidate, the mean over all problems; more is better."""
        rates = self.right / np.maximum(self.seen[..., None, :, :], TINY)
        return np.asarray(self._of_problems(rates, scoring, settings).mean(axis=-1))

    @property
    def rows(self) -> Floats:
        """How many rows there were, the mean over all problems."""
        return np.asarray(self.total.sum(axis=-1).mean(axis=-1))

    @property
    def rarer(self) -> Floats:
        """How many rows of the rarer class there were, the mean over all problems."""
        return np.asarray(self.total.min(axis=-1).mean(axis=-1))

    def deviation(self, k: int, scoring: str, settings: ScoringSettings) -> Floats:
        """The standard deviation of the score of a candidate, from the slopes of the score."""
        return np.asarray(self.deviations([k], scoring, settings)[..., 0])

    def deviations(self, some: list[int], scoring: str, settings: ScoringSettings) -> Floats:
        """The deviation of each of some candidates."""
        seen = self.seen[..., None, :, :]
        rates = (self.right[..., some, :, :] + 1.0) / (seen + 2.0)  # a rate of 1 may be chance, too
        rates = np.clip(rates, NUDGE, 1.0 - NUDGE)
        of_rates = rates * (1 - rates) / np.maximum(seen, 1.0)
        nudges = _NUDGES.reshape(len(_NUDGES), *([1] * (rates.ndim - 1)), 2)
        nudged = self._of_problems(rates + nudges, scoring, settings)
        slopes = (nudged[:2] - nudged[2:]) / (2 * NUDGE)
        total = np.sum(slopes**2 * np.moveaxis(of_rates, -1, 0), axis=(0, -1))
        return np.asarray(np.sqrt(total) / rates.shape[-2])

    def _of_problems(self, rates: Floats, scoring: str, settings: ScoringSettings) -> Floats:
        """Scores from the rates (…, candidates, problems, 2) of right answers; more is better."""
        shares = (self.total / np.maximum(self.total.sum(axis=-1, keepdims=True), 1.0))[..., None, :, :]
        right, wrong = shares * rates, shares * (1 - rates)
        counts = Confusion(right[..., 1], wrong[..., 0], right[..., 0], wrong[..., 1])
        score = SCORES[scoring]
        values = score.of(counts, **(settings or {}))
        return values if score.more_is_better else -values

    def merged(self, other: Board) -> Board:
        """The board of the predictions of both."""
        return Board(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))

    def of_shard(self) -> Board:
        """The board from which a shard starts: the scores stay, but no row has been seen."""
        return Board(self.right.copy(), self.seen.copy(), np.zeros_like(self.total))

    def without_answers(self) -> Board:
        """The same candidates and problems, without any predictions."""
        return Board(*map(np.zeros_like, vars(self).values()))

    def with_class(self, n_classes: int, place: int) -> Board:
        """The board with one more class, at this place among the previous `n_classes`."""
        return Board(*(with_class(each, n_classes, place, mirrored=_other) for each in vars(self).values()))


@exact_part
def fail(right, before, awake, answers, n, t, problem, side):  # type: ignore[no-untyped-def]
    """Whether `n` rows of a class were predicted worse than before by more than chance, on average over all."""
    rate = given = 0.0
    for place in range(awake.size):
        rate += (right[t, awake[place], problem, side] + 1.0) / (before + 2.0) / awake.size  # 1 may be chance, too
        given += answers[t, place, problem, side] / awake.size
    return n * rate - given > FAILURE * np.sqrt(n * rate * (1.0 - rate))


@exact_kernel
def note_answers(right, seen, total, awake, answers, rows, kept):  # type: ignore[no-untyped-def]
    """Fill in the moments of a board after the first: right predictions (moments, awake, problems, 2) for these rows.

    `kept` is the share left of those before, unless the candidates fail. The rates of candidates that have stopped stay
    as they were.
    """
    for t in range(rows.shape[0]):
        for problem in range(rows.shape[1]):
            at_first = total[t, problem, 0] + total[t, problem, 1] < AT_FIRST
            for side in range(2):
                before, left, n = seen[t, problem, side], kept[t, problem, side], rows[t, problem, side]
                if not at_first and fail(right, before, awake, answers, n, t, problem, side):
                    left **= FASTER
                seen[t + 1, problem, side] = before * left + n
                total[t + 1, problem, side] = total[t, problem, side] + n
                factor = seen[t + 1, problem, side] / before if before > 0.0 else 0.0
                for k in range(right.shape[1]):
                    right[t + 1, k, problem, side] = right[t, k, problem, side] * factor
                for place in range(awake.size):
                    k, given = awake[place], answers[t, place, problem, side]
                    right[t + 1, k, problem, side] = right[t, k, problem, side] * left + given


@kernel
def count_answers(margins: Floats, codes: NDArray[np.int64], weights: Floats, counts: Floats) -> None:
    """Add the predictions from margins (classes, rows), the largest in each row, to the counts (classes, 4).

    Row by row, so that the sums of weights do not depend on how the rows are cut.
    """
    for i in range(codes.size):
        said = np.argmax(margins[:, i])
        weight = weights[i] if weights.size else 1.0
        for k in range(counts.shape[0]):
            if k == codes[i]:
                counts[k, 0 if k == said else 3] += weight
            else:
                counts[k, 1 if k == said else 2] += weight


def _other(values: Floats) -> Floats:
    return values[..., ::-1]


def other_counts(counts: Floats) -> Floats:
    """Counts tp, fp, tn, fn seen from the other class."""
    return counts[..., [2, 3, 0, 1]]


def with_class(values: Floats, n_classes: int, place: int, *, mirrored: Callable[[Floats], Floats]) -> Floats:
    """Numbers for each problem (…, problems, kinds), with one more class at this place, for which they are 0.

    Two classes have one problem, with the second as its positive class; one, or three and more, have one each.
    """
    if n_classes == 1:
        return np.asarray(values if place == 0 else mirrored(values)).copy()
    if n_classes == 2:
        values = np.concatenate([mirrored(values), values], axis=-2)
    return np.insert(values, place, 0.0, axis=-2)
