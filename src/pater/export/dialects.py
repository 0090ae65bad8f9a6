"""Expressions for which standard SQL has no common form, for each database.

Knows nothing. An expression is NULL for what SQL cannot read with certainty, so that a margin becomes NULL, never
wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

FARTHEST = "2.5e11"  # seconds from 1970
NOTHING = "('', '?', 'na', 'n/a', '#n/a', 'nan', '+nan', '-nan', 'null', 'none', 'nil', 'nat', '-', '.')"


@dataclass(frozen=True)
class Dialect:
    """The expressions of one database.

    text, number
        A value as a text, and as a number if it is one, or is a text that certainly is one.
    maybe_number
        Whether a text may be a number although `number` does not read it.
    seconds
        Seconds since 1970 of a text that begins like a date.
    begins_like_a_date
        Whether a text begins like a date.
    hour, weekday, month
        The parts of a moment in seconds, each counted from 0.
    """

    text: str
    number: str
    maybe_number: str
    seconds: str
    begins_like_a_date: str
    hour: str
    weekday: str
    month: str
    has_truths: bool  # otherwise 1 and 0 stand for them
    has_lists: bool  # in which numbers are looked up faster than in long CASEs


_BODY = "CASE WHEN substr({t}, 1, 1) IN ('+', '-') THEN substr({t}, 2) ELSE {t} END".format(t="trim({x})")
_REST = "substr({t}, 20)"
_OFFSET = f"CASE WHEN {_REST} GLOB '.[0-9]*' THEN ltrim(substr({_REST}, 2), '0123456789') ELSE {_REST} END"
_IN_FULL = (  # databases read more than ISO 8601, and ignore what follows
    "substr({t}, 1, 4) > '0000' AND substr({t}, 1, 10) GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]' "
    "AND (length({t}) = 10 OR substr({t}, 12, 2) < '24' AND substr({t}, 11) GLOB '[ T][0-2][0-9]:[0-5][0-9]*' "
    "AND (length({t}) = 16 OR substr({t}, 17, 3) GLOB ':[0-5][0-9]' "
    f"AND (({_OFFSET}) IN ('', 'Z') OR ({_OFFSET}) GLOB '[+-][01][0-9]:[0-5][0-9]')))"
)
_SQLITE_MOMENT = "CAST(floor({s}) AS INTEGER), 'unixepoch'"
_DUCKDB_MOMENT = "make_timestamp(CAST(floor({s}) AS BIGINT) * 1000000)"

DIALECTS = {
    "sqlite": Dialect(
        text="CAST({x} AS TEXT) COLLATE BINARY",
        number=(
            "CASE WHEN typeof({x}) <> 'text' THEN CAST({x} AS REAL) "
            f"WHEN ({_BODY}) NOT GLOB '*[^0-9.]*' AND ({_BODY}) GLOB '*[0-9]*' AND ({_BODY}) NOT GLOB '*.*.*' "
            "OR json_valid(trim({x})) AND json_type(trim({x})) IN ('integer', 'real') THEN CAST(trim({x}) AS REAL) END"
        ),
        maybe_number="{t} GLOB '*[eE]*' AND {t} GLOB '*[0-9]*' AND {t} NOT GLOB '*[^0-9.eE+-]*'",
        seconds=(
            "CASE WHEN date(substr({t}, 1, 10), '+0 days') = substr({t}, 1, 10) "
            f"AND {_IN_FULL} "
            "THEN CAST(strftime('%s', substr({t}, 1, 19)) AS INTEGER) "
            "+ CASE WHEN substr({t}, 20, 1) = '.' THEN CAST('0' || substr({t}, 20) AS REAL) ELSE 0e0 END END"
        ),
        begins_like_a_date="({t}) GLOB '[0-9][0-9][0-9][0-9][-/]*'",
        hour=f"CAST(strftime('%H', {_SQLITE_MOMENT}) AS INTEGER)",
        weekday=f"(CAST(strftime('%w', {_SQLITE_MOMENT}) AS INTEGER) + 6) % 7",
        month=f"CAST(strftime('%m', {_SQLITE_MOMENT}) AS INTEGER) - 1",
        has_truths=False,
        has_lists=False,
    ),
    "duckdb": Dialect(
        text="CAST({x} AS VARCHAR)",
        number=(
            "CASE WHEN NOT contains(CAST({x} AS VARCHAR), '_') "
            "THEN NULLIF(TRY_CAST({x} AS DOUBLE), CAST('nan' AS DOUBLE)) END"
        ),
        maybe_number="FALSE",
        seconds=(
            f"CASE WHEN {_IN_FULL} "
            "THEN epoch(TRY_CAST(substr({t}, 1, 19) AS TIMESTAMP)) "
            "+ COALESCE(TRY_CAST('0' || regexp_extract(substr({t}, 20), '^[.][0-9]+') AS DOUBLE), 0e0) END"
        ),
        begins_like_a_date="({t}) GLOB '[0-9][0-9][0-9][0-9][-/]*'",
        hour=f"hour({_DUCKDB_MOMENT})",
        weekday=f"isodow({_DUCKDB_MOMENT}) - 1",
        month=f"month({_DUCKDB_MOMENT}) - 1",
        has_truths=True,
        has_lists=True,
    ),
}
