"""A model file that is to be served: checked, and kept in the state directory.

Knows model files and columns.
"""

from __future__ import annotations

import os
from pathlib import Path

from ..files.container import ModelFileError
from ..files.writing import writing
from ..formats.columns import Columns
from ..formats.errors import InputError, listed
from .beginning import learner_of_file
from .errors import Refusal
from .served import Served


def keep_model(content: bytes, path: Path) -> None:
    """Write a model file to its place, whole or not at all."""
    with writing(path, ()) as file:
        file.write(content)


def checked_model(content: bytes, path: Path, version: int, columns: Columns | None) -> Served:
    """The model of a file that is to take over, kept at `path`; a Refusal if it cannot be used, and nothing is kept."""
    try:
        keep_model(content, path)
    except OSError as error:
        raise Refusal(507, f"the model cannot be kept: {os.strerror(error.errno or 0)}.", retry_after=10) from None
    try:
        learner = learner_of_file(path)
        _check_columns(learner.columns or Columns(), columns)
    except (InputError, ModelFileError) as error:
        path.unlink(missing_ok=True)
        raise Refusal(422, str(error).replace(str(path), "the file")) from None
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return Served(learner, version)


def _check_columns(new: Columns, now: Columns | None) -> None:
    """A Refusal if rows that are remembered, or that clients send, would not fit the model."""
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
    if now.numeric_labels != new.numeric_labels:
        raise Refusal(409, "the labels of one model are numbers, and those of the other are text.")
