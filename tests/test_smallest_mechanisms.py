"""`largest=False` as a word of every mechanism: releases, draws and laws of the smallest."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP, Release, Scores
from shortlist.mechanisms import (
    CanonicalLimitedDomain,
    CanonicalTopK,
    ExponentialWithGap,
    GuardedTopK,
    GumbelTopKValues,
    HybridSparseVector,
    HybridTopK,
    JointTopK,
    KeySet,
    LargeGap,
    LimitedDomainTopK,
    MeasuredSet,
    MeasuredTopK,
    NamesChoice,
    NoisyHistogram,
    NoisyMax,
    OneshotTopK,
    OrderedCanonicalTopK,
    Quantile,
    SparseVector,
    StableTopK,
    TopKWithGaps,
)
from shortlist.testing import seeded
from tests.helpers.typed import present

DELTA = ApproxDP(1.0, 1e-6)
SCORES = [9000, 4000, 100, 7000, 2000]
MIRRORED: list[Any] = [
    NoisyMax(epsilon=1.0),
    NoisyMax(budget=DELTA, noise="gaussian"),
    NoisyMax(epsilon=1.0, noise="gumbel", prior=[1, 2, 1, 1, 1]),
    OneshotTopK(k=2, epsilon=1.0),
    CanonicalTopK(k=2, epsilon=1.0),
    GuardedTopK(k=2, epsilon=1.0),
    JointTopK(k=2, epsilon=1.0),
    OrderedCanonicalTopK(k=2, epsilon=1.0),
    TopKWithGaps(k=2, epsilon=1.0),
    ExponentialWithGap(epsilon=1.0),
    MeasuredTopK(k=2, epsilon=1.0),
    MeasuredSet(k=2, budget=ZCDP(1.0)),
    NoisyHistogram(k=2, most=1, epsilon=1.0),
    GumbelTopKValues(k=2, budget=DELTA),
    HybridTopK(threshold=3000, k=3, epsilon=1.0),
    HybridSparseVector(threshold=3000, k=3, epsilon=1.0),
    StableTopK(k=2, budget=DELTA),
    StableTopK(budget=ZCDP(1.0, 1e-6), limit=2),
    StableTopK(k=2, budget=DELTA, fill=True),
]
REFUSED: list[Any] = [
    SparseVector(threshold=5, k=2, epsilon=1.0),
    KeySet(k=2, budget=DELTA, most=1),
    LimitedDomainTopK(k=2, budget=DELTA),
    CanonicalLimitedDomain(k=2, budget=DELTA),
    NamesChoice(k=2, budget=DELTA),
    Quantile(q=0.5, epsilon=1.0),
]


def named(mechanism):
    return type(mechanism).__name__ + str(getattr(mechanism, "noise", "")) + str(getattr(mechanism, "fill", ""))


def negated(mechanism, scores):
    """Floats where whole numbers must be counts, and counts are not negative."""
    return [-float(x) if isinstance(mechanism, StableTopK | LargeGap) else -x for x in scores]


def mirrored(mechanism):
    """The same one for negated scores: only a threshold has a sign."""
    return replace(mechanism, threshold=-mechanism.threshold) if hasattr(mechanism, "threshold") else mechanism


@pytest.mark.parametrize("mechanism", MIRRORED, ids=named)
def test_a_mechanism_finds_the_smallest_and_tells_the_scores_themselves(mechanism):
    k = getattr(mechanism, "k", 1) or 2
    release = mechanism.release(SCORES, monotone=True, largest=False, rng=seeded(3))
    same = mechanism.release(Scores(SCORES, monotone=True), largest=False, rng=seeded(3))
    assert set(present(release.indices)) == {2, 4} if k > 1 else release.index == 2
    assert release == same
    assert Release.from_json(release.to_json()) == release
    assert release.largest is False
    for index, value in zip(present(release.indices), release.values or [], strict=bool(release.values)):
        assert abs(value - SCORES[index]) < 400
    mirror = mirrored(mechanism).release(negated(mechanism, SCORES), monotone=True, rng=seeded(3))
    assert mirror.indices == release.indices
    assert mirror.gaps == release.gaps
    assert (mirror.k, mirror.stopped, mirror.used) == (release.k, release.stopped, release.used)
    assert (mirror.soft_max is None) == (release.soft_min is None)
    if release.soft_min is not None:
        assert release.soft_min == -present(mirror.soft_max)
        assert release.soft_max is None
    if release.evidence is not None and hasattr(release.evidence, "lower_bound"):
        assert [-one.value for one in release.upper_bound(0.9)] == [one.value for one in mirror.lower_bound(0.9)]
        assert [-one for one in release.refine([9.0, 8.0], variance=4.0)] == mirror.refine([-9.0, -8.0], variance=4.0)
        with pytest.raises(AttributeError, match="bound the scores from above"):
            release.lower_bound(0.9)
        with pytest.raises(AttributeError, match="bound the scores from below"):
            mirror.upper_bound(0.9)
    assert (mirror.guarantee, mirror.charge) == (release.guarantee, release.charge)


@pytest.mark.parametrize("mechanism", MIRRORED, ids=named)
def test_draws_and_laws_of_the_smallest_are_those_of_negated_scores(mechanism):
    near = [3, 1, 0, 2, 1]
    if hasattr(mechanism, "threshold"):
        mechanism = replace(mechanism, threshold=1)
    asked, mirror, other = {"monotone": True, "largest": False}, negated(mechanism, near), mirrored(mechanism)
    ours, theirs = (
        mechanism.release_many(near, draws=40, rng=seeded(4), **asked),
        other.release_many(mirror, draws=40, rng=seeded(4), monotone=True),
    )
    np.testing.assert_array_equal(getattr(ours, "indices", ours), getattr(theirs, "indices", theirs))
    if getattr(ours, "reals", None) is not None:
        gapped = isinstance(mechanism, MeasuredTopK | HybridTopK | HybridSparseVector)  # gaps, and then values
        values = mechanism.k if gapped else 0
        sign = -1 if gapped or isinstance(mechanism, MeasuredSet | NoisyHistogram | GumbelTopKValues) else 1
        np.testing.assert_array_equal(ours.reals[:, values:], sign * theirs.reals[:, values:] + 0.0)
        np.testing.assert_array_equal(ours.reals[:, :values], theirs.reals[:, :values])
    for law in ("probabilities", "success_probability", "inclusion_probabilities", "number_released"):
        if hasattr(mechanism, law) and not isinstance(mechanism, NoisyMax | MeasuredSet):
            if law == "probabilities" and getattr(mechanism, "fill", False):
                continue
            here, there = getattr(mechanism, law)(near, **asked), getattr(other, law)(mirror, monotone=True)
            np.testing.assert_equal(here, there)


def test_the_rank_behind_which_scores_rise_is_that_of_negated_scores():
    scores, mechanism = [1, 2, 900, 950, 960, 3], LargeGap(epsilon=1.0)
    release = mechanism.release(scores, monotone=True, largest=False, rng=seeded(3))
    assert (release.k, release.largest) == (3, False)
    assert "rise behind rank 3" in " ".join(release.notes)
    near = [3, 1, 0, 2, 1]
    asked: Any = {"monotone": True, "largest": False}
    mirror = negated(mechanism, near)
    np.testing.assert_array_equal(
        mechanism.release_many(near, draws=40, rng=seeded(4), **asked),
        mechanism.release_many(mirror, draws=40, rng=seeded(4), monotone=True),
    )
    np.testing.assert_array_equal(
        mechanism.probabilities(near, **asked), mechanism.probabilities(mirror, monotone=True)
    )
    assert mechanism.success_probability(near, **asked) == mechanism.success_probability(mirror, monotone=True)


def test_a_table_with_a_public_list_has_a_stable_set_of_its_smallest():
    items = [name for name, many in {"ash": 3, "elm": 2, "fir": 900, "oak": 950}.items() for _ in range(many)]
    table = pl.DataFrame({"who": range(len(items)), "what": items})
    words: Any = {"user": "who", "item": "what", "candidates": ["ash", "elm", "fir", "oak"], "delta": 1e-6}
    release = sl.top_k(table, None, epsilon=2.0, largest=False, rng=seeded(1), **words)
    assert release.items == ["ash", "elm"]
    assert (release.k, release.largest, release.indices) == (2, False, None)
    with pytest.raises(ValueError, match="needs a public list of candidates"):
        sl.top_k(table, None, epsilon=1.0, delta=1e-6, user="who", item="what", largest=False)


@pytest.mark.parametrize("mechanism", REFUSED, ids=named)
def test_what_is_about_the_largest_refuses_the_smallest(mechanism, tmp_path):
    ledger = sl.Ledger(tmp_path / "l.db", budget=ApproxDP(9.0, 1e-3))
    scores = Scores([5, 3, 9, 2], monotone=not isinstance(mechanism, SparseVector))
    with pytest.raises(ValueError, match="about the largest scores alone"):
        mechanism.release(scores, largest=False, ledger=ledger)
    with pytest.raises(ValueError, match="about the largest scores alone"):
        mechanism.release_many(scores, largest=False, draws=3)
    assert ledger.spent.epsilon == 0


def test_names_from_the_data_have_no_smallest_for_any_mechanism():
    for mechanism in (NoisyMax(epsilon=1.0), MeasuredSet(k=2, budget=DELTA), *REFUSED):
        with pytest.raises(ValueError, match="needs a public list of candidates"):
            mechanism.release(
                Scores({"a": 3, "secret": 1}, monotone=not isinstance(mechanism, SparseVector)), largest=False
            )


def test_a_promise_of_the_smallest_is_studied_beforehand():
    curves = sl.compare([9, 3, 7, 1, 5], 2, epsilon=1.0, monotone=True, largest=False)
    assert str(curves) == str(sl.compare([-9, -3, -7, -1, -5], 2, epsilon=1.0, monotone=True))
    needed = sl.epsilon_for(CanonicalTopK(k=2, epsilon=1.0), [90, 30, 70, 10], target=0.9, monotone=True, largest=False)
    assert needed == sl.epsilon_for(CanonicalTopK(k=2, epsilon=1.0), [-90, -30, -70, -10], target=0.9, monotone=True)
    assert PureDP(needed).epsilon > 0
