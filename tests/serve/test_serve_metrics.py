"""Metrics for Prometheus and for the page: right, escaped, cheap."""

from __future__ import annotations

import json
import timeit

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from pater.formats.batches import Batch
from pater.serve.quality.metrics import BOUNDS, Metrics
from pater.serve.quality.operating import Operating
from pater.serve.quality.quality import Answers, Quality
from pater.serve.quality.status import Facts, Status
from pater.serve.quality.volumes import JOINED, LEARNED, MINUTES, PREDICTED, REFUSED, Volumes
from pater.stream.algorithms import specs_of
from pater.stream.learner import Learner


class Engine:
    """The part of an engine that can be seen from outside."""

    def __init__(self, learner=None, **facts):
        self.quality, self.operating, self.volumes = Quality(window=100), Operating(), Volumes()
        self._learner, self._facts = learner, facts

    def facts(self):
        return Facts(now=1000.0, started=400.0, **self._facts)

    def speaker(self):
        return self._learner


def learner(classes=2):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(500, 3)), random.integers(0, classes, 500)
    learner = Learner(specs_of("arow", "balanced_accuracy"))
    learner.learn(Batch((X,), 3, y))
    return learner


def read(metrics):
    content, content_type = metrics.exposition()
    assert content_type.startswith("text/plain")
    families = text_string_to_metric_families(content.decode())
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples
    }


def test_requests_and_latencies():
    metrics = Metrics(Engine())
    for seconds in (0.0004, 0.0004, 0.004, 60.0):
        metrics.observe("/v1/predict", 200, seconds)
    metrics.observe("/v1/predict", 422, 0.0001)
    metrics.observe("/v1/learn", 200, 0.01)  # exactly at a bound, so within it
    found = read(metrics)
    route = ("route", "/v1/predict")
    assert found["pater_requests_total", route, ("status", "200")] == 4
    assert found["pater_requests_total", route, ("status", "422")] == 1
    assert found["pater_request_seconds_count", route] == 5
    assert found["pater_request_seconds_sum", route] == pytest.approx(60.0049)
    within = {bound: found["pater_request_seconds_bucket", ("le", repr(bound)), route] for bound in BOUNDS}
    assert (within[0.00025], within[0.0005], within[0.005], within[10.0]) == (1, 3, 4, 4)
    assert found["pater_request_seconds_bucket", ("le", "+Inf"), route] == 5
    assert found["pater_request_seconds_bucket", ("le", "0.01"), ("route", "/v1/learn")] == 1


def test_facts_volumes_and_quality():
    engine = Engine(
        learner(), version=3, position=70, pending=5, queue=2, learning=False, log_time=990.0, snapshot_time=940.0,
        snapshot_position=60,
    )  # fmt: skip
    engine.volumes.add(PREDICTED, 7, 100.0)
    engine.volumes.add(REFUSED, 2, 100.0)
    engine.quality.add(
        Answers([1.0] * 4, [0, 0, 1, 1], [0, 1, 1, 1], [-1.0, 1.0, 1.0, 1.0], [0.1, 0.6, 0.8, 0.9], (0, 1))
    )
    found = read(Metrics(engine))
    assert found["pater_rows_total", ("what", "predicted")] == 7
    assert found["pater_rows_total", ("what", "refused")] == 2
    assert (found["pater_learning",], found["pater_ready",]) == (0, 1)
    assert (found["pater_log_age_seconds",], found["pater_snapshot_age_seconds",]) == (10, 60)
    assert found["pater_snapshot_behind_rows",] == 10
    assert found["pater_pending_rows",] == 5
    for over in ("window", "start"):
        assert found["pater_quality", ("over", over), ("score", "fpr")] == 0.5
        assert found["pater_quality", ("over", over), ("score", "fnr")] == 0.0
        assert found["pater_recall", ("class", "1"), ("over", over)] == 1.0
    assert found["pater_judged_rows_total",] == 4
    assert found["pater_threshold",] == 0.0
    assert any(name[0] == "process_resident_memory_bytes" for name in found)


def test_what_is_not_known_is_left_out():
    found = read(Metrics(Engine()))
    names = {name[0] for name in found}
    assert not names & {"pater_quality", "pater_threshold", "pater_snapshot_age_seconds", "pater_log_age_seconds"}
    assert found["pater_judged_rows_total",] == 0


def test_labels_are_escaped():
    engine, odd = Engine(), 'a"b\\c\nd\x1b[31m<b>\ud800'
    engine.quality.add(Answers([1.0], [odd], [odd], [None], [None], ("a", odd)))
    found = read(Metrics(engine))
    assert found["pater_recall", ("class", odd.replace("\ud800", "?")), ("over", "start")] == 1.0


def test_to_count_is_cheap():
    metrics, volumes = Metrics(Engine()), Volumes()

    def least(call):
        return min(timeit.repeat(call, number=20_000, repeat=5)) / 20_000

    assert least(lambda: metrics.observe("/v1/predict", 200, 0.0007)) < 2e-6
    assert least(lambda: volumes.add(PREDICTED, 1, 1e9)) < 2e-6


def test_volumes_by_the_minute():
    volumes = Volumes()
    for minute in range(10):
        volumes.add(PREDICTED, 10, 6000.0 + minute * 60)
    volumes.add(JOINED, 3, 6000.0 + 9 * 60 + 59.9)
    told = volumes.told(6000.0 + 11 * 60)
    assert told["totals"] == {
        "predicted": 100, "learned": 0, "joined": 3, "unknown": 0, "refused": 0, "expired": 0
    }  # fmt: skip
    assert (told["start"], told["seconds"]) == (6000, 60)
    assert told["predicted"] == [10] * 10 + [0, 0]
    assert sum(told["joined"]) == 3
    coarse = volumes.told(6000.0 + 11 * 60, most=4)
    assert (coarse["seconds"], coarse["predicted"]) == (180, [30, 30, 30, 10])


def test_volumes_of_days_are_bounded():
    volumes = Volumes()
    for minute in range(3 * MINUTES):
        volumes.add(LEARNED, 1, minute * 60.0)
    told = volumes.told(3 * MINUTES * 60.0 - 1)
    assert sum(told["learned"]) == MINUTES
    assert len(told["learned"]) == 144
    assert len(volumes._minutes) <= MINUTES
    assert volumes.told(10 * MINUTES * 60.0)["learned"] == [0] * len(told["learned"])
    assert Volumes().told(1e9)["predicted"] == []


@pytest.mark.parametrize("classes", [2, 3])
def test_a_status_is_json_and_whole(classes):
    engine = Engine(learner(classes), version=2, rows=500, position=500, history=[{"time": 500.0, "kind": "start"}])
    names, n = tuple(range(classes)), 1_000
    labels = np.random.default_rng(1).integers(0, classes, n).tolist()
    margins = [2.0 * (label - 0.5) + 0.1 * (k % 30) for k, label in enumerate(labels)] if classes == 2 else [None] * n
    engine.quality.add(Answers(np.arange(n).tolist(), labels, labels, margins, [None] * n, names))
    told = json.loads(json.dumps(Status(engine).told(), allow_nan=False))
    assert told["model"]["classes"] == list(names)
    assert len(told["model"]["features"]) == (1 if classes == 2 else 3)
    assert told["model"]["features"][0]["columns"][0]["name"] in {"0", "1", "2", "3"}
    assert [window["rows"] for window in told["quality"]["windows"]] == [100] * 10
    assert (len(told["operating"]["moving"]) > 5) == (classes == 2)
    assert told["history"] == [{"time": 500.0, "kind": "start"}]
    assert told["health"]["uptime"] == 600.0


def test_a_status_before_anything_has_come():
    told = json.loads(json.dumps(Status(Engine()).told(), allow_nan=False))
    assert told["model"]["features"] == told["quality"]["windows"] == told["operating"]["moving"] == []
    assert told["operating"]["threshold"] is None


def test_a_curve_has_few_points_and_no_row_is_lost():
    engine = Engine()
    engine.quality = Quality(window=2)
    n = 1_501
    engine.quality.add(Answers([1.0] * n, [0] * n, [0] * n, [None] * n, [None] * n, (0, 1)))
    windows = Status(engine).told()["quality"]["windows"]
    assert 50 <= len(windows) <= 150
    assert sum(window["rows"] for window in windows) == 1_500


def test_features_are_not_looked_at_in_every_status(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "pater.serve.quality.status.summary", lambda learner, top: asked.append(1) or real(learner, top)
    )
    from pater.stream.inspection import summary as real

    engine = Engine(learner())
    status = Status(engine)
    first = status.told()
    assert status.told()["model"] == first["model"]
    assert len(asked) == 1
    engine._facts["version"] = 2
    status.told()
    assert len(asked) == 2
