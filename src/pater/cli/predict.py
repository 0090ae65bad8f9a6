"""`pater predict`: predict rows with a model, one prediction for each, in order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import checks
from . import options as o
from .errors import UsageError
from .library import one_line_errors
from .signals import stop_in_order
from .terminal import output_errors, say_skipped, terminal

EXAMPLE = """\b
Examples:
  pater predict rows.pater new.svm
  pater predict rows.pater new.svm --margins -o margins.parquet
  zcat new.vw.gz | pater predict clicks.pater - -f vw --output-format jsonl
"""


def predict(
    *,
    model: o.ModelIn,
    data: o.Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", dir_okay=False, metavar="FILE", help="[default: standard output]")
    ] = None,
    margins: Annotated[
        bool, typer.Option("--margins", help="Add the margin of each class; with two classes, that of the second.")
    ] = False,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Add the probability of each class.")] = False,
    output_format: Annotated[
        str | None,
        typer.Option(
            "--output-format", metavar="NAME", help="csv, jsonl or parquet.  [default: by the ending, else csv]"
        ),
    ] = None,
    threshold: o.Threshold = None,
    format: o.Format = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    on_error: o.OnError = "stop",
    threads: o.Threads = None,
) -> None:
    """Predict the rows of DATA with a model. For a malformed line that is skipped, the fields are empty."""
    if output is not None and checks.unless_dash(output) is None and output_format == "parquet":
        raise UsageError("Parquet goes to a file, not to standard output: name it with --output.")
    output = checks.unless_dash(output)
    with one_line_errors():
        from pater.stream import load
        from pater.stream.prediction import predict_to

        stop_in_order()
        learner = load(model)
        at = checks.checked_threshold(threshold, learner)
        with output_errors():
            skipped = predict_to(
                learner,
                data,
                output,
                margins=margins,
                probabilities=probabilities,
                threshold=at,
                output_format=output_format,
                format=format,
                delimiter=delimiter,
                decimal=decimal,
                on_error=on_error,
                threads=threads,
                model=model,
                stream=terminal(),
            )
    say_skipped(skipped)
