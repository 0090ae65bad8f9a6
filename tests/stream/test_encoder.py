"""Tables encoded in front of a learner: held-back rows, files, resuming, predicting."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pater as library
from pater import stream
from pater.files import model_file
from pater.formats.errors import Skipped
from pater.formats.reading import make_input
from pater.preprocessing import TableEncoder
from pater.stream import InputError, load, train
from pater.stream.algorithms import specs_of
from pater.stream.checkpoints import progress_of
from pater.stream.encoder import Encoder, new_encoder
from pater.stream.evaluation import judge, judge_progressively
from pater.stream.learner import Learner
from pater.stream.learner_file import to_save
from pater.stream.merging import merged
from pater.stream.shard_starts import begun_bytes, starting_from, together, without_begun

ROWS = 110_000
SETTINGS = {"algo": "so-pater-i", "covariance": "diagonal", "label": "fraud"}


def frame(n: int, seed: int = 0) -> pd.DataFrame:
    """Amounts, ages, countries and times, each with an effect; some are missing."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "amount": random.lognormal(3, 1, n).round(2),
            "age": random.integers(18, 80, n),
            "country": random.choice(["DE", "FR", "IT", "NG"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "time": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 10**7, n), unit="s"),
        }
    )
    z = -3 + 1.5 * (table.amount > 60) + 2 * (table.country == "NG") + 1.5 * (table.time.dt.hour < 6)
    table["fraud"] = np.where(random.random(n) < 1 / (1 + np.exp(-z)), "yes", "no")
    table.loc[random.random(n) < 0.02, "amount"] = None
    table.loc[random.random(n) < 0.02, "country"] = None
    return table


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some megabytes, in several blocks."""
    file = tmp_path_factory.mktemp("encoder") / "fraud.csv"
    frame(ROWS).to_csv(file, index=False)
    return file


def bytes_of(learner: Learner, file: Path) -> bytes:
    learner.sources = []
    learner.save(file)
    return file.read_bytes()


def test_it_is_the_encoder_and_the_estimator(path: Path, tmp_path: Path) -> None:
    table = frame(ROWS)
    learner = train(path, **SETTINGS)
    model = library.SecondOrderPATERClassifier(covariance="diagonal")
    pipeline = library.stream.OnlinePipeline([("table", TableEncoder()), ("model", model)])
    X, y = table.drop(columns="fraud"), table["fraud"].to_numpy()
    pipeline.partial_fit(X[:35_000], y[:35_000]).partial_fit(X[35_000:], y[35_000:])
    (batch, *_) = make_input(path, columns=learner.columns).batches()
    mine = learner.margins(batch)[:500, 0]
    np.testing.assert_allclose(mine, pipeline.decision_function(X[:500]), rtol=1e-6)


@pytest.mark.slow
def test_it_learns_what_plain_columns_do_not_show(path: Path, tmp_path: Path) -> None:
    test = tmp_path / "test.csv"
    frame(5_000, seed=1).to_csv(test, index=False)
    found = {}
    for encoding in ("table", "plain"):
        learner = train(path, encoding=encoding, **SETTINGS)
        batches = make_input(test, columns=learner.columns).batches()
        found[encoding] = judge(learner, batches, Skipped()).result()["of_class"][0]["roc_auc"]
    assert found["table"] > found["plain"] + 0.05


@pytest.mark.parametrize("rows", [1, 2, 999, 1000, 1001, 5000])
def test_streams_of_any_length(tmp_path: Path, rows: int) -> None:
    file, model = tmp_path / "t.csv", tmp_path / "m"
    frame(rows).to_csv(file, index=False)
    learner = train(file, model=model, **SETTINGS)
    assert learner.rows == rows
    again = load(model)
    (batch,) = make_input(file, columns=again.columns, labelled=False).batches()
    np.testing.assert_array_equal(again.margins(batch), learner.margins(batch))


def test_files_of_a_few_rows_are_one_stream(tmp_path: Path) -> None:
    table = frame(2_500)
    table.to_csv(tmp_path / "whole.csv", index=False)
    parts = []
    for k, start in enumerate(range(0, 2_500, 300)):
        parts.append(tmp_path / f"{k}.csv")
        table[start : start + 300].to_csv(parts[-1], index=False)
    whole, in_parts = (train(each, **SETTINGS) for each in (tmp_path / "whole.csv", parts))
    assert bytes_of(whole, tmp_path / "a") == bytes_of(in_parts, tmp_path / "b")


@pytest.mark.first_quick
@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_run_that_goes_on_ends_alike(path: Path, tmp_path: Path, passes: int, on_error: str) -> None:
    settings = {**SETTINGS, "passes": passes, "on_error": on_error, "checkpoint_every": 1}
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    train(path, model=whole, **settings)
    stops = [0]

    class StoppedError(Exception):
        pass

    def stop(run: object) -> None:
        stops[0] += 1
        if stops[0] % 2 == 0:
            raise StoppedError

    while True:
        try:
            train(path, model=cut, resume=True, show=stop, **settings)
            break
        except StoppedError:
            pass
    assert stops[0] > 3
    assert cut.read_bytes() == whole.read_bytes()


def test_a_checkpoint_waits_for_the_first_rows(tmp_path: Path) -> None:
    for k in range(5):
        frame(300, seed=k).to_csv(tmp_path / f"{k}.csv", index=False)
    there = []

    def show(run: object) -> None:
        there.append((tmp_path / "m.checkpoint").exists())
        assert progress_of(run)["place"]  # type: ignore[arg-type]

    train(str(tmp_path / "*.csv"), model=tmp_path / "m", checkpoint_every=1, show=show, **SETTINGS)
    assert there == [False, False, False, False, True]


def test_going_on_from_a_model(path: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    frame(3_000).to_csv(first, index=False)
    more = frame(2_000, seed=1)
    more["country"] = more["country"].replace("DE", "XX")
    more.to_csv(second, index=False)
    train(first, model=tmp_path / "m", **SETTINGS)
    before = load(tmp_path / "m")
    after = train(second, initial=tmp_path / "m", model=tmp_path / "n")
    assert after.rows == 5_000
    assert after.n_features > before.n_features
    assert "country=XX" in after.encoder.names()
    one = train([first, second], **SETTINGS)
    (batch,) = make_input(second, columns=one.columns).batches()
    np.testing.assert_allclose(after.margins(batch), one.margins(batch), rtol=1e-9)


def test_csv_and_parquet_teach_the_same(tmp_path: Path) -> None:
    table = frame(5_000)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet", index=False)
    of_text, of_records = (train(tmp_path / f"t.{ending}", **SETTINGS) for ending in ("csv", "parquet"))
    assert of_text.encoder.names() == of_records.encoder.names()
    assert of_text.state().weights()[0].tobytes() == of_records.state().weights()[0].tobytes()


def test_judged_progressively_with_held_rows_and_faults(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    frame(600).to_csv(file, index=False)
    file.write_text(file.read_text().replace("\n", "\nshort\n", 1))
    source = make_input(file, label="fraud", encoded=True, on_error="skip")
    encoder, skipped = Encoder(), Skipped()
    learner = Learner(specs_of("pater-i"), source.describe(), encoder=encoder)
    result = judge_progressively(learner, encoder.over(source.batches()), skipped).result()
    assert result["rows"] == learner.rows == 600
    assert skipped.count == learner.skipped == 1
    assert learner.missing > 0


def test_a_batch_of_nothing_but_malformed_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("amount,age,country,time,fraud\nshort\n")
    frame(50).to_csv(tmp_path / "b.csv", index=False)
    table = (tmp_path / "b.csv", tmp_path / "a.csv", tmp_path / "b.csv")
    learner = train(table, on_error="skip", **SETTINGS)
    assert (learner.rows, learner.skipped) == (100, 1)


def test_columns_that_are_missing_or_more(path: Path, tmp_path: Path) -> None:
    learner = train(path, **SETTINGS)
    table = frame(10).drop(columns=["fraud", "age"])
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match="there is no column 'age'"):
        list(make_input(tmp_path / "t.csv", columns=learner.columns, labelled=False).batches())
    more = frame(10)[["fraud", "time", "country", "age", "amount"]].assign(extra=1)
    more.to_csv(tmp_path / "u.csv", index=False)
    (batch,) = make_input(tmp_path / "u.csv", columns=learner.columns, labelled=False).batches()
    frame(10).to_csv(tmp_path / "v.csv", index=False)
    (same,) = make_input(tmp_path / "v.csv", columns=learner.columns, labelled=False).batches()
    np.testing.assert_array_equal(learner.margins(batch), learner.margins(same))


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"encoding": "table", "scale": True}, "scale is for the plain encoding"),
        ({"encoding": "table", "bits": 10}, "bits is for the plain encoding"),
        ({"encoding": "bins"}, "there is no encoding 'bins'; choose table or plain"),
    ],
)
def test_what_does_not_go_with_an_encoder(path: Path, settings: dict[str, object], what: str) -> None:
    with pytest.raises(InputError, match=what):
        train(path, **SETTINGS, **settings)


def test_only_tables_are_encoded(tmp_path: Path) -> None:
    rows = tmp_path / "r.svm"
    rows.write_text("1 1:1\n0 1:2\n")
    assert train(rows, algo="pater-i").encoder is None
    with pytest.raises(InputError, match=r"only tables have columns to encode, but .*r.svm is read as libsvm"):
        train(rows, algo="pater-i", encoding="table")


@pytest.mark.slow
def test_scale_and_bits_say_what_to_do(path: Path) -> None:
    for settings in ({"scale": True}, {"bits": 10}):
        assert train(path, algo="pater-i", label="fraud", **settings).encoder is None


@pytest.mark.parametrize("algo", ["so-pater-i", "pater-i"])
def test_it_becomes_a_pipeline_of_encoder_and_estimator(path: Path, tmp_path: Path, algo: str) -> None:
    file = tmp_path / "t.csv"
    frame(3_000).to_csv(file, index=False)
    learner = train(file, model=tmp_path / "m", algo=algo, label="fraud")
    pipeline = library.load(tmp_path / "m")
    table = frame(500, seed=2)
    table.to_csv(tmp_path / "u.csv", index=False)
    (batch,) = stream.read(tmp_path / "u.csv", columns=learner.columns)
    X, y = table.drop(columns="fraud"), table["fraud"].to_numpy()
    np.testing.assert_array_equal(pipeline.decision_function(X), learner.margins(batch)[:, 0])
    assert pipeline.predict(X).tolist() == learner.labels(learner.margins(batch)).tolist()
    pipeline.partial_fit(X, y)
    after = train(tmp_path / "u.csv", initial=tmp_path / "m")
    np.testing.assert_allclose(pipeline.decision_function(X), after.margins(batch)[:, 0], rtol=1e-9)


@pytest.mark.slow
def test_rows_that_were_read_otherwise(path: Path) -> None:
    learner = train(path, **SETTINGS)
    with pytest.raises(
        InputError, match=r"Read it as the model does, with stream.read\(..., columns=learner.columns\)"
    ):
        learner.margins(next(stream.read(path, label="fraud")))


def test_models_that_know_the_same_columns_merge(tmp_path: Path) -> None:
    frame(3_000).to_csv(tmp_path / "a.csv", index=False)
    for k in (1, 2):
        frame(2_000, seed=k).to_csv(tmp_path / f"{k}.csv", index=False)
    train(tmp_path / "a.csv", model=tmp_path / "a", **SETTINGS)
    parts = [train(tmp_path / f"{k}.csv", initial=tmp_path / "a") for k in (1, 2)]
    both = merged(parts, ["one", "other"])
    assert both.rows == 10_000
    assert both.encoder.encoding.rows == 10_000
    both.save(tmp_path / "both")
    assert load(tmp_path / "both").encoder.names() == both.encoder.names()
    others = frame(2_000, seed=1)
    others["country"] = others["country"].replace("FR", "XX")
    others.to_csv(tmp_path / "x.csv", index=False)
    more = others.assign(country=others["country"].replace("XX", "YY"))
    more.to_csv(tmp_path / "y.csv", index=False)
    parts = [train(tmp_path / f"{name}.csv", initial=tmp_path / "a") for name in "xy"]
    both = merged(parts, ["x", "y"])
    assert {"country=XX", "country=YY"} <= set(both.encoder.names())
    both.save(tmp_path / "both")
    assert load(tmp_path / "both").n_features == both.encoder.n_columns
    frame(3_000, seed=9).to_csv(tmp_path / "z.csv", index=False)
    apart = [train(tmp_path / f"{name}.csv", **SETTINGS) for name in "az"]
    with pytest.raises(InputError, match=r"z has edges\[0\]=\S+ in column 'amount' where a has edges\[0\]="):
        merged(apart, ["a", "z"])


@pytest.mark.slow
def test_shards_that_start_from_one_encoder_count_each_row_once(tmp_path: Path) -> None:
    for k in range(3):
        frame(700, seed=k).to_csv(tmp_path / f"{k}.csv", index=False)
    paths = [tmp_path / f"{k}.csv" for k in range(3)]
    source = make_input(paths, encoded=True, label="fraud")
    columns = source.describe()
    new = Learner(specs_of("auto"), columns, encoder=new_encoder(columns))
    samples = []
    for batch in stream.read(paths, columns=columns):
        batch.take(np.arange(len(batch)) < 400)
        samples.append(batch)
    content = begun_bytes(new, samples)
    assert new.model is None
    shards = []
    for path in paths:
        learner = starting_from(content, new)
        for batch in learner.encoder.over(stream.read(path, columns=columns)):
            learner.learn(batch)
        without_begun(content, learner).save(tmp_path / "shard")
        shards.append(load(tmp_path / "shard"))
    both = together(content, merged(shards, ["0", "1", "2"]))
    assert both.rows == both.encoder.encoding.rows == both.model.rows == 2100
    assert not both.model.in_shards
    amounts = pd.concat([pd.read_csv(path) for path in paths])["amount"].dropna()
    np.testing.assert_allclose(both.encoder.encoding.moments[0, :2], [amounts.size, amounts.mean()], rtol=1e-12)
    with pytest.raises(InputError, match="no row"):
        begun_bytes(new, [])


def test_a_file_that_is_not_sound(path: Path, tmp_path: Path) -> None:
    learner = train(path, **SETTINGS)
    saved = to_save(learner, learner.model, None)
    assert saved.columns is not None
    told = json.loads(json.dumps(saved.columns))

    def refused(**changed: object) -> str:
        with pytest.raises(ValueError, match="its ") as error:
            Learner.from_saved(replace(saved, **changed))
        return str(error.value)

    assert "do not fit its encoder" in refused(columns={k: v for k, v in told.items() if k != "encoder"})
    assert "do not fit its encoder" in refused(columns={**told, "kind": "table", "table": [["amount", "number"]]})
    other = {**told, "table": [["other", "number"], *told["table"][1:]]}
    assert "other columns than its table" in refused(columns=other)
    assert "encoder" in refused(columns={**told, "encoder": None})
    assert "encoder" in refused(columns={**told, "encoder": {**told["encoder"], "known": 3}})
    counted = {"encoder.bin_rows", "encoder.indicator_rows"}  # which files of earlier versions lack
    for name in [name for name in saved.arrays if name.startswith("encoder") and name != "encoder.bin_rows"]:
        refused(arrays={k: v for k, v in saved.arrays.items() if k != name})
    uncounted = Learner.from_saved(replace(saved, arrays={k: v for k, v in saved.arrays.items() if k not in counted}))
    assert uncounted.encoder is not None
    assert uncounted.encoder.encoding.counts is None
    model_file.save(tmp_path / "m", saved)
    assert load(tmp_path / "m").encoder.names() == learner.encoder.names()
