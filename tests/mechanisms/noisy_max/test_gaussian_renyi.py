"""A winner under Gaussian noise, promised and booked in Renyi divergences (Theorem 55)."""

import math
import pickle
from functools import partial

import numpy as np
import pytest

import shortlist as sl
from shortlist import Scores
from shortlist.audit import alike, certify, neighbours, prove
from shortlist.mechanisms import NoisyMax
from shortlist.mechanisms.race import renyi_rate
from shortlist.privacy import ApproxDP, PureDP, RenyiDP
from shortlist.testing import seeded
from tests.helpers.support import assert_law

ORDERS = (2.0, 4.0, 16.0)
BUDGET = RenyiDP(ORDERS, tuple(0.4 * a + 1.2 / (a - 1) for a in ORDERS))
M = NoisyMax(noise="gaussian", budget=BUDGET)


def sigma(scores):
    return float(M._scale(scores))


@pytest.mark.parametrize("monotone", [True, False])
def test_divergences_are_kept_on_a_box(monotone):
    """By certified laws. The bound is loose, so it is a sigma of a fifth that the box refutes."""
    same = partial(alike, exchangeable=True, shift_invariant=True)

    def law(x, times=1.0):
        return certify(M, Scores([times * v for v in x], monotone=monotone))

    pairs = list(neighbours(3, 2, monotone=monotone))
    assert prove(law, pairs, M.charge, alike=same).holds
    assert not prove(partial(law, times=5.0), pairs, M.charge, alike=same).holds


@pytest.mark.parametrize("m", [1, 2, 10, 10_000])
def test_the_rate_fits_every_order_and_one_of_them_exactly(m):
    budget = RenyiDP((8.0, 64.0, 256.0), (3.0, 5.0, 20.0))
    rate = renyi_rate(budget, m)
    costs = [a * rate**2 / 2 + math.log(m) / (a - 1) for a in budget.orders]
    assert all(cost <= limit * (1 + 1e-15) for cost, limit in zip(costs, budget.epsilons, strict=True))
    assert max(cost / limit for cost, limit in zip(costs, budget.epsilons, strict=True)) == pytest.approx(1, abs=1e-12)


def test_too_many_candidates_are_refused_before_anything_is_booked(tmp_path):
    ledger = sl.Ledger(tmp_path / "l.db", budget=ApproxDP(9.0, 1e-6))
    with pytest.raises(ValueError, match="budget is too small for 100 candidates"):
        NoisyMax(noise="gaussian", budget=RenyiDP(2.0, 1.0)).release(list(range(100)), ledger=ledger)
    assert not list(ledger.entries())
    for wrong in ({"noise": "gumbel", "budget": BUDGET}, {"noise": "gaussian", "budget": BUDGET, "epsilon": 1.0}):
        with pytest.raises(TypeError):
            NoisyMax(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="gaussian noise needs"):
        NoisyMax(noise="gaussian", budget=PureDP(1.0))


def test_a_release_is_booked_in_renyi_divergences(tmp_path):
    ledger = sl.Ledger(tmp_path / "l.db", budget=ApproxDP(9.0, 1e-6), order=16.0)
    release = M.release([900, 20, 500], monotone=True, ledger=ledger, rng=seeded(1))
    assert release.index == 0
    assert release.guarantee == release.charge == BUDGET
    assert sl.Release.from_json(release.to_json()) == release
    assert len(list(ledger.entries())) == 1
    assert pickle.loads(pickle.dumps(M)) == M
    assert M.guarantee.epsilon_at(1e-6) < math.inf


def test_draws_follow_the_law_of_that_deviation():
    scores = Scores([3.0, 1.0, 0.0], sensitivity=1.5)
    draws = M.release_many(scores, draws=6000, rng=seeded(2))
    rng = np.random.default_rng(1)
    wide = [np.bincount((scores.values + s * rng.normal(size=(400_000, 3))).argmax(1), minlength=3) for s in
            (sigma(scores), 1.3 * sigma(scores))]  # fmt: skip
    law, wrong = (one / one.sum() for one in wide)
    np.testing.assert_allclose(M.probabilities(scores), law, atol=0.004)
    assert_law(np.bincount(draws, minlength=3), M.probabilities(scores), wrong=wrong)
