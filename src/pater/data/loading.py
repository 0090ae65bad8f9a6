"""Load a data set from wherever it is available."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pater.data import download, files
from pater.data.embedded import EMBEDDED
from pater.data.entry import Entry, Labels, Parsed
from pater.data.errors import DataError
from pater.data.registry import DATA_SETS, entry_of

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ENVIRONMENT = "PATER_DATA"


@dataclass(frozen=True, eq=False)
class DataSet:
    """A data set, ready for a classifier.

    ``X`` holds one row per sample: a C-ordered float64 array, or for 20 Newsgroups a CSR matrix of word counts. ``y``
    holds -1 and +1. Nothing is scaled.
    """

    key: str
    name: str
    X: NDArray[np.float64] | csr_array = field(repr=False)
    y: Labels = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    description: str


def load(key: str, *, data_dir: str | os.PathLike[str] | None = None, fetch: bool = False) -> DataSet:
    """Load one of the paper's data sets.

    It is looked for in ``data_dir``, else in the folder that the environment variable PATER_DATA names; then in the
    per-user cache; then among the sets that need no file (Wdbc and Tic-tac-toe). Only with ``fetch=True`` is it then
    downloaded if missing. Files are verified by checksum every time.

    >>> boards = load("tic-tac-toe")
    >>> boards.X.shape, int((boards.y == 1).sum())
    ((958, 9), 332)
    """
    entry = entry_of(key)
    X, y, feature_names = _parsed(entry, _folders(data_dir), fetch)
    return DataSet(entry.key, entry.name, X, y, feature_names, entry.description)


def available(data_dir: str | os.PathLike[str] | None = None) -> list[str]:
    """The keys that ``load`` can serve without a network, in the paper's order."""
    folders = _folders(data_dir)
    return [
        key
        for key, entry in DATA_SETS.items()
        if key in EMBEDDED or any(files.holds(folder, entry) for folder in folders)
    ]


def _parsed(entry: Entry, folders: list[Path], fetch: bool) -> Parsed:
    for folder in folders:
        if files.holds(folder, entry):
            return entry.format.parse(files.read(folder, entry))
    if entry.key in EMBEDDED:
        return EMBEDDED[entry.key]()
    if fetch:
        return entry.format.parse(files.read(download.fetch([entry.key]), entry))
    names = ", ".join(file.name for file in entry.files)
    looked_in = ", ".join(map(str, folders)) or "no folder"
    raise DataError(
        f"data set {entry.key!r} is not at hand: looked for {names} in {looked_in}. Pass data_dir "
        f"or set {ENVIRONMENT} to a folder that holds it, or download it with "
        f"load({entry.key!r}, fetch=True)."
    )


def _folders(data_dir: str | os.PathLike[str] | None) -> list[Path]:
    """Where files may be, in order of preference."""
    chosen = data_dir if data_dir is not None else os.environ.get(ENVIRONMENT)
    cache = download.cache_folder()
    return [Path(folder) for folder in (chosen, cache) if folder]
