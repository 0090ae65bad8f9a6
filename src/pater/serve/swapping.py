"""Swap in a model file: check it, keep it in the state directory, and record it in the log.

Knows the engine, model files and columns.
"""

from __future__ import annotations

import asyncio
import os
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING

from ..files.container import ModelFileError
from ..files.writing import writing
from ..formats.columns import Columns
from ..formats.errors import InputError, listed
from .errors import Refusal
from .initial_learner import learner_of_file
from .quality.quality import Quality
from .recovery import MODEL
from .served_learner import Served
from .settled_columns import Settling
from .store.transaction import Transaction

if TYPE_CHECKING:
    from .engine import Engine


async def swap(engine: Engine, content: bytes) -> tuple[Served, Quality, Settling]:
    """Record a model in the log after everything learned so far; return it, its quality and its columns.

    The caller puts them in place, and hands on nothing to be learned meanwhile.
    """
    engine.conveyor.check()
    version = 1 + max((each.version for each in engine.log.snapshots()), default=engine.version)
    path = engine.log.folder.model(version)
    served = await asyncio.to_thread(checked_model, content, path, version, engine.settling)
    await engine.conveyor.drained()
    engine.conveyor.check()
    await engine.conveyor.mark()
    quality = deepcopy(engine.learned.quality)
    quality.swapped(served.learner.classes.tolist())
    settling = engine.settling.as_of(served.learner)

    def write(transaction: Transaction) -> None:
        settling.news()(transaction)
        transaction.snapshot(path.name, version=version, quality=quality.to_json(), kind=MODEL)
        transaction.event("model", {"version": version, "rows": served.rows, "file": path.name})

    await engine.conveyor.write(write)
    return served, quality, settling


def keep_model(content: bytes, path: Path) -> None:
    """Write a model file to its place, whole or not at all."""
    with writing(path, ()) as file:
        file.write(content)


def checked_model(content: bytes, path: Path, version: int, settling: Settling) -> Served:
    """The model of a file that is to take over, kept at `path`; a Refusal if it is unusable, and no file is kept."""
    try:
        keep_model(content, path)
    except OSError as error:
        raise Refusal(507, f"the model cannot be kept: {os.strerror(error.errno or 0)}.", retry_after=10) from None
    try:
        learner = learner_of_file(path)
        _check_columns(learner.columns or Columns(), settling)
    except (InputError, ModelFileError) as error:
        path.unlink(missing_ok=True)
        raise Refusal(422, str(error).replace(str(path), "the file")) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return Served(learner, version)


def _check_columns(new: Columns, settling: Settling) -> None:
    """Raise a Refusal if rows that are remembered, or that clients send, would not fit the model."""
    now = settling.columns
    if now is None:
        return
    ours, theirs = ({name for name, _ in each.table} for each in (now, new))
    if bool(now.table) != bool(new.table):
        raise Refusal(409, "of this service and the model, one learns from a table, the other from numbered features.")
    if ours != theirs:
        missing, more = sorted(ours - theirs), sorted(theirs - ours)
        told = "; ".join(
            f"it {verb} {listed(names)}" for verb, names in (("lacks", missing), ("has beside them", more)) if names
        )
        raise Refusal(409, f"the model has other columns than the rows that come here: {told}.")
    if settling.labels_known and now.numeric_labels != new.numeric_labels:
        raise Refusal(409, "the labels of one model are numbers, and those of the other are text.")
