"""`pater reproduce`: run the paper's experiment, from the data to the report."""

from __future__ import annotations

import os
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .data import Folder, download
from .errors import CommandError, StoppedError, UsageError, chosen
from .signals import stop_in_order
from .terminal import Progress, progress, say, tell

if TYPE_CHECKING:
    from pater.study import Plan, Reproduction
    from pater.study.plan import Unit

QUICK_RUNS = 2
QUICK_ROWS = 10_000
LIBRARIES = ("jinja2", "matplotlib", "pandas", "pooch", "threadpoolctl")


def reproduce(
    *,
    sets: Annotated[
        list[str] | None,
        typer.Option(metavar="KEYS", help="Data sets, by key, separated by commas.  [default: all at hand]"),
    ] = None,
    algorithms: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Of PE, PA, PATER-I, PATER-II, wPATER-I, wPATER-II.  [default: all]"),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, max=1000, metavar="N", help="Runs of 2-fold cross-validation.  [default: 10]")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="The same seed gives the same rows.")] = 0,
    out: Annotated[Path, typer.Option(file_okay=False, metavar="FOLDER", help="Where everything is written.")] = Path(
        "study-out"
    ),
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How much to run at a time.  [default: one per processor]")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"{QUICK_RUNS} runs, and no set of more than {QUICK_ROWS:,} rows.")
    ] = False,
    peers: Annotated[
        bool, typer.Option("--peers", help="Also compare all learners of the package, next to batch solutions.")
    ] = False,
    drift: Annotated[
        bool,
        typer.Option("--drift", help="Also follow streams that drift: the default learner next to single settings."),
    ] = False,
    data: Folder = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download the data sets that are not at hand.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Throw away the rows that --out holds.")] = False,
) -> None:
    """Run the paper's experiment and compare the results with the published figures.

    Uses the data sets at hand, and the network only with --fetch. If interrupted, it keeps what is finished; the same
    command continues from there.
    """
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    if missing:
        raise CommandError(f'the study needs {", ".join(missing)}: pip install "pater[study]"')

    from pater.data import DATA_SETS, available
    from pater.kernels.run import available_threads
    from pater.study import Plan
    from pater.study.plan import ALGORITHMS

    named = chosen(sets or (), tuple(DATA_SETS), "data set")
    if sets and not named:
        raise UsageError("--sets names no data set")
    wanted = named or tuple(key for key, entry in DATA_SETS.items() if not quick or entry.rows <= QUICK_ROWS)
    at_hand = available(data)
    absent = [key for key in wanted if key not in at_hand]
    if absent and fetch:
        download(absent)
    elif absent and named:
        raise CommandError(
            f"not at hand: {', '.join(absent)}. Add --fetch to download, or --data FOLDER if you have them."
        )
    plan = Plan(
        sets=wanted if fetch else tuple(key for key in wanted if key in at_hand),
        algorithms=chosen(algorithms or (), ALGORITHMS, "algorithm") or ALGORITHMS,
        runs=runs or (QUICK_RUNS if quick else 10),
        seed=seed,
    )
    made = _run(plan, out, peers=peers, drift=drift, data_dir=data, jobs=jobs or available_threads(), fresh=fresh)
    if made.cells:
        say(f"{made.cells_within} of {made.cells} comparable cells are within one published standard deviation.")
    if absent and not fetch:
        say(
            f"{len(absent)} of the {len(wanted)} data sets are not at hand; `pater reproduce --fetch` downloads them, "
            "--data FOLDER names a folder that has them."
        )
    tell(os.fspath(made.page))


def _run(plan: Plan, out: Path, *, peers: bool, drift: bool, **how: Any) -> Reproduction:
    from pater.data import DataError
    from pater.study import StudyError
    from pater.study import reproduce as run_study
    from pater.study.reproduction import all_units

    stop_in_order()
    with progress("units") as bar:
        shown = _Shown(bar, all_units(plan, peers=peers, drift=drift))
        try:
            return run_study(
                plan, out, peers=peers, drift=drift, on_start=shown.start, on_finished=shown.finished, **how
            )
        except (DataError, StudyError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt as stop:
            kept = f"{shown.done} of {shown.total} units are finished and kept. The same command goes on."
            raise StoppedError(stop, kept) from None


class _Shown:
    """Shows the progress of the study."""

    def __init__(self, bar: Progress, units: list[Unit]) -> None:
        self.bar = bar
        self.done, self.total = 0, len(units)
        self.left = Counter(unit.data_set for unit in units)

    def start(self, finished: list[Unit]) -> None:
        self.done = len(finished)
        self.left.subtract(unit.data_set for unit in finished)
        if finished:
            self.bar.milestone(f"{self.done} of {self.total} units were finished before and are not run again.")
        self.bar.step("getting ready", self.done, self.total)

    def finished(self, unit: Unit) -> None:
        self.done += 1
        self.left[unit.data_set] -= 1
        label = unit.data_set if self.done < self.total else "writing the report"
        self.bar.step(label, self.done, self.total)
        if self.left[unit.data_set] == 0:
            self.bar.milestone(f"{unit.data_set} ({self.done} of {self.total} units)")
