"""Gumbel values by their certified hockey sticks: the exact profile is enough, and nothing less is (Theorem 90)."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from shortlist import ZCDP, ApproxDP, PureDP, Scores
from shortlist.audit import prove_mechanism
from shortlist.audit.certified import race
from shortlist.mechanisms import GumbelTopKValues
from shortlist.privacy import GumbelDP
from tests.helpers.support import full_size, in_suite, sized

BOXES: dict[int, dict[str, Any]] = {1: {"d": 3, "top": 1}, 2: {"d": 3, "top": 1}, 3: {"d": 4, "top": 0}}
many = pytest.mark.parametrize("k", in_suite((1, 2, 3), 0, 2))


def stick(x, y, scale, epsilon, k=1):
    here, there = (race.Clocks(tuple(Fraction(value) / scale for value in point), k) for point in (x, y))
    return here.stick(there, epsilon)


@pytest.mark.parametrize(("monotone", "k"), in_suite(product((False, True), (1, 2, 3)), 0, 1, 4, 5))
def test_values_keep_their_budget_and_need_most_of_their_delta(monotone, k):
    mechanism = GumbelTopKValues(k=k, budget=ApproxDP(1.0, 1e-3))
    assert prove_mechanism(mechanism, monotone=monotone, **BOXES[k]).holds
    less = ApproxDP(1.0, (1 - 1e-6) * 1e-3 if monotone else 5e-4)
    assert not prove_mechanism(mechanism, monotone=monotone, **BOXES[k], claim=less).holds


@many
def test_monotone_values_reach_their_whole_profile_and_its_renyi_divergences(k):
    mechanism = GumbelTopKValues(k=k, budget=ApproxDP(1.0, 1e-3))
    mu = float(1 / mechanism.scale(Scores([0, 1], monotone=True)))
    for factor, holds in ((1 + 1e-12, True), (1 - 1e-6, False)):
        proof = prove_mechanism(mechanism, monotone=True, **BOXES[k], claim=GumbelDP(mu * factor, k, True))
        assert proof.holds is holds
        assert abs(proof.hockey_stick) < 1e-5
        assert abs(proof.renyi) < 1e-5


def test_a_value_has_no_zcdp_and_no_pure_claim():
    mechanism = GumbelTopKValues(k=1, budget=ApproxDP(1.0, 1e-3))
    assert "Renyi divergence of order 16 is inf" in prove_mechanism(mechanism, d=2, claim=ZCDP(50.0)).violation
    with pytest.raises(ValueError, match="no bound"):
        prove_mechanism(mechanism, d=2, claim=PureDP(50.0))


def test_the_oracle_of_one_round():
    """gamma 1, h = [0, .3, 1] -> h + [0, 1, .5], minima: our scores are -h (Table 152)."""
    h, moved = (0, -0.3, -1), (0, -1.3, -1.5)
    forward = [0.184097828, 0.127331167, 0.076681868]
    backward = [0.165945083, 0.101870691, 0.062536578]
    for epsilon, one, two in zip((0.1, 0.3, 0.5), forward, backward, strict=True):
        assert stick(h, moved, Fraction(1), epsilon) == pytest.approx(one, abs=1e-8)
        assert stick(moved, h, Fraction(1), epsilon) == pytest.approx(two, abs=1e-8)


@pytest.mark.parametrize(("k", "mu", "delta"), [(1, 0.5, 0.0842264552), (3, 0.7, 0.34357646)])
def test_all_scores_moved_together_reach_the_exact_profile(k, mu, delta):
    """delta_k(.5), in the worse direction (Theorem 88)."""
    low, high = (0,) * 4, (1,) * 4
    sticks = [stick(x, y, 1 / Fraction(mu), 0.5, k) for x, y in ((low, high), (high, low))]
    assert max(sticks) == pytest.approx(delta, abs=1e-8)


def test_exchanged_scores_are_compared_by_their_winner():
    assert stick((1, 0), (0, 1), Fraction(1), 0.5) == pytest.approx(
        0.7310585786 - 1.6487212707 * 0.2689414214, abs=1e-9
    )


TINY = Fraction(1, 10**60)


@pytest.mark.parametrize("moves", [(TINY, TINY), (1, 1 + TINY)], ids=["from 0", "from one another"])
def test_means_that_cannot_be_told_apart_are_no_proof(moves):
    here, there = race.Clocks((Fraction(0), Fraction(5)), 2), race.Clocks((Fraction(moves[0]), 5 + moves[1]), 2)
    with pytest.raises(ArithmeticError, match="precision"):
        here.stick(there, 0.0)


@full_size
@pytest.mark.parametrize(
    ("x", "y"), [((0, 0, 1, 2), (-1, 1, 1, 1)), ((0, 0, 0, 0), (-1, -1, 1, 1)), ((2, 1, 0, 0), (3, 2, 1, 0))]
)
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_sticks_are_what_draws_of_the_values_say(k, x, y):
    """E[(1 - e^(epsilon - log ratio))_+] from the densities of the values themselves, without any clocks."""
    draws, scale = sized(50_000, full=200_000), 1.5
    noisy = np.array(x) + scale * np.random.default_rng(5).gumbel(size=(draws, len(x)))
    order = np.argsort(-noisy, axis=1)
    values = np.take_along_axis(noisy, order[:, :k], axis=1)

    def log_density(scores):
        placed = np.array(scores)[order]
        z = (values - placed[:, :k]) / scale
        rest = (values[:, -1:] - placed[:, k:]) / scale
        return (-z - np.exp(-z)).sum(axis=1) - np.exp(-rest).sum(axis=1)

    for epsilon in (0.0, 0.4):
        excess = np.maximum(0.0, 1 - np.exp(epsilon - log_density(x) + log_density(y)))
        error = excess.std() / draws**0.5
        assert stick(x, y, Fraction(scale), epsilon, k) == pytest.approx(excess.mean(), abs=4.5 * error)
        assert error < sized(0.002, full=0.001)
