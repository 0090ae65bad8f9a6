"""The progress that `pater train` shows: a bar on a terminal, plain lines elsewhere, JSON lines for machines."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

from pater.compiler.telling import COMPILING, say_compiling

from .terminal import say, say_skipped, tell_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from pater.formats.errors import Skipped
    from pater.stream.learner import Learner
    from pater.stream.training import Run

_BAR, _SHORTEST_BAR = 20, 4  # columns of a terminal


def record(run: Run, *, final: bool = False) -> dict[str, Any]:
    """The state of a run, for machines."""
    seconds = (run.ended or time.monotonic()) - run.started
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


def counted(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows:,} rows"


def sentence(told: dict[str, Any], width: int | None = None) -> str:
    """The state of a run, for readers; on a narrow terminal, as much of it as there is room for."""
    rows, speed = counted(told["rows"]), f"{told['rows_per_second']:,}/s"
    right, balanced = f"accuracy {told['accuracy']:.4f}", f"balanced {told['balanced_accuracy']:.4f}"
    rates = f"FPR {told['fpr']:.4f}, FNR {told['fnr']:.4f}"
    ways = [(rows, speed, right, balanced, rates), (rows, speed, balanced, rates), (rows, speed, balanced)]
    texts = map(", ".join, [*ways, (rows, balanced), (rows, f"bal. {told['balanced_accuracy']:.3f}"), (rows,)])
    return next(text for text in texts if width is None or len(text) <= width or text == rows)


def on_terminal() -> bool:
    """Whether there is a terminal that can show a bar."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def say_left_out(learner: Learner, skipped: Skipped, *, quiet: bool) -> None:
    """Print how many values were missing, and what was skipped."""
    if learner.missing and not quiet:
        say(f"{learner.missing:,} values were missing{'' if learner.encoder else ' and counted as nothing'}.")
    say_skipped(skipped)  # never silent, not even when quiet


class Display:
    """Shows the progress of a run. `at` gives the numbers of rows at which a line is due: the powers of two."""

    def __init__(self, *, quiet: bool, log_json: bool) -> None:
        self.quiet, self.log_json = quiet, log_json
        self._bar: Any = None
        self._next = 1
        self._shown = 0.0
        self.run: Run | None = None

    def start(self) -> None:
        """Show the bar before anything is read, since compiling takes a while the first time."""
        if not self.quiet and (not self.log_json and on_terminal()):
            self._bar = Bar()

    def compiling(self) -> None:
        """Say that code is being compiled, in the bar if there is one."""
        if self._bar is not None:
            self._bar.compiling()
        elif not self.quiet:
            say_compiling()

    def at(self, run: Run) -> list[int]:
        self.run = run
        if not self.log_json and (self.quiet or (not self.log_json and on_terminal())):
            return []
        while self._next <= run.learner.rows:
            self._next *= 2
        return [self._next << k for k in range(40)]

    def report(self, run: Run) -> None:
        rows = run.learner.rows
        if rows == 0 or rows & (rows - 1):
            return
        if self.log_json:
            tell_json(record(run))
        elif not self.quiet and not (not self.log_json and on_terminal()) and rows >= 1024:
            say(sentence(record(run)))

    def show(self, run: Run) -> None:
        """Move the bar after a batch, at most ten times a second."""
        self.run = run
        now = time.monotonic()
        if self._bar is not None and now - self._shown >= 0.1:
            self._shown = now
            told = record(run)
            self._bar.step(run.share, lambda width: sentence(told, width))

    def finish(self) -> None:
        """Print the last line, and what was skipped."""
        self.close()
        run = self.run
        if run is None or run.learner.model is None:
            return
        if self.log_json:
            tell_json(record(run, final=True))
        elif not self.quiet:
            say(sentence(record(run, final=True)))
        say_left_out(run.learner, run.skipped, quiet=self.quiet)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


class Bar:
    """A bar, or a spinner if the amount of work is not known; and a sentence."""

    def __init__(self) -> None:
        from rich import progress as rich
        from rich.console import Console
        from rich.progress_bar import ProgressBar
        from rich.spinner import Spinner

        spinner = Spinner("dots")

        class Share(rich.ProgressColumn):
            def render(self, task: rich.Task) -> Any:
                share, width = task.fields["share"], task.fields["width"]
                return spinner if share is None else ProgressBar(1.0, share, width)

        self._console = Console(stderr=True)
        text = rich.TextColumn("{task.description}", markup=False)
        self._bars = rich.Progress(Share(), text, console=self._console, transient=True)
        self._task = self._bars.add_task("starting", share=None, width=0)
        self._bars.start()

    def compiling(self) -> None:
        self._bars.update(
            self._task, description=COMPILING if len(COMPILING) < self._console.width - 4 else "compiling"
        )

    def step(self, share: float | None, sentence: Callable[[int], str]) -> None:
        room = self._console.width - 4  # a space after the bar, and at the end room for the ^C that a terminal echoes
        if share is None:
            text, width = sentence(room - 1), 0
        else:
            text = f"{share:4.0%} {sentence(room - _SHORTEST_BAR - len('100% '))}"
            width = max(_SHORTEST_BAR, min(_BAR, room - len(text)))
        self._bars.update(self._task, share=share, width=width, description=text)

    def stop(self) -> None:
        self._bars.stop()
