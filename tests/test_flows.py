"""How many files a call passes through, as docs/architecture.md says. Those that compile and keep code do not count."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text()

WATCHED = """
import os, sys, threading
import pater
package = os.path.dirname(pater.__file__) + os.sep
seen = set()
def watch(frame, event, argument):
    path = frame.f_code.co_filename
    if event == "call" and path.startswith(package) and path not in seen:
        while frame is not None and (frame.f_code.co_name != "<module>" or frame.f_globals["__name__"] == "__main__"):
            frame = frame.f_back
        if frame is None:  # else a module is being imported
            seen.add(path)
def count():
    sys.setprofile(None)
    found = sum(not path.startswith(os.path.join(package, "compiler", "")) for path in seen)
    seen.clear()
    return found
"""
PARTIAL_FIT = """
import numpy as np
random = np.random.default_rng(0)
X = random.normal(size=(1000, 20))
y = (X[:, 0] > 1).astype(int)
model = pater.PATERClassifier()
for _ in range(2):
    sys.setprofile(watch)
    model.partial_fit(X, y, classes=[0, 1]).coef_
    print(count())
"""
TRAIN = """
from pater.cli import main
threading.setprofile(watch)
sys.setprofile(watch)
try:
    main(["train", "--quiet", "--algo", "pater-i", "rows.svm", "-m", "rows.pater"])
except SystemExit as end:
    assert not end.code
print(count())
"""


def counts(flow, folder):
    for _ in range(2):  # the first time, something may have to be compiled
        done = subprocess.run([sys.executable, "-c", WATCHED + flow], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


def test_partial_fit(tmp_path):
    said = re.search(r"a profiler sees (\d+) files in the first call and (\d+) in every later one", PAGE)
    assert all(count <= int(most) for count, most in zip(counts(PARTIAL_FIT, tmp_path), said.groups(), strict=True))


@pytest.mark.slow
def test_pater_train(tmp_path, libsvm_text):
    (tmp_path / "rows.svm").write_bytes(libsvm_text(3000))
    working, seen = re.search(r"(\d+) files do the work. A profiler sees (\d+),", PAGE).groups()
    rows = [line for line in PAGE.splitlines() if re.match(r"\| .*: \d+ \| `", line)]
    assert int(working) == sum(int(re.search(r": (\d+) \| `", row)[1]) for row in rows)
    assert all(
        int(re.search(r": (\d+) \| `", row)[1]) == len(re.findall(r"\w+\.py", row.split("|")[2])) for row in rows
    )
    assert counts(TRAIN, tmp_path)[0] <= int(seen)
