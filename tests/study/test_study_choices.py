"""Which weights stand for wPATER."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pater.study.choices import best_on_test, best_on_training

PROGRESS = ["data_set", "algorithm", "alpha_neg", "alpha_pos", "run", "fold", "seen", "correct"]


def _weights(chosen: pd.DataFrame) -> list[tuple[Any, ...]]:
    columns = ["algorithm", "alpha_neg", "alpha_pos", "fold", "accuracy"]
    return list(chosen.sort_values(["algorithm", "fold"])[columns].itertuples(index=False, name=None))


def test_the_papers_choice_is_the_best_mean_over_all_folds(make_rows: Any) -> None:
    rows = make_rows(
        ("wdbc", "PE", 1, 1, 0.5, 0.6),
        ("wdbc", "wPATER-I", 0.1, 1, 0.9, 0.5),
        ("wdbc", "wPATER-I", 1, 0.1, 0.8, 0.8),
    )
    assert _weights(best_on_test(rows)) == [
        ("PE", 1, 1, 0, 0.5),
        ("PE", 1, 1, 1, 0.6),
        ("wPATER-I", 1, 0.1, 0, 0.8),
        ("wPATER-I", 1, 0.1, 1, 0.8),
    ]


def test_among_equals_the_first_of_the_grid_wins(make_rows: Any) -> None:
    rows = make_rows(("wdbc", "wPATER-I", 0.3, 1, 0.7, 0.8), ("wdbc", "wPATER-I", 1, 0.01, 0.8, 0.7))
    assert set(best_on_test(rows)["alpha_neg"]) == {0.3}


def test_each_data_set_has_its_own_choice(make_rows: Any) -> None:
    rows = make_rows(
        ("wdbc", "wPATER-I", 0.3, 1, 0.7, 0.7), ("wdbc", "wPATER-I", 1, 0.1, 0.8, 0.8),
        ("pima", "wPATER-I", 0.3, 1, 0.9, 0.9), ("pima", "wPATER-I", 1, 0.1, 0.8, 0.8),
    )  # fmt: skip
    chosen = best_on_test(rows).groupby("data_set")["alpha_neg"].first()
    assert dict(chosen) == {"wdbc": 1, "pima": 0.3}


def _progress(*lines: tuple[Any, ...]) -> pd.DataFrame:
    return pd.DataFrame([("wdbc", *model, 0, fold, 100, correct) for *model, fold, correct in lines], columns=PROGRESS)


def test_the_honest_choice_is_made_in_each_fold_and_never_sees_the_test_half(make_rows: Any) -> None:
    rows = make_rows(
        ("wdbc", "PATER-I", 1, 1, 0.5, 0.6),
        ("wdbc", "wPATER-I", 0.1, 1, 0.1, 0.2),
        ("wdbc", "wPATER-I", 1, 0.1, 1.0, 1.0),
    )
    progress = _progress(
        ("PATER-I", 1, 1, 0, 80), ("wPATER-I", 0.1, 1, 0, 90), ("wPATER-I", 1, 0.1, 0, 70),
        ("PATER-I", 1, 1, 1, 95), ("wPATER-I", 0.1, 1, 1, 60), ("wPATER-I", 1, 0.1, 1, 70),
    )  # fmt: skip
    assert _weights(best_on_training(rows, progress)) == [("wPATER-I", 0.1, 1, 0, 0.1), ("wPATER-I", 1, 1, 1, 0.6)]


def test_a_tie_goes_to_the_unweighted_one(make_rows: Any) -> None:
    rows = make_rows(("wdbc", "PATER-I", 1, 1, 0.5), ("wdbc", "wPATER-I", 0.1, 1, 0.9))
    progress = _progress(("PATER-I", 1, 1, 0, 80), ("wPATER-I", 0.1, 1, 0, 80))
    assert _weights(best_on_training(rows, progress)) == [("wPATER-I", 1, 1, 0, 0.5)]


def test_only_the_end_of_a_curve_counts(make_rows: Any) -> None:
    rows = make_rows(("wdbc", "PATER-I", 1, 1, 0.5), ("wdbc", "wPATER-I", 0.1, 1, 0.9))
    ends = _progress(("PATER-I", 1, 1, 0, 80), ("wPATER-I", 0.1, 1, 0, 81))
    middle = _progress(("PATER-I", 1, 1, 0, 50)).assign(seen=50)
    assert _weights(best_on_training(rows, pd.concat([middle, ends], ignore_index=True)))[0][1] == 0.1


def test_without_the_unweighted_one_there_is_no_honest_choice(make_rows: Any) -> None:
    rows = make_rows(("wdbc", "wPATER-I", 0.1, 1, 0.9))
    assert best_on_training(rows, _progress(("wPATER-I", 0.1, 1, 0, 80))).empty
