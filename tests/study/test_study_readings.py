"""The loop that runs every reading of the pseudo-code agrees with a literal transcription of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pater.reference import first_order as reference
from pater.study.readings import READINGS, learn_by


def _stream(seed: int = 0, n: int = 120, d: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    codes = (rng.random(n) < 0.3).astype(np.int64)
    return rng.normal(size=(n, d)) + 0.8 * codes[:, None], codes


def _learned(reading: str, variant: str, alpha: tuple[float, float], X: Any, codes: Any) -> Any:
    w, bias = learn_by(*READINGS[reading], variant == "II", *alpha, X, codes)
    return np.append(w, bias)


def _with_ones(X: Any) -> Any:
    return np.column_stack([X, np.ones(len(X))])


@pytest.mark.parametrize("alpha", [(1.0, 1.0), (0.3, 1.0), (1.0, 0.01)])
@pytest.mark.parametrize("variant", ["I", "II"])
def test_as_printed(variant: Any, alpha: tuple[float, float]) -> None:
    X, codes = _stream()
    expected = reference.pater_as_printed(_with_ones(X), 2 * codes - 1, variant, alpha=alpha)[-1]
    np.testing.assert_allclose(_learned("as printed", variant, alpha, X, codes), expected, rtol=1e-9)


@pytest.mark.parametrize("alpha", [(1.0, 1.0), (0.3, 1.0), (1.0, 0.01)])
@pytest.mark.parametrize(("reading", "variant"), [("clipped and passive", "I"), ("clipped", "II")])
def test_the_readings_that_are_adopted(reading: str, variant: Any, alpha: tuple[float, float]) -> None:
    X, codes = _stream()
    expected = reference.pater(_with_ones(X), 2 * codes - 1, variant, alpha=alpha)[-1]
    np.testing.assert_allclose(_learned(reading, variant, alpha, X, codes), expected, rtol=1e-9)


@pytest.mark.parametrize(("reading", "variant"), [("clipped", "I"), ("clipped and passive", "II")])
def test_the_readings_between(reading: str, variant: str) -> None:
    X, codes = _stream()
    w, samples, losses = np.zeros(X.shape[1] + 1), {0: [], 1: []}, {0: [], 1: []}
    for x, c in zip(_with_ones(X), codes.tolist(), strict=True):
        loss = max(0.0, 1 - (2 * c - 1) * w @ x)
        if loss > 0 or reading == "clipped":
            samples[c].append(x)
            losses[c].append(loss)
            z = sum((2 * k - 1) * np.mean(samples[k], axis=0) for k in (0, 1) if samples[k])
            term = loss / len(samples[c]) if variant == "I" else sum(np.mean(losses[k]) for k in (0, 1) if losses[k])
            if z @ z > 0:
                w = w + term / (z @ z) * z
    np.testing.assert_allclose(_learned(reading, variant, (1.0, 1.0), X, codes), w, rtol=1e-9)
