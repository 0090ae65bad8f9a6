"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .checks import checked_decimal, no_dash

Data = Annotated[
    list[str], typer.Argument(metavar="DATA...", help="Files, globs, or - for standard input; plain or compressed.")
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME",
        help="libsvm, vw, csv, tsv, jsonl, parquet or arrow.  [default: by the ending of the name, else libsvm]",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label", "-l", metavar="COLUMN", help="The label column of a table.  [default: label, target, class or y]"
    ),
]
WeightColumn = Annotated[
    str | None, typer.Option("--weight-column", metavar="COLUMN", help="The column with the importance of each row.")
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical", metavar="COLUMN", help="Treat this column of a table as categories, not numbers. Repeatable."
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Leave this column of a table out. Repeatable.")
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHAR",
        help="The delimiter of CSV fields.  [default: comma, semicolon or tab, as recognised]",
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar=".|,",
        help="The decimal mark of CSV numbers.  [default: comma if fields end in semicolons, else point]",
        callback=checked_decimal,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="table|plain",
        help="Encode a table's columns, or not.  [default: table; plain with --scale or --bits]",
    ),
]
Interactions = Annotated[
    list[str] | None,
    typer.Option(
        "--interactions",
        metavar="A:B|all",
        help="Cross two columns of a table, or all pairs of up to twenty. Repeatable, or a:b,c:d.",
    ),
]
MaxClasses = Annotated[
    int,
    typer.Option(
        "--max-classes",
        min=1,
        metavar="N",
        help="Stop if the first thousand rows have more different labels than this.",
    ),
]
Bits = Annotated[
    int | None,
    typer.Option(
        "--bits",
        "-b",
        min=1,
        max=26,
        metavar="N",
        help="Hash feature names to 2^N columns.  [default: 18 for VW and for tables with text, else no hashing]",
    ),
]
Features = Annotated[
    int, typer.Option("--features", min=1, metavar="N", help="The largest number of features that indices may need.")
]
OnError = Annotated[
    str,
    typer.Option("--on-error", metavar="stop|skip", help="What to do with a malformed line; skipped ones are counted."),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", "-j", min=1, metavar="N", help="Number of threads.  [default: one per processor]"),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        max=1024,
        metavar="N",
        help="Train on shards of the files in N processes, and merge the models.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="Do the same on a Dask cluster whose workers can read the files."
    ),
]
ShardSize = Annotated[
    str | None,
    typer.Option("--shard-size", metavar="SIZE", help="Split larger files into pieces of this size.  [default: 128M]"),
]
Scoring = Annotated[
    str,
    typer.Option(
        "--scoring", metavar="NAME", help="The score by which auto chooses: accuracy, balanced_accuracy, ter, f1 ..."
    ),
]
MaxFpr = Annotated[
    float | None,
    typer.Option(
        "--max-fpr",
        metavar="RATE",
        help="Set the threshold so that at most this share of negatives is predicted positive.",
    ),
]
MaxFnr = Annotated[
    float | None,
    typer.Option(
        "--max-fnr",
        metavar="RATE",
        help="Set the threshold so that at most this share of positives is predicted negative.",
    ),
]
Cost = Annotated[
    str | None,
    typer.Option(
        "--cost",
        metavar="FP:FN",
        help="Set the threshold by the costs of mistakes: 1:50, or false_negative=50,false_positive=1.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="MARGIN",
        help="Predict the second of two classes from this margin on.  [default: the model's threshold]",
    ),
]
Window = Annotated[
    int | None,
    typer.Option(
        "--window", min=1, metavar="ROWS", help="Report how good the predictions were in every N rows, and drift."
    ),
]
WindowOutput = Annotated[
    Path | None,
    typer.Option(
        "--window-output",
        dir_okay=False,
        metavar="FILE",
        help="Write the windows as .csv, .jsonl or .parquet.",
        callback=no_dash,
    ),
]
Scale = Annotated[bool, typer.Option("--scale", help="Standardise features as the stream passes.")]
ModelOut = Annotated[
    Path,
    typer.Option("--model", "-m", dir_okay=False, metavar="FILE", help="The model file to write."),
]
ModelIn = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", dir_okay=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

LIMIT_OF_FEATURES = 1 << 22
MOST_CLASSES = 100
