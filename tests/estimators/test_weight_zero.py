"""Samples of weight 0 count as absent, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

from pater import (
    ALMAClassifier,
    AROWClassifier,
    AutoPATERClassifier,
    PassiveAggressiveClassifier,
    PATERClassifier,
    SecondOrderPATERClassifier,
)
from pater.files.in_bytes import to_bytes
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

rng = np.random.default_rng(8)
N = 900
X = rng.normal(size=(N, 6))
Y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.5 * rng.normal(size=N), [0.3, 1.5])]
WEIGHTS = rng.choice([0.0, 0.5, 1.0, 3.0], size=N)
KEPT = WEIGHTS > 0
LABELS = np.where(KEPT, Y, "z")  # a class that only rows without weight have
X[~KEPT] *= 1e6
LEARNERS = [
    PATERClassifier(probability=True),
    PATERClassifier("II", average=True),
    PassiveAggressiveClassifier(class_weight="balanced"),
    ALMAClassifier(),
    AROWClassifier(forgetting=0.999),
    SecondOrderPATERClassifier(covariance="diagonal", probability=True),
    AutoPATERClassifier(),
    AutoPATERClassifier(variants=("I",), weights=(0.5, 1.0)),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda each: str(each).partition("\n")[0])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_run_with_them_is_the_run_without(learner: Any, sparse: bool) -> None:
    rows = csr_array(X * (np.abs(X) > 0.5)) if sparse else X
    whole = clone_of(learner).fit(rows, LABELS, sample_weight=WEIGHTS)
    without = clone_of(learner).fit(rows[KEPT], Y[KEPT], sample_weight=WEIGHTS[KEPT])
    assert to_bytes(whole.save) == to_bytes(without.save)
    in_parts, others = clone_of(learner), clone_of(learner)
    for start in range(0, N, 150):
        some = slice(start, start + 150)
        in_parts.partial_fit(rows[some], LABELS[some], sample_weight=WEIGHTS[some])
        others.partial_fit(rows[some][KEPT[some]], Y[some][KEPT[some]], sample_weight=WEIGHTS[some][KEPT[some]])
    assert to_bytes(in_parts.save) == to_bytes(others.save)


def test_shuffled_rows_too() -> None:
    more: dict[str, Any] = {"shuffle": True, "random_state": 1, "n_passes": 3, "operating_point": {"max_fpr": 0.1}}
    two = Y == "a"
    whole = PATERClassifier(**more).fit(X, two, sample_weight=WEIGHTS)
    without = PATERClassifier(**more).fit(X[KEPT], two[KEPT], sample_weight=WEIGHTS[KEPT])
    assert to_bytes(whole.save) == to_bytes(without.save)


def test_rows_of_weight_0_alone_change_nothing() -> None:
    model = PATERClassifier().partial_fit(X[:50][KEPT[:50]], Y[:50][KEPT[:50]])
    before = to_bytes(model.save)
    model.partial_fit(X[:9], np.full(9, "z"), sample_weight=np.zeros(9))
    assert to_bytes(model.save) == before
    nothing = PATERClassifier().partial_fit(X, Y, sample_weight=np.zeros(N))
    with pytest.raises(NotFittedError):
        nothing.predict(X)
    named = PATERClassifier().partial_fit(X, Y, classes=["a", "b", "c"], sample_weight=np.zeros(N))
    assert named.classes_.tolist() == ["a", "b", "c"]
    assert named.t_ == 0


FRAME = pd.DataFrame(X, columns=list("abcdef")).assign(text=np.where(KEPT, rng.choice(["x", "y", "z"], N), "never"))
FORMS = {
    "pandas": lambda rows: FRAME[rows],
    "arrow": lambda rows: pa.Table.from_pandas(FRAME[rows], preserve_index=False),
    "dict": lambda rows: {name: FRAME[name].to_numpy()[rows] for name in FRAME},
    "rows": lambda rows: FRAME[rows].to_dict("records"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("whole", [False, True])
def test_an_encoder_does_not_see_them(form: str, whole: bool) -> None:
    with_them, without = (
        OnlinePipeline([("table", TableEncoder(warm_up=200)), ("model", AROWClassifier(covariance="diagonal"))])
        for _ in range(2)
    )
    take = FORMS[form]
    if whole:
        with_them.fit(take(slice(0, N)), LABELS, sample_weight=WEIGHTS)
        without.fit(take(KEPT), Y[KEPT], sample_weight=WEIGHTS[KEPT])
    else:
        for start in range(0, N, 300):
            some = slice(start, start + 300)
            kept = KEPT & (np.arange(N) >= start) & (np.arange(N) < start + 300)
            with_them.partial_fit(take(some), LABELS[some], sample_weight=WEIGHTS[some])
            without.partial_fit(take(kept), Y[kept], sample_weight=WEIGHTS[kept])
        with_them.partial_fit(take(slice(0, 5)), LABELS[:5], sample_weight=np.zeros(5))
    assert to_bytes(with_them.save) == to_bytes(without.save)


def test_a_scaler_does_not_see_them() -> None:
    with_them, without = (OnlinePipeline([("scale", StandardScaler()), ("model", PATERClassifier())]) for _ in range(2))
    with_them.partial_fit(X, LABELS, sample_weight=WEIGHTS)
    without.partial_fit(X[KEPT], Y[KEPT], sample_weight=WEIGHTS[KEPT])
    assert np.array_equal(with_them.named_steps["scale"].mean_, without.named_steps["scale"].mean_)
    assert np.array_equal(with_them.decision_function(X), without.decision_function(X))


def clone_of(learner: Any) -> Any:
    return type(learner)(**learner.get_params())
