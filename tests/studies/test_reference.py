"""The papers' competitors as reference code: their laws, and that nothing else in the package uses them."""

import math
from pathlib import Path

import numpy as np
import pytest

import shortlist
from shortlist.mechanisms import OneshotTopK
from studies.papers import reference
from studies.papers.experiment import Setting
from studies.papers.gap_error import blue
from studies.papers.gap_pvalues import errors

HOME = Path(shortlist.__file__).parent


def source(name):
    return Setting("small").source(name)


def test_the_package_knows_nothing_of_the_studies():
    """The competitors draw float noise from a seeded source: they must never be reachable from a release."""
    assert not [file for file in HOME.rglob("*.py") if "studies" in file.read_text()]


@pytest.mark.parametrize(("noise", "mean", "variance"), [
    ("laplace", 0.0, 2.0), ("exponential", 1.0, 1.0), ("gumbel", 0.5772156649, math.pi**2 / 6), ("gaussian", 0.0, 1.0),
    ("geometric", 1 / (math.e - 1), math.e / (math.e - 1) ** 2),
])  # fmt: skip
def test_noise_has_its_moments(noise, mean, variance):
    draws = reference.NOISES[noise](source(noise), 1.0, 200_000)
    assert draws.mean() == pytest.approx(mean, abs=6 * math.sqrt(variance / 200_000))
    assert draws.var() == pytest.approx(variance, rel=0.06)


def test_cdp_peeling_and_literal_peeling_have_the_law_of_the_exact_mechanism():
    values, draws, scale = np.array([3.0, 2.0, 1.0, 0.0]), 20_000, 2.0
    exact = OneshotTopK(k=2, epsilon=2 / scale, noise="gumbel").success_probability(values, monotone=True)
    error = 6 * math.sqrt(exact * (1 - exact) / draws)
    rho = 2 / (8 * scale**2)
    at_once = np.mean(np.all(reference.cdp_peeling(values, 2, rho, draws, source("at once")) < 2, axis=1))
    stream = source("by rounds")
    by_rounds = np.mean(
        [set(reference.peeling(values, 2, scale, "gumbel", stream).tolist()) == {0, 1} for _ in range(4_000)]
    )
    assert at_once == pytest.approx(exact, abs=error)
    assert by_rounds == pytest.approx(exact, abs=error * math.sqrt(5))
    assert (
        abs(exact - OneshotTopK(k=2, epsilon=4 / scale, noise="gumbel").success_probability(values, monotone=True))
        > 3 * error
    )


def test_winners_with_values_are_near_the_truth():
    values = np.array([900.0, 500.0, 10.0])
    winner, value = reference.noisy_max_with_value(values, 1.0, "laplace", source("one"))
    winners, noisy = reference.peeling_with_values(values, 2, 1.0, "gaussian", source("two"))
    assert winner == 0
    assert value == pytest.approx(900, abs=40)
    assert winners.tolist() == [0, 1]
    assert noisy == pytest.approx([900, 500], abs=40)


def test_ts_finds_a_cliff_and_passes_an_unstable_set_hardly_ever():
    stream = source("ts")
    cliff = np.array([1000.0] * 5 + [0.0] * 20)
    flat = np.arange(25.0)[::-1]
    assert [reference.top_stable(cliff, 5, 1.0, 1e-6, stream) for _ in range(20)] == [5] * 20
    assert [reference.top_stable(cliff, 8, 1.0, 1e-6, stream) for _ in range(20)] == [5] * 20
    assert {reference.top_stable(flat, 5, 1.0, 1e-6, stream) for _ in range(200)} == {0}
    assert max(reference.top_stable(flat, 5, 1.0, 0.4, stream) for _ in range(200)) > 0  # with a large delta it does


def test_stable_sets_take_the_gap_and_fall_back_without_one():
    stream = source("stable")
    cliff = np.array([1000.0] * 5 + [0.0] * 20)
    gaps = cliff[:-1] - cliff[1:]
    assert reference.stable_rank(gaps, np.zeros(24), 1.0, 1e-6, stream) == 5
    assert reference.stable_rank(np.zeros(24), np.zeros(24), 1.0, 1e-6, stream) is None
    for k in (3, 5, 8):
        found = reference.stable_fixed(cliff, k, 1.0, 1e-6, 0.0, stream)
        assert len(set(found.tolist())) == k
        assert np.count_nonzero(found < 5) == min(k, 5)
    assert len(reference.stable_fixed(np.zeros(25), 4, 1.0, 1e-6, 0.0, stream)) == 4


def test_votes_of_a_teacher_are_scaled_to_tau_and_gnmax_adds_noise_of_sigma():
    votes = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0]])
    assert reference.clipped_votes(votes, 2).tolist() == [[0.5] * 4, [1.0, 0.0, 0.0, 0.0]]
    noisy = reference.gnmax(np.zeros((100, 100)), 5.0, source("gnmax"))
    assert noisy.std() == pytest.approx(5.0, rel=0.06)


def test_gaps_and_measurements_combine_into_least_squares():
    rng = np.random.default_rng(3)
    truth, ratio, k = np.array([9.0, 6.0, 5.0, 1.0]), 0.5, 4
    measured, gaps = truth + rng.normal(size=k), -np.diff(truth) + rng.normal(size=k - 1)
    differ = np.eye(k)[:-1] - np.eye(k)[1:]
    weight = np.linalg.inv(ratio * differ @ differ.T)
    best = np.linalg.solve(np.eye(k) + differ.T @ weight @ differ, measured + differ.T @ weight @ gaps)
    assert blue(measured[None, :], gaps[None, :], ratio)[0] == pytest.approx(best)


def test_top_k_with_geometric_gaps_returns_winners_and_whole_gaps():
    winners, gaps = reference.whole_gaps_of_top_k(np.array([90.0, 10.0, 50.0]), 2, 1.0, 3, source("whole"))
    assert winners.tolist() == [[0, 2]] * 3
    assert gaps.shape == (3, 1)
    assert gaps.tolist() == np.round(gaps).tolist()
    tied, _ = reference.whole_gaps_of_top_k(np.zeros(2), 1, 1e-3, 400, source("ties"))
    assert 100 < tied.sum() < 300  # no order of ties is preferred


def test_the_hybrids_keep_what_the_formulas_say():
    """Of a budget of 1: 1 - (t + 1) / k against (1 - theta)(1 - t / k); more from k = 21 on, for t = 12."""
    more = []
    for k in range(13, 40):
        theta = 1 / (1 + k ** (2 / 3))
        assert (1 - 13 / k > (1 - theta) * (1 - 12 / k)) == (theta * (k - 12) > 1)
        if 1 - 13 / k > (1 - theta) * (1 - 12 / k):
            more.append(k)
    assert more == list(range(21, 40))
    of_section_7 = {k: 1 / (1 + (4 * k**2) ** (1 / 3)) for k in range(13, 40)}
    assert [k for k, theta in of_section_7.items() if theta * (k - 12) > 1] == list(range(28, 40))
    assert all((1 - theta) * (1 - 12 / 13) > 1 - 13 / 13 for theta in (0.01, 0.5, 0.99))


def test_false_rejections_are_rarer_than_the_level_and_would_not_be_without_the_two():
    values = np.array([50, 49, 49, 20, 3])
    chance, rates = errors(values, 0.3)
    assert 0 < chance < 1
    assert all(rate <= level for level, rate in rates.items())
    assert rates[0.05] > 0.005
