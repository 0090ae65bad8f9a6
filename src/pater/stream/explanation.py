"""Explaining a learner: effects of columns, and what makes up the margins of rows.

Knows `learner` and how contributions and effects are computed. Results are in JSON's types.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..formats.batches import Batch
from ..formats.errors import InputError, Skipped
from ..formats.raw import RawBatch
from ..formats.reading import make_input
from ..formats.unread_warnings import UnreadCells
from ..kernels.run import Rows
from ..models.certainty import Certainty
from ..models.contributions import Contributions, contributions, weights_of
from ..preprocessing.columns import Column, Texts, as_texts
from ..preprocessing.curves import Curve, foremost_columns
from ..preprocessing.effects import Described, curves
from .inspection import name_of
from .learner import Learner
from .ready_rows import ready_rows

NO_CURVES = (
    "the model learned from columns as they are, which have no effect curves. Give rows to see what each feature adds "
    "to their margins, or see its weights with pater inspect."
)


@dataclass(frozen=True)
class Explained:
    """Some rows of a batch, and what makes up their margins."""

    batch: Batch
    labels: list[Any]
    terms: list[str]
    values: list[list[str | None]]  # by term and row
    there: NDArray[np.bool_]  # by row and term: whether the row has anything there
    found: Contributions

    def __len__(self) -> int:
        return len(self.labels)


def described(learner: Learner) -> Described | None:
    """What the columns of an encoded table stand for."""
    return None if learner.encoder is None else Described.of(learner.encoder.encoding, learner.encoder.resolution)


def spoken_for(learner: Learner) -> list[Any]:
    """The class that each margin stands for; with two classes, the second."""
    classes = learner.classes.tolist()
    return [classes[1]] if len(classes) == 2 else classes


def curves_of(learner: Learner) -> list[Curve]:
    """The effects of all columns of an encoded table."""
    table = described(learner)
    if table is None or learner.model is None:
        raise InputError(NO_CURVES)
    return curves(table, _weights(learner, np.arange(len(table.features)))[0], Certainty.of(learner.model))


def bases(learner: Learner) -> list[float]:
    """The margin of the average row for each class; without an encoder, the intercept."""
    table = described(learner)
    weights, intercepts = _weights(learner, np.arange(0 if table is None else len(table.features)))
    centres = np.zeros((len(weights), 0)) if table is None else table.centres(weights)
    return [float(base) for base in intercepts + centres.sum(axis=1)]


def _weights(learner: Learner, columns: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    assert learner.model is not None
    weights, intercepts = weights_of(learner.model, learner.scored_by, columns, average=learner.model.spec.average)
    if not (np.isfinite(weights).all() and np.isfinite(intercepts).all()):
        raise InputError("the model's numbers are so large that its weights are not finite.")
    return weights, intercepts


def explain_batch(learner: Learner, batch: Batch, *, skip: bool = False) -> Explained:
    """What makes up the margins of the rows of a batch; a row without a finite margin is a fault."""
    margins = learner.finite_margins(batch, skip=skip)
    assert learner.model is not None
    rows = ready_rows(batch, learner.encoder, learner.scaler, learner.model.n_features)
    table = described(learner)
    if table is not None:
        assert isinstance(batch, RawBatch)
        weights, intercepts = _weights(learner, np.arange(len(table.features)))
        found = contributions(rows, margins, weights, intercepts, table.term_of, table.centres(weights))
        of_columns = {name: _value_names(batch.table[name]) for name in table.encoding.names}
        pairs = {feature.term: (feature.column, feature.crossed) for feature in table.features if feature.crossed}
        values = [_crossed(of_columns, *pairs[term]) if term in pairs else of_columns[term] for term in table.terms]
        told = np.isin(np.arange(len(table.terms)), table.term_of[weights.any(axis=0)])
        told[: len(of_columns)] = True  # but only those crosses that the model sees
        terms, there = table.terms, np.tile(told, (len(batch), 1))
    else:
        used, rows = _used(rows)
        weights, intercepts = _weights(learner, used)
        centres = np.zeros((len(weights), used.size))
        found = contributions(rows, margins, weights, intercepts, np.arange(used.size), centres)
        terms = [name_of(learner, None, int(j)) for j in used.tolist()]
        seen = _dense(rows, len(batch), used.size)
        values, there = [[f"{value:.6g}" for value in column] for column in seen.T.tolist()], seen != 0
    labels: list[Any] = learner.labels(margins).tolist()
    return Explained(batch, labels, terms, values, there, found)


def _used(rows: Rows) -> tuple[NDArray[np.int64], Rows]:
    """The columns in which rows have anything, and the rows reduced to these."""
    if len(rows) == 1:
        return np.arange(rows[0].shape[1]), rows
    indptr, indices, data = rows
    used, places = np.unique(indices[: int(indptr[-1])], return_inverse=True)
    return used.astype(np.int64), (indptr, places, data)


def _dense(rows: Rows, n_rows: int, width: int) -> NDArray[np.float64]:
    if len(rows) == 1:
        return np.asarray(rows[0], np.float64)
    indptr, places, data = rows
    found = np.zeros((n_rows, width))
    found[np.searchsorted(indptr, np.arange(places.size), side="right") - 1, places] = data[: places.size]
    return found


def _value_names(column: Column) -> list[str | None]:
    """The values of a column, as texts; None where missing."""
    texts: Texts = as_texts(column)
    names = [*texts.names, None]
    return [names[code] for code in texts.codes.tolist()]


def _crossed(of_columns: dict[str, list[str | None]], one: str, other: str) -> list[str | None]:
    """The values of two crossed columns, as texts."""
    both = zip(of_columns[one], of_columns[other], strict=True)
    return [" × ".join("missing" if text is None else text for text in texts) for texts in both]


def explain_rows(
    learner: Learner, paths: Iterable[str], skipped: Skipped, *, on_error: str = "stop", **reading: Any
) -> Generator[Explained]:
    """The same for files or pipes, batch by batch. When it is closed, it says what could not be read so far."""
    source = make_input(
        paths,
        columns=learner.columns,
        labelled=False,
        on_error=on_error,
        features=1 << 30,
        keep_missing=learner.scale,
        **reading,
    )
    unread = UnreadCells()
    with closing(source.batches()) as batches:
        try:
            for some in (piece for batch in batches for piece in _pieces(batch, learner)):
                found = explain_batch(learner, some, skip=on_error == "skip")
                skipped.add(some.faults)
                unread.add(some.unread, len(some))
                if len(found):
                    yield found
        finally:  # the caller closes this after enough rows
            unread.tell()


MOST_NUMBERS = 1 << 22  # of contributions at a time


def _pieces(batch: Batch, learner: Learner) -> Iterator[Batch]:
    """A batch in pieces whose contributions fit in memory."""
    encoding = None if learner.encoder is None else learner.encoder.encoding
    n_terms = _widest(batch) if encoding is None else len(encoding.names) + len(encoding.crosses.pairs)
    most = max(1, MOST_NUMBERS // max(1, n_terms * len(spoken_for(learner))))
    if len(batch) <= most:
        yield batch
        return
    for start in range(0, len(batch), most):
        keep = np.zeros(len(batch), np.bool_)
        keep[start : start + most] = True
        some = replace(batch, faults=batch.faults if start == 0 else [])
        some.take(keep)
        yield some


def _widest(batch: Batch) -> int:
    return batch.n_features if len(batch.rows) == 1 else min(batch.n_features, int(batch.rows[0][-1]))


def row_told(learner: Learner, explained: Explained, r: int) -> dict[str, Any]:
    """A row in JSON's types; the terms of a margin, its base and its rounding, in this order, add up to the margin."""
    batch, found = explained.batch, explained.found
    terms = [k for k in range(len(explained.terms)) if explained.there[r, k]]
    return {
        "source": batch.source,
        batch.unit: batch.line_of(r),
        "prediction": explained.labels[r],
        **({"threshold": learner.threshold()} if learner.classes.size == 2 else {}),
        "margins": [
            {
                "class": label,
                "margin": float(found.margins[r, model]),
                "terms": [
                    {
                        "name": explained.terms[k],
                        "value": explained.values[k][r],
                        "adds": float(found.terms[r, model, k]),
                    }
                    for k in terms
                ],
                "base": float(found.base[r, model]),
                "rounding": float(found.rounding[r, model]),
            }
            for model, label in enumerate(spoken_for(learner))
        ],
    }


def curves_told(learner: Learner, found: list[Curve], top: int | None = None) -> dict[str, Any]:
    """Effect curves in JSON's types, of all columns or of those that matter most."""
    assert learner.encoder is not None
    labels, seen = spoken_for(learner), {curve.column for curve in found}
    return {
        "sources": learner.sources,
        "rows": learner.rows,
        "classes": learner.classes.tolist(),
        **({"threshold": learner.threshold()} if learner.classes.size == 2 else {}),
        "base": [{"class": label, "margin": base} for label, base in zip(labels, bases(learner), strict=True)],
        "counted": all(curve.is_counted for curve in found),
        "without_effect": [name for name in learner.encoder.encoding.names if name not in seen],
        "curves": [
            {
                "class": labels[curve.model],
                "column": curve.column,
                "part": curve.part or None,
                "kind": curve.kind,
                "spread": curve.spread,
                "effects": [
                    {
                        "value": effect.value,
                        "low": _finite_or_none(effect.low),
                        "high": _finite_or_none(effect.high),
                        "rows": effect.rows,
                        "effect": effect.effect,
                        "standard_error": _finite_or_none(effect.standard_error),
                    }
                    for effect in curve.effects
                ],
            }
            for curve in foremost_columns(found, top)
        ],
    }


def _finite_or_none(value: float) -> float | None:
    return value if isfinite(value) else None
