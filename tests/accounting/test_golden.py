"""Against dp-accounting 0.6 and mpmath; `golden/make_numbers.py` made the numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shortlist.privacy import ZCDP, ApproxDP, GumbelDP, compose

GOLDEN = json.loads((Path(__file__).parent / "golden" / "numbers.json").read_text())


@pytest.mark.parametrize("row", GOLDEN["products"], ids=str)
def test_products_agree_with_dp_accounting(row):
    """Its losses are rounded up to multiples of 1e-4, and 0.3 / 1e-4 is a little above 3000 in floats."""
    total = compose(*(ApproxDP(epsilon, delta).repeat(times) for epsilon, delta, times in row["parts"]))
    lower, upper = total.epsilon_bounds(row["delta"])
    assert lower <= row["pessimistic"] * (1 + 1e-6)
    assert row["pessimistic"] - 2e-4 <= upper <= row["pessimistic"] * (1 + 2e-5)


@pytest.mark.parametrize("row", GOLDEN["zcdp"], ids=str)
def test_zcdp_agrees_with_its_renyi_accountant_and_is_not_below_the_gaussian(row):
    lower, upper = ZCDP(row["rho"]).epsilon_bounds(row["delta"])
    assert row["renyi"] * (1 - 2e-4) <= upper <= row["renyi"] * (1 + 1e-9)
    assert lower == pytest.approx(row["gaussian"], rel=1e-4)


@pytest.mark.parametrize(("k", "mu", "epsilon", "value"), GOLDEN["gumbel"])
def test_gumbel_agrees_with_quadrature_in_the_far_tail_too(k, mu, epsilon, value):
    found = GumbelDP(mu, k).delta_at(epsilon)
    assert float(value) <= found <= float(value) * (1 + 1e-11)


@pytest.mark.parametrize(("k", "mu", "epsilon", "value"), GOLDEN["two_clock"])
def test_two_clocks_agree_with_quadrature(k, mu, epsilon, value):
    lower, upper = GumbelDP(mu, k, monotone=False).delta_bounds(epsilon)
    assert float(value) <= upper <= float(value) * (1 + 5e-5)
    assert 0.8 * float(value) < lower <= float(value)
