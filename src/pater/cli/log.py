"""`pater log export | info | trim`: export, show or trim what a service has learned, from its state directory."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import checks
from . import options as o
from .errors import CommandError, UsageError
from .library import one_line_errors
from .signals import stop_in_order
from .terminal import say, tell, tell_json, why_not

if TYPE_CHECKING:
    from pater.serve.store.log import Log

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)

State = Annotated[Path, typer.Argument(metavar="DIR", help="The state directory of a service.")]


@app.callback()
def log(context: typer.Context) -> None:
    """Show, export or trim what a service has learned, from its state directory."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@contextmanager
def _opened(path: Path) -> Iterator[Log]:
    with one_line_errors():
        from pater.serve.store.log import Log

        opened = Log.open_to_read(path)
        try:
            yield opened
        finally:
            opened.close()


@app.command("export")
def export(
    state: State,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The file to write.  [default: standard output]"),
    ] = None,
    since: Annotated[
        int | None,
        typer.Option("--since", min=0, metavar="ROWS", help="Leave out the first N of all rows ever learned."),
    ] = None,
) -> None:
    """Write the rows that were learned as JSON lines for `pater train`; the server may be running.

    By default these are the rows since the last model was swapped in, and the command that trains the same model from
    them is printed; --since 0 writes all rows.
    """
    stop_in_order()
    output = checks.unless_dash(output)
    with _opened(state) as found:
        from pater.files.writing import writing
        from pater.serve.initial_learner import EXPORTED
        from pater.serve.store.export import begins, command, lines

        if output is not None and output.resolve().is_relative_to(found.folder.path.resolve()):
            raise UsageError(f"{output} is in the state directory; name a file elsewhere.")
        n, start = 0, begins(found)
        try:
            with writing(output) as file:
                for n, line in enumerate(lines(found, since, start)):  # noqa: B007, the first line tells of columns
                    file.write(line)
        except OSError as error:
            why = why_not(error) if output is None else f"{output}: cannot be written: {error.strerror or error}."
            raise CommandError(why) from None
        if since is None and start.position:
            say(
                f"{start.position:,} rows from before the model now being served are left out; --since 0 includes them."
            )
        say(f"{n:,} rows")
        if since is None:
            say(f"the same model: {shlex.join(command(found, output or EXPORTED, start))}")


@app.command("info")
def info(state: State, as_json: o.AsJson = False) -> None:
    """Show what a state directory holds; the server may be running."""
    with _opened(state) as found:
        from pater.serve.store.export import begins, command

        start = begins(found)
        told: dict[str, Any] = {
            "rows": found.position,
            "rows of the model by the log": found.position - start.position,
            "waiting for labels": found.count("pending"),
            "ids known": found.count("done"),
            "keys of requests known": found.count("keys"),
            "bytes": found.size(),
            "models": [_model(each._asdict()) for each in found.snapshots()],
            "events": [
                {"time": _time(each.time), "kind": each.kind, "content": each.content} for each in found.events(10)
            ],
            "train": shlex.join(command(found, start=start)),
        }
        for topic, left_out in found.meta("messages left out", default={}).items():
            told[f"messages of the topic {topic} left out"] = left_out["n"]
            told["the latest of them"] = left_out["latest"]
    if as_json:
        tell_json(told, indent=2)
        return
    for name, value in told.items():
        if isinstance(value, list):
            tell(f"{name}:")
            for each in value:
                tell(f"  {'  '.join(str(part) for part in each.values())}")
        else:
            tell(f"{name}: {value:,}" if isinstance(value, int) else f"{name}: {value}")


def _model(snapshot: dict[str, Any]) -> dict[str, Any]:
    names = ("file", "kind", "version", "position")
    return {"time": _time(snapshot["time"]), **{name: snapshot[name] for name in names}}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(" ", "seconds")


@app.command("trim")
def trim(
    state: State,
    before_snapshot: Annotated[
        bool, typer.Option("--before-snapshot", help="Drop the rows that the last snapshot has learned.")
    ] = False,
) -> None:
    """Drop rows from the log that the last snapshot of the model has learned, to free disk space.

    Stop the server first. The log then begins with that snapshot: `pater train -i` with the snapshot and a later
    export still gives the same model, but the dropped rows are gone.
    """
    if not before_snapshot:
        raise UsageError("trim drops rows for good: confirm with --before-snapshot.")
    with one_line_errors():
        from pater.serve.store.state import trim as drop

        try:
            dropped, file = drop(state)
        except OSError as error:
            raise CommandError(f"{error.filename or state}: {error.strerror or error}") from None
    say(f"{dropped:,} entries were dropped; the log begins with models/{file}")
