"""The dispatcher: chooses the pass for a state and spreads its models over threads.

Several models (the classes of a one-vs-rest learner, the settings of a search) share the reading of the data: a block
of rows that fits the second-level cache is passed through one model after the other.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import exact_kernel, filled_in, inlined, straight
from . import means_diagonal, means_full, points_diagonal, points_full
from .averaged import learn_averaged
from .batched_layout import SMALLEST_HERD, Herds, fit_in_herds, herds_of, spans_of
from .batched_layout import order as in_herds
from .doors import Rows, are_second, check_pass
from .margins import by_diagonal_means, by_full_means, by_means, by_points
from .means import mean_pass
from .means_batched import HerdsOfMeans, herd_pass
from .memory import COUNTS, Home
from .points import ball_pass, point_pass
from .rows import count, size
from .state import Layout, State

__all__ = ["IN_ORDER", "NOTHING", "Rows", "arrange_for", "available_threads", "learn", "row_pass"]

BLOCK_BYTES = 1 << 17
STRETCH = 4096  # rows that a thread takes at a time when there are more parts than threads
WORTH_A_THREAD = 1 << 16  # numbers in a batch times models: less is done before a thread has started

NOTHING = np.zeros(0)
IN_ORDER = np.zeros(0, np.int64)


@inlined
def _block_size(rows, n_models):
    """Rows in a block: all for one model; for several, as many as stay in the cache until the last has seen them."""
    n = count(rows)
    if n_models == 1 or n == 0:
        return max(1, n)
    return max(1, BLOCK_BYTES // (8 * size(rows, 0) + 8))


def _learn_rows(home, rows, order, codes, weights, margins, scalars, settings, first, last, start, stop):
    """Pass rows start..stop through the models (or herds) first..last; return the position of the first bad row, or −1.

    Several models take turns, some blocks of rows at a time.
    """
    turn = blocks * _block_size(rows, last - first)  # noqa: F821
    for a in range(start, stop, turn):
        b = min(a + turn, stop)
        for k in range(first, last):
            bad = one_pass(home, k, rows, order, codes, weights, margins, scalars, settings, a, b)  # noqa: F821
            if bad >= 0:
                return bad
    return -1


class Kind(NamedTuple):
    """How models of one kind learn: in one pass, or row by row where margins are those of the average."""

    learn: Any
    averaged: Any


def _kind(name: str, one_pass: Callable[..., int], says: Callable[..., float], blocks: int = 1) -> Kind:
    """`says` gives the margin by the average of the weights; `blocks` is how many a model takes in its turn."""
    learn = exact_kernel(filled_in(_learn_rows, f"learn_{name}", one_pass=one_pass, blocks=blocks))
    return Kind(learn, exact_kernel(filled_in(learn_averaged, f"averaged_{name}", learn=learn, says=says)))


ALL = 1 << 30  # blocks: a triangle is best left in the cache
MEANS = _kind("means", mean_pass, by_means)
# In herds no average is kept. Sparse rows are cheap to read again beside a herd's table, so a turn has many.
HERDS = _kind("herds", herd_pass, by_means, 64)
# By metric: two of point rules and two of mean rules; `doors.are_second` says which models need the second.
KINDS = {
    "none": (
        _kind("points", point_pass, by_points),
        _kind("points_in_ball", ball_pass, by_points),
        MEANS,
        MEANS,
    ),
    "diagonal": (
        _kind("diagonal_confident", points_diagonal.CONFIDENT, by_points),
        _kind("diagonal_fitting", points_diagonal.FITTING, by_points),
        _kind("diagonal_steps", means_diagonal.STEPS, by_diagonal_means),
        _kind("diagonal_leaders", means_diagonal.LEADERS, by_diagonal_means),
    ),
    "full": (
        _kind("full_confident", points_full.CONFIDENT, by_points, ALL),
        _kind("full_fitting", points_full.FITTING, by_points, ALL),
        _kind("full_steps", means_full.STEPS, by_full_means, ALL),
        _kind("full_leaders", means_full.LEADERS, by_full_means, ALL),
    ),
}


def layout_for(rows: Rows, state: State, settings: NDArray[np.void]) -> tuple[Layout, Herds]:
    """The order of the vectors of `state` that suits a pass over such rows."""
    if state.metric != "none":
        return ("lanes" if state.has_means and state.metric == "diagonal" else "split"), ()
    if not state.has_means or len(rows) == 1:
        return "split", ()
    if state.group >= SMALLEST_HERD and fit_in_herds(settings):
        return "herd", herds_of(state, settings)
    return "lanes", ()


def arrange_for(rows: Rows, state: State, settings: NDArray[np.void]) -> None:
    """Put the vectors of `state` in that order, and where dense rows need them, in whole cache lines."""
    state.arrange(*layout_for(rows, state, settings))
    if state.layout == "split" and state.metric == "none" and state.has_means:
        state.in_lines()


def learn(
    rows: Rows,
    codes: NDArray[np.int64],
    state: State,
    settings: NDArray[np.void],
    *,
    weights: NDArray[np.float64] = NOTHING,
    order: NDArray[np.int64] = IN_ORDER,
    margins: NDArray[np.float64] | None = None,
    stops: Sequence[int] = (),
    counts: NDArray[np.float64] | None = None,
    threads: int | None = 1,
) -> int:
    """Pass the rows through all models of `state`; return the position of the first bad row, or −1.

    `codes` holds the class of each row as a number, `settings` a record for each model. `margins`, (models, rows), if
    given, receives each model's margin of each row before learning, by the average of its weights if it keeps one;
    `counts`, (stops, models, 4), the counts of the weights themselves up to each of the `stops`. A bad row holds a NaN,
    an infinity or numbers too large to square; it leaves the state half changed, for the caller to restore. `threads`
    is None for one per processor. Arguments that do not fit together raise a ValueError before anything is touched.
    """
    rows = check_pass(rows, codes, state, settings, weights, order, margins, stops, counts)
    arrange_for(rows, state, settings)
    n_models, n_rows = state.n_models, order.size if order.size else codes.size
    if margins is None:
        margins = _no_margins(n_models)
    scalars, spans = state.scalars, None
    if state.layout == "herd":
        herds = state.herds
        models, n_tasks = in_herds(herds), len(herds)  # the passes want the models of a herd next to each other
        scalars, told, spans = scalars[models], margins[models], spans_of(herds)
        home = HerdsOfMeans(state.vectors, scalars.view(np.float64).reshape(n_models, -1), spans)
        run, arguments = HERDS.learn, (home, rows, order, codes, weights, told, scalars, settings[models])
    else:
        run, arguments = _ready(state, settings, (rows, order, codes, weights, margins))
        n_tasks = n_models
    noted = np.zeros((len(stops), n_models, len(COUNTS)))

    def note(at: int, first: int, last: int) -> None:
        one, end = (first, last) if spans is None else (spans[first, 0], spans[last - 1, 1])
        for place, name in enumerate(COUNTS):
            noted[at, one:end, place] = scalars[name][one:end]

    threads = (threads or available_threads()) if rows[-1].size * n_models > WORTH_A_THREAD else 1
    bad = _run(run, arguments, n_tasks, (*stops, n_rows), note, threads)
    if spans is not None:
        state.scalars[models], margins[models] = scalars, told
        noted[:, models] = noted.copy()
    if counts is not None:
        counts[...] = noted
    return bad


def _ready(state: State, settings: NDArray[np.void], told: tuple[Any, ...]) -> tuple[Callable[..., int], Any]:
    """The pass for models in no herd, and its arguments except for the ranges of models and rows.

    `told` are the rows, their order, codes and weights, and the margins.
    """
    rows, *_, margins = told
    kind = KINDS[state.metric][2 * state.has_means + bool(are_second(state, settings).any())]
    vectors = state.in_lines() if kind is MEANS and len(rows) == 1 else state.vectors
    home = Home(vectors) if state.second is None else Home(vectors, state.second, state.rooms())
    arguments = (home, *told, state.scalars, settings)
    if (margins.size or settings["calibrate"].any()) and settings["average"].any():
        plain = settings.copy()
        plain["calibrate"] = 0
        return kind.averaged, (*arguments, (plain, _no_margins(state.n_models)))
    return kind.learn, arguments


def row_pass(
    rows: Rows,
    codes: NDArray[np.int64],
    state: State,
    settings: NDArray[np.void],
    weights: NDArray[np.float64],
    margins: NDArray[np.float64] | None = None,
) -> tuple[Callable[..., int], tuple[Any, ...]]:
    """A function that passes one row through all models of a state in no herd, to be called repeatedly; and its
    arguments.

    It checks nothing. The arguments begin with the models, the row, an order, its code, its weight and its margins.
    They are read at each call and stay valid while the state keeps its arrays. Others of the same types may replace
    them.
    """
    rows = check_pass(rows, codes, state, settings, weights, IN_ORDER, margins, (), None)
    arrange_for(rows, state, settings)
    assert state.layout != "herd"
    margins = _no_margins(state.n_models) if margins is None else margins
    run, arguments = _ready(state, settings, (rows, IN_ORDER, codes, weights, margins))
    arguments = (*arguments, 0, state.n_models, 0, 1)
    return straight(run, *arguments), arguments


def _run(
    run: Callable[..., int],
    arguments: tuple[Any, ...],
    n_tasks: int,
    ends: Sequence[int],
    note: Callable[[int, int, int], None],
    threads: int,
) -> int:
    """Pass the rows up to the last of `ends` through all tasks, on at most one thread per task.

    Tasks are independent, and each meets the rows in order. `note` is called with the number of each end but the last,
    for the tasks from first to last that have reached it. If the number of tasks is not a multiple of the threads, a
    free thread goes on with the part that is furthest behind, for a stretch of rows.
    """
    threads, n_rows = min(threads, n_tasks), ends[-1]
    if threads == 1 and len(ends) == 1:
        return int(run(*arguments, 0, n_tasks, 0, n_rows))
    n_parts = threads if n_tasks % threads == 0 else n_tasks
    parts = np.linspace(0, n_tasks, n_parts + 1).astype(int)
    stretch = n_rows if n_parts == threads else max(1, min(STRETCH, n_rows // (4 * n_parts)))
    next_row, next_end, idle, found, lock = [0] * n_parts, [0] * n_parts, set(range(n_parts)), [], Lock()

    def work() -> None:
        while True:
            with lock:
                waiting = [part for part in idle if next_end[part] < len(ends)]
                if not waiting:
                    return
                part = min(waiting, key=next_row.__getitem__)
                idle.remove(part)
            at, first, last = next_end[part], parts[part], parts[part + 1]
            a, b = next_row[part], min(next_row[part] + stretch, ends[at])
            bad = int(run(*arguments, first, last, a, b))
            while bad < 0 and at < len(ends) and b == ends[at]:
                if at < len(ends) - 1:
                    note(at, first, last)
                at += 1
            with lock:
                if bad >= 0:
                    found.append(bad)
                next_row[part], next_end[part] = b, at if bad < 0 else len(ends)
                idle.add(part)

    if threads == 1:
        work()
    else:
        with ThreadPoolExecutor(threads) as pool:
            for job in [pool.submit(work) for _ in range(threads)]:
                job.result()
    return min(found, default=-1)


@functools.lru_cache(maxsize=8)
def _no_margins(n_models: int) -> NDArray[np.float64]:
    return np.zeros((n_models, 0))


def available_threads() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
