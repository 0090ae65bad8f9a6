"""What the report shows about the streams: the figure, and tables in the order of the page.

Knows the tables and the figure; the words are in `../page/drift.html.j2`.
"""

from __future__ import annotations

from typing import Any

from .figures import along_the_streams
from .learners import FAMILIES, PEERS, SETTINGS, SINGLE
from .prequential import CHUNK
from .streams import BEST_REACHABLE, COLUMNS, ROWS, STREAMS
from .tables import DriftResults, grid
from .unit import WINDOW


def draw_drift(found: DriftResults) -> dict[str, str]:
    """The figure, by its name on the page."""
    return {"drift": along_the_streams(found.drift_summary, found.drift_windows)}


def drift_on_the_page(found: DriftResults) -> dict[str, Any]:
    """Everything that the template needs."""
    lines = found.drift_summary.to_dict("records")
    moving = [line for line in lines if line["kind"] != "stationary"]
    families = grid(found.drift_scores)
    cells = found.drift_scores.set_index(["setting", "data_set"])[["score", "error"]]
    return {
        "lines": lines,
        "streams": {key: f"{stream.kind}, {100 * stream.share:g} %" for key, stream in STREAMS.items()},
        "families": [name for name in FAMILIES if name in (*SINGLE, *PEERS)],
        "peers": PEERS,
        "best_of": {key: line.to_dict() for key, line in families.iterrows()},
        "worst": min(lines, key=lambda line: float(line["to_best"])),
        "mean_gap": sum(line["to_best"] for line in lines) / len(lines),
        "gains": [line["to_no_memory"] for line in moving],
        "peer_gains": [line["to_peer"] for line in moving],
        "settings": {name: {key: cells.loc[(name, key)].to_dict() for key in STREAMS} for name in SETTINGS},
        "said": {name: _said(name) for name in SETTINGS},
        "runs": found.runs,
        "seconds": found.seconds,
        "rows": ROWS,
        "columns": COLUMNS,
        "window": WINDOW,
        "chunk": CHUNK,
        "reachable": BEST_REACHABLE,
    }


def _said(name: str) -> str:
    """The name of a setting as one would write it."""
    for word, said in ((" r ", ", r = "), (" forgetting ", ", forgetting "), (" rate ", ", η = "), (" γ ", ", γ = ")):
        name = name.replace(word, said)
    return name
