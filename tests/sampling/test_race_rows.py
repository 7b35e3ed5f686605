"""The winners of many races by skipping: the exact law at any threshold, and that of the race of the same hits."""

import dataclasses
import os
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from shortlist import _scan, _scan_hits
from shortlist.certified.races import set_law
from shortlist.exact import score_intervals
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL, KINDS
from shortlist.exact.rough_noise import KINDS as BY_NUMBER
from shortlist.exact.score_intervals import Contest
from shortlist.sampling import race_rows
from shortlist.sampling.entropy import Seeded
from shortlist.sampling.race import race_of_hits
from shortlist.sampling.race_rows import _by_row, _hits, _tell, winners_in_rows
from shortlist.sampling.skip_levels import rule_of
from shortlist.sampling.skip_schedule import plan_of_all
from shortlist.sampling.skipping import Hits
from tests.helpers.subset_law import counted
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import present

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
    found, ends = _by_row(plan, 3, _hits(plan, 3, Seeded(56)))
    assert (found.index is hits[0], found.level is hits[1], ends is hits[2]) == (True, True, True)


@pytest.mark.parametrize("threshold", [None, 2.0], ids=["few are open", "many are open"])
@pytest.mark.parametrize("library", [_scan.LIBRARY, None], ids=["compiled", "in NumPy"])
def test_rows_and_words_are_the_same_on_one_processor_and_on_two(library, threshold, monkeypatch):
    """Whoever tells the winners; also what rows draw that are left open: that comes after all others' words."""
    monkeypatch.setattr(_scan, "LIBRARY", library)
    monkeypatch.setattr(race_rows, "plan_of_all", partial(plan_of_all, threshold=threshold))
    monkeypatch.setattr(race_rows, "ROWS", 30)
    ends = []
    for number, ahead in ((1, 0), (2, 200), (2, 0), (2, 2)):
        monkeypatch.setattr(race_rows, "processors", lambda number=number: number)
        monkeypatch.setattr(race_rows, "AHEAD", ahead)
        source = Seeded(57)
        rows = winners_in_rows(COUNTS, k=5, scale=Fraction(40), noise=GUMBEL, source=source, draws=200)
        ends.append((rows.tolist(), source.words(1).tolist()))
    assert ends == ends[:1] * 4
    assert len({tuple(sorted(row)) for row in ends[0][0]}) > 100


def test_processors_are_those_that_this_process_may_use(monkeypatch):
    assert race_rows.processors() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert race_rows.processors() == 3
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert race_rows.processors() == 1


def test_what_goes_wrong_on_the_other_processor_is_raised(monkeypatch):
    def wrong(*told):
        raise MemoryError("too little")

    monkeypatch.setattr(race_rows, "processors", lambda: 2)
    monkeypatch.setattr(race_rows, "ROWS", 30)
    monkeypatch.setattr(race_rows, "_tell", wrong)
    with pytest.raises(MemoryError, match="too little"):
        winners_in_rows(COUNTS, k=5, scale=Fraction(40), noise=GUMBEL, source=Seeded(58), draws=200)


def wins(noise, ahead, scale, cells=512):
    """(least, most) chance that the first of two wins a compiled race that is so far ahead, by all pairs of words.

    Who wins is told for the middles of cells * cells squares of words; it changes along a falling line through these,
    by which at most 2 cells of them are cut.
    """
    middles = (np.arange(cells, dtype=np.uint64) * 2 + 1) << np.uint64(63 - cells.bit_length() + 1)
    words = np.stack([np.repeat(middles, cells), np.tile(middles, cells)], axis=1).ravel()
    values, rows = np.array([ahead, 0]), cells * cells
    rule = present(rule_of(Contest(values, 1, scale, noise, 0), -np.inf))
    hits = np.tile([0, 1], rows), np.zeros(2 * rows, np.int64), words
    won, clear = present(
        _scan_hits.clear_rows(values, hits, 2 * np.arange(1, rows + 1), 1, BY_NUMBER[noise.rough], rule)
    )
    surely, perhaps = ((won[:, 0] == 0) & clear).sum(), ((won[:, 0] == 0) | ~clear).sum()
    return (surely - 2 * cells) / rows, (perhaps + 2 * cells) / rows


@pytest.mark.skipif(_scan.LIBRARY is None, reason="not built here")
@kinds
def test_compiled_decisions_keep_the_promise_on_a_box_of_neighbours(noise):
    """Scores 0 to 4 of two candidates, one of whom gains a person: by counting words and not by a law of ours."""
    scale, ways = Fraction(2), range(-4, 5)
    bounds = {ahead: wins(noise, ahead, scale) for ahead in ways}
    for ahead, (least, most) in bounds.items():
        law = set_law([ahead, 0], 1, noise.name, scale)
        assert most - least < 0.02
        assert least <= float(law[0,]) <= most
        for other in {ahead - 1, ahead + 1} & set(ways):
            assert least <= np.exp(1 / float(scale)) * bounds[other][1]
            assert 1 - most <= np.exp(1 / float(scale)) * (1 - bounds[other][0])
    wider = [float(set_law([ahead, 0], 1, noise.name, scale * Fraction(11, 10))[0,]) for ahead in ways]
    within = [least <= chance <= most for chance, (least, most) in zip(wider, bounds.values(), strict=True)]
    assert not all(within)  # noise that is a tenth wider would be refused


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
