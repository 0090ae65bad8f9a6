"""What it costs to choose weights along the stream instead of on test data.

    PATER_DATA=… python benchmarks/honest_choice.py [--runs 10]

The study's protocol: runs of two-fold cross-validation, z-scores fitted on the training half, the 28 comparable data
sets. The paper takes the best of twelve weights by mean test accuracy; here a weight is chosen in each fold by the
progressive accuracy on the training half, plain or discounted.
"""

from __future__ import annotations

import argparse

import numpy as np

from pater import AutoPATERClassifier, data
from pater.kernels.run import learn
from pater.kernels.state import State
from pater.models.matrices import rows_of
from pater.models.search import alpha_grid
from pater.models.spec import Spec, settings_of

DISCOUNTS = {"plain": 0.0, "√t": 0.5, "t": 1.0, "t²": 2.0}


def folds(n: int, runs: int):
    for run in range(runs):
        order = np.random.default_rng([run, 7]).permutation(n)
        yield order[: n // 2], order[n // 2 :]
        yield order[n // 2 :], order[: n // 2]


def grid(X: np.ndarray, y: np.ndarray, rule: str) -> tuple[State, np.ndarray]:
    """The 13 models of a rule after one pass, and which rows each got right before learning from them."""
    specs = tuple(Spec(rule, alphas=pair) for pair in alpha_grid())
    state = State.new(len(specs), X.shape[1], means=True, group=len(specs))
    margins = np.empty((len(specs), len(y)))
    learn(rows_of(X), (y > 0).astype(np.int64), state, settings_of(specs, (0, 1)), margins=margins)
    return state, (margins >= 0) == (y > 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    groups = {"wPATER-I": ("pater-i",), "wPATER-II": ("pater-ii",), "both": ("pater-i", "pater-ii")}
    honest = {(group, rule): [] for group in groups for rule in DISCOUNTS}
    on_test = {"wPATER-I": [], "wPATER-II": []}
    keys = [key for key in data.available() if not key.startswith("20news")]
    for key in keys:
        X, y = data.load(key).X, data.load(key).y
        tested = {rule: [] for rule in groups["both"]}
        picked = {place: [] for place in honest}
        for train, test in folds(len(y), runs):
            mean, spread = X[train].mean(axis=0), X[train].std(axis=0)
            spread[spread == 0] = 1
            A, B = np.ascontiguousarray((X[train] - mean) / spread), (X[test] - mean) / spread
            right, accuracy = {}, {}
            for rule in groups["both"]:
                state, right[rule] = grid(A, y[train], rule)
                w, bias = state.own_weights()
                accuracy[rule] = ((B @ w.T + bias >= 0) == (y[test] > 0)[:, None]).mean(axis=0)
                tested[rule].append(accuracy[rule])
            for group, rules in groups.items():
                answers = np.vstack([right[rule] for rule in rules])
                accuracies = np.concatenate([accuracy[rule] for rule in rules])
                for name, power in DISCOUNTS.items():
                    weight = np.arange(1, len(train) + 1) ** power
                    picked[group, name].append(accuracies[np.argmax(answers @ weight)])
        for place, values in picked.items():
            honest[place].append(np.mean(values))
        for group in on_test:
            on_test[group].append(np.mean(tested[groups[group][0]], axis=0)[1:].max())
    print(f"{len(keys)} data sets, {runs} runs of 2 folds; mean accuracy in per cent\n")
    print(f"{'':14}{'on test data':>14}" + "".join(f"{name:>10}" for name in DISCOUNTS))
    for group in groups:
        best = f"{100 * np.mean(on_test[group]):.2f}" if group in on_test else "–"
        values = "".join(f"{100 * np.mean(honest[group, name]):10.2f}" for name in DISCOUNTS)
        print(f"{group:14}{best:>14}{values}")
    print(f"\nAutoPATERClassifier's default discount: {'t' if AutoPATERClassifier().discount else 'plain'}")


if __name__ == "__main__":
    main()
