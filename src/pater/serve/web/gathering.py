"""Predictions of one row each that are asked for at the same moment, made together.

To predict a row takes most of its time before the first number is touched, and that is the same for many rows. The
first of a round of the event loop is predicted at once, so that who asks alone need not wait for others. What is
said of a row does not depend on those beside it, but for the last digit of a margin where columns go to the model as
they are, which BLAS rounds by the number of rows. If one of them is wrong, each is seen to alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

MOST = 256  # rows at a time
Row = dict[str, Any]
Waiting = tuple[Row, "asyncio.Future[dict[str, Any]]"]


class Predicting(Protocol):
    """Of an engine, what is needed here."""

    @property
    def is_settled(self) -> bool:
        """Whether it is known which columns rows have; else the first request says so, and it alone."""

    async def predict(self, rows: Any, *, explain: bool = False) -> dict[str, Any]: ...


class Gathering:
    """Gathers rows that are waiting when the event loop comes round."""

    def __init__(self, engine: Predicting, rows_of: Callable[[Any], Any]) -> None:
        self._engine, self._rows_of = engine, rows_of
        self._groups: tuple[list[Waiting], list[Waiting]] = ([], [])  # without ids, and with: those wait for the disk
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_begun = False  # with the first row of this round

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
            except Exception:  # of one of them, or of all: each will be told its own
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
    """The row of a request that has one; None if it has another number of them, or is none."""
    if type(body) is not dict:
        return None
    if "rows" not in body:
        return body
    rows = body["rows"]
    return rows[0] if len(body) == 1 and type(rows) is list and len(rows) == 1 and type(rows[0]) is dict else None
