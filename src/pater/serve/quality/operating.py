"""The threshold by which the service decides between two classes, independently of the model's own.

Knows `quality`, from whose margins it finds the threshold for a rate or a cost, and `models/setting_kinds.py`, which
defines operating points. The model is not touched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...models.operating_points import Point
from ...models.setting_kinds import OperatingPoint, SettingError
from ..errors import Refusal
from .quality import Quality

WANTED = (
    'an operating point is {"max_fpr": rate}, {"max_fnr": rate}, {"cost": {label: number, label: number}} with what it '
    'costs to get a row of each class wrong, {"threshold": margin}, or {} for the model\'s own threshold'
)
KINDS = ("max_fpr", "max_fnr", "cost", "threshold")
MOST_POINTS = 120  # most thresholds reported
LONGEST = 28  # most characters of a label that a note repeats


@dataclass(frozen=True)
class Operating:
    """The operating point in force; with neither `point` nor `fixed`, the model's own threshold applies."""

    wish: dict[str, Any] = field(default_factory=dict)  # as it was asked for
    point: Point | None = None  # a rate or a cost
    fixed: float | None = None  # a threshold that was set as a number

    @classmethod
    def from_json(cls, wish: Any, classes: Sequence[Any] = ()) -> Operating:
        """The operating point of a request, for a model of these classes; a Refusal if it is not valid."""
        if not isinstance(wish, dict) or len(wish) > 1 or not set(wish) <= set(KINDS):
            raise Refusal(422, f"{WANTED}; this is something else.")
        if not wish:
            return cls()
        if len(classes) > 2:
            raise Refusal(422, f"an operating point decides between two classes, and the model has {len(classes)}.")
        ((kind, told),) = wish.items()
        if kind == "threshold":
            return cls(dict(wish), fixed=_margin(told))
        try:
            point = OperatingPoint().taken({kind: _costs(told, classes) if kind == "cost" else told})
        except SettingError as error:
            raise Refusal(422, f"the operating point must be {str(error)[:300]}.") from None
        return cls(dict(wish), point=point)

    @classmethod
    def kept(cls, wish: dict[str, Any], classes: Sequence[Any]) -> Operating:
        """An operating point accepted before; if it no longer fits the classes, the model's own threshold applies."""
        try:
            return cls.from_json(wish, classes)
        except Refusal:
            return cls(dict(wish))

    def to_json(self) -> dict[str, Any]:
        """The operating point as it was asked for; `from_json` reads it."""
        return self.wish

    def threshold(self, quality: Quality) -> float | None:
        """The least margin at which the second class is predicted; None where the model's own threshold applies."""
        if len(quality.classes) > 2:
            return None
        return self.fixed if self.point is None else quality.margins.threshold(self.point)

    def told(self, quality: Quality, own: float | None) -> dict[str, Any]:
        """The operating point, its threshold, where that comes from, and the effect of moving it.

        `own` is the threshold of the model; it is None if the model does not have two classes, and then there is no
        threshold at all.
        """
        threshold = None if own is None else self.threshold(quality)
        used = own if threshold is None else threshold
        fpr, fnr = (None, None) if used is None else quality.margins.rates(used)
        return {
            "wish": self.wish,
            "threshold": used,
            "own_threshold": own,
            "in_force": threshold is not None,
            "note": self._note(quality, threshold, own),
            "fpr": fpr,
            "fnr": fnr,
            **moving(quality, has_two=own is not None),
        }

    def _note(self, quality: Quality, threshold: float | None, own: float | None) -> str:
        names = [_short(label) for label in quality.classes]
        seen = list(zip(names, quality.margins.seen, strict=False))
        if own is None:
            return "An operating point decides between two classes. The model does not have two, so it decides itself."
        if not self.wish:
            return "The model's own threshold decides."
        if self.fixed is not None:
            return "The threshold is the one that was set."
        if threshold is None:
            missing = [label for label, n in seen if not n] or ["both classes"]
            return (
                "The model's own threshold decides until labels of both classes have arrived for predictions; "
                f"missing: {', '.join(missing)}."
            )
        counted = ", ".join(f"{n:,} of {label}" for label, n in seen)
        return f"The threshold follows the margins of answers whose labels have arrived: {counted}."


def moving(quality: Quality, most: int = MOST_POINTS, *, has_two: bool = True) -> dict[str, Any]:
    """False alarms and misses at other thresholds, as rates and per thousand rows of the current stream.

    There are none unless `has_two`, that is, unless the model has two classes.
    """
    negatives, positives = quality.margins.shares
    return {
        "classes": quality.classes if has_two and len(quality.classes) == 2 else [],
        "seen": list(quality.margins.seen),
        "shares": [negatives, positives],
        "moving": [
            {
                "threshold": threshold,
                "fpr": fpr,
                "fnr": fnr,
                "false_alarms": 1000.0 * negatives * fpr,
                "misses": 1000.0 * positives * fnr,
            }
            for threshold, fpr, fnr in (quality.margins.moving(most) if has_two else ())
        ],
    }


def _short(label: Any) -> str:
    text = str(label)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _margin(told: Any) -> float:
    if isinstance(told, bool) or not isinstance(told, int | float) or not math.isfinite(told):
        raise Refusal(422, f"{WANTED}; the threshold of this one is not a finite number.")
    return float(told)


def _costs(told: Any, classes: Sequence[Any]) -> dict[str, Any]:
    """The cost of each kind of mistake: getting a row of the first class wrong is a false positive."""
    if not isinstance(told, dict) or any(isinstance(cost, bool) for cost in told.values()):
        raise Refusal(422, f"{WANTED}; the cost of this one is something else.")
    if set(told) == {"false_positive", "false_negative"}:
        return told
    if len(classes) < 2:
        raise Refusal(409, "the model does not know two classes yet, so costs cannot be given by class.")
    names = [str(label) for label in classes]
    if set(told) != set(names):
        raise Refusal(422, f"{WANTED}; the classes are {names[0]} and {names[1]}.")
    return {"false_positive": told[names[0]], "false_negative": told[names[1]]}
