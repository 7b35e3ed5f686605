"""release_many of the mechanisms with gaps, values and lines: the law of the algorithm as it reads."""

import numpy as np
import pytest
from scipy.stats import gumbel_r, kstest, laplace

import shortlist as sl
from shortlist import ApproxDP, Scores
from shortlist.mechanisms import (
    ExponentialWithGap,
    GumbelTopKValues,
    HybridSparseVector,
    HybridTopK,
    LimitedDomainTopK,
    MeasuredTopK,
    TopKWithGaps,
)
from shortlist.sampling import race as rows_module
from tests.helpers.support import SIGNIFICANCE, full_size, p_value_of_two, sized
from tests.mechanisms.gaps.test_mechanism import generalised_least_squares

VALUES = np.array([7, 6, 4, 3])
RUNS = sized(8_000, full=60_000)


def gapped(epsilon=1.0, noise="exponential"):
    return TopKWithGaps(k=2, epsilon=epsilon, noise=noise)


def measured(epsilon=1.0, noise="exponential"):
    return MeasuredTopK(k=2, epsilon=epsilon, noise=noise)


def valued(epsilon=1.0):
    return GumbelTopKValues(k=2, budget=ApproxDP(epsilon, 1e-2))


def hybrid(epsilon=1.0):
    return HybridTopK(threshold=5, k=2, epsilon=epsilon)


def vector(epsilon=1.0):
    return HybridSparseVector(threshold=5, k=2, epsilon=epsilon)


def listed(epsilon=1.0, noise="gumbel"):
    return LimitedDomainTopK(k=2, limit=3, epsilon=epsilon, delta=0.3, noise=noise)


def with_laplace(make):
    return lambda epsilon=1.0: make(epsilon, "laplace")


def with_exponential(make):
    return lambda epsilon=1.0: make(epsilon, "exponential")


def with_gap(epsilon=1.0):
    return ExponentialWithGap(epsilon=epsilon)


MAKERS = {
    "gaps": gapped,
    "gaps, laplace": with_laplace(gapped),
    "measured": measured,
    "measured, laplace": with_laplace(measured),
    "exponential": with_gap,
    "values": valued,
    "hybrid": hybrid,
    "hybrid vector": vector,
    "limited": listed,
    "limited, exponential": with_exponential(listed),
}
every = pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
with_reals = pytest.mark.parametrize("make", list(MAKERS.values())[:-2], ids=list(MAKERS)[:-2])


def many(mechanism, draws, seed, values=VALUES, **question):
    """(indices, reals) of that many draws."""
    asked = {"monotone": True} | question
    found = mechanism.release_many(values, draws=draws, rng=sl.testing.seeded(seed), **asked)
    if not hasattr(found, "indices"):
        return found, np.empty((draws, 0))
    lines = isinstance(mechanism, HybridTopK | HybridSparseVector)  # their values follow from their gaps
    return found.indices, found.reals[:, : mechanism.k] if lines else found.reals


def cells(sample, edges):
    """One code for each draw: who won, and between which edges each real lies."""
    indices, reals = sample
    code = indices @ 7 ** np.arange(indices.shape[1])
    for column in range(reals.shape[1]):
        code = code * 5 + np.searchsorted(edges[column], reals[:, column])
    return code


def edges_of(reals):
    """Quartiles; what is not there lies beyond them all."""
    return [np.append(np.nanquantile(column, [0.25, 0.5, 0.75]), np.inf) for column in reals.T]


def plain(mechanism, rng, runs, stretch=1.0):
    """(indices, reals) by float noise, as the algorithm reads; the noise is stretched to plant a mistake."""
    scores, d = Scores(VALUES, monotone=True), len(VALUES)
    if isinstance(mechanism, ExponentialWithGap | GumbelTopKValues):
        unit = mechanism.scale(scores) if isinstance(mechanism, GumbelTopKValues) else mechanism._scale(scores)
        noisy = VALUES + stretch * float(unit) * rng.gumbel(size=(runs, d))
        order = np.argsort(-noisy, axis=1)[:, :2]
        best = np.take_along_axis(noisy, order, axis=1)
        return (order, best) if isinstance(mechanism, GumbelTopKValues) else (order[:, :1], -np.diff(best, axis=1))
    if isinstance(mechanism, HybridTopK | HybridSparseVector):
        each = scale = 2.0
        lift = 0.0
        if isinstance(mechanism, HybridSparseVector):
            scale, each = (1 / float(share) for share in mechanism.shares(scores))
            lift = each - scale
        line = 5 + lift + stretch * scale * rng.exponential(size=(runs, 1))
        noisy = np.append(VALUES + each * rng.exponential(size=(runs, d)), line, axis=1)
        order = np.argsort(-noisy, axis=1)[:, :3]
        best = np.take_along_axis(noisy, order, axis=1)
        over = -np.diff(best, axis=1) if isinstance(mechanism, HybridTopK) else best[:, :2] - line
        out = np.logical_or.accumulate(order == d, axis=1)[:, :2]
        return np.where(out, -1, order[:, :2]), np.where(out, np.nan, over)
    draw = rng.laplace if mechanism.noise == "laplace" else rng.exponential
    scale = 2.0 if isinstance(mechanism, TopKWithGaps) else 4.0
    noisy = VALUES + stretch * scale * draw(size=(runs, d))
    order = np.argsort(-noisy, axis=1)[:, :3]
    gaps = -np.diff(np.take_along_axis(noisy, order, axis=1), axis=1)
    if isinstance(mechanism, TopKWithGaps):
        return order[:, :2], gaps
    alpha = VALUES[order[:, :2]] + 4.0 * rng.laplace(size=(runs, 2))
    ratio = 1.0 if mechanism.noise == "laplace" else 0.5
    linear = np.array([generalised_least_squares(one[:2], [one[2], 0.0], ratio) for one in np.eye(3)])
    return order[:, :2], np.column_stack([gaps, np.column_stack([alpha, gaps[:, :1]]) @ linear])


@full_size
@with_reals
def test_many_draws_have_the_law_of_the_algorithm_as_it_reads(make):
    ours, rng, runs = many(make(), RUNS, seed=4), np.random.default_rng(5), sized(2 * 10**5, full=10**6)
    edges = edges_of(ours[1])
    assert p_value_of_two(cells(ours, edges), cells(plain(make(), rng, runs), edges)) > SIGNIFICANCE
    wrong = plain(make(), rng, runs, stretch=sized(1.4, full=1.15))
    assert p_value_of_two(cells(ours, edges), cells(wrong, edges)) < SIGNIFICANCE


def assert_ks(sample, law, wrong):
    assert kstest(sample, law).pvalue > SIGNIFICANCE
    assert kstest(sample, wrong).pvalue < SIGNIFICANCE


def test_gaps_and_values_follow_their_formulas():
    """Laplace for the signed gap of two, Gumbel for the best value, Laplace of half the scale for the measurement."""
    indices, reals = many(gapped(), RUNS, seed=6, values=[3, 2, -(10**6)])
    signed = np.where(indices[:, 0] == 0, 1, -1) * reals[:, 0]
    assert_ks(signed, laplace(1, 2).cdf, laplace(1, 2.6).cdf)
    gamma = float(valued().scale(Scores(VALUES, monotone=True)))
    soft_max = gamma * np.log(np.exp(VALUES / gamma).sum())
    best = many(valued(), RUNS, seed=7)[1][:, 0]
    assert_ks(best, gumbel_r(soft_max, gamma).cdf, gumbel_r(soft_max, 1.3 * gamma).cdf)
    indices, reals = many(MeasuredTopK(k=1, epsilon=1.0), RUNS, seed=8, monotone=False)
    noise = reals[:, 1] - VALUES[indices[:, 0]]
    assert_ks(noise, laplace(0, 2).cdf, laplace(0, 2.6).cdf)


def test_the_gap_of_the_exponential_mechanism_follows_its_formula():
    """P(g >= y | winner) = (1 + e^-t) / (1 + e^(y - t)), t = ln(p / (1 - p)), in units of the scale (Theorem 86)."""
    indices, reals = many(with_gap(), RUNS, seed=9)
    chances = np.exp(VALUES) / np.exp(VALUES).sum()
    for winner, t in enumerate(np.log(chances / (1 - chances))[:2]):
        ours = reals[indices[:, 0] == winner, 0]

        def law(y, t=t, scale=1.0):
            return 1 - (1 + np.exp(-t)) / (1 + np.exp(np.maximum(y, 0) / scale - t))

        assert_ks(ours, law, lambda y, law=law: law(y, scale=1.5))


@with_reals
def test_scores_and_sensitivity_may_be_scaled_together(make):
    indices, reals = many(make(), 300, seed=11)
    if make is not hybrid and make is not vector:
        scaled = many(make(), 300, seed=11, values=1024 * VALUES, sensitivity=1024)
        assert np.array_equal(scaled[0], indices)
        assert np.array_equal(scaled[1], 1024 * reals, equal_nan=True)
    shifted = many(make(), 300, seed=11, values=VALUES.astype(float))
    assert np.array_equal(shifted[0], indices)
    assert np.array_equal(shifted[1], reals, equal_nan=True)


@pytest.mark.parametrize("mechanism", [HybridTopK, HybridSparseVector])
def test_thresholds_may_be_scaled_as_well(mechanism):
    one = many(mechanism(threshold=5, k=2, epsilon=1.0), 300, seed=12)
    two = many(mechanism(threshold=5 * 1024, k=2, epsilon=1.0), 300, seed=12, values=1024 * VALUES, sensitivity=1024)
    assert np.array_equal(one[0], two[0])
    assert np.array_equal(1024 * one[1], two[1], equal_nan=True)


@with_reals
def test_shapes_are_those_of_releases(make):
    indices, reals = many(make(), 300, seed=14)
    k = 1 if make is with_gap else 2
    assert indices.shape == (300, k)
    assert indices.dtype == np.int64
    assert reals.shape == (300, 2 * k if "measured" in make().name else k)
    short = indices < 0
    if make in (hybrid, vector):
        assert short.any()
        assert not short.all()
        assert np.array_equal(np.isnan(reals), short)
    else:
        assert not short.any()
        assert np.isfinite(reals).all()
    if make is not valued:
        assert not (reals[:, :k] < 0).any()


@pytest.mark.parametrize("mechanism", [HybridTopK, HybridSparseVector])
def test_fewer_candidates_than_k_leave_the_rest_open(mechanism):
    m = mechanism(threshold=0, k=5, epsilon=1.0)
    indices, reals = many(m, 50, seed=15, values=[10.0**6, -np.inf, 10.0**5])
    assert (indices == [0, 2, -1, -1, -1]).all()
    assert (np.isnan(reals) == (indices < 0)).all()


def test_limited_lists_that_are_empty_or_long():
    nobody = many(listed(), 20, seed=16, values=[0, 0])[0]
    assert nobody.tolist() == [[-1, -1]] * 20
    counts = np.append([9000, 7000], np.full(2 * rows_module.SKIP_FROM, 5))
    m = LimitedDomainTopK(k=3, limit=rows_module.SKIP_FROM + 2, epsilon=1.0, delta=1e-6)
    assert many(m, 5, seed=17, values=counts)[0].tolist() == [[0, 1, -1]] * 5


@with_reals
def test_large_inputs_are_drawn_by_skipping(make):
    values = np.append(VALUES + 10**6, np.zeros(rows_module.SKIP_FROM, int))
    indices, reals = many(make(), 5, seed=18, values=values)
    assert ((indices >= 0) & (indices < len(VALUES))).all()
    assert np.isfinite(reals).all()


@every
def test_what_cannot_be_studied_is_refused(make):
    with pytest.raises(ValueError, match="at least 1"):
        many(make(), 0, seed=1)
    with pytest.raises(TypeError, match="whole number"):
        many(make(), 2.5, seed=1)
    with pytest.raises(TypeError, match="rng"):
        make().release_many(VALUES, monotone=True, draws=3, rng=7)
    with pytest.raises(ValueError, match="as_public"):
        make().release_many(Scores(VALUES, monotone=True)._as_counted(), draws=3)
