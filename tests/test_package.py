"""What is published: every file of the package and nothing else, in a wheel and in a source archive."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import pater

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]
NOT_PUBLISHED = {".ci/run", ".gitignore"}
KINDS = {".py", ".typed", ".json", ".js", ".css", ".html", ".j2", ".csv"}

BUILD = """
import sys
from hatchling import build
print(build.build_sdist(sys.argv[1]), build.build_wheel(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source archive, and the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run([sys.executable, "-c", BUILD, folder], cwd=ROOT, capture_output=True, text=True, check=True)
    sources, wheel = done.stdout.split()
    return folder / sources, folder / wheel


def in_the_package() -> set[str]:
    files = (path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT / "src").as_posix() for path in files}


@pytest.mark.slow
def test_the_wheel_has_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        about = {name.rpartition("/")[2] for name in wheel.namelist() if ".dist-info/" in name}
    assert names == in_the_package()
    assert {Path(name).suffix for name in names} <= KINDS
    assert about == {"METADATA", "WHEEL", "entry_points.txt", "LICENSE", "RECORD"}
    pages = {
        "serve/web/openapi.json",
        "serve/web/page/status.html",
        "study/page/report.html.j2",
        "stream/page/effects.css",
    }
    assert {f"pater/{name}" for name in (*pages, "py.typed", "study/published/accuracy.csv")} <= names


def test_the_wheel_says_what_it_is(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        said = email.message_from_bytes(wheel.read(f"pater-{VERSION}.dist-info/METADATA"))
        commands = wheel.read(f"pater-{VERSION}.dist-info/entry_points.txt").decode()
    assert said["Version"] == VERSION
    assert said["License-Expression"] == "BSD-3-Clause"
    assert said["Requires-Python"] == PROJECT["requires-python"]
    assert set(said.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert "pater = pater.cli:command" in commands


def test_the_sources_are_those_that_are_tracked(built: tuple[Path, Path]) -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not in a repository")
    with tarfile.open(built[0]) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    tracked = {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}
    missing, foreign = tracked - NOT_PUBLISHED - names, names - tracked - {"PKG-INFO", ".gitignore"}
    assert not missing, "tracked, but not in [tool.hatch.build.targets.sdist] of pyproject.toml"
    assert not {name for name in foreign if name.startswith(("src/", ".ci")) or "__pycache__" in name}


def test_the_version_is_the_same_everywhere() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited is not None
    assert pater.__version__ == VERSION == cited[1]
    assert f"\n## {VERSION}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
