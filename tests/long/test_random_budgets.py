"""Rounds are the largest that fit, on a thousand budgets of all sizes."""

import pytest

from tests.accounting.test_calibrated_rounds import budgets, compare

pytestmark = pytest.mark.long


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(10))
def test_rounds_fit_and_are_the_largest_on_a_thousand_budgets(part):
    for k, budget in budgets(100, 100 + part):
        compare(k, budget)
