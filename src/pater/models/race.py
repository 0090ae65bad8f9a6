"""The race of the candidates of a pool: how they are compared, who leads, and who stops.

Knows `metrics`, `entrants` and NumPy. An answer fades with each further one to a row of its own class, so that a rare
class is remembered for as many of its rows as a frequent one. Rates of both classes then make any score, with the
shares that the classes have in the stream.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels.compile import exact_kernel, kernel
from .candidates import DEAREST
from .choice import ScoringSettings
from .entrants import Entrants
from .metrics import SCORES, Confusion

FADING = 0.985  # of an answer, with the next row of its class
FADING_ENCODED = 0.995  # the same of encoded rows, where more candidates are compared
SHORTEST, LONGEST = 16, 256  # rows from one decision to the next
ALL_LEARN = 2000  # rows for which no team has to stop for want of time
RARE = 20  # rows that one of the rarer class stands for where it is asked how much is known
AT_FIRST = 1000  # rows in which a stream is not thought to change, unless it is plain
LEAST_HELD = 2.0  # rows of the rarer class in the memory of who leads
MUCH_TOO_DEAR = 10  # times what full covariances may cost, where nothing else is as good
BEYOND_CHANCE = 2.0  # standard deviations of the leader's score that a team may trail
NUDGE = 1e-3  # of a rate, for the slope of a score
_NUDGES = NUDGE * np.concatenate([np.eye(2), -np.eye(2)])
TINY = np.finfo(np.float64).tiny

Floats = NDArray[np.float64]


@dataclass
class Board:
    """Right answers to rows of the negative and of the positive class, and how many rows there were.

    Several moments may be on one board, in front of all other axes.
    """

    right: Floats  # (candidates, problems, 2), faded
    seen: Floats  # (problems, 2), faded alike
    total: Floats  # (problems, 2), of the whole stream

    @classmethod
    def new(cls, n_candidates: int, n_problems: int) -> Board:
        return cls(*(np.zeros((*shape, n_problems, 2)) for shape in ((n_candidates,), (), ())))

    def copy(self) -> Board:
        return Board(self.right.copy(), self.seen.copy(), self.total.copy())

    def after(self, awake: list[int], counts: Floats, fading: float) -> Board:
        """The moments after this one, at each of which answers were given since the one before.

        Those are (moments, awake, problems, 4), as `COUNTS` has them.
        """
        rows = counts[:, 0][..., [1, 0]] + counts[:, 0][..., [2, 3]]  # fp + tn and tp + fn, of all alike
        moments = [np.concatenate([each[None], np.empty((len(rows), *each.shape))]) for each in vars(self).values()]
        note_answers(*moments, np.array(awake), counts[..., [2, 0]], rows, fading**rows)
        return Board(*(each[1:] for each in moments))

    def at(self, moment: int) -> Board:
        """One of several moments."""
        return Board(self.right[moment].copy(), self.seen[moment].copy(), self.total[moment].copy())

    def note(self, awake: list[int], counts: Floats, fading: float) -> None:
        """Take note of answers, (awake, problems, 4), that were given since the last time."""
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
        """How far chance alone takes the score of a candidate away: the standard deviation, by the score's slopes."""
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
        """The answers that both took note of."""
        return Board(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))

    def of_shard(self) -> Board:
        """The same for a shard to start from: who is how good stays, but no row has been seen."""
        return Board(self.right.copy(), self.seen.copy(), np.zeros_like(self.total))

    def without_answers(self) -> Board:
        """The same candidates and problems, of which nothing is known."""
        return Board(*map(np.zeros_like, vars(self).values()))

    def with_class(self, n_classes: int, place: int) -> Board:
        """The same for one class more, at this place among `n_classes` that there were."""
        return Board(*(with_class(each, n_classes, place, mirrored=_other) for each in vars(self).values()))


def stretch(rows: int) -> int:
    """How many rows there are to the next decision, after so many."""
    return min(LONGEST, max(SHORTEST, rows // 16))


@exact_kernel
def note_answers(right, seen, total, awake, answers, rows, kept):  # type: ignore[no-untyped-def]
    """Fill the moments of a board after the first: right answers (moments, awake, problems, 2) to so many rows.

    `kept` is what is left of those before. Of candidates that have stopped, the rates stay as they were.
    """
    for t in range(rows.shape[0]):
        for problem in range(rows.shape[1]):
            for side in range(2):
                before, left, n = seen[t, problem, side], kept[t, problem, side], rows[t, problem, side]
                seen[t + 1, problem, side] = before * left + n
                total[t + 1, problem, side] = total[t, problem, side] + n
                factor = seen[t + 1, problem, side] / before if before > 0.0 else 0.0
                for k in range(right.shape[1]):
                    right[t + 1, k, problem, side] = right[t, k, problem, side] * factor
                for place, k in enumerate(awake):
                    given = answers[t, place, problem, side]
                    right[t + 1, k, problem, side] = right[t, k, problem, side] * left + given


@kernel
def count_answers(margins: Floats, codes: NDArray[np.int64], weights: Floats, counts: Floats) -> None:
    """Add to the counts (classes, 4) the answers of margins (classes, rows), of which the largest is predicted.

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
    """Counts tp, fp, tn, fn as those of the other class."""
    return counts[..., [2, 3, 0, 1]]


def with_class(values: Floats, n_classes: int, place: int, *, mirrored: Callable[[Floats], Floats]) -> Floats:
    """Numbers of each problem (…, problems, kinds), for one class more at this place; of it they are 0.

    Two classes have one problem, with the second as its positive class; one, or three and more, have one each.
    """
    if n_classes == 1:
        return np.asarray(values if place == 0 else mirrored(values)).copy()
    if n_classes == 2:
        values = np.concatenate([mirrored(values), values], axis=-2)
    return np.insert(values, place, 0.0, axis=-2)


def too_dear(
    board: Board, entered: Entrants, awake: list[int], spent: list[float], scored_by: tuple[str, ScoringSettings]
) -> set[int]:
    """Which of the candidates that are awake have to stop, by what was spent on full covariances at the level of each.

    They may go on for a while as long as none of those that last is as good, but for chance.
    """
    rarer, passing = board.rarer, [k for k in awake if k in entered.passing]
    dear = {k for k in passing if rarer > entered.until[k] or spent[k] > DEAREST}
    if dear:
        scores = board.scores(*scored_by)
        best, lasting = max(dear, key=lambda k: scores[k]), [k for k in awake if k in entered.lasting]
        if max(scores[k] for k in lasting) < scores[best] - board.deviation(best, *scored_by):
            dear = {k for k in dear if spent[k] > MUCH_TOO_DEAR * DEAREST}
    return dear


def is_over(entered: Entrants, awake: list[int]) -> bool:
    """Whether one team is left beside the common candidate, and may last: then nobody stops any more."""
    return entered.passing.isdisjoint(awake) and len(_racing(entered, awake)) == 1


def _racing(entered: Entrants, awake: list[int]) -> set[int]:
    """The teams that race."""
    teams, common = entered.teams, entered.common
    return {teams[k] for k in awake if k != common} or {teams[common]}


def _racing_with_mates(entered: Entrants, awake: list[int]) -> list[int]:
    """The candidates that race: all but the common one if it is what is left of its team."""
    common, teams = entered.common, entered.teams
    mates = {k for k in entered.places if teams[k] == teams[common] and k != common}
    return [k for k in awake if k != common] if mates and mates.isdisjoint(awake) else awake


def _standing(
    board: Board, entered: Entrants, awake: list[int], scored_by: tuple[str, ScoringSettings]
) -> tuple[Floats, Floats]:
    """The score of each candidate, and the one by which it may lead.

    Whose memory holds too few rows of a class does not lead, unless all are like that; at first, a short memory must be
    better by more than chance.
    """
    scores, forgets, rows = board.scores(*scored_by), entered.forgets, board.rows[..., None]
    leading = scores
    if rows.min() < 20 * AT_FIRST:
        chance = board.deviation(awake[0], *scored_by)[..., None]
        matters = np.where(rows < 20 * AT_FIRST, np.minimum(1.0, AT_FIRST / np.maximum(rows, 1.0)), 0.0)
        leading = scores - chance * matters * (forgets > 0)
    held = board.rarer[..., None] >= LEAST_HELD * rows * forgets
    return scores, np.where(held | ~held.any(axis=-1, keepdims=True), leading, -np.inf)


def leaders(
    board: Board, entered: Entrants, awake: list[int], scored_by: tuple[str, ScoringSettings]
) -> NDArray[np.int64]:
    """Who leads at each moment, once the race is over: who else goes on beside the winners does not by chance."""
    _, leading = _standing(board, entered, awake, scored_by)
    racing, common = _racing(entered, awake), entered.common
    team = [k for k in awake if entered.teams[k] in racing]
    first = np.argmax(leading[..., team], axis=-1)[..., None]  # of equals the first
    chance = board.deviations(team, *scored_by)
    least = np.take_along_axis(leading[..., team] + chance, first, axis=-1)[..., 0]
    return np.where(leading[..., common] > least, common, np.array(team)[first[..., 0]])


def race(
    board: Board, entered: Entrants, awake: list[int], scored_by: tuple[str, ScoringSettings]
) -> tuple[list[int], int]:
    """Which of the candidates that are awake go on, and who leads them.

    A team stops when its best trails the best by more than chance, or when there is no more time for so many. Those
    that last and those that stop after a while in any case race apart, so that the best of those that last are there
    when the others leave. The common candidate goes on in any case, and if its team has stopped, it stops no other:
    alone it has one memory only.
    """
    if len(_racing(entered, awake)) == 1:
        return awake, int(leaders(board, entered, awake, scored_by))
    scores, leading = _standing(board, entered, awake, scored_by)
    team_of, rows, rarer = entered.teams, float(board.rows), float(board.rarer)
    leader = max(awake, key=lambda k: leading[k])  # of equals the first
    known = max(min(rows, RARE * rarer), rows / 10, 1.0)
    staying, racing = [entered.common], _racing_with_mates(entered, awake)
    for heat in (entered.lasting, entered.passing):
        those = [k for k in racing if k in heat]
        if those:
            first = leader if leader in those else max(those, key=lambda k: leading[k])
            best = {team: max(scores[k] for k in those if team_of[k] == team) for team in {team_of[k] for k in those}}
            n_left = max(1, int(len({team_of[k] for k in heat}) * min(1.0, ALL_LEARN / known)))
            least = scores[first] - BEYOND_CHANCE * board.deviation(first, *scored_by)
            least = max(sorted(best.values(), reverse=True)[:n_left][-1], least)
            kept = {team for team, score in best.items() if score >= least} | {team_of[first]}
            staying += [k for k in those if team_of[k] in kept]
    return sorted(set(staying)), leader
