"""Margins: the least symmetric intervals whose exact coverage is at least 95%, and their standard errors."""

import json
from fractions import Fraction
from math import inf, sqrt
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import laplace, norm

import shortlist as sl
from shortlist import ZCDP, ApproxDP, Release
from shortlist.mechanisms import GumbelTopKValues, KeySet, MeasuredSet, MeasuredTopK, Mechanism, NoisyHistogram
from shortlist.testing import seeded
from shortlist.utility.estimates import (
    gaussian_margin,
    geometric_margin,
    margin_with_gaps,
    whole_laplace_margin,
)
from tests.helpers.inside import Geometric
from tests.helpers.support import full_size, sized
from tests.helpers.typed import present


@pytest.mark.parametrize("sigma", [0.2, 0.5, 1.0, 2.657, 8.0, 70.3, 1234.5])
@pytest.mark.parametrize("grid", [Fraction(1), Fraction(1, 16)])
def test_half_widths_are_the_least_that_cover(sigma, grid):
    step, margin = float(grid), gaussian_margin(Fraction(sigma), grid)

    def coverage(h):
        return 1 - 2 * norm.sf((h + step / 2) / sigma)

    assert coverage(margin.half_width) >= 0.95
    assert margin.half_width == 0 or coverage(margin.half_width - step) < 0.95
    n = np.arange(-int(12 * sigma / step) - 2, int(12 * sigma / step) + 3)
    masses = norm.cdf((n + 0.5) * step / sigma) - norm.cdf((n - 0.5) * step / sigma)
    assert margin.error == pytest.approx(sqrt(float(masses @ (n * step) ** 2)), rel=1e-6)


@pytest.mark.parametrize("noise", [Geometric(Fraction(1), 14), Geometric(Fraction(1, 20)), Geometric(Fraction(5))])
def test_half_widths_of_geometric_noise_are_the_least_that_cover(noise):
    margin = geometric_margin(noise)
    n = np.arange(-400, 401)
    masses = np.array([float(noise.chance(int(x))) for x in n])
    inside = float(masses[np.abs(n) <= margin.half_width].sum())
    fewer = float(masses[np.abs(n) < margin.half_width].sum())
    assert inside >= 0.95 > fewer
    assert margin.error == pytest.approx(sqrt(float(masses @ n**2)), rel=1e-5)


@pytest.mark.parametrize("scale", [0.1, 0.4, 3.0, 57.5])
def test_half_widths_of_rounded_laplace_noise_are_the_least_that_cover(scale):
    margin = whole_laplace_margin(Fraction(scale))
    assert np.exp(-(margin.half_width + 0.5) / scale) <= 0.05
    assert margin.half_width == 0 or np.exp(-(margin.half_width - 0.5) / scale) > 0.05
    n = np.arange(1, 5000)
    masses = 2 * (laplace.sf((n - 0.5) / scale) - laplace.sf((n + 0.5) / scale))
    assert margin.error == pytest.approx(sqrt(float(masses @ n**2)), rel=1e-9)


def test_oracles_of_standard_errors():
    for n, error in ((5, 28.281), (8, 45.253), (10, 56.567), (100, 565.685)):
        assert geometric_margin(Geometric(Fraction(1, 4 * n))).error == pytest.approx(error, abs=1e-3)
    assert gaussian_margin(Fraction(10)).half_width == pytest.approx(19.5996398454)


@pytest.mark.parametrize("noise", ["exponential", "laplace"])
@pytest.mark.parametrize("k", [1, 2, 5, 40])
def test_refined_estimates_are_covered(noise, k):
    margin = margin_with_gaps(k, Fraction(2 * k), Fraction(2 * k), noise)
    rng, draws = np.random.default_rng(k), 200_000
    share = 1 / (1 + (0.5 if noise == "exponential" else 1.0))
    measuring = rng.laplace(scale=2 * k, size=(draws, k))
    selecting = (rng.exponential if noise == "exponential" else rng.laplace)(scale=2 * k, size=(draws, k))
    error = measuring[:, 0] if k == 1 else (
        (1 - share) * measuring[:, 0] + share * measuring.mean(1) + share * (selecting[:, 0] - selecting.mean(1))
    )  # fmt: skip
    assert error.std() == pytest.approx(margin.error, rel=0.02)
    assert np.mean(np.abs(error) <= margin.half_width) == pytest.approx(0.95, abs=0.003)


@full_size
def test_draws_are_covered_as_often_as_said():
    """Far from the bar, and where the order is not in doubt, values are within their margin in 95% of the draws."""
    truth = [90_000, 60_000, 30_000, 100, 50]
    scores = sl.Scores(truth, monotone=True)
    named = sl.Scores({f"n{i}": n for i, n in enumerate(truth)}, monotone=True, public=False)
    cases: list[tuple[Mechanism, sl.Scores]] = [
        (MeasuredTopK(k=3, epsilon=1.0), scores),
        (MeasuredSet(k=3, budget=ApproxDP(1.0, 1e-6)), scores),
        (MeasuredSet(k=3, budget=ZCDP(0.1)), scores),
        (MeasuredSet(k=2, budget=ApproxDP(1.0, 1e-6)), named),
        (NoisyHistogram(k=3, most=2, epsilon=1.0), scores),
        (NoisyHistogram(k=3, most=2, budget=ZCDP(0.1)), scores),
        (KeySet(most=1, epsilon=1.0, delta=1e-6, k=3), named),
        (KeySet(most=5, epsilon=1.0, delta=1e-6, k=3), named),
    ]
    draws = sized(150, full=5_000)
    for mechanism, asked in cases:
        source, hits, total = seeded(3), 0, 0
        for _ in range(draws):
            release = mechanism.release(asked, rng=source)
            for item, value, margin in zip(
                present(release.items), present(release.values), present(release.margins), strict=True
            ):
                place = item if isinstance(item, int) else int(str(item)[1:])
                hits += abs(value - truth[place]) <= margin.half_width
                total += 1
        assert hits / total > 0.95 - 5.5 * sqrt(0.05 / draws), mechanism
        assert hits / total < 0.999, mechanism


def test_values_that_say_nothing_of_their_item_have_no_margin():
    release = GumbelTopKValues(k=2, budget=ApproxDP(1.0, 1e-6)).release([9, 5, 1], monotone=True, rng=seeded(1))
    assert release.values
    assert release.margins is None
    assert "margin" not in release.columns()


@pytest.mark.traced
def test_margins_travel_and_stay_with_their_items():
    release = sl.top_k([900, 20, 500, 7], 2, budget=ZCDP(0.5), values=True, monotone=True, rng=seeded(1))
    assert Release.from_json(release.to_json()) == release
    assert release.columns()["margin"] == [margin.half_width for margin in present(release.margins)]
    assert release.as_set().margins == release.margins
    assert "± " in str(release)
    content = json.loads(release.to_json())
    assert set(content["extras"]["margins"][0]) == {"error", "half_width"}
    content["extras"]["margins"] = content["extras"]["margins"][:1]
    with pytest.raises(ValueError, match="margins are not as many as items"):
        Release.from_json(json.dumps(content))
    content["extras"]["margins"] = [{"error": -1.0, "half_width": 1.0}] * 2
    with pytest.raises(ValueError, match="no Margin"):
        Release.from_json(json.dumps(content))


def test_files_that_were_written_before_have_values_without_margins():
    old = Release.load(Path(__file__).parents[1] / "golden_releases" / "values.json")
    assert old.values
    assert old.margins is None


@pytest.mark.parametrize("scale", [Fraction(10) ** power for power in (-400, -5, 0, 30, 320, 400)])
def test_no_amount_of_noise_is_too_small_or_too_large_for_a_margin(scale):
    """A release that is paid for must not end in a float that there is not."""
    for margin in (
        gaussian_margin(scale),
        gaussian_margin(scale, Fraction(1)),
        gaussian_margin(scale, Fraction(1, 16)),
        whole_laplace_margin(scale),
        margin_with_gaps(3, scale, 2 * scale, "exponential"),
        *([geometric_margin(Geometric(1 / scale))] if scale > 1e-300 else []),
    ):
        assert margin.half_width >= 0.9 * margin.error or margin.error == inf
