"""Rows passed through a pool: from decision to decision, each candidate in its view.

Knows `board`, `race`, `views`, `row_pass` and what a pool is made of. While the race goes on, each decision says who
learns from the rows after it; up to the next, candidates are independent of each other, so threads may share them. Once
the race is over, the same candidates go on learning, so many decisions can be made together afterwards, except for the
few at which one may be spared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..kernels.doors import check_codes, check_rows, checked
from ..kernels.run import NOTHING, Rows, available_threads
from .board import Board, count_answers
from .errors import BadRowError, NotFiniteError, stopped_at
from .matrices import part
from .pool_operations import counts_of
from .race import (
    AS_GOOD,
    BEYOND_CHANCE,
    asks_for_spare,
    is_ahead,
    is_over,
    leaders,
    race,
    spare,
    stretch,
    too_dear,
)
from .row_pass import Kind, kind_of, pass_row
from .views import MOST_LEVELS

if TYPE_CHECKING:
    from .pool import Pool

MOST_NUMBERS = 1 << 19  # in rows passed without a decision, so that they stay in the cache
ROWS_AT_LEAST = 1 << 12  # that are worth it
STEP = 6  # candidates that a row is passed through at a time, where others wait
WORTH_A_THREAD = 1 << 22  # products of full covariances: fewer are done before a thread has started


def learn_all(
    pool: Pool,
    rows: Rows,
    codes: NDArray[np.int64],
    *,
    weights: NDArray[np.float64],
    order: NDArray[np.int64],
    threads: int | None,
    margins: NDArray[np.float64] | None,
) -> None:
    """Pass rows of known classes through the candidates in the given order; after an error all is undefined."""
    kind = kind_of(rows) if codes.size == 1 and not order.size and pool.seen is None else None
    if kind is not None:
        learn_row(pool, kind, rows, codes, weights, margins)
        return
    n_rows, stop, in_order, several = order.size or codes.size, 0, not order.size, pool.classes.size > 2
    most = max(ROWS_AT_LEAST, MOST_NUMBERS * codes.size // max(1, rows[-1].size))
    views: dict[int, Rows] = {}  # of the rows that are passed, made when needed
    while stop < n_rows:
        together, at_once = _taken_together(pool, min(n_rows - stop, most)) if margins is None else ([], 0)
        start, stop = stop, min(n_rows, stop + (at_once if together else pool.next_decision - pool.rows))
        some = part(rows, start, stop) if in_order and stop - start < n_rows else rows
        those = slice(start, stop) if in_order else slice(None)
        views = {} if in_order else views
        answers = {k: np.empty((len(together), len(pool.made), 4)) for k in pool.models if together}
        said: dict[int, NDArray[np.float64] | None] = {}
        jobs, n_threads = [], _threads_for(pool, stop - start, threads)
        for k, model in pool.models.items():
            level = pool.level(k)
            views[level] = views.get(level) or pool.views.of(some, level)
            wanted = several or (margins is not None and k == pool.leader)
            said[k] = np.empty((len(pool.made), stop - start)) if wanted else None
            job = partial(
                model.learn_all,
                views[level],
                codes[those],
                weights=weights[those],
                order=order[start:stop],
                threads=threads if n_threads == 1 else 1,
                margins=said[k],
                stops=together,
                counts=answers.get(k),
            )
            jobs.append(job)
        try:
            _do(jobs, n_threads)
        except (BadRowError, NotFiniteError) as error:
            raise stopped_at(rows, error.row + (start if in_order else 0)) from None
        for k, margins_of in said.items():
            if margins_of is not None and margins is not None and k == pool.leader:
                margins[:, start:stop] = margins_of
            if margins_of is not None and several:
                passed = slice(start, stop) if in_order else order[start:stop]
                pool.adjustments[k] = pool.adjustments[k].copy()
                own = weights[passed] if weights.size else NOTHING
                count_answers(margins_of, codes[passed], own, pool.adjustments[k])
        _spend(pool, stop - start)
        if together:
            _decide_together(pool, together, answers)
        pool.rows += stop - start
        if pool.rows == pool.next_decision:
            _decide(pool)


def _threads_for(pool: Pool, n_rows: int, threads: int | None) -> int:
    """How many candidates to pass rows through at once: several while full covariances make it worth a thread."""
    products = n_rows * sum(model.n_features**2 for model in pool.models.values() if model.state.metric == "full")
    return min(threads or available_threads(), len(pool.models)) if products >= WORTH_A_THREAD else 1


def _do(jobs: Sequence[Callable[[], None]], threads: int) -> None:
    """Run all jobs on so many threads; of several errors, raise the first in the jobs' order."""
    if threads == 1:
        for job in jobs:
            job()
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()


def learn_row(
    pool: Pool,
    kind: Kind,
    rows: Rows,
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    margins: NDArray[np.float64] | None,
) -> None:
    """The same for one row of this kind, which is checked once for all candidates."""
    for _ in row_in_steps(pool, kind, rows, codes, weights, margins):
        pass


def row_in_steps(
    pool: Pool,
    kind: Kind,
    rows: Rows,
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    margins: NDArray[np.float64] | None = None,
) -> Iterator[None]:
    """The same, pausing after every few candidates."""
    check_codes(codes, weights, len(rows[0]) - (len(rows) == 3))
    rows = check_rows(rows, pool.n_features)
    rows = rows if len(rows) == 1 else checked(rows, pool.n_features)
    several, n_specs, views = pool.classes.size > 2, len(pool.specs), dict[int, Rows]()
    for place, (k, model) in enumerate(pool.models.items(), 1):
        level = k // n_specs
        if level not in views:
            views[level] = tuple(pool.views.of(rows, level))
        is_leader, said = margins is not None and k == pool.leader, None
        if several or is_leader:
            said = np.empty((len(pool.made), 1))
        if pass_row(model, kind, views[level], codes, weights, said) >= 0:
            raise stopped_at(rows, 0)
        if said is not None and margins is not None and is_leader:
            margins[...] = said
        if said is not None and several:
            pool.adjustments[k] = pool.adjustments[k].copy()
            count_answers(said, codes, weights, pool.adjustments[k])
        if place % STEP == 0:
            yield
    _spend(pool, 1)
    pool.rows += 1
    if pool.rows == pool.next_decision:
        _decide(pool)


def _spend(pool: Pool, n_rows: int) -> None:
    """Record what full covariances have cost for some rows, where they may become too expensive."""
    key = pool.models, pool.entered  # both are made anew whenever they change
    if pool.dear is None or pool.dear[0][0] is not key[0] or pool.dear[0][1] is not key[1]:
        levels = [pool.level(k) for k in pool.models if k in pool.entered.passing]
        n_dear = np.bincount(levels, minlength=MOST_LEVELS)
        pool.dear = key, n_dear * pool.views.first_widths.astype(np.float64) ** 2
    pool.spent = pool.spent + n_rows * pool.dear[1]


def _taken_together(pool: Pool, n_rows: int) -> tuple[list[int], int]:
    """After how many of the next rows come decisions that can be made together, and how many rows to pass before them.

    The list is empty if they cannot. A decision after which a candidate may stop is left for the end.
    """
    at, found, awake = pool.next_decision - pool.rows, list[int](), list(pool.models)
    if at < n_rows and pool.classes.size <= 2 and pool.seen is None and is_over(pool.entered, awake):
        may_stop = spare(pool.entered, awake) is not None
        while at < n_rows:
            if may_stop and asks_for_spare(pool.rows + at):
                return found, at
            found.append(at)
            at += stretch(pool.rows + at)
    return found, n_rows


def _decide(pool: Pool) -> None:
    """Decide by the predictions since the last decision who leads from here on, and who stops."""
    awake, now = list(pool.models), {k: counts_of(model) for k, model in pool.models.items()}
    since = np.stack([now[k] + pool.adjustments[k] for k in awake])
    pool.made = pool.made + since[awake.index(pool.leader)]
    pool.adjustments = {k: -counts for k, counts in now.items()}
    pool.board.note(awake, since, pool.fading)
    pool.next_decision = pool.rows + stretch(pool.rows)
    pool.history.reached(pool.rows, pool.made)
    _race(pool)


def _race(pool: Pool) -> None:
    """Decide by the predictions so far who leads from here on, and who stops."""
    entered, awake, scored_by = pool.entered, list(pool.models), (pool.scoring, pool.scoring_settings)
    if not entered.passing.isdisjoint(awake):
        spent = np.repeat(pool.spent[: pool.views.n_levels], len(pool.specs)).tolist()
        dear = too_dear(pool.board, entered, awake, spent, scored_by)
        awake = [k for k in awake if k not in dear]
    if asks_for_spare(pool.rows) and pool.classes.size <= 2 and not pool.in_shards:
        spared = _spared(pool, awake)
        awake = [k for k in awake if k not in spared]
    staying, pool.leader = race(pool.board, entered, awake, scored_by)
    if pool.in_shards:
        staying = awake
    pool.models = {k: pool.models[k] for k in staying}
    pool.adjustments = {k: pool.adjustments[k] for k in staying}


def _spared(pool: Pool, awake: list[int]) -> set[int]:
    """The candidate that can stop, if any: the longest memory of the winners, if over the whole stream the common
    candidate, which remembers as long, was as good, or a shorter memory was better by more than chance.
    """
    longest, scored_by = spare(pool.entered, awake), (pool.scoring, pool.scoring_settings)
    if longest is None:
        return set()
    whole = {k: Board.of(counts_of(pool.models[k])) for k in awake}
    asked = {k: -AS_GOOD if k == pool.entered.common else BEYOND_CHANCE for k in awake if k != longest}
    return {longest} if any(is_ahead(whole[k], whole[longest], by, scored_by) for k, by in asked.items()) else set()


def _decide_together(pool: Pool, decisions: list[int], answers: dict[int, NDArray[np.float64]]) -> None:
    """The same for many decisions after which the same candidates go on, by their predictions up to each."""
    awake = list(answers)
    now = np.stack([np.concatenate([[-pool.adjustments[k]], answers[k]]) for k in awake], axis=1)
    since = now[1:] - now[:-1]
    boards = pool.board.after(awake, since, pool.fading)
    led = leaders(boards, pool.entered, awake, (pool.scoring, pool.scoring_settings)).tolist()
    leading = [awake.index(leader) for leader in [pool.leader, *led[:-1]]]
    made = np.concatenate([[pool.made], since[np.arange(len(since)), leading]]).cumsum(axis=0)[1:]
    for n_rows, so_far in zip(decisions, made, strict=True):
        pool.history.reached(pool.rows + n_rows, so_far)
    pool.made = made[-1].copy()
    pool.adjustments = {k: -answers[k][-1] for k in awake}
    pool.board, pool.leader = boards.at(-1), led[-1]
    last = pool.rows + decisions[-1]
    pool.next_decision = last + stretch(last)
