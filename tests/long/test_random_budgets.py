"""The quick calibration of many rounds beside the plain one, on a thousand budgets of all sizes."""

import pytest

from tests.accounting.test_calibrated_rounds import budgets, compare

pytestmark = pytest.mark.long


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("part", range(10))
def test_the_quick_way_fits_and_is_as_large_as_the_slow_one_on_a_thousand_budgets(part):
    for k, budget in budgets(100, 100 + part):
        compare(k, budget)
