"""Certified intervals around noisy scores, and the ranking they decide."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from shortlist.exact import reals
from tests.helpers.inside import EXPONENTIAL, GUMBEL, KINDS, LAPLACE, Contest, Draw, Seeded
from tests.helpers.support import full_size, sized

scales = st.one_of(
    st.fractions(min_value=Fraction(1, 10**6), max_value=10**6),
    st.sampled_from([Fraction(5e-324), Fraction(1e-300), Fraction(10) ** 300, Fraction(10) ** 400, Fraction(1, 3)]),
)


def check_positions(values, scale, centre):
    contest = Contest(values, 1, scale, EXPONENTIAL, centre)
    for value, position in zip(values.tolist(), contest.positions(values).tolist(), strict=True):
        true = (Fraction(value) - Fraction(centre)) / scale
        if abs(true) >= Fraction(reals.FAR):
            assert position == (reals.FAR if true > 0 else -reals.FAR) or abs(Fraction(position)) >= Fraction(
                reals.FAR
            ) * (1 - Fraction(reals.POSITION_ROUNDING))
        else:
            assert abs(Fraction(position) - true) <= Fraction(reals.POSITION_ROUNDING) * abs(true) + Fraction(
                1, 10**300
            )


@full_size
@settings(max_examples=sized(120, full=300))
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6), scales, st.data())
def test_positions_of_floats_are_exact_to_fifty_bits(values, scale, data):
    check_positions(np.array(values), scale, data.draw(st.sampled_from(values)))


@full_size
@settings(max_examples=sized(120, full=300))
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6), scales, st.data())
def test_positions_of_large_integers_are_exact_to_fifty_bits(values, scale, data):
    check_positions(np.array(values, np.int64), scale, data.draw(st.sampled_from(values)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.float32])
def test_positions_accept_every_stored_type(dtype):
    values = np.array([3, 100, 7], dtype)
    check_positions(values, Fraction(7, 3), values[1].item())


@pytest.mark.parametrize("noise", KINDS.values(), ids=list(KINDS))
def test_intervals_contain_the_exact_finish(noise):
    values = np.array([0.0, -1e-3, 1e6, -1e15, 1e300, -1.7e308, 12.5])
    words = Seeded(2).words(len(values))
    for scale in (Fraction(1), Fraction(1, 10**9), Fraction(10) ** 9, Fraction(1e-305)):
        contest = Contest(values, 1, scale, noise, 0.5)
        low, high = contest.intervals(values, words, 0)
        for i in range(len(values)):
            number = contest.noisy_score(i, int(words[i]), 0, Seeded(1))
            with ctx.workprec(4000):
                ends = [
                    arb(fmpq(number.position.numerator, number.position.denominator)) + e
                    for e in number.draw.enclosure()
                ]
                assert arb(low[i]) <= ends[0]
                assert ends[1] <= arb(high[i])


def test_a_candidate_at_minus_infinity_never_finishes():
    values = np.array([1.0, -np.inf, -1e308])
    low, high = Contest(values, 1, Fraction(1e-200), LAPLACE, 1.0).intervals(values, Seeded(1).words(3), 0)
    assert high[1] == -np.inf
    assert low[2] == -np.inf
    assert high[2] > -np.inf


def numbers(positions, seed=5):
    """Noisy scores with their exact noise, as a table of lazily drawn numbers."""
    words = Seeded(seed).words(len(positions))
    made = [
        reals.NoisyScore(Fraction(p), Draw(GUMBEL, int(w), 64, Seeded(i)))
        for i, (p, w) in enumerate(zip(positions, words, strict=True))
    ]
    with ctx.workprec(100):
        finish = np.array([float(n.position) + float(GUMBEL.exact_quantile(n.draw.value, 64)) for n in made])
    return made, finish


@pytest.mark.parametrize("width", [0.0, 1e-9, 0.3, 3.0, np.inf])
@pytest.mark.parametrize("k", [1, 3, 10, 24])
def test_the_ranking_does_not_depend_on_how_wide_the_intervals_are(width, k):
    made, finish = numbers(np.linspace(0, 2, 24))
    asked = []

    def exact(i):
        asked.append(i)
        return made[i]

    order = reals.ranking(finish - width - 1e-12, finish + width + 1e-12, k, exact)
    assert order.tolist() == np.argsort(-finish)[:k].tolist()
    assert bool(asked) == (width > 1e-6)


def test_only_runs_that_matter_are_sorted_exactly():
    made, finish = numbers([50.0, 30.0, 0.0, 0.0, 0.0])
    asked = set()

    def exact(i):
        asked.add(i)
        return made[i]

    assert reals.ranking(finish - 10.0, finish + 10.0, 2, exact).tolist() == [0, 1]
    assert not asked & {2, 3, 4}
