"""20 Newsgroups as word counts: ``document word count`` triplets, two groups per data set.

The public archive holds all twenty groups, split by date into train and test. A data set here takes two groups from it:
the train documents, then the test documents, renumbered.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pater.data.entry import Labels, Parsed, RawFile
from pater.data.errors import DataError

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class WordCounts:
    """Three files: triplets, the group of each document, and the vocabulary, one word per line.

    Documents and words are numbered from 1. ``positive`` and ``negative`` are group numbers.
    ``documents_sha256`` is the ``fingerprint`` of the right documents.
    """

    positive: int
    negative: int
    documents_sha256: str

    def parse(self, files: Sequence[RawFile]) -> Parsed:
        """Read the counts as a CSR matrix with a column for each word of the vocabulary."""
        X, y = self._labelled_counts(files)
        return Parsed(X, y, _words(files[2]))

    def describe(self) -> str:
        """Say which label is positive and what is done with missing values and categories."""
        return (
            f"Positive: group {self.positive}; negative: group {self.negative}. "
            "Features are the counts of the words in a document's body."
        )

    def same_documents(self, files: Sequence[RawFile]) -> bool:
        """Whether these are the right documents with the right labels, in any order."""
        try:
            return self.fingerprint(files) == self.documents_sha256
        except DataError:
            return False

    def fingerprint(self, files: Sequence[RawFile]) -> str:
        """A sha256 of the documents with their labels that does not depend on their order."""
        X, y = self._labelled_counts(files)
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        documents = sorted(
            hashlib.sha256(
                label.tobytes()
                + X.indices[start:end].astype("<i4").tobytes()
                + X.data[start:end].astype("<i4").tobytes()
            ).digest()
            for label, (start, end) in zip(y, ends, strict=True)
        )
        return hashlib.sha256(b"".join(documents)).hexdigest()

    def _labelled_counts(self, files: Sequence[RawFile]) -> tuple[csr_array, Labels]:
        triplets, groups, vocabulary = files
        group = _integers(groups, columns=1)[:, 0]
        unknown = np.flatnonzero((group != self.positive) & (group != self.negative))
        if unknown.size:
            line = unknown[0] + 1
            raise DataError(f"{groups.where}, line {line}: unexpected group {group[line - 1]}")
        X = _counts(triplets, shape=(len(group), len(_words(vocabulary))))
        return X, np.where(group == self.positive, 1, -1).astype(np.int8)


def _words(vocabulary: RawFile) -> tuple[str, ...]:
    return tuple(vocabulary.content.decode("latin-1").split())


def unpack_pair(archive: bytes, groups: tuple[int, int], folder: str) -> Mapping[str, bytes]:
    """The ``pair.data`` and ``pair.label`` of two groups, from the content of the public archive."""
    members = _members(archive, ("train.data", "train.label", "test.data", "test.label"))
    triplets, labels, documents = [], [], 0
    for split in ("train", "test"):
        group = _integers(members[f"{split}.label"], columns=1)[:, 0]
        chosen = np.isin(group, groups)
        number = documents + np.cumsum(chosen)
        rows = _integers(members[f"{split}.data"], columns=3)
        if rows[:, 0].min() < 1 or rows[:, 0].max() > len(group):
            raise DataError(f"the archive's {split}.data names a document that has no label")
        rows = rows[chosen[rows[:, 0] - 1]]
        rows[:, 0] = number[rows[:, 0] - 1]
        triplets.append(rows)
        labels.append(group[chosen])
        documents += int(chosen.sum())
    return {
        f"{folder}/pair.data": _text(np.concatenate(triplets)),
        f"{folder}/pair.label": _text(np.concatenate(labels)[:, np.newaxis]),
    }


def _members(archive: bytes, names: Sequence[str]) -> dict[str, RawFile]:
    """Read members of the archive by file name, as the folders around them have varied."""
    found = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            for member in tar:
                name = member.name.rsplit("/", 1)[-1]
                content = tar.extractfile(member) if name in names else None
                if content is not None:
                    found[name] = RawFile(f"the archive's {member.name}", content.read())
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise DataError(f"the archive cannot be read: {error}") from error
    for name in names:
        if name not in found:
            raise DataError(f"the archive holds no {name}")
    return found


def _counts(file: RawFile, shape: tuple[int, int]) -> csr_array:
    from scipy.sparse import csr_array

    triplets = _integers(file, columns=3)
    document, word, count = triplets.T
    limits = (document <= shape[0]) & (word <= shape[1])
    outside = np.flatnonzero((triplets < 1).any(axis=1) | ~limits)
    if outside.size:
        raise DataError(
            f"{file.where}, line {outside[0] + 1}: expected a document up to {shape[0]}, "
            f"a word up to {shape[1]} and a count, got {triplets[outside[0]].tolist()}"
        )
    X = csr_array((count.astype(np.float64), (document - 1, word - 1)), shape=shape)
    X.sum_duplicates()
    return X


def _integers(file: RawFile, columns: int) -> NDArray[np.int64]:
    """Read lines of ``columns`` integers."""
    if not file.content.strip():
        raise DataError(f"{file.where} is empty")
    try:
        numbers = np.loadtxt(io.BytesIO(file.content), dtype=np.int64, ndmin=2, comments=None)
    except ValueError:
        numbers = np.empty((0, 0), dtype=np.int64)
    if numbers.shape[1] != columns:
        lines = file.content.splitlines()
        fault = next((n for n, line in enumerate(lines, 1) if not _holds(line, columns)), 1)
        raise DataError(f"{file.where}, line {fault}: expected {columns} integers")
    return numbers


def _holds(line: bytes, columns: int) -> bool:
    cells = line.split()
    return len(cells) == columns and all(cell.isdigit() for cell in cells)


def _text(rows: NDArray[np.int64]) -> bytes:
    return "".join(" ".join(map(str, row)) + "\n" for row in rows.tolist()).encode()
