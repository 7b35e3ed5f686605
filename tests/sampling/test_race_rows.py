"""The winners of many races by skipping: the exact law at any threshold, and that of the race of the same hits."""

import dataclasses
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from shortlist import _scan
from shortlist.certified.races import set_law
from shortlist.exact import score_intervals
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL, KINDS
from shortlist.exact.score_intervals import Contest
from shortlist.sampling import race_rows
from shortlist.sampling.entropy import Seeded
from shortlist.sampling.race import race_of_hits
from shortlist.sampling.race_rows import _hits, _tell, winners_in_rows
from shortlist.sampling.skip_schedule import plan_of_all
from shortlist.sampling.skipping import Hits
from tests.helpers.subset_law import counted
from tests.helpers.support import assert_law

VALUES = np.array([9, 7, 6, 4, 3, 1, 0])
kinds = pytest.mark.parametrize("noise", [GUMBEL, EXPONENTIAL], ids=["gumbel", "exponential"])


def law_of(noise, scale):
    law = set_law(VALUES.tolist(), 2, noise.name, scale)
    return {chosen: float(chance) for chosen, chance in law.items()}


def _some(plan, rows, source):
    return _tell(plan, *_hits(plan, rows, source)).decided(plan, source)


def drawn(noise, draws, seed=51, scale=Fraction(3)):
    return winners_in_rows(VALUES, k=2, scale=scale, noise=noise, source=Seeded(seed), draws=draws)


@kinds
@pytest.mark.parametrize("threshold", [None, -3.0, 0.5, 2.0, 5.0])
def test_winners_in_rows_have_the_law_wherever_the_threshold_is(noise, threshold, monkeypatch):
    """High ones leave many rows without enough hits: they are revealed, each on its own."""
    monkeypatch.setattr(race_rows, "plan_of_all", partial(plan_of_all, threshold=threshold))
    monkeypatch.setattr(race_rows, "ROWS", 300)
    law, wrong = (law_of(noise, scale) for scale in (Fraction(3), Fraction(5)))
    assert_law(counted(drawn(noise, 1_000), law), list(law.values()), wrong=list(wrong.values()))


@kinds
def test_floats_and_the_race_of_the_same_hits_agree(noise):
    values = np.floor(1e3 / np.arange(1, 301)).astype(np.int64)
    plan, rows = plan_of_all(values, 5, Fraction(40), noise), 150
    assert max(batch.level for batch in plan.batches) > 1
    sets = np.sort(_some(plan, rows, Seeded(52)), axis=1)
    hits, ends = _hits(plan, rows, Seeded(52))
    for row in range(rows):
        its = slice(ends[row - 1] if row else 0, ends[row])
        alone = race_of_hits(plan, Hits(hits.index[its], hits.words[its], hits.level[its]), Seeded(53))
        assert np.array_equal(np.sort(alone.indices), sets[row])


COUNTS = np.floor(1e3 / np.arange(1, 301)).astype(np.int64)


@pytest.mark.parametrize("noise", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize("threshold", [None, -3.0, 4.0])
def test_rows_in_numpy_are_those_of_compiled_passes(noise, threshold, monkeypatch):
    """Set for set and word for word; also where noise has no tail or no rough form that compiled passes know."""
    strange = dataclasses.replace(noise, decay=lambda distance: noise.decay(distance))
    found = []
    for library, kind in (
        (_scan.LIBRARY, noise),
        (None, noise),
        (_scan.LIBRARY, strange),
        (_scan.LIBRARY, dataclasses.replace(noise, rough=None)),
    ):
        with monkeypatch.context() as other:
            other.setattr(_scan, "LIBRARY", library)
            plan, source = plan_of_all(COUNTS, 5, Fraction(40), kind, threshold), Seeded(54)
            sets = [np.sort(_some(plan, rows, source), axis=1).tolist() for rows in (1, 60)]
            found.append((sets, source.words(1).tolist()))
    assert found == found[:1] * 4


def test_rows_that_are_not_clear_are_decided_by_intervals(monkeypatch):
    """Whichever these are: a stand-in says nothing of every second row, and wrong numbers stand there."""
    plan = plan_of_all(COUNTS, 5, Fraction(40), EXPONENTIAL)
    wanted = np.sort(_some(plan, 31, Seeded(55)), axis=1)

    def every_second(self, hits, ends, rule):
        clear = np.arange(len(ends)) % 2 == 0
        return np.where(clear[:, None], wanted, -1), clear

    monkeypatch.setattr(Contest, "clear_rows", every_second)
    assert np.array_equal(np.sort(_some(plan, 31, Seeded(55)), axis=1), wanted)


def test_what_a_compiled_pass_says_of_rows_is_taken_as_it_is(monkeypatch):
    """Also where none can be built: stand-ins answer."""
    plan, sets = plan_of_all(COUNTS, 2, Fraction(40), EXPONENTIAL), np.array([[7, 8]] * 3)
    hits = np.arange(4), np.zeros(4, np.int64), np.array([1, 2, 4])
    monkeypatch.setattr(race_rows, "sorted_by_row", lambda *question: hits)
    monkeypatch.setattr(score_intervals, "clear_rows", lambda *question: (sets, np.ones(3, np.bool_)))
    assert _some(plan, 3, Seeded(56)) is sets
    found, ends = _hits(plan, 3, Seeded(56))
    assert (found.index is hits[0], found.level is hits[1], ends is hits[2]) == (True, True, True)


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
