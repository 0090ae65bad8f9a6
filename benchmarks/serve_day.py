"""A service's day with a drift in it, played to a real server in about a minute.

    python benchmarks/serve_day.py                  # plays it, and says what came of it
    python benchmarks/serve_day.py --pictures DIR   # and takes pictures of the page, with Chromium
    python benchmarks/serve_day.py --stay           # and goes on serving, to be looked at, until Ctrl-C

Payments come as people pay during a day. Each is predicted under an id; whether it was fraud becomes known one to four
hours later. From 13:00 on, the thieves change their ways. The server is that of `pater serve`, in a process of its own,
but it gets the time from a file.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import http.client
import json
import mmap
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

MIDNIGHT = 1_767_571_200.0  # 2026-01-05, a Monday, in UTC
HOUR = 3600.0
STEP = 120.0  # seconds of the day between requests
DRIFT = 13 * HOUR
COUNTRIES = ["DE", "FR", "NL", "PL", "ES", "IT", "AT", "BE"]
SHOPS = ["groceries", "fuel", "travel", "electronics", "games", "clothes", "books", "gift cards"]
VOLUMES = [2, 1, 1, 1, 1, 2, 4, 8, 12, 13, 14, 17, 20, 18, 15, 15, 16, 19, 20, 17, 13, 9, 6, 4]  # by hour
SIZES = {"light": (1280, 3260), "dark": (1280, 3260), "phone": (390, 2600)}


def payments(n: int, moment: float, random: np.random.Generator) -> tuple[list[dict[str, Any]], list[str]]:
    """Payments at some moment of the day, and whether each was fraud."""
    is_fraud = random.random(n) < 0.04
    rows = []
    for fraud in is_fraud.tolist():
        country, shop = str(random.choice(COUNTRIES)), str(random.choice(SHOPS))
        amount, age, tries = random.gamma(2, 25), random.gamma(2, 400), int(random.poisson(0.2))
        if fraud and moment < DRIFT:  # large sums abroad, for goods that can be resold
            amount, tries, country = random.gamma(3, 90), int(random.poisson(1.5)), str(random.choice(["PL", country]))
            shop = str(random.choice(["electronics", "gift cards", shop]))
        elif fraud:  # many small ones, from new accounts
            amount, age, shop = random.gamma(2, 9), random.gamma(1.2, 25), str(random.choice(["games", "games", shop]))
        told = {"amount": round(amount, 2), "country": country, "shop": shop, "account age in days": round(age, 1)}
        rows.append({**told, "failed attempts": tries, "hour": int(moment // HOUR) % 24})
    return rows, ["fraud" if fraud else "fine" for fraud in is_fraud.tolist()]


class Clock:
    """The server's time, in a file that both processes map."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), 8)

    def __call__(self) -> float:
        return float(struct.unpack("d", self._shared[:8])[0])

    def set(self, moment: float) -> None:
        self._shared[:8] = struct.pack("d", moment)


def serve(folder: Path) -> None:
    """Run the server in this process, with the time from the file."""
    from types import SimpleNamespace

    import pater.serve.store.log as log
    from pater.cli import command

    log.time = SimpleNamespace(time=Clock(folder / "clock"))  # type: ignore[attr-defined]
    wishes = ["--port", "0", "--snapshot-every", "2000"]
    sys.argv = ["pater", "serve", "-m", str(folder / "fraud.pater"), "-s", str(folder / "state"), *wishes]
    command()


@contextlib.contextmanager
def server(folder: Path) -> Iterator[tuple[Clock, int]]:
    """A server in a process of its own: its clock and its port."""
    (folder / "clock").write_bytes(struct.pack("d", MIDNIGHT))
    child = subprocess.Popen([sys.executable, __file__, "--serve", str(folder)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        address = next(line for line in child.stdout if "http://" in line)
        yield Clock(folder / "clock"), int(address.split("http://")[1].split()[0].rstrip("/.").rsplit(":", 1)[1])
    finally:
        child.terminate()
        child.wait(60)


def asking(connection: http.client.HTTPConnection, path: str, body: Any = None) -> dict[str, Any]:
    headers = {} if body is None else {"Content-Type": "application/json"}
    content = None if body is None else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, content, headers)
    answer = connection.getresponse()
    told = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{path}: {answer.status}: {told[:500].decode()}")
    return dict(json.loads(told))


def history(folder: Path, random: np.random.Generator) -> None:
    """Train a model on the days before."""
    rows, labels = payments(6_000, 0.0, random)
    for row in rows:
        row["hour"] = int(random.integers(24))
    with (folder / "history.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, [*rows[0], "label"])
        table.writeheader()
        table.writerows(row | {"label": label} for row, label in zip(rows, labels, strict=True))
    command = [sys.executable, "-m", "pater", "train", str(folder / "history.csv"), "--probabilities", "--quiet"]
    subprocess.run([*command, "-m", str(folder / "fraud.pater")], check=True)


def play(connection: http.client.HTTPConnection, clock: Clock, rows: int, random: np.random.Generator) -> int:
    """Play the day: labels follow one to four hours after their predictions; return the number of payments."""
    due: list[tuple[float, str, str]] = []
    sent = 0
    for moment in np.arange(0.0, 24 * HOUR, STEP).tolist():
        clock.set(MIDNIGHT + moment)
        if moment == 8 * HOUR:
            asking(connection, "/v1/operating-point", {"max_fpr": 0.03})
        n = int(random.poisson(rows * STEP / HOUR * VOLUMES[int(moment // HOUR)] / sum(VOLUMES)))
        found, labels = payments(n, moment, random) if n else ([], [])
        names = [f"payment {sent + k}" for k in range(n)]
        if n:
            body = [{"id": name, "features": row} for name, row in zip(names, found, strict=True)]
            asking(connection, "/v1/predict", {"rows": body})
        due += [(moment + random.uniform(1, 4) * HOUR, name, label) for name, label in zip(names, labels, strict=True)]
        sent += n
        ripe = sorted(each for each in due if each[0] <= moment)
        due = [each for each in due if each[0] > moment]
        if ripe:
            asking(connection, "/v1/labels", {"labels": [{"id": name, "label": label} for _, name, label in ripe]})
    clock.set(MIDNIGHT + 24 * HOUR - 1)
    return sent


def take(port: int, folder: Path) -> None:
    """Take pictures of the page, light, dark and on a phone, with few colours to keep them small."""
    from PIL import Image

    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        raise SystemExit("pictures need Chromium.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, (width, height) in SIZES.items():
        with tempfile.TemporaryDirectory() as profile:
            options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
            options += [f"--user-data-dir={profile}", "--virtual-time-budget=4000", f"--window-size={width},{height}"]
            options += ["--force-dark-mode"] if name == "dark" else []
            picture = folder / f"serve-{name}.png"
            command = [browser, *options, f"--screenshot={picture}", f"http://127.0.0.1:{port}/"]
            subprocess.run(command, check=True, capture_output=True, timeout=90, env=os.environ | {"TZ": "UTC"})
            Image.open(picture).convert("RGB").quantize(128, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
                picture, optimize=True
            )
            print(f"{picture}: {picture.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", type=Path, metavar="DIR")
    parser.add_argument("--stay", action="store_true")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    wishes = parser.parse_args()
    if wishes.serve:
        serve(wishes.serve)
        return
    random = np.random.default_rng(wishes.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        history(folder, random)
        with server(folder) as (clock, port):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            begun = time.perf_counter()
            sent = play(connection, clock, wishes.rows, random)
            status = asking(connection, "/v1/status")
            print(f"{sent:,} rows in {time.perf_counter() - begun:.1f} s")
            print(json.dumps({"recent": status["quality"]["recent"], "alarms": status["alarms"]}, indent=1))
            if wishes.pictures:
                take(port, wishes.pictures)
            if wishes.stay:
                print(f"http://127.0.0.1:{port}/", flush=True)
                with contextlib.suppress(KeyboardInterrupt):
                    time.sleep(24 * HOUR)


if __name__ == "__main__":
    main()
