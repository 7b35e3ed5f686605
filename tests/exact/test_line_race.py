"""A race with a line: every number is a sum over the chances of all sets; and identities on long lists."""

import numpy as np
import pytest

from shortlist.utility.threshold import LineRace
from tests.helpers.inside import EXPONENTIAL, LAPLACE

CASES = [  # scores above the threshold, k
    ([3.0, 1.5, 1.0, -2.0, -3.0, -np.inf], 2),
    ([3.0, 2.0, 2.0, 0.0, 0.0, -1.0], 3),
    ([3.0, 2.0, 0.0, 0.0, -1.0], 4),
    ([1.0, 0.0], 2),
    ([-1.0, -2.0], 3),
    ([1.0, 1.0, 1.0], 1),
    ([40.0, 3.0, 2.5, 2.0, 1.5, 1.0], 3),
]


def is_right(members, s, k):
    """As the words say: the k best of those above, or all of these and perhaps some at the threshold."""
    above = {i for i, one in enumerate(s) if one > 0}
    if len(above) < k:
        return above <= members and all(s[i] >= 0 for i in members)
    return len(members) == k and sorted((s[i] for i in members), reverse=True) == sorted(s, reverse=True)[:k]


@pytest.mark.parametrize(
    ("noise", "rate", "start"),
    [(EXPONENTIAL, 1.0, 0.0), (EXPONENTIAL, 2.5, 0.6), (LAPLACE, 0.4, -0.2)],
)
@pytest.mark.parametrize(("s", "k"), CASES)
def test_every_number_is_a_sum_over_sets(s, k, noise, rate, start):
    race = LineRace(np.array(s), k, noise, rate, start)
    sets = {frozenset(members): chance for members, chance in race.sets().items()}

    def total(holds):
        return pytest.approx(sum(chance for members, chance in sets.items() if holds(members)), abs=1e-9)

    assert race.numbers().tolist() == [total(lambda one, n=n: len(one) == n) for n in range(k + 1)]
    assert race.inclusion().tolist() == [total(lambda one, i=i: i in one) for i in range(len(s))]
    assert race.success() == total(lambda one: is_right(one, s, k))
    ranks = np.argsort(-np.array(s), kind="stable").tolist()
    for head, reach in ((0, k), (1, k + 1)):
        held, beyond = set(ranks[:head]), set(ranks[reach:])
        assert race.within(head, reach) == total(lambda one, a=held, b=beyond: a <= one and not b & one)
    quality = race.quality()
    assert quality.top - 1e-9 <= quality.great <= quality.good + 1e-9
    best = [i for i in ranks if s[i] > 0][:k]
    if best:
        share = sum(chance * sum(s[i] >= s[best[-1]] for i in one) for one, chance in sets.items()) / len(best)
        assert quality.recall == pytest.approx(share, abs=1e-9)
    else:
        assert quality.recall == quality.top == race.success()


def test_a_law_that_is_a_little_wrong_would_be_seen():
    s = np.array(CASES[0][0])
    race = LineRace(s, 2, EXPONENTIAL)
    for other in (
        LineRace(s, 2, EXPONENTIAL, 1.001),
        LineRace(s, 2, EXPONENTIAL, 1.0, 0.001),
        LineRace(s + 0.001, 2, EXPONENTIAL),
    ):
        assert abs(race.success() - other.success()) > 1e-6
        assert np.abs(race.inclusion() - other.inclusion()).max() > 1e-6
        assert np.abs(race.numbers() - other.numbers()).max() > 1e-6


@pytest.mark.parametrize("level", [4.0, 30.0])
def test_long_lists_agree_with_what_is_known_by_other_sums(level):
    s = np.round(60 * np.random.default_rng(3).random(80), 1) - level
    race = LineRace(s, 4, EXPONENTIAL, 0.7, -0.3)
    numbers, inclusion = race.numbers(), race.inclusion()
    assert numbers.sum() == pytest.approx(1, abs=1e-12)
    assert inclusion.sum() == pytest.approx(numbers @ np.arange(5), abs=1e-8)
    assert (np.diff(inclusion[np.argsort(s)]) >= -1e-12).all()
    assert race.success() == pytest.approx(race.best(), abs=1e-12)


def test_whoever_is_far_ahead_is_certain():
    race = LineRace(np.array([1e9, 500.0, -40.0]), 2, EXPONENTIAL)
    np.testing.assert_allclose(race.inclusion(), [1, 1, 0], atol=1e-9)
    assert race.success() == pytest.approx(1, abs=1e-9)
    assert LineRace(np.array([5.0]), 2, EXPONENTIAL).best() == 0
    assert LineRace(np.array([5.0]), 2, EXPONENTIAL).within(2, 2) == 0
    assert LineRace(np.zeros(0), 2, EXPONENTIAL).recall(0) == 0
