"""`pater data list | info | fetch`: list the data sets, show their sources, and download them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .errors import CommandError, UsageError, chosen
from .signals import stop_in_order
from .terminal import progress, tell

if TYPE_CHECKING:
    from pater.data import Entry

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

Folder = Annotated[
    Path | None,
    typer.Option(
        "--data",
        exists=True,
        file_okay=False,
        metavar="FOLDER",
        help="Where to look for data sets first.  [default: the folder set by PATER_DATA]",
    ),
]


@app.callback()
def data(context: typer.Context) -> None:
    """List, describe and download the 31 data sets of the paper."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list")
def list_sets(data: Folder = None) -> None:
    """List the data sets and whether they are available."""
    from pater.data import DATA_SETS, available

    at_hand = available(data)
    lines = [("no", "key", "name", "rows", "n+/n-", "at hand")]
    for key, entry in DATA_SETS.items():
        ratio = f"{entry.positives / entry.negatives:.2f}"
        lines.append((str(entry.number), key, entry.name, str(entry.rows), ratio, "yes" if key in at_hand else "no"))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        no, key, name, rows, ratio, there = (
            cell.ljust(width) if column in (1, 2) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        tell(f"{no}  {key}  {name}  {rows}  {ratio}  {there}")


@app.command("info")
def info(key: Annotated[str, typer.Argument(help="The key of a data set.")], data: Folder = None) -> None:
    """Show where a data set comes from, and how and why it is coded as it is."""
    from pater.data import DATA_SETS, available

    keys = chosen([key], tuple(DATA_SETS), "data set")
    if len(keys) != 1:
        raise UsageError(f"info expects the key of one data set; got {key!r}.")
    for line in _described(DATA_SETS[keys[0]], at_hand=keys[0] in available(data)):
        tell(line)


def _described(entry: Entry, *, at_hand: bool) -> list[str]:
    lines = [
        entry.description,
        f"In the paper: number {entry.number}, {entry.published.rows} rows, {entry.published.features} features, "
        f"n+/n- = {entry.published.ratio}.",
        f"At hand: {'yes' if at_hand else 'no'}.",
    ]
    for file in entry.files:
        sources = file.addresses or ((entry.archive.address,) if entry.archive else ())
        lines += [f"File {file.name}", f"  sha256 {file.sha256}", *(f"  from {address}" for address in sources)]
    return lines


@app.command("fetch")
def fetch(
    keys: Annotated[
        list[str] | None, typer.Argument(help="Keys of data sets.  [default: all that are missing]")
    ] = None,
    mirror: Annotated[str | None, typer.Option(metavar="URL", help="A mirror with the same paths.")] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, max=86_400, metavar="SECONDS", help="How long to wait for a silent server.")
    ] = 30.0,
) -> None:
    """Download data sets from their public sources into the user's cache, verifying every file."""
    from pater.data import DATA_SETS, available

    at_hand = available()
    wanted = chosen(keys or (), tuple(DATA_SETS), "data set") or [key for key in DATA_SETS if key not in at_hand]
    tell(os.fspath(download(wanted, mirror=mirror, timeout=timeout)))


def download(keys: Sequence[str], *, mirror: str | None = None, timeout: float = 30.0) -> Path:
    """Download while showing progress; return the folder."""
    from pater.data import DataError
    from pater.data import fetch as fetch_sets

    def show(file: str, done: int, total: int) -> None:
        bar.step(file, done, total)
        if file not in seen:
            seen.add(file)
            bar.milestone(f"downloading {file}")

    seen: set[str] = set()
    stop_in_order()
    try:
        with progress("downloading", in_bytes=True) as bar:
            return fetch_sets(keys, base_url=mirror, timeout=timeout, on_progress=show)
    except DataError as error:
        raise CommandError(str(error)) from error
