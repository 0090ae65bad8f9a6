"""Ranks, the Friedman test and the Nemenyi test, compared with the paper's statements and another library."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pater.study import published
from pater.study.statistics import compare, critical_distance, groups, ranks, signed_ranks
from pater.study.tables import CELL, wide


def test_those_that_tie_share_the_mean_of_their_places() -> None:
    scores = pd.DataFrame({"a": [3.0, 1.0], "b": [2.0, 1.0], "c": [3.0, 1.0], "d": [1.0, 2.0]})
    assert ranks(scores, best_is_largest=True).to_numpy().tolist() == [[1.5, 3, 1.5, 4], [3, 3, 3, 1]]
    assert ranks(scores, best_is_largest=False).to_numpy().tolist() == [[3.5, 2, 3.5, 1], [2, 2, 2, 4]]


def test_the_critical_distance_of_the_paper() -> None:
    assert critical_distance(6, 31) == pytest.approx(1.354, abs=5e-4)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_the_critical_values_of_demsars_table(k: int, q: float) -> None:
    assert critical_distance(k, 1) / np.sqrt(k * (k + 1) / 6) == pytest.approx(q, abs=1e-3)


def test_groups_are_the_longest_stretches_within_the_distance() -> None:
    mean_ranks = pd.Series({"a": 1.0, "b": 1.5, "c": 2.4, "d": 4.0})
    assert groups(mean_ranks, 1.0) == [["a", "b"], ["b", "c"]]
    assert groups(mean_ranks, 3.0) == [["a", "b", "c", "d"]]
    assert groups(mean_ranks, 0.1) == []


def test_the_published_accuracies_give_the_groups_that_the_paper_names() -> None:
    found = compare(wide(published.accuracy().set_index(CELL)["mean"]), best_is_largest=True)
    assert found.groups == [["wPATER-I", "wPATER-II"], ["wPATER-II", "PA"], ["PA", "PATER-I", "PE", "PATER-II"]]
    assert found.p_value < 0.05


def test_the_published_times_give_the_groups_that_the_paper_names() -> None:
    found = compare(wide(published.cpu_seconds().set_index(CELL)["seconds"]), best_is_largest=False)
    assert found.groups == [
        ["PE", "PA", "wPATER-I"],
        ["wPATER-I", "PATER-I"],
        ["PATER-I", "wPATER-II"],
        ["wPATER-II", "PATER-II"],
    ]


def test_scikit_posthocs_finds_the_same_pairs_apart() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posthocs = pytest.importorskip("scikit_posthocs")
        scores = wide(published.accuracy().set_index(CELL)["mean"])
        p_values = posthocs.posthoc_nemenyi_friedman(scores)
    found = compare(scores, best_is_largest=True)
    for a in scores:
        for b in scores:
            apart = abs(found.mean_ranks[a] - found.mean_ranks[b]) > found.critical_distance
            assert apart == (p_values.loc[a, b] < 0.05)


def test_signed_ranks_are_wilcoxons_corrected_by_holm() -> None:
    generator = np.random.default_rng(0)
    base = generator.normal(size=20)
    scores = pd.DataFrame({"a": base, "far": base - 1 - generator.random(20), "near": base + generator.normal(size=20)})
    p_values = {name: stats.wilcoxon(scores["a"] - scores[name]).pvalue for name in ("far", "near")}
    found = signed_ranks(scores, "a")
    assert found["far"] == pytest.approx(2 * p_values["far"])
    assert found["near"] == pytest.approx(max(p_values["near"], 2 * p_values["far"]))


def test_signed_ranks_need_sets_on_which_the_two_differ() -> None:
    scores = pd.DataFrame({"a": np.zeros(20), "same": np.zeros(20), "rarely": [1.0] * 3 + [0.0] * 17})
    assert signed_ranks(scores, "a").isna().all()
