"""`pater evaluate` by window, with late labels, alarms, thresholds and probabilities."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, roc_auc_score

from pater.cli.evaluation_report import advice
from pater.formats.errors import InputError, Skipped
from pater.formats.reading import make_input
from pater.models.errors import NotFiniteError
from pater.models.model import Model
from pater.stream import load
from pater.stream.algorithms import specs_of
from pater.stream.evaluation import judge_progressively
from pater.stream.learner import Learner
from pater.stream.prediction_quality import Judged
from pater.stream.windows import Windows

ROWS = 5_000


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Rows of two classes, one of them rare; after 3,000 rows, other columns matter."""
    random = np.random.default_rng(0)
    X = random.normal(size=(ROWS, 4)).round(4)
    matters = np.where(np.arange(ROWS) < 3_000, X[:, 0] + X[:, 1], X[:, 2] - X[:, 3])
    y = (matters + 0.5 * random.normal(size=ROWS) > 1.2).astype(int)
    path = tmp_path_factory.mktemp("evaluate") / "rows.csv"
    lines = [f"{','.join(map(str, row))},{label}" for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("a,b,c,d,y\n" + "\n".join(lines) + "\n")
    return path, X, y


def progressive(path, algo, *listeners, delay=0, **settings):
    source = make_input(path)
    learner = Learner(specs_of(algo, **settings), source.describe())
    return judge_progressively(learner, source.batches(), Skipped(), Judged(*listeners), delay=delay)


class Everything:
    """Keeps the predictions by row."""

    def __init__(self):
        self.said = []

    def __call__(self, said):
        self.said.append(said)

    def column(self, of):
        return np.concatenate([of(said) for said in self.said])


@pytest.mark.parametrize("algo", ["pater-i", "auto", "so-pater-i"])
def test_windows_are_the_rates_of_their_rows(table, algo):
    path, _, y = table
    windows, everything = Windows(1_500), Everything()
    result = progressive(path, algo, windows, everything).result()
    windows.finish()
    assert [(w["rows"], w["window"]) for w in windows.windows] == [
        (1500, 1500),
        (3000, 1500),
        (4500, 1500),
        (5000, 500),
    ]
    predicted = everything.column(lambda said: said.predicted())
    of_one = {0: -1, 1: 1}  # while only one class has come, margins are its own
    margins = everything.column(lambda said: of_one[said.classes[-1]] * said.margins[:, 0])
    for w in windows.windows:
        rows = slice(w["rows"] - w["window"], w["rows"])
        assert w["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y[rows], predicted[rows]))
        assert w["accuracy"] == pytest.approx((y[rows] == predicted[rows]).mean())
        assert w["fpr"] == pytest.approx(predicted[rows][y[rows] == 0].mean())
        assert w["fnr"] == pytest.approx(1 - predicted[rows][y[rows] == 1].mean())
        assert w["roc_auc"] == pytest.approx(roc_auc_score(y[rows], margins[rows]))
        assert w["positive"] == y[rows].mean()
    assert result["accuracy"] == (predicted == y).mean()


def test_windows_of_three_classes(tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 3))
    y = np.where(np.arange(600) < 150, X.argmax(axis=1) % 2, X.argmax(axis=1))  # the third class comes later
    path = tmp_path / "t.csv"
    path.write_text("a,b,c,y\n" + "".join(f"{a},{b},{c},k{k}\n" for (a, b, c), k in zip(X, y, strict=True)))
    windows, everything = Windows(200), Everything()
    progressive(path, "pater-i", windows, everything)
    predicted = everything.column(lambda said: said.predicted()).astype(str)
    for w in windows.windows:
        rows = slice(w["rows"] - 200, w["rows"])
        assert w["accuracy"] == pytest.approx((np.char.add("k", y[rows].astype(str)) == predicted[rows]).mean())
        assert w["roc_auc"] is None
        assert 0 < w["fpr"] < w["fnr"]


@pytest.mark.slow
def test_windows_on_the_terminal_as_json_and_in_files(run, table, tmp_path):
    path = str(table[0])
    windows, picture = tmp_path / "w.csv", tmp_path / "w.png"
    shown = run("evaluate", path, "--algo", "so-pater-i", "--window", "2000", "--plot", str(picture))
    lines = shown.out.splitlines()
    assert lines[0].split() == ["rows", "positive", "accuracy", "balanced", "FPR", "FNR", "ROC", "area"]
    assert [line.split()[0] for line in lines[1:4]] == ["2,000", "4,000", "5,000"]
    assert lines[4] == ""
    assert max(map(len, lines[:4])) < 80
    assert picture.read_bytes().startswith(b"\x89PNG")
    options = ("--algo", "so-pater-i", "--window", "2000", "--window-output", str(windows), "--json")
    *some, last = map(json.loads, run("evaluate", path, *options).out.splitlines())
    assert [each["rows"] for each in some] == [2000, 4000, 5000]
    assert last["final"] is True
    assert last["rows"] == ROWS
    stored = list(csv.DictReader(windows.open()))
    assert [float(each["roc_auc"]) for each in stored] == [each["roc_auc"] for each in some]
    jsonl = tmp_path / "w.jsonl"
    run("evaluate", path, "--algo", "so-pater-i", "--window", "2000", "--window-output", str(jsonl))
    assert [json.loads(line) for line in jsonl.read_text().splitlines()] == some


def test_windows_of_a_saved_model(run, table, tmp_path):
    path, model = str(table[0]), str(tmp_path / "m")
    run("train", path, "--algo", "pater-i", "-m", model, "-q")
    *windows, last = map(json.loads, run("evaluate", path, "-m", model, "--window", "2500", "--json").out.splitlines())
    assert np.mean([w["accuracy"] for w in windows]) == pytest.approx(last["accuracy"])


@pytest.mark.parametrize("delay", [1, 7, 39])
def test_a_label_that_comes_late_is_learned_late(table, delay):
    """Against a loop that predicts each row and learns from the one `delay` rows before."""
    path, n = table[0], 400
    short = path.parent / f"short{delay}.csv"
    short.write_text("".join(path.open().readlines()[: n + 1]))
    everything = Everything()
    result = progressive(short, "pater-i", everything, delay=delay).result()
    (batch,) = make_input(short).batches()
    learner, margins = Learner(specs_of("pater-i"), make_input(short).describe()), []
    learner.prepare(batch)  # both classes are known from the start
    for t in range(n):
        if t > delay:
            margins.append(learner.margins(_row(batch, t))[0, 0])
        if t >= delay:
            learner.learn(_row(batch, t - delay))
    assert result["rows"] == n - delay - 1
    np.testing.assert_allclose(everything.column(lambda said: said.margins[:, 0]), margins, rtol=1e-9, atol=1e-12)
    assert everything.said[0].before == delay + 1


def _row(batch, t):
    return replace(
        batch, rows=(batch.rows[0][t : t + 1],), labels=batch.labels[t : t + 1], lines=batch.lines[t : t + 1]
    )


@pytest.mark.parametrize("delay", [0, 1])
def test_a_state_too_large_is_told_with_the_line(tmp_path, monkeypatch, delay):
    (tmp_path / "a.svm").write_text("1 1:1\n\n-1 1:-1 2:1\n1 1:1\n")

    def bad(model, rows, codes, **_):
        if model.classes.size > 1 and codes.size:
            raise NotFiniteError(0)

    monkeypatch.setattr(Model, "learn_all", bad)
    with pytest.raises(InputError, match=r"a\.svm, line 3: the model's own numbers have become too large"):
        progressive(tmp_path / "a.svm", "pater-i", delay=delay)


def test_a_long_delay_is_judged_in_pieces(table):
    path, _, y = table
    windows, everything = Windows(1_000), Everything()
    result = progressive(path, "so-pater-i", windows, everything, delay=400).result()
    assert everything.said[0].before == 420
    assert {said.labels.size for said in everything.said[:-1]} == {20}
    assert result["rows"] == ROWS - 420
    assert [w["rows"] for w in windows.windows] == [1000, 2000, 3000, 4000, 5000]
    assert windows.windows[0]["window"] == 580
    np.testing.assert_array_equal(everything.column(lambda said: said.labels), y[420:])


def test_late_labels_cost_where_the_stream_drifts(run, table):
    options = (str(table[0]), "--algo", "so-pater-i", "--forgetting", "0.99", "--json")
    found = [
        json.loads(run("evaluate", *options, "--delay", str(delay)).out)["balanced_accuracy"]
        for delay in (0, 100, 1000)
    ]
    assert found[0] > found[1] > found[2]


def test_a_class_that_comes_last_of_all_with_a_delay(run, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "1,0\n2,1\n" * 50 + "3,2\n")
    result = json.loads(run("evaluate", str(path), "--delay", "10", "--algo", "pater-i", "--json").out)
    assert result["classes"] == [0, 1, 2]
    assert result["confusion"][2][2] == 0
    assert result["rows"] == 90
    done = run("evaluate", str(path), "--delay", "1000", "--algo", "pater-i")
    assert done.code == 1
    assert "there are no rows to evaluate" in done.err


def late_table(path, table, moments, name="known"):
    """The rows of the table with a column that says when the label became known."""
    _, X, y = table
    when = np.datetime64("2024-01-01T00:00") + np.arange(ROWS) * np.timedelta64(60, "s")
    told = [str(when[k]) if isinstance(k, int) and k < ROWS else k for k in moments] if name == "known" else moments
    rows = zip(when.tolist(), told, X.tolist(), y.tolist(), strict=True)
    lines = [f"{t.isoformat()},{k},{','.join(map(str, x))},{label}" for t, k, x, label in rows]
    path.write_text(f"when,{name},a,b,c,d,y\n" + "\n".join(lines) + "\n")
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [1, 30])
@pytest.mark.parametrize("clock", ["dates", "rows"])
def test_a_column_says_when_labels_come(run, table, tmp_path, delay, clock):
    """By date or by row number, the same as by a number of rows, where these agree: row by row below 40 rows."""
    name = "known" if clock == "dates" else "at"
    end = "2025-01-01" if clock == "dates" else ROWS + 100
    of_row = [k + delay if clock == "dates" else k + delay + 1 for k in range(ROWS)]
    moments = [k if k < ROWS or clock == "rows" else end for k in of_row]
    path = late_table(tmp_path / "late.csv", table, moments, name)
    by_column = run("evaluate", path, "--algo", "so-pater-i", "--delay", name, "--json")
    by_rows = run("evaluate", path, "--algo", "so-pater-i", "--drop", name, "--delay", str(delay), "--json")
    told, expected = json.loads(by_column.out), json.loads(by_rows.out)
    assert abs(told["rows"] - expected["rows"]) <= 1
    assert told["balanced_accuracy"] == pytest.approx(expected["balanced_accuracy"], abs=0.01)
    assert told["balanced_accuracy"] > 0.75


@pytest.mark.slow
def test_labels_that_come_in_another_order_or_never(run, table, tmp_path):
    random = np.random.default_rng(0)
    moments = [int(min(ROWS - 1, k + random.exponential(100))) if k % 10 else "" for k in range(ROWS)]
    path = late_table(tmp_path / "late.csv", table, moments)
    late = json.loads(run("evaluate", path, "--algo", "so-pater-i", "--delay", "known", "--json").out)
    at_once = json.loads(run("evaluate", path, "--algo", "so-pater-i", "--drop", "known", "--json").out)
    assert late["rows"] > 4_900
    assert 0.7 < late["balanced_accuracy"] < at_once["balanced_accuracy"]
    again = run("evaluate", path, "--algo", "so-pater-i", "--delay", "known", "--time", "when", "--json").out
    assert json.loads(again) == late


@pytest.mark.parametrize(
    ("options", "told", "code"),
    [
        (["--delay", "nope"], "there is no column 'nope' beside the label; choose from when, known, a", 1),
        (["--delay", "known", "--time", "a"], "one of the columns 'known' and 'a' holds dates", 1),
        (["--delay", "known", "--time", "known"], "cannot be the time of a row and that of its label", 1),
        (["--delay", "known", "--drop", "when"], "name with --time the column with the time of a row", 1),
        (["--delay", "known", "--scale"], "given by a column needs an encoded table", 1),
        (["--delay", "5", "--time", "when"], "--time needs --delay COLUMN", 2),
        (["--delay", "-5"], "must be a number of rows, 0 or more", 2),
        (["--delay", ""], "must be a number of rows or a column", 2),
    ],
)
def test_nonsense_of_late_labels_is_one_line(run, table, tmp_path, options, told, code):
    path = late_table(tmp_path / "late.csv", table, list(range(ROWS)))
    done = run("evaluate", path, *options)
    assert (done.code, told in done.err, done.err.count("\n")) == (code, True, 1)


def test_a_moment_that_is_none_is_an_error_with_its_line(run, table, tmp_path):
    moments = [k if k != 4_000 else "soon" for k in range(ROWS)]
    done = run("evaluate", late_table(tmp_path / "late.csv", table, moments), "--delay", "known")
    assert done.code == 1
    assert "column 'known'" in done.err
    epoch = late_table(tmp_path / "epoch.csv", table, [1.7e9 + k for k in range(ROWS)], "at")
    assert "numbers as large as times; without --time" in run("evaluate", epoch, "--delay", "at").err


def test_a_drift_is_one_line_that_says_what_to_do(run, table, tmp_path):
    path = str(table[0])
    done = run("evaluate", path, "--algo", "so-pater-i", "--json")
    line, *others = done.err.splitlines()
    alarm, *more = json.loads(done.out)["alarms"]
    assert len(others) == len(more) < 2
    assert "If it lasts" not in "".join(others)
    assert 3_000 < alarm["row"] < 3_600
    assert alarm["after"] > 2 * alarm["before"]
    assert line.startswith(f"pater: drift: row {alarm['row']:,}: the mean error rate of the classes is ")
    assert line.endswith("If it lasts, follow the stream with --forgetting 0.999 or --algo auto.")
    assert "a smaller --forgetting" in run("evaluate", path, "--algo", "so-pater-i", "--forgetting", "0.9999").err
    assert advice("pa", {}, saved=False).endswith("follow the stream with --algo auto.")
    assert advice("auto", {}, saved=False).startswith("auto switches to a shorter memory")
    head, model = tmp_path / "head.csv", str(tmp_path / "m")
    head.write_text("".join(table[0].open().readlines()[:3_001]))
    run("train", str(head), "--algo", "so-pater-i", "-m", model, "-q")
    assert "pater train --initial-model" in run("evaluate", path, "-m", model).err
    assert "drift" not in run("evaluate", str(head), "--algo", "so-pater-i").err


@pytest.mark.first_quick
@pytest.mark.parametrize("algo", ["so-pater-i", "auto"])
def test_training_tells_windows_and_alarms_as_an_evaluation_does(run, table, tmp_path, algo):
    path, plain, model = str(table[0]), tmp_path / "plain", tmp_path / "m"
    run("train", path, "--algo", algo, "-q", "-m", str(plain))
    files = [str(tmp_path / name) for name in ("trained.csv", "judged.csv")]
    trained = run(
        "train", path, "--algo", algo, "-m", str(model), "--window", "700", "--window-output", files[0],
        "--plot", str(tmp_path / "windows.png"),
    )  # fmt: skip
    judged = run("evaluate", path, "--algo", algo, "--window", "700", "--window-output", files[1])
    assert model.read_bytes() == plain.read_bytes()
    assert Path(files[0]).read_text() == Path(files[1]).read_text()
    assert trained.out.splitlines() == judged.out.splitlines()[: len(trained.out.splitlines())]
    alarms = [[line for line in each.err.splitlines() if "drift: row" in line] for each in (trained, judged)]
    assert alarms[0] == alarms[1]
    assert (tmp_path / "windows.png").stat().st_size > 1000
    quiet = run("train", path, "--algo", algo, "-m", str(model), "--window", "700", "-q")
    assert (quiet.out, quiet.err) == ("", "")
    lines = run("train", path, "--algo", algo, "-m", str(model), "--window", "700", "--log-json").out.splitlines()
    assert [each["rows"] for each in map(json.loads, lines) if "window" in each][:3] == [700, 1400, 2100]
    assert [each["rows"] for each in map(json.loads, lines) if "final" in each and not each["final"]][:3] == [1, 2, 4]


def test_windows_of_a_resumed_training_go_on(run, table, tmp_path):
    path, model = str(table[0]), str(tmp_path / "m")
    head = tmp_path / "head.csv"
    head.write_text("".join(table[0].open().readlines()[:1_001]))
    run("train", str(head), "-m", model, "-q")
    done = run("train", path, "-i", model, "-m", model, "--window", "2000", "--log-json")
    told = [json.loads(line) for line in done.out.splitlines()]
    windows = [(each["rows"], each["window"]) for each in told if "window" in each]
    assert windows == [(2000, 1000), (4000, 2000), (6000, 2000)]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--plot", "w.png"], "--plot needs --window."),
        (["--window-output", "w.csv"], "--window-output needs --window."),
        (["--window", "100", "--window-output", "m"], "cannot be two outputs at once"),
        (
            ["--window", "100", "--window-output", "w.xyz"],
            "--window-output expects a file that ends in .csv, .jsonl, .par",
        ),
        (
            ["--window", "100", "--plot", "w.xyz"],
            "--plot expects a file that ends in .png, .pdf, .svg or the like, got w.",
        ),
        (["--decimal", "x"], "--decimal must be . or , (a point or a comma), got 'x'."),
    ],
)
def test_nonsense_of_windows_in_training(run, table, tmp_path, monkeypatch, options, told):
    monkeypatch.chdir(tmp_path)
    done = run("train", str(table[0]), "-m", "m", *options)
    assert (done.code, told in done.err) == (2, True)
    assert not (tmp_path / "m").exists()


def test_thresholds_stand_beside_the_curves(run, table, tmp_path):
    path, model = str(table[0]), str(tmp_path / "m")
    run("train", path, "--algo", "pater-i", "-m", model, "-q")
    each = json.loads(run("evaluate", path, "-m", model, "--json").out)["of_class"][0]
    assert len(each["roc"]) == len(each["roc_thresholds"])
    assert len(each["precision_recall"]) == len(each["precision_recall_thresholds"])
    assert each["roc_thresholds"][0] is None
    assert each["roc_thresholds"][1:] == each["precision_recall_thresholds"]
    for k in (1, 20, 100):
        threshold, (fpr, tpr) = each["roc_thresholds"][k], each["roc"][k]
        at = json.loads(run("evaluate", path, "-m", model, "--json", f"--threshold={threshold!r}").out)["of_class"][0]
        assert (at["fpr"], at["recall"]) == pytest.approx((fpr, tpr))
        assert at["precision"] == pytest.approx(each["precision_recall"][k - 1][1])


def test_a_threshold_for_predictions(run, table, tmp_path):
    path, model = str(table[0]), str(tmp_path / "m")
    run("train", path, "--algo", "pater-i", "-m", model, "-q", "--max-fpr", "0.1")
    rows = list(csv.DictReader(io.StringIO(run("predict", model, path, "--margins", "--threshold", "-0.5").out)))
    assert [row["label"] == "1" for row in rows] == [float(row["margin"]) >= -0.5 for row in rows]
    own = list(csv.DictReader(io.StringIO(run("predict", model, path, "--margins").out)))
    threshold = load(model).threshold()
    assert [row["label"] == "1" for row in own] == [float(row["margin"]) >= threshold for row in own]


def test_reliability_is_a_table_of_what_was_told_and_what_was(run, table, tmp_path):
    path, model = str(table[0]), str(tmp_path / "m")
    run("train", path, "--algo", "pater-i", "-m", model, "-q", "--probabilities")
    out = run("predict", model, path, "--probabilities").out
    p = np.array([float(row["probability_1"]) for row in csv.DictReader(io.StringIO(out))])
    y = table[2]
    each = json.loads(run("evaluate", path, "-m", model, "--json").out)["of_class"][0]
    assert sum(step["rows"] for step in each["reliability"]) == ROWS
    for step in each["reliability"]:
        here = (p >= step["from"]) & (p < step["to"])
        assert step["rows"] == here.sum()
        assert step["told"] == pytest.approx(p[here].mean())
        assert step["observed"] == pytest.approx(y[here].mean())
    assert each["brier"] == pytest.approx(brier_score_loss(y, p))
    shown = run("evaluate", path, "-m", model).out
    assert "probability of 1                rows   predicted    observed" in shown
    assert max(map(len, shown[shown.index("probability of 1") :].splitlines())) < 80
    assert "reliability" not in json.loads(run("evaluate", path, "--algo", "pater-i", "--json").out)["of_class"][0]


def test_progressive_probabilities_by_window_and_step(run, table, tmp_path):
    steady = tmp_path / "steady.csv"  # until the other columns matter
    steady.write_text("".join(table[0].read_text().splitlines(keepends=True)[:3_001]))
    options = (str(steady), "--algo", "so-pater-i", "--probabilities", "--window", "1000", "--json")
    *windows, last = map(json.loads, run("evaluate", *options).out.splitlines())
    each = last["of_class"][0]
    assert sum(step["rows"] for step in each["reliability"]) == 3_000
    # Windows use the calibration from when the piece began, the whole uses that of the row before.
    assert np.mean([w["brier"] for w in windows]) == pytest.approx(each["brier"], rel=0.05)


@pytest.mark.parametrize(
    ("options", "told", "code"),
    [
        (("-m", "MODEL", "--delay", "5"), "--delay cannot be combined with --model", 2),
        (("--threshold", "1"), "--threshold needs --model", 2),
        (("-m", "MODEL", "--threshold", "nan"), "--threshold must be a number, got nan", 2),
        (("--window-output", "w.csv"), "--window-output needs --window", 2),
        (("--window", "0"), "--window", 2),
        (("--window", "5", "--window-output", "w.xyz"), "--window-output expects a file that ends in .csv", 2),
        (("--plot", "w.xyz"), "--plot expects a file that ends in .png", 2),
        (("--decimal", "x"), "--decimal must be . or ,", 2),
        (("--delay", "-1"), "--delay", 2),
        (("--delay", "soon"), "there is no column 'soon'", 1),
        (("--window", "5", "--window-output", "no/such/folder/w.csv"), "cannot be written", 1),
        (("--encoding", "bins"), "--encoding must be table or plain, got 'bins'.", 2),
        (("--encoding", "table", "--scale"), "--scale cannot be combined with --encoding table", 2),
        (("--encoding", "table", "--bits", "5"), "--bits cannot be combined with --encoding table", 2),
        (("-m", "MODEL", "--encoding", "plain"), "--encoding cannot be combined with --model", 2),
        (("--fading", "2"), "--fading must be above 0 and at most 1, got 2.0", 2),
    ],
)
def test_nonsense_is_one_line(run, table, tmp_path, options, told, code):
    model = str(tmp_path / "m")
    run("train", str(table[0]), "--algo", "pater-i", "-m", model, "-q")
    done = run("evaluate", str(table[0]), *(model if option == "MODEL" else option for option in options))
    assert (done.code, told in done.err) == (code, True)
    assert len([line for line in done.err.splitlines() if "drift" not in line]) == 1


def test_a_threshold_is_for_two_classes(run, tmp_path):
    path, model = tmp_path / "t.csv", str(tmp_path / "m")
    path.write_text("a,y\n1,0\n2,1\n3,2\n")
    run("train", str(path), "--algo", "pater-i", "-m", model, "-q")
    for arguments in (("predict", model, str(path)), ("evaluate", str(path), "-m", model)):
        done = run(*arguments, "--threshold", "1")
        assert done.code == 1
        assert "--threshold is for two classes, but the model has 3." in done.err


def test_a_class_that_a_saved_model_does_not_know(run, tmp_path):
    path, model = tmp_path / "t.csv", str(tmp_path / "m")
    path.write_text("a,y\n1,0\n2,1\n")
    run("train", str(path), "--algo", "pater-i", "-m", model, "-q")
    path.write_text("a,y\n1,0\n2,7\n")
    assert run("evaluate", str(path), "-m", model) == (
        1,
        "",
        f"pater: {path}, line 3: the model does not know the class 7; it knows 0, 1. Train it with rows of this class, "
        "or leave them out.\n",
    )


def test_windows_are_not_written_over_the_data(run, table):
    path = str(table[0])
    before = table[0].read_bytes()
    done = run("evaluate", path, "--algo", "pater-i", "--window", "1000", "--window-output", path)
    assert done.code == 1
    assert table[0].read_bytes() == before


def test_costs_by_name(run, table, tmp_path):
    for k, cost in enumerate(
        ["1:50", "false_negative=50,false_positive=1", " false_positive = 1 , false_negative = 50 "]
    ):
        assert (
            run("train", str(table[0]), "--algo", "pater-i", "--cost", cost, "-m", str(tmp_path / str(k)), "-q").code
            == 0
        )
    assert len({load(tmp_path / str(k)).threshold() for k in range(3)}) == 1
    wrong = [
        "false_negative=50",
        "fn=1,fp=2",
        "false_negative=1,false_negative=2",
        "1:2:3",
        "",
        "=,=",
        "false_positive=1,false_negative=x",
    ]
    for cost in wrong:
        done = run("train", str(table[0]), "--cost", cost, "-m", str(tmp_path / "m"))
        assert done.code == 2
        assert "--cost expects two positive numbers" in done.err


def test_fading_reaches_the_counts(run, table, tmp_path):
    for fading in ("1", "0.99"):
        run(
            "train",
            str(table[0]),
            "--algo",
            "so-pater-i",
            "--fading",
            fading,
            "--encoding",
            "plain",
            "-m",
            str(tmp_path / fading),
            "-q",
        )
    whole, last = load(tmp_path / "1").scores(), load(tmp_path / "0.99").scores()
    assert load(tmp_path / "0.99").specs[0].fading == 0.99
    assert last["balanced_accuracy"] < whole["balanced_accuracy"]
