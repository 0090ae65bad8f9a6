"""Whether what a caller says about columns is possible: with those that a model has learned from, and in this format.

Knows `columns` and `schema`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .columns import CATEGORY, Columns
from .delimiters import FIXED
from .errors import InputError
from .parsers import ROWS_OF_INDICES
from .schema import Wishes
from .sources import STANDARD_INPUT, Source


def check_formats(wishes: Wishes, found: Sequence[Source]) -> None:
    """Raise an error if the caller says something about delimiters or names of columns, and no source has any."""
    for name, given in (("delimiter", wishes.delimiter), ("decimal comma or point", wishes.decimal)):
        if given and not any(each.format in FIXED for each in found):
            raise InputError(f"a {name} is for csv and tsv, but {found[0].shown} is read as {found[0].format}.")
    if any(source.format not in ROWS_OF_INDICES for source in found):
        return
    named = [name for name in (wishes.label, wishes.weight) if name is not None]
    first = found[0]
    for name in (*named, *wishes.categorical, *wishes.drop):
        if first.name != STANDARD_INPUT:
            first.open().close()  # raises an error if it is another kind of file altogether
        raise InputError(
            f"{first.shown} is read as {first.format}, which has no column {name!r}; "
            "if it is a table, use --format csv."
        )


def agreed(columns: Columns, wishes: Wishes) -> tuple[Columns, Wishes]:
    """The columns of a model, with the label and the importance where the caller says they are.

    Features of the model stay features, and the decimal mark stays as it was unless the caller gives another.
    """
    features = dict(columns.table)
    for name, use in ((wishes.label, "the label"), (wishes.weight, "the importance")):
        if name in features:
            own = f"; its label was {columns.label!r}" if columns.label is not None else ""
            raise InputError(f"column {name!r} cannot be {use}, as the model has learned from it{own}.")
    for name in wishes.drop:
        if name in features:
            raise InputError(f"column {name!r} cannot be left out, as the model has learned from it.")
    for name in wishes.categorical:
        if features.get(name, CATEGORY) != CATEGORY:
            raise InputError(f"column {name!r} cannot become categorical: the model has already settled its kind.")
    if not columns.table:
        return columns, wishes
    label = columns.label if columns.label is None else wishes.label or columns.label
    decimal = wishes.decimal or columns.decimal
    columns = replace(columns, label=label, weight=wishes.weight or columns.weight, decimal=decimal)
    return columns, replace(wishes, decimal=decimal)
