"""`pater convert`: convert data from one format to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .errors import UsageError
from .signals import stop_in_order
from .terminal import say, say_skipped

EXAMPLE = """\b
Examples:
  pater convert rows.svm rows.vw
  pater convert table.csv.gz table.parquet
  pater convert table.csv rows.svm --label churn --bits 18
"""


def convert(
    *,
    source: Annotated[str, typer.Argument(metavar="IN", help="A file, or - for standard input; plain or compressed.")],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", dir_okay=False, help="The output file; its ending sets the format.")
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
    categorical: o.Categorical = None,
    drop: o.Drop = None,
    delimiter: o.Delimiter = None,
    bits: o.Bits = None,
    on_error: o.OnError = "stop",
) -> None:
    """Convert data between libsvm, VW, CSV, TSV, JSON lines, Parquet and Arrow."""
    with o.one_line_errors():
        from pater.formats.reading import make_input
        from pater.formats.sources import FORMATS, format_of
        from pater.stream.conversion import convert as write

        wanted = output_format or format_of(str(output))
        if wanted not in FORMATS:
            raise UsageError(f"there is no format {wanted!r}; there are {', '.join(FORMATS)}.")
        rows = make_input(
            source,
            format=format,
            label=label,
            categorical=categorical or (),
            drop=drop or (),
            bits=bits,
            delimiter=delimiter,
            features=1 << 30,
            on_error=on_error,
        )
        stop_in_order()
        codes, skipped = write(rows, output, wanted)
    if codes:
        say("labels are numbers now: " + ", ".join(f"{name} is {code}" for name, code in codes.items()))
    say_skipped(skipped)
