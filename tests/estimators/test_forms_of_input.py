"""Rows and labels in forms that NumPy or pandas would misread: taken for what they are, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from pater import AutoPATERClassifier, PATERClassifier, TERClassifier, load
from pater.preprocessing import TableEncoder

LEARNERS = [PATERClassifier, TERClassifier, AutoPATERClassifier]
X = np.random.default_rng(0).normal(size=(100, 2))
Y = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b"])


@pytest.mark.parametrize("new", LEARNERS)
def test_a_series_is_not_a_table(new: Any) -> None:
    fitted = new().fit(FRAME, Y)
    said = "Expected a 2-dimensional container but got .*Series"
    for call in (
        lambda: new().fit(FRAME["a"], Y),
        lambda: new().partial_fit(FRAME["a"], Y),
        lambda: fitted.predict(FRAME.iloc[0]),
        lambda: fitted.explain(FRAME.iloc[0]),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    assert fitted.predict(FRAME.iloc[[0]]).tolist() == fitted.predict(FRAME.iloc[0].to_frame().T).tolist()


@pytest.mark.parametrize("new", LEARNERS)
def test_continuous_labels_are_refused_as_objects_too(new: Any) -> None:
    for labels in (Y + 0.5, (Y + 0.5).astype(object)):
        with pytest.raises(ValueError, match=r"Unknown label type: continuous. y holds 1.5 in row 0"):
            new().fit(X, labels)
    assert new().fit(X, (Y + 0.0).astype(object)).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("new", LEARNERS)
def test_strings_of_numpys_own_type_are_labels(new: Any, tmp_path: Any) -> None:
    labels = np.array(["n", "p"])[Y]
    own = labels.astype(np.dtypes.StringDType())
    learner = new().partial_fit(X, own).partial_fit(X, labels)
    assert (learner.decision_function(X) == new().partial_fit(X, labels).partial_fit(X, own).decision_function(X)).all()
    learner.save(tmp_path / "model.pater")
    assert load(tmp_path / "model.pater").predict(X).tolist() == learner.predict(X).tolist()
    gaps = np.array(["n", None] * 50, np.dtypes.StringDType(na_object=None))
    with pytest.raises(ValueError, match="y contains NaN in row 1"):
        new().fit(X, gaps)


@pytest.mark.parametrize("new", LEARNERS)
def test_masked_values_are_refused(new: Any) -> None:
    rows, labels = np.ma.masked_array(X, X > 2), np.ma.masked_array(Y, X[:, 1] > 2)
    whole = new().fit(np.ma.masked_array(X), np.ma.masked_array(Y))
    assert (whole.decision_function(X) == new().fit(X, Y).decision_function(X)).all()
    for call in (
        lambda: new().fit(rows, Y),
        lambda: new().partial_fit(rows, Y),
        lambda: new().fit(X, labels),
        lambda: new().partial_fit(X, labels),
        lambda: new().fit(X, Y, np.ma.masked_array(np.ones(100), X[:, 1] > 2)),
        lambda: new().partial_fit(X, Y, classes=np.ma.masked_array([0, 1, 2], [0, 0, 1])),
        lambda: whole.predict(rows),
    ):
        with pytest.raises(ValueError, match="is a masked array with masked values, the first in row"):
            call()


@pytest.mark.parametrize("kind", ["f8", "i8", "U3", "M8[s]", "m8[s]", "O"])
def test_masked_cells_of_a_table_are_missing(kind: str) -> None:
    values, mask = np.arange(100).astype(kind), np.arange(100) % 7 == 0
    masked = np.ma.masked_array(values, mask)
    cells = [None if gap else value for value, gap in zip(pd.Series(values), mask, strict=True)]
    expected = TableEncoder().fit_transform(pd.DataFrame({"a": cells, "b": np.arange(100)}))
    found = TableEncoder().fit_transform({"a": masked, "b": np.arange(100)})
    assert (_dense(found) == _dense(expected)).all()


def test_masked_cells_of_a_matrix_are_missing() -> None:
    holes = np.where(X > 1, np.nan, X)
    encoded = TableEncoder().fit_transform(np.ma.masked_array(X, X > 1))
    assert (_dense(encoded) == _dense(TableEncoder().fit_transform(holes))).all()


@pytest.mark.parametrize("cell", [b"u", ("u", 1)])
def test_cells_that_are_no_values_are_refused_in_any_form(cell: Any) -> None:
    rows = ["a", cell] * 50
    for table in (pd.DataFrame({"a": rows}), {"a": rows}, [{"a": each} for each in rows]):
        with pytest.raises(TypeError, match=r"column 'a' cannot be read: row 1 holds .*\.$"):
            TableEncoder().fit(table)


def _dense(rows: Any) -> Any:
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
