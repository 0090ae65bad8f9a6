"""Rows that an encoder holds back before a pipeline learns from them: whether they can be learned, and predictions
meanwhile.

Knows `steps`, labels, and what a learner requires of them. Before rows are held back, it must be known whether the
learner will accept their labels: once held, they cannot be given back.
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
    """The labels of rows that are held back.

    classes
        Those that occur or were named, as a learner that had seen them would know them.
    fixed
        Whether there can be no others.
    named
        The classes that a call has named as all there are, if one has.
    """

    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    fixed: bool = False
    named: Any = None
    _said: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    def with_labels(self, learner: Any, labels: NDArray[Any], classes: Any) -> tuple[Self, NDArray[Any]]:
        """A copy that knows some more labels; and these labels, spelled as the first of their class was.

        Raises the learner's own error if it would not accept them.
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
        """The steps as if the stream ended here: copies that have learned from the rows held back.

        They are kept while the steps and their parameters stay the same.
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
        """Everything except what can be computed again."""
        return {**vars(self), "_said": []}


def is_warming_up(encoder: Any) -> bool:
    """Whether an encoder will hold back the next rows."""
    stream = vars(encoder).get("_stream")
    return stream is None or stream.encoding is None


def weights_of(weights: NDArray[np.float64] | None) -> dict[str, Any]:
    """The importances as an argument for a learner; none if all are 1."""
    return {} if weights is None or (weights == 1.0).all() else {"sample_weight": weights}


def _specs(learner: Any) -> Specs:
    """The specs from a learner's parameters, or its error if they are not valid; none for learners not of pater."""
    if isinstance(learner, OnlineClassifier):
        return learner._checked_specs()
    return learner._asked().specs if isinstance(learner, TERClassifier) else ()
