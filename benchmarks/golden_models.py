"""Write the golden model files of a new version of the format, and what they predict for a few rows.

    python benchmarks/golden_models.py tests/files/golden/format-1.7

Run this once for each version, before its release: the files of a released version never change. Names of models after
the folder write only these, beside what is there: with the code of an earlier version on PYTHONPATH, a kind of model
that its folder lacks.
"""

from __future__ import annotations

import argparse
import json
from contextlib import chdir, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp

import pater
from pater import stream
from pater.cli import main as command

ROWS = 120
NAMES = ("amount", "age", "score", "rest")
COST = {"cost": {"false_positive": 1.0, "false_negative": 8.0}}

BINARY: dict[str, Any] = {
    "pater-i": pater.PATERClassifier(),
    "pater-ii-averaged": pater.PATERClassifier("II", average=True),
    "wpater-i-forgetting": pater.PATERClassifier(class_weight={0: 0.5, 1: 1.0}, forgetting=0.99),
    "perceptron": pater.Perceptron(),
    "pa-i": pater.PassiveAggressiveClassifier("PA-I", C=0.5),
    "pa-ii": pater.PassiveAggressiveClassifier("PA-II"),
    "alma": pater.ALMAClassifier(),
    "arow-full": pater.AROWClassifier(),
    "arow-diagonal": pater.AROWClassifier(covariance="diagonal"),
    "cw": pater.ConfidenceWeightedClassifier("CW"),
    "scw-i": pater.ConfidenceWeightedClassifier(),
    "scw-ii": pater.ConfidenceWeightedClassifier("SCW-II"),
    "so-perceptron": pater.SecondOrderPerceptron(),
    "so-pater-i": pater.SecondOrderPATERClassifier(),
    "so-pater-ii-step": pater.SecondOrderPATERClassifier("II", form="step"),
    "so-pater-i-diagonal": pater.SecondOrderPATERClassifier(covariance="diagonal"),
    "auto": pater.AutoPATERClassifier(),
    "wpater": pater.AutoPATERClassifier(("I", "II")),
    "wpater-herd": pater.AutoPATERClassifier(weights=(0.5,)),
    "ter": pater.TERClassifier(),
    "pater-ii-max-fnr": pater.PATERClassifier("II", operating_point={"max_fnr": 0.2}),
    "so-pater-i-max-fpr": pater.SecondOrderPATERClassifier(operating_point={"max_fpr": 0.1}, probability=True),
    "perceptron-cost": pater.Perceptron(average=True, operating_point=COST),
    "wpater-cost": pater.AutoPATERClassifier(weights=(0.5,), operating_point=COST),
    "auto-cost": pater.AutoPATERClassifier(operating_point=COST),
}
SEVERAL: dict[str, Any] = {
    "three-classes": pater.PATERClassifier("II", probability=True),
    "wpater-three-classes": pater.AutoPATERClassifier(weights=(0.5, 1.0)),
    "auto-three-classes": pater.AutoPATERClassifier(probability=True),
    "ter-three-classes": pater.TERClassifier(ridge=0.01, class_weight={"spam": 2.0}),
}
SPARSE = {"wpater-herd"}  # models side by side in memory, and some with class sums in common
TRAINED: dict[str, dict[str, Any]] = {
    "cli-auto-libsvm": {},
    "cli-csv-scaled": {"algo": "pater-i", "scale": True},
    "cli-hashed": {"algo": "arow", "covariance": "diagonal", "bits": 6},
    "cli-names-vw": {"algo": "arow", "covariance": "diagonal", "bits": 6},
    "cli-so-pater": {"algo": "so-pater-i", "probability": True},
    "cli-max-fpr": {"algo": "so-pater-i", "operating_point": {"max_fpr": 0.1}},
    "cli-table": {},
    "cli-table-diagonal": {"covariance": "diagonal"},
    "cli-table-crossed": {"algo": "arow", "covariance": "diagonal", "interactions": [("amount", "age")]},
}
CHECKPOINTS: dict[str, dict[str, Any]] = {
    "cli-checkpoint-libsvm": {"algo": "pater-i", "scale": True, "passes": 2, "on_error": "skip"},
}
BATCHES_LEARNED = 3  # in a checkpoint: both files once, and the first again


class Stopped(Exception):  # noqa: N818 (no error: what stops a run after a checkpoint)
    pass


def as_file(name: str, X: np.ndarray, labels: list[str]) -> tuple[str, str]:
    """The ending and the text of a file of rows: libsvm or Vowpal Wabbit's if the model learns that, else a table."""
    for ending, form, names in ((".svm", "libsvm", range(1, 5)), (".vw", "vw", NAMES)):
        if form in name:
            signs = ["1" if label == "fraud" else "-1" for label in labels]
            bar = " |" if form == "vw" else ""
            rows = (" ".join(f"{j}:{x}" for j, x in zip(names, row, strict=True)) for row in X.tolist())
            return ending, "".join(f"{sign}{bar} {row}\n" for sign, row in zip(signs, rows, strict=True))
    rows = (",".join(map(str, row)) for row in X.tolist())
    lines = [f"{row},{label}\n" for row, label in zip(rows, labels, strict=True)]
    return ".csv", "".join([",".join([*NAMES, "label\n"]), *lines])


def printed(model: Path, name: str, asked: np.ndarray, place: Path) -> str:
    """What `pater predict` prints for these rows."""
    ending, text = as_file(name, asked, ["good"] * len(asked))
    new, out = place / f"new{ending}", place / "out.csv"
    new.write_text(text)
    with suppress(SystemExit):
        command(["predict", str(model), str(new), "--margins", "-o", str(out)])
    return out.read_text()


def stopped(path: Path, name: str, X: np.ndarray, labels: list[str], asked: np.ndarray) -> dict[str, Any]:
    """Write the checkpoint of a run that was stopped; return what it and the finished model say, and what they read."""
    options, half = CHECKPOINTS[name], len(X) // 2
    ending, first = as_file(name, X[:half], labels[:half])
    learned = {f"first{ending}": f"{first}1 1:broken\n", f"second{ending}": as_file(name, X[half:], labels[half:])[1]}
    shown = 0

    def show(_: Any) -> None:
        nonlocal shown
        shown += 1
        if shown > BATCHES_LEARNED:  # before the checkpoint of this one
            raise Stopped

    path = path.resolve()
    with TemporaryDirectory() as place, chdir(place):
        for file, text in learned.items():
            Path(file).write_text(text)
        stream.train(list(learned), model="whole", **options)
        with suppress(Stopped):
            stream.train(list(learned), model="m", checkpoint_every=1, show=show, **options)
        path.write_bytes(Path("m.checkpoint").read_bytes())
        said = {
            each: printed(model, name, asked, Path(place))
            for each, model in (("printed", path), ("finished", Path("whole")))
        }
    return {**said, "learned": learned, "options": options}


def main(folder: Path, only: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(13)
    X, asked = random.normal(size=(ROWS, 4)).round(3), random.normal(size=(5, 4)).round(3)
    y = (X[:, 0] + 0.5 * random.normal(size=ROWS) > 0.8).astype(int)
    kinds = np.array(["ham", "other", "spam"])[y + (X[:, 1] > 0.7)]
    told = folder / "said.json"
    said: dict[str, Any] = json.loads(told.read_text()) if only else {"rows": asked.tolist()}
    assert said["rows"] == asked.tolist()
    for name, model in {**BINARY, **SEVERAL}.items():
        if only and name not in only:
            continue
        path = folder / f"{name}.pater"
        model.fit(sp.csr_array(X) if name in SPARSE else X, kinds if name in SEVERAL else y).save(path)
        again = pater.load(path)
        said[name] = {"labels": again.predict(asked).tolist(), "margins": again.decision_function(asked).tolist()}
        if getattr(again, "operating_point", None) is not None:
            said[name]["threshold"] = again.threshold_
    labels = np.where(y == 1, "fraud", "good").tolist()
    with TemporaryDirectory() as place:
        for name, options in TRAINED.items():
            if only and name not in only:
                continue
            ending, text = as_file(name, X, labels)
            rows = Path(place) / f"rows{ending}"
            rows.write_text(text)
            stream.train(rows, model=folder / f"{name}.pater", **options)
            learner = stream.load(folder / f"{name}.pater")
            learner.sources = [rows.name]
            learner.save(folder / f"{name}.pater")
            said[name] = {"printed": printed(folder / f"{name}.pater", name, asked, Path(place))}
    for name in CHECKPOINTS:
        if not only or name in only:
            said[name] = stopped(folder / f"{name}.pater", name, X, labels, asked)
    told.write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("only", nargs="*")
    given = parser.parse_args()
    main(given.folder, given.only)
