"""Names behind hashed columns: kept in the order of the rows, for any format, threads and cuts."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from pater.files import model_file
from pater.formats import hashed_names
from pater.formats.blocks import Block, Place
from pater.formats.hashed_names import HashedNames, News, Seen
from pater.formats.hashing import marked_place_of, place_of
from pater.formats.reading import make_input
from pater.formats.vw import VWParser
from pater.stream import load, train
from pater.stream.inspection import name_of, summary
from pater.stream.merging import merged


def words(n=4000, distinct=3000, seed=0):
    random = np.random.default_rng(seed)
    return [[f"w{k}" for k in random.choice(distinct, 5, replace=False)] for _ in range(n)]


def write(path, lines, format):
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, len(lines)).tolist()
    if format == "vw":
        text = "".join(
            f"{label} |s {a}:0.5 {b} | {' '.join(rest)}\n" for label, (a, b, *rest) in zip(labels, lines, strict=True)
        )
        path.write_text(text)
    elif format == "svm":
        text = "".join(
            f"{label} {' '.join(f'{int(word[1:])}:1' for word in line)}\n"
            for label, line in zip(labels, lines, strict=True)
        )
        path.write_text(text)
    else:
        table = pd.DataFrame(lines, columns=list("abcde"))
        table.insert(0, "y", labels)
        table.insert(1, "amount", random.random(len(lines)))
        table.to_csv(path, index=False) if format == "csv" else table.to_parquet(path, index=False)


def named(line, format):
    if format == "vw":
        return [f"s^{line[0]}", f"s^{line[1]}", *line[2:]]
    if format == "svm":
        return [word[1:] for word in line]
    return [f"{column}={word}" for column, word in zip("abcde", line, strict=True)]


def expected(lines, format, bits):
    """The first name of each column, and the first with another mark."""
    found = {}
    for line in lines:
        for name in named(line, format):
            column, _, mark = marked_place_of(name, bits)
            known = found.setdefault(column, [(name, mark)])
            if len(known) == 1 and known[0][1] != mark:
                known.append((name, mark))
    return {column: [name for name, _ in names] for column, names in found.items()}


SETTINGS = {"algo": "pa", "bits": 11}


@pytest.mark.parametrize("format", ["vw", "svm", "csv", "parquet"])
def test_every_format_names_its_columns(tmp_path, format, monkeypatch):
    lines, file = words(), tmp_path / f"r.{format}"
    write(file, lines, format)
    learner = train(file, model=tmp_path / "m", **SETTINGS)
    assert learner.names.names == expected(lines, format, 11)
    assert any(len(names) == 2 for names in learner.names.names.values())
    assert load(tmp_path / "m").names == learner.names
    place = place_of(named(lines[0], format)[0], 11)[0]
    assert name_of(learner, None, place).startswith(learner.names.names[place][0]) or format in ("csv", "parquet")
    told = summary(learner, 5)["largest_weights"][0]["weights"]
    assert all(not name.startswith("#") for name, _ in told)


@pytest.mark.parametrize("threads", [1, 4])
def test_neither_threads_nor_cuts_change_them(tmp_path, threads, monkeypatch):
    lines = words()
    write(tmp_path / "whole.vw", lines, "vw")
    text = (tmp_path / "whole.vw").read_text().splitlines(keepends=True)
    for k in range(0, 4000, 300):
        (tmp_path / f"part{k:05}.vw").write_text("".join(text[k : k + 300]))
    cut = train(str(tmp_path / "part*.vw"), threads=threads, **SETTINGS)
    assert cut.names.names == expected(lines, "vw", 11)


def test_they_survive_a_stop_and_a_merge(tmp_path):
    lines = words()
    write(tmp_path / "r.vw", lines, "vw")
    text = (tmp_path / "r.vw").read_text().splitlines(keepends=True)
    for k in range(4):
        (tmp_path / f"part{k}.vw").write_text("".join(text[1000 * k : 1000 * k + 1000]))
    parts, stops = str(tmp_path / "part*.vw"), [0]

    class StoppedError(Exception):
        pass

    def stop(_):
        stops[0] += 1
        if stops[0] == 3:
            raise StoppedError

    settings = {**SETTINGS, "model": tmp_path / "m", "checkpoint_every": 1}
    with pytest.raises(StoppedError):
        train(parts, show=stop, **settings)
    again = train(parts, resume=True, **settings)
    assert stops == [3]
    assert again.names.names == expected(lines, "vw", 11)
    halves = [train(str(tmp_path / f"part{some}.vw"), **SETTINGS) for some in ("[01]", "[23]")]
    both = merged(halves, ["a", "b"])
    assert both.names.names == expected(lines, "vw", 11)
    more = train(str(tmp_path / "part1.vw"), initial=tmp_path / "m")
    assert more.names.names == again.names.names


def test_the_dictionary_has_a_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(hashed_names, "MOST_COLUMNS", 100)
    write(tmp_path / "r.vw", words(), "vw")
    learner = train(tmp_path / "r.vw", **{**SETTINGS, "bits": 18})
    assert len(learner.names.names) == 100
    seen = Seen(4)
    seen.note(News(np.arange(16), np.ones(16, np.int64), ["x"] * 16))
    monkeypatch.setattr(hashed_names, "MOST_COLUMNS", 16)
    seen.note(News(np.arange(1), np.full(1, 2), ["y"]))
    assert (seen.marks == 255).all()


def test_malformed_lines_and_predictions_name_nothing(tmp_path):
    text = b"1 | good:1\n0 | bad:x also\n1 | good fine\n"
    batch = VWParser(bits=12, seen=Seen(12))(Block(text, 1, Place()), "x")
    assert batch.news.names == ["good", "fine"]
    assert VWParser(bits=12)(Block(text, 1, Place()), "x").news is None
    (tmp_path / "r.vw").write_bytes(b"1 | good:1\n0 | fine\n")
    (only,) = make_input(tmp_path / "r.vw", labelled=False).batches()
    assert only.news is None


@pytest.mark.parametrize(
    "names",
    [[[1]], [[1, 2]], [["a", "b"]], [[1, "a"], [1, "b"]], [[1 << 20, "a"]], [[1, "a", "b", "c"]], {}, [[1, "a" * 999]]],
)
def test_forged_names_are_refused(tmp_path, names):
    write(tmp_path / "r.vw", words(50), "vw")
    train(tmp_path / "r.vw", model=tmp_path / "m", **SETTINGS)
    saved = model_file.load(tmp_path / "m")
    saved.hashed_names = names
    model_file.save(tmp_path / "n", saved)
    with pytest.raises(model_file.ModelFileError, match="names of hashed columns"):
        load(tmp_path / "n")


def test_an_older_file_has_none(tmp_path):
    write(tmp_path / "r.vw", words(50), "vw")
    train(tmp_path / "r.vw", model=tmp_path / "m", **SETTINGS)
    saved = model_file.load(tmp_path / "m")
    saved.hashed_names = None
    model_file.save(tmp_path / "n", saved)
    assert name_of(load(tmp_path / "n"), None, 7) == "#7"
    assert json.loads(json.dumps(HashedNames(4, {3: ["a"]}).to_json())) == [[3, "a"]]
