"""Model files as every version has written them: they load for ever, say what they said, and go on learning.

`tests/golden/VERSION` holds files that this version wrote, and in `said.json` what it said of a few rows. A new version
of the format adds a folder; none is ever changed.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import pater
from pater.cli import main

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*/*.pater"))


def said_by(path):
    said = json.loads((path.parent / "said.json").read_text())
    return said[path.stem], np.array(said["rows"])


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_file_of_any_version_says_what_it_said(path, tmp_path, capfd):
    said, rows = said_by(path)
    if "printed" in said:  # written by the command line
        data = tmp_path / ("rows.svm" if "libsvm" in path.stem else "rows.csv")
        indexed = ["0 " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(row)) for row in rows]
        named = ["amount,age,score,rest", *(",".join(map(str, row)) for row in rows)]
        data.write_text("\n".join(indexed if data.suffix == ".svm" else named) + "\n")
        with pytest.raises(SystemExit):
            main(["predict", str(path), str(data), "--margins"])
        printed, expected = (
            list(csv.DictReader(io.StringIO(text))) for text in (capfd.readouterr().out, said["printed"])
        )
        assert [row["label"] for row in printed] == [row["label"] for row in expected]
        margins = [[float(row["margin"]) for row in table] for table in (printed, expected)]
        np.testing.assert_allclose(*margins, rtol=1e-11)
        return
    model = pater.load(path)
    assert model.predict(rows).tolist() == said["labels"]
    np.testing.assert_allclose(model.decision_function(rows), said["margins"], rtol=1e-11)
    model.save(tmp_path / "again.pater")
    again = pater.load(tmp_path / "again.pater")
    assert again.decision_function(rows).tobytes() == model.decision_function(rows).tobytes()
    if hasattr(model, "partial_fit"):
        labels = np.resize(model.classes_, len(rows))
        assert np.isfinite(model.partial_fit(rows, labels).coef_).all()
        assert model.coef_.tobytes() == again.partial_fit(rows, labels).coef_.tobytes()


def test_there_are_golden_files():
    assert len(GOLDEN) >= 24
