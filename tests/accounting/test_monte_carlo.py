"""The loss, sampled: delta = E[(1 - e^{epsilon - L})_+], with a confidence of one in a million."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shortlist.privacy import BoundedRange, GumbelDP, PureDP, compose

DRAWS = 1_000_000
MARGIN = math.sqrt(math.log(2 / 1e-6) / (2 * DRAWS))
"""Hoeffding's, for means of values in [0, 1]."""


def estimate(losses: np.ndarray, epsilon: float) -> float:
    return float(np.mean(np.maximum(-np.expm1(epsilon - losses), 0.0)))


def gumbel_losses(rng: np.random.Generator, mu: float, k: int, *, ahead: bool = True) -> np.ndarray:
    """The loss of k clocks: densities of a gamma variable of shape k with its scale moved by e^mu."""
    clock = rng.gamma(k, size=DRAWS)
    return math.expm1(mu) * clock - k * mu if ahead else k * mu + math.expm1(-mu) * clock


def response_losses(rng: np.random.Generator, epsilon: float, times: int) -> np.ndarray:
    return epsilon * (2.0 * rng.binomial(times, 1 / (1 + math.exp(-epsilon)), size=DRAWS) - times)


CASES = [
    (GumbelDP(0.7, 3), 0.5, lambda rng: gumbel_losses(rng, 0.7, 3)),
    (GumbelDP(0.2, 10), 0.3, lambda rng: gumbel_losses(rng, 0.2, 10)),
    (
        GumbelDP(0.3, 4, monotone=False),
        0.4,
        lambda rng: gumbel_losses(rng, 0.3, 4) + gumbel_losses(rng, 0.3, 4, ahead=False),
    ),
    (PureDP(0.2).repeat(20), 0.5, lambda rng: response_losses(rng, 0.2, 20)),
    (
        compose(PureDP(0.3).repeat(5), GumbelDP(0.2, 3)),
        0.5,
        lambda rng: response_losses(rng, 0.3, 5) + gumbel_losses(rng, 0.2, 3),
    ),
]


@pytest.mark.parametrize(
    ("guarantee", "epsilon", "sample"), CASES, ids=lambda value: "loss" if callable(value) else str(value)[:40]
)
def test_the_sampled_loss_lies_between_the_bounds(guarantee, epsilon, sample):
    found = estimate(sample(np.random.default_rng(3)), epsilon)
    lower, upper = guarantee.delta_bounds(epsilon)
    assert lower - MARGIN <= found <= upper + MARGIN
    assert upper - lower < 0.02


@pytest.mark.parametrize(
    ("guarantee", "epsilon", "sample"),
    [
        (GumbelDP(0.6, 3), 0.5, CASES[0][2]),
        (GumbelDP(0.7, 2), 0.5, CASES[0][2]),
        (GumbelDP(0.3, 4), 0.4, CASES[2][2]),
        (BoundedRange(0.2).repeat(20), 0.5, CASES[3][2]),
        (PureDP(0.2).repeat(18), 0.5, CASES[3][2]),
    ],
    ids=lambda value: "loss" if callable(value) else str(value)[:40],
)
def test_a_promise_that_is_too_good_is_found_out(guarantee, epsilon, sample):
    found = estimate(sample(np.random.default_rng(3)), epsilon)
    assert found > guarantee.delta_at(epsilon) + MARGIN


def test_peeling_is_within_adaptive_bounded_range():
    """Two rounds of the exponential mechanism without replacement, exactly."""
    scores = np.array([1.0, 0.4, 0.0, -0.3])
    moved = scores + np.array([0.0, 1.0, 0.0, 1.0])

    def law(x: np.ndarray) -> np.ndarray:
        w = np.exp(x)
        table = np.outer(w, w) / w.sum() / (w.sum() - w)[:, None]
        return table[~np.eye(4, dtype=bool)]

    p, q = law(scores), law(moved)
    for epsilon in (0.0, 0.3, 0.9):
        claim = BoundedRange(1.0).repeat(2).delta_at(epsilon)
        for one, other in ((p, q), (q, p)):
            assert float(np.maximum(one - math.exp(epsilon) * other, 0).sum()) <= claim
