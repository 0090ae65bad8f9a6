"""Scores along the streams, from handmade counts."""

from __future__ import annotations

import pandas as pd
import pytest

from pater.study.drift import tables
from pater.study.drift.learners import AUTO, NO_MEMORY, SETTINGS
from pater.study.drift.streams import STREAMS
from pater.study.drift.unit import COLUMNS

BEST = "balanced AROW r 3 forgetting 0.999"
PEER = "ACOG-II rate 1 γ 10"


def _rows(**known: int) -> pd.DataFrame:
    """Two runs of two windows with 100 positives and negatives each; about 50 of each are recognised, or as given."""
    known = {"auto": 80, "best": 82, "no_memory": 60, "peer": 75} | known
    named = {AUTO: known["auto"], BEST: known["best"], NO_MEMORY: known["no_memory"], PEER: known["peer"]}
    lines = []
    for key in STREAMS:
        for run in (0, 1):
            for name in SETTINGS:
                right = named.get(name, 50) + (run if name == AUTO else 0)
                lines += [(key, name, run, seen, 100, 100, right - 2, right + 2) for seen in (2000, 4000)]
    return pd.DataFrame(lines, columns=COLUMNS["rows"])


UNITS = pd.DataFrame({"seconds": [1.0, 2.0]})


def test_a_summary_has_the_best_in_hindsight_and_how_far_auto_is_from_it() -> None:
    found = tables.drift_results(_rows(), UNITS)
    line = found.drift_summary.set_index("data_set").loc["gradual-3"]
    assert (line["best_setting"], line["no_memory_setting"], line["peer_setting"]) == (BEST, NO_MEMORY, PEER)
    assert line["auto"] == pytest.approx(80.5)
    assert line["to_best"] == pytest.approx(-1.5)
    assert line["to_best_error"] == pytest.approx(0.5)
    assert line["to_no_memory"] == pytest.approx(20.5)
    assert line["to_peer"] == pytest.approx(5.5)
    assert (found.runs, found.seconds) == (2, 3)
    assert list(found.drift_summary["data_set"]) == list(STREAMS)


def test_auto_and_published_learners_are_no_single_settings_of_the_package() -> None:
    line = tables.drift_results(_rows(auto=95, peer=97), UNITS).drift_summary.iloc[0]
    assert line["best_setting"] == BEST
    assert line["to_best"] > 0


def test_a_score_is_the_mean_of_rates_over_the_whole_stream() -> None:
    rows = _rows()
    first = (rows["data_set"] == "abrupt-1") & (rows["setting"] == BEST) & (rows["seen"] == 2000)
    rows.loc[first, ["positives", "true_positives"]] = [300, 0]
    score = tables.drift_results(rows, UNITS).drift_scores.set_index(["data_set", "setting"])["score"]
    assert score["abrupt-1", BEST] == pytest.approx(50 * (80 / 400 + 168 / 200))


def test_windows_are_those_of_the_best_of_each_family_and_pool_the_runs() -> None:
    found = tables.drift_results(_rows(), UNITS)
    windows = found.drift_windows.set_index(["data_set", "setting", "seen"])["score"]
    assert windows["recurring-10", AUTO, 4000] == pytest.approx(80.5)
    assert {AUTO, BEST, NO_MEMORY, PEER} <= set(windows["recurring-10"].index.get_level_values(0))
    assert len(windows) < len(_rows()) / 6
