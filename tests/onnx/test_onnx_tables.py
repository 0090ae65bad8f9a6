"""For raw columns of a table, onnxruntime gives what the model gives."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from onnx import TensorProto
from onnx.reference import ReferenceEvaluator

import pater
from pater import stream
from pater.export import document
from pater.export.score import MISSING, TRUTHS
from pater.onnx import feed, to_onnx
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

ROWS = 900


def table():
    rng = np.random.default_rng(0)
    moments = pd.Timestamp("1966-01-01") + pd.to_timedelta(rng.integers(0, 30_000 * 86_400, ROWS), unit="s")
    frame = pd.DataFrame(
        {
            "amount": np.where(rng.random(ROWS) < 0.1, np.nan, rng.lognormal(3, 1, ROWS)),
            "two": rng.integers(0, 2, ROWS).astype(float),
            "when": moments,
            "day": moments.normalize(),
            "country": rng.choice(["DE", "FR", "7", "2.5", "True", None, "x y", "inf"], ROWS),
            "shop": [f"shop {k}" for k in rng.zipf(1.3, ROWS) % 400],
            "note": [" ".join(f"w{j}" for j in rng.integers(0, 99, 1 + k % 7)) for k in range(ROWS)],
            "id": [f"i{k}" for k in range(ROWS)],
            "margin": rng.normal(size=ROWS),
            "nothing": np.full(ROWS, 5.0),
        }
    )
    for name in ("when", "note", "id", "shop"):
        frame.loc[rng.random(ROWS) < 0.05, name] = None
    return frame


TABLE = table()
Y = ((TABLE["amount"].fillna(20) > 30) ^ (TABLE["country"] == "DE") ^ (TABLE["when"].dt.hour > 12)).to_numpy()
THREE = np.where(TABLE["shop"] == "shop 1", "frequent", np.where(Y, "yes", "no"))


def session(model):
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def pipeline(learner, y, rows=700, **settings):
    encoder = TableEncoder(warm_up=300, max_categories=20, **settings)
    return OnlinePipeline([("table", encoder), ("model", learner)]).partial_fit(TABLE[:rows], y[:rows])


def check(model, rows=TABLE):
    runner = session(to_onnx(model))
    label, margin = runner.run(["label", "margin"], feed(model, rows))
    wanted = model.decision_function(rows)
    assert margin.shape == wanted.shape
    np.testing.assert_allclose(margin, wanted, rtol=1e-12, atol=1e-12)
    assert (label == model.predict(rows)).all()
    return runner


@pytest.mark.first_quick
@pytest.mark.parametrize("resolution", ["nested", "fine", "coarse", "none"])
def test_each_kind_of_column(resolution):
    learner = pater.PATERClassifier(probability=True, operating_point={"max_fpr": 0.1}, average=True)
    model = pipeline(learner, Y, resolution=resolution)
    kinds = model.named_steps["table"].kinds_
    assert set(kinds.values()) == {"number", "date", "category", "text", "id"}
    runner = check(model)
    for rows in (TABLE[5:6], TABLE[:2]):
        check(model, rows)
    found = runner.run(["probabilities"], feed(model, TABLE))[0]
    np.testing.assert_allclose(found, model.predict_proba(TABLE), rtol=1e-12, atol=1e-12)


PAIRS = [("amount", "country"), ("shop", "country"), ("when", "two"), ("shop", "when"), ("amount", "two")]


@pytest.mark.parametrize("pairs", [PAIRS, [*PAIRS[1:2]]])
@pytest.mark.parametrize("y", [Y, THREE], ids=["two", "three"])
def test_crosses(pairs, y):
    check(pipeline(pater.AROWClassifier(covariance="diagonal"), y, interactions=pairs))


def test_the_best_of_several_learners():
    check(pipeline(pater.AutoPATERClassifier(), THREE))


def test_another_runtime_answers_alike():
    """The reference runtime uses Python's patterns, so no category may be a number here."""
    rows = TABLE.replace({"country": {"7": "seven", "2.5": "two", "inf": "many"}})
    encoder = TableEncoder(warm_up=300, max_categories=20, interactions=PAIRS)
    model = OnlinePipeline([("table", encoder), ("model", pater.PATERClassifier(probability=True))])
    model.partial_fit(rows, THREE)
    label, margin, probabilities = ReferenceEvaluator(to_onnx(model)).run(None, feed(model, rows))
    assert (label == model.predict(rows)).all()
    np.testing.assert_allclose(margin, model.decision_function(rows), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(probabilities, model.predict_proba(rows), rtol=1e-12, atol=1e-12)


def test_rows_that_are_held_back():
    check(pipeline(pater.PATERClassifier(), Y, rows=100))


def test_a_table_of_texts_alone():
    notes = TABLE[["note"]].assign(other=TABLE["note"].str.split(n=1).str[1])  # another number of words
    encoder = TableEncoder(warm_up=100)
    check(OnlinePipeline([("table", encoder), ("model", pater.PATERClassifier())]).partial_fit(notes, Y), notes)


def inputs(model):
    return {each.name: each.type.tensor_type.elem_type for each in to_onnx(model).graph.input}


def test_an_input_has_the_type_of_its_column():
    model = pipeline(pater.PATERClassifier(), Y)
    assert inputs(model) == {
        "amount": TensorProto.DOUBLE,
        "two": TensorProto.DOUBLE,
        "when": TensorProto.DOUBLE,
        "day": TensorProto.DOUBLE,
        "country": TensorProto.STRING,
        "shop": TensorProto.INT64,  # more than 20 categories: the rest are hashed
        "note: starts": TensorProto.INT64,
        "note: words": TensorProto.INT64,
        "id": TensorProto.BOOL,
        "column 'margin'": TensorProto.DOUBLE,
        "nothing": TensorProto.DOUBLE,
    }


WORDS = "DE|FR|de| DE|x y|unheard of|| |\t|?|NA|n/a| NaN |+nan|Null|NONE|naan|True|true| TRUE\t|truex|false"
NUMBERS = "7|7.0|+7| 07 |7e0|70e-1|.7e1|7.|2.5|2.50|8|-7|1_0|0x7|7 7|7,0|e7|.|+|inf|Infinity|+INF|-inf|infinit|\n7|7\n"
WRITTEN = [*WORDS.split("|"), *NUMBERS.split("|"), "DE" * 150, "0" * 300 + "7", " " * 250 + "NA", "Ünïcode", "７ rue"]


def test_texts_as_people_write_them():
    """Texts are fed as they are, not as `feed` would write them."""
    model = OnlinePipeline([("table", TableEncoder(warm_up=300)), ("model", pater.PATERClassifier())])
    model.partial_fit(TABLE[["country", "amount"]], Y)
    names = model.named_steps["table"].encoding_.columns[0].names
    assert {"DE", "7", "2.5", "True", "inf"} <= set(names)
    rows = pd.DataFrame({"country": WRITTEN, "amount": 1.0})
    runner = check(model, rows)
    as_it_is = [text.strip(" \t") == text or text.strip(" \t").lower() in {*MISSING, *TRUTHS} for text in WRITTEN]
    rows = rows[np.array(as_it_is) & (rows["country"].str.len() < 200)]
    raw = {name: rows[[name]].to_numpy(object if name == "country" else float) for name in rows}
    np.testing.assert_allclose(runner.run(["margin"], raw)[0], model.decision_function(rows), rtol=1e-12, atol=1e-12)
    for text in (" DE", "7.0\t", " 2.5", " unheard of", " " * 250 + "NA"):
        raw["country"] = np.array([["DE"], [text]], object)
        with pytest.raises(Exception, match="category_without_blanks"):
            runner.run(None, {**raw, "amount": np.ones((2, 1))})
        rows = pd.DataFrame({"country": [text], "amount": [1.0]})
        check(model, rows)


def test_names_that_a_graph_has():
    rows = pd.DataFrame({name: TABLE["amount"] * k for k, name in enumerate(["pater.1.Concat", "", "label", "ü ="])})
    model = OnlinePipeline([("table", TableEncoder(warm_up=100)), ("model", pater.PATERClassifier())])
    check(model.partial_fit(rows, Y), rows)


def test_moments_on_both_sides_of_1970():
    model = pipeline(pater.PATERClassifier(), Y)
    rows = TABLE[:9].copy()
    days = ["1600-02-29", "1900-02-28", "1969-12-31T23:59:59", "1970-01-01", "2000-02-29", "2024-12-31", "2100-03-01"]
    rows["when"] = np.array([*days, "2262-01-01", "NaT"], "M8[us]")
    check(model, rows)
    raw = feed(model, rows)
    raw["when"][0] = 3e11  # too far away to be a date
    rows.loc[0, "when"] = None
    margin = session(to_onnx(model)).run(["margin"], raw)[0]
    np.testing.assert_allclose(margin, model.decision_function(rows), rtol=1e-12, atol=1e-12)


def test_numbers_beyond_all_bins():
    model = pipeline(pater.PATERClassifier(), Y)
    rows = TABLE[:6].copy()
    rows["amount"] = [np.inf, -np.inf, 1e300, -1e300, 0.0, np.nan]
    check(model, rows)


def test_a_place_that_there_is_not_is_an_error():
    model = pipeline(pater.PATERClassifier(), Y)
    runner, raw = session(to_onnx(model)), feed(model, TABLE[:3])
    for place in (-1, 54):
        with pytest.raises(Exception, match="place_of_a_category"):
            runner.run(None, {**raw, "shop": np.full((3, 1), place)})
    with pytest.raises(Exception, match="place_of_a_word"):
        runner.run(None, {**raw, "note: words": raw["note: words"] + 1025})


@pytest.mark.parametrize("name", ["amount", "country", "shop", "id", "note: starts"])
def test_columns_of_other_lengths_are_an_error(name):
    model = pipeline(pater.PATERClassifier(), Y)
    runner, raw = session(to_onnx(model)), feed(model, TABLE[:3])
    raw[name] = raw[name][:1]
    if name == "note: starts":
        raw |= {name: np.array([0, 1]), "note: words": np.array([5])}
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        runner.run(None, raw)


def test_what_cannot_be_fed():
    model = pipeline(pater.PATERClassifier(), Y)
    with pytest.raises(ValueError, match="the table lacks the column 'amount'"):
        feed(model, TABLE.drop(columns="amount"))
    with pytest.raises(TypeError, match="to feed a table, give the model itself, not a dict"):
        feed(document(model), TABLE)
    with pytest.raises(ValueError, match="a table have an input for each column: leave out sparse=True"):
        to_onnx(model, sparse=True)


def learned(path, **more):
    learner = stream.train(path, algo="pater-i", **more)
    (batch,) = stream.read(path, columns=learner.columns, keep_missing=learner.scale)
    label, margin = session(to_onnx(learner)).run(["label", "margin"], feed(learner, batch))
    wanted = learner.margins(batch)
    np.testing.assert_allclose(margin, wanted[:, 0], rtol=1e-12, atol=1e-12)
    assert (label == learner.labels(wanted)).all()
    return learner


def test_tables_of_files(tmp_path):
    path = tmp_path / "rows.csv"
    TABLE.assign(y=Y.astype(int)).rename(columns={"margin": "rest"}).to_csv(path, index=False)
    assert document(learned(path, label="y"))["input"]["kind"] == "table"
    assert document(learned(path, label="y", bits=12))["input"]["kind"] == "hashed"


def test_scaled_columns_of_files(tmp_path):
    path = tmp_path / "rows.csv"
    TABLE[["amount", "two", "nothing"]].assign(y=Y.astype(int)).to_csv(path, index=False)
    learner = learned(path, label="y", scale=True)
    with pytest.raises(ValueError, match="keep_missing=True"):
        feed(learner, next(stream.read(path, columns=learner.columns)))
    rows = np.array([[np.nan, 1.0, 5.0], [3.0, np.nan, 7.0]])  # one column has never varied
    margin = session(to_onnx(learner)).run(["margin"], {"X": rows})[0]
    wanted = learner.margins(stream.Batch((rows,), 3, None))[:, 0]
    np.testing.assert_allclose(margin, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.first_quick
@pytest.mark.parametrize("bits", [10, 21])
def test_hashed_names(tmp_path, bits):
    path = tmp_path / "rows.vw"
    names = ["amount", "two", "margin"]
    lines = [" ".join(f"{n}:{row[n]}" for n in names if row[n] == row[n]) for _, row in TABLE[names].iterrows()]
    path.write_text("\n".join(f"{2 * int(y) - 1} | {line}" for y, line in zip(Y, lines, strict=True)))
    model = to_onnx(learned(path, bits=bits))
    assert model.ByteSize() < 100_000
