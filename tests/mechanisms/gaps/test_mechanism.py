"""TopKWithGaps, MeasuredTopK and ExponentialWithGap: their laws, estimates and refusals."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import ApproxDP, PureDP, Scores
from shortlist.mechanisms import ExponentialWithGap, HybridTopK, MeasuredTopK, SparseVector, TopKWithGaps
from shortlist.privacy import ZCDP
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import noting, present

GAPPED = [TopKWithGaps, MeasuredTopK]


def drawn(mechanism, scores, runs, seed=1):
    source = sl.testing.seeded(seed)
    return [mechanism.release(scores, rng=source) for _ in range(runs)]


def two_sided(g, centre=1.0, scale=2.0):
    """The distribution function of Laplace noise: the signed gap of two items under exponential noise."""
    z = (np.asarray(g, float) - centre) / scale
    return np.where(z < 0, np.exp(np.minimum(z, 0)) / 2, 1 - np.exp(-np.maximum(z, 0)) / 2)


@full_size
def test_the_signed_gap_of_two_items_under_exponential_noise_is_a_laplace_value():
    """q = (3, 2), Exp(2): density e^(-|g-1|/2)/4 on either side; P(winner 0) = .69673467 (Table 155)."""
    releases = drawn(TopKWithGaps(k=1, epsilon=1.0), Scores([3, 2]), sized(800, full=20_000))
    signed = [release.gap if release.index == 0 else -release.gap for release in releases]
    edges = np.linspace(-6, 8, 15)
    law, wrong = (np.diff([0, *two_sided(edges, scale=s), 1]) for s in (2.0, sized(4.0, full=2.3)))
    assert 1 - two_sided(0.0) == pytest.approx(0.69673467, abs=1e-8)
    assert_law(np.bincount(np.searchsorted(edges, signed), minlength=16), law, wrong=wrong)


@full_size
@pytest.mark.parametrize("noise", ["exponential", "laplace"])
def test_items_and_both_gaps_have_the_law_of_plain_noise(noise):
    values, k = np.array([6, 4, 3, 0]), 2
    releases = drawn(
        TopKWithGaps(k=k, epsilon=1.0, noise=noise), Scores(values, monotone=True), sized(800, full=20_000), seed=2
    )
    rng, plenty = np.random.default_rng(3), sized(300_000, full=10**6)

    def cells(order, gaps, unit):
        return (order[:, 0] * 4 + order[:, 1]) * 9 + np.minimum(gaps / unit, 2).astype(int) @ [3, 1]

    draw = rng.exponential if noise == "exponential" else rng.laplace
    plain = values + k * draw(size=(plenty, 4))
    order = np.argsort(-plain, axis=1)[:, :3]
    found = np.take_along_axis(plain, order, axis=1)
    law = np.bincount(cells(order[:, :2], -np.diff(found, axis=1), 1.5), minlength=144) / plenty
    ours = cells(np.array([r.indices for r in releases]), np.array([r.gaps for r in releases]), 1.5)
    unit = sized(2.8, full=1.6)
    wrong = np.bincount(cells(order[:, :2], -np.diff(found, axis=1), unit), minlength=144) / plenty
    keep = (law > 0) & (wrong > 0)
    assert keep[ours].mean() > 0.999
    counts = np.bincount(ours[keep[ours]], minlength=144)[keep]
    assert_law(counts, law[keep] / law[keep].sum(), wrong=wrong[keep] / wrong[keep].sum())


@pytest.mark.parametrize("mechanism", GAPPED)
def test_one_candidate_more_than_k_is_needed(mechanism):
    m = mechanism(k=2, epsilon=1.0)
    with pytest.raises(ValueError, match="need 3 candidates"):
        m.release([3, 1])
    with pytest.raises(ValueError, match="need 3 candidates"):
        m.release([3.0, 1.0, -np.inf])
    with pytest.raises(ValueError, match="more than the 1 candidates"):
        m.release([3])
    with pytest.raises(ValueError, match="public"):
        m.release({"a": 1, "b": 2, "c": 3})
    assert len(m.release([3, 1, 2]).gaps) == 2


@pytest.mark.parametrize("mechanism", GAPPED)
def test_bad_arguments_are_refused(mechanism):
    with pytest.raises(ValueError, match="at least 1"):
        mechanism(k=0, epsilon=1.0)
    with pytest.raises(ValueError, match="best loser"):
        mechanism(k=2, epsilon=1.0, noise="geometric")
    with pytest.raises(ValueError, match="best loser"):
        mechanism(k=2, epsilon=1.0, noise="gumbel")
    with pytest.raises(ValueError, match="epsilon"):
        mechanism(k=2, epsilon=-1.0)
    with pytest.raises(ValueError, match="work"):
        mechanism(k=2, epsilon=1.0, work="hard")
    for budget in (ZCDP(0.5), ApproxDP(1.0, 1e-6)):
        with pytest.raises(TypeError, match="pure budgets only"):
            mechanism(k=2, budget=budget)
    assert mechanism(k=2, budget=PureDP(1.0)) == mechanism(k=2, epsilon=1.0)


def generalised_least_squares(alpha, gaps, ratio):
    """The estimate by its definition: minimise sum (alpha - q)^2 / Var(xi) + the gaps' quadratic form / Var(eta)."""
    k = len(alpha)
    differences = np.eye(k - 1, k) - np.eye(k - 1, k, 1)
    design = np.vstack([np.eye(k), differences])
    covariance = np.zeros((2 * k - 1, 2 * k - 1))
    covariance[:k, :k] = np.eye(k)
    covariance[k:, k:] = ratio * differences @ differences.T
    weight = np.linalg.inv(covariance)
    return np.linalg.solve(design.T @ weight @ design, design.T @ weight @ np.append(alpha, gaps[: k - 1]))


def test_refining_is_the_best_linear_estimate():
    release = TopKWithGaps(k=4, epsilon=1.0, noise="laplace").release([90, 80, 70, 60, 0], monotone=True)
    alpha, variance = [88.0, 81.5, 69.0, 62.0], 17.0
    wanted = generalised_least_squares(alpha, release.gaps, 2 * 4.0**2 / variance)
    assert release.refine(alpha, variance=variance) == pytest.approx(wanted, rel=1e-12)


def test_one_item_is_its_own_measurement():
    release = TopKWithGaps(k=1, epsilon=1.0).release([90, 80])
    assert release.refine([3.5], variance=1) == [pytest.approx(3.5, rel=1e-15)]


def test_refining_needs_gaps_and_as_many_measurements():
    release = TopKWithGaps(k=2, epsilon=1.0).release([90, 80, 3])
    with pytest.raises(ValueError, match="2 of them"):
        release.refine([1.0], variance=1)
    with pytest.raises(TypeError, match="numbers"):
        release.refine(["one", "two"], variance=1)  # type: ignore[list-item]
    for variance in (0, -1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="variance"):
            release.refine([1, 2], variance=variance)
    with pytest.raises(AttributeError, match="no gaps"):
        sl.top_k([3, 1, 2], 2, epsilon=1.0).refine([1, 2], variance=1)
    with pytest.raises(AttributeError, match="nothing to refine"):
        ExponentialWithGap(epsilon=1.0).release([3, 1]).refine([1], variance=1)
    with pytest.raises(AttributeError, match="known threshold"):
        release.lower_bound(0.9)
    with pytest.raises(AttributeError, match="gaps instead of"):
        release.gap  # noqa: B018
    with pytest.raises(AttributeError, match="does not depend"):
        release.cost  # noqa: B018


class Recorded:
    """add_noise, that writes down what it was asked and answers with the value itself."""

    def __init__(self):
        self.asked = []

    def __call__(self, value, *, scale, noise, source):
        self.asked.append((value, scale, noise.name))
        return float(value)


@pytest.mark.parametrize(
    ("monotone", "noise", "ratio"),
    [(False, "laplace", 4), (True, "laplace", 1), (True, "exponential", 0.5), (False, "exponential", 2)],
)
def test_half_selects_and_half_measures_with_the_right_scales(monkeypatch, monotone, noise, ratio):
    from shortlist.mechanisms import gaps as module
    from shortlist.mechanisms.utility import estimates

    recorded = Recorded()
    asked: list[Any] = []
    monkeypatch.setattr(module, "add_noise", recorded)
    monkeypatch.setattr(estimates, "best_linear", noting(asked, lambda alpha, gaps, ratio: alpha))
    scores = Scores([90000, 500, 70000, 7], monotone=monotone, sensitivity=3)
    release = MeasuredTopK(k=2, epsilon=0.8, noise=noise).release(scores)
    half = Fraction(0.8) / 2
    assert recorded.asked == [(90000, 6 / half, "laplace"), (70000, 6 / half, "laplace")]
    assert [found for _, _, found in asked] == [pytest.approx(ratio, rel=1e-12)]
    assert release.guarantee == PureDP(0.8)


@full_size
@pytest.mark.parametrize(("noise", "reduction"), [("laplace", 4 / 10), ("exponential", 8 / 15)])
def test_refining_reduces_the_error_as_the_theory_says(noise, reduction):
    """(k-1)/(2k) and (2k-2)/(3k) for monotone scores, k = 5, where the order is certain."""
    truth = np.arange(6, 0, -1) * 10_000
    releases = drawn(
        MeasuredTopK(k=5, epsilon=1.0, noise=noise), Scores(truth, monotone=True), sized(300, full=5000), seed=4
    )
    error = np.mean((np.array([release.values for release in releases]) - truth[:5]) ** 2)
    alone = 2 * (5 / 0.5) ** 2
    assert 1 - error / alone == pytest.approx(reduction, abs=sized(0.1, full=0.03))


@full_size
def test_selection_bias_remains_where_the_order_is_close():
    """Forty equal scores: the winners' values are too high on average, and the note says where."""
    releases = drawn(MeasuredTopK(k=3, epsilon=1.0), Scores([0] * 40, monotone=True), sized(300, full=3000), seed=5)
    assert np.mean([release.values[0] for release in releases]) > 1.0
    assert "where it was close" in releases[0].notes[0]


MU = [1.5, 1.0, 0.0]


@full_size
def test_the_exponential_mechanism_with_gap_has_its_law():
    """Winner softmax; P(g >= y | s) = (1 + e^-theta) / (1 + e^(y - theta)) in units of the scale (Theorem 86)."""
    releases = drawn(ExponentialWithGap(epsilon=1.0), Scores([3, 2, 0]), sized(1000, full=20_000), seed=6)
    law: list[float] = []
    wrong: list[float] = []
    edges = np.array([0, 0.4, 1.0, 2.0, np.inf])
    wins = np.exp(MU) / np.exp(MU).sum()
    assert wins == pytest.approx([0.546549387, 0.331498960, 0.121951652], abs=1e-8)
    for s in range(3):
        theta = MU[s] - np.log(np.exp(MU).sum() - np.exp(MU[s]))
        for target, t in ((law, theta), (wrong, theta + sized(1.0, full=0.2))):
            target.extend(-wins[s] * np.diff((1 + np.exp(-t)) / (1 + np.exp(edges - t))))
    cells = [4 * r.index + np.searchsorted(edges, r.gap / 2, side="right") - 1 for r in releases]
    assert_law(np.bincount(cells, minlength=12), law, wrong=wrong)


@full_size
def test_the_p_value_is_that_of_theorem_seven_and_keeps_its_level():
    releases = drawn(ExponentialWithGap(epsilon=1.0), Scores([5, 5], monotone=True), sized(1000, full=20_000), seed=7)
    found = np.array([release.p_value for release in releases])
    gaps = np.array([present(release.gaps)[0] for release in releases])
    np.testing.assert_allclose(found, 2 / (1 + np.exp(gaps)), rtol=1e-9)
    far = ExponentialWithGap(epsilon=1.0).release([10**9, 5], monotone=True)
    assert 0 < present(far.p_value) < 1e-300
    for level in (0.05, 0.3):  # two equal scores: the p-value is exactly uniform
        assert abs(np.mean(found <= level) - level) < 5.5 * np.sqrt(level * (1 - level) / len(found))


def test_one_candidate_has_no_gap():
    with pytest.raises(ValueError, match="two candidates"):
        ExponentialWithGap(epsilon=1.0).release([3])
    with pytest.raises(ValueError, match="two candidates"):
        ExponentialWithGap(epsilon=1.0).release([3.0, -np.inf])
    with pytest.raises(TypeError, match="pure budgets only"):
        ExponentialWithGap(budget=ZCDP(0.5))
    with pytest.raises(ValueError, match="epsilon"):
        ExponentialWithGap(epsilon=0.0)
    release = ExponentialWithGap(epsilon=1.0).release([3, 1])
    assert "p_value" in str(release)
    assert release.guarantee == release.charge == PureDP(1.0)  # no bounded range


def test_a_tiny_budget_is_split_without_rounding_up():
    """Half of an odd multiple of the smallest float is no float: it must not become more than half."""
    assert MeasuredTopK(k=1, epsilon=1.5e-323).release([3, 1]).guarantee == PureDP(1.5e-323)


@pytest.mark.parametrize("threshold", [2**53 + 3, 2**62 + 513])
def test_lower_bounds_stay_below_whole_thresholds_beyond_all_floats(threshold):
    m = SparseVector(threshold=threshold, k=1, epsilon=50.0, noise="geometric")
    release = m.release([threshold], rng=sl.testing.seeded(1))
    for bound in release.lower_bound(0.95):
        assert bound.value <= threshold


@pytest.mark.parametrize(("noise", "epsilon"), [("laplace", 1e155), ("laplace", 1e-165), ("exponential", 1e-300)])
def test_lower_bounds_end_at_any_epsilon(noise, epsilon):
    m = SparseVector(threshold=0.0, k=1, epsilon=epsilon, noise=noise)
    for seed in range(4):
        release = m.release([1e300], rng=sl.testing.seeded(seed))
        assert all(bound.value <= 1e308 for bound in release.lower_bound(0.9))
    with pytest.raises(ValueError, match="confidence"):
        m.release([1e300] * 40).lower_bound(1e-17)


def test_a_generator_may_close_its_own_stream():
    def questions():
        try:
            while True:
                yield 1e9
        finally:
            stream.close()

    stream = SparseVector(threshold=0.0, k=1, epsilon=1.0).stream(questions())
    assert [answer.above for answer in stream] == [True]


def test_an_empty_list_has_nothing_to_refine():
    release = HybridTopK(threshold=1e6, k=2, epsilon=1.0).release([0, 1, 2])
    assert release.items == []
    assert release.refine([], variance=1.0) == []


def test_a_k_beyond_all_shares_is_refused_in_words():
    with pytest.raises(ValueError, match="k is too large"):
        SparseVector(threshold=0, k=10**500, epsilon=1.0).rules  # noqa: B018
    with pytest.raises(TypeError, match="cannot be copied"):
        SparseVector(threshold=0, k=1, epsilon=1.0).stream([]).__reduce_ex__(2)
