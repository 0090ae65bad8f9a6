"""A pool in a file: the model that predicts is stored as if it were alone, and the others beside it.

Knows `stored_model` and `pool`. A reader that knows nothing of pools finds a sound model: the one that predicts, with
the columns that it sees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..models.board import Board
from ..models.choice import ScoringSettings
from ..models.model import Model
from ..models.pool import Pool
from ..models.spec import is_pool
from ..models.views import MOST_LEVELS, NO_LEVELS, Views
from .codec import is_number, require, spec_from_json, spec_to_json
from .container import Arrays, Places, is_newer
from .stored_model import StoredModel, described, history_array, history_to_json
from .stored_state import MOST_ROWS, finite, history_of, points_in

MOST_CANDIDATES = 1 << 10
_NOTHING_SPENT = [0.0] * MOST_LEVELS
_OWN = ("state", "operating")  # the fields of each of the others in the header


def pool_described(pool: Pool) -> tuple[dict[str, Any], Arrays]:
    """The description of a pool for the header, beside the model that predicts, and its arrays."""
    members, arrays = [], Arrays()
    for k, model in pool.models.items():
        if k != pool.leader:
            header, own = described(model, (pool.scoring, pool.scoring_settings))
            members.append({"place": k, **{name: header[name] for name in _OWN}})
            arrays |= {f"{_prefix(k)}{name}": array for name, array in own.items()}
    told = {
        "specs": [spec_to_json(spec) for spec in pool.specs],
        "members": members,
        "leader": pool.leader,
        "features": pool.n_features,
        "fading": pool.fading,
        "more_may_come": pool.more_may_come,
        "rows": pool.rows,
        "next_decision": pool.next_decision,
        "history": history_to_json(pool.history),
        "spent": pool.spent.tolist(),
        "in_shards": pool.in_shards,
    }
    arrays |= {f"pool.{name}": array.reshape(-1, 2) for name, array in vars(pool.board).items()}
    if pool.views.encoded:
        arrays["pool.levels"] = pool.views.levels.astype(np.int64)
    arrays |= {
        "pool.made": pool.made,
        "pool.adjustments": np.concatenate(list(pool.adjustments.values())),
        "pool.history": history_array(pool.history),
    }
    return told, arrays


def _prefix(k: int) -> str:
    return f"pool.{k}."


class StoredPool:
    """A pool being read, after the model that predicts for it."""

    def __init__(self, pool: Pool | None = None) -> None:
        self._pool = pool
        self.others: dict[int, StoredModel] = {}

    def claims(self, header: dict[str, Any], places: Places, speaker: StoredModel) -> None:
        """Check that the header is sound and fits the arrays, before memory is allocated for them."""
        told = header["pool"]
        numbers = [told[name] for name in ("leader", "rows", "next_decision")]
        require(all(type(n) is int and 0 <= n < MOST_ROWS for n in numbers), "its pool counts wrongly")
        require(told["rows"] < told["next_decision"], "its pool counts wrongly")
        require(is_number(told["fading"]) and 0 < told["fading"] <= 1, "the fading of its pool is out of range")
        sound = type(told["more_may_come"]) is bool and type(told.get("in_shards", False)) is bool
        require(sound, "its pool is unsound")
        spent = told.get("spent", _NOTHING_SPENT)
        sound = isinstance(spent, list) and len(spent) == MOST_LEVELS and all(is_number(n) and n >= 0 for n in spent)
        require(sound, "its pool counts wrongly")
        specs, members = told["specs"], told["members"]
        sound = isinstance(specs, list) and isinstance(members, list) and 0 < len(specs) <= MOST_CANDIDATES
        require(sound, "its pool is unsound")
        plan, shape = speaker.plan, places.get("pool.levels", ((0,), np.int64))
        n_features = told.get("features", plan.n_features)
        sound = type(n_features) is int and shape[1] == np.int64 and len(shape[0]) == 1
        require(sound and shape[0][0] <= n_features <= plan.n_features + shape[0][0], "its pool has unsound columns")
        ordered = [each["place"] for each in members]
        most = len(specs) * (MOST_LEVELS if shape[0][0] else 1)
        sound = all(type(k) is int and 0 <= k < most for k in [*ordered, told["leader"]])
        sound = sound and told["leader"] not in ordered and ordered == sorted(set(ordered))
        require(sound, "the candidates of its pool are not in order")
        for member in members:
            k = member["place"]
            state = self._pool.models[k].state if self._pool is not None else None
            self.others[k] = StoredModel(state, _prefix(k))
            self.others[k].claims(_header_of(header, k), places)
            require(self.others[k].plan.n_models == plan.n_models, "the candidates of its pool have different classes")
        of_pool = (plan.n_models, 2)
        right = places["pool.right"]
        n_levels = right[0][0] // max(1, len(specs) * plan.n_models)
        require(1 <= n_levels <= MOST_LEVELS, "pool.right has the wrong shape or type")
        wanted: Places = {
            "pool.right": ((n_levels * len(specs) * plan.n_models, 2), np.float64),
            "pool.seen": (of_pool, np.float64),
            "pool.total": (of_pool, np.float64),
            "pool.made": ((plan.n_models, 4), np.float64),
            "pool.adjustments": (((1 + len(members)) * plan.n_models, 4), np.float64),
            "pool.history": ((points_in(told["history"]), 4), np.float64),
        }
        for name, place in wanted.items():
            require(places[name] == place, f"{name} has the wrong shape or type")

    def pool(
        self, header: dict[str, Any], arrays: Arrays, speaker: Model, scored_by: tuple[str, ScoringSettings]
    ) -> Pool:
        """The pool that the numbers make up; its arrays are removed from `arrays`."""
        told = header["pool"]
        newer = is_newer(header["version"])
        specs = tuple(spec_from_json(value, newer=newer) for value in told["specs"])
        require(is_pool(specs) and specs[told["leader"] % len(specs)] == speaker.specs[0], "its pool is unsound")
        levels = arrays.pop("pool.levels", NO_LEVELS)
        require(((levels >= 0) & (levels < MOST_LEVELS)).all(), "its pool has unsound columns")
        views = Views(told.get("features", speaker.n_features), levels.astype(np.uint8))
        models = {k: other.model(_header_of(header, k), arrays, scored_by) for k, other in self.others.items()}
        models = dict(sorted({**models, told["leader"]: speaker}.items()))
        read = {
            name: finite(arrays.pop(f"pool.{name}"), name) for name in ("right", "seen", "total", "made", "adjustments")
        }
        sound = all((read[name] >= 0).all() for name in ("right", "seen", "total"))
        require(sound, "its pool counts answers wrongly")
        history = history_of(told["history"], own := {"history": arrays.pop("pool.history")})
        assert history is not None
        assert not own
        adjustments = dict(zip(models, np.split(read["adjustments"], len(models)), strict=True))
        n_places = views.n_levels * len(specs)
        require(read["right"].size == n_places * read["seen"].size, "its pool counts answers wrongly")
        board = Board(read["right"].reshape(n_places, -1, 2), read["seen"], read["total"])
        numbers = (told["fading"], told["more_may_come"], told["leader"], told["rows"], told["next_decision"])
        spent = np.array(told.get("spent", _NOTHING_SPENT), np.float64)
        pool = Pool(specs, views, models, board, read["made"], adjustments, *scored_by, *numbers, history, spent)
        pool.in_shards = told.get("in_shards", False)
        require(all((counts >= -1e-6).all() for counts in pool.progressive()), "its pool counts answers wrongly")
        sound = all(k < n_places and model.n_features == views.width(pool.level(k)) for k, model in models.items())
        sound = sound and pool.entered.common in models and all(pool.entered.fits[k] for k in models)
        require(sound, "the candidates of its pool do not suit its features")
        return pool


def _header_of(header: dict[str, Any], k: int) -> dict[str, Any]:
    """The header as it would be if candidate k were stored alone."""
    told = header["pool"]
    member = next(each for each in told["members"] if each["place"] == k)
    own = {name: member[name] for name in _OWN}
    return {**header, "specs": [told["specs"][k % len(told["specs"])]], **own, "history": None, "chosen": None}
