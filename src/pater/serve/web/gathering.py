"""Make single-row predictions that are asked for at the same moment together.

Predicting a row spends most of its time before the first number is touched, and that time is the same for many rows.
The first row in a round of the event loop is predicted at once, so that a lone caller need not wait for others. The
answer for a row does not depend on the rows predicted with it, except for the last digit of a margin where columns go
to the model unencoded: BLAS rounds differently for different numbers of rows. If one row is wrong, each is predicted
alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

MOST = 256  # rows at a time
Row = dict[str, Any]
Waiting = tuple[Row, "asyncio.Future[dict[str, Any]]"]


class Predicting(Protocol):
    """The part of an engine that is needed here."""

    @property
    def is_settled(self) -> bool:
        """Whether the columns of rows are known; if not, the first request settles them, and must come alone."""

    async def predict(self, rows: Any, *, explain: bool = False) -> dict[str, Any]: ...


class Gathering:
    """Gathers the rows that wait in one round of the event loop."""

    def __init__(self, engine: Predicting, rows_of: Callable[[Any], Any]) -> None:
        self._engine, self._rows_of = engine, rows_of
        self._groups: tuple[list[Waiting], list[Waiting]] = ([], [])  # without ids, and with, which wait for the disk
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_begun = False  # whether this round has had its first row

    async def predict(self, body: Any) -> dict[str, Any]:
        """The answer to a request."""
        row = _only_row(body)
        if row is None or not self._engine.is_settled:
            return await self._alone(body)
        loop = asyncio.get_running_loop()
        if not self._has_begun:
            self._has_begun = True
            loop.call_soon(self._end_round)
            return await self._alone({"rows": [row]})
        future: asyncio.Future[dict[str, Any]] = loop.create_future()
        group = self._groups["id" in row]
        group.append((row, future))
        if len(group) == 1:
            loop.call_soon(self._begin, group)
        return await future

    def _end_round(self) -> None:
        self._has_begun = False

    async def _alone(self, body: Any) -> dict[str, Any]:
        return await self._engine.predict(self._rows_of(body))

    def _begin(self, group: list[Waiting]) -> None:
        for start in range(0, len(group), MOST):
            task = asyncio.create_task(self._together(group[start : start + MOST]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        group.clear()

    async def _together(self, group: list[Waiting]) -> None:
        if len(group) > 1:
            try:
                answer = await self._alone({"rows": [row for row, _ in group]})
            except Exception:  # due to one row or to all: below, each gets its own error
                pass
            else:
                for (_, future), said in zip(group, answer["predictions"], strict=True):
                    if not future.done():
                        future.set_result({**answer, "predictions": [said]})
                return
        for row, future in group:
            try:
                answer = await self._alone({"rows": [row]})
            except Exception as error:
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(answer)


def _only_row(body: Any) -> Row | None:
    """The row of a request that has exactly one; None for any other body."""
    if type(body) is not dict:
        return None
    if "rows" not in body:
        return body
    rows = body["rows"]
    return rows[0] if len(body) == 1 and type(rows) is list and len(rows) == 1 and type(rows[0]) is dict else None
