"""What a model refuses to learn, as an error of the input.

Knows batches and the errors of models.
"""

from __future__ import annotations

from ..formats.batches import Batch
from ..formats.errors import InputError
from ..kernels.state import TooWideError
from ..models.errors import NotFiniteError, TwoClassesError, UnknownLabelError

REFUSALS = (UnknownLabelError, TwoClassesError, NotFiniteError, TooWideError)
STATE_TOO_LARGE = "the model's own numbers have become too large to learn from this; scale the features and start over."


def refused(error: Exception, batch: Batch, start: int = 0) -> InputError:
    """The error for a refusal of rows of a batch from `start` on: with the source and, where it is known, the line."""
    if isinstance(error, TooWideError):  # a new class takes room too
        return too_wide(error, batch.source)
    if isinstance(error, NotFiniteError):
        return InputError(f"{batch.source}, {batch.unit} {batch.line_of(start + error.row)}: {STATE_TOO_LARGE}")
    return InputError(f"{batch.source}: {error}")


def too_wide(error: TooWideError, source: str) -> InputError:
    """The error for rows too wide for a full covariance, with the option for a diagonal one."""
    return InputError(f"{source}: {error.what}; use --covariance diagonal.")
