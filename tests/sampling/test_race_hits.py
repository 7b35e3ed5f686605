"""Races of hits that a compiled pass decides: the same winners as by intervals, from the same words; or none."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from shortlist import _scan
from shortlist.exact import score_intervals
from shortlist.exact.noise_distributions import EXPONENTIAL, KINDS
from shortlist.exact.score_intervals import Contest
from shortlist.sampling.entropy import Seeded
from shortlist.sampling.race import race_of_hits, skip_race
from shortlist.sampling.skip_levels import rule_of
from shortlist.sampling.skip_schedule import make_plan
from shortlist.sampling.skipping import Hits, SkipPlan

built = pytest.mark.skipif(_scan.LIBRARY is None, reason="not built here")
VALUES = {
    "counts": np.floor(1e4 / np.arange(1, 9001) ** 0.8).astype(np.int64),
    "flat": np.full(9000, 7, np.uint8),
    "floats": np.random.default_rng(1).normal(0, 3, 9000).astype(np.float32),
    "excluded": np.where(np.arange(9000) < 200, np.arange(9000) / 9, -np.inf),
    "wide": np.where(np.arange(9000) % 90, -(2**63), 2**62 - np.arange(9000)),
}


@pytest.mark.traced(False)
@pytest.mark.parametrize("noise", KINDS.values(), ids=list(KINDS))
@pytest.mark.parametrize("values", VALUES)
def test_what_is_clear_is_what_intervals_decide_with_the_same_words(noise, values, monkeypatch):
    """Winners, exact values and the next word, also where the rest must be revealed, and for more than it takes."""
    for k, threshold in ((1, None), (5, None), (5, 3.0), (130, None)):
        plan = make_plan(VALUES[values], k, Fraction(3, 2), noise, 32, threshold)
        found = []
        for library in (_scan.LIBRARY, None):
            with monkeypatch.context() as other:
                other.setattr(_scan, "LIBRARY", library)
                source = Seeded(2)
                finish = skip_race(plan, source)
                reals = [*finish.values(), *finish.values(), *finish.gaps()] if k == 5 and values != "wide" else []
                found.append([finish.indices.tolist(), reals, source.words(2).tolist()])
        assert found[0] == found[1]


def plan_of(values, k=1, noise=EXPONENTIAL):
    return SkipPlan(Contest(np.array(values), k, Fraction(1), noise, 0), 1.0, ())


def clear(plan, words, level=0):
    n = len(words)
    rule = rule_of(plan.contest, plan.threshold)
    return plan.contest.clear_hits(np.arange(n), np.array(words, np.uint64), np.full(n, level), rule)


def from_one(noise):
    """The word of a survival uniform e^-noise."""
    return int(2.0**64 * np.exp(-noise))


@built
def test_hits_are_clear_where_k_of_them_surely_pass_and_stand_apart():
    plan = plan_of([0, 0, 0], k=2)
    assert clear(plan, [from_one(3.0), from_one(0.5), from_one(5.0)]).tolist() == [2, 0]
    assert clear(plan, [from_one(3.0), from_one(0.5), from_one(0.9)]) is None  # one passes
    assert clear(plan, [from_one(3.0), from_one(0.5), from_one(1.0 + 2.0**-34)]) is None
    assert clear(plan, [from_one(3.0), from_one(0.5), from_one(3.0) + (1 << 20)]) is None
    assert clear(plan, [from_one(3.0), from_one(5.0), from_one(3.0 - 2.0**-34)]) is None  # the next is too close
    assert clear(plan, [from_one(3.0)]) is None
    assert clear(plan, [from_one(3.0), from_one(0.5), from_one(4.0)], level=9).tolist() == [2, 0]
    assert clear(plan_of([0, 0, 0]), [from_one(0.1), from_one(0.2), from_one(0.3)], level=2).tolist() == [2]


@built
@pytest.mark.parametrize("word", [0, 5, (1 << 40) - 1, (1 << 64) - (1 << 40), (1 << 64) - 1])
def test_extreme_words_are_left_to_the_intervals(word):
    plan = plan_of([0, 0, 0])
    assert clear(plan, [from_one(9.0), from_one(2.0), word]) is None
    hits = Hits(np.arange(2), np.array([from_one(9.0), word], np.uint64), np.array([7, 0]))
    assert race_of_hits(plan, hits, Seeded(1)).indices.tolist() in ([0], [1])


def test_what_a_compiled_pass_says_is_taken_as_it_is(monkeypatch):
    """Also where none can be built: stand-ins answer. Noise that it does not know is left to the intervals."""
    plan, hits = plan_of([0, 0, 0]), Hits(np.arange(3), Seeded(1).words(3), np.array([0, 4, 0]))
    monkeypatch.setattr(score_intervals, "clear_hits", lambda *question: [1])
    finish = race_of_hits(plan, hits, Seeded(2))
    assert finish.indices.tolist() == [1]
    assert finish.values() == finish.values()
    assert finish.finishes()[0][1][1].bits >= 68
    other = plan_of([0, 0, 0], noise=dataclasses.replace(EXPONENTIAL, rough=None))
    assert clear(other, [1 << 50, 1 << 62]) is None
    strange = dataclasses.replace(EXPONENTIAL, rough=lambda words: np.zeros(len(words)))
    assert clear(plan_of([0, 0, 0], noise=strange), [1 << 50, 1 << 62]) is None
