"""A looser budget is never worse: the default under (epsilon, delta) and zCDP beside what else the budget buys."""

from itertools import product

import numpy as np
import pytest

from bench.looser import NAMES, SHAPES, made, missed_by_delta, missed_by_rho
from shortlist import Scores
from tests.helpers.support import in_suite

SOME = ("zipf 1.1", "cliff 60", "slope", "random 16")
"""Of the made-up shapes, those on which other constants were seen to fail, and two plain ones."""

ALLOWED = 0.01
EXCEPTIONS = {("cliff 12", 30): 0.015}
"""Shapes and k with rho where the property does not hold, and what is lost there: twelve towering scores keep a
collapsed canonical set above the junk level of k = 30."""


def of_shape(name, items):
    values = made(name)
    return Scores(values[np.linspace(0, len(values) - 1, items).astype(int)], monotone=True)


@pytest.mark.parametrize("name", in_suite(SOME[1::2], 0))
def test_a_delta_is_never_a_loss(name):
    """Below the collapse and above it, k = 10."""
    assert max(lost for _, lost in missed_by_delta(of_shape(name, 400), 10, points=2)) <= ALLOWED


@pytest.mark.parametrize(("name", "k"), in_suite(product(SOME, (3, 30)), 0, 3, 4, 7))
def test_rho_comes_up_to_the_better_of_canonical_and_peeling(name, k):
    """With 1.25 times the e of either (1.35 at k = 3), wherever that has a recall of one half."""
    assert max((lost for _, lost in missed_by_rho(of_shape(name, 400), k, points=4)), default=0.0) <= ALLOWED


@pytest.mark.long
@pytest.mark.parametrize("k", [3, 10, 30, 100, 300])
@pytest.mark.parametrize("name", SHAPES)
def test_a_looser_budget_is_never_worse_on_any_shape(name, k):
    scores, allowed = Scores(made(name), monotone=True), EXCEPTIONS.get((name, k), ALLOWED)
    assert max(lost for _, lost in missed_by_delta(scores, k, points=9)) <= ALLOWED
    assert max((lost for _, lost in missed_by_rho(scores, k, points=16)), default=0.0) <= allowed


@pytest.mark.long
@pytest.mark.parametrize("k", [3, 10, 30, 100, 300])
@pytest.mark.parametrize("name", NAMES)
def test_a_looser_budget_is_never_worse_on_real_data(shared_data, name, k):
    scores = Scores(np.load(shared_data / f"{name}.npy"), monotone=True)
    assert max(lost for _, lost in missed_by_delta(scores, k, points=9)) <= ALLOWED
    assert max((lost for _, lost in missed_by_rho(scores, k, points=16)), default=0.0) <= ALLOWED
