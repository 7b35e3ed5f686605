"""epsilon_for with a delta: it is sought by the rounds of one-shot, which tell epsilon without a calibration."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ApproxDP, Scores
from shortlist.exact.noise import EXPONENTIAL, GUMBEL
from shortlist.exact.reals import floor_to_float
from shortlist.mechanisms import GuardedTopK
from shortlist.mechanisms import sets as budgets
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.mechanisms.sets import share_of
from shortlist.planning.comparison import _by_rounds as by_rounds
from tests.helpers.typed import noting

SCORES = Scores((3000 / np.arange(1, 61) ** 0.7).astype(np.int64), monotone=True)


@pytest.mark.parametrize(("k", "target"), [(3, 0.9), (8, 0.9), (8, 0.01), (54, 0.5)])
def test_the_least_epsilon_with_a_delta_is_the_least_and_none_is_calibrated(k, target, monkeypatch):
    asked: list[Any] = []
    monkeypatch.setattr(budgets, "epsilon_of_a_round", noting(asked, epsilon_of_a_round))
    found = sl.epsilon_for(GuardedTopK(k=k, budget=ApproxDP(1.0, 1e-6)), SCORES, target=target)
    assert not asked
    at, below = (GuardedTopK(k=k, budget=ApproxDP(found * by, 1e-6)) for by in (1.0, 1 - 1e-5))
    assert at.success_probability(SCORES) >= target > below.success_probability(SCORES)


@pytest.mark.parametrize(("k", "e", "noise"), [(8, 1e-3, GUMBEL), (8, 0.02, GUMBEL), (3, 0.5, EXPONENTIAL)])
def test_the_rounds_of_one_shot_tell_epsilon_and_the_chance(k, e, noise):
    traced = by_rounds(GuardedTopK(k=k, budget=ApproxDP(1.0, 1e-4)), SCORES)
    assert traced is not None
    epsilon, chance = traced[1](e)
    mechanism = GuardedTopK(k=k, budget=ApproxDP(epsilon, 1e-4))
    share = share_of(k, len(SCORES))
    assert budgets.one_shot_of(mechanism.guarantee, k, share)[0] == noise
    left = floor_to_float((1 - share) * Fraction(epsilon))
    assert epsilon_of_a_round(k, ApproxDP(left, 1e-4)) >= e * (1 - 2e-6)
    assert chance <= mechanism.success_probability(SCORES) == pytest.approx(chance, rel=1e-4)


def test_a_delta_that_pays_for_everything_needs_no_epsilon():
    assert 0 < sl.epsilon_for(GuardedTopK(k=3, budget=ApproxDP(1.0, 0.9)), SCORES, target=1e-4) < 1e-6


def test_nothing_is_traced_without_a_delta_or_a_guard():
    assert by_rounds(GuardedTopK(k=8, epsilon=1.0), SCORES) is None
    assert by_rounds(GuardedTopK(k=8, budget=sl.ZCDP(0.1)), SCORES) is None
    assert by_rounds(GuardedTopK(k=2, budget=ApproxDP(1.0, 1e-6)), SCORES) is None
