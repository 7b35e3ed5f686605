"""Exact laws of the hybrids, against balls from the formulas and against draws."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import shortlist as sl
from shortlist.audit.certified import base
from shortlist.mechanisms import HybridSparseVector, HybridTopK
from tests.helpers.support import assert_law

HYBRIDS = [HybridTopK(threshold=2, k=2, epsilon=2.0), HybridSparseVector(threshold=2, k=2, epsilon=2.0, theta=0.3)]
both = pytest.mark.parametrize("mechanism", HYBRIDS, ids=lambda one: type(one).__name__)


def certified_sets(mechanism, scores):
    """P[each set], in balls: all above the level at which the list ends, the others below it (Definition 98)."""
    epsilon, k, noise = Fraction(mechanism.epsilon), mechanism.k, base.NAMED["exponential"]
    if isinstance(mechanism, HybridTopK):
        scale = line_scale = k * scores.range_sensitivity / epsilon
        line = Fraction(mechanism.threshold)
    else:
        share = Fraction(mechanism.theta)
        scale = k * scores.range_sensitivity / ((1 - share) * epsilon)
        line_scale = scores.largest_sensitivity / (share * epsilon)
        line = Fraction(mechanism.threshold) + scale - line_scale
    places = [(base.rational(scale), base.rational(value)) for value in scores.values.tolist()]
    bar = base.rational(line_scale), base.rational(line)
    law = {}
    for size in range(min(k, len(places)) + 1):
        for members in combinations(range(len(places)), size):
            winners = [base.survival(noise, *places[i]) for i in members]
            losers = [one for i, one in enumerate(places) if i not in members]
            ends = [(bar, losers)]
            if size == k:
                ends += [(one, [*losers[:n], *losers[n + 1 :], bar]) for n, one in enumerate(losers)]
            law[members] = sum(
                float(
                    base.product([base.density(noise, *at), *winners, *(base.below(noise, *one) for one in rest)])
                    .integral()
                    .mid()
                )
                for at, rest in ends
            )
    return law


@both
@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("x", [[5, 3, 2, 0], [2, 2], [9, 1, -4]])
def test_sets_have_their_certified_chances(mechanism, x, monotone):
    expected = certified_sets(mechanism, sl.Scores(x, monotone=monotone))
    found = mechanism.probabilities(x, monotone=monotone)
    assert found.keys() == expected.keys()
    assert sum(expected.values()) == pytest.approx(1)
    for members, chance in expected.items():
        assert found[members] == pytest.approx(chance, abs=1e-9)
    other = mechanism.probabilities([x[0] + 0.1, *map(float, x[1:])], monotone=monotone)
    assert max(abs(other[members] - chance) for members, chance in expected.items()) > 1e-6


@both
def test_draws_have_these_laws(mechanism):
    x, draws = [5.0, 3.5, 3.0, 2.0, -1.0, -np.inf], 6000
    rows = mechanism.release_many(x, draws=draws, rng=sl.testing.seeded(2)).indices
    number, law = np.bincount((rows >= 0).sum(axis=1), minlength=3), mechanism.number_released(x)
    assert_law(number, law, wrong=np.sqrt(law) / np.sqrt(law).sum())
    for i, p in enumerate(mechanism.inclusion_probabilities(x)):
        times = int((rows == i).any(axis=1).sum())
        assert_law([times, draws - times], [p, 1 - p], wrong=[0.8 * p, 1 - 0.8 * p] if p > 0.2 else None)
    right = int((np.sort(rows, axis=1) == [0, 1]).all(axis=1).sum())
    p = mechanism.success_probability(x)
    assert p == mechanism.quality(x).top
    assert_law([right, draws - right], [p, 1 - p], wrong=[0.8 * p, 1 - 0.8 * p])


@both
def test_private_scores_are_not_studied(mechanism):
    for law in ("probabilities", "success_probability", "quality", "inclusion_probabilities", "number_released"):
        with pytest.raises(ValueError, match="would show people's data"):
            getattr(mechanism, law)(sl.Scores([5, 3, 1], monotone=True)._as_counted())
