"""A plan is the same whether NumPy or a compiled pass has read the scores."""

from fractions import Fraction

import numpy as np
import pytest

from shortlist import _scan
from shortlist.exact.gaussian_noise import GAUSSIAN
from shortlist.exact.noise_distributions import KINDS, SHIFTS
from shortlist.exact.score_intervals import Contest
from shortlist.sampling import skip_schedule
from shortlist.sampling.skip_schedule import SMALL, block_maxima, levels_of, make_plan

D = 40_007
SCORES = {
    "bell": np.random.default_rng(1).normal(0, 100, D),
    "tied at a cap": np.minimum(np.random.default_rng(2).pareto(1.0, D) * 10, 500).astype(np.int64),
    "one block": np.where(np.arange(D) < 64, 10**6, np.arange(D) % 1000),
    "never": np.where(np.arange(D) % 2, -np.inf, np.arange(D) / 10).astype(np.float32),
}


def same(one, two):
    """Whether two plans test every candidate in the same order at the same level."""
    assert one.threshold == two.threshold
    assert one.contest.centre == two.contest.centre
    assert len(one.batches) == len(two.batches)
    for mine, other in zip(one.batches, two.batches, strict=True):
        assert (mine.level, mine.length, mine.stride) == (other.level, other.length, other.stride)
        assert np.array_equal(mine.starts, other.starts)


@pytest.mark.parametrize("k", [1, 20])
@pytest.mark.parametrize("noise", ["laplace", "half-logistic"])
@pytest.mark.parametrize("shape", SCORES)
def test_the_plan_of_numpy_is_that_of_compiled_passes(shape, noise, k, monkeypatch):
    monkeypatch.setattr(skip_schedule, "MANY", 64)
    monkeypatch.setattr(skip_schedule, "LOOKED", 8)
    plans = []
    for library in (_scan.LIBRARY, None):
        monkeypatch.setattr(_scan, "LIBRARY", library)
        plans.append(make_plan(SCORES[shape], k, Fraction(20), KINDS[noise], 512 if k == 1 else 64))
    same(*plans)


@pytest.mark.parametrize("block", [32, 512, 2048])
def test_block_maxima_follow_from_those_of_runs(block):
    values = SCORES["bell"]
    seen = np.maximum.reduceat(values, np.arange(0, D, _scan.RUN))
    plain = values[: D // block * block].reshape(-1, block).max(axis=1)
    assert np.array_equal(block_maxima(values, block, seen), plain)
    assert np.array_equal(block_maxima(values, block), plain)
    same(
        make_plan(values, 1, Fraction(20), KINDS["gumbel"], block, seen=seen),
        make_plan(values, 1, Fraction(20), KINDS["gumbel"], block),
    )


def test_what_a_compiled_pass_has_found_is_taken_as_it_is(monkeypatch):
    """Also where none can be built: stand-ins answer."""
    contest = Contest(SCORES["bell"], 1, Fraction(20), KINDS["gumbel"], 0.0)
    level, counts, blocks = np.zeros(3, np.int8), np.ones((2, 201)), np.array([0, 1])
    monkeypatch.setattr(skip_schedule, "score_levels", lambda *question: (level, 7))
    monkeypatch.setattr(skip_schedule, "height_counts", lambda *question: counts)
    monkeypatch.setattr(skip_schedule, "column_maxima", lambda *question: counts)
    assert levels_of(contest, contest.values, 1.0) == (level, 7)
    assert skip_schedule._held(contest, 512, blocks) is counts
    assert skip_schedule._column_maxima(contest.values, 512, blocks) is counts


@pytest.mark.parametrize("scale", [Fraction(2) ** 1000, Fraction(1, 2**1000)])
def test_an_extreme_scale_is_left_to_numpy(scale):
    contest = Contest(SCORES["tied at a cap"], 1, scale, KINDS["gumbel"], 3)
    assert contest.factor is None
    assert skip_schedule._rule(contest) is None
    level, high = levels_of(contest, contest.values, 1.0)
    assert len(level) == D
    assert high == (0 if scale > 1 else np.count_nonzero(contest.values > 3))
    assert skip_schedule._held(contest, 512, np.array([0, 1])).shape == (2, 201)


def test_noise_whose_decay_is_no_shift_is_left_to_numpy():
    assert all(noise.decay in SHIFTS for noise in KINDS.values())
    assert skip_schedule._rule(Contest(SCORES["bell"], 1, Fraction(1), GAUSSIAN, 0.0)) is None


def test_decays_are_the_shifts_that_compiled_passes_take_them_for():
    distance = np.linspace(-50, 50, 999)
    for noise in KINDS.values():
        assert np.array_equal(noise.decay(distance), distance + SHIFTS[noise.decay])


def test_small_blocks_are_columns_of_their_block(monkeypatch):
    monkeypatch.setattr(_scan, "LIBRARY", None)
    values = SCORES["tied at a cap"]
    none = np.empty(0, np.int64)
    assert skip_schedule._column_maxima(values, 512, none).shape == (0,)
    found = skip_schedule._column_maxima(values, 512, np.array([3]))
    assert found.tolist() == [values[3 * 512 + c : 4 * 512 : 512 // SMALL].max() for c in range(512 // SMALL)]
