"""Noise from code: near the law that the code says, of hazard at most 1 whatever it says, and refused in words."""

import pickle
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from flint import arb

import shortlist as sl
from shortlist.audit import Law, alike, neighbours, prove
from shortlist.audit.certified import base
from shortlist.mechanisms import NoisyMax, OneshotTopK
from shortlist.noise import custom_noise, piecewise_noise
from studies.broken.selection import custom
from tests.helpers.inside import EXPONENTIAL, LOGISTIC
from tests.helpers.support import assert_law, histogram


def logistic(x):
    return -((1 + x.exp()).log())


def slow_then_fast(x):
    return -x / 3 if x < 1 else -(x - 1) - arb(1) / 3


SLOW = custom_noise(slow_then_fast, low=0, high=3, knots=4)


def pieces(noise):
    """(knots, slopes) of the law that was made."""
    made = noise.log_survival.pieces
    return [start for start, _, _ in made], [slope for _, slope, _ in made]


def test_it_is_exported_in_the_room_of_noise():
    assert vars(sl.noise)["custom_noise"] is custom_noise


def test_a_linear_code_is_exponential_noise_to_the_last_bit():
    assert custom_noise(lambda x: -x, low=0, high=1, knots=2) == piecewise_noise([0, 1], [-1, -1])
    np.testing.assert_array_equal(
        custom_noise(lambda x: -x, low=0, high=1, knots=2).log_survival(np.array([0.5, 7.0])),
        EXPONENTIAL.log_survival(np.array([0.5, 7.0])),
    )


@pytest.mark.parametrize(("knots", "error"), [(33, 2e-2), (257, 5e-4)])
def test_the_law_is_near_that_of_the_code_given_that_it_is_above_low(knots, error):
    noise = custom_noise(logistic, low=-4, high=12, knots=knots)
    x = np.linspace(-4, 12, 1001)
    given = LOGISTIC.log_survival(x) - LOGISTIC.log_survival(np.array([-4.0]))
    assert np.abs(noise.log_survival(x) - given).max() < error
    at = np.array(noise.kinks)
    given = LOGISTIC.log_survival(at) - LOGISTIC.log_survival(np.array([-4.0]))
    assert np.abs(noise.log_survival(at) - given).max() < 16 / 2**30 + 1e-13


@pytest.mark.parametrize("code", [logistic, slow_then_fast, lambda x: -x, lambda x: -(x.exp() / 10**6)])
def test_every_slope_is_between_minus_one_and_zero(code):
    _, slopes = pieces(custom_noise(code, low=0, high=8, knots=33))
    assert all(-1 <= slope <= 0 and (slope * 2**30).denominator == 1 for slope in slopes)
    assert slopes[-1] < 0


def test_a_steep_code_is_stretched_by_its_bound():
    assert custom_noise(lambda x: -5 * x, low=0, high=1, knots=2, lipschitz=5) == piecewise_noise([0, 5], [-1, -1])


@pytest.mark.parametrize(
    ("code", "words", "message"),
    [
        (lambda x: -arb(3) / 2 * x, {}, "too steeply after 0:.*lipschitz"),
        (lambda x: -x if x < 2 else -x - arb(1) / 1000, {}, "too steeply after 1"),
        (lambda x: -(1 + arb(2) ** -28) * x, {}, "too steeply"),
        (lambda x: x, {}, "rises after 0"),
        (lambda x: -x if x < 2 else -x + 5, {}, "rises after 1"),
        (lambda x: arb(-1) if x > 1 else -x, {}, "last slope"),
        (lambda x: x.log(), {"low": 0, "high": 1}, "finite at the knots; at 0"),
        (lambda x: -x + arb(0, 1e-6), {}, "too roughly"),
        (lambda x: -x, {"low": 3}, "below high"),
        (lambda x: -x, {"low": float("nan")}, "low and high must be finite"),
        (lambda x: -x, {"knots": 1}, "knots must be"),
        (lambda x: -x, {"knots": 2.5}, "knots must be"),
        (lambda x: -x, {"knots": True}, "knots must be"),
        (lambda x: -x, {"knots": 10**6}, "knots must be"),
        (lambda x: -x, {"lipschitz": 0}, "lipschitz must be above 0"),
        (lambda x: -x, {"lipschitz": "steep"}, "lipschitz must be finite"),
        (lambda x: -x, {"high": 2**40}, "within 2"),
        (lambda x: -x, {"name": "gumbel"}, "name"),
    ],
)
def test_what_is_no_such_survival_function_is_refused(code, words, message):
    with pytest.raises(ValueError, match=message):
        custom_noise(code, **{"low": 0, "high": 3, "knots": 4} | words)


def test_a_code_that_certifies_nothing_is_refused():
    def in_floats(x: Any) -> Any:
        return -float(x)

    with pytest.raises(TypeError, match=r"flint\.arb"):
        custom_noise(in_floats, low=0, high=1)


def test_the_code_is_called_at_the_knots_and_never_again():
    """It may be stateful, or no survival function between the knots: the law is fixed once it is made."""
    calls: list[float] = []

    def code(x):
        calls.append(float(x))
        return -x

    noise = custom_noise(code, low=0, high=1, knots=3)
    assert calls == [0.0, 0.5, 1.0]
    OneshotTopK(k=2, epsilon=1.0, noise=noise).release([3, 2, 1], rng=sl.testing.seeded(1))
    assert len(calls) == 3
    assert pickle.loads(pickle.dumps(noise)) == noise


def box(noise, monotone):
    """The sets of two out of four, at epsilon 1: the scale that `OneshotTopK` gives them."""
    same = partial(alike, exchangeable=True, shift_invariant=True)
    scale = 2 if monotone else 4
    return prove(
        lambda x: Law(base.set_law(x, 2, noise, scale)), neighbours(4, 1, monotone=monotone), sl.PureDP(1.0), alike=same
    )


@pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])
def test_sets_keep_epsilon_on_a_box(monotone):
    assert box(custom(*pieces(SLOW)), monotone).holds


@pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])
def test_the_law_of_a_code_that_is_refused_would_break_it(monotone):
    """One knot too steep: slope -2 between 0 and 3 is what the refusal keeps out."""
    with pytest.raises(ValueError, match="too steeply after 0"):
        custom_noise(lambda x: -2 * x, low=0, high=3, knots=4)
    assert box(custom([0, 3], [-2, -1]), monotone).least_log_ratio > 1.01


def test_draws_follow_the_certified_law_and_the_order_stays_inside():
    """The library's own draws and exact utility against the law in balls, written from knots and slopes alone."""
    mechanism, scores = OneshotTopK(k=2, epsilon=1.0, noise=SLOW), [3, 2, 0, 1]
    assert not mechanism.ordered
    law = {pair: float(p) for pair, p in base.set_law(scores, 2, custom(*pieces(SLOW)), 4).items()}
    wrong = base.set_law(scores, 2, custom([0, 1], [Fraction(-3, 4), -1]), 4)
    rows = mechanism.release_many(scores, draws=100_000, rng=sl.testing.seeded(300))
    pairs = list(combinations(range(4), 2))
    counts = [np.count_nonzero((rows == pair).all(axis=1)) for pair in pairs]
    assert_law(counts, [law[pair] for pair in pairs], wrong=[float(wrong[pair]) for pair in pairs])
    assert mechanism.success_probability(scores) == pytest.approx(law[0, 1], abs=1e-9)


def test_one_winner_under_noise_from_code():
    noise = custom_noise(logistic, low=-4, high=12)
    mechanism = NoisyMax(epsilon=1.0, noise=noise)
    law = mechanism.probabilities([3, 2, 0])
    winners = mechanism.release_many([3, 2, 0], draws=100_000, rng=sl.testing.seeded(301))
    assert_law(histogram(winners, 3), law, wrong=law + np.array([-0.01, 0.01, 0.0]))
