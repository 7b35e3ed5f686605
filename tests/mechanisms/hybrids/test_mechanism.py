"""HybridTopK and HybridSparseVector: laws, costs of outcomes, refusals."""

import math
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import PureDP, Scores
from shortlist.mechanisms import HybridSparseVector, HybridTopK
from shortlist.privacy import ZCDP, ExPost
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import present

HYBRIDS = [HybridTopK, HybridSparseVector]


def drawn(mechanism, scores, runs, seed):
    source = sl.testing.seeded(seed)
    return [mechanism.release(scores, rng=source) for _ in range(runs)]


@full_size
def test_the_oracle_of_one_item_and_a_threshold():
    """n = k = 1, q = 3, T = 2, epsilon 1, general: P(item first) = .69673467 (Table 156)."""
    runs, off = sized(1000, full=20_000), sized(0.79, full=0.76)
    releases = drawn(HybridTopK(threshold=2, k=1, epsilon=1.0), Scores([3]), runs, seed=1)
    first = sum(len(release.items) for release in releases)
    p = 1 - math.exp(-0.5) / 2
    assert_law([first, runs - first], [p, 1 - p], wrong=[off, 1 - off])
    assert {release.cost for release in releases} == {0.5, 1.0}


def plain_top_k(values, threshold, k, scale, rng, runs):
    """(winners, stopped, bin of the last gap) by float noise, as the algorithm reads."""
    cells = []
    for _ in range(runs):
        noisy = np.append(values, threshold) + rng.exponential(scale, len(values) + 1)
        order = np.argsort(-noisy)
        place = int(np.flatnonzero(order == len(values))[0])
        n = min(place, k)
        gap = noisy[order[n - 1]] - noisy[order[n]] if n else -1.0
        cells.append((*order[:n].tolist(), place < k, int(gap // 3)))
    return cells


def plain_sparse_vector(values, threshold, k, below, scale, rng, runs):
    cells = []
    for _ in range(runs):
        line = threshold + rng.exponential(below) - below
        noisy = values + rng.exponential(scale, len(values)) - scale
        order = np.argsort(-noisy)[:k]
        kept = order[noisy[order] >= line]
        gap = noisy[kept[-1]] - line if len(kept) else -1.0
        cells.append((*kept.tolist(), len(kept) < k, int(gap // 3)))
    return cells


@full_size
@pytest.mark.parametrize("hybrid", HYBRIDS)
def test_hybrids_have_the_law_of_the_algorithm_as_it_reads(hybrid):
    values, k = np.array([9, 7, 2, 0]), 2
    scores, m = Scores(values, monotone=True), hybrid(threshold=5, k=k, epsilon=1.0)
    rng = np.random.default_rng(2)
    if hybrid is HybridTopK:
        law, wrong = (plain_top_k(values, t, k, 2.0, rng, sized(12_000, full=60_000)) for t in (5, sized(9, full=5.8)))
    else:
        first, each = map(float, m.shares(scores))
        law, wrong = (
            plain_sparse_vector(values, t, k, 1 / first, 1 / each, rng, sized(12_000, full=60_000))
            for t in (5, sized(9, full=5.8))
        )
    releases = drawn(m, scores, sized(600, full=10_000), seed=3)
    ours = [(*r.indices, r.stopped, int(r.gaps[-1] // 3) if r.gaps else -1) for r in releases]
    cells = sorted(set(law), key=str)
    assert sum(cell not in set(cells) for cell in ours) < 10

    def shares(sample):
        counts = np.array([sample.count(cell) for cell in cells]) + 0.5
        return counts / counts.sum()

    assert_law([ours.count(cell) for cell in cells], shares(law), wrong=shares(wrong))


@pytest.mark.parametrize(("monotone", "costs"), [(True, (1 / 3, 2 / 3, 1.0, 1.0)), (False, (1 / 6, 1 / 2, 5 / 6, 1.0))])
def test_hybrid_top_k_costs_by_the_length_of_its_list(monotone, costs):
    """k = 3: 1/6, 1/2, 5/6 for general scores where the threshold ended the list (Theorem 99)."""
    m = HybridTopK(threshold=0, k=3, epsilon=1.0)
    for n, cost in enumerate(costs):
        release = m.release([10**6] * n + [-(10**6)] * (5 - n), monotone=monotone)
        assert len(present(release.items)) == len(present(release.gaps)) == n
        assert release.cost == pytest.approx(cost)
        assert release.stopped == (n < 3)
        assert release.kept == ExPost(1.0, release.cost)
        assert release.guarantee == release.charge == PureDP(1.0)
        assert ("threshold ended" in release.notes[0]) == (n < 3)


def test_hybrid_sparse_vector_costs_by_the_number_of_its_items():
    m = HybridSparseVector(threshold=0, k=2, epsilon=1.0, theta=0.3)
    for n, cost in enumerate((0.30, 0.65, 1.00)):
        release = m.release([10**6] * n + [-(10**6)] * (4 - n))
        assert len(present(release.items)) == len(present(release.gaps)) == n
        assert release.cost == pytest.approx(cost)
        assert release.gaps == pytest.approx([10**6] * n, abs=500)
    release = m.release([10**6, 0])
    assert release.lower_bound(0.95)[0].value < 10**6 + 100
    assert len(release.refine([10**6] * len(present(release.items)), variance=4.0)) == len(present(release.items))


@pytest.mark.parametrize("hybrid", HYBRIDS)
def test_fewer_candidates_than_k_are_fine(hybrid):
    m = hybrid(threshold=0, k=5, epsilon=1.0)
    release = m.release([10**6, -(10**6)])
    assert release.indices == [0]
    assert release.stopped
    assert release.cost < 1
    assert m.release([10**6, -np.inf, 10**5]).indices == [0, 2]
    everyone = hybrid(threshold=-(10**9), k=2, epsilon=1.0).release([10**6, 10**3])
    assert everyone.indices == [0, 1]
    assert not everyone.stopped
    assert everyone.gaps[1] > 10**8


@pytest.mark.parametrize("hybrid", HYBRIDS)
def test_bad_arguments_are_refused(hybrid):
    good: dict[str, Any] = {"threshold": 1, "k": 2, "epsilon": 1.0}
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"threshold": math.inf}, ValueError, "threshold"),
        ({"k": 0}, ValueError, "k must be"),
        ({"epsilon": -1.0}, ValueError, "epsilon"),
        ({"epsilon": None, "budget": ZCDP(0.5)}, TypeError, "pure budgets only"),
        ({"work": "no"}, ValueError, "work"),
    ]
    for wrong, error, words in cases:
        with pytest.raises(error, match=words):
            hybrid(**{**good, **wrong})
    with pytest.raises(ValueError, match="theta"):
        HybridSparseVector(**good, theta=1.0)
    with pytest.raises(ValueError, match="public"):
        hybrid(**good).release({"a": 1})


def test_no_absolute_estimate_comes_from_a_full_list():
    with pytest.raises(AttributeError, match="known threshold"):
        HybridTopK(threshold=0, k=1, epsilon=1.0).release([10**6, 0]).lower_bound(0.9)
