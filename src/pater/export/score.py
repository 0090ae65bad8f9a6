"""Scores rows with a document and the standard library alone: a page to copy or to translate."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from zlib import crc32

Added = Iterator[tuple[list[list[float]], int, float]]  # weights by model and place, a place, and the value there
MISSING = {"", "?", "na", "n/a", "nan", "+nan", "-nan", "null", "none"}
TRUTHS = {"false": 0.0, "true": 1.0}
FORMS = {
    "plain": re.compile(r"\s*[+-]?(\d|\.\d|inf)[^_]*", re.IGNORECASE | re.DOTALL),
    "grouped": re.compile(r"[+-]?([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d*)?"),
    "comma": re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d*)?"),
}
SURELY = {  # in any column
    "grouped": re.compile(r"[+-]?[1-9]\d{0,2}((,\d{3})+\.\d+|(,\d{3}){2,})"),
    "comma": re.compile(r"[+-]?[1-9]\d{0,2}((\.\d{3})+,\d+|(\.\d{3}){2,})"),
}
BLANKS, SIGNS = " \t", " \t\u00a0\u202f$€£¥%"


class Scorer:
    """Scores rows as the model of a document does."""

    def __init__(self, document: dict[str, Any]) -> None:
        if document["form"] != 1:
            raise ValueError(f"this page reads form 1, but the document has form {document['form']}.")
        self.document, self.input = document, document["input"]
        self.adds = {"numbers": self.numbers, "hashed": self.hashed, "table": self.table}[self.input["kind"]]
        columns = self.input["columns"]
        if self.input["kind"] == "table":
            self.places = {c["name"]: {v: k for k, v in enumerate(c.get("values", ()))} for c in columns}
            self.columns = {column["name"]: column for column in columns}
        else:
            self.place = {column: k for k, column in enumerate(columns)}

    def margins(self, row: Any) -> list[float]:
        """The margin of each model for a row."""
        margins = [model["intercept"] for model in self.document["models"]]
        for weights, place, value in self.adds(row):
            for k in range(len(margins)):
                margins[k] += weights[k][place] * value
        if not all(map(math.isfinite, margins)):
            raise ValueError("a number of the row is too large, or infinite.")
        return margins

    def label(self, margins: Sequence[float]) -> Any:
        """The class that the margins predict."""
        classes = self.document["classes"]
        if len(classes) == 2:
            return classes[margins[0] >= self.document["threshold"]]
        return classes[max(range(len(classes)), key=margins.__getitem__)]

    def probabilities(self, margins: Sequence[float]) -> list[float]:
        """The probability of each class."""
        found = []
        for margin, model in zip(margins, self.document["models"], strict=True):
            p = model["probability"]
            r = max(-p["most"], min(p["most"], margin / p["size"])) if p["size"] else 0.0
            found.append(1 / (1 + math.exp(min(700.0, -(p["slope"] * r + p["offset"])))))
        if len(self.document["classes"]) == 2:
            return [1 - found[0], found[0]]
        return [p / sum(found) for p in found]

    def numbers(self, row: Sequence[float | None] | Mapping[Any, float | None]) -> Added:
        """What a row of numbers adds: all in order, or a dict by name if columns have names, else by column."""
        names, width, means, deviations = (self.input[name] for name in ("names", "width", "means", "deviations"))
        if isinstance(row, Mapping):
            pairs = [(k, row[name]) for k, name in enumerate(names)] if names else list(row.items())
        else:
            pairs = list(enumerate(row))
            if len(pairs) != width:
                raise ValueError(f"the row has {len(pairs)} numbers, but the model has {width} columns.")
        for column, x in pairs:
            place = self.place.get(column)
            if self.input["others"] == "error" and not 0 <= column < width:
                raise ValueError(f"the model has no column {column}: it has {width}.")
            if x is None or x != x:
                if self.input["missing"] == "error":
                    raise ValueError(f"the row has no number in column {column}, but the model needs one.")
            elif place is not None:
                x = x - means[place] if means else x
                yield self.input["weights"], place, x / deviations[place] if deviations else x

    def hashed(self, row: Mapping[str, Any]) -> Added:
        """What a row of values by name adds; for a table, of numbers and texts by column."""
        bits, deviations, named = self.input["bits"], self.input["deviations"], dict(row)
        if self.input["table"] is not None:
            named = {}
            for column in self.input["table"]:
                name, x = column["name"], row[column["name"]]
                if not is_nothing(x):
                    text = str(text_of(x)).strip(BLANKS)
                    named |= {name: x} if column["kind"] == "number" else {f"{name}={text}": 1.0}
        for name, x in named.items():
            h = murmur(name.encode())
            place = self.place.get(abs(h) & ((1 << bits) - 1))
            if place is not None:
                x = x if h >= 0 else -x
                yield self.input["weights"], place, x / deviations[place] if deviations else x

    def table(self, row: Mapping[str, Any]) -> Added:
        """What a row of raw values by column adds; an absent value is missing."""
        for name, column in self.columns.items():
            yield from getattr(self, column["kind"])(column, row.get(name))
        for cross in self.input["crosses"]:
            a, _ = self.side(cross["left"], row)
            b, size = self.side(cross["right"], row)
            if cross["hash"] is None:
                yield cross["weights"], a * size + b, 1.0
            else:
                seed = cross["hash"][0] << 32 | cross["hash"][1]
                yield cross["weights"], mixed(a, b, seed) % len(cross["weights"][0]), 1.0

    def number(self, column: dict[str, Any], value: Any) -> Added:
        x = number_of(value, column.get("style", "plain")) if column["kind"] == "number" else seconds_of(value, column)
        if x is None:
            yield one(column["missing"]), 0, 1.0
            return
        z, bins = column["z"], column["bins"]
        if z is not None:
            yield one(z["weights"]), 0, max(-z["most"], min(z["most"], (x - z["mean"]) / z["deviation"]))
        if bins is not None:
            yield bins["weights"], bisect_right(bins["edges"], x), 1.0

    def date(self, column: dict[str, Any], value: Any) -> Added:
        yield from self.number(column, value)
        for part, place in parts_of(seconds_of(value, column)).items():
            yield column[part], place, 1.0

    def category(self, column: dict[str, Any], value: Any) -> Added:
        places = self.places[column["name"]]
        name = category_of(value, places, column)
        bucket = bucket_of(name, column)
        if name is None:
            yield one(column["missing"]), 0, 1.0
        elif name in places:
            yield column["weights"], places[name], 1.0
        elif bucket is not None:
            yield column["buckets"], bucket, 1.0
        else:
            yield one(column["rare"]), 0, 1.0

    def text(self, column: dict[str, Any], value: Any) -> Added:
        if is_nothing(value):
            yield one(column["missing"]), 0, 1.0
            return
        words = re.findall(r"\w+", str(text_of(value)).lower())[:1000]
        places = {crc32(word.encode("utf-8", "replace")) % len(column["words"][0]) for word in words}
        for place in sorted(places):
            yield column["words"], place, 1 / math.sqrt(len(places))

    def id(self, column: dict[str, Any], value: Any) -> Added:
        if is_nothing(value):
            yield one(column["missing"]), 0, 1.0

    def side(self, side: dict[str, Any], row: Mapping[str, Any]) -> tuple[int, int]:
        """The code of a row's value on one side of a cross, and the number of values, "missing" included."""
        column, value, part = self.columns[side["column"]], row.get(side["column"]), side["part"]
        if part == "category":
            name = category_of(value, self.places[column["name"]], column)
            if name is None:
                return (1 << 32) + 1, 0
            if name in self.places[column["name"]]:
                return crc32(name.encode("utf-8", "replace")), 0
            bucket = bucket_of(name, column)
            return (1 << 32) + (0 if bucket is None else 2 + bucket), 0
        if part == "bin":
            x, size = number_of(value, column["style"]), len(side["edges"]) + 1
            return (size if x is None else bisect_right(side["edges"], x)), size + 1
        size = {"hour": 24, "weekday": 7, "month": 12}[part]
        return parts_of(seconds_of(value, column)).get(part, size), size + 1


def one(weights: list[float]) -> list[list[float]]:
    """One weight for each model, as the weights of a single place."""
    return [[weight] for weight in weights]


def text_of(value: Any) -> str | None:
    """A value as a text, or None if it is missing."""
    if value is None or value != value:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    x = float(value)
    return str(int(x)) if x.is_integer() and abs(x) < 1e16 else repr(x)


def number_in(text: str, style: str = "plain") -> float | None:
    """The number that a text represents, or None."""
    text = text if style == "plain" else text.strip(SIGNS)
    is_number = FORMS[style].fullmatch(text)
    if style != "plain":
        text = text.replace(",", "") if style == "grouped" else text.replace(".", "").replace(",", ".")
    try:
        return float(text) if is_number else None
    except ValueError:
        return None


def number_of(value: Any, style: str = "plain") -> float | None:
    """A value as a number, or None if it is not one."""
    if value is None or isinstance(value, (int, float)):
        return None if value is None or value != value else float(value)
    text = str(value)
    x = number_in(text, style)
    x = number_in(text) if x is None else x
    for other, form in SURELY.items():
        x = number_in(text, other) if x is None and form.fullmatch(text.strip(SIGNS)) else x
    return TRUTHS.get(text.strip().lower()) if x is None else x if math.isfinite(x) else None


def seconds_of(value: Any, column: dict[str, Any]) -> float | None:
    """A value as seconds since 1970 by its own local clock, or None."""
    x: float | None = None
    text = value.isoformat() if isinstance(value, date) else value.strip() if isinstance(value, str) else ""
    text = re.sub(r"^(\d{4})/(\d\d)/(\d\d)(?!\d)", r"\1-\2-\3", text, flags=re.ASCII)
    if text[4:5] == "-" and text[:4].isdigit():
        try:
            moment = datetime.fromisoformat(text).replace(tzinfo=None)
            x = (moment - datetime(1970, 1, 1)).total_seconds()
        except ValueError:
            pass
    if x is None and column["unit"] is not None:
        x = number_in(text_of(value) or "")
        x = None if x is None else x / column["unit"]
    return x if x is not None and abs(x) <= 2.5e11 else None


def parts_of(seconds: float | None) -> dict[str, int]:
    """The hour, the weekday and the month of a moment, each counted from 0; Monday is 0."""
    if seconds is None:
        return {}
    days = math.floor(seconds / 86400)
    day = (days + 719468) % 146097  # of 400 years that begin on the first of March
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    month = (5 * (day - (365 * year + year // 4 - year // 100)) + 2) // 153
    return {"hour": int((seconds - days * 86400) // 3600), "weekday": (days + 3) % 7, "month": (month + 2) % 12}


def is_nothing(value: Any) -> bool:
    """Whether a value is missing, or is a text that means so."""
    return value is None or value != value or str(value).strip(BLANKS).lower() in MISSING


def category_of(value: Any, known: Mapping[str, int], column: dict[str, Any]) -> str | None:
    """The name of a value as a category, or None if it is missing."""
    text = text_of(value)
    if text is None or text in known or is_nothing(value):
        return text if text in known else None
    text = text.strip(BLANKS)
    x = number_in(text)
    if x is not None and (not column.get("exact") or text in (f"{text_of(x)}.0", "-0.0")):
        text = str(text_of(x))
    digits = {"0": "False", "1": "True"} if column.get("truths") else {}
    text = digits.get(text, text.capitalize() if text.lower() in TRUTHS else text)
    return text if len(text) <= 200 else f"{text[:191]}…{crc32(text.encode('utf-8', 'replace')):08x}"


def bucket_of(name: str | None, column: dict[str, Any]) -> int | None:
    """The bucket of a category without a weight of its own; None if it is rare."""
    if name is None or column["buckets"] is None:
        return None
    counter = crc32(name.encode("utf-8", "replace")) % column["counters"]
    return counter % len(column["buckets"][0]) if counter in column["often"] else None


def mixed(a: int, b: int, seed: int) -> int:
    """A hash of two numbers: the finalizer of SplitMix64 after each."""
    h, most = seed, (1 << 64) - 1
    for code in (a, b):
        h = ((h ^ code) + 0x9E3779B97F4A7C15) & most
        h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) & most
        h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) & most
        h ^= h >> 31
    return h


def murmur(text: bytes) -> int:
    """MurmurHash3 of 32 bits with seed 0, as a signed number."""
    h, most = 0, 0xFFFFFFFF
    for start in range(0, len(text), 4):
        block = text[start : start + 4]
        k = int.from_bytes(block, "little") * 0xCC9E2D51 & most
        k = (k << 15 | k >> 17) & most
        h ^= k * 0x1B873593 & most
        if len(block) == 4:
            h = (h << 13 | h >> 19) & most
            h = h * 5 + 0xE6546B64 & most
    h = (h ^ len(text) ^ (h ^ len(text)) >> 16) * 0x85EBCA6B & most
    h = (h ^ h >> 13) * 0xC2B2AE35 & most
    h ^= h >> 16
    return h - (1 << 32) if h >= 1 << 31 else h
