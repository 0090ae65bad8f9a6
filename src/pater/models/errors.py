"""What can be wrong with the rows, labels and settings that a model is given."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..kernels.doors import Rows
from ..kernels.errors import SentWhole
from .matrices import STATE_NOT_FINITE, row_is_bad
from .spec import Specs


class BadRowError(SentWhole, ValueError):
    """A row that no pass accepts, by its number."""

    def __init__(self, rows: Rows, row: int) -> None:
        super().__init__(f"row {row} holds a NaN, an infinity or a number that is too large")
        self.rows, self.row = rows, row


class NotFiniteError(SentWhole, ValueError):
    """The weights are no longer finite, noticed at a row that is itself valid."""

    def __init__(self, row: int) -> None:
        super().__init__(STATE_NOT_FINITE.format(row=row))
        self.row = row


class OtherModelsError(SentWhole, ValueError):
    """Settings with which learning cannot continue."""

    def __init__(self, names: list[str], todo: str = "fit again without warm_start") -> None:
        super().__init__(
            f"the parameters do not match the models learned so far: {' and '.join(names)} cannot change "
            f"between calls. Set the parameters back, or {todo}."
        )
        self.names = names


def unlike(before: Specs, after: Specs) -> list[str]:
    """The parameters that differ so much that learning cannot continue."""
    if len(before) != len(after):
        return ["variants", "weights"]
    names = []
    if len(before) > 1 and any((a.rule, a.alphas) != (b.rule, b.alphas) for a, b in zip(before, after, strict=True)):
        names = ["variants", "weights"]
    for a, b in zip(before, after, strict=True):
        names += ["covariance"] * (a.family != b.family)
        names += ["form"] * (a.form != b.form)
        names += ["fit_intercept"] * (a.intercept != b.intercept)
        names += ["probability"] * (b.calibrate and not a.calibrate)
    return list(dict.fromkeys(names))


class TwoClassesError(SentWhole, ValueError):
    """A third class for a learner that decides at an operating point."""

    def __init__(self, n_classes: int) -> None:
        super().__init__(
            f"an operating point is for two classes, but there are {n_classes}. Leave it out, or train one learner "
            "for each class against the rest."
        )


class UnknownLabelError(SentWhole, ValueError):
    """A label outside the classes that were fixed."""

    def __init__(self, label: Any, row: int, classes: NDArray[Any]) -> None:
        super().__init__(
            f"y contains the label {label!r} in row {row}, which is not among the classes that were fixed: "
            f"{classes.tolist()}."
        )


def stopped_at(rows: Rows, row: int) -> BadRowError | NotFiniteError:
    """The error for a row at which a pass has stopped, which may itself be valid."""
    return BadRowError(rows, row) if row_is_bad(rows, row) else NotFiniteError(row)
