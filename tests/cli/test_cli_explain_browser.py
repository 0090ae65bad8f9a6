"""The page of pater explain in a real browser: a silent console, no network, no sideways scrolling, a dark mode."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from pater.formats.reading import make_input
from pater.stream import train
from pater.stream.effects_page import write_page
from pater.stream.explanation import explain_batch, row_told

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)

pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")

PROBE = """
<script>
const found = {
  overflow: document.documentElement.scrollWidth - window.innerWidth,
  drawn: [...document.querySelectorAll("svg")].every((svg) => svg.getBoundingClientRect().height > 40),
  requests: performance.getEntriesByType("resource").map((entry) => entry.name),
  ink: getComputedStyle(document.body).color,
};
const result = document.createElement("pre");
result.id = "found"; result.textContent = JSON.stringify(found); document.body.append(result);
</script>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder, random = tmp_path_factory.mktemp("page"), np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "amount": random.gamma(2, 20, 2000),
            "a name that is quite long and has no end in sight": random.choice(["x" * 150, "fr", "de"], 2000),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 60 * 86400, 2000), unit="s"),
        }
    )
    table["label"] = np.where(table["amount"] + random.gamma(2, 20, 2000) > 80, "yes", "no")
    table.to_csv(folder / "t.csv", index=False)
    learner = train(folder / "t.csv", model=folder / "m.pater", algo="arow")
    batch = next(make_input(folder / "t.csv", columns=learner.columns).batches())
    explained = explain_batch(learner, batch)
    write_page(learner, folder / "page.html", folder / "m.pater", [row_told(learner, explained, r) for r in range(3)])
    probed = folder / "probed.html"
    probed.write_text((folder / "page.html").read_text().replace("</body>", PROBE + "</body>"))
    return probed


def look(page, profile, *options):
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0",
        *options, "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr
    return json.loads(found[1]), [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.first_quick
@pytest.mark.parametrize("size", ["1280,900", "390,844"])
def test_it_fits_and_nothing_complains(page, tmp_path, size):
    found, console = look(page, tmp_path, f"--window-size={size}")
    assert console == []
    assert found["requests"] == []
    assert found["overflow"] <= 0
    assert found["drawn"]


@pytest.mark.slow
def test_dark_is_dark(page, tmp_path):
    def brightness(found):
        return sum(map(int, re.findall(r"\d+", found["ink"])[:3])) / 3

    assert brightness(look(page, tmp_path / "light")[0]) < 80
    assert brightness(look(page, tmp_path / "dark", "--force-dark-mode")[0]) > 180
