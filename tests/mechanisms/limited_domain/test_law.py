"""The laws of unknown domains against enumeration and the oracles (Table 163)."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shortlist.testing import seeded
from shortlist.utility.unknown_domain import (
    FEW_PAIRS,
    BarredRace,
    _ringing_at_once,
    _ringing_one_by_one,
    canonical_limited_domain,
    correct_labels,
)
from tests.helpers.inside import canonical_offset

COUNTS = np.array([7, 5, 4, 3, 3, 1])


def listed(counts, limit):
    x = sorted(counts, reverse=True)
    c = x[limit] if len(x) > limit else 0
    return [one for one in x[:limit] if one > c], c


def quality_of(law, counts, k):
    """(P[a true top k], expected recall) of a law over tuples of positions in the list."""
    kth = counts[k - 1] if len(counts) >= k else -1
    best = counts[:k]
    right = sum(p for y, p in law.items() if len(y) == k and sorted((counts[i] for i in y), reverse=True) == best)
    return right, sum(p * sum(counts[i] >= kth for i in y) for y, p in law.items()) / k


def by_peeling(counts, k, e, delta, limit):
    found, c = listed(counts, limit)
    share = Fraction(delta)  # exactly, as the mechanism does: in floats 7 may become 7.000000000000001, and then 8
    bar = math.ceil(limit * (1 - share) / share) * math.exp(e * (c + 1))
    weight = [math.exp(e * one) for one in found]
    law: dict[Any, float] = {}

    def go(chosen, chance):
        left = [i for i in range(len(found)) if i not in chosen]
        if len(chosen) == k:
            law[chosen] = law.get(chosen, 0.0) + chance
            return
        total = bar + sum(weight[i] for i in left)
        law[chosen] = law.get(chosen, 0.0) + chance * bar / total
        for i in left:
            go((*chosen, i), chance * weight[i] / total)

    go((), 1.0)
    return quality_of(law, found, k)


def by_listing(counts, k, epsilon, delta, limit, gamma):
    found, c = listed(counts, limit)
    sets = sum(math.comb(limit, j) for j in range(1, k + 1))
    offset = math.log(sets * (1 - delta) / delta) / (gamma * epsilon)
    bar = c + 1 + float(canonical_offset(k, limit, Fraction(gamma) * Fraction(epsilon), Fraction(delta)))
    assert 0 <= bar - (c + 1 + offset) + 1e-12 < 3e-6  # the mechanism's own, rounded up
    law = {}
    for j in range(k + 1):
        for y in itertools.combinations(range(len(found)), j):
            inside = min([found[i] for i in y] + [bar] * (j < k))
            outside = max([bar] + [found[i] for i in range(len(found)) if i not in y])
            law[y] = math.exp(epsilon * (gamma * inside - (1 - gamma) * outside))
    total = sum(law.values())
    return quality_of({y: p / total for y, p in law.items()}, found, k)


def random_cases(number):
    source = seeded(5)
    for _ in range(number):
        words = source.words(12).astype(float) / 2**64
        size, k = 1 + int(words[0] * 6), 1 + int(words[1] * 3)
        counts = [int(one * 9) for one in words[4 : 4 + size]]
        yield counts, k, 0.1 + 2 * words[2], (0.3, 0.01, 1e-4)[int(3 * words[3])], k + int(words[11] * 4)


def test_lists_agree_with_peeling_round_by_round():
    for counts, k, e, delta, limit in random_cases(60):
        race = BarredRace.of(np.array(counts), k, e, delta, limit)
        assert (race.top(), race.recall()) == pytest.approx(by_peeling(counts, k, e, delta, limit), abs=1e-12)


def test_sets_agree_with_the_list_of_all_sets():
    for counts, k, e, delta, limit in random_cases(60):
        found = canonical_limited_domain(np.array(counts), k, e, delta, limit, 0.85)
        assert (found.top, found.recall) == pytest.approx(by_listing(counts, k, e, delta, limit, 0.85), abs=1e-12)


def test_oracles():
    race = BarredRace.of(COUNTS, 2, 1.0, 0.01, 3)
    assert race.top() == pytest.approx(0.00056595 + 0.00053505, abs=2e-8)
    assert canonical_limited_domain(COUNTS, 2, 1.0, 0.01, 3, 0.85).top == pytest.approx(0.00380748, abs=3e-8)
    counts = np.array([30, 22, 21, 20, 9, 3, 3, 1])
    assert canonical_limited_domain(counts, 3, 1.0, 1e-4, 5, 0.85).top == pytest.approx(0.41741312, abs=5e-7)


def test_counts_far_apart_and_a_bar_out_of_reach():
    counts = np.array([10**9, 10**6, 10, 9, 8])
    race = BarredRace.of(counts, 2, 1.0, 1e-6, 4)
    assert race.top() == pytest.approx(1.0)
    assert race.recall() == pytest.approx(1.0)
    assert BarredRace.of(np.array([3, 2, 1]), 2, 1e-3, 1e-6, 3).recall() < 1e-3
    assert BarredRace.of(np.array([0, 0]), 1, 1.0, 0.1, 1).recall() == 0.0


@pytest.mark.parametrize("spread", [0.1, 1.0, 5.0, 30.0])
def test_labels_counted_at_once_ring_as_those_counted_one_by_one(spread):
    rng = np.random.default_rng(7)
    for size in (2, 9, 60):
        for decimals in (0, 3):
            rates = np.sort(np.round(rng.normal(0.0, spread, size), decimals))[::-1]
            for k in sorted({1, size // 2, size - 1}):
                correct, v = correct_labels(rates, k), np.arange(-20.0 - rates[0], 10.0 - min(rates[0], 0.0), 0.25)
                one_by_one = _ringing_one_by_one(rates, correct, k, v, 42.0)
                assert _ringing_at_once(rates, correct, k, v) == pytest.approx(one_by_one, abs=1e-12)


def test_many_labels_have_the_recall_of_labels_counted_one_by_one(monkeypatch):
    counts = np.floor(3000 / np.arange(1.0, 1500.0))
    law = BarredRace.of(counts, 10, 0.05, 1e-6, 1000)
    assert len(law.log_rate) * law.k > FEW_PAIRS
    at_once = law.recall()
    monkeypatch.setattr("shortlist.utility.unknown_domain.FEW_PAIRS", 10**9)
    assert law.recall() == pytest.approx(at_once, abs=1e-12)
    assert 0.2 < at_once < 0.99
