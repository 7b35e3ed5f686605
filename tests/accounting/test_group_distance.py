"""What several people together are promised: exact chains of neighbours, tightness, refusals (Theorem 254)."""

import math
from dataclasses import fields
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest

from shortlist import Scores
from shortlist import bounds as beyond
from shortlist.audit import alike, certify, prove
from shortlist.mechanisms import NoisyMax, OneshotTopK, TopKWithGaps
from shortlist.privacy import (
    ZCDP,
    ApproxDP,
    BoundedRange,
    ExPost,
    GumbelDP,
    NegativeBinomial,
    PureDP,
    RenyiDP,
    ThinnedRange,
    Tuned,
    compose,
)


@pytest.mark.parametrize(
    "guarantee", [PureDP(0.1), ZCDP(0.1), BoundedRange(0.1), ApproxDP(0.1, 1e-6), ExPost(0.3, 0.1)]
)
def test_one_person_is_promised_what_it_says(guarantee):
    assert guarantee.for_group(1) is guarantee


def test_each_currency_has_its_law():
    assert PureDP(0.1).for_group(3) == PureDP(math.nextafter(0.3, 1))  # .1 is above a tenth: rounded up
    assert PureDP(0.25).for_group(4) == PureDP(1.0)
    assert ZCDP(0.125).for_group(3) == ZCDP(1.125)
    assert BoundedRange(0.25).for_group(2) == BoundedRange(0.5)
    assert ExPost(1.0, 0.25).for_group(2) == ExPost(2.0, 0.5)
    three = ApproxDP(0.5, 1e-6).for_group(3)
    exact = 1e-6 * (1 + math.exp(0.5) + math.exp(1.0))
    assert three.epsilon == 1.5
    assert exact * (1 - 1e-14) <= three.delta <= exact * (1 + 1e-14)
    assert ApproxDP(0.0, 1e-3).for_group(5).delta == pytest.approx(5e-3)
    assert ApproxDP(0.5, 0.0).for_group(3) == ApproxDP(1.5, 0.0)


def test_a_group_of_groups_is_a_group():
    for guarantee in (PureDP(0.3), ZCDP(0.02), BoundedRange(0.3), ApproxDP(0.3, 1e-7)):
        one, other = guarantee.for_group(2).for_group(3), guarantee.for_group(6)
        for name in (field.name for field in fields(guarantee)):
            assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-12)


def at_distance(d, top, size):
    """(x, y) whose counts differ by `size` people, some added and some removed, each in any of the items."""
    moves = [np.array(move) for move in product((0, 1), repeat=d) if any(move)]
    for x in product(range(top + 1), repeat=d):
        for signs in product((1, -1), repeat=size):
            for who in product(moves, repeat=size):
                y = np.array(x) + sum(sign * move for sign, move in zip(signs, who, strict=True))
                yield x, tuple(int(one) for one in y)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(
    "mechanism",
    [NoisyMax(epsilon=0.5), OneshotTopK(k=1, epsilon=0.5, noise="gumbel"), TopKWithGaps(k=1, epsilon=0.5)],
    ids=lambda one: one.name,
)
def test_a_mechanism_keeps_the_promise_of_its_group_on_a_box(mechanism, size):
    """By certified laws; two thirds of it are refuted, and so is what one person is promised."""

    def law(x):
        return certify(mechanism, Scores(list(x), monotone=True))

    pairs = list(set(at_distance(2, 1, size)))
    same = partial(alike, exchangeable=True, shift_invariant=True)
    promise = mechanism.charge.for_group(size)
    assert prove(law, pairs, promise, alike=same).holds
    assert not prove(law, pairs, mechanism.charge, alike=same).holds
    epsilon = promise.epsilon
    assert not prove(law, pairs, PureDP(0.66 * epsilon), alike=same).holds


def hockey(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def test_delta_of_a_group_is_reached():
    """The chain of laws that loses delta and e^epsilon at every step; a sum without the powers is refuted."""
    epsilon, delta, size = 0.4, 1e-3, 3
    laws = [np.array([0.5, 0.5])]
    for _ in range(size):  # P = e^epsilon Q + delta on the first outcome
        first = (laws[-1][0] - delta) / math.exp(epsilon)
        laws.append(np.array([first, 1 - first]))
    for p, q in pairwise(laws):
        assert hockey(p, q, epsilon) <= delta * (1 + 1e-12)
        assert hockey(q, p, epsilon) <= delta
    group = ApproxDP(epsilon, delta).for_group(size)
    reached = hockey(laws[0], laws[-1], group.epsilon)
    assert reached == pytest.approx(group.delta, rel=1e-9)
    assert reached > size * delta
    assert beyond.delta_of_group(epsilon, delta, size) >= reached * (1 - 1e-12)


def renyi(p, q, a):
    return math.log(float((p**a * q ** (1 - a)).sum())) / (a - 1)


def test_divergences_of_a_group_hold_on_chains():
    """Random chains of laws: what follows from the orders of one step is never exceeded; without the weights it is."""
    rng, orders = np.random.default_rng(3), (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0)
    broken = 0
    for _ in range(200):
        laws = rng.dirichlet(np.full(4, 0.5), size=4) * 0.9 + 0.025
        steps = list(pairwise(laws))
        one = tuple(max(renyi(p, q, a) for p, q in [*steps, *((q, p) for p, q in steps)]) for a in orders)
        places, bounds = beyond.renyi_of_group(orders, one, 3)
        for a, bound in zip(places, bounds, strict=True):
            assert renyi(laws[0], laws[-1], a) <= bound
            broken += renyi(laws[0], laws[-1], a) > 3 * one[orders.index(a)]
    assert broken > 0


def test_divergences_of_a_gaussian_group_are_near_the_square():
    orders = tuple(1.1 * 1.05**i for i in range(160))
    group = RenyiDP(orders, tuple(0.01 * a for a in orders)).for_group(3)
    exact = 9 * 0.01
    at = {a: e / a for a, e in zip(group.orders, group.epsilons, strict=True) if 2 < a < 50}
    assert min(at.values()) >= exact
    assert max(at.values()) <= 1.02 * exact
    assert max(group.orders) < max(orders)


def test_what_is_not_proved_is_refused_with_what_to_write():
    base = PureDP(0.5)
    for guarantee, ways in {
        compose(BoundedRange(0.1), PureDP(0.2)): ("as_pure()", "as_zcdp()"),
        ThinnedRange(0.25, 4, 1e-6): ("as_approx(1e-6)",),
        ZCDP(0.1, 1e-6): ("as_approx(1e-6)",),
        GumbelDP(0.1, 3): ("as_approx(1e-6)",),
        Tuned(base, NegativeBinomial(mean=5, eta=0)): ("as_pure()",),
    }.items():
        with pytest.raises(ValueError, match="is not proved for") as refused:
            guarantee.for_group(3)
        assert all(f"guarantee.{way}.for_group(3)" in str(refused.value) for way in ways)
        assert "as_zcdp" not in str(refused.value) or "as_zcdp()" in ways or isinstance(guarantee, Tuned)
    assert ZCDP(0.1, 1e-6).as_approx(1e-5).for_group(2).delta > 1e-5
    for size in (0, -1, 1.5, True, "3"):
        with pytest.raises(ValueError, match="size must be a whole number"):
            base.for_group(size)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="promised nothing"):
        ApproxDP(1.0, 1e-6).for_group(20)
    with pytest.raises(ValueError, match="so large"):
        PureDP(1e300).for_group(10**10)
    with pytest.raises(ValueError, match="higher orders"):
        RenyiDP(2.0, 0.5).for_group(2)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("epsilon", [1e6, 1e10, 1e300])
def test_a_delta_beyond_all_numbers_is_refused_at_once(epsilon):
    """Its exact value would fill the memory."""
    with pytest.raises(ValueError, match="promised nothing"):
        ApproxDP(epsilon, 1e-6).for_group(10)
