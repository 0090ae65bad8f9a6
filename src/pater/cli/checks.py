"""Checks of options that several verbs share, before anything is read or written.

Standard output is called -. What is wrong becomes a UsageError that names the option.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import CommandError, UsageError

if TYPE_CHECKING:
    from pater.stream import Learner

PICTURES = ("png", "pdf", "svg", "eps", "jpeg", "jpg", "ps", "tif", "tiff", "webp")  # the endings of their names
TABLES = ("csv", "jsonl", "parquet", "ndjson")


def checked_decimal(decimal: str | None) -> str | None:
    """Raise a UsageError unless the decimal mark is a point or a comma."""
    if decimal is not None and decimal.lower() not in (".", ",", "point", "comma"):
        raise UsageError(f"--decimal must be . or , (a point or a comma), got {decimal!r}.")
    return decimal


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


def no_dash(path: Path | None) -> Path | None:
    """Raise a UsageError if - is named for what goes only to a file; a file called - would be a surprise."""
    if path is not None and str(path) == "-":
        raise UsageError("- is standard output, but this goes to a file only: name one.")
    return path


def check_ending(option: str, path: Path | None, endings: tuple[str, ...], data: list[str]) -> None:
    """Raise a UsageError for an output in a format that cannot be written. Inputs are refused elsewhere."""
    if path is not None and path.suffix[1:].lower() not in ("", *endings) and str(path) not in data:
        wanted = ", ".join(f".{ending}" for ending in endings[:3])
        raise UsageError(f"{option} expects a file that ends in {wanted} or the like, got {path}.")


def unless_dash(path: Path | None) -> Path | None:
    """The file that is named, or None for standard output, which is called -."""
    return None if path is None or str(path) == "-" else path


def check_outputs(*paths: Path | None) -> None:
    """Raise a UsageError if two outputs are the same file, or if one is standard output."""
    for path in paths:
        no_dash(path)
    places = [path.resolve() for path in paths if path is not None]
    for place in places:
        if places.count(place) > 1:
            raise UsageError(f"{place} cannot be two outputs at once.")
