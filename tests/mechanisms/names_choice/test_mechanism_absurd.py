"""Names from the data at budgets beyond all reason: an answer without a warning, and notes for many names."""

import warnings

import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP
from shortlist.mechanisms import KeySet, NamesChoice, NoisyHistogram
from tests.helpers.typed import present

COUNTS = {"a": 300, "b": 200, "c": 100}


@pytest.mark.parametrize("budget", [ApproxDP(1e300, 1e-6), ZCDP(1e300, 1e-6), ApproxDP(1e150, 0.3)])
def test_a_huge_budget_gives_the_names_and_no_warning(budget):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="delta=")
        choice = NamesChoice(k=2, budget=budget)
        assert set(present(choice.release(COUNTS, monotone=True).items)) == {"a", "b"}
        assert choice.success_probability([300, 200, 100], monotone=True) == pytest.approx(1)
        for most in (1, 3):
            found = KeySet(most=most, budget=budget).release(COUNTS, monotone=True)
            assert (found.items, found.values) == (["a", "b", "c"], [300.0, 200.0, 100.0])


@pytest.mark.parametrize("budget", [PureDP(1e300), ApproxDP(1e300, 1e-6), ZCDP(1e300)])
def test_a_histogram_under_a_huge_budget_is_the_truth(budget):
    """The Gaussian rate could not be certified there, and its 0 was divided by."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = NoisyHistogram(k=2, most=2, budget=budget).release([300, 200, 100], monotone=True)
        assert (found.indices, found.values) == ([0, 1], [300.0, 200.0])


def test_plain_counts_are_told_that_rows_have_a_lower_bar_beyond_64_names():
    counts = {f"name {n:03}": 4000 + n for n in range(80)}
    for k, told in ((64, False), (65, True)):
        release = sl.top_k(counts, k, epsilon=1.0, delta=1e-6, monotone=True, rng=sl.testing.seeded(1))
        assert any("sl.keys" in note for note in release.notes) == told
    limited = NamesChoice(k=65, epsilon=1.0, delta=1e-6, limit=130)
    counted = NamesChoice(k=65, epsilon=1.0, delta=1e-6, most=64)
    assert not any("sl.keys" in note for one in (limited, counted) for note in one._notes(one.branches[0], 65))
