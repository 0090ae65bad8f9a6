"""The command line: `pater VERB ...`.

Thin: every verb is a function that checks what it was given, calls the library and prints. One file for each group of
verbs; a new group is a file and its line below. Nothing heavy is imported before a verb runs, so that help is instant.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from pater import __version__

from . import convert, data, evaluate, inspect, merge, predict, reproduce, train
from .errors import CommandError
from .startup import rare_collections

app = typer.Typer(
    name="pater",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for verb in (train, predict, evaluate, inspect, merge, convert):
    name = verb.__name__.rpartition(".")[2]
    app.command(name, epilog=verb.EXAMPLE)(getattr(verb, name))
app.command("reproduce")(reproduce.reproduce)
app.add_typer(data.app, name="data")


@app.callback()
def pater(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """One-pass linear classifiers for imbalanced streams."""
    if context.invoked_subcommand is None:
        typer.echo(f"pater {__version__}" if version else context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code: 0, 1 for a failure, 2 for wrong usage, 130 for an interrupt."""
    with rare_collections():
        sys.exit(_run(sys.argv[1:] if arguments is None else list(arguments)))


def command() -> None:
    """The program: `main`, and then leave at once.

    To take an interpreter apart that holds a compiler takes a fifth of a second, and all is written by then. The study
    has processes and temporary files to look after, so it ends as usual.
    """
    try:
        main()
    except SystemExit as leave:
        if "pater.study" in sys.modules:
            raise
        code = leave.code if isinstance(leave.code, int) else 1
    try:
        sys.stdout.flush()
    except OSError as error:
        code = code or _complain(f"standard output: {error.strerror or error}", 1)
    os._exit(code)


def _run(arguments: list[str]) -> int:
    try:
        return int(app(arguments, prog_name="pater", standalone_mode=False) or 0)
    except CommandError as error:
        return _complain(str(error), error.code)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", 130)
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}" if error.filename else str(error), 1)
    except Exception as error:
        # What typer raises for wrong usage has moved between modules from version to version, but not changed.
        if not hasattr(error, "format_message"):
            raise
        return _complain(error.format_message(), 2)


def _complain(message: str, code: int) -> int:
    """One line on the error stream."""
    print("pater:", " ".join(message.split()), file=sys.stderr, flush=True)
    return code
