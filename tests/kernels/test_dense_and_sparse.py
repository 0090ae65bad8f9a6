"""The same numbers, dense or sparse, in single or double precision, in any sound form: the same model to 1e-10."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from pater import PATERClassifier, Perceptron
from pater.kernels.rules import RULES
from pater.kernels.run import MEANS
from pater.models.labels import _scan

N = 4000
WIDTHS = [8, 100]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", WIDTHS)
@pytest.mark.parametrize("average", [True, False])
def test_dense_is_csr(rule, d, average, learner, as_form, stream, weights):
    X, y = stream(N, d, density=0.3)
    dense, sparse = (learner(rule, average=average).fit(as_form(X, form), y) for form in ("dense-f8", "csr-f8-i4"))
    scale = np.abs(weights(dense)).max()
    np.testing.assert_allclose(weights(sparse), weights(dense), rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", WIDTHS)
def test_single_precision_input_is_read_exactly(rule, d, learner, as_form, stream, weights):
    """The state is in double precision, whatever the input: single-precision numbers are like any others."""
    X, y = stream(N, d)
    for one, two in (("dense-f8", "dense-f4"), ("csr-f8-i4", "csr-f4-i8")):
        a, b = (weights(learner(rule).fit(as_form(X, form), y)) for form in (one, two))
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-12 * np.abs(a).max())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_single_precision_input_of_any_size(rule, kind, size, learner, as_form, stream):
    """Its square need not fit in single precision."""
    X, y = stream(200, 5)
    X = (X * size).astype(np.float32)
    single, double = (as_form(X, form) for form in (f"{kind}-f4-i4"[: 8 + (kind == "csr") * 3], f"{kind}-f8-i4"))
    a, b = (learner(rule, fit_intercept=False).fit(data, y) for data in (double, single))
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=0, atol=1e-12 * np.abs(a.coef_).max())
    wide = learner(rule).fit(np.eye(100), np.arange(100) % 2)
    wide.partial_fit(as_form(np.full((1, 100), size, np.float32), f"{kind}-f4-i4"), [0])  # checked before it is read
    assert np.isfinite(wide.coef_).all()


@pytest.mark.parametrize("forms", ["dense-f8 csr-f8-i4", "dense-f8 csr-f8-i4 csr-f4-i8 dense-f4"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", WIDTHS)
def test_a_stream_of_dense_and_sparse_batches(rule, d, forms, learner, as_form, stream, weights):
    X, y = stream(N, d, density=0.5)
    dense = learner(rule, average=True).fit(X, y)
    mixed = learner(rule, average=True)
    forms = forms.split()
    for k, start in enumerate(range(0, N, 125)):
        stop = start + 125
        mixed.partial_fit(as_form(X[start:stop], forms[k % len(forms)]), y[start:stop])
    np.testing.assert_allclose(weights(mixed), weights(dense), rtol=0, atol=1e-9 * np.abs(weights(dense)).max())


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learned_from", ["dense-f8", "csr-f8-i4"])
def test_predictions_do_not_depend_on_the_form(average, n_classes, learned_from, as_form, stream):
    X, y = stream(500, 70, density=0.3)
    y = y + (3 * (X[:, 0] > 0.5) if n_classes == 3 else 0)
    y[y == 4] = 2
    model = PATERClassifier("II", average=average).fit(as_form(X, learned_from), y)
    expected = model.decision_function(X)
    by_hand = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(expected.reshape(by_hand.shape), by_hand, rtol=0, atol=1e-11 * np.abs(by_hand).max())
    for form in ("dense-f4", "csr-f8-i4", "csr-f4-i8"):
        found = model.decision_function(as_form(X, form))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


SPARSE = [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix, sp.dok_array, sp.bsr_array]


@pytest.mark.parametrize("make", SPARSE, ids=lambda make: make.__name__)
def test_every_sparse_format(make, stream, weights):
    X, y = stream(300, 9, density=0.4)
    expected = PATERClassifier().fit(sp.csr_array(X), y)
    model = PATERClassifier().fit(make(X), y)
    assert weights(model).tobytes() == weights(expected).tobytes()
    assert (model.predict(make(X)) == expected.predict(X)).all()


def test_every_dense_layout(stream, weights):
    """Rows in the other order, with gaps, reversed, read-only, unaligned, in the other byte order: the same numbers."""
    X, y = stream(300, 9)
    expected = weights(PATERClassifier().fit(X, y))
    gaps = np.zeros((600, 18))
    gaps[::2, ::2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    unaligned = np.frombuffer(bytearray(8 * X.size + 1), np.float64, X.size, offset=1).reshape(X.shape)
    unaligned[:] = X
    layouts = {
        "column by column": np.asfortranarray(X),
        "gaps": gaps[::2, ::2],
        "backwards": X[::-1, ::-1].copy()[::-1, ::-1],
        "read-only": read_only,
        "unaligned": unaligned,
        "other byte order": X.astype(">f8"),
        "objects": X.astype(object),
        "lists": X.tolist(),
    }
    for name, layout in layouts.items():
        assert weights(PATERClassifier().fit(layout, y)).tobytes() == expected.tobytes(), name
    assert (read_only == X).all()


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_read_only_arrays_do_not_ask_for_new_machine_code(make, stream):
    """Compiling takes seconds, and frames and memory maps often give read-only arrays."""
    X, y = stream(300, 9)
    X, s = make(X), np.ones(300)
    PATERClassifier().fit(X, y, sample_weight=s).predict(X)
    before = len(MEANS.learn.signatures), len(_scan.signatures)
    arrays = [y, s, X] if make is np.asarray else [y, s, X.data, X.indices, X.indptr]
    for array in arrays:
        array.flags.writeable = False
    PATERClassifier().fit(X, y, sample_weight=s).predict(X)
    assert (len(MEANS.learn.signatures), len(_scan.signatures)) == before


def test_integers_and_booleans_are_numbers(stream, weights):
    X, y = stream(300, 9)
    whole = np.round(X * 3)
    expected = weights(PATERClassifier().fit(whole, y)).tobytes()
    sparse = weights(PATERClassifier().fit(sp.csr_array(whole), y)).tobytes()
    for dtype in (np.int8, np.int64):
        assert weights(PATERClassifier().fit(whole.astype(dtype), y)).tobytes() == expected
        assert weights(PATERClassifier().fit(sp.csr_array(whole.astype(dtype)), y)).tobytes() == sparse
    assert weights(PATERClassifier().fit(whole.astype(np.float16), y)).tobytes() == expected
    expected = weights(PATERClassifier().fit((X > 0).astype(float), y)).tobytes()
    assert weights(PATERClassifier().fit(X > 0, y)).tobytes() == expected


def parts(X):
    return X.data.copy(), X.indices.copy(), X.indptr.copy()


@pytest.mark.parametrize("kind", ["i4", pytest.param("i8", marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", [PATERClassifier(), Perceptron()], ids=["mean rule", "point rule"])
def test_every_csr_layout(model, kind, stream, weights):
    """Columns out of order or repeated, explicit zeros, read-only or strided arrays: the same numbers."""
    X, y = stream(300, 9, density=0.5)
    sparse = sp.csr_array(X)
    expected = weights(model.fit(sparse, y)).copy()
    data, indices, indptr = parts(sparse)

    backwards = sparse.copy()
    for i in range(300):
        row = slice(indptr[i], indptr[i + 1])
        backwards.data[row], backwards.indices[row] = data[row][::-1].copy(), indices[row][::-1].copy()
    halves = sp.csr_array((np.repeat(data / 2, 2), np.repeat(indices, 2), indptr * 2), X.shape)
    zeros = sp.csr_array((X.ravel(), np.tile(np.arange(9, dtype=kind), 300), np.arange(301, dtype=kind) * 9), X.shape)
    spaced = np.full(2 * data.size, 7.0)
    spaced[::2] = data
    strided = sparse.copy()
    strided.data = spaced[::2]
    longer = sp.csr_array((np.append(data, [9.0]), np.append(indices, [0]).astype(kind), indptr), X.shape)
    frozen = sparse.copy()
    for array in (frozen.data, frozen.indices, frozen.indptr):
        array.flags.writeable = False
    untouched = [parts(matrix) for matrix in (backwards, halves, strided)]

    layouts = {"backwards": backwards, "halves": halves, "zeros": zeros, "strided": strided, "longer": longer}
    for name, layout in {**layouts, "frozen": frozen}.items():
        found = weights(model.fit(layout, y))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max(), err_msg=name)
        margins = model.decision_function(layout)
        np.testing.assert_allclose(margins, model.decision_function(X), rtol=0, atol=1e-11, err_msg=name)
    for matrix, before in zip((backwards, halves, strided), untouched, strict=True):
        for a, b in zip(parts(matrix), before, strict=True):
            assert (a == b).all(), "the caller's matrix was changed"


def malformed(what):
    X = sp.csr_array(np.arange(1.0, 13.0).reshape(4, 3))
    data, indices, indptr = parts(X)
    if what == "column too large":
        indices[7] = 3
    elif what == "column far too large":
        indices[0] = 2**31 - 1
    elif what == "negative column":
        indices[5] = -1
    elif what == "rows that go back":
        indptr[1:3] = indptr[1:3][::-1]
    elif what == "rows beyond the data":
        indptr[-1] = 99
    elif what == "negative row start":
        indptr[1] = -4
    elif what == "rows that do not begin at 0":
        indptr[0] = 2
    X.data, X.indices, X.indptr = data, indices, indptr
    if what == "too few columns named":
        X.indices = indices[:-2]
    elif what == "too few rows":
        X.indptr = indptr[:-1]
    return X


@pytest.mark.parametrize(
    "what",
    [
        "column too large",
        "column far too large",
        "negative column",
        "rows that go back",
        "rows beyond the data",
        "negative row start",
        "rows that do not begin at 0",
        "too few columns named",
        "too few rows",
    ],
)
def test_malformed_csr_is_an_error_never_a_crash(what, unchanged_by):
    y = [0, 1, 0, 1]
    unchanged_by(PATERClassifier(), lambda: PATERClassifier().fit(malformed(what), y))
    model = PATERClassifier().fit(np.arange(12.0).reshape(4, 3), y)
    for call in (
        lambda: model.partial_fit(malformed(what), y),
        lambda: model.fit(malformed(what), y),
        lambda: model.predict(malformed(what)),
    ):
        assert "X" in unchanged_by(model, call, ValueError)
