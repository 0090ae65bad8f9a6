"""`pater export`: write a model for programs that do not use pater."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import checks
from . import options as o
from .errors import CommandError, UsageError
from .library import one_line_errors
from .terminal import output_errors, terminal

if TYPE_CHECKING:
    from pater.stream import Learner

EXAMPLE = """\b
Examples:
  pater export rows.pater -o rows.json
  pater export rows.pater -o rows.onnx
  pater export churn.pater --to sql --table customers --key id
"""
FORMS = ("json", "sql", "onnx")


def export(
    *,
    model: o.ModelIn,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="FORM", help="json, sql or onnx.  [default: by the ending of the output, else json]"
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", dir_okay=False, metavar="FILE", help="[default: standard output]")
    ] = None,
    table: Annotated[
        str | None, typer.Option("--table", metavar="NAME", help="For SQL: the table to score.  [default: rows]")
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN", help="For SQL: a column to keep beside the predictions. Repeatable."),
    ] = None,
    dialect: Annotated[
        str | None, typer.Option("--dialect", metavar="NAME", help="For SQL: sqlite or duckdb.  [default: sqlite]")
    ] = None,
) -> None:
    """Write a model as JSON, as an SQL query or as ONNX, for programs that do not use pater."""
    output = checks.unless_dash(output)
    ending = output.suffix[1:].lower() if output is not None else ""
    form = to or ending or "json"
    if form not in FORMS:
        wrong = f"--to must be json, sql or onnx, got {to!r}." if to else None
        raise UsageError(wrong or f"{output} does not end in .json, .sql or .onnx: give --to json, sql or onnx.")
    given = [name for name, value in (("--table", table), ("--key", key), ("--dialect", dialect)) if value]
    if given and form != "sql":
        raise UsageError(f"{given[0]} needs --to sql.")
    with one_line_errors():
        from pater.files.writing import is_stream, writing
        from pater.stream import load

        if form == "onnx" and is_stream(output):
            raise UsageError("ONNX must be written to a file: name it with --output.")
        learner = load(model)
        try:
            if form == "onnx":
                whole = _onnx(learner)
            elif form == "sql":
                whole = _sql(learner, table or "rows", key or [], dialect or "sqlite")
            else:
                whole = _json(learner)
        except ValueError as error:  # the model cannot be written in this form
            raise CommandError(f"{model}: {error}") from None
        with output_errors():
            try:
                with (terminal() if output is None else None) or writing(output, [model]) as file:
                    file.write(whole)
            except OSError as error:
                if output is None:
                    raise
                raise CommandError(f"{output}: cannot be written: {error.strerror or error}.") from None


def _json(learner: Learner) -> bytes:
    import json

    from pater.export import document

    return json.dumps(document(learner), allow_nan=False).encode() + b"\n"


def _sql(learner: Learner, table: str, keys: list[str], dialect: str) -> bytes:
    from pater.export import document, sql

    return sql(document(learner), table, keys=keys, dialect=dialect).encode() + b"\n"


def _onnx(learner: Learner) -> bytes:
    try:
        made = import_module("pater.onnx").to_onnx(learner)
    except ImportError as error:
        raise CommandError(str(error)) from None
    whole: bytes = made.SerializeToString()
    return whole
