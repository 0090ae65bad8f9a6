"""Every primitive written in LLVM against its twin in plain loops, at every width that its loops distinguish."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal

from pater import PATERClassifier
from pater.kernels import simd
from pater.kernels.memory import ROW
from pater.kernels.pages import whole_lines, zeros_in_lines
from pater.kernels.simd import plain, primitives
from pater.kernels.simd.dense_rows import KEPT, NARROW

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
WIDTHS = [*range(1, 71), 127, 128, 129, 300, 641, 1024, 1025]
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def calls(name, *parameters):
    """The primitive and its twin, each as a function that Python can call."""
    code = f"def call({', '.join(parameters)}):\n    return primitive({', '.join(parameters)})"
    both = []
    for source in (primitives, plain):
        space = {"primitive": getattr(source, name)}
        exec(code, space)
        both.append(njit(space["call"]))
    return both


PRODUCTS = calls("products", "rows", "i", "table")
ADD = calls("add_and_products", "rows", "i", "following", "table", "positive", "s", "a", "b")
FOUR = calls("four_products", "rows", "i", "table")
LINES = {16: calls("products_of_two_lines", "rows", "i", "table", "out")}
LINES[24] = calls("products_of_three_lines", "rows", "i", "table", "out")
ADD_LINES = calls("add_to_lines", "rows", "i", "table", "coefficients", "line")
PROJECT_COLUMNS = calls("project_four_columns", "triangle", "j", "x", "f")
ABSORB_COLUMNS = calls("absorb_four_columns", "triangle", "j", "f", "k", "alpha")
MARKS, LOWEST, ONES = calls("marks", "text", "i", "a", "b"), calls("lowest", "word"), calls("ones", "word")


def dense(d, floats, rng):
    return (np.ascontiguousarray(rng.normal(size=(5, d)), floats),)


def padded(vectors, row):
    """The table whose columns are these vectors and a row, each in cache lines of its own."""
    copy = zeros_in_lines((1, len(vectors) + 1, row.size))
    copy[0] = [*vectors, row]
    return whole_lines(copy)[0].T


def csr(d, floats, pointers, indices, rng):
    X = sp.csr_array(np.where(rng.random((5, d)) < 0.6, rng.normal(size=(5, d)), 0.0))
    return X.indptr.astype(pointers), X.indices.astype(indices), X.data.astype(floats)


SPARSE = [("f8", "i4", "u4"), ("f4", "i4", "u4"), ("f8", "i8", "u8"), ("f4", "i8", "u8"), ("f8", "i8", "u4")]


def both_on(pair_of_calls, *arguments):
    """What each returns, and its arguments afterwards."""
    found = []
    for call in pair_of_calls:
        mine = [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in arguments]
        found.append((call(*mine), mine))
    return found


def same(pair_of_calls, *arguments):
    (ours, left), (theirs, expected) = both_on(pair_of_calls, *arguments)
    if theirs is not None:
        assert_allclose(ours, theirs, **CLOSE)
    for a, b in zip(left, expected, strict=True):
        if isinstance(a, np.ndarray):
            assert_allclose(a, b, **CLOSE)


@pytest.mark.parametrize("floats", ["f8", "f4"])
def test_dense_rows(floats):
    for d in WIDTHS:
        rng = np.random.default_rng(d)
        rows, vectors = dense(d, floats, rng), rng.normal(size=(4, d))
        for i, positive in ((0, True), (3, False), (4, True)):
            table = padded(vectors, rows[0][i])
            for b in (0.0, -0.7):
                (ours, left), (theirs, expected) = both_on(ADD, rows, i, (i + 1) % 5, table, positive, 1.5, 0.3, b)
                assert_allclose(ours, theirs, **CLOSE)
                assert_allclose(left[3][:, :4], expected[3][:, :4], **CLOSE)
            (ours, _), (theirs, _) = both_on(PRODUCTS, rows, i, table)
            assert_allclose(ours, theirs, **CLOSE)


@pytest.mark.parametrize("d", [d for d in WIDTHS if NARROW < d <= KEPT])
def test_a_row_whose_products_are_known_is_at_hand(d):
    rng = np.random.default_rng(d)
    rows, table = dense(d, "f4", rng), padded(rng.normal(size=(4, d)), np.zeros(d))
    PRODUCTS[0](rows, 2, table)
    assert_array_equal(table[:d, ROW], rows[0][2])
    ADD[0](rows, 2, 3, table, True, 1.0, 1.0, 0.0)
    assert_array_equal(table[:d, ROW], rows[0][3])
    assert not table[d:].any()


def test_the_order_of_the_sums_is_the_same_in_both_loops_over_dense_rows():
    """Otherwise a stream would depend on where it is cut."""
    for d in WIDTHS:
        rng = np.random.default_rng(d)
        rows = dense(d, "f8", rng)
        table = padded(rng.normal(size=(4, d)), rows[0][1])
        for positive in (True, False):
            after = ADD[0](rows, 1, 2, table, positive, 0.5, -0.25, 0.0)
            assert_array_equal(after, PRODUCTS[0](rows, 2, table))


@pytest.mark.parametrize(("floats", "pointers", "indices"), SPARSE)
def test_sparse_rows(floats, pointers, indices):
    for d in WIDTHS:
        rng = np.random.default_rng(d)
        rows = csr(d, floats, pointers, indices, rng)
        table = rng.normal(size=(d, 4))
        for i, positive in ((0, True), (4, False)):
            same(PRODUCTS, rows, i, table)
            same(FOUR, rows, i, table)
            same(ADD, rows, i, (i + 1) % 5, table, positive, 1.5, 0.3, -0.7)


@pytest.mark.parametrize(("floats", "pointers", "indices"), SPARSE)
@pytest.mark.parametrize("numbers", [16, 24])
def test_lines_of_many_models(floats, pointers, indices, numbers):
    for d in WIDTHS[::7]:
        rng = np.random.default_rng(d)
        rows = csr(d, floats, pointers, indices, rng)
        table, lines = rng.normal(size=(d, numbers)), numbers // 8
        for i in (0, 4):
            same(LINES[numbers], rows, i, table, np.zeros((lines, 8)))
            for line in range(1, lines):
                same(ADD_LINES, rows, i, table, rng.normal(size=(lines, 8)), line)


def test_one_model_and_many_have_the_same_sums():
    """A model in a herd must have the same bits as alone."""
    for d in WIDTHS[::5]:
        rng = np.random.default_rng(d)
        rows, alone = csr(d, "f8", "i4", "u4", rng), rng.normal(size=(d, 4))
        herd = np.zeros((d, 24))
        herd[:, [0, 8, 16]] = alone[:, :3]
        out = np.zeros((3, 8))
        xx = LINES[24][0](rows, 2, herd, out)
        assert_array_equal(PRODUCTS[0](rows, 2, alone), [*out[:, 0], xx])


def test_columns_of_a_triangle():
    for j in [*range(0, 72, 4), 128, 300, 640]:
        rng = np.random.default_rng(j)
        triangle = rng.normal(size=(j + 4) * (j + 5) // 2)
        x, f, k = rng.normal(size=(3, j + 4))
        same(PROJECT_COLUMNS, triangle, j, x, f)
        for column in range(j, j + 4):  # the diagonal is positive, so that noise + xᵀΣx is, too
            triangle[column * (column + 3) // 2] = rng.random()
        (ours, left), (theirs, expected) = both_on(ABSORB_COLUMNS, triangle, j, f, k, 0.5)
        assert_allclose(ours, theirs, rtol=1e-12)
        for a, b in zip(left[0:4:3], expected[0:4:3], strict=True):
            assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_arithmetic_of_pairs():
    def of(source):
        pair, first, second, fma, larger = (
            getattr(source, name) for name in ("pair", "first", "second", "fma", "larger")
        )

        @njit
        def call(a, b, c):
            x, y = pair(a, b), pair(b, c)
            z = fma(x, y, (x + y) * a / pair(c, a)) + 0.5
            z = larger(fma(z, c, fma(a, b, c)), x)
            return first(z), second(z)

        return call

    ours, theirs = of(primitives), of(plain)
    for a, b, c in np.random.default_rng(0).normal(size=(50, 3)):
        assert_allclose(ours(a, b, c), theirs(a, b, c), rtol=1e-12)


@pytest.mark.parametrize("some", [b",\n", b"ab,", bytes(range(256))])
def test_the_marks_of_bytes(some):
    text = np.random.default_rng(1).choice(np.frombuffer(some, np.uint8), 200)
    text.flags.writeable = False
    for i in range(text.size - 63):
        ours, theirs = (marks(text, i, 44, 10) for marks in MARKS)
        assert ours == theirs == sum(1 << k for k in range(64) if text[i + k] in (44, 10))


def test_bits_are_found_and_counted():
    words = [0, 1, 2**63, 2**64 - 1, *np.random.default_rng(2).integers(0, 2**63, 50, np.uint64).tolist()]
    for word in map(np.uint64, words):
        ours, theirs = ((lowest(word), ones(word)) for lowest, ones in zip(LOWEST, ONES, strict=True))
        n = int(word)
        assert ours == theirs == ((n & -n).bit_length() - 1 if n else 64, n.bit_count())


def test_both_sets_have_every_primitive():
    written = {name for name, each in vars(primitives).items() if isinstance(each, type(primitives.fma))}
    written |= {"lowest", "ones"}
    twins = {name for name, each in vars(plain).items() if getattr(each, "__module__", "") == plain.__name__}
    assert written == {name for name in twins if not name.startswith("_")}


def test_nothing_but_this_package_writes_llvm():
    package = Path(simd.__file__).parents[2]
    writers = [path for path in package.rglob("*.py") if "from llvmlite" in path.read_text()]
    assert {path.parent for path in writers} == {Path(simd.__file__).parent}


COMMON_FORMS = "not f4 and not f8-i8"


def run_tests(tmp_path, *arguments, **environment):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), **environment}
    command = [sys.executable, "-m", "pytest", "-q", "-m", "", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "passed" in done.stdout


@pytest.mark.slow
def test_the_passes_come_to_the_same_with_the_twins_and_stay_within_their_arrays(tmp_path):
    """The mathematics against the references, in a process in which every read and write is checked."""
    tests = ["kernels/test_passes_against_reference.py", "kernels/test_second_reference.py"]
    run_tests(tmp_path, *tests, "-k", COMMON_FORMS, PATER_PLAIN="1", NUMBA_BOUNDSCHECK="1")


@pytest.mark.slow
def test_the_mathematics_runs_in_the_interpreter(tmp_path):
    tests = ["kernels/test_rules.py", "kernels/test_passes_against_reference.py", "kernels/test_second_reference.py"]
    chosen = "not follows or dense-f8 or csr-f4-i8"
    run_tests(tmp_path, *tests, "-k", f"({chosen}) and {COMMON_FORMS}", NUMBA_DISABLE_JIT="1")


WITHOUT_PRIMITIVES = """
import sys
sys.modules["pater.kernels.simd.primitives"] = None  # as for a compiler in which a name that they import is gone
import numpy as np
from pater import PATERClassifier
from pater.kernels import simd
from pater.kernels.simd import plain
assert simd.products is plain.products
X = np.random.default_rng(0).normal(size=(200, 5))
print(*PATERClassifier().fit(X, X[:, 0] > 1).coef_[0])
"""


@pytest.mark.slow
def test_where_no_primitive_can_be_built_their_twins_take_their_place(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 5))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    told = subprocess.run([sys.executable, "-c", WITHOUT_PRIMITIVES], env=environment, capture_output=True, text=True)
    found = [float(each) for each in told.stdout.split()]
    assert_allclose(found, PATERClassifier().fit(X, X[:, 0] > 1).coef_[0], rtol=1e-9, err_msg=told.stderr)
