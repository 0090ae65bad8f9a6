"""In the interpreter (NUMBA_DISABLE_JIT=1), only the tests run that take it seconds, and need no machine code."""

from __future__ import annotations

import pytest

from pater.compiler.decorators import COMPILES

OF_MACHINE_CODE = {"test_cost", "test_memory", "test_simd"}
LONG_STREAMS = {
    "test_chunks",
    "test_conditioning",
    "test_dense_and_sparse",
    "test_models_beside_each_other",
    "test_numerics",
    "test_rescaling",
    "test_second_forgetting",
    "test_second_metric",
    "test_symmetries",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in [] if COMPILES else items:
        if item.path.stem in OF_MACHINE_CODE:
            item.add_marker(pytest.mark.skip(reason="is about machine code"))
        if item.path.stem in LONG_STREAMS:
            item.add_marker(pytest.mark.skip(reason="takes the interpreter more than a minute"))
