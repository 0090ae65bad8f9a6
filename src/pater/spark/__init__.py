"""Learning from a DataFrame of Spark, partition by partition, on its executors.

The data stays where it is: models travel, as bytes of model files. What comes back is an ordinary estimator, and
`predict_udf` makes a column of what it says. Executors need pater in the version of the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

try:
    import pyarrow  # noqa: F401
    import pyspark.sql.pandas.functions  # noqa: F401
except ImportError as error:
    raise ImportError(
        f'pater.spark needs PySpark ({error}): pip install "pater[spark]", and Java 17 or later.'
    ) from None

from ..estimators.blocks import OtherVersionError, Plan
from .columns import columns_of
from .fitting import fitted
from .prediction import answers

__all__ = ["OtherVersionError", "fit", "predict_udf"]


def fit(
    estimator: Any,
    dataframe: Any,
    label: str,
    features: str | Sequence[str] | None = None,
    sample_weight: str | None = None,
    classes: Any = None,
) -> Any:
    """Learn from all partitions of a DataFrame, each where it is.

    Each partition is learned by itself, by `partial_fit`, and the models are merged on the driver in the order of the
    partitions:

        merge_all(clone(estimator).partial_fit(X_of_partition, y_of_partition) for each partition that has rows)

    Partitions of a table, behind a `TableEncoder`, begin with the same rows: 10,000 in all (or `warm_up`, if that is
    more), the first ones of eight partitions (or of more, if these are short). They decide how columns are encoded and
    begin the learner. What they counted is taken out again, so every row counts once. Fewer rows than that in all
    partitions are learned as one. Spark computes the DataFrame twice more for this, to count rows and to take the first
    ones: `cache` what is dear to compute.

    The same rows in the same order in the same partitions give the same bits, on any executors and after any failure.
    Files give that where Spark cuts them alike, which depends on the number of cores unless
    `spark.sql.files.minPartitionNum` is set. After a shuffle (`repartition`, `groupBy`, a join) rows may come in
    another order each time: sort them by something that tells them apart (`sortWithinPartitions`), or write and read
    them.

    Parameters
    ----------
    estimator : estimator
        A learner of pater, or an `OnlinePipeline` of a `TableEncoder` and one. It stays as it is.
    dataframe : pyspark.sql.DataFrame
        The rows. A partition is in the memory of its executor while it is learned.
    label : str
        The column of labels: strings, booleans or whole numbers.
    features : str or list of str, optional
        The columns to learn from, all others without it. A learner without an encoder takes numbers, or one column of
        arrays or vectors, all of one length.
    sample_weight : str, optional
        The column with the importance of each sample.
    classes : array-like of labels, optional
        All classes there may be; a label outside is an error. Without it, they are those that turn up.

    Returns
    -------
    estimator
        A new one, fitted. It knows its features by the names of their columns.
    """
    plan = Plan(estimator, classes, block="partition")
    return fitted(plan, *columns_of(dataframe, label, features, sample_weight, is_table=plan.warm_up > 0))


def predict_udf(model: Any, kind: str = "predict") -> Any:
    """A function of Spark that says of each row what a model says.

    It takes a struct of columns, of which it finds its features by name:

        rows.withColumn("said", predict_udf(model)(struct("*")))

    Of a model without names of features, the struct has its features in their order, or is one column of arrays.

    Parameters
    ----------
    model : estimator
        A learner of pater or an `OnlinePipeline`, fitted. It travels as bytes of its model file.
    kind : {"predict", "probability", "margin"}
        What to say: the label, the probability of the second class (needs `probability=True`) or the margin. Of more
        than two classes, probabilities and margins are arrays, one number for each.

    Returns
    -------
    user-defined function
        Of one column, to one column.
    """
    return answers(model, kind)
