"""A query that scores the rows of a database table, made from a document.

Knows `dialects`, `sql_columns` and the form of a document. What SQL cannot do at all (hashing names) raises an error
here; a value that it cannot read with certainty makes the answers of its row NULL.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from .dialects import DIALECTS
from .errors import ExportError
from .sql_columns import Cells, Term, of_table
from .sql_text import SOURCE, bounded, column_named, literal, named, total

MOST_COLUMNS = 999  # that can be read: each takes two of the 2,000 columns that SQLite allows


def sql(document: dict[str, Any], table: str = "rows", *, keys: Iterable[str] = (), dialect: str = "sqlite") -> str:
    """Make a query that scores the rows of a table.

    Columns are named as in training, or x0, x1, … if they had no names. NULL is missing.

    Parameters
    ----------
    document : dict
        The result of :func:`document`.
    table : str
        A table, a view or a common table expression.
    keys : iterable of str
        Columns to keep beside the predictions.
    dialect : {"sqlite", "duckdb"}
        The SQL dialect. SQLite needs its mathematical functions for dates and probabilities, which most builds have.

    Returns
    -------
    str
        A SELECT. Its columns are the keys, `margin` or one for each class, `predicted`, and the probability of each
        class if there are any. They are NULL for a row for which SQL cannot be sure what pater would predict.
    """
    if dialect not in DIALECTS:
        raise ExportError(f"there is no dialect {dialect!r}; choose from {', '.join(DIALECTS)}.")
    cells, terms = _terms(document["input"], Cells(DIALECTS[dialect]))
    kept, read = list(keys), len(cells.told()) // 2
    if read > MOST_COLUMNS:
        raise ExportError(f"the model reads {read:,} columns, more than a query can: {MOST_COLUMNS}.")
    if len({key.lower() for key in kept}) < len(kept):
        raise ExportError(f"a key is named twice: {kept}.")
    carried = [f"{column_named(key)} AS k{k}" for k, key in enumerate(kept)]
    of_models = [
        total([literal(model["intercept"]), *(term(k) for term in terms)]) for k, model in enumerate(document["models"])
    ]
    keys_again = [f"k{k}" for k in range(len(kept))]
    sums = [f"{each} AS s{k}" for k, each in enumerate(of_models)]
    finite = f"{total([f'abs(s{k})' for k in range(len(sums))])} <= {literal(sys.float_info.max)}"
    margins = [f"CASE WHEN {finite} THEN s{k} END AS m{k}" for k in range(len(sums))]  # predict refuses such rows too
    first = _listed([*carried, *cells.told()]) or "1 AS nothing"
    return (
        f"WITH pater_cells AS MATERIALIZED (\n  SELECT\n    {first}\n  FROM {named(table)} AS {SOURCE}\n),\n"
        f"pater_sums AS MATERIALIZED (\n  SELECT\n    {_listed([*keys_again, *sums])}\n  FROM pater_cells\n),\n"
        f"pater_margins AS MATERIALIZED (\n  SELECT\n    {_listed([*keys_again, *margins])}\n  FROM pater_sums\n)\n"
        f"SELECT\n  {_listed(_answers(document, kept), indent=2)}\nFROM pater_margins"
    )


def _listed(parts: Sequence[str], indent: int = 4) -> str:
    return f",\n{' ' * indent}".join(parts)


def _terms(input: dict[str, Any], cells: Cells) -> tuple[Cells, list[Term]]:
    """The cells that are read from a row, and the terms that they add."""
    if input["kind"] == "table":
        return cells, of_table(input, cells)
    if input["kind"] == "hashed":
        raise ExportError("SQL cannot hash names: a model of hashed names can be exported to JSON or ONNX.")
    names = input["names"] or [f"x{j}" for j in range(input["width"])]
    return cells, [_term_of_number(input, i, cells.number(names[column])) for i, column in enumerate(input["columns"])]


def _term_of_number(input: dict[str, Any], i: int, at: int) -> Term:
    """The term of the i-th column with a weight, which is read as cell `at`."""
    value = f"x{at}" if input["means"] is None else f"(x{at} - {literal(input['means'][i])})"
    value += "" if input["deviations"] is None else f" / {literal(input['deviations'][i])}"
    refused = input["missing"] == input["others"] == "error"  # in a sparse row of indices, NULL is an absent number
    missing = "NULL" if refused else "0e0"
    return lambda k: f"CASE WHEN q{at} THEN {missing} ELSE {literal(input['weights'][k][i])} * {value} END"


def _answers(document: dict[str, Any], keys: list[str]) -> list[str]:
    """The columns of the result."""
    classes, models = document["classes"], document["models"]
    found = [f"k{k} AS {named(key)}" for k, key in enumerate(keys)]
    names = ["margin"] if len(models) == 1 else [f"margin_{label}" for label in classes]
    _check_keys(keys, [*names, "predicted", *(f"probability_{label}" for label in classes)])
    found += [f"m{k} AS {named(name)}" for k, name in enumerate(names)]
    found.append(f"{_predicted(document)} AS predicted")
    if models[0]["probability"] is None:
        return found
    chances = [_probability(model["probability"], f"m{k}") for k, model in enumerate(models)]
    if len(classes) == 2:
        chances = [f"1e0 - {chances[0]}", chances[0]]
    elif len(classes) > 2:
        whole = total(chances)
        chances = [f"{chance} / {whole}" for chance in chances]
    else:
        chances = ["1e0"]
    return found + [f"{p} AS {named(f'probability_{label}')}" for p, label in zip(chances, classes, strict=True)]


def _check_keys(keys: list[str], answers: list[str]) -> None:
    """Raise an ExportError if a key has the name of an answer; names in SQL are case-insensitive."""
    taken = {name.lower() for name in answers}
    for key in keys:
        if key.lower() in taken:
            raise ExportError(f"the key {key!r} has the same name as an answer; rename the column in a view.")


def _predicted(document: dict[str, Any]) -> str:
    labels = [literal(label) for label in document["classes"]]
    if len(labels) == 1:
        return f"CASE WHEN m0 IS NOT NULL THEN {labels[0]} END"
    if len(labels) == 2:
        threshold = literal(document["threshold"])
        return f"CASE WHEN m0 >= {threshold} THEN {labels[1]} WHEN m0 < {threshold} THEN {labels[0]} END"
    cases = []
    for k, label in enumerate(
        labels
    ):  # the first of the largest: no later one is larger, and the earlier ones have been ruled out
        largest = [f"m{k} >= m{j}" for j in range(k + 1, len(labels))] or [f"m{k} IS NOT NULL"]
        cases.append(f"WHEN {' AND '.join(largest)} THEN {label}")
    return f"CASE {' '.join(cases)} END"


def _probability(p: dict[str, Any], margin: str) -> str:
    r = f"0e0 * {margin}"
    if p["size"] is not None:
        r = bounded(f"{margin} / {literal(p['size'])}", p["most"])
    return f"1e0 / (1e0 + exp(-({literal(p['slope'])} * {r} + {literal(p['offset'])})))"
