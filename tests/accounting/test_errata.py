"""Four formulas in print that are wrong: each fails the check that ours passes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import comb, ndtr

from shortlist.privacy import ZCDP, BoundedRange, GumbelDP, PureDP


def gaussian_delta(rho: float, epsilon: float) -> float:
    shift = math.sqrt(2 * rho)
    return float(ndtr(shift / 2 - epsilon / shift) - math.exp(epsilon) * ndtr(-shift / 2 - epsilon / shift))


def conversion_holds(epsilon_of) -> bool:
    """The Gaussian mechanism is rho-zCDP, so a conversion must give an epsilon at which its delta is small
    enough.
    """
    cases = [(0.1, 1e-6), (0.5, 1e-5), (1.0, 1e-6), (2.0, 1e-6)]
    return all(gaussian_delta(rho, epsilon_of(rho, delta)) <= delta for rho, delta in cases)


def test_theorem_11_of_stable_top_k_converts_zcdp_wrongly():
    def printed(rho: float, delta: float) -> float:
        return rho + math.sqrt(2 * rho * math.log(1 / delta))

    assert not conversion_holds(printed)
    assert gaussian_delta(1.0, printed(1.0, 1e-6)) == pytest.approx(2.575e-5, rel=1e-3)
    assert gaussian_delta(0.1, printed(0.1, 1e-6)) == pytest.approx(9.798e-6, rel=1e-3)
    assert gaussian_delta(0.5, printed(0.5, 1e-5)) == pytest.approx(7.141e-5, rel=1e-3)
    assert gaussian_delta(2.0, printed(2.0, 1e-6)) == pytest.approx(3.301e-5, rel=1e-3)
    assert conversion_holds(lambda rho, delta: ZCDP(rho).epsilon_at(delta))
    assert BoundedRange(0.1).repeat(400).delta_at(4.2169) >= 1.817e-5


def named_top_two(counts: tuple[int, ...], rho: float, failing: float) -> float:
    """P[algorithm 2 of the adaptive-k paper returns the two largest]: rank 2 by Gumbel noise, then a Gaussian test."""
    gaps = [here - behind for here, behind in pairwise(counts)]
    weights = [math.exp(math.sqrt(rho) * gap) for gap in gaps]
    test = math.sqrt(rho) * (max(1, gaps[1]) - 1) - math.sqrt(2 * math.log(1 / failing))
    return weights[1] / sum(weights) * float(ndtr(test))


def test_theorem_11_fails_for_the_algorithm_it_is_about():
    rho, delta, failing = 0.25, 1e-9, 1e-12
    few, more = (named_top_two(one, rho, failing) for one in ((23, 14, 9, 0), (23, 15, 9, 1)))
    printed = rho + math.sqrt(2 * rho * math.log(1 / delta))
    assert more - math.exp(printed) * few == pytest.approx(6.523e-9, rel=1e-3)
    assert more - math.exp(printed) * few > 6 * (delta + failing)
    right = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert more - math.exp(right) * few < delta


def gumbel_profile_holds(delta_of) -> bool:
    """delta must be the integral of (p - e^epsilon q)_+ for exponential clocks, hence at most one."""
    g = np.linspace(0, 200, 2_000_001)
    for mu, epsilon in [(1.0, 0.5), (1.0, 1.0), (0.5, 0.3)]:
        p, q = np.exp(-mu - g * math.exp(-mu)), np.exp(-g)
        truth = float(np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), g))
        if not (delta_of(mu, epsilon) <= 1 and delta_of(mu, epsilon) == pytest.approx(truth, rel=1e-5)):
            return False
    return True


def test_corollary_1_of_the_gumbel_paper_has_a_wrong_exponent():
    def corollary(mu: float, epsilon: float) -> float:
        return (math.exp(mu + epsilon) - math.exp(epsilon)) * math.exp((mu + epsilon) / math.expm1(mu + epsilon))

    def theorem_3(mu: float, epsilon: float) -> float:
        return math.exp(mu + epsilon) - math.exp(epsilon)

    assert corollary(1.0, 0.5) == pytest.approx(4.3586, abs=1e-4)
    assert theorem_3(1.0, 0.5) == pytest.approx(2.8330, abs=1e-4)
    assert not gumbel_profile_holds(corollary)
    assert not gumbel_profile_holds(theorem_3)
    assert gumbel_profile_holds(lambda mu, epsilon: GumbelDP(mu).delta_at(epsilon))


def nonadaptive(epsilon: float, rounds: int, x: float) -> float:
    """Lemma 3 of the Gumbel paper: the best window that is the same in all rounds."""
    best = 0.0
    for last in range(rounds + 1):
        t = min(max((x + (last + 1) * epsilon) / (rounds + 1), 0.0), epsilon)
        q = (math.exp(-t) - math.exp(-epsilon)) / -math.expm1(-epsilon)
        downs = np.arange(rounds + 1)
        law = comb(rounds, downs) * q ** (rounds - downs) * (1 - q) ** downs
        best = max(best, float(law @ np.maximum(np.exp(rounds * t - downs * epsilon) - math.exp(x), 0)))
    return best


def two_adaptive_rounds(epsilon: float, x: float) -> float:
    """An adversary that chooses its second window after the first loss, t = (x + epsilon)/2 being best at
    the end.
    """

    def last(y: np.ndarray) -> np.ndarray:
        t = np.clip((y + epsilon) / 2, 0.0, epsilon)
        low = np.expm1(t) / math.expm1(epsilon)
        return (1 - low) * np.maximum(-np.expm1(y - t), 0) + low * np.maximum(-np.expm1(y - t + epsilon), 0)

    t = np.linspace(0, epsilon, 20_001)
    low = np.expm1(t) / math.expm1(epsilon)
    return float(np.max((1 - low) * last(x - t) + low * last(x - t + epsilon)))


def covers_adaptive_rounds(delta_of) -> bool:
    return all(delta_of(1.0, 2, x) >= two_adaptive_rounds(1.0, x) * (1 - 1e-9) for x in (0.0, 0.25, 0.5, 0.75))


def test_nonadaptive_composition_does_not_bound_adaptive_rounds():
    assert nonadaptive(1.0, 2, 0.0) == pytest.approx(0.28831726, abs=1e-8)
    assert nonadaptive(1.0, 3, 0.75) == pytest.approx(0.13945533, abs=1e-8)
    assert nonadaptive(0.2, 10, 1.0) == pytest.approx(1.0164282e-4, rel=1e-7)
    assert two_adaptive_rounds(1.0, 0.0) == pytest.approx(0.30336550, abs=1e-8)
    assert not covers_adaptive_rounds(nonadaptive)
    assert covers_adaptive_rounds(lambda epsilon, rounds, x: BoundedRange(epsilon).repeat(rounds).delta_at(x))


def test_our_lower_bound_is_below_what_no_adversary_needs_to_adapt_for():
    for epsilon, rounds, x in [(1.0, 3, 0.75), (0.2, 10, 1.0), (0.1, 100, 2.0)]:
        lower, upper = BoundedRange(epsilon).repeat(rounds).delta_bounds(x)
        assert lower <= nonadaptive(epsilon, rounds, x) * (1 + 1e-9) <= upper
        assert lower > 0.5 * nonadaptive(epsilon, rounds, x)


def permute_and_flip(epsilon: float) -> np.ndarray:
    """Two items half a shift apart: the law, and its mirror image on the neighbour."""
    p = math.exp(-epsilon / 2) / 2
    return np.array([1 - p, p])


def covers_permute_and_flip(rdp_of) -> bool:
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        law = permute_and_flip(epsilon)
        for order in (1.0001, 2.0, 8.0):
            divergence = math.log(float(law**order @ law[::-1] ** (1 - order))) / (order - 1)
            if divergence > rdp_of(epsilon, order):
                return False
    return True


def test_permute_and_flip_is_not_an_eighth_of_epsilon_squared():
    for epsilon, kl in [(0.1, 0.004761), (0.5, 0.099503), (1.0, 0.327286), (2.0, 0.941784)]:
        law = permute_and_flip(epsilon)
        assert float(law @ np.log(law / law[::-1])) == pytest.approx(kl, abs=1e-6)
    assert not covers_permute_and_flip(lambda epsilon, order: order * epsilon**2 / 8)
    assert not covers_permute_and_flip(lambda epsilon, order: BoundedRange(epsilon).rdp(order))
    assert covers_permute_and_flip(lambda epsilon, order: PureDP(epsilon).rdp(order))


def test_the_exponential_mechanism_is_within_an_eighth():
    """Its worst KL at epsilon = 1 is .1233, over the share of the group that moves."""
    share = np.linspace(0.001, 0.999, 999)
    moved = share * math.e / (share * math.e + 1 - share)
    kl = moved * np.log(moved / share) + (1 - moved) * np.log((1 - moved) / (1 - share))
    assert kl.max() == pytest.approx(0.1233, abs=1e-4)
    assert kl.max() <= BoundedRange(1.0).rdp(1 + 1e-6)
