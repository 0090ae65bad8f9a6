"""Preparing rows for prediction.

Knows batches, `encoder` and `scaling`.
"""

from __future__ import annotations

from ..formats.batches import Batch
from ..formats.errors import InputError
from ..kernels.doors import checked
from ..kernels.run import Rows
from ..models.matrices import without_columns_from
from ..preprocessing.scaling import Scaler
from .encoder import Encoder


def ready_rows(batch: Batch, encoder: Encoder | None, scaler: Scaler | None, width: int) -> Rows:
    """The rows of a batch for a model with this many columns: encoded, scaled, or as they are."""
    batch = batch if encoder is None else encoder.read(batch)
    batch.check_form(to_scale=scaler is not None)
    rows = batch.rows
    if len(rows) == 3 and batch.n_features > width:
        rows = without_columns_from(width, rows)  # features never seen add nothing to a margin
    elif len(rows) == 1 and batch.n_features != width:
        raise InputError(f"{batch.source}: the rows have {batch.n_features} columns, but the model has {width}.")
    if scaler is not None:
        rows = scaler.scaled(rows, learn=False)
        rows = rows if len(rows) == 1 else checked(rows, width)
    return rows
