"""NoisyMax and OneshotTopK: oracles, laws, guarantees, and what they refuse."""

import copy
import dataclasses
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist import PureDP, Scores
from shortlist.mechanisms import NoisyMax, OneshotTopK
from shortlist.noise import piecewise_noise
from shortlist.privacy import BoundedRange
from tests.helpers.inside import KINDS
from tests.helpers.support import assert_law, full_size, histogram, sized
from tests.helpers.typed import present

every = pytest.mark.parametrize("noise", list(KINDS))
CUSTOM = piecewise_noise([0, 1, 2], [Fraction(-1, 2), 0, -1])

ORACLES = [  # (Table 153): scores, R, epsilon, noise, law
    ([3, 2, 0], 2, 1.0, "gumbel", [0.546549387, 0.331498960, 0.121951652]),
    ([3, 2, 0], 2, 1.0, "exponential", [0.63028135, 0.28070945, 0.08900920]),
    ([3, 2, 0], 1, 1.0, "exponential", [0.79727196, 0.18088711, 0.02184093]),
    ([0, -0.5, -1.2, -0.1], 1, 1.0, "exponential", [0.38706978, 0.19512438, 0.08850279, 0.32930304]),
    ([1.5, 1, 0], 1, 1.0, "laplace", [0.5572781, 0.3323583, 0.1103636]),
]


@pytest.mark.parametrize(("values", "reach", "epsilon", "noise", "law"), ORACLES)
def test_noisy_max_has_the_probabilities_of_the_table(values, reach, epsilon, noise, law):
    m = NoisyMax(epsilon=epsilon, noise=noise)
    scores = Scores(values, monotone=reach == 1)
    np.testing.assert_allclose(m.probabilities(scores), law, atol=6e-8)
    winners = m.release_many(scores, draws=200_000, rng=sl.testing.seeded(1))
    assert_law(histogram(winners, len(values)), m.probabilities(scores), wrong=m.probabilities(scores)[::-1])


SETS = {  # (Table 154), x = [3, 2, 0, 1], epsilon 1, R 2
    "exponential": [0.3619372, 0.1526619, 0.2213824, 0.0854381, 0.1202672, 0.0583132],
    "laplace": [0.2832299, 0.1548496, 0.2097723, 0.1139423, 0.1548496, 0.0833563],
}


@pytest.mark.parametrize("noise", SETS)
def test_one_shot_sets_have_the_probabilities_of_the_table(noise):
    m = OneshotTopK(k=2, epsilon=1.0, noise=noise)
    rows = np.sort(m.release_many([3, 2, 0, 1], draws=200_000, rng=sl.testing.seeded(2)), axis=1)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    counts = [np.count_nonzero((rows == pair).all(axis=1)) for pair in pairs]
    assert_law(counts, SETS[noise], wrong=SETS[noise][::-1])
    assert m.success_probability([3, 2, 0, 1]) == pytest.approx(SETS[noise][0], abs=6e-8)


@every
def test_utility_on_made_up_scores_matches_draws(noise):
    scores = Scores([5, 4, 4, 1, 0], monotone=True)
    m = OneshotTopK(k=2, epsilon=0.8, noise=noise)
    rows = m.release_many(scores, draws=200_000, rng=sl.testing.seeded(3))
    inclusion = m.inclusion_probabilities(scores)
    assert inclusion.sum() == pytest.approx(2, abs=1e-9)
    assert_law(histogram(rows, 5), inclusion / 2, wrong=inclusion[::-1] / 2)
    right = np.count_nonzero((rows == 0).any(axis=1) & ((rows == 1) | (rows == 2)).any(axis=1))
    p = m.success_probability(scores)
    assert_law([right, 200_000 - right], [p, 1 - p], wrong=[p + 0.01, 0.99 - p])
    quality = m.quality(scores)
    assert m.number_correct(scores) @ np.arange(3) / 2 == pytest.approx(quality.recall, abs=1e-9)
    assert quality.top == pytest.approx(p, abs=1e-9)
    assert quality.recall == pytest.approx(inclusion[:3].sum() / 2, abs=1e-9)


@every
def test_utility_of_one_winner_is_the_same_by_both_classes(noise):
    scores = Scores([9, 7, 7, 2], monotone=True)
    one = NoisyMax(epsilon=0.5, noise=noise)
    p = one.probabilities(scores)
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert one.success_probability(scores) == pytest.approx(p[0], abs=1e-9)
    assert one.quality(scores).top == pytest.approx(p[0], abs=1e-9)


@full_size
@every
def test_releases_are_exact_draws_in_order(noise):
    m = OneshotTopK(k=2, epsilon=1.0, noise=noise)
    rows = m.release_many([4, 2, 0], draws=3000, rng=sl.testing.seeded(4))
    source, runs = sl.testing.seeded(5), sized(600, full=1500)
    single = np.array([m.release([4, 2, 0], rng=source).indices for _ in range(runs)])
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    law = np.array([np.count_nonzero((rows == pair).all(axis=1)) for pair in pairs]) / 3000
    counts = [np.count_nonzero((single == pair).all(axis=1)) for pair in pairs]
    assert np.abs(np.array(counts) / runs - law).max() < 0.09


@every
@pytest.mark.parametrize("cls", [NoisyMax, OneshotTopK])
def test_shift_and_permutation_change_nothing_but_the_names(noise, cls):
    m = cls(epsilon=1.0, noise=noise) if cls is NoisyMax else cls(k=1, epsilon=1.0, noise=noise)
    values = np.array([5, 1, 3, 3])
    one = m.release_many(values, draws=500, rng=sl.testing.seeded(6))
    assert np.array_equal(one, m.release_many(values + 10**12, draws=500, rng=sl.testing.seeded(6)))
    assert np.array_equal(one, m.release_many(values.astype(float), draws=500, rng=sl.testing.seeded(6)))
    order = np.array([2, 0, 3, 1])
    law = NoisyMax(epsilon=1.0, noise=noise).probabilities(values)
    np.testing.assert_allclose(NoisyMax(epsilon=1.0, noise=noise).probabilities(values[order]), law[order], atol=1e-12)


@every
def test_scaling_scores_and_sensitivity_together_changes_nothing(noise):
    m = OneshotTopK(k=2, epsilon=0.7, noise=noise)
    values = np.array([5, 1, 3, 3])
    one = m.release_many(values, draws=500, rng=sl.testing.seeded(7))
    two = m.release_many(values * 1024, draws=500, sensitivity=1024, rng=sl.testing.seeded(7))
    assert np.array_equal(one, two)


def test_the_work_can_be_fixed():
    values = np.arange(5000)
    one = NoisyMax(epsilon=1.0, work="fixed").release(values, rng=sl.testing.seeded(1))
    assert one.guarantee == PureDP(1.0)


def test_guarantees_are_known_before_data_is_seen():
    assert NoisyMax(epsilon=1.0).guarantee == PureDP(1.0)
    assert NoisyMax(epsilon=1.0).charge == PureDP(1.0)
    assert NoisyMax(epsilon=1.0, noise="gumbel").charge == BoundedRange(1.0)
    assert NoisyMax(budget=PureDP(2.0)) == NoisyMax(epsilon=2.0)
    assert OneshotTopK(k=3, epsilon=1.0).guarantee == PureDP(1.0)
    assert NoisyMax(epsilon=1.0).name == "permute-and-flip"
    assert NoisyMax(epsilon=1.0, noise="gumbel").name == "exponential mechanism"
    assert NoisyMax(epsilon=1.0, noise="laplace").name == "noisy max with laplace noise"
    assert OneshotTopK(k=3, epsilon=1.0).name == "one-shot top-3 with gumbel noise"


def test_mechanisms_are_values():
    m = OneshotTopK(k=3, epsilon=0.5)
    assert m == copy.deepcopy(m) == pickle.loads(pickle.dumps(m))
    assert dataclasses.replace(m, k=4).k == 4
    assert dataclasses.replace(m, budget=PureDP(2.0)) == OneshotTopK(k=3, budget=PureDP(2.0))
    assert hash(m) == hash(OneshotTopK(k=3, epsilon=0.5))
    with pytest.raises(dataclasses.FrozenInstanceError):
        m.k = 9  # type: ignore[misc]


@pytest.mark.parametrize("mechanism", [NoisyMax(epsilon=1.0), OneshotTopK(k=1, epsilon=1.0)])
def test_every_proof_link_leads_to_a_heading(mechanism):
    page, _, heading = mechanism.proof.partition("#")
    text = (Path(__file__).parents[3] / page).read_text()
    assert f"## {heading.capitalize()}" in text


@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), "1", True, None])
def test_an_epsilon_that_is_no_budget_is_refused(epsilon):
    with pytest.raises((ValueError, TypeError), match="epsilon"):
        NoisyMax(epsilon=epsilon)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "at least 1"),
        ({"k": 2.0}, "whole number"),
        ({"k": True}, "whole number"),
        ({"k": 2, "noise": "gauss"}, "'gumbel'"),
        ({"k": 2, "work": "slow"}, "work"),
        ({"k": 2, "work": ["fixed"]}, "work"),
        ({"k": 2, "epsilon": 5e-324}, "too small"),
        ({"k": 2, "budget": PureDP(2.0)}, "either"),
        ({"k": 2, "budget": 1.0, "epsilon": None}, "budget"),
    ],
)
def test_arguments_that_make_no_mechanism_are_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        OneshotTopK(**{"epsilon": 1.0, **arguments})


def test_questions_that_do_not_fit_are_refused_from_public_facts():
    m = OneshotTopK(k=3, epsilon=1.0)
    with pytest.raises(ValueError, match="more than the 2 candidates"):
        m.release([1, 2])
    with pytest.raises(ValueError, match="may be chosen"):
        m.release([1.0, 2.0, -np.inf])
    with pytest.raises(ValueError, match="public=True"):
        m.release({"a": 1, "b": 2, "c": 3})
    with pytest.raises(TypeError, match="seeded"):
        m.release([1, 2, 3], rng=np.random.default_rng(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sensitivity"):
        m.release(Scores([1, 2, 3]), sensitivity=2)
    with pytest.raises(ValueError, match="draws"):
        m.release_many([1, 2, 3], draws=0)
    draws: Any
    for draws in ("many", True, 2.0):
        with pytest.raises(TypeError, match="draws"):
            m.release_many([1, 2, 3], draws=draws)


@pytest.mark.parametrize("ask", ["probabilities", "success_probability", "quality"])
def test_utility_of_scores_from_people_is_refused_until_they_are_declared_public(ask):
    counted = Scores([4, 5, 1])._as_counted()
    m = NoisyMax(epsilon=1.0)
    with pytest.raises(ValueError, match="as_public"):
        getattr(m, ask)(counted)
    with pytest.raises(ValueError, match="as_public"):
        m.release_many(counted, draws=2)
    assert getattr(m, ask)(counted.as_public()) is not None
    assert m.release(counted).index in (0, 1, 2)


def test_custom_noise_releases_sets_only():
    m = OneshotTopK(k=2, epsilon=1.0, noise=CUSTOM)
    release = m.release([0, 900, 500], rng=sl.testing.seeded(1))
    assert not release.ordered
    assert release.indices == [1, 2]
    assert (np.diff(m.release_many([1, 2, 3, 4], draws=300, rng=sl.testing.seeded(1))) > 0).all()
    assert NoisyMax(epsilon=1.0, noise=CUSTOM).name == "noisy max with custom noise"
    assert NoisyMax(epsilon=1.0, noise=CUSTOM).probabilities([0, 3]).sum() == pytest.approx(1, abs=1e-9)


def test_all_candidates_can_be_released():
    assert sorted(present(OneshotTopK(k=3, epsilon=1.0).release([5, 1, 3]).indices)) == [0, 1, 2]
    assert OneshotTopK(k=3, epsilon=1.0).success_probability([5, 1, 3]) == 1.0


def test_secure_randomness_is_the_default_and_never_repeats():
    m = OneshotTopK(k=10, epsilon=1.0)
    first, second = (m.release(np.zeros(100)) for _ in range(2))
    assert first.secure
    assert second.secure
    assert first.indices != second.indices
