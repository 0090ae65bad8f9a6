"""Truth values as labels in files: one class each, in any format and spelling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pater import PATERClassifier, stream
from pater.formats.errors import InputError, Skipped
from pater.formats.reading import make_input
from pater.stream.evaluation import judge

rng = np.random.default_rng(3)
X = rng.normal(size=(120, 3))
TRUTHS = X[:, 0] + 0.3 * rng.normal(size=120) > 0
COLUMNS = dict(zip("abc", X.T.tolist(), strict=True))
WORDS = {"title": ("False", "True"), "small": ("false", "true"), "large": ("FALSE", "TRUE")}
OF_TEXT = ("title.csv", "small.csv", "large.csv", "words.parquet", "words.jsonl")
OF_TRUTHS = ("truths.parquet", "truths.jsonl")
OPTIONS: dict[str, Any] = {"algo": "pater-i", "encoding": "plain"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same table in every form."""
    place = tmp_path_factory.mktemp("truths")
    for name, words in WORDS.items():
        write_csv(place / f"{name}.csv", [words[int(truth)] for truth in TRUTHS])
    write_csv(place / "ones.csv", [str(int(truth)) for truth in TRUTHS])
    write_csv(place / "twos.csv", [str(1 + int(truth)) for truth in TRUTHS])
    pq.write_table(pa.table({**COLUMNS, "y": TRUTHS}), place / "truths.parquet")
    pq.write_table(
        pa.table({**COLUMNS, "y": [WORDS["small"][int(truth)] for truth in TRUTHS]}), place / "words.parquet"
    )
    for name, label in (("truths", bool), ("words", lambda truth: WORDS["large"][int(truth)])):
        rows = (
            {**dict(zip("abc", x, strict=True)), "y": label(truth)} for x, truth in zip(X.tolist(), TRUTHS, strict=True)
        )
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return place


def write_csv(path: Path, labels: list[str]) -> None:
    lines = [",".join([*map(repr, x), label]) for x, label in zip(X.tolist(), labels, strict=True)]
    path.write_text("\n".join(["a,b,c,y", *lines]) + "\n")


@pytest.mark.parametrize("name", OF_TEXT)
def test_words_have_one_name(folder: Path, name: str) -> None:
    assert stream.train(folder / name, **OPTIONS).classes.tolist() == ["False", "True"]


@pytest.mark.parametrize("first", [*OF_TEXT, *OF_TRUTHS])
def test_files_of_one_run_may_differ(folder: Path, first: str) -> None:
    alone = stream.train([folder / first, folder / first], **OPTIONS)
    for then in (*OF_TEXT, *OF_TRUTHS):
        both = stream.train([folder / first, folder / then], **OPTIONS)
        assert both.classes.tolist() == alone.classes.tolist()
        assert np.array_equal(both.state().vectors, alone.state().vectors)


@pytest.mark.parametrize("saved", ["truths.parquet", "title.csv", "ones.csv", "a file of before", "an estimator"])
def test_a_model_goes_on_with_any_of_them(folder: Path, saved: str, tmp_path: Path) -> None:
    model = tmp_path / "model.pater"
    labels = {"a file of before": np.array(["false", "true"])[TRUTHS.astype(int)], "an estimator": TRUTHS}
    if saved in labels:
        frame = pa.table(COLUMNS).to_pandas()
        PATERClassifier(probability=True).fit(frame, labels[saved]).save(model)
    else:
        stream.train(folder / saved, model=model, probability=True, **OPTIONS)
    learners = [stream.train(folder / name, initial=model, label="y") for name in (*OF_TEXT, *OF_TRUTHS)]
    for learner in learners:
        assert learner.classes.tolist() == stream.load(model).classes.tolist()
        assert np.array_equal(learner.state().vectors, learners[0].state().vectors)
    told = [judged(model, folder / name) for name in (*OF_TEXT, *OF_TRUTHS)]
    assert all(each == told[0] for each in told)


def judged(model: Path, rows: Path) -> dict[str, Any]:
    learner = stream.load(model)
    source = make_input(rows, columns=learner.columns, label="y")
    source.describe()
    return judge(learner, source.batches(), Skipped()).result()


@pytest.mark.parametrize("name", [*OF_TEXT, *OF_TRUTHS])
def test_truth_is_no_number_one_among_other_numbers(folder: Path, name: str, tmp_path: Path) -> None:
    model = tmp_path / "twos.pater"
    stream.train(folder / "twos.csv", model=model, **OPTIONS)
    with pytest.raises(InputError, match=r"label|whole number"):
        stream.train(folder / name, initial=model)


def test_class_weights_name_them_in_any_way(folder: Path) -> None:
    weighted = [
        stream.train(folder / "small.csv", algo="pa", encoding="plain", class_weight={label: 3.0}).state().vectors
        for label in ("TRUE", "true", "True")
    ]
    assert all(np.array_equal(each, weighted[0]) for each in weighted)


@pytest.mark.parametrize("encoding", ["plain", "table"])
@pytest.mark.filterwarnings("ignore:.*kinds and bins of columns were decided:UserWarning")
def test_words_beside_zero_and_one_are_truth_values(folder: Path, encoding: str, tmp_path: Path) -> None:
    """In one file, whichever comes first; in two of one run; and in two runs."""
    options, model = {**OPTIONS, "encoding": encoding}, tmp_path / "model.pater"
    ones, words, mixed = folder / "ones.csv", folder / "small.csv", tmp_path / "mixed.csv"
    twice = stream.train([ones, ones], **options)
    stream.train(ones, model=model, **options)
    for first, then in ((ones, words), (words, ones)):
        mixed.write_text(first.read_text() + then.read_text().partition("\n")[2])
        assert np.array_equal(stream.train(mixed, **options).state().vectors, twice.state().vectors)
    for learned in (stream.train([ones, words], **options), stream.train(words, initial=model)):
        assert learned.classes.tolist() == [0, 1]
    assert np.array_equal(stream.train([ones, words], **options).state().vectors, twice.state().vectors)


@pytest.mark.filterwarnings("ignore:.*kinds and bins of columns were decided:UserWarning")
def test_zero_and_one_do_not_go_with_words(folder: Path, tmp_path: Path) -> None:
    ones, words, model = folder / "ones.csv", folder / "small.csv", tmp_path / "model.pater"
    stream.train(words, model=model, **OPTIONS)
    said = (
        r"ones.csv, line 2: the label is '[01]', but the classes so far are \['False', 'True'\]: write all labels alike"
    )
    with pytest.raises(InputError, match=said):
        stream.train([words, ones], **OPTIONS)
    with pytest.raises(InputError, match=said):
        stream.train(ones, initial=model)


def test_json_mixes_words_and_numbers(tmp_path: Path) -> None:
    for number, labels in enumerate(([1, 0, None, "true", "False", True, False], ["true", "false", 1, 0])):
        rows = [json.dumps({"a": float(k), "y": label}) for k, label in enumerate(labels)]
        path = tmp_path / f"{number}.jsonl"
        path.write_text("\n".join(rows) + "\n")
        assert stream.train(path, on_error="skip", **OPTIONS).classes.tolist() == [0, 1]


def test_other_text_beside_the_words_is_text(tmp_path: Path) -> None:
    path = tmp_path / "text.csv"
    write_csv(path, ["0", "1", "no"] * 40)
    assert stream.train(path, **OPTIONS).classes.tolist() == ["0", "1", "no"]
