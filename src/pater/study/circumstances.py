"""What the tables of a study do not hold: its plan, how the run went, and what it was made with.

Saved next to the tables, so that the page can be made from them again elsewhere.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from .plan import Plan

FILE = "made.json"


@dataclass(frozen=True)
class Circumstances:
    """How a run went."""

    jobs: int
    seconds: float
    units_run: int


@dataclass(frozen=True)
class Made:
    """A study that was run; seconds are those of its units, whenever they ran, and None for a part left out."""

    plan: Plan
    circumstances: Circumstances
    surroundings: dict[str, str]
    seconds: float
    peers_seconds: float | None = None
    drift_seconds: float | None = None

    def save(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Made:
        saved = json.loads((folder / FILE).read_text(encoding="utf-8"))
        lists = {name: tuple(value) for name, value in saved["plan"].items() if isinstance(value, list)}
        plan = Plan(**saved["plan"] | lists)
        return cls(**saved | {"plan": plan, "circumstances": Circumstances(**saved["circumstances"])})
