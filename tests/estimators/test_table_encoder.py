"""TableEncoder as a scikit-learn transformer, alone, in pipelines, and in front of a stream."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from preprocessing.tables_to_encode import frame
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from pater import AROWClassifier, AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline


@parametrize_with_checks([TableEncoder()])
def test_scikit_learns_own_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def labelled(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A label that depends on a bin, a category and the hour."""
    table = frame(n)
    y = table["skewed"].between(8, 60) ^ (table["country"] == "c1") ^ (table["when"].dt.hour > 18)
    return table, y.to_numpy().astype(int)


def sparse_bytes(X: Any) -> tuple[bytes, ...]:
    return X.indptr.tobytes(), X.indices.tobytes(), X.data.tobytes()


def test_fit_and_partial_fit_come_to_the_same() -> None:
    table, _ = labelled(800)
    whole = TableEncoder(warm_up=300).fit(table)
    parts = TableEncoder(warm_up=300)
    for start in range(0, 800, 90):
        parts.partial_fit(table[start : start + 90])
    assert sparse_bytes(whole.transform(table)) == sparse_bytes(parts.transform(table))
    assert sparse_bytes(TableEncoder(warm_up=300).fit_transform(table)) == sparse_bytes(whole.transform(table))
    assert whole.get_feature_names_out().tolist() == parts.get_feature_names_out().tolist()
    assert whole.transform(table).shape == (800, len(whole.get_feature_names_out()))
    assert whole.feature_names_in_.tolist() == list(table)
    assert whole.n_features_in_ == table.shape[1]
    assert whole.kinds_["country"] == "category"


def test_every_library_gives_the_same_columns() -> None:
    table, _ = labelled(400)
    want = TableEncoder().fit(table)
    rows = [{k: None if pd.isna(v) else v for k, v in row.items()} for row in table.to_dict("records")]
    for other in (pl.from_pandas(table), pa.Table.from_pandas(table), rows):
        got = TableEncoder().fit(other)
        assert got.get_feature_names_out().tolist() == want.get_feature_names_out().tolist()
        np.testing.assert_allclose(got.transform(other).toarray(), want.transform(table).toarray(), atol=1e-9)
        np.testing.assert_allclose(want.transform(other).toarray(), want.transform(table).toarray(), atol=1e-9)


def test_parameters_pickles_and_copies() -> None:
    table, _ = labelled(500)
    encoder = TableEncoder(resolution="coarse", warm_up=200, clip=2).fit(table)
    assert clone(encoder).get_params() == encoder.get_params()
    want = sparse_bytes(encoder.transform(table))
    for other in (pickle.loads(pickle.dumps(encoder)), copy.copy(encoder), copy.deepcopy(encoder)):
        assert sparse_bytes(other.transform(table)) == want
        other.partial_fit(table.assign(country="new"))
        assert sparse_bytes(other.transform(table)) != want
    assert sparse_bytes(encoder.transform(table)) == want
    encoder.set_params(resolution="none")
    assert encoder.transform(table).shape[1] < len(TableEncoder(warm_up=200).fit(table).get_feature_names_out())
    with pytest.raises(ValueError, match="fit it again"):
        encoder.set_params(clip=5.0).partial_fit(table)


def test_features_speak_in_the_units_of_the_table() -> None:
    table, _ = labelled(500)
    encoder = TableEncoder().fit(table)
    features = encoder.features()
    assert [feature.name for feature in features] == encoder.get_feature_names_out().tolist()
    X = encoder.transform(table).tocsc()
    for k, feature in enumerate(features):
        rows = X[:, [k]].indices
        if feature.kind == "bin" and not feature.is_date:
            values = table[feature.column].to_numpy()[rows]
            assert ((values >= feature.low) & (values < feature.high)).all()
        if feature.kind == "category":
            assert set(table["country"].iloc[rows]) == {feature.text}
        if feature.kind == "missing":
            assert table[feature.column].iloc[rows].isna().all()


@pytest.mark.slow
def test_scikit_learns_pipelines() -> None:
    table, y = labelled(1500)
    model = make_pipeline(TableEncoder(), SecondOrderPATERClassifier()).fit(table[:1000], y[:1000])
    assert model.score(table[1000:], y[1000:]) > 0.7
    assert cross_val_score(make_pipeline(TableEncoder(), LogisticRegression()), table, y, cv=3).mean() > 0.7
    some = make_column_transformer((TableEncoder(), ["skewed", "country"]), ("drop", ["id"]), sparse_threshold=1.0)
    assert make_pipeline(some, SecondOrderPATERClassifier()).fit(table, y).score(table, y) > 0.6
    assert "tableencoder__country=c1" in some.fit(table).get_feature_names_out()
    search = GridSearchCV(model, {"tableencoder__resolution": ["none", "fine"]}, cv=2).fit(table, y)
    assert search.best_params_ == {"tableencoder__resolution": "fine"}


@pytest.mark.first_quick
@pytest.mark.parametrize(
    "learner",
    [PATERClassifier(), SecondOrderPATERClassifier(), AROWClassifier(covariance="diagonal"), AutoPATERClassifier()],
)
def test_a_stream_comes_to_the_same_however_it_is_cut(learner: Any) -> None:
    table, y = labelled(900)
    if isinstance(learner, AutoPATERClassifier):  # which takes other candidates from 256 columns on
        table = table.drop(columns="note")

    def learned(size: int, *, ask: bool = False) -> OnlinePipeline:
        model = OnlinePipeline([("encode", TableEncoder(warm_up=250)), ("learn", clone(learner))])
        for start in range(0, 900, size):
            some = slice(start, start + size)
            model.partial_fit(table[some], y[some], sample_weight=1.0 + y[some])
            if ask:
                model.predict(table[:5])
        return model

    want = learned(900)
    for model in (learned(1), learned(100, ask=True), learned(400)):
        steps, others = model.named_steps, want.named_steps
        assert steps["learn"].coef_.tobytes() == others["learn"].coef_.tobytes()
        assert steps["learn"].coef_.shape[1] == len(steps["encode"].get_feature_names_out())
        assert model.predict(table).tolist() == want.predict(table).tolist()


def test_while_rows_are_held_back_the_stream_is_answered_for_as_if_it_ended() -> None:
    table, y = labelled(900)
    model = OnlinePipeline([("encode", TableEncoder()), ("learn", SecondOrderPATERClassifier())])
    for start in range(0, 600, 150):
        model.partial_fit(table[start : start + 150], y[start : start + 150], classes=[0, 1])
    ended = OnlinePipeline([("encode", TableEncoder(warm_up=600)), ("learn", SecondOrderPATERClassifier())])
    ended.partial_fit(table[:600], y[:600], classes=[0, 1])
    assert model.named_steps["learn"].coef_.tobytes() == ended.named_steps["learn"].coef_.tobytes()
    assert model.decision_function(table).tobytes() == ended.decision_function(table).tobytes()
    assert model.classes_.tolist() == [0, 1]
    assert pickle.loads(pickle.dumps(model)).predict(table).tolist() == ended.predict(table).tolist()


def test_after_an_error_nothing_has_changed() -> None:
    table, y = labelled(900)
    model = OnlinePipeline([("encode", TableEncoder(warm_up=250)), ("learn", SecondOrderPATERClassifier())])
    model.partial_fit(table[:200], y[:200], classes=[0, 1])
    other = copy.deepcopy(model)
    wrong = y[200:500].copy()
    for place in (10, 299):
        wrong[place] = 7
        with pytest.raises(ValueError, match="7"):
            model.partial_fit(table[200:500].assign(country="new"), wrong)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(table[200:210], [np.nan] * 10)
    with pytest.raises(ValueError, match="lacks the column 'note'"):
        model.partial_fit(table[200:500].drop(columns="note"), y[200:500])
    for start in (200, 500):
        for each in (model, other):
            each.partial_fit(table[start : start + 300], y[start : start + 300])
        wrong[:] = 7
        with pytest.raises(ValueError, match="7"):
            model.partial_fit(table[200:500].assign(country="new"), wrong)
    assert model.decision_function(table).tobytes() == other.decision_function(table).tobytes()


def test_a_classifier_that_cannot_grow_says_so() -> None:
    table, y = labelled(900)
    model = OnlinePipeline([("encode", TableEncoder(warm_up=100)), ("learn", SGDClassifier())])
    model.partial_fit(table[:100], y[:100], classes=[0, 1])
    with pytest.raises(ValueError, match="SGDClassifier cannot take more"):
        model.partial_fit(table[100:], y[100:])


def test_columns_and_order() -> None:
    table, _ = labelled(300)
    encoder = TableEncoder().fit(table)
    assert sparse_bytes(encoder.transform(table[table.columns[::-1]])) == sparse_bytes(encoder.transform(table))
    with pytest.raises(ValueError, match="lacks the column 'country'"):
        encoder.transform(table.drop(columns="country"))
    with pytest.raises(ValueError, match="'more' that was not there before"):
        encoder.transform(table.assign(more=1))
    assert encoder.transform([{"country": "c1"}]).shape == (1, len(encoder.get_feature_names_out()))
    with pytest.raises(NotFittedError):
        TableEncoder().transform(table)
    with pytest.raises(ValueError, match="resolution"):
        TableEncoder(resolution="finest").fit(table)


def test_merged_encoders() -> None:
    table, _ = labelled(900)
    one = TableEncoder(warm_up=300).fit(table[:300])
    other = copy.copy(one).partial_fit(table[600:])
    one.partial_fit(table[300:600])
    width = len(one.get_feature_names_out())
    names = one.get_feature_names_out().tolist()
    one.merge(other)
    for name, before in zip(one.get_feature_names_out()[:width], names, strict=True):
        assert name == before or (name.startswith(before) and "~" in before)  # words share columns, as their names show
    assert set(other.get_feature_names_out()) - set(one.get_feature_names_out()) <= {
        feature.name for feature in other.features() if feature.kind == "word"
    }
    with pytest.raises(ValueError, match="once they have learned from"):
        TableEncoder().fit(table[:10]).merge(one)
    with pytest.raises(TypeError):
        one.merge(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (pd.DataFrame({"a": [1.0, 2.0], "country": ["x", "y"]}), "country"),
        (pl.DataFrame({"a": [1.0, 2.0], "country": ["x", "y"]}), "country"),
        (pd.DataFrame({"a": [1.0, 2.0], "when": pd.to_datetime(["2024-01-01"] * 2)}), "when"),
        (pd.DataFrame({"when": pd.to_datetime(["2024-01-01"] * 2)}), "when"),
        (np.array([["2024-01-01"]] * 2, "M8[D]"), "dates"),
        (np.array([[90]] * 2, "m8[s]"), "dates"),
        (pl.DataFrame({"a": [1.0, 2.0], "when": pd.to_datetime(["2024-01-01"] * 2)}), "when"),
        (pl.DataFrame({"a": [1.0, 2.0], "span": pd.to_timedelta([1, 2])}), "span"),
        (pa.table({"a": [1.0, 2.0], "when": pd.to_datetime(["2024-01-01"] * 2)}), "when"),
        (pd.DataFrame({"a": [1.0, 2.0], "when": pd.Series(["2024-01-01"] * 2).astype("date32[pyarrow]")}), "when"),
    ],
)
def test_an_estimator_that_gets_raw_columns_says_what_to_do(table: Any, what: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"(?s){what}.*TableEncoder"):
        PATERClassifier().partial_fit(table, [0, 1])


@pytest.mark.first_quick
@pytest.mark.parametrize("learner", [PATERClassifier("II"), SecondOrderPATERClassifier(), AutoPATERClassifier()])
def test_pipelines_that_met_categories_in_other_orders_are_merged(learner: Any) -> None:
    table, y = labelled(3000)
    table = table.drop(columns=["note", "id"])
    begun = OnlinePipeline([("encode", TableEncoder(warm_up=400)), ("learn", clone(learner))])
    begun.partial_fit(table[:400], y[:400])
    one, other = copy.deepcopy(begun), copy.deepcopy(begun)
    one.partial_fit(table[400:1700].assign(country=lambda t: t["country"].replace("c9", "new")), y[400:1700])
    other.partial_fit(table[1700:].assign(country=lambda t: t["country"].replace("c8", "newer")), y[1700:])
    before = sparse_bytes(other.named_steps["encode"].transform(table))
    scores = [one.score(table, y), other.score(table, y)]
    one.merge(other)
    names = one.named_steps["encode"].get_feature_names_out().tolist()
    assert {"country=new", "country=newer"} <= set(names)
    assert one.named_steps["learn"].coef_.shape[1] == len(names)
    assert one.score(table, y) > min(scores) - 0.05
    assert sparse_bytes(other.named_steps["encode"].transform(table)) == before
    one.partial_fit(table[:100], y[:100])
    with pytest.raises(TypeError, match="can be merged"):
        one.merge(OnlinePipeline([("encode", TableEncoder()), ("learn", SGDClassifier())]))
