from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest


def _libsvm_text(rows: int, *, seed: int = 0, features: int = 200, non_zeros: int = 12) -> bytes:
    random = np.random.default_rng(seed)
    weights = random.standard_normal(features + 1)
    lines = []
    for _ in range(rows):
        columns = np.sort(random.choice(np.arange(1, features + 1), non_zeros, replace=False))
        values = random.standard_normal(non_zeros)
        label = "+1" if values @ weights[columns] > 1.5 else "-1"
        lines.append(f"{label} " + " ".join(f"{j}:{x!r}" for j, x in zip(columns, values.tolist(), strict=True)))
    return "\n".join(lines).encode() + b"\n"


@pytest.fixture(scope="session")
def libsvm_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 8 MB, in several blocks."""
    path = tmp_path_factory.mktemp("libsvm") / "rows.svm"
    path.write_bytes(_libsvm_text(25_000))
    return path


@pytest.fixture(scope="session")
def libsvm_text() -> Callable[..., bytes]:
    """Rows of libsvm text, made anew with another seed."""
    return _libsvm_text
