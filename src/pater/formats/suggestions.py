"""Messages about a column or a file that is missing: what there is, and what may have been meant.

Knows `errors` only.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from itertools import pairwise

from ..models.setting_kinds import in_words
from .errors import InputError, listed, shortened

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[0-9]{1,18}")
_OTHER_DELIMITERS = "|:^~ "  # not recognised by themselves
DATA_FIRST = "the first line looks like a row, not like names: put a line with the names of the columns above it"


def no_column(name: str, header: Sequence[str], source: str, names_it: str = "the header names") -> InputError:
    """The error for a table without a column of this name."""
    meant = nearest(name, header)
    hint = f"did you mean {shortened(meant)!r}? {names_it.capitalize()}" if meant is not None else names_it
    return InputError(f"{source}: there is no column {shortened(name)!r}; {hint} {listed(header)}.{_todo(header)}")


def nearest(name: str, known: Sequence[str], alike: float = 0.6) -> str | None:
    """The known name that is most like this one, if any is."""
    folded = {each.strip().casefold(): each for each in reversed(known)}
    wanted = name.strip().casefold()
    if wanted in folded:
        return folded[wanted]
    found = difflib.get_close_matches(wanted, folded, n=1, cutoff=alike)
    return folded[found[0]] if found else None


def file_like(path: str) -> str:
    """`; did you mean …?` if the same folder holds a file of nearly this name."""
    folder, name = os.path.split(path)
    try:
        meant = nearest(name, sorted(os.listdir(folder or "."))[:10_000], alike=0.8)
    except OSError:
        return ""
    return "" if meant is None else f"; did you mean {os.path.join(folder, meant)}?"


def label_to_name(header: Sequence[str], source: str, found: Sequence[str]) -> InputError:
    """The error for a table whose label nobody has named, of which several columns were `found` to be called so."""
    what = f"name the label column with --label; the header names {listed(header)}"
    if found:
        what = f"several columns may be the label, {in_words(tuple(map(shortened, found)))}; name one with --label"
    return InputError(f"{source}: {what}.{_todo(header)}")


def looks_like_a_row(header: Sequence[str]) -> bool:
    """Whether a header holds numbers that cannot be names: any that is not whole, or only whole ones out of order.

    Data frames use 0, 1, 2 as names, and years in order may be names, too.
    """
    if any(_NUMBER.fullmatch(name) and not _WHOLE.fullmatch(name) for name in header):
        return True
    return all(map(_WHOLE.fullmatch, header)) and any(int(a) >= int(b) for a, b in pairwise(header))


def _todo(header: Sequence[str]) -> str:
    """Advice about a header that cannot be right."""
    if len(header) == 1:
        between = next((mark for mark in _OTHER_DELIMITERS if mark in header[0].strip()), None)
        return f" If fields are separated by {between!r}, use --delimiter {between!r}." if between else ""
    return f" {DATA_FIRST[0].upper()}{DATA_FIRST[1:]}." if looks_like_a_row(header) else ""
