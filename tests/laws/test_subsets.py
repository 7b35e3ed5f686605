"""Binomial sums, classes and cells: closed forms against exact integers, bounds that hold, nothing left out."""

import math
import random

import numpy as np
import pytest
from flint import arb, ctx

from shortlist.laws.binomials import ULPS, log_choose, log_run
from shortlist.laws.subsets import Classes, cover, join, log_sum, quartered, rows, settle, spread


def exact_log(number):
    with ctx.workprec(200):
        return arb(number).log()


def sizes():
    dice = random.Random(1)
    some = [tuple(int(10 ** dice.uniform(0, 6.5)) for _ in "ij") for _ in range(1000)]
    return [*some, *((i, j) for i in range(40) for j in range(40)), (31, 32), (32, 10**9), (10**7, 10**7)]


def test_the_logarithm_of_a_binomial_is_within_its_stated_error():
    i, j = np.array(sizes()).T
    found = log_choose(i, j)
    with ctx.workprec(300):
        for a, b, value in zip(i.tolist(), j.tolist(), found.tolist(), strict=True):
            exact = arb(a + b + 1).lgamma() - arb(a + 1).lgamma() - arb(b + 1).lgamma()
            assert abs(exact - arb(value)) <= arb(ULPS) * (2 + exact) / 8  # the slack of 8 is for other machines


def test_sums_along_a_row_are_bracketed():
    dice = random.Random(2)
    for _ in range(400):
        i, first = int(10 ** dice.uniform(0, 3)) - 1, int(10 ** dice.uniform(0, 5)) - 1
        last = first + int(10 ** dice.uniform(0, dice.choice((1, 4)))) - 1
        low, high = (float(bound[0]) for bound in log_run(np.array([i]), np.array([first]), np.array([last])))
        exact = exact_log(math.comb(i + last + 1, i + 1) - math.comb(i + first, i + 1))
        assert arb(low) <= exact <= arb(high)
        assert high - low < 1e-6


@pytest.mark.parametrize(("d", "k"), [(2, 1), (7, 3), (9, 1), (9, 8), (12, 6)])
def test_the_classes_and_the_top_set_are_all_subsets(d, k):
    whole = rows(Classes(np.arange(k), np.zeros(k), np.zeros(d - k)))
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
    return Classes(np.arange(k), step * np.cumsum(rng.integers(0, 3, k)), step * np.cumsum(rng.integers(0, 3, rest)))


@pytest.mark.parametrize("step", [1e-6, 0.05, 0.5, 3.0, 40.0])
@pytest.mark.parametrize("width", [0.0, 0.7])
def test_kept_and_dropped_cells_are_a_partition_with_true_bounds(step, width):
    classes = slope(20, 300, step)
    kept, dropped = cover(classes, rows(classes), outside=0.0, width=width)
    seen = np.zeros((20, 300), int)
    for cells in (kept, dropped):
        for row, first, last in zip(cells.row, cells.first, cells.last, strict=True):
            seen[row, first : last + 1] += 1
    assert (seen == 1).all()
    assert (spread(classes, kept) <= width).all()
    exact = by_hand(classes)
    assert log_sum(kept.lower) <= exact + 1e-9
    assert log_sum(join([kept, dropped]).upper) >= exact - 1e-9
    assert log_sum(dropped.upper) < np.logaddexp(exact, 0) - 40
    settled = settle(classes, kept, outside=0.0, tolerance=1e-10)
    if not len(kept):
        return
    assert log_sum(settled.upper) - log_sum(settled.lower) < 1e-8 * (1 + math.exp(-exact))
    assert log_sum(settled.lower) - 1e-10 <= exact <= log_sum(settled.upper) + 1e-9


def test_sums_over_an_up_set_of_classes_serve_the_guard():
    classes = slope(10, 60, 0.1)
    first = np.array([99, 60, 40, 30, 20, 9, 5, 4, 3, 2])
    kept, dropped = cover(classes, rows(classes, first), outside=-np.inf, width=0.0)
    exact = by_hand(classes, lambda i, j: j >= first[i])
    assert log_sum(kept.lower) == pytest.approx(exact, abs=1e-9)
    assert log_sum(join([kept, dropped]).upper) == pytest.approx(exact, abs=1e-9)


def test_cuts_are_where_runs_of_equal_scores_begin():
    for fall, ends in (
        ([0.0, 1, 1, 1, 1, 2], [(0, 0), (1, 4), (5, 5)]),
        ([0.0, 0, 0, 0, 1, 2], [(0, 3), (4, 4), (5, 5)]),
        ([0.0, 1, 2, 3, 4, 5], [(0, 0), (1, 2), (3, 3), (4, 5)]),
    ):
        classes = Classes(np.arange(1), np.zeros(1), np.array(fall))
        parts = quartered(classes, rows(classes))
        assert sorted(zip(parts.first.tolist(), parts.last.tolist(), strict=True)) == ends
