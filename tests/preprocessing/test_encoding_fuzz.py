"""Any content of columns gives sound rows, the same for any cuts, and a state that can be restored."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from preprocessing.tables_to_encode import largest_width

from pater.kernels.doors import check_rows
from pater.preprocessing.columns import Column, Numbers, Texts, Times, part
from pater.preprocessing.encoding_state import from_state, to_state
from pater.preprocessing.settings import RESOLUTIONS, EncodingSettings
from pater.preprocessing.stream_encoder import StreamEncoder

FLOATS = st.one_of(st.floats(width=64), st.sampled_from([0.0, 1.0, -1.0, 1e308, 5e-324, np.inf, np.nan, 1.7e9]))
ODD_WORDS = ["", "7", "007", "1e400", "2024-02-30", "2024-02-29", "NA", "a b c"]
WORDS = st.one_of(st.text(max_size=8), st.sampled_from(ODD_WORDS))


@st.composite
def columns(draw: Any, n_rows: int) -> Column:
    kind = draw(st.sampled_from(["numbers", "texts", "times", "long texts"]))
    if kind == "numbers":
        return Numbers(np.array(draw(st.lists(FLOATS, min_size=n_rows, max_size=n_rows)), np.float64))
    if kind == "times":
        return Times(np.array(draw(st.lists(FLOATS, min_size=n_rows, max_size=n_rows)), np.float64))
    words = st.text(min_size=150, max_size=300) if kind == "long texts" else WORDS
    names = draw(st.lists(words, min_size=1, max_size=12, unique=True))
    codes = draw(st.lists(st.integers(-1, len(names) - 1), min_size=n_rows, max_size=n_rows))
    return Texts(np.array(codes, np.int64), names, draw(st.booleans()))


@st.composite
def streams(draw: Any) -> tuple[dict[str, Column], EncodingSettings, list[int]]:
    n_rows = draw(st.integers(1, 50))
    names = draw(st.lists(st.sampled_from(["time", "x", "y", "created_at", "é"]), min_size=1, max_size=4, unique=True))
    chosen = EncodingSettings(
        warm_up=draw(st.integers(1, 40)),
        fine_bins=draw(st.integers(4, 12)),
        max_categories=draw(st.integers(0, 4)),
        buckets=draw(st.integers(1, 3)),
        min_count=draw(st.integers(1, 3)),
        word_buckets=draw(st.integers(1, 8)),
        interactions=draw(st.sampled_from(["all", ()])),
        cross_buckets=draw(st.integers(1, 20)),
    )
    cuts = sorted(draw(st.lists(st.integers(0, n_rows), max_size=5)))
    return {name: draw(columns(n_rows)) for name in names}, chosen, cuts


@given(streams())
@settings(max_examples=80, deadline=None)
def test_any_table(stream: tuple[dict[str, Column], EncodingSettings, list[int]]) -> None:
    table, chosen, cuts = stream
    n_rows = len(next(iter(table.values()))[0])
    whole, pieces = StreamEncoder(chosen), StreamEncoder(chosen)
    whole.take(table)
    for start, stop in zip([0, *cuts], [*cuts, n_rows], strict=True):
        pieces.take(part(table, start, stop))
    encoding = whole.ended()[0]
    told, arrays = to_state(encoding)
    same, their_arrays = to_state(pieces.ended()[0])
    assert told == same
    assert [a.tobytes() for a in arrays.values()] == [a.tobytes() for a in their_arrays.values()]
    back = from_state(json.loads(json.dumps(told)), arrays)
    for resolution in RESOLUTIONS:
        rows = encoding.encode(table).rows(resolution)
        width = encoding.width(resolution)
        check_rows(tuple(rows), width)
        assert np.isfinite(rows[2]).all()
        assert (np.abs(rows[2]) <= chosen.clip).all()
        assert len(encoding.features(resolution)) == width <= largest_width(encoding)
        again = back.encode(table).rows(resolution)
        assert [array.tobytes() for array in rows] == [array.tobytes() for array in again]
