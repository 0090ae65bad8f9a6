"""How a service begins in a state directory and resumes, what `--check` finds, and what is trimmed."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import sqlite3
import threading

import numpy as np
import pytest

from pater.formats.errors import InputError
from pater.serve.rows.kinds import JSON
from pater.serve.store.check import check
from pater.serve.store.export import begins, command, lines
from pater.serve.store.folder import StateError
from pater.serve.store.log import Log
from pater.serve.store.records import LabelOf
from pater.serve.store.state import opened, trim
from pater.serve.store.writer import write_now
from pater.stream import train

ROW = b'{"features":{"a":%d},"label":1}\n'


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Two models with numbered features."""
    folder = tmp_path_factory.mktemp("models")
    generator = np.random.default_rng(0)
    for name in ("one", "two"):
        values = generator.standard_normal((50, 3))
        text = "".join(f"{1 if a > 0 else -1} 1:{a!r} 2:{b!r} 3:{c!r}\n" for a, b, c in values.tolist())
        (folder / f"{name}.svm").write_text(text)
        train(folder / f"{name}.svm", algo="pater-i", model=folder / f"{name}.pater")
    return folder


def append(log, numbers):
    for number in numbers:
        write_now(log, lambda t, number=number: t.append(JSON, ROW % number, 1))


def snapshot(log, models, entry, version=1):
    path = log.folder.snapshot(entry)
    shutil.copy(models / "one.pater", path)
    write_now(log, lambda t: t.snapshot(path.name, entry=entry, position=entry, version=version, quality=None))


def test_a_service_goes_on_with_the_model_it_began_with(models, tmp_path):
    state = tmp_path / "state"
    log, settings = opened(state, model=models / "one.pater")
    assert settings == {}
    assert [(each.file, each.kind, each.version) for each in log.snapshots()] == [("model-000001.pater", "model", 1)]
    log.close()
    for model in (None, models / "one.pater"):
        opened(state, model=model)[0].close()
    with pytest.raises(StateError, match="began there with another model"):
        opened(state, model=models / "two.pater")
    with pytest.raises(StateError, match="with a model, whose settings are kept"):
        opened(state, settings={"algo": "pa"})
    with pytest.raises(InputError, match="No such file"):
        opened(state, model=tmp_path / "nothing")
    assert (state / "models" / "model-000001.pater").read_bytes() == (models / "one.pater").read_bytes()
    assert check(state).sound
    log, _ = opened(state)  # every error has released the lock
    assert command(log)[3:5] == ["-i", str(state / "models" / "model-000001.pater")]
    log.close()


def test_a_service_goes_on_with_its_settings(models, tmp_path):
    state = tmp_path / "state"
    settings = {
        "algo": "pater-i",
        "scoring": "f1",
        "interactions": [("a", "b"), ("b", "c d")],
        "options": {
            "C": 0.1,
            "class_weight": {"spam": 3.0, "ham": 1.0},
            "average": True,
            "operating_point": {"cost": {"false_positive": 1.0, "false_negative": 50.0}},
            "drop": ["x", "y"],
            "bits": None,
            "categorical": (),
        },
    }
    log, kept = opened(state, settings=settings)
    assert kept["options"]["C"] == 0.1
    assert kept["interactions"] == [["a", "b"], ["b", "c d"]]
    words = command(log)
    assert words[:3] == ["pater", "train", "log.jsonl"]
    assert words[3:] == [
        *("--algo", "pater-i", "--scoring", "f1", "--interactions", "a:b,b:c d", "--aggressiveness", "0.1"),
        *("--class-weight", "spam:3.0,ham:1.0", "--average", "--cost", "1.0:50.0", "--drop", "x", "--drop", "y"),
        *("-m", "MODEL.pater"),
    ]
    log.close()
    opened(state)[0].close()
    log, again = opened(state, settings=settings)
    log.close()
    assert again == kept
    with pytest.raises(StateError, match=r"began there with C = 0.1, but was given C = 0.2"):
        opened(state, settings={**settings, "options": {**settings["options"], "C": 0.2}})
    with pytest.raises(StateError, match="began there without a model"):
        opened(state, model=models / "one.pater")


def test_what_cannot_be_begun_with_leaves_nothing(models, tmp_path):
    (tmp_path / "no.pater").write_text("no")
    with pytest.raises(Exception, match=r"no\.pater"):
        opened(tmp_path / "state", model=tmp_path / "no.pater")
    with pytest.raises(InputError, match="cannot be combined with a model"):
        opened(tmp_path / "state", model=models / "one.pater", settings={"algo": "pa"})
    log, settings = opened(tmp_path / "state", settings={"algo": "pa"})
    assert settings == {"algo": "pa"}
    assert log.snapshots() == []
    log.close()


def test_a_lost_log_does_not_cost_the_models(models, tmp_path):
    state = tmp_path / "state"
    log, _ = opened(state)
    append(log, range(3))
    snapshot(log, models, 3)
    log.close()
    (state / "log.sqlite").unlink()
    with pytest.raises(StateError, match=r"log.sqlite is missing.*snapshot-000000000003.pater as its model"):
        opened(state)
    assert [path.name for path in (state / "models").iterdir()] == ["snapshot-000000000003.pater"]
    opened(tmp_path / "other", model=state / "models" / "snapshot-000000000003.pater")[0].close()


def test_what_is_exported(models, tmp_path):
    log, _ = opened(tmp_path / "state")
    append(log, range(3))
    write_now(log, lambda t: t.append(JSON, b"".join(ROW % k for k in (3, 4, 5)), 3))
    write_now(log, lambda t: t.refuse(2))
    write_now(log, lambda t: t.refuse(4, [1]))

    def exported(since=None):
        return [json.loads(line)["features"]["a"] for line in list(lines(log, since))[1:]]

    assert exported() == exported(0) == [0, 2, 3, 5]
    assert [exported(k) for k in range(1, 6)] == [[2, 3, 5], [3, 5], [5], [], []]
    shutil.copy(models / "two.pater", log.folder.model(2))
    write_now(
        log, lambda t: t.snapshot("model-000002.pater", entry=0, position=0, version=2, quality=None, kind="model")
    )
    append(log, [6])
    assert exported() == [6]
    assert exported(0) == [0, 2, 3, 5, 6]
    assert command(log, "x.jsonl")[2:5] == ["x.jsonl", "-i", str(log.folder.models / "model-000002.pater")]
    log.close()


def test_trimming_drops_what_the_last_snapshot_has_learned(models, tmp_path):
    state = tmp_path / "state"
    with pytest.raises(StateError, match="not a state directory"):
        trim(state)
    log, _ = opened(state)
    append(log, range(10))
    snapshot(log, models, 4)
    snapshot(log, models, 7)
    with pytest.raises(StateError, match="is at work in it"):
        trim(state)
    log.close()
    assert trim(state) == (7, "snapshot-000000000007.pater")
    log, _ = opened(state)
    assert [each.position for each in log.entries()] == [7, 8, 9]
    assert (log.position, log.first_entry) == (10, 8)
    assert [(each.kind, each.entry) for each in log.snapshots()] == [("model", 7)]
    assert [json.loads(line)["features"]["a"] for line in list(lines(log))[1:]] == [7, 8, 9]
    assert str(log.folder.models / "snapshot-000000000007.pater") in command(log)
    assert sorted(path.name for path in log.folder.models.iterdir()) == ["snapshot-000000000007.pater"]
    append(log, [10])
    assert [each.number for each in log.entries()][-1] == 11
    assert not write_now(log, lambda t: t.forget_snapshots(0))
    log.close()
    with pytest.raises(StateError, match="no snapshot after the model"):
        trim(state)
    assert check(state).sound
    log, _ = opened(state)
    snapshot(log, models, 11)
    log.folder.snapshot(11).write_bytes(b"damaged")
    log.close()
    with pytest.raises(Exception, match="snapshot-000000000011"):
        trim(state)
    assert len(list(Log.open_to_read(state).entries())) == 4


def test_what_check_finds(models, tmp_path):
    state = tmp_path / "state"
    assert "not a state directory" in check(state).wrong[0]
    log, _ = opened(state, model=models / "one.pater")
    append(log, range(5))
    write_now(log, lambda t: t.remember([("a", b"{}", None)]))
    snapshot(log, models, 4)
    while_it_runs = check(state)
    assert while_it_runs.sound
    assert "5 rows were learned, of which 5 are in the log" in while_it_runs.found
    assert "1 rows that wait for labels" in while_it_runs.found
    assert "recovery begins with snapshot-000000000004.pater, and 1 entries of the log after it" in while_it_runs.found
    log.close()

    def broken(statement, *values):
        connection = sqlite3.connect(state / "log.sqlite")
        connection.execute("SAVEPOINT all_of_it")
        connection.execute(statement, values)
        connection.commit()
        connection.close()
        found = check(state)
        assert not found.sound
        return found.wrong

    copy = tmp_path / "copy"
    shutil.copytree(state, copy)

    def mend():
        shutil.rmtree(state)
        shutil.copytree(copy, state)

    for number in (1, 3, 5):
        assert f"entry {number} is missing" in broken("DELETE FROM entries WHERE number = ?", number)[0]
        mend()
    assert "entry 3 does not follow entry 2" in broken("UPDATE entries SET position = 9 WHERE number = 3")
    mend()
    assert "entry 2 is not what was written" in broken("UPDATE entries SET content = ? WHERE number = 2", b"")[0]
    mend()
    assert "entry 2 is not what was written" in broken("UPDATE entries SET content = 7 WHERE number = 2")[0]
    mend()
    assert "entry 3 is not what was written" in broken("UPDATE entries SET refused = '[' WHERE number = 3")[0]
    mend()
    assert "entry 2 has other rows than it says" in broken("UPDATE entries SET rows = 2 WHERE number = 2")
    mend()
    assert "the log ends at row 5, but 7 were counted" in broken("UPDATE counts SET value = 7 WHERE name = 'rows'")
    mend()
    assert "there are 1 rows that wait for labels, but 0 were counted" in broken(
        "UPDATE counts SET value = 0 WHERE name = 'pending'"
    )
    mend()
    assert "is of entry 9, but the log has 5" in broken("UPDATE snapshots SET entry = 9 WHERE kind = 'snapshot'")[0]
    mend()
    assert "which is not the name of a snapshot" in broken("UPDATE snapshots SET file = '../../passwd'")[0]
    mend()
    assert "newer version" in broken("UPDATE meta SET value = '9' WHERE name = 'version'")[0]
    mend()
    (state / "models" / "snapshot-000000000004.pater").write_bytes(b"damaged")
    found = check(state)  # recovery begins before it
    assert found.sound
    assert [line for line in found.found if line.startswith("warning: ") and "snapshot-000000000004.pater" in line]
    assert "recovery begins with model-000001.pater, and 5 entries of the log after it" in found.found
    (state / "models" / "model-000001.pater").unlink()
    assert "model-000001.pater: cannot be read: No such file" in check(state).wrong[0]
    mend()
    content = bytearray((state / "log.sqlite").read_bytes())
    content[5000:9000] = b"\xff" * 4000
    (state / "log.sqlite").write_bytes(content)
    assert "damaged" in check(state).wrong[0]


def test_a_server_goes_on_while_others_read(tmp_path):
    log, _ = opened(tmp_path / "state")
    append(log, [0])
    stop, numbers = threading.Event(), itertools.count(1)

    def write():
        while not stop.is_set():
            append(log, [next(numbers)])
            write_now(log, lambda t: t.remember([(str(k), b"{}", None) for k in range(3)]))
            write_now(log, lambda t: t.join([LabelOf("1", 1)]))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            assert check(tmp_path / "state").wrong == []
            reader = Log.open_to_read(tmp_path / "state")
            start = begins(reader)
            found = [json.loads(line)["features"]["a"] for line in list(lines(reader, None, start))[1:]]
            reader.close()
            assert found == list(range(start.last))
    finally:
        stop.set()
        writer.join(20)
        log.close()


def test_bits_that_have_flipped_are_told_or_change_nothing(tmp_path):
    choice = random.Random(0)
    log, _ = opened(tmp_path / "state", settings={"algo": "pater-i"})
    append(log, range(30))
    for k in range(30):
        write_now(log, lambda t, k=k: (t.remember([(str(k), b"{}", [k])]), t.keep_key(str(k), b"", {"learned": k}, k)))
    whole = b"".join(lines(log))
    log.close()
    path = tmp_path / "state" / "log.sqlite"
    content, told = path.read_bytes(), 0
    for _ in range(100):
        changed = bytearray(content)
        changed[choice.randrange(len(changed))] ^= 1 << choice.randrange(8)
        path.write_bytes(changed)
        check(tmp_path / "state")
        try:
            log, _ = opened(tmp_path / "state")
        except StateError:
            told += 1
            continue
        try:
            assert b"".join(lines(log)) == whole
        except StateError:
            told += 1
        finally:
            log.close()
    assert 2 < told < 98
