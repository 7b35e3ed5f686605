"""Binomial sums, classes and cells: closed forms against exact integers, bounds that hold, nothing left out."""

import math
import random

import numpy as np
import pytest
from flint import arb, ctx

from shortlist.exact import subsets
from tests.helpers.inside import log_sum


def exact_log(number):
    with ctx.workprec(200):
        return arb(number).log()


def sizes():
    dice = random.Random(1)
    some = [tuple(int(10 ** dice.uniform(0, 6.5)) for _ in "ij") for _ in range(1000)]
    return [*some, *((i, j) for i in range(40) for j in range(40)), (31, 32), (32, 10**9), (10**7, 10**7)]


def test_the_logarithm_of_a_binomial_is_within_its_stated_error():
    i, j = np.array(sizes()).T
    found = subsets.log_choose(i, j)
    with ctx.workprec(300):
        for a, b, value in zip(i.tolist(), j.tolist(), found.tolist(), strict=True):
            exact = arb(a + b + 1).lgamma() - arb(a + 1).lgamma() - arb(b + 1).lgamma()
            assert (
                abs(exact - arb(value)) <= arb(subsets.ULPS) * (2 + exact) / 8
            )  # the slack of 8 is for other machines


@pytest.mark.traced
def test_one_binomial_is_as_good_as_many():
    subsets._table.cache_clear()  # made anew while coverage looks
    for i, j in [*sizes()[:50], (0, 5), (5, 0), (0, 0), (1, 1), (40_000, 40_000)]:
        found, exact = subsets.one_log_choose(i, j), float(subsets.log_choose(np.array([i]), np.array([j]))[0])
        assert found == pytest.approx(exact, rel=subsets.ULPS / 8, abs=subsets.ULPS / 4)


def test_sums_along_a_row_are_bracketed():
    dice = random.Random(2)
    for _ in range(400):
        i, first = int(10 ** dice.uniform(0, 3)) - 1, int(10 ** dice.uniform(0, 5)) - 1
        last = first + int(10 ** dice.uniform(0, dice.choice((1, 4)))) - 1
        low, high = (float(bound[0]) for bound in subsets.log_run(np.array([i]), np.array([first]), np.array([last])))
        exact = exact_log(math.comb(i + last + 1, i + 1) - math.comb(i + first, i + 1))
        assert arb(low) <= exact <= arb(high)
        assert high - low < 1e-6


def rows(classes, first=0):
    """One cell per row, from `first` on."""
    start = np.broadcast_to(first, len(classes.i))
    row = np.flatnonzero(start < len(classes.fall))
    return subsets.bound_cells(classes, row, start[row], np.full(len(row), len(classes.fall) - 1))


@pytest.mark.parametrize(("d", "k"), [(2, 1), (7, 3), (9, 1), (9, 8), (12, 6)])
def test_the_classes_and_the_top_set_are_all_subsets(d, k):
    whole = rows(subsets.Classes(np.arange(k), np.zeros(k), np.zeros(d - k)))
    assert 1 + np.exp(whole.lower).sum() == pytest.approx(math.comb(d, k), rel=1e-9)
    assert 1 + sum(math.comb(i + j, i) for i in range(k) for j in range(d - k)) == math.comb(d, k)


def by_hand(classes, chosen=lambda i, j: True):
    logs = [
        math.lgamma(i + j + 1) - math.lgamma(i + 1) - math.lgamma(j + 1) - rise - fall
        for i, rise in zip(classes.i.tolist(), classes.rise.tolist(), strict=True)
        for j, fall in enumerate(classes.fall.tolist())
        if chosen(i, j)
    ]
    return log_sum(np.array(logs))


def slope(k, rest, step):
    rng = np.random.default_rng(k)
    return subsets.Classes(
        np.arange(k), step * np.cumsum(rng.integers(0, 3, k)), step * np.cumsum(rng.integers(0, 3, rest))
    )


@pytest.mark.parametrize("step", [1e-6, 0.05, 0.5, 3.0, 40.0])
@pytest.mark.parametrize("width", [0.0, 0.7])
def test_kept_and_dropped_cells_are_a_partition_with_true_bounds(step, width):
    classes = slope(20, 300, step)
    kept, dropped = subsets.cover(classes, rows(classes), outside=0.0, width=width)
    seen = np.zeros((20, 300), int)
    for cells in (kept, dropped):
        for row, first, last in zip(cells.row, cells.first, cells.last, strict=True):
            seen[row, first : last + 1] += 1
    assert (seen == 1).all()
    assert (classes.fall[kept.last] - classes.fall[kept.first] <= width).all()
    exact = by_hand(classes)
    assert log_sum(kept.lower) <= exact + 1e-9
    assert log_sum(subsets.join([kept, dropped]).upper) >= exact - 1e-9
    assert log_sum(dropped.upper) < np.logaddexp(exact, 0) - 40
    settled = subsets.settle(classes, kept, outside=0.0, tolerance=1e-10)
    if not len(kept):
        return
    assert log_sum(settled.upper) - log_sum(settled.lower) < 1e-8 * (1 + math.exp(-exact))
    assert log_sum(settled.lower) - 1e-10 <= exact <= log_sum(settled.upper) + 1e-9


def test_sums_over_an_up_set_of_classes_serve_the_guard():
    classes = slope(10, 60, 0.1)
    first = np.array([99, 60, 40, 30, 20, 9, 5, 4, 3, 2])
    kept, dropped = subsets.cover(classes, rows(classes, first), outside=-np.inf, width=0.0)
    exact = by_hand(classes, lambda i, j: j >= first[i])
    assert log_sum(kept.lower) == pytest.approx(exact, abs=1e-9)
    assert log_sum(subsets.join([kept, dropped]).upper) == pytest.approx(exact, abs=1e-9)


def test_cuts_are_where_runs_of_equal_scores_begin():
    for fall, ends in (
        ([0.0, 1, 1, 1, 1, 2], [(0, 0), (1, 4), (5, 5)]),
        ([0.0, 0, 0, 0, 1, 2], [(0, 3), (4, 4), (5, 5)]),
        ([0.0, 1, 2, 3, 4, 5], [(0, 0), (1, 2), (3, 3), (4, 5)]),
    ):
        classes = subsets.Classes(np.arange(1), np.zeros(1), np.array(fall))
        parts = subsets.quarter(classes, rows(classes))
        assert sorted(zip(parts.first.tolist(), parts.last.tolist(), strict=True)) == ends


# The sieve


def covered_times(shape, *parts):
    seen = np.zeros(shape, int)
    for cells in parts:
        for row, first, last in zip(cells.row, cells.first, cells.last, strict=True):
            seen[row, first : last + 1] += 1
    return seen


def exact_mass(classes, chosen):
    """ln of the mass of the chosen classes, in balls; None if there are none."""
    with ctx.workprec(120):
        mass = sum(
            (
                arb(math.comb(int(classes.i[r]) + j, j)) * (-arb(classes.rise[r]) - arb(classes.fall[j])).exp()
                for r, j in zip(*(side.tolist() for side in np.nonzero(chosen)), strict=True)
            ),
            arb(0),
        )
        return mass.log() if chosen.any() else None


@pytest.mark.parametrize("step", [0.0, 1e-6, 0.02, 0.11, 0.5, 3.0, 40.0, 1e5])
@pytest.mark.parametrize("outside", [0.0, -np.inf])
@pytest.mark.parametrize("negligible", [27.0, 3.0, -4.0])
def test_what_the_sieve_leaves_out_has_at_most_the_mass_it_says(step, outside, negligible, monkeypatch):
    monkeypatch.setattr("shortlist.exact.subsets.LEFT_OUT_LOG", negligible)
    classes = slope(30, 120, step)
    for find in (subsets.sift, subsets.relevant):
        cells, left_out = find(classes, outside=outside, width=0.7)
        seen = covered_times((30, 120), cells)
        assert seen.max(initial=0) <= 1
        missing = exact_mass(classes, seen == 0)
        assert (left_out == -np.inf) if missing is None else (missing <= left_out)
        assert (covered_times((30, 120), cells, subsets.others(classes, cells)) == 1).all()


def test_the_sieve_is_a_sieve():
    """Of two million classes it looks at few, and what it leaves out it could not have left in for long."""
    rng = np.random.default_rng(5)
    rise, fall = (np.cumsum(rng.exponential(1.3, n)) for n in (400, 5000))
    classes = subsets.Classes(np.arange(400), rise, fall)
    cells, left_out = subsets.sift(classes, outside=0.0, width=0.7)
    assert len(cells) < 3000
    kept, dropped = subsets.cover(classes, rows(classes), outside=0.0, width=0.7)
    assert log_sum(cells.upper) >= log_sum(kept.lower)
    assert left_out == -27.0
    assert log_sum(subsets.join([cells.where(cells.upper > -20)]).lower) == pytest.approx(log_sum(kept.lower), abs=0.5)
    assert len(dropped) > len(kept)


def test_the_sieve_keeps_to_its_start_and_its_cuts():
    classes = slope(12, 90, 0.3)
    cells, _ = subsets.relevant(classes, outside=0.0, width=5.0, start=3, cuts=(10, 11, 60, 95))
    assert cells.first.min() == 3
    for cut in (10, 11, 60):
        assert not ((cells.first < cut) & (cells.last >= cut)).any()
    whole = covered_times((12, 90), cells, subsets.others(classes, cells, start=3))
    assert (whole == (np.arange(90) >= 3)).all()


def test_a_row_of_its_own_is_sifted_too():
    """The merged classes of gamma = 1: one row, i = 40."""
    classes = subsets.Classes(np.array([40]), np.zeros(1), np.cumsum(np.full(500, 0.8)))
    cells, left_out = subsets.relevant(classes, outside=0.0, width=0.7, start=1)
    seen = covered_times((1, 500), cells)
    missing = (seen == 0) & (np.arange(500) >= 1)
    assert exact_mass(classes, missing) <= left_out
    assert 0 < seen.sum() < 499
