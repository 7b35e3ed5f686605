"""NoisyMax with Gaussian noise: its law, and a cost that depends on the number of candidates."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

import shortlist as sl
from shortlist import ApproxDP, Ledger, PureDP, Scores
from shortlist.mechanisms import NoisyMax, OneshotTopK
from shortlist.privacy import ZCDP
from tests.helpers.support import assert_law, histogram

BUDGET = ApproxDP(1.0, 0.01)
M = NoisyMax(noise="gaussian", budget=BUDGET)


def sigma(scores):
    return float(M._scale(scores))


def test_draws_follow_the_law():
    x = Scores([6, 3, 0, -9])
    z = np.linspace(-80, 80, 100_001)
    density = [norm.pdf(z, v, sigma(x)) for v in x.values]
    below = [norm.cdf(z, v, sigma(x)) for v in x.values]
    law = [np.trapezoid(density[i] * np.prod(below[:i] + below[i + 1 :], axis=0), z) for i in range(4)]
    np.testing.assert_allclose(M.probabilities(x), law, atol=1e-9)
    assert M.success_probability(x) == pytest.approx(law[0])
    assert M.quality(x).recall == pytest.approx(law[0])
    rows = M.release_many(x, draws=20_000, rng=sl.testing.seeded(1))
    gumbel = NoisyMax(noise="gumbel", budget=BUDGET).probabilities(x)
    assert_law(histogram(rows, 4), law, wrong=gumbel)
    assert M.release(x).index in range(4)
    assert M.release(x).guarantee == M.release(x).charge == BUDGET


def test_many_candidates_are_drawn_by_skipping_too():
    x = np.zeros(20_000, np.int64)
    x[7] = 10**6
    assert M.release(x).index == 7
    assert NoisyMax(noise="gaussian", budget=BUDGET, work="fixed").release(x).index == 7


@pytest.mark.parametrize("monotone", [True, False])
def test_epsilon_and_delta_are_kept_on_a_box(monotone):
    moves = list(product((0, 1), repeat=4)) if monotone else list(product((-1, 0, 1), repeat=4))
    worst = 0.0
    for x in ((0, 0, 0, 0), (1, 0, 0, 0), (2, 2, 0, 0), (3, 0, 0, 0)):
        here = M.probabilities(Scores(x, monotone=monotone))
        for move in moves:
            there = M.probabilities(Scores(np.add(x, move), monotone=monotone))
            for p, q in ((here, there), (there, here)):
                worst = max(worst, float(np.maximum(p - np.e * q, 0.0).sum()))
    assert worst <= BUDGET.delta


def test_the_noise_grows_with_the_number_of_candidates():
    """sigma is that of a Gaussian mechanism at delta / m: the bound R^2 a / (2 sigma^2) + ln(m) / (a - 1)."""
    mechanism = NoisyMax(noise="gaussian", budget=ApproxDP(1.0, 1e-6))
    rates = [1 / float(mechanism._scale(Scores(np.zeros(m)))) for m in (2, 10, 1000)]
    assert rates == sorted(rates, reverse=True)
    for m, rate in zip((2, 10, 1000), rates, strict=True):
        assert ZCDP(rate**2 / 2).delta_at(1.0) * m <= 1e-6 * (1 + 1e-9)
    assert sigma(Scores([1.0, 2.0, -np.inf])) == sigma(Scores([1.0, 2.0]))  # who may never be chosen does not count


def test_a_claim_without_the_number_of_candidates_is_broken():
    """sqrt(8) Delta / sigma Gaussian DP, at m = 1000, Delta / sigma = .5, half up, half down (Proposition 137)."""
    z = np.linspace(-10, 12, 100_001)
    up = np.trapezoid(norm.pdf(z) * norm.cdf(z) ** 499 * norm.cdf(z + 1) ** 500, z)
    flat, moved = np.full(1000, 1 / 1000), np.repeat([up, 1 / 500 - up], 500)
    delta = float(np.maximum(flat - np.exp(1.67) * moved, 0.0).sum())
    assert delta == pytest.approx(0.3424, abs=1e-3)
    mu = 8**0.5 * 0.5
    claimed = norm.cdf(mu / 2 - 1.67 / mu) - np.exp(1.67) * norm.cdf(-mu / 2 - 1.67 / mu)
    assert claimed == pytest.approx(0.1610, abs=1e-3)


def test_for_monotone_scores_it_is_broken_at_a_million_candidates():
    """The same claim at Delta / sigma = .5, three tenths of all tied candidates up, the others as they are."""
    t, up, left, shift = np.linspace(-12, 14, 100_001), 300_000, 700_000, 0.5
    density = np.log(left) + norm.logpdf(t) + (left - 1) * norm.logcdf(t) + up * norm.logcdf(t - shift)
    stays = float(np.trapezoid(np.exp(density), t))  # the winner is one of those that stayed behind
    epsilon, mu = 0.3627, 8**0.5 * shift
    claimed = norm.cdf(mu / 2 - epsilon / mu) - np.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert 0.7 - np.exp(epsilon) * stays == pytest.approx(0.4584, abs=1e-4)
    assert claimed == pytest.approx(0.4330, abs=1e-4)


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.1), ApproxDP(1.0, 0.0), ApproxDP(0.0, 0.1)])
def test_only_epsilon_and_delta_together_will_do(budget):
    with pytest.raises(ValueError, match="ApproxDP"):
        NoisyMax(noise="gaussian", budget=budget)


def test_lists_have_no_gaussian_noise():
    with pytest.raises(ValueError, match="not known"):
        OneshotTopK(k=2, epsilon=1.0, noise="gaussian")
    with pytest.raises(ValueError, match="work"):
        NoisyMax(noise="gaussian", budget=BUDGET, work="slow")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="as_public"):
        M.release_many(Scores([1, 2])._as_counted(), draws=3)


def test_a_ledger_books_the_pair(tmp_path):
    with Ledger(tmp_path / "budget.db", budget=ApproxDP(3.0, 0.1)) as ledger:
        M.release([3, 2, 1], ledger=ledger)
        assert ledger.spent.epsilon == 1.0
        assert ledger.spent.delta == 0.01


def test_a_square_below_all_floats_is_not_taken_for_no_cost():
    """r^2 / 2 of r = 1e-170 is no float but 0, which fits every budget: r came out 10^40 times too large."""
    with pytest.raises(ValueError, match="no parameter fits the budget"):
        NoisyMax(budget=ApproxDP(1e-200, 1e-300), noise="gaussian").release([3, 1])
