"""What may be a number, by how it begins, is never less than what is read as one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pater.preprocessing.values import STYLES, may_be_number, number_in

PARTS = st.sampled_from([*"0123456789.,+-_ \t$€£¥%eE", "\u00a0", "\u202f", "inf", "INF", "nan", "\u0663", "x"])


@given(st.one_of(st.text(max_size=6), st.lists(PARTS, max_size=8).map("".join)))
def test_every_number_in_any_style_begins_like_one(text):
    if any(not np.isnan(number_in(text, style)) for style in STYLES):
        assert may_be_number(text)


@pytest.mark.parametrize(
    "text", ["", "info", "c05_17", "nan", "-", ".", "$", "$ x1", "1", " -2,5", "€ 1.234,50", "+.5", "Infinity"]
)
def test_what_begins_like_a_number(text):
    assert may_be_number(text) == (text in ("info", "1", " -2,5", "€ 1.234,50", "+.5", "Infinity"))
