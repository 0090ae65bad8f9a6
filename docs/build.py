"""Build the documentation site in build/site: `python docs/build.py`.

Pages are written to be read as files, too. So they are put together in build/docs first, with links as they are on the
site, with the files of the repository that they link to, and with the study's page, made of its tables. A warning and a
dead link are errors.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
DOCS, PAGES, SITE = ROOT / "docs", ROOT / "build" / "docs", ROOT / "build" / "site"
BESIDE = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)")
HERE = "<!-- the report -->"
REPORT = """[Open it on a page of its own](study/report.html).

<iframe class="report" src="study/report.html" title="The report of the study"></iframe>"""
MARKED_CODE = re.compile(r"^```(\w+) .*$", re.MULTILINE)
LINE_OF_A_TABLE, CODE = re.compile(r"^\|.*$", re.MULTILINE), re.compile(r"`[^`\n]+`")


class SiteError(Exception):
    """The site cannot be built as it is; the message says why."""


def put_together() -> None:
    """Bring the pages, and what they link to, into one folder."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(DOCS, PAGES, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for source in markdown():
        placed(source).write_text(as_in_the_site(source), encoding="utf-8")
    from pater.study.report import page_of_tables

    (PAGES / "study" / "report.html").write_text(page_of_tables(DOCS / "study"), encoding="utf-8")


def markdown() -> list[Path]:
    """The files that pages are made of."""
    return sorted(DOCS.rglob("*.md")) + [ROOT / name for name in BESIDE if (ROOT / name).exists()]


def placed(source: Path) -> Path:
    """Where a file of the repository is among the pages: what is no page is a file to look at."""
    if source.is_relative_to(DOCS):
        return PAGES / source.relative_to(DOCS)
    inside = source.relative_to(ROOT)
    return PAGES / BESIDE.get(inside.as_posix(), f"files/{inside}")


def as_in_the_site(source: Path) -> str:
    """The text of a page: links stay in the site, code has no mark but its language, and the report is in its place."""

    def moved(link: re.Match[str]) -> str:
        there = Path(os.path.normpath(source.parent / link[0]))
        target = placed(there)
        if there.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(there, target)
        return Path(os.path.relpath(target, placed(source).parent)).as_posix()

    def bare(line: re.Match[str]) -> str:  # code on the site wants no backslash before a bar
        return CODE.sub(lambda code: code[0].replace(r"\|", "|"), line[0])

    text = LINE_OF_A_TABLE.sub(bare, LINK.sub(moved, source.read_text(encoding="utf-8")))
    return MARKED_CODE.sub(r"```\1", text).replace(HERE, REPORT)


def build() -> None:
    """Run Zensical, which says what it warns of, and exits with 0 for some of it."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)
    if done.returncode or re.search(r"warning|griffe|error", said, flags=re.IGNORECASE):
        raise SiteError(f"{said}\nThe site is not built: see above.")


class Links(HTMLParser):
    """What a page links to, and the places on it that can be linked to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.targets.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def dead_links(site: Path) -> list[str]:
    """Links of the pages that lead nowhere, in the site or on the page; those to other sites are not followed."""
    pages = {page: Links(page) for page in sorted(site.rglob("*.html"))}
    dead = []
    for page, links in pages.items():
        for link in links.targets:
            to = urlsplit(link)
            if to.scheme or to.netloc:
                continue
            folder = site if to.path.startswith("/") else page.parent
            target = Path(os.path.normpath(folder / unquote(to.path).lstrip("/"))) if to.path else page
            target = target / "index.html" if target.is_dir() else target
            known = pages[target].places if target in pages else None
            if not target.exists() or (known is not None and to.fragment and unquote(to.fragment) not in known):
                dead.append(f"{page.relative_to(site)}: {link}")
    return dead


def main() -> None:
    missing = [name for name in ("jinja2", "mkdocstrings_handlers", "pater", "zensical") if not find_spec(name)]
    if missing:
        raise SiteError(f'The site needs {", ".join(missing)}: pip install -e ".[docs]"')
    put_together()
    build()
    dead = dead_links(SITE)
    if dead:
        raise SiteError("\n".join(["Links that lead nowhere:", *dead]))
    print(f"{sum(1 for _ in SITE.rglob('*.html'))} pages: {(SITE / 'index.html').relative_to(ROOT)}")


if __name__ == "__main__":
    try:
        main()
    except SiteError as error:
        raise SystemExit(str(error)) from None
