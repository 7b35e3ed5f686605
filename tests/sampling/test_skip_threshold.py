"""A threshold is raised where high runs hold many; the law stays, and where few hold all nothing is raised."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist.sampling import skipping as skip_schedule
from shortlist.sampling import skipping as skip_threshold
from tests.helpers.inside import EXPONENTIAL, GAUSSIAN, GUMBEL, Contest, levels, make_plan, skip_race
from tests.helpers.support import assert_law

BLOCK, RUN = 4096, 512


def seen(values, noise=EXPONENTIAL, k=1, scale=Fraction(1)):
    contest, maxima = Contest(values, k, scale, noise, values.max().item()), skip_threshold.Maxima.of(values, BLOCK)
    return contest, maxima.peaks, skip_threshold.choose_threshold(contest, maxima.tops)


def tied_at_a_cap(blocks):
    """Forty in each block stand at the cap."""
    values = np.zeros((blocks, BLOCK), np.int64)
    values[:, np.arange(40) * 97] = 30
    return values.ravel()


def opened(contest, peaks, threshold):
    """How many runs are read once more."""
    return np.count_nonzero(levels(contest.noise, contest.positions(peaks), threshold) <= skip_threshold.OPEN_RUN)


def test_many_at_a_cap_raise_the_threshold_so_that_no_run_is_opened():
    values = tied_at_a_cap(100)
    contest, peaks, threshold = seen(values)
    higher = skip_threshold.raise_threshold(contest, peaks, RUN, threshold)
    assert threshold + 2 < higher < np.log(100 * 40)
    assert opened(contest, peaks, threshold) == 800
    assert not opened(contest, peaks, higher)
    assert make_plan(values, 1, Fraction(1), EXPONENTIAL, BLOCK).threshold == higher


def test_maxima_alone_raise_it_where_there_are_few_runs():
    """Too few to look into some of them; each run holds one, and the blocks hold eight."""
    values = np.zeros(60 * RUN, np.int64)
    values[7::RUN] = 30
    contest, peaks, _ = seen(values)
    assert len(peaks) < 2 * skip_threshold.LOOKED
    surely = -np.log(skip_threshold.enough(1) / 60)
    assert surely - 0.5 < skip_threshold.raise_threshold(contest, peaks, RUN, 0.0) <= surely
    assert skip_threshold.raise_threshold(contest, peaks, RUN, 5.0) == 5.0


def test_a_cheap_plan_is_not_looked_into(monkeypatch):
    monkeypatch.setattr(skip_schedule, "raise_threshold", None)
    monkeypatch.setattr(skip_schedule, "MANY", 1e9)
    assert make_plan(tied_at_a_cap(100), 1, Fraction(1), EXPONENTIAL, BLOCK).threshold < 5


def test_what_a_few_runs_hold_raises_nothing():
    """One score at the cap in each run, and hundreds in a single one, which the look may or may not meet."""
    values = np.zeros((1000, RUN), np.int64)
    values[:, 5] = 30
    values[int(0.6180339887498949 * 1000), :] = 30  # the second that is looked into
    contest, peaks, _ = seen(values.ravel())
    assert skip_threshold.raise_threshold(contest, peaks, RUN, 3.0) <= np.log(1000)


@pytest.mark.traced(False)
@pytest.mark.parametrize("noise", [EXPONENTIAL, GUMBEL], ids=lambda noise: noise.name)
def test_races_with_a_raised_threshold_have_the_law(noise, monkeypatch):
    """By group: whether the winner is one of the 8 ahead, of the 264 at the cap, or of the rest."""
    monkeypatch.setattr(skip_schedule, "MANY", 0)
    monkeypatch.setattr(skip_threshold, "LOOKED", 8)
    monkeypatch.setattr(skip_schedule, "choose_threshold", lambda contest, tops: 0.5)
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


SHAPES: dict[str, Any] = {
    "bell": np.random.default_rng(1).normal(0, 100, 50_000),
    "tied": np.minimum(np.random.default_rng(2).pareto(1.0, 50_000) * 10, 500).astype(np.int16),
    "equal": np.zeros(50_000, np.int8),
    "never": np.where(np.arange(50_000) % 2, -np.inf, np.arange(50_000) / 10),
    "far apart": np.where(np.arange(50_000) % 2, -(2**63), 2**62),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_heights_in_eighths_are_those_of_positions_rounded_down(shape):
    """At the edges of eighths too; those beyond 50 are counted at the ends."""
    values = SHAPES[shape][::7]
    for scale in (Fraction(20), Fraction(1, 8), Fraction(10**6)):
        contest = Contest(values, 1, scale, EXPONENTIAL, values.max().item())
        places = np.clip(np.floor(8 * contest.positions(values)), -400, 400) + 400
        found = [one.tolist() for one in skip_threshold.eighths(contest, values)]
        assert found == [places.tolist(), np.bincount(places.astype(int), minlength=801).tolist()]


def test_where_no_crowd_tells_more_the_threshold_is_what_k_draws_surely_pass():
    alone = np.array([0.0] + [-1e9] * 5000)
    contest = Contest(alone, 1, Fraction(1), GUMBEL, 0.0)
    assert skip_threshold.choose_threshold(contest, alone[:1]) == skip_threshold.passing(GUMBEL, 1)[0]
    crowd = Contest(SHAPES["bell"], 1, Fraction(20), GAUSSIAN, 300.0)
    assert skip_threshold.choose_threshold(crowd, SHAPES["bell"][:9]) > skip_threshold.passing(GAUSSIAN, 1)[0]
