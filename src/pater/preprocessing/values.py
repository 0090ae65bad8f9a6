"""Reading columns of any form as numbers or as moments, and cutting bins.

Knows `columns` only. What cannot be read as asked is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from .columns import Column, Numbers, Texts, Times, written

NOTHING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "nat", "?", "-", "."})
"""Texts, in lower case, that mean a missing number or date."""

TRUTHS = {"false": 0.0, "true": 1.0}
"""Truth values, in lower case, as numbers."""

FARTHEST = 2.5e11  # seconds from 1970: beyond the years of computers' calendars
_NUMBER = re.compile(r"\s*[+-]?(\d|\.\d|inf)", re.IGNORECASE)
_MOMENT = re.compile(  # that NumPy and Python read alike
    r"(?!0000)\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?Z?)?", re.ASCII
)
_YEAR_FIRST = re.compile(r"\d{4}/\d\d/\d\d(?!\d)", re.ASCII)  # which can only be year, month and day
_SIGNS = " \t\u00a0\u202f$€£¥%"  # that may stand before or after a number
_BEGINNING = re.compile(rf"[\s{_SIGNS}]*[+-]?(\d|\.\d|inf)", re.IGNORECASE)  # of a number in any style
_FORMS = {  # a number that begins with 0 has no thousands: 0,532 is a fraction
    "grouped": re.compile(r"[+-]?([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d*)?"),
    "comma": re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d*)?"),
}
STYLES = ("plain", *_FORMS)
"""How the numbers of a column are written: 1234.5; $1,234.50; or 1.234,50 €."""
_SURELY = {  # both marks, or one of them twice: the same number in any column
    "grouped": re.compile(r"[+-]?[1-9]\d{0,2}((,\d{3})+\.\d+|(,\d{3}){2,})"),
    "comma": re.compile(r"[+-]?[1-9]\d{0,2}((\.\d{3})+,\d+|(\.\d{3}){2,})"),
}


def number_in(text: str, style: str = "plain") -> float:
    """The number that a text represents, or NaN."""
    if style != "plain":
        text = text.strip(_SIGNS)
        if not _FORMS[style].fullmatch(text):
            return np.nan
        text = text.replace(",", "") if style == "grouped" else text.replace(".", "").replace(",", ".")
    if _NUMBER.match(text) and "_" not in text:
        with suppress(ValueError):
            return float(text)
    return np.nan


def may_be_number(text: str) -> bool:
    """Whether a text begins as numbers do in some style, which takes a fraction of the time of reading it."""
    return _BEGINNING.match(text) is not None


def number_for_sure(text: str, style: str = "plain") -> float:
    """The number that a text represents in this style, or unmistakably in another style; or NaN.

    12.5 is 12.5 in a column of decimal commas too, and 1,234.50 and 1.234,50 are unmistakable in any column. But 1,234
    in a column of plain numbers is not read: it may be either of two. Nor is infinity, which no reader takes for a
    number.
    """
    number = number_in(text, style)
    if np.isnan(number) and style != "plain":
        number = number_in(text)
    if np.isnan(number) and ("," in text or "." in text):
        stripped = text.strip(_SIGNS)
        number = next((number_in(text, other) for other, form in _SURELY.items() if form.fullmatch(stripped)), np.nan)
    return np.nan if np.isinf(number) else number


def numbers_in(
    texts: Texts, style: str = "plain", number: Callable[[str, str], float] = number_for_sure
) -> NDArray[np.float64]:
    """The number that each text represents, or was before it was written as text; or NaN."""
    found = np.array([number(text, style) for text in texts.names], np.float64)
    return found if texts.numbers is None else np.where(np.isnan(texts.numbers), found, texts.numbers)


def with_point(text: str) -> str:
    """A number with a decimal comma, rewritten with a point; any other text unchanged."""
    number = number_in(text, "comma") if "," in text else np.nan
    return text if np.isnan(number) else written(number)


def moment_in(text: str) -> float:
    """Seconds since 1970 of an ISO 8601 date or time, by its own local clock, or NaN; 2024/02/29 is read too."""
    text = text.strip()
    if _YEAR_FIRST.match(text):
        text = text[:10].replace("/", "-") + text[10:]
    if text[4:5] == "-" and text[:4].isdigit():
        with suppress(ValueError):
            moment = datetime.fromisoformat(text).replace(tzinfo=None)
            return (moment - datetime(1970, 1, 1)).total_seconds()
    return np.nan


def moments_in(texts: Sequence[str]) -> NDArray[np.float64]:
    """`moment_in` of many texts: all at once if they are in the usual form, else one by one."""
    if not texts:
        return np.zeros(0)
    if all(map(_MOMENT.fullmatch, texts)):
        with suppress(ValueError):
            return np.array([text.removesuffix("Z") for text in texts], "M8[us]").astype(np.int64) / 1e6
    return np.array([moment_in(text) for text in texts])


def numbers_of(column: Column, style: str = "plain") -> NDArray[np.float64]:
    """A column as numbers, where texts are read in this style; False is 0 and True is 1."""
    if isinstance(column, Numbers):
        return column.values
    if isinstance(column, Texts):
        found = numbers_in(column, style)
        for k in np.flatnonzero(np.isnan(found)).tolist():
            found[k] = TRUTHS.get(column.names[k].strip().lower(), np.nan)
        return np.array([*found, np.nan])[column.codes]
    return np.full(len(column.seconds), np.nan)


def moments_of(column: Column, unit: float) -> NDArray[np.float64]:
    """A column as seconds since 1970; `unit` numbers make a second, or numbers are not moments if it is 0."""
    if isinstance(column, Times):
        seconds = column.seconds
    elif isinstance(column, Numbers):
        seconds = column.values / unit if unit else np.full(len(column.values), np.nan)
    else:
        found = moments_in(column.names)
        if unit:
            found = np.where(np.isnan(found), numbers_in(column, number=number_in) / unit, found)
        seconds = np.array([*found, np.nan])[column.codes]
    too_far = np.abs(seconds) > FARTHEST
    return np.where(too_far, np.nan, seconds) if too_far.any() else seconds


def cut(values: NDArray[np.float64], n_bins: int, *, moments: bool = False) -> NDArray[np.float64]:
    """The edges between bins that each hold about the same number of these values, which are finite.

    A value goes to the bin that the middle of its ranks falls into, so that a frequent value has a bin of its own. If
    there are no more than `n_bins` distinct values, each has its own. An edge is the shortest decimal number between
    the values on both sides of it; for moments, the beginning of a day, an hour or a minute, if one lies in between.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if distinct.size <= n_bins:
        bins = np.arange(distinct.size)
    else:
        bins = (n_bins * (np.cumsum(counts) - counts / 2) / values.size).astype(np.int64)
    last = np.flatnonzero(np.diff(bins))
    return np.array([_between(distinct[k], distinct[k + 1], moments) for k in last], np.float64)


def _between(low: float, high: float, moments: bool) -> float:
    middle = low / 2 + high / 2
    for step in (86400.0, 3600.0, 60.0) if moments else ():
        edge = round(middle / step) * step
        if low < edge <= high:
            return edge
    for digits in range(1, 18):
        edge = float(f"{middle:.{digits}g}")
        if low < edge <= high:
            return edge
    return float(high)


def groups_of(counts: NDArray[np.int64], n_groups: int) -> NDArray[np.int64]:
    """The group of each bin: neighbouring bins, with these counts of values, form groups of about equal counts."""
    if counts.size <= n_groups:
        return np.arange(counts.size)
    groups = (n_groups * (np.cumsum(counts) - counts / 2) / max(1, counts.sum())).astype(np.int64)
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)
