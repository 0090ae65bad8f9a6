"""What is lost when a stream is learned in shards that are merged: 1, 2, 4, … 256 of them, for several learners.

    python benchmarks/shards.py --runs 3                                   # Cod-rna, Ijcnn1 and Skin
    python benchmarks/shards.py --generated 10000000 --shards 1 8 64 256   # a table made by the script

Each data set is learned on one random half and judged on the other; z-scores are those of the training half, tables are
raw. "second round" broadcasts the merged model: every shard continues from it with its first tenth, and the results are
merged. The generated table has six numbers, three categories and 5 % positives, and is judged on 200,000 further rows.
Figures are points of balanced accuracy and accuracy lost against one pass.
"""

from __future__ import annotations

import argparse
import copy
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from pater import AutoPATERClassifier, PATERClassifier, SecondOrderPATERClassifier, TERClassifier, merge_all
from pater.data import load
from pater.estimators.shards import begun_bytes, starting_from, together, without_begun
from pater.models.shards import BEGINNING
from pater.preprocessing import TableEncoder
from pater.stream import OnlinePipeline
from pater.study.folds import raw_table

BLOCK = 39_063  # rows of the generated table made at a time
LEARNERS: dict[str, Callable[[], Any]] = {
    "PATER-I": lambda: PATERClassifier("I"),
    "PATER-I, averaged": lambda: PATERClassifier("I", average=True),
    "PATER-II": lambda: PATERClassifier("II"),
    "SO-PATER-I": lambda: SecondOrderPATERClassifier("I"),
    "SO-PATER-II": lambda: SecondOrderPATERClassifier("II"),
    "TER": lambda: TERClassifier(ridge=1e-6),
    "Auto": lambda: AutoPATERClassifier(),
    "Auto on the table": lambda: OnlinePipeline([("table", TableEncoder()), ("model", AutoPATERClassifier())]),
}
Batches = Callable[[], Iterator[tuple[Any, Any]]]  # of a shard, restarted by each call


def learned(make: Callable[[], Any], shards: list[Batches], classes: Any) -> Any:
    """The merged model of all shards; for one shard, that of one pass."""
    model = make()
    if len(shards) == 1:
        return _passed(model, shards[0], classes)
    if not isinstance(model, OnlinePipeline):
        return merge_all(_passed(make(), shard, classes) for shard in shards)
    content = begun_bytes(model, list(_beginning(shards)), classes)
    parts = (without_begun(content, _passed(starting_from(content, model), shard, classes)) for shard in shards)
    return together(content, functools.reduce(lambda a, b: a.merge(b), parts))


def _beginning(shards: list[Batches]) -> Iterator[tuple[Any, Any, None]]:
    """The first rows of eight shards, spread over all; of more shards if these are short."""
    number = min(8, len(shards))
    while number < len(shards) and len(next(shards[0]())[1]) < BEGINNING // number:
        number = min(2 * number, len(shards))
    for k in range(number):
        left = BEGINNING // number
        for X, y in shards[len(shards) * k // number]():
            yield X[:left], y[:left], None
            left -= min(left, len(y))
            if not left:
                break


def _passed(model: Any, shard: Batches, classes: Any) -> Any:
    for X, y in shard():
        model.partial_fit(X, y, classes=classes)
    return model


def second_round(merged: Any, shards: list[Batches], classes: Any) -> Any:
    """The merged models of all shards, each continued from the merged model with its first tenth."""

    def gone_on(shard: Batches) -> Any:
        model = copy.deepcopy(merged)
        for X, y in shard():
            model.partial_fit(X[: len(y) // 10], y[: len(y) // 10], classes=classes)
        return model

    return merge_all(gone_on(shard) for shard in shards)


def judged(model: Any, batches: Batches) -> np.ndarray:
    """Balanced accuracy and accuracy, in percent."""
    right, seen = np.zeros(2), np.zeros(2)
    for X, y in batches():
        said = model.predict(X)
        for k, label in enumerate(model.classes_):
            right[k] += ((said == y) & (y == label)).sum()
            seen[k] += (y == label).sum()
    return 100 * np.array([(right / seen).mean(), right.sum() / seen.sum()])


def of_set(key: str, seed: int, *, as_table: bool) -> tuple[Callable[[int], list[Batches]], Batches, Any]:
    data = load(key)
    order = np.random.default_rng(seed).permutation(len(data.y))
    train, test = np.array_split(order, 2)
    X: Any = (data.X - data.X[train].mean(axis=0)) / np.maximum(data.X[train].std(axis=0), 1e-300)
    if as_table:
        X = raw_table(data)

    def rows(some: np.ndarray) -> Batches:
        return lambda: iter([(X.iloc[some] if as_table else X[some], data.y[some])])

    return lambda n: [rows(part) for part in np.array_split(train, n)], rows(test), np.unique(data.y)


def generated(block: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A block of the table, whose rows depend on its number alone."""
    rng = np.random.default_rng((7, block))
    z = rng.standard_normal((BLOCK, 6))
    codes = [rng.integers(0, n, BLOCK) for n in (4, 40, 400)]
    effects = [np.random.default_rng(n).normal(0, 0.6, n)[c] for n, c in zip((4, 40, 400), codes, strict=True)]
    score = 0.8 * z[:, 0] + 0.9 * np.sin(2 * z[:, 1]) + 0.5 * (z[:, 2] ** 2 - 1) - 0.4 * z[:, 3] + sum(effects)
    y = (score + rng.logistic(size=BLOCK) > 4.3).astype(np.int64)
    columns: dict[str, Any] = {f"n{j}": np.exp(z[:, j]) if j % 2 else 10.0**j * z[:, j] for j in range(6)}
    columns |= {f"c{k}": np.array([f"v{v}" for v in range(c.max() + 1)], object)[c] for k, c in enumerate(codes)}
    return pd.DataFrame(columns), y


def of_blocks(n_blocks: int, n: int) -> list[Batches]:
    def shard(blocks: np.ndarray) -> Batches:
        return lambda: (generated(int(block)) for block in blocks)

    return [shard(part) for part in np.array_split(np.arange(n_blocks), n)]


def show(name: str, learner: str, scores: dict[Any, np.ndarray], seconds: dict[Any, float]) -> None:
    one = scores[1]
    for n, score in scores.items():
        lost = one - score
        shown = f"{lost[0]:6.2f} {lost[1]:6.2f}   ({score[0]:.2f}, {score[1]:.2f}; {seconds[n]:.0f} s)"
        print(f"{name:10} {learner:18} {n!s:>16} {shown}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=["cod-rna", "ijcnn1", "skin"])
    parser.add_argument("--learners", nargs="*", default=list(LEARNERS), choices=list(LEARNERS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--shards", nargs="*", type=int, default=[1, 2, 4, 8, 16, 32, 64, 128, 256])
    parser.add_argument("--generated", type=int, default=0, help="rows of the table that the script makes")
    parser.add_argument("--second-round", type=int, default=64, help="the number of shards that have one; 0: none")
    options = parser.parse_args()
    print(f"{'':46}lost: balanced accuracy, accuracy")
    if options.generated:
        n_blocks = -(-options.generated // BLOCK)
        scores, seconds = {}, {}
        for n in options.shards:
            started = time.process_time()
            model = learned(LEARNERS["Auto on the table"], of_blocks(n_blocks, n), [0, 1])
            seconds[n] = time.process_time() - started
            scores[n] = judged(model, lambda: (generated(1_000_000 + k) for k in range(6)))
            show("generated", "Auto on the table", {1: scores[1], n: scores[n]}, seconds)
        return
    for key in options.sets:
        for learner in options.learners:
            found: dict[Any, list[np.ndarray]] = {}
            took: dict[Any, float] = {}
            for seed in range(options.runs):
                cut, test, classes = of_set(key, seed, as_table=learner == "Auto on the table")
                for n in options.shards:
                    started = time.process_time()
                    model = learned(LEARNERS[learner], cut(n), classes)
                    took[n] = took.get(n, 0.0) + time.process_time() - started
                    found.setdefault(n, []).append(judged(model, test))
                    if n == options.second_round and learner not in ("TER", "Auto on the table"):
                        again = second_round(model, cut(n), classes)
                        name = f"{n}, second round"
                        took[name] = 0.0
                        found.setdefault(name, []).append(judged(again, test))
            show(key, learner, {n: np.mean(some, axis=0) for n, some in found.items()}, took)


if __name__ == "__main__":
    main()
