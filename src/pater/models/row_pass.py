"""One row through a model: the pass, and those of its arguments that stay the same, kept ready from row to row.

Knows `run` and `doors`. Checking that a batch fits a state, choosing the pass and finding its compiled form take five
times as long as the pass of one short row. All of it depends on the state and on the types of the row, so it is kept
for as long as those are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.doors import check_pass, checked
from ..kernels.run import IN_ORDER, Rows, learn, row_pass

if TYPE_CHECKING:
    from .model import Model

Kind = tuple[np.dtype[Any], ...]
Margins = NDArray[np.float64] | None


def kind_of(rows: Rows) -> Kind | None:
    """The types of sound rows; None for arrays for which no pass is kept ready."""
    for array in rows:
        if not array.flags.carray:
            return None
    return tuple([array.dtype for array in rows])


class RowPass:
    """The pass of one checked row of some kind through a model, without further checks: `learn`."""

    def __init__(
        self,
        model: Model,
        kind: Kind,
        rows: Rows,
        codes: NDArray[np.int64],
        weights: NDArray[np.float64],
        margins: Margins,
    ) -> None:
        state = model.state
        rows = rows if len(rows) == 1 else checked(rows, state.n_features)
        self.learn = _ready(*row_pass(rows, codes, state, model.settings(), weights, margins))  # arranges the state
        self._kind, self._tells, self._specs, self._classes = kind, margins is not None, model.specs, model.classes
        self._vectors, self._scalars, self._second = state.vectors, state.scalars, state.second

    def fits(self, model: Model, kind: Kind, margins: Margins) -> bool:
        """Whether the model is unchanged, and the row of the same kind."""
        state = model.state
        return (
            self._vectors is state.vectors
            and self._scalars is state.scalars
            and self._second is state.second
            and self._specs is model.specs
            and self._classes is model.classes
            and self._kind == kind
            and self._tells == (margins is not None)
        )


def _ready(run: Callable[..., int], arguments: tuple[Any, ...]) -> Callable[..., int]:
    """The pass as a function of a row. Measuring the memory of a model skips it because it is a closure."""
    home, _, order, _, _, nothing, *more = arguments

    def learn(rows: Rows, codes: NDArray[np.int64], weights: NDArray[np.float64], margins: Margins) -> int:
        return run(home, rows, order, codes, weights, nothing if margins is None else margins, *more)

    return learn


def pass_row(
    model: Model,
    kind: Kind,
    rows: Rows,
    codes: NDArray[np.int64],
    weights: NDArray[np.float64],
    margins: Margins = None,
) -> int:
    """Pass a checked row through a model of one spec; return 0 if the row is bad, else −1."""
    ready = model.ready
    if ready is None or not ready.fits(model, kind, margins):
        ready = model.ready = RowPass(model, kind, rows, codes, weights, margins)
    model.stored_choice = model.taken_out = None
    return ready.learn(rows, codes, weights, margins)


def learn_row(
    model: Model,
    rows: Rows,
    codes: NDArray[np.int64],
    settings: NDArray[np.void],
    *,
    weights: NDArray[np.float64],
    margins: Margins,
) -> int:
    """As `kernels.run.learn`, for one row and a model of one spec."""
    rows = check_pass(rows, codes, model.state, settings, weights, IN_ORDER, margins, (), None)
    kind = kind_of(rows)
    if kind is None:
        return learn(rows, codes, model.state, settings, weights=weights, margins=margins)
    return pass_row(model, kind, rows, codes, weights, margins)
