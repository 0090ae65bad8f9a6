"""Many settings in one pass over the data, and the best of them at any time.

Knows `model`, `choice`, `matrices`, `labels` and `metrics`; knows no scikit-learn. The models of a grid learn
side by side from data read once. Each predicts a sample before it learns from it, so the counts of right and wrong
predictions are an honest estimate, and the best model is known after any row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.rules import RULES
from ..kernels.run import NOTHING
from .choice import best, score
from .labels import as_labels
from .matrices import is_sparse, readable, rows_of
from .metrics import SCORES, Confusion
from .model import Model
from .row_weights import check_weights
from .spec import Spec, Specs

PAPER_WEIGHTS = (0.01, 0.1, 0.3, 0.5, 0.9, 0.99)


def alpha_grid(weights: Iterable[float] = PAPER_WEIGHTS) -> list[tuple[float, float]]:
    """(α⁻, α⁺): unweighted first, then each weight on the negative side, then on the positive, as in the paper."""
    weights = list(weights)
    return [(1.0, 1.0), *((weight, 1.0) for weight in weights), *((1.0, weight) for weight in weights)]


class Grid:
    """Any settings, side by side in one pass: PATER, PA with several C, AROW with several r.

    The study and the benchmarks use it to compare learners. It is not part of the public API.

    Parameters
    ----------
    specs : iterable of Spec
        The settings to compare. In a tie the first is chosen.
    scoring : str, default="balanced_accuracy"
        A name in `pater.models.metrics.SCORES`.
    scoring_settings : dict, optional
        The settings of that score: weights for "wter", costs for "cost".
    fading : float, default=1.0
        The factor by which older samples fade in the scores with each new one; below 1 the choice follows drift.
    discount : bool, default=True
        Whether a sample counts in proportion to its place in the stream.

    Examples
    --------
    >>> import numpy as np
    >>> from pater.models.search import Grid
    >>> from pater.models.spec import Spec
    >>> X = np.random.default_rng(0).standard_normal((500, 3))
    >>> y = (X[:, 0] > 1).astype(int)
    >>> grid = Grid([Spec("pater-i"), Spec("pa-i", C=0.1), Spec("pa-i", C=1.0)], "accuracy")
    >>> grid.learn(X, y)
    >>> grid.specs[grid.best[0]].rule
    'pa-i'
    """

    def __init__(
        self,
        specs: Iterable[Spec],
        scoring: str = "balanced_accuracy",
        *,
        scoring_settings: dict[str, float] | None = None,
        fading: float = 1.0,
        discount: bool = True,
    ) -> None:
        self.specs: Specs = tuple(spec._replace(watch=True, fading=fading, discount=discount) for spec in specs)
        if not self.specs:
            raise ValueError("a grid needs at least one spec.")
        if scoring not in SCORES:
            raise ValueError(f"scoring must be one of {', '.join(SCORES)}, got {scoring!r}.")
        self.scoring, self.scoring_settings = scoring, scoring_settings
        # Rules that keep different things cannot share a state, nor those that learn differently a pass.
        kinds = [(*spec.family, spec.form, RULES[spec.rule].fits_labels) for spec in self.specs]
        self.families = [[k for k, kind in enumerate(kinds) if kind == one] for one in sorted({*kinds}, reverse=True)]
        self.models: list[Model] = []

    def learn(self, X: Any, labels: NDArray[Any], *, weights: NDArray[np.float64] = NOTHING, threads: int = 1) -> None:
        """Pass the rows of a matrix, dense or CSR, through all models, in order. An error leaves the grid as it was."""
        if not is_sparse(X):
            X = np.asarray(X)
        rows, labels = rows_of(X), as_labels(labels)
        n_rows, n_features = X.shape
        if labels.size != n_rows:
            raise ValueError(f"X has {n_rows} rows, but there are {labels.size} labels.")
        if np.size(weights):
            weights = readable(check_weights(weights, n_rows, "weights"))
        models = self.models or self._new(np.empty(0, labels.dtype), n_features)
        width = models[0].state.n_features
        if width != n_features:
            raise ValueError(f"X has {n_features} features, but the grid has learned from rows of {width}.")
        learned = [replace(model) for model in models]
        for model in learned:  # what any of them refuses, the first does
            model.learn(rows, labels, weights=weights, threads=threads)
        self.models = learned

    def start(self, classes: NDArray[Any], n_features: int, *, fixed: bool = False) -> None:
        """Begin with empty models of these classes."""
        self.models = self._new(classes, n_features, fixed=fixed)

    def _new(self, classes: NDArray[Any], n_features: int, *, fixed: bool = False) -> list[Model]:
        return [
            Model.new(classes, n_features, tuple(self.specs[k] for k in places), fixed=fixed)
            for places in self.families
        ]

    def counts(self) -> Confusion:
        """Progressive counts, each (problems, specs), in the order of `specs`."""
        parts = [model.confusion() for model in self.models]
        order = np.argsort([k for places in self.families for k in places])
        return Confusion(*(np.concatenate(each, axis=1)[:, order] for each in zip(*parts, strict=True)))

    def scores(self) -> dict[str, NDArray[np.float64]]:
        """Every progressive score, (problems, specs)."""
        counts = self.counts()
        return {name: score(counts, name, self.scoring_settings if name == self.scoring else None) for name in SCORES}

    @property
    def best(self) -> NDArray[np.intp]:
        """The index in `specs` of the best model of each class (with two classes, of both)."""
        return best(self.counts(), self.scoring, self.scoring_settings)
