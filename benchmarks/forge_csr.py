"""Forged sparse matrices: each must give the same result as the equal dense matrix, or be refused.

    python benchmarks/forge_csr.py --cases 10000

The arrays of sound matrices get other types, byte orders and lengths; indices that are negative, huge, out of order or
repeated; an indptr that decreases; numbers that are not finite; memory that is read-only, unaligned or strided; up to
three changes at once. They are given to estimators, to a grid, to the command line's learner and to the pass itself.
Plain Python finds out here what a matrix means. Failures are: a result other than that of the dense matrix, a forgery
taken for sound, an error that is neither a ValueError nor a TypeError, a model changed by a failed call, a matrix that
was written to.

Every case follows from its seed and its number alone. To check every access of compiled code, run

    NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=<another folder> python benchmarks/forge_csr.py
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import itertools
import json
import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pater import AROWClassifier, AutoPATERClassifier, PassiveAggressiveClassifier, PATERClassifier, TERClassifier
from pater.formats.batches import Batch
from pater.kernels import run as passes
from pater.kernels.state import State
from pater.models.search import Grid
from pater.models.spec import Spec, settings_of
from pater.stream.learner import Learner

WIDTHS = (1, 3, 20)
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "pater-i": PATERClassifier,
    "pa-i": PassiveAggressiveClassifier,
    "arow": AROWClassifier,
    "auto": AutoPATERClassifier,
    "ter": lambda: TERClassifier(ridge=1.0),
}
INDEX_TYPES = ["i1", "u1", "i2", "u2", "u4", "u8", "i8", ">i4", ">i8", ">u2", ">u4", "f8", "b1", "O", "c16"]
DATA_TYPES = ["f2", "f4", "g", "c16", "i1", "i8", "u4", "b1", ">f8", ">f4", ">i4", "O", "U9", "m8[s]", "V8"]


class WrongError(Exception):
    """A case that did not end as it should."""


class RefusedError(ValueError):
    """What a pass raises for a row, after which the caller must restore the state."""


@dataclass
class Forged:
    """The parts of a matrix, and the changes made to it."""

    data: Any
    indices: Any
    indptr: Any
    shape: tuple[int, int]
    changes: list[str]
    claims: bool = False  # whether it claims that its columns are in order

    def arrays(self) -> list[Any]:
        return [self.data, self.indices, self.indptr]


def sound(rng: np.random.Generator) -> Forged:
    """A matrix in order, whose numbers and their sums are exact in every floating-point type."""
    n, d = int(rng.integers(2, 12)), int(rng.choice(WIDTHS))
    X = rng.integers(1, 1024, (n, d)) / 256.0 * rng.choice([-1, 1], (n, d)) * (rng.random((n, d)) < rng.random())
    matrix = sp.csr_array(X)
    return Forged(matrix.data, matrix.indices.astype("i4"), matrix.indptr.astype("i4"), (n, d), [])


def _cast(array: Any, kind: str) -> Any:
    """The array in another type, whatever the cast makes of its numbers."""
    with np.errstate(all="ignore"):
        return np.zeros(len(array), "V8") if kind == "V8" else array.astype(kind)


def _put(array: Any, rng: np.random.Generator, value: Any) -> Any:
    if len(array) == 0:
        return array
    array = array.copy()
    with np.errstate(all="ignore"):
        array[rng.integers(len(array))] = np.asarray(value).astype(array.dtype)
    return array


def _index_type(f: Forged, rng: Any) -> None:
    f.indices = _cast(f.indices, rng.choice(INDEX_TYPES))


def _indptr_type(f: Forged, rng: Any) -> None:
    f.indptr = _cast(f.indptr, rng.choice(INDEX_TYPES))


def _both_types(f: Forged, rng: Any) -> None:
    kind = rng.choice(INDEX_TYPES[:11])
    f.indices, f.indptr = _cast(f.indices, kind), _cast(f.indptr, kind)


def _data_type(f: Forged, rng: Any) -> None:
    f.data = _cast(f.data, rng.choice(DATA_TYPES))


def _bad_index(f: Forged, rng: Any) -> None:
    values = [-1, f.shape[1], f.shape[1] + 1, -(2**31), 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**63 - 1, -(2**63)]
    if np.asarray(f.indices).dtype.kind in "iu" and rng.random() < 0.7:
        f.indices = f.indices.astype("i8")
    f.indices = _put(f.indices, rng, np.int64(values[rng.integers(len(values))]))


def _bad_indptr(f: Forged, rng: Any) -> None:
    values = [-1, 0, len(f.data), len(f.data) + 1, 2**31 - 1, -(2**31), 2**32 + 1, 2**63 - 1]
    if np.asarray(f.indptr).dtype.kind in "iu" and rng.random() < 0.5:
        f.indptr = f.indptr.astype("i8")
    f.indptr = _put(f.indptr, rng, np.int64(values[rng.integers(len(values))]))


def _reversed_indptr(f: Forged, rng: Any) -> None:
    f.indptr = np.ascontiguousarray(f.indptr[::-1])


def _bad_number(f: Forged, rng: Any) -> None:
    if np.asarray(f.data).dtype.kind == "f":
        values = [np.nan, np.inf, -np.inf, 1e200, -1e300, 1e-320, 0.0, -0.0]
        f.data = _put(f.data, rng, values[rng.integers(len(values))])


def _disordered(f: Forged, rng: Any) -> None:
    if len(f.data) == len(f.indices):
        order = rng.permutation(len(f.indices))
        if rng.random() < 0.5:  # within the rows
            order = np.lexsort((order, _row_of_each(f)))
        f.indices, f.data = f.indices[order], f.data[order]


def _row_of_each(f: Forged) -> Any:
    try:
        ends = np.asarray(f.indptr, "i8")[1:]
    except (TypeError, ValueError, OverflowError):
        ends = np.zeros(1, "i8")
    return np.searchsorted(ends, np.arange(len(f.indices)), side="right")


def _twice(f: Forged, rng: Any) -> None:
    if len(f.indices) > 1:
        k = rng.integers(1, len(f.indices))
        f.indices = f.indices.copy()
        f.indices[k] = f.indices[k - 1]


def _longer(f: Forged, rng: Any) -> None:
    for name in rng.permutation(["data", "indices"])[: rng.integers(1, 3)]:
        setattr(f, name, np.concatenate([getattr(f, name), getattr(f, name)[:3]]))


def _shorter(f: Forged, rng: Any) -> None:
    name = rng.choice(["data", "indices", "indptr"])
    array = getattr(f, name)
    setattr(f, name, array[: rng.integers(0, len(array) + 1)])


def _longer_indptr(f: Forged, rng: Any) -> None:
    f.indptr = np.concatenate([f.indptr, f.indptr[-1:]])


def _in_steps(f: Forged, rng: Any) -> None:
    name = rng.choice(["data", "indices", "indptr"])
    array = getattr(f, name)
    wide = np.zeros((len(array), 3), array.dtype)
    wide[:, 1] = array
    setattr(f, name, wide[:, 1] if rng.random() < 0.5 else wide[::-1][:, 1][::-1])


def _unaligned(f: Forged, rng: Any) -> None:
    name = rng.choice(["data", "indices", "indptr"])
    array = np.ascontiguousarray(getattr(f, name))
    if array.dtype != object and array.ndim == 1:
        raw = np.zeros(array.nbytes + 1, "u1")
        there = raw[1:].view(array.dtype)
        there[:] = array
        setattr(f, name, there)


def _read_only(f: Forged, rng: Any) -> None:
    for name in ("data", "indices", "indptr"):
        array = getattr(f, name).copy()
        array.flags.writeable = False
        setattr(f, name, array)


def _two_dimensions(f: Forged, rng: Any) -> None:
    name = rng.choice(["data", "indices", "indptr"])
    array = getattr(f, name)
    setattr(f, name, array[:, None] if rng.random() < 0.5 else array[None])


def _other_shape(f: Forged, rng: Any) -> None:
    n, d = f.shape
    f.shape = [(n + 1, d), (n - 1, d), (n, d - 1), (n, d + 1), (0, d), (n, 0)][rng.integers(6)]


def _claim(f: Forged, rng: Any) -> None:
    f.claims = True


CHANGES = [
    _index_type,
    _indptr_type,
    _both_types,
    _data_type,
    _bad_index,
    _bad_indptr,
    _reversed_indptr,
    _bad_number,
    _disordered,
    _twice,
    _longer,
    _shorter,
    _longer_indptr,
    _in_steps,
    _unaligned,
    _read_only,
    _two_dimensions,
    _other_shape,
    _claim,
]


def forged(rng: np.random.Generator) -> Forged:
    """A sound matrix with up to three changes."""
    f = sound(rng)
    for change in rng.choice(CHANGES, rng.integers(0, 4)):
        if all(np.ndim(array) == 1 for array in f.arrays()):
            with contextlib.suppress(TypeError, ValueError, OverflowError):  # a change that these types do not allow
                change(f, rng)
                f.changes.append(change.__name__.strip("_"))
    return f


def meaning(f: Forged, raw: bool) -> Any:
    """The dense matrix that these arrays stand for; None if they stand for none. Plain Python only.

    Rows as a pass reads them may be part of longer arrays.
    """
    n, d = f.shape
    for array in (f.indices, f.indptr):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            return None
    if f.data.ndim != 1 or f.data.dtype.kind not in "fiubO" or (len(f.data) != len(f.indices) and not raw):
        return None
    indptr, indices = f.indptr.tolist(), f.indices.tolist()
    if (
        (min(n, d) < 1 and not raw)
        or len(indptr) != n + 1
        or indptr[0] < 0
        or indptr[-1] > min(len(indices), len(f.data))
    ):
        return None
    if indptr[0] != 0 and not raw:
        return None
    if any(a > b for a, b in itertools.pairwise(indptr)):
        return None
    X = np.zeros((n, d))
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            if not 0 <= indices[k] < d:
                return None
            try:
                X[i, indices[k]] += float(f.data[k])
            except (TypeError, ValueError):
                return None
    return X


def matrix_of(f: Forged) -> Any:
    """The forgery as SciPy's matrix, without the checks of its constructor."""
    X = sp.csr_array((1, 1)) if len(f.changes) % 2 else sp.csr_matrix((1, 1))
    X._shape = f.shape
    X.data, X.indices, X.indptr = f.data, f.indices, f.indptr
    if f.claims:
        X.has_sorted_indices = X.has_canonical_format = True
    return X


def _probe(d: int) -> Any:
    return np.linspace(-1.0, 1.0, 5 * d).reshape(5, d)


@functools.cache
def _taught(name: str, d: int) -> bytes:
    """A trained estimator of this many columns, pickled."""
    rng = np.random.default_rng(d)
    X = rng.integers(-512, 512, (30, d)) / 256.0
    return pickle.dumps(ESTIMATORS[name]().fit(X, np.resize([0, 1, 1], 30)))


def _close(a: Any, b: Any) -> bool:
    return bool(np.allclose(a, b, rtol=1e-7, atol=1e-7 * (1.0 + np.abs(b).max(initial=0.0))))


# How a case is run: a name, the model, and the call that gives the result.
Run = tuple[str, Any, Callable[[Any], Any]]


def estimator_run(name: str, call: str, d: int, y: Any) -> Run:
    def run(X: Any) -> Any:
        if call == "fit":
            return model.fit(X, y).decision_function(_probe(model.n_features_in_))
        if call == "partial_fit":
            return model.partial_fit(X, y).decision_function(_probe(d))
        return getattr(model, call)(X)

    model = ESTIMATORS[name]() if call == "fit" else pickle.loads(_taught(name, d))
    return f"{name} {call}", model, run


def grid_run(d: int, y: Any, started: bool) -> Run:
    grid = Grid([Spec("pater-i"), Spec("pa-i"), Spec("arow")], "accuracy")
    if started:
        grid.learn(_probe(d), np.array([0, 1, 0, 1, 1]))

    def run(X: Any) -> Any:
        grid.learn(X, y)
        return np.concatenate([model.state.weights()[0].ravel() for model in grid.models])

    return "grid", grid, run


def learner_run(y: Any) -> Run:
    learner = Learner((Spec("pater-i", watch=True),), threads=1)

    def run(X: Any) -> Any:
        rows = (X,) if isinstance(X, np.ndarray) else (X.indptr, X.indices, X.data)
        learner.learn(Batch(rows, X.shape[1], y))
        return learner.state().weights()[0][:, : X.shape[1]]

    return "learner", learner, run


def pass_run(y: Any, d: int) -> Run:
    specs = (Spec("pater-ii"),)
    state = State.new(1, d, means=True)

    def run(X: Any) -> Any:
        rows = (X,) if isinstance(X, np.ndarray) else (X.indptr, X.indices, X.data)
        if passes.learn(rows, y.astype(np.int64), state, settings_of(specs, (0, 1))) >= 0:
            raise RefusedError("a row that no pass takes")
        return state.weights()[0]

    return "pass", state, run


def _in_kernel_form(f: Forged) -> bool:
    """Whether a pass reads these arrays as they are."""
    kinds = f.indptr.dtype in ("u4", "u8") and f.indices.dtype in ("u4", "u8") and f.data.dtype in ("f4", "f8")
    return kinds and all(array.flags.c_contiguous and array.flags.aligned for array in f.arrays())


def _ascending(f: Forged) -> bool:
    ends, columns = f.indptr.tolist(), f.indices.tolist()
    return all(columns[k - 1] < columns[k] for a, b in itertools.pairwise(ends) for k in range(a + 1, b))


def case(seed: int, number: int) -> tuple[str, str]:
    """Run one case; return its name and how it ended. A failure is an exception that says what is wrong."""
    rng = np.random.default_rng([seed, number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = forged(rng)
    n, d = f.shape
    y = np.resize([0, 1, 1], max(n, 0))
    width = d if rng.random() < 0.8 and d in WIDTHS else int(rng.choice(WIDTHS))
    kind = rng.integers(8)
    raw = False
    if kind < 5:
        name = list(ESTIMATORS)[rng.integers(len(ESTIMATORS))]
        calls = ["fit", "predict", "decision_function"] + ["partial_fit"] * (name != "ter")
        run = estimator_run(name, calls[rng.integers(len(calls))], width, y)
    elif kind == 5:
        run = grid_run(width, y, bool(rng.integers(2)))
    else:
        raw = True
        if rng.random() < 0.8:  # else hardly any forgery would get as far as the columns
            f.indices, f.indptr = (_unsigned(array) for array in (f.indices, f.indptr))
        if kind == 7:
            f.shape = (n, width)  # rows without a shape are as wide as the state
        run = learner_run(y) if kind == 6 else pass_run(y, width)
    name, model, call = run
    told = f"case {number} of seed {seed}, {name}, {f.changes}"
    dense, fresh = meaning(f, raw), pickle.loads(pickle.dumps(model))
    expected = _expected(run, dense) if dense is not None else None
    _restore(model, fresh)
    X = matrix_of(f)
    before, bytes_before = pickle.dumps(model), [_bytes(array) for array in f.arrays()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call(X)
    except (ValueError, TypeError) as error:
        if not str(error):
            raise WrongError(f"{told}: an error without a word") from error
        if not isinstance(error, RefusedError) and pickle.dumps(model) != before:
            raise WrongError(f"{told}: a failed call has changed the model") from error
        must = expected is not None and (not raw or (_in_kernel_form(f) and _ascending(f)))
        if must:
            raise WrongError(f"{told}: sound rows were refused: {error}") from error
        how = "refused"
    except BaseException as error:
        raise WrongError(f"{told}: {type(error).__name__}: {error}") from error
    else:
        if expected is None:
            raise WrongError(f"{told}: taken, though it is not sound")
        if not _close(found, expected):
            raise WrongError(f"{told}: {found} instead of {expected}")
        how = "learned"
    same = [getattr(X, each) is getattr(f, each) for each in ("data", "indices", "indptr")]
    if not all(same) or bytes_before != [_bytes(array) for array in f.arrays()]:
        raise WrongError(f"{told}: the matrix was written to")
    return name, how


def _unsigned(array: Any) -> Any:
    return array.view(f"u{array.itemsize}") if array.dtype.kind == "i" and array.dtype.isnative else array


def _bytes(array: Any) -> bytes:
    return pickle.dumps(array.tolist()) if array.dtype == object else array.tobytes()


def _expected(run: Run, dense: Any) -> Any:
    """What the same numbers give when dense; None if they are refused for another reason, such as their width."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run[2](dense)
    except (ValueError, TypeError):
        return None


def _restore(model: Any, fresh: Any) -> None:
    vars(model).clear()
    vars(model).update(vars(fresh))


def main(count: int, seed: int = 0) -> collections.Counter[tuple[str, str]]:
    """Run this many cases; return how often each kind ended in each way."""
    return collections.Counter(case(seed, number) for number in range(count))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.monotonic()
    ended = main(options.cases, options.seed)
    told = {f"{name}: {how}": n for (name, how), n in sorted(ended.items())}
    print(json.dumps({"cases": options.cases, "seconds": round(time.monotonic() - start, 1), **told}, indent=1))
