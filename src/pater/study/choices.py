"""Which of the 12 weights stands for wPATER: the paper's choice, made on the test halves, and an honest one.

Pure functions of the rows. Among equals the first wins, in the order in which the rows are saved: no weight first, then
the order of `plan.WEIGHTS`.
"""

from __future__ import annotations

import pandas as pd  # type: ignore[import-untyped, unused-ignore]

from .plan import UNWEIGHTED

WEIGHTS = ["alpha_neg", "alpha_pos"]
FOLD = ["data_set", "run", "fold"]


def best_on_test(rows: pd.DataFrame) -> pd.DataFrame:
    """For each data set and algorithm, the rows of the weights with the best mean accuracy over all folds.

    This looks at the test halves, as the paper must have done, and so flatters wPATER. An algorithm without weights has
    no choice to make.
    """
    group = ["data_set", "algorithm"]
    means = rows.groupby([*group, *WEIGHTS], sort=False, as_index=False)["accuracy"].mean()
    best = means.loc[means.groupby(group, sort=False)["accuracy"].idxmax(), [*group, *WEIGHTS]]
    return rows.merge(best, on=[*group, *WEIGHTS])


def best_on_training(rows: pd.DataFrame, progress: pd.DataFrame) -> pd.DataFrame:
    """For each fold, the row of the weights, or of no weights, with the best progressive accuracy while learning.

    Rows are returned under the name of the weighted algorithm, whichever weights were chosen. Without rows of the
    unweighted algorithm there is no honest choice, and no row is returned.
    """
    model = ["algorithm", *WEIGHTS, *FOLD]
    last = progress.loc[progress.groupby(model, sort=False)["seen"].idxmax()]
    chosen = [rows.head(0)]
    for weighted, unweighted in UNWEIGHTED.items():
        candidates = last[last["algorithm"].isin([weighted, unweighted])]
        if candidates["algorithm"].nunique() == 2:
            best = candidates.loc[candidates.groupby(FOLD, sort=False)["correct"].idxmax(), model]
            chosen.append(rows.merge(best, on=model).assign(algorithm=weighted))
    return pd.concat(chosen, ignore_index=True)
