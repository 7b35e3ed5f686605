"""LargeGap and StableTopK with Gaussian noise, given by its deviations (Theorem 270)."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shortlist import ZCDP, ApproxDP, Ledger, Scores
from shortlist.audit import Law, certify, prove_mechanism
from shortlist.mechanisms import LargeGap, StableTopK
from shortlist.testing import seeded
from studies.broken import catch
from studies.broken.stable import ENTRIES
from tests.helpers.support import assert_law, in_suite
from tests.helpers.typed import of_kind
from tests.mechanisms.stable.test_mechanism import read

NOISE: dict[str, Any] = {"sigma_1": 2.0, "sigma": 1.5, "delta_t": 0.01}
COUNTS = (9, 6, 5, 1, 0)


@pytest.mark.parametrize(("limit", "public"), in_suite([(2, False), (3, True), (2, True), (3, False)], 0, 1))
def test_the_charge_is_kept_on_a_box_and_a_cheaper_one_is_not(limit, public):
    top = 2 if public else 3
    mechanism = StableTopK(limit=limit, **NOISE)
    assert prove_mechanism(mechanism, d=4, top=top, public=public).holds
    for cheaper in (ZCDP(mechanism.guarantee.rho, 0.005), ZCDP(mechanism.guarantee.rho / 5, 0.01)):  # type: ignore[union-attr]
        assert not prove_mechanism(mechanism, d=4, top=top, public=public, claim=cheaper).holds


@pytest.mark.parametrize(
    "mechanism", in_suite([LargeGap(sigma=1.0, limit=2), LargeGap(sigma=1.0, limit=3, delta=1e-3)], 0)
)
def test_the_rank_alone_keeps_its_charge_on_a_box(mechanism):
    for monotone in (True, False):
        assert prove_mechanism(mechanism, d=4, top=2, monotone=monotone).holds
    louder = replace(mechanism, sigma=4.0, budget=None)
    assert not prove_mechanism(mechanism, d=4, top=2, monotone=True, claim=louder.guarantee).holds


def test_the_least_epsilon_at_a_delta_is_kept_on_a_box():
    mechanism = StableTopK(sigma_1=2.0, sigma=4.0, delta_t=0.01, limit=3, delta=0.02)
    proof = prove_mechanism(mechanism, d=4, top=3)
    assert proof.holds
    assert isinstance(mechanism.guarantee, ApproxDP)
    half = ApproxDP(mechanism.guarantee.epsilon / 4, 0.011)
    assert not prove_mechanism(mechanism, d=4, top=3, claim=half).holds


def test_the_charge_of_one_number_is_caught():
    """The experiments of the paper charge the noisy maximum 1 / (2 sigma_1^2), as if one gap had been released."""
    entry = next(one for one in ENTRIES if "gaussian" in one.name)
    assert catch(entry).by == "box"
    assert not catch(replace(entry, claim=LargeGap(sigma=1.0, limit=2).guarantee)).by


def test_the_numbers_of_the_paper():
    """600 queries, deviations 50 and 60, 40 labels: 20.8 where 3.6 was printed, and 71.4 by the paper's corollary."""
    query = StableTopK(sigma_1=50.0, sigma=60.0, delta_t=1e-9, limit=40).guarantee
    assert query.rho == pytest.approx(40 / 5000 + 1 / 7200)  # type: ignore[union-attr]
    assert query.repeat(600).epsilon_at(1e-6) == pytest.approx(20.80, abs=0.01)
    noise = LargeGap(sigma=50.0, limit=1000, delta=1e-6)
    assert noise.guarantee.epsilon < 0.1 * ZCDP(1000 / 5000).epsilon_at(1e-6)  # type: ignore[union-attr]
    assert noise.guarantee.epsilon == ZCDP(2 / 2500).epsilon_at(1e-9)  # type: ignore[union-attr]
    assert noise.charge == noise.guarantee


@pytest.mark.parametrize(("scores", "words"), [(COUNTS, {"monotone": True}), ((9.5, 6.0, 5.25, 1.0, 0.0), {})])
def test_draws_follow_the_certified_law(scores, words):
    given = {"sigma_1": 1.0, "sigma": 0.5, "delta_t": 0.2, "limit": 4}
    mechanism = StableTopK(**given)  # type: ignore[arg-type]
    rows = mechanism.release_many(scores, draws=40_000, rng=seeded(3), **words)
    found = Counter((j, None if members is None else tuple(members)) for j, members in read(rows))

    def law(**noise):
        return of_kind(Law, certify(StableTopK(**{**given, **noise}), Scores(list(scores), **words))).chances

    right, wrong = law(), law(sigma_1=1.2)
    assert set(found) <= set(right)
    counts, chances = [found[one] for one in right], [float(right[one].mid()) for one in right]
    assert_law(counts, chances, wrong=[float(wrong[one].mid()) for one in right])
    assert mechanism.success_probability(scores, **words) == pytest.approx(
        sum(float(chance.mid()) for (_, members), chance in right.items() if members), abs=1e-9
    )


def test_ranks_follow_the_law_of_gaussian_noise_and_no_other():
    mechanism = LargeGap(sigma=0.75, limit=4)
    ranks = mechanism.release_many(COUNTS, monotone=True, draws=40_000, rng=seeded(5))
    law = mechanism.probabilities(COUNTS, monotone=True)
    certified = of_kind(Law, certify(mechanism, Scores(list(COUNTS), monotone=True))).chances
    np.testing.assert_allclose(law, [float(certified[j].mid()) for j in range(1, 5)], atol=1e-9)
    gumbel = LargeGap(epsilon=2 / (0.75 * 6**0.5 / np.pi)).probabilities(COUNTS, monotone=True)  # as wide
    assert_law(np.bincount(ranks, minlength=5)[1:], law, wrong=gumbel)


def test_equal_gaps_are_drawn_alike():
    ranks = LargeGap(sigma=3.0, limit=4).release_many([4, 3, 2, 1, 0], monotone=True, draws=20_000, rng=seeded(6))
    assert_law(np.bincount(ranks, minlength=5)[1:], [0.25] * 4, wrong=[0.28, 0.22, 0.25, 0.25])


def test_a_fixed_k_tests_alone():
    mechanism = StableTopK(k=2, sigma=3.0, delta_t=1e-6)
    assert mechanism.guarantee == mechanism.charge
    assert (mechanism.guarantee.rho, mechanism.delta) == (pytest.approx(1 / 18), 1e-6)  # type: ignore[union-attr]
    assert mechanism.release({"a": 90, "b": 80, "c": 3}, monotone=True).items == ["a", "b"]
    assert mechanism.name == "stable top-2 with the gaussian test"


def test_a_release_says_what_was_promised_and_a_ledger_books_it(tmp_path):
    mechanism = StableTopK(limit=10, sigma_1=20.0, sigma=20.0, delta_t=1e-9, delta=1e-6)
    with Ledger(tmp_path / "budget.db", budget=ZCDP(1.0, 1e-6)) as ledger:
        release = mechanism.release({"a": 900, "b": 880, "c": 2}, monotone=True, ledger=ledger, rng=seeded(1))
        assert release.items == ["a", "b"]
        assert release.k == 2
        assert ledger.spent.rho == mechanism.charge.as_zcdp().rho  # type: ignore[union-attr]
        assert "sigma_1=20.0" in ledger.entries()[0].mechanism
    assert release.guarantee == mechanism.guarantee
    assert "gaussian noise" in release.mechanism
    assert eval(repr(mechanism), {"ApproxDP": ApproxDP, "StableTopK": StableTopK}) == mechanism
    assert replace(mechanism, limit=5).charge.as_zcdp().rho < mechanism.charge.as_zcdp().rho  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"sigma_1": 5.0, "sigma": 5.0}, TypeError, "sigma= and delta_t="),
        ({"sigma": 5.0, "delta_t": 1e-6, "limit": 4}, TypeError, "sigma_1= where the gaps decide"),
        ({"k": 2, "sigma_1": 5.0, "sigma": 5.0, "delta_t": 1e-6}, TypeError, "k=10, sigma=60.0"),
        ({**NOISE}, ValueError, "limit is needed"),
        ({**NOISE, "limit": 4, "epsilon": 1.0}, TypeError, "leave epsilon= and budget= out"),
        ({**NOISE, "limit": 4, "budget": ZCDP(1e-3, 0.01)}, ValueError, "leave budget= out, or add noise"),
        ({**NOISE, "limit": 4, "budget": ZCDP(9.0, 1e-3)}, ValueError, "leave budget= out, or add noise"),
        ({**NOISE, "limit": 4, "delta": 0.001}, ValueError, "greater than that of the test"),
        ({**NOISE, "limit": 4, "test": "optimal"}, ValueError, "need a budget"),
        ({"k": 2, "sigma": 5.0, "delta_t": 1e-6, "fill": True}, ValueError, "need a budget"),
        ({**NOISE, "limit": 4, "sigma": -1.0}, ValueError, "sigma must be"),
        ({**NOISE, "limit": 4, "sigma_1": 1e-200}, ValueError, "sigma is too small"),
        ({**NOISE, "limit": 4, "delta_t": 0.5}, ValueError, "delta_t must be"),
    ],
)
def test_deviations_that_do_not_go_together_are_refused(arguments, error, match):
    with pytest.raises(error, match=match):
        StableTopK(**arguments)


def test_large_gap_refuses_what_does_not_go_together():
    with pytest.raises(ValueError, match="limit is needed"):
        LargeGap(sigma=5.0)
    with pytest.raises(TypeError, match="delta= goes with sigma="):
        LargeGap(epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="leave budget= out"):
        LargeGap(sigma=5.0, limit=4, budget=ApproxDP(0.01, 1e-6))
    assert LargeGap(sigma=5.0, limit=4, budget=ZCDP(1.0)).charge == LargeGap(sigma=5.0, limit=4).guarantee
    assert LargeGap(sigma=5.0, regularizer=[0.0, 1.0]).limit == 2
