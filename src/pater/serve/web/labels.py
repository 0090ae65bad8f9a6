"""The labels of a request, each for an id: the shape is checked here, and the labels themselves by the engine."""

from __future__ import annotations

import math
from typing import Any

from ..errors import Refusal
from ..store.records import LabelOf
from .limits import Limits

MOST_TOLD = 100  # most faulty labels of a request that an answer lists
_KEYS = {"id", "label", "weight"}


def labels_of_json(body: Any, limits: Limits) -> list[LabelOf]:
    """The labels of a parsed body; a Refusal names those that are wrong."""
    if isinstance(body, dict) and "id" in body:
        body = {"labels": [body]}
    if not isinstance(body, dict) or set(body) != {"labels"} or not isinstance(body["labels"], list):
        raise Refusal(422, 'the body must be {"labels": [{"id": …, "label": …}]}.')
    given = body["labels"]
    if len(given) > limits.rows:
        raise Refusal(413, f"there are {len(given):,} labels; a request may hold {limits.rows:,}. Send them in parts.")
    wrong = [(place, why) for place, each in enumerate(given) if (why := _wrong(each, limits))]
    if wrong:
        more = "" if len(wrong) == 1 else f", and {len(wrong) - 1:,} more are wrong"
        raise Refusal(422, f"label {wrong[0][0]}: {wrong[0][1]}{more}; nothing was taken.", rows=wrong[:MOST_TOLD])
    return [LabelOf(each["id"], each["label"], each.get("weight")) for each in given]


def _wrong(each: Any, limits: Limits) -> str:
    if not isinstance(each, dict) or not {"id", "label"} <= set(each) <= _KEYS:
        return 'it must be an object with "id" and "label", and perhaps "weight"'
    name, label, weight = each["id"], each["label"], each.get("weight")
    if not isinstance(name, str) or not 0 < len(name) <= limits.ids:
        return f"an id is a text of 1 to {limits.ids} characters"
    if isinstance(label, dict | list) or label is None:
        return "a label is a text or a whole number"
    if weight is not None and (
        isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf
    ):
        return "a weight is a number, 0 or more"
    return ""
