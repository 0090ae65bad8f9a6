"""The verbs, put together: one file for each group of them; a new group is a file and its line below."""

from __future__ import annotations

from typing import Annotated

import typer
from typer.main import get_command

from pater import __version__

from . import convert, data, evaluate, explain, export, inspect, log, merge, predict, reproduce, serve, train
from .errors import UsageError
from .terminal import tell

app = typer.Typer(
    name="pater",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for verb in (train, predict, evaluate, inspect, explain, export, merge, convert, serve):
    name = verb.__name__.rpartition(".")[2]
    app.command(name, epilog=verb.EXAMPLE)(getattr(verb, name))
app.command("reproduce")(reproduce.reproduce)
app.add_typer(data.app, name="data")
app.add_typer(log.app, name="log")


@app.callback()
def pater(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """One-pass linear classifiers for imbalanced streams."""
    if context.invoked_subcommand is None:
        if version:
            tell(f"pater {__version__}")
        else:
            typer.echo(context.get_help())


def run(arguments: list[str]) -> int:
    """Run a command; its exit code.

    Typer's own way to do so would turn an interrupt and a closed pipe into endings of its own.
    """
    if any("\0" in argument for argument in arguments):
        raise UsageError("an argument holds the character of code 0, which no name of a file or a column can.")
    verbs = get_command(app)
    try:
        with verbs.make_context("pater", arguments) as context:
            verbs.invoke(context)
    except typer.Exit as leave:
        return leave.exit_code
    return 0
