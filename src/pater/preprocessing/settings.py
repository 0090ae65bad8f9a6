"""The user's settings for the encoding of a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

# The kinds of bins of each resolution, coarse before fine; a row has one bin of each kind.
RESOLUTIONS = {"none": (), "coarse": ("coarse",), "fine": ("fine",), "nested": ("coarse", "fine")}
MOST_PAIRS = 190  # of columns that can be crossed: all pairs of twenty


@dataclass(frozen=True)
class EncodingSettings:
    """How a table is encoded.

    warm_up
        Rows from which the kinds and bins of columns are decided, once.
    fine_bins, coarse_bins
        Bins of a number at the two resolutions; a coarse bin is a group of fine ones.
    clip
        The largest z-score.
    max_categories
        How many texts of a column get an output column each; any others share `buckets` more.
    min_count
        A text gets its own column when it has come this many times; until then, it is among the rare ones.
    word_buckets
        Columns that the words of a free text are hashed to.
    interactions
        Pairs of columns that are crossed, or "all".
    cross_buckets
        Columns that the crosses of two columns are hashed to, if there could be more crosses than that.
    """

    warm_up: int = 1000
    fine_bins: int = 12
    coarse_bins: int = 4
    clip: float = 3.0
    max_categories: int = 100
    buckets: int = 32
    min_count: int = 3
    word_buckets: int = 1024
    interactions: tuple[tuple[str, str], ...] | Literal["all"] = ()
    cross_buckets: int = 1024

    def __post_init__(self) -> None:
        """Raise a ValueError that names an invalid setting."""
        limits = {
            "warm_up": (1, 1 << 20),
            "fine_bins": (2, 1024),
            "coarse_bins": (2, 1024),
            "max_categories": (0, 1 << 16),
            "buckets": (1, 1 << 12),
            "min_count": (1, 255),
            "word_buckets": (1, 1 << 20),
            "cross_buckets": (1, 1 << 12),
        }
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise ValueError(f"{name} must be a whole number from {least} to {most:,}, got {value!r}.")
        if not isinstance(self.clip, (int, float)) or not 0 < self.clip <= 1e6:
            raise ValueError(f"clip must be a positive number up to 1,000,000, got {self.clip!r}.")
        if self.coarse_bins > self.fine_bins:
            raise ValueError(f"coarse_bins ({self.coarse_bins}) must not exceed fine_bins ({self.fine_bins}).")
        object.__setattr__(self, "interactions", _pairs(self.interactions))

    def to_json(self) -> dict[str, Any]:
        """The settings as a model file holds them; those of interactions only where they differ from the default."""
        told = asdict(self)
        return {name: value for name, value in told.items() if name not in _LATER or value != _LATER[name]}

    @classmethod
    def from_json(cls, value: Any, *, newer: bool = False) -> EncodingSettings:
        """The settings that a model file holds. Raises a ValueError if they are not valid settings.

        What a `newer` version of the format adds is left out.
        """
        known = {field.name for field in fields(cls)}
        if newer and isinstance(value, dict):
            value = {name: each for name, each in value.items() if name in known}
        if not isinstance(value, dict) or set(value) | set(_LATER) != known:
            raise ValueError("the settings of its encoder are not those that this version knows")
        return cls(**value)


_LATER = {
    field.name: field.default for field in fields(EncodingSettings) if field.name in ("interactions", "cross_buckets")
}


def _pairs(value: Any) -> tuple[tuple[str, str], ...] | Literal["all"]:
    """Pairs of columns, each once, or "all". Raises a ValueError if the value is neither."""
    if value is None or value == "all":
        return "all" if value else ()
    sound = isinstance(value, (list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in value
    )
    if not sound:
        raise ValueError(
            f'interactions must be "all" or pairs of columns, such as [("country", "amount")], got {value!r}.'
        )
    pairs: dict[frozenset[str], tuple[str, str]] = {}
    for one, other in ((str(one), str(other)) for one, other in value):
        if one == other:
            raise ValueError(f"an interaction needs two different columns, but {one!r} is crossed with itself.")
        pairs.setdefault(frozenset((one, other)), (one, other))
    if len(pairs) > MOST_PAIRS:
        raise ValueError(f"there can be at most {MOST_PAIRS} interactions, but {len(pairs):,} are given.")
    return tuple(pairs.values())
