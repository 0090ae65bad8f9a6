"""What a model refuses to learn, told as an error of the input.

Knows batches and the errors of models.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..formats.batches import Batch
from ..formats.errors import InputError
from ..kernels.state import TooWideError
from ..models.errors import NotFiniteError, TwoClassesError, UnknownLabelError

STATE_TOO_LARGE = "the model's own numbers have become too large to learn from this; scale the features and start over."


@contextmanager
def width_told(source: str) -> Iterator[None]:
    """If rows are too wide for a full covariance, name the option for a diagonal one."""
    try:
        yield
    except TooWideError as error:
        raise InputError(f"{source}: {error.what}; use --covariance diagonal.") from None


@contextmanager
def refusal_told(batch: Batch, start: int = 0) -> Iterator[None]:
    """Name the source and, where it is known, the line if a model refuses to learn rows of a batch from `start` on."""
    try:
        with width_told(batch.source):  # a new class takes room too
            yield
    except (UnknownLabelError, TwoClassesError) as error:
        raise InputError(f"{batch.source}: {error}") from None
    except NotFiniteError as error:
        line = batch.line_of(start + error.row)
        raise InputError(f"{batch.source}, {batch.unit} {line}: {STATE_TOO_LARGE}") from None
