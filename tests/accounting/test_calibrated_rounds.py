"""The quick calibration of many rounds against the plain one, and what a round of the recursion must not understate."""

import numpy as np
import pytest

from shortlist._arrays import Floats
from shortlist.accounting import bounded_range, calibrated_rounds
from shortlist.accounting.bounded_range import ROUGH, WORK, many_rounds, one_round
from shortlist.accounting.calibrated_rounds import FEW, largest_round, seems_too_much
from shortlist.mechanisms.oneshot.mechanism import quick_epsilon_of_a_round
from shortlist.privacy import ApproxDP, BoundedRange, PureDP, calibrate
from tests.helpers.support import in_suite


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


@pytest.mark.parametrize(("k", "budget"), [(10, ApproxDP(1.0, 1e-6)), (40, ApproxDP(0.3, 1e-8))])
def test_what_fits_another_share_of_delta_never_seems_too_much(k, budget):
    less = ApproxDP(budget.epsilon, 0.6 * budget.delta)
    known, fits = (largest_round(k, one, quick_epsilon_of_a_round(k, one)) for one in (budget, less))
    assert not seems_too_much(fits, k, less, (known, budget))
    assert seems_too_much(1.02 * fits, k, less, (known, budget))
    assert not seems_too_much(1.02 * fits, k, less, (known, PureDP(1.0)))


@pytest.mark.parametrize("k", [6, pytest.param(30, marks=pytest.mark.long), pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "budget", in_suite([ApproxDP(1e-3, 1e-2), ApproxDP(0.0101, 0.005), ApproxDP(2e-3, 3e-3)], 0, 1)
)
def test_where_delta_pays_for_nearly_all_the_plain_search_takes_over(k, budget):
    compare(k, budget)


def test_few_rounds_are_searched_for_as_everything_else_is():
    budget = ApproxDP(1.0, 1e-6)
    near = quick_epsilon_of_a_round(FEW, budget)
    assert largest_round(FEW, budget, near) == calibrate(lambda e: BoundedRange(e).repeat(FEW), budget, near=near)


def test_without_a_rough_crossing_the_plain_search_takes_over(monkeypatch):
    budget = ApproxDP(1.0, 1e-6)
    near = quick_epsilon_of_a_round(20, budget)
    slow = calibrate(lambda e: BoundedRange(e).repeat(20), budget, near=near)
    monkeypatch.setattr(calibrated_rounds, "_place", lambda rounds, budget, near, gap: None)
    assert largest_round(20, budget, near) == slow
    monkeypatch.setattr(calibrated_rounds, "_place", lambda rounds, budget, near, gap: np.log(slow) - 0.3)
    monkeypatch.setattr(calibrated_rounds, "LOOKS", 1)
    assert largest_round(20, budget, near) == pytest.approx(slow, rel=1e-8)


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_budgets_without_an_epsilon_or_a_delta_have_no_rough_search(delta):
    if delta:
        found = largest_round(20, ApproxDP(0.0, delta), 1e-9)
        assert ApproxDP(0.0, delta).excess(BoundedRange(found).repeat(20)) <= 0
    else:
        assert largest_round(20, ApproxDP(1.0, 0.0), 0.05) == pytest.approx(0.05, rel=1e-8)


def plain_rounds(epsilon: float, rounds: int, cells: int, tries: int) -> Floats:
    """V at 0, step, ... by trying many t between the grid points: from below, for chords of V on the grid."""
    step = epsilon / cells
    grid = step * np.arange(rounds * cells + 1)
    t = np.linspace(0.0, epsilon, tries * cells + 1)
    b = np.expm1(t) / np.expm1(epsilon)
    values = np.zeros(grid.size)
    for _ in range(rounds):
        known = values

        def chord(x: Floats) -> Floats:
            at = np.minimum(np.abs(x) / step, grid.size - 1.0)
            cell = np.minimum(at.astype(int), grid.size - 2)
            share = np.expm1((at - cell) * step) / np.expm1(step)
            above = known[cell] + share * (known[cell + 1] - known[cell])  # noqa: B023
            return np.where(x >= 0, above, -np.expm1(np.minimum(x, 0.0)) + np.exp(np.minimum(x, 0.0)) * above)

        values = np.array([np.max((1 - b) * chord(x - t) + b * chord(x - t + epsilon)) for x in grid])
    return values


@pytest.mark.parametrize("epsilon", [1e-200, 1e-12, 1e-4, 0.3, 0.6, 5.0])
def test_a_round_is_never_understated(epsilon, monkeypatch):
    monkeypatch.setattr(bounded_range, "_recursion", bounded_range._recursion.__wrapped__)
    x = np.linspace(0.0, 2.9 * epsilon, 50)
    finer, plain = many_rounds(epsilon, 3, WORK)(x), plain_rounds(epsilon, 3, 256, 4)
    below = np.interp(x, epsilon / 256 * np.arange(plain.size), plain)
    assert np.all(finer >= below * (1 - 1e-4) - 1e-12 * epsilon)
    assert finer == pytest.approx(below, rel=2e-3, abs=1e-9 * epsilon)
    assert np.all(many_rounds(epsilon, 40, ROUGH)(10 * x) >= many_rounds(epsilon, 40, WORK)(10 * x) * (1 - 1e-9))


@pytest.mark.parametrize("rounds", [2, 7])
def test_tiny_rounds_cost_in_proportion(rounds):
    """V(x) / epsilon at x = share * epsilon has a limit; rounding once hid a third of it at epsilon = 1e-12."""
    share = np.linspace(0.0, rounds - 0.02, 60)
    known = many_rounds(1e-7, rounds)(share * 1e-7) / 1e-7
    for tiny in (1e-12, 1e-50, 1e-200):
        assert many_rounds(tiny, rounds)(share * tiny) / tiny == pytest.approx(known, rel=1e-5)
    assert np.all(many_rounds(1e-12, rounds)(share * 1e-12) >= one_round(1e-12)(share * 1e-12) * (1 - 1e-9))


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
