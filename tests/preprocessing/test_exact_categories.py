"""Which texts are one category: those spelled the same, whichever reader they come from."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pater.preprocessing.categories import categories, category
from pater.preprocessing.columns import Numbers, Texts
from pater.preprocessing.encoding import Encoding
from pater.preprocessing.encoding_merge import merge_encodings
from pater.preprocessing.encoding_state import from_state, to_state
from pater.preprocessing.settings import EncodingSettings
from pater.preprocessing.tables import table_of
from pater.stream import load, train

IDS = ["1234567890123456701", "1234567890123456702", "007", "7", "1e5", "100000", "9007199254740993"]


def begun(names: list[str]) -> Encoding:
    codes = np.arange(5 * len(names)) % len(names)
    return Encoding.begun({"c": Texts(codes, names, declared=True)}, EncodingSettings())


@pytest.mark.parametrize(
    ("text", "name", "before"),
    [
        *((text, text, None) for text in IDS if text[0] not in "01"),
        ("7.0", "7", "7"),
        ("-0.0", "0", "0"),
        (" 7\t", "7", "7"),
        ("007", "007", "7"),
        ("7.00", "7.00", "7"),
        ("+7.0", "+7.0", "7"),
        ("1e5", "1e5", "100000"),
        ("1e+16", "1e+16", "1e+16"),
        ("2.50", "2.50", "2.5"),
        ("1_0.0", "1_0.0", "1_0.0"),
        (" red ", "red", "red"),
        ("tRUE", "True", "True"),
        (" N/A", None, None),
        (" " * 300, None, None),
    ],
)
def test_what_a_text_is_called(text: str, name: str | None, before: str | None) -> None:
    assert category(text) == name
    if before or name is None:
        assert category(text, exact=False) == before


def test_ids_stay_apart_and_numbers_are_what_they_are_written_as() -> None:
    encoding = begun(IDS)
    assert list(encoding.columns[0].names) == IDS
    got = encoding.columns[0].places(Numbers(np.array([7.0, 1e5, np.nan])), None, learn=False)[0]
    assert got.tolist() == [3, 5, 101]


def test_an_older_file_goes_on_as_it_began() -> None:
    told, arrays = to_state(begun(["7", "8", "x"]))
    again = from_state(json.loads(json.dumps(told)), arrays)
    assert again.columns[0].naming.exact
    assert told["columns"][0].pop("exact")
    old = from_state(told, arrays)
    texts = Texts(np.arange(3), ["007", "8e0", "x"])
    assert old.columns[0].places(texts, None, learn=False)[0].tolist() == [0, 1, 2]
    assert again.columns[0].places(texts, None, learn=False)[0].tolist() == [100, 100, 2]
    assert "exact" not in to_state(old)[0]["columns"][0]
    assert "exact" not in to_state(begun(["a", "b"]))[0]["columns"][0]
    assert from_state(*to_state(begun(["a", "b"]))).columns[0].naming.exact
    assert not merge_encodings(old, again)[0].columns[0].naming.exact


@pytest.mark.parametrize("kind", [1, "yes", None])
def test_what_is_forged_is_refused(kind: object) -> None:
    told, arrays = to_state(begun(["7", "8"]))
    told["columns"][0]["exact"] = kind
    with pytest.raises(ValueError, match="way of naming texts"):
        from_state(told, arrays)


def test_truth_values_are_also_digits() -> None:
    encoding = begun(["True", "False"])
    for table in (
        pd.DataFrame({"c": [1, 0, 1]}),
        pd.DataFrame({"c": ["1", "0.0", "1.0"]}),
        [{"c": 1}, {"c": 0.0}, {"c": "1"}],
        {"c": np.array([True, False, True])},
    ):
        assert encoding.columns[0].places(table_of(table)["c"], None, learn=False)[0].tolist() == [0, 1, 0]
    digits = begun(["1", "0"]).columns[0]
    assert digits.places(table_of({"c": [True, False]})["c"], None, learn=False)[0].tolist() == [100, 100]
    assert list(categories(Texts(np.arange(2), ["1", "0"]), ["True", "False", "maybe"]).names) == ["1", "0"]


def test_whether_digits_are_truth_values_is_decided_once() -> None:
    later = Texts(np.arange(9) % 3, ["maybe", "1", "0"])
    encoding = begun(["True", "False"])
    assert "truths" not in to_state(encoding)[0]["columns"][0]
    encoding.encode({"c": later}, learn=True)
    assert list(encoding.columns[0].names) == ["True", "False", "maybe"]
    told, arrays = to_state(encoding)
    assert told["columns"][0]["truths"]
    assert from_state(told, arrays).columns[0].naming.truths
    rare = begun(["x"])
    rare.columns[0].names.clear()  # nothing was frequent in the first rows
    rare.encode({"c": Texts(np.arange(8) % 2, ["True", "False"])}, learn=True)
    told, arrays = to_state(rare)
    assert told["columns"][0]["truths"] is False
    assert not from_state(told, arrays).columns[0].naming.truths


def test_every_reader_gives_the_same_model(tmp_path: Path) -> None:
    n = 140
    frame = pd.DataFrame(
        {
            "id": [int(text) for text in ("1234567890123456701", "1234567890123456702", "7", "100000")] * (n // 4),
            "text": [" lap", "lap ", "NA", "null", "007", "7", " 1e5"] * (n // 7),
            "note": [f" word{k} and more " if k % 9 else "NA" for k in range(n)],
            "flag": ["true", "False "] * (n // 2),
            "y": [" yes", "no", "no ", "yes"] * (n // 4),
        }
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet", index=False)
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    models = []
    for ending in ("csv", "parquet", "jsonl"):
        path = tmp_path / f"{ending}.pater"
        learner = train(tmp_path / f"a.{ending}", model=path, algo="perceptron", label="y", categorical=["id"])
        assert learner.missing == 2 * n // 7 + len(range(0, n, 9))
        assert learner.classes.tolist() == ["no", "yes"]
        learner = load(path)
        learner.sources = []
        learner.save(path)
        models.append(path.read_bytes())
    assert models[0] == models[1] == models[2]
    assert learner.encoder is not None
    names = [list(column.names) for column in learner.encoder.encoding.columns if column.kind == "category"]
    assert names == [
        ["1234567890123456701", "1234567890123456702", "7", "100000"],
        ["lap", "007", "7", "1e5"],
        ["True", "False"],
    ]
