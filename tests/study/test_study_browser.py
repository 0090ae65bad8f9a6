"""The page in a real browser: a silent console, no network, what clicks, search and pointer do, and its width."""

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

pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")]

# Runs in the page after its own script and leaves its findings where the dump of the document shows them.
PROBE = """
<script type="module">
const table = document.querySelector("#table-2");
const names = () => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent.trim());
const column = (place) => [...table.tBodies[0].rows].map((row) => Number(row.cells[place].dataset.v));
const click = (place) => table.tHead.rows[0].cells[place].querySelector("button").click();
const found = { before: names() };
click(1); found.first = column(1); found.marked = table.tHead.rows[0].cells[1].getAttribute("aria-sort");
click(1); found.second = column(1);
click(0); found.after = names();

const timed = document.querySelector("#processor-time ~ .table table");
timed.tHead.rows[0].cells[1].querySelector("button").click();
found.seconds = [...timed.tBodies[0].rows].map((row) => Number(row.cells[1].dataset.v));

const learners = document.querySelector("table.learners");
const field = document.querySelector(".filter input");
field.value = "arow, auto"; field.dispatchEvent(new Event("input"));
const shown = (cells) => [...cells].filter((cell) => !cell.hidden).map((cell) => (cell.cells?.[0] ?? cell).textContent);
found.rows = shown(learners.tBodies[0].rows);
found.columns = shown(document.querySelector("table[data-columns]").tHead.rows[0].cells).slice(1);
found.count = document.querySelector(".filter output").textContent;
field.value = ""; field.dispatchEvent(new Event("input"));
found.all = shown(learners.tBodies[0].rows).length === learners.tBodies[0].rows.length;

const list = document.querySelector("nav select");
found.places = [...list.options].map((option) => option.value).filter(Boolean);
list.value = "processor-time"; list.dispatchEvent(new Event("change"));
found.jumped = location.hash;

const plot = [...document.querySelectorAll("figure svg")].find((one) => one.clientWidth > 0);
const dot = plot.querySelector(".point").getBoundingClientRect();
const place = { clientX: dot.x + dot.width / 2, clientY: dot.y + dot.height / 2 };
plot.dispatchEvent(new PointerEvent("pointermove", place));
found.tip = document.querySelector(".tip:not([hidden])")?.textContent;
found.plot = plot.getBoundingClientRect().right;

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
    """What the probe found, and what the browser wrote to the console."""
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


@pytest.fixture(scope="module")
def on_a_desk(page: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    return _open(page, tmp_path_factory.mktemp("profile"), "--window-size=1280,900")


def test_a_click_sorts_the_table_and_nothing_complains(on_a_desk: tuple[dict[str, Any], str]) -> None:
    found, console = on_a_desk
    assert console == ""
    assert found["requests"] == []
    assert found["before"] == ["Wdbc", "Tic-tac-toe"]
    assert found["first"] == sorted(found["first"], reverse=True)  # the best score on top
    assert found["second"] == found["first"][::-1]
    assert found["first"] != found["second"]
    assert found["marked"] == "descending"
    assert found["after"] == found["before"]
    assert found["seconds"] == sorted(found["seconds"])  # the fastest on top


def test_one_can_filter_jump_and_point(page: Path, on_a_desk: tuple[dict[str, Any], str]) -> None:
    found, _ = on_a_desk
    assert found["rows"]
    assert all("AROW" in row or "Auto" in row for row in found["rows"])
    columns = [name.replace("\u2060", "") for name in found["columns"]]
    assert columns[: len(found["rows"])] == found["rows"]  # then those behind an encoder, below the others
    assert re.fullmatch(rf"{len(found['rows'])} of \d+", found["count"])
    assert found["all"]
    ids = re.findall(r'\bid="([^"]+)"', page.read_text())
    assert {"top", "accuracy", "every-cell", "processor-time", "drift-settings"} <= set(found["places"])
    assert set(found["places"]) <= set(ids)
    assert found["jumped"] == "#processor-time"
    assert re.fullmatch(r"PE on .+: [\d.]+ here, [\d.]+ published, [\d.]+ deviations (above|below)", found["tip"])


def test_a_phone_need_not_scroll_sideways(page: Path, tmp_path: Path) -> None:
    found, _ = _open(page, tmp_path, "--window-size=390,844")
    assert found["width"] <= 520  # some builds do not make a window narrower than 500
    assert found["overflow"] <= 0
    assert found["plot"] < found["width"]


def test_dark_is_dark(page: Path, tmp_path: Path) -> None:
    light, _ = _open(page, tmp_path / "light")
    dark, _ = _open(page, tmp_path / "dark", "--force-dark-mode")
    assert _brightness(light["ink"]) < 80
    assert _brightness(dark["ink"]) > 180


def _brightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
