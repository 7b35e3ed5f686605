"""The winners of many races by skipping: the exact law at any threshold, and that of the race of the same hits."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from shortlist.audit.certified.base import set_law
from shortlist.exact.noise import EXPONENTIAL, GUMBEL
from shortlist.sampling import race as race_rows
from shortlist.sampling.entropy import Seeded
from shortlist.sampling.race import _by_row, _hits, _tell, race_of_hits, winners_in_rows
from shortlist.sampling.skipping import Hits, plan_of_all
from tests.helpers.subset_law import counted
from tests.helpers.support import assert_law, full_size, sized

VALUES = np.array([9, 7, 6, 4, 3, 1, 0])
kinds = pytest.mark.parametrize("noise", [GUMBEL, EXPONENTIAL], ids=["gumbel", "exponential"])


def law_of(noise, scale):
    law = set_law(VALUES.tolist(), 2, noise.name, scale)
    return {chosen: float(chance) for chosen, chance in law.items()}


def _some(plan, rows, source):
    return _tell(plan, rows, _hits(plan, rows, source)).decided(plan, source)


def drawn(noise, draws, seed=51, scale=Fraction(3)):
    return winners_in_rows(VALUES, k=2, scale=scale, noise=noise, source=Seeded(seed), draws=draws)


@full_size
@kinds
@pytest.mark.parametrize("threshold", [None, -3.0, 0.5, 2.0, 5.0])
def test_winners_in_rows_have_the_law_wherever_the_threshold_is(noise, threshold, monkeypatch):
    """High ones leave many rows without enough hits: they are revealed, each on its own."""
    monkeypatch.setattr(race_rows, "plan_of_all", partial(plan_of_all, threshold=threshold))
    monkeypatch.setattr(race_rows, "ROWS", 300)
    law, wrong = (law_of(noise, scale) for scale in (Fraction(3), Fraction(5)))
    rows = drawn(noise, sized(suite=1_000, full=2_000))
    assert_law(counted(rows, law), list(law.values()), wrong=list(wrong.values()))


@kinds
def test_floats_and_the_race_of_the_same_hits_agree(noise):
    values = np.floor(1e3 / np.arange(1, 301)).astype(np.int64)
    plan, rows = plan_of_all(values, 5, Fraction(40), noise), 150
    assert max(batch.level for batch in plan.batches) > 1
    sets = np.sort(_some(plan, rows, Seeded(52)), axis=1)
    hits, ends = _by_row(plan, rows, _hits(plan, rows, Seeded(52)))
    for row in range(rows):
        its = slice(ends[row - 1] if row else 0, ends[row])
        alone = race_of_hits(plan, Hits(hits.index[its], hits.words[its], hits.level[its]), Seeded(53))
        assert np.array_equal(np.sort(alone.indices), sets[row])


def test_where_nobody_is_hit_everybody_is_revealed(monkeypatch):
    monkeypatch.setattr(race_rows, "plan_of_all", partial(plan_of_all, threshold=60.0))
    law = law_of(GUMBEL, Fraction(3))
    assert_law(counted(drawn(GUMBEL, 300), law), list(law.values()))


def test_no_races_have_no_winners():
    assert drawn(GUMBEL, 0).shape == (0, 2)


def test_a_crowd_is_skipped():
    """A thousand tied candidates: few of them draw noise."""
    plan = plan_of_all(np.zeros(1000, np.int64), 5, Fraction(1), EXPONENTIAL)
    assert sum(len(batch.starts) * 2.0**-batch.level for batch in plan.batches) < 130
