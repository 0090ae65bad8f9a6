"""Second-order PATER-II with the class balance of the end, which is a batch solution, against that of entry.

    PATER_DATA=… python benchmarks/balance_of_the_end.py [--runs 3]

The study's protocol, folds and r = 30, as in `pater reproduce --peers`: runs of two-fold cross-validation, z-scores
fitted on the training half, one pass, the 28 comparable data sets. With the balance of the end, SO-PATER-II is
`TERClassifier(ridge=2·r/n, fit_intercept=False)` on n rows with a constant column of ones; the variant with an
unpenalised intercept is shown next to it. In percent; scores are deterministic, and nothing is timed.
"""

from __future__ import annotations

import argparse

import numpy as np

from pater import TERClassifier, data
from pater.models.search import Grid
from pater.models.spec import Spec
from pater.study.folds import Fold, folds
from pater.study.plan import NOT_COMPARABLE
from pater.study.unit import scores_of

R = 30.0
NAMES = ("SO-PATER-II", "balance of the end", "intercept free")


def with_ones(X: np.ndarray) -> np.ndarray:
    return np.hstack([X, np.ones((len(X), 1))])


def margins(fold: Fold) -> list[np.ndarray]:
    X, codes, test = fold.X_train, fold.train_codes, fold.X_test
    grid = Grid([Spec("so-pater-ii", r=R)])
    grid.start(np.array([0, 1]), X.shape[1], fixed=True)
    grid.learn(X, codes)
    w, bias = grid.models[0].state.own_weights(average=False)
    ridge = 2 * R / len(X)
    end = TERClassifier(ridge, fit_intercept=False).fit(with_ones(X), codes)
    free = TERClassifier(ridge).fit(X, codes)
    return [test @ w[0] + bias[0], end.decision_function(with_ones(test)), free.decision_function(test)]


def scores(fold: Fold) -> np.ndarray:
    """Accuracy and balanced accuracy of each, in percent."""
    lines = scores_of(np.array([one >= 0 for one in margins(fold)]), fold.test_codes == 1)
    return 100 * np.array([line[:2] for line in lines], float)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    sets = [key for key in data.DATA_SETS if key not in NOT_COMPARABLE]
    print(f"{'balanced accuracy':20}" + "".join(f"{name:>20}" for name in NAMES))
    means = []
    for key in sets:
        found = [scores(fold) for run in range(runs) for fold in folds(data.load(key), 0, run)]
        means.append(np.mean(found, axis=0))
        print(f"{key:20}" + "".join(f"{value:20.2f}" for value in means[-1][:, 1]), flush=True)
    table = np.array(means)
    for place, name in ((1, "balanced accuracy"), (0, "accuracy")):
        print(f"{name:20}" + "".join(f"{value:20.2f}" for value in table[:, :, place].mean(axis=0)))
    gaps = table[:, 1:, 1] - table[:, :1, 1]
    for name, gap in zip(NAMES[1:], gaps.T, strict=True):
        print(f"{name} − {NAMES[0]}: {gap.mean():+.2f}, from {gap.min():+.2f} to {gap.max():+.2f}")


if __name__ == "__main__":
    main()
