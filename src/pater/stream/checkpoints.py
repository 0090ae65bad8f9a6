"""Checkpoints: how often they are written, what they hold, and how a run resumes from one.

Knows `model_file` and `learner`, and what a run is made of. A checkpoint is a model file that also says how far the run
got. A hash of what had been read by then reveals a changed input; and blocks are split by content alone, so that the
rest of the run does, bit for bit, what it would have done.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files.container import OF_ANOTHER_KIND
from ..files.model_file import ModelFileError, load
from ..formats.blocks import Place, after
from ..formats.columns import Columns
from ..formats.errors import ArgumentError, Fault, InputError, Skipped
from ..formats.sources import as_text
from .learner import Learner

if TYPE_CHECKING:
    from .training import Run


_START_OVER = "Start over without --resume, or delete it."


@dataclass
class Every:
    """How often to write a checkpoint: after a number of rows or of seconds."""

    rows: int = 0
    seconds: float = 0.0

    @classmethod
    def of(cls, text: str | int) -> Every:
        """Parse 100000 (rows) or 30s, 5m, 2h."""
        match = re.fullmatch(r"([0-9]{1,15})\s*([smh]?)", str(text).strip())
        if not match or int(match[1]) == 0:
            what = f"must be a number of rows, or a time such as 30s or 5m, got {text!r}."
            raise ArgumentError("checkpoint_every", what)
        number = int(match[1])
        return cls(seconds=float(number * {"s": 1, "m": 60, "h": 3600}[match[2]])) if match[2] else cls(rows=number)


def progress_of(run: Run) -> dict[str, Any]:
    """The progress of a run, as JSON."""
    return {
        "pass": run.number,
        "source": run.source,
        "place": list(run.place),
        "ends": [list(place) for place in run.ends],
        "faults": [[as_text(fault.source), *fault[1:]] for fault in run.skipped.first],
        "settings": run.settings,
    }


def go_on_from(run: Run, path: Path) -> None:
    """Resume from a checkpoint; an error if it belongs to another run, or if what was read has changed."""
    try:
        saved = load(path)
    except ModelFileError as error:
        raise ModelFileError(path, f"{str(error).removeprefix(f'{path}: ')} {_START_OVER}") from None
    try:
        progress = saved.progress
        if progress is None:
            raise ValueError("it does not say how far the run got")
        number, source, settings = progress["pass"], progress["source"], dict(progress["settings"])
        places = [_place(value) for value in (progress["place"], *progress["ends"])]
        faults = [_fault(value) for value in progress["faults"]]
        learner = Learner.from_saved(saved)
        if saved.newer:  # it may tell more of its columns, as the model beside it may
            settings["columns"] = Columns.from_json(settings["columns"], newer=True).to_json()
        if not (type(number) is int and type(source) is int and number >= 1 and 0 <= source <= len(places) - 1):
            raise ValueError("its position in the input is invalid")
    except OF_ANOTHER_KIND as error:
        raise ModelFileError(path, f"it is not a sound checkpoint: {str(error)[:200]}. {_START_OVER}") from None
    for name, value in run.settings.items():
        if settings.get(name) != value:
            raise InputError(
                f"{path} was written with {name} = {settings.get(name)!r}, but now it is {value!r}. "
                "Continue with the same settings, or start over without --resume."
            )
    learner.skip, learner.threads = run.learner.skip, run.learner.threads
    run.learner, run.number, run.source, run.skipped = learner, number, source, Skipped(learner.skipped, faults)
    run.place, run.ends = places[0], places[1:]
    run.resumed_at = learner.rows
    run.input.columns = learner.columns
    for source_number in range(min(source, len(run.input.sources))):
        _still_the_same(run, source_number)


def _still_the_same(run: Run, number: int) -> None:
    source, end = run.input.sources[number], run.ends[number]
    for _ in after(end, run.input.blocks(source, hashed=True), source.name):
        raise InputError(f"{source.name} changed: it has grown since it was learned from. Start over without --resume.")


def _place(value: Any) -> Place:
    offset, lines, digest = value
    if not (type(offset) is int and type(lines) is int and offset >= 0 and lines >= 0 and isinstance(digest, str)):
        raise ValueError("a position in the input is invalid")
    return Place(offset, lines, digest)


def _fault(value: Any) -> Fault:
    source, line, column, what, unit = value
    if not all(type(n) is int for n in (line, column)) or not all(isinstance(t, str) for t in (source, what, unit)):
        raise ValueError("a recorded fault of the input is invalid")
    return Fault(source, line, column, what, unit)
