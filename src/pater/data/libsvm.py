"""LIBSVM text: ``label index:value index:value ...``, indices from 1, zeros left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pater.data.entry import Labels, Parsed, RawFile, numbered
from pater.data.errors import DataError


@dataclass(frozen=True)
class LibSVM:
    """LIBSVM text with labels -1 and +1, made dense: the sets of the paper have few features."""

    features: int

    def parse(self, files: Sequence[RawFile]) -> Parsed:
        """Read the files one after the other."""
        parts = [self._rows(file) for file in files]
        X = np.concatenate([X for X, _ in parts])
        y = np.concatenate([y for _, y in parts])
        return Parsed(X, y, numbered("x", self.features))

    def describe(self) -> str:
        """Say which label is positive and what is done with missing values and categories."""
        return "Labels are +1 and -1 in the file. Indices that are left out are zeros."

    def _rows(self, file: RawFile) -> tuple[NDArray[np.float64], Labels]:
        """Read with the compiled parser of streams, which is imported only when data is read."""
        from pater.formats.blocks import START, Block
        from pater.formats.libsvm import LibsvmParser

        text = file.content if file.content.endswith(b"\n") else file.content + b"\n"
        batch = LibsvmParser(limit=self.features + 1)(Block(text, 1, START), file.where)
        assert batch.labels is not None
        X = np.zeros((len(batch), self.features + 1))
        X[:, : batch.n_features] = batch.X.toarray()
        indptr, indices, _ = batch.rows
        wrong = ~np.isin(batch.labels, (-1, 1))
        wrong[np.searchsorted(indptr, np.flatnonzero(indices == 0), side="right") - 1] = True
        lines = [*(fault.line for fault in batch.faults), *batch.lines[wrong].tolist()]
        if lines:
            shown = text.split(b"\n")[min(lines) - 1].decode("latin-1")[:60]
            expected = f"-1 or +1, then index:value with indices 1 to {self.features}"
            raise DataError(f"{file.where}, line {min(lines)}: expected {expected}, got {shown!r}")
        return np.ascontiguousarray(X[:, 1:]), batch.labels.astype(np.int8)
