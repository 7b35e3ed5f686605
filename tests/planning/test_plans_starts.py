"""Where a search begins and what a law leaves out changes no plan."""

import math
from typing import Any

import pytest

import shortlist as sl
from shortlist.planning import plans
from shortlist.planning.plans import PlanRow
from shortlist.planning.rows import contestants
from shortlist.planning.search import TYPICAL, least_with_slope
from shortlist.utility import lists as guarded_list_law
from shortlist.utility import sets as guarded_law
from tests.helpers.support import in_suite

SMALL: dict[str, Any] = {"k": 3, "items": 20, "users": 1_000, "shape": "zipf:1.1", "domain": "known"}


def epsilons(**words):
    found = sl.plan(**SMALL, **words)
    return {(row.mechanism, row.budget, row.domain): row.epsilon for row in found.rows}


@pytest.mark.parametrize("goal", in_suite(["top", "recall", "good"], 0))
def test_a_plan_is_the_same_wherever_its_searches_begin_and_with_a_guard_that_never_wins(goal, monkeypatch):
    quick = epsilons(goal=goal, target=0.9)
    monkeypatch.setattr(plans.Trail, "start", lambda trail, one: ((1.0, TYPICAL), 0.7))
    monkeypatch.setattr(plans.Trail, "add", lambda *facts: None)
    monkeypatch.setattr(plans, "_simplest", lambda entrants: range(len(entrants)))
    for module in (guarded_law, guarded_list_law):
        monkeypatch.setattr(module, "matters", lambda guard: True)
    plain = epsilons(goal=goal, target=0.9)
    assert quick.keys() == plain.keys()
    assert all(quick[row] == pytest.approx(plain[row], rel=3 * plans.WIDTH) for row in plain)


@pytest.mark.parametrize("slope", [TYPICAL, 0.01, 50.0])
@pytest.mark.parametrize("start", [1e-3, 8.99, 400.0])
def test_a_slope_that_misleads_costs_tries_and_no_accuracy(slope, start):
    found, told = least_with_slope(
        lambda e: e / (1 + e), 0.9, start=start, width=1e-4, step=0.3, slope=slope  # the odds are e
    )  # fmt: skip
    assert 9.0 <= found <= 9.0 * (1 + 1e-4)
    assert told == pytest.approx(1.0, abs=0.05) or told == slope


def test_a_currency_in_which_nothing_was_paid_begins_with_the_others():
    trail = plans.Trail(0.2)
    one = next(one for one in contestants(4, "known", True) if one.currencies == ("zcdp",))
    first = trail.start(one)
    row = PlanRow("", "", "zcdp", "known", True, math.inf, math.inf, 1e-6, 0.9)
    trail.pay(row, TYPICAL)
    assert trail.start(one) == first
    trail.pay(PlanRow("", "", "zcdp", "known", True, 1.0, 0.02, 1e-6, 0.9), 7.0)
    (begin, slope), _ = trail.start(one)
    assert begin == pytest.approx(math.sqrt(8 * 0.02), rel=0.01)
    assert slope == 7.0
