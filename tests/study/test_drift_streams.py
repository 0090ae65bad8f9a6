"""The streams: seeded, with the stated share and shape, and class means that follow the drift."""

from __future__ import annotations

import numpy as np
import pytest

from pater.study.drift import streams
from pater.study.drift.streams import STREAMS, Stream


def _direction(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The direction of the positives, in the metric of the negatives."""
    negatives = X[y == 0]
    w = np.linalg.solve(np.cov(negatives.T), X[y == 1].mean(axis=0) - negatives.mean(axis=0))
    return np.asarray(w / np.linalg.norm(w))


def _angles(stream: Stream, parts: int) -> list[float]:
    """The angles between the best weights of the first part of a long stream and those of each part, in degrees."""
    X, y = streams.rows_of(stream, 7, 0, 160_000)
    white = np.linalg.cholesky(np.linalg.inv(np.cov(X[y == 0].T)))
    found = [_direction(some @ white, own) for some, own in zip(np.split(X, parts), np.split(y, parts), strict=True)]
    return [float(np.degrees(np.arccos(np.clip(found[0] @ one, -1, 1)))) for one in found]


@pytest.mark.first_quick
@pytest.mark.parametrize("key", STREAMS)
def test_the_same_seed_and_run_make_the_same_rows_of_the_share_that_was_asked_for(key: str) -> None:
    X, y = streams.rows_of(STREAMS[key], 3, 1)
    again, labels = streams.rows_of(STREAMS[key], 3, 1)
    np.testing.assert_array_equal(X, again)
    np.testing.assert_array_equal(y, labels)
    assert X.shape == (streams.ROWS, streams.COLUMNS)
    share = STREAMS[key].share
    assert abs(y.mean() - share) < 4 * np.sqrt(share * (1 - share) / len(y))
    assert np.allclose(X[y == 0].std(axis=0), 1, atol=0.03)
    for seed, run in ((3, 2), (4, 1)):
        assert not np.array_equal(streams.rows_of(STREAMS[key], seed, run)[0], X)


@pytest.mark.slow
def test_positives_move_as_the_kind_says() -> None:
    turn = np.degrees(streams.TURN)
    assert np.allclose(_angles(Stream("stationary", 0.3), 4), 0, atol=6)
    assert np.allclose(_angles(Stream("recurring", 0.3), 8), [0, turn] * 4, atol=8)
    assert np.allclose(_angles(Stream("gradual", 0.3), 4), [0, 45, 90, 135], atol=8)
    assert np.allclose(_angles(Stream("abrupt", 0.3), 4)[:2], [0, turn], atol=8)


def test_no_linear_rule_is_better_than_what_is_reachable() -> None:
    X, y = streams.rows_of(Stream("stationary", 0.3), 0, 0)
    negatives, positives = X[y == 0], X[y == 1]
    w = np.linalg.solve(np.cov(negatives.T), positives.mean(axis=0) - negatives.mean(axis=0))
    middle = w @ (positives.mean(axis=0) + negatives.mean(axis=0)) / 2
    reached = 50 * (np.mean(positives @ w > middle) + np.mean(negatives @ w <= middle))
    assert abs(reached - streams.BEST_REACHABLE) < 0.6
    assert 85 < streams.BEST_REACHABLE < 95
