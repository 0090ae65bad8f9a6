"""Errors from another process keep their message."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pater.files.container import ModelFileError
from pater.formats.errors import Fault, MalformedError
from pater.kernels.state import TooWideError
from pater.models.differences import DifferenceError
from pater.models.errors import BadRowError, NotFiniteError, OtherModelsError, TwoClassesError, UnknownLabelError
from pater.models.moments import TooWideForMomentsError

ERRORS = [
    BadRowError((np.array([[np.nan]]),), 0),
    DifferenceError.of("r", 1.0, 2.0),
    MalformedError(Fault("rows.csv", 3, 2, "no number")),
    ModelFileError("m.pater", "it is cut off."),
    NotFiniteError(7),
    OtherModelsError(["covariance"]),
    TooWideError(1, 100_000, 1 << 36),
    TooWideForMomentsError(2, 100_000),
    TwoClassesError(3),
    UnknownLabelError("new", 4, np.array(["a", "b"])),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_come_out_of_a_pickle_as_they_were(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again).keys() == vars(error).keys()
