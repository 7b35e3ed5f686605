"""The noise kinds: laws, tails, and quantiles certified against Arb."""

import dataclasses
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from scipy import stats

from shortlist.exact import noise as exact_noise
from shortlist.noise import piecewise_noise
from tests.helpers.inside import KINDS, Seeded

SCIPY = {
    "exponential": stats.expon,
    "gumbel": stats.gumbel_r,
    "laplace": stats.laplace,
    "logistic": stats.logistic,
    "half-logistic": stats.halflogistic,
}
CUSTOM = piecewise_noise([-1, 2, 3, Fraction(7, 2)], [Fraction(-1, 3), 0, -1, Fraction(-1, 2)])
ALL = [*KINDS.values(), CUSTOM]
named = pytest.mark.parametrize("noise", KINDS.values(), ids=list(KINDS))
every = pytest.mark.parametrize("noise", ALL, ids=[noise.name for noise in ALL])

SURVIVAL = {  # independent of the quantiles: the survival functions in balls
    "exponential": lambda x: (-x).exp(),
    "gumbel": lambda x: -(-(-x).exp()).expm1(),
    "laplace": lambda x: (-x).exp() / 2 if x > 0 else 1 - x.exp() / 2,
    "logistic": lambda x: 1 / (1 + x.exp()),
    "half-logistic": lambda x: 2 / (1 + x.exp()),
}


@named
def test_the_law_in_logarithms_is_the_textbook_one(noise):
    x = np.concatenate([np.linspace(-30, 40, 701), [0.0, 1e-9, -1e-9, 5.0]])
    law = SCIPY[noise.name]
    with np.errstate(divide="ignore"):
        for ours, theirs in [
            (noise.log_survival, law.logsf),
            (noise.log_cdf, law.logcdf),
            (noise.log_density, law.logpdf),
        ]:
            np.testing.assert_allclose(ours(x), theirs(x), rtol=1e-9, atol=1e-12)


@every
def test_the_tail_bound_holds_and_never_falls(noise):
    x = np.linspace(-20, 60, 4001)
    decay = noise.decay(x)
    assert (decay <= -noise.log_survival(x) + 1e-12).all()
    assert (np.diff(decay) >= 0).all()


def test_the_plain_tail_bound_would_lose_half_of_half_logistic():
    x = np.linspace(3, 30, 100)
    half_logistic = KINDS["half-logistic"]
    assert (x > -half_logistic.log_survival(x)).all()  # e^-x is no bound on its survival


@every
def test_the_hazard_is_at_most_one(noise):
    x = np.linspace(-20, 60, 20_001)
    assert (np.diff(noise.log_survival(x)) >= -np.diff(x) * (1 + 1e-9)).all()


@named
def test_the_log_density_never_falls_faster_than_slope_minus_one(noise):
    x = np.linspace(1e-6 if noise.log_cdf(np.array([-1.0]))[0] == -np.inf else -20, 60, 20_001)
    assert (np.diff(noise.log_density(x)) >= -np.diff(x) * (1 + 1e-6)).all()


def hard_words():
    edges = [0, 1, 3, 4, 5, 2**10, 2**52, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2**20]
    edges += [2**64 - 6, 2**64 - 5, 2**64 - 4, 2**64 - 1]
    return np.concatenate([np.array(edges, np.uint64), Seeded(3).words(300)])


def encloses(noise, q, error, word, level):
    """Whether [q - error, q + error] contains Q at both ends of what the word leaves open."""
    bits = 64 + level
    with ctx.workprec(256):
        middle, radius = arb(fmpq(*q.as_integer_ratio())), arb(fmpq(*error.as_integer_ratio()))
        ends = noise.exact_quantile(word, bits), noise.exact_quantile(word + 1, bits)
        return all(abs(end - middle) <= radius for end in ends)


def violations(noise):
    words = hard_words()
    found = 0
    for level in (0, 1, 2, 4, 17, 40):
        q, error = noise.quantile(words, level)
        for one, e, word in zip(q.tolist(), error.tolist(), words.tolist(), strict=True):
            if math.isfinite(e):
                found += not encloses(noise, one, e, word, level)
            else:
                assert word < 4 or word >= 2**64 - 4
    return found


@every
def test_the_float_quantile_encloses_the_exact_one(noise):
    assert violations(noise) == 0


@every
def test_levels_may_differ_within_one_call(noise):
    words = hard_words()
    level = np.arange(len(words)) % 41
    q, error = noise.quantile(words, level)
    for j in (0, 13, 40):
        alone = noise.quantile(words, j)
        assert np.array_equal(q[level == j], alone[0][level == j])
        assert np.array_equal(error[level == j], alone[1][level == j])


@every
def test_float_errors_are_small_enough_to_decide_almost_always(noise):
    _, error = noise.quantile(Seeded(4).words(100_000), 0)
    assert np.quantile(error, 0.999) < 2000 * exact_noise.RELATIVE_ERROR


@every
def test_a_planted_bias_of_2_to_the_minus_30_in_a_float_quantile_is_caught(noise):
    def biased(words, level):
        q, error = noise.quantile(words, level)
        return q + 2.0**-30, error

    assert violations(dataclasses.replace(noise, quantile=biased)) > 1000


def exact_violations(noise, shift=Fraction(0)):
    """How often S(Q(u) + shift) misses u, by the survival function in balls."""
    found = 0
    for word in hard_words().tolist():
        if 0 < word < 2**64:
            with ctx.workprec(256):
                u = arb(fmpq(word, 2**64))
                back = SURVIVAL[noise.name](
                    noise.exact_quantile(word, 64) + arb(fmpq(shift.numerator, shift.denominator))
                )
                found += not back.overlaps(u)
    return found


@named
def test_the_exact_quantile_inverts_the_survival_function(noise):
    assert exact_violations(noise) == 0


@named
def test_a_planted_bias_of_2_to_the_minus_30_in_an_exact_quantile_is_caught(noise):
    assert exact_violations(noise, Fraction(1, 2**30)) > 250


@every
def test_the_ends_of_the_uniform_are_the_ends_of_the_support(noise):
    assert noise.exact_quantile(0, 64) == arb("inf")
    lowest = noise.exact_quantile(2**64, 64)
    support = {"exponential": 0, "half-logistic": 0, "custom": -1}
    assert lowest == support[noise.name] if noise.name in support else lowest == arb("-inf")


def test_numpy_logarithms_are_far_better_than_assumed():
    words = np.concatenate([Seeded(9).words(4000), np.array([1, 2, 3, 2**53 - 1, 2**63, 2**64 - 2**11], np.uint64)])
    v = words.astype(np.float64)
    u = np.ldexp(v, -64)[v < 2.0**63]
    with ctx.workprec(200):
        for function, exact, points in [(np.log, arb.log, v), (np.log1p, lambda x: (1 + x).log(), -u)]:
            for x, y in zip(points.tolist(), function(points).tolist(), strict=True):
                error = abs(arb(fmpq(*y.as_integer_ratio())) - exact(arb(fmpq(*x.as_integer_ratio()))))
                assert error <= (abs(y) + 2.0**-1000) * exact_noise.RELATIVE_ERROR / 256


@named
def test_named_noises_can_be_pickled(noise):
    assert pickle.loads(pickle.dumps(noise)) == noise


def test_an_unknown_noise_is_refused_with_the_names():
    with pytest.raises(ValueError, match="'gumbel'"):
        exact_noise.noise_named("gauss")
    with pytest.raises(ValueError, match="'gumbel'"):
        exact_noise.noise_named(["gumbel"])  # type: ignore[arg-type]
    assert repr(KINDS["gumbel"]) == "<noise gumbel>"
    assert math.isclose(exact_noise.LN2, math.log(2))
