"""The sets that one hub can be made into: their number, that they are within reach, and what follows (Theorem 166)."""

import itertools
import math

import numpy as np
import pytest

from shortlist.mechanisms import CanonicalTopK
from shortlist.utility.lower_bound import (
    hubs,
    least_epsilon,
    least_failure,
    most_success,
)


def paths(x, k, distance):
    """All sequences 0 <= j_1 <= .. <= j_k with x_[l] - x_[k+j] <= T for every outsider j before member l."""
    outside = len(x) - k
    for path in itertools.combinations_with_replacement(range(outside + 1), k):
        if all(j == 0 or x[row] - x[k + j - 1] <= distance for row, j in enumerate(path)):
            yield path


def placed(x, k, path):
    """(members, counts): the positions of the members of a path, and the relabelling of x that makes them the top k."""
    members = [row + j for row, j in enumerate(path)]
    others = [place for place in range(len(x)) if place not in members]
    y = np.empty(len(x), dtype=np.int64)
    y[members], y[others] = x[:k], x[k:]
    return frozenset(members), y


def hub(x, k, distance):
    """Of additions alone, as in the proof: at r the score of the first member that may stand there, less T."""
    lowered = []
    for r in range(1, len(x) + 1):
        behind = [(row, r - row) for row in range(1, min(r, k) + 1) if r - row <= len(x) - k]
        rows = [row for row, j in behind if j == 0 or x[row - 1] - x[k + j - 1] <= distance]
        lowered.append(max(0, x[rows[0] - 1] - distance) if rows else x[r - 1])
    return np.array(lowered)


def small(turn):
    rng = np.random.default_rng(turn)
    d = int(rng.integers(2, 8))
    k = int(rng.integers(1, d))
    while True:
        x = np.sort(rng.integers(0, (4, 9, 30)[turn % 3], d))[::-1]
        if (x[k - 1] == x[k]) == (turn % 3 == 0):
            return x, k


@pytest.mark.parametrize("turn", [turn for turn in range(40) if turn % 3])
def test_the_number_of_sets_is_that_of_an_enumeration_and_all_are_within_reach_of_the_hub(turn):
    x, k = small(turn)
    for distance in range(int(x[k - 1] - x[k]), int(x[0] - x[-1]) + 2):
        found = [placed(x, k, path) for path in paths(x, k, distance)]
        assert len({members for members, _ in found}) == len(found), "different paths are different sets"
        z = hub(x, k, distance)
        for members, y in found:
            assert sorted(y, reverse=True) == list(x)
            assert set(np.argsort(-y, kind="stable")[:k]) == set(members)
            assert np.all(y - z >= 0)
            assert np.all(y - z <= distance)
    log_sets, steps = hubs(x, k)
    for ln, step in zip(log_sets, steps, strict=True):
        assert round(math.exp(ln)) == sum(1 for _ in paths(x, k, step))


def test_a_tie_across_rank_k_keeps_its_labels_where_they_are():
    log_sets, steps = hubs(np.array([4, 1, 1, 0]), 2)
    assert steps.tolist() == [4.0]
    assert log_sets == pytest.approx([math.log(2)])
    assert float(least_failure(2.0, log_sets, steps)[0]) == pytest.approx(0.000168, abs=5e-7)
    assert 1 - most_success(np.array([4, 1, 1, 0]), 2, [2.0])[0] == pytest.approx(0.0451, abs=5e-5), (
        "the window decides"
    )
    for alike in ([3, 3, 3], [5, 3, 3], [3, 3, 3, 1]):
        assert len(hubs(np.array(alike), 2)[0]) == 0


@pytest.mark.parametrize("turn", range(0, 60, 3))
def test_with_ties_the_right_sets_of_different_members_differ(turn):
    """Sets with the right scores, for every choice of who is above the tie: none is right for two of them."""
    x, k = small(turn)
    above, tied, below = x[x > x[k - 1]], x[x == x[k - 1]], x[x < x[k - 1]]
    labels = [*range(len(above)), *range(len(above) + len(tied), len(x))]
    seen: set[frozenset[int]] = set()
    for members in itertools.combinations(labels, len(above)):
        right = [
            frozenset(members) | frozenset(rest)
            for rest in itertools.combinations(range(len(above), len(above) + len(tied)), k - len(above))
        ]
        assert not seen & set(right)
        seen |= set(right)
    log_sets, _ = hubs(x, k)
    assert np.all(np.exp(log_sets) <= math.comb(len(above) + len(below), len(above)) * (1 + 1e-9))


@pytest.mark.parametrize(("k", "spacing", "success"), [(30, 1, 0.99), (30, 7, 0.5), (200, 3, 0.9)])
def test_on_a_slope_the_sets_are_counted_by_catalan_numbers(k, spacing, success):
    x = spacing * np.arange(3 * k, 0, -1)
    log_sets, steps = hubs(x, k)
    for ln, step in zip(log_sets, steps, strict=True):
        if step <= k * spacing:
            i = round(step / spacing)
            catalan = math.comb(2 * i + 2, i + 1) // (i + 2)
            assert ln == pytest.approx(math.log(catalan), rel=1e-12)
    found = least_epsilon(x, k, success)
    i = k
    corollary = (math.log(math.comb(2 * i + 2, i + 1) // (i + 2)) + math.log(success)) / (i * spacing)
    assert corollary * (1 - 1e-6) <= found
    assert k < 200 or found > 1.8 * math.log(2) / spacing, "the limit is 2 ln 2 for each step of the slope"


@pytest.mark.parametrize("k", [5, 40, 300])
def test_canonical_is_right_on_slopes_just_above_the_threshold(k):
    x, epsilon = np.arange(3 * k, 0, -1), 2 * math.log(2) * 1.2
    q = 2 * math.exp(-epsilon / 2)
    found = CanonicalTopK(k=k, epsilon=epsilon, noise="gumbel").success_probability(x, monotone=True)
    assert found >= 1 / (1 + q**2 / (4 * (1 - q))) - 1e-9
    assert most_success(x, k, [2 * math.log(2) * 0.8])[0] < 0.5 or k < 40


def test_counts_at_the_ends_of_64_bits_have_their_distance():
    log_sets, steps = hubs(np.array([2**63 - 1, -(2**63)]), 1)
    assert steps.tolist() == [math.nextafter(2.0**64, math.inf)]
    assert log_sets == pytest.approx([math.log(2)])
