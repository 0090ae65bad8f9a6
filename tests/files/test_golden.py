"""Model files as every version has written them: they load forever, predict as they did, and learn on.

Each folder of `golden` holds files of one version of the format, and in `said.json` what they predicted for a few rows
when written (`0.1` holds those of pater 0.1, of version 1.0). A new version adds a folder; no model ever changes.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import pater
from pater import stream
from pater.cli import main
from pater.files import container
from pater.files.container import ModelFileError

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*/*.pater"))
LEARNERS = [path for path in GOLDEN if not path.stem.startswith(("cli", "ter"))]


def name_of(path):
    return f"{path.parent.name}-{path.stem}"


def said_by(path):
    said = json.loads((path.parent / "said.json").read_text())
    return said[path.stem], np.array(said["rows"])


NAMES = ("amount", "age", "score", "rest")


def as_file(stem, rows):
    """The ending and the lines of a file of rows in the format that this model has learned from."""
    if "libsvm" in stem:
        return ".svm", ["0 " + " ".join(f"{j}:{value}" for j, value in enumerate(row, 1)) for row in rows]
    if "vw" in stem:
        return ".vw", [
            "1 | " + " ".join(f"{name}:{value}" for name, value in zip(NAMES, row, strict=True)) for row in rows
        ]
    return ".csv", [",".join(NAMES), *(",".join(map(str, row)) for row in rows)]


def check_print(path, stem, rows, expected, folder, capfd, *, in_one_unit=True):
    """Check that the command line prints for these rows what it printed, or else all margins in another unit."""
    ending, lines = as_file(stem, rows)
    data = folder / f"rows{ending}"
    data.write_text("\n".join(lines) + "\n")
    with pytest.raises(SystemExit):
        main(["predict", str(path), str(data), "--margins"])
    printed, expected = (list(csv.DictReader(io.StringIO(text))) for text in (capfd.readouterr().out, expected))
    assert [row["label"] for row in printed] == [row["label"] for row in expected]
    margins = [np.array([float(row["margin"]) for row in table]) for table in (printed, expected)]
    if not in_one_unit:
        margins = [each / np.abs(each).max() for each in margins]
    np.testing.assert_allclose(*margins, rtol=1e-11)


@pytest.mark.parametrize("path", GOLDEN, ids=name_of)
def test_a_file_of_any_version_says_what_it_said(path, tmp_path, capfd):
    said, rows = said_by(path)
    if "printed" in said:  # written by the command line
        check_print(path, path.stem, rows, said["printed"], tmp_path, capfd)
        return
    model = pater.load(path)
    assert model.predict(rows).tolist() == said["labels"]
    np.testing.assert_allclose(model.decision_function(rows), said["margins"], rtol=1e-11)
    if "threshold" in said:
        assert model.threshold_ == pytest.approx(said["threshold"], rel=1e-11)
    model.save(tmp_path / "again.pater")
    again = pater.load(tmp_path / "again.pater")
    assert again.decision_function(rows).tobytes() == model.decision_function(rows).tobytes()
    labels = np.resize(model.classes_, len(rows))
    if path.stem == "ter" and path.parent.name < "format-1.6":
        with pytest.raises(ValueError, match=r"Files before version 1\.6 of the format have none"):
            model.partial_fit(rows, labels)
    else:
        assert np.isfinite(model.partial_fit(rows, labels).coef_).all()
        assert model.coef_.tobytes() == again.partial_fit(rows, labels).coef_.tobytes()


def rewritten(path, out, change):
    """The file with its header and arrays changed."""
    header, arrays = container.read(path, {})
    change(header, arrays)
    container.write(out, {name: value for name, value in header.items() if name != "checksum"}, arrays)
    return out


def without(header, arrays):
    """Change it to what a version with fewer settings, numbers and parameters would have written."""
    for spec in header["specs"]:
        del spec["approximation"], spec["eta"]
    names = header["state"]["counts"]
    arrays["counts"] = np.delete(arrays["counts"], names.index("careful_work"), axis=1)
    names.remove("careful_work")
    del header["estimator"]["params"]["warm_start"], header["sources"]


# Whose names are data, so that another one would not be a new field.
MAPS = {"splits", "names", "examples", "operating_point", "scoring_settings"}


def objects(value, place=()):
    """Every object in a header with its place, except those whose names are data."""
    if isinstance(value, dict):
        yield place, value
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inside:
        if name not in MAPS:
            yield from objects(each, (*place, name))


def with_more(header, arrays):
    """Change it to what a later version may write, with more of everything."""
    header["version"] = "1.99"
    for place, each in list(objects(header)):
        each["sparkle"] = 3
        if place[-1:] == ("state",):
            each["reals"].insert(0, "glow")
    if header.get("operating"):
        header["operating"].insert(0, "glow")
    for member in header.get("pool", {}).get("members", ()):
        if member["operating"]:
            member["operating"].insert(0, "glow")
    for name in list(arrays):
        if name.endswith(("reals", "operating.numbers")):
            arrays[name] = np.insert(arrays[name], 0, 7.0, axis=1)
    arrays["glow"] = arrays["encoder.glow"] = np.ones(3)


@pytest.mark.parametrize("change", [without, with_more])
@pytest.mark.parametrize("path", LEARNERS, ids=name_of)
def test_what_is_missing_has_its_default_and_what_is_unknown_is_left_out(path, change, tmp_path):
    said, rows = said_by(path)
    model = pater.load(rewritten(path, tmp_path / "changed.pater", change))
    assert model.predict(rows).tolist() == said["labels"]
    np.testing.assert_allclose(model.decision_function(rows), said["margins"], rtol=1e-11)
    assert np.isfinite(model.partial_fit(rows, np.resize(model.classes_, len(rows))).coef_).all()


@pytest.mark.parametrize("path", [path for path in GOLDEN if path not in LEARNERS], ids=name_of)
def test_what_is_unknown_is_left_out_of_every_part(path, tmp_path, capfd):
    said, rows = said_by(path)
    changed = rewritten(path, tmp_path / "changed.pater", with_more)
    if "printed" in said:
        check_print(changed, path.stem, rows, said["printed"], tmp_path, capfd)
    else:
        model = pater.load(changed)
        assert model.predict(rows).tolist() == said["labels"]
        np.testing.assert_allclose(model.decision_function(rows), said["margins"], rtol=1e-11)
    stream.load(changed).save(tmp_path / "again.pater")
    again, _ = container.read(tmp_path / "again.pater", {})
    assert "sparkle" not in str(again)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("pater-i", ("specs", 0)),
        ("pater-i", ("estimator",)),
        ("pater-i", ("estimator", "params")),
        ("cli-csv-scaled", ("columns",)),
        ("cli-csv-scaled", ("scaler",)),
        ("cli-table-crossed", ("columns", "encoder")),
        ("cli-table-crossed", ("columns", "encoder", "settings")),
        ("cli-table-crossed", ("columns", "encoder", "columns", 0)),
        ("cli-table-crossed", ("columns", "encoder", "crosses")),
    ],
)
def test_what_no_version_up_to_now_has_written_is_not_believed(name, place, tmp_path):
    def change(header, arrays):
        dict(objects(header))[place]["sparkle"] = 3

    path = rewritten(GOLDEN[-1].with_name(f"{name}.pater"), tmp_path / "changed.pater", change)
    with pytest.raises(ModelFileError, match="sound"):
        (pater if "estimator" in place else stream).load(path)


def test_there_are_golden_files():
    versions = [container.read(path, {})[0]["version"] for path in GOLDEN]
    assert {version: versions.count(version) for version in versions} == {
        "1.0": 25,
        "1.1": 25,
        "1.2": 25,
        "1.3": 30,
        "1.4": 35,
        "1.5": 38,
        "1.6": 39,
        "1.7": 39,
    }


@pytest.mark.parametrize("change", [lambda header, arrays: None, with_more], ids=["as-it-is", "with-more"])
@pytest.mark.parametrize("path", [path for path in GOLDEN if "checkpoint" in path.stem], ids=name_of)
def test_a_run_resumes_from_a_checkpoint_of_any_version(path, change, tmp_path, monkeypatch, capfd):
    said, rows = said_by(path)
    monkeypatch.chdir(tmp_path)
    for name, text in said["learned"].items():
        Path(name).write_text(text)
    options = said["options"]
    if (
        path.parent.name < "format-1.4"
    ):  # it says what was the default for `average`, which is decided by the rule since
        options |= {"average": False}
    rewritten(path, "m.checkpoint", change)
    stopped_at, began = stream.load("m.checkpoint").rows, []
    learner = stream.train(
        list(said["learned"]), model="m", resume=True, show=lambda run: began.append(run.resumed_at), **options
    )
    assert 0 < stopped_at == began[0] < learner.rows
    sized = path.parent.name >= "format-1.5"  # before, margins were not in units of their usual size
    check_print("m", path.stem, rows, said["finished"], tmp_path, capfd, in_one_unit=sized)


@pytest.mark.parametrize("path", [path for path in GOLDEN if path.stem == "cli-names-vw"], ids=name_of)
def test_the_names_of_hashed_columns_are_those_that_were_read(path):
    names = stream.load(path).names.names
    assert {column: sorted(some) for column, some in names.items()} == {
        17: ["age"],
        32: ["score"],
        58: ["amount", "rest"],
    }


@pytest.mark.parametrize("path", [path for path in GOLDEN if path.stem == "wpater-herd"], ids=name_of)
def test_a_herd_of_any_version_learns_on_as_models_alone(path):
    _, rows = said_by(path)
    header, _ = container.read(path, {})
    assert (header["state"]["layout"], header["state"]["sharing"]) == ("herd", [1, 3, 5])
    herd, alone = pater.load(path), pater.load(path)
    herd.partial_fit(sp.csr_array(rows), [0, 1, 1, 0, 1])
    alone.partial_fit(rows, [0, 1, 1, 0, 1])
    np.testing.assert_allclose(herd.decision_function(rows), alone.decision_function(rows), rtol=1e-9)


@pytest.mark.parametrize("path", [path for path in GOLDEN if "auto" in path.stem], ids=name_of)
def test_the_choice_is_in_the_files_that_tell_it(path):
    header, _ = container.read(path, {})
    assert ("chosen" in header) == (header["version"] >= "1.2")
    learner = stream.load(path)
    if "pool" in header:
        assert header["pool"]["leader"] == learner.model.leader
        return
    assert header.get("chosen", learner.chosen()) == learner.chosen()
    learner.model.stored_choice = None
    assert header.get("chosen", learner.chosen()) == learner.chosen()


@pytest.mark.parametrize(
    "path", [path for path in GOLDEN if "-auto" in name_of(path) and name_of(path) > "format-1.4"], ids=name_of
)
def test_who_knows_nothing_of_pools_reads_the_model_that_speaks(path, tmp_path):
    def change(header, arrays):
        del header["pool"]
        for name in [name for name in arrays if name.startswith("pool.")]:
            del arrays[name]

    alone, pool = stream.load(rewritten(path, tmp_path / "alone.pater", change)), stream.load(path)
    assert len(alone.specs) == 1
    for mine, theirs in zip(alone.state().weights(), pool.state().weights(), strict=True):
        assert mine.tobytes() == theirs.tobytes()
    assert alone.threshold() == pool.threshold()
