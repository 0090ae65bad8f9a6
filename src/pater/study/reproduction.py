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
from .runner import run
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
    jobs: int = 1,
    fresh: bool = False,
    on_start: Callable[[set[Unit]], None] = lambda finished: None,
    on_finished: Callable[[Unit], None] = lambda unit: None,
) -> Reproduction:
    """Run the plan and write everything below `out`.

    What is finished there already is not run again, unless `fresh` throws it away. `on_start` hears which of the
    plan's units that are, `on_finished` of each that is run now.
    """
    started = time.perf_counter()
    store = Store(Path(out), plan, fresh=fresh)
    finished = store.finished.intersection(plan.units)
    on_start(finished)
    run(plan, store, functools.partial(load, data_dir=data_dir), jobs=jobs, on_finished=on_finished)
    elapsed = time.perf_counter() - started

    from .report import PAGE, Circumstances, write_report  # half a second of imports that the running need not wait for

    circumstances = Circumstances(jobs=jobs, seconds=elapsed, units_run=len(plan.units) - len(finished))
    found = write_report(store, plan, circumstances)
    averages = found.table2_averages
    return Reproduction(store.folder / PAGE, int(averages["cells"].sum()), int(averages["within"].sum()))
