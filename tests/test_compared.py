"""What docs/compared.md says about the libraries installed for the tests, checked by benchmarks/compared.py."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def compared(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "benchmarks"))
    return importlib.import_module("compared")


def test_every_row_has_its_checks(compared):
    assert set(compared.cells()) == set(compared.CHECKS)


@pytest.mark.slow
@pytest.mark.parametrize("library", ["pater", "scikit-learn", "River"])
def test_what_the_page_says_is_so(compared, library):
    assert list(compared.wrong(library)) == []
