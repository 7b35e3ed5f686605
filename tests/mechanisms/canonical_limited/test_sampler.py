"""Shares, lines, limited sets, passing and rational races: the exact draws under the unknown-domain mechanisms."""

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

import shortlist as sl
from shortlist.exact.noise import EXPONENTIAL, GUMBEL
from shortlist.exact.thresholds import LaplaceTest
from shortlist.sampling import entropy as shares
from shortlist.sampling import stable as rationals
from shortlist.sampling.entropy import WordStream, many_below
from shortlist.sampling.race import Runner, best_of, how_many_above
from shortlist.sampling.stable import passes
from shortlist.sampling.unknown_domain import LimitedSets, log_partial_sums
from tests.helpers.support import assert_law, full_size, sized
from tests.sampling.test_race import coarse, without_floats

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
    stream = WordStream(sl.testing.seeded(seed))
    assert all(tuple(sorted(sets.draw(stream))) in law for _ in range(40))


@full_size
@pytest.mark.parametrize("slack", [2e-4, 1.0])
def test_sets_are_drawn_by_their_law_also_where_balls_decide(slack, monkeypatch):
    """Shares raised by e: proposals are rejected often, and each acceptance is an exact coin."""
    monkeypatch.setattr(shares, "SHARE_SLACK", slack)
    x, bar, k = [9, 8, 8, 5, 3, 2], Fraction(13, 2), 3
    sets, law, stream = sets_of(x, bar, k), law_of(x, bar, k), WordStream(sl.testing.seeded(1), 1024)
    draws = sized(1500, full=8000) if slack > 0.5 else sized(8000, full=40_000)
    found = Counter(tuple(sorted(sets.draw(stream))) for _ in range(draws))
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
    stream = WordStream(sl.testing.seeded(1))
    assert not any(found.accept(2, lambda: arb(-700).exp(), stream) for _ in range(50))


def test_every_ticket_has_the_place_whose_share_it_lies_in():
    """Shares of 1, 1 and 2: four tickets, and none is another's."""
    found = shares.Shares(np.zeros(3), 0.0, np.array([1, 2, 4]))

    class Ticket:
        def __init__(self, number):
            self.number = number

        def below(self, bound):
            assert bound == 4
            return self.number

    tickets: list[Any] = [Ticket(number) for number in range(4)]
    assert [found.propose(ticket) for ticket in tickets] == [0, 1, 2, 2]


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


def test_the_noise_of_a_line_lifts_it_and_that_of_a_runner_lifts_the_runner():
    """Noise of about 10 against none, either way round: the small words are the large noises."""

    class Words:
        secure = False

        def __init__(self, word):
            self.word = word

        def words(self, count):
            return np.full(count, self.word, np.uint64)

    for high, low, above in ((2**50, 2**63, 1), (2**63, 2**50, 0)):
        finish, line = (Runner(Fraction(5), Fraction(1), EXPONENTIAL).draw(Words(word)) for word in (high, low))
        assert how_many_above([finish], line) == above


@full_size
def test_a_test_passes_with_its_chance():
    test, source = LaplaceTest(Fraction(1, 2), Fraction(1, 10)), sl.testing.seeded(2)
    for gap in (1, 4, 6):
        chance, draws, off = float(test.chance(gap)), sized(3000, full=6000), sized(0.7, full=0.8)
        passed = sum(bool(passes(test, np.array([gap]), source)[0]) for _ in range(draws))
        assert_law([passed, draws - passed], [chance, 1 - chance], wrong=[chance * off, 1 - chance * off])


def test_a_test_never_passes_at_a_tie():
    test, source = LaplaceTest(Fraction(1, 2), Fraction(1, 10)), sl.testing.seeded(2)
    assert not passes(test, np.zeros(200, np.int64), source).any()
    assert set(passes(test, np.full(50, 4), source).tolist()) == {False, True}


def test_the_laplace_test_where_its_branches_meet():
    """delta e^(epsilon (q - 1)) = 1/2 within the precision: the ball covers both branches, which agree there."""
    half = LaplaceTest(Fraction(1), Fraction(1, 2) - Fraction(1, 10**40))
    with ctx.workprec(64):
        assert float(half.chance(1)) == pytest.approx(0.5)


def winners(scores, scale, seed, draws, force=None, monkeypatch=None):
    if force is not None:
        monkeypatch.setattr(rationals, "GUMBEL", force(GUMBEL))
    return rationals.rational_winners(scores, scale=Fraction(scale), source=sl.testing.seeded(seed), draws=draws)


RATIONAL = [Fraction(1, 3), Fraction(0), Fraction(-2, 7), Fraction(1, 3), Fraction(0), Fraction(0)]


@full_size
@pytest.mark.parametrize("force", [None, coarse, without_floats])
def test_rational_races_follow_the_law_with_ties_too(force, monkeypatch):
    draws = 200_000 if force is None else sized(1200, full=3000)
    found = winners(RATIONAL, Fraction(1, 2), 3, draws, force, monkeypatch)
    law, wrong = (np.exp(rate * np.array(RATIONAL, float)) for rate in (2, 2.2 if force is None else sized(6, full=4)))
    assert_law(np.bincount(found, minlength=6), law / law.sum(), wrong=wrong / wrong.sum())
    assert (winners([Fraction(10) ** 400, 0, 0], 1, 4, 5) == 0).all()


@pytest.mark.parametrize("force", [coarse, without_floats])
def test_rational_races_that_floats_cannot_decide_have_the_same_winners(force, monkeypatch):
    scores = [Fraction(n, 7) for n in (5, 3, 9)]
    fast, slow = winners(scores, 2, 5, 300), winners(scores, 2, 5, 300, force, monkeypatch)
    assert (fast == slow).all()
    assert set(fast.tolist()) == {0, 1, 2}


def test_a_crowd_of_ties_counts_as_many():
    """A thousand ties against one: the law of the one, and every tie alike."""
    found = winners([5, *[0] * 1000], 1, 6, 200_000)
    alone = np.count_nonzero(found == 0)
    p, q = (np.exp(5) / (np.exp(5) + many) for many in (1000, 1100))
    assert_law([alone, 200_000 - alone], [p, 1 - p], wrong=[q, 1 - q])
    assert_law(np.bincount(found, minlength=1001)[1:], np.full(1000, 1 / 1000))


def test_a_rational_race_by_exact_scores_alone():
    """The same word twice: the winner is decided by the exact scores, whose difference no float sees."""

    class Twice:
        secure = False

        def words(self, count):
            return np.full(count, 2**63 + 12345, np.uint64)

    close = [Fraction(0), Fraction(1, 10**30)]
    assert (rationals.rational_winners(close, scale=Fraction(1), source=Twice(), draws=3) == 1).all()


def test_many_values_below_a_bound_are_uniform():
    stream = WordStream(sl.testing.seeded(9))
    found = many_below(7, 70_000, stream)
    law = np.full(7, 1 / 7)
    assert_law(np.bincount(found, minlength=7), law, wrong=[*law[:5], 0.12, 2 / 7 - 0.12])
    assert many_below(1, 3, stream).tolist() == [0, 0, 0]
    assert len(many_below(2**31 + 1, 1001, stream)) == 1001  # nearly half of the draws are thrown away


@full_size
def test_many_coins_at_once_pass_with_their_chances():
    test, draws = LaplaceTest(Fraction(1, 2), Fraction(1, 10)), sized(20_000, full=200_000)
    gaps = np.array([0, 1, 4, 6])[np.arange(draws) % 4]
    passed = passes(test, gaps, sl.testing.seeded(6))
    assert not passed[gaps == 0].any()
    for gap in (1, 4, 6):
        chance, found, all_ = float(test.chance(gap)), np.count_nonzero(passed[gaps == gap]), draws // 4
        assert_law([found, all_ - found], [chance, 1 - chance], wrong=[chance * 0.7, 1 - chance * 0.7])


@pytest.mark.parametrize("word", [0, 1, 3, 2**63, 2**64 - 4, 2**64 - 1])
def test_a_score_beyond_floats_loses_whatever_the_words_are(word):
    source = sl.testing.seeded(1)

    class Once:
        secure = False

        def words(self, count):
            return np.array([2**63, word], np.uint64) if count == 2 else source.words(count)

    scores: list[int | Fraction] = [0, Fraction(10) ** 310]
    assert rationals.rational_winners(scores, scale=Fraction(1), source=Once(), draws=1).tolist() == [1]


def test_a_chance_that_is_not_enclosed_at_once_is_computed_further():
    from shortlist.exact.thresholds import OptimalTest

    test = OptimalTest(Fraction(1e100), Fraction(1e-6))
    gaps = np.array([0, 1, 2] * 20)
    assert passes(test, gaps, sl.testing.seeded(3)).tolist() == [False, False, True] * 20
