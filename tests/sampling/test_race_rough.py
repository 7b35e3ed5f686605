"""Races that few operations decide: the same winners as by intervals, from the same words; or none."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from shortlist.exact import noise as exact_noise
from shortlist.exact import reals
from shortlist.sampling import race as sampling_race
from tests.helpers.inside import EXPONENTIAL, KINDS, Contest, Seeded, race

every = pytest.mark.parametrize("noise", KINDS.values(), ids=list(KINDS))


VALUES = {
    "counts": np.floor(1e4 / np.arange(1, 41) ** 0.8).astype(np.int64),
    "flat": np.full(40, 7, np.uint8),
    "floats": np.random.default_rng(1).normal(0, 3, 40),
    "excluded": np.array([1.5, -np.inf, 1.25, -np.inf, 1e300, -1e308]),
    "wide": np.array([-(2**63), 2**52, 2**52 - 1, 0, 2**51]),
}


def contest(values, k=1, scale=Fraction(2), noise=EXPONENTIAL):
    values = np.array(values)
    return Contest(values, k, scale, noise, reals.kth_largest(values, k))


@pytest.mark.traced(False)
@every
@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("k", [1, 2, 4])
def test_what_is_clear_is_what_intervals_decide_with_the_same_words(noise, values, k):
    plain = dataclasses.replace(noise, rough=None)
    one, other = Seeded(2), Seeded(2)
    for _ in range(20):
        found, wanted = (
            race(VALUES[values], k=k, scale=Fraction(3, 2), noise=kind, source=source)
            for kind, source in ((noise, one), (plain, other))
        )
        assert found.indices.tolist() == wanted.indices.tolist()
        assert found.values() == wanted.values() == found.values()
        assert found.gaps() == wanted.gaps()
    assert one.words(4).tolist() == other.words(4).tolist()


def test_it_is_nearly_always_clear():
    source, one, five = Seeded(3), contest(VALUES["counts"]), contest(VALUES["flat"], k=5)
    assert all(race.clear_winners(source.words(40)) is not None for race in (one, five) for _ in range(200))


def test_all_candidates_may_win_and_one_may_be_alone():
    assert sorted(contest([3, 1, 2], k=3).clear_winners(Seeded(4).words(3)).tolist()) == [0, 1, 2]
    assert contest([3]).clear_winners(Seeded(4).words(1)).tolist() == [0]


@pytest.mark.parametrize("k", [1, 2])
def test_what_is_too_close_is_left_to_the_intervals(k):
    near = np.array([1 << 60, (1 << 60) + (1 << 27), 1 << 50], np.uint64)  # ln V differs by 2^-33
    assert contest([5, 5, 5 - 90], k=k).clear_winners(near) is None
    apart = np.array([1 << 60, (1 << 60) + (1 << 36), 1 << 50], np.uint64)
    assert contest([5, 5, 5 - 90], k=k).clear_winners(apart).tolist()[0] == 0


@pytest.mark.parametrize("word", [0, 7, exact_noise.PLAIN - 1, (1 << 64) - exact_noise.PLAIN, (1 << 64) - 1])
def test_extreme_words_are_left_to_the_intervals(word):
    words = np.array([1 << 62, word], np.uint64)
    assert contest([9, 0]).clear_winners(words) is None
    assert sampling_race.full_race(contest([90, 0], scale=Fraction(1, 9)), Given(words)).indices.tolist() == [0]


class Given(Seeded):
    """A source whose first words are given."""

    def __init__(self, words):
        super().__init__(5)
        self.given = words

    def words(self, count):
        given, self.given = self.given, ()
        return given if len(given) else super().words(count)


@pytest.mark.parametrize(
    "unfit",
    [
        contest([9, 0], noise=dataclasses.replace(EXPONENTIAL, rough=None)),
        contest([2**60, 0]),
        contest([9.0, 0.0], scale=Fraction(2) ** 1000),
        contest([9] * (reals.SHORT + 2), k=reals.SHORT + 1),
        contest([1e308, 9e307, -1e308], k=2, scale=Fraction(1, 9)),
    ],
    ids=["no rough noise", "a large centre", "an extreme scale", "many winners", "out of the floats"],
)
def test_contests_that_are_unfit_are_left_to_the_intervals(unfit):
    with np.errstate(all="ignore"):
        assert unfit.clear_winners(Seeded(6).words(len(unfit.values))) is None
