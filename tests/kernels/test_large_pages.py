"""Large tables ask for large pages, without any other effect."""

from __future__ import annotations

import mmap

import numpy as np
import pytest

from pater.kernels import pages as memory


@pytest.mark.parametrize("shape", [(3,), (0, 4), (1, 4, memory.WORTH_ASKING // 32), (5, memory.WORTH_ASKING // 8)])
def test_zeros_are_zeros_that_can_be_written_to(shape):
    table = memory.zeros(shape)
    assert table.shape == shape
    assert table.dtype == np.float64
    assert table.flags.c_contiguous
    assert table.flags.writeable
    assert not table.any()
    table += 1.0
    assert table.sum() == table.size


def test_large_tables_begin_at_a_large_page():
    if not hasattr(mmap, "MADV_HUGEPAGE"):
        pytest.skip("this system has no large pages to ask for")
    assert memory.zeros((1 << 20,)).ctypes.data % memory.LARGE_PAGE == 0


def test_a_system_that_refuses_gets_small_pages(monkeypatch):
    class Refuses(mmap.mmap):
        def madvise(self, *_):
            raise OSError("no such advice")

    monkeypatch.setattr(memory.mmap, "mmap", Refuses)
    table = memory.zeros((1 << 20,))
    assert table.shape == (1 << 20,)
    assert not table.any()
