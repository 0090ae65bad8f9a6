"""Windows and alarms of a stream, for `pater evaluate` and `pater train`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pater.stream.drift import DriftWatch
from pater.stream.pictures import plot as draw
from pater.stream.prediction import write_table
from pater.stream.prediction_quality import Judged
from pater.stream.windows import Windows as ByWindow

from .evaluation_report import Alarms, Windows


class Watching:
    """Collects windows and alarms from predictions that arrive through `judged`; `keep` keeps them all for curves."""

    def __init__(
        self, window: int | None, advice: str, *, as_json: bool, quiet: bool = False, keep: bool = False
    ) -> None:
        shown = (lambda window: None) if quiet else Windows(as_json=as_json)
        self._by_window = ByWindow(window, shown) if window else None
        self._drift = DriftWatch((lambda alarm: None) if quiet else Alarms(advice))
        listeners: list[Any] = [self._drift, *([self._by_window] if self._by_window else [])]
        self.judged = Judged(*listeners, keep=keep)

    def finish(
        self, result: dict[str, Any], output: Path | None, plot: Path | None, inputs: Iterable[str | Path]
    ) -> dict[str, Any]:
        """Show the last window and write the files asked for; return the result with the alarms added."""
        result, inputs = {**result, "alarms": [alarm.to_json() for alarm in self._drift.alarms]}, list(inputs)
        windows = []
        if self._by_window:
            self._by_window.finish()
            windows = self._by_window.windows
        if output:
            write_table(windows, output, inputs)
        if plot:
            draw({**result, "windows": windows}, plot, inputs)
        return result
