"""Noisy histograms of capped counts: their noise, their law, and what they refuse."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP
from shortlist.audit import certify, prove_mechanism
from shortlist.exact.noise import GAUSSIAN, LAPLACE
from shortlist.mechanisms import NoisyHistogram, OneshotTopK
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import present

BUDGETS = [PureDP(1.0), ZCDP(0.1), ApproxDP(1.0, 0.05), ApproxDP(1.0, 1e-6)]


def noise_of(most, budget):
    return NoisyHistogram(k=1, most=most, budget=budget).noise(sl.Scores([1, 2], monotone=True))


def test_the_noise_is_that_of_the_formulas():
    assert (noise_of(3, PureDP(0.5)).noise, noise_of(3, PureDP(0.5)).scale) == (LAPLACE, 6)
    assert noise_of(1, ZCDP(0.02)).noise is GAUSSIAN
    assert float(noise_of(1, ZCDP(0.02)).scale) == pytest.approx(5, rel=1e-12)
    assert noise_of(1, ZCDP(0.02)).scale ** 2 >= 1 / (2 * Fraction(0.02))
    for epsilon, deviation in ((0.5, 8.057618), (1.0, 4.224679), (2.0, 2.230476)):
        found = noise_of(64, ApproxDP(epsilon, 1e-6))
        assert found.noise is GAUSSIAN
        assert found.deviation == pytest.approx(8 * deviation, rel=1e-6)
    assert noise_of(1, ApproxDP(1.0, 1e-6)).noise is LAPLACE  # 1.41 against 4.22
    assert noise_of(2, ApproxDP(1.0, 0.0)).scale == 2
    assert NoisyHistogram(k=1, most=1, budget=ApproxDP(1.0, 1e-6)).charge == PureDP(1.0)
    assert NoisyHistogram(k=1, most=64, budget=ApproxDP(1.0, 1e-6)).charge == ApproxDP(1.0, 1e-6)


def test_the_noise_does_not_depend_on_k():
    assert len({NoisyHistogram(k=k, most=2, epsilon=1.0).noise(sl.Scores([1] * 9)).scale for k in (1, 5, 9)}) == 1


def boxed(mechanism, **more: Any):
    return prove_mechanism(mechanism, d=mechanism.most, top=1, monotone=True, **more)


@pytest.mark.parametrize("budget", [*BUDGETS, ApproxDP(4.0, 0.3)])
@pytest.mark.parametrize(("k", "most"), [(1, 2), (2, 3)])
def test_it_is_proved_on_boxes_and_less_noise_is_not(budget, k, most):
    """All scores of the box may move; a mechanism that was told of one less is found out."""
    assert boxed(NoisyHistogram(k=k, most=most, budget=budget)).holds
    fewer = NoisyHistogram(k=k, most=most - 1, budget=budget)
    assert not prove_mechanism(fewer, d=most, top=1, monotone=True).holds


def test_with_more_candidates_than_the_cap_all_who_keep_it_are_covered():
    """Neighbours of a box of four, of which a person moves two at most."""
    mechanism = NoisyHistogram(k=2, most=2, budget=ApproxDP(1.0, 0.05))
    laws: dict[Any, Any] = {x: certify(mechanism, sl.Scores(list(x), monotone=True)) for x in np.ndindex(2, 2, 2, 2)}
    worst = [laws[x].stick(laws[y], 1.0) for x in laws for y in laws if sum(map(abs, np.subtract(x, y).tolist())) <= 2]
    assert max(worst) <= 0.05 < laws[0, 0, 0, 0].stick(laws[1, 1, 1, 0], 1.0)


@full_size
@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.3)])
def test_draws_have_the_law_of_the_race_and_values_that_of_rounded_noise(budget):
    """Seeded, and with power: noise that is a fifth wider is refuted."""
    mechanism = NoisyHistogram(k=1, most=2, budget=budget)
    scores = sl.Scores([4, 3, 0], monotone=True)
    drawn = mechanism.release_many(scores, draws=sized(10_000, full=100_000), rng=sl.testing.seeded(3))
    law = mechanism.inclusion_probabilities(scores)
    assert_law(np.bincount(drawn.indices[:, 0], minlength=3), law, wrong=[law[1], law[0], law[2]])
    alone = mechanism.release_many(sl.Scores([7], monotone=True), draws=20_000, rng=sl.testing.seeded(4))
    assert alone.reals is not None
    errors = np.clip(alone.reals[:, 0] - 7, -12, 12).astype(int) + 12
    scale = float(mechanism.noise(scores).scale)
    assert_law(np.bincount(errors, minlength=25), whole(budget, scale), wrong=whole(budget, 1.2 * scale))


def whole(budget, scale):
    """P[error = z], z = -12 .. 12, both ends together with what is beyond."""

    def at_least(z):
        x = (z - 0.5) / scale
        if isinstance(budget, PureDP):
            return math.exp(-x) / 2 if x >= 0 else 1 - math.exp(x) / 2
        return math.erfc(x / math.sqrt(2)) / 2

    ends = [1.0, *(at_least(z) for z in range(-11, 13)), 0.0]
    return -np.diff(ends)


def test_single_releases_are_those_of_many_draws():
    mechanism, source = NoisyHistogram(k=2, most=1, epsilon=2.0), sl.testing.seeded(5)
    for _ in range(40):
        release = mechanism.release([900, 20, 500, 7], monotone=True, rng=source)
        assert release.indices == [0, 2]
        values = present(release.values)
        assert all(value == int(value) for value in values)
        assert values == sorted(values, reverse=True)
        assert abs(values[0] - 900) < 20
        assert release.ordered


def test_its_set_is_that_of_a_race_at_k_epsilon_over_m():
    scores = sl.Scores([20, 14, 12, 11, 3, 0], monotone=True)
    histogram = NoisyHistogram(k=3, most=2, epsilon=0.5)
    race = OneshotTopK(k=3, epsilon=0.75, noise="laplace")
    assert histogram.success_probability(scores) == pytest.approx(race.success_probability(scores), abs=1e-8)
    assert histogram.quality(scores).recall == pytest.approx(race.quality(scores).recall, abs=1e-8)
    wide = NoisyHistogram(k=3, most=2, budget=ZCDP(0.2))
    assert sum(wide.inclusion_probabilities(scores)) == pytest.approx(3, abs=1e-6)
    assert 0 < wide.success_probability(scores) < 1


ROWS = pl.DataFrame({"user": [1, 1, 2, 3, 3], "item": ["a", "b", "a", "a", "c"]})


def test_counts_that_nobody_capped_are_refused():
    def count(**more: Any):
        return sl.count(ROWS, user="user", item="item", candidates=["a", "b", "c"], **more)

    mechanism = NoisyHistogram(k=2, most=2, epsilon=1.0)
    assert len(mechanism.release(count(most=2)).items or ()) == 2
    assert len(mechanism.release(count(most=1)).values or ()) == 2
    for scores in (count(), count(most=3)):
        with pytest.raises(ValueError, match="without a cap of 2 items"):
            mechanism.release(scores)
    with pytest.raises(ValueError, match="come from the data"):
        mechanism.release(sl.count(ROWS, user="user", item="item", most=2))


def test_what_is_no_histogram_is_refused():
    mechanism = NoisyHistogram(k=1, most=1, epsilon=1.0)
    with pytest.raises(ValueError, match="add-remove"):
        mechanism.release([1, 2], neighbours="replace")
    with pytest.raises(TypeError, match="whole numbers"):
        mechanism.release([1.5, 2.0])
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="most must be at least 1"):
            NoisyHistogram(k=1, most=wrong, epsilon=1.0)
    with pytest.raises(TypeError, match="most must be a whole number"):
        NoisyHistogram(k=1, most=1.5, epsilon=1.0)  # type: ignore[arg-type]


def test_a_ledger_books_the_budget_whatever_k_is(tmp_path):
    book = sl.Ledger(tmp_path / "book.db", budget=PureDP(1.0))
    scores = sl.count(ROWS, user="user", item="item", candidates=["a", "b", "c"], most=2)
    NoisyHistogram(k=3, most=2, epsilon=1.0).release(scores, ledger=book)
    with pytest.raises(sl.BudgetExceeded):
        NoisyHistogram(k=1, most=2, epsilon=0.5).release(scores, ledger=book)
