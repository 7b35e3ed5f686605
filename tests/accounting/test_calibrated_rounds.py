"""Rounds of bounded range that fit a budget: the largest epsilon of a round, for budgets of all sizes."""

import numpy as np
import pytest

from shortlist.mechanisms import OneshotTopK
from shortlist.privacy import ApproxDP, BoundedRange, calibrate
from tests.helpers.support import in_suite
from tests.helpers.typed import of_kind


def budgets(many: int, seed: int, most: int = 3000) -> list[tuple[int, ApproxDP]]:
    """Rounds and budgets of all sizes."""
    rng = np.random.default_rng(seed)
    rounds = np.round(np.exp(rng.uniform(np.log(2), np.log(most), many))).astype(int)
    epsilons, deltas = 10 ** rng.uniform(-3, 1.7, many), 10 ** rng.uniform(-14, -2, many)
    return [(int(k), ApproxDP(float(e), float(d))) for k, e, d in zip(rounds, epsilons, deltas, strict=True)]


def largest(k: int, budget: ApproxDP) -> float:
    """The epsilon of a round, as one-shot top-k with Gumbel noise draws it."""
    ((rounds, times),) = OneshotTopK(k=k, budget=budget).charge.charges
    assert times == k
    return of_kind(BoundedRange, rounds).epsilon


def compare(k: int, budget: ApproxDP) -> None:
    e = largest(k, budget)
    slow = calibrate(lambda e: BoundedRange(e).repeat(k), budget, near=1e-3)
    assert budget.excess(BoundedRange(e).repeat(k)) <= 0
    assert e == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize(("k", "budget"), in_suite(budgets(8, 1, 200), 0, 1, 2, 3))
def test_rounds_fit_and_are_the_largest_wherever_the_search_begins(k, budget):
    compare(k, budget)


@pytest.mark.parametrize("k", [6, pytest.param(30, marks=pytest.mark.long), pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "budget", in_suite([ApproxDP(1e-3, 1e-2), ApproxDP(0.0101, 0.005), ApproxDP(2e-3, 3e-3)], 0, 1)
)
def test_where_delta_pays_for_nearly_all_rounds_are_the_largest_too(k, budget):
    compare(k, budget)


def test_a_budget_without_an_epsilon_pays_for_rounds_by_delta():
    e = largest(20, ApproxDP(0.0, 1e-9))
    assert ApproxDP(0.0, 1e-9).excess(BoundedRange(e).repeat(20)) <= 0


def test_without_a_delta_rounds_share_epsilon():
    assert largest(20, ApproxDP(1.0, 0.0)) == pytest.approx(0.05, rel=1e-8)


@pytest.mark.parametrize(
    ("rounds", "budget"),
    [
        (2453, ApproxDP(2.1685699606604284e-09, 1.8e-07)),
        pytest.param(4625, ApproxDP(5e-12, 2.88e-4), marks=pytest.mark.long),
    ],
)
def test_a_tiny_epsilon_beside_a_large_delta_is_calibrated(rounds, budget):
    """The cost falls to nothing there within a part in a hundred of e, and no slope is a guide."""
    e = largest(rounds, budget)
    assert budget.excess(BoundedRange(e).repeat(rounds)) <= 0 < budget.excess(BoundedRange(1.001 * e).repeat(rounds))
