"""Checks of where the results of a command go: to files, or to standard output, which is called -."""

from __future__ import annotations

from pathlib import Path

from .errors import UsageError

PICTURES = ("png", "pdf", "svg", "eps", "jpeg", "jpg", "ps", "tif", "tiff", "webp")  # the endings of their names
TABLES = ("csv", "jsonl", "parquet", "ndjson")


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
