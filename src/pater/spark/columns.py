"""Columns of a Spark DataFrame: choose those to learn from, and convert their Arrow tables to batches.

Knows types of Spark and Arrow. Columns are checked before anything is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import DataFrame, types
from pyspark.sql.functions import col

from ..estimators.inputs import ENCODE
from ..estimators.shards import Batch

NUMBERS = (types.NumericType, types.BooleanType)
LABELS = (*NUMBERS, types.StringType)
OF_TABLES = (*LABELS, types.DateType, types.TimestampType, types.TimestampNTZType, types.DayTimeIntervalType)


class Columns(NamedTuple):
    """The names of the columns, and whether the features go to an encoder unchanged."""

    features: list[str]
    label: str
    weight: str | None
    is_table: bool

    def batch(self, table: pa.Table) -> Batch:
        """Rows, labels and importances of a table that has the features, the label and the weight, in this order."""
        beside = [self.label] if self.weight is None else [self.label, self.weight]
        table = table.rename_columns([*self.features, *beside])
        X = table.select(self.features) if self.is_table else numbers(table.select(self.features))
        weights = None if self.weight is None else _floats(table.column(self.weight))
        return X, _labels(table.column(self.label), self.label), weights


def columns_of(
    dataframe: Any, label: str, features: str | Sequence[str] | None, sample_weight: str | None, *, is_table: bool
) -> tuple[Any, Columns]:
    """The DataFrame reduced to the columns to learn from, and their names; an error if they cannot be used."""
    if not isinstance(dataframe, DataFrame):
        kind = type(dataframe)
        raise TypeError(
            f"dataframe must be a Spark DataFrame, got a {kind.__name__} of {kind.__module__.partition('.')[0]}."
        )
    if dataframe.isStreaming:
        raise ValueError("dataframe is a stream, which has no end: learn from each batch with foreachBatch.")
    beside = [name for name in (label, sample_weight) if name is not None]
    if features is None:
        features = [name for name in dataframe.columns if name not in beside]
    names = [features] if isinstance(features, str) else list(features)
    for name in [*names, *beside]:
        found = dataframe.columns.count(name)
        if found != 1:
            told = f"choose from {dataframe.columns}" if not found else "their names must differ"
            raise ValueError(f"dataframe has {found or 'no'} column{'s' * (found > 1)} {name!r}; {told}.")
    twice = [name for name in dict.fromkeys([*names, *beside]) if [*names, *beside].count(name) > 1]
    if twice:
        raise ValueError(f"column {twice[0]!r} is given twice, among features, label and sample_weight.")
    if not names:
        raise ValueError(f"there is no column to learn from: dataframe has {dataframe.columns}.")
    kinds = {field.name: field.dataType for field in dataframe.schema.fields}
    _check(label, kinds[label], LABELS, "labels are strings, booleans or whole numbers.")
    if sample_weight is not None:
        _check(sample_weight, kinds[sample_weight], NUMBERS, "weights are numbers.")
    chosen = [col(_quoted(name)) for name in [*names, *beside]]
    if is_table:
        for name in names:
            _check(name, kinds[name], OF_TABLES, "a table holds numbers, truth values, texts, dates and times.")
    elif len(names) == 1 and _is_vector(kinds[names[0]]):
        from pyspark.ml.functions import vector_to_array

        chosen[0] = vector_to_array(chosen[0])
    elif not (len(names) == 1 and _is_array(kinds[names[0]])):
        more = f'{ENCODE} Put one in front: OnlinePipeline([("table", TableEncoder()), ("model", estimator)]).'
        for name in names:
            _check(name, kinds[name], NUMBERS, f"it must hold numbers. {more}")
    if sample_weight is not None:  # rows of weight 0 are left out
        weight = col(_quoted(sample_weight))
        dataframe = dataframe.where(weight.isNull() | (weight != 0))
    # Columns are numbered, since mapInArrow cannot find names with a dot.
    chosen = [column.alias(f"c{k}") for k, column in enumerate(chosen)]
    return dataframe.select(*chosen), Columns(names, label, sample_weight, is_table)


def numbers(table: pa.Table) -> Any:
    """Columns of numbers as a frame with their names; a single column of arrays as a matrix."""
    import pandas as pd

    if table.num_columns == 1 and _holds_arrays(table.column(0)):
        return _matrix(table.column(0), table.column_names[0])
    values = np.empty((table.num_rows, table.num_columns))
    for k, column in enumerate(table.columns):
        values[:, k] = _floats(column)
    return pd.DataFrame(values, columns=table.column_names)


def _check(name: str, kind: Any, allowed: tuple[Any, ...], told: str) -> None:
    if not isinstance(kind, allowed):
        raise TypeError(f"column {name!r} is of type {kind.simpleString()}: {told}")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _is_array(kind: Any) -> bool:
    return isinstance(kind, types.ArrayType) and isinstance(kind.elementType, types.NumericType)


def _is_vector(kind: Any) -> bool:
    return isinstance(kind, types.UserDefinedType) and kind.typeName() in ("vector", "vectorudt")


def _holds_arrays(column: Any) -> bool:
    return bool(pa.types.is_list(column.type) or pa.types.is_large_list(column.type))


def _matrix(column: Any, name: str) -> NDArray[np.float64]:
    array = column.combine_chunks()
    lengths = np.asarray(pc.list_value_length(array).fill_null(-1))
    other = np.flatnonzero((lengths != lengths[:1]) | (lengths < 0))
    if other.size:
        row = int(other[0])
        has = "nothing" if lengths[row] < 0 else f"{lengths[row]} numbers, the first {lengths[0]}"
        raise ValueError(f"row {row} of column {name!r} has {has}; arrays must have the same length.")
    return _floats(pc.list_flatten(array)).reshape(len(array), -1)


def _floats(column: Any) -> NDArray[np.float64]:
    try:
        values = column.cast(pa.float64(), safe=False)
    except pa.ArrowNotImplementedError:
        raise TypeError(f"a column of type {column.type} does not hold numbers.") from None
    return np.array(values.to_numpy(zero_copy_only=False), np.float64)


def _labels(column: Any, name: str) -> NDArray[Any]:
    if column.null_count:
        row = int(np.argmax(np.asarray(column.is_null())))
        raise ValueError(f"column {name!r} has no label in row {row}: every row needs one.")
    if pa.types.is_decimal(column.type):
        return _floats(column)
    return np.asarray(column.to_numpy(zero_copy_only=False))
