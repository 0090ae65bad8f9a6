"""The page in a real browser: a silent console, no network, a click that sorts, and no sideways scrolling."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pater.study import Plan, reproduce
from pater.study.drift import streams, unit

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")

# Runs in the page after its own script and leaves its findings where the dump of the document shows them.
PROBE = """
<script>
const table = document.querySelector("#table-2");
const names = () => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent.trim());
const column = (place) => [...table.tBodies[0].rows].map((row) => Number(row.cells[place].dataset.v));
const click = (place) => table.tHead.rows[0].cells[place].querySelector("button").click();
const found = { before: names() };
click(1); found.ascending = column(1); found.marked = table.tHead.rows[0].cells[1].getAttribute("aria-sort");
click(1); found.descending = column(1);
click(0); found.after = names();
found.overflow = document.documentElement.scrollWidth - window.innerWidth;
found.width = window.innerWidth;
found.requests = performance.getEntriesByType("resource").map((entry) => entry.name);
found.ink = getComputedStyle(document.body).color;
const result = document.createElement("pre");
result.id = "found"; result.textContent = JSON.stringify(found); document.body.append(result);
</script>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with the probe in it."""
    plan, folder = Plan(("wdbc", "tic-tac-toe"), runs=1), tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unit, "rows_of", lambda stream, seed, run, n=4000: streams.rows_of(stream, seed, run, n))
        made = reproduce(plan, folder, peers=True, drift=True)
    probed = made.page.with_name("probed.html")
    probed.write_text(made.page.read_text().replace("</body>", PROBE + "</body>"))
    return probed


def _open(page: Path, profile: Path, *options: str) -> tuple[dict[str, Any], str]:
    """What the probe found, and what the browser has to say on the console."""
    assert BROWSER is not None
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0",
        *options, "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(found[1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")), "\n".join(console)


def test_a_click_sorts_the_table_and_nothing_complains(page: Path, tmp_path: Path) -> None:
    found, console = _open(page, tmp_path, "--window-size=1280,900")
    assert console == ""
    assert found["requests"] == []
    assert found["before"] == ["Wdbc", "Tic-tac-toe"]
    assert found["ascending"] == sorted(found["ascending"])
    assert found["descending"] == found["ascending"][::-1]
    assert found["ascending"] != found["descending"]
    assert found["marked"] == "ascending"
    assert found["after"] == found["before"]


def test_a_phone_need_not_scroll_sideways(page: Path, tmp_path: Path) -> None:
    found, _ = _open(page, tmp_path, "--window-size=390,844")
    assert found["width"] <= 520  # some builds do not make a window narrower than 500
    assert found["overflow"] <= 0


def test_dark_is_dark(page: Path, tmp_path: Path) -> None:
    light, _ = _open(page, tmp_path / "light")
    dark, _ = _open(page, tmp_path / "dark", "--force-dark-mode")
    assert _brightness(light["ink"]) < 80
    assert _brightness(dark["ink"]) > 180


def _brightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
