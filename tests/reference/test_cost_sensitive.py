"""The oracle for the study's gradient descents: first steps by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pater.reference import cost_sensitive as reference

X, Y = np.array([[2.0], [1.0], [1.0]]), np.array([1, -1, 1])


def test_csogd_by_hand():
    """η = ½. x₁: ρ = 1, w = ½·2. x₂: w = 1 − ½. x₃: ρ = T⁻/T⁺ = ½, and f = ½: no loss I; loss II gives ½·ρ."""
    np.testing.assert_allclose(reference.csogd(X, Y, "I", 0.5)[:, 0], [1, 1 / 2, 1 / 2], rtol=1e-15)
    np.testing.assert_allclose(reference.csogd(X, Y, "II", 0.5)[:, 0], [1, 1 / 2, 3 / 4], rtol=1e-15)


@pytest.mark.parametrize("diagonal", [False, True])
def test_acog_by_hand(diagonal):
    """η = γ = 1. 1/Σ: 1, then 5, 6 and 7. x₁: w = 2/5. x₂: w = 2/5 − 1/6 = 7/30. x₃: ρ = ½ > f: + 1/7, or half."""
    first = reference.acog(X, Y, "I", 1, diagonal=diagonal)[:, 0]
    second = reference.acog(X, Y, "II", 1, diagonal=diagonal)[:, 0]
    np.testing.assert_allclose(first, [2 / 5, 7 / 30, 7 / 30 + 1 / 7], rtol=1e-14)
    np.testing.assert_allclose(second, [2 / 5, 7 / 30, 7 / 30 + 1 / 14], rtol=1e-14)


def test_a_full_covariance_divides_by_all_of_the_row_and_a_diagonal_one_by_each_column():
    """x = (1, 1): Σx = x·(1 − 2/(γ + 2)), against 1/(1 + 1/γ) in each column."""
    row = np.ones((1, 2))
    np.testing.assert_allclose(reference.acog(row, [1], "I", 1, 2)[0], [1 / 2, 1 / 2], rtol=1e-15)
    np.testing.assert_allclose(reference.acog(row, [1], "I", 1, 2, diagonal=True)[0], [2 / 3, 2 / 3], rtol=1e-15)


def test_adagrad_by_hand():
    """η = 1. x₁: the weight is n/(2·n⁺) = ½, g = −½·2·½, and the first step is the rate. x₂: weight 1, g = σ(1)."""
    g = 1 / (1 + np.exp(-1))
    w = reference.adagrad(X, Y, 1)[:2, 0]
    np.testing.assert_allclose(w, [1, 1 - g / np.sqrt(1 / 4 + g**2)], rtol=1e-15)
    assert reference.adagrad(np.array([[1.0, 0.0]]), [1], 1)[0].tolist() == [1, 0]


def test_ftrl_by_hand():
    """α = β = λ₂ = 1. x₁: g = z = −½, √n = ½, w = ½/(1 + ½ + 1). x₂: g = σ(w), and the old w holds by √n′ − ½."""
    g = 1 / (1 + np.exp(-0.2))
    n = np.sqrt(1 / 4 + g**2)
    second = (1 / 2 - g + (n - 1 / 2) * 0.2) / (2 + n)
    np.testing.assert_allclose(reference.ftrl(X, Y, 1)[:2, 0], [0.2, second], rtol=1e-14)
    assert reference.ftrl(X, Y, 1, 0.25)[0] == pytest.approx(0.1)
    assert reference.ftrl(X, Y, 1, 0.5)[0] == 0
