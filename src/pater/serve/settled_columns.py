"""The columns of the rows: those of the model, or settled by the first rows of a service that began without one.

Knows `rows`. Names are settled by the first rows that are learned or remembered, and whether labels are numbers by the
first label. What a request settles is written to the log along with it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ..formats.columns import Columns
from ..formats.errors import InputError, listed, shortened
from ..formats.json_schema import are_numbers, is_indices
from ..formats.schema import Wishes
from ..models.truth import text_named
from ..stream.beginning import is_encoded
from ..stream.learner import Learner
from .errors import Refusal
from .learned_log import Learned
from .retention import Retention
from .rows.arrow_rows import rows_of_arrow
from .rows.bodies import refuse
from .rows.rows import Rows, label_of, rows_of_json, truths_among
from .store.log import Log
from .store.records import LabelOf
from .store.transaction import Transaction

COLUMNS, LABELS_KNOWN = "columns", "labels_known"
say = logging.getLogger("pater.serve")


@dataclass(frozen=True)
class News:
    """What is settled and may not be on the disk yet; a call with a transaction writes it."""

    columns: Columns | None
    labels_known: bool
    is_new: bool

    def __call__(self, transaction: Transaction) -> None:
        if self.is_new and self.columns is not None:
            transaction.set_meta(COLUMNS, self.columns.to_json())
            transaction.set_meta(LABELS_KNOWN, self.labels_known)


class Settling:
    """The columns, as far as they are settled, and the labels seen so far."""

    def __init__(
        self,
        settings: dict[str, Any],
        columns: Columns | None = None,
        *,
        labels: Iterable[Any] = (),
        labels_known: bool = False,
        most_classes: int = 100,
    ) -> None:
        self.columns, self.labels_known = columns, labels_known
        self._settings, self._labels, self._most_classes = settings, set(map(text_named, labels)), most_classes
        self._under_way: Counter[Any] = Counter()
        self._on_disk: tuple[Columns | None, bool] = columns, labels_known
        self._wishes = self._wished(by_index=columns is not None and not columns.table)

    @classmethod
    def of(cls, log: Log, learned: Learned, settings: dict[str, Any], keeping: Retention) -> Settling:
        """The columns and labels that the log has settled; an error if rows cannot expire as the label given."""
        known = bool(log.meta(LABELS_KNOWN, default=False))
        most_classes = 2 if settings.get("options", {}).get("operating_point") else keeping.most_classes
        found = cls(settings, learned.columns, labels_known=known, most_classes=most_classes)
        if learned.served is not None:
            found = found.as_of(learned.served.learner)
            speaker = learned.served.speaker(fresh=True)  # also knows the labels of rows that are held back
            found._labels |= set() if speaker is None else set(map(text_named, speaker.classes.tolist()))
        if keeping.expire_as is not None and found.labels_known:
            found._check_expiry(keeping.expire_as)
        return found

    def as_of(self, learner: Learner) -> Settling:
        """A copy with the columns and classes of a learner."""
        classes = [] if learner.model is None else learner.model.classes.tolist()
        most = 2 if learner.specs[0].operating_point is not None else self._most_classes
        found = Settling(
            {**self._settings, "scale": learner.scale},
            learner.columns,
            labels=classes,
            labels_known=self.labels_known or bool(classes),
            most_classes=most,
        )
        found._on_disk = self._on_disk
        return found

    @property
    def is_fixed(self) -> bool:
        """Whether nothing is left to settle, and no names behind hashed columns are recorded."""
        return self.columns is not None and self.labels_known and not self.columns.bits

    def rows_of(self, body: Any, *, labelled: bool, arrow: bool = False, **limits: Any) -> Rows:
        """The rows of a request, checked; the first ones that go to the log settle the columns."""
        if self.columns is None:
            self._wishes = self._wished(by_index=not arrow and is_indices(_first(body)))
        wishes = self._wishes
        more = {"labelled": labelled, "wishes": wishes, "keep_missing": bool(self._settings.get("scale")), **limits}
        read: Callable[..., Rows] = rows_of_arrow if arrow else rows_of_json
        if not labelled or self.labels_known or self.columns is None:
            rows = read(body, self.columns, **more)
        else:
            try:
                rows = read(body, replace(self.columns, numeric_labels=True), **more)
            except Refusal:
                rows = read(body, replace(self.columns, numeric_labels=False), **more)
        if labelled:
            self._check_truths(rows.truths, rows.labels)
            self._check_number(rows.labels)
        if labelled or any(name is not None for name in rows.ids):
            self._settle(rows.columns, self.labels_known or labelled)
        rows.reader = self
        return rows

    def labels(self, labels: list[LabelOf]) -> list[LabelOf]:
        """The labels of predicted rows, checked, in the form in which the log keeps them."""
        if self.columns is None:
            return labels  # no row is remembered either, so all of these ids are unknown
        columns = self.columns
        if not self.labels_known:
            columns = replace(columns, numeric_labels=are_numbers(each.label for each in labels))
        sound, faults = [], {}
        for place, each in enumerate(labels):
            try:
                sound.append(each._replace(label=label_of(each.label, columns)))
            except ValueError as error:
                faults[place] = str(error)
        refuse(faults)
        self._check_truths(truths_among([each.label for each in labels], columns), [each.label for each in sound])
        if sound:
            self._settle(columns, True)
        return sound

    def label_of_text(self, text: str) -> Any:
        """The label that a text on the command line means: a number where labels are numbers."""
        columns = self.columns
        is_number = text.lstrip("-").isdecimal() if columns is None or not self.labels_known else columns.numeric_labels
        return self.labels([LabelOf("", int(text) if is_number and text.lstrip("-").isdecimal() else text)])[0].label

    def _check_expiry(self, text: str) -> None:
        classes = sorted(map(str, self._labels))
        try:
            label = self.label_of_text(text)
        except Refusal as refusal:
            why = refusal.rows[0][1] if refusal.rows else refusal.reason.removesuffix(".")
            raise InputError(f"rows cannot expire as {shortened(text)!r}: {why}. Name another label.") from None
        if len(classes) > 1 and str(label) not in classes:
            say.warning("rows will expire as %r, but labels so far are %s", shortened(text), listed(classes))

    def _wished(self, *, by_index: bool) -> Wishes:
        options, scale = self._settings.get("options", {}), bool(self._settings.get("scale"))
        encoded = is_encoded(self._settings.get("encoding"), scale=scale, bits=options.get("bits"))
        return Wishes(
            categorical=tuple(options.get("categorical", ())),
            drop=tuple(options.get("drop", ())),
            bits=options.get("bits"),
            encoded=not by_index if encoded is None else encoded,
        )

    @contextmanager
    def under_way(self, labels: list[Any]) -> Iterator[set[Any]]:
        """Count labels among the classes while it is not yet known which of them are learned.

        Raises a Refusal if there would be too many classes. The block removes the labels that were not learned from the
        set that it is given; after a Refusal that names no rows, none counts as learned.
        """
        self._check_number(labels)
        mine, learned = Counter(set(labels)), set(labels)
        self._under_way += mine
        try:
            yield learned
        except Refusal as refusal:
            learned = learned if refusal.rows else set()
            raise
        finally:
            self._under_way -= mine
            self._labels |= learned

    def _check_truths(self, truths: list[int], labels: Sequence[Any]) -> None:
        """Raise a Refusal if labels came as true or false, meaning 1 and 0, where labels are other numbers, too."""
        others = (self._labels | self._under_way.keys() | set(labels)) - {0, 1} if truths else ()
        if others:
            told = f"but labels here are numbers such as {min(others)}; write the number that is meant"
            refuse({place: f"the label is {'true' if labels[place] else 'false'}, {told}" for place in truths})

    def _check_number(self, labels: Iterable[Any]) -> None:
        known = self._labels | self._under_way.keys() | set(labels)
        if len(known) > self._most_classes:
            new = next((label for label in labels if label not in self._labels), "")
            why, more = "", "; more can be allowed with --max-classes"
            if self._most_classes == 2:
                why, more = " since the model has an operating point", ""
            raise Refusal(
                422,
                f"the label {shortened(str(new))!r} would be one more than the {self._most_classes} classes that there "
                f"may be{why}. See that it is a class{more}.",
            )

    def _settle(self, columns: Columns, labels_known: bool) -> None:
        if columns != self.columns or labels_known != self.labels_known:
            self.columns, self.labels_known = columns, labels_known

    def news(self) -> News:
        """What is settled now, to be written with the next request."""
        now = self.columns, self.labels_known
        return News(*now, is_new=now != self._on_disk)

    def is_on_disk(self, news: News) -> None:
        """Note that `news` was written; there may be more since."""
        self._on_disk = news.columns, news.labels_known


def _first(body: Any) -> Any:
    """The features of the first row of a request, if it has any."""
    rows = body.get("rows", [body]) if isinstance(body, dict) else None
    first = rows[0] if isinstance(rows, list) and rows else None
    return first.get("features") if isinstance(first, dict) else None
