"""Counted by number, scores give the ranks, the candidates and the releases that sorting gives."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist._arrays import Runs
from shortlist.exact import subsets as tallied_scores
from shortlist.mechanisms import CanonicalTopK, GuardedTopK
from tests.helpers.typed import present

D = 3000
SHAPES: dict[str, Any] = {
    "counts": np.random.default_rng(1).permutation(np.floor(1e4 / np.arange(1, D + 1) ** 0.8).astype(np.int64)),
    "ties": np.random.default_rng(2).integers(0, 50, D).astype(np.uint16),
    "narrow": np.random.default_rng(3).integers(-128, 128, D).astype(np.int8),
    "equal": np.full(D, 3, np.int32),
    "low": -(2**63) + np.arange(D) % 7,
    "every third": np.random.default_rng(4).integers(0, 99, 3 * D)[::3],
}


@pytest.fixture(autouse=True)
def few_will_do(monkeypatch):
    monkeypatch.setattr(tallied_scores, "MANY", 1000)
    monkeypatch.setattr(tallied_scores, "CHUNK", 700)


@pytest.mark.parametrize("shape", SHAPES)
def test_ranks_and_candidates_are_those_of_sorting(shape):
    values = SHAPES[shape]
    counted, order = present(tallied_scores.count_scores(values)), tallied_scores.descending(values)
    assert np.array_equal(counted.runs.expand(), values[order])
    for ranks in (np.arange(D), np.array([7]), np.array([D - 1, 0, D // 2, 1]), np.array([], np.int64)):
        assert np.array_equal(counted.positions(ranks), order[ranks])


def test_many_different_winners_are_looked_up_in_an_order(monkeypatch):
    """One look at all scores for each of thousands of numbers took minutes at a million candidates."""
    counted, ranks = (
        present(tallied_scores.count_scores(np.arange(2 * D)[::-1] // 2)),
        np.arange(0, 2 * tallied_scores.FEW, 2),
    )
    asked: list[int] = []
    descending = tallied_scores.descending

    def counted_orders(values):
        asked.append(len(values))
        return descending(values)

    monkeypatch.setattr(tallied_scores, "descending", counted_orders)
    assert counted.positions(ranks).tolist() == ranks.tolist()
    assert not asked
    assert counted.positions(np.arange(2 * D)).tolist() == list(range(2 * D))
    assert asked


def test_what_came_as_runs_has_its_ranks_for_places():
    runs = Runs.of(np.array([5, 2]), np.array([1, 3]))
    assert tallied_scores.CountedScores(None, runs).positions(np.array([2, 0])).tolist() == [2, 0]


def test_few_scores_floats_and_numbers_far_apart_are_sorted():
    values = SHAPES["counts"]
    for other in (values[:999], values.astype(float), values * 10**6, values.astype(np.uint64) + np.uint64(2**63)):
        assert tallied_scores.count_scores(other) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_a_release_is_the_same_whether_scores_are_counted_or_sorted(shape, monkeypatch):
    """Set for set and word for word, by way of the classes and where one-shot follows."""
    mechanisms: list[Any] = [GuardedTopK(k=5, epsilon=epsilon) for epsilon in (0.001, 0.3)]
    mechanisms += [
        GuardedTopK(k=6, budget=sl.ZCDP(0.1)),
        GuardedTopK(k=2, epsilon=0.3),
        GuardedTopK(k=D - 9, epsilon=1.0),
    ]
    mechanisms += [CanonicalTopK(k=5, epsilon=0.3, noise=noise) for noise in ("gumbel", "exponential", "laplace")]
    found = []
    for many in (1000, D + 1):
        monkeypatch.setattr(tallied_scores, "MANY", many)
        for mechanism in mechanisms:
            source = sl.testing.seeded(7)
            release = mechanism.release(SHAPES[shape], monotone=True, rng=source)
            found.append((release.indices, source.words(1).tolist()))
    assert found[: len(mechanisms)] == found[len(mechanisms) :]


def test_a_set_of_many_counts_takes_little_memory(monkeypatch):
    """Nothing as long as the scores is made: no order of them, no copy."""
    monkeypatch.undo()
    values = np.random.default_rng(5).integers(0, 1000, 4 << 20).astype(np.int32)
    peak = peak_of(lambda: sl.top_k(values, 5, epsilon=0.1, monotone=True))
    assert peak < 3 * 8 * tallied_scores.CHUNK + values.nbytes // 8


def peak_of(call):
    call()
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
