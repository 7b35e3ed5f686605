"""Key sets with noise too wide for floats or 64 bits: refused, and never by a look at the data."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP
from shortlist.mechanisms import KeySet, NamesChoice
from tests.helpers.inside import Geometric


@pytest.mark.parametrize("counts", [{}, {"a": 1}, {"a": 2**62}])
@pytest.mark.parametrize(("epsilon", "delta", "most"), [(1e-17, 1e-30, 1), (1e-19, 1e-60, 3)])
def test_a_bar_beyond_all_tables_is_refused(epsilon: float, delta: float, most: int, counts: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="too small for any table"):
        KeySet(most=most, epsilon=epsilon, delta=delta).release(counts, monotone=True)


def test_the_deviation_of_noise_that_is_cut_is_that_of_its_masses() -> None:
    for epsilon, reach in (
        (Fraction(1, 10**9), 3000),
        (Fraction(1, 1000), 2000),
        (Fraction(1, 7), 20),
        (Fraction(9), 1),
    ):
        x = np.arange(1.0, reach + 1)
        masses = np.exp(-float(epsilon) * x)
        added = 2 * (masses * x * x).sum() / (1 + 2 * masses.sum())
        assert Geometric(epsilon, reach).variance() == pytest.approx(added, rel=1e-11)
    flat = KeySet(most=1, epsilon=1e-15, delta=1e-12).error
    assert flat == pytest.approx(5e11 / np.sqrt(3), rel=1e-3)


@pytest.mark.parametrize("budget", [ZCDP(1e-35, 0.4), ZCDP(1e-40, 1e-6), ApproxDP(1e-20, 1e-40)], ids=str)
def test_a_choice_with_a_key_set_is_refused_where_the_key_set_is(budget: ZCDP | ApproxDP) -> None:
    with pytest.raises(ValueError, match="too small for any table"):
        assert NamesChoice(k=5, budget=budget, most=64).branches


def test_clipped_sums_are_no_counts() -> None:
    rows = pl.DataFrame({"user": [1, 2, 3], "item": ["a", "a", "b"], "stars": [1.0, 0.5, 1.0]})
    sums = sl.count(rows, user="user", item="item", value="stars", clip=(0, 1), candidates=["a", "b", "c"])
    with pytest.raises(ValueError, match="not clipped sums"):
        NamesChoice(k=2, epsilon=1.0, delta=1e-6).release(sums)
