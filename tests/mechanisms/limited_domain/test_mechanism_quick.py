"""The list of the noisy choice: calibrated quickly by Renyi divergences, within its budget, and nearly as good."""

import numpy as np
import pytest

from shortlist import ApproxDP
from shortlist.accounting.curves import many_rounds
from shortlist.mechanisms import LimitedDomainTopK
from shortlist.mechanisms.race import renyi_epsilon_of_a_round
from shortlist.mechanisms.unknown_domain import default_limit, quick_list
from shortlist.privacy import ThinnedRange
from shortlist.utility import searching
from tests.helpers.support import in_suite
from tests.helpers.typed import of_kind

BUDGETS = [ApproxDP(epsilon, delta) for epsilon in (0.05, 0.36, 1.08, 4.0) for delta in (1e-9, 1e-6)]


@pytest.mark.parametrize("k", [7, 20])
def test_its_rounds_and_its_bar_fit_the_budget(k):
    """By the recursion for adaptive rounds, which knows nothing of Renyi divergences, and is itself rounded up."""
    for budget in BUDGETS:
        charge = of_kind(ThinnedRange, quick_list(k, default_limit(k), budget).charge)
        assert charge.rounds == k
        rounds = float(many_rounds(charge.epsilon, k)(np.array([budget.epsilon]))[0])
        assert 0 < rounds <= 1.02 * (budget.delta - charge.delta), budget


def two_rounds(x, e, places=4000):
    """delta at x of two adaptive rounds of e-bounded range: the best window of the first, the second known exactly."""

    def one(at):
        inside = np.expm1((np.clip(at, -e, e) - e) / 2) ** 2 / -np.expm1(-e)
        return np.where(at <= -e, -np.expm1(at), inside)

    t = np.linspace(0, e, places + 1)
    low = np.expm1(t) / np.expm1(e)
    return ((1 - low) * one(x - t) + low * one(x - t + e)).max()


def test_two_rounds_and_their_bar_fit_the_budget_and_nearly_fill_it():
    for budget in BUDGETS:
        charge = of_kind(ThinnedRange, quick_list(2, 1000, budget).charge)
        spent = charge.delta + two_rounds(budget.epsilon, charge.epsilon)
        assert 0.98 * budget.delta < spent <= budget.delta * (1 + 1e-9)


@pytest.mark.parametrize(("k", "more"), in_suite([(3, 1.005), (7, 1.03), (20, 1.08)], 0, 1))
def test_its_bar_is_nearly_as_low_as_that_of_the_long_calibration(k, more):
    """By zCDP it stood 12% higher at k = 7."""
    for budget in (ApproxDP(0.36, 1e-6), ApproxDP(1.08, 1e-6)):
        assert quick_list(k, 1000, budget).offset <= more * LimitedDomainTopK(k=k, budget=budget, limit=1000).offset


def least_delta(e, k, epsilon):
    """ln of what k rounds need at epsilon: over orders, of the greatest divergence over 400 windows [t - e, t]."""
    less = np.geomspace(1e-2, 1e5, 1200)[:, None]
    t = np.linspace(0, e, 402)[None, 1:-1]
    low = np.expm1(t) / np.expm1(e)  # the chance of the loss t - e
    ends = np.log1p(-low) + less * t, np.log(low) + less * (t - e)
    divergence = np.logaddexp(*ends).max(axis=1, keepdims=True) / less
    log_delta = less * (k * divergence - epsilon) - np.log(less) + (1 + less) * np.log(less / (1 + less))
    return log_delta.min()


@pytest.mark.parametrize("k", [2, 7, 50])
def test_a_round_is_nearly_the_largest_that_fits_by_renyi_divergences(k):
    for budget in BUDGETS[1::2]:
        e = renyi_epsilon_of_a_round(k, budget)
        assert least_delta(e, k, budget.epsilon) < np.log(budget.delta) + 1e-3
        assert least_delta(1.002 * e, k, budget.epsilon) > np.log(budget.delta)


def test_nothing_fits_where_delta_is_none():
    assert renyi_epsilon_of_a_round(3, ApproxDP(1.0, 0.0)) == 0.0
    assert renyi_epsilon_of_a_round(3, ApproxDP(0.0, 1e-6)) == 0.0


def test_a_search_that_knows_the_share_of_its_last_try_finds_the_same_list():
    budgets = [ApproxDP(epsilon, 1e-6) for epsilon in (0.5, 0.52, 0.55, 2.0)]
    for k in (1, 10):
        alone = [quick_list(k, 1000, budget) for budget in budgets]
        with searching("recall"):
            assert [quick_list(k, 1000, budget) for budget in budgets] == alone
