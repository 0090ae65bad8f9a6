"""The documentation site: built without a warning, complete, and without dead links."""

from __future__ import annotations

import ast
import importlib.util
import re
import tomllib
import zlib
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[1]
PUBLIC = ("", "client", "dask", "export", "onnx", "preprocessing", "river", "spark", "stream")
ELEMENTS = {"em", "h1", "h2", "h3", "img", "li", "ol", "p", "pre", "strong", "td", "th", "tr", "ul"}


@pytest.fixture(scope="module")
def builder():
    spec = importlib.util.spec_from_file_location("build_of_the_site", ROOT / "docs" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def public_names(module):
    """The names that a module exports, read from its source, since its libraries may be missing."""
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


def inside(there):
    """All functions, classes and modules of a package."""
    for member in there.members.values():
        if not member.is_alias:
            yield member
            yield from inside(member)


class Shape(HTMLParser):
    """The structure of a page: how often each element occurs, and its words."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.words = Counter(), ""
        self.feed(re.sub(r"<button.*?</button>|<a class=.headerlink.*?</a>", "", html, flags=re.DOTALL))

    def handle_starttag(self, tag, attrs):
        self.elements[tag] += tag in ELEMENTS

    def handle_data(self, data):
        self.words += "".join(data.split())


@pytest.fixture(scope="module")
def site(builder):
    pytest.importorskip("zensical", reason='needs Zensical: pip install "pater[docs]"')
    builder.main()  # warnings and dead links are errors
    return builder.SITE


@pytest.mark.slow
def test_the_api_is_complete(site):
    names = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    described = {line.split()[0] for line in names.splitlines()}
    described |= {re.sub(r"\.(\w+)\.\1$", r".\1", name) for name in described}  # a function with the name of its module
    missing = set().union(*map(public_names, PUBLIC)) - described - {"pater.__version__"}
    assert not missing


@pytest.mark.slow
def test_the_api_tells_the_defaults_of_the_signatures():
    griffe = pytest.importorskip("griffe", reason='needs Griffe: pip install "pater[docs]"')
    ours = griffe.load_extensions(ROOT / "docs" / "docstrings.py")
    package = griffe.load("pater", search_paths=[ROOT / "src"], extensions=ours)
    told = 0
    for one in inside(package):
        parameters = one.parameters if one.is_class or one.is_function else ()
        for section in one.docstring.parse("numpy") if one.docstring and parameters else ():
            for said in section.value if section.kind.value == "parameters" else ():
                default = parameters[said.name].default
                assert str(said.value).replace('"', "'") == str(default).replace('"', "'"), (one.path, said.name)
                told += 1
    assert told > 200


@pytest.mark.slow
def test_a_page_is_read_there_as_on_a_code_host(site, builder):
    """Two dialects of Markdown: lists need an empty line before them, and four spaces before the content of an item."""
    commonmark = MarkdownIt("commonmark").enable("table")
    for source in builder.markdown():
        page = builder.placed(source).relative_to(builder.PAGES).with_suffix(".html")
        if page.parts[0] != "api":
            html = (site / page.as_posix().replace("README", "index")).read_text()
            there = Shape(re.search(r"<article.*</article>", html, flags=re.DOTALL)[0])
            here = Shape(commonmark.render(source.read_text().replace(builder.HERE, builder.REPORT)))
            assert there.elements == here.elements, page
            assert there.words == here.words, page


def test_every_page_is_in_the_navigation(builder):
    pages = [builder.placed(source).relative_to(builder.PAGES).as_posix() for source in builder.markdown()]
    nav = list(pages_of(tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]))
    assert sorted(nav) == sorted(pages)


def test_home_has_the_lines_of_the_readme():
    readme, home = ((ROOT / name).read_text() for name in ("README.md", "docs/index.md"))
    [lines] = re.findall(r"```python\n.*?```\n\n```text\n.*?```\n", readme, flags=re.DOTALL)
    assert lines in home


def test_dead_links_are_found(builder, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.html").write_text('<a href="../c.html#here">x</a><a href="#x">x</a><img src="no.png">')
    (tmp_path / "c.html").write_text(
        '<h1 id="here"></h1><a href="/a/b.html"></a><a href="d.html"></a><a href="a:b"></a>'
    )
    assert builder.dead_links(tmp_path) == ["a/b.html: #x", "a/b.html: no.png", "c.html: d.html"]
