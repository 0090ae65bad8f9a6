"""Products of the class sums in twice the working precision: numbers kept as a pair, high + low.

When the class means differ little for their size, ‖z‖² is a small difference of ‖S⁺‖², ‖S⁻‖² and S⁺·S⁻, of which
working precision leaves nothing. Computing it from the vectors would cost d numbers a row. Kept as pairs, the three
products give it to the precision of the vectors, and a row still changes them only by what it holds.

The building blocks are Knuth's exact sum and Dekker's exact product.
"""

from ..compiler.decorators import exact_part
from .memory import S_NEG, S_POS
from .rows import entry, size

_SPLIT = 134217729.0  # 2^27 + 1


@exact_part
def add(a, a_low, b, b_low):
    """a + b."""
    s = a + b
    t = s - a
    low = (a - (s - t)) + (b - t) + a_low + b_low
    high = s + low
    return high, low - (high - s)


@exact_part
def product(a, b):
    """a·b of two single numbers, exactly."""
    p = a * b
    a_scaled = _SPLIT * a
    a_high = a_scaled - (a_scaled - a)
    a_low = a - a_high
    b_scaled = _SPLIT * b
    b_high = b_scaled - (b_scaled - b)
    b_low = b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@exact_part
def scaled(a, a_low, factor):
    """factor·a."""
    p, p_low = product(a, factor)
    return add(p, p_low, a_low * factor, 0.0)


@exact_part
def count_products(rows, i, table, at, positive, sign, m):
    """Add the share of a row's columns in ‖S^own‖² and S⁺·S⁻, or (sign −1) subtract it.

    It is subtracted before the row enters its class sum and added back after: so the products are those of the sums as
    rounded, not of the exact ones.
    """
    own, other = (at[S_POS], at[S_NEG]) if positive else (at[S_NEG], at[S_POS])
    square, square_low = 0.0, 0.0
    cross, cross_low = 0.0, 0.0
    for k in range(size(rows, i)):
        j, _ = entry(rows, i, k)
        mine, theirs = table[j, own], table[j, other]
        square, square_low = add(square, square_low, *product(mine, sign * mine))
        cross, cross_low = add(cross, cross_low, *product(theirs, sign * mine))
    if positive:
        m.pp, m.pp_low = add(m.pp, m.pp_low, square, square_low)
    else:
        m.nn, m.nn_low = add(m.nn, m.nn_low, square, square_low)
    m.pn, m.pn_low = add(m.pn, m.pn_low, cross, cross_low)


@exact_part
def all_products(table, at, m):
    """‖S⁺‖², ‖S⁻‖² and S⁺·S⁻ from the vectors."""
    pp, pp_low, nn, nn_low, pn, pn_low = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(table.shape[0]):
        p, n = table[j, at[S_POS]], table[j, at[S_NEG]]
        pp, pp_low = add(pp, pp_low, *product(p, p))
        nn, nn_low = add(nn, nn_low, *product(n, n))
        pn, pn_low = add(pn, pn_low, *product(p, n))
    m.pp, m.pp_low, m.nn, m.nn_low, m.pn, m.pn_low = pp, pp_low, nn, nn_low, pn, pn_low


@exact_part
def squared_gap(m, a_pos, a_neg):
    """‖a_pos·S⁺ − a_neg·S⁻‖², never below 0."""
    pp, pp_low = scaled(*scaled(m.pp, m.pp_low, a_pos), a_pos)
    nn, nn_low = scaled(*scaled(m.nn, m.nn_low, a_neg), a_neg)
    pn, pn_low = scaled(*scaled(m.pn, m.pn_low, a_pos), -2.0 * a_neg)
    total, low = add(*add(pp, pp_low, nn, nn_low), pn, pn_low)
    return max(0.0, total + low)
