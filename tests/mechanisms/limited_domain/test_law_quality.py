"""Quality and inclusion of limited-domain lists, against the certified law and against draws."""

import numpy as np
import pytest

import shortlist as sl
from shortlist.audit import certify
from shortlist.mechanisms import CanonicalLimitedDomain, LimitedDomainTopK
from shortlist.utility import distribution
from tests.helpers.laws import good_ranks, great_ranks, holds
from tests.helpers.support import assert_law

CASES = [  # counts, k, epsilon, delta, limit
    ([7, 5, 4, 3, 3, 1], 2, 2.0, 0.01, 3),
    ([7, 5, 4, 3, 3, 1], 3, 4.0, 0.05, 5),
    ([3, 9, 4, 9, 4, 1], 2, 3.0, 0.2, 6),
    ([5, 5, 5, 5, 1], 1, 3.0, 0.3, 4),
    ([8, 2], 3, 5.0, 0.2, 4),
    ([2, 2, 2], 2, 1.0, 0.1, 2),
    ([60, 50, 40, 1], 2, 5.0, 0.01, 3),
]


def _compare(mechanism, counts, k, lists):
    """Great, good and who is named, from the chances of all outcomes; a chance that is off by 1e-6 would be seen."""

    def chance(head, reach):
        return sum(p for named, p in lists.items() if holds(counts, set(named), head, reach))

    sets = dict.fromkeys((tuple(sorted(named)) for named in lists), 0.0)
    for named, p in lists.items():
        sets[tuple(sorted(named))] += p
    assert mechanism.probabilities(counts, monotone=True) == pytest.approx(sets, abs=1e-9)
    quality = mechanism.quality(counts, monotone=True)
    great, good = great_ranks(k), good_ranks(k)
    assert quality.great == pytest.approx(chance(*great), abs=1e-9)
    assert quality.good == pytest.approx(chance(*good), abs=1e-9)
    assert quality.great != pytest.approx(chance(*great) + 1e-6, abs=1e-9)
    return quality


@pytest.mark.parametrize(("counts", "k", "epsilon", "delta", "limit"), CASES)
def test_every_number_is_that_of_the_certified_law(counts, k, epsilon, delta, limit):
    mechanism = LimitedDomainTopK(k=k, epsilon=epsilon, delta=delta, limit=limit, split=0.0)
    lists = {named: float(p) for (named, _), p in certify(mechanism, sl.Scores(counts, monotone=True)).chances.items()}
    quality = _compare(mechanism, counts, k, lists)
    assert quality.top == mechanism.success_probability(counts, monotone=True)
    assert quality.recall == mechanism.expected_recall(counts, monotone=True)
    inclusion = mechanism.inclusion_probabilities(counts, monotone=True)
    for i, one in enumerate(inclusion):
        assert one == pytest.approx(sum(p for named, p in lists.items() if i in named), abs=1e-9)


def test_extreme_counts_are_certain():
    sure, counts = LimitedDomainTopK(k=2, epsilon=10.0, delta=1e-6, limit=10, split=0.0), [10**9, 10**9 - 10, 5]
    np.testing.assert_allclose(sure.inclusion_probabilities(counts, monotone=True), [1, 1, 0], atol=1e-9)
    assert sure.quality(counts, monotone=True).great == pytest.approx(1, abs=1e-9)
    none = LimitedDomainTopK(k=2, epsilon=2e-6, delta=1e-12, limit=10, split=0.0)
    assert none.inclusion_probabilities([3, 2, 1], monotone=True).max() < 1e-9
    assert none.quality([3, 2, 1], monotone=True).great < 1e-9
    assert sure.inclusion_probabilities([0], monotone=True).tolist() == [0]


def test_large_lists_agree_with_what_is_known_by_other_sums():
    counts = 5000 - 20 * np.arange(200)
    mechanism = LimitedDomainTopK(k=20, epsilon=0.2, delta=1e-3, limit=100, split=0.0)
    inclusion, quality = (
        mechanism.inclusion_probabilities(counts, monotone=True),
        mechanism.quality(counts, monotone=True),
    )
    assert inclusion[:20].sum() / 20 == pytest.approx(quality.recall, abs=1e-9)
    assert (np.diff(inclusion) <= 1e-12).all()
    assert quality.top <= quality.great <= quality.good
    assert quality.top == pytest.approx(mechanism.success_probability(counts, monotone=True), rel=1e-6)


def test_draws_have_these_inclusions():
    mechanism, counts = LimitedDomainTopK(k=2, epsilon=3.0, delta=0.2), [9, 8, 6, 3]
    rows = mechanism.release_many(counts, draws=15_000, monotone=True, rng=sl.testing.seeded(301))
    for i, p in enumerate(mechanism.inclusion_probabilities(counts, monotone=True)):
        times = np.count_nonzero((rows == i).any(axis=1))
        assert_law([times, 15_000 - times], [p, 1 - p], wrong=[p * 0.8, 1 - 0.8 * p] if p > 0.2 else None)


@pytest.mark.parametrize(("counts", "k", "epsilon", "delta", "limit"), [one for one in CASES if one[1] <= 2])
def test_every_number_of_exponential_noise_is_that_of_the_certified_law(counts, k, epsilon, delta, limit):
    mechanism = LimitedDomainTopK(k=k, epsilon=epsilon, delta=delta, limit=limit, noise="exponential")
    lists = {named: float(p) for (named, _), p in certify(mechanism, sl.Scores(counts, monotone=True)).chances.items()}
    _compare(mechanism, counts, k, lists)
    for i, one in enumerate(mechanism.inclusion_probabilities(counts, monotone=True)):
        assert one == pytest.approx(sum(p for named, p in lists.items() if i in named), abs=1e-9)
    best = sorted(counts, reverse=True)[:k]
    right = sum(p for named, p in lists.items() if sorted((counts[i] for i in named), reverse=True) == best)
    assert mechanism.success_probability(counts, monotone=True) == pytest.approx(right, abs=1e-9)
    correct = {i for i, one in enumerate(counts) if one >= best[-1]}
    share = sum(p * len(correct & set(named)) for named, p in lists.items()) / k
    assert mechanism.expected_recall(counts, monotone=True) == pytest.approx(share, abs=1e-9)


def test_exponential_noise_of_long_lists_and_of_none():
    mechanism, counts = LimitedDomainTopK(k=3, epsilon=3.0, delta=0.2, noise="exponential"), [9, 8, 8, 6, 3]
    rows = mechanism.release_many(counts, draws=8000, monotone=True, rng=sl.testing.seeded(302))
    for i, p in enumerate(mechanism.inclusion_probabilities(counts, monotone=True)):
        times = np.count_nonzero((rows == i).any(axis=1))
        assert_law([times, 8000 - times], [p, 1 - p], wrong=[p * 0.8, 1 - 0.8 * p] if p > 0.2 else None)
    assert mechanism.quality([0, 0], monotone=True).recall == 0


@pytest.mark.parametrize(("k", "epsilon", "delta", "limit"), [(2, 1.0, 0.05, 5), (3, 2.0, 0.1, 4), (2, 0.5, 0.3, 3)])
@pytest.mark.parametrize("counts", [[9, 7, 7, 4, 3, 2], [9, 8, 5, 2], [3, 3, 3, 3]])
def test_the_quality_of_canonical_sets_is_that_of_the_certified_law(counts, k, epsilon, delta, limit):
    mechanism = CanonicalLimitedDomain(k=k, epsilon=epsilon, delta=delta, limit=limit)
    chances = certify(mechanism, sl.Scores(counts, monotone=True)).chances
    sets = {members: float(p) for members, p in chances.items()}
    quality, best = _compare(mechanism, counts, k, sets), sorted(counts, reverse=True)[:k]
    right = sum(p for named, p in sets.items() if sorted((counts[i] for i in named), reverse=True) == best)
    assert quality.top == pytest.approx(right, abs=1e-9)
    share = sum(p * sum(counts[i] >= best[-1] for i in named) for named, p in sets.items()) / k
    assert quality.recall == pytest.approx(share, abs=1e-9)


def test_too_many_sets_are_refused():
    for kind in (LimitedDomainTopK, CanonicalLimitedDomain):
        with pytest.raises(ValueError, match="more than 100,000 sets; ask for quality"):
            kind(k=10, epsilon=1.0, delta=1e-3, limit=40).probabilities(list(range(1, 41)), monotone=True)


def test_many_labels_have_the_recall_of_labels_counted_one_by_one(monkeypatch):
    counts = np.floor(3000 / np.arange(1.0, 1500.0)).astype(np.int64)
    mechanism = LimitedDomainTopK(k=10, epsilon=0.5, delta=1e-4, limit=1000, split=0.0)
    at_once = mechanism.expected_recall(counts, monotone=True)
    assert 0.2 < at_once < 0.99
    monkeypatch.setattr("shortlist.utility.unknown_domain.FEW_PAIRS", 10**9)
    one_by_one = LimitedDomainTopK(k=10, epsilon=0.5, delta=1e-4, limit=1000, split=0.0)
    assert one_by_one.expected_recall(counts, monotone=True) == pytest.approx(at_once, abs=1e-12)


@pytest.mark.parametrize(("counts", "k", "epsilon", "delta", "limit"), CASES)
def test_a_list_with_gumbel_noise_is_known_by_quick_sums(counts, k, epsilon, delta, limit):
    """The race of other noises says the same, and takes longer."""
    mechanism = LimitedDomainTopK(k=k, epsilon=epsilon, delta=delta, limit=limit)
    race = distribution(mechanism, sl.Scores(counts, monotone=True)).race
    assert race.best() == pytest.approx(mechanism.success_probability(counts, monotone=True), abs=1e-9)
    size = min(k, len(race.s))
    recall = race.recall(size) * size / k if size else 0.0
    assert recall == pytest.approx(mechanism.expected_recall(counts, monotone=True), abs=1e-9)
