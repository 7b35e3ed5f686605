"""Shares, lines, limited sets, passing and rational races: the exact draws under the unknown-domain mechanisms."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from flint import arb, ctx

import shortlist as sl
from shortlist.laws.stability import LaplaceTest
from shortlist.noise import shares
from shortlist.noise.kinds import GUMBEL
from shortlist.noise.limited_sets import LimitedSets, log_partial_sums
from shortlist.noise.line import Runner, best_of, how_many_above
from shortlist.noise.passing import passes
from shortlist.noise.rationals import rational_winner
from shortlist.noise.uniforms import Stream

from ..support import assert_law

GAMMA = Fraction(17, 20)


def sets_of(x, bar, k, rate=Fraction(1, 2), limit=None):
    return LimitedSets(np.array(x, np.int64), bar, k, limit or max(k, len(x)), GAMMA * rate, (1 - GAMMA) * rate)


def law_of(x, bar, k, rate=0.5):
    weight = {}
    for n in range(k + 1):
        for y in combinations(range(len(x)), n):
            inside = [x[i] for i in y] + [bar] * (n < k)
            outside = [x[i] for i in range(len(x)) if i not in y] + [bar]
            weight[y] = np.exp(rate * float(GAMMA * min(inside) - (1 - GAMMA) * max(outside)))
    total = sum(weight.values())
    return {y: w / total for y, w in weight.items()}


@pytest.mark.parametrize("seed", range(40))
def test_the_families_are_all_sets_with_their_exact_masses(seed):
    rng = np.random.default_rng(seed)
    n, k, c = int(rng.integers(0, 7)), int(rng.integers(1, 5)), int(rng.integers(0, 3))
    x = np.sort(rng.integers(c + 1, c + 9, n))[::-1].tolist()
    bar = c + 1 + Fraction(int(rng.integers(1, 12)), 2)
    sets, law = sets_of(x, bar, k), law_of(x, bar, k)
    families = [sets._family(place) for place in range(len(sets._shares.logs))]
    assert sum(int(family.size()) for family in families) == len(law)
    masses = [float(family.mass()) for family in families]
    np.testing.assert_allclose(np.log(masses), sets._shares.logs, atol=1e-8)
    assert sum(masses) == pytest.approx(1 / max(law.values()))
    assert all(family.loss >= 0 for family in families)
    source = sl.testing.seeded(seed)
    assert all(tuple(sorted(sets.draw(source))) in law for _ in range(20))


@pytest.mark.parametrize("slack", [2e-4, 1.0])
def test_sets_are_drawn_by_their_law_also_where_balls_decide(slack, monkeypatch):
    """Shares raised by e: proposals are rejected often, and each acceptance is an exact coin."""
    monkeypatch.setattr(shares, "SLACK", slack)
    x, bar, k = [9, 8, 8, 5, 3, 2], Fraction(13, 2), 3
    sets, law, source = sets_of(x, bar, k), law_of(x, bar, k), sl.testing.seeded(1)
    draws = 4000 if slack > 0.5 else 20_000
    found = Counter(tuple(sorted(sets.draw(source))) for _ in range(draws))
    wrong = law_of(x, Fraction(9, 2), k)
    assert_law([found[y] for y in law], list(law.values()), wrong=list(wrong.values()))


def test_partial_sums_of_binomials():
    table = log_partial_sums(6, 40)
    for n in (0, 1, 5, 40):
        for r in (0, 3, 5):
            assert table[n, r] == pytest.approx(np.log(sum(comb(n, i) for i in range(r + 1))), abs=1e-9)


def test_a_share_is_never_below_its_mass():
    logs = np.array([0.0, -3.0, -700.0, -np.inf])
    found = shares.shares(logs)
    sizes = np.diff(found.sums, prepend=0)
    assert (sizes >= shares.SHARES * np.exp(logs - found.unit)).all()
    assert (sizes >= 1).all()
    stream = Stream(sl.testing.seeded(1))
    assert not any(found.accepted(2, lambda: arb(-700).exp(), stream) for _ in range(50))


def test_the_best_of_many_is_shifted_by_their_logarithm():
    noise = best_of(297)
    with ctx.workprec(100):
        assert float(noise.exact_quantile(77, 8) - GUMBEL.exact_quantile(77, 8)) == pytest.approx(np.log(297))


def test_how_many_finish_above_a_line():
    source = sl.testing.seeded(1)
    finishes = [Runner(Fraction(x), Fraction(1, 1000), GUMBEL).draw(source) for x in (9, 7, 5)]
    for height, above in ((10, 0), (8, 1), (6, 2), (4, 3)):
        line = Runner(Fraction(height), Fraction(1, 1000), GUMBEL).draw(source)
        assert how_many_above(finishes, line) == above


def test_a_test_passes_with_its_chance_and_never_at_a_tie():
    test, source = LaplaceTest(Fraction(1, 2), Fraction(1, 10)), sl.testing.seeded(2)
    for gap in (1, 4, 6):
        chance = float(test.chance(gap))
        passed = sum(passes(test, gap, source) for _ in range(6000))
        assert_law([passed, 6000 - passed], [chance, 1 - chance], wrong=[chance * 0.8, 1 - chance * 0.8])
    assert not any(passes(test, 0, source) for _ in range(200))


def test_the_laplace_test_where_its_branches_meet():
    """delta e^(epsilon (q - 1)) = 1/2 within the precision: the ball covers both branches, which agree there."""
    half = LaplaceTest(Fraction(1), Fraction(1, 2) - Fraction(1, 10**40))
    with ctx.workprec(64):
        assert float(half.chance(1)) == pytest.approx(0.5)


def test_rational_races_follow_the_law_and_settle_ties_exactly():
    scores = [Fraction(1, 3), Fraction(0), Fraction(-2, 7)]
    source, draws = sl.testing.seeded(3), 5000
    found = np.bincount(
        [rational_winner(scores, scale=Fraction(1, 2), noise=GUMBEL, source=source) for _ in range(draws)], minlength=3
    )
    law, wrong = (np.exp(scale * np.array(scores, float)) for scale in (2, 1))
    assert_law(found, law / law.sum(), wrong=wrong / wrong.sum())
    far = [Fraction(10) ** 400, Fraction(0)]
    assert rational_winner(far, scale=Fraction(1), noise=GUMBEL, source=source) == 0


def test_a_rational_race_that_floats_cannot_decide():
    """The same word twice: the winner is decided by the exact scores, whose difference no float sees."""

    class Twice:
        secure = False

        def words(self, count):
            return np.full(count, 2**63 + 12345, np.uint64)

    close = [Fraction(0), Fraction(1, 10**30)]
    assert rational_winner(close, scale=Fraction(1), noise=GUMBEL, source=Twice()) == 1
