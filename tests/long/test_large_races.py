"""Hundreds of thousands of draws of every noise among 20,000 candidates, against the exact law."""

from fractions import Fraction

import numpy as np
import pytest

from shortlist.sampling import race
from tests.helpers.inside import KINDS, Seeded
from tests.helpers.laws import winner_probabilities
from tests.helpers.support import assert_law, histogram

D, DRAWS, SCALE = 20_000, 300_000, 4
SHAPES = {
    "peak": np.where(np.arange(D) == 12_345, 44, 0),
    "spiky": np.where(np.arange(D) % 1000 == 7, 20 + np.arange(D) // 1000, (np.arange(D) * 7919) % 12),
}


@pytest.mark.long
@pytest.mark.parametrize("noise", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_large_race_has_the_law(noise, shape):
    values = SHAPES[shape]
    winners = race.race_many(values, k=1, scale=Fraction(SCALE), noise=noise, source=Seeded(2026), draws=DRAWS).ravel()
    law, wrong = (winner_probabilities((values - values.max()) / scale, noise) for scale in (SCALE, 1.01 * SCALE))
    distinct, group = np.unique(values, return_inverse=True)
    by_score = histogram(group[winners], len(distinct))
    assert_law(by_score, np.bincount(group, law), wrong=np.bincount(group, wrong))
    tied = np.flatnonzero(values == np.bincount(values[winners]).argmax())
    inside = histogram(np.searchsorted(tied, winners[np.isin(winners, tied)]) * 64 // len(tied), 64)
    assert_law(inside, np.bincount(np.arange(len(tied)) * 64 // len(tied), minlength=64) / len(tied))
