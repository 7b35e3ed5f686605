"""Whether a question is accepted, and whether an answer comes, does not depend on the scores."""

import warnings
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ApproxDP, PureDP
from shortlist.mechanisms.registry import METHODS
from shortlist.testing import seeded
from tests.helpers.releases import CAPPED, LINES, NUMBERED, PUBLIC, UNKNOWN, WEIGHED

TOP = 2**63 - 1
WHOLE = {
    "counts": [900, 500, 400, 30, 20, 0, 3],
    "equal": [7] * 7,
    "nothing": [0] * 7,
    "one below 0": [900, 500, -1, 30, 20, 0, 3],
    "all below 0": [-1, -5, -2, -400, -3, -7, -1],
    "tied below 0": [-1] * 7,
    "far apart": [TOP, -TOP - 1, 0, 1, -1, TOP - 1, -TOP],
    "the largest": [TOP] * 7,
    "the least": [-TOP - 1] * 7,
}
REAL = {
    "plain": [900.5, 500.25, 400.0, 30.0, 20.0, 0.0, 3.0],
    "equal": [0.1] * 7,
    "below 0": [-1.5, -5.0, -2.25, -400.0, -3.0, -7.0, -0.0],
    "far apart": [1.7e308, -1.7e308, 0.0, 5e-324, -5e-324, 1.7e308, -1.0],
    "tiny": [5e-324, 0.0, -5e-324, 5e-324, 0.0, 1e-310, 2e-310],
    "the largest": [1.7e308] * 7,
    "the least": [-1.7e308] * 7,
}
VECTORS: dict[str, dict[str, Any]] = {"whole": WHOLE, "real": REAL}
LABELS = [f"item {n}" for n in range(7)]
QUESTIONS: dict[str, dict[str, Any]] = {
    "monotone": {"monotone": True},
    "general": {},
    "replace": {"neighbours": "replace"},
    "named": {"labels": LABELS, "monotone": True, "public": True},
    "from the data": {"labels": LABELS, "monotone": True, "public": False},
    "weighted": {"labels": LABELS, "monotone": True, "public": False, "sensitivity": 2**20},
    "smallest": {"monotone": True, "largest": False},
}
EVERY = PUBLIC | CAPPED | NUMBERED | UNKNOWN | WEIGHED | LINES
ALL_SORTS = {"key set of counts": sl.mechanisms.KeySet(most=2, budget=ApproxDP(2.0, 1e-4)), **EVERY}


def outcome(ask, values, words):
    """What comes of it: a release, or which refusal; anything else goes through."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            ask(values if isinstance(values, dict) else np.array(values), rng=seeded(1), **words)
        except (ValueError, TypeError) as error:
            return f"{type(error).__name__}: {error}"
    return "released"


@pytest.mark.parametrize("name", ALL_SORTS)
@pytest.mark.parametrize("kind", VECTORS)
def test_a_mechanism_accepts_whatever_the_scores_are(name, kind):
    released = set()
    for asked, words in QUESTIONS.items():
        found = {outcome(ALL_SORTS[name].release, values, words) for values in VECTORS[kind].values()}
        assert len(found) == 1, asked
        released |= found
    assert "released" in released or kind == "real" or name == "key set"  # which needs a table for its values


@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("kind", VECTORS)
def test_a_method_accepts_whatever_the_scores_are(method, kind):
    for asked, words in QUESTIONS.items():
        for k, budget in ((2, PureDP(2.0)), (2, ApproxDP(2.0, 1e-4)), (None, ApproxDP(2.0, 1e-4))):
            plan = {"k": k, "budget": budget, "method": method, **words}
            found = {outcome(sl.top_k, values, plan) for values in VECTORS[kind].values()}
            assert len(found) == 1, (asked, k)


@pytest.mark.parametrize("name", UNKNOWN)
def test_that_no_candidate_is_there_is_not_told_by_a_refusal(name):
    words = {"monotone": True, "public": False}
    assert outcome(UNKNOWN[name].release, {}, words) == "released"
    assert outcome(UNKNOWN[name].release, {"a": -1}, words) == "released"


def test_a_ledger_is_charged_the_same_whatever_the_scores_are(tmp_path):
    charges = set()
    for n, values in enumerate(WHOLE.values()):
        with sl.Ledger(tmp_path / f"{n}.db", budget=ApproxDP(5.0, 1e-3)) as ledger:
            sl.top_k(values, 2, epsilon=2.0, delta=1e-4, method="stable", monotone=True, public=True, ledger=ledger)
            sl.mechanisms.StableTopK(budget=ApproxDP(2.0, 1e-4)).release(values, monotone=True, ledger=ledger)
            charges.add(tuple(entry.guarantee for entry in ledger.entries()))
    assert len(charges) == 1


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("values", WHOLE.values(), ids=WHOLE)
def test_a_count_below_0_is_that_of_an_absent_label(name, values):
    """No count moves further than its number did, so what is promised of counts holds."""
    words = QUESTIONS["from the data"]
    clamped = np.maximum(values, 0)
    shown = [UNKNOWN[name].release(np.array(one), rng=seeded(2), **words) for one in (values, clamped)]
    assert shown[0].items == shown[1].items
    assert shown[0].notes == shown[1].notes
