"""All verbs together: one file for each group of them; a new group needs a file and a line below."""

from __future__ import annotations

from copy import copy
from typing import Annotated, Any

import typer
from typer.main import get_command

from pater import __version__

from . import convert, data, demo, evaluate, explain, export, inspect, log, merge, predict, reproduce, serve, train
from .errors import UsageError
from .plain_options import PlainCommand
from .terminal import tell

app = typer.Typer(
    name="pater",
    invoke_without_command=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
ABOUT = """Linear classifiers that learn from a stream in one pass, made for imbalanced data.

See it at work in seconds, in a new folder:

  pater demo

With your own table, whose column "fraud" holds the label:

\b
  pater train payments.csv --label fraud -m fraud.pater
  pater evaluate next.csv --label fraud --model fraud.pater
  pater explain fraud.pater
  pater predict fraud.pater new.csv -o predictions.csv

`pater COMMAND --help` shows every option of a command, with examples.
"""
SHORT = {  # for help texts that are longer than a line of the list
    "demo": "Make a small table; train, evaluate and explain a model.",
    "train": "Learn a model from labelled rows, in one pass.",
    "predict": "Predict rows with a model.",
    "evaluate": "Evaluate a model, or a learner along the stream.",
    "inspect": "Show a model's settings, counts and largest weights.",
    "explain": "Show the effect of each column, or explain rows.",
    "export": "Write a model as JSON, SQL or ONNX, for other programs.",
    "merge": "Merge models trained on parts of the data.",
    "convert": "Convert data between libsvm, VW, CSV, JSON lines, Parquet ...",
    "serve": "Predict over HTTP, and learn when labels arrive.",
    "reproduce": "Run the paper's experiment and compare the figures.",
    "log": "Show what a service has learned.",
}
for verb in (demo, train, predict, evaluate, inspect, explain, export, merge, convert, serve):
    name = verb.__name__.rpartition(".")[2]
    kind = PlainCommand if verb is train else None
    app.command(name, cls=kind, epilog=verb.EXAMPLE, short_help=SHORT.get(name))(getattr(verb, name))
app.command("reproduce", short_help=SHORT["reproduce"])(reproduce.reproduce)
app.add_typer(data.app, name="data")
app.add_typer(log.app, name="log", short_help=SHORT["log"])


@app.callback(help=ABOUT)
def pater(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if context.invoked_subcommand is None:
        if version:
            tell(f"pater {__version__}")
        else:
            typer.echo(context.get_help())


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code.

    Typer's own runner would handle interrupts and closed pipes in its own way.
    """
    if any("\0" in argument for argument in arguments):
        raise UsageError("an argument contains a null character, which no file or column name can contain.")
    try:
        with _context(arguments) as context:
            context.command.invoke(context)
    except typer.Exit as leave:
        return leave.exit_code
    return 0


def _context(arguments: list[str]) -> Any:
    """The context of the verb that the arguments begin with, or else of the whole app.

    Building all verbs takes longer than importing Typer, and no option comes before the verb.
    """
    named = [each for each in app.registered_commands if each.name in arguments[:1]]
    if not named:
        return get_command(app).make_context("pater", arguments)
    alone = copy(app)
    alone.registered_commands, alone.registered_groups = named, []
    verbs: Any = get_command(alone)
    above = typer.Context(verbs, info_name="pater", **verbs.context_settings)
    return verbs.commands[arguments[0]].make_context(arguments[0], arguments[1:], parent=above)
