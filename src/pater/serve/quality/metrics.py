"""Metrics for Prometheus: counted in plain Python as requests come, and turned into its metric families on a scrape.

Knows `prometheus_client` and, of the engine, only the protocol `status.Observed`. Each server has a registry of its
own, so that several in one process do not mix.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from .status import Facts, Observed, own_threshold
from .volumes import KINDS

BOUNDS = (
    0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)  # fmt: skip
SCORES = ("accuracy", "balanced_accuracy", "fpr", "fnr", "brier", "log_loss")
MOST_CLASSES = 20  # most classes reported one by one


class Metrics(Collector):
    """The metrics of a server."""

    def __init__(self, engine: Observed) -> None:
        self._engine = engine
        self._requests: dict[tuple[str, int], int] = {}
        self._latencies: dict[str, list[int]] = {}  # by route: how many are between each bound and the one below
        self._seconds: dict[str, float] = {}
        self.registry = CollectorRegistry()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is one of the service's own, never a path that a client made up."""
        key = route, status
        try:
            self._requests[key] += 1
        except KeyError:
            self._requests[key] = 1
            self._latencies.setdefault(route, [0] * (len(BOUNDS) + 1))
            self._seconds.setdefault(route, 0.0)
        self._latencies[route][bisect_left(BOUNDS, seconds)] += 1
        self._seconds[route] += seconds

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """The text that answers a scrape, and its content type."""
        encoder, content_type = choose_encoder(accept)
        return encoder(self.registry), content_type

    def collect(self) -> Iterator[Metric]:
        """All metrics except those of the process."""
        facts = self._engine.facts()
        yield from self._of_requests()
        rows = CounterMetricFamily("pater_rows", "Rows by what became of them.", labels=["what"])
        for kind, total in zip(KINDS, self._engine.volumes.totals, strict=True):
            rows.add_metric([kind], total)
        yield rows
        yield from _of_facts(facts)
        yield from self._of_quality()

    def _of_requests(self) -> Iterator[Metric]:
        requests = CounterMetricFamily("pater_requests", "Requests by route and status.", labels=["route", "status"])
        for (route, status), total in self._requests.items():
            requests.add_metric([route, str(status)], total)
        latencies = HistogramMetricFamily("pater_request_seconds", "From request to answer.", labels=["route"])
        for route, counts in self._latencies.items():
            buckets, so_far = [], 0
            for bound, count in zip((*BOUNDS, math.inf), counts, strict=True):
                so_far += count
                buckets.append((repr(bound) if bound < math.inf else "+Inf", float(so_far)))
            latencies.add_metric([route], buckets, self._seconds[route])
        yield requests
        yield latencies

    def _of_quality(self) -> Iterator[Metric]:
        quality, operating = self._engine.quality, self._engine.operating
        scores = GaugeMetricFamily("pater_quality", "Scores of answers by their labels.", labels=["score", "over"])
        recalls = GaugeMetricFamily("pater_recall", "Share of right answers by class.", labels=["class", "over"])
        for over, tally in (("window", quality.recent()), ("start", quality.total)):
            told = quality.told(tally)
            for score in SCORES:
                if told[score] is not None:
                    scores.add_metric([score, over], told[score])
            for each in told["of_class"][:MOST_CLASSES]:
                if each["rows"]:
                    recalls.add_metric([_text(each["class"]), over], each["right"] / each["rows"])
        yield scores
        yield recalls
        yield CounterMetricFamily("pater_judged_rows", "Answers whose labels have come.", quality.rows)
        yield CounterMetricFamily("pater_unanswered_rows", "Labels of rows that had no answer.", quality.unanswered)
        yield CounterMetricFamily("pater_drift_alarms", "Alarms of answers that became worse.", quality.n_alarms)
        if quality.alarms:
            yield _gauge("pater_last_drift_alarm_time_seconds", "When the last alarm was.", quality.alarms[-1]["time"])
        own, threshold = own_threshold(self._engine.speaker()), operating.threshold(quality)
        if own is not None:
            used = own if threshold is None else threshold
            yield _gauge("pater_threshold", "The margin from which the second class is predicted.", used)


def _of_facts(facts: Facts) -> Iterator[Metric]:
    yield _gauge("pater_ready", "1 if the service is ready.", facts.ready)
    yield _gauge("pater_learning", "1 if it learns, 0 if it only predicts.", facts.learning)
    yield _gauge("pater_start_time_seconds", "When the service was started.", facts.started)
    yield _gauge("pater_pending_rows", "Rows that wait for their labels.", facts.pending)
    yield _gauge("pater_queue_length", "Requests that wait to be written to the log.", facts.queue)
    yield _gauge("pater_log_rows", "Rows in the log.", facts.position)
    yield _gauge("pater_log_bytes", "Size of the log.", facts.log_bytes)
    yield _gauge("pater_model_version", "One more for each swap.", facts.version)
    yield _gauge("pater_model_rows", "Rows that the model has learned.", facts.rows)
    if facts.log_time is not None:
        yield _gauge("pater_log_age_seconds", "Since the last entry of the log.", max(0.0, facts.now - facts.log_time))
    if facts.snapshot_time is not None:
        age = max(0.0, facts.now - facts.snapshot_time)
        yield _gauge("pater_snapshot_age_seconds", "Since the last snapshot.", age)
    if facts.snapshot_position is not None:
        behind = facts.position - facts.snapshot_position
        yield _gauge("pater_snapshot_behind_rows", "Rows in the log after the last snapshot.", behind)


def _gauge(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(name, told, float(value))


def _text(label: Any) -> str:
    """A label as text that can always be encoded; quotes and line ends are escaped when it is written."""
    return str(label).encode("utf-8", "replace").decode()
