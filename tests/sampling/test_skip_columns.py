"""Integers of 8 or 16 bits: what is planned is the same compiled and in NumPy, tests everybody once, has the law."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shortlist import _scan, _scan_columns
from shortlist._arrays import Values
from shortlist._scan import TALL
from shortlist.exact.noise_distributions import KINDS
from shortlist.exact.score_intervals import Contest
from shortlist.mechanisms import NoisyMax, OneshotTopK
from shortlist.sampling import race, skip_columns
from shortlist.sampling.column_plan import ColumnPlan
from shortlist.sampling.entropy import Seeded
from shortlist.sampling.race import column_race, prepare, skip_race
from shortlist.sampling.skip_columns import OWN_LEVELS, Maxima, level_cuts, listed_from, raised, unread_plan
from shortlist.sampling.skip_threshold import choose_threshold, enough
from tests.helpers.support import assert_law
from tests.helpers.typed import present
from tests.sampling.test_skip_schedule import same as same_batches

D = 70_007
DTYPES = [np.dtype(name) for name in ("int8", "int16", "uint8", "uint16")]


def bell(dtype, d=D, seed=1):
    bounds = np.iinfo(dtype)
    wide = (bounds.max - bounds.min) / 20
    middle = (bounds.max + bounds.min) / 2
    return np.clip(np.random.default_rng(seed).normal(middle, wide, d), bounds.min, bounds.max).astype(dtype)


SHAPES = {
    "bell": bell,
    "sorted": lambda dtype: np.sort(bell(dtype)),
    "whole range": lambda dtype: np.random.default_rng(2).integers(0, 256**dtype.itemsize, D).astype(dtype),
    "tied": lambda dtype: np.full(D, 7, dtype),
    "every third": lambda dtype: bell(dtype, 3 * D)[::3],
    "whole blocks": lambda dtype: bell(dtype, 1 << 16),
}


def column_plan(values, k, scale, noise, threshold=None):
    """The plan of groups, one by one."""
    plan = ColumnPlan.of(values, k, scale, noise, threshold)
    return None if plan is None else plan.plan()


def same(one, two):
    same_batches(one, two)
    for mine, other in zip(one.batches, two.batches, strict=True):
        assert (mine.opened is None) == (other.opened is None)
        if mine.opened is not None:
            assert (mine.opened.cut, mine.opened.width) == (other.opened.cut, other.opened.width)
            assert np.array_equal(mine.opened.columns, other.opened.columns)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_plan_of_numpy_is_that_of_compiled_passes_and_tests_everybody_once(shape, dtype, monkeypatch):
    values, scales = (
        SHAPES[shape](dtype),
        (Fraction(1, 10**6), Fraction(1), Fraction(70), Fraction(3000), Fraction(10**14)),
    )
    for scale, noise, threshold in [(one, "half-logistic", None) for one in scales] + [(scales[2], "laplace", 3.0)]:
        plans = []
        for library in (_scan.LIBRARY, None):
            monkeypatch.setattr(_scan, "LIBRARY", library)
            plans.append(column_plan(values, 1, scale, KINDS[noise], threshold))
        one, two = plans
        assert one is not None
        assert two is not None
        same(one, two)
        members = [batch.members(np.arange(batch.trials)) for batch in one.batches]
        assert np.array_equal(np.sort(np.concatenate(members)), np.arange(len(values)))
        tested = np.empty(len(values), np.int8)
        for batch in one.batches:
            batch.put_level(tested)
        for batch, inside in zip(one.batches, members, strict=True):
            assert (tested[inside] == batch.level).all()
            with np.errstate(over="ignore"):
                chance = one.contest.noise.log_survival(one.threshold - one.contest.positions(values[inside]))
            assert (chance <= -batch.level * np.log(2) + 1e-9).all()


CROWDS: dict[str, tuple[Callable[[], Values], Fraction]] = {
    "bell": (lambda: bell(DTYPES[1], 1 << 20), Fraction(1000)),
    "bell, 8 bits": (lambda: bell(DTYPES[0], 1 << 21), Fraction(4)),
    "bell of few units": (lambda: bell(DTYPES[1], 1 << 20), Fraction(2 * 10**5)),
    "tied": (lambda: np.full(1 << 20, 7, np.int16), Fraction(1, 1000)),
    "the lowest": (
        lambda: np.where(np.arange(1 << 20) % 40000, np.iinfo(np.int16).min, 0).astype(np.int16),
        Fraction(2900),
    ),
    "a sample that tells too much": (
        lambda: np.where(np.arange(1 << 20) // 1024 % 16, -3000, 0).astype(np.int16),
        Fraction(1000),
    ),
    "one in 5,000": (lambda: np.where(np.arange(1 << 20) % 5000, -9000, 0).astype(np.int16), Fraction(1000)),
}


@pytest.mark.parametrize("shape", CROWDS)
def test_where_hits_would_be_many_the_threshold_rises_the_same_in_numpy(shape, monkeypatch):
    values, scale = CROWDS[shape][0](), CROWDS[shape][1]
    monkeypatch.setattr(skip_columns, "MANY", 0)
    for k in (1, 20):
        plans, ends = [], []
        for library in (None, _scan.LIBRARY):
            monkeypatch.setattr(_scan, "LIBRARY", library)
            plans.append(present(ColumnPlan.of(values, k, scale, KINDS["exponential"])))
            source = Seeded(5)
            ends.append([*column_race(plans[-1], source).indices.tolist(), *source.words(1).tolist()])
        same(*(plan.plan() for plan in plans))
        assert ends[0] == ends[1]


def test_the_threshold_rises_as_far_as_enough_columns_pass():
    values, scale, k = bell(DTYPES[1], 1 << 20), Fraction(1000), 20
    plan = present(ColumnPlan.of(values, k, scale, KINDS["exponential"]))
    contest, maxima = plan.contest, Maxima.of(values, k)
    first = choose_threshold(contest, maxima.tops)
    least = listed_from(contest, maxima, first)
    assert plan.layout.threshold == raised(contest, maxima.columns, least, first) > first
    passed = np.exp(-np.maximum(plan.layout.threshold - contest.positions(maxima.columns), 0)).sum()
    assert enough(k) <= passed < 1.4 * enough(k)  # a sixteenth higher, in such bins, too few might


@pytest.mark.parametrize("noise", ["exponential", "gumbel", "laplace", "logistic", "half-logistic"])
def test_no_level_promises_more_zero_bits_than_the_tail_allows(noise):
    """The score below a cut is tested at that level; one above it may be, too, but for a little slack."""
    kind, values = KINDS[noise], np.zeros(1, np.int16)
    for threshold, scale, centre in (
        (0.3, Fraction(1, 3), 5),
        (7.0, Fraction(700), -32768),
        (-9.0, Fraction(10**9), 32767),
    ):
        contest = Contest(values, 1, scale, kind, centre)
        cuts = level_cuts(contest, threshold)
        assert (np.diff(cuts) <= 0).all()
        for level, cut in zip(OWN_LEVELS[1:].tolist(), cuts.tolist(), strict=True):
            chance = [
                kind.log_survival(np.array([threshold - (score - centre) / float(scale)]))[0] / np.log(2)
                for score in (cut - 1, cut + 1)
            ]
            assert cut == -32768 or chance[0] <= -level + 1e-9
            if noise == "exponential" and -32768 < cut <= 32767:
                assert chance[1] > -level - 1e-6


@pytest.mark.parametrize("library", [_scan.LIBRARY, None], ids=["compiled", "in NumPy"])
def test_where_the_best_crowd_into_few_blocks_their_own_centre_is_taken(library, monkeypatch):
    monkeypatch.setattr(_scan, "LIBRARY", library)
    values = np.sort(bell(DTYPES[1], 1 << 19))
    plan = column_plan(values, 3, Fraction(20), KINDS["gumbel"])
    assert plan is not None
    assert plan.contest.centre == values[-3]


def test_other_types_and_noise_and_few_scores_have_another_plan():
    values, noise = bell(DTYPES[1]), KINDS["exponential"]
    assert column_plan(values, 1, Fraction(20), noise) is not None
    for scores, k, scale, kind in (
        (values.astype(np.int32), 1, Fraction(20), noise),
        (values.astype(np.float32), 1, Fraction(20), noise),
        (values, 9, Fraction(20), noise),
        (values, 1, Fraction(2) ** 1000, noise),
        (values, 1, Fraction(20), replace(noise, decay=lambda distance: distance)),
    ):
        assert column_plan(scores, k, scale, kind) is None


@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_release_and_the_next_word_are_the_same_with_and_without_compiled_passes(dtype, k, noise, monkeypatch):
    values, mechanism = bell(dtype, 1 << 18), OneshotTopK(k=k, epsilon=k / 5, noise=noise)
    ends = []
    for library in (_scan.LIBRARY, None):
        monkeypatch.setattr(_scan, "LIBRARY", library)
        source = Seeded(9)
        drawn = [mechanism.release(values, monotone=True, rng=source).indices for _ in range(20)]
        ends.append((drawn, source.words(1).tolist()))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("threshold", [1.5, 5.0, 9.0], ids=["passed", "seldom passed", "hardly ever passed"])
def test_races_by_columns_have_the_law(threshold, monkeypatch):
    """Of hits in opened columns and beside them, and where none passes of all, given that they were not hit."""
    monkeypatch.setattr(skip_columns, "BLOCKS", 1)
    width = _scan_columns.WIDE // 2
    values = np.zeros(2 * TALL * width + 30, np.int16)
    values[[3, 700, 1500]] = 12  # their columns are opened; the rest of these is at their level
    values[3 + width : 8 * width : width] = 6
    values[900:930] = 4
    values[-20:] = 8
    plan = ColumnPlan.of(values, 1, Fraction(3), KINDS["gumbel"], threshold)
    assert plan is not None
    assert len({batch.length for batch in plan.plan().batches} & {TALL, 30, len(values) - 30}) >= 2
    law, wrong = (NoisyMax(epsilon=e, noise="gumbel").probabilities(values, monotone=True) for e in (1 / 3, 0.5))
    column = np.isin(np.arange(len(values)) % width, [3, 700 % width, 1500 % width])
    cell = np.where(values > 0, values, np.where(column, 1, 0))
    won = [int(cell[column_race(plan, Seeded(seed)).indices[0]]) for seed in range(1500)]
    cells = sorted(set(cell.tolist()))
    assert_law(
        [won.count(one) for one in cells],
        [law[cell == one].sum() for one in cells],
        wrong=[wrong[cell == one].sum() for one in cells],
    )


CROWDED = np.random.default_rng(3).integers(-128, 128, 1 << 21).astype(np.int8)
"""Eight thousand of them stand at the largest number of their type."""


@pytest.mark.parametrize("noise", ["exponential", "half-logistic"])
def test_scores_of_a_narrow_type_are_not_read_where_its_top_is_crowded(noise, monkeypatch):
    plans = []
    for library in (_scan.LIBRARY, None):
        monkeypatch.setattr(_scan, "LIBRARY", library)
        plans.append(unread_plan(CROWDED, 1, Fraction(30), KINDS[noise]))
    assert plans[0] is not None
    same(*plans)
    assert [(batch.level >= skip_columns.UNREAD, batch.trials) for batch in plans[0].batches] == [(True, len(CROWDED))]
    monkeypatch.setattr(race, "ColumnPlan", None)
    monkeypatch.setattr(race, "make_plan", None)
    finish = prepare(CROWDED, k=1, scale=Fraction(30), noise=KINDS[noise])(Seeded(1))
    assert CROWDED[finish.indices[0]] > 0


def test_scores_are_read_where_the_bound_of_their_type_tells_too_little():
    """Another type, noise that is narrow beside it, a top that is empty, and few candidates."""
    noise = KINDS["exponential"]
    for values, scale in (
        (CROWDED.astype(np.int32), 2**40),
        (CROWDED.astype(np.float32), 30),
        (CROWDED, 5),
        (CROWDED // 4, 30),
        (CROWDED[:5000], 30),
    ):
        assert unread_plan(values, 1, Fraction(scale), noise) is None


@pytest.mark.traced(False)
@pytest.mark.parametrize("threshold", [0.5, 2.0, 4.0], ids=["passed", "seldom passed", "hardly ever passed"])
def test_races_that_read_no_scores_have_the_law(threshold):
    """By group: of the hits, and where none passes of all, given that they were not hit."""
    values = np.repeat(np.array([127, 126, 125, 120], np.int8), [6, 20, 30, 84])
    plan = unread_plan(values, 1, Fraction(6), KINDS["gumbel"], threshold)
    assert plan is not None
    winners = [values[skip_race(plan, Seeded(seed)).indices[0]] for seed in range(4000)]
    groups = (127, 126, 125, 120)
    law, wrong = (
        [chances[values == group].sum() for group in groups]
        for chances in (NoisyMax(epsilon=e, noise="gumbel").probabilities(values, monotone=True) for e in (1 / 6, 0.3))
    )
    assert_law([winners.count(group) for group in groups], law, wrong=wrong)
