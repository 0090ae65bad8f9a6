"""Mistakes that are found at the beginning of a stream."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from pater import stream
from pater.formats.errors import Hint, UnseenLabelWarning
from pater.stream import InputError


def table(path: Path, labels: list[object], *, columns: int = 2) -> str:
    random = np.random.default_rng(0)
    names = ",".join(f"x{j}" for j in range(columns))
    rows = [
        f"{','.join(map(repr, row))},{y}"
        for row, y in zip(random.normal(size=(len(labels), columns)).tolist(), labels, strict=True)
    ]
    path.write_text(f"{names},amount\n" + "\n".join(rows) + "\n")
    return str(path)


LABELS = {
    "whole numbers": lambda k: k % 150,
    "numbers": lambda k: k % 150 + 0.25,
    "texts": lambda k: f"customer {k % 150}",
}


@pytest.mark.parametrize("verb", ["train", "evaluate"])
@pytest.mark.parametrize("kind", LABELS)
def test_a_label_of_many_values_stops_at_once(run, tmp_path, verb, kind):
    rows = table(tmp_path / "t.csv", [LABELS[kind](k) for k in range(3_000)])
    more = ("-m", str(tmp_path / "m")) if verb == "train" else ()
    done = run(verb, rows, "--label", "amount", *more)
    assert done.code == 1
    assert len(done.err.splitlines()) == 1
    assert "t.csv: the label, column 'amount', has 150 different values in the first 1,000 rows (" in done.err
    assert "--label" in done.err
    assert "--max-classes" in done.err
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("verb", ["train", "evaluate"])
def test_many_classes_that_are_meant(run, tmp_path, verb):
    rows = table(tmp_path / "t.csv", [k % 150 for k in range(1_500)])
    more = ("-m", str(tmp_path / "m")) if verb == "train" else ()
    done = run(verb, rows, "--label", "amount", "--algo", "pa", "--max-classes", "150", *more)
    assert done.code == 0
    done = run(verb, rows, "--label", "amount", "--algo", "pa", "--max-classes", "149", *more)
    assert "150 different values" in done.err


def test_classes_that_come_later_are_no_mistake(tmp_path):
    rows = table(tmp_path / "t.csv", [k % 100 if k < 1_000 else k % 120 for k in range(2_000)])
    with pytest.warns(UserWarning, match="classes so far"):
        learner = stream.train(rows, label="amount", algo="pa")
    assert learner.classes.size == 120


def test_numbered_rows_are_guarded_too(run, tmp_path):
    rows = tmp_path / "r.svm"
    rows.write_text("".join(f"{k} 1:{k}\n" for k in range(300)))
    done = run("train", str(rows), "-m", str(tmp_path / "m"))
    assert done.code == 1
    assert "r.svm: the labels have 300 different values in the first 300 rows (0, 1, 2" in done.err


def test_the_guard_counts_rows_not_files(tmp_path):
    rows = [table(tmp_path / f"{part}.csv", list(range(40 * part, 40 * part + 40))) for part in range(4)]
    with pytest.raises(InputError, match="has 120 different values in the first 120 rows"):
        stream.train(rows, label="amount", algo="pa")


@pytest.mark.slow
def test_a_weight_for_a_label_that_never_comes(run, tmp_path):
    rows = table(tmp_path / "t.csv", ["ham", "spam"] * 1_000)
    model = tmp_path / "m"
    done = run("train", rows, "--label", "amount", "-w", "Spam:3", "-m", str(model), "-q")
    early, late = done.err.splitlines()
    told = "has the label Spam, which --class-weight names; the labels are ham, spam."
    assert early == f"pater: warning: {rows}: none of the first 1,000 rows {told}"
    assert late == f"pater: no row {told} Name a label that is there."
    assert done.code == 1
    assert not model.exists()
    assert run("evaluate", rows, "--label", "amount", "-w", "Spam:3").code == 1
    assert run("train", rows, "--label", "amount", "-w", "spam:1.1", "-m", str(model), "-q") == (0, "", "")


def test_a_weight_for_a_label_that_comes_late(tmp_path):
    rows = table(tmp_path / "t.csv", [0, 1] * 600 + [2, 2])
    with pytest.warns(UnseenLabelWarning, match="none of the first 1,000 rows has the label 2"):
        learner = stream.train(rows, label="amount", algo="pater-i", class_weight={2: 3.0})
    assert learner.classes.tolist() == [0, 1, 2]


def test_a_short_stream_has_no_early_warning(tmp_path):
    rows = table(tmp_path / "t.csv", [0, 1] * 100)
    with pytest.raises(InputError, match=re.escape("no row has the label 2, which --class-weight names")):
        stream.train(rows, label="amount", algo="pater-i", class_weight={2: 3.0})


def test_a_model_that_goes_on_keeps_its_weights(tmp_path):
    model = tmp_path / "m"
    rows = table(tmp_path / "t.csv", [0, 1] * 100)
    stream.train(rows, label="amount", algo="pater-i", class_weight={1: 3.0}, model=model)
    (tmp_path / "u.csv").write_text("x0,x1,amount\n1,2,0\n")
    with pytest.warns(Hint, match="decided from 200 rows at most"):
        assert stream.train(tmp_path / "u.csv", initial=model).rows == 201


@pytest.mark.first_quick
@pytest.mark.parametrize("text", ["", ",city"])
def test_columns_on_scales_far_apart_are_a_hint(run, tmp_path, text):
    rows, city = tmp_path / "t.csv", ",Rome" if text else ""
    rows.write_text(f"amount,rate{text},y\n" + f"50000,0.02{city},1\n0,-0.01{city},0\n" * 20)
    model, plain = str(tmp_path / "m"), ("--encoding", "plain")
    done = run("train", str(rows), *plain, "-m", model)
    hint, _ = done.err.splitlines()
    outweighed = (
        "3,000,000 times as large as column 'rate' and will outweigh it; --scale puts all columns on one scale."
    )
    assert hint == f"pater: hint: {rows}: column 'amount' is about {outweighed}"
    assert run("train", str(rows), *plain, "-m", model, "-q").err == ""
    assert "hint" not in run("train", str(rows), "-m", model, "--scale").err
    assert "hint" in run("evaluate", str(rows), *plain).err
    rows.write_text(f"amount,rate{text},y\n" + f"50,0.2{city},1\n0,-0.1{city},0\n" * 20)
    assert "hint" not in run("train", str(rows), *plain, "-m", model).err
    rows.write_text(f"amount,rate{text},y\n" + f"50000,0.02{city},1\n0,-0.01{city},0\n" * 20)
    assert "hint" not in run("train", str(rows), "-m", model).err  # an encoder brings them to one scale


def test_scales_of_sparse_rows(tmp_path):
    rows = tmp_path / "r.svm"
    rows.write_text("1 3:1e50 7:1 9:0\n0 7:1e-3\n")
    with pytest.warns(Hint, match=r"column number 3 is about 2e\+50 times as large as column number 7"):
        stream.train(rows, algo="pa")
    rows.write_text("1 3:1e300 7:1 9:0\n0 7:1e-3\n")
    with pytest.raises(InputError, match="too large"):  # and no hint
        stream.train(rows, algo="pa")


@pytest.mark.parametrize("labels", [[0] * 300 + [1] * 200, ["b"] * 20 + ["a"] * 2_000 + ["c"] * 50])
def test_rows_sorted_by_their_label_are_a_hint(run, tmp_path, labels):
    rows = table(tmp_path / "t.csv", labels)
    done = run("train", rows, "--label", "amount", "--algo", "pater-i", "-m", str(tmp_path / "m"))
    (told,) = [line for line in done.err.splitlines() if "sorted" in line]
    assert f"all of class {labels[0]} first and all of class {labels[-1]} last" in told
    assert done.code == 0
    assert run("train", rows, "--label", "amount", "--algo", "pater-i", "-m", str(tmp_path / "m"), "-q").err == ""


@pytest.mark.parametrize("labels", [[0] * 300 + [1] * 19, [0] * 300 + [1] * 200 + [0], [0, 1] * 2_000])
def test_rows_that_are_not_sorted_are_no_hint(tmp_path, labels):
    rows = table(tmp_path / "t.csv", labels)
    assert stream.train(rows, label="amount", algo="pater-i").rows == len(labels)


def test_labels_that_differ_in_capitals_or_blanks_are_hinted_at(tmp_path):
    rows = "".join(f"{k % 7},{label}\n" for k, label in enumerate(["no", "yes", "no", "NO ", "yes", "no"] * 10))
    (tmp_path / "rows.csv").write_text("x,y\n" + rows)
    with pytest.warns(Hint, match="'NO' and 'no' differ only in blanks or capitals"):
        stream.train(tmp_path / "rows.csv", label="y", model=tmp_path / "m")


def test_sorted_rows_are_found_over_many_files(tmp_path):
    paths = [table(tmp_path / f"{k}.csv", [min(k, 1)] * 30) for k in range(4)]
    with pytest.warns(Hint, match="sorted by their label"):
        stream.train(paths, label="amount", algo="pater-i")


def test_going_on_with_an_encoder_of_few_rows_is_a_hint(run, tmp_path):
    few, more, model = (
        table(tmp_path / "t.csv", [0, 1, 0, 1, 1]),
        table(tmp_path / "u.csv", [0, 1] * 600),
        tmp_path / "m",
    )
    settings = ("--label", "amount", "--algo", "pater-i", "-m", str(model))
    assert "decided" not in run("train", few, *settings).err
    done = run("train", more, "-i", str(model), "-m", str(model))
    told = "kinds and bins of columns were decided from 5 rows at most, not from 1,000 (warm_up)"
    assert f"{model}: {told}" in done.err
    assert done.code == 0
    assert "decided" not in run("train", more, "-i", str(model), "-m", str(model)).err


@pytest.mark.parametrize("n_rows", [100, 2_000])
@pytest.mark.parametrize("verb", ["train", "evaluate"])
def test_a_table_of_nothing_but_ids_is_one_line(run, tmp_path, verb, n_rows):
    rows = tmp_path / "t.csv"
    rows.write_text("id,y\n" + "".join(f"a{k},{k % 2}\n" for k in range(n_rows)))
    done = run(verb, str(rows), *(("-m", str(tmp_path / "m")) if verb == "train" else ()))
    told = "no column can be learned from: 'id' is different in nearly every row, as ids are."
    assert (done.code, done.err) == (1, f"pater: {rows}: {told}\n")
    assert not (tmp_path / "m").exists()


def test_a_table_is_judged_with_weights_of_its_classes(run, tmp_path):
    rows = table(tmp_path / "t.csv", ["ham", "spam"] * 1_000)
    done = run("evaluate", rows, "--label", "amount", "-w", "spam:3")
    assert done.code == 0
    assert "balanced" in done.out
