"""Expressions that read the raw columns of a table in SQL, and the terms that they add to a margin.

Knows `dialects`, `sql_text`, and `score`, for the hashes, which are computed in advance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from zlib import crc32

from .dialects import FARTHEST, NOTHING, Dialect
from .errors import ExportError
from .score import MISSING, TRUTHS, mixed, number_in, text_of
from .sql_text import bin_of, bounded, column_named, literal, looked_up

IS_TEXT = "lower(typeof({x})) IN ('text', 'varchar')"
Term = Callable[[int], str]  # the expression over cells that is added to the margin of model k
LONGEST = 200  # a shorter category is known by its whole text


class Cells:
    """The cells that are read: x, a number or the place of a category, and q, whether it is missing.

    Both are NULL where it is not certain what pater would read.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self._found: list[tuple[str, str]] = []

    def told(self) -> list[str]:
        """The expressions with their names."""
        return [part for k, (x, q) in enumerate(self._found) for part in (f"{x} AS x{k}", f"{q} AS q{k}")]

    def _new(self, x: str, q: str) -> int:
        self._found.append((x, q))
        return len(self._found) - 1

    def number(self, name: str, style: str = "plain") -> int:
        """Read a column of numbers; texts are read where the dialect's `number` is certain of them."""
        column, text = column_named(name), self.dialect.text.format(x=column_named(name))
        number = self.dialect.number.format(x=column)
        unsure = f"abs({number}) > 1.7976931348623157e308"
        if style == "comma":  # where a text that looks plain may mean another number
            unsure += f" OR {text} LIKE '%.%'"
        is_text = IS_TEXT.format(x=column)
        number = f"CASE WHEN {is_text} AND ({unsure}) THEN NULL ELSE {number} END"
        return self._new(number, f"{column} IS NULL OR lower(trim({text})) IN {NOTHING}")

    def date(self, name: str, unit: float | None) -> int:
        """Read a column of dates as seconds since 1970."""
        column, dialect = column_named(name), self.dialect
        text = f"trim({dialect.text.format(x=column)})"
        is_date, seconds = dialect.begins_like_a_date.format(t=text), dialect.seconds.format(t=text)
        number, missing = "NULL", "TRUE"
        if unit is not None:
            number = f"({dialect.number.format(x=column)}) / {literal(unit)}"
            missing = f"lower({text}) IN {NOTHING} OR abs({number}) > {FARTHEST}"
        return self._new(
            f"CASE WHEN {is_date} THEN {seconds} ELSE {number} END",
            f"{column} IS NULL OR (CASE WHEN {is_date} THEN abs({seconds}) > {FARTHEST} ELSE {missing} END)",
        )

    def category(self, column: dict[str, Any]) -> int:
        """Read a category as its place: that of its value, or the next for rare ones, or the one after for missing."""
        values, name, dialect = column["values"], column_named(column["name"]), self.dialect
        text, rare, missing = dialect.text.format(x=name), len(values), len(values) + 1
        exact, places = column.get("exact", False), range(len(values))
        numbers: dict[float | None, int] = {
            number_in(values[k]): k for k in reversed(places) if not exact or values[k] == text_of(number_in(values[k]))
        }
        truths = {word: values.index(word.capitalize()) for word in TRUTHS if word.capitalize() in values}
        digits: dict[str | None, int] = (
            {str(int(TRUTHS[word])): k for word, k in truths.items()} if column.get("truths") else {}
        )
        if digits or not dialect.has_truths:
            numbers = {**{TRUTHS[word]: k for word, k in truths.items()}, **numbers}
        words = [f"WHEN {literal(word)} THEN {missing}" for word in sorted(MISSING)]
        words += [f"WHEN {literal(word)} THEN {k}" for word, k in truths.items()]
        own = [f"WHEN {literal(value)} THEN {k}" for k, value in enumerate(values) if len(value) < LONGEST]
        whole = {text_of(x): k for x, k in numbers.items() if x is not None and x.is_integer()} if exact else {}
        alike = [f"WHEN {literal(f'{value}.0')} THEN {k}" for value, k in {**whole, **digits}.items()]
        alike += [f"WHEN {literal(value)} THEN {k}" for value, k in digits.items()]
        same = [f"WHEN {literal(x)} THEN {k}" for x, k in numbers.items() if x is not None and math.isfinite(x)]
        found = [f"CASE {text} {' '.join(own)} END"] if own else []
        found.append(f"CASE lower(trim({text}, ' \t')) {' '.join(words)} END")
        number, unsure = dialect.number.format(x=name), dialect.maybe_number.format(t=f"trim({text})")
        # An exact name is compared as text; in a column of numbers, it is the number as pater writes it.
        when = f"CASE WHEN NOT {IS_TEXT.format(x=name)} THEN" if exact else ""
        found += [f"{when} CASE {number} {' '.join(same)} END {'END' if exact else ''}"] if same else []
        found += [f"CASE trim({text}, ' \t') {' '.join([*own, *alike])} END"] if own else []
        known = f"length({text}) < {LONGEST}"
        known += "" if exact else f" AND (({number}) IS NOT NULL OR NOT ({unsure}))"
        found.append(f"CASE WHEN {known} THEN {rare} END")
        return self._new(f"CASE WHEN {name} IS NULL THEN {missing} ELSE COALESCE({', '.join(found)}) END", "FALSE")

    def is_missing(self, name: str) -> int:
        """Read only whether the value is NULL."""
        return self._new("NULL", f"{column_named(name)} IS NULL")


def of_table(input: dict[str, Any], cells: Cells) -> list[Term]:
    """The terms of the columns and the crosses of an encoded table."""
    columns = {column["name"]: column for column in input["columns"]}
    crossed = {cross[side]["column"] for cross in input["crosses"] for side in ("left", "right")}
    places: dict[str, int] = {}
    terms: list[Term] = []
    for name, column in columns.items():
        if name not in crossed and not _adds(column):
            continue
        places[name], found = _OF_KIND[column["kind"]](column, cells)
        terms += found
    for cross in input["crosses"]:
        left, right = (
            _side(side, columns[side["column"]], places[side["column"]], cells)
            for side in (cross["left"], cross["right"])
        )
        terms.append(_crossed(cross, left, right, cells.dialect))
    return terms


def _adds(column: dict[str, Any]) -> bool:
    """Whether a column has a weight other than 0."""
    found: list[Any] = [value for name, value in column.items() if name not in ("edges", "often", "values")]
    while found:
        each = found.pop()
        if isinstance(each, dict):
            found.append(each["weights"])
        elif isinstance(each, list):
            found += each
        elif isinstance(each, float) and each:
            return True
    return False


def _terms_of_number(column: dict[str, Any], cells: Cells) -> tuple[int, list[Term]]:
    at = (
        cells.number(column["name"], column["style"])
        if column["kind"] == "number"
        else cells.date(column["name"], column["unit"])
    )
    x, z, bins = f"x{at}", column["z"], column["bins"]

    def adds(k: int) -> str:
        found = []
        if z is not None:
            most, value = z["most"], f"({x} - {literal(z['mean'])}) / {literal(z['deviation'])}"
            found.append(f"{literal(z['weights'][k])} * {bounded(value, most)}")
        if bins is not None:
            found.append(bin_of(x, bins["edges"], map(literal, bins["weights"][k])))
        there = " + ".join(found) or f"0e0 * {x}"
        return f"CASE WHEN q{at} THEN {literal(column['missing'][k])} ELSE {there} END"

    return at, [adds]


def _date(column: dict[str, Any], cells: Cells) -> tuple[int, list[Term]]:
    at, terms = _terms_of_number(column, cells)

    def adds(part: str) -> Term:
        place = getattr(cells.dialect, part).format(s=f"x{at}")
        return lambda k: f"CASE WHEN q{at} THEN 0e0 ELSE {looked_up(place, column[part][k], cells.dialect)} END"

    return at, terms + [adds(part) for part in ("hour", "weekday", "month") if any(map(any, column[part]))]


def _category(column: dict[str, Any], cells: Cells) -> tuple[int, list[Term]]:
    if column["often"]:
        raise ExportError(
            f"column {column['name']!r} has more than {len(column['values'])} categories, and the others are hashed, "
            "which SQL cannot do. Learn with a larger max_categories, or export to JSON."
        )
    at = cells.category(column)

    def weights(k: int) -> list[float]:
        return [*column["weights"][k], column["rare"][k], column["missing"][k]]

    return at, [lambda k: looked_up(f"x{at}", weights(k), cells.dialect)]


def _text(column: dict[str, Any], cells: Cells) -> tuple[int, list[Term]]:
    if any(map(any, column["words"])):
        raise ExportError(
            f"column {column['name']!r} holds free text, whose words are hashed, which SQL cannot do. Learn without "
            "it, or export to JSON."
        )
    return _id(column, cells)


def _id(column: dict[str, Any], cells: Cells) -> tuple[int, list[Term]]:
    at = cells.is_missing(column["name"])
    return at, [lambda k: f"CASE WHEN q{at} THEN {literal(column['missing'][k])} ELSE 0e0 END"]


_OF_KIND = {"number": _terms_of_number, "date": _date, "category": _category, "text": _text, "id": _id}


def _side(side: dict[str, Any], column: dict[str, Any], at: int, cells: Cells) -> tuple[str, list[int]]:
    """The expression for a row's place on one side of a cross, and the code of each place."""
    if side["part"] == "category":
        hashes = [crc32(value.encode("utf-8", "replace")) for value in column["values"]]
        return f"x{at}", [*hashes, 1 << 32, (1 << 32) + 1]
    if side["part"] == "bin":
        size, place = len(side["edges"]) + 1, bin_of(f"x{at}", side["edges"], map(str, range(len(side["edges"]) + 1)))
    else:
        size = {"hour": 24, "weekday": 7, "month": 12}[side["part"]]
        place = getattr(cells.dialect, side["part"]).format(s=f"x{at}")
    return f"CASE WHEN q{at} THEN {size} ELSE {place} END", list(range(size + 1))


def _crossed(
    cross: dict[str, Any], left: tuple[str, list[int]], right: tuple[str, list[int]], dialect: Dialect
) -> Term:
    (a, codes), (b, others) = left, right
    place = f"(({a}) * {len(others)} + ({b}))"
    if cross["hash"] is None:
        return lambda k: looked_up(place, cross["weights"][k], dialect)
    seed, size = cross["hash"][0] << 32 | cross["hash"][1], len(cross["weights"][0])
    places = [mixed(one, other, seed) % size for one in codes for other in others]
    return lambda k: looked_up(place, (cross["weights"][k][each] for each in places), dialect)
