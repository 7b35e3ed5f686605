"""The success probabilities of mechanisms without a public list, against their own draws."""

import numpy as np
import pytest

import shortlist as sl
from shortlist import ZCDP, Scores
from shortlist.mechanisms import CanonicalLimitedDomain, LimitedDomainTopK, StableTopK
from tests.helpers.support import assert_law, full_size, sized

DRAWS = sized(10_000, full=40_000)
CLEAR = [30, 26, 22, 16, 9, 3, 3, 1]
TIED = [30, 22, 22, 22, 9, 3, 3, 1]


def drawn_sets(mechanism, counts):
    found = mechanism.release_many(counts, monotone=True, draws=DRAWS, rng=sl.testing.seeded(5))
    return found.indices if hasattr(found, "indices") else found


@full_size
@pytest.mark.parametrize("counts", [CLEAR, TIED])
@pytest.mark.parametrize(
    "mechanism",
    [
        LimitedDomainTopK(k=2, epsilon=0.8, delta=0.02),
        LimitedDomainTopK(k=2, budget=ZCDP(0.04, 0.1), limit=5),
        CanonicalLimitedDomain(k=2, epsilon=1.0, delta=0.02),
        CanonicalLimitedDomain(k=3, budget=ZCDP(0.08, 0.1), limit=7, gamma=0.6),
    ],
)
def test_success_and_recall_are_those_of_the_draws(mechanism, counts):
    rows, k = drawn_sets(mechanism, counts), mechanism.k
    held = np.append(counts, -1)[rows]
    right = (np.sort(held, axis=1)[:, ::-1] == sorted(counts, reverse=True)[:k]).all(axis=1)
    p = mechanism.success_probability(counts, monotone=True)
    hits = np.count_nonzero(right)
    assert 0.02 < p < 0.98
    off = sized(0.7 if p < 0.3 else 0.85, full=0.9)
    assert_law([hits, DRAWS - hits], [p, 1 - p], wrong=[off * p, 1 - off * p])
    share = np.count_nonzero(held >= sorted(counts, reverse=True)[k - 1], axis=1) / k
    error = share.std() / np.sqrt(DRAWS)
    recall = mechanism.expected_recall(counts, monotone=True)
    assert abs(share.mean() - recall) < 6 * error < sized(0.2, full=0.1) * recall


@full_size
@pytest.mark.parametrize(
    "mechanism",
    [
        StableTopK(k=3, epsilon=1.0, delta=0.02),
        StableTopK(k=3, epsilon=1.0, delta=0.02, test="laplace"),
        StableTopK(k=3, budget=ZCDP(0.1, 0.02)),
    ],
)
def test_a_stable_set_succeeds_if_its_test_passes(mechanism):
    hits = np.count_nonzero(drawn_sets(mechanism, CLEAR)[:, 0] >= 0)
    p, off = mechanism.success_probability(CLEAR, monotone=True), sized(0.93, full=0.97)
    assert_law([hits, DRAWS - hits], [p, 1 - p], wrong=[off * p, 1 - off * p])
    assert mechanism.success_probability(TIED, monotone=True) == 0.0
    assert mechanism.success_probability({"ada": 9}, monotone=True, public=False) == 0.0


def test_what_has_no_exact_law_says_so():
    for mechanism in (StableTopK(epsilon=1.0, delta=1e-6), StableTopK(k=2, epsilon=1.0, delta=1e-6, fill=True)):
        with pytest.raises(ValueError, match="fill"):
            mechanism.quality(CLEAR, monotone=True)


def test_the_counts_of_people_are_refused():
    counted = Scores({"ada": 9, "bob": 3}, monotone=True)._as_counted()
    for kind in (LimitedDomainTopK, CanonicalLimitedDomain, StableTopK):
        with pytest.raises(ValueError, match="as_public"):
            kind(k=1, epsilon=1.0, delta=1e-6).success_probability(counted)
