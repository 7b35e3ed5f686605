"""Many races at once: every number is the exact one, rounded down, on every path."""

import dataclasses
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from flint import ctx
from scipy.stats import gumbel_r, ks_2samp, kstest, laplace

from shortlist.exact import reals
from shortlist.sampling import race as grid_module
from shortlist.sampling import race as module
from shortlist.sampling import race as race_module
from shortlist.sampling import thresholds
from tests.helpers.inside import EXPONENTIAL, GUMBEL, KINDS, LAPLACE, Runner, Seeded, total
from tests.helpers.support import SIGNIFICANCE, assert_law, full_size, sized
from tests.helpers.typed import noting
from tests.sampling.test_race import every, plackett_luce, without_floats

LINES = {
    "none": None,
    "alike": Runner(Fraction(1), Fraction(2), GUMBEL),
    "best of many": Runner(Fraction(-9, 7), Fraction(2), race_module.best_of(297)),
    "wider": Runner(Fraction(1, 3), Fraction(50), EXPONENTIAL),
    "narrower": Runner(Fraction(2), Fraction(1, 10**5), LAPLACE),
}
SCORES = {
    "whole": np.array([3, 2, 0, 2, -4]),
    "floats": np.array([3.5, 2.25, -np.inf, 2.1, 0.0]),
    "large": np.array([3, 2, 0, 2, -4]) + 10**12,
    "beyond 2^53": np.array([3, 2, 0, 2, -4]) + 2**60,
    "far apart": np.array([1e300, 2.0, 0.0, -1e280]),
    "beyond all floats": np.array([1.7e308, 1.6e308, -1.7e308]),
    "alone": np.array([7]),
}


def one_chunk(field, draws, seed=1):
    """(indices, gaps, values, leads) of some races."""
    (rows,) = field.races(draws, Seeded(seed))
    return rows.indices, rows.gaps(), rows.values(), rows.leads() if field.line is not None else np.empty(0)


def quantile(noise, word):
    """Q(word / 2^64) to 200 bits: what a row of 64 bits is about."""
    with ctx.workprec(300):
        return reals.exactly(noise.exact_quantile(int(word), 64).mid())


def down(number, grid):
    step = Fraction(2) ** grid.exponent
    return reals.to_float(number // step * step)


def oracle(field, draws, seed=1):
    """The same races from the same words, in rational arithmetic of its own."""
    there = np.flatnonzero(field.values > -np.inf).tolist()
    runners = [(i, Fraction(field.values[i].item()), field.scale, field.noise) for i in there]
    if field.line is not None:
        runners.append((race_module.LINE, field.line.centre, field.line.scale, field.line.noise))
    words = Seeded(seed).words(draws * len(runners)).reshape(draws, -1)
    found = []
    for row in words:
        noisy = {
            name: centre + scale * quantile(noise, word)
            for (name, centre, scale, noise), word in zip(runners, row, strict=True)
        }
        order = sorted(noisy, key=noisy.__getitem__, reverse=True)[: field.k]
        gaps = [down(noisy[a] - noisy[b], field.grid) for a, b in pairwise(order)]
        leads = [
            down(noisy[a] - noisy[race_module.LINE], field.grid)
            if a != race_module.LINE and noisy[a] > noisy[race_module.LINE]
            else np.nan
            for a in (order if field.line is not None else [])
        ]
        found.append((order, gaps, [down(noisy[a], field.grid) for a in order], leads))
    return [np.array(part) for part in zip(*found, strict=True)]


def assert_same(one, two):
    for ours, theirs in zip(one, two, strict=True):
        np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))


@full_size
@pytest.mark.parametrize("line", LINES.values(), ids=list(LINES))
@pytest.mark.parametrize("values", SCORES.values(), ids=list(SCORES))
def test_every_number_is_the_exact_one_rounded_down(values, line):
    draws = sized(24, full=60)
    for noise in (GUMBEL, EXPONENTIAL):
        field = race_module.Field(values, 3, Fraction(2), noise, line)
        assert_same(one_chunk(field, draws), oracle(field, draws))


def misleading(noise):
    """The same noise, with a float stage that errs as far as it says it may."""

    def unsure(words, level):
        q, error = noise.quantile(words, level)
        return q + np.where(words % 2, 0.25, -0.25), error + 0.25

    return dataclasses.replace(noise, quantile=unsure)


@full_size
@pytest.mark.parametrize("line", LINES.values(), ids=list(LINES))
@every
def test_floats_and_exact_arithmetic_agree_on_the_same_words(noise, line):
    draws = sized(20, full=1000)
    wanted = one_chunk(race_module.Field(SCORES["whole"], 3, Fraction(2), noise, line), draws)
    for force in (misleading, without_floats):
        assert_same(one_chunk(race_module.Field(SCORES["whole"], 3, Fraction(2), force(noise), line), draws), wanted)


@pytest.mark.parametrize("scale", [Fraction(5e-324), Fraction(10) ** 400, Fraction(1, 10**9)])
def test_scales_beyond_floats_are_exact_as_well(scale):
    values = np.array([2, 1, 0]) * float(min(scale, 1))
    for line in (None, Runner(Fraction(values[1]), scale / 10**400, EXPONENTIAL)):
        field = race_module.Field(values, 2, scale, LAPLACE, line)
        assert_same(one_chunk(field, 40), oracle(field, 40))


class Extreme(Seeded):
    """Many words near zero and one, where the part that is not drawn yet decides."""

    def words(self, count):
        found = super().words(count).copy()
        if count > 1:
            found[::5], found[1::7] = 0, 2**64 - 1
        return found


@pytest.mark.traced(False)
def test_words_near_zero_and_one_are_exact_as_well():
    for noise in KINDS.values():
        field = race_module.Field(SCORES["whole"], 5, Fraction(2), noise, Runner(Fraction(0), Fraction(3), GUMBEL))
        (rows,) = field.races(50, Extreme(1))
        assert np.isfinite(rows.values()).all()
        assert (rows.gaps() >= 0).all()
        steps = rows.values()[:, :-1] - rows.values()[:, 1:] - rows.gaps()
        assert set((steps / 2.0**field.grid.exponent).ravel().tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("source", [Seeded(1), Extreme(1)], ids=["plain", "extreme"])
@pytest.mark.parametrize("values", SCORES.values(), ids=list(SCORES))
def test_intervals_surely_hold_the_numbers(values, source):
    tiny = Runner(Fraction(7, 3), Fraction(1, 10**400), EXPONENTIAL)
    for line in (LINES["wider"], LINES["best of many"], tiny):
        (rows,) = race_module.Field(values, 2, Fraction(2, 3), LAPLACE, line).races(40, source)
        noisy = rows.finishes
        for (row, column), low in np.ndenumerate(noisy.low):
            number = noisy.exact(row, column)
            least, most = next(reals.narrowing(total(number.position, [(number.scale, number.draw)])))
            assert low <= least
            assert most <= float(noisy.high[row, column])


def test_few_rows_need_exact_arithmetic(monkeypatch):
    """Numbers are counted from a base among the winners, so that large scores cost no precision."""
    asked: list[Any] = []
    monkeypatch.setattr(grid_module, "floor_of", noting(asked, reals.floor_of))
    for values in (SCORES["large"], np.array([1e30, 3e9, 3e9, 3e9])):
        (rows,) = race_module.Field(values, 4, Fraction(2), EXPONENTIAL).races(6_000, Seeded(2))
        rows.finishes.leads(rows.first[:, 1:-1], rows.first[:, 2:], np.ones((6_000, 2), np.bool_))
    assert len(asked) < 100


@pytest.mark.traced(False)
@every
def test_bits_once_drawn_are_never_forgotten(noise):
    """All words alike: the order is decided by further bits, and with these very bits no gap is below zero."""

    class Alike(Seeded):
        def words(self, count):
            return np.full(count, 2**61 + 12345, np.uint64) if count > 1 else super().words(count)

    (rows,) = race_module.Field(np.zeros(3), 3, Fraction(1), noise).races(60, Alike(1))
    orders = {tuple(row) for row in rows.indices.tolist()}
    assert len(orders) == 6
    assert (rows.gaps() == 0).all()
    assert (rows.values() == rows.values()[0, 0]).all()


def test_the_grid_is_about_a_millionth_of_the_largest_scale():
    for scale in (Fraction(1), Fraction(3, 7), Fraction(10**9 + 1), Fraction(5e-324)):
        step = Fraction(2) ** race_module.Grid.around(5, scale).exponent
        assert scale / 2 ** (race_module.FINENESS + 1) < step < scale / 2 ** (race_module.FINENESS - 1)
    field = race_module.Field(SCORES["whole"], 3, Fraction(1, 1000), GUMBEL, LINES["wider"])
    assert field.grid.exponent == race_module.Grid.around(0, Fraction(50)).exponent
    for found in one_chunk(field, 500)[1:]:
        steps = found[np.isfinite(found)] / 2.0**field.grid.exponent
        assert (steps == np.floor(steps)).all()


@full_size
@pytest.mark.parametrize("force", [lambda noise: noise, without_floats], ids=["floats", "balls"])
def test_gaps_have_their_law(force):
    """Two candidates, one apart, under exponential noise of scale 2: the signed gap is a Laplace value."""
    draws = 200_000 if force(GUMBEL) is GUMBEL else sized(1500, full=4000)
    races = list(race_module.Field(np.array([3, 2]), 2, Fraction(2), force(EXPONENTIAL)).races(draws, Seeded(2)))
    gaps = np.concatenate([np.where(rows.indices[:, 0] == 0, 1, -1) * rows.gaps()[:, 0] for rows in races])
    wrong = 2.1 if draws > 10**5 else sized(3.4, full=2.6)
    assert kstest(gaps, laplace(1, 2).cdf).pvalue > SIGNIFICANCE
    assert kstest(gaps, laplace(1, wrong).cdf).pvalue < SIGNIFICANCE


def test_values_have_their_law():
    """The largest Gumbel value is one Gumbel value at the soft maximum, whoever won."""
    races = race_module.Field(np.array([3, 2, 0]), 2, Fraction(2), GUMBEL).races(200_000, Seeded(3))
    found = np.concatenate([np.column_stack([rows.values()[:, 0], rows.indices[:, 0]]) for rows in races])
    soft_max = 2 * np.log(np.exp(np.array([3, 2, 0]) / 2).sum())
    for i in range(3):
        values = found[found[:, 1] == i, 0]
        assert kstest(values, gumbel_r(soft_max, 2).cdf).pvalue > SIGNIFICANCE
        assert kstest(values, gumbel_r(soft_max, 2.2).cdf).pvalue < SIGNIFICANCE


@full_size
@pytest.mark.parametrize(("large", "wrong"), [(False, 21), (True, sized(60, full=35))], ids=["together", "by skipping"])
def test_a_line_runs_like_a_candidate(large, wrong):
    """The best of 20 Gumbel noises at 0 is one Gumbel noise at ln 20: an order of Plackett and Luce."""
    values = np.array([4, 3, 1] + [-600] * (race_module.SKIP_FROM if large else 0))
    field = race_module.Field(values, 2, Fraction(1), GUMBEL, Runner(Fraction(0), Fraction(1), race_module.best_of(20)))
    rows = np.concatenate([one.indices for one in field.races(sized(1000, full=2500) if large else 200_000, Seeded(4))])
    law, wrong = (plackett_luce([4, 3, 1, np.log(many)], 1, 2) for many in (20, wrong))
    place = {tuple(race_module.LINE if i == 3 else i for i in order): n for n, order in enumerate(law)}
    counts = np.bincount([place[tuple(row)] for row in rows.tolist()], minlength=len(law))
    assert_law(counts, list(law.values()), wrong=list(wrong.values()))


@full_size
@pytest.mark.parametrize("line", [None, Runner(Fraction(3), Fraction(2), GUMBEL)], ids=["alone", "with a line"])
def test_large_fields_have_exact_gaps_values_and_leads(line):
    """Runs by skipping, against the same few candidates run together."""
    few = np.array([5, 4, 2])
    many = np.append(few, np.full(race_module.SKIP_FROM, -600))
    found = []
    for values, draws in ((few, 100_000), (many, sized(300, full=5000))):
        parts = [
            (rows.values(), rows.gaps(), rows.ahead())
            for rows in race_module.Field(values, 3, Fraction(1), GUMBEL, line).races(draws, Seeded(5))
        ]
        found.append([np.concatenate(part) for part in zip(*parts, strict=True)])
    for column in range(2):
        for part in range(2):
            one, two = (each[part][:, column] for each in found)
            assert ks_2samp(one, two).pvalue > SIGNIFICANCE
            assert ks_2samp(one, two + sized(0.6, full=0.2)).pvalue < SIGNIFICANCE
    if line is not None:
        (rows,) = race_module.Field(many, 3, Fraction(1), GUMBEL, line).races(1, Seeded(6))
        leads, step = rows.leads(), 2.0**rows.finishes.grid.exponent
        first = int(rows.ahead().sum())
        assert np.isnan(leads[0, first:]).all()
        assert ((leads[0, :first] - rows.values()[0, :first] + rows.values()[0, first]) / step <= 1).all()


def test_rows_are_drawn_in_chunks_without_changing_anything(monkeypatch):
    field = race_module.Field(SCORES["whole"], 2, Fraction(2), GUMBEL)
    (wanted,) = field.races(100, Seeded(7))
    monkeypatch.setattr(module, "CHUNK", 37)
    some = list(field.races(100, Seeded(7)))
    assert [len(rows.first) for rows in some] == [7] * 14 + [2]
    assert np.array_equal(np.concatenate([rows.values() for rows in some]), wanted.values())


def test_rows_that_end_early_are_padded():
    table, where = np.array([[5, 6, 7], [8, 9, 1]]), np.array([[True, True, True], [True, False, False]])
    assert race_module.pad_rows(table, where, 2, race_module.LINE).tolist() == [[5, 6], [8, race_module.LINE]]
    assert race_module.pad_rows(table, where, 4, race_module.LINE).tolist() == [
        [5, 6, 7, race_module.LINE],
        [8, race_module.LINE, race_module.LINE, race_module.LINE],
    ]


@pytest.mark.parametrize("rounding", [reals.POSITION_ROUNDING, 1e9], ids=["floats", "balls"])
def test_measurements_are_the_exact_ones_rounded_down(monkeypatch, rounding):
    monkeypatch.setattr(grid_module, "POSITION_ROUNDING", rounding)
    for values in (np.array([[3, 2], [2, 9], [3, 3]] * 30), np.array([[3.5, 2e7]] * 90), np.full((90, 2), 2**61)):
        found = thresholds.add_noise_to_rows(values, scale=Fraction(3), noise=LAPLACE, source=Seeded(8))
        words, grid = Seeded(8).words(180).reshape(90, 2), race_module.Grid.around(0, Fraction(3))
        wanted = [
            [down(Fraction(x) + 3 * quantile(LAPLACE, word), grid) for x, word in zip(*row, strict=True)]
            for row in zip(values.tolist(), words, strict=True)
        ]
        assert np.array_equal(found, wanted)


def test_measurements_have_their_law():
    found = thresholds.add_noise_to_rows(
        np.tile([5, -2], (50_000, 1)), scale=Fraction(3), noise=LAPLACE, source=Seeded(9)
    )
    for column, centre in enumerate((5, -2)):
        assert kstest(found[:, column], laplace(centre, 3).cdf).pvalue > SIGNIFICANCE
        assert kstest(found[:, column], laplace(centre, 3.3).cdf).pvalue < SIGNIFICANCE
