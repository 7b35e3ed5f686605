"""The exact law of the k largest noisy sums that reach a bar: against enumeration, step by step, and against draws."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ZCDP
from shortlist.exact.thresholds import UNIT, Cap, pair_bar
from shortlist.mechanisms import KeySet
from shortlist.sampling.unknown_domain import GaussianKeys
from shortlist.testing import seeded
from shortlist.utility import key_ranking
from tests.helpers.support import assert_law, full_size, sized

STAIRS = {-2: Fraction(1, 16), -1: Fraction(3, 16), 0: Fraction(5, 16), 1: Fraction(5, 16), 2: Fraction(2, 16)}
"""A law of whole noise that nothing was written for."""


rank_keys: Any = key_ranking.rank_keys
"""Of any noise: those of the tests too."""

MUST = 2
"""A right label that must be there; 1 is one that may, 0 a wrong one."""


@dataclass(frozen=True)
class Stairs:
    step: int = 3
    smooth: float = 0.0
    far: float = 3.0

    def places(self, scores):
        return np.asarray(scores, np.float64)

    def reaches(self, scores, steps):
        far = np.subtract.outer(-self.places(scores), -steps)
        return sum(float(mass) * (far <= x) for x, mass in STAIRS.items())


def enumerated(scores, right, k, bar):
    """(names, right, top) by all outcomes of the noise, equal sums in every order alike."""
    names = found = top = Fraction(0)
    for outcome in product(STAIRS.items(), repeat=len(scores)):
        chance = Fraction(1)
        for _, mass in outcome:
            chance *= mass
        sums = [score + x for score, (x, _) in zip(scores, outcome, strict=True)]
        heard = sorted((s for s in sums if s >= bar), reverse=True)
        names += chance * min(k, len(heard))
        if not heard:
            continue
        last = heard[min(k, len(heard)) - 1]
        above = [i for i, s in enumerate(sums) if s > last]
        tied = [i for i, s in enumerate(sums) if s == last]
        places = min(k, len(heard)) - len(above)
        ours = sum(right[i] > 0 for i in tied)
        found += chance * (sum(right[i] > 0 for i in above) + Fraction(places * ours, len(tied)))
        missing = any(right[i] == MUST for i in range(len(sums)) if sums[i] < last)
        if len(heard) >= k and all(right[i] for i in above) and not missing:
            needed = sum(right[i] == MUST for i in tied)
            if needed <= places:
                top += chance * Fraction(comb(ours - needed, places - needed), comb(len(tied), places))
    return float(names), float(found), float(top)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize(
    ("scores", "right"),
    [
        ((5, 4, 4, 2, 1), (2, 1, 1, 0, 0)),
        ((3, 3, 3, 3, 3), (1, 1, 1, 0, 0)),
        ((6, 5, 3, 2, 1), (0, 1, 0, 2, 1)),  # right by another order
        ((9, 8, 7, 1, 1), (2, 2, 1, 0, 0)),
    ],
)
def test_it_is_the_law_of_all_outcomes(scores, right, k):
    marks = np.array(right)
    found = rank_keys(np.array(scores), marks > 0, marks == MUST, k, Stairs())
    assert (found.names, found.right, found.top) == pytest.approx(enumerated(scores, right, k, 3), abs=1e-12)


@dataclass(frozen=True)
class EveryStep:
    """The same noise, of which nothing is said to be smooth: each step is looked at."""

    noise: Any
    smooth: float = 0.0

    @property
    def step(self):
        return self.noise.step

    @property
    def far(self):
        return self.noise.far

    def places(self, scores):
        return self.noise.places(scores)

    def reaches(self, scores, steps):
        return self.noise.reaches(scores, steps)


@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 1), (1.0, 7), (3.0, 40), (8.0, 7)])
def test_few_points_say_what_every_step_says(epsilon, k):
    cap = Cap(64, weighted=True)
    noise = GaussianKeys(pair_bar(epsilon, 1e-6, cap), cap.unit)
    rng = np.random.default_rng(k)
    scores = np.concatenate([rng.integers(20 * UNIT, 60 * UNIT, 60), rng.integers(UNIT, 12 * UNIT, 400)])
    scores = np.append(scores, [40 * UNIT] * 5)
    right, must = np.zeros((2, len(scores)), bool)
    right[np.argsort(-scores)[: k + 2]] = must[np.argsort(-scores)[: k - 1]] = True
    found, slow = (rank_keys(scores, right, must, k, one) for one in (noise, EveryStep(noise)))
    assert (found.names, found.right, found.top) == pytest.approx((slow.names, slow.right, slow.top), abs=1e-10)
    assert 0 < found.right < k


def test_nobody_and_everybody():
    noise, nothing = Stairs(), np.zeros(0, bool)
    none = rank_keys(np.array([], np.int64), nothing, nothing, 2, noise)
    assert (none.names, none.right, none.top) == (0.0, 0.0, 0.0)
    far_below = rank_keys(np.array([1, 1]), np.array([True, True]), np.array([False, False]), 1, Stairs(step=30))
    assert (far_below.names, far_below.right, far_below.top) == (0.0, 0.0, 0.0)
    best = np.array([True, True, True, False])
    high = rank_keys(np.array([100, 90, 80, 7]), best, best, 3, noise)
    assert (high.names, high.right, high.top) == pytest.approx((3, 3, 1), abs=1e-12)


def test_many_equal_labels_are_alike():
    """Ten thousand labels of one sum: any of them may be taken, so the right ones by their number."""
    mechanism = KeySet(most=3, epsilon=30.0, delta=1e-6, k=20)
    noise = mechanism._noises()[0]
    right = np.arange(10_000) < 500
    found = rank_keys(np.full(10_000, 200), right, right & False, 20, noise)
    assert found.right == pytest.approx(20 * 500 / 10_000, abs=1e-8)
    assert found.names == pytest.approx(20, abs=1e-9)


SOME = [
    KeySet(most=1, epsilon=1.0, delta=0.01, k=4),  # the fourth and the fifth are tied
    KeySet(most=3, epsilon=2.0, delta=0.05, k=3, values=False),
    KeySet(most=2, budget=ZCDP(0.2, 0.05), k=2),
]


@full_size
@pytest.mark.parametrize("mechanism", SOME, ids=repr)
def test_draws_have_the_expected_success_and_recall(mechanism):
    counts, draws = np.array([19, 17, 15, 14, 14, 9, 6, 2, 1]), sized(12_000, full=300_000)
    rows = mechanism.release_many(counts, monotone=True, draws=draws, rng=seeded(5))
    rows = getattr(rows, "indices", rows)
    right = np.isin(rows, np.flatnonzero(counts >= np.sort(counts)[-mechanism.k]))
    above = np.flatnonzero(counts > np.sort(counts)[-mechanism.k])
    whole = (right.sum(axis=1) == mechanism.k) & (np.isin(rows, above).sum(axis=1) == len(above))
    chance, seen = mechanism.success_probability(counts, monotone=True), int(whole.sum())
    assert_law([seen, draws - seen], [chance, 1 - chance], wrong=[chance + 0.05, 0.95 - chance])
    spread = right.sum(axis=1).std() / mechanism.k / draws**0.5
    recall = mechanism.expected_recall(counts, monotone=True)
    assert abs(right.mean(axis=None) * rows.shape[1] / mechanism.k - recall) < 6 * spread < 0.03
    names = mechanism.expected_names(counts, monotone=True)
    assert abs((rows >= 0).sum() / draws - names) < 6 * (rows >= 0).sum(axis=1).std() / draws**0.5 + 1e-9


def test_a_true_top_k_needs_a_k():
    with pytest.raises(ValueError, match="needs a k"):
        KeySet(most=1, epsilon=1.0, delta=0.01).success_probability([3, 2], monotone=True)


def test_chances_of_counted_rows_are_those_of_their_weights():
    """They were once those of the counts of people, read as weights: next to nothing."""
    import pandas as pd

    rows = pd.DataFrame({"who": list(range(400)) * 2, "what": ["tea"] * 400 + ["milk"] * 300 + ["rare"] * 100})
    scores = sl.count(rows, user="who", item="what").as_public()
    mechanism = KeySet(epsilon=1.0, delta=1e-6, values=False)
    found = dict(zip(scores.labels, mechanism.inclusion_probabilities(scores), strict=True))
    assert found["tea"] == pytest.approx(1)
    assert found["milk"] == pytest.approx(1)
    assert found["rare"] == pytest.approx(1)  # 100 / sqrt(2) votes
    assert mechanism.expected_names(scores) == pytest.approx(3)
    assert KeySet(epsilon=1.0, delta=1e-6, values=False, k=2).success_probability(scores) == pytest.approx(1)
