"""Rows of requests: JSON bodies and Arrow streams, what is refused in them, and what goes to the log."""

from __future__ import annotations

import datetime as dt
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pater.formats.columns import ENCODED, HASHED, INDICES, NUMBER, TABLE, TEXT, Columns
from pater.formats.errors import InputError
from pater.formats.jsonl import line_of_columns
from pater.formats.schema import Wishes
from pater.preprocessing.columns import as_texts
from pater.serve.errors import Refusal
from pater.serve.initial_learner import learner_of_file, new_learner
from pater.serve.rows import arrow_rows
from pater.serve.rows.arrow_rows import rows_of_arrow
from pater.serve.rows.bodies import Limits
from pater.serve.rows.rows import (
    Rows,
    label_of,
    line_of,
    lines_of_log,
    rows_of_json,
    rows_of_log,
)
from pater.serve.served_learner import Served
from pater.stream import train

ENCODED_COLUMNS = Columns(ENCODED, table=(("x", TEXT), ("c", TEXT)), label="label")
SEVERAL = [
    ENCODED_COLUMNS,
    Columns(TABLE, table=(("x", NUMBER), ("c", NUMBER)), label="label"),
    Columns(HASHED, 8, (("x", NUMBER), ("c", "category")), label="label", numeric_labels=False),
    Columns(INDICES),
    None,
]


def stream(table: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    with pa.ipc.new_stream(file, table.schema, **options) as writer:
        writer.write_table(table)
    return file.getvalue()


def refused(status: int, body: Any, columns: Columns | None = ENCODED_COLUMNS, **more: Any) -> Refusal:
    with pytest.raises(Refusal) as error:
        rows_of_json(body, columns, **{"labelled": True, **more})
    assert error.value.status == status
    return error.value


def test_rows_to_learn_from() -> None:
    body = {
        "rows": [{"features": {"x": 1, "c": "a"}, "label": 1.0, "weight": 2, "id": "t"}, {"features": {}, "label": 0}]
    }
    rows = rows_of_json(body, ENCODED_COLUMNS, labelled=True)
    assert (len(rows), rows.ids, rows.labels) == (2, ["t", None], [1, 0])
    assert rows.batch.labels is not None
    assert (rows.batch.labels.tolist(), rows.batch.weights.tolist()) == ([1, 0], [2, 1])
    assert rows.features == [b'{"x":1,"c":"a"}', b"{}"]
    assert rows.content.splitlines() == [
        b'{"features":{"x":1,"c":"a"},"label":1,"weight":2,"id":"t"}', b'{"features":{},"label":0}'
    ]  # fmt: skip
    assert rows.logged([1]) == ("json", b'{"features":{},"label":0}\n')
    assert len(rows_of_json({"features": {"x": 1}, "id": "a", "explain": True}, ENCODED_COLUMNS, labelled=False)) == 1
    assert line_of(b'{"x":1}', 1) == b'{"features":{"x":1},"label":1}\n'


def test_every_wrong_row_is_named_and_nothing_is_taken() -> None:
    rows = [{"features": {"x": k}, "label": k % 2} for k in range(300)]
    for k in (3, 7):
        rows[k] = {"features": {"x": [1]}, "label": 1}
    error = refused(422, {"rows": rows})
    assert [index for index, _ in error.rows] == [3, 7]
    assert "row 3: column 'x' holds a list" in error.reason
    assert "1 more" in error.reason
    assert len(refused(422, {"rows": [{"features": {"y": 1}, "label": 1}] * 300}).rows) == 100
    assert "no column 'y'; the model learns from x, c" in refused(422, {"features": {"y": 1}, "label": 1}).reason


@pytest.mark.parametrize(
    "row",
    [
        1, None, [], {}, {"label": 1}, {"features": 3, "label": 1}, {"features": {}, "label": None}, {"features": {}},
        {"features": {}, "label": [1]}, {"features": {}, "label": 0.5}, {"features": {}, "label": "a"},
        {"features": {}, "label": 1, "weight": -1}, {"features": {}, "label": 1, "weight": "1"},
        {"features": {}, "label": 1, "id": 5}, {"features": {}, "label": 1, "id": ""},
        {"features": {}, "label": 1, "id": "x" * 257}, {"features": {}, "label": 1, "wieght": 1},
        {"features": [[1, 2]], "label": 1}, {"features": {"x": 10**400}, "label": 1},
    ],
)  # fmt: skip
def test_rows_that_are_wrong(row: Any) -> None:
    sound = {"features": {"x": 1}, "label": 1}
    assert [index for index, _ in refused(422, {"rows": [sound, row, sound]}).rows] == [1]


def test_bodies_that_are_wrong() -> None:
    for body in (None, 1, "a", [], {}, {"rows": 1}, {"rows": {}}, {"rows": [], "more": 1}):
        refused(422, body)
    assert "may hold 2" in refused(413, {"rows": [1, 2, 3]}, limits=Limits(rows=2)).reason
    assert "go to /v1/learn" in refused(422, {"features": {"x": 1}, "label": 1}, labelled=False).reason


def test_columns_are_settled_by_the_first_request() -> None:
    body = {"rows": [{"features": {"b": 1, "a": None}, "label": "yes"}, {"features": {"c": "x"}, "label": "no"}]}
    columns = rows_of_json(body, None, labelled=True).columns
    assert columns == Columns(ENCODED, 0, (("b", TEXT), ("a", TEXT), ("c", TEXT)), "label", None, False)
    row = {"features": {"a": 1, "b": "x"}, "label": 1}
    plain = rows_of_json(row, None, labelled=True, wishes=Wishes(bits=6)).columns
    assert plain == Columns(HASHED, 6, (("a", NUMBER), ("b", "category")), "label")
    refused(422, {"rows": []}, None)
    refused(422, {"features": {}, "label": 1}, None)
    refused(413, {"features": {"a": 1, "b": 2}, "label": 1}, None, limits=Limits(columns=1))
    refused(422, {"features": {"abc": 1}, "label": 1}, None, limits=Limits(name=2))


def test_labels_and_models_of_other_kinds(tmp_path: Path) -> None:
    assert label_of(True, ENCODED_COLUMNS) == 1
    with pytest.raises(ValueError, match="is text"):
        label_of("1", ENCODED_COLUMNS)
    (tmp_path / "rows.vw").write_text("1 | a b:2\n-1 | c\n")
    train(tmp_path / "rows.vw", algo="pater-i", model=tmp_path / "model")
    with pytest.raises(InputError, match="hashed names"):
        learner_of_file(tmp_path / "model")


TABLE_OF_ALL = pa.table(
    {
        "x": [1.5, None, -0.0],
        "whole": pa.array([1, 2**62, None], pa.int64()),
        "small": pa.array([1, 2, 3], pa.uint8()),
        "half": pa.array(np.array([1, 2, np.nan], np.float16)),
        "decimal": pa.array([None, 1, 2], pa.decimal128(10, 2)),
        "c": pa.array(["a", None, "b"]).dictionary_encode(),
        "large": pa.array(["a", "", "b"], pa.large_string()),
        "coded": pa.array([5, 6, None]).dictionary_encode(),
        "flag": [True, None, False],
        "when": pa.array([dt.datetime(2024, 1, 1, 12, 0, 0, 250000), None, dt.datetime(1, 1, 1)], pa.timestamp("us")),
        "there": pa.array([dt.datetime(2024, 1, 1)] * 3, pa.timestamp("ns", tz="UTC")),
        "day": pa.array([dt.date(2020, 1, 1), None, dt.date(1900, 1, 1)]),
        "took": pa.array([1, 2, None], pa.duration("ms")),
        "nothing": pa.nulls(3),
        "label": [1, 0, 1],
        "weight": [1.0, None, 2.0],
        "id": ["a", None, "b"],
    }
)


def test_a_stream_of_arrow_means_what_its_lines_mean() -> None:
    content = stream(TABLE_OF_ALL)
    rows = rows_of_arrow(content, None, labelled=True)
    assert rows.content == content
    lines = lines_of_log("arrow", content, rows.columns)
    again = rows_of_log("json", lines, rows.columns)
    first = json.loads(lines.splitlines()[0])
    assert first["features"]["when"] == "2024-01-01T12:00:00.250000"
    assert first["features"]["flag"] is True
    assert (first["label"], first["weight"], first["id"]) == (1, 1, "a")
    body = {"rows": [json.loads(line) for line in lines.splitlines()]}
    assert rows_of_json(body, None, labelled=True).columns == rows.columns
    _same(rows.batch, again.batch)
    assert rows.logged([0, 2])[1].splitlines() == [lines.splitlines()[k] for k in (0, 2)]
    replayed = rows_of_log("arrow", content, rows.columns)
    assert lines_of_log("json", lines, rows.columns) == lines
    _same(rows.batch, replayed.batch)


def _same(one: Any, other: Any) -> None:
    assert one.labels.tolist() == other.labels.tolist()
    assert one.weights.tolist() == other.weights.tolist()
    assert one.missing == other.missing
    for name, column in one.table.items():
        texts, those = as_texts(column), as_texts(other.table[name])
        assert type(column) is type(other.table[name]), name
        assert [texts.names[c] if c >= 0 else None for c in texts.codes] == [
            those.names[c] if c >= 0 else None for c in those.codes
        ]


def test_plain_columns_of_a_stream() -> None:
    columns = Columns(TABLE, table=(("x", NUMBER), ("flag", NUMBER)), label="label")
    some = TABLE_OF_ALL.select(["flag", "x", "label"])
    rows = rows_of_arrow(stream(some), columns, labelled=True, keep_missing=True)
    np.testing.assert_array_equal(rows.batch.X, [[1.5, 1], [np.nan, np.nan], [0, 0]])
    hashed = Columns(HASHED, 6, (("x", NUMBER), ("whole", "category")), label="label")
    content = stream(TABLE_OF_ALL.select(["x", "whole", "label"]))
    one, other = (
        rows_of_log(kind, text, hashed).batch.X.toarray()
        for kind, text in (("arrow", content), ("json", lines_of_log("arrow", content, hashed)))
    )
    assert one.tolist() == other.tolist()


def refused_stream(status: int, content: bytes, columns: Columns | None = None, **more: Any) -> str:
    with pytest.raises(Refusal) as error:
        rows_of_arrow(content, columns, **{"labelled": True, **more})
    assert error.value.status == status
    return error.value.reason


def test_streams_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = pa.table({"x": [1.0, 2.0], "label": [0, 1]})
    content = stream(sound)
    for wrong in (b"", b"abc", content[:100], content[:-60], content[8:], b"ARROW1\0\0" + content):
        refused_stream(400, wrong)
    for codec in ("zstd", "lz4"):
        assert "compressed" in refused_stream(415, stream(sound, options=pa.ipc.IpcWriteOptions(compression=codec)))
    coded = pa.table({"x": pa.array(["a"]).dictionary_encode(), "label": [1]})
    refused_stream(415, stream(coded, options=pa.ipc.IpcWriteOptions(compression="zstd")))
    assert "list" in refused_stream(422, stream(pa.table({"x": [[1]], "label": [1]})))
    assert "infinity" in refused_stream(422, stream(pa.table({"x": [np.inf], "label": [1]})))
    assert "label" in refused_stream(422, stream(pa.table({"x": [1.0]})))
    assert "have no label" in refused_stream(422, content, labelled=False)
    assert "'x'" in refused_stream(422, content, Columns(ENCODED, table=(("y", TEXT),), label="label"))
    assert "numbered" in refused_stream(422, content, Columns(INDICES))
    refused_stream(413, content, limits=Limits(rows=1))
    refused_stream(413, stream(pa.table({f"x{k}": [1] for k in range(9)})), limits=Limits(columns=3))
    far = pa.table({"x": pa.array([2**62], pa.timestamp("s")), "label": [1]})
    assert "years" in refused_stream(422, stream(far))
    far = pa.table({"x": pa.array([2**31 - 1], pa.int32()).cast(pa.date32()), "label": [1]})
    assert "years" in refused_stream(422, stream(far))
    assert "whole number" in refused_stream(422, stream(pa.table({"x": [1], "label": [2**53 + 1]})))
    refused_stream(422, stream(pa.table({"x": [1], "label": [1], "id": [5]})))
    refused_stream(422, stream(pa.table({"x": [1], "label": [1], "weight": [np.nan]})))

    def none(part: str = "") -> Any:
        raise InputError("no")

    monkeypatch.setattr(arrow_rows, "pyarrow", none)
    assert "pyarrow" in refused_stream(415, content)


def test_a_log_that_a_model_cannot_learn_from_is_an_error_of_the_input() -> None:
    with pytest.raises(InputError, match="is text"):
        rows_of_log("json", b'{"features":{"x":"a"},"label":1}\n', Columns(TABLE, table=(("x", NUMBER),)))
    rows = rows_of_log("json", b'{"features":{"x":1,"of another model":2},"label":1}\n', ENCODED_COLUMNS)
    assert len(rows) == 1


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=4)
)
ANY = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
)
FEATURES = st.one_of(
    st.dictionaries(st.sampled_from("xcyz"), ANY, max_size=4),
    st.lists(st.lists(SCALARS, max_size=3), max_size=3),
    st.fixed_dictionaries({"indices": ANY, "values": ANY}),
)
BODY = st.one_of(
    ANY,
    st.fixed_dictionaries(
        {
            "rows": st.lists(
                st.one_of(
                    ANY,
                    st.fixed_dictionaries(
                        {"features": FEATURES}, optional={"label": ANY, "weight": ANY, "id": ANY, "other": ANY}
                    ),
                ),
                max_size=4,
            )
        }
    ),
)


@given(BODY, st.sampled_from(SEVERAL), st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_body_is_taken_whole_or_refused(body: Any, columns: Columns | None, labelled: bool) -> None:
    rows = _taken(lambda: rows_of_json(body, columns, labelled=labelled))
    if isinstance(rows, Refusal):
        assert 400 <= rows.status < 500
        orjson.dumps(rows.to_json())
        return
    assert len(rows.batch) == len(rows) == len(rows.features)
    rows.batch.check_form(to_scale=False)
    if labelled and len(rows):
        again = rows_of_log(*rows.logged(), rows.columns)
        assert again.labels == rows.labels
        assert again.content == rows.content


@given(st.binary(max_size=400), st.integers(0, 2000), st.integers(0, 255), st.booleans())
@settings(max_examples=150, deadline=None)
def test_bytes_that_are_no_stream_are_refused(noise: bytes, at: int, byte: int, whole: bool) -> None:
    content = bytearray(stream(TABLE_OF_ALL))
    if whole:
        content = bytearray(noise)
    else:
        content[at % len(content)] = byte
        content += noise if byte % 2 else b""
    rows = _taken(lambda: rows_of_arrow(bytes(content), None, labelled=True))
    assert not isinstance(rows, Refusal) or 400 <= rows.status < 500


def _taken(read: Callable[[], Rows]) -> Rows | Refusal:
    try:
        return read()
    except Refusal as error:
        return error


SETTINGS = [
    {"algo": "arow"},
    {"algo": "pater-i", "options": {"bits": 10}},
    {"algo": "pater-i", "scale": True, "options": {"drop": ["c", "when", "flag"]}},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_what_is_learned_is_what_the_exported_lines_come_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    """Requests of both kinds, with one row or many, against `pater train` on the export."""
    monkeypatch.chdir(tmp_path)
    encoded = settings["algo"] == "arow"
    wishes = Wishes(encoded=encoded, **settings.get("options", {}))
    served, exported, columns = None, list[bytes](), None
    for k, (kind, content) in enumerate(_requests()):
        more: dict[str, Any] = {"labelled": True, "wishes": wishes, "keep_missing": bool(settings.get("scale"))}
        body = content if kind == "arrow" else orjson.loads(content)
        read = (rows_of_arrow if kind == "arrow" else rows_of_json)(body, columns, **more)
        if served is None or columns is None:
            columns = read.columns
            served = Served(new_learner(settings, columns))
            exported.append(line_of_columns(columns))
        kind, content = read.logged()
        served.learn(rows_of_log(kind, content, columns, keep_missing=bool(settings.get("scale"))).batch)
        exported.append(lines_of_log(kind, content, columns))
        assert k or kind == "json"
    assert served is not None
    Path("log.jsonl").write_bytes(b"".join(exported))
    told = {name: value for name, value in settings.items() if name != "options"}
    train("log.jsonl", model="m.pater", **told, **settings.get("options", {}))
    assert served.content() == Path("m.pater").read_bytes()


def _requests() -> Iterator[tuple[str, bytes]]:
    rng = np.random.default_rng(5)
    when = dt.datetime(2024, 1, 1)
    for k in range(60):
        n = (1, 40, 3)[k % 3]
        rows = [
            {
                "x": None if rng.random() < 0.1 else float(rng.normal()),
                "n": int(rng.integers(0, 9)),
                "c": None if rng.random() < 0.1 else f"c{rng.integers(0, 10 + k)}",
                "flag": bool(rng.random() < 0.5),
                "when": when + dt.timedelta(minutes=7 * k, microseconds=k % 2),
            }
            for _ in range(n)
        ]
        labels = [int((row["x"] or 0) + rng.normal() > 0.5) for row in rows]
        if k % 3 == 1:
            table = pa.Table.from_pylist([{**row, "label": y} for row, y in zip(rows, labels, strict=True)])
            table = table.set_column(2, "c", table.column("c").dictionary_encode())
            yield "arrow", stream(table)
        else:
            told = [{**row, "when": row["when"].isoformat()} for row in rows]
            body = [{"features": row, "label": y, "weight": 1 + y} for row, y in zip(told, labels, strict=True)]
            yield "json", orjson.dumps({"rows": body})
