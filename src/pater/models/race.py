"""The race of the candidates of a pool: who leads, and who stops.

Knows `board`, by which they are compared, and `entrants`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .board import AT_FIRST, Board, Floats
from .candidates import DEAREST
from .choice import ScoringSettings
from .entrants import Entrants

SHORTEST, LONGEST = 16, 256  # rows from one decision to the next
ALL_LEARN = 2000  # rows up to which no team has to stop for lack of time
RARE = 20  # rows that one of the rarer class stands for, in how much is known
LEAST_HELD = 2.0  # rows of the rarer class in the memory of a leader
MUCH_TOO_DEAR = 10  # times what full covariances may usually cost, where nothing else is as good
BEYOND_CHANCE = 2.0  # standard deviations of the leader's score that a team may trail
LONG_RUN = 1 << 14  # rows after which the common candidate may replace the longest memory of the winners
AS_GOOD = 0.5  # standard deviations that it may trail then


def stretch(rows: int) -> int:
    """How many rows there are from this one to the next decision."""
    return min(LONGEST, max(SHORTEST, rows // 16))


def too_dear(
    board: Board, entered: Entrants, awake: list[int], spent: list[float], scored_by: tuple[str, ScoringSettings]
) -> set[int]:
    """The awake candidates that have to stop, by what was spent on full covariances at the level of each.

    They may go on for a while if no lasting candidate is as good, apart from chance.
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
    """Whether only one team, which may last, is left beside the common candidate: then nobody stops any more."""
    return entered.passing.isdisjoint(awake) and len(_racing(entered, awake)) == 1


def spare(entered: Entrants, awake: list[int]) -> int | None:
    """The candidate of the one team left that remembers as long as the common one, if its others do not; else None."""
    team = [k for k in awake if k != entered.common]
    alike = [k for k in team if entered.forgets[k] == entered.forgets[entered.common]]
    return alike[0] if len(_racing(entered, awake)) == 1 and len(alike) == 1 < len(team) else None


def asks_for_spare(rows: int) -> bool:
    """Whether a decision after so many rows is the first after a power of two: then the spare candidate may stop."""
    return rows >= LONG_RUN and rows.bit_length() > (rows - LONGEST).bit_length()


def is_ahead(one: Board, other: Board, deviations: float, scored_by: tuple[str, ScoringSettings]) -> bool:
    """Whether one candidate is better than another by so many standard deviations; each has a board of its own."""
    least = other.scores(*scored_by) + deviations * other.deviation(0, *scored_by)
    return bool(one.scores(*scored_by)[0] >= least[0])


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
    """The score of each awake candidate, and the one by which it may lead.

    A candidate with too few rows of a class in its memory does not lead, unless all are like that; at first, a short
    memory must be better by more than chance.
    """
    board = board.among(awake)
    scores, forgets, rows = board.scores(*scored_by), entered.forgets[awake], board.rows[..., None]
    leading = scores
    if rows.min() < 20 * AT_FIRST:
        chance = board.deviation(0, *scored_by)[..., None]
        matters = np.where(rows < 20 * AT_FIRST, np.minimum(1.0, AT_FIRST / np.maximum(rows, 1.0)), 0.0)
        leading = scores - chance * matters * (forgets > 0)
    held = board.rarer[..., None] >= LEAST_HELD * rows * forgets
    return scores, np.where(held | ~held.any(axis=-1, keepdims=True), leading, -np.inf)


def leaders(
    board: Board, entered: Entrants, awake: list[int], scored_by: tuple[str, ScoringSettings]
) -> NDArray[np.int64]:
    """Who leads at each moment, once the race is over: the best of the winners, or another that is better beyond
    chance.

    If the longest memory of the winners has stopped, the common candidate is one of them.
    """
    _, leading = _standing(board, entered, awake, scored_by)
    racing, common = _racing(entered, awake), entered.common
    team = [k for k in awake if entered.teams[k] in racing]
    if all(entered.forgets[k] > entered.forgets[common] for k in team):
        team = [common, *team]
    of_team = leading[..., [awake.index(k) for k in team]]
    first = np.argmax(of_team, axis=-1)[..., None]  # of equals the first
    best: NDArray[np.int64] = np.array(team)[first[..., 0]]
    if common in team:
        return best
    least = np.take_along_axis(of_team + board.deviations(team, *scored_by), first, axis=-1)[..., 0]
    return np.where(leading[..., awake.index(common)] > least, common, best)


def race(
    board: Board, entered: Entrants, awake: list[int], scored_by: tuple[str, ScoringSettings]
) -> tuple[list[int], int]:
    """The awake candidates that go on, and their leader.

    A team stops when its best trails the best by more than chance, or when there is no more time for so many. Lasting
    candidates race apart from those that stop after a while in any case, so that the best lasting ones are there when
    the others leave. The common candidate always goes on, and if its team has stopped, it stops no other: alone it has
    only one memory.
    """
    if len(_racing(entered, awake)) == 1:
        return awake, int(leaders(board, entered, awake, scored_by))
    scores, leading = (dict(zip(awake, each, strict=True)) for each in _standing(board, entered, awake, scored_by))
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
