"""The page: tables, figures and words in one file that needs no network, made from rows or from saved tables.

Knows the results and Jinja; other modules decide what figures and tables hold, and `page/` has the words.
"""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd  # type: ignore[import-untyped, unused-ignore]
from markupsafe import Markup

from pater import __version__
from pater.data import DATA_SETS

from . import figures
from .circumstances import Circumstances, Made
from .drift.learners import plan_of_drift
from .drift.page import draw_drift, drift_on_the_page
from .drift.tables import DriftResults, drift_results, load_drift
from .peers.page import draw_peers, peers_on_the_page
from .peers.tables import PeerResults, load_peers, peer_results
from .plan import ALGORITHMS, NOT_COMPARABLE, WEIGHTS, Plan
from .results import Results, comparisons, load_results, results
from .statistics import Comparison
from .store import Store
from .tables import save
from .training import TIMED_PASSES

PAGE = "report.html"


def write_report(
    store: Store,
    plan: Plan,
    circumstances: Circumstances,
    peer_store: Store | None = None,
    drift_store: Store | None = None,
) -> Results:
    """Compute, draw and write all that follows from the rows, including those of the other parts, if any."""
    found, tables = results(store, plan), store.folder / "tables"
    save(found, tables)
    peers = drift = None
    if peer_store is not None:
        peers = peer_results(peer_store.frame("rows", plan), peer_store.frame("units", plan))
        save(peers, tables)
    if drift_store is not None:
        followed = plan_of_drift(plan)
        drift = drift_results(drift_store.frame("rows", followed), drift_store.frame("units", followed))
        save(drift, tables)
    made = Made(
        plan,
        circumstances,
        surroundings(circumstances),
        float(store.frame("units", plan)["seconds"].sum()),
        peers.seconds if peers else None,
        drift.seconds if drift else None,
    )
    made.save(tables)
    compared = comparisons(found.table2_accuracies, found.table4_seconds)
    drawn = _draw(found, compared, peers, drift)
    folder = store.folder / "figures"
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.svg"):
        path.unlink()  # of sets that an earlier command asked for
    for name, text in drawn.items():
        (folder / f"{name}.svg").write_text(text, encoding="utf-8")
    page = render(found, compared, drawn, made, peers, drift)
    (store.folder / PAGE).write_text(page, encoding="utf-8")
    return found


def page_of_tables(folder: Path) -> str:
    """The page of a study, made again from the tables that `write_report` saved."""
    made, found = Made.load(folder), load_results(folder)
    peers = load_peers(folder, made.peers_seconds) if made.peers_seconds is not None else None
    runs = plan_of_drift(made.plan).runs
    drift = load_drift(folder, runs, made.drift_seconds) if made.drift_seconds is not None else None
    compared = comparisons(found.table2_accuracies, found.table4_seconds)
    return render(found, compared, _draw(found, compared, peers, drift), made, peers, drift)


def _draw(
    found: Results, compared: dict[str, Comparison], peers: PeerResults | None, drift: DriftResults | None
) -> dict[str, str]:
    drawn = {}
    if found.table2_accuracies["comparable"].any():
        drawn["distances"] = figures.distances(found.table2_accuracies)
        drawn["distances-narrow"] = figures.distances(found.table2_accuracies, narrow=True)
    for key, lines in found.figure1_curves.groupby("data_set", sort=False):
        drawn[f"curve-{key}"] = figures.curve(lines, DATA_SETS[key].name, key)
    for name, comparison in compared.items():
        key = name.replace(", ", "-").replace(" ", "-")
        drawn[f"ranks-{key}"] = figures.critical_difference(comparison, name.capitalize(), key)
    if peers:
        drawn |= draw_peers(peers)
    if drift:
        drawn |= draw_drift(drift)
    return drawn


def render(
    found: Results,
    compared: dict[str, Comparison],
    drawn: dict[str, str],
    made: Made,
    peers: PeerResults | None = None,
    drift: DriftResults | None = None,
) -> str:
    """The page as HTML."""
    plan = made.plan
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("pater.study", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(duration=duration, strength=strength, count=count, signed=signed, unbroken=unbroken)
    names = [name for name in ALGORITHMS if name in plan.algorithms]
    return environment.get_template("report.html.j2").render(
        algorithms=names,
        accuracies=_grid(found.table2_accuracies, names),
        averages=_by(found.table2_averages, "algorithm"),
        seconds=_grid(found.table4_seconds, names),
        mean_seconds=_by(
            found.table4_seconds.groupby("algorithm")[["seconds", "seconds_published"]].mean().reset_index(),
            "algorithm",
        ),
        data_sets=_lines(found.table1_data_sets),
        weights=_lines(found.table3_weights),
        honest=_pairs(found.beyond_honest_weights, "data_set"),
        honest_means=_by(_means(found.beyond_honest_weights), "algorithm"),
        scores=_lines(_means(found.beyond_other_scores)),
        readings=_pairs(found.beyond_readings, "reading"),
        averaged_sets=_averaged_sets(plan),
        compared=compared,
        drawn={name: Markup(text) for name, text in drawn.items()},  # our own SVG, not text to escape
        names={key: entry.name for key, entry in DATA_SETS.items()},
        not_comparable=NOT_COMPARABLE,
        n_weights=len(WEIGHTS),
        timed_passes=TIMED_PASSES,
        n_models=len(plan.models),
        n_fits=2 * len(plan.models) * len(plan.units),
        plan=plan,
        circumstances=made.circumstances,
        computing=made.seconds,
        command=command(plan) + (" --peers" if peers else "") + (" --drift" if drift else ""),
        peers=peers_on_the_page(peers) if peers else None,
        drift=drift_on_the_page(drift) if drift else None,
        surroundings=made.surroundings,
    )


def _lines(table: pd.DataFrame) -> list[dict[str, Any]]:
    return list(table.to_dict("records"))


def _by(table: pd.DataFrame, column: str) -> dict[str, dict[str, Any]]:
    return {line[column]: line for line in _lines(table)}


def _grid(cells: pd.DataFrame, names: list[str]) -> dict[str, list[dict[str, Any]]]:
    """The cells of each data set, in the order of the algorithms."""
    return {
        key: [line for name in names for line in _lines(part[part["algorithm"] == name])]
        for key, part in cells.groupby("data_set", sort=False)
    }


def _pairs(table: pd.DataFrame, column: str) -> dict[str, dict[str, dict[str, Any]]]:
    """The lines by `column`, then by algorithm."""
    return {key: _by(part, "algorithm") for key, part in table.groupby(column, sort=False)}


def _means(table: pd.DataFrame) -> pd.DataFrame:
    """Means over the comparable data sets, or over all if none is."""
    comparable = table[~table["data_set"].isin(NOT_COMPARABLE)]
    chosen = table if comparable.empty else comparable
    return chosen.groupby("algorithm", sort=False).mean(numeric_only=True).reset_index()


def _averaged_sets(plan: Plan) -> str:
    comparable = set(plan.sets) - NOT_COMPARABLE
    number = len(comparable or plan.sets)
    return f"{number}{' comparable' if comparable else ''} data set{'s' if number != 1 else ''}"


def duration(seconds: float) -> str:
    """A time in a suitable unit."""
    if seconds >= 999.5:  # three digits would not suffice
        return f"{seconds / 60:.3g} min"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def strength(distance: float) -> float:
    """How strongly to shade a cell: 0 at the published mean, 1 at two published standard deviations and beyond."""
    return round(min(abs(distance) / 2, 1.0), 3)


def count(number: int) -> str:
    return f"{number:,}"


def signed(number: float) -> str:
    return f"{number:+.2f}".replace("-", "−")


def unbroken(name: str) -> str:
    """A name that does not break at the end of a line: with a word joiner after each hyphen."""
    return name.replace("-", "-\u2060")


def command(plan: Plan) -> str:
    """The command that gives the same rows."""
    words = ["pater reproduce", f"--seed {plan.seed}", f"--runs {plan.runs}"]
    if plan.sets != tuple(DATA_SETS):
        words.append(f"--sets {','.join(plan.sets)}")
    if plan.algorithms != ALGORITHMS:
        words.append(f"--algorithms {','.join(plan.algorithms)}")
    return " ".join(words)


def surroundings(circumstances: Circumstances) -> dict[str, str]:
    """What the numbers were made with."""
    libraries = ("numpy", "scipy", "numba", "pandas", "matplotlib")
    return {
        "pater": __version__,
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        **{name: version(name) for name in libraries},
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "jobs": str(circumstances.jobs),
        "written": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _processor() -> str:
    """The processor's own name, where the system gives it."""
    if sys.platform == "linux":
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
