"""Groups of candidates are sorted by their levels."""

from fractions import Fraction

import numpy as np
import pytest

from shortlist.sampling import skipping
from tests.helpers.inside import KINDS, Contest, levels

VALUES = np.random.default_rng(1).normal(0, 100, 5000)


def contest(noise="gumbel", scale=Fraction(20), values=VALUES):
    return Contest(values, 1, scale, KINDS[noise], 0.0)


def test_groups_are_sorted_by_level_and_stay_in_order():
    tops = VALUES.reshape(-1, 10).max(axis=1)
    level = levels(KINDS["gumbel"], contest().positions(tops), 12.0)
    groups = skipping.ByLevel.of(contest(), tops, 12.0, np.arange(0, 5000, 10), 10)
    assert groups.starts.tolist() == (10 * np.argsort(level, kind="stable")).tolist()
    assert groups.counts == {j: n for j, n in enumerate(np.bincount(level)) if n}
    assert groups.high == np.count_nonzero(tops > 20)
    assert groups.up_to(9).tolist() == (10 * np.argsort(level, kind="stable")[: (level <= 9).sum()]).tolist()
    assert groups.hits(7) == pytest.approx(10 * (2.0 ** -np.maximum(level, 7)).sum())
    batches = list(groups.batches(above=9))
    assert sorted({*level.tolist()} - set(range(10))) == [batch.level for batch in batches]
    assert [start for batch in batches for start in batch.starts] == groups.starts[(level <= 9).sum() :].tolist()
    some = np.array([7, 3, 400])
    few = skipping.ByLevel.of(contest(), tops[some], 12.0, some, 10, 2)
    assert few.starts.tolist() == some[np.argsort(level[some], kind="stable")].tolist()
    assert few.stride == 2


@pytest.mark.parametrize("scale", [Fraction(2) ** 1000, Fraction(1, 2**1000)])
def test_groups_have_levels_at_an_extreme_scale(scale):
    extreme = contest(scale=scale)
    groups = skipping.ByLevel.of(extreme, VALUES, 1.0, np.arange(len(VALUES)), 1)
    assert len(groups.starts) == len(VALUES)
    assert groups.high == (0 if scale > 1 else np.count_nonzero(VALUES > 0))
    assert skipping.count_heights(extreme, VALUES, 512, np.array([0, 1])).shape == (2, 201)


def test_levels_are_rounded_down():
    table = skipping.round_down(skipping.LEVELS)
    assert [max(level for level in skipping.LEVELS.tolist() if level <= j) for j in range(41)] == table.tolist()
