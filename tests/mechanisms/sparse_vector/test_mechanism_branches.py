"""More than one cheaper test: chosen branches, their costs, laws and promise (Theorem 257); estimates of answers."""

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import ctx

import shortlist as sl
from shortlist import Release
from shortlist.audit import Law, certify, prove, prove_mechanism
from shortlist.audit.certified import base, threshold
from shortlist.mechanisms import SparseVector
from shortlist.testing import seeded
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind, present

THREE: Any = {"threshold": 1, "k": 1, "epsilon": 1.0, "branches": (4, 2)}


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
@pytest.mark.parametrize("more", [{}, {"branches": (3,), "deviations": 0.5}, {"branches": (8, 5, 2), "deviations": 0}])
def test_every_transcript_costs_what_it_says(noise, monotone, more):
    mechanism = SparseVector(**{**THREE, **more}, noise=noise, monotone=monotone)
    proof = prove_mechanism(mechanism, d=2 if len(mechanism.branches) < 3 else 1, monotone=monotone)
    assert proof.holds, proof
    assert proof.log_ratio > (0.4 if len(mechanism.branches) < 3 else 0.1)


def test_a_cheaper_test_without_its_noise_is_refuted():
    """The planted bug: a quarter of the cost with the noise of the whole."""
    rules = SparseVector(**THREE).rules
    narrow = tuple(
        dataclasses.replace(branch, test=dataclasses.replace(branch.test, scale=rules.branches[-1].test.scale))
        for branch in rules.branches
    )
    broken = dataclasses.replace(rules, branches=narrow)
    pairs = [((x, 30), (x + move, 30 - move)) for x in (-1, 0, 1) for move in (-1, 1)]
    with ctx.workprec(base.PRECISION):
        assert prove(lambda x: threshold.transcript_law(rules, x), pairs, SparseVector(**THREE).charge).holds
        assert not prove(lambda x: threshold.transcript_law(broken, x), pairs, SparseVector(**THREE).charge).holds


@pytest.mark.traced
def test_scales_costs_and_names():
    mechanism = SparseVector(threshold=100, k=3, epsilon=1.0, branches=(8, 4, 2), theta=0.4, monotone=True)
    rules = mechanism.rules
    each = Fraction(1) - Fraction(0.4)
    each /= 3
    assert [branch.cost for branch in rules.branches] == [each / 8, each / 4, each / 2, each]
    assert [branch.test.scale for branch in rules.branches] == [8 / each, 4 / each, 2 / each, 1 / each]
    assert [branch.name for branch in rules.branches] == ["1/8", "1/4", "1/2", "middle"]
    assert [branch.test.cut for branch in rules.branches] == [16 / each, 8 / each, 4 / each, 0]
    assert rules.weights == (1, 2, 4, 8)
    assert rules.enough == 17
    thirds = SparseVector(threshold=100, k=2, epsilon=1.0, branches=(3, 2)).rules
    assert thirds.weights == (2, 3, 6)
    assert thirds.enough == 7
    assert SparseVector(threshold=1, k=2, epsilon=1.0, adaptive=True).rules.weights == (1, 2)


def test_clear_answers_are_cheap_and_more_of_them_come_out():
    clear = [10**6] * 100
    counts = {}
    ways: dict[str, Any] = {"plain": {}, "two": {"adaptive": True}, "four": {"branches": (8, 4, 2)}}
    for name, words in ways.items():
        release = SparseVector(threshold=0, k=3, epsilon=1.0, monotone=True, **words).release(clear, rng=seeded(1))
        counts[name] = len(release)
        assert release.cost <= 1.0
    assert counts == {"plain": 3, "two": 5, "four": 17}


@full_size
@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
def test_draws_follow_the_certified_law(noise):
    """The branch of one question, by `release_many`, by `release` and by a stream; a wrong cut is refuted."""
    mechanism = SparseVector(threshold=0, k=1, epsilon=2.0, branches=(4, 2), deviations=1.0, noise=noise)
    question, names = 9, ["1/4", "1/2", "middle", "below"]
    other = dataclasses.replace(mechanism, deviations=0.0)
    with ctx.workprec(base.PRECISION):
        law, wrong = (
            [float(threshold.transcript(one.rules, [question], [name]).mid()) for name in names]
            for one in (mechanism, other)
        )
    assert sum(law) == pytest.approx(1.0)
    many = mechanism.release_many([question], draws=6000, rng=seeded(2))
    assert many.chosen is not None
    assert_law([int(np.count_nonzero(many.chosen == n)) for n in (0, 1, 2, -1)], law, wrong=wrong)
    source, drawn, asked = seeded(3), [], []
    for _ in range(sized(400, full=1500)):
        answers = mechanism.release([question], rng=source).answers or []
        drawn.append(answers[0].branch if answers else "below")
        asked.append(mechanism.stream(rng=source).ask(question).branch)
    for found in (drawn, asked):
        assert_law([found.count(name) for name in names], law, wrong=wrong)


def test_answers_have_estimates_and_margins():
    for noise in ("exponential", "laplace", "geometric"):
        mechanism = SparseVector(threshold=100, k=2, epsilon=4.0, branches=(4, 2), noise=noise)
        release = mechanism.release([9000, 0, 5000, 4000], rng=seeded(1))
        for answer, truth in zip(present(release.answers), (9000, 5000, 4000), strict=False):
            assert abs(answer.estimate - truth) <= 8 * answer.margin.error
            assert answer.margin.half_width > answer.margin.error
            law = answer._law
            assert law is not None
            mean = law.estimate(0) - law.threshold
            half = answer.margin.half_width
            inside = law.exceedance(math.nextafter(-mean - half, -math.inf)) - law.exceedance(half - mean)
            assert inside >= 0.95
            assert law.exceedance(-mean - 0.9 * half + 0.01) - law.exceedance(0.9 * half - mean) < 0.95
        assert Release.from_json(release.to_json()) == release
        with pytest.raises(AttributeError, match='an answer "below"'):
            mechanism.stream(rng=seeded(1)).ask(-(10**6)).estimate  # noqa: B018


def test_margins_hold_by_simulation():
    """The difference of the two noises, drawn by numpy: coverage 95%, and not with a margin a fifth narrower."""
    rng = np.random.default_rng(5)
    for noise in ("exponential", "laplace", "geometric"):
        law = SparseVector(threshold=0, k=2, epsilon=1.0, noise=noise).rules.branches[-1].law
        a, b = law.query_rate, law.threshold_rate
        if noise == "laplace":
            gap = rng.laplace(scale=1 / a, size=200_000) - rng.laplace(scale=1 / b, size=200_000)
        else:
            one, two = (rng.exponential(1 / rate, 200_000) for rate in (a, b))
            gap = np.floor(one) - np.floor(two) - law.centre if noise == "geometric" else one - 1 / a - two + 1 / b
        error = gap + law.estimate(0) - law.threshold
        assert abs(error.mean()) < 0.05 * law.margin.error
        assert error.std() == pytest.approx(law.margin.error, rel=0.02)
        assert (abs(error) <= law.margin.half_width).mean() == pytest.approx(0.95, abs=0.004)
        assert (abs(error) <= 0.8 * law.margin.half_width).mean() < 0.94


def test_what_is_no_list_of_branches_is_refused():
    for wrong, error in {"84": TypeError, (2.0,): TypeError, (True,): TypeError, 2: TypeError}.items():
        with pytest.raises(error, match="branches must be"):
            SparseVector(threshold=0, k=1, epsilon=1.0, branches=wrong)  # type: ignore[arg-type]
    for falling in ((1,), (2, 4), (2, 2), (65,), (0,), (-2,)):
        with pytest.raises(ValueError, match="branches must be"):
            SparseVector(threshold=0, k=1, epsilon=1.0, branches=falling)
    for many in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="deviations must be"):
            SparseVector(threshold=0, k=1, epsilon=1.0, branches=(2,), deviations=many)


def test_two_tests_are_those_of_adaptive_and_replacing_says_what_it_means():
    two, named = (SparseVector(threshold=5, k=2, epsilon=1.0, **w) for w in ({"adaptive": True}, {"branches": (2,)}))
    assert two.rules.weights == named.rules.weights
    assert two.release([9, 4, 8], rng=seeded(4)).gaps == named.release([9, 4, 8], rng=seeded(4)).gaps
    assert "branches" not in repr(two)
    assert "branches=(2,)" in repr(named)
    assert dataclasses.replace(two, adaptive=False).rules.weights == (1,)
    assert isinstance(of_kind(Law, certify(two, sl.Scores([1]))).chances, dict)


@pytest.mark.parametrize("last", [29, 31])
def test_many_runs_stop_where_one_does_however_fine_the_units_are(last):
    """With 29 the least common multiple of the branches is near 2^61, and sums of 64 bits wrapped: 37 answers for 2."""
    wider = tuple(one for one in (64, 63, 61, 59, 53, 47, 43, 41, 37, 31, 29) if one >= last)
    m = SparseVector(threshold=0, k=2, epsilon=50.0, branches=wider, deviations=50.0, monotone=True)
    runs = m.release_many([1] * 60, draws=100, rng=seeded(1))
    costs = [branch.cost for branch in m.rules.branches]
    assert max(sum(costs[test] for test in row if test >= 0) for row in present(runs.chosen)) <= 2 * m.rules.each
