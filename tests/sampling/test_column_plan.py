"""Races by columns: what a compiled pass says is what the hits say, and rare paths end alike."""

from fractions import Fraction

import numpy as np
import pytest

from shortlist import _scan
from shortlist.exact.noise_distributions import KINDS
from shortlist.sampling import column_plan
from shortlist.sampling.column_plan import ColumnPlan
from shortlist.sampling.entropy import Seeded
from shortlist.sampling.race import column_race, race_of_hits
from tests.helpers.typed import present
from tests.sampling.test_skip_columns import DTYPES, bell

NOISES = ["exponential", "gumbel", "laplace", "logistic", "half-logistic"]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_winners_of_a_compiled_pass_are_those_of_the_hits(dtype, noise):
    """Of all shapes of batches: columns, everybody, what is no whole block; strided and not."""
    for d, step, k in ((1 << 17, 1, 1), (300_007, 3, 1), (1 << 18, 1, 3)):
        values = bell(dtype, step * d)[::step]
        wide = (np.iinfo(dtype).max - np.iinfo(dtype).min) // 60
        plan = present(ColumnPlan.of(values, k, Fraction(max(1, wide)), KINDS[noise]))
        told = 0
        for seed in range(8):
            source = Seeded(seed)
            words = source.words(plan.skips + plan.hits)
            clear = plan.clear_winners(words)
            finish = race_of_hits(plan.plan(), plan.drawn(words, source), source)
            if clear is not None:
                assert finish.indices.tolist() == clear[0].tolist()
                told += 1
        assert _scan.LIBRARY is None or told >= 7


def few_words(monkeypatch):
    monkeypatch.setattr(column_plan, "enough_words", lambda trials, level: 2)


def not_clear(monkeypatch):
    monkeypatch.setattr(column_plan, "column_winners", lambda *told: None)


def no_kind(monkeypatch):
    monkeypatch.setattr(column_plan, "KINDS", {})


@pytest.mark.parametrize("rare", [few_words, not_clear, no_kind])
def test_what_a_compiled_pass_does_not_tell_ends_as_in_numpy(rare, monkeypatch):
    """Words that do not suffice, finishes that are not clear, noise that it does not know."""
    rare(monkeypatch)
    values, ends = bell(DTYPES[1], 1 << 18), []
    for library in (_scan.LIBRARY, None):
        monkeypatch.setattr(_scan, "LIBRARY", library)
        plan = present(ColumnPlan.of(values, 3, Fraction(1000), KINDS["gumbel"]))
        source = Seeded(4)
        ends.append(([column_race(plan, source).indices.tolist() for _ in range(5)], source.words(1).tolist()))
    assert ends[0] == ends[1]


def test_many_winners_are_found_among_the_hits(monkeypatch):
    """More than a compiled pass finds one by one."""
    values, ends, k = bell(DTYPES[1], 1 << 23), [], 200
    for library in (_scan.LIBRARY, None):
        monkeypatch.setattr(_scan, "LIBRARY", library)
        plan = present(ColumnPlan.of(values, k, Fraction(300), KINDS["exponential"]))
        assert plan.clear_winners(Seeded(1).words(plan.skips + plan.hits)) is None
        ends.append(column_race(plan, Seeded(1)).indices.tolist())
    assert len(set(ends[0])) == k
    assert ends[0] == ends[1]


def test_where_too_many_enter_the_race_there_is_no_room_and_the_hits_tell(monkeypatch):
    """Scores that rise, against a low threshold: many are among the best so far. Of those that fall a pass tells."""
    rising, k = np.linspace(-32_000, 32_000, 1 << 22).astype(np.int16), 100
    told = {}
    for name, values in (("rising", rising), ("falling", np.ascontiguousarray(rising[::-1]))):
        ends = []
        for library in (None, _scan.LIBRARY):
            monkeypatch.setattr(_scan, "LIBRARY", library)
            plan = present(ColumnPlan.of(values, k, Fraction(1000), KINDS["exponential"], threshold=-24.0))
            ends.append(column_race(plan, Seeded(2)).indices.tolist())
        told[name] = plan.clear_winners(Seeded(2).words(plan.skips + plan.hits)) is not None
        assert ends[0] == ends[1]
    assert told == {"rising": False, "falling": _scan.LIBRARY is not None}
