"""Key sets on every small histogram with every user, by laws made here from the library's own noise and bar."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.stats import norm

from shortlist import ZCDP, ApproxDP, Scores
from shortlist.audit import Law, certify, prove_mechanism
from shortlist.exact.geometric import public_coin
from shortlist.exact.thresholds import Cap, pair_bar
from shortlist.mechanisms import KeySet
from tests.helpers.typed import of_kind


def sums_law(count, sigma, bar, top):
    """P[not named], P[sum = bar], .., P[sum >= top]."""
    if count == 0:
        return np.append(1.0, np.zeros(top - bar + 1))
    ends = norm.sf((np.arange(bar, top + 1) - 0.5 - count) / sigma)
    return np.concatenate([[1 - ends[0]], ends[:-1] - ends[1:], [ends[-1]]])


def largest_stick(sigma, bar, epsilon, highest):
    """The largest hockey stick over two labels with counts up to `highest` and every user, both ways."""
    laws = [sums_law(count, sigma, bar, highest + int(9 * sigma)) for count in range(highest + 2)]
    worst = 0.0
    for x, move in product(product(range(highest + 1), repeat=2), ((0, 1), (1, 1))):
        here = np.outer(laws[x[0]], laws[x[1]])
        there = np.outer(laws[x[0] + move[0]], laws[x[1] + move[1]])
        for one, two in ((here, there), (there, here)):
            worst = max(worst, float(np.maximum(one - exp(epsilon) * two, 0).sum()))
    return worst


CASES = [(1.0, 0.01, 0.952, 1.438, 4.94), (0.5, 0.05, 0.982, 1.102, 2.31), (2.0, 0.001, 0.942, 1.479, 16.5)]


@pytest.mark.parametrize(("epsilon", "delta", "ours", "lower", "little"), CASES)
def test_two_labels_in_whole_people_keep_epsilon_and_delta(epsilon, delta, ours, lower, little):
    found = pair_bar(epsilon, delta, Cap(2, weighted=False))
    sigma, step = float(found.sigma), found.step
    highest = 2 * step
    assert largest_stick(sigma, step, epsilon, highest) / delta == pytest.approx(ours, abs=2e-3)
    assert largest_stick(sigma, step - 1, epsilon, highest) / delta == pytest.approx(lower, abs=2e-3)
    assert largest_stick(sigma / 2**0.5, step, epsilon, highest) / delta == pytest.approx(little, rel=5e-3)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-2), (0.5, 1e-2), (1.0, 1e-6), (2.0, 1e-4), (0.1, 0.3)])
def test_truncated_geometric_noise_with_its_coin_reaches_delta_and_no_more(epsilon, delta):
    coin = public_coin(Fraction(epsilon), Fraction(delta))
    share = float(coin.chance())

    def law(count, reach):
        if count == 0:
            return {None: 1.0}
        weights = {x: exp(-epsilon * abs(x)) for x in range(-reach, reach + 1)}
        total = sum(weights.values())
        named = {count + x: w / total for x, w in weights.items() if count + x > reach}
        return {None: 1 - sum(named.values()), **named}

    def stick(one, two):
        return sum(max(0.0, p - exp(epsilon) * two.get(key, 0.0)) for key, p in one.items())

    worst = 0.0
    for count in range(2 * coin.reach + 2):
        for a, b in ((count, count + 1), (count + 1, count)):
            parts = [stick(law(a, reach), law(b, reach)) for reach in (coin.reach, coin.reach - 1)]
            worst = max(worst, (1 - share) * parts[0] + share * parts[1])
    assert worst / delta == pytest.approx(1.0, abs=1e-6)
    always = stick(law(1, coin.reach - 1), law(0, coin.reach - 1))
    assert always > delta


def test_one_label_a_person_is_named_as_often_as_can_be():
    """p(0) = 0, p(n + 1) = min(e^eps p(n) + delta, 1 - e^-eps (1 - p(n) - delta), 1) is optimal."""
    for epsilon, delta, close in ((1.0, 1e-6, 2e-7), (1.0, 0.01, 8.4e-4), (0.5, 0.01, 3.7e-3)):
        mechanism = KeySet(most=1, epsilon=epsilon, delta=delta)
        best = [0.0]
        for _ in range(60):
            p = best[-1]
            best.append(min(exp(epsilon) * p + delta, 1 - exp(-epsilon) * (1 - p - delta), 1.0))
        found = mechanism.chances(np.arange(61))
        assert np.abs(found - best).max() <= close * 1.01
        assert (found <= np.array(best) + 1e-12).all()


@pytest.mark.parametrize(
    "mechanism",
    [
        KeySet(most=2, epsilon=1.0, delta=0.05),
        KeySet(most=1, epsilon=1.0, delta=0.05),
        KeySet(most=2, budget=ZCDP(0.3, 0.05)),
        KeySet(most=3, epsilon=1.0, delta=0.05),
        KeySet(most=3, epsilon=1.0, delta=0.05, values=False),
        KeySet(most=3, budget=ZCDP(0.3, 0.05), values=False),
    ],
    ids=repr,
)
def test_key_sets_are_proved_on_a_box(mechanism):
    proof = prove_mechanism(mechanism, d=min(2, mechanism.most), top=4)
    assert proof.holds, proof.violation
    too_much = mechanism.guarantee
    less = ZCDP(too_much.rho / 3, 0.01) if isinstance(too_much, ZCDP) else ApproxDP(too_much.epsilon, 0.01)
    assert not prove_mechanism(mechanism, d=min(2, mechanism.most), top=4, claim=less).holds


def test_the_certified_law_is_that_of_the_exact_chances():
    for mechanism in (KeySet(most=2, epsilon=1.0, delta=0.05), KeySet(most=3, epsilon=1.0, delta=0.05)):
        law = of_kind(Law, certify(mechanism, Scores([5, 2, 0], monotone=True))).chances
        chances = mechanism.chances(np.array([5, 2, 0]))
        assert sum(map(float, law.values())) == pytest.approx(1)
        for i, chance in enumerate(chances):
            named = sum(float(p) for sums, p in law.items() if sums[i] is not None)
            assert named == pytest.approx(chance, abs=1e-12)


def test_two_new_labels_are_named_with_delta():
    """Unrounded, a label kept by 1, 5 and 10 people; m = 2, epsilon 1, delta .01."""
    sigma, bar = 2.65704495, 7.84178832
    chances = norm.cdf((np.array([1, 5, 10]) - bar) / sigma)
    assert chances == pytest.approx([0.00501256, 0.14241554, 0.79167881], abs=1e-7)
    assert 1 - (1 - chances[0]) ** 2 == pytest.approx(0.01, abs=1e-9)
