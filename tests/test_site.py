"""The documentation site: built without a warning, complete, and without dead links."""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = ("", "client", "dask", "export", "onnx", "preprocessing", "river", "spark", "stream")


@pytest.fixture(scope="module")
def builder():
    spec = importlib.util.spec_from_file_location("build_of_the_site", ROOT / "docs" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def public_names(module):
    """The names that a module exports, read from its text, since its libraries may not be there."""
    folder = ROOT / "src" / "pater" / module
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    body = ast.parse(file.read_text()).body if file.exists() else []
    for node in body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return {f"pater.{module}.{name}".replace("..", ".") for name in ast.literal_eval(node.value)}
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {f"pater.{module}.{node.name}" for node in body if isinstance(node, kinds) and node.name[0] != "_"}


def pages_of(nav):
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else [entry]:
            yield from pages_of(value) if isinstance(value, list) else [value]


def test_the_site_is_built_whole(builder):
    pytest.importorskip("zensical", reason='needs Zensical: pip install "pater[docs]"')
    builder.main()  # warnings and dead links are errors
    names = zlib.decompress((builder.SITE / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    described = {line.split()[0] for line in names.splitlines()}
    described |= {re.sub(r"\.(\w+)\.\1$", r".\1", name) for name in described}  # a function named as its module
    missing = set().union(*map(public_names, PUBLIC)) - described - {"pater.__version__"}
    assert not missing


def test_every_page_is_in_the_navigation(builder):
    in_docs = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    beside = {
        there for name, there in builder.BESIDE.items() if name.endswith(".md") and there and (ROOT / name).exists()
    }
    nav = list(pages_of(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]))
    assert sorted(nav) == sorted(in_docs | beside)


def test_dead_links_are_found(builder, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.html").write_text('<a href="../c.html#here">x</a><a href="#x">x</a><img src="no.png">')
    (tmp_path / "c.html").write_text(
        '<h1 id="here"></h1><a href="/a/b.html"></a><a href="d.html"></a><a href="a:b"></a>'
    )
    assert builder.dead_links(tmp_path) == ["a/b.html: #x", "a/b.html: no.png", "c.html: d.html"]


def test_a_list_is_a_list_on_the_site():
    """Python-Markdown wants an empty line before a list, and four spaces before one within."""
    for page in (ROOT / "docs").rglob("*.md"):
        text = re.sub(r"^( *)```.*?^\1```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        assert not re.search(r"^(?! *(?:[-*+]|\d+\.) | {2,}|#|$).+\n(?:[-*+]|1\.) ", text, flags=re.MULTILINE), (
            page.name
        )
        assert not re.search(r"^(?:[-*+]|\d+\.) .*(?:\n {2,}.*)*\n {1,3}(?:[-*+]|\d+\.) ", text, flags=re.MULTILINE), (
            page.name
        )
