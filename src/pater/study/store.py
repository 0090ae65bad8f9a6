"""The files of a study: append finished units, resume an interrupted study, and never mix two.

Knows CSV and the plan; runs nothing. A unit is finished when its line in `units.csv`, written last, is whole and the
other files have as many whole lines of it as that line says. Anything else left by an interruption is dropped.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped, unused-ignore]

from pater import __version__
from pater.data import DATA_SETS

from .plan import Plan, Unit
from .unit import COLUMNS, Line

SETTINGS_FILE = "study.json"

Blocks = dict[Unit, list[str]]
Columns = Mapping[str, tuple[str, ...]]


class StudyError(Exception):
    """A study cannot continue; the message says why and what to do."""


class Store:
    """The files of one study in `folder`, opened for a plan; `columns` names them, and `units` is one of them.

    `order` holds the keys of all data sets that may occur, in the order of their lines.
    """

    def __init__(
        self,
        folder: Path,
        plan: Plan,
        *,
        columns: Columns = COLUMNS,
        order: tuple[str, ...] = tuple(DATA_SETS),
        fresh: bool = False,
    ) -> None:
        self.folder = folder
        self.columns = columns
        self.order = order
        folder.mkdir(parents=True, exist_ok=True)
        if fresh:
            for path in (*map(self.path, columns), folder / SETTINGS_FILE):
                path.unlink(missing_ok=True)
        self._claim(plan)
        self.finished: set[Unit] = set()
        self.tidy()

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.csv"

    def add(self, outcome: Any) -> None:
        """Append the lines of a unit to each file, ending with the line that marks it as finished."""
        for name in self.columns:
            with self.path(name).open("a", encoding="utf-8") as file:
                file.write("".join(map(_text, getattr(outcome, name))))
        [(data_set, run, *_)] = outcome.units
        self.finished.add(Unit(data_set, run))

    def tidy(self) -> None:
        """Keep the finished units, in order, and nothing else."""
        blocks = {name: _read_blocks(self.path(name), columns) for name, columns in self.columns.items()}
        self.finished = {unit for unit in blocks["units"] if _is_whole(unit, blocks)}
        in_order = sorted(self.finished, key=lambda unit: (self.order.index(unit.data_set), unit.run))
        for name, columns in self.columns.items():
            lines = [line for unit in in_order for line in blocks[name].get(unit, [])]
            _replace(self.path(name), _text(columns) + "".join(lines))

    def frame(self, name: str, plan: Plan) -> pd.DataFrame:
        """The content of one file for this plan; the file may hold more sets and runs."""
        frame = pd.read_csv(self.path(name))
        return frame[frame["data_set"].isin(plan.sets) & (frame["run"] < plan.runs)].reset_index(drop=True)

    def _claim(self, plan: Plan) -> None:
        """Refuse a folder whose units this plan would not reproduce."""
        path = self.folder / SETTINGS_FILE
        wanted = {"pater": __version__, "seed": plan.seed, "algorithms": list(plan.algorithms)}
        if path.exists():
            there = _read_settings(path)
        elif self.path("rows").exists():
            there = {}
        else:
            _replace(path, json.dumps(wanted, indent=2) + "\n")
            return
        for name, value in wanted.items():
            if there.get(name) != value:
                raise StudyError(
                    f"{self.folder} holds a study with {name} {_plain(there.get(name, 'unknown'))}, not "
                    f"{_plain(value)}: choose another --out, or throw its rows away with --fresh."
                )


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return {}
    return settings if isinstance(settings, dict) else {}


def _plain(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _text(cells: Line) -> str:
    return ",".join(map(str, cells)) + "\n"


def _read_blocks(path: Path, columns: tuple[str, ...]) -> Blocks:
    """The whole lines of a file, by unit."""
    blocks: Blocks = {}
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    if lines and lines[0] != _text(columns):
        raise StudyError(f"{path} has other columns than this version writes: choose another --out, or --fresh.")
    run = columns.index("run")
    for line in lines[1:]:
        cells = line.split(",")
        if line.endswith("\n") and len(cells) == len(columns):
            blocks.setdefault(Unit(cells[0], int(cells[run])), []).append(line)
    return blocks


def _is_whole(unit: Unit, blocks: dict[str, Blocks]) -> bool:
    promised = int(blocks["units"][unit][0].rsplit(",", 1)[1])
    return promised == sum(len(blocks[name].get(unit, [])) for name in blocks if name != "units")


def _replace(path: Path, text: str) -> None:
    """Write a new file, then rename it: a reader, or a crash, sees either the old or the new one."""
    partial = path.with_name(f".{path.name}.new")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
