"""The exponential mechanism in the words of private-pgm: its law, its price, its way of being called."""

import math

import numpy as np
import pytest

import shortlist as sl
from shortlist.compat.mbi import exponential_mechanism, exponential_mechanism_with_gap
from shortlist.privacy import BoundedRange, PureDP
from shortlist.testing import seeded
from tests.helpers.support import assert_law, histogram
from tests.helpers.typed import present


def theirs(qualities, epsilon, sensitivity, weights=None):
    """The law that private-pgm samples from in floats."""
    odds = np.exp(0.5 * epsilon / sensitivity * np.asarray(qualities)) * (1.0 if weights is None else weights)
    return odds / odds.sum()


def test_draws_have_the_law_of_private_pgm():
    qualities, source = np.array([3.0, 0.0, 1.5, -2.0]), seeded(2)
    places = [exponential_mechanism(qualities, 1.3, 2.0, rng=source) for _ in range(1500)]
    assert_law(histogram(places, 4), theirs(qualities, 1.3, 2.0), wrong=theirs(qualities, 2.6, 2.0))


def test_keys_and_base_measures_are_those_of_aim():
    qualities = {("a", "b"): 3.0, ("a", "c"): 1.0, ("b", "c"): 2.0}
    weights = {("b", "c"): 3, ("a", "c"): 2, ("a", "b"): 1}
    keys, source = list(qualities), seeded(3)
    winners = [keys.index(exponential_mechanism(qualities, 1.0, 1.0, weights, rng=source)) for _ in range(1500)]
    law = theirs(list(qualities.values()), 1.0, 1.0, np.array([1, 2, 3]))
    assert_law(histogram(winners, 3), law, wrong=theirs(list(qualities.values()), 1.0, 1.0))


def test_monotonic_qualities_need_half_the_noise():
    qualities, source = [2.0, 0.0, 1.0], seeded(4)
    places = [exponential_mechanism(qualities, 1.0, monotonic=True, rng=source) for _ in range(1000)]
    assert_law(histogram(places, 3), theirs(qualities, 2.0, 1.0))


def test_every_round_is_charged_in_zcdp(tmp_path):
    ledger = sl.Ledger(tmp_path / "aim.db", budget=sl.ZCDP(0.5))
    for _ in range(3):
        exponential_mechanism({"a": 1.0, "b": 2.0}, 1.0, 1.0, ledger=ledger, purpose="round")
    assert ledger.entries()[-1].guarantee == repr(BoundedRange(1.0))
    assert 0.95 * 3 / 8 < present(ledger.spent.rho) <= 3 / 8
    with pytest.raises(sl.BudgetExceeded):
        exponential_mechanism({"a": 1.0, "b": 2.0}, 2.0, 1.0, ledger=ledger)


def test_winner_and_gap_have_their_law():
    """Two candidates: the signed lead is logistic of scale 2 sensitivity / epsilon around the difference."""
    qualities, source = {"a": 3.0, "b": 1.0}, seeded(5)
    drawn = [exponential_mechanism_with_gap(qualities, 1.3, 2.0, rng=source) for _ in range(2000)]
    assert min(gap for _, gap in drawn) >= 0
    leads = np.array([gap if winner == "a" else -gap for winner, gap in drawn])
    scale, edges = 2 * 2.0 / 1.3, np.array([-4.0, 0.0, 2.0, 6.0])

    def law(scale):
        below = 1 / (1 + np.exp(-(edges - 2.0) / scale))
        return np.diff([0.0, *below, 1.0])

    assert_law(np.bincount(np.searchsorted(edges, leads), minlength=5), law(scale), wrong=law(scale / 1.5))
    place, gap = exponential_mechanism_with_gap(np.array([0.0, 500.0]), 1.0, rng=source)
    assert (place, gap > 300) == (1, True)


def test_a_gap_is_charged_as_a_pure_release(tmp_path):
    """Not as bounded range: the pair has divergence .163953 at epsilon 1, more than 1/8."""
    ledger = sl.Ledger(tmp_path / "aim.db", budget=sl.ZCDP(1.0))
    exponential_mechanism_with_gap({"a": 1.0, "b": 2.0}, 1.0, 1.0, ledger=ledger)
    assert ledger.entries()[-1].guarantee == repr(PureDP(1.0))
    assert present(ledger.spent.rho) == pytest.approx(math.tanh(0.5))
    with pytest.raises(ValueError, match="2 candidates"):
        exponential_mechanism_with_gap([1.0], 1.0, ledger=ledger)
    assert len(ledger.entries()) == 1


def test_what_is_refused():
    with pytest.raises(TypeError, match="base_measure must be a mapping"):
        exponential_mechanism([1.0, 2.0], 1.0, 1.0, [0.0, 1.0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="base_measure must be a mapping"):
        exponential_mechanism({"a": 1.0}, 1.0, 1.0, {"b": 1.0})
    with pytest.raises(ValueError, match="NaN"):
        exponential_mechanism([1.0, math.nan], 1.0)
    with pytest.raises(ValueError, match="epsilon"):
        exponential_mechanism([1.0, 2.0], 0.0)


def test_whole_numbers_that_are_no_floats_are_not_rounded_to_them():
    """Rounded, 2^53 + 1 and its neighbour 2^53 + 2 would be 2 apart, or more."""
    with pytest.raises(ValueError, match="do not mix exactly"):
        exponential_mechanism({"a": 2**53 + 1, "b": 0.5}, 1.0)
