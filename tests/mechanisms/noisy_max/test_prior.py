"""Noisy max whose candidates have public weights: its law, its price, its draw, and what it refuses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP, Scores
from shortlist.audit import Law, certify, prove_mechanism
from shortlist.mechanisms import NoisyMax
from shortlist.testing import seeded
from shortlist.utility import Quality
from tests.helpers.support import assert_law, full_size, histogram, sized
from tests.helpers.typed import of_kind

PRIORS = [(1, 2, 3), (1, 1, 1), (1e-300, 1.0, Fraction(1, 3)), (10**200, 1, 1)]


def weighted(prior, **words):
    return NoisyMax(**({"epsilon": 1.0} | words), noise="gumbel", prior=prior)


def test_the_law_is_weights_times_powers():
    law = weighted((1, 2, 4)).probabilities([3, 2, 0], sensitivity=0.5)
    wanted = np.array([1, 2, 4]) * np.exp([3.0, 2.0, 0.0])
    assert law == pytest.approx(wanted / wanted.sum(), rel=1e-12)
    assert weighted((5, 5, 5)).probabilities([3, 2, 0]) == pytest.approx(
        NoisyMax(epsilon=1.0, noise="gumbel").probabilities([3, 2, 0]), rel=1e-12
    )
    assert weighted((1, 2, 4)).success_probability([3, 2, 0], sensitivity=0.5) == pytest.approx(law[0], rel=1e-12)


@pytest.mark.parametrize("prior", PRIORS, ids=["1-2-3", "equal", "tiny", "huge"])
@pytest.mark.parametrize("budget", [PureDP(0.8), ZCDP(0.05), ApproxDP(0.5, 1e-6)], ids=repr)
def test_the_charge_holds_on_a_box_whatever_the_weights(prior, budget):
    mechanism = NoisyMax(budget=budget, noise="gumbel", prior=prior)
    assert mechanism.charge == NoisyMax(budget=budget, noise="gumbel").charge
    for monotone in (False, True):
        proof = prove_mechanism(mechanism, d=3, top=1, monotone=monotone)
        assert proof.holds, proof.violation


def test_half_of_the_charge_is_refuted():
    proof = prove_mechanism(weighted((1, 2, 3)), d=3, top=1, claim=PureDP(0.5))
    assert proof.violation


@full_size
def test_draws_have_the_certified_law():
    mechanism, x = weighted((4, 1, 2, 1), epsilon=2.0), [0, 1, 2, -math.inf]
    law = of_kind(Law, certify(mechanism, Scores(x)))
    chances = [float(law.chances[i,]) for i in range(4)]
    assert chances == pytest.approx(mechanism.probabilities(x), abs=1e-12)
    draws = mechanism.release_many(x, draws=sized(1500, full=200_000), rng=seeded(1))
    plain = NoisyMax(epsilon=2.0, noise="gumbel").probabilities(x)
    assert_law(histogram(draws, 4), chances, wrong=plain)


START = 3 << 61
"""Both candidates' first word: floats see a tie."""


class Words:
    """A tie, and then these words."""

    secure = False

    def __init__(self, later):
        self.rest = [(START, START), *((word,) for word in later)]

    def words(self, count):
        assert len(self.rest[0]) == count
        return np.array(self.rest.pop(0), np.uint64)


@pytest.mark.parametrize("later", [(1, 2**63), (2**63, 1), (77, 78)])
@pytest.mark.parametrize("weights", [(1, 1 + Fraction(1, 2**70)), (1 + Fraction(1, 2**70), 1)])
def test_what_floats_cannot_tell_is_decided_exactly(later, weights):
    mechanism, source = weighted(weights), Words(later)
    winner = mechanism._weighted_winner(mechanism._contest(Scores([5, 5])), source)
    assert not source.rest  # both candidates drew another word
    with ctx.workprec(300):
        survival = [arb(fmpq(2 * ((START << 64) + word) + 1, 1 << 129)) for word in later]
        noise = [-(-(1 - one).log()).log() for one in survival]
        ahead = [arb(fmpq(one.numerator, one.denominator)).log() for one in map(Fraction, weights)]
        assert winner == int(bool(ahead[1] + noise[1] > ahead[0] + noise[0]))


@pytest.mark.parametrize("prior", [(10**400, 1, 1), (1, 10**-300, 1e300)])
def test_weights_beyond_floats_decide_alone(prior):
    release = weighted(prior).release([0, 5, 0], rng=seeded(1))
    assert release.index == max(range(3), key=lambda i: prior[i])


def test_a_prior_is_checked():
    with pytest.raises(ValueError, match='noise="gumbel"'):
        NoisyMax(epsilon=1.0, prior=(1, 2))
    with pytest.raises(ValueError, match="prior must be positive"):
        weighted((1, 0))
    with pytest.raises(ValueError, match="prior must be positive"):
        weighted((1, math.nan))
    with pytest.raises(TypeError, match="prior must be one positive number"):
        weighted(3)
    with pytest.raises(ValueError, match="each of the 3 candidates"):
        weighted((1, 2)).release([1, 2, 3])


def test_all_qualities_of_one_winner_are_its_success_probability():
    mechanism = weighted((1, 2))
    right = mechanism.success_probability([1, 2])
    assert mechanism.quality([1, 2]) == Quality(right, right, right, right)


def test_candidates_from_a_table_have_no_order_for_a_prior():
    rows, films = sl.example("films")
    scores = sl.count(rows, user="user_id", item="film", candidates=films)
    with pytest.raises(ValueError, match="table"):
        weighted([1] * len(films)).release(scores)


def test_it_is_named_compared_and_repeated_with_its_prior():
    one = weighted([1, 2.5])
    assert one == weighted((1, Fraction(5, 2))) != weighted((1, 2))
    assert repr(one).endswith("prior=(Fraction(1, 1), Fraction(5, 2)))")
    assert repr(NoisyMax(epsilon=1.0)) == "NoisyMax(budget=PureDP(epsilon=1.0), noise='exponential', work='adaptive')"
    assert "with a prior" in one.release([1, 2]).mechanism
    assert one.release([1, 2], rng=seeded(3)).items == one.release([1, 2], rng=seeded(3)).items
