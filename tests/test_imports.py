"""Importing is cheap, the public names are few, and the examples in docstrings are right."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import pater

HEAVY = [
    "sklearn",
    "numba",
    "llvmlite",
    "scipy",
    "matplotlib",
    "pandas",
    "pyarrow",
    "typer",
    "rich",
    "dask",
    "distributed",
    "pyspark",
    "river",
]


def loaded_after(statement):
    script = f"import sys; {statement}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_pater_brings_in_nothing_heavy():
    assert loaded_after("import pater; dir(pater); pater.__version__").isdisjoint(HEAVY)


def test_the_reference_needs_numpy_only():
    assert loaded_after("import pater.reference.first_order, pater.reference.second_order").isdisjoint(HEAVY)


def test_the_core_does_not_need_scikit_learn():
    assert loaded_after("import pater.models.model, pater.kernels.run").isdisjoint(["sklearn", "matplotlib", "pandas"])


def test_names():
    for name in ("PATERClassifier", "PassiveAggressiveClassifier", "Perceptron", "TERClassifier", "__version__"):
        assert name in dir(pater)
        assert name in pater.__all__
        assert getattr(pater, name) is not None
    assert dir(pater) == sorted(pater.__all__)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        pater.nothing_of_the_kind  # noqa: B018


def test_public_classes_say_where_they_are_from():
    for name in pater.__all__:
        thing = getattr(pater, name)
        if isinstance(thing, type) and not issubclass(thing, Warning):
            assert thing.__name__ == name
            assert thing.__doc__


def modules_with_examples():
    """By their text, as importing all of them takes longer than running the examples."""
    source = Path(pater.__file__).parents[1]
    paths = (path.relative_to(source) for path in source.glob("pater/**/*.py") if ">>> " in path.read_text("utf-8"))
    return sorted(".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths)


@pytest.mark.parametrize("module", modules_with_examples())
def test_docstring_examples_run(module):
    result = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0


def test_every_learner_shows_an_example():
    for name in pater.__all__:
        thing = getattr(pater, name)
        if isinstance(thing, type) and not issubclass(thing, Warning):
            assert ">>> " in thing.__doc__, name
