"""How good a learner was along a stream: rates by windows of a number of rows.

Knows `prediction_quality`. With more than two classes, FPR and FNR are means over the classes of a window, each against
the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..models.labels import encode
from .prediction_quality import Said, mean_recall, probability_losses, rates, roc_area


class Windows:
    """Watches predictions, and reports how good they were after every window."""

    def __init__(self, size: int, tell: Callable[[dict[str, Any]], None] = lambda window: None) -> None:
        self.size, self._tell = size, tell
        self._parts: list[Said] = []
        self._n = self._rows = 0  # in this window, and of the stream
        self.windows: list[dict[str, Any]] = []

    def __call__(self, said: Said) -> None:
        start, n = 0, said.labels.size
        while start < n:
            stop = min(n, start + self.size - (said.before + start) % self.size)
            self._parts.append(said.some(start, stop))
            self._n += stop - start
            self._rows = said.before + stop
            start = stop
            if self._rows % self.size == 0:
                self.finish()

    def finish(self) -> None:
        """Report the rows since the last window, if there are any."""
        if self._n:
            self.windows.append({"rows": self._rows, "window": self._n, **_scores(self._parts)})
            self._tell(self.windows[-1])
        self._parts, self._n = [], 0


def _scores(parts: list[Said]) -> dict[str, Any]:
    labels = np.concatenate([said.labels for said in parts])
    predicted = np.concatenate([said.predicted() for said in parts])
    classes = np.unique(np.concatenate([labels.astype(predicted.dtype), predicted, parts[-1].classes]))
    truth, says = encode(labels, classes).codes, encode(predicted, classes).codes
    matrix = np.bincount(truth * classes.size + says, minlength=classes.size**2).reshape(classes.size, -1)
    two = all(said.classes.size <= 2 for said in parts) and classes.size == 2

    def of_second(said: Said) -> bool:
        """Whether margins are those of the second class; with a single class, they are its own."""
        return bool(said.classes[-1] == classes[-1])

    of_classes = [rates(matrix, k) for k in ([1] if two else np.unique(truth).tolist())]
    margins = [said.margins[:, 0] if of_second(said) else -said.margins[:, 0] for said in parts]
    scores: dict[str, Any] = {
        "positive": float((truth == 1).mean()) if two else None,
        "accuracy": float(np.trace(matrix) / labels.size),
        "balanced_accuracy": mean_recall(matrix),
        "fpr": float(np.mean([each["fpr"] for each in of_classes])),
        "fnr": float(np.mean([each["fnr"] for each in of_classes])),
        "roc_auc": roc_area(np.concatenate(margins), truth == 1) if two else None,
    }
    told = [said.probabilities for said in parts if said.probabilities is not None]
    if len(told) == len(parts):
        p = [each[:, -1] if of_second(said) else 1.0 - each[:, -1] for said, each in zip(parts, told, strict=True)]
        scores |= probability_losses(np.concatenate(p), truth == 1) if two else {"brier": None, "log_loss": None}
    return scores
