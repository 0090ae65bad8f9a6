"""Runs in shards without any cluster: their results, in any order, after a stop, and what they refuse."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pater.formats.errors import Hint, InputError
from pater.formats.pieces import pieces, with_lines_counted
from pater.formats.reading import make_input
from pater.formats.sources import Source, sources
from pater.stream import Learner, load, shard_store, train
from pater.stream.beginning import Beginning
from pater.stream.merging import merged
from pater.stream.shard_plan import make_plan
from pater.stream.sharded_training import ShardedRun, folder_of, train_in_shards
from pater.stream.shards import Shard, learn_shard, safely


@pytest.fixture(autouse=True)
def _small_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of small tables begin with fewer rows than those of large ones."""
    monkeypatch.setattr("pater.models.shards.BEGINNING", 1000)


COUNTRIES = ("fr", "de", "us", "it")


class Here:
    """An engine without processes, which learns shards in the order of a key, and stops after some."""

    def __init__(self, key: Callable[[int], Any] = lambda number: number, most: int = 1 << 30) -> None:
        self.key, self.most, self.learned = key, most, list[int]()

    def call(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return safely(work, *arguments)

    def over(self, task: Any, shards: Sequence[Shard], *, wanted: Any, tick: Any) -> Iterator[tuple[int, Any]]:
        for shard in sorted(shards, key=lambda shard: self.key(shard.number)):
            if len(self.learned) >= self.most:
                raise KeyboardInterrupt
            if wanted(shard.number):
                self.learned.append(shard.number)
                tick({shard.number: (1, 1)})
                yield shard.number, safely(learn_shard, task, shard, lambda rows, done: None)


def run_in_shards(paths: Any, model: Path, engine: Here | None = None, **options: Any) -> ShardedRun:
    own = {name: options.pop(name) for name in ("resume", "shard_bytes", "max_classes") if name in options}
    begin = {name: options.pop(name) for name in list(options) if name in Beginning.__dataclass_fields__}
    return train_in_shards(paths, Beginning(**begin, options=options), engine or Here(), model=model, **own)


def draw(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 4))
    y = (X @ [1.0, 2.0, -1.0, 0.0] + generator.normal(size=n_rows) > 1.5).astype(int)
    return X, y, generator.choice(COUNTRIES, n_rows)


def libsvm(path: Path, n_rows: int = 3000, seed: int = 0) -> Path:
    X, y, _ = draw(n_rows, seed)
    lines = (f"{label} " + " ".join(f"{j}:{x:.3f}" for j, x in enumerate(row, 1)) for row, label in zip(X, y))  # noqa: B905
    path.write_text("\n".join(lines) + "\n")
    return path


def csv(path: Path, n_rows: int = 3000, seed: int = 0, text: str = "{}") -> Path:
    X, y, countries = draw(n_rows, seed)
    rows = (f"{label},{row[0]:.3f},{row[1]:.3f},{text.format(c)}" for row, label, c in zip(X, y, countries))  # noqa: B905
    path.write_text("\n".join(["churn,a,b,country", *rows]) + "\n")
    return path


def parquet(path: Path, n_rows: int = 3000, seed: int = 0) -> Path:
    X, y, countries = draw(n_rows, seed)
    table = pa.table({"churn": y, **{f"x{j}": X[:, j] for j in range(4)}, "country": countries})
    pq.write_table(table, path, row_group_size=500)
    return path


def vw(path: Path) -> Path:
    X, y, countries = draw(3000)
    rows = (f"{label} |n a:{row[0]:.3f} b:{row[1]:.3f} |c {c}" for row, label, c in zip(X, y, countries))  # noqa: B905
    path.write_text("\n".join(rows) + "\n")
    return path


# --- pieces of files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [libsvm, csv, parquet, lambda path: csv(path, text='"{}\n,x"')])
def test_pieces_hold_each_row_once_with_its_line(make: Callable[[Path], Path], tmp_path: Path) -> None:
    ending = {libsvm: ".svm", parquet: ".parquet"}.get(make, ".csv")
    path = make(tmp_path / f"rows{ending}")
    whole = make_input(path, label=None if make is libsvm else "churn", encoded=None)
    whole.describe()
    rows = [(batch.lines, batch.labels) for batch in whole.batches()]
    some = pieces(whole.sources[0], path.stat().st_size // 5)
    assert len(some) in (5, 6)
    found = []
    for piece in map(with_lines_counted, some):
        whole.sources, whole.threads = [piece], 0
        found += [(batch.lines, batch.labels) for batch in whole.batches()]
    for mine, theirs in zip(zip(*rows, strict=True), zip(*found, strict=True), strict=True):
        np.testing.assert_array_equal(np.concatenate(mine), np.concatenate(theirs))


def test_what_is_compressed_or_small_stays_whole(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "rows.svm.gz"
    path.write_bytes(gzip.compress(libsvm(tmp_path / "rows.svm").read_bytes()))
    (source,) = sources([path])
    assert pieces(source, 1 << 10) == [source]
    (source,) = sources([tmp_path / "rows.svm"])
    assert pieces(source, 1 << 27) == [source]


def test_a_line_that_is_longer_than_a_piece(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n" + "0 " + " ".join(f"{j}:1" for j in range(1, 3000)) + "\n1 2:1\n")
    some = pieces(sources([path])[0], 1 << 10)
    assert some[0].start == 0
    assert "".join(path.read_text()[piece.start : piece.stop] for piece in some) == path.read_text()
    assert all(path.read_text()[piece.stop - 1] == "\n" for piece in some if piece.stop)


# --- results of a run ---------------------------------------------------------------------------------------------


def test_one_shard_is_what_one_process_learns(tmp_path: Path) -> None:
    for path in (libsvm(tmp_path / "a.svm"), csv(tmp_path / "a.csv")):
        options = {"label": "churn"} if path.suffix == ".csv" else {}
        train(path, model=tmp_path / "plain.pater", **options)
        run_in_shards(path, tmp_path / "shard.pater", **options)
        assert (tmp_path / "shard.pater").read_bytes() == (tmp_path / "plain.pater").read_bytes()


def test_shards_of_files_are_merged_as_models_of_files_are(tmp_path: Path) -> None:
    paths = [libsvm(tmp_path / f"part-{k}.svm", 500, seed=k) for k in range(3)]
    together: Learner | None = None
    for path in paths:
        train(path, model=tmp_path / "one.pater", algo="pater-ii", scale=True)
        one = load(tmp_path / "one.pater")
        together = one if together is None else merged([together, one], ["", ""])
    assert together is not None
    together.save(tmp_path / "together.pater")
    run = run_in_shards(str(tmp_path / "part-*.svm"), tmp_path / "shards.pater", algo="pater-ii", scale=True)
    assert run.learner is not None
    assert (run.learner.rows, len(run.plan.shards)) == (1500, 3)
    assert run.learner.sources == [str(path) for path in paths]
    assert (tmp_path / "shards.pater").read_bytes() == (tmp_path / "together.pater").read_bytes()
    assert not folder_of(tmp_path / "shards.pater").exists()


@pytest.mark.first_quick
@pytest.mark.parametrize(
    ("make", "options"),
    [
        (libsvm, {}),
        (libsvm, {"algo": "so-pater-i", "probability": True, "operating_point": {"max_fpr": 0.05}}),
        (vw, {"algo": "pa-i", "class_weight": {"1": 3.0}, "bits": 10}),
        (csv, {"label": "churn"}),
        (parquet, {"label": "churn", "interactions": "all"}),
        (parquet, {"label": "churn", "algo": "pater-i", "scale": True}),
    ],
)
def test_the_order_of_completion_and_a_stop_do_not_matter(
    make: Callable[[Path], Path], options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / f"rows.{ {libsvm: 'svm', vw: 'vw', csv: 'csv', parquet: 'parquet'}[make] }")
    options = {**options, "shard_bytes": path.stat().st_size * 2 // 5}
    run = run_in_shards(path, tmp_path / "a.pater", **options)
    assert len(run.plan.shards) == 3
    assert run.learner is not None
    assert run.learner.rows == 3000
    if run.learner.encoder is not None:
        assert run.learner.encoder.encoding.rows == 3000
    monkeypatch.setattr(shard_store, "APART", 1)  # each merged model is written; before, all were merged in memory
    with pytest.raises(KeyboardInterrupt):
        run_in_shards(path, tmp_path / "b.pater", Here(lambda k: (k % 2, -k), most=2), **options)
    going_on = Here()
    run_in_shards(path, tmp_path / "b.pater", going_on, **options, resume=True)
    assert going_on.learned == [1]
    assert (tmp_path / "a.pater").read_bytes() == (tmp_path / "b.pater").read_bytes()


def test_an_encoder_begins_with_rows_of_all_shards(tmp_path: Path) -> None:
    paths = [csv(tmp_path / f"part-{k}.csv", n, seed=k) for k, n in enumerate((20, 2000, 900))]
    run = run_in_shards(paths, tmp_path / "a.pater", label="churn", algo="pater-ii")
    assert run.plan.task.begun is not None
    assert run.learner is not None
    assert run.learner.encoder is not None
    assert (run.learner.rows, run.learner.encoder.encoding.rows) == (2920, 2920)
    few = [csv(tmp_path / f"few-{k}.csv", 200, seed=k) for k in range(3)]
    run = run_in_shards(few, tmp_path / "b.pater", label="churn")
    assert len(run.plan.shards) == 1
    train(few, model=tmp_path / "c.pater", label="churn")
    assert (tmp_path / "b.pater").read_bytes() == (tmp_path / "c.pater").read_bytes()


def test_rows_of_weight_0_move_nothing_that_shards_begin_with(tmp_path: Path) -> None:
    """Not how columns are encoded, though these rows hold other numbers and texts, nor the number of rows."""
    options = {"label": "churn", "weight": "weight"}
    plans = []
    for name, n_heavy, n_light in (("heavy", 600, 0), ("light", 600, 40), ("few", 300, 300)):
        (tmp_path / name).mkdir()
        for k in range(3):
            X, y, country = draw(n_heavy, seed=k)
            rows = [f"{a:.3f},{c},{label},{1 + label}" for (a, *_), c, label in zip(X, country, y, strict=True)]
            for number in range(0, 15 * n_light, 15):
                rows.insert(number, f"{9e9 + number},nowhere,{number % 2},0")
            (tmp_path / name / f"{k}.csv").write_text("\n".join(["amount,country,churn,weight", *rows]) + "\n")
        paths = sorted((tmp_path / name).glob("*.csv"))
        plans.append(make_plan(paths, Beginning(options=options)))
    heavy, light, few = plans
    assert heavy.task.begun is not None
    assert light.task.begun == heavy.task.begun
    assert few.task.begun is None  # 900 rows have weight, and shards begin with 1,000
    assert len(few.shards) == 1


def test_shards_without_rows_with_one_class_and_with_categories_of_their_own(tmp_path: Path) -> None:
    full, _ = csv(tmp_path / "1.csv"), csv(tmp_path / "3.csv", seed=3, text="{}x")
    (tmp_path / "0.csv").write_text("churn,a,b,country\n")
    lines = [line for line in full.read_text().splitlines() if line.startswith(("0", "churn"))]
    (tmp_path / "2.csv").write_text("\n".join(lines) + "\n")
    run = run_in_shards(str(tmp_path / "?.csv"), tmp_path / "a.pater", label="churn", algo="so-pater-i")
    assert run.learner is not None
    assert run.learner.rows == 6000 + len(lines) - 1
    assert run.learner.classes.tolist() == [0, 1]
    names = run.learner.encoder.names() if run.learner.encoder else []
    assert {"country=fr", "country=frx"} <= set(names)
    (tmp_path / "empty.svm").write_text("# nothing\n" * 3)
    with pytest.raises(InputError, match="there is no row to learn from"):
        run_in_shards(tmp_path / "empty.svm", tmp_path / "b.pater")


# --- errors -------------------------------------------------------------------------------------------------------


def spoiled(path: Path, *numbers: int) -> Path:
    lines = libsvm(path, 60_000).read_text().splitlines()
    for number in numbers:
        lines[number - 1] = "1 3:abc"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_errors_name_the_line_of_the_file_and_are_those_of_one_process(tmp_path: Path) -> None:
    path = spoiled(tmp_path / "rows.svm", 45_000, 59_000)
    with pytest.raises(InputError) as told:
        train(path, algo="pater-ii")
    assert "line 45000, column 5: the value is not a number" in str(told.value)
    with pytest.raises(InputError) as again:  # the last shard is refused first
        run_in_shards(path, tmp_path / "a.pater", Here(lambda k: -k), algo="pater-ii", shard_bytes=500_000)
    assert str(again.value) == str(told.value)
    run = run_in_shards(path, tmp_path / "a.pater", algo="pater-ii", shard_bytes=500_000, on_error="skip")
    assert [fault.line for fault in run.skipped.first] == [45_000, 59_000]
    assert run.skipped.count == 2
    assert run.learner is not None
    assert (run.learner.skipped, run.learner.rows) == (2, 59_998)


def test_rows_that_the_learner_refuses(tmp_path: Path) -> None:
    path = spoiled(tmp_path / "rows.svm")
    text = path.read_text().splitlines()
    text[49_999] = "1 1:1e200"
    path.write_text("\n".join(text) + "\n")
    with pytest.raises(InputError, match="line 50000: its numbers are too large"):
        run_in_shards(path, tmp_path / "a.pater", algo="pater-ii", shard_bytes=500_000)


def test_guards_look_at_the_first_rows_of_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{k} 1:{k % 7}\n" for k in range(2000)))
    with pytest.raises(InputError, match="the labels have 1,000 different values in the first 1,000 rows"):
        run_in_shards(path, tmp_path / "a.pater", algo="pater-ii", shard_bytes=2000)
    libsvm(path)
    with pytest.warns(UserWarning, match="none of the first 1,000 rows has the label 7"):  # noqa: SIM117
        with pytest.raises(InputError, match="no row has the label 7"):
            run_in_shards(path, tmp_path / "a.pater", algo="pa", class_weight={"7": 2.0}, shard_bytes=9000)
    sorted_rows = sorted(path.read_text().splitlines())
    path.write_text("\n".join(sorted_rows) + "\n")
    with pytest.warns(Hint, match="the rows came sorted by their label, all of class 0 first"):
        run_in_shards(path, tmp_path / "a.pater", algo="pater-ii", shard_bytes=9000)


def test_files_and_settings_that_changed_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_store, "APART", 2)
    paths = [libsvm(tmp_path / f"{k}.svm", 300, seed=k) for k in range(3)]
    model, folder = tmp_path / "a.pater", tmp_path / "a.pater.shards"
    with pytest.raises(KeyboardInterrupt):
        run_in_shards(paths, model, Here(most=2), algo="pater-ii")
    assert sorted(os.listdir(folder)) == ["000000.json", "000001.json", "manifest.json", "merged-000001.pater"]
    for others, options, what in (
        (paths, {"algo": "pater-i"}, "was written with algo = 'pater-ii', but now it is 'pater-i'"),
        (paths, {"algo": "pater-ii", "shard_bytes": 1 << 12}, "was written with shard_size = "),
        (paths[:2], {"algo": "pater-ii"}, "was written with sources = 3, but now it is 2"),
        (paths[::-1], {"algo": "pater-ii"}, "with other files, or in another order"),
    ):
        with pytest.raises(InputError, match=what):
            run_in_shards(others, model, resume=True, **options)
    os.utime(paths[0], (1, 1))
    with pytest.raises(InputError, match=r"0\.svm changed since it was learned from\. Start over without --resume"):
        run_in_shards(paths, model, resume=True, algo="pater-ii")
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "pater": "0.0"}))
    with pytest.raises(InputError, match=r"was written by pater 0\.0"):
        run_in_shards(paths, model, resume=True, algo="pater-ii")
    (folder / "manifest.json").write_text("{")
    with pytest.raises(ValueError, match="its manifest is damaged"):
        run_in_shards(paths, model, resume=True, algo="pater-ii")
    run = run_in_shards(paths, model, algo="pater-ii")  # without resume, everything is done again
    assert run.learner is not None
    assert run.learner.rows == 900
    assert not folder.exists()


def test_a_file_that_changes_meanwhile(tmp_path: Path) -> None:
    paths = [libsvm(tmp_path / f"{k}.svm", 300, seed=k) for k in range(2)]

    class Changing(Here):
        def over(self, *arguments: Any, **options: Any) -> Iterator[tuple[int, Any]]:
            for found in super().over(*arguments, **options):
                yield found
                libsvm(paths[1], 301)

    with pytest.raises(InputError, match=r"1\.svm changed while it was learned from"):
        run_in_shards(paths, tmp_path / "a.pater", Changing(), algo="pater-ii")


def test_a_folder_of_someone_else_is_left_alone(tmp_path: Path) -> None:
    path = libsvm(tmp_path / "rows.svm", 100)
    (tmp_path / "a.pater.shards").mkdir()
    (tmp_path / "a.pater.shards" / "thesis.tex").write_text("all I have")
    with pytest.raises(ValueError, match=r"holds thesis\.tex; move it away"):
        run_in_shards(path, tmp_path / "a.pater", algo="pater-ii")
    (tmp_path / "b.pater.shards").write_text("a file")
    with pytest.raises(ValueError, match="Not a directory"):
        run_in_shards(path, tmp_path / "b.pater", algo="pater-ii")


def test_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.svm")
    for name in (str(tmp_path / "pipe.svm"), "-"):
        with pytest.raises(InputError, match="can be read once, by one process: workers learn from files"):
            run_in_shards(name, tmp_path / "a.pater")


def test_a_damaged_shard_is_told(tmp_path: Path) -> None:
    paths = [libsvm(tmp_path / f"{k}.svm", 300, seed=k) for k in range(3)]
    with pytest.raises(KeyboardInterrupt):
        run_in_shards(paths, tmp_path / "a.pater", Here(lambda k: -k, 2), algo="pater-ii")
    kept = tmp_path / "a.pater.shards" / "000001.pater"
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(ValueError, match="its checksum is wrong"):
        run_in_shards(paths, tmp_path / "a.pater", algo="pater-ii", resume=True)


def test_a_plan_travels(tmp_path: Path) -> None:
    """By pickle: it holds settings, and the begun encoder as bytes."""
    import pickle

    plan = make_plan(parquet(tmp_path / "rows.parquet"), Beginning(options={"label": "churn"}), 20_000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = pickle.loads(pickle.dumps(plan))
    assert again.manifest() == plan.manifest()
    assert isinstance(again.task.begun, bytes)
    assert all(isinstance(source, Source) for shard in again.shards for source in shard.sources)
