"""Stable sets and large gaps of any scores of a public list, in whole range sensitivities (Theorem 256)."""

from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ZCDP, Scores
from shortlist.audit import Law, alike, certify, neighbours, prove
from shortlist.mechanisms import LargeGap, StableTopK
from shortlist.privacy import ApproxDP
from shortlist.testing import seeded
from studies.broken import catch
from studies.broken.stable import ENTRIES, stable_law
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind

SMALL = ApproxDP(1.0, 0.01)
MECHANISMS = [
    StableTopK(sigma_1=2.0, sigma=1.5, delta_t=0.01, limit=2),
    StableTopK(k=1, budget=SMALL),
    StableTopK(k=2, budget=SMALL, test="laplace"),
    StableTopK(k=1, budget=ZCDP(0.5, 0.01)),
    StableTopK(budget=SMALL, limit=2),
    StableTopK(budget=ZCDP(0.5, 0.01), limit=2),
    StableTopK(k=1, budget=SMALL, fill=True),
]


def on_the_box(mechanism, claim=None, **words):
    """Scores in {0..5}^3 and what one person may do to them: each one more, one less, or the same."""

    def law(x):
        return certify(mechanism, Scores(list(x), **words))

    same = partial(alike, exchangeable=True, shift_invariant=False)
    return prove(law, neighbours(3, 5), mechanism.charge if claim is None else claim, alike=same)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
@pytest.mark.parametrize("words", [{"neighbours": "replace"}, {"sensitivity": (1, 1)}], ids=["replace", "both ways"])
def test_scores_that_move_both_ways_keep_the_promise_on_a_box(mechanism, words):
    proof = on_the_box(mechanism, **words)
    assert proof.holds, proof
    assert proof.log_ratio == float("inf") or mechanism.fill  # delta is needed, and enough


@pytest.mark.parametrize("mechanism", MECHANISMS[:6], ids=lambda one: one.name)
def test_half_of_the_range_breaks_it_on_the_same_box(mechanism, monkeypatch):
    """Counted in sensitivities, gaps would pass where one person can turn them over."""
    whole = vars(Scores)["range_sensitivity"].fget
    monkeypatch.setattr(Scores, "range_sensitivity", property(lambda scores: whole(scores) / 2))
    assert not on_the_box(mechanism, neighbours="replace").holds


def test_the_catalogue_has_it_and_it_is_caught():
    entry = ENTRIES[0]
    assert catch(entry).by == "box"
    for x, y in product(((6, 3), (4, 2), (2, 0)), ((5, 4), (3, 3), (1, 1))):
        if all(abs(a - b) <= 1 for a, b in zip(x, y, strict=True)):
            assert prove(lambda z: stable_law(z, Fraction(2)), [(x, y)], entry.claim).holds


@pytest.mark.parametrize("words", [{"neighbours": "replace"}, {"sensitivity": 0.5}])
def test_large_gap_takes_any_scores_of_a_public_list(words):
    def law(x):
        return certify(
            LargeGap(epsilon=1.0), Scores([0.5 * v for v in x] if "sensitivity" in words else list(x), **words)
        )

    same = partial(alike, exchangeable=True, shift_invariant=False)
    proof = prove(law, neighbours(3, 2), LargeGap(epsilon=1.0).charge, alike=same)
    assert proof.holds
    assert proof.log_ratio > 0.45
    assert LargeGap(epsilon=9.0).release([9.5, 9.25, -3.0, -np.inf], sensitivity=0.5, rng=seeded(1)).k == 2


@full_size
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
def test_draws_follow_the_certified_law(mechanism):
    """Seeded, with power: the law of a tenth of the range is refuted."""
    x = [4.5, 0.25, -3.0, -9.75]
    rows = mechanism.release_many(x, sensitivity=0.75, draws=sized(800, full=4000), rng=seeded(3))
    right = of_kind(Law, certify(mechanism, Scores(x, sensitivity=0.75))).chances
    cells = sorted(right, key=str)

    def cell(row, chosen):
        rank = int(chosen[0]) if mechanism.k is None or mechanism.fill else mechanism.k
        members = tuple(sorted(int(i) for i in row if i >= 0))
        if mechanism.fill:
            return rank, bool(chosen[1]), members
        return rank, members if chosen[1] else None

    found = [cell(row, chosen) for row, chosen in zip(rows.indices, rows.chosen, strict=True)]
    law = [float(right[one].mid()) for one in cells]
    wrong_law = of_kind(Law, certify(mechanism, Scores(x, sensitivity=7.5))).chances
    wrong = [float(wrong_law.get(one, right[one] * 0).mid()) + 1e-9 for one in cells]
    assert_law([found.count(one) for one in cells], law, wrong=np.array(wrong) / sum(wrong))
    if mechanism.k is not None and not mechanism.fill:
        assert mechanism.success_probability(x, sensitivity=0.75) == pytest.approx(
            float(right[mechanism.k, tuple(range(mechanism.k))].mid()), abs=1e-12
        )


def test_a_release_of_general_scores():
    scores = {"ada": 90.5, "bob": 88.25, "cy": 1.0, "di": -4.0, "el": -np.inf}
    release = StableTopK(epsilon=2.0, delta=1e-6).release(scores, sensitivity=0.5, public=True, rng=seeded(1))
    assert release.items == ["ada", "bob"]
    assert release.guarantee == ApproxDP(2.0, 1e-6)
    near = StableTopK(k=1, epsilon=1.0, delta=1e-6).release({"a": 3.9, "b": 2.0}, public=True)  # less than R = 2
    assert near.items is None
    for fill in (1, 3):
        filled = StableTopK(k=fill, epsilon=9.0, delta=1e-6, fill=True).release(
            scores, sensitivity=0.5, public=True, rng=seeded(1)
        )
        assert len(filled.items or []) == fill
        assert "el" not in filled
    named = sl.top_k(scores, 2, epsilon=2.0, delta=1e-6, method="stable", sensitivity=0.5, public=True)
    assert set(named.items or []) == {"ada", "bob"}


def test_what_is_not_a_public_list_still_needs_counts():
    for words in ({"sensitivity": 0.5}, {"neighbours": "replace"}, {}):
        with pytest.raises(ValueError, match="this needs counts"):
            StableTopK(epsilon=1.0, delta=1e-6).release({"a": 3.5, "b": 1.0}, **words)
    with pytest.raises(ValueError, match="k=2 must be less than the 2 candidates"):
        StableTopK(k=2, epsilon=1.0, delta=1e-6).release([3.5, 1.0, -np.inf])


def test_counts_are_read_as_they_were():
    """The unit of counts is 1, so their law is the same whichever way it is told."""
    mechanism, counts = StableTopK(k=2, budget=SMALL), [9, 7, 3, 1]
    words: Any = {"sensitivity": (1, 0)}  # a pair, so not counts by name, and of range 1
    one, other = (mechanism.success_probability(counts, monotone=m, **w) for m, w in ((True, {}), (False, words)))
    assert one == other


@pytest.mark.parametrize("mechanism", [LargeGap(epsilon=1.0), StableTopK(k=2, budget=SMALL), StableTopK(budget=SMALL)])
def test_the_least_of_all_whole_numbers_ranks_last(mechanism):
    """It has no negative of 64 bits: ranked by its negative it came first, and one person turned the law over."""
    scores = [0, 10, 5, 3]
    least = [value - 2**63 for value in scores]
    assert np.array_equal(_known(mechanism.probabilities(least)), _known(mechanism.probabilities(scores)))


def _known(chances: Any) -> Any:
    return list(chances.values()) if isinstance(chances, dict) else chances
