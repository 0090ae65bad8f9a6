"""`pater convert`: convert data from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import checks
from . import options as o
from .errors import UsageError
from .library import one_line_errors
from .signals import stop_in_order
from .terminal import output_errors, say, say_skipped, terminal

EXAMPLE = """\b
Examples:
  pater convert rows.svm rows.vw
  pater convert table.csv.gz table.parquet --drop customer
  pater convert table.csv rows.svm --label churn --bits 18
  zcat table.csv.gz | pater convert - - -f csv --output-format jsonl
"""


def convert(
    *,
    source: Annotated[str, typer.Argument(metavar="IN", help="A file, or - for standard input; plain or compressed.")],
    output: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            dir_okay=False,
            help="The output file, whose ending sets the format, as in .csv or .csv.gz; - for standard output.",
        ),
    ],
    format: o.Format = None,
    output_format: Annotated[
        str | None,
        typer.Option(
            "--output-format",
            metavar="NAME",
            help="libsvm, vw, csv, tsv, jsonl, parquet or arrow.  [default: by the ending]",
        ),
    ] = None,
    label: o.Label = None,
    weight_column: o.WeightColumn = None,
    categorical: o.Categorical = None,
    drop: o.Drop = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    bits: o.Bits = None,
    on_error: o.OnError = "stop",
) -> None:
    """Convert data between libsvm, VW, CSV, TSV, JSON lines, Parquet and Arrow."""
    checks.check_columns(label, weight_column, drop)
    place = checks.unless_dash(output)
    if place is None and output_format is None:
        raise UsageError("say with --output-format what goes to standard output: libsvm, vw, csv, tsv or jsonl.")
    with one_line_errors():
        from pater.formats.outputs import ending_of, format_of_output
        from pater.formats.reading import make_input
        from pater.formats.sources import FORMATS
        from pater.stream.conversion import TABLES
        from pater.stream.conversion import convert as write

        wanted = output_format or ("libsvm" if not ending_of(output) else format_of_output(output))
        if wanted is None:
            what = "its name does not end as that of a known format does"
            raise UsageError(f"{output}: {what}; say with --output-format what to write: {', '.join(FORMATS)}.")
        if wanted not in FORMATS:
            raise UsageError(f"--output-format must be one of {', '.join(FORMATS)}, got {wanted!r}.")
        if place is None and wanted in ("parquet", "arrow"):
            raise UsageError(f"{wanted} goes to a file, not to standard output: name it.")
        rows = make_input(
            source,
            format=format,
            label=label,
            weight=weight_column,
            categorical=categorical or (),
            drop=drop or (),
            bits=bits,
            delimiter=delimiter,
            decimal=decimal,
            features=1 << 30,
            on_error=on_error,
        )
        by_name = (*TABLES, "jsonl")
        if bits is not None and wanted in by_name and rows.sources[0].format in by_name:
            raise UsageError(
                f"--bits is for features; from {rows.sources[0].format} to {wanted}, columns stay as they are."
            )
        stop_in_order()
        with output_errors():
            codes, skipped = write(rows, place, wanted, terminal() if place is None else None)
    if codes:
        say("labels are numbers now: " + ", ".join(f"{name} is {code}" for name, code in codes.items()))
    say_skipped(skipped)
