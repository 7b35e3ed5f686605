"""A threshold is raised where the high blocks hold many; the law stays, and where few hold all nothing is raised."""

from fractions import Fraction

import numpy as np
import pytest

import shortlist as sl
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL
from shortlist.exact.score_intervals import Contest
from shortlist.sampling import skip_schedule
from shortlist.sampling.race import skip_race
from shortlist.sampling.skip_schedule import OPEN, choose_threshold, levels, make_plan, raised
from tests.helpers.support import assert_law

BLOCK = 4096


def seen(values, noise=EXPONENTIAL, k=1, scale=Fraction(1)):
    contest = Contest(values, k, scale, noise, values.max().item())
    heights = contest.positions(values.reshape(-1, BLOCK).max(axis=1))
    return contest, heights, choose_threshold(contest, heights)


def tied_at_a_cap(blocks):
    """Forty in each block stand at the cap."""
    values = np.zeros((blocks, BLOCK), np.int64)
    values[:, np.arange(40) * 97] = 30
    return values.ravel()


def opened(contest, heights, threshold):
    """How many blocks are read once more."""
    return np.count_nonzero(levels(contest.noise, heights, threshold) <= OPEN)


def test_many_at_a_cap_raise_the_threshold_so_that_no_block_is_opened():
    values = tied_at_a_cap(1000)
    contest, heights, threshold = seen(values)
    higher = raised(contest, heights, BLOCK, threshold)
    assert threshold + 2 < higher < np.log(1000 * 40)
    assert opened(contest, heights, threshold) == 1000
    assert not opened(contest, heights, higher)
    assert make_plan(values, 1, Fraction(1), EXPONENTIAL, BLOCK).threshold == higher


def test_a_cheap_plan_is_not_looked_into(monkeypatch):
    contest, heights, threshold = seen(tied_at_a_cap(1000))
    monkeypatch.setattr(skip_schedule, "MANY", 1e9)
    assert raised(contest, heights, BLOCK, threshold) == threshold
    contest, heights, threshold = seen(tied_at_a_cap(2 * skip_schedule.LOOKED - 1))
    monkeypatch.setattr(skip_schedule, "MANY", 0)
    assert raised(contest, heights, BLOCK, threshold) == threshold


def test_what_a_few_blocks_hold_raises_nothing():
    """One score at the cap in each block, and thousands in a single one, which the look may or may not meet."""
    values = np.zeros((1000, BLOCK), np.int64)
    values[:, 5] = 30
    values[int(0.6180339887498949 * 1000), :] = 30  # the second that is looked into
    contest, heights, _ = seen(values.ravel())
    assert raised(contest, heights, BLOCK, 5.0) <= np.log(1000)


@pytest.mark.parametrize("noise", [EXPONENTIAL, GUMBEL], ids=lambda noise: noise.name)
def test_races_with_a_raised_threshold_have_the_law(noise, monkeypatch):
    """By group: whether the winner is one of the 8 ahead, of the 264 at the cap, or of the rest."""
    monkeypatch.setattr(skip_schedule, "MANY", 0)
    monkeypatch.setattr(skip_schedule, "LOOKED", 8)
    monkeypatch.setattr(skip_schedule, "choose_threshold", lambda contest, heights: 0.5)
    square = np.zeros((24, 512), np.int64)
    square[:, ::50] = 4
    square[::3, 7] = 6
    values = square.ravel()
    plan = make_plan(values, 1, Fraction(1), noise, 512)
    assert plan.threshold > 0.5
    winners = [values[skip_race(plan, sl.testing.seeded(seed)).indices[0]] for seed in range(4000)]
    counts = [winners.count(level) for level in (6, 4, 0)]
    mechanism = sl.mechanisms.NoisyMax(epsilon=1.0, noise=noise.name)
    chances = mechanism.probabilities(values, monotone=True)
    law = [chances[values == level].sum() for level in (6, 4, 0)]
    other = sl.mechanisms.NoisyMax(epsilon=1.15, noise=noise.name).probabilities(values, monotone=True)
    assert_law(counts, law, wrong=[other[values == level].sum() for level in (6, 4, 0)])
