"""One draw from many scores, of which only the best are sorted: the same ranks, and the same chances."""

from collections import Counter
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP
from shortlist.exact import subsets
from shortlist.mechanisms import CanonicalTopK, GuardedListTopK, GuardedTopK, JointTopK, OrderedCanonicalTopK
from tests.helpers.support import assert_law, full_size, p_value, sized
from tests.helpers.typed import present

X = [14, 11, 10, 9, 7, 7, 6, 4, 3, 3, 2, 1, 0, 0, -2, -3, -5, -8, -9, -12]


def sort_few(patch):
    """Sort few of short lists too, and make bins so wide that a bound in place of a loss would show."""
    for name, value in {"FEWEST": 1, "SMALLEST_BLOCK": 1, "SORTED_AT_ONCE": 6, "PIECE": 3, "WIDTH": 2.5}.items():
        patch.setattr(subsets, name, value)


def hard_scores(rng):
    """Scores that ties, ends, sizes and signs make hard."""
    size = int(rng.integers(8, 200))
    match int(rng.integers(10)):
        case 0:
            return rng.normal(0, 10 ** rng.uniform(-3, 3), size)
        case 1:
            return rng.integers(-50, 50, size).astype(rng.choice(["i1", "i2", "i4", "i8", "f2", "f4", "f8"]))
        case 2:
            return np.clip(rng.normal(0, 10, size), 0, None)
        case 3:
            return np.append(np.full(size, 3.0), rng.normal(0, 9, 8))
        case 4:
            return rng.choice([-1e300, 1e300, 0, 5e-324, 1.0, -np.inf], size)
        case 5:
            return rng.normal(0, 1, size) * 10.0 ** rng.integers(-300, 300, size)
        case 6:
            return rng.integers(0, 2**53, size)
        case 7:
            return rng.integers(2**60, 2**61, size)
        case 8:
            values = np.sort(rng.normal(0, 30, size))
            values[: rng.integers(size // 2)] = -np.inf
            return values
        case _:
            return 1e16 + rng.integers(0, 40, size).astype(float)


@full_size
def test_ranks_and_bounds_are_those_of_sorted_scores(monkeypatch):
    assert compare_with_sorting(monkeypatch, sized(900, full=40_000)) > sized(200, full=8000)


@pytest.mark.traced
def test_every_branch_of_sorting_few_is_that_of_sorting_all(monkeypatch):
    assert compare_with_sorting(monkeypatch, 150) > 30


def compare_with_sorting(monkeypatch, cases):
    """Compare ranks and bounds of random scores; return how many were not sorted whole."""
    sort_few(monkeypatch)
    rng, found = np.random.default_rng(7), 0
    for _ in range(cases):
        values = hard_scores(rng)
        k, rate = int(rng.integers(1, max(2, len(values) // 4))), Fraction(float(10 ** rng.uniform(-4, 4)))
        monkeypatch.setattr(subsets, "SORTED_AT_ONCE", int(rng.choice([4, 16, 10**6])))
        monkeypatch.setattr(subsets, "BINS", int(rng.choice([1, 7, 100, 1 << 14])))
        best = subsets.BestSorted.of(values, k, rate, rng.uniform(0, 50), rng.uniform(1, 100))
        if best is None:
            continue
        found += 1
        order = np.argsort(-values.astype(object), kind="stable")[: np.count_nonzero(values > -np.inf)]
        ranks = rng.permutation(len(order))[: rng.integers(1, len(order) + 1)]
        assert (best.positions(ranks) == order[ranks]).all()
        assert len(best.fall) == len(order) - k
        exact = [Fraction(values[place].item()) for place in order]
        bounds = [Fraction(one) for one in best.fall[np.arange(len(order) - k)].tolist()]
        assert bounds == sorted(bounds)
        for j, bound in enumerate(bounds):
            loss = rate * (exact[k - 1] - exact[k + j])
            assert bound <= loss * (1 + Fraction(1, 2**49)) + Fraction(1, 10**300)
            assert j >= best.far_from or loss <= bound + Fraction(best.spread)
    return found


MECHANISMS = pytest.mark.parametrize(
    "mechanism",
    [
        GuardedTopK(k=3, budget=PureDP(0.9)),
        GuardedTopK(k=3, budget=ZCDP(1.2)),
        GuardedTopK(k=3, budget=ApproxDP(0.9, 0.02)),
        CanonicalTopK(k=2, budget=PureDP(1.0)),
        CanonicalTopK(k=1, budget=PureDP(1.0), noise="gumbel"),
        GuardedListTopK(k=2, budget=PureDP(1.5)),
        GuardedListTopK(k=2, budget=ZCDP(1.5)),
        OrderedCanonicalTopK(k=2, budget=PureDP(1.5)),
        JointTopK(k=2, budget=PureDP(1.5)),
    ],
    ids=str,
)


@MECHANISMS
@full_size
def test_draws_from_bins_have_the_law_of_draws_from_sorted_scores(monkeypatch, mechanism):
    draws, source = sized(1500, full=40_000), sl.testing.seeded(11)
    law = Counter(map(tuple, rows_of(mechanism.release_many(X, monotone=True, draws=8 * draws, rng=source))))
    sort_few(monkeypatch)
    assert subsets.BestSorted.of(np.array(X), mechanism.k, Fraction(1), 9.0, 9.0) is not None
    found = Counter(map(tuple, rows_of(mechanism.release_many(X, monotone=True, draws=draws, rng=source))))
    common = [items for items, count in law.items() if count > 64]
    chances = [law[items] / (8 * draws) for items in common]
    counts = [found[items] for items in common]
    assert_law([*counts, draws - sum(counts)], [*chances, 1 - sum(chances)])
    half = [chance / 2 for chance in chances]
    assert p_value([*counts, draws - sum(counts)], [*half, 1 - sum(half)]) < 1e-6


def rows_of(drawn):
    return (drawn if isinstance(drawn, np.ndarray) else drawn.indices).tolist()


@MECHANISMS
@pytest.mark.traced
def test_draws_from_bins_are_lists_of_k(monkeypatch, mechanism):
    sort_few(monkeypatch)
    rows = rows_of(mechanism.release_many(X, monotone=True, draws=60, rng=sl.testing.seeded(3)))
    assert {len(set(row)) for row in rows} == {mechanism.k}
    assert len(set(map(tuple, rows))) > 1


@pytest.mark.traced
@pytest.mark.parametrize("scale", [1, 30])
@pytest.mark.parametrize("budget", [PureDP(0.9), ZCDP(1.2)], ids=str)
def test_weights_by_bins_hold_the_exact_ones(monkeypatch, budget, scale):
    """Where the floats of bins cannot tell, all scores are sorted: first for floats, then for the exact weight."""
    mechanism, scores = GuardedTopK(k=3, budget=budget), sl.Scores([scale * x for x in X], monotone=True)
    public = present(mechanism._guarding(scores))
    exact = mechanism._chooser(scores, scores.values, public)
    sort_few(monkeypatch)
    rough = mechanism._chooser(scores, scores.values, public, 40.0)
    assert rough.low < exact.low <= exact.high < rough.high
    for bits in (53, 300):
        with at_precision(bits):
            assert rough.exact().overlaps(exact.exact())


@pytest.mark.traced
def test_thousands_of_candidates_are_weighed_in_cells():
    release = GuardedTopK(k=10, epsilon=1.0).release(np.arange(3000), monotone=True, rng=sl.testing.seeded(1))
    assert len(set(present(release.items))) == 10


@contextmanager
def at_precision(bits):
    before, ctx.prec = ctx.prec, bits
    yield
    ctx.prec = before
