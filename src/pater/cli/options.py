"""Options that several verbs share, checks of them, and the conversion of library errors to one-line messages."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pater.compiler.telling import say_compiling

from .errors import CommandError, UsageError
from .outputs import no_dash
from .startup import announced, import_numba
from .terminal import say_warning

if TYPE_CHECKING:
    from pater.stream import Learner


def _checked_decimal(decimal: str | None) -> str | None:
    """Raise a UsageError unless the decimal mark is a point or a comma."""
    if decimal is not None and decimal.lower() not in (".", ",", "point", "comma"):
        raise UsageError(f"--decimal must be . or , (a point or a comma), got {decimal!r}.")
    return decimal


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
        callback=_checked_decimal,
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


def check_encoding(encoding: str | None, *, scale: bool, bits: int | None, crossed: bool = False) -> None:
    """Raise a UsageError if options of plain columns come with an encoder, or if there is no such encoding."""
    if encoding not in (None, "table", "plain"):
        raise UsageError(f"--encoding must be table or plain, got {encoding!r}.")
    given = [option for option, there in (("--scale", scale), ("--bits", bits is not None)) if there]
    if encoding == "table" and given:
        raise UsageError(f"{given[0]} cannot be combined with --encoding table: it is for plain columns.")
    if crossed and (given or encoding == "plain"):
        other = (*given, "--encoding plain")[0]
        raise UsageError(f"--interactions cannot be combined with {other}: it is for encoded tables.")


def pairs_of(interactions: list[str] | None) -> list[tuple[str, str]] | str | None:
    """Parse the columns to cross: a:b and c:d,e:f become pairs; all stays."""
    parts = [part.strip() for text in interactions or () for part in text.split(",")]
    if parts == ["all"]:
        return "all"
    pairs = []
    for part in parts:
        one, colon, other = (name.strip() for name in part.partition(":"))
        if not (one and colon and other) or ":" in other:
            what = "all stands alone" if part == "all" else f"got {part!r}"
            raise UsageError(f"--interactions expects two columns, as in country:amount, or all; {what}.")
        pairs.append((one, other))
    return pairs or None


def checked_delay(delay: str, time: str | None) -> int | str:
    """The number of rows after which labels arrive, or the column that says when."""
    rows = delay.strip()
    if rows.lstrip("+-").isdecimal():
        if len(rows) > 15 or rows.startswith("-"):
            raise UsageError(f"--delay must be a number of rows, 0 or more, or a column, got {delay[:40]}.")
        if time is not None:
            raise UsageError("--time needs --delay COLUMN.")
        return int(rows)
    if not rows:
        raise UsageError("--delay must be a number of rows or a column, got nothing.")
    return delay


def check_columns(label: str | None, weight: str | None, drop: list[str] | None) -> None:
    """Raise a UsageError if one column is given two roles."""
    uses = [("--label", label), ("--weight-column", weight), *(("--drop", name) for name in set(drop or ()))]
    known: dict[str, str] = {}
    for option, name in uses:
        if name is not None and known.setdefault(name, option) != option:
            raise UsageError(f"column {name!r} cannot be both {known[name]} and {option}.")


def checked_threshold(threshold: float | None, learner: Learner) -> float | None:
    """The threshold that was given, if any; an error unless it is a number and the model has two classes."""
    if threshold is None:
        return None
    if math.isnan(threshold):
        raise UsageError("--threshold must be a number, got nan.")
    if learner.classes.size != 2:
        raise CommandError(f"--threshold is for two classes, but the model has {learner.classes.size}.")
    return threshold


@contextmanager
def one_line_errors(compiling: Callable[[], None] = say_compiling, *, quiet: bool = False) -> Iterator[None]:
    """Turn errors of inputs and model files into one line; call `compiling` before kernels are compiled."""
    import_numba()
    from pater.files.model_file import ModelFileError
    from pater.formats.errors import Hint, InputError, UnseenLabelWarning
    from pater.models.warnings import ManyClassesWarning, OneClassWarning, PositiveClassWarning

    try:
        with announced(compiling), warnings.catch_warnings():
            warnings.simplefilter("always", ManyClassesWarning)
            warnings.simplefilter("always", UnseenLabelWarning)
            warnings.simplefilter("once", OneClassWarning)
            warnings.simplefilter("once", PositiveClassWarning)
            warnings.simplefilter("ignore" if quiet else "always", Hint)
            warnings.showwarning = say_warning
            yield
    except (InputError, ModelFileError) as error:
        raise CommandError(str(error)) from None
    except MemoryError:
        raise CommandError("there is not enough memory; use fewer --bits or --features.") from None
