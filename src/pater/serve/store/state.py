"""Begin a service in a state directory, resume it there, and drop entries that its model has learned.

Knows the log and model files. What the service begins with is kept in the directory: a copy of the model, or the
settings of `pater train`. Starting it again with something else is an error, since the log would give another model.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...files.writing import replacing
from ...formats.errors import InputError
from ...stream.beginning import Beginning
from ...stream.learner import load
from ..initial_learner import learner_of_file
from . import schema
from .folder import Folder, StateError
from .log import Log
from .records import Limits
from .transaction import Transaction
from .writer import write_now

SETTINGS, MODEL_DIGEST = "settings", "model_digest"
FIRST_VERSION = 1


def opened(
    path: str | os.PathLike[str],
    *,
    model: str | os.PathLike[str] | None = None,
    settings: dict[str, Any] | None = None,
    limits: Limits | None = None,
) -> tuple[Log, dict[str, Any]]:
    """Open or make a state directory; return its log, and the settings of `Beginning` for its learner.

    model
        The model file to begin with. A directory already in use must have begun with the same one, and is resumed.
    settings
        Settings of `Beginning`, to begin without a model; None for the defaults, or for those that the directory has.
    """
    log = Log.open(path, limits=limits)
    try:
        if log.meta(SETTINGS) is None:
            _begin(log, model, settings or {})
        else:
            _check_the_same(log, model, settings)
        log.folder.sweep((each.file for each in log.snapshots()), log.last_entry)
        kept: dict[str, Any] = log.meta(SETTINGS)
    except sqlite3.Error as error:
        log.close()
        raise schema.unusable(log.folder.log, error) from None
    except BaseException:
        log.close()
        raise
    return log, kept


def _begin(log: Log, model: str | os.PathLike[str] | None, settings: dict[str, Any]) -> None:
    plain = _plain(settings)
    Beginning(**plain)
    write: Callable[[Transaction], None]
    if model is None:

        def write(transaction: Transaction) -> None:
            transaction.set_meta(SETTINGS, plain)
            transaction.event("begin", {"settings": plain})

    else:
        if plain:
            raise InputError("settings cannot be combined with a model: the model keeps its own settings.")
        learner = learner_of_file(Path(model))
        content = Path(model).read_bytes()
        place = log.folder.model(FIRST_VERSION)
        try:
            with replacing(place, check=_same_as(content)) as file:
                file.write(content)
        except OSError as error:
            raise log.folder.cannot("the model cannot be copied into it", error) from None

        def write(transaction: Transaction) -> None:
            transaction.set_meta(SETTINGS, plain)
            transaction.set_meta(MODEL_DIGEST, hashlib.sha256(content).hexdigest())
            transaction.snapshot(place.name, version=FIRST_VERSION, quality=None, kind="model")
            transaction.event("begin", {"model": Path(model).name, "rows": learner.rows, "version": FIRST_VERSION})

    write_now(log, write)


def _same_as(content: bytes) -> Callable[[Path], None]:
    def check(path: Path) -> None:
        if path.read_bytes() != content:
            raise OSError("it was not written as it should have been")

    return check


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as they are after a round trip through JSON, so that they can be compared with those of a restart."""
    there = {name: value for name, value in settings.items() if value not in (None, {}, [], ())}
    plain: dict[str, Any] = json.loads(schema.to_json(there))
    return plain


def _check_the_same(log: Log, model: str | os.PathLike[str] | None, settings: dict[str, Any] | None) -> None:
    where, known = log.folder.path, log.meta(MODEL_DIGEST)
    if model is not None:
        try:
            digest = hashlib.sha256(Path(model).read_bytes()).hexdigest()
        except OSError as error:
            raise InputError(
                f"{os.fspath(model)}: {error.strerror}. The service has begun in {where}: to resume, start it without "
                "--model."
            ) from None
        if digest != known:
            began = "with another model" if known else "without a model"
            raise StateError(
                f"{where}: the service began there {began}, and has learned since. Start it without --model to resume, "
                "swap the model in by POST /v1/model, or name another directory."
            )
    if settings is None:
        return
    kept, given = log.meta(SETTINGS), _plain(settings)
    if given and known:
        raise StateError(
            f"{where}: the service began there with a model, whose settings are kept. Start it without others."
        )
    for name in sorted({*_flat(kept), *_flat(given)}):
        old, new = _flat(kept).get(name), _flat(given).get(name)
        if old != new:
            began, is_now = (f"{name} = {value!r}" if value is not None else f"no {name}" for value in (old, new))
            raise StateError(
                f"{where}: the service began there with {began}, but was given {is_now}. Start it with the same "
                "settings, or with none to continue, or name another directory."
            )


def _flat(settings: dict[str, Any]) -> dict[str, Any]:
    options = settings.get("options", {})
    return {name: value for name, value in {**settings, **options}.items() if name != "options"}


def trim(path: str | os.PathLike[str]) -> tuple[int, str]:
    """Drop from the log what the last snapshot has learned; return how many entries, and the snapshot's file.

    The log begins with that file from then on. No server may be running. The snapshot is read first: if it cannot be,
    nothing is dropped.
    """
    if not Folder(path).log.is_file():
        raise StateError(f"{os.fspath(path)}: there is no log.sqlite in it; it is not a state directory of a service.")
    log = Log.open(path)
    try:
        snapshots = log.snapshots()
        last = snapshots[-1] if snapshots else None
        if last is None or last.kind != "snapshot":
            raise StateError(f"{log.folder.path}: there is no snapshot after the model that the log begins with.")
        load(log.folder.file(last.file))
        old = [each.file for each in snapshots if each.kind == "snapshot" and each.number != last.number]

        def write(transaction: Transaction) -> int:
            dropped = transaction.trim(last.number)
            transaction.event("trim", {"entries": dropped, "position": last.position, "model": last.file})
            return dropped

        dropped: int = write_now(log, write)
        log.folder.remove(old)
        assert log.connection is not None
        with contextlib.suppress(sqlite3.Error):  # there may be no room for it; then the freed pages are reused later
            log.connection.execute("VACUUM")
    except sqlite3.Error as error:
        raise schema.unusable(log.folder.log, error) from None
    finally:
        log.close()
    return dropped, last.file
