"""What is written in LLVM against its plain twin; and the passes with the twins, every place checked."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from pater.kernels import simd
from pater.kernels.simd import plain
from pater.models.matrices import rows_of

TESTS = Path(__file__).parents[1]
WIDTHS = [*range(1, 36), 63, 64, 65, 70, 127, 200, 641]
HOMES = ("class_pairs", "records", "registers", "sparse_rows", "vector_loops")


def fast(name):
    """The primitive that is written in LLVM, whatever the environment asks for."""
    for home in HOMES:
        module = importlib.import_module(f"pater.kernels.simd.{home}")
        if hasattr(module, name):
            return getattr(module, name)
    raise AssertionError(name)


def called(function, n_arguments):
    """A compiled function that calls a primitive, which Python itself cannot."""
    names = ", ".join(f"a{k}" for k in range(n_arguments))
    space = {"function": function}
    exec(f"def call({names}):\n    return function({names})", space)
    return njit(error_model="numpy")(space["call"])


def both(name, n_arguments):
    return called(fast(name), n_arguments), called(getattr(plain, name), n_arguments)


def agree(found, expected, size=1.0):
    for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * size)


@pytest.fixture(scope="module", params=["dense-f8", "dense-f4", "csr-f8", "csr-f4"])
def rows(request):
    """Rows of every width, in one form."""

    def make(d):
        X = np.random.default_rng(d).normal(size=(4, d)) * (np.random.default_rng(d + 1).random((4, d)) < 0.8)
        X = X.astype(request.param[-2:])
        return tuple(rows_of(X if request.param.startswith("dense") else sp.csr_array(X)))

    return make


def test_every_primitive_has_a_twin():
    for name in simd.__all__:
        if name != "PLAIN":
            assert hasattr(plain, name), name


def test_rows_beside_a_table(rows):
    for name, more in (("dot_lanes", ()), ("dot_and_square", ()), ("add_lanes", (0.5, -2.0, 0.25, 3.0))):
        ours, theirs = both(name, 3 + len(more))
        for d in WIDTHS:
            table = np.random.default_rng(0).normal(size=(d, 4))
            a, b = table.copy(), table.copy()
            found, expected = (run(rows(d), 1, into, *more) for run, into in ((ours, a), (theirs, b)))
            if expected is not None:
                agree(found, expected, d)
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(("name", "cells", "width"), [("dot_herd", 24, 8), ("dot_sharing_herd", 16, 16)])
def test_rows_beside_many_models(name, cells, width, rows):
    ours, theirs = both(name, 4)
    add, plain_add = both("add_herd", 5)
    for d in WIDTHS:
        table, lines = np.random.default_rng(0).normal(size=(d, cells)), cells // 8
        a, b = (np.zeros((lines * 8 // width, width)) for _ in range(2))
        agree(ours(rows(d), 2, table, a), theirs(rows(d), 2, table, b), d)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * d)
        for line in range(1, lines):
            c, e = table.copy(), table.copy()
            add(rows(d), 2, c, a, line)
            plain_add(rows(d), 2, e, a, line)
            np.testing.assert_allclose(c, e, rtol=1e-12, atol=1e-12)


@njit(error_model="numpy")
def _in_registers(rows, table, shape):
    buffer = np.zeros(_room(table.shape[0], shape))
    held = _take(table, buffer, shape)
    along, ux, xx = _products(held, rows, 0, shape)
    along_after, ux_after, xx_after = _add_and_products(held, rows, 0, 3, True, 0.5, -2.0, 0.25, shape)
    zz = _squared_sum(held, table.shape[0], 2.0, -3.0, shape)
    _put(held, table, buffer, shape)
    sums = (_first(along), _second(along), ux, xx, _first(along_after), _second(along_after), ux_after, xx_after, zz)
    return sums


_room, _take, _put, _products = (fast(name) for name in ("room_for", "take", "put", "products"))
_add_and_products, _squared_sum, _first, _second = (
    fast(name) for name in ("add_and_products", "squared_sum", "first", "second")
)


@pytest.mark.parametrize("floats", ["f8", "f4"])
@pytest.mark.parametrize("vectors", [3, 4])
@pytest.mark.parametrize("d", [1, 3, 4, 5, 8, 16, 17, 22, 32, 33, 40, 100, 639])
def test_vectors_in_registers(d, vectors, floats):
    rng = np.random.default_rng(d)
    X, table = rng.normal(size=(4, d)).astype(floats), rng.normal(size=(d, 4))
    a, b = table.copy(), table.copy()
    found = _in_registers((X,), a, fast("shape_for")(vectors, d))
    shape = plain.shape_for(vectors, d)
    (px, nx), ux, xx = plain.products(b, (X,), 0, shape)
    (px_after, nx_after), ux_after, xx_after = plain.add_and_products(b, (X,), 0, 3, True, 0.5, -2.0, 0.25, shape)
    zz = plain.squared_sum(b, d, 2.0, -3.0, shape)
    agree(found, (px, nx, ux, xx, px_after, nx_after, ux_after, xx_after, zz), d)
    np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("read_at_rest", "xw"),
        ("read", "xvvvss"),
        ("enter", "xsvvss"),
        ("read_and_enter", "xsvvvssss"),
        ("dot_4", "vvvvv"),
        ("turn_4", "vvvvvssssssss"),
    ],
)
@pytest.mark.parametrize("floats", ["f8", "f4"])
def test_loops_over_vectors(name, kinds, floats):
    ours, theirs = both(name, len(kinds))
    for d in WIDTHS:
        rng = np.random.default_rng(d)
        make = {"x": lambda: rng.normal(size=d).astype(floats), "s": rng.normal}  # noqa: B023
        given = [make.get(kind, lambda: rng.normal(size=d))() for kind in kinds]  # noqa: B023
        a, b = ([value.copy() if isinstance(value, np.ndarray) else value for value in given] for _ in range(2))
        found, expected = ours(*a), theirs(*b)
        agree(found, expected, d)
        for mine, twin in zip(a, b, strict=True):
            np.testing.assert_allclose(mine, twin, rtol=1e-12, atol=1e-12)


def test_pairs():
    @njit(error_model="numpy")
    def ours(a, b, c, d, s):
        p, q = _pair(a, b), _pair(c, d)
        r = _fma(p, q, p * s + q / p)
        return _first(r), _second(r), _fma(a, b, c)

    def expected(a, b, c, d, s):
        p, q = plain.pair(a, b), plain.pair(c, d)
        r = plain.fma(p, q, p * s + q / p)
        return plain.first(r), plain.second(r), plain.fma(a, b, c)

    agree(ours(1.5, -2.0, 0.3, 7.0, 0.1), expected(1.5, -2.0, 0.3, 7.0, 0.1))


_pair, _fma = fast("pair"), fast("fma")


@pytest.mark.slow
def test_the_passes_come_to_the_same_with_the_twins_and_stay_within_their_arrays(tmp_path):
    """The mathematics against the references, in a process where every place is checked that is read or written."""
    modes = {"PATER_PLAIN": "1", "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    tests = ["test_passes_against_reference.py", "test_second_reference.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *(f"kernels/{name}" for name in tests)]
    done = subprocess.run(command, cwd=TESTS, env=os.environ | modes, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
