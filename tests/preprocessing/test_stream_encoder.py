"""The first rows of a stream are held back; cuts, and predictions in the meantime, change nothing."""

from __future__ import annotations

import numpy as np
import pytest
from preprocessing.tables_to_encode import columns

from pater.preprocessing.columns import Column, Numbers, Table, Texts, part, rows_in, without_unused
from pater.preprocessing.encoding_state import to_state
from pater.preprocessing.settings import EncodingSettings
from pater.preprocessing.stream_encoder import Piece, StreamEncoder
from pater.preprocessing.values import number_in

SETTINGS = EncodingSettings(warm_up=200)
N = 500


def passed(table: Table, cuts: list[int], *, ask: bool = False) -> tuple[StreamEncoder, list[Piece]]:
    stream, pieces = StreamEncoder(SETTINGS), []
    y = np.arange(rows_in(table))
    for start, stop in zip([0, *cuts], [*cuts, y.size], strict=True):
        pieces += stream.take(part(table, start, stop), y[start:stop], None)
        assert stream.n_held <= SETTINGS.warm_up
        if ask and stop:
            stream.ended()
    return stream, pieces


def written(stream: StreamEncoder) -> tuple[str, list[bytes]]:
    told, arrays = to_state(stream.ended()[0])
    return str(told), [array.tobytes() for array in arrays.values()]


def numbers(pieces: list[Piece]) -> list[list[float]]:
    return [
        rows[2][int(rows[0][k]) : int(rows[0][k + 1])].tolist()
        for rows in (encoded.rows() for encoded, _ in pieces)
        for k in range(rows[0].size - 1)
    ]


@pytest.mark.parametrize("ask", [False, True])
@pytest.mark.parametrize("cuts", [[*range(1, 30), *range(195, 205)], [7, 199], [200], [201, 201], [60, 120, 180, 240]])
def test_how_it_is_cut_changes_nothing(cuts: list[int], ask: bool) -> None:
    table = columns(N)
    whole, want = passed(table, [])
    stream, got = passed(table, cuts, ask=ask)
    assert written(stream) == written(whole)
    assert numbers(got) == numbers(want)
    assert np.concatenate([beside[0] for _, beside in got]).tolist() == list(range(N))


def as_a_file_has_it(table: Table) -> Table:
    """Texts that are all numbers, as a reader that looks at one block at a time gives them."""
    found: dict[str, Column] = {}
    for name, column in table.items():
        found[name] = column
        if isinstance(column, Texts):
            used = without_unused(column)
            numbers = np.array([*map(number_in, used.names), np.nan])
            if not np.isnan(numbers[:-1]).any():
                found[name] = Numbers(numbers[used.codes])
    return found


@pytest.mark.filterwarnings("ignore::pater.models.hints.Hint")
@pytest.mark.parametrize("seed", range(8))
def test_nor_does_it_matter_whether_a_block_looks_like_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [
        ["7", "8.0", "b", "-7"],
        ["1", "2", "3.5", "x", "1000"],
        ["12", "x", "", "-3"],
        [*map(str, range(40)), "N/A"],
    ]
    shares = [[0.3, 0.3, 0.3, 0.1], [0.2] * 5, [0.9, 0.04, 0.03, 0.03], [1 / 41] * 41]
    table = {
        f"t{k}": Texts(rng.choice(len(names), N, p=share), names)
        for k, (names, share) in enumerate(zip(texts, shares, strict=True))
    }
    cuts = sorted(rng.integers(0, N, rng.integers(1, 60)).tolist())
    whole, want = passed(table, [])
    stream, got = StreamEncoder(SETTINGS), []
    for start, stop in zip([0, *cuts], [*cuts, N], strict=True):
        got += stream.take(as_a_file_has_it(part(table, start, stop)))
    assert [column.kind for column in stream.ended()[0].columns] == ["category", "category", "number", "number"]
    assert written(stream) == written(whole)
    assert numbers(got) == numbers(want)


def test_a_short_stream_is_that_which_ends_there() -> None:
    table = columns(150)
    stream, pieces = passed(table, [40, 90])
    assert pieces == []
    assert stream.encoding is None
    encoding, pieces = stream.ended()
    assert encoding.rows == 150
    assert [len(encoded) for encoded, _ in pieces] == [40, 50, 60]
    again = StreamEncoder(EncodingSettings(warm_up=150))
    assert numbers(pieces) == numbers(again.take(table))


def test_what_is_held_is_a_copy() -> None:
    values, y = np.arange(50.0), np.arange(50)
    stream = StreamEncoder(SETTINGS)
    stream.take({"x": Numbers(values)}, y)
    values[:], y[:] = 0, 0
    encoding, [(_, (held,))] = stream.ended()
    assert encoding.moments[0, 1] == 24.5
    assert held.tolist() == list(range(50))


def test_copies_go_their_own_way() -> None:
    table = columns(N)
    stream, _ = passed(part(table, 0, 150), [])
    before = written(stream)
    stream.copy().take(part(table, 150, N))
    assert written(stream) == before


def test_tables_of_other_columns_are_refused() -> None:
    stream = StreamEncoder(SETTINGS)
    with pytest.raises(ValueError, match="no columns"):
        stream.take({})
    stream.take({"a": Numbers(np.zeros(3))})
    with pytest.raises(ValueError, match=r"\['b'\]"):
        stream.take({"b": Numbers(np.zeros(3))})
    assert stream.n_held == 3
    with pytest.raises(ValueError, match="no row"):
        StreamEncoder(SETTINGS).ended()
