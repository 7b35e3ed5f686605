"""zCDP and (epsilon, delta) budgets of the mechanisms that exist."""

import math
from fractions import Fraction

import pytest

from shortlist import PureDP, Scores
from shortlist.mechanisms import NoisyMax, OneshotTopK
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange
from tests.helpers.typed import present

COUNTS = Scores([5, 3, 1] * 100, monotone=True)


@pytest.mark.parametrize("k", [1, 3, 7, 10, 49])
@pytest.mark.parametrize("epsilon", [1.0, 0.1, 3.3, 1e-9])
def test_a_pure_budget_is_never_overdrawn_by_rounding(k, epsilon):
    e = epsilon_of_a_round(k, PureDP(epsilon))
    assert k * Fraction(e) <= Fraction(epsilon)
    assert e >= epsilon / k * (1 - 1e-15)
    charge = OneshotTopK(k=k, epsilon=epsilon).charge
    assert present(charge.as_pure()).epsilon <= epsilon


@pytest.mark.parametrize(("k", "e"), [(1, 2.05596711126), (10, 0.634213800808)])
def test_a_zcdp_budget_gives_each_round_its_share(k, e):
    m = OneshotTopK(k=k, budget=ZCDP(0.5))
    assert m.guarantee == ZCDP(0.5)
    with pytest.raises(AttributeError, match=r"no epsilon; read .budget"):
        m.epsilon  # noqa: B018
    assert epsilon_of_a_round(k, ZCDP(0.5)) == pytest.approx(e, rel=1e-11)
    assert present(m.charge.as_zcdp()).rho <= 0.5
    assert float(m._scale(COUNTS)) == pytest.approx(1 / e, rel=1e-11)
    assert len(present(m.release(COUNTS).items)) == k


def test_an_approximate_budget_uses_the_adaptive_recursion():
    """At k = 10, epsilon 1, delta 1e-5 a round may have 0.1713; by zCDP only 0.15635 (Table 151)."""
    m = OneshotTopK(k=10, budget=ApproxDP(1.0, 1e-5))
    assert epsilon_of_a_round(10, ApproxDP(1.0, 1e-5)) == pytest.approx(0.1713, abs=2e-4)
    assert m.charge.epsilon_at(1e-5) <= 1.0
    assert m.charge == BoundedRange(epsilon_of_a_round(10, ApproxDP(1.0, 1e-5))).repeat(10)
    assert len(present(m.release(COUNTS).items)) == 10


def test_one_winner_under_an_approximate_budget():
    """eps = eps0 + 2 ln(1 - sqrt(delta (1 - e^-eps0))) (Theorem 17)."""
    m = NoisyMax(budget=ApproxDP(1.0, 1e-3), noise="gumbel")
    e = epsilon_of_a_round(1, ApproxDP(1.0, 1e-3))
    assert e + 2 * math.log(1 - math.sqrt(1e-3 * -math.expm1(-e))) == pytest.approx(1.0, abs=1e-6)
    assert m.guarantee == ApproxDP(1.0, 1e-3)
    assert m.release(COUNTS).guarantee == ApproxDP(1.0, 1e-3)


@pytest.mark.parametrize("noise", ["exponential", "laplace", "logistic", "half-logistic"])
@pytest.mark.parametrize("budget", [ZCDP(0.5), ApproxDP(1.0, 1e-6)])
def test_only_gumbel_noise_keeps_budgets_that_are_not_pure(noise, budget):
    with pytest.raises(ValueError, match='noise="gumbel"'):
        OneshotTopK(k=2, budget=budget, noise=noise)
    with pytest.raises(ValueError, match='noise="gumbel"'):
        NoisyMax(budget=budget, noise=noise)


def test_a_guarantee_that_is_no_budget_is_refused():
    with pytest.raises(TypeError, match="PureDP"):
        NoisyMax(budget=BoundedRange(1.0), noise="gumbel")
