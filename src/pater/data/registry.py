"""The 31 data sets of the paper, by key, in the paper's order."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from pater.data.entry import Entry
from pater.data.errors import DataError
from pater.data.sets import categorical, libsvm, medical, newsgroups, numeric

_ENTRIES = (
    *medical.ENTRIES,
    *numeric.ENTRIES,
    *categorical.ENTRIES,
    *libsvm.ENTRIES,
    *newsgroups.ENTRIES,
)

DATA_SETS: Mapping[str, Entry] = MappingProxyType(
    {entry.key: entry for entry in sorted(_ENTRIES, key=lambda entry: entry.number)}
)
"""Every data set of the paper by key, in the order of the paper's table."""


def entry_of(key: str) -> Entry:
    """The entry of a key; the error for an unknown key suggests the nearest ones."""
    if key in DATA_SETS:
        return DATA_SETS[key]
    wanted = key.lower()
    key_of = {k: k for k in DATA_SETS} | {e.name.lower(): k for k, e in DATA_SETS.items()}
    near = difflib.get_close_matches(wanted, key_of, n=5, cutoff=0.5)
    near += [known for known in key_of if wanted and wanted in known]
    keys = list(dict.fromkeys(key_of[known] for known in near)) or list(DATA_SETS)
    raise DataError(f"there is no data set {key!r}; did you mean {', '.join(keys)}?")
