"""Predictions against labels that came later: counted as by hand, and the same after any interruption."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, brier_score_loss, log_loss

from pater.serve.quality import quality as module
from pater.serve.quality.quality import Answers, Quality


def stream(n=6_000, seed=0, classes=("bad", "good"), change=None):
    """Answers with margins, probabilities and mistakes; from `change` on, there are many more mistakes."""
    random = np.random.default_rng(seed)
    labels = random.choice(len(classes), n, p=[0.9, 0.1] if len(classes) == 2 else None)
    margins = random.normal(size=n) + np.where(labels == 1, 1.5, -1.5)
    if change is not None:
        margins[change:] *= random.choice([-1, 1], n - change)
    said = (margins >= 0).astype(int) if len(classes) == 2 else np.where(random.random(n) < 0.7, labels, 0)
    p = 1 / (1 + np.exp(-2 * margins))
    named = [classes[k] for k in labels], [classes[k] for k in said]
    two = len(classes) == 2
    by_class = [{str(c): 1.0 / len(classes) for c in classes} for _ in range(n)]
    times = (1e9 + np.arange(n) * 0.5).tolist()
    return Answers(times, *named, margins.tolist() if two else [None] * n, p.tolist() if two else by_class, classes)


def part(answers, start, stop):
    return Answers(*(each[start:stop] for each in answers[:5]), answers.classes)


def test_scores_are_those_of_a_plain_count():
    answers = stream()
    quality = Quality()
    quality.add(answers)
    y, said, p = (np.array(each) for each in (answers.labels, answers.decisions, answers.probabilities))
    told = quality.told(quality.total)
    assert told["rows"] == 6_000
    assert told["accuracy"] == pytest.approx((y == said).mean())
    assert told["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, said))
    assert told["fpr"] == pytest.approx((said[y == "bad"] == "good").mean())
    assert told["fnr"] == pytest.approx((said[y == "good"] == "bad").mean())
    assert told["brier"] == pytest.approx(brier_score_loss(y == "good", p))
    assert told["log_loss"] == pytest.approx(log_loss(y == "good", p))
    assert told["positive"] == pytest.approx((y == "good").mean())
    assert {each["class"]: each["rows"] for each in told["of_class"]} == {
        "bad": (y == "bad").sum(),
        "good": (y == "good").sum(),
    }


def test_windows_hold_so_many_rows_each_and_recent_is_never_short():
    answers = stream()
    quality = Quality(window=1_000)
    quality.add(part(answers, 0, 2_300))
    assert [window.rows for window in quality.windows] == [1_000, 1_000]
    y, said = np.array(answers.labels), np.array(answers.decisions)
    second = quality.told(quality.windows[1])
    assert second["accuracy"] == (y == said)[1_000:2_000].mean()
    assert (second["start"], second["end"]) == (answers.times[1_000], answers.times[1_999])
    assert quality.told(quality.recent())["accuracy"] == pytest.approx((y == said)[1_000:2_300].mean())


def test_more_than_two_classes_are_means_over_the_classes():
    answers = stream(classes=(3, 5, 9))
    quality = Quality()
    quality.add(answers)
    y, said = np.array(answers.labels), np.array(answers.decisions)
    told = quality.told(quality.total)
    assert told["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, said))
    assert told["fpr"] == pytest.approx(np.mean([(said[y != c] == c).mean() for c in (3, 5, 9)]))
    assert told["fnr"] == pytest.approx(np.mean([(said[y == c] != c).mean() for c in (3, 5, 9)]))
    assert told["brier"] == pytest.approx(((2 / 3) ** 2 + 2 * (1 / 3) ** 2) / 3)
    assert told["positive"] is None
    assert quality.margins.seen == (0, 0)


@pytest.mark.parametrize("classes", [("bad", "good"), (0, 1), (3, 5, 9)])
def test_it_goes_on_from_its_json_wherever_it_is_cut(classes):
    answers = stream(n=9_000, classes=classes, change=5_000)
    whole = Quality(window=100)
    whole.add(answers)
    random, cut, start = np.random.default_rng(2), Quality(window=100), 0
    while start < 9_000:
        stop = start + int(random.choice([1, 2, 30, 700]))
        cut.add(part(answers, start, stop))
        cut, start = Quality.from_json(json.loads(json.dumps(cut.to_json()))), stop
    assert json.dumps(cut.to_json()) == json.dumps(whole.to_json())
    assert whole.n_alarms == len(whole.alarms) > 0 or len(classes) > 2


def test_what_is_judged_later_does_not_change_what_was_written():
    answers, quality = stream(n=9_000, change=5_000), Quality(window=100)
    quality.add(part(answers, 0, 6_000))
    told = quality.to_json()
    before = json.dumps(told)
    quality.add(part(answers, 6_000, 9_000))
    quality.swapped([7, 8])
    assert json.dumps(told) == before


def test_an_alarm_has_the_time_of_its_row():
    answers = stream(n=12_000, change=7_000)
    quality = Quality()
    for start in range(0, 12_000, 500):
        quality.add(part(answers, start, start + 500))
    first = quality.alarms[0]
    assert 7_000 < first["row"] < 9_000
    assert first["time"] == answers.times[first["row"] - 1]
    assert [alarm.row for alarm in quality.alarms_after(0)] == [each["row"] for each in quality.alarms]
    assert quality.alarms_after(quality.n_alarms) == []
    assert "mean error rate" in str(quality.alarms_after(quality.n_alarms - 1)[0])


def test_what_was_not_answered_is_counted_apart():
    quality = Quality()
    quality.add(Answers([1.0, 2.0], [0, 1], [None, 1], [None, 0.5], [None, 0.7], (0, 1)))
    assert (quality.rows, quality.unanswered) == (1, 1)
    told = quality.told(quality.total)
    assert (told["accuracy"], told["fnr"], told["fpr"]) == (1.0, 0.0, None)  # there was no negative


def test_nothing_judged_is_no_zero():
    told = Quality().told(Quality().total)
    assert told["rows"] == 0
    assert {told[name] for name in ("accuracy", "balanced_accuracy", "fpr", "fnr", "brier", "start")} == {None}


def test_a_label_that_the_model_does_not_know_is_a_mistake_without_a_margin():
    quality = Quality()
    quality.add(Answers([1.0], ["new"], ["a"], [-1.0], [0.2], ("a", "b")))
    assert quality.margins.seen == (0, 0)
    told = quality.told(quality.total)
    assert (told["accuracy"], told["brier"]) == (0.0, None)


def test_margins_that_are_none_or_no_numbers_are_not_counted():
    quality = Quality()
    quality.add(Answers([1.0] * 3, [0, 1, 1], [0, 1, 1], [None, float("inf"), 2.0], [None] * 3, (0, 1)))
    assert quality.margins.seen == (0, 1)


def test_a_swap_forgets_margins_and_nothing_else():
    quality = Quality()
    quality.add(stream())
    before = quality.told(quality.total)
    quality.swapped()
    assert quality.margins.seen == (0, 0)
    assert quality.told(quality.total) == before


def test_old_answers_whose_labels_come_late_do_not_take_classes_away():
    quality = Quality()
    quality.add(Answers([1.0] * 2, [0, 1], [1, 1], [0.5, 0.5], [None] * 2, [0, 1]))
    quality.add(Answers([1.0], [0], [0], [None], [None], [0]))  # predicted when there was one class
    quality.add(Answers([1.0], [0], [None], [None], [None], []))  # and before there was any
    assert quality.classes == [0, 1]
    assert quality.told(quality.total)["fpr"] == 0.5
    quality.swapped([0, 2])
    quality.add(Answers([1.0], [1], [1], [None], [0.9], [0, 1]))  # predicted by the previous model
    assert quality.classes == [0, 2]
    quality.add(Answers([1.0], [2], [2], [0.3], [0.9], [0, 2]))
    assert quality.margins.seen == (0, 1)
    quality.add(Answers([1.0], [2], [2], [None], [None], [0, 2, 3]))
    assert quality.classes == [0, 2, 3]


@pytest.mark.slow
def test_old_windows_are_put_together_and_memory_stays(monkeypatch):
    monkeypatch.setattr(module, "MOST_WINDOWS", 20)
    answers, quality = stream(n=500), Quality(window=10)
    tracemalloc.start()
    for k in range(30):
        quality.add(answers)
        if k == 10:
            used = tracemalloc.get_traced_memory()[0]
    grown = tracemalloc.get_traced_memory()[0] - used
    tracemalloc.stop()
    assert grown < 50_000
    assert len(quality.windows) <= 20
    assert sum(window.rows for window in quality.windows) + quality.window.rows == quality.rows == 15_000
    assert quality.windows[-1].rows == 10
    assert len(json.dumps(quality.to_json())) < 60_000
    right = sum(three[2] for window in [*quality.windows, quality.window] for three in window.classes.values())
    assert right == sum(three[2] for three in quality.total.classes.values())
