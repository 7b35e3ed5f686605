"""The threshold of a skip: as high as it may be, so that few are hit, and k candidates still pass. Nothing here draws.

It is a function of the scores alone, so that a poor one costs time and never exactness.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shortlist._arrays import Floats, Indices, Values
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.score_intervals import Contest
from shortlist.sampling.skip_levels import BINS, held, histogram

LOOKED = 32
"""So many high runs are looked into before many hits are paid for."""
HIGHER = 24
"""How many thresholds above are tried then, half a unit from one to the next."""

PLACES = 191
"""Thresholds -50, -49.5, .., 45."""

EIGHTHS = 400
"""Eighths of a unit in 50."""

GRID = np.arange(-100, PLACES - 100) / 2
"""Thresholds; heights are rounded down to the same grid of half units."""


def choose_threshold(contest: Contest, tops: Values) -> float:
    """The highest threshold that, by what is known, more than enough candidates will pass.

    Known are the maxima of blocks (`tops`, a sure lower bound on how many pass) and a fixed sample of the scores,
    counted half.
    """
    place, surely_passed = _crowded_place(contest, tops), passing(contest.noise, contest.k)[0]
    return surely_passed if place < 0 else max(surely_passed, float(GRID[place]))


def _crowded_place(contest: Contest, tops: Values) -> int:
    """The last place in the grid where enough pass; -1 if nowhere. No sum is rounded, whatever its order."""
    values, wanted = contest.values, enough(contest.k) * WHOLE
    sample = sampled(len(values), contest.noise)
    by_tops, by_sample = histogram(contest.positions(tops)), histogram(contest.positions(values[sample.places]))
    surely = np.convolve(by_tops, sample.chance, "valid").astype(np.float64)
    some = np.convolve(by_sample, sample.chance, "valid").astype(np.float64)
    broad = some * some >= BROAD * np.convolve(by_sample, sample.square, "valid").astype(np.float64)
    return int(np.max(np.flatnonzero((surely >= wanted) | (broad & (sample.each * some >= wanted))), initial=-1))


def raised(contest: Contest, peaks: Values, run: int, threshold: float) -> float:
    """A higher threshold, where the maxima of runs (`peaks`) or what the highest of them hold tell of more candidates.

    That is asked where the threshold would cost many hits. How many pass by their maxima is a sure lower bound; how
    many do in all is told by LOOKED of the runs that stand high: by how many pass in each, or by how many times more
    pass than by its maximum. That is taken three standard errors lower, unless k surely pass but for a small chance.
    """
    chance, wanted = passing(contest.noise, contest.k)[1], enough(contest.k)
    place = int(np.searchsorted(GRID, threshold, side="right")) - 1
    higher = np.arange(place + 1, min(place + 1 + HIGHER, len(GRID)))
    heights, counts = eighths(contest, peaks)
    surely = _surely(contest.noise, counts, GRID[higher])
    place = int(np.max(higher[surely >= wanted], initial=place))
    near = np.flatnonzero(heights >= np.int16(8 * (GRID[place] - NEAR) + EIGHTHS))
    if len(near) >= 2 * LOOKED:
        some = near[(np.arange(LOOKED) * 0.6180339887498949 % 1 * len(near)).astype(np.int64)]
        distance = (higher + BINS - 1)[:, None]
        passed = held(contest, contest.values, run, some) @ chance[distance - np.arange(BINS)].T
        highest = heights[some].astype(np.int64) // 4
        with np.errstate(all="ignore"):
            each, each_error = _ratio(passed, np.ones_like(passed))
            times, times_error = _ratio(passed, chance[distance - highest].T)
            least = np.fmax((each - 3 * each_error) * len(near), (times - 3 * times_error) * surely)
        likely = (surely >= contest.k + 3 * math.sqrt(contest.k)) & (0.9 * times * surely >= wanted)
        place = int(np.max(higher[likely | (0.9 * least >= wanted)], initial=place))
    return max(threshold, float(GRID[place]))


def eighths(contest: Contest, scores: Values) -> tuple[NDArray[np.int16], Indices]:
    """(where these scores stand in eighths from -50 on, rounded down, and cut at 0 and 800; how many at each)."""
    places = np.clip(np.floor(8 * contest.positions(scores)), -EIGHTHS, EIGHTHS).astype(np.int16) + np.int16(EIGHTHS)
    return places, np.bincount(places, minlength=2 * EIGHTHS + 1)


def _surely(noise: Noise, counts: Indices, thresholds: Floats) -> Floats:
    """How many pass each threshold, on the average, of so many at each height in eighths; the lowest pass none."""
    some = np.flatnonzero(counts[1:]) + 1
    passed: Floats = np.exp(noise.log_survival(thresholds[:, None] - (some - EIGHTHS) / 8)) @ counts[some]
    return passed


def _ratio(passed: Floats, beside: Floats) -> tuple[Floats, Floats]:
    """(how many pass for each of those beside, in all rows together; its standard error)."""
    ratio = passed.sum(axis=0) / beside.sum(axis=0)
    return ratio, np.sqrt(((passed - ratio * beside) ** 2).sum(axis=0)) / beside.sum(axis=0)


NEAR = 7.0
"""Runs whose maximum is not further below a threshold stand high."""

WHOLE, BROAD = 2.0**30, 2.0**35
"""Chances are whole numbers of 2^-30; so many scores of a sample must tell the same: 32, in these units."""


def enough(k: int) -> float:
    """So many are expected to pass, so that k do but for a small chance."""
    return k + 5 * math.sqrt(k) + 8


def nearly_enough(k: int) -> float:
    """The same for many rows of few candidates: one row in thousands has too few, and is raced anew in little time."""
    return k + 3.5 * math.sqrt(k) + 4


@dataclass(frozen=True, slots=True)
class Sample:
    """What a threshold is chosen by: a sample of positions, and the chances of noise, as whole numbers."""

    places: Indices
    each: float
    """So many candidates each of them stands for."""
    chance: Indices
    """Of noise that passes a distance, in half units."""
    square: Indices


@lru_cache(maxsize=16)
def sampled(d: int, noise: Noise) -> Sample:
    """Some 2,048 positions, eight neighbours at a time, spread by the golden ratio: no period of the data fits it.

    They are counted half. Beside them the chances to pass each distance, and their squares, rounded down to whole
    numbers of 2^-30.
    """
    starts = np.arange(256) * 0.6180339887498949 % 1 * (d - 7)
    places = (starts.astype(np.int64)[:, None] + np.arange(8)).ravel()
    chance = passing(noise, 1)[1]
    whole, square = (np.floor(one * WHOLE).astype(np.int64) for one in (chance, chance**2))
    return Sample(places, 0.5 * (d / len(places)), whole, square)


@lru_cache
def passing(noise: Noise, k: int) -> tuple[float, Floats]:
    """(what k draws of noise all pass but for a chance of 1e-5, the chance to pass each distance)."""
    almost_one = np.array([2**64 - 1 - int(2.0**64 * 1e-5 / k)], np.uint64)
    distance = np.arange(-200, PLACES) / 2
    return float(noise.quantile(almost_one, 0)[0][0]), np.exp(noise.log_survival(distance))
