"""Tasks of an executor for a partition: count its rows, take its first rows, start a model, learn from it.

Knows estimators, Arrow tables and bytes; of Spark, only the number of a partition. Each task turns a partition into one
line, with models and rows as bytes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

import pater

from ..estimators import blocks
from ..estimators.blocks import BlockError, Plan
from ..estimators.shards import Batch
from .columns import Columns

SCHEMA = "number int, n_rows long, content binary, error string, other string"
Task = Callable[[int, Iterator[Any]], dict[str, Any]]


def loader(thing: Any) -> Callable[[], Any]:
    """Wrap an object of pater in a function that Spark can send; it returns the object, or what is wrong as text.

    It is sent by value and refers to nothing of pater, so that an executor without pater, or with another version, can
    answer.
    """
    content, wanted = pickle.dumps(thing), pater.__version__

    def load() -> Any:
        import pickle
        import platform

        try:
            found = __import__("pater").__version__
        except ImportError:
            found = None
        if found == wanted:
            return pickle.loads(content)
        has = "no pater" if found is None else f"pater {found}"
        return f"the executor on {platform.node()} has {has}; the driver has pater {wanted}. Install the same on both."

    return load


def sent(task: Task) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A function for `mapInArrow` that turns each partition into one line by a task."""
    load = loader(task)

    def run(batches: Any) -> Any:  # sent by value
        import pyarrow
        from pyspark import TaskContext

        number, task = TaskContext.get().partitionId(), load()
        line = {"number": number, **({"other": task} if isinstance(task, str) else task(number, batches))}
        kinds = [pyarrow.int32(), pyarrow.int64(), pyarrow.binary(), pyarrow.string(), pyarrow.string()]
        names = ["number", "n_rows", "content", "error", "other"]
        values = [pyarrow.array([line.get(name)], kind) for name, kind in zip(names, kinds, strict=True)]
        yield pyarrow.record_batch(values, names)

    return run


class Count:
    """Counts the rows of a partition, up to `most`."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __call__(self, number: int, batches: Iterator[Any]) -> dict[str, Any]:
        return {"n_rows": min(self.most, sum(batch.num_rows for batch in _until(batches, self.most)))}


class First:
    """The first rows of some partitions, as bytes; if `shares` is None, all rows of all partitions."""

    def __init__(self, shares: dict[int, int] | None) -> None:
        self.shares = shares

    def __call__(self, number: int, batches: Iterator[Any]) -> dict[str, Any]:
        if self.shares is not None:
            n = self.shares.get(number, 0)
            table = _table(_until(batches, n)) if n else None
            table = None if table is None else table.slice(0, n)
        else:
            table = _table(batches)
        if table is None:
            return {}
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        return {"n_rows": table.num_rows, "content": sink.getvalue().to_pybytes()}


class Begin:
    """Learns the rows that `First` has collected: the model that all partitions start from, or that of all rows."""

    def __init__(self, plan: Plan, columns: Columns, *, is_all: bool) -> None:
        self.plan, self.columns, self.is_all = plan, columns, is_all

    def __call__(self, number: int, batches: Iterator[Any]) -> dict[str, Any]:
        lines: list[dict[str, Any]] = [line for batch in batches for line in batch.to_pylist()]
        lines.sort(key=lambda line: int(line["number"]))
        for line in lines:
            if line["error"] or line["other"]:
                return line
        try:
            some = [(line["number"], self._batch(line)) for line in lines if line["content"]]
            if not some:
                return {}
            if self.is_all:
                return {"content": blocks.as_one(self.plan, some)}
            return {"content": blocks.begun(self.plan, [batch for _, batch in some])}
        except BlockError as error:
            return {"error": str(error)}

    def _batch(self, line: dict[str, Any]) -> Batch:
        with self.plan.said_of(line["number"]):
            return self.columns.batch(pa.ipc.open_stream(line["content"]).read_all())


class Learn:
    """The model of a partition, as bytes."""

    def __init__(self, plan: Plan, columns: Columns, begun: bytes | None) -> None:
        self.plan, self.columns, self.begun = plan, columns, begun

    def __call__(self, number: int, batches: Iterator[Any]) -> dict[str, Any]:
        table = _table(batches)
        if table is None:
            return {}
        try:
            with self.plan.said_of(number):
                return {"content": blocks.learned(self.plan, self.begun, self.columns.batch(table))}
        except BlockError as error:
            return {"error": str(error)}


def _table(batches: Iterator[Any]) -> pa.Table | None:
    """The rows of a partition in one piece, so that it does not matter how Spark cuts them; None if there are none."""
    some = [batch for batch in batches if batch.num_rows]
    return pa.Table.from_batches(some).combine_chunks() if some else None


def _until(batches: Iterator[Any], n: int) -> Iterator[Any]:
    """Batches until they have at least `n` rows."""
    found = 0
    for batch in batches:
        yield batch
        found += batch.num_rows
        if found >= n:
            return
