"""Take the body of a request apart into its rows, and each row into features, label, weight and id.

Knows `errors`, and how much a request may hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...formats.errors import shortened
from ...formats.json_cells import Faults, kind_of
from ...formats.libsvm import LIMIT_OF_FEATURES
from ..errors import Refusal

MOST_TOLD = 100  # most faulty rows of a request that an answer lists
_OF_A_ROW = frozenset({"features", "label", "weight", "id"})
_ONLY_FEATURES = frozenset({"features"})
_BESIDE = frozenset({"rows", "explain"})


@dataclass(frozen=True)
class Limits:
    """How much one request may hold."""

    rows: int = 100_000
    columns: int = 10_000
    name: int = 1_000  # characters of the name of a column
    id: int = 256  # characters
    features: int = LIMIT_OF_FEATURES  # most features that indices may ask for


LIMITS = Limits()


class Parts(NamedTuple):
    """The parts of each row; None for what a row does not have."""

    features: Sequence[Any]
    labels: list[Any]
    weights: list[Any]
    ids: list[Any]


def rows_in(body: Any, limits: Limits) -> list[Any]:
    """The rows of a body, which may itself be a single row."""
    if not isinstance(body, dict):
        raise Refusal(
            422, f'the body is {kind_of(body)}; it must be an object such as {{"rows": [{{"features": …}}]}}.'
        )
    if "rows" not in body:
        if "features" not in body:
            raise Refusal(422, 'the body has neither "rows" nor "features".')
        return [{name: value for name, value in body.items() if name != "explain"}]
    unknown = body.keys() - _BESIDE
    if unknown:
        raise Refusal(422, f'the body has the key {shortened(min(unknown))!r} beside "rows", which is not known.')
    rows = body["rows"]
    if not isinstance(rows, list):
        raise Refusal(422, f'"rows" is {kind_of(rows)}; it must be a list.')
    if len(rows) > limits.rows:
        raise Refusal(413, f"there are {len(rows):,} rows; a request may hold {limits.rows:,}. Send them in parts.")
    return rows


def split(rows: list[Any], labelled: bool, limits: Limits, faults: Faults) -> Parts:
    """The parts of each row; anything that is not a row is noted in `faults`."""
    if len(rows) == 1 and type(rows[0]) is dict and rows[0].keys() == _ONLY_FEATURES:
        return Parts([rows[0]["features"]], [None], [None], [None])  # nearly all rows to predict are like this
    try:
        features = [row["features"] for row in rows]
        has = {key: sum([key in row for row in rows]) for key in ("label", "weight", "id")}
        known = sum(map(len, rows)) == len(rows) + sum(has.values()) and (labelled or not has["label"] + has["weight"])
    except (TypeError, KeyError):
        known = False
    if not known:
        rows = [_checked(row, r, labelled, faults) for r, row in enumerate(rows)]
        features = [row.get("features") for row in rows]
        has = dict.fromkeys(("label", "weight", "id"), 1)
    nothing = [None] * len(rows)
    labels, weights, ids = ([row.get(key) for row in rows] if has[key] else nothing for key in has)
    if has["id"]:
        check_ids(ids, limits, faults)
    return Parts(features, labels, weights, ids)


def _checked(row: Any, r: int, labelled: bool, faults: Faults) -> dict[str, Any]:
    if not isinstance(row, dict):
        faults.setdefault(r, f'a row is an object with "features", not {kind_of(row)}')
        return {"features": {}}
    wrong = next((key for key in row if key not in _OF_A_ROW), None)
    if wrong is not None:
        faults.setdefault(r, f'{shortened(wrong)!r} is not known; a row has "features", "label", "weight" and "id"')
    elif not labelled and (row.get("label") is not None or row.get("weight") is not None):
        faults.setdefault(r, "a row to predict has no label and no weight; rows with labels go to /v1/learn")
    elif "features" not in row:
        faults.setdefault(r, 'there are no "features"')
    return {"features": {}, **row}


def check_ids(ids: list[Any], limits: Limits, faults: Faults) -> None:
    """Note invalid ids in `faults`."""
    for r, id in enumerate(ids):
        if id is None:
            continue
        if not isinstance(id, str) or not id:
            faults.setdefault(r, f"the id is {'empty' if id == '' else kind_of(id)}; it must be text")
        elif len(id) > limits.id:
            faults.setdefault(r, f"the id has {len(id):,} characters; at most {limits.id:,} are kept")


def check_names(names: list[str], limits: Limits) -> None:
    """Raise a `Refusal` if there are too many columns, or a name is too long."""
    if len(names) > limits.columns:
        raise Refusal(413, f"the rows have {len(names):,} columns; at most {limits.columns:,} are taken.")
    long = max(names, key=len, default="")
    if len(long) > limits.name:
        raise Refusal(
            422,
            f"the name of column {shortened(long)!r} has {len(long):,} characters; at most {limits.name:,} are taken.",
        )


def refuse(faults: Faults) -> None:
    """Raise a `Refusal` if there are faults."""
    if not faults:
        return
    told = sorted(faults.items())
    first, what = told[0]
    others = "" if len(told) == 1 else f", and {len(told) - 1:,} more rows are wrong"
    raise Refusal(422, f"row {first}: {what}{others}; nothing was taken.", rows=told[:MOST_TOLD])
