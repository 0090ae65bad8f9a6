"""The run: batches in, a model file out, checkpoints on the way.

Knows `beginning`, `learner`, `guards` and `checkpoints`.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..files.container import check_place, lock_place
from ..formats.background import ahead
from ..formats.batches import Batch
from ..formats.blocks import START, Place
from ..formats.errors import Fault, InputError, Skipped
from ..formats.libsvm import LIMIT_OF_FEATURES
from ..formats.reading import Input
from ..formats.unread_warnings import UnreadCells
from .beginning import Beginning
from .checkpoints import Every, go_on_from, progress_of
from .encoder import Interactions, Later
from .evaluation import learn_and_judge
from .guards import MOST_CLASSES, Guards
from .learner import Learner
from .prediction_quality import Judged
from .widths import weighing


@dataclass
class Run:
    """A run in progress, as a progress display sees it."""

    input: Input
    learner: Learner
    passes: int
    settings: dict[str, Any]  # that a checkpoint records
    checkpoint: Path | None = None
    every: Every | None = None
    number: int = 1  # of the pass
    source: int = 0
    place: Place = START
    ends: list[Place] = field(default_factory=list)  # of the sources that were read to their end
    skipped: Skipped = field(default_factory=Skipped)
    unread: UnreadCells | None = field(init=False, default=None)  # of a table that is encoded
    guards: Guards = field(default_factory=Guards)
    judged: Judged | None = None  # receives the prediction of each row before it is learned from
    resumed_at: int = 0
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None  # when the last row was learned; the model may still be on its way to the disk

    def __post_init__(self) -> None:
        if self.learner.encoder is not None:
            self.unread = UnreadCells()

    @property
    def share(self) -> float | None:
        """How much of the work is done, if the sizes of the sources are known."""
        sizes = [source.size for source in self.input.sources]
        if any(size is None for size in sizes):
            return None
        total = sum(size or 0 for size in sizes) or 1
        done = sum(source.done for source in self.input.sources)
        return min(1.0, (self.number - 1 + done / total) / self.passes)

    def learn(
        self, *, show: Callable[[Run], None], at: Callable[[Run], Iterable[int]], report: Callable[[Run], None]
    ) -> None:
        """Learn to the end of the last pass."""
        last_rows, last_time = self.learner.rows, time.monotonic()
        while self.number <= self.passes:
            for batch, later in self._rest_of_pass():
                self._take(batch, later, at, report)
                show(self)
                due = self.every is not None and (
                    (self.every.rows and self.learner.rows - last_rows >= self.every.rows)
                    or (self.every.seconds and time.monotonic() - last_time >= self.every.seconds)
                )
                if due and self.learner.rows > 0:
                    self.save_checkpoint()
                    last_rows, last_time = self.learner.rows, time.monotonic()
            if self.learner.encoder is not None:
                self.skipped.add(self._learn(self.learner.encoder.finish(), at, report))
            self.number, self.source, self.place = self.number + 1, 0, START
        self.ended = time.monotonic()

    def _rest_of_pass(self) -> Iterator[tuple[Batch, Later | InputError]]:
        hashed = self.every is not None or self.resumed_at > 0  # places of the run that was stopped have hashes
        encoded = self._encoded(self.input.batches(first=self.source, place=self.place, hashed=hashed))
        # Code that reads the encoder during a run, such as a checkpoint, must find it at the same row as the model.
        alone = self.learner.encoder is None or hashed or self.judged is not None or self.input.threads == 0
        with closing(encoded if alone else ahead(encoded, depth=1)) as in_time:
            for batch, later in in_time:
                while self.source < batch.source_number:
                    self._finish_source()
                yield batch, later
        while self.source < len(self.input.sources):
            self._finish_source()

    def _encoded(self, batches: Generator[Batch]) -> Generator[tuple[Batch, Later | InputError]]:
        """Batches, each with a function that writes the rows that are then ready, or with the error why it cannot be
        encoded.
        """
        encoder = self.learner.encoder
        with closing(batches):
            for read in batches:
                batch = weighing(read, self.learner) if read.weights.size else read
                try:
                    yield batch, partial(list, [batch]) if encoder is None else encoder.learn(batch)
                except InputError as error:  # raised after any error of the batch itself
                    yield batch, error

    def _finish_source(self) -> None:
        if self.source == len(self.ends):
            self.ends.append(self.place)
        elif self.ends[self.source] != self.place:
            raise InputError(f"{self.input.sources[self.source].shown} changed between two passes.")
        self.source, self.place = self.source + 1, START

    def _take(
        self, batch: Batch, later: Later | InputError, at: Callable[[Run], Iterable[int]], report: Callable[[Run], None]
    ) -> None:
        self.guards.look(batch, self.learner)
        if isinstance(later, InputError):
            raise later
        faults = [*batch.faults, *self._learn(later(), at, report)]
        if faults:
            self.skipped.add(faults)
        self.place = batch.end
        report(self)

    def _learn(
        self, pieces: list[Batch], at: Callable[[Run], Iterable[int]], report: Callable[[Run], None]
    ) -> list[Fault]:
        faults: list[Fault] = []
        for piece in pieces:
            if self.unread is not None:
                self.unread.add(piece.unread, len(piece))
            if self.judged is None:
                faults += self.learner.learn(piece, at=at(self), report=lambda: report(self))
            else:
                faults += learn_and_judge(self.learner, piece, self.judged, at=at(self), report=lambda: report(self))
        return faults

    def save_checkpoint(self) -> None:
        assert self.checkpoint is not None
        self.learner.save(self.checkpoint, progress=progress_of(self))


def _nothing(_: Run) -> None:
    pass


def _nowhere(_: Run) -> Iterable[int]:
    return ()


def train(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    model: str | os.PathLike[str] | None = None,
    algo: str = "auto",
    scoring: str = "balanced_accuracy",
    scale: bool = False,
    passes: int = 1,
    initial: str | os.PathLike[str] | None = None,
    checkpoint_every: str | int | None = None,
    resume: bool = False,
    on_error: str = "stop",
    features: int = LIMIT_OF_FEATURES,
    threads: int | None = None,
    max_classes: int = MOST_CLASSES,
    encoding: str | None = None,
    interactions: Interactions = None,
    show: Callable[[Run], None] = _nothing,
    at: Callable[[Run], Iterable[int]] = _nowhere,
    report: Callable[[Run], None] = _nothing,
    judged: Judged | None = None,
    **options: Any,
) -> Learner:
    """Learn from files or pipes, and save the model.

    Parameters
    ----------
    paths, on_error, features, threads
        As in `pater.stream.read`.
    model : path, optional
        The model file to write. Links are followed; a file that is being read, or written by another run, is refused.
        It may be `initial`, which is read first.
    algo : "auto", "wpater" or a name of `pater.kernels.rules.RULES`
        "auto" trains several second-order learners side by side, and the best so far predicts; "wpater" trains PATER-I
        and -II with the paper's class weights.
    scoring : str
        What "best" means for these two: a name in `pater.models.metrics.SCORES`.
    scale : bool
        Whether to standardise features as the stream passes.
    passes : int
        The number of passes over the files.
    initial : path, optional
        A model file to continue from, with its settings.
    checkpoint_every : int or str, optional
        A number of rows, or a time such as "30s". The checkpoint is written beside the model, with `.checkpoint`
        appended.
    resume : bool
        Whether to continue from the checkpoint, if there is one.
    max_classes : int
        How many classes the first thousand rows may have; with more, the label column is considered wrong.
    encoding : {"table", "plain"} or None, default=None
        Whether the columns of a table are encoded (see `pater.preprocessing.TableEncoder`), or passed to the model as
        numbers and hashed texts. Tables are encoded by default, unless `scale` or `bits` is given.
    interactions : list of pairs of names, or "all", optional
        Columns of an encoded table to cross.
    show, at, report
        `show` is called with the `Run` after every batch; `at` gives the numbers of rows at which `report` is called.
    judged : Judged, optional
        Receives the prediction of each row before it is learned from (`pater.stream.windows`, `pater.stream.drift`).
    **options
        `format`, `label`, `weight`, `categorical`, `drop`, `bits`, `delimiter` and `decimal`, as in
        `pater.stream.read`. And the settings of the algorithm, `C`, `class_weight`, `intercept`, `average`,
        `forgetting`, `fading`, `probability`, `operating_point`, `covariance`, `form`, `r`, `eta` and `approximation`,
        as for the estimators; `approximation` is ALMA's α. A setting that the algorithm does not have is an error. Keys
        of `class_weight` may be text; they are matched to numeric labels.

    Returns
    -------
    Learner
        What was learned.
    """
    if passes < 1:
        raise InputError(f"passes must be at least 1, got {passes}.")
    every = None if checkpoint_every is None else Every.of(checkpoint_every)
    checkpoint = Path(f"{os.fspath(model)}.checkpoint") if model is not None else None
    if (every or resume) and checkpoint is None:
        raise InputError("checkpoints are written beside the model: name the model file.")
    begin = Beginning(
        algo=algo,
        scoring=scoring,
        scale=scale,
        initial=initial,
        on_error=on_error,
        features=features,
        threads=threads,
        encoding=encoding,
        interactions=interactions,
        options=options,
    )
    source = begin.input(paths)
    if model is not None and checkpoint is not None:
        names = [each.name for each in source.sources]
        check_place(model, names)
        if every or resume:
            check_place(checkpoint, names)
    if passes > 1 and any(each.size is None for each in source.sources):
        raise InputError("several passes need files; a pipe can be read only once.")
    learner = begin.learner(source)
    run = Run(
        source,
        learner,
        passes,
        begin.settings(source, passes) if every or resume else {},
        checkpoint,
        every,
        guards=Guards(max_classes),
        judged=judged,
    )
    with ExitStack() as stack:
        if model is not None:
            stack.enter_context(lock_place(model))
        if resume and checkpoint is not None and checkpoint.exists():
            go_on_from(run, checkpoint)
            if judged is not None and run.learner.rows:
                warnings.warn(
                    f"the run goes on after row {run.learner.rows:,}: windows and alarms begin there, and those before "
                    "belong to the run that was stopped.",
                    stacklevel=2,
                )
        run.learn(show=show, at=at, report=report)
        if run.unread is not None:
            run.unread.tell()
        if run.learner.model is None:
            raise InputError(f"{', '.join(each.shown for each in source.sources)}: there is no row to learn from.")
        if initial is None:
            run.guards.finish(run.learner)
        if model is not None:
            run.learner.save(model)
            if checkpoint is not None and (every or resume):
                checkpoint.unlink(missing_ok=True)
    return run.learner
