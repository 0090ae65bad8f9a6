"""Rows that an encoder holds back before a pipeline learns from them: whether they can be learned, and what is said
meanwhile.

Knows `steps`, labels, and what a learner asks of them. Whoever holds rows back has to find out at once whether the
learner would take their labels: once they are held, nobody can take them back.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..models.errors import UnknownLabelError
from ..models.labels import as_labels, encode
from ..models.operating_points import check_classes
from ..models.spec import Specs
from .base import LinearClassifier, wanted_classes
from .growth import tell_levels
from .online import OnlineClassifier
from .steps import Steps, fingerprint, learn
from .ter import TERClassifier


@dataclass(frozen=True)
class WarmUp:
    """What is known of the labels of rows that are held back.

    classes
        Those that they have, or that were named, as a learner that had met them would know them.
    fixed
        Whether there can be no others.
    named
        What a call has named as all classes, if one has.
    """

    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    fixed: bool = False
    named: Any = None
    _said: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    def with_labels(self, learner: Any, labels: NDArray[Any], classes: Any) -> tuple[Self, NDArray[Any]]:
        """What is known with some more labels, and those, written as the first of their classes was.

        An error if the learner would not take them: its own.
        """
        specs, known, fixed = _specs(learner), self.classes, self.fixed
        model = vars(learner).get("_model") if isinstance(learner, LinearClassifier) else None
        if model is not None and not known.size:
            known, fixed = model.classes, model.fixed
        if classes is not None:
            known, fixed = self._wanted(learner, classes, replace(self, classes=known, fixed=fixed)), True
        known = known if known.size else labels[:0]
        encoded = encode(labels, known)
        if encoded.new.size and fixed:
            raise UnknownLabelError(encoded.new.tolist()[0], int(encoded.first_rows[0]), known)
        known = np.concatenate([known, encoded.new]) if encoded.new.size else known
        if specs:
            check_classes(specs, known.size)
        named = self.named if classes is None else classes
        return replace(self, classes=np.sort(known), fixed=fixed, named=named), known[encoded.codes]

    @staticmethod
    def _wanted(learner: Any, classes: Any, known: WarmUp) -> NDArray[Any]:
        if not isinstance(learner, LinearClassifier):
            return np.unique(as_labels(classes, "classes"))
        wanted = wanted_classes(classes, known if known.classes.size else None)
        if "_model" not in vars(learner):
            learner._check_weighted_classes(wanted)
        return wanted

    def said(self, steps: Steps) -> Steps:
        """The steps of a stream that ends here: copies that have learned from the rows that are held back.

        They are kept for as long as the steps and their parameters are the same.
        """
        of = fingerprint(steps)
        if not self._said or self._said[0][0] != of:
            rest = deepcopy(steps[1:])
            for rows, labels, weights in steps[0][1].held_back():
                tell_levels([steps[0], *rest], rows)
                learn(rest, rows, labels, self.named, weights_of(weights))
            self._said[:] = [(of, [steps[0], *rest])]
        found: Steps = self._said[0][1]
        return found

    def __getstate__(self) -> dict[str, Any]:
        """All but what can be had again by asking."""
        return {**vars(self), "_said": []}


def is_warming_up(encoder: Any) -> bool:
    """Whether an encoder holds back the rows that come next."""
    stream = vars(encoder).get("_stream")
    return stream is None or stream.encoding is None


def weights_of(weights: NDArray[np.float64] | None) -> dict[str, Any]:
    """What a learner is told of importances, which is nothing if there are none but 1."""
    return {} if weights is None or (weights == 1.0).all() else {"sample_weight": weights}


def _specs(learner: Any) -> Specs:
    """What the parameters of a learner ask for, or its error if that cannot be; of others than ours nothing."""
    if isinstance(learner, OnlineClassifier):
        return learner._checked_specs()
    return learner._asked().specs if isinstance(learner, TERClassifier) else ()
