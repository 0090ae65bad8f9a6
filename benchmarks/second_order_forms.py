"""What the forms and settings of second-order PATER are worth: r, leader or step, diagonal, order of classes, merging.

    PATER_DATA=… python benchmarks/second_order_forms.py [--runs 4] [--jobs 2]

The study's protocol and folds: runs of two-fold cross-validation, z-scores fitted on the training half, one pass, the
28 comparable data sets. For merging, each training half of three large sets is cut into 32 shards, against one model of
the whole. Bags of words, whose rows have length 1, are treated separately. Scores are deterministic; nothing is timed.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np

from pater import AROWClassifier, ConfidenceWeightedClassifier, SecondOrderPATERClassifier, data
from pater.models.search import Grid, alpha_grid
from pater.models.spec import Spec
from pater.study.folds import Fold, folds

RS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
ONE, TWO = Spec("so-pater-i", r=30.0), Spec("so-pater-ii", r=30.0)
AROW = Spec("arow", r=30.0)
BALANCED = AROW._replace(class_weight="balanced")

FORMS = {
    "SO-PATER-I": ONE,
    "SO-PATER-II": TWO,
    "SO-PATER-I, averaged": ONE._replace(average=True),
    "SO-PATER-II, averaged": TWO._replace(average=True),
    "SO-PATER-I, step": ONE._replace(form="step"),
    "SO-PATER-II, step": TWO._replace(form="step"),
    "SO-PATER-I, diagonal, averaged": ONE._replace(covariance="diagonal", average=True),
    "SO-PATER-II, diagonal, averaged": TWO._replace(covariance="diagonal", average=True),
    "SO-PATER-I, diagonal": ONE._replace(covariance="diagonal"),
    "SO-PATER-II, diagonal": TWO._replace(covariance="diagonal"),
    "AROW": AROW,
    "AROW, balanced": BALANCED,
}
CHOSEN = {
    "SO-PATER-I, one of 13 weights": [ONE._replace(alphas=pair) for pair in alpha_grid()],
    "SO-PATER-I, one of 6 r": [ONE._replace(r=r) for r in RS],
}
BY_R = {"SO-PATER-I": ONE, "SO-PATER-II": TWO, "AROW": AROW, "AROW, balanced": BALANCED}
IN_TURN = {name: FORMS[name] for name in ("SO-PATER-I", "SO-PATER-II", "SO-PATER-II, step", "AROW", "AROW, balanced")}

WORDS = ("20news-talk", "20news-comp", "20news-sci")
RS_OF_WORDS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)  # for rows of length 1 instead of columns of variance 1
ON_WORDS = {
    "SO-PATER-I, diagonal, averaged": FORMS["SO-PATER-I, diagonal, averaged"],
    "AROW, diagonal": AROW._replace(covariance="diagonal"),
    "AROW, diagonal, balanced": BALANCED._replace(covariance="diagonal"),
}

LARGE = ("cod-rna", "ijcnn1", "skin")
SHARDS = 32
MERGED: dict[str, Callable[[], object]] = {
    "SO-PATER-I": lambda: SecondOrderPATERClassifier("I"),
    "SO-PATER-II": lambda: SecondOrderPATERClassifier("II"),
    "SO-PATER-II, step": lambda: SecondOrderPATERClassifier("II", form="step"),
    "AROW": lambda: AROWClassifier(30.0),
    "AROW, balanced": lambda: AROWClassifier(30.0, class_weight="balanced"),
    "SCW-I": lambda: ConfidenceWeightedClassifier("SCW-I"),
    "CW": lambda: ConfidenceWeightedClassifier("CW"),
}

Scores = dict[tuple[str, ...], tuple[float, float]]


def scores_of(says: np.ndarray, codes: np.ndarray) -> tuple[float, float]:
    """Balanced accuracy and accuracy, in percent."""
    right = says == codes
    return 50 * (right[codes == 1].mean() + right[codes == 0].mean()), 100 * right.mean()


def learned(fold: Fold, specs: list[Spec]) -> tuple[dict[Spec, tuple[float, float]], dict[Spec, float]]:
    """The scores of each setting on the test half, and its progressive balanced accuracy on the training half."""
    grid = Grid(specs)
    grid.start(np.array([0, 1]), fold.X_train.shape[1], fixed=True)
    grid.learn(fold.X_train, fold.train_codes)
    found = {}
    for model, places in zip(grid.models, grid.families, strict=True):
        weights = {average: model.state.own_weights(average=average) for average in (False, True)}
        for k, place in enumerate(places):
            w, bias = weights[specs[place].average]
            found[specs[place]] = scores_of(fold.X_test @ w[k] + bias[k] >= 0, fold.test_codes)
    return found, dict(zip(specs, grid.scores()["balanced_accuracy"][0], strict=True))


def in_turn(fold: Fold, first: int) -> Fold:
    """The fold with the training rows of one class before those of the other."""
    order = np.argsort(fold.train_codes != first, kind="stable")
    return fold._replace(X_train=fold.X_train[order], train_codes=fold.train_codes[order])


def forms_on(fold: Fold) -> Scores:
    """The scores of every form and setting on one fold."""
    by_r = {(name, r): spec._replace(r=r) for (name, spec), r in product(BY_R.items(), RS)}
    specs = [*FORMS.values(), *by_r.values(), *(spec for some in CHOSEN.values() for spec in some)]
    scores, progressive = learned(fold, list(dict.fromkeys(specs)))
    found: Scores = {("form", name): scores[spec] for name, spec in FORMS.items()}
    found |= {("form", name): scores[max(some, key=progressive.__getitem__)] for name, some in CHOSEN.items()}
    found |= {("r", name, f"{r:g}"): scores[spec] for (name, r), spec in by_r.items()}
    for first in (0, 1):
        scores, _ = learned(in_turn(fold, first), list(IN_TURN.values()))
        found |= {("first", name, str(first)): scores[spec] for name, spec in IN_TURN.items()}
    return found


def words_on(fold: Fold) -> Scores:
    """The scores of diagonal learners on a bag of words, by r."""
    specs = {(name, r): spec._replace(r=r) for (name, spec), r in product(ON_WORDS.items(), RS_OF_WORDS)}
    scores, _ = learned(fold, list(specs.values()))
    return {("words", name, f"{r:g}"): scores[spec] for (name, r), spec in specs.items()}


def losses_on(fold: Fold) -> Scores:
    """What is lost by merging the models of 32 shards."""
    found: Scores = {}
    for name, made in MERGED.items():
        whole = made().fit(fold.X_train, fold.train_codes)
        shards = [
            made().fit(fold.X_train[part], fold.train_codes[part])
            for part in np.array_split(np.arange(len(fold.train_codes)), SHARDS)
        ]
        merged = functools.reduce(lambda a, b: a.merge(b), shards)
        one, other = (scores_of(model.predict(fold.X_test), fold.test_codes) for model in (whole, merged))
        found["merged", name] = (one[0] - other[0], one[1] - other[1])
    return found


def on_set(key: str, runs: int) -> tuple[Scores, Scores]:
    """Means over the folds of a data set: for the forms, and for what merging loses."""
    halves = [fold for run in range(runs) for fold in folds(data.load(key), 0, run)]
    if key in WORDS:
        return mean([words_on(fold) for fold in halves]), {}
    return mean([forms_on(fold) for fold in halves]), mean([losses_on(fold) for fold in halves] if key in LARGE else [])


def mean(several: list[Scores]) -> Scores:
    return {place: tuple(np.mean([one[place] for one in several], axis=0)) for place in several[0]} if several else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    keys = data.available()
    keys.sort(key=lambda key: -data.load(key).X.size)  # the longest first
    learned(folds(data.load("wdbc"), 0, 0)[0], [*FORMS.values()])  # compile before there are threads
    with ThreadPoolExecutor(options.jobs) as pool:
        found = dict(zip(keys, pool.map(lambda key: on_set(key, options.runs), keys), strict=True))
    words = mean([found.pop(key)[0] for key in WORDS if key in found])
    over_sets = mean([forms for forms, _ in found.values()])

    print(f"{len(found)} data sets, {options.runs} runs of 2 folds, r = 30 unless said; mean in per cent\n")
    print(f"{'':34}{'balanced accuracy':>18}{'accuracy':>11}")
    for name in (*FORMS, *CHOSEN):
        balanced, accuracy = over_sets["form", name]
        print(f"{name:34}{balanced:18.2f}{accuracy:11.2f}")
    print(f"\n{'balanced accuracy, r =':34}" + "".join(f"{r:>8g}" for r in RS))
    for name in BY_R:
        print(f"{name:34}" + "".join(f"{over_sets['r', name, f'{r:g}'][0]:8.2f}" for r in RS))
    print(f"\n{'balanced accuracy, rows':34}{'shuffled':>10}{'negatives first':>17}{'positives first':>17}")
    for name in IN_TURN:
        first = "".join(f"{over_sets['first', name, str(k)][0]:17.2f}" for k in (0, 1))
        print(f"{name:34}{over_sets['form', name][0]:10.2f}{first}")
    large = [key for key in LARGE if key in found]
    print(f"\n{f'lost by {SHARDS} shards, points':34}" + "".join(f"{key:>16}" for key in large))
    print(f"{'(balanced accuracy, accuracy)':34}")
    for name in MERGED:
        lost = (found[key][1]["merged", name] for key in large)
        print(f"{name:34}" + "".join(f"{f'{balanced:.2f}, {accuracy:.2f}':>16}" for balanced, accuracy in lost))
    if words:
        print(f"\n{'balanced accuracy, words, r =':34}" + "".join(f"{r:>8g}" for r in RS_OF_WORDS))
        for name in ON_WORDS:
            print(f"{name:34}" + "".join(f"{words['words', name, f'{r:g}'][0]:8.2f}" for r in RS_OF_WORDS))


if __name__ == "__main__":
    main()
