"""Exact decisions on partially drawn noise."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from shortlist.exact import reals
from shortlist.noise import piecewise_noise
from shortlist.sampling import thresholds
from tests.helpers.inside import KINDS, LAPLACE, Draw, Seeded, total
from tests.helpers.support import assert_law, full_size, sized

CUSTOM = piecewise_noise([0, 2, 3], [Fraction(-1, 2), 0, -1])
every = pytest.mark.parametrize("noise", [*KINDS.values(), CUSTOM], ids=lambda noise: noise.name)


class Script:
    """A source that hands out given words, then seeded ones: the hook that forces rare paths."""

    secure = False

    def __init__(self, *words):
        self.given = list(words)
        self.rest = Seeded(1)

    def words(self, count):
        head, self.given = self.given[:count], self.given[count:]
        return np.append(np.array(head, np.uint64), self.rest.words(count - len(head)))


def exact_uniform(draw, bits=2048):
    """The draw's uniform with many more bits, from a copy of its source's future (Script hands out seeded words)."""
    while draw.bits < bits:
        draw.refine()
    return Fraction(2 * draw.value + 1, 2 << draw.bits)


def noise_ball(noise, u):
    with ctx.workprec(4096):
        return noise.exact_quantile(u.numerator, u.denominator.bit_length() - 1)


def test_refining_keeps_every_bit():
    draw = Draw(LAPLACE, 5, 64, Seeded(3))
    draw.refine()
    assert draw.bits == 128
    assert draw.value >> 64 == 5
    assert draw.value & (2**64 - 1) == int(Seeded(3).words(1)[0])


@every
@pytest.mark.parametrize("coefficient", [Fraction(5, 3), Fraction(-5, 3)], ids=["plus", "minus"])
def test_what_few_bits_allow_is_enclosed(noise, coefficient):
    """Three bits of a uniform: the noise may be anything between two quantiles, and a negative one turns them round."""
    for value in range(1, 7):
        low, high = next(reals.narrowing(total(Fraction(2), [(coefficient, Draw(noise, value, 3, Seeded(1)))])))
        ends = [2 + coefficient * reals.exactly(noise.exact_quantile(v, 3).mid()) for v in (value, value + 1)]
        assert float(low) == pytest.approx(float(min(ends)))
        assert float(high) == pytest.approx(float(max(ends)))
        assert low < high


@every
def test_two_draws_that_agree_on_many_bits_are_told_apart_by_the_next_ones(noise):
    """128 common bits; then one continues lower, so its noise is larger."""
    for lower, higher in [(0, 1), (7, 2**63)]:
        a = reals.NoisyScore(Fraction(1, 3), Draw(noise, 2**62, 64, Script(9, lower)))
        b = reals.NoisyScore(Fraction(1, 3), Draw(noise, 2**62, 64, Script(9, higher)))
        assert reals.compare(a, b) == 1
        assert reals.compare(b, a) == -1
        assert a.draw.bits >= 192


@every
def test_a_sum_is_compared_with_zero_as_its_exact_value(noise):
    for seed in range(40):
        draw = Draw(noise, int(Seeded(seed).words(1)[0]), 64, Seeded(seed + 100))
        copy = Draw(noise, draw.value, 64, Seeded(seed + 100))
        value = noise_ball(noise, exact_uniform(copy))
        with ctx.workprec(300):
            middle = value.mid()
            mantissa, exponent = (int(part) for part in (middle * 2**90).floor().man_exp())
        just_below = mantissa * Fraction(2) ** exponent / 2**90  # within 2^-90 below the noise
        assert reals.is_positive(total(-just_below, [(Fraction(1), draw)]))
        assert not reals.is_positive(total(-just_below - Fraction(1, 2**89), [(Fraction(1), draw)]))


@every
@pytest.mark.parametrize("scale", [Fraction(1, 3), 10**9, 5e-324, 10**310], ids=["third", "large", "tiny", "huge"])
@pytest.mark.parametrize("value", [0, 3, -7.25, 2**53 + 1, Fraction(1, 3), 1e308])
def test_an_additive_release_is_the_exact_real_correctly_rounded(noise, scale, value):
    for seed in range(3):
        released = thresholds.add_noise(value, scale=Fraction(scale), noise=noise, source=Seeded(seed))
        source = Seeded(seed)
        u = exact_uniform(Draw(noise, int(source.words(1)[0]), 64, source), 2048)
        with ctx.workprec(4096):
            v, s = (arb(fmpq(f.numerator, f.denominator)) for f in (Fraction(value), Fraction(scale)))
            real = v + s * noise_ball(noise, u)
            mantissa, exponent = (int(part) for part in real.mid().man_exp())
        exact = mantissa * Fraction(2) ** exponent
        try:
            assert released == float(exact)
        except OverflowError:
            assert released == (math.inf if exact > 0 else -math.inf)


def test_a_value_below_the_smallest_float_is_one_zero():
    for seed in range(20):
        released = thresholds.add_noise(0, scale=Fraction(1, 10**400), noise=LAPLACE, source=Seeded(seed))
        assert math.copysign(1.0, released) == 1.0
        assert released == 0.0


def test_extreme_words_are_refined_before_anything_is_decided():
    for word in (0, 2**64 - 1):
        draw = Draw(LAPLACE, word, 64, Script(0, 2**64 - 1))
        assert math.isfinite(reals.nearest_float(total(Fraction(0), [(Fraction(1), draw)])))


def test_precision_is_restored():
    before = ctx.prec
    thresholds.add_noise(1, scale=Fraction(1), noise=LAPLACE, source=Seeded(1))
    reals.failures_before_success(0, 5, Seeded(1))
    assert ctx.prec == before


@full_size
@every
def test_an_additive_release_has_its_law(noise):
    source, edges = Seeded(21), np.linspace(-1.5, 4, 23)
    drawn = [
        (thresholds.add_noise(3, scale=Fraction(1, 2), noise=noise, source=source) - 3) * 2
        for _ in range(sized(1500, full=4000))
    ]
    cdf = np.concatenate([[0], np.exp(noise.log_cdf(edges)), [1]])
    other = np.concatenate([[0], np.exp(noise.log_cdf(edges + sized(0.5, full=0.3))), [1]])
    assert_law(np.bincount(np.searchsorted(edges, drawn), minlength=24), np.diff(cdf), wrong=np.diff(other))


@pytest.mark.traced(False)
@pytest.mark.parametrize("level", [1, 4, 5])
def test_exact_failures_before_success_are_geometric(level):
    source = Seeded(level)
    drawn = [reals.failures_before_success(int(word), level, source) for word in source.words(6000)]
    p = 2.0**-level
    cells = np.arange(int(8 / p))
    law = np.append(p * (1 - p) ** cells, (1 - p) ** len(cells))
    wrong = np.append(0, law[:-1])
    wrong[-1] += 1 - wrong.sum()
    assert_law(np.bincount(np.minimum(drawn, len(cells)), minlength=len(cells) + 1), law, wrong=wrong)


def test_a_word_on_the_edge_of_two_counts_is_decided_by_its_next_bits():
    """U at (1 - 2^-1)^3 = 2^-3 exactly: below it are 3 failures, above it 2."""
    edge = 2**61
    assert reals.failures_before_success(edge - 1, 1, Script(2**64 - 1, 2**64 - 1)) == 3
    assert reals.failures_before_success(edge, 1, Script(5)) == 2
    assert reals.failures_before_success(0, 1, Script(2**61)) == 64 + 2
