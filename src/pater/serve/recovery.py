"""Recover a model from a state directory: load the last snapshot, and learn the entries of the log after it.

Knows `learned_log`, the log and model files. The result is, byte for byte, that of a service that was never stopped.
"""

from __future__ import annotations

import logging
from typing import Any

from ..files.container import ModelFileError
from ..formats.columns import Columns
from ..formats.errors import InputError
from ..stream.learner import load
from .initial_learner import learner_of_file
from .learned_log import Learned
from .quality.quality import Quality
from .served_learner import Served
from .settled_columns import COLUMNS
from .store.folder import StateError
from .store.log import Log

Refused = dict[int, list[int]]  # by entry number, the places of rows that cannot be learned
MODEL = "model"  # the kind of a snapshot that was swapped in, or that the service began with
say = logging.getLogger("pater.serve")


def recovered(log: Log, settings: dict[str, Any], window: int) -> tuple[Learned, Refused]:
    """The state that results from the log, and the rows that cannot be learned and have yet to be marked so."""
    learned = _begun(log, settings, window)
    try:
        for _ in learned.take(log.entries(learned.entry)):
            pass
    except InputError as error:
        say.warning("rows of the log are refused: %s", error)
        return repaired(log, settings, window, until=learned.entry, last=log.last_entry)
    return learned, {}


def repaired(log: Log, settings: dict[str, Any], window: int, *, until: int, last: int) -> tuple[Learned, Refused]:
    """The same up to the `last` entry, where an entry after `until` holds rows that cannot be learned."""
    learned = _begun(log, settings, window)
    refused: Refused = {}
    for _ in learned.take(log.entries(learned.entry, until)):
        pass
    for entry in log.entries(learned.entry, last):
        found = learned.take_carefully(entry)
        if len(found) > len(entry.refused):
            refused[entry.number] = found
    return learned, refused


def _begun(log: Log, settings: dict[str, Any], window: int) -> Learned:
    """The state at the last snapshot that can be read, or an empty one.

    Raises a StateError if a model that was swapped in, or that the service began with, would be needed and cannot be
    read.
    """
    told = log.meta(COLUMNS)
    learned = Learned(settings, Quality(window), None if told is None else Columns.from_json(told))
    for snapshot in reversed(log.snapshots()):
        path = log.folder.file(snapshot.file)
        try:
            learner = (learner_of_file if snapshot.kind == MODEL else load)(path)
        except (ModelFileError, InputError, OSError) as error:
            if snapshot.kind == MODEL:
                raise StateError(f"{path}: the model to continue from cannot be read: {error}") from None
            say.warning("%s cannot be read, and the snapshot before it is used: %s", path.name, error)
            continue
        learned.served = Served(learner, snapshot.version)
        learned.columns = learned.columns or learner.columns
        learned.entry, learned.position = snapshot.entry, snapshot.position
        if snapshot.quality:
            learned.quality = Quality.from_json(snapshot.quality, window)
        break
    return learned
