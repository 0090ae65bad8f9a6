"""The tests with the lowest versions that `pyproject.toml` allows, in an environment of their own.

    python benchmarks/lowest.py                 some tests of every part
    python benchmarks/lowest.py --with river    those of an extra that needs newer versions than the others
    python benchmarks/lowest.py --keep ENV -- tests/estimators -k pickle

Every requirement is pinned to its lower bound; its own requirements are as new as pip finds them, as for somebody who
has long had an old version of one library. A bound that cannot be installed with the others, or that fails a test, is
too low.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOME = [  # of every part
    "tests/cli/test_cli_basics.py",
    "tests/cli/test_cli_data.py",
    "tests/cluster/test_dask.py",
    "tests/cluster/test_spark.py",
    "tests/estimators/test_saving.py",
    "tests/estimators/test_ter.py",
    "tests/export/test_document.py",
    "tests/formats/test_arrow.py",
    "tests/formats/test_sources.py",
    "tests/onnx/test_onnx_matrices.py",
    "tests/serve/test_serve_app.py",
    "tests/serve/test_serve_kafka.py",
    "tests/stream/test_encoder.py",
    "tests/study/test_peers_span.py",
    "tests/study/test_study_tables.py",
    "tests/test_imports.py",
]
APART = {"river": ["tests/river/test_river_checks.py"]}
"""Extras that need newer versions of the package's own requirements, and tests for them."""


def lowest(requirement: str) -> str | None:
    """The requirement with its lower bound as the only version; None if it is the project itself."""
    name, _, bounds = requirement.partition(">=")
    if not bounds:
        if name.startswith("pater["):
            return None
        raise SystemExit(f"{requirement}: has no lower bound")
    version = re.match(r"[0-9.]+", bounds)
    assert version is not None
    return f"{name}=={version[0]}"


def pins(extra: str | None = None) -> list[str]:
    """The lower bounds of the package and its extras outside `APART`; or of the package, its tests and one extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    names = [extra, "test"] if extra else [name for name in extras if name not in APART]
    found: dict[str, str] = {}
    for requirement in [*project["dependencies"], *(each for name in names for each in extras[name])]:
        if pin := lowest(requirement):
            name = pin.partition("==")[0]
            found[name] = max(found.get(name, pin), pin, key=_version)
    return sorted(found.values())


def _version(pin: str) -> list[int]:
    return [int(part) for part in pin.partition("==")[2].split(".")]


def check(folder: Path, wanted: list[str], tests: list[str]) -> int:
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    print("\n".join(wanted), flush=True)
    for arguments in (["install", "--quiet", *wanted], ["check"]):
        if code := subprocess.run([python, "-m", "pip", *arguments]).returncode:
            return code
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "NUMBA_CACHE_DIR": str(folder / "compiled"),  # keeps what another Numba has compiled
    }
    return subprocess.run([python, "-m", "pytest", "-q", *tests], cwd=ROOT, env=environment).returncode


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--with", dest="extra", choices=list(APART), help="this extra instead of all others")
    parser.add_argument(
        "--keep", type=Path, metavar="ENV", help="make the environment here, or use the one that is here"
    )
    parser.add_argument("tests", nargs="*", help="what to give to pytest instead")
    given = parser.parse_args()
    without = [f"--deselect=tests/test_imports.py::test_docstring_examples_run[pater.{name}]" for name in APART]
    tests = given.tests or (APART[given.extra] if given.extra else [*SOME, *without])
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(check(given.keep or Path(folder), pins(given.extra), tests))


if __name__ == "__main__":
    main()
