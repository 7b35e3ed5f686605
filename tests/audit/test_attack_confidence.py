"""The auditor's confidence: what its bound is made of, and how often it is wrong, both exactly."""

import math
from importlib import import_module
from itertools import product

import pytest
from scipy.stats import binom, binomtest

import shortlist as sl
from shortlist import ApproxDP, PureDP
from shortlist.audit import attack as audit_attack
from shortlist.audit import events
from shortlist.mechanisms import NoisyMax

CLAIM = PureDP(1.0)
LIKELY_ON_THE_FIRST = events.Event({}, frozenset({(1, 0)}), 0)


def judged(counts, tested, confidence, claim=CLAIM):
    return audit_attack._judge(LIKELY_ON_THE_FIRST, counts, tested, getattr(claim, "delta", 0.0), confidence, claim)


def side(count, tested, confidence):
    """The two-sided interval of Clopper and Pearson: each of its ends is wrong with half of what is left."""
    return binomtest(count, tested).proportion_ci(confidence, method="exact")


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("counts", [(40, 4), (100, 0), (73, 27)])
def test_both_ends_share_what_the_confidence_leaves(counts, confidence):
    """P(event) and P'(event) are bounded by half of 1 - confidence each: together they are wrong no more often."""
    low, high = side(counts[0], 100, confidence).low, side(counts[1], 100, confidence).high
    bound, _ = judged(counts, 100, confidence)
    assert bound == pytest.approx(max(math.log(low / high), 0.0), rel=1e-9)
    bound, _ = judged(counts, 100, confidence, ApproxDP(1.0, 0.05))
    assert bound == pytest.approx(max(math.log((low - 0.05) / high), 0.0) if low > 0.05 else 0.0, rel=1e-9)


@pytest.mark.parametrize("chance", [math.e / (1 + math.e), 0.5, 0.05])
def test_a_right_claim_is_refuted_no_more_often_than_stated(chance):
    """Every pair of counts that 60 draws can give, each with its chance: exact, nothing is drawn."""
    tested, confidence = 60, 0.8
    first, second = binom(tested, chance), binom(tested, chance / math.e)
    wrong = sum(
        first.pmf(one) * second.pmf(two)
        for one, two in product(range(tested + 1), repeat=2)
        if judged((one, two), tested, confidence)[1]
    )
    assert wrong <= 1 - confidence


def test_no_two_parts_of_an_audit_see_the_same_draws(monkeypatch):
    """Neighbours, event and bound: what one part has drawn, no other sees, or the bound would be too good."""
    attack, seeds = import_module("shortlist.audit.attack"), []
    plain = attack.target_of

    def spied(subject, **question):
        target = plain(subject, **question)

        def draw(x, n, seed):
            seeds.append(seed)
            return target.draw(x, n, seed)

        return type(target)(target.name, draw, target.batch, False, True)

    monkeypatch.setattr(attack, "target_of", spied)
    sl.audit(NoisyMax(epsilon=1.0), trials=600_000, seed=1, workers=1)
    assert len(seeds) > 20
    assert len(set(seeds)) == len(seeds)
