"""epsilon_for with a delta: what a rough calibration tells is what the exact one says."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ApproxDP, Scores
from shortlist.mechanisms import GuardedTopK
from shortlist.mechanisms.guarded import budgets
from shortlist.mechanisms.guarded.entry import surely_reaches
from shortlist.mechanisms.oneshot.mechanism import epsilon_of_a_round
from tests.helpers.typed import noting

SCORES = Scores((3000 / np.arange(1, 61) ** 0.7).astype(np.int64), monotone=True)


@pytest.mark.parametrize("k", [3, 8])
def test_the_least_epsilon_with_a_delta_is_the_least_and_calibrates_rarely(k, monkeypatch):
    asked: list[Any] = []
    monkeypatch.setattr(budgets, "epsilon_of_a_round", noting(asked, epsilon_of_a_round))
    found = sl.epsilon_for(GuardedTopK(k=k, budget=ApproxDP(1.0, 1e-6)), SCORES, target=0.9)
    assert 0 < len(asked) <= 12  # of more than thirty epsilons that are tried
    at, below = (GuardedTopK(k=k, budget=ApproxDP(found * by, 1e-6)) for by in (1.0, 1 - 2e-6))
    assert at.success_probability(SCORES) >= 0.9 > below.success_probability(SCORES)


@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("target", [0.01, 0.3, 0.9])
def test_what_is_told_roughly_is_so(epsilon, target):
    mechanism = GuardedTopK(k=8, budget=ApproxDP(epsilon, 1e-6))
    told = surely_reaches(mechanism, SCORES, target)
    assert told in (None, mechanism.success_probability(SCORES) >= target)


def test_near_the_chance_itself_nothing_is_told():
    mechanism = GuardedTopK(k=8, budget=ApproxDP(0.02, 1e-2))
    chance = mechanism.success_probability(SCORES)
    assert surely_reaches(mechanism, SCORES, chance) in (None, True)
    assert surely_reaches(mechanism, SCORES, math.nextafter(chance, 0)) in (None, True)
    assert surely_reaches(replace(mechanism, budget=sl.PureDP(1.0)), SCORES, 0.5) is None
