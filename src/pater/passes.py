"""The one loop over rows that every rule runs in.

Knows `rules`, `state` and the three passes. Data in, state changed, the position of the first bad row out. Several
models (the classes of a one-vs-rest learner, the settings of a search) share the reading of the data: a block of rows
that fits the second-level cache is passed through one model after the other, and the models are spread over threads.
"""

from __future__ import annotations

import functools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._compile import kernel
from .lazy import lazy_pass
from .point import point_pass
from .rows import count, size
from .rules import FIRST_MEAN_RULE
from .state import State
from .wide import wide_pass

Rows = tuple[NDArray[Any], ...]

WIDE = 64  # columns from which a dense row is memory rather than arithmetic (measured)
BLOCK_BYTES = 1 << 17
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
def learn_dense(rows, order, codes, weights, margins, vectors, scalars, settings, first, last):
    """Pass dense rows through the models first..last; the position of the first bad row, or −1."""
    n = order.size if order.size > 0 else count(rows)
    block = _block_size(rows, last - first)
    for start in range(0, n, block):
        stop = min(start + block, n)
        for k in range(first, last):
            v, m, p, out = vectors[k], scalars[k], settings[k], margins[k]
            if p.rule < FIRST_MEAN_RULE:
                bad = point_pass(rows, order, codes, weights, out, v, m, p, start, stop)
            elif rows[0].shape[1] < WIDE:
                bad = lazy_pass(rows, order, codes, weights, out, v, m, p, start, stop)
            else:
                bad = wide_pass(rows, order, codes, weights, out, v, m, p, start, stop)
            if bad >= 0:
                return bad
    return -1


@kernel
def learn_csr(rows, order, codes, weights, margins, vectors, scalars, settings, first, last):
    """Pass sparse rows through the models first..last; the position of the first bad row, or −1."""
    n = order.size if order.size > 0 else count(rows)
    block = _block_size(rows, last - first)
    for start in range(0, n, block):
        stop = min(start + block, n)
        for k in range(first, last):
            v, m, p, out = vectors[k], scalars[k], settings[k], margins[k]
            if p.rule < FIRST_MEAN_RULE:
                bad = point_pass(rows, order, codes, weights, out, v, m, p, start, stop)
            else:
                bad = lazy_pass(rows, order, codes, weights, out, v, m, p, start, stop)
            if bad >= 0:
                return bad
    return -1


def interleaved(rows: Rows, state: State) -> bool:
    """Does the pass over such rows want the vectors of `state` side by side?"""
    return state.has_means and (len(rows) == 3 or rows[0].shape[1] < WIDE)


def learn(
    rows: Rows,
    codes: NDArray[np.int64],
    state: State,
    settings: NDArray[np.void],
    *,
    weights: NDArray[np.float64] = NOTHING,
    order: NDArray[np.int64] = IN_ORDER,
    margins: NDArray[np.float64] | None = None,
    threads: int = 1,
) -> int:
    """Pass the rows through all models of `state`; the position of the first bad row, or −1.

    `codes` holds the class of each row as a number, `settings` a record for each model. `margins`, if given, takes
    what each model says of each row before learning from it, (models, rows). A bad row is one that holds a NaN, an
    infinity or numbers too large to square; the state is then neither as before nor as after, and the caller restores
    it.
    """
    state.arrange(interleaved=interleaved(rows, state))
    if margins is None:
        margins = _no_margins(state.n_models)
    run = learn_dense if len(rows) == 1 else learn_csr
    arguments = (rows, order, codes, weights, margins, state.vectors, state.scalars, settings)
    n_models = state.n_models
    if threads > 1 and n_models > 1 and rows[-1].size * n_models >= WORTH_A_THREAD:
        cuts = np.linspace(0, n_models, min(threads, n_models) + 1).astype(int)
        with ThreadPoolExecutor(len(cuts) - 1) as pool:
            found = list(pool.map(lambda first, last: run(*arguments, first, last), cuts[:-1], cuts[1:]))
        return min((bad for bad in found if bad >= 0), default=-1)
    return int(run(*arguments, 0, n_models))


@functools.lru_cache(maxsize=8)
def _no_margins(n_models: int) -> NDArray[np.float64]:
    return np.zeros((n_models, 0))


def available_threads() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
