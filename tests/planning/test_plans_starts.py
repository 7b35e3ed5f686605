"""Where a search begins and what a law leaves out changes no plan."""

from typing import Any

import pytest

import shortlist as sl
from shortlist import utility
from shortlist.planning import plans
from tests.helpers.support import in_suite

SMALL: dict[str, Any] = {"k": 3, "items": 20, "users": 1_000, "shape": "zipf:1.1", "domain": "known"}


def epsilons(**words):
    found = sl.plan(**SMALL, **words)
    return {(row.mechanism, row.budget, row.domain): row.epsilon for row in found.rows}


@pytest.mark.parametrize("goal", in_suite(["top", "recall", "good"], 0))
def test_a_plan_is_the_same_wherever_its_searches_begin_and_with_a_guard_that_never_wins(goal, monkeypatch):
    quick = epsilons(goal=goal, target=0.9)
    monkeypatch.setattr(plans, "first_try", lambda one, bound, last: (1.0, 0.7))
    monkeypatch.setattr(utility, "NEVER", -1.0)
    plain = epsilons(goal=goal, target=0.9)
    assert quick.keys() == plain.keys()
    assert all(quick[row] == pytest.approx(plain[row], rel=3 * plans.WIDTH) for row in plain)
