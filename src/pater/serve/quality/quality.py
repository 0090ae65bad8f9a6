"""The quality of the answers actually given, judged by the labels that came later.

Knows `tally`, `margins`, `models/truth.py` and `stream/drift.py`. Every number depends only on the order of the
answers, never on how they are cut into calls, and all of it can be written as JSON and read back: a service that was
killed resumes from its last snapshot and the log after it, and reports the same numbers as one that was not. Memory is
bounded: old windows are merged in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...models.truth import as_spelled
from ...stream.drift import Alarm, DriftWatch
from .margins import JudgedMargins
from .tally import Tally, losses, losses_by_class

WINDOW = 1_000  # rows
MOST_WINDOWS = 400
NOT_COME = -1  # the code of a class that was neither true nor predicted so far
MOST_ALARMS = 100  # most alarms kept; all are counted


class Answers(NamedTuple):
    """Answers whose labels have come, in the order of the log; each list has one item per answer."""

    times: list[float]  # when the label came
    labels: list[Any]
    decisions: list[Any]  # what was answered; None where there was no model yet
    margins: list[float | None]  # of the second of two classes; None if there are more, or another model answered
    probabilities: list[Any]  # of the second of two classes, or of each class by its name; None where there is none
    classes: Sequence[Any] = ()  # those that the model knew when it answered, in order


class Quality:
    """Scores per window of a fixed number of rows and since the start, margins by class, and alarms."""

    def __init__(self, window: int = WINDOW) -> None:
        self.size = window
        self.labels: dict[Any, int] = {}  # the code of each class seen so far
        self.classes: list[Any] = []  # of the model
        self.unanswered = 0  # labels of rows for which no answer was given
        self.total, self.window = Tally(), Tally()
        self.windows: list[Tally] = []  # full ones, oldest first
        self.margins = JudgedMargins()
        self.alarms: list[dict[str, Any]] = []
        self.n_alarms = 0
        self._watch = DriftWatch()

    @property
    def rows(self) -> int:
        """The number of answers judged."""
        return self.total.rows

    def add(self, answers: Answers) -> None:
        """Judge some more answers. A label that is a word for true or false counts as the model's class for it."""
        answers = answers._replace(labels=[as_spelled(label, answers.classes) for label in answers.labels])
        if set(answers.classes) >= set(self.classes):  # otherwise they are old answers, whose labels come late
            self.classes = list(answers.classes)
        there = [k for k, said in enumerate(answers.decisions) if said is not None]
        self.unanswered += len(answers.decisions) - len(there)
        before = self.rows
        for k in there:
            self._count(answers, k)
        self._note_margins(answers, there)
        labels = [as_spelled(answers.labels[k], self.labels) for k in there]
        self._watch.note(before, labels, [answers.decisions[k] != answers.labels[k] for k in there])
        for alarm in self._watch.alarms:
            time = answers.times[there[alarm.row - before - 1]]
            self.alarms = [*self.alarms[1 - MOST_ALARMS :], {"time": time, **alarm.to_json()}]
            self.n_alarms += 1
        self._watch.alarms.clear()

    def _count(self, answers: Answers, k: int) -> None:
        label, said = answers.labels[k], answers.decisions[k]
        codes = [self.labels.setdefault(as_spelled(each, self.labels), len(self.labels)) for each in (label, said)]
        found = _losses(answers, k)
        for tally in (self.total, self.window):
            tally.add(answers.times[k], *codes)
            if found is not None:
                tally.add_losses(*found)
        if self.window.rows >= self.size:
            self.windows.append(self.window)
            self.window = Tally()
            if len(self.windows) > MOST_WINDOWS:
                self._put_together()

    def _note_margins(self, answers: Answers, there: list[int]) -> None:
        classes = list(answers.classes)
        if len(classes) != 2 or classes != self.classes:
            return
        sound = [
            (margin, int(label == classes[1]))
            for margin, label in ((answers.margins[k], answers.labels[k]) for k in there)
            if margin is not None and math.isfinite(margin) and label in classes
        ]
        if sound:
            self.margins.note([margin for margin, _ in sound], [code for _, code in sound])

    def _put_together(self) -> None:
        """Merge the older half of the windows in pairs."""
        half = len(self.windows) // 4 * 2
        pairs = zip(self.windows[:half:2], self.windows[1:half:2], strict=True)
        self.windows = [*(one.with_later(other) for one, other in pairs), *self.windows[half:]]

    def swapped(self, classes: Sequence[Any] = ()) -> None:
        """Note that a model of these classes has taken over; the margins of the previous one are dropped."""
        self.margins = JudgedMargins()
        self.classes = list(classes) or self.classes

    def recent(self) -> Tally:
        """The last full window and the rows after it: never too few once a window is full, and never old."""
        return self.windows[-1].with_later(self.window) if self.windows else self.window

    def alarms_after(self, n: int) -> list[Alarm]:
        """The alarms after the first n, as far as they are kept."""
        new = min(self.n_alarms - n, len(self.alarms))
        return [Alarm.from_json(alarm) for alarm in self.alarms[len(self.alarms) - new :]]

    def told(self, tally: Tally) -> dict[str, Any]:
        """A stretch of answers as JSON: its scores, and the rows of each class."""
        positive = self._code_of(self.classes[1]) if self._is_of_two(tally) else None
        names = list(self.labels)
        of_class = [
            {"class": names[code], "rows": true, "said": said, "right": right}
            for code, (true, said, right) in sorted(tally.classes.items())
        ]
        times = {"start": tally.start, "end": tally.end} if tally.rows else {"start": None, "end": None}
        return {"rows": tally.rows, **times, **tally.scores(positive), "of_class": of_class}

    def _code_of(self, label: Any) -> int:
        return self.labels.get(as_spelled(label, self.labels), NOT_COME)

    def _is_of_two(self, tally: Tally) -> bool:
        pair = {self._code_of(label) for label in self.classes}
        return len(self.classes) == 2 and pair >= tally.classes.keys()

    def to_json(self) -> dict[str, Any]:
        """The complete state, from which `from_json` resumes exactly; judging more answers does not change it."""
        return {
            "window_size": self.size,
            "labels": list(self.labels),
            "classes": self.classes,
            "unanswered": self.unanswered,
            "total": self.total.to_json(),
            "window": self.window.to_json(),
            "windows": [window.to_json() for window in self.windows],
            "margins": self.margins.to_json(),
            "alarms": self.alarms,
            "n_alarms": self.n_alarms,
            "watch": self._watch.to_json(),
        }

    @classmethod
    def from_json(cls, told: dict[str, Any], window: int | None = None) -> Quality:
        """Read what `to_json` wrote; from here on windows have another size, if one is given."""
        quality = cls(window or told["window_size"])
        quality.labels = {label: code for code, label in enumerate(told["labels"])}
        quality.classes, quality.unanswered = list(told["classes"]), told["unanswered"]
        quality.total, quality.window = Tally.from_json(told["total"]), Tally.from_json(told["window"])
        quality.windows = [Tally.from_json(each) for each in told["windows"]]
        quality.margins = JudgedMargins.from_json(told["margins"])
        quality.alarms, quality.n_alarms = list(told["alarms"]), told["n_alarms"]
        quality._watch = DriftWatch.from_json(told["watch"])
        return quality


def _losses(answers: Answers, k: int) -> tuple[float, float] | None:
    """The Brier score and the log loss of an answer; None if it had no probability."""
    probability, label, classes = answers.probabilities[k], answers.labels[k], list(answers.classes)
    if isinstance(probability, Mapping):
        return losses_by_class(probability, label)
    if probability is None or len(classes) != 2 or label not in classes:
        return None
    return losses(probability if label == classes[1] else 1.0 - probability)
