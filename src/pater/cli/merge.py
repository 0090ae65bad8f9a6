"""`pater merge`: combine several models into one."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Annotated

import typer

from . import checks
from . import options as o
from .errors import CommandError, UsageError
from .library import one_line_errors
from .signals import stop_in_order
from .terminal import say

EXAMPLE = """\b
Example:
  pater merge monday.pater tuesday.pater -m both.pater
"""


def merge(
    models: Annotated[list[Path], typer.Argument(metavar="A B ...", help="Model files with the same settings.")],
    model: o.ModelOut,
) -> None:
    """Merge models: class sums and counts are added, weights are averaged by the rows that each model has seen.

    Files are read one by one and merged in the order given, with memory for only two models. The result may replace
    one of them: all are read before it is written.
    """
    for path in models:
        if glob.has_magic(str(path)) and not path.exists():
            raise CommandError(f"{path}: no file has a name like this.")
    if len(models) < 2:
        raise UsageError("merge expects at least two models.")
    checks.check_outputs(model)
    with one_line_errors():
        from pater.files.container import check_place, lock_place
        from pater.stream import load
        from pater.stream.merging import merged

        check_place(model)
        stop_in_order()
        with lock_place(model):
            together = merged((load(path) for path in models), [str(path) for path in models])
            together.save(model)
    say(f"{together.rows:,} rows in {model}")
