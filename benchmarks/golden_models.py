"""Write the golden model files of a new version of the format, and what they predict for a few rows.

    python benchmarks/golden_models.py tests/files/golden/format-1.6

Run this once for each version, before its release: the files of a released version never change.
"""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

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
TRAINED: dict[str, dict[str, Any]] = {
    "cli-auto-libsvm": {},
    "cli-csv-scaled": {"algo": "pater-i", "scale": True},
    "cli-hashed": {"algo": "arow", "covariance": "diagonal", "bits": 6},
    "cli-so-pater": {"algo": "so-pater-i", "probability": True},
    "cli-max-fpr": {"algo": "so-pater-i", "operating_point": {"max_fpr": 0.1}},
    "cli-table": {},
    "cli-table-diagonal": {"covariance": "diagonal"},
    "cli-table-crossed": {"algo": "arow", "covariance": "diagonal", "interactions": [("amount", "age")]},
}


def as_file(name: str, X: np.ndarray, labels: list[str]) -> tuple[str, str]:
    """The ending and the text of a file of rows: libsvm if the model learns from that, else a table."""
    if "libsvm" in name:
        signs = ["1" if label == "fraud" else "-1" for label in labels]
        rows = (" ".join(f"{j}:{x}" for j, x in enumerate(row, 1)) for row in X.tolist())
        return ".svm", "".join(f"{sign} {row}\n" for sign, row in zip(signs, rows, strict=True))
    rows = (",".join(map(str, row)) for row in X.tolist())
    lines = [f"{row},{label}\n" for row, label in zip(rows, labels, strict=True)]
    return ".csv", "".join([",".join([*NAMES, "label\n"]), *lines])


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(13)
    X, asked = random.normal(size=(ROWS, 4)).round(3), random.normal(size=(5, 4)).round(3)
    y = (X[:, 0] + 0.5 * random.normal(size=ROWS) > 0.8).astype(int)
    kinds = np.array(["ham", "other", "spam"])[y + (X[:, 1] > 0.7)]
    said: dict[str, Any] = {"rows": asked.tolist()}
    for name, model in {**BINARY, **SEVERAL}.items():
        path = folder / f"{name}.pater"
        model.fit(X, kinds if name in SEVERAL else y).save(path)
        again = pater.load(path)
        said[name] = {"labels": again.predict(asked).tolist(), "margins": again.decision_function(asked).tolist()}
        if getattr(again, "operating_point", None) is not None:
            said[name]["threshold"] = again.threshold_
    with TemporaryDirectory() as place:
        for name, options in TRAINED.items():
            ending, text = as_file(name, X, np.where(y == 1, "fraud", "good").tolist())
            rows, new, out = (Path(place) / f"{stem}{ending}" for stem in ("rows", "new", "out"))
            rows.write_text(text)
            new.write_text(as_file(name, asked, ["good"] * len(asked))[1])
            stream.train(rows, model=folder / f"{name}.pater", **options)
            learner = stream.load(folder / f"{name}.pater")
            learner.sources = [rows.name]
            learner.save(folder / f"{name}.pater")
            with suppress(SystemExit):
                command(["predict", str(folder / f"{name}.pater"), str(new), "--margins", "-o", str(out)])
            said[name] = {"printed": out.read_text()}
    (folder / "said.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    main(parser.parse_args().folder)
