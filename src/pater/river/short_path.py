"""A short path for learning from and predicting a single dict: the kernels get the same memory each time.

Knows `model`, `pool`, `run` and `predict`. What the estimators check in each call is known here: the names of a row
have columns in the model, in ascending order. A dict is written into the memory that the kernels read, by `struct`,
which takes numbers only; the kernels check that they are finite. Any other row goes through `partial_fit`.

For ten features, in microseconds: comparing the names of a dict takes 0.15, writing its numbers 0.35, learning by
PATER-I 0.7, predicting 0.3. Finding the compiled form of the pass each time would take 1.3 more; `partial_fit` takes
23. A pool takes about 3 for each candidate that learns.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable
from operator import itemgetter
from struct import Struct
from struct import error as StructError  # noqa: N812
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.run import Rows, arrange_for, row_pass
from ..kernels.state import State
from ..models.matrices import first_bad_row
from ..models.model import Model
from ..models.pool import Pool
from ..models.pool_pass import learn_row
from ..models.predict import RowMargins
from ..models.row_pass import kind_of
from ..models.row_weights import are_weights
from .rows import Columns

LEAST_ROOM = 16  # least size of the memory for the numbers of a row
MOST_LAYOUTS = 64  # most layouts kept


class Detour(Exception):  # noqa: N818
    """A row that the short path does not take."""


DETOURS = (Detour, LookupError, TypeError, ValueError, ArithmeticError, StructError)


class Layout(NamedTuple):
    """How dicts with the same names in the same order are written to memory."""

    columns: list[int]  # ascending
    take: Callable[[Any], Any]  # returns the numbers of a dict in the order of the columns
    write: Callable[..., None]
    complete: bool  # whether every name has a column


class ShortPath:
    """The short path; valid for as long as the model has the same classes, settings and room for columns."""

    def __init__(self, model: Any, columns: Columns, room: int, *, average: Callable[[], bool], fitted: bool) -> None:
        room = max(LEAST_ROOM, 1 << max(0, room - 1).bit_length())
        self._indptr, self._indices = np.zeros(2, np.uint32), np.zeros(room, np.uint32)
        self._data, self._weight, code = np.zeros(room), np.ones(1), np.zeros(1, np.int64)
        self._columns, self._most_columns, self._fitted = columns, model.n_features, fitted
        self._average = average
        self._pass: Callable[[], int] = self._passing(model, code)  # also arranges the state
        self._listen_to(model.state)
        self._code: Any = code.data
        self.classes: list[Any] = model.classes.tolist()
        self._codes = {label: code for code, label in enumerate(self.classes)}
        self._answers = (self.classes * 2)[:2]
        self._w = 1.0
        self._layouts: dict[tuple[Hashable, ...], Layout] = {}
        self._turn_to(())

    def __deepcopy__(self, memo: Any) -> None:
        """Return None, so that a copy of a learner finds a path of its own."""

    def __reduce__(self) -> Any:
        return type(None), ()

    def _passing(self, model: Any, code: NDArray[np.int64]) -> Callable[[], int]:
        """A function that learns the row in memory; it returns −1, or 0 if the row is invalid."""
        return _ready(*row_pass(self._rows, code, model.state, model.settings(), self._weight))

    def _listen_to(self, state: State) -> None:
        """Prepare to predict with this state."""
        said = RowMargins.of(self._rows, state, average=self._average())
        self._ask, self._tell = _ready(said.ask, said.to_ask), _ready(said.tell, said.to_tell)
        self._judge, self._margins, self._p = _ready(said.judge, said.to_judge), said.margins, said.p
        self._margin: Any = said.margins[0].data

    @property
    def _rows(self) -> Rows:
        return self._indptr, self._indices, self._data

    def learn(self, x: Any, y: Any, w: float) -> bool:
        """Learn a row, and return whether it was learned; if not, nothing has changed."""
        if tuple(x) != self._key:
            self._turn_to(tuple(x))
        if not self._complete:
            return self._learn_with_news(x, y, w)
        self._write(self._data, 0, *self._take(x))
        self._code[0] = self._codes[y]
        if w != self._w:
            self._weigh(w)
        return self._pass() < 0

    def predict(self, x: Any) -> Any:
        """The label of a row, where there are at most two."""
        if tuple(x) != self._key:
            self._turn_to(tuple(x))
        self._write(self._data, 0, *self._take(x))
        self._ask()
        margin = self._margin[0]
        if -math.inf < margin < math.inf:
            return self._answers[margin >= 0.0]
        raise Detour

    def margins(self, x: Any) -> NDArray[np.float64]:
        """The margins of a row as they are told, (1, models)."""
        if tuple(x) != self._key:
            self._turn_to(tuple(x))
        self._write(self._data, 0, *self._take(x))
        self._ask()
        if math.isfinite(sum(self._margin)):
            self._tell()
            if math.isfinite(sum(self._margin)):
                return self._margins
        raise Detour

    def probabilities(self, x: Any) -> tuple[float, float]:
        """The probabilities of the two classes."""
        self.margins(x)
        if self._fitted:
            self._judge()
            p = self._p.item()
            return 1.0 - p, p
        margin = self._margin[0]
        less = float(np.exp(-abs(margin)))  # the same bits as NumPy gives for many rows
        likely, other = 1.0 / (1.0 + less), less / (1.0 + less)
        return (other, likely) if margin >= 0.0 else (likely, other)

    def _weigh(self, w: float) -> None:
        weight = np.array([w], np.float64)
        if not are_weights(weight)[0]:
            raise Detour
        self._weight[0] = self._w = float(w)

    def _turn_to(self, key: tuple[Hashable, ...]) -> None:
        """Prepare for dicts with these names in this order."""
        layout = self._layouts.get(key) or self._layout(key)
        size = len(layout.columns)
        if size > self._indices.size:
            raise Detour
        self._key: Any = None  # in case of an interruption here
        _writer(f"{size}I")(self._indices, 0, *layout.columns)
        self._indptr[1] = size
        self._take, self._write, self._complete = layout.take, layout.write, layout.complete
        self._key = key

    def _layout(self, key: tuple[Hashable, ...]) -> Layout:
        known = self._columns
        names = [name for name in key if name in known]
        names.sort(key=known.__getitem__)
        complete, take = len(names) == len(key), dict.values  # type: bool, Any
        if tuple(names) != key:
            take = itemgetter(*names) if len(names) > 1 else lambda x: [x[name] for name in names]
        layout = Layout([known[name] for name in names], take, _writer(f"{len(names)}d"), complete)
        if complete:
            if len(self._layouts) == MOST_LAYOUTS:
                self._layouts.clear()
            self._layouts[key] = layout
        return layout

    def _learn_with_news(self, x: Any, y: Any, w: float) -> bool:
        """Learn a row with names that have no column yet, if the model has room for them."""
        self._key = None
        try:
            with self._columns.with_more(x):
                if len(self._columns) > self._most_columns or not self.learn(x, y, w):
                    raise Detour
        except BaseException:
            self._key = None
            self._layouts.clear()
            raise
        return True


@functools.lru_cache(maxsize=1024)
def _writer(form: str) -> Callable[..., None]:
    """A function that writes numbers into memory in this `struct` format."""
    return Struct(form).pack_into


class PoolPath(ShortPath):
    """The short path of a pool: its leader predicts, and the race may decide on another leader."""

    def _passing(self, model: Any, code: NDArray[np.int64]) -> Callable[[], int]:
        rows, weight, kind = self._rows, self._weight, kind_of(self._rows)
        assert kind is not None
        self._pool, self._leader = model, model.leader
        for each in model.models.values():
            arrange_for(rows, each.state, each.settings())

        def learn() -> int:
            if first_bad_row(rows) >= 0:
                return 0
            learn_row(model, kind, rows, code, weight, None)
            return -1

        return learn

    def _follow(self) -> None:
        """Switch to the current leader."""
        if self._pool.leader != self._leader:
            self._leader = self._pool.leader
            self._listen_to(self._pool.state)

    def predict(self, x: Any) -> Any:
        """The label of a row, where there are at most two."""
        self._follow()
        return super().predict(x)

    def margins(self, x: Any) -> NDArray[np.float64]:
        """The margins of a row as they are told, (1, models)."""
        self._follow()
        return super().margins(x)


def _ready(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """A call with its arguments bound. It is a closure, which River ignores when it adds up the memory of a model."""
    return lambda: function(*arguments)


def short_path(estimator: Any, columns: Columns, room: int) -> ShortPath | None:
    """The short path of a fitted estimator, or None if there is none for its model."""
    model: Model | Pool | None = vars(estimator).get("_model")
    if model is None or model.seen is not None or not model.classes.size:
        return None
    if isinstance(model, Model) and len(model.specs) > 1:
        return None
    kind = PoolPath if isinstance(model, Pool) else ShortPath
    average = _ready(estimator._average_of, (model,))
    return kind(model, columns, room, average=average, fitted=bool(estimator.probability))
