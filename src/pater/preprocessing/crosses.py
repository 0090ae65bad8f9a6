"""Crosses of two columns: one indicator for each pair of their values.

Knows `facets`, the encoders of columns and the kernels. Each pair of facets has output columns of its own: one for each
cross where these are few, else a fixed number that crosses are hashed to. The texts themselves are hashed, so the
result does not depend on what came before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .column_encoders import CategoryEncoder, ColumnEncoder
from .columns import Table
from .encoding_kernels import cross
from .facets import Codes, Facet, facets_of, splits_of, varies
from .features import Feature
from .settings import MOST_PAIRS, EncodingSettings
from .slots import Slots

_RARE, _MISSING, _BUCKETS = 1 << 32, (1 << 32) + 1, (1 << 32) + 2  # beyond all hashes of texts
MOST_NAMED, LONGEST_NAME = 1 << 16, 200  # names of hashed crosses that are remembered, and characters of each
_WHY_NOT = {"text": "free text", "id": "texts that are nearly all different"}


@dataclass
class Crosses:
    """The crosses of a table.

    splits
        For each number column with two values, and so without bins, a number between the two.
    names
        The first cross that was hashed to each output column, in order of arrival.
    rows
        How many rows had each cross, by output column.
    """

    settings: EncodingSettings
    columns: list[ColumnEncoder]
    splits: dict[str, float] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    _hashes: dict[int, list[int]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.rows.size:
            self.rows = np.zeros(self.width, np.int64)

    @classmethod
    def begun(cls, settings: EncodingSettings, columns: list[ColumnEncoder], table: Table) -> Crosses:
        """The crosses that the settings ask for, of columns that begin like this table.

        "all" leaves out columns of free text, of ids, and of a single value. Raises a ValueError for a named column
        that does not exist or cannot be crossed, and for too many pairs.
        """
        check_names(settings, [column.name for column in columns])
        if not settings.interactions:
            return cls(settings, columns)
        splits = dict(splits_of(columns, table))
        crossed = {name for pair in _pairs(settings, columns, splits) for name in pair}
        return cls(settings, columns, {name: at for name, at in splits.items() if name in crossed})

    def take_in(self, other: Crosses) -> None:
        """Add the counts of rows of another, and its names after those already here, as long as there is room."""
        new = [place for place in other.names if place not in self.names]
        self.names |= {place: other.names[place] for place in new[: MOST_NAMED - len(self.names)]}
        self.rows = self.rows + other.rows

    def copy(self, columns: list[ColumnEncoder]) -> Crosses:
        """An independent copy for other column encoders."""
        return Crosses(self.settings, columns, self.splits, dict(self.names), self.rows.copy())

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of columns that are crossed."""
        return _pairs(self.settings, self.columns, self.splits)

    @property
    def width(self) -> int:
        """The number of output columns."""
        return int(self._plan.starts[-1])

    def places(
        self, x: NDArray[np.float64], bins: NDArray[np.int16], local: NDArray[np.int32], slots: Slots, learn: bool
    ) -> NDArray[np.int32]:
        """The place of each cross of each row among all crosses, (rows, crosses), from what the facets hold."""
        plan, n_rows = self._plan, local.shape[0]
        places = np.empty((n_rows, len(plan.of)), np.int32)
        if not len(plan.of):
            return places
        codes = np.empty((n_rows, len(plan.facets)), np.uint64)
        for k, facet in enumerate(plan.facets):
            of_places = facet.codes if facet.values else self._hashed(facet)
            codes[:, k] = of_places[facet.held(x, bins, local, slots)]
        room = min(self.width, MOST_NAMED) - len(self.names)
        new = np.empty((room if learn else 0, 2), np.int64)
        of_crosses = plan.of, plan.direct, plan.starts, plan.seeds
        found = cross(codes, of_crosses, self.rows, self._named, new, learn, places)
        for row, k in new[:found].tolist():
            sides = (self._called(plan.facets[f], codes[row, f], local[row], slots) for f in plan.of[k].tolist())
            self.names[int(places[row, k])] = " × ".join(sides)[:LONGEST_NAME]
        return places

    def _hashed(self, facet: Facet) -> Codes:
        """The hash of each category by its place."""
        column, s = self.columns[facet.column], self.settings
        assert isinstance(column, CategoryEncoder)
        hashes = self._hashes.setdefault(facet.column, [])
        hashes += [crc32(text.encode("utf-8", "replace")) for text in list(column.names)[len(hashes) :]]
        codes = np.zeros(sum(column.slots()), np.uint64)
        codes[: len(hashes)] = hashes
        codes[s.max_categories :] = [_RARE, _MISSING, *range(_BUCKETS, _BUCKETS + s.buckets)]
        return codes

    @cached_property
    def _named(self) -> NDArray[np.bool_]:
        named = np.zeros(self.width, np.bool_)
        named[list(self.names)] = True
        return named

    def _called(self, facet: Facet, code: np.uint64, local: NDArray[np.int32], slots: Slots) -> str:
        if facet.values:
            return facet.values[int(code)].name
        found = self.columns[facet.column].feature(0, int(local[slots.starts[facet.column][0]]))
        return f"{found.column}={found.text}" if found.kind == "bucket" else found.name

    def features(self) -> list[Feature]:
        """What each output column stands for."""
        plan, found = self._plan, []
        for k, (a, b) in enumerate(plan.of.tolist()):
            left, right = plan.facets[a], plan.facets[b]
            column, crossed = (self.columns[facet.column].name for facet in (left, right))
            start, stop = int(plan.starts[k]), int(plan.starts[k + 1])
            if plan.direct[k]:
                texts = [f"{one.name} × {other.name}" for one in left.values for other in right.values]
            else:
                texts = [self.names.get(at, f"{column} × {crossed} ~{at - start}") for at in range(start, stop)]
            found += [Feature(column, "cross", text, crossed=crossed) for text in texts]
        return found

    def groups(self) -> Iterator[tuple[str, slice]]:
        """The name of each group of crosses, and the slice of its columns. A row has one cross in each group."""
        plan = self._plan
        for k, pair in enumerate(plan.of.tolist()):
            yield " × ".join(map(self._facet_name, pair)), slice(int(plan.starts[k]), int(plan.starts[k + 1]))

    def _facet_name(self, k: int) -> str:
        facet = self._plan.facets[k]
        part = facet.values[0].part if facet.values else ""
        return self.columns[facet.column].name + (f": {part}" if part else "")

    @cached_property
    def _plan(self) -> _Plan:
        return _Plan.of_pairs(self)


class _Plan(NamedTuple):
    """The arrays that the kernel reads, by pair of facets.

    of
        The two facets.
    direct
        How many values the second facet has, where each cross has a column of its own; else 0.
    starts
        Where the output columns begin, and where the last ones end.
    seeds
        A hash of the names of the two columns.
    """

    facets: list[Facet]
    of: NDArray[np.int64]
    direct: Codes
    starts: Codes
    seeds: Codes

    @classmethod
    def of_pairs(cls, crosses: Crosses) -> _Plan:
        columns, most = crosses.columns, crosses.settings.cross_buckets
        of_name: dict[str, list[int]] = {}
        facets: list[Facet] = []
        for name in dict.fromkeys(name for pair in crosses.pairs for name in pair):
            found = facets_of(columns, name, crosses.splits.get(name, np.nan))
            of_name[name] = list(range(len(facets), len(facets) + len(found)))
            facets += found
        of = [(a, b) for one, other in crosses.pairs for a in of_name[one] for b in of_name[other]]
        sizes, direct, seeds = [], [], []
        for a, b in of:
            n_crosses = len(facets[a].values) * len(facets[b].values)
            few = 0 < n_crosses <= most
            sizes.append(n_crosses if few else most)
            direct.append(len(facets[b].values) if few else 0)
            seeds.append(_seed(*(f"{columns[facets[k].column].name}\0{facets[k].slot}" for k in (a, b))))
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64)
        pairs = np.array(of, np.int64).reshape(-1, 2)
        return cls(facets, pairs, np.array(direct, np.uint64), starts, np.array(seeds, np.uint64))


def _pairs(settings: EncodingSettings, columns: list[ColumnEncoder], splits: dict[str, float]) -> list[tuple[str, str]]:
    """The pairs that the settings ask for. Raises a ValueError for too many, or a column that cannot be crossed."""
    if settings.interactions == "all":
        varying = [column.name for column in columns if varies(column, splits)]
        pairs = list(combinations(varying, 2))
        if len(pairs) > MOST_PAIRS:
            raise ValueError(
                f"all interactions of {len(varying)} columns are {len(pairs):,} pairs, but there can be at most "
                f"{MOST_PAIRS}; name the pairs to cross."
            )
        return pairs
    for column in columns:
        if column.kind in _WHY_NOT and any(column.name in pair for pair in settings.interactions):
            raise ValueError(f"the column {column.name!r} cannot be crossed: it holds {_WHY_NOT[column.kind]}.")
    return list(settings.interactions)


def check_names(settings: EncodingSettings, names: list[str]) -> None:
    """Raise a ValueError if a column that is to be crossed does not exist."""
    for name in (name for pair in settings.interactions if settings.interactions != "all" for name in pair):
        if name not in names:
            raise ValueError(f"there is no column {name!r} that could be crossed; choose from {names}.")


def _seed(left: str, right: str) -> int:
    one, other = (crc32(name.encode("utf-8", "replace")) for name in (left, right))
    return one << 32 | other
