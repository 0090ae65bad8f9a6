"""Parameters that are changed in place are checked as those that `set_params` gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pater import AROWClassifier, AutoPATERClassifier, load

X = np.random.default_rng(0).normal(size=(100, 2))
Y = (X[:, 0] > 0).astype(int)


def refused(learner: Any, said: str) -> None:
    state = learner.t_
    with pytest.raises(ValueError, match=said):
        learner.partial_fit(X, Y)
    assert learner.t_ == state


@pytest.mark.parametrize("more", [{}, {"weights": (0.1, 0.5)}])
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("alpha_pos", -7, "must hold non-negative numbers, got -7"),
        ("foo", 1, "names .'foo'., which 'wter' does not use"),
    ],
)
def test_settings_of_the_score(more: dict[str, Any], name: str, value: float, said: str) -> None:
    settings = {"alpha_neg": 1.0, "alpha_pos": 5.0}
    learner = AutoPATERClassifier(scoring="wter", scoring_settings=settings, **more).partial_fit(X, Y)
    settings[name] = value
    refused(learner, said)


def test_changed_settings_of_the_score_act_as_new_ones(tmp_path: Any) -> None:
    def learner() -> AutoPATERClassifier:
        settings = {"alpha_neg": 1.0, "alpha_pos": 5.0}
        return AutoPATERClassifier(scoring="wter", scoring_settings=settings).partial_fit(X, Y)

    one, other = learner(), learner()
    one.scoring_settings["alpha_pos"] = 1.0
    other.set_params(scoring_settings={"alpha_neg": 1.0, "alpha_pos": 1.0})
    for each in (one, other):
        each.partial_fit(X[::-1], Y[::-1])
        each.save(tmp_path / "model.pater")
        assert load(tmp_path / "model.pater").scoring_settings == {"alpha_neg": 1.0, "alpha_pos": 1.0}
    assert one.progressive_scores_.tolist() == other.progressive_scores_.tolist()
    assert (one.decision_function(X) == other.decision_function(X)).all()


@pytest.mark.parametrize(("name", "given", "more"), [("weights", [0.1, 0.5], 0.9), ("variants", ["I"], "II")])
def test_the_grid(name: str, given: list[Any], more: Any) -> None:
    learner = AutoPATERClassifier(**{name: given}).partial_fit(X, Y)
    given.append(more)
    refused(learner, name)


def test_weights_as_an_array() -> None:
    weights = np.array([0.1, 0.5])
    learner = AutoPATERClassifier(weights=weights).partial_fit(X, Y)
    weights[1] = -1
    refused(learner, "weights")


def test_class_weight_and_operating_point() -> None:
    learner = AROWClassifier(class_weight={0: 1, 1: 2}, operating_point={"max_fpr": 0.1}).partial_fit(X, Y)
    learner.class_weight[1] = -1
    refused(learner, "class_weight")
    learner.class_weight[1] = 2
    learner.operating_point["max_fpr"] = 7
    refused(learner, "operating_point")
