"""Properties of the whole public API: shift, permutation, scale and epsilon, negation, k = d, and ulps."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import shortlist as sl
from shortlist import ApproxDP, PureDP, Scores
from shortlist.mechanisms import (
    CanonicalTopK,
    ExponentialWithGap,
    GuardedTopK,
    JointTopK,
    NoisyMax,
    OneshotTopK,
    TopKWithGaps,
)
from shortlist.mechanisms.registry import METHODS
from tests.helpers.inside import KINDS
from tests.helpers.support import LETTERS
from tests.helpers.typed import of_kind, present

KNOWN = [name for name, method in METHODS.items() if method.domain == "known"]

FEW = settings(max_examples=25)
whole = st.lists(st.integers(-50, 50), min_size=3, max_size=7)
epsilons = st.sampled_from([0.1, 0.5, 1.0, 3.0])
noises = st.sampled_from(list(KINDS))
seeds = st.integers(0, 2**32)
flags = st.booleans()


def index_only(k):
    """Mechanisms that see differences of scores alone."""
    return [
        NoisyMax(epsilon=1.0),
        OneshotTopK(k=k, epsilon=1.0, noise="gumbel"),
        CanonicalTopK(k=k, epsilon=1.0),
        JointTopK(k=k, epsilon=1.0),
        TopKWithGaps(k=k, epsilon=1.0),
        ExponentialWithGap(epsilon=1.0),
    ]


def drawn(mechanism, x, seed, **question):
    release = mechanism.release(np.asarray(x), rng=sl.testing.seeded(seed), **question)
    return release.indices, release.gaps


@FEW
@given(whole, st.integers(-(2**50), 2**50), seeds)
def test_a_common_shift_changes_no_draw(x, shift, seed):
    for mechanism in index_only(2):
        assert drawn(mechanism, x, seed) == drawn(mechanism, np.array(x) + shift, seed)


@FEW
@given(whole, epsilons, noises, flags)
def test_a_common_shift_changes_no_law(x, epsilon, noise, monotone):
    mechanism = NoisyMax(epsilon=epsilon, noise=noise)
    here = mechanism.probabilities(x, monotone=monotone)
    there = mechanism.probabilities([value + 2**40 for value in x], monotone=monotone)
    assert here.tolist() == there.tolist()
    assert here.sum() == pytest.approx(1, abs=1e-12)


@FEW
@given(whole, epsilons, noises, st.randoms(use_true_random=False))
def test_laws_follow_a_permutation(x, epsilon, noise, random):
    order = list(range(len(x)))
    random.shuffle(order)
    mechanism = NoisyMax(epsilon=epsilon, noise=noise)
    moved = mechanism.probabilities([x[i] for i in order])
    assert moved == pytest.approx(mechanism.probabilities(x)[order], abs=1e-12)
    sets = CanonicalTopK(k=2, epsilon=epsilon)
    here, there = sets.probabilities(x), sets.probabilities([x[i] for i in order])
    for chosen, chance in there.items():
        assert chance == pytest.approx(here[tuple(sorted(order[i] for i in chosen))], abs=1e-12)


@FEW
@given(whole, st.sampled_from([2.0, 8.0, 0.25]), seeds)
def test_scale_and_epsilon_are_dual(x, factor, seed):
    """c x with sensitivity c, and c x with epsilon / c, are x: the same draws, bit for bit."""
    scores = np.array(x, float)
    for k in (1, 2):
        plain = OneshotTopK(k=k, epsilon=1.0)
        smaller = OneshotTopK(k=k, epsilon=1.0 / factor)
        here = drawn(plain, scores, seed)
        assert here == drawn(plain, scores * factor, seed, sensitivity=factor)
        assert here == drawn(smaller, scores * factor, seed)


@FEW
@given(whole, epsilons, st.sampled_from([0, 0.25, 0.5, 1]), st.integers(1, 2))
def test_the_best_of_the_negated_are_the_losers(x, epsilon, gamma, k):
    """P(y) for the top k is P(complement of y) for the top d - k of -x, with gamma and 1 - gamma exchanged."""
    d = len(x)
    here = CanonicalTopK(k=k, epsilon=epsilon, gamma=gamma).probabilities(x)
    there = CanonicalTopK(k=d - k, epsilon=epsilon, gamma=1 - gamma).probabilities([-value for value in x])
    for chosen, chance in here.items():
        rest = tuple(i for i in range(d) if i not in chosen)
        assert chance == pytest.approx(there[rest], abs=1e-11)


@FEW
@given(whole, epsilons)
def test_all_of_d_are_a_choice_of_nothing(x, epsilon):
    d = len(x)
    release = CanonicalTopK(k=d, epsilon=epsilon).release(x)
    assert release.indices == list(range(d))
    assert release.guarantee == ApproxDP(0.0, 0.0)
    assert sorted(present(OneshotTopK(k=d, epsilon=epsilon).release(x).indices)) == list(range(d))
    assert GuardedTopK(k=d, epsilon=epsilon).release(x).indices == list(range(d))


@FEW
@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=6), epsilons, noises)
def test_an_ulp_moves_a_law_by_an_ulp(x, epsilon, noise):
    """No cliff: one unit in the last place of every score moves no probability by more than epsilon times it."""
    mechanism = NoisyMax(epsilon=epsilon, noise=noise)
    moved = [math.nextafter(value, math.inf) for value in x]
    step = max(abs(b - a) for a, b in zip(x, moved, strict=True))
    here, there = mechanism.probabilities(x), mechanism.probabilities(moved)
    assert np.abs(here - there).max() <= epsilon * step + 1e-11


@FEW
@given(st.integers(-4, 4), st.integers(-4, 4), st.integers(-4, 4), seeds)
def test_large_floats_lose_nothing(a, b, c, seed):
    """2^52 + small whole numbers: differences survive, where x / scale in floats would have rounded them away."""
    small = [float(a), float(b), float(c)]
    large = [2.0**52 + value for value in small]
    for mechanism in index_only(2):
        assert drawn(mechanism, small, seed) == drawn(mechanism, large, seed)


@FEW
@given(whole, st.sampled_from(sorted(KNOWN)), st.integers(1, 3), flags, seeds)
def test_every_method_releases_k_distinct_candidates_and_its_own_guarantee(x, method, k, ordered, seed):
    assume(k < len(x))
    try:
        release = sl.top_k(x, k, epsilon=1.0, method=method, ordered=ordered, rng=sl.testing.seeded(seed))
    except (TypeError, ValueError):
        return  # this method keeps other budgets, or one winner, or needs other scores
    found = present(release.indices)
    assert len(set(found)) == len(found) <= k
    assert set(found) <= set(range(len(x)))
    assert release.guarantee == PureDP(1.0) or of_kind(ApproxDP, release.guarantee).epsilon == 0
    assert not release.secure
    if not release.ordered:
        assert found == sorted(found)


@FEW
@given(whole, epsilons, epsilons)
def test_more_epsilon_never_hurts_the_best(x, one, two):
    low, high = sorted((one, two))
    best = int(np.argmax(x))
    for noise in ("exponential", "gumbel"):
        here, there = (NoisyMax(epsilon=epsilon, noise=noise).probabilities(x)[best] for epsilon in (low, high))
        assert here <= there + 1e-12


@FEW
@given(st.dictionaries(st.text(LETTERS, max_size=5), st.integers(0, 1000), min_size=2, max_size=6), seeds)
def test_labels_come_back_as_given_and_sets_are_sorted_by_them(counts, seed):
    scores = Scores(counts, monotone=True, public=True)
    release = sl.top_k(scores, 1, epsilon=1.0, rng=sl.testing.seeded(seed))
    assert present(release.items)[0] in counts
    several = sl.top_k(scores, len(counts) - 1, epsilon=1.0, rng=sl.testing.seeded(seed))
    names: Any = several.items
    assert names == sorted(names)
