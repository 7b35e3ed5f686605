"""Many runs against thresholds of their own, at once: the law of asking one after the other, the rare paths forced."""

import dataclasses
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import kstest

from shortlist.mechanisms import SparseVector
from shortlist.sampling import thresholds as module
from tests.helpers.inside import EXPONENTIAL, Draw, Seeded
from tests.helpers.support import SIGNIFICANCE, assert_law, full_size, p_value, sized
from tests.mechanisms.sparse_vector.by_formula import BELOW
from tests.sampling.test_noisy_threshold import KINDS, VALUES, every, law_of, rules_of
from tests.sampling.test_race import coarse, without_floats


def runs_of(rules, values):
    return module.ManyRuns(np.asarray(values), rules)


def patterns_of(rules, indices, tests, length):
    """The answers of each run as names, cut where it stops."""
    for found, which in zip(indices.tolist(), tests.tolist(), strict=True):
        names, spent = [BELOW] * length, Fraction(0)
        for index, test in zip(found, which, strict=True):
            if index >= 0:
                names[index] = rules.branches[test].name
                spent += rules.branches[test].cost
                if rules.stops(spent):
                    names = names[: index + 1]
        yield tuple(names)


@full_size
@every
def test_many_runs_have_the_law(noise, adaptive):
    rules, wrong = rules_of(noise, adaptive), rules_of(noise, adaptive, sensitivity=sized(1.3, full=1.05))
    indices, _, tests = runs_of(rules, np.array(VALUES)).draw(Seeded(1), sized(8_000, full=150_000))
    drawn = Counter(patterns_of(rules, indices, tests, len(VALUES)))
    law, other = law_of(rules), law_of(wrong)
    assert set(drawn) <= set(law)
    assert_law([drawn[one] for one in law], list(law.values()), wrong=list(other.values()))


@every
@pytest.mark.parametrize("kind", [np.int16, np.float64, np.float32])
def test_the_type_of_the_answers_does_not_matter(noise, adaptive, kind):
    """The same words, the same runs to the last bit."""
    kind = np.int32 if noise == "geometric" and np.dtype(kind).kind == "f" else kind
    rules = rules_of(noise, adaptive)
    wanted, found = (runs_of(rules, np.array(VALUES, one)).draw(Seeded(1), 3000) for one in (np.int64, kind))
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


NODES = 4000


def survivals(rules, value, gap):
    """P(the one question passes test n with a gap above `gap`) for every n: a sum over the threshold's noise."""
    middle = ((2 * np.arange(NODES) + 1) / (2 * NODES) * 2.0**64).astype(np.uint64)
    line = float(rules.threshold_scale) * rules.noise.quantile(middle, 0)[0]
    line = float(rules.threshold) + (np.floor(line) if rules.whole else line)
    open_ = np.ones(NODES)

    def above(test, cut):
        reach = (cut + float(test.centre) + line - value) / float(test.scale)
        return np.exp(test.noise.log_survival(reach))

    for branch in rules.branches:
        yield float((open_ * above(branch.test, np.maximum(gap, float(branch.test.cut)))).mean())
        open_ = open_ * (1 - above(branch.test, float(branch.test.cut)))


@full_size
@every
def test_gaps_have_the_law(noise, adaptive):
    """One question: the test it passes and its gap, in cells; where gaps are no whole numbers by their curve too."""
    value, draws = 12, sized(30_000, full=60_000)
    rules = rules_of(noise, adaptive, threshold=10)
    wrong = rules_of(noise, adaptive, threshold=10, sensitivity=sized(1.15, full=1.1))
    _, gaps, tests = runs_of(rules, [value]).draw(Seeded(2), draws)
    edges = np.arange(0, 25)
    laws = [np.array([list(survivals(one, value, edge)) for edge in edges]) for one in (rules, wrong)]
    cells = [np.append([1 - law[0].sum()], [-np.diff(law, axis=0, append=0).T.ravel()]) for law in laws]
    counts = [np.count_nonzero(tests < 0)]
    for n in range(len(rules.branches)):
        counts += np.histogram(gaps[tests == n], np.append(edges, np.inf))[0].tolist()
    assert sum(counts) == draws
    assert_law(counts, cells[0], wrong=cells[1])
    if rules.whole:
        assert (gaps[tests >= 0] == np.floor(gaps[tests >= 0])).all()
        return
    for n in range(len(rules.branches)):
        found = gaps[tests == n]
        assert _ks(found, rules, value, n) > SIGNIFICANCE
        assert n != len(rules.branches) - 1 or _ks(found, wrong, value, n) < SIGNIFICANCE


def _ks(found, rules, value, n):
    grid = np.linspace(0, 100, sized(250, full=1500))
    curve = np.array([list(survivals(rules, value, x))[n] for x in grid])
    return kstest(found, lambda x: np.interp(x, grid, 1 - curve / curve[0])).pvalue


@full_size
@every
@pytest.mark.parametrize("force", [coarse, without_floats])
def test_what_floats_cannot_decide_is_decided_on_the_same_words(noise, adaptive, force):
    """The first words of both are the same; bits drawn later only refine them."""
    rules = rules_of(noise, adaptive)
    forced = dataclasses.replace(rules_of(noise, adaptive, force), noise=force(rules.noise))
    fast = runs_of(rules, VALUES).draw(Seeded(3), sized(80, full=1000))
    slow = runs_of(forced, VALUES).draw(Seeded(3), sized(80, full=1000))
    for one, two in zip(fast, slow, strict=True):
        assert np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
    assert (fast[0] >= 0).any()
    assert (fast[0] < 0).any()


def test_bits_drawn_for_an_answer_decide_its_gap_as_well():
    """The first words of threshold and question agree, and their scales: an answer "above" has a gap of 0 steps."""
    source = Seeded(10)

    class Same:
        secure = False

        def words(self, count):
            return source.words(1) if count == 1 else np.full(count, 2**62 + 12345, np.uint64)

    rules = SparseVector(threshold=7, k=1, epsilon=2.0, theta=0.5, monotone=True).rules
    assert rules.branches[0].test.scale == rules.threshold_scale
    indices, gaps, _ = runs_of(rules, [7]).draw(Same(), 80)
    assert 20 < np.count_nonzero(indices == 0) < 60
    assert (gaps[indices == 0] == 0).all()


@pytest.mark.parametrize(("k", "adaptive"), [(1, False), (3, False), (1, True), (3, True), (7, True)])
def test_a_run_stops_where_the_rules_say(k, adaptive):
    rules = SparseVector(threshold=0, k=k, epsilon=0.7, theta=0.3, adaptive=adaptive).rules
    unit = rules.branches[0].cost
    assert [weight * unit for weight in rules.weights] == [branch.cost for branch in rules.branches]
    assert rules.stops(rules.enough * unit)
    assert not rules.stops((rules.enough - 1) * unit)
    indices, gaps, tests = runs_of(rules, [10**6] * (2 * k + 2)).draw(Seeded(4), 20)
    assert indices.tolist() == [list(range(2 * k - 1 if adaptive else k))] * 20
    assert (tests == 0).all()
    assert (gaps > 0).all()


@pytest.mark.parametrize(("noise", "adaptive"), KINDS[:4])
def test_questions_at_minus_infinity_never_pass(noise, adaptive):
    rules = rules_of(noise, adaptive)
    plain = runs_of(rules, [3.0, -2.0]).draw(Seeded(5), 3000)
    among = runs_of(rules, [-np.inf, 3.0, -np.inf, -2.0, -np.inf]).draw(Seeded(5), 3000)
    assert np.array_equal(np.array([1, 3, -1])[plain[0]], among[0])
    assert np.array_equal(plain[1], among[1], equal_nan=True)


@every
def test_threshold_and_answers_may_move_together(noise, adaptive):
    here = runs_of(rules_of(noise, adaptive), VALUES).draw(Seeded(6), 2000)
    far = 2**40
    there = runs_of(rules_of(noise, adaptive, threshold=far), np.array(VALUES) + far).draw(Seeded(6), 2000)
    for one, two in zip(here, there, strict=True):
        assert np.array_equal(one, two, equal_nan=one.dtype.kind == "f")


def test_runs_are_drawn_a_few_at_a_time(monkeypatch):
    rules = rules_of("exponential", True)
    monkeypatch.setattr(module, "CHUNK", 1)
    indices, _, tests = runs_of(rules, VALUES).draw(Seeded(7), 700)
    drawn, law = Counter(patterns_of(rules, indices, tests, len(VALUES))), law_of(rules)
    assert_law([drawn[one] for one in law], list(law.values()))


@pytest.mark.parametrize("epsilon", [1e-290, 1e-5, 1e5, 1e290])
@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_numbers_beyond_floats_are_decided_exactly(noise, epsilon):
    m = SparseVector(threshold=-1.7e308, k=2, epsilon=epsilon, noise=noise, adaptive=True)
    indices, gaps, _ = runs_of(m.rules, [1.7e308, -1.7e308, 0.0]).draw(Seeded(8), 12)
    if epsilon > 1:
        assert (indices[:, 0] == 0).all()
        assert (gaps[:, 0] == np.inf).all()
    assert ((indices < 0) == np.isnan(gaps)).all()


def test_the_power_of_a_wrong_stop_rule():
    """One answer more than the rules pay for is another law."""
    rules = rules_of("exponential", False)
    wrong = runs_of(dataclasses.replace(rules, epsilon=rules.epsilon + rules.unit), VALUES)
    drawn = Counter((row >= 0).sum() for row in wrong.draw(Seeded(9), 4000)[0])
    assert drawn[3] > 0
    right = Counter((row >= 0).sum() for row in runs_of(rules, VALUES).draw(Seeded(9), 4000)[0])
    law = [right[n] / 4000 for n in range(3)]
    assert p_value([drawn[n] for n in range(4)], [*law, 0.0]) == 0.0


def test_sums_beyond_floats_decide_nothing():
    """A gap of about 1e306 whose parts are near the largest float: it is below the cut of the first test."""
    sv = SparseVector(threshold=0, k=1, epsilon=1.0, adaptive=True, sensitivity=1e306, monotone=True, theta=0.1)
    noises = (17.92, 1.096, 0.01)

    class Chosen:
        secure = False

        def words(self, count):
            return np.array(
                [int(2**64 * math.exp(-x)) for x in (noises if count == 1 else (*noises[1:], noises[0]))][:count],
                np.uint64,
            )

    rules = sv.rules
    barrier = module.Barrier(rules.threshold, rules.threshold_scale, rules.noise, Chosen())
    draws = [Draw(EXPONENTIAL, int(2**64 * math.exp(-x)), 64, Chosen()) for x in noises[1:]]
    passed = [barrier.passes(1.7e308, one.test, draw) for one, draw in zip(rules.branches, draws, strict=True)]
    assert passed == [False, False]
    assert runs_of(rules, [1.7e308]).draw(Chosen(), 1)[0].tolist() == [[-1]]
