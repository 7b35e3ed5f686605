"""The law of one-shot top-k: independent paths, identities that must hold, extremes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from shortlist.noise import piecewise_noise
from tests.helpers import by_force
from tests.helpers.laws import (
    NOISES,
    good_ranks,
    great_ranks,
    holds,
    inclusion_probabilities,
    number_correct,
    quality,
    right_probability,
    winner_probabilities,
)
from tests.helpers.support import full_size, sized

every_noise = pytest.mark.parametrize("noise", NOISES)
every_shape = pytest.mark.parametrize("noise", ["exponential", "gumbel", "laplace"])
"""A law that starts at a kink, a smooth one, and one with a kink in the middle."""

SMALL = [
    [5.0, 4.0, 4.0, 1.0, 0.0],
    [0.0, 0.0, 0.0, 0.0],
    [1e-4, 0.0, -1e-4, 3.0, -30.0],
]


def scores(d, spread=1.0, seed=0, ties=False):
    s = spread * np.random.default_rng(seed).normal(size=d)
    return np.round(s * 4) / 4 if ties else s


def great(s, k, noise):
    return quality(s, k, noise).great


@full_size
@every_noise
@pytest.mark.parametrize("s", SMALL, ids=str)
def test_every_law_agrees_with_one_integral_per_set(s, noise):
    every = (1, 2, len(s) - 1)
    for k in every if s is SMALL[0] else sized(every[1:2], full=every):
        sets = by_force.set_probabilities(s, k, noise)
        x = np.array(s)
        assert right_probability(x, k, noise) == pytest.approx(by_force.right(sets, s, k), abs=1e-12)
        np.testing.assert_allclose(number_correct(x, k, noise), by_force.correct(sets, s, k), atol=1e-12)
        np.testing.assert_allclose(inclusion_probabilities(x, k, noise), by_force.inclusion(sets, len(s)), atol=1e-12)
        found = quality(x, k, noise)
        for value, ranks in ((found.great, great_ranks(k)), (found.good, good_ranks(k))):
            assert value == pytest.approx(sum(p for y, p in sets.items() if holds(s, y, *ranks)), abs=1e-12)


@every_noise
@pytest.mark.parametrize(("d", "k", "ties"), [(14, 4, False), (14, 11, True)])
def test_laws_agree_with_counting_by_recursion(d, k, ties, noise):
    s = scores(d, 2.0, seed=k, ties=ties)
    np.testing.assert_allclose(number_correct(s, k, noise), by_force.correct_by_recursion(s, k, noise), atol=1e-12)
    np.testing.assert_allclose(
        inclusion_probabilities(s, k, noise), by_force.inclusion_by_recursion(s, k, noise), atol=1e-12
    )


@pytest.mark.parametrize("k", [1, 2, 3])
def test_gumbel_inclusions_agree_with_plackett_luce(k):
    s = scores(6, 1.5, seed=1)
    expected = by_force.inclusion(by_force.plackett_luce(s, k), 6)
    np.testing.assert_allclose(inclusion_probabilities(s, k, "gumbel"), expected, atol=1e-13)


@every_shape
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("d", "k", "spread"), [(2, 1, 1.0), (300, 30, 0.01), (300, 299, 3.0)])
def test_masses_add_up(d, k, spread, ties, noise):
    s = scores(d, spread, seed=2, ties=ties)
    law, included = number_correct(s, k, noise), inclusion_probabilities(s, k, noise)
    assert law.sum() == pytest.approx(1, abs=1e-11)
    assert included.sum() == pytest.approx(k, abs=k * 1e-11)
    assert law.min() >= 0
    assert 0 <= included.min() <= included.max() <= 1
    correct = s >= np.sort(s)[-k]
    assert law @ np.arange(k + 1) == pytest.approx(included[correct].sum(), abs=k * 1e-11)


@full_size
@every_shape
@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_right_is_all_correct_when_no_tie_crosses_rank_k(spread, noise):
    s = scores(sized(60, full=120), spread, seed=3)
    for k in (1, sized(20, full=40)):
        assert right_probability(s, k, noise) == pytest.approx(number_correct(s, k, noise)[k], abs=1e-13)


def test_right_is_less_than_all_correct_when_a_tie_crosses_rank_k():
    s = np.array([0.0, 0.0, 5.0])
    assert number_correct(s, 2, "laplace")[2] == pytest.approx(1)
    assert right_probability(s, 2, "laplace") < 0.999


@every_noise
def test_equal_scores_are_a_uniform_set(noise):
    s, d, k = np.zeros(500), 500, 40
    assert right_probability(s, k, noise) == pytest.approx(1, abs=1e-10)
    np.testing.assert_allclose(inclusion_probabilities(s, k, noise), k / d, rtol=1e-11)
    np.testing.assert_allclose(number_correct(s, k, noise), np.arange(k + 1) == k, atol=1e-11)


def test_exponential_noise_fails_less_than_gumbel_and_half_as_often_in_the_end():
    """In the end the only rivals are ranks k and k + 1: e^-gap / 2 against e^-gap."""
    s = np.array([40.0, 14.0, 0.0, -30.0])
    for scale in (0.01, 0.1, 0.5, 1.0):
        exponential, gumbel = (1 - right_probability(scale * s, 2, noise) for noise in ("exponential", "gumbel"))
        assert exponential < gumbel
    assert exponential / gumbel == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("noise", ["laplace", "logistic"])
def test_symmetric_noise_chooses_losers_as_it_chooses_winners(noise):
    s = scores(50, 2.0, seed=5)
    np.testing.assert_allclose(
        inclusion_probabilities(s, 12, noise), 1 - inclusion_probabilities(-s, 38, noise), atol=1e-12
    )


@every_noise
def test_one_winner_has_the_law_of_the_noisy_maximum(noise):
    s = scores(80, 1.0, seed=6, ties=True)
    law = winner_probabilities(s, noise)
    np.testing.assert_allclose(inclusion_probabilities(s, 1, noise), law, atol=1e-12)
    assert right_probability(s, 1, noise) == pytest.approx(law[s == s.max()].sum(), abs=1e-12)


@every_noise
def test_laws_are_equivariant_under_permutation_and_invariant_under_shifts(noise):
    s = scores(40, 1.0, seed=7, ties=True)
    order = np.random.default_rng(8).permutation(40)
    np.testing.assert_array_equal(
        inclusion_probabilities(s[order], 9, noise), inclusion_probabilities(s, 9, noise)[order]
    )
    assert quality(s[order], 9, noise) == quality(s, 9, noise) == quality(s + 512.0, 9, noise)


@pytest.mark.parametrize(
    ("k", "noise"),
    [
        *((3, noise) for noise in ("exponential", "gumbel", "laplace")),
        (30, "gumbel"),
        *(pytest.param(30, noise, marks=pytest.mark.long) for noise in ("exponential", "laplace")),
    ],
)
def test_many_items_by_cells_agree_with_each_item_by_itself(k, noise, monkeypatch):
    s = np.random.default_rng(9).exponential(size=300)
    laws: list[Any] = [number_correct, inclusion_probabilities, great, right_probability]
    by_cells = [law(s, k, noise) for law in laws]
    monkeypatch.setattr("shortlist.utility.quadrature.FULL_CELL", np.inf)
    for law, value in zip(laws, by_cells, strict=True):
        np.testing.assert_allclose(value, law(s, k, noise), rtol=1e-9, atol=1e-13)


@full_size
@every_shape
@pytest.mark.parametrize("spread", [1e-3, pytest.param(10.0, marks=pytest.mark.long)])
def test_very_many_distinct_scores_and_a_hundred_winners(spread, noise):
    s = scores(sized(20_000, full=100_000), spread, seed=10)
    law = number_correct(s, 100, noise)
    assert law.sum() == pytest.approx(1, abs=1e-11)
    assert law[100] == pytest.approx(right_probability(s, 100, noise), abs=1e-11)


@every_noise
def test_small_probabilities_of_being_right_are_exact_too(noise):
    """k ties above d - k ties, far too much noise: 1 / C(d, k) times a little more than 1."""
    s = np.repeat([1e-9, 0.0], [50, 450])
    assert right_probability(s, 50, noise) == pytest.approx(1 / math.comb(500, 50), rel=1e-6)


@every_noise
def test_returning_everything_is_certain(noise):
    for s, k in (([0.0], 1), ([3.0, -np.inf, 1.0, -np.inf], 2)):
        finite = np.isfinite(s)
        assert quality(np.array(s), k, noise) == quality(np.zeros(k), k, noise)
        assert right_probability(np.array(s), k, noise) == 1.0
        np.testing.assert_array_equal(number_correct(np.array(s), k, noise), np.arange(k + 1) == k)
        np.testing.assert_array_equal(inclusion_probabilities(np.array(s), k, noise), finite)


@every_noise
def test_items_at_minus_infinity_change_nothing(noise):
    s = np.array([1.0, 0.5, -0.25, 2.0])
    with_never = np.array([1.0, -np.inf, 0.5, -0.25, -np.inf, 2.0])
    assert quality(with_never, 2, noise) == quality(s, 2, noise)
    included = inclusion_probabilities(with_never, 2, noise)
    assert included[1] == included[4] == 0
    np.testing.assert_array_equal(included[[0, 2, 3, 5]], inclusion_probabilities(s, 2, noise))


@every_noise
@pytest.mark.parametrize("gap", [0.01, 20.0])
def test_a_cluster_beside_another_item_has_two_scales(gap, noise):
    """The best loser is the single item, or (far away: with chance about e^-20) the least of a thousand."""
    s = np.concatenate([np.zeros(1000), [-gap]])
    law = number_correct(s, 1000, noise)
    assert law.sum() == pytest.approx(1, abs=1e-11)
    assert law[1000] == pytest.approx(right_probability(s, 1000, noise), abs=1e-11)


def test_custom_noise_with_many_kinks_agrees_with_one_integral_per_set():
    knots = [5 * j for j in range(40)]
    noise = piecewise_noise(knots, [-1, 0] * 19 + [-1, -1])
    law = tuple((lambda x, log=log: np.exp(log(x))) for log in (noise.log_survival, noise.log_cdf, noise.log_density))
    s = [5.0, 0.0, 5.0, 3.3]
    sets = by_force.set_probabilities(s, 2, law, noise.kinks)
    np.testing.assert_allclose(inclusion_probabilities(np.array(s), 2, noise), by_force.inclusion(sets, 4), atol=1e-9)
    assert right_probability(np.array(s), 2, noise) == pytest.approx(by_force.right(sets, s, 2), abs=1e-9)


def test_quality_is_made_of_the_other_laws():
    s = scores(60, 2.0, seed=11)
    found = quality(s, 20, "half-logistic")
    assert found.top == right_probability(s, 20, "half-logistic")
    assert found.recall == pytest.approx(inclusion_probabilities(s, 20, "half-logistic")[np.argsort(-s)[:20]].mean())
    assert found.top < found.great < found.good < 1
