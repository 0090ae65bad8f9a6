"""One model in a file: the part of the header and the arrays that are its own.

Knows `stored_state`, `stored_margins`, `vectors` and `model`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ..kernels.state import State, triangle_size
from ..kernels.triangle import packed_size
from ..models.batch import BatchModel
from ..models.choice import ScoringSettings, Stored
from ..models.history import History
from ..models.model import Model
from .codec import BATCH_RULE, UnsoundError, require, spec_to_json
from .container import OF_ANOTHER_KIND, Arrays, Places, Room, Shape, minor
from .stored_margins import OPERATING, seen_arrays, seen_in, seen_of
from .stored_moments import moments_described, moments_in, moments_of
from .stored_state import (
    REALS,
    WHOLE_NUMBERS,
    Plan,
    check_reach,
    check_triangles,
    columns_kept,
    history_of,
    points_in,
    scalars_of,
)
from .vectors import Room as VectorRoom
from .vectors import Rows, Vectors, columns_in_use, kinds


def described(model: Model, scored_by: tuple[str, ScoringSettings]) -> tuple[dict[str, Any], Arrays]:
    """The part of the header that describes a model, and its arrays."""
    state = model.state
    kept = columns_in_use(state)
    header: dict[str, Any] = {
        "specs": [spec_to_json(spec) for spec in model.specs],
        "state": {
            "models": state.n_models,
            "features": state.n_features,
            "kept": int(kept.size),
            "layout": state.layout,
            "sharing": sorted(model for herd in state.herds if herd.sharing for model in herd.models),
            "vectors": kinds(state.has_means, state.metric, state.layout),
            "reals": REALS,
            "counts": WHOLE_NUMBERS,
        },
        "history": None if model.history is None else history_to_json(model.history),
        "operating": None if model.seen is None else list(OPERATING),
        "chosen": model.chosen(*scored_by) if len(model.specs) > 1 else None,
    }
    arrays: Arrays = {} if kept.size == state.n_features else {"kept": kept}  # before the vectors, to know their places
    arrays |= {
        "vectors": Vectors(state, kept),
        "reals": np.stack([state.scalars[name] for name in REALS], axis=1),
        "counts": np.stack([state.scalars[name] for name in WHOLE_NUMBERS], axis=1),
    }
    if model.history is not None:
        arrays["history"] = history_array(model.history)
    if model.seen is not None:
        arrays |= seen_arrays(model.seen)
    if state.second is not None:  # only the part that rows have reached
        arrays["second"] = state.second[:, : packed_size(int(state.scalars["width"].max(initial=0)))]
    if isinstance(model, BatchModel):
        header["moments"], more = moments_described(model)
        arrays |= more
    return header, arrays


def history_to_json(history: History) -> dict[str, Any]:
    points = [[rows, len(counts)] for rows, counts in history.points]
    return {"rows": history.rows, "next_point": history.next_point, "points": points}


def history_array(history: History) -> Any:
    return np.concatenate([np.zeros((0, 4)), *(counts for _, counts in history.points)])


class StoredModel:
    """A model being read: first the claims of the header, then the numbers, then their meaning.

    If a state is given, the file is that state's own, and every number has been compared with it before its meaning is
    checked; otherwise a state is made and filled. The names of its arrays begin with `prefix`.
    """

    def __init__(self, state: State | None = None, prefix: str = "") -> None:
        self.prefix = prefix
        self._state = state
        self._plan: Plan | None = None
        self._size = 0  # of a triangle in the file

    @property
    def plan(self) -> Plan:
        assert self._plan is not None
        return self._plan

    def own(self, named: dict[str, Any]) -> dict[str, Any]:
        """The entries of this model, by their names without the prefix, in the same order."""
        return {name.removeprefix(self.prefix): value for name, value in named.items() if name.startswith(self.prefix)}

    def rooms(self) -> dict[str, Room]:
        """The functions that say where its large arrays go."""
        return {f"{self.prefix}vectors": self._vectors, f"{self.prefix}second": self._second}

    def claims(self, header: dict[str, Any], all_places: Places) -> None:
        """Check that the header is sound and fits the arrays, before memory is allocated for them."""
        places = self.own(all_places)
        n_models = places["reals"][0][0]  # one row for each; the file is known to be that long
        self._plan = plan = Plan.of(header, n_models)
        wanted: Places = {
            "vectors": (plan.shape, np.float64),
            "reals": ((n_models, len(header["state"]["reals"])), np.float64),
            "counts": ((n_models, len(header["state"]["counts"])), np.int64),
        }
        if plan.n_kept != plan.n_features:
            wanted["kept"] = ((plan.n_kept,), np.int64)
            before = list(places).index("kept") < list(places).index("vectors")
            require(before, "its columns come after its vectors")
        if header["history"] is not None:
            wanted["history"] = ((points_in(header["history"]), 4), np.float64)
        if header.get("operating") is not None:
            wanted |= seen_in(header["operating"], n_models)
        if header.get("moments") is not None:
            wanted |= moments_in(header["moments"], plan)
        for name, place in wanted.items():
            require(places[name] == place, f"{name} has the wrong shape or type")
        if plan.metric == "full":
            self._size = places["second"][0][1]
            sound = places["second"] == ((n_models, self._size), np.float64)
            sound = sound and self._size <= triangle_size(max(1, n_models), plan.n_features)
            require(sound, "second has the wrong shape or type")
        _check_chosen(header.get("chosen"), plan)

    def _vectors(self, header: dict[str, Any], arrays: Arrays, shape: Shape, kind: Any) -> VectorRoom:
        return VectorRoom(self._room(), columns_kept(self.own(arrays), self.plan))

    def _second(self, header: dict[str, Any], arrays: Arrays, shape: Shape, kind: Any) -> Rows | None:
        table = self._room().second
        return None if table is None else Rows(table, shape[1])

    def _room(self) -> State:
        if self._state is None:
            self._state = self.plan.room()
        return self._state

    def model(self, header: dict[str, Any], all_arrays: Arrays, scored_by: tuple[str, ScoringSettings]) -> Model:
        """The model that the numbers make up; its arrays are removed from `all_arrays`."""
        plan, arrays = self.plan, self.own(all_arrays)
        names = set(arrays)
        if columns_kept(arrays, plan) is not None:
            del arrays["kept"]
        room = arrays.pop("vectors")
        require(room.finite, "vectors holds a number that is not finite")
        require(room.agreed, "models share what they do not have in common")
        state = replace(self._room(), scalars=scalars_of(arrays, header["state"], plan.n_models))
        check_reach(state, told=minor(header["version"]) > 0)
        if state.second is not None:
            require(arrays.pop("second").finite, "second holds a number that is not finite")
            check_triangles(state, self._size)
        models = header.get("chosen")
        choice = Stored(tuple(models), *scored_by) if models is not None else None
        history = history_of(header["history"], arrays)
        numbers, points = header.get("operating"), [spec.operating_point for spec in plan.specs]
        seen = None if numbers is None and not any(points) else seen_of(numbers, arrays, plan)
        require((history is not None) == (len(plan.specs) > 1), "it lacks its history")
        moments = None if header.get("moments") is None else moments_of(header["moments"], arrays)
        for name in names - set(arrays):
            del all_arrays[f"{self.prefix}{name}"]
        if plan.specs[0].rule != BATCH_RULE:
            return Model(plan.classes, state, plan.specs, plan.fixed, history, choice, seen)
        ridge = 0.0 if moments is None else float(header["moments"]["ridge"])
        return BatchModel(plan.classes, state, plan.specs, plan.fixed, moments=moments, ridge=ridge)


def _check_chosen(models: Any, plan: Plan) -> None:
    """Check that the file chooses one model of each class, or none at all."""
    if models is not None:
        width = len(plan.specs)
        sound = width > 1 and isinstance(models, list) and all(type(k) is int for k in models)
        require(
            sound and [k // width for k in models] == list(range(plan.n_models // width)),
            "the models that it chose are not its own",
        )


@contextmanager
def parts_in_place() -> Iterator[None]:
    """Turn the errors that a missing part or a wrong type leads to into an `UnsoundError` that says so."""
    try:
        yield
    except UnsoundError:
        raise
    except OF_ANOTHER_KIND as error:
        raise UnsoundError(f"a part is missing or of the wrong type ({str(error)[:80]})") from None
