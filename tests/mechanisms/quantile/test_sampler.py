"""The draws of quantiles have the exact law, near and far, by floats and by balls."""

from fractions import Fraction

import numpy as np
import pytest

from shortlist.sampling import quantiles as sampler
from shortlist.testing import seeded
from shortlist.utility.stable import point_chances, sequence_chances
from tests.helpers.inside import Choice, Node, WordStream
from tests.helpers.support import assert_law, full_size, histogram, sized

HALF = Fraction(1, 2)


def node(counts):
    places = np.flatnonzero(counts)
    return Node(0, len(counts) - 1, places, np.array(counts, np.int64)[places])


OLD = [0, 1, 2, 0, 0, 0, 0, 1, 0, 0]


def draws(choice, many, seed=1):
    stream = WordStream(seeded(seed), 4096)
    return [choice.draw(stream) for _ in range(many)]


@full_size
@pytest.mark.parametrize("flips", [True, False])
def test_points_come_with_their_chances_and_the_other_law_is_refuted(flips):
    choice = Choice.of(node(OLD), HALF, Fraction(1), flips)
    found = histogram(draws(choice, sized(12_000, full=200_000)), 10)
    assert_law(
        found,
        point_chances(choice.node, HALF, Fraction(1), flips),
        wrong=point_chances(choice.node, HALF, Fraction(1), not flips),
    )


@pytest.mark.parametrize("flips", [True, False])
def test_far_points_and_balls_give_the_same_law(monkeypatch, flips):
    """Everything that floats decide left to balls, and most points far."""
    monkeypatch.setattr(sampler, "AWAY", -2.0)
    monkeypatch.setattr(sampler, "SURE", 1.0)
    choice = Choice.of(node([9, 0, 0, 9, 0, 4, 0, 9]), HALF, Fraction(1, 8), flips)
    assert choice.runs.far == 6
    found = histogram(draws(choice, 2_500, seed=2), 8)
    law = point_chances(choice.node, HALF, Fraction(1, 8), flips)
    wrong = point_chances(node([8, 0, 0, 9, 0, 4, 0, 12]), HALF, Fraction(1, 8), flips)
    assert_law(found, law, wrong=wrong)


def test_far_points_are_all_those_in_no_run_and_none_is_near():
    votes = node([5, 0, 1, 3, 0, 0, 2, 0, 9, 1, 0])
    for target in (Fraction(0), Fraction(7, 2), Fraction(21), Fraction(21, 2)):
        for reach in range(1, 22):
            runs = votes.runs(target, reach)
            near = [
                p + i for p, size in zip(runs.firsts.tolist(), runs.sizes.tolist(), strict=True) for i in range(size)
            ]
            far = [runs.far_point(n) for n in range(runs.far)]
            assert sorted([*near, *far]) == list(range(11))
            assert all(votes.distance(point, target) > reach for point in far)
            exact = [votes.distance(int(first), target) for first in runs.firsts]
            assert np.allclose(runs.distances, [float(one) for one in exact], rtol=1e-15)


def test_a_grid_of_two_to_the_forty_is_drawn_from_few_runs():
    rng = np.random.default_rng(1)
    places = np.unique(rng.integers(0, 1 << 40, 3000))
    votes = Node(0, (1 << 40) - 1, places, np.ones(len(places), np.int64))
    choice = Choice.of(votes, HALF, Fraction(1), True)
    assert len(choice.runs.sizes) < 400 < len(places)
    ranks = np.searchsorted(places, draws(choice, 200))
    assert np.all(np.abs(ranks - len(places) / 2) < 40)


@pytest.mark.parametrize("rate", [Fraction(1, 10**400), Fraction(10**30), Fraction(2**21 + 1)])
def test_extreme_rates_are_drawn(rate):
    choice = Choice.of(node(OLD), Fraction(1, 4), rate, True)
    found = histogram(draws(choice, 600), 10)
    even = np.full(10, 0.1)
    steep = np.array([0, 0.5, 0.5, 0, 0, 0, 0, 0, 0, 0])
    right, wrong = (even, steep) if rate < 1 else (steep, even)
    assert_law(found, right, wrong=wrong)


def test_no_votes_give_any_point():
    for flips in (True, False):
        assert_law(histogram(draws(Choice.of(node([0] * 5), HALF, Fraction(1), flips), 2_000), 5), np.full(5, 0.2))


def rate(q):
    return Fraction(1, 2) / (1 if q in (0, 1) else 2 * max(q, 1 - q))


@full_size
@pytest.mark.traced
@pytest.mark.parametrize("flips", [True, False])
def test_several_quantiles_come_with_their_joint_chances(flips):
    q = (Fraction(1, 4), HALF, Fraction(3, 4))
    recursion, votes = sampler.Recursion(q, rate, flips), node([2, 4, 2])
    law = sequence_chances(votes, q, rate, flips)
    stream = WordStream(seeded(3), 4096)
    rows = [recursion.draw(votes, stream) for _ in range(sized(2_500, full=20_000))]
    cells = list(law)
    found = np.bincount([cells.index(tuple(row)) for row in rows], minlength=len(cells))
    other = sequence_chances(node([4, 8, 4]), q, rate, flips)
    assert_law(found, [law[cell] for cell in cells], wrong=[other[cell] for cell in cells])
    assert recursion.draw(votes, WordStream(seeded(4))) == sorted(recursion.draw(votes, WordStream(seeded(4))))


@pytest.mark.parametrize("flips", [True, False])
def test_two_quantiles_come_with_their_joint_chances(flips):
    q, votes = (Fraction(1, 4), Fraction(3, 4)), node([2, 4, 2])
    law = sequence_chances(votes, q, rate, flips)
    recursion, stream = sampler.Recursion(q, rate, flips), WordStream(seeded(5), 4096)
    rows = [recursion.draw(votes, stream) for _ in range(1_000)]
    cells = list(law)
    counts = np.bincount([cells.index(tuple(row)) for row in rows], minlength=len(cells))
    assert_law(counts, [law[cell] for cell in cells])


def test_a_split_keeps_all_weight_and_halves_what_lies_on_the_point():
    votes = node([4, 0, 6, 2])
    for at, left, right in ((2, [4, 3], [3, 2]), (1, [4], [6, 2]), (0, [2], [2, 6, 2]), (3, [4, 6, 1], [1])):
        one, two = votes.split(at)
        assert (one.weights.tolist(), two.weights.tolist()) == (left, right)
        assert (one.first, one.last, two.first, two.last) == (0, at, at, 3)
        assert one.total + two.total == votes.total
