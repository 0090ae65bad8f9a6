"""The document of a model, scored by the plain Python of the page, gives what `predict` gives."""

from __future__ import annotations

import csv
import json
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, Normalizer, RobustScaler, StandardScaler
from tables_to_export import as_rows, labels, matrix, table

import pater
from pater import stream
from pater.export import ExportError, document, score
from pater.export.numbers import scale_of
from pater.export.score import Scorer
from pater.formats.reading import make_input
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

LEARNERS = [
    pater.ALMAClassifier(),
    pater.AROWClassifier(),
    pater.AROWClassifier(covariance="diagonal"),
    pater.AutoPATERClassifier(),
    pater.AutoPATERClassifier(variants=("I", "II"), weights=(0.1, 0.5)),
    pater.ConfidenceWeightedClassifier(),
    pater.PATERClassifier(),
    pater.PATERClassifier(variant="II", average=True),
    pater.PassiveAggressiveClassifier(average=True),
    pater.Perceptron(),
    pater.SecondOrderPATERClassifier(covariance="diagonal"),
    pater.SecondOrderPATERClassifier(covariance="full", average=True),
    pater.SecondOrderPerceptron(),
    pater.TERClassifier(),
]
TOLERANCE = 1e-12


def scorer_of(model: Any) -> Scorer:
    """The page's scorer, with the document as a file would hold it."""
    return Scorer(json.loads(json.dumps(document(model), allow_nan=False)))


def check(model: Any, X: Any, rows: list[Any]) -> Scorer:
    """Check that the page scores rows as a model scores X."""
    scorer = scorer_of(model)
    margins = [scorer.margins(row) for row in rows]
    told = np.asarray(model.decision_function(X)).reshape(len(rows), -1)
    np.testing.assert_allclose(margins, told, rtol=TOLERANCE, atol=TOLERANCE * np.abs(told).max())
    assert [scorer.label(each) for each in margins] == model.predict(X).tolist()
    if scorer.document["models"][0]["probability"] is not None:
        chances = [scorer.probabilities(each) for each in margins]
        np.testing.assert_allclose(chances, model.predict_proba(X), rtol=TOLERANCE, atol=TOLERANCE)
    else:
        assert not hasattr(model, "predict_proba")
    return scorer


def id_of(model: Any) -> str:
    return f"{type(model).__name__}-{getattr(model, 'covariance', '') or ''}{getattr(model, 'variants', '') or ''}"


@pytest.mark.parametrize("learner", LEARNERS, ids=id_of)
def test_every_learner_of_matrices(learner):
    X, two, three = matrix(300)
    more = {"probability": True} if "probability" in learner.get_params() else {}
    for y in (two, three):
        model = clone(learner).set_params(**more).fit(X, y)
        check(model, X, X.tolist())
        check(model, sparse.csr_array(X), [{j: x for j, x in enumerate(row) if x} for row in X.tolist()])


@pytest.mark.parametrize("point", [{"max_fpr": 0.02}, {"cost": {"false_positive": 1, "false_negative": 20}}])
def test_operating_points(point):
    X, y, _ = matrix(500)
    model = pater.SecondOrderPATERClassifier(operating_point=point).fit(X, y)
    told = check(model, X, X.tolist()).document
    assert told["operating_point"] == point
    assert told["threshold"] == model.threshold_ != 0


@pytest.mark.parametrize("scaler", [StandardScaler(), StandardScaler(with_std=False), RobustScaler(), MaxAbsScaler()])
def test_scalers_in_front(scaler):
    X, y, _ = matrix(400)
    model = OnlinePipeline([("scale", scaler), ("learn", pater.AutoPATERClassifier(probability=True))]).fit(X, y)
    check(model, X, X.tolist())
    check(make_pipeline(scaler, pater.PATERClassifier()).fit(X, y), X, X.tolist())


def test_columns_with_names():
    X, y, _ = matrix(400)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    scorer = check(pater.PATERClassifier().fit(frame, y), frame, frame.to_dict("records"))
    assert scorer.document["input"]["names"] == list("abcdef")
    with pytest.raises(KeyError, match="b"):
        scorer.margins({"a": 1.0})
    with pytest.raises(ValueError, match="has 2 numbers, but the model has 6"):
        scorer.margins([1.0, 2.0])
    with pytest.raises(ValueError, match="too large, or infinite"):
        scorer.margins([1e308 * 10, 0, 0, 0, 0, 0])


def test_what_labels_and_lone_classes_become():
    X, y, _ = matrix(200)
    for answers in (y == "yes", np.where(y == "yes", 3, -7), np.where(y == "yes", 1.0, 2.0), y.astype(object)):
        check(pater.PATERClassifier().fit(X, answers), X, X.tolist())
    alone = pater.PATERClassifier(probability=True).partial_fit(X, np.full(200, "no"))
    assert check(alone, X, X.tolist()).document["classes"] == ["no"]


# Tables, in Python.


SETTINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "all crossed": {"interactions": "all", "min_count": 2},
    "few categories": {
        "max_categories": 10,
        "buckets": 5,
        "interactions": [("country", "amount"), ("country", "born")],
    },
    "fine bins": {"resolution": "fine", "clip": 1.5, "interactions": [("country", "code"), ("flag", "seen")]},
    "no bins": {"resolution": "none", "word_buckets": 16, "max_categories": 0},
    "coarse bins": {
        "resolution": "coarse",
        "cross_buckets": 7,
        "interactions": [("amount", "seen"), ("items", "flag")],
    },
}


@pytest.mark.first_quick
@pytest.mark.parametrize("name", SETTINGS)
def test_every_kind_of_column(name):
    first, new = table(1050), table(90, seed=9)
    new.loc[::17, "country"], new.loc[5::17, "country"], new.loc[::13, "code"] = "new", "other new", "NA"
    new.loc[:3, "amount"] = [1e300, -5.0, 0.0, 1e-300]
    for three in (False, True) if name == "as it is" else (True,):
        learner = pater.SecondOrderPATERClassifier(covariance="diagonal", probability=True)
        model = OnlinePipeline([("table", TableEncoder(**SETTINGS[name])), ("learn", learner)])
        model.partial_fit(first, labels(first, three=three))
        kinds = model.named_steps["table"].kinds_
        assert set(kinds.values()) == {"number", "date", "category", "text", "id"}
        scorer = check(model, new, as_rows(new))
        assert [column["name"] for column in scorer.document["input"]["columns"]] == list(kinds)
        assert bool(scorer.document["input"]["crosses"]) == ("interactions" in SETTINGS[name])


def test_values_as_they_are_written_in_other_ways():
    first = table(1050)
    model = OnlinePipeline([("table", TableEncoder(max_categories=20)), ("learn", pater.PATERClassifier())])
    model.partial_fit(first, labels(first, three=False))
    odd: list[Any] = [
        *(
            "",
            " ",
            "?",
            "NA",
            "null",
            "True",
            "FALSE",
            " true ",
            "inf",
            "-inf",
            "nan",
            "1_000",
            "12",
            "12.0",
            "+3",
            " 4",
        ),
        *("1,000", "1.000,5", "$3", "3 €", "٣", "2024-05-06", "2024-05-06T07:08:09Z", "2024-05-06 07:08:09.25+02:00"),
        *(
            "0001-01-01",
            "9999-12-31",
            "x" * 199,
            "x" * 200,
            "é" * 201,
            "x" * 1000,
            "word " * 1200,
            "c1",
            "C1",
            "c 1",
            "\ud800",
        ),
        *(0, 1, -3.5, 1e16, 1e17, 123456789012, 1e300, -(2**62), True, False, None, float("nan"), float("inf")),
        *(datetime(2024, 2, 29, 23, 59, 59, 999999), date(1899, 12, 31)),
    ]
    rows = [dict.fromkeys(first, value) for value in odd] + [{}, {"amount": 3.0, "not there": 1}]
    scorer = scorer_of(model)
    for row in rows:
        told = model.decision_function([row])[0]
        assert scorer.margins(row)[0] == pytest.approx(told, rel=TOLERANCE, abs=TOLERANCE), row


def test_of_rows_that_are_held_back_as_if_the_stream_ended_here():
    first = table(300)
    model = OnlinePipeline([("table", TableEncoder()), ("learn", pater.PATERClassifier())])
    model.partial_fit(first, labels(first, three=False))
    check(model, first, as_rows(first))


# Files.


class Said:
    """A learner of files with the interface of an estimator: X is the path of a file to predict."""

    def __init__(self, path: Any) -> None:
        self.learner = stream.load(path)

    def decision_function(self, path):
        learner = self.learner
        read = {"columns": learner.columns, "labelled": False, "keep_missing": learner.scale, "features": 1 << 30}
        return np.concatenate([learner.margins(batch) for batch in make_input(path, **read).batches()])

    def predict(self, path):
        return self.learner.labels(self.decision_function(path))

    def __getattr__(self, name):
        if name == "predict_proba" and self.learner.specs[0].calibrate:
            return lambda path: self.learner.probabilities(self.decision_function(path))
        raise AttributeError(name)


def check_file(tmp_path, text, ending, new, rows, **options):
    """Check that the page scores rows as a model trained on a file scores another file with these rows."""
    path, model, unseen = tmp_path / f"rows.{ending}", tmp_path / "rows.pater", tmp_path / f"new.{ending}"
    path.write_text(text)
    unseen.write_text(new)
    stream.train(path, model=model, **{"algo": "pater-i", **options})
    said = Said(model)
    scorer = Scorer(json.loads(json.dumps(document(said.learner), allow_nan=False)))
    margins = [scorer.margins(row) for row in rows]
    told = said.decision_function(unseen)
    np.testing.assert_allclose(margins, told, rtol=TOLERANCE, atol=TOLERANCE * np.abs(told).max())
    assert [scorer.label(each) for each in margins] == said.predict(unseen).tolist()
    if options.get("probability"):
        chances = [scorer.probabilities(each) for each in margins]
        np.testing.assert_allclose(chances, said.learner.probabilities(told), rtol=TOLERANCE, atol=TOLERANCE)
    return scorer.document


def gaps(x: float, share: float, rng: Any) -> float | None:
    return None if rng.random() < share else round(x, 4)


@pytest.mark.parametrize("scale", [False, True])
def test_rows_of_indices(tmp_path, scale):
    X, y, _ = matrix(500)
    lines = [
        f"{int(label == 'yes')} " + " ".join(f"{3 * j}:{x!r}" for j, x in enumerate(row) if x)
        for row, label in zip(X.tolist(), y.tolist(), strict=True)
    ]
    rows = [{3 * j: x for j, x in enumerate(row) if x} | {99: 1.0} for row in X[:100].tolist()]
    new = "\n".join(line[2:] + " 99:1" for line in lines[:100])
    told = check_file(tmp_path, "\n".join(lines), "svm", new, rows, scale=scale, probability=True)
    assert told["input"]["others"] == "ignored"
    assert (told["input"]["deviations"] is not None) == scale
    assert told["input"]["means"] is None


@pytest.mark.parametrize("scale", [False, True])
def test_plain_columns_of_a_table(tmp_path, scale):
    X, y, three = matrix(500)
    rng = np.random.default_rng(0)
    rows = [{name: gaps(x, 0.1, rng) for name, x in zip("abcdef", row, strict=True)} | {"g": 5.0} for row in X.tolist()]
    lines = [",".join("" if x is None else repr(x) for x in row.values()) for row in rows]
    for answers in (y, three):
        text = "\n".join(
            ["a,b,c,d,e,f,g,label", *(f"{line},{label}" for line, label in zip(lines, answers, strict=True))]
        )
        new = "\n".join(["a,b,c,d,e,f,g", *lines[:100]])
        options = {"scale": scale, "encoding": "plain", "algo": "auto", "probability": True}
        told = check_file(tmp_path, text, "csv", new, rows[:100], **options)
        assert told["input"]["names"] == list("abcdefg")
        assert (told["input"]["means"] is not None) == scale
        assert (6 in told["input"]["columns"]) is not scale  # as it does not vary


@pytest.mark.parametrize("scale", [False, True])
def test_hashed_columns_of_a_table(tmp_path, scale):
    frame = table(600)[["amount", "items", "country", "note"]]
    text = frame.assign(label=labels(table(600), three=False)).to_csv(index=False)
    new = table(100, seed=3)[["amount", "items", "country", "note"]]
    options = {"scale": scale, "encoding": "plain", "bits": 10}
    told = check_file(tmp_path, text, "csv", new.to_csv(index=False), as_rows(new), **options)
    assert told["input"]["bits"] == 10
    assert told["input"]["table"][2] == {"name": "country", "kind": "category"}


def test_numbers_in_a_hashed_column_of_texts(tmp_path):
    lines = [{"code": code, "label": int(code in (7, "x"))} for code in ([7, "x", 2.5, "y"] * 50)]
    new = [{"code": code} for code in (7, 7.0, "7", 2.5, "2.5", "x", True, 1e3, "1000", None)]
    text, rows = ("".join(json.dumps(line) + "\n" for line in each) for each in (lines, new))
    told = check_file(tmp_path, text, "jsonl", rows, new, encoding="plain", label="label")
    assert told["input"]["kind"] == "hashed"


@pytest.mark.parametrize("scale", [False, True])
def test_hashed_names(tmp_path, scale):
    rng = np.random.default_rng(0)
    lines, rows = [], []
    for k in range(400):
        words = sorted({f"w{j}é" for j in rng.integers(0, 40, 5)})
        x = round(float(rng.normal()), 3)
        lines.append(
            f"{int('w3é' in words)} 'tag{k} |text:2 {' '.join(words)} |{' '.join('abcdefg'[: k % 7])} |n size:{x}"
        )
        rows.append({**{f"text^{word}": 2.0 for word in words}, "n^size": x})
        if k % 7:  # the first word after the bar is the namespace
            rows[-1] |= {f"a^{letter}": 1.0 for letter in "bcdefg"[: k % 7 - 1]}
    told = check_file(tmp_path, "\n".join(lines), "vw", "\n".join(lines[:100]), rows[:100], scale=scale, bits=12)
    assert told["input"]["kind"] == "hashed"
    assert told["input"]["table"] is None


@pytest.mark.first_quick
@pytest.mark.parametrize("algo", ["pater-i", "auto"])
def test_encoded_tables_of_files(tmp_path, algo):
    frame, new = table(1050), table(100, seed=3)
    text = frame.assign(label=labels(frame, three=False)).to_csv(index=False)
    written = new.to_csv(index=False)
    rows = [
        {name: None if value == "" else value for name, value in row.items()}
        for row in csv.DictReader(written.splitlines())
    ]
    options = {"algo": algo, "probability": True, "interactions": [("country", "amount")]}
    options |= {"operating_point": {"max_fpr": 0.05}} if algo == "auto" else {}
    told = check_file(tmp_path, text, "csv", written, rows, **options)
    assert (told["threshold"] != 0) == (algo == "auto")


# What cannot be exported.


def test_what_cannot_be_exported_is_said():
    X, y, _ = matrix(100)
    with pytest.raises(ExportError, match="Normalizer in front of the classifier cannot be exported"):
        document(make_pipeline(Normalizer(), pater.Perceptron()).fit(X, y))
    step = MaxAbsScaler().fit(X)
    step.clip = True  # which not every version of scikit-learn has
    with pytest.raises(ExportError, match="MaxAbsScaler with clip=True cannot be exported"):
        scale_of(step)
    with pytest.raises(ExportError, match="3 steps"):
        document(make_pipeline(StandardScaler(), StandardScaler(), pater.Perceptron()).fit(X, y))
    with pytest.raises(ExportError, match="ends with a StandardScaler"):
        document(make_pipeline(StandardScaler()).fit(X, y))
    with pytest.raises(ExportError, match="a dict cannot be exported: give a fitted estimator of pater"):
        document({})
    of_river = type("Perceptron", (), {"__module__": "pater.river.learners"})()
    with pytest.raises(ExportError, match=r"document\(pater.river.from_river\(model\)\)"):
        document(of_river)
    with pytest.raises(NotFittedError):
        document(pater.Perceptron())
    with pytest.raises(NotFittedError):
        document(OnlinePipeline([("scale", StandardScaler()), ("learn", pater.Perceptron())]))
    with pytest.raises(NotFittedError):
        document(OnlinePipeline([("table", TableEncoder()), ("learn", pater.Perceptron())]))
    with pytest.raises(ExportError, match="nothing has been learned"):
        document(stream.Learner(specs=()))


def test_weights_that_are_no_numbers_are_refused():
    X, y, _ = matrix(100)
    model = pater.TERClassifier().fit(X, y)
    model._model.state.vectors[...] = np.inf
    with pytest.raises(ExportError, match="so large that its weights are not finite"):
        document(model)


def test_another_form_is_refused():
    X, y, _ = matrix(100)
    with pytest.raises(ValueError, match="has form 2"):
        Scorer({**document(pater.Perceptron().fit(X, y)), "form": 2})


def test_the_page_in_the_docs_is_the_module():
    page = Path(__file__).resolve().parents[2] / "docs" / "export.md"
    assert f"```python\n{Path(score.__file__).read_text()}```" in page.read_text()
