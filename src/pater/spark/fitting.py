"""Fit an estimator to the partitions of a DataFrame: each by itself where it is, and merged on the driver in order.

Knows tasks and how Spark runs them. Counts and models come to the driver; rows do not.
"""

from __future__ import annotations

from typing import Any

from ..estimators.blocks import LOOKED_AT, OtherVersionError, Plan, final, merged, model_of, shares, spread
from .columns import Columns
from .tasks import SCHEMA, Begin, Count, First, Learn, Task, sent


def fitted(plan: Plan, dataframe: Any, columns: Columns) -> Any:
    """The estimator that has learned from all partitions."""
    begun: bytes | None = None
    if columns.is_table:
        begun, is_all = _begun(plan, dataframe, columns)
        if is_all and begun is not None:
            return final(plan, model_of(begun), None)
    model: Any = None
    lines = [] if columns.is_table and begun is None else _run(dataframe, Learn(plan, columns, begun))
    for line in lines:
        if line.content is not None:
            block = model_of(bytes(line.content))
            model = block if model is None else _merged(plan, line.number, model, block)
    if model is None:
        raise ValueError("dataframe has no rows: there is nothing to learn from.")
    return final(plan, model, begun)


def _begun(plan: Plan, dataframe: Any, columns: Columns) -> tuple[bytes | None, bool]:
    """The model that partitions of a table start from; or, with few rows, the model of all of them, and True."""
    counted = {line.number: line.n_rows for line in _run(dataframe, Count(plan.beginning))}
    numbers, n_wanted = sorted(counted), LOOKED_AT
    is_all = sum(counted.values()) < plan.beginning
    rows = dict[int, int]()
    while not is_all and sum(rows.values()) < plan.beginning:
        rows = {numbers[k]: counted[numbers[k]] for k in spread(len(numbers), n_wanted)}
        n_wanted *= 2
    first = First(None if is_all else shares(rows, plan.beginning))
    lines = _run(_mapped(dataframe, first).repartition(1), Begin(plan, columns, is_all=is_all))
    return next((bytes(line.content) for line in lines if line.content is not None), None), is_all


def _merged(plan: Plan, number: int, before: Any, block: Any) -> Any:
    try:
        return merged(plan, number, before, block)
    except ValueError as error:
        raise ValueError(str(error)) from None


def _mapped(dataframe: Any, task: Task) -> Any:
    return dataframe.mapInArrow(sent(task), SCHEMA)


def _run(dataframe: Any, task: Task) -> list[Any]:
    """The results of a task for all partitions, in order; raises the first error."""
    lines = sorted(_mapped(dataframe, task).collect(), key=lambda line: int(line.number))
    for line in lines:
        if line.other:
            raise OtherVersionError(line.other)
    for line in lines:
        if line.error:
            raise ValueError(line.error)
    return lines
