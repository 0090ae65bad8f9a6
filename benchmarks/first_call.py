"""What a new user waits for: the first call of each kind, with an empty cache, including compilation.

    python benchmarks/first_call.py                    this tree
    python benchmarks/first_call.py --beside OTHER     in turn with the `src` folder of another one

Processor seconds of a whole process, including imports; the least of the runs. `imports` is a process that only imports
NumPy, SciPy, scikit-learn and Numba.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pater.data.payments import Payment, made_payments

ROOT = Path(__file__).resolve().parents[1]

ROWS = """
import numpy as np, scipy.sparse as sp, sklearn.base, numba
rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 20))
y = (X[:, 0] + rng.normal(size=1000) > 1).astype(int)
S = sp.csr_array(np.where(rng.random((1000, 600)) < 0.05, rng.normal(size=(1000, 600)), 0.0))
"""
FIT = ROWS + "import pater\npater.{}.partial_fit({}, y, classes=[0, 1])"
TABLE = """
import sys
sys.argv = ["pater", "train", "payments.csv", "--label", "fraud", "-m", "fraud.pater"]
from pater.cli import command
command()
"""
CALLS = {
    "imports": ROWS,
    "PATERClassifier, dense rows": FIT.format("PATERClassifier()", "X"),
    "PATERClassifier, sparse rows": FIT.format("PATERClassifier()", "S"),
    "SecondOrderPATERClassifier, dense rows": FIT.format("SecondOrderPATERClassifier()", "X"),
    "AROWClassifier, dense rows": FIT.format("AROWClassifier()", "X"),
    "AutoPATERClassifier, dense rows": FIT.format("AutoPATERClassifier()", "X"),
    "AutoPATERClassifier, sparse rows": FIT.format("AutoPATERClassifier()", "S"),
    "pater train, a table as CSV": TABLE,
}


def seconds(program: str, source: Path, folder: Path) -> float:
    """Processor time of a process that runs this program with an empty cache."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": cache}
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"a call failed with {process.returncode}:\n{program}")
        return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--beside", type=Path, metavar="OTHER", help="the `src` folder of another tree")
    parser.add_argument("--runs", type=int, default=2)
    given = parser.parse_args()
    trees = [each.resolve() for each in (given.beside, ROOT / "src") if each]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with (folder / "payments.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(Payment._fields)
            table.writerows(made_payments(20_000))
        for name, program in CALLS.items():
            least = [min(seconds(program, tree, folder) for _ in range(given.runs)) for tree in trees]
            print(f"{name:40}", *(f"{each:6.1f}" for each in least), flush=True)


if __name__ == "__main__":
    main()
