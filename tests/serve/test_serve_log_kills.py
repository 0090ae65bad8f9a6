"""A process that writes to a log is killed again and again: what it reported is there, once and in order."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter

import pytest
from patience import WAIT

from pater.serve.store.check import check
from pater.serve.store.log import Log

# Three clients predict, learn and label through one writer, and report commits, in one write per line. Requests that a
# killed process had received but not reported are passed on as lines, to be repeated.
CHILD = """
import os, random, sys, threading
from pater.serve.store.log import Log
from pater.serve.rows.kinds import JSON
from pater.serve.store.records import LabelOf
from pater.serve.store.writer import Writer

log = Log.open(sys.argv[1])
life, again = sys.argv[2], sys.argv[3:]
line = lambda name: b'{"features":{"name":"%s"},"label":1}\\n' % name.encode()

def remember(name):
    return lambda t: t.remember([(name, line(name)[12:-12], [0.5])]) or "remembered"

def label(name):
    def write(t):
        joined = t.join([LabelOf(name, 1)])
        if joined.rows:
            t.append(JSON, joined.content, 1, [[1, joined.rows[0].said]])
        return "unknown" if joined.unknown else "labelled"
    return write

def learn(name):
    def write(t):
        known = t.known_key(name, b"digest")
        if known is None:
            number = t.append(JSON, line(name), 1).number
            t.keep_key(name, b"digest", number)
        return "learned"
    return write

def committed(group):
    for (event, kind, name), result in group:
        assert result == kind, result
        os.write(1, f"{kind} {name}\\n".encode())
        event.set()

writer = Writer(log, committed)

def ask(kind, name):
    os.write(1, f"asked-{kind} {name}\\n".encode())
    event = threading.Event()
    writer.submit((event, kind, name), {"remembered": remember, "labelled": label, "learned": learn}[kind](name))
    event.wait()

def client(number):
    mine = again[number::3]
    for each in mine:
        ask(*each.split("/"))
    for k in range(100_000):
        ask("learned", f"l{life}-{number}-{k}")
        ask("remembered", f"p{life}-{number}-{k}")
        if k >= 2:
            ask("labelled", f"p{life}-{number}-{k - 2}")
            ask("labelled", f"p{life}-{number}-{k // 2}")

for k in range(3):
    threading.Thread(target=client, args=(k,)).start()
"""


def kills(folder, number, seed):
    """Kill a process this many times; return what it was asked and what it reported, as pairs of kind and name."""
    asked, told = set(), Counter()
    for life in range(number):
        again = [f"{kind}/{name}" for kind, name in sorted(asked - set(told))][:50]
        command = [sys.executable, "-c", CHILD, str(folder), str(life), *again]
        output, errors = folder.with_name(f"output-{life}"), folder.with_name(f"errors-{life}")
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(command, stdout=out, stderr=err)
            try:
                end = time.monotonic() + WAIT
                while not output.stat().st_size and process.poll() is None and time.monotonic() < end:
                    time.sleep(0.002)
                time.sleep(seed.uniform(0, 0.06))
            finally:
                process.kill()
                process.wait(WAIT)
        assert not errors.read_text()
        for line in output.read_text().splitlines():
            kind, _, name = line.partition(" ")
            if kind.startswith("asked-"):
                asked.add((kind.removeprefix("asked-"), name))
            elif name:
                told[kind, name] += 1
    return asked, told


@pytest.mark.slow
def test_kills_of_the_writer(tmp_path):
    folder, number = tmp_path / "state", 15
    asked, told = kills(folder, number, random.Random(number))
    log = Log.open(folder)
    entries = list(log.entries())
    names = [entry.content.split(b'"')[5].decode() for entry in entries]
    assert len(set(names)) == len(names)  # nothing twice
    learned = {name for kind, name in told if kind in ("learned", "labelled")}
    assert learned <= set(names)  # nothing lost
    assert set(names) <= {name for _, name in asked}
    assert [(entry.number, entry.position) for entry in entries] == [(k + 1, k) for k in range(len(entries))]
    remembered = {name for kind, name in told if kind == "remembered"} - set(names)
    rows = log._reader.execute("SELECT id FROM pending").fetchall()
    assert remembered <= {name for (name,) in rows}
    assert len(rows) == log.count("pending")
    assert len(told) > number  # on a busy machine, few are answered in a life
    log.close()
    assert check(folder).sound
