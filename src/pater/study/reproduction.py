"""The whole study: run what is missing, compute the tables, draw the figures, write the page."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

from pater.data import load

from .plan import Plan, Unit
from .runner import Load, Work, run
from .store import Store


class Reproduction(NamedTuple):
    """The outcome of a study."""

    page: Path
    cells: int  # of Table 2 that can be compared with the paper
    cells_within: int  # those within one published standard deviation


def reproduce(
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    peers: bool = False,
    drift: bool = False,
    jobs: int = 1,
    fresh: bool = False,
    on_start: Callable[[list[Unit]], None] = lambda finished: None,
    on_finished: Callable[[Unit], None] = lambda unit: None,
) -> Reproduction:
    """Run the plan and write everything below `out`.

    With `peers`, all learners of the package run, too; with `drift`, learners follow streams that drift. Finished
    units are not run again, unless `fresh` discards them. `on_start` is called with those of `all_units` that are
    finished, `on_finished` with each unit run now.
    """
    started = time.perf_counter()
    data = functools.partial(load, data_dir=data_dir)
    store = Store(Path(out), plan, fresh=fresh)
    compared = _peers(plan, store.folder, data, fresh) if peers else None
    followed = _drift(plan, store.folder, fresh) if drift else None
    parts = [part for part in (compared, followed) if part]
    finished = [unit for unit in plan.units if unit in store.finished]
    on_start(finished + [unit for part in parts for unit in part.finished])
    run(plan, store, data, jobs=jobs, on_finished=on_finished)
    elapsed = time.perf_counter() - started
    for part in parts:
        part.run(jobs, on_finished)

    from .circumstances import Circumstances
    from .report import PAGE, write_report  # half a second of imports that the run need not wait for

    circumstances = Circumstances(jobs=jobs, seconds=elapsed, units_run=len(plan.units) - len(finished))
    stores = (part.store if part else None for part in (compared, followed))
    found = write_report(store, plan, circumstances, *stores)
    averages = found.table2_averages
    return Reproduction(store.folder / PAGE, int(averages["cells"].sum()), int(averages["within"].sum()))


def all_units(plan: Plan, *, peers: bool = False, drift: bool = False) -> list[Unit]:
    """The units of the paper's part, each again with `peers`, and those of the streams."""
    return plan.units * (2 if peers else 1) + (_plan_of_drift(plan).units if drift else [])


class _Part(NamedTuple):
    """A part of the study besides the paper's, in its own folder."""

    plan: Plan
    store: Store
    load: Load
    work: Work
    quietly: Callable[[], AbstractContextManager[None]] = nullcontext

    @property
    def finished(self) -> list[Unit]:
        return [unit for unit in self.plan.units if unit in self.store.finished]

    def run(self, jobs: int, on_finished: Callable[[Unit], None]) -> None:
        with self.quietly():
            run(self.plan, self.store, self.load, work=self.work, jobs=jobs, on_finished=on_finished)


def _peers(plan: Plan, folder: Path, load: Load, fresh: bool) -> _Part:
    """The part for all learners, by the paper's protocol."""
    from .peers import learners, lines, unit  # scikit-learn's solvers, which the paper's part does not need

    plan = learners.plan_of_peers(plan)
    store = Store(folder / "peers", plan, columns=unit.COLUMNS, fresh=fresh)
    return _Part(plan, store, load, unit.WORK, lines.collinear_columns_are_no_news)


def _drift(plan: Plan, folder: Path, fresh: bool) -> _Part:
    """The part for learners along streams that drift."""
    from .drift import streams, unit

    plan = _plan_of_drift(plan)
    store = Store(folder / "drift", plan, columns=unit.COLUMNS, order=tuple(streams.STREAMS), fresh=fresh)
    return _Part(plan, store, streams.STREAMS.__getitem__, unit.WORK)


def _plan_of_drift(plan: Plan) -> Plan:
    from .drift import learners

    return learners.plan_of_drift(plan)
