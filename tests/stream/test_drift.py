"""ADWIN, compared with River's and with a window that keeps every row; and alarms, true and false."""

from __future__ import annotations

import json
from math import log, sqrt

import numpy as np
import pytest

from pater.formats.batches import Batch
from pater.formats.errors import Skipped
from pater.stream.algorithms import specs_of
from pater.stream.drift import BUCKETS, CLOCK, DELTA, SETTLED, SHORTEST, Adwin, Alarm, DriftWatch
from pater.stream.evaluation import judge_progressively
from pater.stream.learner import Learner
from pater.stream.prediction_quality import Judged, Said


def pieces(seed):
    """Zeros and ones whose mean changes five times."""
    random = np.random.default_rng(seed)
    means = random.random(6)
    return np.concatenate([random.random(random.integers(100, 3000)) < mean for mean in means]).astype(int).tolist()


# Where River 0.26.1 (`river.drift.ADWIN(delta=0.002)`) finds a drift, and how long its window then is. It restarts
# after each.
OF_RIVER = {
    0: [(1631, 608), (3551, 1024), (6079, 64), (9503, 1888)],
    1: [(991, 192), (3423, 112), (6271, 80), (8479, 128), (11231, 2240)],
    2: [(3679, 224), (5119, 128), (6175, 80)],
    3: [(2015, 1760), (3423, 320), (4959, 384), (6783, 256), (7871, 384)],
    4: [(1951, 544), (4415, 192), (4799, 64), (7359, 160), (9151, 320)],
    5: [(3167, 1376), (5247, 1056), (5695, 384), (7039, 192)],
}


def changes(window, values):
    """The changes found for one class."""
    return window.add([0] * len(values), values, 1)


@pytest.mark.parametrize("seed", OF_RIVER)
def test_changes_of_one_class_are_found_where_river_finds_them(seed):
    window, found = Adwin(0.002), []
    for place, _ in changes(window, pieces(seed)):
        found.append((place, window.n))
        window.forget()
    assert found == OF_RIVER[seed]


def plain_adwin(codes, wrong, n_classes):
    """The same, keeping every row of every bucket."""
    buckets, found = [], []  # oldest first
    for place, row in enumerate(zip(codes, wrong, strict=True)):
        buckets.append([row])
        size = 1
        while sum(len(bucket) == size for bucket in buckets) > BUCKETS:
            k = next(k for k, bucket in enumerate(buckets) if len(bucket) == size)
            buckets[k : k + 2] = [buckets[k] + buckets[k + 1]]
            size *= 2
        first = None
        while (place + 1) % CLOCK == 0 and (change := plain_cut(buckets, n_classes)):
            first = first or change
            del buckets[0]
        if first:
            found.append((place, *first))
    return found


def plain_cut(buckets, n_classes):
    everything = [row for bucket in buckets for row in bucket]
    sure = log(2 * log(len(everything)) / DELTA) if len(everything) > 1 else 0
    for k in range(1, len(buckets)):
        parts = [[row for bucket in some for row in bucket] for some in (buckets[:k], buckets[k:])]
        apart, variance, shares, means = 0.0, 0.0, [], []
        for code in range(n_classes):
            old, new, both = ([wrong for c, wrong in part if c == code] for part in (*parts, everything))
            if min(len(old), len(new)) >= SHORTEST:
                share = 1 / (len(old) - SHORTEST + 1) + 1 / (len(new) - SHORTEST + 1)
                variance += share * np.var(both)
                apart += np.mean(new) - np.mean(old)
                shares.append(share)
                means.append((np.mean(old), np.mean(new)))
        chance = sqrt(2 * variance * sure) + 2 / 3 * max(shares, default=0) * sure
        if len(shares) >= min(2, len({code for code, _ in everything})) and abs(apart) > chance:
            return len(parts[0]), len(parts[1]), *np.mean(means, axis=0)
    return None


@pytest.mark.first_quick
@pytest.mark.parametrize("n_classes", [1, 2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_sums_do_what_the_rows_do(seed, n_classes):
    wrong = pieces(seed)[:3000]
    shares = [[1], [0.9, 0.1], [0.6, 0.3, 0.1]][n_classes - 1]
    codes = np.random.default_rng(seed).choice(n_classes, len(wrong), p=shares)
    window, plain = Adwin(), plain_adwin(codes.tolist(), wrong, n_classes)
    mine = [(place, c.n_before, c.n_after, *c.means) for place, c in window.add(codes.tolist(), wrong, n_classes)]
    assert len(mine) > 0
    np.testing.assert_allclose(mine, plain)


def test_it_does_not_matter_how_values_come():
    values = pieces(0)
    told = lambda start, found: [(start + place, change.n_before, change.means) for place, change in found]  # noqa: E731
    whole, parts, found, start = told(0, changes(Adwin(), values)), Adwin(), [], 0
    for size in [1, 7, 100, 1000, len(values)]:
        found += told(start, changes(parts, values[start : start + size]))
        start += size
    assert found == whole


@pytest.mark.first_quick
@pytest.mark.parametrize("mean", [0.0, 0.01, 0.3, 1.0])
def test_no_change_where_nothing_changes(mean):
    values = (np.random.default_rng(5).random(50_000) < mean).astype(int).tolist()
    window = Adwin()
    assert list(changes(window, values)) == []
    assert window.n == 50_000
    assert sum(map(len, window._levels)) < 5 * 17


def said(wrong, labels, before=0):
    """Answers that are wrong where told."""
    margins = np.where(np.asarray(wrong, bool) == (labels == 1), -1.0, 1.0)[:, None]
    return Said(np.array([0, 1]), margins, labels, before=before)


def alarms_of(wrong, labels):
    watch = DriftWatch()
    watch(said(wrong, labels))
    return watch.alarms


def test_an_alarm_names_the_row_and_the_class():
    random = np.random.default_rng(0)
    labels = (random.random(40_000) < 0.02).astype(int)
    after = np.arange(40_000) >= 25_000
    wrong = random.random(40_000) < np.where((labels == 1) & after, 0.7, 0.1)
    told = []
    watch = DriftWatch(told.append)
    for start in range(0, 40_000, 3_000):
        watch(said(wrong[start : start + 3_000], labels[start : start + 3_000], start))
    (alarm,) = told
    assert watch.alarms == told == alarms_of(wrong, labels)
    assert alarm.label == 1
    assert 25_000 < alarm.row < 30_000
    assert alarm.of_class[1] > 2 * alarm.of_class[0]
    assert alarm.before < 0.15 < alarm.after


def test_a_class_that_turns_up_later():
    random = np.random.default_rng(0)
    labels = np.where(np.arange(20_000) < 9_999, 0, random.integers(0, 2, 20_000))
    wrong = random.random(20_000) < np.where((labels == 1) & (np.arange(20_000) >= 15_000), 0.8, 0.1)
    (alarm,) = alarms_of(wrong, labels)
    assert (alarm.label, alarm.row > 15_000) == (1, True)


@pytest.mark.first_quick
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_what_one_class_loses_and_the_other_gains_is_no_alarm(share):
    """As when another threshold is used from some row on, or by turns."""
    random, n = np.random.default_rng(0), 60_000
    labels = (random.random(n) < share).astype(int)
    for leans in (np.arange(n) >= 30_000, np.arange(n) % 4_000 < 2_000):
        wrong = random.random(n) < np.where(leans == (labels == 1), 0.1, 0.3)
        assert alarms_of(wrong, labels) == []


def test_a_daily_cycle_of_the_share_of_positives_is_no_alarm():
    random, n = np.random.default_rng(0), 60_000
    labels = (random.random(n) < 0.05 * (1 + 0.9 * np.sin(np.arange(n) / 300))).astype(int)
    assert alarms_of(random.random(n) < np.where(labels == 1, 0.4, 0.1), labels) == []


@pytest.mark.slow
def test_what_gets_better_or_hardly_worse_is_no_alarm():
    labels = np.zeros(60_000, int)
    random = np.random.default_rng(0)
    for before, after in ((0.5, 0.1), (0.40, 0.45)):
        wrong = random.random(60_000) < np.where(np.arange(60_000) < 30_000, before, after)
        assert alarms_of(wrong, labels) == []
        assert len(list(changes(Adwin(), wrong.astype(int).tolist()))) > 0


def test_the_beginning_is_not_looked_at():
    labels = np.zeros(SETTLED + 500, int)
    assert alarms_of(np.arange(labels.size) >= SETTLED - 100, labels) == []


@pytest.mark.slow
@pytest.mark.parametrize("cycle", [False, True])
def test_false_alarms_of_a_pool_are_rare(cycle):
    """The rate given in the docs: of 40 streams of 50,000 rows, one had an alarm."""
    alarms = 0
    for seed in range(3):
        random, n = np.random.default_rng(seed), 50_000
        y = (random.random(n) < 0.1 * (1 + cycle * 0.8 * np.sin(2 * np.pi * np.arange(n) / 2_000))).astype(np.int64)
        w = random.normal(size=10)
        X = random.normal(size=(n, 10)) + y[:, None] * 1.5 * w / np.linalg.norm(w)
        watch = DriftWatch()
        judge_progressively(
            Learner(specs_of("auto", "balanced_accuracy")), iter([Batch((X,), 10, y)]), Skipped(), Judged(watch)
        )
        alarms += len(watch.alarms)
    assert alarms <= 1


def test_what_an_alarm_says():
    alarm = Alarm(20_480, 0.12, 0.34, 5_020, 612, "fraud", (0.2, 0.61))
    assert str(alarm) == (
        "row 20,480: the mean error rate of the classes is 34.0% over the last 612 rows, but was 12.0% over the 5,020 "
        "before; of class fraud 61.0%, but was 20.0%"
    )
    assert alarm.to_json()["class"] == "fraud"


def test_a_watch_goes_on_from_its_json():
    random, n = np.random.default_rng(1), 30_000
    labels = random.choice([0, 1, 2], n, p=[0.8, 0.15, 0.05])
    labels[:12_000][labels[:12_000] == 2] = 0  # which appears later
    wrong = random.random(n) < np.where(np.arange(n) >= 20_000, 0.6, 0.1)
    whole = DriftWatch()
    whole.note(0, labels.tolist(), wrong.tolist())
    cut, start = DriftWatch(), 0
    while start < n:
        stop = start + int(random.integers(1, 3_000))
        cut.note(start, labels[start:stop].tolist(), wrong[start:stop].tolist())
        cut, start = DriftWatch.from_json(json.loads(json.dumps(cut.to_json()))), stop
    assert len(whole.alarms) > 0
    assert json.dumps(cut.to_json()) == json.dumps(whole.to_json())
