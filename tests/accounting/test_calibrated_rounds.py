"""The quick calibration of many rounds against the plain one."""

import numpy as np
import pytest

from shortlist.accounting import calibrate as calibrated_rounds
from shortlist.accounting.calibrate import FEW, largest_round, likely_round
from shortlist.mechanisms.race import quick_epsilon_of_a_round
from shortlist.privacy import ApproxDP, BoundedRange, calibrate
from tests.helpers.support import in_suite
from tests.helpers.typed import noting, present


def budgets(many: int, seed: int, most: int = 3000) -> list[tuple[int, ApproxDP]]:
    """Rounds and budgets of all sizes."""
    rng = np.random.default_rng(seed)
    rounds = np.round(np.exp(rng.uniform(np.log(2), np.log(most), many))).astype(int)
    epsilons, deltas = 10 ** rng.uniform(-3, 1.7, many), 10 ** rng.uniform(-14, -2, many)
    return [(int(k), ApproxDP(float(e), float(d))) for k, e, d in zip(rounds, epsilons, deltas, strict=True)]


def compare(k: int, budget: ApproxDP) -> None:
    near = quick_epsilon_of_a_round(k, budget) or 1.0
    quick = largest_round(k, budget, near)
    slow = calibrate(lambda e: BoundedRange(e).repeat(k), budget, near=near)
    assert budget.excess(BoundedRange(quick).repeat(k)) <= 0
    assert slow * (1 - 2e-6) <= quick <= slow * (1 + 1e-9)


@pytest.mark.parametrize(("k", "budget"), in_suite(budgets(8, 1, 200), 0, 1, 2, 3))
def test_the_quick_way_fits_and_is_as_large_as_the_slow_one(k, budget):
    compare(k, budget)


@pytest.mark.parametrize("budget", [ApproxDP(1.0, 1e-6), ApproxDP(0.1, 1e-9), ApproxDP(8.0, 1e-4)])
def test_few_rounds_say_how_much_many_are_worth(budget):
    """To some parts in a thousand, and nearly the same parts for half of delta."""
    ratios = []
    for delta in (budget.delta, budget.delta / 2):
        part = ApproxDP(budget.epsilon, delta)
        near = quick_epsilon_of_a_round(100, part)
        ratios.append(present(likely_round(100, part, near)) / largest_round(100, part, near))
    assert ratios == pytest.approx([1.0, 1.0], abs=5e-3)
    assert ratios[0] == pytest.approx(ratios[1], rel=2e-4)


def test_nothing_is_likely_of_budgets_without_an_epsilon_or_a_delta():
    assert likely_round(100, ApproxDP(0.0, 1e-6), 0.1) is likely_round(100, ApproxDP(1.0, 0.0), 0.1) is None


@pytest.mark.parametrize("gap", [0.3, -2.0, float("nan")])
def test_a_gap_that_misleads_costs_looks_and_no_privacy(gap, monkeypatch):
    budget = ApproxDP(1.0, 1e-6)
    near = quick_epsilon_of_a_round(60, budget)
    known = largest_round(60, budget, near)
    monkeypatch.setattr(calibrated_rounds, "_gap_alike", lambda *facts: gap * facts[1])
    found = largest_round(60, budget, near)
    assert found == pytest.approx(known, rel=2e-6)
    assert budget.excess(BoundedRange(found).repeat(60)) <= 0


@pytest.mark.parametrize("k", [6, pytest.param(30, marks=pytest.mark.long), pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "budget", in_suite([ApproxDP(1e-3, 1e-2), ApproxDP(0.0101, 0.005), ApproxDP(2e-3, 3e-3)], 0, 1)
)
def test_where_delta_pays_for_nearly_all_rounds_are_sought_by_delta(k, budget, monkeypatch):
    """As large as the plain search has it, which is not asked; nor are few looks that fail believed."""
    compare(k, budget)
    near = quick_epsilon_of_a_round(k, budget) or 1.0
    looks: list[float] = []
    with monkeypatch.context() as patched:
        patched.setattr(calibrated_rounds, "calibrate", None)
        patched.setattr(ApproxDP, "excess", noting(looks, ApproxDP.excess))
        known = largest_round(k, budget, near)
    assert len(looks) <= 2
    for name, value in {"_log_delta_alike": lambda *facts: float("nan"), "STEEPEST": 0.0, "LOOKS": 1}.items():
        with monkeypatch.context() as patched:
            patched.setattr(calibrated_rounds, name, value)
            assert largest_round(k, budget, near) == pytest.approx(known, rel=2e-6)


def test_few_rounds_are_searched_for_as_everything_else_is():
    budget = ApproxDP(1.0, 1e-6)
    near = quick_epsilon_of_a_round(FEW, budget)
    assert largest_round(FEW, budget, near) == calibrate(lambda e: BoundedRange(e).repeat(FEW), budget, near=near)


def test_without_a_rough_crossing_the_plain_search_takes_over(monkeypatch):
    budget = ApproxDP(1.0, 1e-6)
    near = quick_epsilon_of_a_round(20, budget)
    slow = calibrate(lambda e: BoundedRange(e).repeat(20), budget, near=near)
    monkeypatch.setattr(calibrated_rounds, "_place", lambda *facts: None)
    assert largest_round(20, budget, near) == slow
    monkeypatch.setattr(calibrated_rounds, "_place", lambda *facts: np.log(slow) - 0.3)
    monkeypatch.setattr(calibrated_rounds, "LOOKS", 1)
    assert largest_round(20, budget, near) == pytest.approx(slow, rel=1e-8)


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_budgets_without_an_epsilon_or_a_delta_have_no_rough_search(delta):
    if delta:
        found = largest_round(20, ApproxDP(0.0, delta), 1e-9)
        assert ApproxDP(0.0, delta).excess(BoundedRange(found).repeat(20)) <= 0
    else:
        assert largest_round(20, ApproxDP(1.0, 0.0), 0.05) == pytest.approx(0.05, rel=1e-8)


@pytest.mark.parametrize(
    ("rounds", "budget"),
    [
        (2453, ApproxDP(2.1685699606604284e-09, 1.8e-07)),
        pytest.param(4625, ApproxDP(5e-12, 2.88e-4), marks=pytest.mark.long),
    ],
)
def test_a_tiny_epsilon_beside_a_large_delta_is_calibrated(rounds, budget):
    """The cost falls to nothing there within a part in a hundred of e, and no slope is a guide."""
    e = largest_round(rounds, budget, quick_epsilon_of_a_round(rounds, budget))
    assert budget.excess(BoundedRange(e).repeat(rounds)) <= 0 < budget.excess(BoundedRange(1.001 * e).repeat(rounds))
