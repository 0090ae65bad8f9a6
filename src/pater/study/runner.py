"""Run the unfinished units of a plan, several at a time.

Knows threads: the compiled passes and NumPy release the interpreter's lock, so that threads use all processors and
share the data. A unit gives the same on any thread.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]

from pater.data import DATA_SETS

from .plan import Plan, Unit
from .store import Store
from .training import warm_up
from .unit import run_unit

ALONE_BELOW = 1500
"""Rows. A pass over fewer takes a few microseconds, and switching threads takes as long again: such units would gain
nothing from running in parallel, and their measured seconds would suffer."""

Load = Callable[[str], Any]
"""From the key of a unit's data set to the data, usually a `DataSet`."""


class Work(NamedTuple):
    """What a study does for a unit, and how many rows each data set has, by key."""

    run_unit: Callable[[Any, int, Plan], Any]
    warm_up: Callable[[], None]
    measures_time: bool
    rows: Callable[[str], int] = lambda key: DATA_SETS[key].rows


PAPER = Work(run_unit, warm_up, measures_time=True)


def run(
    plan: Plan,
    store: Store,
    load: Load,
    *,
    work: Work = PAPER,
    jobs: int = 1,
    on_finished: Callable[[Unit], None] = lambda unit: None,
) -> None:
    """Run the units of the plan that `store` lacks; if interrupted, keep the finished ones and re-raise."""
    # Long ones first, so that no thread is left with one at the end.
    waiting = [unit for unit in plan.units if unit not in store.finished]
    waiting.sort(key=lambda unit: -work.rows(unit.data_set))
    if not waiting:
        return
    small = [unit for unit in waiting if work.measures_time and work.rows(unit.data_set) < ALONE_BELOW]
    large = waiting[: len(waiting) - len(small)]
    work.warm_up()
    try:
        # One BLAS thread for each of ours; and no result may depend on how many BLAS would choose.
        with threadpool_limits(1):
            for units, threads in ((small, 1), (large, jobs)):
                with ThreadPoolExecutor(threads) as pool:
                    loading = {key: pool.submit(load, key) for key in dict.fromkeys(unit.data_set for unit in units)}
                    running = {pool.submit(_run, work, loading[unit.data_set], unit.run, plan): unit for unit in units}
                    _keep_finished(pool, running, store, on_finished)
    finally:
        store.tidy()


def _keep_finished(
    pool: ThreadPoolExecutor, running: dict[Future[Any], Unit], store: Store, on_finished: Callable[[Unit], None]
) -> None:
    try:
        for future in as_completed(running):
            store.add(future.result())
            on_finished(running[future])
    except BaseException:
        pool.shutdown(cancel_futures=True)
        for future, unit in running.items():
            if unit not in store.finished and not future.cancelled() and future.exception() is None:
                store.add(future.result())
        raise


def _run(work: Work, data: Future[Any], run: int, plan: Plan) -> Any:
    return work.run_unit(data.result(), run, plan)
