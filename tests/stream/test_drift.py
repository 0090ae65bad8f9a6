"""ADWIN, held to River's and to a window that keeps every value; and alarms of classes."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from pater.stream.drift import BUCKETS, CLOCK, DELTA, SETTLED, SHORTEST, Adwin, Alarm, Change, DriftWatch
from pater.stream.judged import Said


def pieces(seed):
    """Zeros and ones whose mean changes five times."""
    random = np.random.default_rng(seed)
    means = random.random(6)
    return np.concatenate([random.random(random.integers(100, 3000)) < mean for mean in means]).astype(int).tolist()


# Where River 0.26.1 (`river.drift.ADWIN(delta=0.002)`) finds a drift, and how long its window then is. It begins anew
# after each.
OF_RIVER = {
    0: [(1631, 608), (3551, 1024), (6079, 64), (9503, 1888)],
    1: [(991, 192), (3423, 112), (6271, 80), (8479, 128), (11231, 2240)],
    2: [(3679, 224), (5119, 128), (6175, 80)],
    3: [(2015, 1760), (3423, 320), (4959, 384), (6783, 256), (7871, 384)],
    4: [(1951, 544), (4415, 192), (4799, 64), (7359, 160), (9151, 320)],
    5: [(3167, 1376), (5247, 1056), (5695, 384), (7039, 192)],
}


@pytest.mark.parametrize("seed", OF_RIVER)
def test_changes_are_found_where_river_finds_them(seed):
    window, found = Adwin(), []
    for place, _ in window.add(pieces(seed)):
        found.append((place, window.n))
        window.forget()
    assert found == OF_RIVER[seed]


def plain_adwin(values):
    """The same, with every value of every bucket at hand."""
    buckets, found = [], []  # oldest first
    for place, value in enumerate(values):
        buckets.append([value])
        size = 1
        while sum(len(bucket) == size for bucket in buckets) > BUCKETS:
            k = next(k for k, bucket in enumerate(buckets) if len(bucket) == size)
            buckets[k : k + 2] = [buckets[k] + buckets[k + 1]]
            size *= 2
        first = None
        while (place + 1) % CLOCK == 0 and (change := plain_cut(buckets)):
            first = first or change
            del buckets[0]
        if first:
            found.append((place, first))
    return found


def plain_cut(buckets):
    everything = [value for bucket in buckets for value in bucket]
    for k in range(1, len(buckets)):
        old = [value for bucket in buckets[:k] for value in bucket]
        new = [value for bucket in buckets[k:] for value in bucket]
        if min(len(old), len(new)) < SHORTEST:
            continue
        m = 1 / (1 / (len(old) - SHORTEST + 1) + 1 / (len(new) - SHORTEST + 1))
        sure = log(2 * log(len(everything)) / DELTA)
        chance = sqrt(2 / m * np.var(everything) * sure) + 2 / (3 * m) * sure
        if abs(np.mean(old) - np.mean(new)) > chance:
            return Change(np.mean(old), np.mean(new), len(old), len(new))
    return None


@pytest.mark.parametrize("seed", range(3))
def test_sums_do_what_the_values_do(seed):
    values = pieces(seed)[:4000]
    mine, plain = list(Adwin().add(values)), plain_adwin(values)
    assert [place for place, _ in mine] == [place for place, _ in plain]
    for (_, a), (_, b) in zip(mine, plain, strict=True):
        assert a == pytest.approx(b)


def test_it_does_not_matter_how_values_come():
    values = pieces(0)
    whole, parts, found, start = list(Adwin().add(values)), Adwin(), [], 0
    for size in [1, 7, 100, 1000, len(values)]:
        found += [(start + place, change) for place, change in parts.add(values[start : start + size])]
        start += size
    assert found == whole


@pytest.mark.parametrize("mean", [0.0, 0.01, 0.3, 1.0])
def test_no_alarm_where_nothing_changes(mean):
    values = (np.random.default_rng(5).random(50_000) < mean).astype(int).tolist()
    window = Adwin()
    assert list(window.add(values)) == []
    assert window.n == 50_000
    assert sum(map(len, window._levels)) < 5 * 17


def said(wrong, labels, before=0):
    """Answers that are wrong where it says so."""
    margins = np.where(np.asarray(wrong, bool) == (labels == 1), -1.0, 1.0)[:, None]
    return Said(np.array([0, 1]), margins, labels, before=before)


def test_an_alarm_names_the_class_and_the_row():
    random = np.random.default_rng(0)
    labels = (random.random(40_000) < 0.02).astype(int)
    after = np.arange(40_000) >= 25_000
    wrong = random.random(40_000) < np.where((labels == 1) & after, 0.7, 0.1)
    told = []
    watch = DriftWatch(told.append)
    for start in range(0, 40_000, 3_000):
        watch(said(wrong[start : start + 3_000], labels[start : start + 3_000], start))
    (alarm,) = told
    assert watch.alarms == told
    assert alarm.label == 1
    assert 25_000 < alarm.row < 30_000
    assert labels[alarm.row - 1] == 1
    assert str(alarm).startswith(f"row {alarm.row:,}: of class 1, ")
    assert alarm.to_json()["class"] == 1
    whole = DriftWatch()
    whole(said(wrong, labels))
    assert whole.alarms == told


def test_what_gets_better_or_hardly_worse_is_no_alarm():
    labels = np.zeros(60_000, int)
    random = np.random.default_rng(0)
    for before, after in ((0.5, 0.1), (0.40, 0.45)):
        wrong = random.random(60_000) < np.where(np.arange(60_000) < 30_000, before, after)
        watch = DriftWatch()
        watch(said(wrong, labels))
        assert watch.alarms == []
        assert len(list(Adwin().add(wrong.astype(int).tolist()))) > 0


def test_the_beginning_is_not_looked_at():
    labels = np.zeros(SETTLED + 500, int)
    wrong = np.arange(labels.size) >= SETTLED - 100
    watch = DriftWatch()
    watch(said(wrong, labels))
    assert watch.alarms == []


def test_what_an_alarm_says():
    alarm = Alarm(20_480, "fraud", Change(0.12, 0.34, 5_020, 612))
    assert str(alarm) == (
        "row 20,480: of class fraud, 34.0% of the last 612 rows were wrong, but 12.0% of the 5,020 before"
    )
