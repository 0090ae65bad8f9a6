"""Export the log as lines for `pater train`, with the command that learns the same model from them. Knows the log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...formats.columns import Columns
from ...formats.jsonl import line_of_columns
from ...models.setting_kinds import Switch
from ...models.settings import by_keyword
from ...stream.learner import load
from ..initial_learner import EXPORTED, with_label
from ..rows.rows import lines_of_log
from .log import Log
from .records import Entry, Snapshot
from .schema import damaged
from .state import SETTINGS


class Begins(NamedTuple):
    """The extent of an export: the rows and the entry that it begins after, its first model, if any, its last entry."""

    position: int
    entry: int
    model: Snapshot | None
    last: int


def begins(log: Log) -> Begins:
    """The beginning of the current model's log: the last model that was swapped in, or nothing."""
    with log.at_one_moment():
        models, last = log.snapshots("model"), log.last_entry
    return Begins(models[-1].position, models[-1].entry, models[-1], last) if models else Begins(0, 0, None, last)


def lines(log: Log, since: int | None = None, start: Begins | None = None) -> Iterator[bytes]:
    """Yield a line that describes the columns, then a line for each row learned, in order and in constant memory.

    Rows that were refused are left out.

    `since` is how many rows to leave out, counted from the first there has ever been; without it, the rows are those
    that the current model has learned from the log. A server may be running meanwhile; `start` fixes the moment of the
    export, by default now.
    """
    start = start or begins(log)
    position, columns, is_first = since or 0, _columns(log), True
    for entry in log.entries(start.entry if since is None else 0, start.last):
        for line in _rows(entry, columns)[max(0, position - entry.position) :] if entry.end > position else ():
            if is_first:
                yield line_of_columns(columns)
                is_first = False
            yield line + b"\n"


def _columns(log: Log) -> Columns:
    told = log.meta("columns")
    if told is not None:
        try:
            return Columns.from_json(told)
        except (ValueError, TypeError) as error:
            raise damaged(log.folder.log, str(error)) from None
    models = log.snapshots("model")
    return with_label((load(log.folder.file(models[-1].file)).columns if models else None) or Columns())


def _rows(entry: Entry, columns: Columns) -> list[bytes]:
    return entry._replace(content=lines_of_log(entry.kind, entry.content, columns)).lines()


def command(log: Log, exported: str | os.PathLike[str] = EXPORTED, start: Begins | None = None) -> list[str]:
    """The command, as a list of words, that learns the current model from an export into MODEL.pater."""
    start = start or begins(log)
    if start.model is not None:
        words = ["-i", os.fspath(log.folder.file(start.model.file))]
    else:
        words = list(_options(log.meta(SETTINGS) or {}))
    return ["pater", "train", os.fspath(exported), *words, "-m", "MODEL.pater"]


def _options(settings: dict[str, Any]) -> Iterator[str]:
    """The settings of `Beginning` as command-line options."""
    known = by_keyword()
    given = {**settings, **settings.get("options", {})}
    for name, value in given.items():
        if name in ("options", "on_error", "threads") or value in (None, [], {}):
            continue
        if name == "operating_point":
            ((rate, told),) = value.items()
            yield f"--{rate.replace('_', '-')}"
            yield f"{told['false_positive']!r}:{told['false_negative']!r}" if rate == "cost" else repr(told)
        elif name in known and isinstance(known[name].kind, Switch):
            setting = known[name]
            if setting.off:
                yield setting.options[0] if value else setting.off
            elif value != setting.default:
                yield setting.options[0]
        elif name == "scale":
            yield from ["--scale"] if value else []
        elif name == "interactions":
            yield from ("--interactions", value if isinstance(value, str) else ",".join(map(":".join, value)))
        elif isinstance(value, list):
            yield from (word for each in value for word in (f"--{name}", str(each)))
        else:
            yield from (known[name].options[0] if name in known else _OPTIONS.get(name, f"--{name}"), _word(value))


_OPTIONS = {"weight": "--weight-column"}


def _word(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{label}:{weight!r}" for label, weight in value.items())
    return value if isinstance(value, str) else repr(value)
