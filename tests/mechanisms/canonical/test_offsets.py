"""Canonical top-k under public offsets: exact draws, exact laws, offsets from public facts alone."""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from shortlist import ZCDP, ApproxDP, PureDP
from shortlist._runs import Runs
from shortlist.audit.prove import prove_mechanism
from shortlist.exact.noise_distributions import EXPONENTIAL, GUMBEL
from shortlist.exact.offset_levels import covered
from shortlist.exact.offset_ranking import Stairs, offset_ranking
from shortlist.exact.ranked_subsets import ranked
from shortlist.exact.stair_counts import ExactCounts
from shortlist.mechanisms import CanonicalTopK
from shortlist.mechanisms.canonical import offsets
from shortlist.mechanisms.canonical.offset_sampler import prepare_offsets
from shortlist.mechanisms.noisy_max.law import winner_probabilities
from shortlist.privacy import BoundedRange
from shortlist.sampling import proportional_draw, subset_draw_exponential, subset_draw_offsets, subset_rejection
from shortlist.sampling.entropy import Seeded
from shortlist.sampling.uniforms import WordStream
from shortlist.scores import Scores
from tests.helpers.subset_law import counted
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import present

kinds = pytest.mark.parametrize("noise", [GUMBEL, EXPONENTIAL], ids=["gumbel", "exponential"])


def enumerated(x: Sequence[float], k: int, rate: float, gamma: float, less: Sequence[float], noise):
    """{set: chance} from the definition: the l-th best inside counts for its score minus its offset."""
    sets = list(combinations(range(len(x)), k))
    u = []
    for y in sets:
        members = sorted((x[i] for i in y), reverse=True)
        inside = min(one - low for one, low in zip(members, less, strict=True))
        u.append(rate * (gamma * inside - (1 - gamma) * max(x[i] for i in range(len(x)) if i not in y)))
    return dict(zip(sets, winner_probabilities(np.array(u), noise), strict=True))


CASES = [
    ([9, 2, 7, 7, 1, 4, 0, 3], 4, 0.7, Fraction(1, 2), [6, 3, 3, 0]),
    ([9.25, 2, 7, 6.5, 1, 4, 0, 3], 4, 0.4, Fraction(3, 5), [2, 2, 0.5, 0]),
    ([5, 4, 4, 1, 0], 2, 0.8, Fraction(1), [1, 0]),  # only what is inside counts
    ([5, 4, 4, 1, 0], 2, 0.8, Fraction(1, 5), [7, 0]),  # more than there is
    ([3, 3, 3, 3, 3], 3, 1.0, Fraction(1, 2), [2, 1, 0]),
    ([2**60, 2**60 - 3, 2**60 - 4, 0, 2**60 - 9, 2**60 - 5], 3, 0.5, Fraction(1, 2), [2, 0.25, 0]),
    ([0.1, 0.7, 0.35, 1.9, 1.3], 2, 2.0, Fraction(1, 2), [1 / 3, 0]),
]


POOR = [y for y in combinations(range(4), 2) if sum(rank < 2 for rank in y) < 2]
"""Of the ranks of 4 scores: pairs that are not the top two. A family that looks at no score."""


def log_mass(x, family, gamma=0.6, less=(1.5, 0.0)):
    """ln of what the sets of these ranks weigh at eps = R = 1, from the definition."""
    down = sorted(x, reverse=True)
    inside = [min(down[rank] - low for rank, low in zip(y, less, strict=True)) for y in family]
    outside = [down[min(set(range(len(x))) - set(y))] for y in family]
    weights = (gamma * one - (1 - gamma) * other for one, other in zip(inside, outside, strict=True))
    return math.log(sum(map(math.exp, weights)))


def test_the_mass_of_poor_sets_moves_as_the_scores_do():
    def close(x):
        """A family that looks at the scores: no set that holds rank 3 and has it near the best."""
        gap = max(x) - sorted(x)[1]
        return [y for y in POOR if 2 not in y or gap > 1]

    boxes = [x for x in product(range(4), repeat=4) if max(x) - min(x) > 1]
    moves = [(x, [a + b for a, b in zip(x, step, strict=True)]) for x in boxes for step in product((0, 1), repeat=4)]
    assert all(-0.4 - 1e-12 <= log_mass(y, POOR) - log_mass(x, POOR) <= 0.6 + 1e-12 for x, y in moves)
    wrong = [log_mass(y, close(y)) - log_mass(x, close(x)) for x, y in moves]
    assert max(wrong) > 0.7, "a family that follows the scores moves further, and this would be seen"


def ranking_of(case):
    x, k, rate, gamma, less = case
    plain = ranked(np.array(x), k, Fraction(rate), gamma, gap_aware=True)
    return offset_ranking(plain, Stairs.of([Fraction(one) for one in less]))


def law_of(case, noise):
    x, k, rate, gamma, less = case
    return enumerated([one - max(x) for one in x], k, rate, float(gamma), less, noise)


@full_size
@kinds
@pytest.mark.parametrize("case", CASES, ids=str)
def test_draws_have_the_law_of_all_sets(case, noise):
    law = law_of(case, noise)
    rows = prepare_offsets(ranking_of(case), noise).draw_many(Seeded(21), sized(400, full=40_000))
    tied = len(set(case[0])) == 1  # whatever the noise, all sets are alike
    x, k, rate, gamma, less = case
    wrong = list(law_of((x, k, sized(2.5, full=1.3) * rate, gamma, less), noise).values())
    assert_law(counted(rows, law), list(law.values()), wrong=None if tied else wrong)


@full_size
@kinds
def test_draws_without_the_offsets_would_be_noticed(noise):
    law, flat = (law_of((*CASES[0][:4], less), noise) for less in (CASES[0][4], [0] * 4))
    rows = prepare_offsets(ranking_of(CASES[0]), noise).draw_many(Seeded(23), sized(1500, full=10_000))
    assert_law(counted(rows, law), list(law.values()), wrong=list(flat.values()))


@full_size
@pytest.mark.traced
@kinds
@pytest.mark.parametrize("case", CASES[:3], ids=str)
def test_wide_brackets_and_exact_arithmetic_everywhere_change_nothing(case, noise, monkeypatch):
    for module in (subset_draw_offsets, subset_rejection, subset_draw_exponential):
        monkeypatch.setattr(module, "ERROR", 0.4)  # floats are almost never sure: Arb decides
    monkeypatch.setattr(proportional_draw, "SHARE_SLACK", 0.4)
    law = law_of(case, noise)
    rows = prepare_offsets(ranking_of(case), noise, width=9.0).draw_many(Seeded(22), sized(100, full=4000))
    assert_law(counted(rows, law), list(law.values()))


@pytest.mark.parametrize("case", CASES[:2], ids=str)
def test_floats_bound_the_chance_that_a_proposal_is_accepted_with(case):
    envelope, stream = subset_draw_offsets.offset_envelope(ranking_of(case), width=9.0), WordStream(Seeded(24))
    chances = []
    for proposal in (envelope.propose(stream) for _ in range(40)):
        chances.append(float(proposal.chance()))
        assert math.exp(proposal.low) <= chances[-1] <= math.exp(proposal.high)
        assert proposal.high - proposal.low < 1e-9
    assert min(chances) < 0.9


@pytest.mark.parametrize("case", CASES, ids=str)
def test_boundaries_ask_no_more_of_the_first_ranks_than_the_top_k_has(case):
    of = ranking_of(case)
    rows = of.boundaries(covered(of, width=0.7).levels)
    assert (np.minimum(rows.ranks, of.k) >= rows.least).all()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_families_are_counted_as_by_hand(case):
    of, d = ranking_of(case), len(case[0])
    levels = covered(of, width=0.7)
    rows = of.boundaries(levels.levels)
    by_hand: dict[tuple[int, int], int] = {}
    for y in combinations(range(d), of.k):
        head = next((n for n, rank in enumerate(y) if n != rank), of.k)
        for n, level in enumerate(levels.levels.tolist()):
            by_hand[n, head] = by_hand.get((n, head), 0) + (of.level_of(np.array(y)) >= level)
    for n, head in np.ndindex(len(levels.levels), of.k):
        assert math.exp(levels.counts[n, head]) == pytest.approx(by_hand.get((n, head), 0), rel=1e-12)
        if by_hand.get((n, head)):
            family = subset_draw_offsets.Family(rows.row(n))
            assert float(family.size(head)) == by_hand[n, head]
            assert isinstance(family.exact(head), ExactCounts)
    assert levels.levels[0] == of.top
    assert levels.levels[-1] == of.lowest


@kinds
@pytest.mark.parametrize("case", CASES, ids=str)
def test_utility_is_that_of_the_enumeration(case, noise):
    x, k, rate, gamma, less = case
    values = np.array(x)
    profile = [float(one) for one in less]
    mechanism = CanonicalTopK(k=k, epsilon=rate, gamma=gamma, noise=noise, profile=profile)
    stated = present(mechanism._stairs(Scores(values, monotone=True)))
    less = np.repeat([float(one) for one in stated.heights], np.diff(stated.ends, prepend=0)).tolist()
    law = law_of((x, k, rate, gamma, less), noise)
    assert mechanism.probabilities(values, monotone=True) == pytest.approx(law, abs=1e-10)
    kth = np.sort(values)[::-1][k - 1]
    correct, held, right = np.zeros(k + 1), np.zeros(len(x)), 0.0
    for y, chance in law.items():
        correct[sum(values[i] >= kth for i in y)] += chance
        held[list(y)] += chance
        right += chance * (sorted(values[list(y)]) == sorted(np.sort(values)[::-1][:k]))
    found = mechanism.quality(values, monotone=True)
    lower, upper = mechanism.success_bounds(values, monotone=True)
    assert lower - 1e-12 <= right <= upper + 1e-12
    assert upper - lower < 1e-7
    assert mechanism.number_correct(values, monotone=True) == pytest.approx(correct, abs=1e-8)
    assert mechanism.inclusion_probabilities(values, monotone=True) == pytest.approx(held, abs=1e-8)
    assert (found.top, found.recall) == pytest.approx((right, correct @ np.arange(k + 1) / k), abs=1e-8)


@kinds
def test_great_and_good_are_those_of_the_enumeration(noise):
    x, k = np.array([40, 37, 33, 30, 24, 20, 13, 9, 6, 1, 0]), 5
    mechanism = CanonicalTopK(k=k, epsilon=0.1, gamma=0.5, noise=noise, profile=[20, 9, 4, 2, 0])
    law = mechanism.probabilities(x, monotone=True)
    found = mechanism.quality(x, monotone=True)
    assert found.great == pytest.approx(sum(p for y, p in law.items() if 0 in y and max(y) < 5), abs=1e-8)
    assert found.good == pytest.approx(sum(p for y, p in law.items() if 0 in y and max(y) < 7), abs=1e-8)


@kinds
def test_no_offsets_is_the_gap_aware_loss(noise):
    x = np.array([40, 37, 33, 30, 24, 20, 13, 9, 6, 1, 0])
    flat = CanonicalTopK(k=3, epsilon=0.3, noise=noise)
    for same in (replace(flat, profile=[7, 7, 7]), replace(flat, gamma=0, profile=[9, 5, 1])):
        other = replace(flat, gamma=same.gamma)
        assert same.probabilities(x, monotone=True) == other.probabilities(x, monotone=True)
        assert same.release_many(x, monotone=True, draws=9, rng=Seeded(1)).tolist() == (
            other.release_many(x, monotone=True, draws=9, rng=Seeded(1)).tolist()
        )


SHAPES = {
    "zipf": np.floor(1000 / np.arange(1, 61)).astype(int),
    "slope": np.arange(60, 0, -1) * 4,
    "step": np.array([90] * 8 + [20] * 52),
    "tied": np.array([50] * 5 + [40] * 30 + [3] * 25),
}


@kinds
@pytest.mark.parametrize("shape", SHAPES)
def test_a_profile_that_is_too_low_costs_no_accuracy_at_the_top(shape, noise):
    """Too low: nowhere further above its last number than the scores are above the k-th; too high hurts."""
    x, k = SHAPES[shape], 8
    flat = CanonicalTopK(k=k, epsilon=0.2, noise=noise)
    least = flat.success_bounds(x, monotone=True)[0]
    truth = x[:k].astype(float)
    for share in (0.0, 0.25, 0.5, 1.0):
        guess = replace(flat, profile=(share * (truth - truth[-1])).tolist())
        assert guess.success_bounds(x, monotone=True)[1] >= least - 1e-9
    too_high = replace(flat, profile=(truth - truth[-1] + 200.0 * np.arange(k, 0, -1)).tolist())
    assert too_high.success_probability(x, monotone=True) < least or least < 1e-6


def test_the_true_profile_gains():
    x = np.floor(1000 / np.arange(1, 201) ** 0.7).astype(int)
    flat = CanonicalTopK(k=20, epsilon=0.3)
    known = replace(flat, profile=x[:20].tolist())
    assert known.quality(x, monotone=True).recall > flat.quality(x, monotone=True).recall + 0.05


@pytest.mark.parametrize("d", [40, 1000])
def test_the_rule_costs_at_most_its_cap(d):
    """u differs from that of the flat loss by at most g cap / epsilon, so the odds of a failure grow by e^(g cap)."""
    k, epsilon = 10, 0.5
    cap = math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1)
    stairs = offsets.rule_stairs(k, d, Fraction(epsilon))
    assert float(stairs.heights[0]) * epsilon <= cap / 8
    assert float(stairs.heights[0]) * epsilon > 0.9 * cap / 8 - 0.4
    assert len(stairs.ends) <= offsets.STEPS + 1
    assert stairs.heights[-1] == 0
    x = np.full(d, 10)
    x[:k] = 14  # no tower anywhere: the worst case for offsets
    flat = CanonicalTopK(k=k, epsilon=epsilon, gamma=0.65, noise="gumbel")
    plain, less = (one.success_probability(x, monotone=True) for one in (flat, replace(flat, loss="offset")))
    assert less / (1 - less) >= plain / (1 - plain) * math.exp(-0.65 * cap / 8) * (1 - 1e-6)
    assert less < plain


def test_the_rule_looks_at_public_facts_alone():
    rng = np.random.default_rng(3)
    mechanism = CanonicalTopK(k=5, epsilon=0.3, loss="offset")
    stairs = [mechanism._stairs(Scores(rng.integers(0, 999, 50), monotone=True)) for _ in range(3)]
    assert stairs[0] == stairs[1] == stairs[2] is not None
    assert CanonicalTopK(k=2, epsilon=1.0, loss="offset")._stairs(Scores([4, 3, 2, 1, 0])) is None
    assert CanonicalTopK(k=4, epsilon=1.0, loss="offset")._stairs(Scores([4, 3, 2, 1, 0])) is None  # more than half
    assert CanonicalTopK(k=3, epsilon=1.0, loss="offset")._weight(10) == Fraction(13, 20)


def test_a_long_profile_becomes_few_stairs_and_is_only_rounded_down():
    profile = [1000.0 / (n + 1) ** 0.6 for n in range(100)]
    stairs = offsets.profile_stairs(profile, 10_000, Fraction(1, 2))
    heights = np.repeat([float(one) for one in stairs.heights], np.diff(stairs.ends, prepend=0))
    wanted = np.array(profile) - profile[-1]
    assert len(stairs.ends) <= offsets.MOST_STAIRS
    assert (heights <= wanted).all()
    assert (heights >= 0).all()
    assert (np.minimum(wanted, heights[0]) - heights).max() < wanted[0] / 10
    assert offsets.profile_stairs(sorted(profile), 10_000, Fraction(1, 2)) == stairs  # in any order


def test_what_may_be_private_is_refused_as_a_profile():
    pd = pytest.importorskip("pandas")
    for private in (Scores([3, 2, 1]), pd.Series([3, 2, 1]), {"a": 3, "b": 2, "c": 1}, "abc"):
        with pytest.raises(TypeError, match="profile must be") as caught:
            CanonicalTopK(k=3, epsilon=1.0, profile=private)  # type: ignore[arg-type]
        assert "[3, 2, 1]" not in str(caught.value)
    with pytest.raises(ValueError, match="k=3 numbers"):
        CanonicalTopK(k=3, epsilon=1.0, profile=[2, 1])
    for wrong in ([1.0, math.nan, 2.0], [1.0, math.inf, 2.0]):
        with pytest.raises(ValueError, match="finite"):
            CanonicalTopK(k=3, epsilon=1.0, profile=wrong)
    with pytest.raises(TypeError, match="numbers"):
        CanonicalTopK(k=3, epsilon=1.0, profile=[True, 2, 1])
    with pytest.raises(ValueError, match="leave loss"):
        CanonicalTopK(k=3, epsilon=1.0, profile=[3, 2, 1], loss="offset")
    with pytest.raises(ValueError, match="laplace"):
        CanonicalTopK(k=3, epsilon=1.0, loss="offset", noise="laplace")


def test_a_profile_is_kept_as_numbers():
    mechanism = CanonicalTopK(k=3, epsilon=1.0, profile=np.array([3, 2, 1]))
    assert mechanism.profile == (3, 2, 1)
    assert mechanism == replace(mechanism, profile=[3, 2, 1])
    assert mechanism.name == "canonical top-3 with exponential noise and a public profile"
    assert replace(mechanism, budget=ZCDP(0.1)).charge == replace(mechanism, budget=ZCDP(0.1), profile=None).charge
    assert isinstance(CanonicalTopK(k=3, budget=ApproxDP(1.0, 1e-6), loss="offset").charge, BoundedRange)
    assert CanonicalTopK(k=3, epsilon=1.0, loss="offset").charge == PureDP(1.0)


@kinds
def test_runs_of_equal_scores_draw_what_the_whole_array_draws(noise):
    array, runs = np.array([9, 9, 4, 4, 4, 0]), Runs.of(np.array([9, 4, 0]), np.array([2, 3, 1]))
    stairs = Stairs.of([Fraction(3), Fraction(1), Fraction(0)])
    rows = [
        prepare_offsets(
            offset_ranking(ranked(values, 3, Fraction(1, 2), Fraction(1, 2), gap_aware=True), stairs), noise
        ).draw_many(Seeded(1), 60)
        for values in (array, runs)
    ]
    assert np.array(rows[0]).tolist() == np.array(rows[1]).tolist()


@full_size
@kinds
def test_many_candidates_and_a_long_list_are_drawn_by_their_law(noise):
    """At an epsilon where a set has some wrong members."""
    x = np.floor(1e5 * np.arange(1, sized(2_001.0, full=10_001.0)) ** -0.8).astype(np.int64)
    mechanism = CanonicalTopK(k=30, epsilon=0.014, noise=noise.name, loss="offset")
    law = mechanism.number_correct(x, monotone=True)
    assert law.sum() == pytest.approx(1, abs=1e-8)
    assert mechanism.inclusion_probabilities(x, monotone=True).sum() == pytest.approx(30, abs=1e-6)
    rows = mechanism.release_many(x, monotone=True, draws=sized(150, full=4000), rng=Seeded(5))
    counts = np.bincount((rows < 30).sum(axis=1), minlength=31)
    wrong = replace(mechanism, budget=PureDP(0.018)).number_correct(x, monotone=True)
    assert_law(counts, law / law.sum(), wrong=wrong / wrong.sum())


def test_a_hundred_of_ten_thousand_are_drawn_at_once():
    x = np.floor(1e5 * np.arange(1, 10_001.0) ** -0.8).astype(np.int64)
    for mechanism in (
        CanonicalTopK(k=100, epsilon=0.4, loss="offset"),
        CanonicalTopK(k=100, budget=ZCDP(0.02), profile=x[:100].tolist()),
    ):
        found = mechanism.release(x, monotone=True, rng=Seeded(3)).indices
        assert len(set(present(found)) & set(range(100))) >= 95


@pytest.mark.parametrize("monotone", [False, True], ids=["general", "monotone"])
@pytest.mark.parametrize("noise", ["gumbel", "exponential"])
@pytest.mark.parametrize("profile", [[3, 1], [90, 1], [1, 0]], ids=str)
def test_offsets_keep_the_promise_on_a_box(profile, noise, monotone):
    proof = prove_mechanism(
        CanonicalTopK(k=2, epsilon=1.0, noise=noise, profile=profile), d=4, top=1 + monotone, monotone=monotone
    )
    assert proof.holds, proof.violation
    assert proof.least_log_ratio > 0.5
    assert noise != "gumbel" or proof.spread <= 1 + 1e-9


def test_the_rule_keeps_the_promise_on_a_box_and_under_zcdp():
    proof = prove_mechanism(CanonicalTopK(k=3, epsilon=1.0, loss="offset"), d=6, top=1, monotone=True)
    assert proof.holds, proof.violation
    assert proof.least_log_ratio > 0.8
    proof = prove_mechanism(CanonicalTopK(k=3, budget=ZCDP(0.2), loss="offset"), d=6, top=1, monotone=True)
    assert proof.holds, proof.violation
    assert proof.renyi <= 0
