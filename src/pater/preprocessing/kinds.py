"""The kind of each column of a table, decided from the first rows.

Knows `columns`, `values` and the encoders of the kinds.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
from numpy.typing import NDArray

from ..models.hints import Hint
from .categories import BLANKS, Naming
from .column_encoders import CategoryEncoder, ColumnEncoder, DateEncoder, NumberEncoder, TextEncoder
from .columns import Column, Numbers, Texts, Times, as_texts, without_unused
from .settings import EncodingSettings
from .values import (
    NOTHING,
    STYLES,
    cut,
    groups_of,
    may_be_number,
    moments_in,
    moments_of,
    number_in,
    numbers_in,
    numbers_of,
)

IN_ORDER = 0.5  # the rank correlation of dates with their places above which they are the clock of the stream
MOST = 0.9  # the share of rows with a value that decides what the column is
TIME_WORDS = {"time", "date", "datetime", "timestamp", "ts", "at", "epoch", "unix", "created", "updated", "when"}
UNITS = (1.0, 1e3, 1e6, 1e9)
_LIKE_A_NUMBER = re.compile(r"[-+−(]?\s?[^\w\s]?\s?(\d{1,3}([\s.,'’]\d{3})+|\d+)([.,]\d+)?\s?[^\w\s+-]?\)?")
ENOUGH_TO_TELL = 20  # values
MOSTLY_NUMBERS = 0.8  # the share of them from which a few words may be meant as missing
FEW_WORDS, MANY_NUMBERS = 5, 20  # distinct ones, which tell measurements from codes
_OTHER_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1(\d{4}|\d\d)([ T,].*)?", re.ASCII)
EARLIEST, LATEST = 315532800.0, 4102444800.0  # 1980 and 2100


def encoder_of(name: str, column: Column, settings: EncodingSettings) -> ColumnEncoder:
    """The encoder for a column that begins like this."""
    if isinstance(column, Times) and column.written is None:
        return _date(name, column, 0.0, settings)
    if isinstance(column, Numbers):
        unit = _epoch_unit(name, column.values)
        return _date(name, column, unit, settings) if unit else _of_numbers(name, column, settings)
    return _of_texts(name, without_unused(as_texts(column)), settings)


def _of_texts(name: str, column: Texts, settings: EncodingSettings) -> ColumnEncoder:
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.names)).astype(np.int64)
    given = np.array([text.strip().lower() not in NOTHING for text in column.names], bool)
    rows = int(counts[given].sum())
    if rows and not column.declared:
        style, read = _style(column, counts, given)
        if read >= MOST * rows:
            as_numbers = Numbers(numbers_of(column, style))
            unit = _epoch_unit(name, as_numbers.values) if style == "plain" else 0.0
            return _date(name, as_numbers, unit, settings) if unit else _of_numbers(name, as_numbers, settings, style)
        if counts[given & ~np.isnan(moments_in(column.names))].sum() >= MOST * rows:
            return _date(name, column, 0.0, settings)
        _hint_of_dates(name, column, counts, given)
        if read:
            _hint_of_numbers(name, column, style, counts, given)
        words = np.array([len(text.split()) for text in column.names], float)
        distinct = len({text.strip(BLANKS) for text, there in zip(column.names, given.tolist(), strict=True) if there})
        if words[given] @ counts[given] >= 2 * rows:
            if 2 * distinct > rows and rows > 1:
                return TextEncoder(name, settings)
        elif distinct > MOST * rows and rows >= 20:
            return ColumnEncoder(name)
    encoder = CategoryEncoder(name, settings)
    encoder.begin(column)
    encoder.naming = Naming(truths=Naming.of_file(encoder.names, ()).truths)
    return encoder


def _style(column: Texts, counts: NDArray[np.int64], given: NDArray[np.bool_]) -> tuple[str, int]:
    """The style that reads the most rows, the first of several that tie; and how many rows it reads.

    The most rows decide, rather than enough of them: where few amounts reach a thousand, few have a separator, and
    those are the largest.
    """
    if column.numbers is None and not any(map(may_be_number, column.names)):
        return STYLES[0], 0
    best, most = STYLES[0], -1
    for style in STYLES:
        read = int(counts[given & ~np.isnan(numbers_in(column, style, number_in))].sum())
        if read > most:
            best, most = style, read
        if most == counts[given].sum():
            break
    return best, most


def _hint_of_dates(name: str, column: Texts, counts: NDArray[np.int64], given: NDArray[np.bool_]) -> None:
    """Warn if texts are dates in which either the day or the month may come first."""
    alike = np.array([_OTHER_DATE.fullmatch(text.strip()) is not None for text in column.names], bool) & given
    if counts[alike].sum() >= MOST * counts[given].sum():
        example = column.names[int(np.argmax(alike))].strip()
        warnings.warn(
            f"column {name!r} holds dates such as {example!r}, which are read as text: nothing says whether the day or "
            "the month comes first. Write them in ISO 8601, such as 2024-12-31, to get hour, weekday and month.",
            Hint,
            stacklevel=2,
        )


def _hint_of_numbers(name: str, column: Texts, style: str, counts: NDArray[np.int64], given: NDArray[np.bool_]) -> None:
    """Warn if texts are mostly numbers, or look like numbers that are written in a way that is not read."""
    rows, as_numbers = counts[given].sum(), ~np.isnan(numbers_in(column, style, number_in))
    other, names = given & ~as_numbers, [text.strip() for text in column.names]
    if rows < ENOUGH_TO_TELL or any(name.isdigit() for name, there in zip(names, other.tolist(), strict=True) if there):
        return  # with zeros in front, or too many digits for a number: codes
    alike = np.array([_LIKE_A_NUMBER.fullmatch(name) is not None for name in names], bool) & other
    read, written_otherwise = counts[given & as_numbers].sum(), counts[alike].sum()
    few_words = np.count_nonzero(other) <= FEW_WORDS and np.count_nonzero(given & as_numbers) >= MANY_NUMBERS
    are_numbers = read + written_otherwise >= MOST * rows and read >= 0.2 * rows
    if not are_numbers and not (few_words and read >= MOSTLY_NUMBERS * rows):
        return
    example = names[int(np.argmax(counts * (alike if alike.any() else other)))]
    warnings.warn(
        f"column {name!r} is taken as text, since only {read / rows:.0%} of its values are numbers that can be read; "
        f"others are such as {example!r}. If it holds numbers, write them like -1234.5, and leave a cell empty where "
        "there is none; if not, declare it categorical.",
        Hint,
        stacklevel=2,
    )


def _of_numbers(name: str, column: Numbers, settings: EncodingSettings, style: str = "plain") -> NumberEncoder:
    return NumberEncoder(name, *_bins(column.values, settings), style)


def _date(name: str, column: Column, unit: float, settings: EncodingSettings) -> DateEncoder:
    """The encoder of a column of dates. Dates that come more or less in order are the clock of the stream."""
    seconds = moments_of(column, unit)
    there = seconds[~np.isnan(seconds)]
    clock = _in_order(there)
    hours = bool((there % 86400.0 != 0).any())
    bins = _bins(there[:0] if clock else there, settings, moments=True)
    return DateEncoder(name, *bins, unit=unit, hours=hours, clock=clock)


def _in_order(values: NDArray[np.float64]) -> bool:
    """Whether values more or less ascend or descend, by the correlation of ranks and places."""
    if np.unique(values).size < 2:
        return True
    ranks = np.searchsorted(np.sort(values), values, "left") + np.searchsorted(np.sort(values), values, "right")
    return bool(abs(np.corrcoef(ranks, np.arange(values.size))[0, 1]) > IN_ORDER)


def _bins(
    values: NDArray[np.float64], settings: EncodingSettings, *, moments: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The edges of the fine bins, and the coarse bin of each. Two values need no bins: their z-scores differ."""
    finite = values[np.isfinite(values)]
    edges = cut(finite, settings.fine_bins, moments=moments)
    if edges.size == 1 and np.unique(finite).size == 2:
        edges = edges[:0]
    counts = np.bincount(np.searchsorted(edges, finite, "right"), minlength=edges.size + 1)
    return edges, groups_of(counts, settings.coarse_bins)


def _epoch_unit(name: str, values: NDArray[np.float64]) -> float:
    """The units per second, if the column is named as a time and all its numbers lie from 1980 to 2100; else 0."""
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
    there = values[~np.isnan(values)]
    if not there.size or TIME_WORDS.isdisjoint(words):
        return 0.0
    for unit in UNITS:
        if ((there >= EARLIEST * unit) & (there <= LATEST * unit)).all():
            return unit
    return 0.0
