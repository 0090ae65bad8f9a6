"""The oracle itself: small examples by hand, and the pseudo-code as printed next to the intended algorithm."""

from __future__ import annotations

import numpy as np
import pytest

from pater.reference import first_order as reference


def test_the_printed_pseudo_code_by_hand():
    """Algorithms 1 and 2 without clipping: a sample right by more than the margin still moves the weights, backwards.

    x₁ = 1, +: z⁺ = 1, w = 1.
    x₂ = 3, +: f = 3, 1 − f = −2. z = 2, ‖z‖² = 4. I: (−2)/2/4·2 = −½, w = ½. II: k⁺ = (1 − 2)/2 = −½: the same w = ¾.
    x₃ = −1, −: I: f = −½, 1 + f = ½. z = 2 + 1 = 3: w = ½ + ½/9·3 = 2/3.
        II: f = −¾, k⁻ = ¼, k⁺ = −½: (−¼)/9·3 = −1/12, w = ¾ − 1/12 = 2/3.
    """
    X, y = np.array([[1.0], [3.0], [-1.0]]), np.array([1, 1, -1])
    printed = reference.pater_as_printed(X, y, "I")
    np.testing.assert_allclose(printed[:, 0], [1, 1 / 2, 2 / 3], rtol=1e-15)
    printed = reference.pater_as_printed(X, y, "II")
    np.testing.assert_allclose(printed[:, 0], [1, 3 / 4, 2 / 3], rtol=1e-15)


def test_the_algorithm_that_was_meant_by_hand():
    """Clipped: x₂ is right by more than the margin.

    I is passive: w stays 1, and x₂ is in no mean. x₃: f = −1, ℓ = 0: passive again.
    II: k⁺ = (1 + 0)/2, z = 2: w = 1 + ½/4·2 = 5/4. x₃: f = −5/4, ℓ = 0, k⁻ = 0, z = 3: w = 5/4 + ½/9·3 = 17/12.
    """
    X, y = np.array([[1.0], [3.0], [-1.0]]), np.array([1, 1, -1])
    np.testing.assert_allclose(reference.pater(X, y, "I")[:, 0], [1, 1, 1], rtol=1e-15)
    np.testing.assert_allclose(reference.pater(X, y, "II")[:, 0], [1, 5 / 4, 17 / 12], rtol=1e-15)


@pytest.mark.parametrize("variant", ["I", "II"])
def test_the_two_part_ways_on_a_stream(variant, stream):
    X, y = stream(500, 4)
    printed, meant = reference.pater_as_printed(X, y, variant)[-1], reference.pater(X, y, variant)[-1]
    cosine = printed @ meant / np.linalg.norm(printed) / np.linalg.norm(meant)
    assert cosine < 0.99


@pytest.mark.parametrize("variant", ["I", "II"])
def test_they_agree_while_every_sample_has_a_loss(variant):
    """Until the first sample without a loss, nothing is clipped and nothing is passive."""
    rng = np.random.default_rng(0)
    y = np.resize([1, -1], 12)
    X = rng.normal(size=(12, 5)) + 0.05 * y[:, None]
    w = reference.pater(X, y, variant)
    margins = y[1:] * np.einsum("ij,ij->i", w[:-1], X[1:])
    stop = 1 + int(np.argmax(margins >= 1)) if (margins >= 1).any() else len(y)
    assert stop >= 3
    np.testing.assert_allclose(reference.pater_as_printed(X[:stop], y[:stop], variant), w[:stop], rtol=1e-12)


def test_perceptron_and_pa_by_hand():
    X, y = np.array([[1.0, 0.0], [0.0, 2.0], [2.0, 2.0]]), np.array([1, -1, 1])
    assert reference.perceptron(X, y).tolist() == [[1, 0], [1, -2], [3, 0]]
    np.testing.assert_allclose(reference.pa(X, y)[:2], [[1, 0], [1, -0.5]])
    np.testing.assert_allclose(reference.pa_i(X, y, 0.1)[:2], [[0.1, 0], [0.1, -0.2]])
    np.testing.assert_allclose(reference.pa_ii(X, y, 0.5)[:2], [[0.5, 0], [0.5, -0.4]])


def test_importance_zero_is_not_there(stream):
    X, y = stream(60, 3)
    s = np.resize([1.0, 0.0, 3.0], 60)
    for variant in ("I", "II"):
        with_zeros = reference.pater(X, y, variant, s=s, alpha="balanced")[-1]
        without = reference.pater(X[s > 0], y[s > 0], variant, s=s[s > 0], alpha="balanced")[-1]
        np.testing.assert_array_equal(with_zeros, without)
    trace = reference.pa(X, y, s=s)
    np.testing.assert_allclose(reference.averaged(trace, s), reference.pa(X[s > 0], y[s > 0], s=s[s > 0]).mean(axis=0))


def test_extended_precision_goes_through(stream):
    X, y = stream(50, 3)
    assert reference.pater(X.astype(np.longdouble), y, "II").dtype == np.longdouble
