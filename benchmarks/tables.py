"""A raw table, end to end from CSV and Parquet: `pater train` against scikit-learn, River and Vowpal Wabbit.

    python benchmarks/tables.py --folder tables-benchmark --rows 1000000

The benchmark makes its table: 20 numbers on different scales with outliers, 10 categories of 2 to 20,000 values, two
dates, 2 % missing, 1.5 % positives, and a known additive effect of each column. Every contestant is a separate process,
timed from start to end, in turn; the best of some repeats counts, after one on few rows that warms the caches of
compiled code. Afterwards each is judged on rows that none has seen. River learns only from the first rows, and is
judged on fewer. How many times as fast each is as scikit-learn is given in processor time and in wall-clock time; the
latter also against scikit-learn with bins, whose encoding is like ours: "× bins". With `--more 10`, the memory of
`pater train` is also measured on ten times the rows, which begin with the same table. River and vowpalwabbit must be
installed; a contestant that is missing is left out.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import itertools
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

CHUNK = 50_000
POSITIVE, MISSING, OUTLIERS = 0.015, 0.02, 0.001
CARDINALITIES = (2, 3, 5, 8, 12, 30, 100, 300, 1000, 20_000)
NUMBERS, CATEGORIES, DATES = [f"n{k:02}" for k in range(1, 21)], [f"c{k:02}" for k in range(1, 11)], ["at", "born"]
FIRST_HELD_OUT = 10_000  # the number of the first chunk of held-out rows
BEGIN, STEP = np.datetime64("2024-01-01T00:00:00"), np.timedelta64(30, "s")
RIVER_ROWS = 20_000


def _effect(z: np.ndarray, j: int) -> np.ndarray:
    """The effect of a number: rising, none, a hill, a wave, falling, none, a step, and so on."""
    u = np.clip(z, -3, 3)
    effects = (0.6 * u, 0 * u, 0.8 * (1 - u**2), 0.9 * np.sin(2 * u), -0.5 * u, 0 * u, 1.2 * (np.abs(u) > 1.5))
    return effects[j % len(effects)]


def _number(z: np.ndarray, j: int) -> np.ndarray:
    """A column from normal scores: normal, log-normal, a count or a share, from thousandths to thousands."""
    size = 10.0 ** (j % 7 - 3)
    forms: tuple[Callable[[], np.ndarray], ...] = (
        lambda: size * (z + 2),
        lambda: size * np.exp(1.5 * z),
        lambda: np.floor(20 * np.exp(z)),
        lambda: 1 / (1 + np.exp(-z)),
    )
    return forms[j % len(forms)]()


def _drawn(number: int) -> tuple[dict[str, pa.Array], np.ndarray, np.random.Generator]:
    """The columns of a chunk, the sum of their effects, and the generator for further draws."""
    random, fixed = np.random.default_rng([11, number]), np.random.default_rng(5)
    at = BEGIN + STEP * (number % FIRST_HELD_OUT * CHUNK + np.arange(CHUNK))
    born = np.datetime64("1940-01-01") + random.integers(0, 25_000, CHUNK)
    effect = np.where(at.astype("M8[h]").astype(np.int64) % 24 < 6, 0.8, 0.0)
    effect += 0.02 * (np.datetime64("1974-01-01") - born).astype(np.int64) / 365.25
    columns = {"at": pa.array(at), "born": pa.array(born, mask=random.random(CHUNK) < MISSING)}
    for j, name in enumerate(NUMBERS):
        z = random.standard_normal(CHUNK)
        x = _number(z, j) * np.where(random.random(CHUNK) < OUTLIERS, 1000.0, 1.0)
        columns[name] = pa.array(np.round(x, max(0, 7 - j % 7)), mask=random.random(CHUNK) < MISSING)
        effect += _effect(z, j)
    for name, n_values in zip(CATEGORIES, CARDINALITIES, strict=True):
        codes = (n_values * random.random(CHUNK) ** 3).astype(np.int32)  # some values are frequent, most are rare
        texts = pa.array([f"{name}_{k}" for k in range(n_values)])
        columns[name] = texts.take(pa.array(codes, mask=random.random(CHUNK) < MISSING))
        effect += 0.5 * fixed.standard_normal(n_values)[codes]
    return columns, effect, random


@functools.cache
def _shift() -> float:
    """The offset to subtract from the sum of effects for the wanted share of positives."""
    effect = _drawn(FIRST_HELD_OUT - 1)[1]
    low, high = 0.0, 30.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (1 + np.exp(middle - effect))).mean() > POSITIVE else (low, middle)
    return low


def chunk(number: int) -> tuple[pa.Table, np.ndarray]:
    """Some rows, and the log odds from which their labels were drawn; the same for the same number."""
    columns, effect, random = _drawn(number)
    odds = effect - _shift()
    y = (random.random(CHUNK) < 1 / (1 + np.exp(-odds))).astype(np.int8)
    return pa.table({**columns, "y": y}), odds


def vw_lines(table: pa.Table) -> str:
    """Rows as Vowpal Wabbit reads them, with hour, weekday and month written out."""
    frame = with_parts_of_dates(table.to_pandas())
    fields = ["1" if label else "-1" for label in frame["y"]]
    for name in NUMBERS:
        fields = [f"{line} {name}:{x:.7g}" if x == x else line for line, x in zip(fields, frame[name], strict=True)]
    for name in [*CATEGORIES, *PARTS]:
        fields = [f"{line} {name}={x}" if x == x else line for line, x in zip(fields, frame[name], strict=True)]
    return "".join(line.replace(" ", " | ", 1) + "\n" for line in fields)


def csv_writer(path: Path, schema: pa.Schema) -> Any:
    """A writer of CSV without quotes, which no field needs, as pandas and Python's own module write it."""
    options = pyarrow.csv.WriteOptions(quoting_style="none", quoting_header="none")
    return pyarrow.csv.CSVWriter(path, schema, write_options=options)


def parquet_writer(path: Path, schema: pa.Schema) -> Any:
    return pyarrow.parquet.ParquetWriter(path, schema)


def make(folder: Path, name: str, chunks: range, *, forms: tuple[str, ...] = ("csv", "parquet", "vw")) -> np.ndarray:
    """Write the table to files, unless they exist, chunk by chunk; return the log odds of its rows."""
    odds, forms = [], tuple(form for form in forms if not (folder / f"{name}.{form}").exists())
    with ExitStack() as stack:
        writers: dict[str, Any] = {}
        for number in chunks:
            table, of_chunk = chunk(number)
            odds.append(of_chunk)
            for form in forms:
                path = folder / f"{name}.{form}"
                if form == "vw":
                    writers[form] = writers.get(form) or stack.enter_context(open(path, "w"))
                    writers[form].write(vw_lines(table))
                    continue
                if form not in writers:
                    file = csv_writer(path, table.schema) if form == "csv" else parquet_writer(path, table.schema)
                    writers[form] = stack.enter_context(file)
                writers[form].write_table(table)
    return np.concatenate(odds)


# The parts of the other contestants.

PARTS = ["at hour", "at weekday", "at month", "born year"]


def with_parts_of_dates(frame: Any) -> Any:
    """The table with dates replaced by the parts that other learners get."""
    import pandas as pd

    at, born = (pd.to_datetime(frame[name]) for name in DATES)
    parts = (at.dt.hour, at.dt.day_of_week, at.dt.month, born.dt.year // 10)
    return frame.drop(columns=DATES).assign(**dict(zip(PARTS, parts, strict=True)))


def frames(path: Path) -> Iterator[Any]:
    """A file as data frames of 50,000 rows."""
    import pandas as pd

    if path.suffix == ".csv":
        yield from pd.read_csv(path, chunksize=CHUNK)
    else:
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(CHUNK):
            yield batch.to_pandas()


def learn_scikit_learn(path: Path, bins: bool) -> Any:
    """A ColumnTransformer, fitted on the first 50,000 rows, and SGD in batches with classes balanced by those rows."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

    parts: list[Any] = [
        ("z", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), NUMBERS),
        ("one-hot", OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10), [*CATEGORIES, *PARTS]),
    ]
    if bins:
        cut = KBinsDiscretizer(10, encode="onehot", quantile_method="averaged_inverted_cdf")
        parts.append(("bins", make_pipeline(SimpleImputer(strategy="median"), cut), NUMBERS))
    columns, model = ColumnTransformer(parts), SGDClassifier(loss="log_loss", random_state=0)
    weight = None
    for frame in map(with_parts_of_dates, frames(path)):
        y = frame["y"].to_numpy()
        if weight is None:
            weight = (1 - y.mean()) / y.mean()
            X = columns.fit_transform(frame)
        else:
            X = columns.transform(frame)
        model.partial_fit(X, y, classes=[0, 1], sample_weight=np.where(y == 1, weight, 1.0))
    return columns, model


def judge_scikit_learn(fitted: Any, path: Path) -> np.ndarray:
    columns, model = fitted
    return np.concatenate([model.decision_function(columns.transform(with_parts_of_dates(f))) for f in frames(path)])


def _river_rows(path: Path) -> Iterator[tuple[dict[str, Any], int]]:
    """Rows as dicts without missing values, with the parts of dates."""
    import csv
    from datetime import datetime

    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            y = int(row.pop("y"))
            at, born = datetime.fromisoformat(row.pop("at")), row.pop("born")
            x: dict[str, Any] = {name: float(row[name]) for name in NUMBERS if row[name]}
            x |= {name: row[name] for name in CATEGORIES if row[name]}
            x |= {"at hour": str(at.hour), "at weekday": str(at.weekday()), "at month": str(at.month)}
            yield (x | {"born year": born[:3]} if born else x), y


def learn_river(path: Path, rows: int) -> Any:
    from river import compose, linear_model, preprocessing

    numbers = compose.SelectType(float) | preprocessing.StandardScaler()
    model = (numbers + (compose.SelectType(str) | preprocessing.OneHotEncoder())) | linear_model.LogisticRegression()
    for number, (x, y) in enumerate(_river_rows(path)):
        if number == rows:
            break
        model.learn_one(x, y)
    return model


def judge_river(model: Any, path: Path) -> np.ndarray:
    rows = itertools.islice(_river_rows(path), RIVER_ROWS)
    p = np.array([model.predict_proba_one(x)[True] for x, _ in rows])
    return np.log(p + 1e-12) - np.log1p(1e-12 - p)


LEARN: dict[str, Callable[[Path, int], Any]] = {
    "scikit-learn": lambda path, rows: learn_scikit_learn(path, bins=False),
    "scikit-learn, bins": lambda path, rows: learn_scikit_learn(path, bins=True),
    "river": learn_river,
}
JUDGE = {"scikit-learn": judge_scikit_learn, "scikit-learn, bins": judge_scikit_learn, "river": judge_river}


# The race.

PATER = {
    "pater train": [],
    "pater train --algo so-pater-i --covariance diagonal": ["--algo", "so-pater-i", "--covariance", "diagonal"],
    "pater train --algo arow --covariance diagonal": [
        *("--algo", "arow", "--covariance", "diagonal", "--class-weight", "balanced")
    ],
    "pater train --algo pater-i": ["--algo", "pater-i"],
}

# A small process in between: a process's largest size includes that of the process it was forked from.
MEASURED = """
import resource, subprocess, sys, time
begin = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
elapsed, used = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, elapsed, used.ru_maxrss * 1024 / 1e6)
"""


# Python may cache the bytecode of every contestant, as it does for those installed by pip.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measured(command: list[str]) -> tuple[float, float, float]:
    """Processor and wall-clock seconds, and the largest resident size in millions of bytes."""
    command = [sys.executable, "-c", MEASURED, *command]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT)
    cpu, elapsed, size = map(float, done.stdout.split())
    return cpu, elapsed, size


def contestants(folder: Path, forms: list[str]) -> dict[tuple[str, str], Callable[[str, Path], list[str]]]:
    """Who learns from which form, as functions from the table's name and the model's path to a command."""
    python = [sys.executable]

    def pater(options: list[str], form: str) -> Callable[[str, Path], list[str]]:
        of = [*python, "-m", "pater", "train", "--quiet", "--label", "y", *options]
        return lambda name, model: [*of, str(folder / f"{name}.{form}"), "--model", str(model)]

    def other(who: str, form: str) -> Callable[[str, Path], list[str]]:
        return lambda name, model: [*python, __file__, "--learn", who, str(folder / f"{name}.{form}"), str(model)]

    found = {}
    for form in forms:
        found |= {(who, form): pater(options, form) for who, options in PATER.items()}
        found |= {(who, form): other(who, form) for who in ("scikit-learn", "scikit-learn, bins")}
    if importlib.util.find_spec("vowpalwabbit"):
        vw = [*python, "-m", "vowpalwabbit", "--loss_function", "logistic", "-b", "20", "--quiet"]
        found["vowpal wabbit", "vw"] = lambda name, model: [*vw, "-d", str(folder / f"{name}.vw"), "-f", str(model)]
    if importlib.util.find_spec("river"):
        found["river", "csv"] = other("river", "csv")
    return found


def margins(who: str, form: str, model: Path, folder: Path) -> np.ndarray:
    """The margins of a model for the held-out rows."""
    held, said = folder / f"held.{form}", folder / "said.csv"
    if who in PATER:
        command = [sys.executable, "-m", "pater", "predict", str(model), str(held), "--margins", "--output", str(said)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return pyarrow.csv.read_csv(said).column("margin").to_numpy()
    if form == "vw":
        command = [sys.executable, "-m", "vowpalwabbit", "--quiet", "-t", "-i", str(model), "-d", str(held)]
        subprocess.run([*command, "-r", str(said)], check=True, stdout=subprocess.DEVNULL)
        return np.array([float(line.split(":")[-1].split()[0]) for line in said.read_text().splitlines()])
    return JUDGE[who](pickle.loads(model.read_bytes()), held)


def judged(said: np.ndarray, y: np.ndarray, cut: float) -> dict[str, float]:
    from sklearn.metrics import balanced_accuracy_score, roc_auc_score

    y = y[: len(said)]
    return {"balanced_accuracy": balanced_accuracy_score(y, said > cut), "auc": roc_auc_score(y, said)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("tables-benchmark"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--forms", nargs="*", default=["csv", "parquet"])
    parser.add_argument("--only", help="contestants whose name has this in it")
    parser.add_argument("--more", type=int, default=0, help="how many times the rows memory is measured on")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "tables.json")
    parser.add_argument("--learn", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.learn:
        who, path, model = options.learn
        Path(model).write_bytes(pickle.dumps(LEARN[who](Path(path), RIVER_ROWS)))
        return
    folder, model = options.folder, options.folder / "model"
    folder.mkdir(parents=True, exist_ok=True)
    make(folder, "few", range(1))
    make(folder, "table", range(options.rows // CHUNK))
    odds = make(folder, "held", range(FIRST_HELD_OUT, FIRST_HELD_OUT + 2))
    y = pyarrow.parquet.read_table(folder / "held.parquet").column("y").to_numpy()
    base = float(np.log(POSITIVE / (1 - POSITIVE)))
    print(f"{options.rows:,} rows; the true effects: {told(judged(odds, y, base))}", flush=True)
    found = contestants(folder, options.forms)
    found = {each: command for each, command in found.items() if (options.only or "") in each[0]}
    best: dict[tuple[str, str], dict[str, float]] = {}
    for (who, _), command in found.items():
        if who in PATER:
            measured(command("few", model))
    for _ in range(options.repeats):
        for (who, form), command in found.items():
            cpu, elapsed, megabytes = measured(command("table", model))
            rows = min(options.rows, RIVER_ROWS) if who == "river" else options.rows
            result = {"µs": cpu / rows * 1e6, "elapsed": elapsed / rows * 1e6, "megabytes": megabytes}
            if (who, form) not in best:
                result |= judged(margins(who, form, model, folder), y, base if who in ("river", "vowpal wabbit") else 0)
                best[who, form] = result
                print(f"{who}, {form}: {told(result)}", flush=True)
            best[who, form] |= {name: min(result[name], best[who, form][name]) for name in ("µs", "elapsed")}
    report(best, options.output, options.rows)
    if options.more:
        for form in options.forms:
            make(folder, "more", range(options.more * options.rows // CHUNK), forms=(form,))
            cpu, elapsed, megabytes = measured(found["pater train", form]("more", model))
            print(
                f"{options.more} times the rows, {form}: {megabytes:.0f} MB, {cpu:.1f} s of the processor", flush=True
            )
            (folder / f"more.{form}").unlink()


def told(result: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in result.items())


def report(best: dict[tuple[str, str], dict[str, float]], output: Path, n_rows: int) -> None:
    """Print and store the results: processor time, rows per second by the clock, and ratios to scikit-learn."""
    heads = ["µs a row", "× sklearn", "rows a s", "× sklearn", "× bins", "MB", "bal. acc.", "AUC"]
    print(f"\n{n_rows:,} rows, least of all repeats\n{'':56} " + " ".join(f"{head:>9}" for head in heads))
    for (who, form), one in best.items():
        plain, bins = (
            best.get((other, form if form != "vw" else "csv"), {}) for other in ("scikit-learn", "scikit-learn, bins")
        )
        numbers = [
            f"{one['µs']:.2f}",
            _times(plain, one, "µs"),
            f"{1e6 / one['elapsed']:,.0f}",
            _times(plain, one, "elapsed"),
            _times(bins, one, "elapsed"),
            f"{one['megabytes']:.0f}",
            f"{100 * one['balanced_accuracy']:.2f}",
            f"{100 * one['auc']:.2f}",
        ]
        print(f"{f'{who}, {form}':56} " + " ".join(f"{number:>9}" for number in numbers))
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps({f"{who}, {form}": one for (who, form), one in best.items()}, indent=1) + "\n")


def _times(other: dict[str, float], one: dict[str, float], what: str) -> str:
    """How many times as fast as another, which may not have taken part."""
    return f"{other[what] / one[what]:.2f}" if other else "-"


if __name__ == "__main__":
    main()
