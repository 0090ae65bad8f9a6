"""Builds what would be published, and tries it as its users will: part of every release.

    python benchmarks/package.py              build, check, install into empty environments, and try
    python benchmarks/package.py --keep DIST  leave the wheel and the archive of the sources there

The archive is made from the files of this folder, the wheel from the archive. The wheel goes into an empty environment,
where every public name is imported and the command trains, uses and evaluates a model; then mypy, outside of the
repository, must know its types.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

ROWS = "churn,calls,plan\n" + "".join(f"{int(k % 10 == 0)},{k % 10 * 1.5},{'ab'[k % 2]}\n" for k in range(400))

NAMES = """
import pater
import pater.stream
for module in (pater, pater.stream):
    for name in module.__all__:
        getattr(module, name)
print(pater.__version__, pater.__file__)
"""

TYPED = """
from typing import assert_type
import numpy as np
import pater

model = pater.PATERClassifier(variant="I").fit(np.eye(4), [0, 1, 0, 1])
assert_type(model, pater.PATERClassifier)
assert_type(pater.__version__, str)
pater.PATERClassifier(no_such_parameter=1)
"""


def environment(folder: Path, *packages: str | Path) -> Path:
    """The interpreter of a new environment with these packages."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", *packages)
    run(python, "-m", "pip", "check")
    return python


def run(*command: str | Path, folder: Path | None = None) -> None:
    print("+", *(str(word).splitlines()[0] if str(word).strip() else word for word in command[1:]), flush=True)
    subprocess.run([str(word) for word in command], cwd=folder, check=True)


def build(folder: Path, dist: Path) -> Path:
    """Build and check the archive and the wheel; return the wheel."""
    python = environment(folder, "build", "twine")
    run(python, "-m", "build", "--outdir", dist, ROOT)
    [wheel], [sources] = dist.glob("*.whl"), dist.glob("*.tar.gz")
    run(python, "-m", "twine", "check", "--strict", wheel, sources)
    for path in (sources, wheel):
        print(f"{path.name}: {path.stat().st_size:,} bytes")
    return wheel


def try_it(python: Path, folder: Path) -> None:
    """Do what a new user does."""
    folder.mkdir()
    (folder / "rows.csv").write_text(ROWS, encoding="utf-8")
    run(python, "-c", NAMES, folder=folder)
    for line in (
        "--version",
        "train rows.csv --label churn -m rows.pater",
        "predict rows.pater rows.csv -o said.csv",
        "evaluate rows.csv -m rows.pater",
        "inspect rows.pater",
    ):
        run(python.with_name("pater"), *line.split(), folder=folder)


def check_types(python: Path, folder: Path) -> None:
    """Check that mypy takes the types from the installed package, and finds the one mistake."""
    folder.mkdir()
    (folder / "typed.py").write_text(TYPED, encoding="utf-8")
    done = subprocess.run(
        [str(python), "-m", "mypy", "--strict", "typed.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    print(done.stdout, done.stderr, sep="", end="")
    if '"no_such_parameter"' not in done.stdout or "Found 1 error in 1 file" not in done.stdout:
        raise SystemExit("mypy does not see the types of the package")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--keep", type=Path, metavar="DIST", help="leave what was built in this folder, which is to be empty"
    )
    given = parser.parse_args()
    if given.keep and given.keep.exists() and any(given.keep.iterdir()):
        sys.exit(f"{given.keep} is not empty")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        wheel = build(place / "builder", given.keep or place / "dist")
        python = environment(place / "user", wheel)
        try_it(python, place / "files")
        run(python, "-m", "pip", "install", "--quiet", "mypy")
        check_types(python, place / "outside")
    print("ready to be published")


if __name__ == "__main__":
    main()
