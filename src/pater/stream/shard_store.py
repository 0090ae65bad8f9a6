"""The finished part of a run in shards, kept on disk beside the model until that is written.

Knows `merging`, the model file and `writing`. The folder holds the manifest of the run; for every finished shard a line
of JSON, and its model until a merged one is written; and the model of all shards up to some number, merged one by one
in order. Merging happens in memory, and the merged model is written now and then; reading it back gives the same bits.
Every file is written completely or not at all, so that a resumed run gives the same bytes.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from ..files.container import ModelFileError
from ..files.writing import replacing
from ..formats.errors import InputError
from .learner import Learner, load
from .merging import merged
from .shards import Learned

MANIFEST = "manifest.json"
APART = 16  # models of shards that are kept beside the merged one before that is written
_OURS = re.compile(r"manifest\.json|(merged-)?\d{6,}\.(json|pater)|.*\.part")
_MERGED = re.compile(r"merged-(\d{6,})\.pater")


class ShardStore:
    """The folder of a run.

    told
        The report of each finished shard, by number.
    """

    def __init__(self, folder: Path, manifest: dict[str, Any], names: list[str], *, resume: bool) -> None:
        self.folder, self.names = folder, names
        self.told: dict[int, dict[str, Any]] = {}
        self._merged: Learner | None = None  # of all shards before `_next` that have rows
        self._next = 0
        self._written: Path | None = None  # the last merged model on the disk
        self._apart: list[Path] = []  # models that are merged, but not on the disk
        self._check_folder()
        if not resume:
            self.remove()
        try:
            if (folder / MANIFEST).exists():
                self._go_on(json.loads(json.dumps(manifest)))
            else:
                folder.mkdir(exist_ok=True)
                self._write(MANIFEST, json.dumps(manifest).encode())
        except OSError as error:
            raise ModelFileError(folder, f"cannot be written: {error.strerror or error}.") from None

    def keep(self, number: int, learned: Learned) -> None:
        """Keep the result of a shard, and merge what can be merged in order."""
        try:
            if learned.model is not None:
                self._write(f"{number:06}.pater", learned.model)
            self._write(f"{number:06}.json", json.dumps(learned.told).encode())
        except OSError as error:
            raise ModelFileError(self.folder, f"cannot be written: {error.strerror or error}.") from None
        self.told[number] = learned.told
        self.advance()

    def advance(self) -> None:
        """Merge shards in order, up to the first that is not finished."""
        while self._next in self.told:
            if self.told[self._next]["rows"]:
                own = self.folder / f"{self._next:06}.pater"
                found = load(own)
                if self._merged is not None:
                    found = merged([self._merged, found], ["the shards before", self.names[self._next]])
                self._merged = found
                self._apart.append(own)
                if len(self._apart) == APART:
                    self._write_merged()
            self._next += 1

    def _write_merged(self) -> None:
        assert self._merged is not None
        into = self.folder / f"merged-{self._next:06}.pater"
        self._merged.save(into)
        for path in filter(None, (self._written, *self._apart)):
            path.unlink()
        self._written, self._apart = into, []

    def learner(self) -> Learner | None:
        """The merged learner of the shards so far, without a gap; None if they have no rows."""
        return self._merged

    def remove(self) -> None:
        """Remove everything, models first, so that a kill meanwhile leaves no shard marked as finished."""
        if self.folder.is_dir():
            for path in sorted(self.folder.iterdir(), key=lambda path: (path.suffix == ".json", path.name == MANIFEST)):
                path.unlink()
            self.folder.rmdir()

    def close(self) -> None:
        """Leave nothing behind if no shard is finished, judging by what is on disk."""
        if not any(self.folder.glob("[0-9]*.json")):
            self.remove()

    def _check_folder(self) -> None:
        """Raise an error if something else has the name of the folder, or is in it."""
        try:
            others = [name for name in os.listdir(self.folder) if not _OURS.fullmatch(name)]
        except FileNotFoundError:
            return
        except OSError as error:
            raise ModelFileError(self.folder, f"finished shards cannot be kept there: {error.strerror}.") from None
        if others:
            raise ModelFileError(
                self.folder, f"finished shards are to be kept there, but it holds {others[0]}; move it away."
            )

    def _go_on(self, manifest: dict[str, Any]) -> None:
        self._check_manifest(manifest)
        for number in range(len(self.names)):
            told = self._described(number)
            if told is not None:
                self.told[number] = told
        found = (_MERGED.fullmatch(name) for name in os.listdir(self.folder))
        numbers = sorted(int(match[1]) for match in found if match)
        for number in numbers[:-1]:
            (self.folder / f"merged-{number:06}.pater").unlink()
        if numbers:
            self._written = self.folder / f"merged-{numbers[-1]:06}.pater"
            self._merged, self._next = load(self._written), numbers[-1] + 1
        for number in list(self.told):
            own = self.folder / f"{number:06}.pater"
            if number < self._next:
                own.unlink(missing_ok=True)
            elif self.told[number]["rows"] and not own.exists():
                del self.told[number]
        if any(number not in self.told for number in range(self._next)):
            raise ModelFileError(self.folder, "files are missing in it. Start over without --resume.")
        self.advance()

    def _check_manifest(self, manifest: dict[str, Any]) -> None:
        anew = "Continue with the same settings, or start over without --resume."
        try:
            there = json.loads((self.folder / MANIFEST).read_bytes())
            files = {name: (size, time) for name, size, time in there["files"]}
            settings = dict(there["settings"])
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ModelFileError(self.folder, "its manifest is damaged. Start over without --resume.") from None
        if there.get("pater") != manifest["pater"]:
            told = f"{self.folder} was written by pater {there.get('pater')}, but this is {manifest['pater']}"
            raise InputError(f"{told}. Start over without --resume.")
        for name, value in manifest["settings"].items():
            if settings.get(name) != value:
                raise InputError(
                    f"{self.folder} was written with {name} = {settings.get(name)!r}, but now it is {value!r}. {anew}"
                )
        for name, *stamp in manifest["files"]:
            if name not in files:
                raise InputError(f"{self.folder} was written without {name}. {anew}")
            if list(files[name]) != stamp:
                raise InputError(f"{name} changed since it was learned from. Start over without --resume.")
        if there != manifest:
            raise InputError(f"{self.folder} was written with other files, or in another order. {anew}")

    def _described(self, number: int) -> dict[str, Any] | None:
        path = self.folder / f"{number:06}.json"
        try:
            told = json.loads(path.read_bytes())
            if type(told["rows"]) is int and isinstance(told["faults"], list) and isinstance(told["lines"], list):
                return told  # type: ignore[no-any-return]
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            pass
        raise ModelFileError(path, "it is damaged. Start over without --resume.")

    def _write(self, name: str, content: bytes) -> None:
        with replacing(self.folder / name) as file:
            file.write(content)
