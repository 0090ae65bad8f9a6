"""Compile code before the first request, which would otherwise wait for it, and all others with it.

Knows `served_learner` and `rows`. A copy of the model learns from made-up rows and predicts them. Where there is no
model yet, a new learner of a made-up table does.
"""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from typing import Any

from ..formats.columns import ENCODED, NUMBER, TEXT, Columns
from ..stream.beginning import is_encoded
from .initial_learner import LABEL, new_learner
from .rows.rows import rows_of_json
from .served_learner import Served

MADE = Columns(ENCODED, table=(("number", NUMBER), ("text", TEXT)), label=LABEL)
ENOUGH = 1_100  # rows after which an encoder holds none back any more


def warm(served: Served | None, settings: dict[str, Any]) -> None:
    """Compile what the first requests need; errors are ignored."""
    with suppress(Exception):  # the service starts all the same, and is slower at first
        _learn_and_ask(deepcopy(served) if served is not None else None, settings)


def _learn_and_ask(served: Served | None, settings: dict[str, Any]) -> None:
    options = settings.get("options", {})
    if served is None or served.learner.columns is None or served.speaker() is None:
        encoded = is_encoded(settings.get("encoding"), scale=bool(settings.get("scale")), bits=options.get("bits"))
        if encoded is False or options.get("categorical") or options.get("class_weight"):
            return
        columns, labels = MADE, [0, 1]
        served = Served(new_learner({**settings, "interactions": None}, columns))
        features: list[Any] = [{"number": k * 37 % 101, "text": "abc"[k % 3]} for k in range(ENOUGH)]
    else:
        speaker = served.speaker()
        assert speaker is not None
        assert speaker.columns is not None
        columns, labels = speaker.columns, speaker.classes.tolist()
        features = [{} if columns.table else [[0, 1.0]]] * 2
    rows = [{"features": each, "label": labels[k % len(labels)]} for k, each in enumerate(features)]
    scale = served.learner.scale
    for some in (rows[:-1], rows[-1:]):
        served.learn(rows_of_json({"rows": some}, columns, labelled=True, keep_missing=scale).batch)
    asked = [{"features": each} for each in features[:2]]
    for unlabelled in (asked[:1], asked):
        served.answers(rows_of_json({"rows": unlabelled}, columns, labelled=False, keep_missing=scale).batch)
