"""What the gaps of hybrids say of the scores: values, margins, refined estimates, lower bounds (Theorem 253)."""

from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import Release, Scores
from shortlist.mechanisms import HybridSparseVector, HybridTopK
from shortlist.utility.estimates import best_linear_above
from tests.helpers.typed import present


@pytest.mark.parametrize("monotone", [True, False])
def test_a_list_that_the_threshold_ended_has_values(monotone):
    release = HybridTopK(threshold=100, k=4, epsilon=4.0).release([9000, 5000, 20, 7], monotone=monotone)
    assert release.indices == [0, 1]
    first, second = present(release.gaps)
    assert present(release.values) == [100 + (first + second), 100 + second]
    scale = 4 * (1 if monotone else 2) / 4
    assert [margin.error for margin in present(release.margins)] == pytest.approx([2**0.5 * scale] * 2)
    assert present(release.margins)[0].half_width == pytest.approx(np.log(20) * scale)
    bounds = release.lower_bound(0.95)
    assert [one.value for one in bounds] == pytest.approx([v - np.log(10) * scale for v in present(release.values)])
    assert "too high" in " ".join(release.notes)
    assert Release.from_json(release.to_json()) == release
    assert {"value", "margin", "gap"} <= release.columns().keys()


def test_a_full_list_has_no_values_and_an_empty_one_no_rows():
    full = HybridTopK(threshold=100, k=1, epsilon=4.0).release([9000, 5000], monotone=True)
    assert (full.values, full.margins, full.stopped) == (None, None, False)
    with pytest.raises(AttributeError, match="not gaps to a known threshold"):
        full.lower_bound(0.9)
    assert full.refine([9000.0], variance=2.0) == [9000.0]
    empty = HybridTopK(threshold=10**6, k=2, epsilon=4.0).release([9, 5], monotone=True)
    assert (empty.values, empty.margins, empty.lower_bound(0.9), empty.refine([], variance=1.0)) == ([], [], [], [])


def test_the_sparse_hybrid_has_values_too():
    release = HybridSparseVector(threshold=100, k=3, epsilon=4.0).release([9000, 20, 5000], monotone=True)
    assert present(release.values) == [100 + gap for gap in present(release.gaps)]
    law = release.evidence.laws[0]  # type: ignore[union-attr]
    assert release.margins == [law.margin] * 2
    assert law.margin.error == pytest.approx(law.variance**0.5)
    half = law.margin.half_width
    assert law.exceedance(-half) - law.exceedance(half) == pytest.approx(0.95, abs=1e-9)
    assert Release.from_json(release.to_json()) == release


@pytest.mark.parametrize("ratio", [0.1, 1.0, 7.0])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_refining_is_the_best_linear_estimate_with_a_known_threshold(n, ratio):
    """Against generalised least squares; the error and its variance are those of the theorem."""
    rng = np.random.default_rng(n)
    z, m = rng.normal(size=n), rng.normal(size=n)
    covariance = np.block([
        [np.eye(n) + 1, np.zeros((n, n))],
        [np.zeros((n, n)), np.eye(n) / ratio],
    ])  # fmt: skip
    design, weights = np.vstack([np.eye(n), np.eye(n)]), np.linalg.inv(covariance)
    inverse = np.linalg.inv(design.T @ weights @ design)
    expected = inverse @ design.T @ weights @ np.concatenate([z, m])
    np.testing.assert_allclose(best_linear_above(m.tolist(), z.tolist(), ratio), expected, rtol=1e-12)
    stated = (1 + 1 / (1 + ratio * (n + 1))) / (1 + ratio)
    np.testing.assert_allclose(np.diag(inverse), stated, rtol=1e-12)


def test_refining_a_release_uses_the_threshold():
    release = HybridTopK(threshold=100, k=3, epsilon=1.0).release([9000, 5000, 20], monotone=True)
    evidence: Any = release.evidence
    refined = release.refine([9000.0, 5000.0], variance=1e12)
    assert refined == pytest.approx(present(release.values), rel=1e-6)
    assert evidence.law.variance == pytest.approx(2 * 3.0**2)
    with pytest.raises(ValueError, match="measurements must be as many"):
        release.refine([1.0], variance=1.0)


def test_values_have_the_error_that_is_stated():
    """Seeded: scores so far apart that no selection happens; a scale of .8 or 1.25 times is refuted."""
    mechanism, source = HybridTopK(threshold=0, k=3, epsilon=1.0), sl.testing.seeded(5)
    scores = Scores([20_000, 10_000, -10_000, -20_000], monotone=True)
    errors = []
    for _ in range(600):
        release = mechanism.release(scores, rng=source)
        assert release.indices == [0, 1]
        errors.append(np.array(present(release.values)) - [20_000, 10_000])
    margin = present(release.margins)[0]
    stated, half = margin.error, margin.half_width
    spread = np.array(errors)
    assert np.sqrt((spread**2).mean(axis=0)) == pytest.approx([stated] * 2, rel=0.2)
    assert (abs(spread) <= half).mean() == pytest.approx(0.95, abs=0.03)
    assert (abs(spread) <= 0.6 * half).mean() < 0.9
