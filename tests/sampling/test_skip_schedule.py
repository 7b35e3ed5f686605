"""A plan opens the blocks that stand high, and has its centre near the k-th largest score."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shortlist.sampling import skipping as skip_schedule
from tests.helpers.inside import KINDS, Contest, make_plan

D = 40_007
SCORES = {
    "bell": np.random.default_rng(1).normal(0, 100, D),
    "tied at a cap": np.minimum(np.random.default_rng(2).pareto(1.0, D) * 10, 500).astype(np.int64),
    "one block": np.where(np.arange(D) < 64, 10**6, np.arange(D) % 1000),
    "never": np.where(np.arange(D) % 2, -np.inf, np.arange(D) / 10).astype(np.float32),
}


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "contiguous": lambda values: values,
    "every third": lambda values: np.repeat(values, 3)[::3],
    "backwards": lambda values: values[::-1].copy()[::-1],
    "read only": lambda values: np.frombuffer(values.tobytes(), values.dtype),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"])
def test_the_plan_of_equal_scores_is_the_same_however_they_are_stored(dtype, layout):
    """Distances between short integers may not fit their type."""
    bounds = np.iinfo(dtype) if np.dtype(dtype).kind != "f" else np.iinfo(np.int16)
    low, high = max(bounds.min, -(10**5)), min(bounds.max, 10**5)
    values = np.random.default_rng(3).integers(low, high, D, endpoint=True)
    for k, block, scale in ((1, 1024, Fraction(high - low, 50)), (20, 64, Fraction(high - low, 9))):
        plan = make_plan(values, k, scale, KINDS["gumbel"], block)
        other = make_plan(LAYOUTS[layout](values.astype(dtype)), k, scale, KINDS["gumbel"], block)
        assert (other.threshold, other.contest.centre) == (plan.threshold, plan.contest.centre)
        for mine, its in zip(other.batches, plan.batches, strict=True):
            assert (mine.level, mine.length, mine.stride) == (its.level, its.length, its.stride)
            assert np.array_equal(mine.starts, its.starts)


@pytest.mark.parametrize("block", [32, 512, 2048])
def test_maxima_are_those_of_their_runs_and_blocks(block):
    values = SCORES["bell"]
    maxima = skip_schedule.Maxima.of(values, block)
    assert maxima.run == min(block, skip_schedule.RUN)
    for size, largest in ((maxima.run, maxima.peaks), (block, maxima.tops)):
        assert np.array_equal(largest, values[: D // size * size].reshape(-1, size).max(axis=1))


def test_small_blocks_are_columns_of_their_run():
    values = SCORES["tied at a cap"]
    wanted = [
        values[3 * 512 + c : 4 * 512 : 512 // skip_schedule.SMALL].max() for c in range(512 // skip_schedule.SMALL)
    ]
    assert skip_schedule._column_maxima(values, 512, np.array([3])).tolist() == wanted
    assert skip_schedule._column_maxima(values, 512, np.array([3] * 200)).tolist() == wanted * 200


def test_blocks_are_opened_as_far_as_they_stand_high():
    """None of them, into runs alone, into small blocks, and one by one."""
    values = np.zeros(8 * 4096, np.int64)
    values[5] = 20
    maxima = skip_schedule.Maxima.of(values, 4096)
    for threshold, parts in (
        (35.0, []),
        (25.0, [512]),
        (23.0, [512, skip_schedule.SMALL]),
        (20.0, [512, skip_schedule.SMALL, 1]),
    ):
        contest = Contest(values, 1, Fraction(1), KINDS["exponential"], 0)
        layout = skip_schedule.Layout.of(contest, maxima, threshold)
        assert len(layout.tiers) == 1 + (512 in parts) + (skip_schedule.SMALL in parts)
        assert {batch.length for batch in layout.plan().batches} == {4096, *parts}


def test_a_crowd_in_few_blocks_is_seen_and_the_centre_is_the_kth_largest():
    """Also where all that are high stand behind the last whole run."""
    for place in (slice(0, 64), slice(D - 64, D)):
        values = np.arange(D) % 1000
        values[place] = 10**6 + np.arange(64)
        plan = make_plan(values, 3, Fraction(5), KINDS["gumbel"], 1024)
        assert plan.contest.centre == 10**6 + 61
    never = np.full(D, -np.inf)
    never[:64] = np.arange(64)
    assert make_plan(never, 3, Fraction(5), KINDS["gumbel"], 1024).contest.centre == 61.0
