"""Changes to a whole state that are not learning: turn a model round, add one, merge two states.

Knows `state` only. Each returns a new state and leaves its arguments as they are.
"""

from __future__ import annotations

import numpy as np

from .state import S_NEG, S_POS, SCALARS, State, U

_CALIBRATION = ("slope", "offset", "slope_slope", "slope_offset", "offset_offset", "margin_square")
_PAIRS = [(name, name[:-4] + "_neg") for name in SCALARS.names or () if name.endswith("_pos")]


def mirrored(state: State) -> State:
    """The same models with the classes exchanged: they say −f(x) where they said f(x)."""
    result = state.copy()
    result.arrange("split")
    vectors, m = result.vectors, result.scalars
    for kind in (U, -1):
        np.negative(vectors[:, kind], out=vectors[:, kind])
    for name in ("bias", "bias_steps", "offset", "slope_offset"):
        np.negative(m[name], out=m[name])
    for a, b in (("tp", "tn"), ("fp", "fn")):
        m[a], m[b] = state.scalars[b], state.scalars[a]
    if state.has_means:
        vectors[:, [S_POS, S_NEG]] = vectors[:, [S_NEG, S_POS]]
        for a, b in (("pp", "nn"), ("pp_low", "nn_low")):
            m[a], m[b] = state.scalars[b], state.scalars[a]
    for positive, negative in _PAIRS:
        m[positive], m[negative] = state.scalars[negative], state.scalars[positive]
    return result


def joined(states: list[State]) -> State:
    """The models of all states, one after the other."""
    vectors = np.concatenate([state.kinds() for state in states])
    return State(vectors, np.concatenate([state.scalars for state in states]), "split", states[0].group)


def merged(a: State, b: State, *, average: bool) -> State:
    """One state of what both have seen: class sums, counts and losses add; weights average by the samples seen."""
    result = State.new(a.n_models, a.n_features, means=a.has_means, group=a.group)
    vectors, m = result.vectors, result.scalars
    for name in ("seen_pos", "seen_neg", "t", "updates", "tp", "fp", "tn", "fn"):
        m[name] = a.scalars[name] + b.scalars[name]
    m["largest"] = np.maximum(a.scalars["largest"], b.scalars["largest"])
    m["exponent"] = np.maximum(a.scalars["exponent"], b.scalars["exponent"])
    m["unit"] = np.minimum(a.scalars["unit"], b.scalars["unit"])
    t = np.maximum(m["t"], 1)
    m["slope"] = 0.0
    mean_w, mean_bias = np.zeros_like(vectors[:, U]), np.zeros_like(m["bias"])
    for state in (a, b):
        shift, share = state.scalars["exponent"] - m["exponent"], state.scalars["t"] / t
        w, bias = state.own_weights()
        vectors[:, U] += share[:, None] * np.ldexp(w, shift[:, None])
        m["bias"] += share * np.ldexp(bias, shift)
        if average:
            w, bias = state.own_weights(average=True)
            mean_w += share[:, None] * np.ldexp(w, shift[:, None])
            mean_bias += share * np.ldexp(bias, shift)
        for kind, side in ((S_POS, "pos"), (S_NEG, "neg")):
            if state.has_means:  # in units of its own last sample, should either have forgotten
                gain = state.scalars[f"gain_{side}"]
                vectors[:, kind] += state.kinds()[:, kind] / gain[:, None]
                m[f"n_{side}"] += state.scalars[f"n_{side}"] / gain
                m[f"loss_{side}"] += np.ldexp(state.scalars[f"loss_{side}"] / gain, shift)
        for name in _CALIBRATION:
            m[name] += share * state.scalars[name] * np.ldexp(1.0, 2 * shift if name == "margin_square" else 0)
    if average:  # the steps that make the averaged weights come out as the average of both
        vectors[:, -1] = vectors[:, U] - t[:, None] * (mean_w - vectors[:, U])
        m["bias_steps"] = m["bias"] - t * (mean_bias - m["bias"])
    return result
