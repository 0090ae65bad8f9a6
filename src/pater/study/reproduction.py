"""The whole study: run what is missing, compute the tables, draw the figures, write the page."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pater.data import load

from .plan import Plan, Unit
from .runner import Load, run
from .store import Store


class Reproduction(NamedTuple):
    """What a study has come to."""

    page: Path
    cells: int  # of Table 2 that can be compared with the paper
    cells_within: int  # of them within one published standard deviation


def reproduce(
    plan: Plan,
    out: str | os.PathLike[str],
    *,
    data_dir: str | os.PathLike[str] | None = None,
    peers: bool = False,
    jobs: int = 1,
    fresh: bool = False,
    on_start: Callable[[list[Unit]], None] = lambda finished: None,
    on_finished: Callable[[Unit], None] = lambda unit: None,
) -> Reproduction:
    """Run the plan and write everything below `out`; with `peers`, run all learners of the package by it, too.

    What is finished there already is not run again, unless `fresh` throws it away. `on_start` hears which of the
    plan's units that are, `on_finished` of each that is run now: each unit twice, if there are peers.
    """
    started = time.perf_counter()
    data = functools.partial(load, data_dir=data_dir)
    store = Store(Path(out), plan, fresh=fresh)
    compared = _Peers(plan, store.folder, data, jobs, fresh) if peers else None
    finished = [unit for unit in plan.units if unit in store.finished]
    on_start(finished + (compared.finished if compared else []))
    run(plan, store, data, jobs=jobs, on_finished=on_finished)
    elapsed = time.perf_counter() - started
    if compared:
        compared.run(on_finished)

    from .report import PAGE, Circumstances, write_report  # half a second of imports that the running need not wait for

    circumstances = Circumstances(jobs=jobs, seconds=elapsed, units_run=len(plan.units) - len(finished))
    found = write_report(store, plan, circumstances, compared.store if compared else None)
    averages = found.table2_averages
    return Reproduction(store.folder / PAGE, int(averages["cells"].sum()), int(averages["within"].sum()))


class _Peers:
    """The part of the study that compares all learners, in a folder of its own."""

    def __init__(self, plan: Plan, folder: Path, load: Load, jobs: int, fresh: bool) -> None:
        from .peers import learners, lines, unit  # scikit-learn's solvers, which the paper's part does without

        self.plan, self.load, self.jobs = learners.plan_of_peers(plan), load, jobs
        self.store = Store(folder / "peers", self.plan, columns=unit.COLUMNS, fresh=fresh)
        self.finished = [one for one in self.plan.units if one in self.store.finished]
        self._work, self._quietly = unit.WORK, lines.collinear_columns_are_no_news

    def run(self, on_finished: Callable[[Unit], None]) -> None:
        with self._quietly():
            run(self.plan, self.store, self.load, work=self._work, jobs=self.jobs, on_finished=on_finished)
