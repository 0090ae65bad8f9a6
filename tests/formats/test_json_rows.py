"""JSON rows: what each cell means, whatever is next to it, and what may be wrong with a row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pater.formats.columns import CATEGORY, ENCODED, HASHED, INDICES, NUMBER, TABLE, TEXT, Columns
from pater.formats.json_cells import cells_of
from pater.formats.json_labels import label_of, labels_of, weights_of
from pater.formats.json_rows import EVERY, RowReader
from pater.formats.json_schema import columns_of_objects, columns_of_rows
from pater.formats.raw import RawBatch
from pater.formats.schema import Wishes
from pater.preprocessing.columns import Numbers, Texts, as_texts, concatenated
from pater.preprocessing.settings import EncodingSettings
from pater.preprocessing.stream_encoder import StreamEncoder
from pater.stream import InputError

ENCODED_WISHES = Wishes(encoded=True)


def read(columns: Columns, features: list[Any], **more: Any) -> tuple[Any, dict[int, str]]:
    faults: dict[int, str] = {}
    return RowReader(columns, **more).rows(features, faults), faults


def column(*values: Any, kind: str = TEXT) -> Any:
    batch, faults = read(Columns(ENCODED, table=(("x", kind),)), [{"x": value} for value in values])
    assert isinstance(batch, RawBatch)
    assert not faults
    return batch.table["x"]


def test_cells_for_an_encoder() -> None:
    assert column(1, 2.5, None) == Numbers(pytest.approx([1, 2.5, np.nan], nan_ok=True))
    assert np.signbit(column(-0.0).values).tolist() == [False]
    texts = column("a", None, "b", "a")
    assert (texts.codes.tolist(), texts.names) == ([0, -1, 1, 0], ["a", "b"])
    truths = column(True, None, False)
    assert (truths.codes.tolist(), truths.names) == ([1, -1, 0], ["False", "True"])
    mixed = column("a", 5, True, 5.0, "5", 0.5)
    assert [mixed.names[code] for code in mixed.codes] == ["a", "5", "True", "5", "5", "0.5"]
    assert mixed.numbers[mixed.codes].tolist() == pytest.approx([np.nan, 5, np.nan, 5, np.nan, 0.5], nan_ok=True)
    assert isinstance(column(None, kind=NUMBER), Numbers)
    assert isinstance(column(None), Texts)
    declared = column("5", 5, None, kind=CATEGORY)
    assert (declared.codes.tolist(), declared.names, declared.declared) == ([0, 0, -1], ["5"], True)


def test_a_column_each_and_hashed() -> None:
    columns = Columns(TABLE, table=(("x", NUMBER), ("y", NUMBER)))
    batch, faults = read(columns, [{"x": 1, "y": True}, {"y": 2.5}, {"x": None, "y": False}], keep_missing=True)
    assert not faults
    np.testing.assert_array_equal(batch.X, [[1, 1], [np.nan, 2.5], [np.nan, 0]])
    _, faults = read(columns, [{"x": "1"}, {"x": True, "y": "a"}, {"x": 2}, {"x": [1]}, {"z": 1}, 3])
    assert sorted(faults) == [0, 1, 3, 4, 5]
    assert faults[0] == "'1' is text, but column 'x' holds numbers"
    assert "holds a list" in faults[3]
    assert "no column 'z'" in faults[4]
    assert "the features are a number" in faults[5]
    hashed = Columns(HASHED, 8, (("x", NUMBER), ("c", CATEGORY)))
    one, _ = read(hashed, [{"x": 2, "c": 5}, {"x": 2, "c": "5"}, {"c": ""}])
    assert one.X.toarray()[0].tolist() == one.X.toarray()[1].tolist()
    assert not one.X.toarray()[2].any()


def test_rows_by_indices() -> None:
    columns = Columns(INDICES)
    batch, faults = read(columns, [[[3, 1.5], [0, 2]], {"indices": [1], "values": [0.5]}, []])
    assert not faults
    assert batch.X.toarray().tolist() == [[2, 0, 0, 1.5], [0, 0.5, 0, 0], [0, 0, 0, 0]]
    wrong: list[Any] = [
        [[1]], [[True, 1]], [[1, None]], [[-1, 1]], [[1 << 40, 1]], [[1, 10**400]], [[1, 1], [1, 2]], {"a": 1},
        "x", None, {"indices": [1], "values": []}, {"indices": 1, "values": 2}, [[0.5, 1]], [[1, "2"]], [[10**400, 2]],
    ]  # fmt: skip
    _, faults = read(columns, wrong)
    assert sorted(faults) == list(range(len(wrong)))


def test_numbers_that_are_too_large() -> None:
    batch, faults = read(Columns(ENCODED, table=(("x", TEXT),)), [{"x": 10**400}, {"x": 3}, {"x": "a"}])
    assert faults == {0: "a number in column 'x' is too large"}
    assert len(batch) == 3


def test_names_that_are_ignored() -> None:
    columns, faults = Columns(ENCODED, table=(("x", TEXT),)), dict[int, str]()
    reader, rows = RowReader(columns), [{"x": 1, "y": 2}]
    reader.rows(rows, faults, ("y",))
    reader.rows(rows, faults, EVERY)
    assert not faults
    reader.rows(rows, faults, ("z",))
    assert faults


def test_labels() -> None:
    faults: dict[int, str] = {}
    assert labels_of([1, 0.0, True, -3], True, faults).tolist() == [1, 0, 1, -3]
    assert labels_of(["a", 1, 2.0, True], False, faults).tolist() == ["a", "1", "2", "True"]
    assert not faults
    assert labels_of([1, 0.5, "a", None, [], 2**60, float("nan"), 10**400], True, faults).tolist() == [1] + [0] * 7
    assert sorted(faults) == [1, 2, 3, 4, 5, 6, 7]
    assert label_of("", False) == (None, "there is no label")
    assert label_of("x" * 1001, False)[0] is None
    assert label_of(1.0, True) == (1, None)


def test_importances() -> None:
    faults: dict[int, str] = {}
    assert weights_of([None, None], faults).size == 0
    assert weights_of([2, None, 0.5, 0], faults).tolist() == [2, 1, 0.5, 0]
    assert not faults
    weights_of([-1, "1", True, 1e300, 10**400, [], float("nan")], faults)
    assert sorted(faults) == list(range(7))


def test_what_columns_are() -> None:
    rows = [{"x": 1, "c": None, "y": 0}, {"x": 2.5, "c": "a", "b": True, "y": 1}]
    columns = columns_of_objects(rows, "rows", Wishes(label="y", encoded=True))
    assert columns == Columns(ENCODED, 0, (("x", NUMBER), ("c", TEXT), ("b", NUMBER)), "y")
    plain = columns_of_objects(rows, "rows", Wishes(label="y", categorical=("x",), drop=("b",)))
    assert plain == Columns(HASHED, 18, (("x", CATEGORY), ("c", CATEGORY)), "y")
    with pytest.raises(InputError, match="name the label column"):
        columns_of_objects([{"a": 1}], "rows", Wishes())
    apart = columns_of_rows([{"x": 1}, {"x": None, "c": "a"}], ["yes", 1], "rows", ENCODED_WISHES)
    assert apart == Columns(ENCODED, 0, (("x", TEXT), ("c", TEXT)), "label", None, False)
    assert columns_of_rows([{"x": 1}, {"c": 2}], [1], "rows", Wishes()).kind == TABLE
    assert columns_of_rows([[[1, 2]]], [1], "rows", ENCODED_WISHES) == Columns(INDICES)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**6), 10**6),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from(["a", "b", "1", "1.0", "1.234", "1.234,50 €", "$1,234.5", "2024-01-05", "True", "", "NA", "w x y"]),
)
STYLED = st.one_of(
    st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), st.sampled_from(["1.234,50 €", "12,5 €", "7,25", "2.000,00"])
)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_what_a_cell_means_does_not_depend_on_its_neighbours(data: st.DataObject) -> None:
    """A randomly cut stream is encoded to the same bits, by an encoder that begins in the middle of it."""
    n = data.draw(st.integers(4, 40))
    texts = data.draw(st.sampled_from([VALUES, STYLED]))
    rows = [{"x": data.draw(texts), "y": data.draw(VALUES), "z": data.draw(VALUES)} for _ in range(n)]
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1))))
    kinds = [data.draw(st.sampled_from([TEXT, NUMBER, CATEGORY])) for _ in "xyz"]
    columns = Columns(ENCODED, table=tuple(zip("xyz", kinds, strict=True)))
    whole, pieces = (_encoded(columns, rows, each) for each in ([], cuts))
    for one, other in zip(whole, pieces, strict=True):
        assert one.tobytes() == other.tobytes()


def _encoded(columns: Columns, rows: list[Any], cuts: list[int]) -> list[Any]:
    told = {name: kind == NUMBER for name, kind in columns.table if kind != CATEGORY}
    encoder = StreamEncoder(EncodingSettings(warm_up=max(2, len(rows) // 2)), are_numbers=told)
    found = []
    for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        batch, faults = read(columns, rows[start:stop])
        assert not faults
        try:
            found += [piece for piece, _ in encoder.take(batch.table)]
        except ValueError:  # no column holds any information
            return []
    arrays = [each.rows("nested") for each in found]
    assert encoder.encoding is not None
    sizes = np.concatenate([np.diff(indptr.astype(np.int64)) for indptr, _, _ in arrays])
    return [sizes, *(np.concatenate([each[k] for each in arrays]) for k in (1, 2)), encoder.encoding.moments]


@given(st.lists(VALUES, min_size=1, max_size=20), st.integers(0, 20))
def test_columns_put_together_are_those_of_all_rows(values: list[Any], cut: int) -> None:
    faults: dict[int, str] = {}
    parts = [{"x": cells_of(some, "x", faults).raw(TEXT)} for some in (values[:cut], values[cut:]) if some]
    whole, joined = as_texts(cells_of(values, "x", faults).raw(TEXT)), as_texts(concatenated(parts)["x"])
    assert [whole.names[c] if c >= 0 else None for c in whole.codes] == [
        joined.names[c] if c >= 0 else None for c in joined.codes
    ]
