"""What a user can say about the encoding of a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

# The bins that each has, coarse before fine; a row has one bin of each kind.
RESOLUTIONS = {"none": (), "coarse": ("coarse",), "fine": ("fine",), "nested": ("coarse", "fine")}


@dataclass(frozen=True)
class EncodingSettings:
    """How a table is encoded.

    warm_up
        Rows from whose columns kinds and bins are decided, once.
    fine_bins, coarse_bins
        Bins of a number at the two resolutions; a coarse bin is a group of fine ones.
    clip
        The largest z-score.
    max_categories
        Texts of a column that get an output column each; those beyond share `buckets` more.
    min_count
        A text gets its own column when it comes for this many times; until then, it is among the rare ones.
    word_buckets
        Columns that the words of a free text are hashed to.
    """

    warm_up: int = 1000
    fine_bins: int = 12
    coarse_bins: int = 4
    clip: float = 3.0
    max_categories: int = 100
    buckets: int = 32
    min_count: int = 3
    word_buckets: int = 1024

    def __post_init__(self) -> None:
        """Raise a ValueError that names the setting that makes no sense."""
        limits = {
            "warm_up": (1, 1 << 20),
            "fine_bins": (2, 1024),
            "coarse_bins": (2, 1024),
            "max_categories": (0, 1 << 16),
            "buckets": (1, 1 << 12),
            "min_count": (1, 255),
            "word_buckets": (1, 1 << 20),
        }
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise ValueError(f"{name} must be a whole number of {least} to {most:,}, got {value!r}.")
        if not isinstance(self.clip, (int, float)) or not 0 < self.clip <= 1e6:
            raise ValueError(f"clip must be a positive number up to 1,000,000, got {self.clip!r}.")
        if self.coarse_bins > self.fine_bins:
            raise ValueError(f"coarse_bins ({self.coarse_bins}) must not exceed fine_bins ({self.fine_bins}).")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any) -> EncodingSettings:
        """The settings that a model file holds; a ValueError if they are none."""
        if not isinstance(value, dict) or set(value) != {field.name for field in fields(cls)}:
            raise ValueError("the settings of its encoder are not those that this version knows")
        return cls(**value)
