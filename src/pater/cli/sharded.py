"""`pater train --workers N` and `--scheduler ADDRESS`: train on shards in parallel, with one display and one model."""

from __future__ import annotations

import os
import re
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pater.compiler.telling import say_compiling

from .errors import CommandError, StoppedError, UsageError, WorkersError
from .library import one_line_errors
from .progressive import Bar, on_terminal, say_left_out, sentence
from .signals import stop_in_order
from .terminal import say, tell_json

if TYPE_CHECKING:
    from pater.stream.sharded_training import ShardedRun

    from .cluster import Cluster
    from .processes import Processes

_SIZE = re.compile(r"([0-9]{1,15})\s*([kmgt]?)(i?b)?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_WHY_NOT = {
    "--passes": "shards are learned in one pass.",
    "--initial-model": "every shard starts from scratch; pater merge combines models.",
    "--checkpoint-every": "finished shards are kept anyway, and --resume continues from them.",
    "--threads": "each worker has one thread.",
    "--window": "windows follow one stream.",
    "-": "standard input can be read once, by one process; name files.",
}


def bytes_of(option: str, text: str) -> int:
    """Parse a size such as 128M or 64MiB."""
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) << _UNITS[match[2].lower()] if match else 0
    if not 1 << 10 <= size < 1 << 60:
        raise UsageError(f"{option} expects a size of at least 1K, such as 128M or 1G, got {text!r}.")
    return size


def check_shards(workers: int | None, scheduler: str | None, given: dict[str, bool]) -> None:
    """Raise a UsageError if nobody trains on shards, or if another option that is given makes no sense with them."""
    if workers is not None and scheduler is not None:
        raise UsageError("--workers and --scheduler cannot be combined: a cluster has its own workers.")
    if workers is None and scheduler is None:
        raise UsageError("--shard-size needs --workers or --scheduler.")
    for option, there in given.items():
        if there:
            asked = "--workers" if scheduler is None else "--scheduler"
            raise UsageError(f"{option} cannot be combined with {asked}: {_WHY_NOT[option]}")
    if scheduler is not None:
        _check_dask()


def _check_dask() -> None:
    try:
        there = find_spec("dask") and find_spec("distributed")
    except ValueError:  # another module stands in for one of them
        there = None
    if not there:
        raise CommandError('a cluster needs Dask: pip install "pater[dask]".')


class ShardDisplay:
    """Shows a run in shards: a bar on a terminal, nothing elsewhere, and a line at the end."""

    def __init__(self, *, quiet: bool, log_json: bool) -> None:
        self.quiet, self.log_json = quiet, log_json
        self._bar: Bar | None = None
        self._shown = 0.0
        self._waits = False  # whether it waits for compiled code, before the first rows

    def start(self) -> None:
        if not self.quiet and not self.log_json and on_terminal():
            self._bar = Bar()

    def compiling(self) -> None:
        """Say that code is being compiled, in the bar if there is one."""
        self._waits = True
        if self._bar is not None:
            self._bar.compiling()
        elif not self.quiet:
            say_compiling()

    def show(self, run: ShardedRun) -> None:
        """Move the bar, at most ten times a second."""
        now = time.monotonic()
        if self._waits and run.rows == run.resumed_at:
            return
        if self._bar is not None and now - self._shown >= 0.1:
            self._shown = now
            self._bar.step(run.share, lambda width: _so_far(run, width))

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def finish(self, run: ShardedRun) -> None:
        """Print the last line, and what was skipped."""
        self.close()
        assert run.learner is not None
        seconds = (run.ended or time.monotonic()) - run.started
        told = {
            "rows": run.learner.rows,
            "seconds": round(seconds, 3),
            "rows_per_second": round((run.learner.rows - run.resumed_at) / max(seconds, 1e-9)),
            **{name: round(value, 6) for name, value in run.learner.scores().items()},
            "skipped": run.learner.skipped,
            "missing": run.learner.missing,
            "shards": len(run.plan.shards),
            "final": True,
        }
        if self.log_json:
            tell_json(told)
        elif not self.quiet:
            say(f"{sentence(told)}, of {len(run.plan.shards):,} {'shard' if len(run.plan.shards) == 1 else 'shards'}")
        say_left_out(run.learner, run.skipped, quiet=self.quiet)


def _so_far(run: ShardedRun, width: int | None) -> str:
    """The state of a run, as much of it as there is room for."""
    seconds, share = time.monotonic() - run.started, run.share
    rows, shards = f"{run.rows:,} rows", f"{run.n_done:,} of {len(run.plan.shards):,} shards"
    speed = f"{(run.rows - run.resumed_at) / max(seconds, 1e-9):,.0f}/s"
    began = run.share_resumed
    left = [f"{_duration(seconds * (1 - share) / (share - began))} left"] if share - began > 0.01 else []
    ways = [(rows, speed, shards, *left), (rows, shards, *left), (rows, *left), (rows,)]
    texts = [", ".join(way) for way in ways]
    return next(text for text in texts if width is None or len(text) <= width or text == rows)


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


def train_in_shards(
    data: list[str],
    begin: dict[str, Any],
    display: ShardDisplay,
    *,
    workers: int | None,
    scheduler: str | None,
    model: Path,
    resume: bool,
    size: int | None,
    max_classes: int,
) -> None:
    """Train with workers; finished shards are kept whatever happens."""
    paths = [os.path.abspath(path) for path in data] if scheduler else data  # workers of a cluster run in other folders
    stop_in_order()
    try:
        display.start()
        with (
            _engine(workers, scheduler, display) as engine,
            one_line_errors(display.compiling, quiet=display.quiet),
        ):
            from pater.stream import sharded_training
            from pater.stream.beginning import Beginning
            from pater.stream.shard_plan import SHARD_BYTES

            run = sharded_training.train_in_shards(
                paths,
                Beginning(**{**begin, "threads": workers or 1}),  # the threads are for the common start of all shards
                engine,
                model=model,
                resume=resume,
                shard_bytes=size or SHARD_BYTES,
                max_classes=max_classes,
                show=display.show,
            )
    except KeyboardInterrupt as stop:
        display.close()
        raise StoppedError(stop, _kept(model)) from None
    except WorkersError as error:
        display.close()
        raise CommandError(f"{error} {_kept(model).capitalize()}") from None
    finally:
        display.close()
    display.finish(run)


def _engine(workers: int | None, scheduler: str | None, display: ShardDisplay) -> Processes | Cluster:
    if scheduler is not None:
        from .cluster import Cluster

        return Cluster(scheduler, display.compiling)
    from .processes import Processes

    return Processes(workers or 1, display.compiling)


def _kept(model: Path) -> str:
    from pater.stream.sharded_training import folder_of

    done = len([path for path in folder_of(model).glob("*.json") if path.stem.isdecimal()])
    if not done:
        return "nothing was saved."
    return f"{done:,} {'shard is' if done == 1 else 'shards are'} kept; --resume continues from there."
