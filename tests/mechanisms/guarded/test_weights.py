"""What the junk weighs: bounds by adding all classes up, beside those by cells and the exact number."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shortlist.sampling import sets
from shortlist.sampling import subsets as subset_few
from tests.helpers.inside import rank_scores

SHAPES: dict[str, Callable[[int], Any]] = {
    "zipf": lambda d: np.floor(1e4 / np.arange(1, d + 1) ** 0.8).astype(np.int64),
    "flat": lambda d: np.full(d, 7),
    "far": lambda d: np.append(np.full(d // 2, 2**40), np.arange(d - d // 2)),
    "floats": lambda d: np.random.default_rng(d).normal(0, 30, d),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("d", "k"), [(2, 1), (9, 3), (80, 5), (1500, 10)])
@pytest.mark.parametrize("rate", [Fraction(1, 50), Fraction(3)])
def test_adding_all_classes_up_agrees_with_cells_and_with_the_exact_weight(shape, d, k, rate, monkeypatch):
    ranking = rank_scores(SHAPES[shape](d), k, rate, Fraction(3, 5), gap_aware=True)
    classes = ranking.classes()
    starts = np.minimum(np.arange(k) % 3, len(classes.fall) - 1)
    for family in (sets.Family.junk(ranking, classes, starts), sets.Family.all_but_junk(ranking, classes, starts)):
        low, high = family.bounds()
        with monkeypatch.context() as patched:
            patched.setattr(subset_few, "FEW", 0)
            below, above = family.bounds()
        assert low <= above
        assert below <= high
        assert high - low <= 1e-8 + 1e-11 * abs(low)
        if d <= 80:
            exact = family.exact(below)
            assert low <= float(exact.lower())
            assert float(exact.upper()) <= high


def test_what_is_kept_are_sizes_of_classes_alone():
    """The table knows d and k, both public."""
    subset_few.log_sizes.cache_clear()
    for values in (SHAPES["zipf"](100), SHAPES["flat"](100)):
        ranking = rank_scores(values, 5, Fraction(1, 2), Fraction(1, 2), gap_aware=True)
        sets.Family.junk(ranking, ranking.classes(), np.zeros(5, np.int64)).bounds()
    assert subset_few.log_sizes.cache_info().currsize == 1
