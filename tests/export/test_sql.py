"""Queries made from documents, run in SQLite and, where installed, in DuckDB, give what `predict` gives."""

from __future__ import annotations

import sqlite3
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler
from tables_to_export import as_rows, labels, matrix, table

import pater
from pater import stream
from pater.export import ExportError, document, sql
from pater.export.score import Scorer
from pater.formats.reading import make_input
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

TOLERANCE = 1e-12
DIALECTS = ["sqlite", "duckdb"]
PAIRS = [("country", "amount"), ("country", "code"), ("born", "flag"), ("member", "seen"), ("items", "flag")]


def answers(query: str, rows: pd.DataFrame, dialect: str, name: str = "rows") -> pd.DataFrame:
    """The result of a query in a database."""
    if dialect == "duckdb":
        connection = pytest.importorskip("duckdb", reason="needs DuckDB: pip install duckdb").connect()
        texts = [column for column in rows if rows[column].dtype == "str"]  # which versions before 1.4 do not know
        connection.register(name, rows.astype(dict.fromkeys(texts, object)))
        return connection.execute(query).df()
    texts = rows.copy()  # SQLite has no dates
    for column in texts.columns[[kind.kind == "M" for kind in texts.dtypes]]:
        written = texts[column].dt.strftime("%Y-%m-%d %H:%M:%S.%f").astype(object)
        texts[column] = written.where(rows[column].notna(), None)
    with sqlite3.connect(":memory:") as connection:
        texts.to_sql(name, connection, index=False)
        return pd.read_sql(query, connection)


def check(model: Any, rows: pd.DataFrame, dialect: str, X: Any = None) -> str:
    """Check that a query gives the margins, labels and probabilities of a model."""
    told = document(model)
    query = sql(told, dialect=dialect, keys=rows.columns[:1])
    found, X = answers(query, rows, dialect), rows if X is None else X
    n_models, n_classes = len(told["models"]), len(told["classes"])
    margins = np.asarray(model.decision_function(X)).reshape(len(rows), -1)
    assert found.iloc[:, 0].fillna("").tolist() == rows.iloc[:, 0].fillna("").tolist()
    np.testing.assert_allclose(found.iloc[:, 1 : 1 + n_models], margins, rtol=TOLERANCE, atol=TOLERANCE)
    assert found["predicted"].tolist() == model.predict(X).tolist()
    if told["models"][0]["probability"] is not None:
        chances = found.iloc[:, -n_classes:]
        assert chances.columns.tolist() == [f"probability_{label}" for label in told["classes"]]
        np.testing.assert_allclose(chances, model.predict_proba(X), rtol=TOLERANCE, atol=TOLERANCE)
    return query


@pytest.mark.parametrize("dialect", DIALECTS)
def test_plain_columns(dialect):
    X, two, three = matrix(300)
    rows = pd.DataFrame(X, columns=["a", 'odd "name"', "it's", "m0", "k0", "x0"])
    check(pater.AutoPATERClassifier(probability=True).fit(rows, two), rows, dialect)
    check(pater.SecondOrderPATERClassifier(operating_point={"max_fpr": 0.02}).fit(rows, two), rows, dialect)
    scaled = OnlinePipeline([("scale", StandardScaler()), ("learn", pater.PATERClassifier(probability=True))])
    check(scaled.fit(rows, three), rows, dialect)
    unnamed = pd.DataFrame(X, columns=[f"x{j}" for j in range(6)])
    check(pater.PATERClassifier().fit(X, two == "yes"), unnamed, dialect, X)
    check(pater.PATERClassifier(probability=True).partial_fit(X, np.zeros(300, int)), unnamed, dialect, X)


def numbers_of(rows: pd.DataFrame) -> pd.DataFrame:
    """A table as in a database: without currency marks, which are for people."""
    price = rows["price"].str.replace("[$,]", "", regex=True).astype(float)
    return rows.assign(
        price=price, preis=rows["preis"].str.replace(r"[ €.]", "", regex=True).str.replace(",", ".").astype(float)
    )


@pytest.mark.first_quick
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("crossed", [None, PAIRS], ids=["not crossed", "crossed"])
def test_every_kind_of_column_but_text(dialect, crossed):
    first, new = table(1050).drop(columns="note"), table(90, seed=9).drop(columns="note")
    new.loc[::17, "country"], new.loc[5::17, "country"], new.loc[::13, "code"] = "new", "other new", "NA"
    new.loc[1::13, "code"] = "2.50"
    new = numbers_of(new)[["id", *(name for name in new if name != "id")]]
    for three in (False, True):
        learner = pater.SecondOrderPATERClassifier(covariance="diagonal", probability=True)
        model = OnlinePipeline([("table", TableEncoder(interactions=crossed)), ("learn", learner)])
        model.partial_fit(first, labels(first, three=three))
        assert bool(document(model)["input"]["crosses"]) == bool(crossed)
        check(model, new, dialect, new[list(first)])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_not_sure_is_null_and_never_wrong(dialect):
    first = table(1050)[["amount", "country", "code", "member", "born", "created_ts"]]
    model = OnlinePipeline([("table", TableEncoder()), ("learn", pater.PATERClassifier())])
    model.partial_fit(first, labels(table(1050), three=False))
    usual = {
        "amount": "5",
        "country": "c1",
        "code": "x",
        "member": "TRUE",
        "born": "1960-05-06",
        "created_ts": "1550000000000",
    }
    odd = {
        "amount": ["", "NA", "5.0", "+5", "-5.5", ".5", "1e3", "5e", "abc", "1.2.3", "12-5", "5 5", "1,5", "++5",
                   "1_000"],
        "country": ["", " ", "?", "null", "C1", " c1", "new", "x" * 199, "x" * 200, "é" * 300, "12", "12-5", "it's"],
        "code": ["1", "1.0", "01", "1000", "1e3", "1E3", "+1e3", "1e+3", "2.5", "2.50", "3", "12-5", "e", "1e", "true"],
        "member": ["true", "False", " FALSE ", "yes", "t"],
        "born": ["", "NaT", "abc", "1960", "1960-05-06T07:08", "1960-05-06 07:08:09.25", "1960-05-06T07:08:09.5+02:00",
                 "1960-05-06T07:08:09Z", "1960-02-30", "1960-05-06T07", "1960-05-06 24:00:00", "0001-01-01",
                 "9999-12-31", "1960-5-6", "1960-05-06 7:08", "1960-05-06 07:08:09 UTC", "1960-05-06 07:08:09,5",
                 "1960-05-06 07:08:09+25:00", "0000-05-06"],
        "created_ts": ["", "0", "-1", "1e30", "1550000000000.5", "1960-05-06", "later", "-62e12"],
    }  # fmt: skip
    rows = pd.DataFrame([{**usual, name: value} for name, values in odd.items() for value in values])
    found = answers(sql(document(model), dialect=dialect), rows, dialect)
    told = pd.Series([float(model.decision_function([row])[0]) for row in rows.to_dict("records")])
    sure = found["margin"].notna()
    wrong = sure & ((found["margin"] - told).abs() > TOLERANCE)
    assert not wrong.any(), rows[wrong]
    assert found["predicted"].isna().equals(~sure)
    assert sure.mean() > 0.7


@pytest.mark.parametrize("dialect", DIALECTS)
def test_text_is_no_number_where_numbers_have_a_score_alone(dialect):
    first = table(1050)[["amount", "items"]]
    model = OnlinePipeline([("table", TableEncoder()), ("learn", pater.Perceptron())])
    model.partial_fit(first, labels(table(1050), three=False))
    told = document(model)
    for column in told["input"]["columns"]:
        column["bins"] = None
        assert column["z"] is not None
    rows = pd.DataFrame({"amount": ["abc", "5", None, "1e300"], "items": ["2", "two", "1", "-1e300"]})
    found = answers(sql(told, dialect=dialect), rows, dialect)
    scorer = Scorer(told)
    assert found["margin"].isna().tolist() == [True, True, False, False]
    margins = [scorer.margins(row)[0] for row in as_rows(rows)[2:]]
    np.testing.assert_allclose(found["margin"][2:], margins, rtol=TOLERANCE, atol=TOLERANCE)


def test_a_number_that_is_missing_in_a_row_of_a_matrix_is_refused():
    X, y, _ = matrix(100)
    told = document(pater.PATERClassifier().fit(X, y))
    rows = pd.DataFrame(X[:3], columns=[f"x{j}" for j in range(6)])
    rows.loc[1, "x1"] = None
    assert answers(sql(told), rows, "sqlite")["margin"].isna().tolist() == [False, True, False]
    for nothing in (None, float("nan")):
        with pytest.raises(ValueError, match="no number in column 1"):
            Scorer(told).margins([1.0, nothing, *X[0, 2:].tolist()])


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("three", [False, True])
def test_a_margin_that_is_not_finite_is_null(dialect, three):
    X, two, of_three = matrix(100)
    model = pater.PATERClassifier(probability=True).fit(X, of_three if three else two)
    rows = pd.DataFrame(X[:4], columns=[f"x{j}" for j in range(6)])
    rows.loc[1, "x0"], rows.loc[2, ["x0", "x1", "x2"]] = np.inf, [np.inf, -np.inf, np.inf]
    found = answers(sql(document(model), dialect=dialect), rows, dialect)
    assert found.isna().all(axis=1).tolist() == [False, True, True, False]
    assert found["predicted"][[0, 3]].tolist() == model.predict(X[[0, 3]]).tolist()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_column_that_the_table_has_not_is_an_error_and_no_text(dialect):
    rows = pd.DataFrame({"country": ["DE", "FR", "JP"] * 60})
    y = np.tile(["yes", "no", "no"], 60)
    model = OnlinePipeline([("table", TableEncoder()), ("learn", pater.Perceptron())]).partial_fit(rows, y)
    check(model, rows, dialect)
    for others, keys in (({"country": "land"}, []), ({}, ["key"])):
        with pytest.raises(Exception, match=r"(?i)column|binder"):
            answers(sql(document(model), keys=keys, dialect=dialect), rows.rename(columns=others), dialect)


@pytest.mark.parametrize("scale", [False, True])
def test_files_of_plain_columns(tmp_path, scale):
    X, y, _ = matrix(400)
    rows = pd.DataFrame(X, columns=list("abcdef")).mask(np.random.default_rng(0).random(X.shape) < 0.1)
    rows.assign(label=y).to_csv(tmp_path / "t.csv", index=False)
    rows.to_csv(tmp_path / "new.csv", index=False)
    learner = stream.train(tmp_path / "t.csv", algo="pater-i", encoding="plain", scale=scale)
    source = make_input(tmp_path / "new.csv", columns=learner.columns, labelled=False, keep_missing=scale)
    told = np.concatenate([learner.margins(batch) for batch in source.batches()])[:, 0]
    found = answers(sql(document(learner)), rows, "sqlite")
    np.testing.assert_allclose(found["margin"], told, rtol=TOLERANCE, atol=TOLERANCE)
    assert found["predicted"].tolist() == learner.labels(told[:, None]).tolist()


def test_what_sql_cannot_do_is_said():
    first = table(1050)
    y = labels(first, three=False)
    with_text = OnlinePipeline([("table", TableEncoder()), ("learn", pater.Perceptron())]).partial_fit(first, y)
    with pytest.raises(ExportError, match="column 'note' holds free text, whose words are hashed"):
        sql(document(with_text))
    few = OnlinePipeline([("table", TableEncoder(max_categories=5)), ("learn", pater.Perceptron())])
    with pytest.raises(ExportError, match="column 'country' has more than 5 categories, and the others are hashed"):
        sql(document(few.partial_fit(first.drop(columns="note"), y)))
    X, y, _ = matrix(50)
    plain = document(pater.Perceptron().fit(X, y))
    with pytest.raises(ExportError, match="no dialect 'oracle'; choose from sqlite, duckdb"):
        sql(plain, dialect="oracle")
    for key in ("Margin", "PREDICTED", f"probability_{plain['classes'][1]}"):
        with pytest.raises(ExportError, match="the same name as an answer"):
            sql(plain, keys=["id", key])
    with pytest.raises(ExportError, match="a key is named twice"):
        sql(plain, keys=["a", "a"])
    with pytest.raises(ExportError, match="cannot be a name"):
        sql(plain, "a\0b")
    wide = document(pater.Perceptron().fit(np.eye(1200), np.arange(1200) % 2))
    with pytest.raises(ExportError, match="reads 1,200 columns, more than a query can: 999"):
        sql(wide)
    with pytest.raises(ExportError, match="SQL cannot hash names"):
        sql({**plain, "input": {"kind": "hashed"}})


def test_texts_cannot_break_out_of_a_query():
    rows = pd.DataFrame({"c": ["a'); DROP TABLE rows; --", "it's", 'q"q', "é\n\t"] * 60})
    y = np.tile(["yes'", "no", "no", "yes'"], 60)
    model = OnlinePipeline([("table", TableEncoder()), ("learn", pater.Perceptron())]).partial_fit(rows, y)
    check(model, rows, "sqlite")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["cells", "sums", "margins", "source"])
def test_a_table_may_be_called_as_a_part_of_the_query(dialect, name):
    X, y, _ = matrix(50)
    rows = pd.DataFrame(X, columns=[f"x{j}" for j in range(6)])
    model = pater.Perceptron().fit(X, y)
    found = answers(sql(document(model), name, dialect=dialect), rows, dialect, name)
    assert found["predicted"].tolist() == model.predict(X).tolist()


def test_many_columns_are_no_deep_expression():
    X = np.random.default_rng(0).standard_normal((20, 950))
    model = pater.Perceptron().fit(X, X[:, 0] > 0)
    rows = pd.DataFrame(X[:5], columns=[f"x{j}" for j in range(950)])
    query = sql(document(model))
    with sqlite3.connect(":memory:") as connection:
        names = ", ".join(f'"x{j}" REAL' for j in range(950))
        connection.execute(f"CREATE TABLE rows ({names})")
        for row in rows.to_numpy().tolist():
            values = ", ".join(map(repr, row))
            connection.execute(f"INSERT INTO rows VALUES ({values})")
        margins = [line[0] for line in connection.execute(query)]
    np.testing.assert_allclose(margins, model.decision_function(X[:5]), rtol=1e-10)
