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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiler.decorators import exact_kernel, filled_in, inlined, straight
from . import means_diagonal, means_full, points_diagonal, points_full
from .averaged import SAYS, row_by_row
from .batched_layout import Herds, herds_of, spans_of
from .batched_layout import fits as herd_fits
from .batched_layout import order as in_herds
from .doors import Rows, check_pass
from .means import Means, mean_pass
from .means_batched import HerdsOfMeans, herd_pass
from .memory import COUNTS
from .points import Points, point_pass
from .progress import copy_counts
from .rows import count, size
from .second_order import (
    DiagonalLeaders,
    DiagonalPoints,
    DiagonalSteps,
    FullLeaders,
    FullPoints,
    FullSteps,
    second_order_pass,
)
from .state import Layout, Metric, State

__all__ = ["IN_ORDER", "NOTHING", "Rows", "arrange_for", "available_threads", "learn", "row_pass"]

BLOCK_BYTES = 1 << 17
STRETCH = 4096  # rows that a thread takes at a time when there are more parts than threads
WORTH_A_THREAD = 1 << 16  # numbers in a batch times models: less is done before a thread has started

NOTHING = np.zeros(0)
IN_ORDER = np.zeros(0, np.int64)
NO_SPANS = np.zeros((0, 3), np.int64)
NO_STOPS = np.zeros(0, np.int64), np.zeros((0, 0, 4)), NO_SPANS


@inlined
def _block_size(rows, n_models):
    """Rows in a block: all for one model; for several, as many as stay in the cache until the last has seen them."""
    n = count(rows)
    if n_models == 1 or n == 0:
        return max(1, n)
    return max(1, BLOCK_BYTES // (8 * size(rows, 0) + 8))


def _over_models(name: str, one_pass: Callable[..., int]) -> Callable[..., int]:
    """The loop over models and blocks of rows around a pass."""
    return exact_kernel(filled_in(_learn_rows, f"learn_{name}", one_pass=one_pass))


def _learn_rows(home, rows, order, codes, weights, margins, scalars, settings, blocks, noted, first, last, start, stop):
    """Pass rows start..stop through the models (or herds) first..last; return the position of the first bad row, or −1.

    Several models take turns, `blocks` blocks of rows at a time. `noted` holds the stops, room for all models' counts
    up to each, (stops, models, 4), and the spans of the herds, if there are any.
    """
    stops, counts, spans = noted
    block = blocks * _block_size(rows, last - first)
    a, at = start, 0
    while at < stops.size and stops[at] <= start and start > 0:
        at += 1
    while a < stop:
        b = min(a + block, stop)
        if at < stops.size:
            b = min(b, stops[at])
        for k in range(first, last):
            bad = one_pass(home, k, rows, order, codes, weights, margins, scalars, settings, a, b)  # noqa: F821
            if bad >= 0:
                return bad
        while at < stops.size and stops[at] == b:
            one, other = (spans[first, 0], spans[last - 1, 1]) if spans.size > 0 else (first, last)
            copy_counts(scalars, one, other, counts[at])
            at += 1
        a = b
    return -1


_PASSES: dict[type, Callable[..., int]] = {
    Points: point_pass,
    Means: mean_pass,
    HerdsOfMeans: herd_pass,
    DiagonalPoints: second_order_pass(points_diagonal.POINTS),
    DiagonalLeaders: second_order_pass(means_diagonal.LEADERS),
    DiagonalSteps: second_order_pass(means_diagonal.STEPS),
    FullPoints: second_order_pass(points_full.POINTS),
    FullLeaders: second_order_pass(means_full.LEADERS),
    FullSteps: second_order_pass(means_full.STEPS),
}
LEARN = {kind: _over_models(kind.__name__, one_pass) for kind, one_pass in _PASSES.items()}
AVERAGED = {kind: row_by_row(f"averaged_{kind.__name__}", LEARN[kind], says) for kind, says in SAYS.items()}

# Sparse rows are cheap to read again beside a herd's table, so a turn has many; a triangle is best left in the cache.
_BLOCKS: dict[type, int] = {HerdsOfMeans: 64, **dict.fromkeys((FullPoints, FullLeaders, FullSteps), 1 << 40)}
_KINDS: dict[tuple[Metric, bool], tuple[type, type]] = {  # of steps, of leaders
    ("none", False): (Points, Points),
    ("none", True): (Means, Means),
    ("diagonal", False): (DiagonalPoints, DiagonalPoints),
    ("diagonal", True): (DiagonalSteps, DiagonalLeaders),
    ("full", False): (FullPoints, FullPoints),
    ("full", True): (FullSteps, FullLeaders),
}


def layout_for(rows: Rows, state: State, settings: NDArray[np.void]) -> tuple[Layout, Herds]:
    """The order of the vectors of `state` that suits a pass over such rows."""
    if state.metric != "none":
        return ("lanes" if state.has_means and state.metric == "diagonal" else "split"), ()
    if not state.has_means or len(rows) == 1:
        return "split", ()
    if not herd_fits(settings, state.group):
        return "lanes", ()
    return "herd", herds_of(state, settings)


def arrange_for(rows: Rows, state: State, settings: NDArray[np.void]) -> tuple[Layout, Herds]:
    """Put the vectors of `state` in that order, and where dense rows need them, in whole cache lines."""
    layout, herds = layout_for(rows, state, settings)
    state.arrange(layout, herds)
    if layout == "split" and state.metric == "none" and state.has_means:
        state.in_lines()
    return layout, herds


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
    layout, herds = arrange_for(rows, state, settings)
    n_models = state.n_models
    if margins is None:
        margins = _no_margins(n_models)
    n_rows = order.size if order.size else codes.size
    threads = (threads or available_threads()) if rows[-1].size * n_models >= WORTH_A_THREAD else 1
    noted = NO_STOPS
    if stops and counts is not None:
        spans = spans_of(herds) if layout == "herd" else NO_SPANS
        noted = np.asarray(stops, np.int64), np.zeros((len(stops), n_models, len(COUNTS))), spans
    if layout == "herd":
        models = in_herds(herds)  # the passes want the models of a herd next to each other
        scalars, out = state.scalars[models], margins[models]
        home = HerdsOfMeans(state.vectors, scalars.view(np.float64).reshape(n_models, -1), spans_of(herds))
        herded = (home, rows, order, codes, weights, out, scalars, settings[models], _BLOCKS[HerdsOfMeans], noted)
        bad = _run(LEARN[HerdsOfMeans], herded, len(herds), n_rows, threads)
        state.scalars[models], margins[models] = scalars, out
        if noted is not NO_STOPS and counts is not None:
            counts[:, models] = noted[1]
        return bad
    run, arguments = _ready(rows, codes, state, settings, weights, order, margins, noted)
    bad = _run(run, arguments, n_models, n_rows, threads)
    if noted is not NO_STOPS and counts is not None:
        counts[...] = noted[1]
    return bad


def _ready(
    rows: Rows,
    codes: NDArray[np.int64],
    state: State,
    settings: NDArray[np.void],
    weights: NDArray[np.float64],
    order: NDArray[np.int64],
    margins: NDArray[np.float64],
    noted: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]],
) -> tuple[Callable[..., int], tuple[Any, ...]]:
    """The pass for models in no herd, and its arguments except for the ranges of models and rows."""
    kind = _KINDS[state.metric, state.has_means][int(settings["leader"][0]) if settings.size else 0]
    vectors: Any = state.vectors
    if kind is Means and len(rows) == 1:
        vectors = state.in_lines()
    home = kind(vectors) if state.second is None else kind(vectors, state.second, state.rooms())
    arguments = (home, rows, order, codes, weights, margins, state.scalars, settings, _BLOCKS.get(kind, 1), noted)
    if (margins.size or np.count_nonzero(settings["calibrate"])) and np.count_nonzero(settings["average"]):
        plain = settings.copy()
        plain["calibrate"] = 0
        return AVERAGED[kind], (*arguments, (plain, _no_margins(state.n_models)))
    return LEARN[kind], arguments


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
    layout, _ = arrange_for(rows, state, settings)
    assert layout != "herd"
    margins = _no_margins(state.n_models) if margins is None else margins
    run, arguments = _ready(rows, codes, state, settings, weights, IN_ORDER, margins, NO_STOPS)
    arguments = (*arguments, 0, state.n_models, 0, 1)
    return straight(run, *arguments), arguments


def _run(run: Callable[..., int], arguments: tuple[Any, ...], n_tasks: int, n_rows: int, threads: int) -> int:
    """Pass the rows through all tasks, on at most one thread per task.

    Tasks are independent, and each meets the rows in order. If their number is not a multiple of the threads, a free
    thread goes on with the part that is furthest behind, for a stretch of rows.
    """
    threads = min(threads, n_tasks)
    if threads == 1:
        return int(run(*arguments, 0, n_tasks, 0, n_rows))
    n_parts = threads if n_tasks % threads == 0 else n_tasks
    parts = np.linspace(0, n_tasks, n_parts + 1).astype(int)
    stretch = n_rows if n_parts == threads else max(1, min(STRETCH, n_rows // (4 * n_parts)))
    next_row, idle, found, lock = [0] * n_parts, set(range(n_parts)), [], Lock()

    def work() -> None:
        while True:
            with lock:
                waiting = [part for part in idle if next_row[part] < n_rows]
                if not waiting:
                    return
                part = min(waiting, key=next_row.__getitem__)
                idle.remove(part)
            start, stop = next_row[part], min(next_row[part] + stretch, n_rows)
            bad = int(run(*arguments, parts[part], parts[part + 1], start, stop))
            with lock:
                if bad >= 0:
                    found.append(bad)
                next_row[part] = stop if bad < 0 else n_rows
                idle.add(part)

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
