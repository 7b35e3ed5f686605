"""CanonicalTopK: oracles, guarantees, the public rule, edges, and what it refuses."""

import copy
import dataclasses
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP, Scores
from shortlist.mechanisms import CanonicalTopK
from shortlist.privacy import BoundedRange
from tests.helpers.inside import EXPONENTIAL
from tests.helpers.subset_law import counted, subset_law
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind, present


def test_guarantees_are_known_before_data_is_seen():
    pure = CanonicalTopK(k=3, epsilon=1.0)
    assert pure.guarantee == pure.charge == PureDP(1.0)
    assert pure.name == "canonical top-3 with exponential noise"
    gumbel = CanonicalTopK(k=3, epsilon=1.0, noise="gumbel", loss="paper")
    assert gumbel.guarantee == PureDP(1.0)
    assert gumbel.charge == BoundedRange(1.0)
    assert gumbel.name == "canonical top-3 with gumbel noise and the loss of the paper"
    zcdp = CanonicalTopK(k=3, budget=ZCDP(0.125))
    assert zcdp.name == "canonical top-3 with gumbel noise"
    assert of_kind(BoundedRange, zcdp.charge).epsilon == pytest.approx(1.00695851215, rel=1e-11)
    assert present(zcdp.charge.as_zcdp()).rho <= 0.125
    assert of_kind(BoundedRange, CanonicalTopK(k=3, budget=ApproxDP(1.0, 1e-6)).charge).epsilon > 1.0
    assert not pure.ordered


def test_one_winner_is_permute_and_flip():
    scores = Scores([5, 4, 4, 1], monotone=True)
    law = sl.mechanisms.NoisyMax(epsilon=0.7).probabilities(scores)
    rows = CanonicalTopK(k=1, epsilon=0.7).release_many(scores, draws=8000, rng=sl.testing.seeded(1))
    assert_law(np.bincount(rows[:, 0], minlength=4), law)


@full_size
@pytest.mark.parametrize("monotone", [False, True])
def test_releases_are_draws_from_the_exact_law(monotone):
    x = [9, 2, 7, 5, 5, 1]
    m = CanonicalTopK(k=3, epsilon=0.9)
    law = subset_law(x, 3, 0.9 / (1 if monotone else 2), 0.5, EXPONENTIAL)
    source = sl.testing.seeded(3)
    single = [m.release(x, monotone=monotone, rng=source).indices for _ in range(sized(500, full=10_000))]
    wrong = subset_law(x, 3, sized(3.0, full=1.2) * 0.9 / (1 if monotone else 2), 0.5, EXPONENTIAL)
    assert_law(counted(single, law), list(law.values()), wrong=list(wrong.values()))


def test_releases_are_sets_sorted_by_label():
    release = CanonicalTopK(k=2, epsilon=5.0).release({"z": 900, "b": 1, "a": 800}, public=True)
    assert release.items == ["a", "z"]
    assert not release.ordered
    assert sl.top_k([9, 900, 800], 2, epsilon=5.0, method="canonical").indices == [1, 2]


@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
def test_all_candidates_cost_nothing_and_say_so(noise, tmp_path):
    release = CanonicalTopK(k=3, epsilon=1.0, noise=noise).release([5, 1, 3])
    assert release.indices == [0, 1, 2]
    assert release.guarantee == release.charge
    assert "nothing spent" in str(release)
    assert present(release.charge).epsilon_at(0.0) == 0.0
    ledger = sl.Ledger(tmp_path / "budget.db", budget=PureDP(1.0))
    CanonicalTopK(k=3, epsilon=9.0, noise=noise).release([5, 1, 3], ledger=ledger)
    assert ledger.spent.epsilon == 0
    some = CanonicalTopK(k=2, epsilon=1.0, noise=noise)
    assert some.release([5.0, -np.inf, 3.0]).indices == [0, 2]
    assert some.release_many([5.0, -np.inf, 3.0], draws=2).tolist() == [[0, 2], [0, 2]]


def test_candidates_at_minus_infinity_are_never_chosen_and_change_nothing():
    m = CanonicalTopK(k=2, epsilon=0.5)
    with_them = m.release_many([3.0, -np.inf, 1.0, 2.0, -np.inf], draws=3000, rng=sl.testing.seeded(4))
    assert not np.isin(with_them, [1, 4]).any()
    without = m.release_many([3.0, 1.0, 2.0], draws=3000, rng=sl.testing.seeded(4))
    assert np.array_equal(np.array([0, 2, 3])[without], with_them)


def test_all_but_one_is_the_mirror_of_one():
    x = np.array([5, 4, 4, 1])
    m = CanonicalTopK(k=3, epsilon=0.7)
    left_out = 6 - m.release_many(x, draws=8000, monotone=True, rng=sl.testing.seeded(5)).sum(axis=1)
    law = sl.mechanisms.NoisyMax(epsilon=0.7).probabilities(-x, monotone=True)
    assert_law(np.bincount(left_out, minlength=4), law)


@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
def test_shift_permutation_and_scale_change_nothing_but_the_names(noise):
    m = CanonicalTopK(k=2, epsilon=1.0, noise=noise)
    values = np.array([5, 1, 3, 3])
    one = m.release_many(values, draws=300, rng=sl.testing.seeded(6))
    for same in (values + 10**12, values.astype(float), values.astype(np.uint8)):
        assert np.array_equal(one, m.release_many(same, draws=300, rng=sl.testing.seeded(6)))
    scaled = m.release_many(values * 1024, draws=300, sensitivity=1024, rng=sl.testing.seeded(6))
    assert np.array_equal(one, scaled)


@pytest.mark.parametrize("values", [[1e300, -1e300, 0.0, 5.0], [2**62, -(2**62), 0, 5], [5e-324, 0.0, 1e-310, 0.0]])
@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
def test_extreme_scores_are_drawn(values, noise):
    release = CanonicalTopK(k=2, epsilon=1.0, noise=noise).release(values)
    assert len(present(release.indices)) == 2
    assert sum(CanonicalTopK(k=2, epsilon=1.0, noise=noise).probabilities(values).values()) == pytest.approx(1)


def test_the_proof_link_leads_to_a_heading():
    page, _, heading = CanonicalTopK.proof.partition("#")
    assert f"## {heading.capitalize()}" in (Path(__file__).parents[3] / page).read_text()


def test_mechanisms_are_values():
    m = CanonicalTopK(k=3, epsilon=0.5)
    assert m == copy.deepcopy(m) == pickle.loads(pickle.dumps(m))
    assert dataclasses.replace(m, k=4).k == 4
    assert hash(m) == hash(CanonicalTopK(k=3, budget=PureDP(0.5)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": 0}, "at least 1"),
        ({"k": 2.0}, "whole number"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"gamma": -0.1}, "gamma"),
        ({"gamma": 1.5}, "gamma"),
        ({"gamma": float("nan")}, "gamma"),
        ({"gamma": True}, "gamma"),
        ({"gamma": "half"}, "gamma"),
        ({"loss": "best"}, "gap-aware"),
        ({"loss": ["paper"]}, "gap-aware"),
        ({"noise": "gauss"}, "'gumbel'"),
        ({"epsilon": None, "budget": ZCDP(0.1), "noise": "exponential"}, "gumbel"),
    ],
)
def test_arguments_that_make_no_mechanism_are_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        CanonicalTopK(**{"k": 2, "epsilon": 1.0, **arguments})


def test_questions_that_do_not_fit_are_refused_from_public_facts():
    m = CanonicalTopK(k=3, epsilon=1.0)
    with pytest.raises(ValueError, match="more than the 2 candidates"):
        m.release([1, 2])
    with pytest.raises(ValueError, match="public=True"):
        m.release({"a": 1, "b": 2, "c": 3, "d": 4})
    with pytest.raises(ValueError, match="may be chosen"):
        m.release([1.0, 2.0, -np.inf])
    with pytest.raises(ValueError, match="as_public"):
        m.release_many(Scores([4, 5, 1, 2])._as_counted(), draws=2)


@pytest.mark.parametrize("gamma", [np.float32(0.5), np.float16(0.5), np.int64(1)])
def test_a_gamma_of_numpy_is_a_number(gamma):
    assert len(present(CanonicalTopK(k=2, epsilon=1.0, gamma=gamma).release([5, 4, 1, 0]).items)) == 2


def test_the_public_rule_for_gamma_looks_at_k_and_d_alone():
    half, tenth = Fraction(1, 2), Fraction(1, 10)
    rule: dict[int, Fraction] = {
        1: Fraction(1), 2: Fraction(9, 10), 3: half, 97: half, 98: tenth, 99: Fraction(0)
    }  # fmt: skip
    small: list[tuple[int, dict[int, Fraction]]] = [(2, {1: Fraction(1)}), (4, {2: Fraction(9, 10)}), (100, {50: half})]
    for d, ks in [(100, rule), *small]:
        x = np.sort(np.random.default_rng(d).integers(0, 40, d))
        for k, gamma in ks.items():
            ruled, said = CanonicalTopK(k=k, epsilon=0.3), CanonicalTopK(k=k, epsilon=0.3, gamma=gamma)
            assert ruled.success_probability(x) == said.success_probability(x), (k, d)
