"""Operations on a whole state other than learning: mirror a model, add one, add columns, merge two states.

Knows `state` and `covariance_merge`. Each returns a state and does not change its arguments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.memory import P_NEG, P_POS, POINT_Q, POINT_V, S_NEG, S_POS, SCALARS, Q, U, V
from ..kernels.pages import zeros
from ..kernels.state import State, sizes, triangle_size
from .covariance_merge import merge_metrics

_OF_MARGINS = ("margin_square", "size_square")
_CALIBRATION = ("slope", "offset", "slope_slope", "slope_offset", "offset_offset", "usual_weight")
_JUDGED = ("told", "brier", "log_loss")
_PAIRS = [(name, name[:-4] + "_neg") for name in SCALARS.names or () if name.endswith("_pos")]


def mirrored(state: State) -> State:
    """The same models with the classes exchanged: their margins become −f(x)."""
    result = state.copy()
    result.arrange("split")
    vectors, m = result.vectors, result.scalars
    for kind in (U, V if state.has_means else POINT_V):
        np.subtract(0.0, vectors[:, kind], out=vectors[:, kind])  # not −0.0, which is other bits
    for name in ("bias", "bias_steps", "offset", "slope_offset"):
        np.subtract(0.0, m[name], out=m[name])
    for a, b in (("tp", "tn"), ("fp", "fn")):
        m[a], m[b] = state.scalars[b], state.scalars[a]
    if state.has_means:
        vectors[:, [S_POS, S_NEG]] = vectors[:, [S_NEG, S_POS]]
        if state.metric == "full":
            vectors[:, [P_POS, P_NEG]] = vectors[:, [P_NEG, P_POS]]
        for a, b in (("pp", "nn"), ("pp_low", "nn_low"), ("pp_peak", "nn_peak")):
            m[a], m[b] = state.scalars[b], state.scalars[a]
    for positive, negative in _PAIRS:
        m[positive], m[negative] = state.scalars[negative], state.scalars[positive]
    return result


def joined(states: list[State]) -> State:
    """The models of all states, one after the other."""
    vectors = np.concatenate([state.kinds() for state in states])
    triangles = [state.second for state in states if state.second is not None]
    second = np.concatenate(triangles) if triangles else None
    scalars = np.concatenate([state.scalars for state in states])
    return State(vectors, scalars, "split", states[0].group, metric=states[0].metric, second=second)


def among(state: State, places: NDArray[np.intp], n_models: int) -> State:
    """The models of a state at these places among `n_models`; the others have seen nothing."""
    result = state.empty(n_models)
    result.vectors[places], result.scalars[places] = state.kinds(), state.scalars
    if result.second is not None:
        result.second[places] = state.second
    return result


def averaging(state: State) -> State:
    """The same models, averaging from now on as if the weights had been the current ones all along."""
    result = state.copy()
    result.arrange("split")
    m = result.scalars
    w, bias = result.own_weights()
    # the sum of the weights is (t + extra)·w/scale − V; it is to be t·w
    t, extra = m["t"], np.where(m["scales"] > 0, m["scales"] - m["t"], 1.0)
    share = (t + extra) / m["scale"] - t
    result.vectors[:, V if result.has_means else POINT_V] = share[:, None] * w
    m["bias_steps"] = share * bias
    m["B_pos"] = m["B_neg"] = 0.0
    m["mean_size"] = np.sqrt(m["size_square"])
    return result


def remembering(state: State, *, leads: bool = False) -> State:
    """The same models, to forget nothing from here on: class sums in units of the last sample, as they fade no more.

    Σ⁻¹ is in that unit, too. Where it is diagonal, features that have paused get the prior back, as if a row held them
    all; the weights follow if they are those of a leader (`leads`).
    """
    result = state.copy()
    result.arrange("split")
    m = result.scalars
    if state.metric != "none":
        _settle(result, leads)
        return result
    for kind, side in ((S_POS, "pos"), (S_NEG, "neg")):
        gain = m[f"gain_{side}"].copy()
        result.vectors[:, kind] /= gain[:, None]
        for name in ("n", "loss", "gain"):
            m[f"{name}_{side}"] /= gain
        for name in ("A", "B"):
            m[f"{name}_{side}"] *= gain
    m["products_known"] = 0
    return result


def _settle(state: State, leads: bool) -> None:
    """Divide the gain, which is the same for both classes, out of a second-order state."""
    m, gain = state.scalars, state.scalars["gain_pos"].copy()
    if state.metric == "full":
        assert state.second is not None
        last = np.arange(1, state.n_features + 2).cumsum() - 1  # of each column of the triangle: its variance
        state.second[:, last] *= gain[:, None]
    else:
        precision = state.vectors[:, Q if state.has_means else POINT_Q]
        before = [state.along_means(letter) for letter in "AB"] if state.has_means else []
        np.maximum(precision, gain[:, None] - 1.0, out=precision)
        if state.has_means:
            change, of_steps = (state.along_means(letter) - was for letter, was in zip("AB", before, strict=True))
            state.vectors[:, V] -= of_steps
            state.vectors[:, V if leads else U] += (m["t"][:, None] + 1 if leads else -1) * change
        precision += 1.0
        precision /= gain[:, None]
        precision -= 1.0
        m["bias_Q"] = np.maximum((1.0 + m["bias_Q"]) / gain, 1.0) - 1.0
    if state.has_means:
        state.vectors[:, S_POS : S_NEG + 1] /= gain[:, None, None]
    for side in ("pos", "neg"):
        for name in ("n", "loss", "seen", "gain"):
            m[f"{name}_{side}"] /= gain
    m["products_known"] = 0


def resized(state: State, n_features: int) -> State:
    """The same models without the last columns, not copied; or with more columns, which no row has filled yet."""
    axis, width = (2 if state.layout == "split" else 1), state.n_features
    if n_features <= width:
        vectors = state.vectors[:, :, :n_features] if axis == 2 else state.vectors[:, :n_features]
    else:
        vectors = zeros(tuple(n_features if k == axis else n for k, n in enumerate(state.vectors.shape)))
        (vectors[:, :, :width] if axis == 2 else vectors[:, :width])[:] = state.vectors
    scalars, most = state.scalars, n_features + (state.metric == "full")
    if (scalars["width"] > most).any():  # in a file of version 1.0, rows have reached all columns, spare ones, too
        scalars = scalars.copy()
        scalars["width"] = np.minimum(scalars["width"], most)
    if state.second is None:
        return replace(state, vectors=vectors, scalars=scalars)
    size = triangle_size(state.n_models, n_features)
    second = state.second[:, :size]
    if size > second.shape[1]:
        second = zeros((state.n_models, size))
        second[:, : state.second.shape[1]] = state.second
    return replace(state, vectors=vectors, scalars=scalars, second=second)


def merged(
    a: State, b: State, settings: NDArray[np.void], *, average: bool, by_size: NDArray[np.bool_] | bool = False
) -> State:
    """One state of what both have seen: class sums, counts and losses add; weights average by the samples seen.

    Where the length of the weights has no meaning (`by_size`), each is first brought to the larger of the usual sizes
    of their margins: else the longer one would drown the other. The reported weights of the result are then the average
    of the reported weights of both, in whatever order and grouping states are merged.
    """
    result = a.empty(a.n_models)
    vectors, m = result.vectors, result.scalars
    for name in ("seen_pos", "seen_neg"):  # which fade only in second order
        gains = [state.scalars["gain_pos"] if state.metric != "none" else 1.0 for state in (a, b)]
        m[name] = a.scalars[name] / gains[0] + b.scalars[name] / gains[1]
    for name in ("t", "updates", "entered", "tp", "fp", "tn", "fn", *_JUDGED):
        m[name] = a.scalars[name] + b.scalars[name]
    for name in ("largest", "width"):
        m[name] = np.maximum(a.scalars[name], b.scalars[name])
    m["exponent"] = np.maximum(a.scalars["exponent"], b.scalars["exponent"])
    m["unit"] = np.minimum(a.scalars["unit"], b.scalars["unit"])
    t = np.maximum(m["t"], 1)
    m["slope"] = 0.0
    mean_w, mean_bias = np.zeros_like(vectors[:, U]), np.zeros_like(m["bias"])
    for state, (factor, shift) in zip((a, b), _rescaling(a, b, by_size), strict=True):
        share = state.scalars["t"] / t
        w, bias = state.own_weights()
        vectors[:, U] += (share * factor)[:, None] * np.ldexp(w, shift[:, None])
        m["bias"] += share * factor * np.ldexp(bias, shift)
        if average:
            w, bias = state.own_weights(average=True)
            mean_w += (share * factor)[:, None] * np.ldexp(w, shift[:, None])
            mean_bias += share * factor * np.ldexp(bias, shift)
            size = np.where(state.scalars["size_square"] > 0, sizes(state.scalars, average=True), 0.0)
            m["mean_size"] += share * factor * np.ldexp(size, shift)
        for kind, side in ((S_POS, "pos"), (S_NEG, "neg")):
            if state.has_means:  # in units of its own last sample, should either have forgotten
                gain = state.scalars[f"gain_{side}"]
                vectors[:, kind] += state.kinds()[:, kind] / gain[:, None]
                m[f"n_{side}"] += state.scalars[f"n_{side}"] / gain
                m[f"loss_{side}"] += factor * np.ldexp(state.scalars[f"loss_{side}"] / gain, shift)
        for name in _CALIBRATION:
            m[name] += share * state.scalars[name]
        for name in _OF_MARGINS:
            m[name] += share * state.scalars[name] * (factor * factor * np.ldexp(1.0, 2 * shift))
    if result.metric != "none":
        merge_metrics(result, a, b, settings)
    if average:
        set_average(result, mean_w, mean_bias)
    return result


def set_average(state: State, mean_w: NDArray[np.float64], mean_bias: NDArray[np.float64]) -> None:
    """Set the steps, in "split" vectors, so that the averaged weights come out as these."""
    m, (w, bias) = state.scalars, state.own_weights()
    t = np.maximum(m["t"], 1)
    steps = w - t[:, None] * (mean_w - w)
    m["bias_steps"] = bias - t * (mean_bias - bias)
    if state.has_means:
        steps = steps - state.along_means("B")
    state.vectors[:, V if state.has_means else POINT_V] = steps


def _rescaling(a: State, b: State, by_size: Any) -> list[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """A factor and a power of two for each state, which bring its weights to the exponent of the result.

    With `by_size`, they also bring the weights to the larger size of the margins. Files written before margins had a
    size go by the lengths of their weights.
    """
    both = [np.sqrt(state.scalars["size_square"]) for state in (a, b)]
    lengths = [np.linalg.norm(state.own_weights()[0], axis=1) for state in (a, b)]
    known = [(size > 0) | (length == 0) for size, length in zip(both, lengths, strict=True)]
    both = [np.where(known[0] & known[1], size, length) for size, length in zip(both, lengths, strict=True)]
    apart = np.asarray(by_size) & (both[0] > 0) & (both[1] > 0)
    exponents = [state.scalars["exponent"] for state in (a, b)]
    logs = [np.log2(np.where(apart, size, 1.0)) + e for size, e in zip(both, exponents, strict=True)]
    result = []
    for log, exponent in zip(logs, exponents, strict=True):
        up = np.where(apart, np.maximum(*logs) - log, 0.0)
        shift = exponent - np.maximum(*exponents) + np.floor(up).astype(np.int64)
        result.append((np.exp2(up - np.floor(up)), shift))
    return result
