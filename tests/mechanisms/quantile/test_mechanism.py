"""Private quantiles: scores, laws, guarantees on boxes of neighbours, and refusals."""

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

import shortlist as sl
from shortlist.audit import Law, certify, prove, prove_mechanism
from shortlist.mechanisms import Quantile
from shortlist.mechanisms import quantiles as module
from shortlist.mechanisms.quantiles import spread
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange
from shortlist.sampling.quantiles import Node
from shortlist.testing import seeded
from tests.helpers.support import assert_law, histogram
from tests.helpers.typed import of_kind, present

OLD = [0, 1, 2, 0, 0, 0, 0, 1, 0, 0]
QUARTILES = (0.25, 0.5, 0.75)


def one_vote(**words):
    """For plain counts of which each user adds 1 to one."""
    return Quantile(votes_per_user=1, **words)


def node(counts, scale=1):
    counts = np.array(counts, np.int64) * scale
    places = np.flatnonzero(counts)
    return Node(0, len(counts) - 1, places, counts[places])


def scores(counts, q):
    votes = node(counts)
    return [-votes.distance(place, q * votes.total) for place in range(len(counts))]


def test_scores_are_those_of_the_table():
    assert scores(OLD, Fraction(1, 2)) == [-2, -1, 0, -1, -1, -1, -1, -1, -2, -2]
    assert scores(OLD, Fraction(1, 4)) == [-1, 0, 0, -2, -2, -2, -2, -2, -3, -3]
    assert scores([0, 5, 0], Fraction(1, 3)) == [Fraction(-5, 3), 0, Fraction(-10, 3)]  # an atom is hit


@pytest.mark.parametrize(
    ("q", "noise", "table"),
    [
        (0.5, "gumbel", [0.03745494, 0.10181309, 0.27675666, *[0.10181309] * 5, *[0.03745494] * 2]),
        (0.5, "exponential", [0.03312109, 0.09513764, 0.32981088, *[0.09513764] * 5, *[0.03312109] * 2]),
        (0.25, "gumbel", [0.12516039, 0.24377916, 0.24377916, *[0.06425949] * 5, *[0.03299192] * 2]),
    ],
)
def test_the_law_is_that_of_the_table(q, noise, table):
    quantile = one_vote(q=q, epsilon=1.0, noise=noise)
    assert np.allclose(quantile.probabilities(OLD, monotone=True), table, atol=6e-9)
    runs = quantile.runs(OLD, monotone=True)
    assert [(run.first, run.size) for run in runs] == [(0, 1), (1, 1), (2, 1), (3, 4), (7, 1), (8, 2)]
    assert math.isclose(sum(run.chance for run in runs), 1.0, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("noise", "level", "low"), [("gumbel", 0.11296569, 0.06600451), ("exponential", 0.12902396, 0.04991894)]
)
def test_the_law_of_several_is_that_of_the_table(noise, level, low):
    law = one_vote(q=QUARTILES, epsilon=1.0, noise=noise).sequence_probabilities([1, 2, 1], monotone=True)
    assert abs(law[0, 1, 2] - level) < 6e-9
    assert abs(law[1, 1, 1] - level) < 6e-9
    assert abs(law[0, 0, 0] - low) < 6e-9
    assert all(list(cell) == sorted(cell) for cell in law)
    assert math.isclose(sum(law.values()), 1.0, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("q", "most"), [((1, 2), 1), ((1, 4), Fraction(3, 2)), ((9, 10), Fraction(9, 5)), ((0, 1), 1), ((1, 1), 1)]
)
def test_one_vote_moves_two_scores_against_each_other_by_r_and_no_more(q, most):
    """Also a vote that is shared; the largest move needs nine others at q = 9/10."""
    q, widest = Fraction(*q), Fraction(0)
    for counts in product(range(0, 10, 3), repeat=3):
        here = scores([2 * count for count in counts], q)
        for one, two in combinations_with_replacement(range(3), 2):
            more = [2 * count + (place == one) + (place == two) for place, count in enumerate(counts)]
            moves = [(a - b) / 2 for a, b in zip(scores(more, q), here, strict=True)]
            widest = max(widest, max(moves) - min(moves))
    assert widest == most == spread(q)


def certified(quantile, counts):
    return of_kind(Law, certify(quantile, sl.Scores(counts, monotone=True))).chances


def worst(quantile, points, people):
    """The largest log ratio of the library's own exact laws, over all neighbours with so many people at most."""
    laws = {}

    def law(counts):
        if counts not in laws:
            laws[counts] = np.array(list(quantile.sequence_probabilities(list(counts), monotone=True).values()))
        return laws[counts]

    found = 0.0
    for counts in product(range(people), repeat=points):
        if sum(counts) < people:
            for place in range(points):
                more = tuple(count + (place == at) for at, count in enumerate(counts))
                found = max(found, float(np.abs(np.log(law(counts)) - np.log(law(more))).max()))
    return found


def test_the_worst_ratios_are_those_of_the_table():
    assert abs(worst(one_vote(q=0.5, epsilon=1.0, noise="gumbel"), 5, 4) - 0.806816) < 1e-6
    assert abs(worst(one_vote(q=0.5, epsilon=1.0), 5, 4) - 0.827677) < 1e-6


@pytest.mark.parametrize(("q", "noise"), [(0.25, None), (0.9, "gumbel"), (QUARTILES, None), ((0.0, 0.5), "gumbel")])
def test_a_smaller_range_is_refuted_by_the_librarys_own_law(monkeypatch, q, noise):
    quantile = one_vote(q=q, epsilon=4.0, noise=noise)
    points, people = (3, 4) if isinstance(q, float) else (3, 3)
    assert worst(quantile, points, people) <= 4.0 + 1e-12
    monkeypatch.setattr(module, "spread", lambda q: spread(q) / 3)
    assert worst(quantile, points, people) > 4.0


@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
@pytest.mark.parametrize("q", [0.5, 0.25, 0.0, 1.0, QUARTILES, (0.0, 0.1), (0.1, 0.2, 0.7, 1.0)])
def test_quantiles_are_proved_on_a_box(q, noise):
    """In halves of votes, so that a person's vote is shared between two places."""
    quantile = one_vote(q=q, epsilon=1.0, noise=noise)
    proof = prove_mechanism(quantile, d=3, top=2 if isinstance(q, float) else 1)
    assert proof.holds, proof.violation
    assert proof.log_ratio > 0.3  # the box is not empty of what could go wrong


def at_every_point(points, people):
    """Pairs of counts of which one user adds to some: to each by at most 1, which is what `sensitivity=1` says."""
    moves = [move for move in product(range(2), repeat=points) if any(move)]
    before = product(range(people), repeat=points)
    return [(x, tuple(map(sum, zip(x, move, strict=True)))) for x in before for move in moves]


@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
@pytest.mark.parametrize("q", [0.5, 0.0, 0.9, QUARTILES])
def test_a_user_may_count_at_every_point_unless_the_caller_says_otherwise(q, noise):
    """`Scores` say how far one user moves any one score: on N points that may be N votes."""
    pairs, claim = at_every_point(5 if isinstance(q, float) else 3, 2), sl.PureDP(1.0)

    def proof(votes=None):
        quantile = Quantile(q=q, epsilon=1.0, noise=noise, votes_per_user=votes)
        return prove(cache(lambda x: certify(quantile, sl.Scores(list(x), monotone=True))), pairs, claim)

    assert proof().holds
    assert proof().log_ratio > 0.1  # the box is not empty of what could go wrong
    if q in (0.5, 0.9):
        assert not proof(1).holds


def test_the_worst_user_of_twenty_points_is_within_the_promise():
    even, steep = [10] * 20, [10] * 10 + [11] * 10
    for votes, least, most in ((None, 0.2, 1.0), (10, 0.4, 1.0), (1, 4.9, 5.1)):
        quantile = Quantile(q=0.5, epsilon=1.0, votes_per_user=votes)
        laws = [quantile.probabilities(one, monotone=True) for one in (even, steep)]
        assert least < np.abs(np.log(laws[0] / laws[1])).max() < most


@pytest.mark.parametrize("budget", [ZCDP(0.1), ApproxDP(1.0, 1e-6)])
def test_other_budgets_are_proved_on_a_box(budget):
    quantile = one_vote(q=QUARTILES, budget=budget)
    assert quantile.noise == "gumbel"
    assert quantile.charge == BoundedRange(quantile.epsilon_of_a_level).repeat(2)
    assert budget.excess(quantile.charge) <= 1e-12
    assert prove_mechanism(quantile, d=3, top=1).holds


@pytest.mark.parametrize("q", [0.5, 0.3, QUARTILES, (0.0, 0.3, 1.0)])
def test_the_law_is_the_certified_one(q):
    for seed, noise in ((1, "exponential"), (2, "gumbel")):
        counts = np.random.default_rng(seed).integers(0, 4, 5).tolist()
        quantile = one_vote(q=q, epsilon=2.0, noise=noise)
        balls = certified(quantile, counts)
        law = quantile.sequence_probabilities(counts, monotone=True)
        assert law.keys() == balls.keys()
        assert max(abs(law[cell] - float(balls[cell])) for cell in law) < 1e-12


def test_draws_have_the_certified_law():
    quantile, counts = one_vote(q=(0.2, 0.6), epsilon=3.0), [3, 0, 1, 2]
    balls = certified(quantile, counts)
    cells = list(balls)
    rows = quantile.release_many(counts, draws=2_000, monotone=True, rng=seeded(5))
    other = certified(quantile, [3, 0, 2, 1])
    found = histogram([cells.index(tuple(row)) for row in rows.tolist()], len(cells))
    assert_law(found, [float(balls[cell]) for cell in cells], wrong=[float(other[cell]) for cell in cells])


def test_units_of_weight_change_nothing():
    quantile = one_vote(q=0.3, epsilon=1.0)
    scores = sl.Scores([3 << 16, 0, 1 << 16], sensitivity=1 << 16, monotone=True)
    fine = Quantile(q=0.3, epsilon=1.0, votes_per_user=1 << 16).probabilities(scores)
    assert np.allclose(fine, quantile.probabilities([3, 0, 1], monotone=True), atol=1e-14)


def test_the_stated_rank_error_holds_and_halving_the_step_costs_r_ln_2_over_epsilon():
    quantile, rng = one_vote(q=0.5, epsilon=0.5), np.random.default_rng(3)
    for beta in (0.5, 0.05):
        runs = quantile.runs(rng.integers(0, 3, 200), monotone=True)
        assert sum(run.chance for run in runs if run.error > quantile.rank_error(200, beta)) <= beta
    finer = quantile.rank_error(400, 0.1) - quantile.rank_error(200, 0.1)
    assert math.isclose(finer, math.log(2) / 0.5, rel_tol=1e-12)


def test_no_data_raise_an_error():
    for counts in ([0, 0, 0], [-5, 0, 3], [2**40, 2**40, 0]):
        for q in (0.5, 0.0, QUARTILES):
            found = one_vote(q=q, epsilon=1.0).release(counts, monotone=True, rng=seeded(1))
            assert len(found) == np.size(q)
            assert found.q == np.ravel(q).tolist()


def test_a_release_says_how_far_the_rank_may_be_off():
    release = one_vote(q=0.5, epsilon=1.0).release(OLD, monotone=True)
    assert release.notes == ("with a chance of 95% its rank is within 6 people of the rank asked for, or better",)
    assert release.mechanism == "quantile 0.5 by permute-and-flip"
    assert one_vote(q=QUARTILES, budget=ZCDP(0.1)).name == "3 quantiles by exponential mechanism"


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        ({"q": 1.5}, ValueError, "from 0 to 1"),
        ({"q": math.nan}, ValueError, "from 0 to 1"),
        ({"q": True}, TypeError, "q must be a number"),
        ({"q": "half"}, TypeError, "q must be a number"),
        ({"q": []}, ValueError, "must not be empty"),
        ({"q": [0.5, 0.5]}, ValueError, "must increase"),
        ({"q": [n / 10000 for n in range(1024)]}, ValueError, "more than 1023"),
        ({"q": 0.123456}, ValueError, "four digits"),
        ({"q": 0.5, "noise": "laplace"}, ValueError, "noise must be"),
        ({"q": 0.5, "noise": "exponential", "epsilon": None, "budget": ZCDP(0.1)}, ValueError, "pure budgets only"),
        ({"q": QUARTILES, "epsilon": 5e-324}, ValueError, "too small"),
        ({"q": 0.5, "votes_per_user": 0}, ValueError, "greater than 0"),
        ({"q": 0.5, "votes_per_user": True}, ValueError, "greater than 0"),
    ],
)
def test_parameters_are_refused_in_words(words, kind, said):
    with pytest.raises(kind, match=said):
        Quantile(**{"epsilon": 1.0, **words})


@pytest.mark.parametrize(
    ("question", "kind", "said"),
    [
        ({"monotone": False}, ValueError, "monotone=True"),
        ({"neighbours": "replace"}, ValueError, "add-remove"),
        ({"monotone": True, "public": False}, ValueError, "must be public"),
        ({"monotone": True, "sensitivity": (1, 2)}, ValueError, "one user only adds"),
        ({"monotone": True, "sensitivity": 2}, ValueError, "must not be below sensitivity"),
    ],
)
def test_questions_are_refused_in_words_that_show_nothing(question, kind, said):
    with pytest.raises(kind, match=said) as refused:
        one_vote(q=0.5, epsilon=1.0).release([70001, 70002], **question)
    assert "7000" not in str(refused.value)


def test_laws_are_refused_where_they_would_be_too_long():
    several = one_vote(q=QUARTILES, epsilon=1.0)
    with pytest.raises(ValueError, match="one quantile"):
        several.runs([1, 2], monotone=True)
    with pytest.raises(ValueError, match="fewer quantiles"):
        several.sequence_probabilities([1] * 200, monotone=True)
    with pytest.raises(ValueError, match=r"read \.runs"):
        one_vote(q=0.5, epsilon=1.0).probabilities(np.ones(10**6 + 1, np.int64), monotone=True)
    with pytest.raises(TypeError, match="whole counts"):
        several.release([1.0, 2.0], monotone=True)


def test_fractions_are_taken_as_they_are():
    third = one_vote(q=Fraction(1, 3), epsilon=1.0)
    assert third.success_probability([1, 1, 1], monotone=True) == pytest.approx(
        one_vote(q=Fraction(2, 3), epsilon=1.0).success_probability([1, 1, 1], monotone=True)
    )
    assert third.release([1, 1], monotone=True).q == [1 / 3]


def test_counts_beyond_all_reason_are_cut_and_raise_nothing():
    """Sums that do not fit into 64 bits would tell one person apart, by an error or by going on for ever."""
    for counts in ([2**62, 2**62 - 1, 0, 0], [2**62, 2**62, 0, 0], [2**61] * 8):
        release = one_vote(q=0.5, epsilon=1.0).release(counts, monotone=True, rng=sl.testing.seeded(1))
        assert len(present(release.indices)) == 1
    many = Quantile(q=tuple(n / 10 for n in range(1, 10)), epsilon=1.0)
    words: Any = {"monotone": True, "sensitivity": 2.0**55}
    assert len(present(many.release([0, 32 * 2**55, 0, 0], rng=sl.testing.seeded(1), **words).indices)) == 9
