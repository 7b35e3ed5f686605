"""A plan is the same whether NumPy or a compiled pass has read the scores."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shortlist import _scan
from shortlist.exact.noise_distributions import KINDS
from shortlist.exact.score_intervals import Contest
from shortlist.sampling import skip_schedule, skip_threshold
from shortlist.sampling.skip_schedule import SMALL, Layout, Maxima, make_plan

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
    monkeypatch.setattr(skip_threshold, "LOOKED", 8)
    plans = []
    for library in (_scan.LIBRARY, None):
        monkeypatch.setattr(_scan, "LIBRARY", library)
        plans.append(make_plan(SCORES[shape], k, Fraction(20), KINDS[noise], 2048 if k == 1 else 64))
    same(*plans)


@pytest.mark.parametrize("block", [32, 512, 2048])
def test_maxima_are_those_of_their_runs_and_blocks_also_if_runs_were_seen(block):
    values = SCORES["bell"]
    seen = np.maximum.reduceat(values, np.arange(0, D, _scan.RUN))
    for maxima in (Maxima.of(values, block), Maxima.of(values, block, seen)):
        assert maxima.run == min(block, _scan.RUN)
        for size, largest in ((maxima.run, maxima.peaks), (block, maxima.tops)):
            assert np.array_equal(largest, values[: D // size * size].reshape(-1, size).max(axis=1))
    same(
        make_plan(values, 1, Fraction(20), KINDS["gumbel"], block, seen=seen),
        make_plan(values, 1, Fraction(20), KINDS["gumbel"], block),
    )


def test_small_blocks_are_columns_of_their_run(monkeypatch):
    values = SCORES["tied at a cap"]
    wanted: Any = [values[3 * 512 + c : 4 * 512 : 512 // SMALL].max() for c in range(512 // SMALL)]
    for library in (_scan.LIBRARY, None):
        monkeypatch.setattr(_scan, "LIBRARY", library)
        assert skip_schedule._column_maxima(values, 512, np.array([3])).tolist() == wanted
        assert skip_schedule._column_maxima(values, 512, np.array([3] * 200)).tolist() == wanted * 200
    monkeypatch.setattr(skip_schedule, "column_maxima", lambda *question: wanted)  # also where none can be built
    monkeypatch.setattr(skip_schedule, "run_maxima", lambda *question: wanted)
    assert skip_schedule._column_maxima(values, 512, np.array([0])) is wanted
    assert skip_schedule.block_maxima(values, 512) is wanted


def test_blocks_are_opened_as_far_as_they_stand_high():
    """None of them, into runs alone, into small blocks, and one by one."""
    values = np.zeros(8 * 4096, np.int64)
    values[5] = 20
    maxima = Maxima.of(values, 4096)
    for threshold, parts in ((35.0, []), (25.0, [512]), (23.0, [512, SMALL]), (20.0, [512, SMALL, 1])):
        contest = Contest(values, 1, Fraction(1), KINDS["exponential"], 0)
        layout = Layout.of(contest, maxima, threshold)
        assert [layout.runs is not None, layout.small is not None] == [512 in parts, SMALL in parts]
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
