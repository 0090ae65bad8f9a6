"""VW text: labels, importance, tags, namespaces; and text that is not VW."""

from __future__ import annotations

import numpy as np
import pytest

from pater.formats.batches import Batch
from pater.formats.blocks import Block, Place
from pater.formats.hashing import place_of
from pater.formats.vw import VWParser


def parse(text: bytes, **settings: object) -> Batch:
    return VWParser(bits=12, **settings)(Block(text, 1, Place()), "rows.vw")  # type: ignore[arg-type]


def test_what_stands_before_the_bar() -> None:
    batch = parse(b"1 2.5 'first|a x\n-1 | x\r\n\n0 1 0.5 second|q a\n1 'third | x\n1.0 0 | x:1e-1 y:.5\n")
    np.testing.assert_array_equal(batch.labels, [1, -1, 0, 1, 1])
    np.testing.assert_array_equal(batch.weights, [2.5, 1, 1, 1, 0])
    assert batch.tags == ["first", "", "second", "third", ""]
    np.testing.assert_array_equal(batch.lines, [1, 2, 4, 5, 6])


def test_namespaces_and_their_scale() -> None:
    row = parse(b"1 |a:2 x:1.5 y |b x:3|c z | w\n").X.toarray()[0]
    want = np.zeros(4096)
    for name, value in {"a^x": 3, "a^y": 2, "b^x": 3, "c^z": 1, "w": 1}.items():
        place, sign = place_of(name, 12)
        want[place] += sign * value
    np.testing.assert_array_equal(row, want)


@pytest.mark.parametrize(
    ("line", "column", "what"),
    [
        ("x | a", 1, "label"),
        ("0.5 | a", 1, "whole"),
        ("1 -2 | a", 3, "importance"),
        ("1 x | a", 3, "importance"),
        ("1 a:1", 3, "importance"),
        ("1 1 1 1 | a", 7, "no |"),
        ("1", 2, "no |"),
        ("| a b", 0, "no label"),
        ("1 | a:x", 7, "value"),
        ("1 | a:inf", 7, "infinity"),
        ("1 | a:1e999", 0, "infinity"),
        ("1 |n:y a", 6, "scale"),
        ("1 | a:1:2", 7, "value"),
        ("1 | a :2", 7, "name of a feature"),
        ("1 | a\rb", 6, "name of a feature"),
        ("1#5 | a", 2, "label"),
        ("1 1e160 | a", 3, "importance is neither 0 nor a number from 1e-20 to 1e+20"),
        ("1 1e-30 | a", 3, "importance"),
        ("1 inf | a", 3, "importance"),
        ("1 | a:info", 7, "value is not a number"),
        ("1 |n:1e200 a:1e200", 14, "infinity"),
        ("1 | a:1e308 a:1e308", 0, "infinity"),
    ],
)
def test_malformed_lines(line: str, column: int, what: str) -> None:
    batch = parse(f"1 | a\n{line}\n-1 | b\n".encode())
    (fault,) = batch.faults
    assert (fault.line, fault.column) == (2, column)
    assert what in fault.what
    assert len(batch) == 2


def test_rows_without_a_label_can_be_predicted() -> None:
    batch = parse(b"| a b\n'tag | c\n", labelled=False)
    assert batch.labels is None
    assert batch.tags == ["", "tag"]
