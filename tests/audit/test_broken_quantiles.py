"""Broken quantiles are caught; mended they are not; and what is private but misses is shown to miss."""

from fractions import Fraction

import pytest

from shortlist.audit import Law, prove
from shortlist.privacy import PureDP
from studies.broken import catch, quantiles

HALF = Fraction(1, 2)


@pytest.mark.parametrize("entry", quantiles.ENTRIES, ids=lambda entry: entry.name)
def test_it_is_caught(entry):
    assert catch(entry).by == "box"


def test_mended_they_are_not_convicted():
    by_name = {entry.name: entry for entry in quantiles.ENTRIES}
    monotone, emptier = by_name["quantile called monotone"], by_name["quantiles, votes to the emptier side"]
    assert prove(
        lambda x: Law(dict(enumerate(quantiles.one_law(quantiles.exactly(x), Fraction(1, 4), Fraction(2, 3))))),
        monotone.pairs,
        PureDP(1.0),
    ).holds
    assert prove(lambda x: quantiles.quartiles(quantiles.exactly(x), Fraction(1)), emptier.pairs, PureDP(1.0)).holds


def test_a_score_by_the_rank_below_cannot_hit_an_atom():
    votes = quantiles.exactly((0, 0, 30, 0, 0))
    ours = quantiles.one_law(votes, HALF, Fraction(1))
    theirs = quantiles.one_law(votes, HALF, Fraction(1), quantiles.rank_below)
    assert ours[2] > 0.999
    assert theirs[2] < 0.21


def test_all_votes_of_an_atom_to_one_side_is_biased():
    votes = quantiles.exactly((0, 0, 30, 0, 0))
    ours = quantiles.quartiles(votes, Fraction(2)).chances
    theirs = quantiles.quartiles(votes, Fraction(2), quantiles.to_the_left).chances
    assert ours[2, 2, 2] > 0.99
    assert sum(float(chance) for found, chance in theirs.items() if found[2] > 2) > 0.6


def test_groups_that_are_paid_for_are_not_convicted():
    """Half of epsilon for each of the two groups that a person may be in."""
    entry = next(one for one in quantiles.ENTRIES if "not kept apart" in one.name)
    assert prove(lambda x: quantiles.medians((x[:3], x[3:]), Fraction(1, 2)), entry.pairs, PureDP(1.0)).holds
