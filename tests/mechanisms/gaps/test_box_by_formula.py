"""Exact densities: gaps keep epsilon, are not free under zCDP, and geometric noise with fixed ties breaks them."""

from itertools import product

import numpy as np
import pytest

from shortlist import Scores
from shortlist.mechanisms import TopKWithGaps
from tests.helpers.box import shifts
from tests.mechanisms.gaps.by_formula import gap_density, nodes, worst_gap_ratio

both = pytest.mark.parametrize("noise", ["exponential", "laplace"])


def scale_of(k, monotone, epsilon=1.0):
    """The scale the mechanism really uses."""
    return float(TopKWithGaps(k=k, epsilon=epsilon)._scale(Scores([0] * (k + 1), monotone=monotone)))


def crowded_ratio(noise, scale):
    """Two winners far ahead of twelve losers, all of whom one person moves: the log ratio of one output."""
    here, there = (np.array([0.0, 0.0, *[move] * 12]) / scale for move in (0.0, 1.0))
    kind, gaps = TopKWithGaps(k=1, epsilon=1.0, noise=noise)._kind, np.array([3.0, 40.0]) / scale
    return abs(np.log(gap_density(here, (0, 1), gaps, kind) / gap_density(there, (0, 1), gaps, kind)))


@both
def test_lists_with_gaps_use_all_of_epsilon_and_forgetting_a_factor_is_caught(noise):
    kind = TopKWithGaps(k=1, epsilon=1.0, noise=noise)._kind
    assert 0.999 < crowded_ratio(noise, scale_of(2, True)) <= 1.0 + 1e-9
    assert crowded_ratio(noise, scale_of(1, True)) > 1.99
    assert worst_gap_ratio(1, 3, scale_of(1, True), kind, False, top=1) > 1.99


def test_the_gap_of_two_items_is_the_laplace_mechanism_and_not_free_under_zcdp():
    """KL at epsilon 1 is .367879, and epsilon^2/8 would be .125 (Proposition 82)."""
    noise = TopKWithGaps(k=1, epsilon=1.0)._kind
    g, weight = nodes([0, 1], low=0.0, high=40.0)
    kl = 0.0
    for order in ((0,), (1,)):
        here, there = (np.array([gap_density(s, order, [one], noise) for one in g]) for s in ((0, 1), (0, 0)))
        keep = here > 1e-15
        kl += weight[keep] @ (here[keep] * np.log(here[keep] / there[keep]))
    assert kl == pytest.approx(0.367879, abs=1e-5)


def test_the_oracle_of_two_items():
    noise = TopKWithGaps(k=1, epsilon=1.0)._kind
    for g in (0.0, 0.5, 1.0, 3.0):
        density = gap_density(np.array([3, 2]) / 2, (0,), [g / 2], noise) / 2
        assert density == pytest.approx(np.exp(-abs(g - 1) / 2) / 4, rel=1e-9)


def geometric_law(q, epsilon, most=400):
    """P[i is the first of the largest, and ties with another] for each i, under geometric noise."""
    rate = epsilon / 2
    pmf = -np.expm1(-rate) * np.exp(-rate * np.arange(most))
    top = max(q) + most

    def column(i):
        law = np.zeros(top + 1 - min(q))
        law[q[i] - min(q) : q[i] - min(q) + most] = pmf
        return law

    columns = [column(i) for i in range(len(q))]
    below = [np.concatenate([[0], np.cumsum(c)[:-1]]) for c in columns]
    law = {}
    for i in range(len(q)):
        total = 0.0
        for tied in product((0, 1), repeat=len(q) - i - 1):  # later ones may tie, earlier ones must be below
            if any(tied):
                p = columns[i].copy()
                for j in range(i):
                    p *= below[j]
                for j, t in enumerate(tied, i + 1):
                    p *= columns[j] if t else below[j]
                total += p.sum()
        law[i] = total
    return law


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_geometric_noise_with_a_fixed_order_of_ties_doubles_the_loss(epsilon):
    """q = (0,0,0) against (1,-1,-1), the item in the middle wins with gap 0: log ratio 2 epsilon (Proposition 83)."""
    here, there = geometric_law((0, 0, 0), epsilon)[1], geometric_law((1, -1, -1), epsilon)[1]
    if epsilon == 1.0:
        assert here == pytest.approx(0.0456342, abs=1e-6)
        assert there == pytest.approx(0.0061759, abs=1e-6)
    assert np.log(here / there) == pytest.approx(2 * epsilon, rel=1e-6)


def floored(s, index, m, noise):
    """P[index wins and floor(gap) = m] under continuous noise, in units of the scale 2."""
    g, weight = nodes([m, m + 0.5], low=float(m), high=m + 1.0, width=0.25)
    return weight @ [gap_density(np.array(s) / 2, (index,), [one / 2], noise) / 2 for one in g]


def test_flooring_continuous_gaps_keeps_epsilon_where_geometric_ties_do_not():
    noise = TopKWithGaps(k=1, epsilon=1.0)._kind
    base = (0, 0, 0)
    for shift in shifts(3, monotone=False)[::2]:
        for m in (0, 1):
            ratio = floored(base, 0, m, noise) / floored(shift, 0, m, noise)
            assert abs(np.log(ratio)) <= 1.0 + 1e-7


def logistic(mu, s, g):
    """Joint density of (winner s, gap g) of the exponential mechanism, in units of its scale."""
    theta = mu[s] - np.log(sum(np.exp(mu[j]) for j in range(len(mu)) if j != s))
    return np.exp(theta - g) / (1 + np.exp(theta - g)) ** 2


@pytest.mark.parametrize(("epsilon", "kl"), [(0.1, 0.00166639), (0.5, 0.04149408), (1, 0.16395341), (2, 0.62607057)])
def test_the_exponential_mechanism_with_gap_has_no_bounded_range(epsilon, kl):
    g, weight = nodes([], low=0.0, high=60.0)
    total = 0.0
    for s in (0, 1):
        here, there = logistic((0, 0), s, g), logistic((epsilon, 0), s, g)
        total += weight @ (here * np.log(here / there))
    assert total == pytest.approx(kl, abs=1e-7)
    if epsilon == 1:
        assert total > epsilon**2 / 8
