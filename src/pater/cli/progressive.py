"""What `pater train` shows as it runs: a bar on a terminal, plain lines elsewhere, JSON lines for machines."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

from .terminal import say

if TYPE_CHECKING:
    from pater.stream.training import Run

_WIDE = 100  # columns of a terminal that hold everything
_NARROW = 60


def record(run: Run, *, final: bool = False) -> dict[str, Any]:
    """How a run stands, for machines."""
    seconds = time.monotonic() - run.started
    learner = run.learner
    return {
        "rows": learner.rows,
        "seconds": round(seconds, 3),
        "rows_per_second": round((learner.rows - run.resumed_at) / max(seconds, 1e-9)),
        **{name: round(value, 6) for name, value in learner.scores().items()},
        "skipped": learner.skipped,
        "missing": learner.missing,
        "pass": min(run.number, run.passes),
        "final": final,
    }


def sentence(told: dict[str, Any], width: int = _WIDE) -> str:
    """How a run stands, for readers; less of it on a narrow terminal."""
    parts = [f"{told['rows']:,} rows"]
    if width >= _NARROW:
        parts.append(f"{told['rows_per_second']:,}/s")
    if width >= _WIDE:
        parts.append(f"accuracy {told['accuracy']:.4f}")
    parts.append(
        f"balanced {told['balanced_accuracy']:.4f}" if width >= _NARROW else f"{told['balanced_accuracy']:.3f}"
    )
    if width >= _NARROW + 20:
        parts.append(f"FPR {told['fpr']:.4f}, FNR {told['fnr']:.4f}")
    return ", ".join(parts)


class Display:
    """Follows a run. `at` are the numbers of rows that a line is due at: the powers of two."""

    def __init__(self, *, quiet: bool, log_json: bool) -> None:
        self.quiet, self.log_json = quiet, log_json
        self._bar: Any = None
        self._next = 1
        self._shown = 0.0
        self.run: Run | None = None

    def at(self, run: Run) -> list[int]:
        self.run = run
        if not self.log_json and (self.quiet or self._on_terminal()):
            return []
        while self._next <= run.learner.rows:
            self._next *= 2
        return [self._next << k for k in range(40)]

    def report(self, run: Run) -> None:
        rows = run.learner.rows
        if rows == 0 or rows & (rows - 1):
            return
        if self.log_json:
            print(json.dumps(record(run)), flush=True)
        elif not self.quiet and not self._on_terminal() and rows >= 1024:
            say(sentence(record(run)))

    def show(self, run: Run) -> None:
        """After every batch: move the bar, at most ten times a second."""
        self.run = run
        now = time.monotonic()
        if self.quiet or not self._on_terminal() or now - self._shown < 0.1:
            return
        self._shown = now
        if self._bar is None:
            self._bar = _Bar()
        self._bar.step(run.share, record(run))

    def finish(self) -> None:
        """The last line, and what was skipped."""
        self.close()
        run = self.run
        if run is None or run.learner.model is None:
            return
        told = record(run, final=True)
        if self.log_json:
            print(json.dumps(told), flush=True)
        if not self.quiet and not self.log_json:
            say(sentence(told))
        if run.learner.missing and not self.quiet:
            say(f"{run.learner.missing:,} values were missing and counted as nothing.")
        if run.learner.skipped:  # never silent, not even when quiet
            say(f"{run.learner.skipped:,} malformed lines were skipped; the first of them:")
            for fault in run.faults:
                say(f"  {fault}")

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _on_terminal(self) -> bool:
        return sys.stderr.isatty() and not self.log_json


class _Bar:
    def __init__(self) -> None:
        from rich import progress as rich
        from rich.console import Console

        self._console = Console(stderr=True)
        share = rich.TextColumn("{task.percentage:>3.0f}%")
        wide = self._console.width >= _NARROW
        bar = rich.BarColumn(bar_width=20 if wide else 8)
        self._bars = rich.Progress(
            bar, share, rich.TextColumn("{task.description}"), console=self._console, transient=True
        )
        self._task = self._bars.add_task("", total=1.0)
        self._bars.start()

    def step(self, share: float | None, told: dict[str, Any]) -> None:
        room = self._console.width - (10 if self._console.width < _NARROW else 20)
        self._bars.update(
            self._task, completed=share or 0.0, total=None if share is None else 1.0, description=sentence(told, room)
        )

    def stop(self) -> None:
        self._bars.stop()
