"""Try every line of docs/coming-from-vw.md with Vowpal Wabbit and with pater.

    python benchmarks/coming_from_vw.py --vw PYTHON      # an interpreter that has vowpalwabbit

The page makes the files. A line of "What to type" is right if both commands succeed; an option of "What VW has" if VW
accepts it. What both print for the lines of "The text" is shown, and so are their error rates on the same rows.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "coming-from-vw.md").read_text()


def table(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, without its first two lines."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


class Shell:
    """A folder with the files of the page, where `vw` and `pater` are programs."""

    def __init__(self, folder: Path, vw: str) -> None:
        self.folder = folder
        programs = folder / "bin"
        programs.mkdir()
        for name, command in (("vw", f"{vw} -m vowpalwabbit"), ("pater", f"{sys.executable} -m pater")):
            (programs / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
            (programs / name).chmod(0o755)
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")}
        subprocess.run([sys.executable, "-c", re.findall(r"^```python\n(.*?)^```", PAGE, re.S | re.M)[0]], cwd=folder)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        given = ["bash", "-o", "pipefail", "-c", command]
        return subprocess.run(given, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=900)


def typed(shell: Shell) -> int:
    wrong = 0
    for cells in table("What to type"):
        for command in code(cells[0]) + code(cells[1]):
            done = shell.run(command)
            bad = done.returncode != 0 or "Traceback" in done.stderr
            wrong += bad
            print("WRONG" if bad else "ok", command, done.stderr[-500:] if bad else "", flush=True)
    return wrong


def missing(shell: Shell) -> int:
    wrong = 0
    for _, options in table("What VW has and pater has not"):
        for option in code(options):
            done = shell.run(f"vw --dry_run {option} < /dev/null")
            bad = done.returncode != 0
            wrong += bad
            print("WRONG" if bad else "ok", "vw", option, (done.stdout + done.stderr)[-300:] if bad else "", flush=True)
    return wrong


def text(shell: Shell) -> int:
    """Print what each program says about the lines of "The text"."""
    said = []
    for line, *_ in table("The text"):
        row = code(line)[0]
        (shell.folder / "line.vw").write_text(f"{row}\n-1 |u user_b\n" * 3)
        theirs = shell.run("vw -d line.vw --loss_function logistic --audit | head -3")
        ours = shell.run("pater train line.vw --algo pater-i --quiet -m line.pater")
        said.append(
            f"{row}\n  vw: {(theirs.stdout + theirs.stderr)[:700]}\n  pater: {ours.returncode} {ours.stderr[:300]}"
        )
    print(*said, sep="\n")
    return 0


def compared(shell: Shell) -> int:
    """Print the error rates of both classes, for predictions made before learning from the row."""
    shell.run("cat clicks.vw more.vw > all.vw")
    truth = [int(line.split()[0]) for line in (shell.folder / "all.vw").read_text().splitlines()]
    for options in ("", "--classweight 1:8", "-q ua", "-q ua --classweight 1:8"):
        shell.run(f"vw -d all.vw --loss_function hinge --binary --quiet {options} -p said.txt")
        said = [int(float(line.split()[0])) for line in (shell.folder / "said.txt").read_text().splitlines()]
        wrong = [t for s, t in zip(said, truth, strict=True) if s != t]
        fpr, fnr = (wrong.count(label) / truth.count(label) for label in (-1, 1))
        print(f"vw --loss_function hinge {options}: FPR {fpr:.3f}, FNR {fnr:.3f}")
    crossed, balanced = "--interactions user:ad", "--algo arow --covariance diagonal --class-weight balanced"
    for more in ("", crossed, f"{crossed} {balanced}"):
        options = f"clicks.csv --label click {more}"
        print(f"pater train {options}:", shell.run(f"pater train {options} -m c.pater").stderr.splitlines()[-1])
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vw", required=True, metavar="PYTHON", help="an interpreter that has vowpalwabbit")
    parser.add_argument("--only", choices=["typed", "missing", "text", "compared"])
    arguments = parser.parse_args()
    steps = {"typed": typed, "missing": missing, "text": text, "compared": compared}
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder), arguments.vw)
        print("Vowpal Wabbit", shell.run("vw --version").stdout.split()[0])
        chosen = [steps[arguments.only]] if arguments.only else list(steps.values())
        sys.exit(1 if sum(step(shell) for step in chosen) else 0)


if __name__ == "__main__":
    main()
