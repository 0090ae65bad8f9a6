"""What is known about one data set: where it comes from, how it is read, and why.

Knows no file system and no network; it is the vocabulary that the other modules of the package share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Labels = NDArray[np.int8]


class RawFile(NamedTuple):
    """A file's decompressed content, with the place it came from for error messages."""

    where: str
    content: bytes


class Parsed(NamedTuple):
    """Features, labels in {-1, +1} and the names of the features."""

    X: NDArray[np.float64] | csr_array
    y: Labels
    feature_names: tuple[str, ...]


class Format(Protocol):
    """How the files of a data set become features and labels."""

    def parse(self, files: Sequence[RawFile]) -> Parsed:
        """Read the files, in the order in which the entry lists them."""

    def describe(self) -> str:
        """Say which label is positive and what is done with missing values and categories."""


@dataclass(frozen=True)
class SourceFile:
    """One file of a data set.

    ``name`` is the path below a data folder. ``sha256`` is that of the uncompressed content, so it does not depend on
    how a copy is compressed. ``addresses`` are tried in order; a file without one is made from the entry's archive.
    ``any_order`` marks a file whose rows the public source lists in another order than the copy with this checksum.
    """

    name: str
    sha256: str
    addresses: tuple[str, ...] = ()
    any_order: bool = False


@dataclass(frozen=True)
class Archive:
    """A public archive from which some files of a data set are made.

    ``unpack`` maps the archive's bytes to contents by file name.
    """

    address: str
    unpack: Callable[[bytes], Mapping[str, bytes]]


@dataclass(frozen=True)
class Published:
    """The data set's row in the paper's table.

    ``ratio`` is n+/n-. ``missing`` is the table's own remark: how many rows were dropped, "Yes"
    where values are missing but no row was dropped, or the attribute concerned.
    """

    rows: int
    features: int
    ratio: float
    missing: str = "No"


@dataclass(frozen=True)
class Entry:
    """One data set of the paper: its files, its coding, and the reason for the coding.

    ``positives`` and ``negatives`` count the rows that remain after the missing-value rule.
    ``same_data`` goes with files in any order: it says whether contents with another checksum hold the same rows with
    the same labels.
    """

    number: int
    key: str
    name: str
    files: tuple[SourceFile, ...]
    format: Format
    published: Published
    positives: int
    negatives: int
    why: str
    archive: Archive | None = None
    same_data: Callable[[Sequence[RawFile]], bool] | None = None

    @property
    def rows(self) -> int:
        """Rows that remain after the missing-value rule."""
        return self.positives + self.negatives

    @property
    def description(self) -> str:
        """The coding and its reason, in a few sentences."""
        return (
            f"{self.name}: {self.rows} rows, {self.positives} positive, {self.negatives} negative. "
            f"{self.format.describe()} {self.why}"
        )


def numbered(prefix: str, count: int) -> tuple[str, ...]:
    """Names for columns that have none: x1, x2, ..."""
    return tuple(f"{prefix}{i}" for i in range(1, count + 1))


def listed(names: str) -> tuple[str, ...]:
    """Names from a comma-separated listing."""
    return tuple(names.split(", "))
