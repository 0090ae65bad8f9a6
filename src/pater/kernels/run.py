"""The one loop over rows that every rule runs in.

Knows `rules`, `state`, `doors` and all passes. Data in, state changed, the position of the first bad row out. Several
models (the classes of a one-vs-rest learner, the settings of a search) share the reading of the data: a block of rows
that fits the second-level cache is passed through one model after the other, and the models are spread over threads.
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

from .batched_layout import SHARED_CELL, Herds, spans
from .batched_layout import order as in_herds
from .compile import kernel
from .covariance_diagonal import diagonal_mean_pass, diagonal_point_pass
from .covariance_full import full_mean_pass, full_point_pass
from .doors import Rows, check_pass
from .means_batched import fits as herd_fits
from .means_batched import herd_pass, sharing, sharing_herd_pass
from .means_dense import dense_pass
from .means_sparse import lazy_pass
from .means_wide import wide_pass
from .points import point_pass
from .rows import count, size
from .simd import shape_for
from .state import Layout, State, V, counts_of
from .steps import moves_along_means

__all__ = ["IN_ORDER", "NOTHING", "Rows", "available_threads", "layout_for", "learn"]

WIDE = 640  # columns from which the vectors and two rows no longer fit the first-level cache (measured)
BLOCK_BYTES = 1 << 17
STRETCH = 4096  # rows that a thread takes at a time when there are more parts than threads
WORTH_A_THREAD = 1 << 16  # numbers in a batch times models: less is done before a thread has started

NOTHING = np.zeros(0)
IN_ORDER = np.zeros(0, np.int64)


@kernel
def _block_size(rows, n_models):
    """All rows for one model; for several, as many as stay in the cache until the last has seen them."""
    n = count(rows)
    if n_models == 1 or n == 0:
        return max(1, n)
    return max(1, BLOCK_BYTES // (8 * size(rows, 0) + 8))


@kernel
def _herd_block_size(rows, n_herds):
    """As `_block_size`; but the rows, sparse, are cheap to read again beside the table of a herd, so take many."""
    return 64 * _block_size(rows, n_herds)


@kernel
def learn_dense(rows, order, codes, weights, margins, vectors, scalars, settings, shape, first, last, start, stop):
    """Pass dense rows start..stop through the models first..last, of mean rules; the first bad row, or −1."""
    block = _block_size(rows, last - first)
    for a in range(start, stop, block):
        b = min(a + block, stop)
        for k in range(first, last):
            v, m, p, out = vectors[k], scalars[k], settings[k], margins[k]
            bad = dense_pass(rows, order, codes, weights, out, v, m, p, shape, a, b)
            if bad >= 0:
                return bad
    return -1


@kernel
def learn_plain(rows, order, codes, weights, margins, vectors, scalars, settings, first, last, start, stop):
    """As `learn_dense`, for sparse rows, and for dense ones of point rules."""
    block = _block_size(rows, last - first)
    for a in range(start, stop, block):
        b = min(a + block, stop)
        for k in range(first, last):
            v, m, p, out = vectors[k], scalars[k], settings[k], margins[k]
            if moves_along_means(p.rule):
                bad = lazy_pass(rows, order, codes, weights, out, v, m, p, a, b)
            else:
                bad = point_pass(rows, order, codes, weights, out, v, m, p, a, b)
            if bad >= 0:
                return bad
    return -1


@kernel
def learn_wide(rows, order, codes, weights, margins, vectors, scalars, settings, first, last, start, stop):
    """As `learn_dense`, for rows of so many columns that the vectors do not stay in the first-level cache."""
    block = _block_size(rows, last - first)
    for a in range(start, stop, block):
        b = min(a + block, stop)
        for k in range(first, last):
            bad = wide_pass(rows, order, codes, weights, margins[k], vectors[k], scalars[k], settings[k], a, b)
            if bad >= 0:
                return bad
    return -1


@kernel
def learn_herds(
    rows, order, codes, weights, margins, vectors, values, scalars, settings, herds, first, last, start, stop
):
    """Pass rows start..stop through the herds first..last; the position of the first bad row, or −1."""
    block = _herd_block_size(rows, last - first)
    for a in range(start, stop, block):
        b = min(a + block, stop)
        for h in range(first, last):
            k, n, shares = herds[h]
            table, out, v, m, p = vectors[h], margins[k:n], values[k:n], scalars[k:n], settings[k:n]
            if shares:
                size = table.shape[0] * SHARED_CELL
                table = table.reshape(-1)[:size].reshape((-1, SHARED_CELL))
                bad = sharing_herd_pass(rows, order, codes, weights, out, table, v, m, p, a, b)
            else:
                bad = herd_pass(rows, order, codes, weights, out, table, v, m, p, a, b)
            if bad >= 0:
                return bad
    return -1


@kernel
def learn_full(rows, order, codes, weights, margins, vectors, triangles, scalars, settings, first, last, start, stop):
    """As `learn_dense` and `learn_plain`, with a full covariance: a triangle is best left in the cache."""
    for k in range(first, last):
        v, t, m, p, out = vectors[k], triangles[k], scalars[k], settings[k], margins[k]
        if moves_along_means(p.rule):
            bad = full_mean_pass(rows, order, codes, weights, out, v, t, m, p, start, stop)
        else:
            bad = full_point_pass(rows, order, codes, weights, out, v, t, m, p, start, stop)
        if bad >= 0:
            return bad
    return -1


@kernel
def learn_diagonal(rows, order, codes, weights, margins, vectors, scalars, settings, first, last, start, stop):
    """As `learn_dense` and `learn_plain`, with a diagonal covariance."""
    block = _block_size(rows, last - first)
    for a in range(start, stop, block):
        b = min(a + block, stop)
        for k in range(first, last):
            v, m, p, out = vectors[k], scalars[k], settings[k], margins[k]
            if moves_along_means(p.rule):
                bad = diagonal_mean_pass(rows, order, codes, weights, out, v, m, p, a, b)
            else:
                bad = diagonal_point_pass(rows, order, codes, weights, out, v, m, p, a, b)
            if bad >= 0:
                return bad
    return -1


def layout_for(rows: Rows, state: State, settings: NDArray[np.void]) -> tuple[Layout, Herds]:
    """In which order the vectors of `state` are best passed over by such rows."""
    if state.metric != "none":
        return ("lanes" if state.has_means and state.metric == "diagonal" else "split"), ()
    if not state.has_means or (len(rows) == 1 and state.n_features >= WIDE):
        return "split", ()
    if len(rows) == 1 or not herd_fits(settings, state.group):
        return "lanes", ()
    return "herd", state.herds_of(sharing(settings))


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
    """Pass the rows through all models of `state`; the position of the first bad row, or −1.

    `codes` holds the class of each row as a number, `settings` a record for each model. `margins`, if given, takes
    what each model says of each row before learning from it, (models, rows); `counts` its answers up to each of the
    `stops`, (stops, models, 4). A bad row is one that holds a NaN, an infinity or numbers too large to square; the
    state is then neither as before nor as after, and the caller restores it. `threads` may be None for as many as there
    are processors. Whatever does not fit together is a ValueError before anything is touched.
    """
    rows = check_pass(rows, codes, state, settings, weights, order, margins, stops, counts)
    layout, herds = layout_for(rows, state, settings)
    state.arrange(layout, herds)
    n_models = state.n_models
    if margins is None:
        margins = _no_margins(n_models)
    n_rows = order.size if order.size else codes.size
    threads = (threads or available_threads()) if rows[-1].size * n_models >= WORTH_A_THREAD else 1
    if layout == "herd":
        models = in_herds(herds)  # the passes want those of a herd one after the other
        scalars, out, spanned = state.scalars[models], margins[models], spans(herds)
        values = scalars.view(np.float64).reshape(n_models, -1)
        herded = (rows, order, codes, weights, out, state.vectors, values, scalars, settings[models], spanned)

        def note_herds(stop: int, first: int, last: int) -> None:
            if counts is not None:
                there = slice(spanned[first, 0], spanned[last - 1, 1])
                counts[stop, models[there]] = counts_of(scalars[there])

        bad = _run(learn_herds, herded, len(herds), n_rows, threads, stops, note_herds)
        state.scalars[models], margins[models] = scalars, out
        return bad

    def note(stop: int, first: int, last: int) -> None:
        if counts is not None:
            counts[stop, first:last] = counts_of(state.scalars[first:last])

    vectors, scalars = state.vectors, state.scalars
    if layout == "lanes" and len(rows) == 1 and state.metric == "none" and rows[0].shape[1] > 0:
        shape = shape_for(V + 1 if _averages(scalars, settings) else V, rows[0].shape[1])
        some = weights if weights.size else None
        dense = (rows, order, codes, some, margins, vectors, scalars, settings, shape)
        return _run(learn_dense, dense, n_models, n_rows, threads, stops, note)
    triangles = () if state.second is None else (state.second,)
    arguments = (rows, order, codes, weights, margins, vectors, *triangles, scalars, settings)
    wide = layout == "split" and state.has_means and state.metric == "none"
    run = learn_wide if wide else _BY_METRIC[state.metric]
    return _run(run, arguments, n_models, n_rows, threads, stops, note)


_BY_METRIC = {"none": learn_plain, "diagonal": learn_diagonal, "full": learn_full}


def _averages(m: NDArray[np.void], settings: NDArray[np.void]) -> bool:
    """Does V change? Also with an average that is no longer asked for, as long as some of it waits in B."""
    nonzero = np.count_nonzero
    return bool(nonzero(settings["average"]) or nonzero(m["B_pos"]) or nonzero(m["B_neg"]))


def _run(
    run: Callable[..., int],
    arguments: tuple[Any, ...],
    n_tasks: int,
    n_rows: int,
    threads: int,
    stops: Sequence[int],
    note: Callable[[int, int, int], None],
) -> int:
    """Pass the rows through all tasks, by as many threads as there are tasks for, and take note of them at each stop.

    The tasks are independent, and each meets the rows in order. As there may be more of them than threads, but not a
    multiple, they are taken in turns: whoever is free goes on with the part that is furthest behind, for a stretch of
    rows.
    """
    threads = min(threads, n_tasks)
    if threads == 1 and not stops:
        return int(run(*arguments, 0, n_tasks, 0, n_rows))
    n_parts = threads if n_tasks % threads == 0 else n_tasks
    parts = np.linspace(0, n_tasks, n_parts + 1).astype(int)
    stretch = n_rows if n_parts == threads else max(1, min(STRETCH, n_rows // (4 * n_parts)))
    next_row, next_stop, idle, found, lock = [0] * n_parts, [0] * n_parts, set(range(n_parts)), [], Lock()

    def work() -> None:
        while True:
            with lock:
                waiting = [part for part in idle if next_row[part] < n_rows]
                if not waiting:
                    return
                part = min(waiting, key=next_row.__getitem__)
                idle.remove(part)
            start, stop = next_row[part], min(next_row[part] + stretch, n_rows)
            if next_stop[part] < len(stops):
                stop = min(stop, stops[next_stop[part]])
            bad = int(run(*arguments, parts[part], parts[part + 1], start, stop))
            if next_stop[part] < len(stops) and stop == stops[next_stop[part]]:
                note(next_stop[part], parts[part], parts[part + 1])
                next_stop[part] += 1
            with lock:
                if bad >= 0:
                    found.append(bad)
                next_row[part] = stop if bad < 0 else n_rows
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
