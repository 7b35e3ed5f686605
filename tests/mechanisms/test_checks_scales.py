"""Mechanisms by the scale of their noise, or by mu: short forms of a budget, said once."""

import dataclasses
import pickle
from fractions import Fraction
from typing import Any

import pytest

import shortlist as sl
from shortlist import PureDP, Scores
from shortlist.mechanisms import ExponentialWithGap, GumbelTopKValues, NoisyMax, OneshotTopK, TopKWithGaps
from shortlist.privacy import ApproxDP, GumbelDP
from shortlist.testing import seeded

BY_SCALE: list[Any] = [
    (NoisyMax, {}, 1),
    (NoisyMax, {"noise": "gumbel"}, 1),
    (OneshotTopK, {"k": 3}, 3),
    (TopKWithGaps, {"k": 2}, 2),
    (ExponentialWithGap, {}, 1),
]


@pytest.mark.parametrize(("kind", "words", "rounds"), BY_SCALE)
@pytest.mark.parametrize("scale", [4.0, 0.3, 7])
@pytest.mark.parametrize("monotone", [True, False])
def test_the_noise_has_the_scale_and_the_promise_is_what_it_costs(kind, words, rounds, scale, monotone):
    mechanism = kind(scale=scale, **words)
    assert Fraction(mechanism.budget.epsilon) >= rounds / Fraction(scale)
    assert mechanism == kind(epsilon=mechanism.epsilon, **words)
    assert mechanism.epsilon == pytest.approx(rounds / scale, rel=1e-15)
    scores = Scores([9, 3, 1, 0, 5], monotone=monotone, sensitivity=2)
    assert float(mechanism._scale(scores)) == pytest.approx(scale * (2 if monotone else 4), rel=1e-14)
    assert mechanism.release(scores, rng=seeded(1)).guarantee == mechanism.budget
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert dataclasses.replace(mechanism, budget=PureDP(1.0)).budget == PureDP(1.0)
    assert "scale" not in repr(mechanism)


@pytest.mark.parametrize(("kind", "words", "rounds"), BY_SCALE)
def test_a_scale_beside_a_budget_is_refused(kind, words, rounds):
    for more in ({"epsilon": 1.0}, {"budget": PureDP(1.0)}):
        with pytest.raises(TypeError, match="scale= says what it costs"):
            kind(scale=1.0, **words, **more)
    for wrong in (0, -1.0, float("inf"), float("nan"), "wide"):
        with pytest.raises(ValueError, match="scale must be a number"):
            kind(scale=wrong, **words)


def test_gumbel_values_by_mu_promise_gumbel_dp():
    mechanism = GumbelTopKValues(k=3, mu=0.5)
    assert mechanism.guarantee == GumbelDP(0.5, 3, monotone=False)
    counts, scores = Scores([9, 3, 1, 0, 5], monotone=True), Scores([9, 3, 1, 0, 5], sensitivity=2)
    assert mechanism.scale(counts) == 2
    assert mechanism.scale(scores) == 4
    assert mechanism.release(counts, rng=seeded(1)).guarantee == GumbelDP(0.5, 3, monotone=True)
    release = mechanism.release(scores, rng=seeded(1))
    assert release.guarantee == release.charge == GumbelDP(0.5, 3, monotone=False)
    assert sl.Release.from_json(release.to_json()) == release
    assert mechanism == GumbelTopKValues(k=3, budget=GumbelDP(0.5, 3))
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism


def test_gumbel_values_by_mu_draw_as_those_of_a_budget_do():
    """The same scale gives the same draws, so the law that is certified for budgets is that of mu too."""
    budget, scores = ApproxDP(1.0, 1e-5), Scores([9, 3, 1, 0, 5], monotone=True)
    calibrated = GumbelTopKValues(k=2, budget=budget)
    mu = float(1 / calibrated.scale(scores))
    named = GumbelTopKValues(k=2, mu=mu)
    assert named.scale(scores) == calibrated.scale(scores)
    one, other = (each.release(scores, rng=seeded(4)) for each in (calibrated, named))
    assert (one.items, one.values, one.soft_max) == (other.items, other.values, other.soft_max)
    assert GumbelDP(mu, 2).epsilon_at(1e-5) <= 1.0


def test_mu_is_said_once():
    with pytest.raises(TypeError, match="mu= says what it costs"):
        GumbelTopKValues(k=2, mu=0.5, budget=ApproxDP(1.0, 1e-6))
    with pytest.raises(ValueError, match="budget is for k=3 values"):
        GumbelTopKValues(k=2, budget=GumbelDP(0.5, 3))
    with pytest.raises(TypeError, match="no pure and no zCDP"):
        GumbelTopKValues(k=2, budget=PureDP(1.0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mu must be a number"):
        GumbelTopKValues(k=2, mu=0.0)


def test_a_ledger_says_how_gumbel_values_by_mu_are_paid(tmp_path):
    ledger = sl.Ledger(tmp_path / "l.db", budget=ApproxDP(3.0, 1e-5))
    with pytest.raises(ValueError, match=r"exponential tail.*ask for ApproxDP"):
        GumbelTopKValues(k=1, mu=0.1).release([5, 3], monotone=True, ledger=ledger, rng=seeded(1))
    assert not list(ledger.entries())
