"""The beginning of a run: its input, a new or continued learner, and the settings of both.

Knows `reading`, `algorithms`, `encoder` and `learner`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..files.model_file import BATCH_RULE
from ..formats.columns import ENCODED, HASHED, TABLE
from ..formats.errors import ArgumentError, InputError
from ..formats.libsvm import LIMIT_OF_FEATURES
from ..formats.reading import Input, make_input
from ..formats.sources import as_text
from ..models.metrics import SCORES
from ..models.truth import named
from .algorithms import settings_among, specs_of
from .encoder import Interactions, new_encoder
from .guards import hint_of_few_rows
from .learner import Learner, load

StrPath = str | os.PathLike[str]


@dataclass(kw_only=True)
class Beginning:
    """What a caller of `stream.train` has set for rows and learner; the parameters are described there."""

    algo: str = "auto"
    scoring: str = "balanced_accuracy"
    scale: bool = False
    initial: StrPath | None = None
    on_error: str = "stop"
    features: int = LIMIT_OF_FEATURES
    threads: int | None = None
    encoding: str | None = None
    interactions: Interactions = None
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.scoring not in SCORES:
            raise ArgumentError("scoring", f"must be one of {', '.join(SCORES)}, got {self.scoring!r}.")
        self.options = dict(self.options)
        self._given = settings_among(self.options)
        self.before = load(self.initial) if self.initial is not None else None

    def input(self, paths: StrPath | Iterable[StrPath]) -> Input:
        """The input; its settings are checked, but nothing is read."""
        before = self.before
        return make_input(
            paths,
            columns=before.columns if before else None,
            on_error=self.on_error,
            features=self.features,
            threads=self.threads,
            keep_missing=self.scale or (before is not None and before.scale),
            encoded=is_encoded(self.encoding, scale=self.scale, bits=self.options.get("bits")),
            **self.options,
        )

    def learner(self, source: Input) -> Learner:
        """The learner for an input, whose first rows may be inspected."""
        columns, before, given = source.describe(), self.before, self._given
        if columns.kind in (HASHED, TABLE) and columns.bits > 26:
            raise InputError(f"{columns.bits} bits are too many for a model; at most 26.")
        if before is not None:
            name = os.fspath(self.initial or "")
            if before.specs[0].rule == BATCH_RULE:
                raise InputError(f"{name} is a batch solution, which cannot learn from more rows.")
            if self.interactions:
                raise InputError(
                    "interactions cannot be combined with an initial model: the model keeps its own settings."
                )
            before.go_on_with(columns)
            hint_of_few_rows(before, name)
        weights = matched(given["class_weight"], numeric=columns.numeric_labels)
        learner = before or Learner(
            specs_of(self.algo, self.scoring, **{**given, "class_weight": weights}),
            columns,
            self.scoring,
            self.scale,
            encoder=new_encoder(columns, self.interactions) if columns.kind == ENCODED or self.interactions else None,
            fading=given["fading"],
        )
        learner.skip = self.on_error == "skip"
        learner.sources = [*learner.sources, *(as_text(each.name) for each in source.sources)]
        if self.threads:
            learner.threads = self.threads
        return learner

    def settings(self, source: Input, passes: int = 1) -> dict[str, Any]:
        """The settings that must be the same when a run resumes from a checkpoint, as JSON."""
        given = self._given
        return {
            "algo": self.algo,
            **given,
            "class_weight": str(given["class_weight"]),
            "operating_point": given["operating_point"] and str(given["operating_point"]),
            "scoring": self.scoring,
            "scale": self.scale,
            "interactions": str(self.interactions) if self.interactions else None,
            "passes": passes,
            "on_error": self.on_error,
            "sources": len(source.sources),
            "columns": source.describe().to_json(),
            "delimiter": source.wishes.delimiter,
            **({"decimal": source.wishes.decimal} if source.wishes.decimal else {}),
            "initial": as_text(os.fspath(self.initial)) if self.initial is not None else None,
        }


def is_encoded(encoding: str | None, *, scale: bool, bits: int | None) -> bool | None:
    """Whether a table is to be encoded; None if that depends on whether it is a table."""
    if encoding not in (None, "table", "plain"):
        raise InputError(f"there is no encoding {encoding!r}; choose table or plain.")
    of_plain = {"scale": scale, "bits": bits is not None}
    given = [name for name, there in of_plain.items() if there]
    if encoding == "table" and given:
        raise InputError(f"{given[0]} is for the plain encoding; an encoded table needs none.")
    if encoding is None:
        return False if given else None
    return encoding == "table"


def matched(class_weight: Any, *, numeric: bool) -> Any:
    """Class weights whose labels have the type of the labels of the data."""
    if not isinstance(class_weight, dict):
        return class_weight
    if not numeric:
        return {named(label): weight for label, weight in class_weight.items()}
    try:
        return {int(label): weight for label, weight in class_weight.items()}
    except (TypeError, ValueError):
        raise InputError(f"class_weight names {list(class_weight)}, but the labels are whole numbers.") from None
