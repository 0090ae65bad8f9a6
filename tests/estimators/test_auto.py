"""AutoPATERClassifier, forgetting, probabilities and the plot of progress."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pater import AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier, plot_progress
from pater.models import metrics
from pater.reference import first_order as reference
from pater.stream import OnlinePipeline

BOTH = ("I", "II")  # the paper's wPATER; the pool is in tests/models/test_pool.py
NOT_REPEATABLE = "sample_weight is importance, not repetition: the second time, a model has learned from the first."


@parametrize_with_checks(
    [AutoPATERClassifier(), AutoPATERClassifier(("II",), (0.1,), "cost", fading=0.999)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": NOT_REPEATABLE,
        "check_sample_weight_equivalence_on_sparse_data": NOT_REPEATABLE,
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def rare_events(n=4000, seed=0, d=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.standard_normal(n) > 2.2).astype(int)
    return X, y


def test_it_predicts_with_the_best_setting_under_its_score():
    X, y = rare_events()
    for scoring in metrics.SCORES:
        auto = AutoPATERClassifier(BOTH, scoring=scoring).fit(X, y)
        scores = auto.progressive_scores_
        k = int(np.argmax(scores) if metrics.SCORES[scoring].more_is_better else np.argmin(scores))
        frame = auto.scores_frame()
        assert frame["chosen"].to_numpy().nonzero()[0].tolist() == [k]
        best = auto.best_params_
        assert best == {name: frame[name][k] for name in best}
        alone = PATERClassifier(best["variant"], class_weight={0: best["alpha_neg"], 1: best["alpha_pos"]}).fit(X, y)
        assert_array_equal(auto.coef_, alone.coef_)
        assert_array_equal(auto.predict(X), alone.predict(X))


def test_ties_go_to_the_unweighted_model():
    X = np.array([[1.0], [-1.0]] * 20)
    auto = AutoPATERClassifier(BOTH, scoring="accuracy").fit(X, [1, 0] * 20)
    assert auto.best_params_ == {"variant": "I", "alpha_neg": 1.0, "alpha_pos": 1.0}


def test_cuts_of_the_stream_leave_no_trace_and_pickles_resume():
    X, y = rare_events()
    whole = AutoPATERClassifier(BOTH, probability=True).fit(X, y)
    parts = AutoPATERClassifier(BOTH, probability=True)
    for start in range(0, len(y), 333):
        parts.partial_fit(X[start : start + 333], y[start : start + 333], classes=[0, 1])
        parts = pickle.loads(pickle.dumps(parts))
    assert whole._model.state.scalars.tobytes() == parts._model.state.scalars.tobytes()
    for (rows, counts), (other_rows, other_counts) in zip(
        whole._model.history.points, parts._model.history.points, strict=True
    ):
        assert rows == other_rows
        assert_array_equal(counts, other_counts)


def test_several_classes_choose_their_weights_separately():
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    y = rng.choice(3, 3000, p=[0.8, 0.15, 0.05])
    X = centres[y] + rng.standard_normal((3000, 2))
    auto = AutoPATERClassifier(BOTH, probability=True).fit(X, np.array(["a", "b", "c"])[y])
    assert len(auto.best_params_) == 3
    assert auto.progressive_scores_.shape == (3, 26)
    assert len(auto.scores_frame()) == 3 * 26
    proba = auto.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba >= 0).all()
    plot_progress(auto, label="b")
    with pytest.raises(ValueError, match="label must be one"):
        plot_progress(auto)


def test_a_third_class_keeps_what_the_first_two_have_learned():
    X, y = rare_events(1000)
    auto = AutoPATERClassifier(("I",), (0.1, 0.5)).partial_fit(X, y)
    specs = [spec.alphas for spec in auto._model.specs]
    before = auto._model.state.weights()[0]
    auto._model.add_class(2)
    after = auto._model.state.weights()[0].reshape(3, len(specs), -1)
    assert_array_equal(after[1], before)
    for k, (neg, pos) in enumerate(specs):  # the other side has learned with swapped weights
        assert_array_equal(after[0, k], -before[specs.index((pos, neg))])
    assert not after[2].any()


def test_merging_adds_counts():
    X, y = rare_events()
    a = AutoPATERClassifier(BOTH, discount=False).fit(X[:2000], y[:2000])
    b = AutoPATERClassifier(BOTH, discount=False).fit(X[2000:], y[2000:])
    counted = {name: a._model.state.scalars[name] + b._model.state.scalars[name] for name in ("tp", "fp", "tn", "fn")}
    a.merge(b)
    for name, value in counted.items():
        assert_array_equal(a._model.state.scalars[name], value)
    a.partial_fit(X, y)
    assert a.t_ == 8000


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"variants": ("III",)}, "variants must be one of 'I', 'II'"),
        ({"variants": ()}, "at least one"),
        ({"weights": (0.1, -1.0)}, "weights must be a positive number"),
        ({"variants": ("I",), "weights": ()}, "nothing to choose"),
        ({"scoring": "auc"}, "scoring must be one of"),
        ({"scoring_settings": {"of_false_positive": 2.0}}, "does not use"),
        ({"fading": 0.0}, "fading must be above 0"),
        ({"forgetting": 1.5}, "forgetting must be above 0"),
    ],
)
def test_bad_parameters_say_so(params, message):
    with pytest.raises(ValueError, match=message):
        AutoPATERClassifier(**params).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("variant", ["I", "II"])
@pytest.mark.parametrize("d", [5, 80])
@pytest.mark.parametrize("forgetting", [0.5, 0.99])
def test_forgetting_against_the_reference(variant, d, forgetting, weights):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((800, d)) + 0.3
    y = (X[:, 0] > 0.8).astype(int)
    s = rng.choice([0.0, 1.0, 2.0], 800)
    model = PATERClassifier(variant, forgetting=forgetting, average=True).fit(X, y, s)
    w = reference.pater(np.c_[X, np.ones(800)], 2 * y - 1, variant, s=s, forgetting=forgetting)
    scale = np.abs(w[-1]).max()
    model.average = False
    assert_allclose(weights(model)[0], w[-1], atol=1e-9 * scale)
    model.average = True
    mean = reference.averaged(w, s)
    assert_allclose(weights(model)[0], mean, atol=1e-9 * np.abs(mean).max())


@pytest.mark.parametrize("variant", ["I", "II"])
def test_forgetting_follows_classes_that_swap_halfway(variant):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 4))
    y = (X[:, 0] > 0).astype(int)
    y[10_000:] = 1 - y[10_000:]
    forgets = PATERClassifier(variant, forgetting=0.99).fit(X, y)
    remembers = PATERClassifier(variant).fit(X, y)
    late = slice(15_000, None)
    assert forgets.score(X[late], y[late]) > 0.95 > remembers.score(X[late], y[late])


def test_a_fading_choice_follows_the_drift():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20_000, 3))
    y = (X[:, 0] > np.where(np.arange(20_000) < 10_000, 1.5, -1.5)).astype(int)
    fades = AutoPATERClassifier(BOTH, scoring="accuracy", fading=0.999).fit(X, y)
    keeps = AutoPATERClassifier(BOTH, scoring="accuracy", discount=False).fit(X, y)
    late = slice(15_000, None)
    assert fades.score(X[late], y[late]) >= keeps.score(X[late], y[late])


@pytest.mark.parametrize("variant", ["I", "II"])
def test_probabilities_are_calibrated_on_rows_never_seen(variant):
    X, y = rare_events(40_000)
    model = PATERClassifier(variant, probability=True).fit(X[:20_000], y[:20_000])
    p, truth = model.predict_proba(X[20_000:])[:, 1], y[20_000:]
    log_loss = -np.mean(np.log(np.where(truth == 1, p, 1 - p)))
    rate = truth.mean()
    entropy = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
    assert log_loss < 0.75 * entropy  # it knows much more than the base rate
    order = np.argsort(p)
    gaps = [abs(p[part].mean() - truth[part].mean()) for part in np.array_split(order, 10)]
    assert np.mean(gaps) < 0.03


def test_probabilities_are_off_unless_asked_for():
    X, y = rare_events(100)
    with pytest.raises(AttributeError) as caught:
        PATERClassifier().fit(X, y).predict_proba(X)
    assert "set probability=True" in str(caught.value)
    assert hasattr(PATERClassifier(probability=True), "predict_proba")


def test_the_picture_of_progress():
    import matplotlib as mpl

    mpl.use("Agg")
    X, y = rare_events()
    auto = AutoPATERClassifier(BOTH).fit(X, y)
    ax = plot_progress(auto)
    assert sum(line.get_xdata().size > 0 for line in ax.lines) == 27  # 26 settings, with the chosen one on top
    assert "chosen" in ax.get_legend().get_texts()[0].get_text()
    few = AutoPATERClassifier(BOTH).fit(X[:10], [0, 1] * 5)
    with pytest.raises(ValueError, match="nothing to draw"):
        plot_progress(few)


def test_the_picture_of_a_pipeline_and_of_a_stream_that_begins_with_one_class():
    import matplotlib as mpl

    mpl.use("Agg")
    X, y = rare_events()
    y[:100] = 0
    auto = AutoPATERClassifier(operating_point={"max_fpr": 0.1})
    model = OnlinePipeline([("scale", StandardScaler()), ("learn", auto)]).partial_fit(X, y)
    [line] = plot_progress(model).lines
    assert line.get_xdata()[0] > 100  # before, there was no operating point, and nothing was counted
    assert line.get_ydata().min() > 0
    with pytest.raises(ValueError, match="ends in PATERClassifier, which keeps no scores"):
        plot_progress(OnlinePipeline([("scale", StandardScaler()), ("learn", PATERClassifier())]).partial_fit(X, y))


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "accuracy"])
def test_the_picture_of_a_learner_that_keeps_no_scores(scoring):
    import matplotlib as mpl

    mpl.use("Agg")
    X, y = rare_events()
    learner = SecondOrderPATERClassifier()
    with pytest.raises(
        ValueError, match=r"keeps no scores along the stream: give the rows, plot_progress\(model, X, y\)"
    ):
        plot_progress(learner.fit(X, y))
    [line] = plot_progress(learner, X, y, scoring=scoring).lines
    stream, says = SecondOrderPATERClassifier(), [0]
    for k in range(len(X) - 1):
        stream.partial_fit(X[k : k + 1], y[k : k + 1], classes=[0, 1])
        says.append(int(stream.predict(X[k + 1 : k + 2])[0]))
    right = np.array(says) == y
    right[0] = y[0] == 1  # at 0 it predicts the second class
    rates = [right[y == c].mean() for c in (0, 1)]
    assert line.get_xdata()[-1] == len(X)
    assert line.get_ydata()[-1] == pytest.approx(right.mean() if scoring == "accuracy" else np.mean(rates))


def test_the_picture_of_one_class_among_many():
    import matplotlib as mpl

    mpl.use("Agg")
    X = np.random.default_rng(0).standard_normal((300, 3))
    y = np.argmax(X, axis=1)
    with pytest.raises(ValueError, match=r"label must be one of the classes \[0, 1, 2\]"):
        plot_progress(SecondOrderPATERClassifier(), X, y)
    ax = plot_progress(SecondOrderPATERClassifier(), X, y, label=2)
    assert ax.lines[0].get_ydata()[-1] > 0.8
