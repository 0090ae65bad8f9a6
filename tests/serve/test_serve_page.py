"""The page of the service: self-contained within its policy, and all of it drawn in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from base64 import b64encode
from hashlib import sha256
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from patience import WAIT

from pater.formats.batches import Batch
from pater.serve.quality.operating import Operating
from pater.serve.quality.quality import Answers, Quality
from pater.serve.quality.status import Facts, Status
from pater.serve.quality.volumes import JOINED, LEARNED, PREDICTED, Volumes
from pater.serve.web.front_page import front_page
from pater.stream.algorithms import specs_of
from pater.stream.learner import Learner

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs Chromium or Chrome")
NASTY = '<img src=x onerror="document.title=1"></script><b>&amp;'
DAY = 1_700_000_000.0

PROBE = """
const wait = setInterval(async () => {
  const done = !document.getElementById("all").hidden || !document.getElementById("token").hidden;
  if (!done) return;
  clearInterval(wait);
  const before = window.before ? await window.before() : null;
  const result = document.createElement("pre");
  result.id = "found"; result.hidden = true;
  result.textContent = JSON.stringify({
    overflow: document.documentElement.scrollWidth - window.innerWidth,
    charts: [...document.querySelectorAll("svg.chart")].map((svg) => svg.getBoundingClientRect().height),
    images: document.images.length,
    requests: performance.getEntriesByType("resource").map((entry) => new URL(entry.name).pathname),
    ink: getComputedStyle(document.body).color,
    text: document.body.innerText,
    unnamed: [...document.querySelectorAll("svg[role=img], input, select, button")].filter((node) =>
      !node.getAttribute("aria-label") && !node.textContent && !(node.labels && node.labels.length)).length,
    compared: document.getElementById("compared").innerText,
    focus: document.activeElement.id, before,
  });
  document.body.append(result);
}, 50);
"""

MOVED = """
window.before = () => {
  const slider = document.getElementById("slider"), chart = document.querySelector("#accuracy svg.chart");
  const told = () => chart.getAttribute("aria-label"), steps = [told()];
  for (const key of ["ArrowLeft", "ArrowLeft", "Home", "End"]) {
    chart.dispatchEvent(new KeyboardEvent("keydown", { key }));
    steps.push(told());
  }
  slider.value = 10;
  slider.dispatchEvent(new Event("input"));
  return steps;
};
"""
TYPED = """
window.before = async () => {
  document.getElementById("secret").value = " secret ";
  document.getElementById("token").requestSubmit();
  while (document.getElementById("all").hidden) await new Promise((done) => setTimeout(done, 20));
};
"""


class Engine:
    def __init__(self, classes):
        random, n = np.random.default_rng(0), 12_000
        X, y = random.normal(size=(n, 5)), random.choice(len(classes), n, p=[0.9, 0.1] if len(classes) == 2 else None)
        X[:, 0] += 2.0 * y
        learner = Learner(specs_of("arow", "balanced_accuracy"))
        learner.learn(Batch((X,), 5, np.array(classes)[y]))
        self._learner, self.volumes = learner, Volumes()
        self.operating = Operating.from_json({"max_fpr": 0.02} if len(classes) == 2 else {}, classes)
        X[8_000:, 0] -= 1.5 * y[8_000:]  # a drift
        margins, times = learner.margins(Batch((X,), 5, None)), DAY + 7.0 * np.arange(n)
        says = learner.labels(margins).tolist()
        self.quality, truth, two = Quality(window=400), [classes[k] for k in y], len(classes) == 2
        p = (1 / (1 + np.exp(-3 * margins[:, 0]))).tolist() if two else [None] * n
        self.quality.add(
            Answers(times.tolist(), truth, says, margins[:, 0].tolist() if two else [None] * n, p, classes)
        )
        for kind in (PREDICTED, LEARNED, JOINED):
            for time in times:
                self.volumes.add(kind, 1, time)

    def facts(self):
        now = DAY + 7.0 * 12_000
        history = [
            {"time": DAY, "kind": "start", "version": 1, "rows": 0},
            {"time": DAY + 60, "kind": "operating point", "max_fpr": 0.02},
            {"time": DAY + 80, "kind": NASTY, "what": NASTY},
        ]
        return Facts(now, DAY, 1, 12_000, 12_000, 30, log_time=now - 3, snapshot_time=now - 40, history=history)

    def speaker(self):
        return self._learner


@pytest.fixture(scope="module")
def statuses():
    return {
        "two": Status(Engine(("<b>ham", NASTY))).told(),
        "three": Status(Engine((1, 2, 3))).told(),
    }


class Site:
    """A server of the page and of a status, which may require a token."""

    def __init__(self, status, token=None, script=""):
        page = front_page()
        script += PROBE
        allowed = b64encode(sha256(script.encode()).digest()).decode()
        content = page.content.replace(b"</body>", f"<script>{script}</script></body>".encode())
        policy = page.headers["content-security-policy"].replace("script-src ", f"script-src 'sha256-{allowed}' ")
        headers = page.headers | {"content-security-policy": policy}
        self.asked = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler):  # noqa: N805
                self.asked.append(handler.path)
                if handler.path == "/":
                    return handler.give(200, content, headers | {"content-type": "text/html; charset=utf-8"})
                if token and handler.headers.get("Authorization") != f"Bearer {token}":
                    return handler.give(401, b'{"error": "a token"}', {"content-type": "application/json"})
                return handler.give(200, json.dumps(status).encode(), {"content-type": "application/json"})

            def give(handler, status, content, headers):  # noqa: N805
                handler.send_response(status)
                for name, value in headers.items():
                    handler.send_header(name, value)
                handler.send_header("content-length", str(len(content)))
                handler.end_headers()
                handler.wfile.write(content)

            def log_message(handler, *_):  # noqa: N805
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def look(site, profile, *options):
    command = [
        BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={profile}",
        "--enable-logging=stderr", "--v=0", "--virtual-time-budget=4000", *options, "--dump-dom", site.address,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT, check=True)
    found = re.search(r'<pre id="found" hidden="">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr + done.stdout[-2000:]
    return json.loads(unescape(found[1])), [line for line in done.stderr.splitlines() if "CONSOLE" in line], done.stdout


def test_the_page_needs_nothing_else_and_makes_no_html():
    page = front_page()
    text = page.content.decode()
    assert re.findall(r'(?:src|href)="([^"]*)"', text) == ["data:,"]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|new Function|\bon\w+=", text)
    assert "{{" not in text
    assert len(page.content) < 60_000


def test_the_policy_allows_this_script_and_this_style_only():
    page = front_page()
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    for tag, name in (("script", "script-src"), ("style", "style-src")):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page.content.decode(), re.DOTALL)
        assert policy[name] == f"'sha256-{b64encode(sha256(inside.encode()).digest()).decode()}'"
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self'"
    assert " style=" not in page.content.decode()


@pytest.mark.first_quick
@needs_browser
@pytest.mark.parametrize(("size", "which"), [("1280,900", "two"), ("390,844", "two"), ("390,844", "three")])
def test_it_fits_and_nothing_complains(statuses, tmp_path, size, which):
    with Site(statuses[which]) as site:
        found, console, dom = look(site, tmp_path, f"--window-size={size}")
    assert console == []
    assert set(found["requests"]) == {"/v1/status"}
    assert set(site.asked) == {"/", "/v1/status"}
    assert found["overflow"] <= 0
    assert len(found["charts"]) == (6 if which == "two" else 4)
    assert min(found["charts"]) > 40
    assert found["unnamed"] == 0
    for said in ("Ready and learning", "alarm", "Features that matter", "12,000 answers have been judged"):
        assert said in found["text"]
    if which == "two":  # names and labels are text everywhere
        assert found["images"] == 0
        assert NASTY in found["text"]
        assert "<img" not in dom
        assert "in 1,000 rows" in found["compared"]
        assert 'Asked for: {"max_fpr":0.02}' in found["text"]


@pytest.mark.slow
@needs_browser
def test_dark_is_dark(statuses, tmp_path):
    def brightness(found):
        return sum(map(int, re.findall(r"\d+", found["ink"])[:3])) / 3

    with Site(statuses["three"]) as site:
        assert brightness(look(site, tmp_path / "light")[0]) < 80
        assert brightness(look(site, tmp_path / "dark", "--force-dark-mode")[0]) > 180


@pytest.mark.slow
@needs_browser
def test_without_a_token_it_asks_for_one(statuses, tmp_path):
    with Site(statuses["two"], token="secret") as site:
        found, console, _ = look(site, tmp_path)
    assert "This service needs a token" in found["text"]
    assert "Quality" not in found["text"]
    assert found["focus"] == "secret"
    assert all("401" in line for line in console)
    with Site(statuses["two"], token="secret", script=TYPED) as site:
        found, _, _ = look(site, tmp_path / "typed")
    assert "This service needs a token" not in found["text"]
    assert "Quality" in found["text"]


@pytest.mark.slow
@needs_browser
def test_the_slider_and_the_keys_tell_of_other_points(statuses, tmp_path):
    status = statuses["two"]
    with Site(status, script=MOVED) as site:
        found, console, _ = look(site, tmp_path)
    assert console == []
    point, now = status["operating"]["moving"][10], status["operating"]
    rows = [line.split("\t") for line in found["compared"].splitlines() if line.strip()]
    told = {name.strip(): (float(there.split()[0]), float(here.split()[0])) for name, here, there in rows[1:]}
    assert told["threshold"] == pytest.approx((point["threshold"], now["threshold"]), rel=1e-3)
    assert told["false alarms"] == pytest.approx((100 * point["fpr"], 100 * now["fpr"]), abs=0.05)
    assert told["misses"] == pytest.approx((100 * point["fnr"], 100 * now["fnr"]), abs=0.05)
    assert f'{{"threshold": {point["threshold"]:.4g}}}' in found["text"].replace("\u2212", "-")
    last, one, two, first, again = found["before"]
    assert last == again
    assert len({last, one, two, first}) == 4
