"""The parts of the checks in compared.py: each library's learners, taught a little, and its public names."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

Check = Callable[[], Any]

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
Y = (X[:, 0] > 0.5).astype(int)
THREE = np.arange(200) % 3


def yes() -> bool:
    """For what needs no check: a library is itself."""
    return True


def fails(call: Check) -> bool:
    try:
        call()
    except Exception:
        return True
    return False


@functools.cache
def names(package: str) -> frozenset[str]:
    """All public names of a package, including those of its modules, in lower case."""
    module = importlib.import_module(package)
    found = {name for name in dir(module) if not name.startswith("_")}
    for each in pkgutil.walk_packages(module.__path__, f"{package}.", onerror=lambda name: None):
        if any(part.startswith("_") or part in ("tests", "conftest", "test") for part in each.name.split(".")):
            continue
        try:
            inner: ModuleType = importlib.import_module(each.name)
        except Exception:
            continue
        found |= {each.name.split(".")[-1], *(name for name in dir(inner) if not name.startswith("_"))}
    return frozenset(name.lower() for name in found)


def named(package: str, *words: str) -> Check:
    """Whether a public name of the package contains one of these words."""
    return lambda: any(word in name for name in names(package) for word in words)


@functools.cache
def of_vw() -> str:
    return subprocess.run([sys.executable, "-m", "vowpalwabbit", "--help"], capture_output=True, text=True).stdout


def has(*options: str) -> Check:
    """Whether `vw --help` prints each of these words."""
    return lambda: all(option in of_vw() for option in options)


def vw(options: str, lines: list[str]) -> list[Any]:
    """What VW predicts for each line after learning all of them twenty times."""
    from vowpalwabbit import Workspace

    space = Workspace(f"{options} --quiet")
    for line in lines * 20:
        space.learn(line)
    said = [space.predict(line) for line in lines]
    space.finish()
    return said


def online(*words: str) -> Check:
    """Whether scikit-learn has an estimator with `partial_fit` whose module name contains one of these words."""
    from sklearn.utils import all_estimators

    return lambda: any(
        hasattr(kind, "partial_fit") and any(word in kind.__module__ for word in words) for _, kind in all_estimators()
    )


def made(path: str, *given: Any, **more: Any) -> Any:
    place, name = path.rsplit(".", 1)
    return getattr(importlib.import_module(place), name)(*given, **more)


def sk(path: str, *given: Any, **more: Any) -> Any:
    return made(f"sklearn.{path}", *given, **more)


def river(path: str, *given: Any, **more: Any) -> Any:
    return made(f"river.{path}", *given, **more)


def dicts() -> list[tuple[dict[str, float], bool]]:
    return [({"a": float(x[0]), "b": float(x[1])}, bool(y)) for x, y in zip(X, Y, strict=True)]


def taught(model: Any, rows: Any = None) -> Any:
    for x, y in dicts() if rows is None else rows:
        model.learn_one(x, y)
    return model


def schema(classes: tuple[str, ...] = ("0", "1")) -> Any:
    from capymoa.stream import Schema

    return Schema.from_custom(features=["a", "b", "c", "y"], target="y", categories={"y": list(classes)})


def moa(kind: str, y: int = 1, width: int = 3, classes: tuple[str, ...] = ("0", "1"), **more: Any) -> Any:
    """A trained CapyMOA classifier; the last row that it learned has this label and width."""
    import capymoa.classifier
    from capymoa.core import LabeledInstance

    about = schema(classes)
    model = getattr(capymoa.classifier, kind)(about, **more)
    for row, label in [*zip(X, Y, strict=True), (np.ones(width), y)]:
        instance = LabeledInstance.from_array(about, row, int(label))
        assert instance.y_index == label
        model.train(instance)
        model.predict(instance)
    return model


def estimator(name: str, *given: Any, **more: Any) -> Any:
    return made(f"pater.{name}", *given, **more)


def sgd(**more: Any) -> Any:
    return sk("linear_model.SGDClassifier", **more)


def has_console(distribution: str) -> Check:
    return lambda: any(e.group == "console_scripts" for e in importlib.metadata.distribution(distribution).entry_points)


def module(name: str) -> Check:
    return lambda: importlib.util.find_spec(name) is not None


def parameter(path: str, name: str) -> Check:
    """Whether the object at the path has a parameter of this name."""

    def look() -> bool:
        place, last = path.rsplit(".", 1)
        return name in inspect.signature(getattr(importlib.import_module(place), last)).parameters

    return look


def merged_vw() -> bool:
    from vowpalwabbit import Workspace, merge_models

    parts = [Workspace("--quiet"), Workspace("--quiet")]
    for part in parts:
        part.learn("1 |a x")
    return merge_models(parts[0], parts).predict("|a x") > 0


def vw_file() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        vw(f"-f {folder}/m", ["1 |a x"])
        return not Path(folder, "m").read_bytes().startswith(b"\x80")  # as a pickle does


def moa_scales() -> Any:
    from capymoa.stream import NumpyStream
    from capymoa.stream.preprocessing import MOATransformer
    from moa.streams.filters import StandardisationFilter

    return MOATransformer(schema=NumpyStream(X, Y).get_schema(), moa_filter=StandardisationFilter()) is not None


def pater_option(verb: str, option: str) -> Check:
    command = [sys.executable, "-m", "pater", verb, "--help"]
    return lambda: option in subprocess.run(command, capture_output=True, text=True).stdout


def later_class(model: Any) -> Any:
    model.partial_fit(X, Y, classes=[0, 1]) if "SGD" in type(model).__name__ else model.partial_fit(X, Y)
    return model.partial_fit(X, THREE).classes_.size == 3


def sparse() -> Any:
    return importlib.import_module("scipy.sparse").csr_matrix(X)


def pater_kinds() -> list[Any]:
    pater = importlib.import_module("pater")
    return [getattr(pater, name) for name in pater.__all__ if name.endswith(("Classifier", "Perceptron"))]
