"""Races on a box: forgotten factors are seen, custom noise protects sets only, and bounded range is Gumbel's alone."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from shortlist import PureDP
from shortlist.audit import Law, alike, neighbours, prove
from shortlist.audit.certified import base
from shortlist.exact.noise import KINDS
from shortlist.mechanisms import NoisyMax, OneshotTopK
from shortlist.noise import piecewise_noise
from studies.broken.selection import custom
from tests.helpers.laws import winner_probabilities

every = pytest.mark.parametrize("noise", list(KINDS))
kind = pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])


def box(law, d, monotone, scale, top=2, k=1, noise="gumbel"):
    pairs = neighbours(d, top, monotone=monotone)
    same = partial(alike, exchangeable=True, shift_invariant=True)
    return prove(lambda x: Law(law(x, k, noise, scale)), pairs, PureDP(1.0), alike=same)


@every
def test_certified_laws_are_those_of_the_quadrature(noise):
    """An independent path: the exact law, in floats."""
    s = [1.5, 1.0, 0.0, -0.3]
    ours = [float(p) for p in base.ordered_law(s, 1, noise, 1).values()]
    assert ours == pytest.approx(winner_probabilities(np.array(s), KINDS[noise]).tolist(), abs=1e-11)
    pairs = base.ordered_law(s, 2, noise, 1)
    assert float(sum(pairs.values())) == pytest.approx(1, abs=1e-14)
    for chosen, chance in base.set_law(s, 2, noise, 1).items():
        assert float(chance) == pytest.approx(float(pairs[chosen] + pairs[chosen[::-1]]), abs=1e-14)


def test_oracles_of_one_shot_sets():
    """x = [3, 2, 0, 1], epsilon 1, R 2, k 2 (Table 154)."""
    exponential = [0.3619372, 0.1526619, 0.2213824, 0.0854381, 0.1202672, 0.0583132]
    laplace = [0.2832299, 0.1548496, 0.2097723, 0.1139423, 0.1548496, 0.0833563]
    for noise, oracle in (("exponential", exponential), ("laplace", laplace)):
        assert [float(p) for p in base.set_law([3, 2, 0, 1], 2, noise, 4).values()] == pytest.approx(oracle, abs=1e-7)


def test_many_candidates_and_a_guard():
    exponents = [Fraction(0), Fraction(-1, 2), Fraction(-6, 5), Fraction(-1, 10)]
    oracle = [0.38706978, 0.19512438, 0.08850279, 0.32930304]
    assert [float(p) for p in base.choice_law(exponents, "exponential")] == pytest.approx(oracle, abs=1e-8)
    from flint import arb

    law, guard = base.choice_with_guard(exponents, arb(-60), Fraction(1, 4))
    assert [float(p) for p in law] == pytest.approx(oracle, abs=1e-5)
    assert 0 < float(guard) < 1e-6
    assert float(base.choice_with_guard(exponents, arb(9), Fraction(1, 4))[1]) > 0.85


def test_the_oracle_of_a_gap():
    """k = 1, x = (3, 2), exponential noise of scale 2: the density of (0, g) is e^(-|g - 1| / 2) / 4 (Table 155)."""
    from shortlist.audit.certified.base import NAMED

    for gap in (0.0, 0.5, 1.0, 3.0):
        density = base.gap_density([3, 2], (0,), [gap], NAMED["exponential"], 2)
        assert float(density) == pytest.approx(np.exp(-abs(gap - 1) / 2) / 4, rel=1e-12)


@every
def test_forgetting_the_factor_two_for_general_scores_is_caught(noise):
    proof = box(base.ordered_law, 3, False, 1, noise=noise)
    assert not proof.holds
    assert proof.least_log_ratio > 1.01


@pytest.mark.parametrize("noise", ["exponential", "gumbel", "laplace", "half-logistic"])
def test_not_charging_for_k_is_caught(noise):
    assert box(base.ordered_law, 4, True, 1, top=1, k=2, noise=noise).least_log_ratio > 1.01


def test_dividing_by_the_sensitivity_twice_is_caught():
    """As printed, counts with sens 1/2: scale k R / (2 epsilon) (Proposition 140)."""
    assert box(base.set_law, 4, True, 1, top=1, k=2, noise="exponential").least_log_ratio > 1.5


KNOTS, SLOPES = [0, 5, 10, 15, 20, 25, 30, 35], [-1, 0, -1, 0, -1, 0, -1, -1]
"""Hazard 1 on [10 j, 10 j + 5] and 0 elsewhere: the counterexample (Proposition 61), cut at 35."""


def test_the_order_under_custom_noise_would_break_the_guarantee_and_the_set_does_not():
    pair = [((5, 0, 5), (5.25, 0.25, 4.75))]
    noise = custom(KNOTS, SLOPES)
    order = prove(lambda x: Law(base.ordered_law(x, 2, noise, 1)), pair, PureDP(1.0))
    assert order.log_ratio == pytest.approx(3.0056, abs=1e-4)
    assert not order.holds
    assert prove(lambda x: Law(base.set_law(x, 2, noise, 1)), pair, PureDP(1.0)).holds
    assert not OneshotTopK(k=2, epsilon=1.0, noise=piecewise_noise(KNOTS, SLOPES)).ordered


@kind
def test_sets_under_custom_noise_keep_epsilon(monotone):
    noise = custom([0, 1, Fraction(5, 2)], [Fraction(-1, 2), 0, -1])
    assert box(base.set_law, 4, monotone, 2 if monotone else 4, top=1, k=2, noise=noise).holds


def test_permute_and_flip_has_no_bounded_range_and_gumbel_has():
    """The log ratios of the outcomes spread over 1.6636 at epsilon 1 (Theorem 53); for Gumbel noise over at most 1."""
    pair = [((0, -0.5), (-0.5, 0))]

    def race_of_one(noise, x):
        return Law(base.ordered_law(x, 1, noise, 1))

    spread = {
        noise: prove(partial(race_of_one, noise), pair, PureDP(1.0)).spread for noise in ("exponential", "gumbel")
    }
    assert spread["exponential"] == pytest.approx(1.6636, abs=1e-4)
    assert spread["gumbel"] <= 1.0 + 1e-12
    assert NoisyMax(epsilon=1.0, noise="gumbel").charge != NoisyMax(epsilon=1.0, noise="exponential").charge
