"""Predictions of onnxruntime against those of the models: every learner, every available data set of the study.

    PATER_DATA=folder python benchmarks/onnx_answers.py

Each learner learns from the first half of a set, scaled, and both predict the second half. Printed are the number of
predicted rows, how many labels differ, and by how much margins differ, in units of the largest margin or of 1, if that
is larger. A nonzero exit code means that a label differs, or a margin by more than 1e-12.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import onnxruntime
from scipy.sparse import issparse
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from pater.data.loading import available, load
from pater.estimators.load import ESTIMATORS
from pater.onnx import feed, to_onnx
from pater.stream import OnlinePipeline

WIDE = 1000  # columns from which the covariance is diagonal


def learner(name, width):
    diagonal = {"covariance": "diagonal"} if width > WIDE and "covariance" in ESTIMATORS[name]().get_params() else {}
    return ESTIMATORS[name](**diagonal, **({} if name == "TERClassifier" else {"probability": True}))


def differences(model, X, *, sparse):
    runner = onnxruntime.InferenceSession(to_onnx(model, sparse=sparse).SerializeToString())
    label, margin = runner.run(["label", "margin"], feed(model, X, sparse=sparse))
    wanted = model.decision_function(X)
    return int((label != model.predict(X)).sum()), float(np.abs(margin - wanted).max() / max(1.0, np.abs(wanted).max()))


def main() -> int:
    warnings.simplefilter("ignore")
    keys, asked, wrong, worst = available(), 0, 0, 0.0
    for key in keys:
        data, start = load(key), time.perf_counter()
        half, sparse = len(data.y) // 2, issparse(data.X)
        order = np.random.default_rng(0).permutation(len(data.y))
        X, y = data.X[order], data.y[order]
        others, largest = 0, 0.0
        for name in ESTIMATORS:
            if name == "TERClassifier" and X.shape[1] > WIDE:
                continue
            model = OnlinePipeline(
                [("scale", MaxAbsScaler() if sparse else StandardScaler()), ("learn", learner(name, X.shape[1]))]
            )
            found, difference = differences(model.fit(X[:half], y[:half]), X[half:], sparse=sparse)
            others, largest, asked = others + found, max(largest, difference), asked + len(y) - half
        told = f"{key:14} {len(y) - half:8,} rows  {others} labels  {largest:.1e}"
        print(f"{told}  {time.perf_counter() - start:5.1f} s", flush=True)
        wrong, worst = wrong + others, max(worst, largest)
    print(f"{len(keys)} sets, {asked:,} answers: {wrong} labels differ, margins by {worst:.1e} at most")
    return int(wrong > 0 or worst > 1e-12)


if __name__ == "__main__":
    sys.exit(main())
