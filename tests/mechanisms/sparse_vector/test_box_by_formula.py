"""Exact densities of sparse vector transcripts: what they cost, oracles, and six ways to get it wrong."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from shortlist.mechanisms import SparseVector
from tests.helpers.box import shifts
from tests.helpers.inside import EXPONENTIAL
from tests.helpers.support import full_size, sized
from tests.mechanisms.gaps.by_formula import nodes
from tests.mechanisms.sparse_vector.by_formula import BELOW, One, patterns, the_tests, threshold_law, transcript

kind = pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])
every = pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
way = pytest.mark.parametrize("adaptive", [False, True], ids=["plain", "adaptive"])


def rules_of(noise="exponential", k=1, monotone=False, **more):
    return SparseVector(threshold=0, k=k, epsilon=1.0, noise=noise, monotone=monotone, **more).rules


def with_gaps(rules, pattern):
    """Each pattern with a few gaps in place of its answers "above"."""
    cuts = {branch.name: float(branch.test.cut) for branch in rules.branches}
    choices = [[BELOW] if one == BELOW else [(one, cuts[one] + g) for g in (0, 1, 40)] for one in pattern]
    return product(*choices)


def worst_by_cost(rules, monotone, length=2, top=1):
    """{exact cost: the largest log ratio of any transcript of that cost}."""
    worst: dict[Any, float] = {}
    for pattern, spent in patterns(rules, length):
        for outcomes in with_gaps(rules, pattern):
            n = len(outcomes)
            law = {}
            for x in product(range(-top, top + 1), repeat=n):
                for shift in shifts(n, monotone):
                    for q in (x, tuple(np.add(x, shift))):
                        if q not in law:
                            law[q] = transcript(rules, q, outcomes)
                    here, there = law[x], law[tuple(np.add(x, shift))]
                    if here > 1e-250 or there > 1e-250:
                        ratio = abs(np.log(here) - np.log(there)) if min(here, there) > 0 else np.inf
                        cost = rules.first + spent
                        worst[cost] = max(worst.get(cost, 0.0), ratio)
    return worst


@every
@kind
@way
def test_every_transcript_costs_at_most_what_its_answers_say(noise, monotone, adaptive):
    rules = rules_of(noise, 1, monotone, adaptive=adaptive)
    worst = worst_by_cost(rules, monotone)
    assert max(worst) <= 1
    for cost, ratio in worst.items():
        assert ratio <= float(cost) * (1 + 1e-9) + 1e-12
    assert max(ratio / float(cost) for cost, ratio in worst.items()) > (0.8 if noise == "laplace" else 0.97)


@every
@kind
def test_two_answers_above_keep_epsilon(noise, monotone):
    rules = rules_of(noise, 2, monotone, theta=0.3)
    worst = worst_by_cost(rules, monotone, length=2, top=0)
    assert max(worst.values()) <= 1 + 1e-9
    assert set(worst) == {rules.first, rules.first + rules.each, rules.epsilon}


def test_one_sided_sensitivities_need_the_sum_for_questions_and_the_larger_for_the_threshold():
    rules = rules_of(sensitivity=(1, 3), theta=0.5)
    assert rules.threshold_scale == 3 / rules.first
    assert rules.branches[0].test.scale == 4 / rules.each
    worst = 0.0
    for shift in product((-1, 0, 3), repeat=2):
        for outcomes in ((BELOW, BELOW), (("middle", 0.0),), (BELOW, ("middle", 0.0)), (BELOW, ("middle", 60.0))):
            n = len(outcomes)
            here, there = (transcript(rules, q[:n], outcomes) for q in ((0, 0), shift))
            worst = max(worst, abs(np.log(here / there)))
    assert 0.8 < worst <= 1 + 1e-9


def test_the_oracles():
    rules = rules_of(theta=0.4)
    assert transcript(rules, [0], ["middle"]) == pytest.approx(0.4 / 0.7 * np.exp(-0.25), abs=1e-12)
    rules = rules_of("laplace", 2, adaptive=True, theta=0.3)
    assert transcript(rules, [20], ["top"]) == pytest.approx(0.184725, abs=1e-6)
    assert transcript(rules, [20], ["middle"]) == pytest.approx(0.7958, abs=2e-3)


@every
@way
def test_the_patterns_of_a_run_add_up_to_one(noise, adaptive):
    rules = rules_of(noise, 2, adaptive=adaptive)
    total = sum(transcript(rules, [1, -2, 3][: len(p)], p) for p, _ in patterns(rules, 3))
    assert total == pytest.approx(1, abs=1e-9)


# Six broken sparse vectors


def log_ratio(law, here, there):
    return abs(np.log(law(here) / law(there)))


def test_no_noise_on_questions_is_caught():
    rules = rules_of(k=1)
    bare = [One("middle", EXPONENTIAL, 1e-9, 0.0, 0.0)]
    outcomes = [BELOW, "middle"]
    assert transcript(rules, (0, 1), outcomes, bare) > 0.1
    assert transcript(rules, (1, 0), outcomes, bare) < 1e-12


@pytest.mark.parametrize("drawn", [True, False], ids=["redrawn for each question", "not drawn at all"])
def test_threshold_noise_that_is_not_shared_is_caught(drawn):
    """Then every "below" costs: fifty of them cost more than epsilon."""
    rules = rules_of(k=1)
    one = the_tests(rules)[0]

    def law(q):
        if drawn:
            each = transcript(rules, [q - 5], [BELOW])
        else:
            each = 1 - np.exp(one.noise.log_survival(np.array([(one.centre - q + 5) / one.scale])))[0]
        return each**50

    assert log_ratio(law, 0, 1) > 1.5
    assert log_ratio(lambda q: transcript(rules, [q] * 50, [BELOW] * 50), 0, 1) <= float(rules.first) + 1e-12


def moved_apart(rules, above, tests=None):
    """The log ratio of 60 answers "below", which one person raises, and some "above" by much, which she lowers."""
    outcomes = [BELOW] * 60 + [("middle", 60.0)] * above
    return log_ratio(lambda q: transcript(rules, [q] * 60 + [-q] * above, outcomes, tests), 0, 1)


def test_unlimited_answers_are_caught():
    rules = rules_of("laplace", k=2)
    assert 0.95 < moved_apart(rules, 2) <= 1 + 1e-9
    assert moved_apart(rules, 6) > 2


def test_releasing_noisy_values_is_caught():
    """The value of an answer "above" bounds the threshold from above, and all "below" before it are then no free."""
    rules = rules_of("laplace", k=1)
    one = the_tests(rules)[0]

    def law(q, times=40, value=0.0):
        z, weight = threshold_law(rules, [value])
        below = 1 - np.exp(one.noise.log_survival((z - q) / one.scale))
        return (weight * below**times)[z <= value].sum() * np.exp(-abs(value) / one.scale)

    assert log_ratio(law, 0, 1) > 3
    gaps = log_ratio(lambda q: transcript(rules, [*[q] * 40, 0], [*[BELOW] * 40, ("middle", 0.0)]), 0, 1)
    assert gaps <= 1


def test_the_wrong_scale_by_k_is_caught():
    rules = rules_of("laplace", k=3)
    one = the_tests(rules)[0]
    assert 0.95 < moved_apart(rules, 3) <= 1 + 1e-9
    assert moved_apart(rules, 3, [replace(one, scale=one.scale / 3)]) > 2


def test_forgetting_the_factor_two_for_general_questions_is_caught():
    rules = rules_of("exponential", k=1, monotone=True)
    assert max(worst_by_cost(rules, False).values()) > 1.2


# Hybrids: outcome by outcome


def hybrid_top_k(q, outcome, k, scale):
    """Density of HybridTopK (threshold 0): `outcome` is (order, gaps, ended)."""
    order, gaps, ended = outcome
    s = np.array([0.0, *q]) / scale
    chosen = [i + 1 for i in order]
    rest = [i for i in range(1, len(s)) if i not in chosen]
    ahead = np.cumsum(np.array(gaps)[::-1])[::-1] / scale
    noise = EXPONENTIAL
    z, weight = nodes([*s, *(s[chosen] - ahead)], low=-12.0, high=60.0, width=1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        winners = sum((noise.log_density(z + a - s[i]) for i, a in zip(chosen, ahead, strict=True)), np.zeros_like(z))
        if ended:  # z is the threshold's finish
            logs = winners + noise.log_density(z) + sum((noise.log_cdf(z - s[j]) for j in rest), np.zeros_like(z))
            return float(weight @ np.exp(logs))
        total = np.zeros_like(z)
        for last in [0, *rest]:  # z is the finish of the best of all others, the threshold among them
            others = sum((noise.log_cdf(z - s[j]) for j in [0, *rest] if j != last), np.zeros_like(z))
            total += np.exp(winners + noise.log_density(z - s[last]) + others)
    return float(weight @ total)


@full_size
@kind
def test_hybrid_top_k_costs_what_its_length_says_and_no_less(monotone):
    """k = 2: lists that the threshold ended cost (n + Delta / R) epsilon / k; full ones epsilon (Theorem 99)."""
    k, spread = 2, 1 if monotone else 2
    scale = float(k * spread)
    outcomes: list[tuple[tuple[int, ...], tuple[float, ...], bool]] = [((), (), True)]
    outcomes += [((0,), (g,), True) for g in (0.0, 1.0, 40.0)]
    outcomes += [((0, 1), (g, h), False) for g in (0.0, 1.0) for h in (0.0, 1.0, 40.0)]
    worst: dict[Any, float] = {}
    for outcome in outcomes:
        for x in product(sized((0, 20), full=(-40, 0, 20)), repeat=3):
            here = hybrid_top_k(x, outcome, k, scale)
            for shift in shifts(3, monotone):
                there = hybrid_top_k(np.add(x, shift), outcome, k, scale)
                if min(here, there) > 1e-40:
                    cost = 1.0 if not outcome[2] else (len(outcome[0]) + 1 / spread) / k
                    worst[cost] = max(worst.get(cost, 0.0), abs(np.log(here / there)))
    for cost, ratio in worst.items():
        assert 0.97 * cost < ratio <= cost + 1e-9
    assert len(worst) == (2 if monotone else 3)


def hybrid_sparse_vector(q, gaps, rules):
    """Density of HybridSparseVector (threshold 0, as many winners as gaps, the first ones; k = 2)."""
    one = the_tests(rules)[0]
    n = len(gaps)
    kinks = [v - one.centre - g for v in q for g in (0.0, *gaps)]
    z, weight = threshold_law(rules, kinks)
    with np.errstate(divide="ignore"):
        for v, g in zip(q[:n], gaps, strict=True):
            weight = weight * np.exp(one.noise.log_density((g + z + one.centre - v) / one.scale)) / one.scale
        bar = min(gaps) if n == 2 else 0.0
        for v in q[n:]:
            weight = weight * np.exp(one.noise.log_cdf((bar + z + one.centre - v) / one.scale))
    return float(weight.sum())


@full_size
@kind
def test_hybrid_sparse_vector_costs_what_its_length_says_and_no_less(monotone):
    """k = 2, theta = .3: .30, .65, 1.00 for 0, 1, 2 items (Theorem 99)."""
    rules = rules_of("exponential", 2, monotone, theta=0.3)
    for n, cost in enumerate((0.30, 0.65, 1.00)):
        worst = 0.0
        for gaps in product((0.0, 1.0, 60.0), repeat=n):
            for x in product(sized((0, 40), full=(-60, 0, 40)), repeat=3):
                here = hybrid_sparse_vector(x, gaps, rules)
                for shift in shifts(3, monotone):
                    there = hybrid_sparse_vector(np.add(x, shift), gaps, rules)
                    if min(here, there) > 1e-60:
                        worst = max(worst, abs(np.log(here / there)))
        assert 0.95 * cost < worst <= cost + 1e-9
