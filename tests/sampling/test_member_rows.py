"""Members of classes, drawn for all rows at once, are uniform, and each class has its own."""

from itertools import combinations

import numpy as np
import pytest

from shortlist.sampling.entropy import Seeded
from shortlist.sampling.subset_rows import _below, member_rows
from tests.helpers.support import assert_law
from tests.mechanisms.canonical.test_sampler import Given

EACH = 3_000


def sets_of(k, i, j, merged):
    """All members of a class, from its definition."""
    if i < 0:
        return [tuple(range(k))]
    before = k - i - merged
    free = combinations(range(before, before + i + j), i)
    return [(*range(k - 1 - i), *some, before + i + j) for some in free]


@pytest.mark.parametrize("merged", [False, True])
def test_members_of_every_class_are_uniform(merged):
    """Rows of different classes in one call, shuffled: each class has its sets, and no other."""
    k = 4
    kinds = [(3, 1), (3, 2), (3, 5)] if merged else [(-1, 0), (0, 3), (1, 0), (1, 4), (2, 2), (3, 0), (3, 3)]
    which = np.random.default_rng(1).permutation(np.repeat(np.arange(len(kinds)), EACH))
    i, j = np.array(kinds)[which].T
    rows = np.sort(member_rows(k, i, j, merged=merged, source=Seeded(2)), axis=1)
    for n, (one, two) in enumerate(kinds):
        sets = sets_of(k, one, two, merged)
        found = [tuple(row) for row in rows[which == n].tolist()]
        counts = [found.count(some) for some in sets]
        assert sum(counts) == EACH
        sizes = np.arange(2, 2 + len(sets))
        wrong = sizes / sizes.sum() if len(sets) > 1 else None
        assert_law(counts, np.full(len(sets), 1 / len(sets)), wrong=wrong)


def test_no_rows_have_no_members():
    nobody = np.empty(0, np.int64)
    assert member_rows(3, nobody, nobody, merged=False, source=Seeded(1)).shape == (0, 3)


def test_half_words_that_would_favour_some_values_are_drawn_again():
    """2^32 = 1 mod 3: of the halves, 0 alone is one too many; 2^31 is fair for 3 and for 1."""
    halves = np.array([0, 1, 2**31, 2**32 - 1, 0], np.uint32)
    bounds = np.array([3, 3, 3, 3, 1], np.uint32)
    again = int(np.array([0, 7], np.uint32).view(np.uint64)[0])
    last = int(np.array([2**32 - 1, 7], np.uint32).view(np.uint64)[0])
    assert _below(bounds, halves, Given(again, last)).tolist() == [2, 0, 1, 2, 0]
