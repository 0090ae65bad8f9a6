"""Rows held back for an encoder: refused at once if they are wrong, and included in predictions at a bearable cost."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import SGDClassifier

from pater import AROWClassifier, AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier, TERClassifier
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline

rng = np.random.default_rng(3)
N = 300
D = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc")).assign(country=rng.choice(["x", "y", "z"], N))
Y = (D["a"] + rng.normal(size=N) > 1).to_numpy().astype(int)


def pipe(learner: Any = None, warm_up: int = 1000) -> OnlinePipeline:
    return OnlinePipeline(
        [("e", TableEncoder(warm_up=warm_up)), ("l", PATERClassifier() if learner is None else learner)]
    )


def margins(model: OnlinePipeline) -> bytes:
    return bytes(np.asarray(model.decision_function(D)).tobytes())


WRONG: list[tuple[Any, Any, dict[str, Any]]] = [
    (PATERClassifier(), Y[:100], {"sample_weight": np.full(100, -1.0)}),
    (PATERClassifier(), Y[:100], {"sample_weight": np.where(np.arange(100) == 7, np.nan, np.arange(100))}),
    (PATERClassifier(), Y[:100], {"sample_weight": np.ones(99)}),
    (PATERClassifier(), Y[:100] + 7, {"classes": [0, 1]}),
    (PATERClassifier(), Y[:100], {"classes": [1]}),
    (PATERClassifier(), np.where(Y[:100], "no", "one"), {}),
    (PATERClassifier(class_weight={9: 1.0}), Y[:100], {"classes": [0, 1]}),
    (PATERClassifier(operating_point={"max_fpr": 0.1}), np.arange(100) % 4, {}),
    (AutoPATERClassifier(scoring="foo"), Y[:100], {}),
    (PATERClassifier(n_passes=0), Y[:100], {}),
    (TERClassifier(ridge=-1.0), Y[:100], {}),
    (TERClassifier(), np.where(Y[:100], "no", "one"), {}),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_the_call_that_is_wrong_fails_as_the_learner_would(case: int, unchanged_by: Any) -> None:
    learner, y, more = WRONG[case]
    model, alone = pipe(learner), copy.deepcopy(learner)
    sound = "'foo'" not in str(learner) and "n_passes=0" not in str(learner) and "-1.0" not in str(learner)
    if sound and "class_weight" not in str(learner):
        model.partial_fit(D[100:200], Y[100:200])
        alone.partial_fit(D[100:200][["a"]].to_numpy(), Y[100:200])
    told = unchanged_by(model, lambda: model.partial_fit(D[:100], y, **more))
    assert told == unchanged_by(alone, lambda: alone.partial_fit(D[:100][["a"]].to_numpy(), y, **more))
    if sound:  # and is as good as before
        model.set_params(l__class_weight=None).partial_fit(D, Y)
        assert model.predict(D).size == N


def test_labels_of_a_learner_that_is_not_ours(unchanged_by: Any) -> None:
    model = pipe(SGDClassifier(random_state=0), 250).partial_fit(D[:100], Y[:100], classes=[0, 1])
    for y in (Y[:100] + 7, np.where(Y[:100], "no", "one")):
        unchanged_by(model, lambda y=y: model.partial_fit(D[:100], y))
    assert model.partial_fit(D[100:], Y[100:]).classes_.tolist() == [0, 1]


@pytest.mark.first_quick
@pytest.mark.parametrize(
    "learner", [PATERClassifier(), AROWClassifier(), SecondOrderPATERClassifier(), AutoPATERClassifier()]
)
def test_calls_of_a_row_leave_no_trace_and_are_learned_together(learner: Any, monkeypatch: Any) -> None:
    """With or without weights, and in any spelling of a label."""
    calls = []
    learn = type(learner).partial_fit

    def counted(self: Any, X: Any, *more: Any, **others: Any) -> Any:
        calls.append(X.shape[0])
        return learn(self, X, *more, **others)

    monkeypatch.setattr(type(learner), "partial_fit", counted)
    whole, rows = (pipe(copy.deepcopy(learner), 150) for _ in range(2))
    whole.partial_fit(D[:130], Y[:130])
    want, calls[:] = margins(whole), []
    for k in range(130):
        y = Y[k : k + 1].astype([int, bool, object][k % 3] if k > 60 else int)
        rows.partial_fit(D[k : k + 1], y, **({"sample_weight": [1.0]} if k % 2 else {}))
        if k % 40 == 5:
            rows.predict(D[:2])
    rows.predict(D[:2])
    assert margins(rows) == want
    assert calls == [6, 46, 86, 126, 130]
    for model in (whole, rows):
        model.partial_fit(D[130:], Y[130:])
    assert margins(rows) == margins(whole)
    assert calls[5:] == [150, 150] * 2
    assert rows.classes_.dtype == whole.classes_.dtype


def test_columns_of_many_kinds_held_row_by_row() -> None:
    cells: list[Any] = [1, 2.5, "3", "x", None, "2024-01-01", "1e3", "", "n/a", -0.0, "0"]
    table = pd.DataFrame({"m": rng.choice(np.array(cells, object), N), "when": pd.Timestamp("2024-01-01")})
    table["when"] += pd.to_timedelta(rng.integers(0, 1000, N), unit="h")
    table["n"] = rng.normal(size=N)
    whole, rows, encoder = pipe(), pipe(), TableEncoder(warm_up=1000)
    whole.partial_fit(table, Y)
    for k in range(N):
        rows.partial_fit(table[k : k + 1], Y[k : k + 1])
        encoder.partial_fit_transform(table[k : k + 1].to_dict("records"), [k])
        if k % 50 == 3:
            rows.predict(table[:1])
    assert rows.decision_function(table).tobytes() == whole.decision_function(table).tobytes()
    ((held, places),) = encoder.held_back()
    assert places.tolist() == list(range(N))
    assert held.toarray().tobytes() == whole.named_steps["e"].transform(table).toarray().tobytes()


def test_parameters_count_at_once() -> None:
    model = pipe().partial_fit(D, Y)
    before = model.predict(D)
    for change in (
        {"l__operating_point": {"max_fpr": 0.01}},
        {"l__operating_point": None, "l__class_weight": {1: 9.0}},
    ):
        model.set_params(**change)
        want = pipe(copy.deepcopy(model.steps[1][1])).partial_fit(D, Y)
        assert margins(model) == margins(want)
        assert model.predict(D).tolist() == want.predict(D).tolist() != before.tolist()
    model.steps[1][1].class_weight[1] = 0.5
    assert margins(model) != margins(want)
    model.steps[1][1].set_params(probability=True, class_weight=None)
    assert model.predict_proba(D).shape == (N, 2)
    model.set_params(e__resolution="none")
    assert model.named_steps["l"].coef_.shape[1] < 9
    model.set_params(l=AROWClassifier())
    assert isinstance(model.named_steps["l"], AROWClassifier)
    assert model.named_steps["l"] is model.named_steps["l"]


@pytest.mark.parametrize("n", [200, 300])
def test_copies_learn_by_themselves(n: int) -> None:
    """While rows are held back, and afterwards."""
    model = pipe(warm_up=250).partial_fit(D[:n], Y[:n])
    before = margins(model)
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert margins(other) == before
        other.partial_fit(D.assign(country="new"), 1 - Y)
        other.steps[-1][1].set_params(variant="II")
        assert margins(other) != before
    assert margins(model) == before
    want = pipe(warm_up=250).partial_fit(D[:n], Y[:n]).partial_fit(D, Y)
    assert margins(model.partial_fit(D, Y)) == margins(want)
