"""What goes wrong in the first minute, and the line that says what to do about it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

HEADER = "x,kind,fraud"
ROWS = [f"{k % 7 + 0.5},{'abc'[k % 3]},{'yes' if k % 4 == 0 else 'no'}" for k in range(40)]


def table(*rows, header=HEADER, between=","):
    return "\n".join([header, *rows, ""]).replace(",", between).encode()


def archive(name):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr(name, "")
    return file.getvalue()


def array():
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


GOOD = table(*ROWS)
LABEL = ("--label", "fraud")


@pytest.mark.parametrize(
    ("name", "content", "options", "line"),
    [
        ("a.csv", GOOD, (), "a.csv: name the label column with --label; the header names x, kind, fraud."),
        (
            "a.csv",
            b"x,label,y\n1,0,1\n",
            (),
            "a.csv: several columns may be the label, label and y; name one with --label.",
        ),
        (
            "a.csv",
            b"x,y\n1,inf\n2,1\n",
            (),
            "a.csv, line 2, column 3: 'inf' cannot be a label: it must be a whole number or text. --on-error skip "
            "leaves such lines out.",
        ),
        (
            "a.csv",
            GOOD,
            ("--label", "frod"),
            "a.csv: there is no column 'frod'; did you mean 'fraud'? The header names x, kind, fraud.",
        ),
        (
            "a.csv",
            GOOD,
            ("--label", " Fraud"),
            "a.csv: there is no column ' Fraud'; did you mean 'fraud'? The header names x, kind, fraud.",
        ),
        (
            "a.csv",
            table(*ROWS[1:], header=ROWS[0]),
            LABEL,
            "a.csv: there is no column 'fraud'; the header names 0.5, a, yes. The first line looks like a row, not "
            "like names: put a line with the names of the columns above it.",
        ),
        (
            "a.csv",
            table("4,0,1", header="5,0,0"),
            LABEL,
            "a.csv, line 1: the first line looks like a row, not like names: put a line with the names of the columns "
            "above it.",
        ),
        (
            "a.csv",
            table(*ROWS, between="|"),
            LABEL,
            "a.csv: there is no column 'fraud'; the header names x|kind|fraud. If fields are separated by '|', use "
            "--delimiter '|'.",
        ),
        ("a.csv", table(), LABEL, "a.csv: there is no row to learn from."),
        ("a.csv", b"", LABEL, "a.csv is empty."),
        (
            "a.csv",
            table(*ROWS, "1,a,"),
            LABEL,
            "a.csv, line 42, column 5: there is no label. --on-error skip leaves such lines out.",
        ),
        (
            "a.csv",
            table(*ROWS, "1,a"),
            LABEL,
            "a.csv, line 42, column 4: too few fields: the header has 3. --on-error skip leaves such lines out.",
        ),
        (
            "a.csv",
            b"<!DOCTYPE html>\n<html>",
            LABEL,
            "a.csv is a web page, but is read as csv: open it to see what was downloaded in the place of the data.",
        ),
        (
            "a.txt",
            GOOD,
            LABEL,
            "a.txt is read as libsvm, which has no column 'fraud'; if it is a table, use --format csv.",
        ),
        (
            "a.txt",
            GOOD,
            (),
            "a.txt, line 1, column 1: the label is not a number; if this is not libsvm, say what it is with --format. "
            "--on-error skip leaves such lines out.",
        ),
        (
            "a.xlsx",
            archive("xl/workbook.xml"),
            LABEL,
            "a.xlsx is an Excel workbook or a zip archive, but is read as libsvm: unpack the archive, or save the "
            "sheet as CSV first.",
        ),
        (
            "a.npy",
            array(),
            (),
            "a.npy is an array of NumPy, but is read as libsvm: write it as CSV, or give it to an estimator in Python.",
        ),
        (
            "a.json",
            b'[{"x": 1, "fraud": "no"}]',
            LABEL,
            "a.json: there is no object in the first lines; JSON lines hold one in each: write a list as lines, for "
            "example with jq -c '.[]'.",
        ),
    ],
)
def test_what_cannot_be_learned_from_is_told_in_a_line(run, name, content, options, line):
    Path(name).write_bytes(content)
    done = run("train", name, *options, "-m", "m.pater")
    assert (done.code, done.out, done.err) == (1, "", f"pater: {line}\n")
    assert not Path("m.pater").exists()


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_what_stands_between_fields_is_recognised(run, between):
    Path("a.csv").write_bytes(table(*ROWS, between=between))
    assert run("train", "a.csv", *LABEL, "-m", "m.pater").code == 0


def test_json_lines_may_be_called_json(run):
    Path("a.json").write_text('{"x": 1, "fraud": "no"}\n{"x": 2, "fraud": "yes"}\n')
    assert run("train", "a.json", *LABEL, "-m", "m.pater").code == 0


def test_a_file_of_nearly_that_name_is_proposed(run):
    Path("payments.csv").write_bytes(GOOD)
    missing = "No such file or directory"
    assert run("train", "payment.csv", *LABEL, "-m", "m").err == (
        f"pater: payment.csv: {missing}; did you mean payments.csv?\n"
    )
    assert run("train", "clicks.csv", *LABEL, "-m", "m").err == f"pater: clicks.csv: {missing}\n"
    assert run("train", "no/payment.csv", *LABEL, "-m", "m").err == f"pater: no/payment.csv: {missing}\n"


def test_one_class_alone_is_worth_a_line(run):
    Path("a.csv").write_bytes(table(*(row.replace("yes", "no") for row in ROWS)))
    done = run("train", "a.csv", *LABEL, "-m", "m.pater")
    assert done.code == 0
    assert "pater: hint: all rows have the same label, no, so the model can predict nothing else." in done.err
    Path("one.csv").write_bytes(table(ROWS[0]))
    assert run("train", "one.csv", *LABEL, "-m", "m.pater").err.startswith("1 row, ")


def test_a_first_line_of_numbers_is_worth_a_line(run):
    Path("a.csv").write_bytes(table(*ROWS[1:], header=ROWS[0]))
    done = run("train", "a.csv", "--label", "yes", "-m", "m.pater")
    assert done.code == 0
    assert "hint: a.csv: the first line looks like a row, not like names" in done.err
    Path("b.csv").write_bytes(table(*ROWS, header="0,1,2"))
    assert "hint" not in run("train", "b.csv", "--label", "2", "-m", "m.pater").err


@pytest.fixture
def model(run):
    Path("a.csv").write_bytes(GOOD)
    assert run("train", "a.csv", *LABEL, "-m", "m.pater", "--quiet").code == 0
    return "m.pater"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--label", "kind"),
            "column 'kind' cannot be the label, as the model has learned from it; its label was 'fraud'.",
        ),
        (("--drop", "kind"), "column 'kind' cannot be left out, as the model has learned from it."),
        (("--categorical", "x"), "column 'x' cannot become categorical: the model has already settled its kind."),
        (
            ("--weight-column", "x"),
            "column 'x' cannot be the importance, as the model has learned from it; its label was 'fraud'.",
        ),
    ],
)
def test_what_a_model_knows_of_columns_is_not_passed_over(run, model, options, line):
    for command in (("evaluate", "a.csv", "-m", model), ("train", "a.csv", "-i", model, "-m", "n.pater")):
        done = run(*command, *options)
        assert (done.code, done.out, done.err) == (1, "", f"pater: {line}\n")


def test_the_truth_may_stand_in_another_column(run, model):
    swapped = [row.replace("yes", "?").replace("no", "yes").replace("?", "no") for row in ROWS]
    both = [f"{row},{other.rpartition(',')[2]}" for row, other in zip(ROWS, swapped, strict=True)]
    Path("both.csv").write_bytes(table(*both, header=f"{HEADER},opposite"))
    by = {label: run("evaluate", "both.csv", "-m", model, "--label", label).out for label in ("fraud", "opposite")}
    right = {label: float(told.partition("accuracy ")[2].partition(",")[0]) for label, told in by.items()}
    assert right["fraud"] + right["opposite"] == pytest.approx(1)
    assert by["fraud"] == run("evaluate", "a.csv", "-m", model).out


def test_a_model_in_the_place_of_data(run, model):
    line = f"pater: {model} is a model, but is read as libsvm: name the data here, and the model as --model.\n"
    assert run("evaluate", model, "a.csv").err == line


def test_nothing_to_predict_or_to_explain_is_worth_a_line(run, model):
    Path("none.csv").write_bytes(table())
    done = run("predict", model, "none.csv")
    assert (done.code, done.out, done.err) == (0, "label\n", "pater: hint: none.csv: there are no rows to predict.\n")
    done = run("explain", model, "none.csv")
    assert (done.code, done.out, done.err) == (0, "", "There are no rows to explain.\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("train", "a.csv"), "Missing option '--model' / '-m'. See pater train --help."),
        (("fit", "a.csv"), "No such command 'fit'. See pater --help."),
        (("data", "lst"), "No such command 'lst'. Did you mean 'list'? See pater data --help."),
    ],
)
def test_wrong_usage_says_where_to_look(run, arguments, line):
    assert run(*arguments)[::2] == (2, f"pater: {line}\n")


def test_help_is_short_for_help(run):
    assert run("train", "-h").out == run("train", "--help").out != ""
