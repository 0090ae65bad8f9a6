"""`pater demo`: make a small table and run the main commands on it, shown so that they can be repeated."""

from __future__ import annotations

import csv
import shlex
import shutil
import textwrap
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .errors import CommandError
from .terminal import tell

if TYPE_CHECKING:
    from pater.data.payments import Payment

EXAMPLE = """\b
Examples:
  pater demo
  pater demo first-look
"""
FOLDER = "pater-demo"
PAST, FUTURE = 20_000, 5_000  # rows


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            help=f"A new folder for the files.  [default: {FOLDER}, or {FOLDER}-2 if that exists, ...]",
        ),
    ] = None,
) -> None:
    """Make a small table; train, evaluate and explain a model on it. Nothing is overwritten."""
    place = _new_folder(folder)
    past, future, one, model, page = (
        place / name for name in ("payments.csv", "next.csv", "one.csv", "fraud.pater", "effects.html")
    )
    _make_tables(past, future, one)
    _prose(
        f"{past} has {PAST:,} made-up payments; three in a hundred are fraud. {future} has the {FUTURE:,} "
        f"that came next, and {one} has one fraud among them."
    )
    _step("Learn from the past, in one pass.")
    _run("train", past, "--label", "fraud", "-m", model)
    _step("Evaluate it on what came next: FPR is the rate of false alarms, FNR the rate of missed frauds.")
    _run("evaluate", future, "--label", "fraud", "-m", model)
    _step("See what it learned about the column that matters most.")
    _run("explain", model, "--top", 1)
    _step("All columns, on a page for a browser.")
    _run("explain", model, "--html", page)
    _step("See why it considers that one payment a fraud: the parts add up to the margin.")
    _run("explain", model, one)
    _prose("Try the files yourself. With fewer false alarms, and a prediction for each payment:")
    tell(_typed("train", past, "--label", "fraud", "--max-fpr", 0.02, "-m", place / "careful.pater"))
    tell(_typed("predict", place / "careful.pater", future, "-o", place / "predictions.csv"))
    tell()
    _prose("Run `pater` to see all commands.")


def _new_folder(wanted: Path | None) -> Path:
    """Make a folder of that name, which must be new or empty; without a name, the first that does not exist."""
    if wanted is not None:
        if wanted.exists() and not (wanted.is_dir() and not any(wanted.iterdir())):
            raise CommandError(f"{wanted} already exists, and nothing is overwritten: name a new folder.")
        wanted.mkdir(parents=True, exist_ok=True)
        return wanted
    for number in count(1):
        place = Path(FOLDER if number == 1 else f"{FOLDER}-{number}")
        try:
            place.mkdir()
        except FileExistsError:
            continue
        return place
    raise AssertionError


def _make_tables(past: Path, future: Path, one: Path) -> None:
    from pater.data.payments import made_payments

    payments = list(made_payments(PAST + FUTURE))
    later = payments[PAST:]
    _write(past, payments[:PAST])
    _write(future, later)
    _write(one, [next(payment for payment in later if payment.fraud == "yes")])


def _write(path: Path, payments: Iterable[Payment]) -> None:
    from pater.data.payments import Payment

    with path.open("x", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(Payment._fields)
        lines.writerows(payments)


def _step(text: str) -> None:
    tell()
    _prose(text)


def _prose(text: str) -> None:
    width = min(100, shutil.get_terminal_size().columns)
    for line in textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False):
        tell(line)


def _run(*arguments: object) -> None:
    """Show a command as it is typed, and run it."""
    from .app import run

    tell(_typed(*arguments))
    run([str(argument) for argument in arguments])


def _typed(*arguments: object) -> str:
    return f"  $ {shlex.join(['pater', *map(str, arguments)])}"
