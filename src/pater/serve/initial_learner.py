"""What a service begins with: the settings of `pater train`, or a model file, as the state directory keeps them.

Knows `stream/beginning.py`. A learner is made for the log as `pater train` makes one for the exported log, so that both
come to the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..formats.columns import HASHED, Columns
from ..formats.errors import InputError
from ..stream.beginning import Beginning
from ..stream.learner import Learner, load

EXPORTED = "log.jsonl"  # what a model trained on the log names as its source: the file name of the export
LABEL = "label"  # the key of a row besides its features


@dataclass(frozen=True)
class _Named:
    name: str = EXPORTED


class _Log:
    """The log, presented to `Beginning` as an input."""

    def __init__(self, columns: Columns) -> None:
        self.sources, self._columns = [_Named()], columns

    def describe(self) -> Columns:
        return self._columns


def new_learner(settings: dict[str, Any], columns: Columns) -> Learner:
    """A learner that has learned nothing yet, with the settings of `Beginning` that the state directory keeps."""
    return Beginning(**settings).learner(_Log(columns))  # type: ignore[arg-type]


def learner_of_file(path: Path) -> Learner:
    """The learner of a model file that the service begins with or that is swapped in, ready to learn from the log."""
    before = load(path)
    columns = with_label(before.columns or Columns())
    if columns.kind == HASHED and not columns.table:
        raise InputError(
            f"{path} learned from hashed names, of VW or with --bits, which a request cannot give. Serve a model of a "
            "table, or of numbered features."
        )
    return Beginning(initial=path).learner(_Log(columns))  # type: ignore[arg-type]


def with_label(columns: Columns) -> Columns:
    """The columns with the label's name filled in for a table whose estimator does not name it."""
    return replace(columns, label=LABEL) if columns.table and columns.label is None else columns
