"""The log and its writer: what was returned is there, once and in order; what failed is not there at all."""

from __future__ import annotations

import os
import sqlite3
import threading
import time

import pytest
from patience import WAIT

from pater.serve.errors import Refusal
from pater.serve.rows.kinds import JSON
from pater.serve.store.folder import StateError
from pater.serve.store.log import Log
from pater.serve.store.records import LabelOf, Limits
from pater.serve.store.writer import Busy, Ended, StorageFull, Writer, in_one_transaction

ROW = b'{"features":{"a":1},"label":1}\n'


class Server:
    """A log, its writer, and what was returned."""

    def __init__(self, path, **options):
        limits = options.pop("limits", None)
        self.log = Log.open(path, limits=limits)
        self.groups = []
        self.came = threading.Condition()
        self.writer = Writer(self.log, self.committed, **options)

    def committed(self, group):
        with self.came:
            self.groups.append(group)
            self.came.notify_all()

    def do(self, write, size=0):
        """Write, wait, and return the result or raise the error."""
        ticket = object()
        self.writer.submit(ticket, write, size)
        return self.result(ticket)

    def result(self, ticket):
        def found():
            return [result for group in self.groups for each, result in group if each is ticket]

        with self.came:
            assert self.came.wait_for(found, timeout=WAIT)
            (result,) = found()
        if isinstance(result, Exception):
            raise result
        return result

    def close(self):
        assert self.writer.stop(WAIT)
        self.log.close()


@pytest.fixture
def opened(tmp_path):
    servers = []

    def new(name="state", **options):
        servers.append(Server(tmp_path / name, **options))
        return servers[-1]

    yield new
    for server in servers:
        server.close()


def test_entries_come_back_in_order_with_their_positions(opened):
    server = opened()
    first = server.do(lambda t: t.append(JSON, ROW * 3, 3))
    second = server.do(lambda t: t.append(JSON, ROW * 2, 2, [[1, 0.5], None]))
    assert (first.number, first.position, first.end) == (1, 0, 3)
    assert (second.number, second.position, second.end) == (2, 3, 5)
    assert [(e.number, e.position, e.rows) for e in server.log.entries()] == [(1, 0, 3), (2, 3, 2)]
    assert [e.said for e in server.log.entries()] == [None, [[1, 0.5], None]]
    assert [e.judged() for e in server.log.entries()] == [[], [(1, 0.5), (None, None)]]
    assert [e.number for e in server.log.entries(after=1)] == [2]
    assert server.log.position == 5
    assert next(server.log.entries()).lines() == [ROW.rstrip()] * 3


def test_rows_begin_where_the_log_ends_whatever_was_undone_or_taken_out(opened):
    server = opened()

    def bad(t):
        t.append(JSON, ROW, 1)
        raise Refusal(422, "no")

    def both(t):
        return t.append(JSON, ROW * 2, 2).position, t.append(JSON, ROW, 1).position

    assert server.do(both) == (0, 2)
    with pytest.raises(Refusal):
        server.do(bad)
    assert server.do(both) == (3, 5)
    server.do(lambda t: t.refuse(1, [0]))
    assert server.do(both) == (5, 7)
    server.do(lambda t: (t.refuse(2), t.append(JSON, ROW, 1))[0])
    assert server.do(both) == (8, 10)
    assert [entry.position for entry in server.log.entries()] == [0, 1, 1, 3, 4, 6, 7, 8, 10]
    assert server.log.position == 11


def test_what_waits_goes_into_one_group_in_order(opened):
    server = opened()
    begun, go = threading.Event(), threading.Event()
    server.writer.submit("first", lambda t: (begun.set(), go.wait(WAIT))[1])
    assert begun.wait(WAIT)
    for k in range(50):
        server.writer.submit(k, lambda t, k=k: t.append(JSON, b"%d\n" % k, 1))
    assert server.writer.waiting == 51
    go.set()
    server.result("first")
    server.do(lambda t: None)
    assert [[ticket for ticket, _ in group] for group in server.groups[:2]] == [["first"], list(range(50))]
    assert [entry.content for entry in server.log.entries()] == [b"%d\n" % k for k in range(50)]
    assert server.writer.waiting == server.writer._bytes == 0


def test_a_write_that_fails_is_undone_alone(opened):
    server = opened()
    begun, go = threading.Event(), threading.Event()

    def bad(t):
        t.append(JSON, ROW, 1)
        t.remember([("x", b"{}", None)])
        raise Refusal(422, "no")

    server.writer.submit("wait", lambda t: (begun.set(), go.wait(WAIT)))
    assert begun.wait(WAIT)
    server.writer.submit("a", lambda t: t.append(JSON, b"a\n", 1))
    server.writer.submit("bad", bad)
    server.writer.submit("b", lambda t: t.append(JSON, b"b\n", 1))
    server.writer.submit("surrogate", lambda t: t.remember([("\ud800", b"{}", None)]))
    server.writer.submit("c", lambda t: t.append(JSON, b"c\n", 1))
    go.set()
    assert server.result("c").position == 2
    with pytest.raises(Refusal, match="no"):
        server.result("bad")
    with pytest.raises(UnicodeEncodeError):
        server.result("surrogate")
    assert [entry.content for entry in server.log.entries()] == [b"a\n", b"b\n", b"c\n"]
    assert server.log.count("pending") == 0


def test_too_much_that_waits_is_busy(opened):
    server = opened(most=3, most_bytes=100)
    begun, go = threading.Event(), threading.Event()
    server.writer.submit(0, lambda t: (begun.set(), go.wait(WAIT)), 60)
    assert begun.wait(WAIT)
    with pytest.raises(Busy) as error:
        server.writer.submit(1, lambda t: None, 60)
    assert error.value.status == 429
    assert error.value.retry_after
    server.writer.submit(1, lambda t: None)
    server.writer.submit(2, lambda t: None)
    with pytest.raises(Busy):
        server.writer.submit(3, lambda t: None)
    server.writer.submit(4, lambda t: None, urgent=True)
    go.set()
    server.result(4)
    server.do(lambda t: None, 10_000)  # larger than all that may wait, but alone


def test_ending_writes_what_waits(tmp_path):
    server = Server(tmp_path / "state")
    for k in range(200):
        server.writer.submit(k, lambda t: t.append(JSON, ROW, 1))
    server.close()
    assert [ticket for group in server.groups for ticket, _ in group] == list(range(200))
    with pytest.raises(Ended):
        server.writer.submit(0, lambda t: None)
    log = Log.open_to_read(tmp_path / "state")
    assert log.position == 200
    log.close()


def test_refused_rows_leave_the_positions(opened):
    server = opened()
    one, two, three = (server.do(lambda t, n=n: t.append(JSON, ROW * n, n)) for n in (2, 3, 4))
    assert server.do(lambda t: t.refuse(two.number, [1, 7])) == 1
    assert [(e.position, e.kept, e.refused) for e in server.log.entries()] == [(0, 2, ()), (2, 2, (1,)), (4, 4, ())]
    assert server.do(lambda t: t.refuse(two.number, [1])) == 1
    assert server.do(lambda t: t.refuse(two.number)) == 3
    assert [(e.position, e.kept) for e in server.log.entries()] == [(0, 2), (2, 0), (2, 4)]
    assert server.log.position == 6
    assert len(list(server.log.entries())[1].lines()) == 0
    assert server.do(lambda t: t.append(JSON, ROW, 1)).position == 6
    assert (one.number, three.number) == (1, 3)


def test_a_label_that_was_kept_in_another_spelling_of_a_truth_value_is_the_same(opened):
    server = opened()
    assert server.do(lambda t: t.claim([("a", "true"), ("b", 1)])).fresh == [0, 1]
    joined = server.do(lambda t: t.join([LabelOf("a", "True"), LabelOf("a", "False"), LabelOf("b", 1)]))
    assert (joined.already, joined.conflicting) == (["a", "b"], ["a"])


def test_labels_join_rows_once(opened):
    server = opened()
    server.do(lambda t: t.remember([("a", b'{"x":1}', [1, 0.9]), ("b", b'{"x":2}', None), ("a", b'{"x":3}', [0, 0.1])]))
    assert server.log.count("pending") == 2
    joined = server.do(
        lambda t: t.join(
            [LabelOf("b", 0), LabelOf("nobody", 1), LabelOf("a", "ü", 2.5), LabelOf("b", 0), LabelOf("b", 1)]
        )
    )
    assert [(row.id, row.features, row.said) for row in joined.rows] == [
        ("b", b'{"x":2}', None),
        ("a", b'{"x":3}', [0, 0.1]),
    ]
    assert (joined.unknown, joined.already, joined.conflicting) == (["nobody"], ["b"], ["b"])
    assert joined.content.decode() == '{"features":{"x":2},"label":0}\n{"features":{"x":3},"label":"ü","weight":2.5}\n'
    assert (server.log.count("pending"), server.log.count("done")) == (0, 2)
    assert server.do(lambda t: t.remember([("a", b"{}", None), ("c", b"{}", None)])) == ["a"]
    assert server.log.count("pending") == 1
    again = server.do(lambda t: t.join([LabelOf("a", "ü"), LabelOf("a", "u")]))
    assert (again.rows, again.already, again.conflicting) == ([], ["a"], ["a"])


def test_rows_to_learn_are_new_once_across_learn_and_labels(opened):
    server = opened()
    server.do(lambda t: t.remember([("a", b"{}", "said")]))
    claimed = server.do(lambda t: t.claim([("a", 1), (None, 0), ("b", 1), ("b", 1), ("b", 0), (None, 1)]))
    assert claimed.fresh == [0, 1, 2, 5]
    assert (claimed.already, claimed.conflicting) == (["b"], ["b"])
    assert claimed.said[0][0] == "said"
    assert server.do(lambda t: t.join([LabelOf("a", 1)])).already == ["a"]
    assert server.log.count("pending") == 0


def test_what_is_old_is_forgotten(opened):
    server = opened()
    now = [1000.0]
    server.log.clock = lambda: now[0]
    server.do(lambda t: (t.remember([(f"p{k}", b"{}", k) for k in range(5)]), t.claim([("d", 1)])))
    server.do(lambda t: t.keep_key("key", b"1", {"learned": 1}))
    now[0] = 2000.0
    server.do(lambda t: t.remember([("p3", b'{"x":1}', 3), ("new", b"{}", 6)]))
    assert server.do(lambda t: t.expire(1000.0)).unknown == []
    some = server.do(lambda t: t.expire(1500.0, limit=1))
    assert some.unknown == ["p0"]
    assert some.more
    rest = server.do(lambda t: t.expire(1500.0, as_label=0))
    assert [(row.id, row.label, row.said) for row in rest.rows] == [("p1", 0, 1), ("p2", 0, 2), ("p4", 0, 4)]
    assert not rest.more
    assert server.log.count("pending") == 2
    assert server.do(lambda t: t.known_key("key", b"1")) is None
    assert server.do(lambda t: t.join([LabelOf("p0", 1), LabelOf("p1", 0), LabelOf("d", 1)])).unknown == ["p0", "d"]


def test_keys_give_the_same_answer_again(opened):
    server = opened()
    assert server.do(lambda t: t.known_key("k", b"1")) is None
    server.do(lambda t: t.keep_key("k", b"1", {"learned": 2, "position": 2}))
    assert server.do(lambda t: t.known_key("k", b"1")) == ({"learned": 2, "position": 2}, ())
    with pytest.raises(Refusal) as error:
        server.do(lambda t: t.known_key("k", b"2"))
    assert error.value.status == 422
    entry = server.do(lambda t: t.append(JSON, ROW * 3, 3))
    server.do(lambda t: t.keep_key("other", b"2", {"learned": 3}, entry.number))
    assert server.do(lambda t: t.known_key("other", b"2")).refused == ()
    server.do(lambda t: t.refuse(entry.number, [1]))
    assert server.do(lambda t: t.known_key("other", b"2")).refused == (1,)


def test_what_is_remembered_has_limits(opened):
    server = opened(limits=Limits(pending=3, done=2, keys=1))
    server.do(lambda t: t.remember([(f"{k}", b"{}", None) for k in range(3)]))
    for write in (
        lambda t: t.remember([("new", b"{}", None)]),
        lambda t: t.claim([(f"n{k}", 1) for k in range(3)]),
        lambda t: [t.keep_key(f"k{k}", b"", None) for k in range(2)],
    ):
        with pytest.raises(Refusal) as error:
            server.do(write)
        assert error.value.status == 429
    server.do(lambda t: t.remember([("2", b"{}", None)]))  # replaces another
    assert [server.log.count(name) for name in ("pending", "done", "keys")] == [3, 0, 0]


def test_the_rest_is_kept(opened, tmp_path):
    server = opened()
    server.do(lambda t: (t.set_meta("columns", {"a": 1}), t.set_meta("columns", {"b": [None, "ü"]})))
    server.do(lambda t: [t.event("start", {"n": k}) for k in range(3)])
    server.do(lambda t: (t.set_offset("t", 0, 5), t.set_offset("t", 0, 9), t.set_offset("t", 1, 2)))
    server.close()
    again = opened()
    assert again.log.meta("columns") == {"b": [None, "ü"]}
    assert again.log.meta("nothing", 3) == 3
    assert [event.content["n"] for event in again.log.events(2)] == [1, 2]
    assert again.log.offsets() == {("t", 0): 9, ("t", 1): 2}


def test_snapshots_stand_in_the_order_of_the_log(opened):
    server = opened()
    folder = server.log.folder

    def snapshot(entry, version=1, kind="snapshot"):
        path = folder.snapshot(entry) if kind == "snapshot" else folder.model(version)
        path.write_bytes(b"x")
        server.do(
            lambda t: t.snapshot(
                path.name, entry=entry, position=entry, version=version, quality={"n": entry}, kind=kind
            )
        )

    for k in range(4):
        server.do(lambda t: t.append(JSON, ROW, 1))
        snapshot(k + 1)
    server.do(lambda t: t.append(JSON, ROW, 1))
    snapshot(0, version=2, kind="model")
    snapshot(5)  # of the old model, written after the swap
    assert [(s.entry, s.version, s.kind) for s in server.log.snapshots()][-2:] == [(5, 1, "snapshot"), (5, 2, "model")]
    assert server.log.snapshots()[-1].file == "model-000002.pater"
    old = server.do(lambda t: t.forget_snapshots(2))
    assert old == ["snapshot-000000000003.pater", "snapshot-000000000002.pater", "snapshot-000000000001.pater"]
    folder.remove(old)
    folder.snapshot(1).write_bytes(b"left by a kill")
    folder.snapshot(77).write_bytes(b"of another log")
    (folder.models / "mine.pater").write_bytes(b"somebody's")
    folder.sweep((each.file for each in server.log.snapshots()), server.log.last_entry)
    left = sorted(path.name for path in folder.models.iterdir())
    kept = [f"snapshot-{entry:012}.pater" for entry in (4, 5, 77)]
    assert left == ["mine.pater", "model-000002.pater", *kept]


def test_the_time_never_goes_back(opened):
    server = opened()
    now = [5000.0]
    server.log.clock = lambda: now[0]
    server.do(lambda t: t.append(JSON, ROW, 1))
    now[0] = 100.0
    server.do(lambda t: t.append(JSON, ROW, 1))
    server.do(lambda t: t.remember([("a", b"{}", None)]))
    server.close()
    again = opened()
    again.log.clock = lambda: 50.0
    assert again.do(lambda t: t.time) == 5000.0
    again.log.clock = lambda: 6000.0
    assert again.do(lambda t: t.time) == 6000.0
    assert [entry.time for entry in again.log.entries()] == [5000.0, 5000.0]


def test_a_second_server_is_refused(opened, tmp_path):
    server = opened()
    with pytest.raises(StateError, match=rf"process {os.getpid()}\) is at work in it"):
        Log.open(tmp_path / "state")
    reader = Log.open_to_read(tmp_path / "state")
    server.do(lambda t: t.append(JSON, ROW, 1))
    assert reader.position == 1
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        reader._reader.execute("DELETE FROM entries")
    reader.close()
    server.close()
    opened().do(lambda t: None)


def test_a_newer_version_and_other_files_are_refused(opened, tmp_path):
    server = opened()
    server.do(lambda t: t.set_meta("version", 2))
    server.close()
    for opening in (Log.open, Log.open_to_read):
        with pytest.raises(StateError, match=r"newer version of pater .its format is 2, this one reads 1"):
            opening(tmp_path / "state")
    (tmp_path / "other").mkdir()
    other = sqlite3.connect(tmp_path / "other" / "log.sqlite")
    other.execute("CREATE TABLE things (a)")
    other.close()
    with pytest.raises(StateError, match="not the log of a service"):
        Log.open(tmp_path / "other")
    (tmp_path / "file").write_text("")
    with pytest.raises(StateError, match="Name a directory, not a file"):
        Log.open(tmp_path / "file")
    with pytest.raises(StateError, match="not a state directory"):
        Log.open_to_read(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_a_damaged_log_is_told(opened, tmp_path):
    server = opened()
    server.do(lambda t: [t.append(JSON, ROW * 100, 100) for _ in range(100)])
    server.close()
    path = tmp_path / "state" / "log.sqlite"
    content = path.read_bytes()
    for damaged in (b"nonsense" * 1000, content[:100] + b"\xff" * 4000 + content[4100:], content[:5000]):
        path.write_bytes(damaged)
        with pytest.raises(StateError, match="is damaged"):
            Log.open(tmp_path / "state")
        assert path.read_bytes() == damaged


def test_a_full_disk_takes_nothing_and_later_all(opened):
    server = opened()
    server.do(lambda t: t.append(JSON, ROW, 1))
    pages = server.do(lambda t: t._run("PRAGMA page_count").fetchone()[0])
    server.log.connection.execute(f"PRAGMA max_page_count = {pages + 3}")
    begun, go = threading.Event(), threading.Event()
    server.writer.submit("wait", lambda t: (begun.set(), go.wait(WAIT)))
    assert begun.wait(WAIT)
    server.writer.submit("small", lambda t: t.append(JSON, ROW, 1))
    server.writer.submit("large", lambda t: t.append(JSON, bytes(100_000), 1))
    server.writer.submit("after", lambda t: t.append(JSON, ROW, 1))
    go.set()
    for ticket in ("small", "large", "after"):
        with pytest.raises(StorageFull, match="the disk is full") as error:
            server.result(ticket)
        assert error.value.status == 507
    assert server.writer.broken
    assert server.log.position == 1
    assert server.do(lambda t: t.append(JSON, ROW, 1)).position == 1  # there is room for a small one
    assert server.writer.broken is None
    server.log.connection.execute("PRAGMA max_page_count = 100000")
    assert server.do(lambda t: t.append(JSON, bytes(100_000), 1)).number == 3
    assert time.time() >= server.log.now() - 1


def test_another_program_that_writes_is_told_of(opened):
    server = opened()
    server.log.connection.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(server.log.folder.log, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageFull, match="another program is writing to the log"):
        server.do(lambda t: t.append(JSON, ROW, 1))
    other.execute("ROLLBACK")
    other.close()
    assert server.do(lambda t: t.append(JSON, ROW, 1)).number == 1


class Failing:
    """A connection whose disk fails at one statement, before or after executing it."""

    def __init__(self, connection, at, code, *, after):
        self._connection, self._left, self._code, self._after = connection, at, code, after

    @property
    def in_transaction(self):
        return self._connection.in_transaction

    def execute(self, *arguments):
        self._left -= 1
        if self._left == 0:
            if self._after and arguments[0] != "COMMIT":
                self._connection.execute(*arguments)
            error = sqlite3.OperationalError("a fault")
            error.sqlite_errorcode = self._code
            raise error
        return self._connection.execute(*arguments)

    executemany = execute


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR | (4 << 8)])
@pytest.mark.parametrize("after", [False, True])
def test_a_fault_at_any_statement_leaves_nothing_half_done(opened, code, after):
    server = opened()
    server.do(lambda t: t.remember([("a", b"{}", None), ("b", b"{}", None)]))
    log, real = server.log, server.log.connection

    def label(t):
        t.append(JSON, t.join([LabelOf("a", 1)]).content, 1)
        t.keep_key("key", b"", 1)

    def refused(t):
        t.append(JSON, ROW, 1)
        raise Refusal(422, "no")

    writes = [lambda t: t.append(JSON, ROW * 2, 2), label, refused, lambda t: t.remember([("c", b"{}", None)])]

    def found():
        return [log.count(name) for name in ("rows", "pending", "done", "keys")] + [len(list(log.entries()))]

    for at in range(1, 100):
        log.connection = Failing(real, at, code, after=after)
        try:
            results = in_one_transaction(log, writes)
        except sqlite3.OperationalError:
            assert found() == [0, 2, 0, 0, 0]
            assert not real.in_transaction
        else:
            break
        finally:
            log.connection = real
    assert at > 20
    assert isinstance(results[2], Refusal)
    assert found() == [3, 2, 1, 1, 2]
    assert server.do(lambda t: t.append(JSON, ROW, 1)).position == 3
