"""Options that several verbs share, and how the errors of the library become lines for the reader."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .errors import CommandError, UsageError
from .startup import announced, without_blas
from .terminal import say_compiling, say_warning

if TYPE_CHECKING:
    from pater.stream import Learner

PICTURES = ("png", "pdf", "svg", "eps", "jpeg", "jpg", "ps", "tif", "tiff", "webp")  # the endings of their names
TABLES = ("csv", "jsonl", "parquet", "ndjson")


def _checked_decimal(decimal: str | None) -> str | None:
    """It is wrong usage if numbers are said to have anything but a point or a comma."""
    if decimal is not None and decimal.lower() not in (".", ",", "point", "comma"):
        raise UsageError(f"--decimal must be . or , (a point or a comma), got {decimal!r}.")
    return decimal


def no_dash(path: Path | None) -> Path | None:
    """It is wrong usage to send to standard output what goes to a file only; a file called - would be a surprise."""
    if path is not None and str(path) == "-":
        raise UsageError("- is standard output, but this goes to a file only: name one.")
    return path


def check_ending(option: str, path: Path | None, endings: tuple[str, ...], data: list[str]) -> None:
    """It is wrong usage to ask for a file in a format that cannot be written; what is read is refused elsewhere."""
    if path is not None and path.suffix[1:].lower() not in ("", *endings) and str(path) not in data:
        wanted = ", ".join(f".{ending}" for ending in endings[:3])
        raise UsageError(f"{option} wants a file that ends in {wanted} or the like, got {path}.")


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
    typer.Option("--label", "-l", metavar="COLUMN", help="A table's label.  [default: label, target, class or y]"),
]
WeightColumn = Annotated[
    str | None, typer.Option("--weight-column", metavar="COLUMN", help="A table's importance of each row.")
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical", metavar="COLUMN", help="This column of a table holds categories, not numbers. Repeatable."
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Leave this column of a table out. Repeatable.")
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", metavar="CHAR", help="Between fields of CSV.  [default: comma, semicolon or tab, recognised]"
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar=".|,",
        help="In numbers of CSV.  [default: a comma between semicolons, else a point]",
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
        help="Cross two columns of a table, or all of up to twenty. Repeatable, or a:b,c:d.",
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
        help="Hash feature names to 2^N columns.  [default: 18 for VW and for tables with text, else no hash]",
    ),
]
Features = Annotated[
    int, typer.Option("--features", min=1, metavar="N", help="The most features that indices may ask for.")
]
OnError = Annotated[
    str,
    typer.Option("--on-error", metavar="stop|skip", help="What to do with a malformed line; skipped ones are counted."),
]
Threads = Annotated[
    int | None, typer.Option("--threads", "-j", min=1, metavar="N", help="Threads.  [default: one a processor]")
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, max=1024, metavar="N", help="Learn shards of the files by N processes, and merge them."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="ADDRESS", help="The same on a Dask cluster whose workers see the files."),
]
ShardSize = Annotated[
    str | None,
    typer.Option("--shard-size", metavar="SIZE", help="Cut larger files into such pieces.  [default: 128M]"),
]
Scoring = Annotated[
    str,
    typer.Option("--scoring", metavar="NAME", help="What best means to auto: accuracy, balanced_accuracy, ter, f1 ..."),
]
MaxFpr = Annotated[
    float | None,
    typer.Option(
        "--max-fpr", metavar="RATE", help="Decide so that at most this share of the negatives is called positive."
    ),
]
MaxFnr = Annotated[
    float | None,
    typer.Option(
        "--max-fnr", metavar="RATE", help="Decide so that at most this share of the positives is called negative."
    ),
]
Cost = Annotated[
    str | None,
    typer.Option(
        "--cost",
        metavar="FP:FN",
        help="Decide by what a false positive and a false negative cost: 1:50, or false_negative=50,false_positive=1.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="MARGIN",
        help="Of two classes, predict the second from this margin on.  [default: what the model has learned]",
    ),
]
Window = Annotated[
    int | None,
    typer.Option(
        "--window", min=1, metavar="ROWS", help="Tell how good the answers were in every so many rows, and of drift."
    ),
]
WindowOutput = Annotated[
    Path | None,
    typer.Option(
        "--window-output", dir_okay=False, metavar="FILE", help="Windows as .csv, .jsonl or .parquet.", callback=no_dash
    ),
]
Scale = Annotated[bool, typer.Option("--scale", help="Standardise as the stream passes.")]
ModelOut = Annotated[
    Path,
    typer.Option("--model", "-m", dir_okay=False, metavar="FILE", help="Where the model goes.", callback=no_dash),
]
ModelIn = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file.", dir_okay=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]

LIMIT_OF_FEATURES = 1 << 22
MOST_CLASSES = 100


def check_encoding(encoding: str | None, *, scale: bool, bits: int | None, crossed: bool = False) -> None:
    """It is wrong usage if options of plain columns go with an encoder, or if there is no such encoding."""
    if encoding not in (None, "table", "plain"):
        raise UsageError(f"--encoding must be table or plain, got {encoding!r}.")
    given = [option for option, there in (("--scale", scale), ("--bits", bits is not None)) if there]
    if encoding == "table" and given:
        raise UsageError(f"{given[0]} cannot go with --encoding table: it is for plain columns.")
    if crossed and (given or encoding == "plain"):
        raise UsageError(f"--interactions cannot go with {(*given, '--encoding plain')[0]}: it is for encoded tables.")


def pairs_of(interactions: list[str] | None) -> list[tuple[str, str]] | str | None:
    """The columns that are to be crossed: from a:b and c:d,e:f to pairs, or all."""
    parts = [part.strip() for text in interactions or () for part in text.split(",")]
    if parts == ["all"]:
        return "all"
    pairs = []
    for part in parts:
        one, colon, other = (name.strip() for name in part.partition(":"))
        if not (one and colon and other) or ":" in other:
            what = "all stands alone" if part == "all" else f"got {part!r}"
            raise UsageError(f"--interactions wants two columns, as in country:amount, or all; {what}.")
        pairs.append((one, other))
    return pairs or None


def checked_delay(delay: str, time: str | None) -> int | str:
    """After how many rows labels come, or the column that says when."""
    rows = delay.strip()
    if rows.lstrip("+-").isdecimal():
        if len(rows) > 15 or rows.startswith("-"):
            raise UsageError(f"--delay must be a number of rows from 0 on, or a column, got {delay[:40]}.")
        if time is not None:
            raise UsageError("--time goes with --delay COLUMN.")
        return int(rows)
    if not rows:
        raise UsageError("--delay must be a number of rows or a column, got nothing.")
    return delay


def unless_dash(path: Path | None) -> Path | None:
    """The file that is named, or None for standard output, which is called -."""
    return None if path is None or str(path) == "-" else path


def check_columns(label: str | None, weight: str | None, drop: list[str] | None) -> None:
    """It is wrong usage if one column is to be two things."""
    uses = [("--label", label), ("--weight-column", weight), *(("--drop", name) for name in set(drop or ()))]
    known: dict[str, str] = {}
    for option, name in uses:
        if name is not None and known.setdefault(name, option) != option:
            raise UsageError(f"column {name!r} cannot be both {known[name]} and {option}.")


def check_outputs(*paths: Path | None) -> None:
    """It is wrong usage to write two things to one place."""
    places = [path.resolve() for path in paths if path is not None]
    for place in places:
        if places.count(place) > 1:
            raise UsageError(f"{place} cannot be two outputs at once.")


def checked_threshold(threshold: float | None, learner: Learner) -> float | None:
    """A threshold that was given, for a model that decides by one."""
    if threshold is None:
        return None
    if math.isnan(threshold):
        raise UsageError("--threshold must be a number, got nan.")
    if learner.classes.size != 2:
        raise CommandError(f"--threshold is for two classes, but the model has {learner.classes.size}.")
    return threshold


@contextmanager
def one_line_errors(compiling: Callable[[], None] = say_compiling, *, quiet: bool = False) -> Iterator[None]:
    """Whatever is wrong with an input or a model file ends in one line; `compiling` is called if there is a wait."""
    without_blas()
    from pater.files.model_file import ModelFileError
    from pater.formats.errors import Hint, InputError, UnseenLabelWarning
    from pater.models.warnings import ManyClassesWarning, OneClassWarning

    try:
        with announced(compiling), warnings.catch_warnings():
            warnings.simplefilter("always", ManyClassesWarning)
            warnings.simplefilter("always", UnseenLabelWarning)
            warnings.simplefilter("once", OneClassWarning)
            warnings.simplefilter("ignore" if quiet else "always", Hint)
            warnings.showwarning = say_warning
            yield
    except (InputError, ModelFileError) as error:
        raise CommandError(str(error)) from None
    except MemoryError:
        raise CommandError("there is not enough memory; fewer --bits or --features need less.") from None
