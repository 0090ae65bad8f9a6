"""What predicting and learning one dict costs, against River's own linear classifiers, in one run.

    python benchmarks/river_speed.py [--features 10] [--rows 10000] [--rounds 9] [--wall] [--words]

Every contender predicts each row and then learns from it, as in progressive validation. They are timed in turn, each
from the beginning of the stream in every round, and the best round counts. Labels are noisy: one in ten is positive.
Times are processor times, so that a shared machine shows nearly the same as one that is not; with `--wall` they are
wall-clock times. All contenders run in one thread. The last lines are the same learners used through the estimators,
with a matrix of one row at a time.

With `--words` the dicts are bags of about forty words instead, nearly all with one word never met before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import river
import scipy.sparse as sp
from river import linear_model, preprocessing

import pater
from pater import river as ours

LEARNERS: dict[str, Callable[[], Any]] = {
    "River PAClassifier": linear_model.PAClassifier,
    "River ALMAClassifier": linear_model.ALMAClassifier,
    "River LogisticRegression": linear_model.LogisticRegression,
    "River Perceptron": linear_model.Perceptron,
    "PATER-I": ours.PATERClassifier,
    "PATER-II": lambda: ours.PATERClassifier("II"),
    "wPATER-I": lambda: ours.PATERClassifier(class_weight={False: 0.5}),
    "PATER-I, probability": lambda: ours.PATERClassifier(probability=True),
    "Perceptron": ours.Perceptron,
    "PA-I": ours.PassiveAggressiveClassifier,
    "ALMA": ours.ALMAClassifier,
    "second-order PATER-I, full": ours.SecondOrderPATERClassifier,
    "second-order PATER-II, full": lambda: ours.SecondOrderPATERClassifier("II"),
    "second-order PATER-I, diagonal": lambda: ours.SecondOrderPATERClassifier(covariance="diagonal"),
    "AROW, full": ours.AROWClassifier,
    "SCW-I, full": ours.ConfidenceWeightedClassifier,
    "second-order Perceptron, full": ours.SecondOrderPerceptron,
    "AutoPATER": ours.AutoPATERClassifier,
    "StandardScaler | River PAClassifier": lambda: preprocessing.StandardScaler() | linear_model.PAClassifier(),
    "StandardScaler | PATER-I": lambda: preprocessing.StandardScaler() | ours.PATERClassifier(),
}
SLOW = {"AutoPATER"}  # a twentieth of the rows is enough


class Estimator:
    """An estimator with the interface of a River classifier."""

    def __init__(self, estimator: Any, *, sparse: bool) -> None:
        self.estimator, self.sparse = estimator, sparse

    def row(self, x: dict[str, float]) -> Any:
        values = np.array([list(x.values())])
        return sp.csr_array(values) if self.sparse else values

    def predict_one(self, x: dict[str, float]) -> Any:
        return self.estimator.predict(self.row(x))[0] if hasattr(self.estimator, "_model") else None

    def learn_one(self, x: dict[str, float], y: bool) -> None:
        self.estimator.partial_fit(self.row(x), np.array([y]))


LEARNERS["estimator PATER-I, dense row"] = lambda: Estimator(pater.PATERClassifier(), sparse=False)
LEARNERS["estimator PATER-I, sparse row"] = lambda: Estimator(pater.PATERClassifier(), sparse=True)
SLOW |= {"estimator PATER-I, dense row", "estimator PATER-I, sparse row"}


def stream(n_rows: int, n_features: int) -> list[tuple[dict[str, float], bool]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    score = X @ rng.normal(size=n_features)
    y = score / score.std() + 0.5 * rng.normal(size=n_rows) > 1.43
    names = [f"feature_{j}" for j in range(n_features)]
    return [(dict(zip(names, x, strict=True)), label) for x, label in zip(X.tolist(), y.tolist(), strict=True)]


def bags(n_rows: int) -> list[tuple[dict[str, float], bool]]:
    rng = np.random.default_rng(0)
    found = [np.unique(rng.zipf(1.3, size=80) % 100_000).tolist() for _ in range(n_rows)]
    return [({f"word_{k}": 1.0 for k in words}, sum(words) % 2 == 0) for words in found]


def seconds(
    clock: Callable[[], float], model: Any, rows: list[tuple[dict[str, float], bool]], *, predict: bool, learn: bool
) -> float:
    ask, teach = model.predict_one, model.learn_one
    start = clock()
    if predict and learn:
        for x, y in rows:
            ask(x)
            teach(x, y)
    elif predict:
        for x, _ in rows:
            ask(x)
    else:
        for x, y in rows:
            teach(x, y)
    return clock() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--wall", action="store_true")
    parser.add_argument("--words", action="store_true")
    options = parser.parse_args()
    rows = bags(options.rows) if options.words else stream(options.rows, options.features)
    clock = time.perf_counter if options.wall else time.thread_time
    contenders = LEARNERS
    if options.words:  # for which a full covariance is too expensive, and scaling makes no sense
        contenders = {name: each for name, each in LEARNERS.items() if not {"full", "|", *SLOW} & {*name.split(), name}}
    best: dict[str, list[float]] = {name: [np.inf] * 3 for name in contenders}
    for number in range(options.rounds + 1):  # the first compiles
        for name, make in contenders.items():
            some = rows[: len(rows) // 20] if name in SLOW else rows
            model = make()
            both = seconds(clock, model, some, predict=True, learn=True)
            predicting = seconds(clock, model, some, predict=True, learn=False)
            learning = seconds(clock, make(), some, predict=False, learn=True)
            if number > 0:
                found = [each / len(some) * 1e6 for each in (both, predicting, learning)]
                best[name] = [min(pair) for pair in zip(best[name], found, strict=True)]
    what = "about 40 words" if options.words else f"{options.features} features"
    print(f"River {river.__version__}, dicts of {what}, {options.rows:,} rows, µs a row")
    print(f"{'':38}{'both':>8}{'predict':>9}{'learn':>8}{'× River PA':>12}")
    reference = best["River PAClassifier"][0]
    for name, (both, predicting, learning) in best.items():
        print(f"{name:38}{both:8.2f}{predicting:9.2f}{learning:8.2f}{reference / both:11.2f}×")


if __name__ == "__main__":
    main()
