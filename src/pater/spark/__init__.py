"""Learning from a Spark DataFrame, partition by partition, on its executors.

The data stays where it is: only models are sent, as bytes of model files. The result is an ordinary estimator, and
`predict_udf` adds its predictions as a column. Executors need the same version of pater as the driver.
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

    Each partition is learned separately by `partial_fit`, and the models are merged on the driver in the order of the
    partitions:

        merge_all(clone(estimator).partial_fit(X_of_partition, y_of_partition) for each partition that has rows)

    Partitions of a table, behind a `TableEncoder`, start from a common model: the first rows of eight partitions (or of
    more if these are short), 10,000 in total (or `warm_up`, if that is more), decide how columns are encoded, and the
    model learns from them. What it had counted is subtracted again, so every row counts once. If all partitions
    together have fewer rows, they are learned as one. Spark computes the DataFrame two more times for this, to count
    rows and to take the first ones: `cache` whatever is expensive to compute.

    The same rows in the same order in the same partitions give the same bits, on any executors and after any failure.
    With files, the partitions depend on the number of cores unless `spark.sql.files.minPartitionNum` is set. After a
    shuffle (`repartition`, `groupBy`, a join) rows may come in a different order each time: sort them by a unique key
    (`sortWithinPartitions`), or write them and read them back.

    Parameters
    ----------
    estimator : estimator
        A learner of pater, or an `OnlinePipeline` of a `TableEncoder` and one. It is not changed.
    dataframe : pyspark.sql.DataFrame
        The rows. A partition is held in the memory of its executor while it is learned.
    label : str
        The column of labels: strings, booleans or whole numbers.
    features : str or list of str, optional
        The columns to learn from; by default, all others. A learner without an encoder takes numbers, or one column of
        arrays or vectors, all of the same length.
    sample_weight : str, optional
        The column with the importance of each sample.
    classes : array-like of labels, optional
        All classes; any other label is an error. Without it, the classes are those that occur.

    Returns
    -------
    estimator
        A new one, fitted, whose feature names are the names of the columns.
    """
    plan = Plan(estimator, classes, block="partition")
    return fitted(plan, *columns_of(dataframe, label, features, sample_weight, is_table=plan.warm_up > 0))


def predict_udf(model: Any, kind: str = "predict") -> Any:
    """A Spark function that returns the prediction of a model for each row.

    It takes a struct of columns, and finds its features in it by name:

        rows.withColumn("said", predict_udf(model)(struct("*")))

    For a model without feature names, the struct has the features in their order, or is one column of arrays.

    Parameters
    ----------
    model : estimator
        A learner of pater or an `OnlinePipeline`, fitted. It is sent as bytes of its model file.
    kind : {"predict", "probability", "margin"}
        What to return: the label, the probability of the second class (needs `probability=True`) or the margin. With
        more than two classes, probabilities and margins are arrays with one number for each.

    Returns
    -------
    user-defined function
        From one column to one column.
    """
    return answers(model, kind)
