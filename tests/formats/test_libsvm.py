"""libsvm text: what the format allows and forbids, and agreement with scikit-learn's loader."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from pater.formats.batches import Batch
from pater.formats.blocks import Block, Place
from pater.formats.libsvm import LibsvmParser


def parse(text: bytes, **settings: object) -> Batch:
    return LibsvmParser(**settings)(Block(text, 1, Place()), "rows.svm")  # type: ignore[arg-type]


def test_agrees_with_scikit_learn(libsvm_text: Callable[..., bytes]) -> None:
    text = libsvm_text(300)
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
    batch = parse(text)
    assert (batch.X != X).nnz == 0
    np.testing.assert_array_equal(batch.labels, y)


def test_reads_what_scikit_learn_writes() -> None:
    random = np.random.default_rng(0)
    X, y = random.standard_normal((50, 7)) * 10.0 ** random.integers(-300, 300, (50, 7)), random.integers(0, 3, 50)
    out = io.BytesIO()
    dump_svmlight_file(X, y, out, zero_based=True)
    want, _ = load_svmlight_file(io.BytesIO(out.getvalue()), zero_based=True)
    assert (want != parse(out.getvalue()).X).nnz == 0


def test_everything_the_format_allows() -> None:
    text = b"# a comment line\n\n+1 1:0.5 3:-2e-1 # trailing 5:6\r\n-1.0 qid:3 2:1\t4:+.5\n  3   \n1 7:1 2:3\n0 0:1\n"
    batch = parse(text)
    assert batch.faults == []
    np.testing.assert_array_equal(batch.labels, [1, -1, 3, 1, 0])
    np.testing.assert_array_equal(batch.lines, [3, 4, 5, 6, 7])
    want = np.zeros((5, 8))
    want[0, [1, 3]] = 0.5, -0.2
    want[1, [2, 4]] = 1, 0.5
    want[3, [2, 7]] = 3, 1
    want[4, 0] = 1
    np.testing.assert_array_equal(batch.X.toarray(), want)


@pytest.mark.parametrize(
    ("line", "column", "what"),
    [
        ("abc 1:2", 1, "label"),
        ("1x 1:2", 2, "label"),
        ("0.5 1:2", 1, "whole"),
        ("nan 1:2", 1, "label"),
        ("1:2 2:3", 0, "no label"),
        ("1 2", 3, "index:value"),
        ("1 2:", 5, "value"),
        ("1 2:x", 5, "value"),
        ("1 2:1x", 5, "value"),
        ("1 2:1 3:1e", 9, "value"),
        ("1 -2:1", 3, "index:value"),
        ("1 2.5:1", 3, "index:value"),
        ("1 2:inf", 5, "infinity"),
        ("1 2:1 3:-NaN", 9, "infinity"),
        ("1 2:1e999", 0, "infinity"),
        ("1 5000000:1", 3, "limit"),
        ("1 99999999999999999999999:1", 3, "99999999999999999999999 is beyond the limit"),
        ("1 2:1 2:3", 0, "twice"),
        ("1 qid:x 2:1", 3, "index:value"),
        ("1,2 3:1", 2, "label"),
        ("1 2:1\r3:1", 6, "index:value"),
        ("1 2:info", 5, "the value is not a number"),
        ("1 2:infinity", 5, "infinity"),
        ("1 2:nano", 5, "the value is not a number"),
        ("12345678901234567890 2:1", 1, "at most 2^53"),
    ],
)
def test_malformed_lines(line: str, column: int, what: str) -> None:
    batch = parse(f"+1 1:1\n{line}\n-1 1:2\n".encode())
    (fault,) = batch.faults
    assert (fault.line, fault.column) == (2, column)
    assert what in fault.what
    np.testing.assert_array_equal(batch.X.toarray()[:, 1], [1, 2])


def test_rows_without_a_label_can_be_predicted() -> None:
    assert parse(b"1:2 3:4\n2:1\n", labelled=False).labels is None
    assert parse(b"1:2 3:4\n2:1\n", labelled=False).X.shape == (2, 4)


def test_numbers_left_to_float_are_exact() -> None:
    values = ["1e-320", "0.12345678901234567890123456789", "123456789012345678901234567890"]
    batch = parse(" ".join(["1", *(f"{j}:{x}" for j, x in enumerate(values))]).encode() + b"\n")
    assert batch.X.toarray().tolist() == [[float(x) for x in values]]


NEAR = [2**31, 2**32, 2**63, 2**63 + 2**32, 2**64, 2**64 + 1, 10**19, 10**19 - 1, 10**30]


@pytest.mark.parametrize("index", sorted({n + k for n in NEAR for k in (-1, 0, 1)}))
def test_no_index_wraps_round(index: int) -> None:
    batch = parse(f"1 1:1\n-1 1:1 {index}:1\n-1 000{index}:1\n".encode(), limit=1 << 30)
    assert [(fault.line, fault.column) for fault in batch.faults] == [(2, 8), (3, 4)]
    assert f"the feature index {index} is beyond the limit of 1073741824 features" in batch.faults[0].what[:120]
    assert batch.n_features == 2
    hashed = parse(f"1 {index}:1\n".encode(), bits=5)
    assert hashed.faults == []
    assert hashed.rows[1].max() < 32


def test_collisions_that_overflow_are_no_values() -> None:
    text = " ".join(["1", *(f"{j}:{s}1.7e308" for j in range(40) for s in ("-" if j % 2 else "+",))])
    batch = parse(f"1 1:1\n{text}\n".encode(), bits=1)
    assert [(fault.line, fault.what) for fault in batch.faults] == [
        (2, "infinity and NaN are not values to learn from")
    ]
    assert np.isfinite(batch.rows[2]).all()
