"""Draws among k-subsets have their exact law on every path, the rare ones forced."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
import pytest

from shortlist._arrays import Runs
from shortlist.exact import reals, subsets
from shortlist.noise import piecewise_noise
from shortlist.sampling import entropy as uniforms
from shortlist.sampling import sets
from shortlist.sampling import subsets as envelopes
from shortlist.sampling import subsets as groups
from shortlist.sampling import subsets as thinning
from tests.helpers.inside import EXPONENTIAL, GUMBEL, KINDS, Seeded, Uniform, WordStream, log_sum, rank_scores
from tests.helpers.subset_law import counted, subset_law
from tests.helpers.support import assert_law, full_size, histogram, sized
from tests.helpers.typed import of_kind, present

kinds = pytest.mark.parametrize("noise", [GUMBEL, EXPONENTIAL], ids=["gumbel", "exponential"])


class Given:
    """A source whose first words are given."""

    secure = False

    def __init__(self, *words, then=7):
        self.given = list(words)
        self.then = Seeded(then)

    def words(self, count):
        head, self.given = self.given[:count], self.given[count:]
        return np.append(np.array(head, np.uint64), self.then.words(count - len(head)))


def one_by_one(*words):
    return WordStream(Given(*words), ahead=1)


# Uniform choices


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 2**64, 2**64 + 1, 3 * 2**70])
def test_integers_below_a_bound_are_uniform(bound):
    stream = WordStream(Seeded(1))
    values = [stream.below(bound) for _ in range(4000)]
    assert all(0 <= value < bound for value in values)
    cells = min(bound, 6)
    law = [(bound * (c + 1) // cells - bound * c // cells) / bound for c in range(cells)]
    edges = [bound * (c + 1) // cells for c in range(cells)]
    assert_law(histogram([next(c for c in range(cells) if v < edges[c]) for v in values], cells), law)


def test_bits_are_all_zero_with_their_chance():
    stream = WordStream(Seeded(2), ahead=512)
    counts = [sum(stream.all_zero(bits) for _ in range(4000)) for bits in (0, 1, 3)]
    assert counts[0] == 4000
    assert_law([counts[1], 4000 - counts[1]], [0.5, 0.5])
    assert_law([counts[2], 4000 - counts[2]], [1 / 8, 7 / 8])
    assert not stream.all_zero(200)
    assert one_by_one(0, 0).all_zero(128)
    assert one_by_one(0, 1 << 60).all_zero(67)
    assert not one_by_one(0, 1 << 61).all_zero(67)


@pytest.mark.parametrize(("size", "count"), [(1, 0), (1, 1), (5, 2), (5, 3), (6, 6), (4, 1)])
@pytest.mark.parametrize("few", [0, 32])
def test_subsets_are_uniform(size, count, few, monkeypatch):
    monkeypatch.setattr(uniforms, "FEW", few)
    stream = WordStream(Seeded(3))
    rows = [tuple(uniforms.subset(size, count, stream).tolist()) for _ in range(4000)]
    distinct = sorted(set(rows))
    assert len(distinct) == math.comb(size, count)
    assert all(len(set(row)) == count and list(row) == sorted(row) for row in distinct)
    assert_law([rows.count(row) for row in distinct], np.full(len(distinct), 1 / len(distinct)))


def test_large_subsets_have_distinct_members():
    for size in (10**6, 2**33):
        found = uniforms.subset(size, 3000, WordStream(Seeded(4)))
        assert len(found) == 3000
        assert (np.diff(found) > 0).all()
        assert 0 <= found[0] < size / 50 < size * 0.98 < found[-1] < size


def test_half_words_that_would_favour_some_values_are_thrown_away():
    """2^32 = 1 mod 3: of the halves, 0 alone is one too many."""
    halves = np.array([0, 1, 2**31, 2**32 - 1], np.uint32)
    stream = WordStream(Given(*halves.view(np.uint64).tolist()))
    assert uniforms._about(3, 3, stream).tolist() == [0, 1, 2]


def test_a_uniform_is_refined_and_never_forgets():
    number = Uniform(one_by_one(1 << 63, 5).word)
    assert number.low <= 0.5 <= number.high
    number.refine()
    assert number.value == (1 << 127) + 5
    assert number.bits == 128
    assert reals.is_positive(reals.formula(lambda: number.ball() - 0.5, [number]))
    assert not reals.is_positive(reals.formula(lambda: 0.25 - number.ball(), [number]))


def test_undecided_signs_draw_more_bits():
    number = Uniform(one_by_one(1 << 63, 0, 9).word)
    assert reals.is_positive(reals.formula(lambda: number.ball() - 0.5, [number]))
    assert number.bits == 192
    assert Uniform(one_by_one(2**64 - 1).word).high == 1.0


# Positions inside a cell


@pytest.mark.parametrize(("i", "first", "last"), [(0, 0, 3), (2, 0, 4), (3, 5, 9), (1, 0, 300), (40, 0, 2)])
@pytest.mark.parametrize("floats", [True, False], ids=["floats", "integers"])
def test_positions_have_binomial_odds(i, first, last, floats, monkeypatch):
    if not floats:
        monkeypatch.setattr(envelopes, "ULPS", 1.0)
    monkeypatch.setattr(envelopes, "SMALL", 0)
    stream = WordStream(Seeded(5), ahead=64)
    draws = 1500 if last > 100 or not floats else 4000
    counts = histogram([envelopes.position(i, first, last, stream) - first for _ in range(draws)], last - first + 1)
    sizes = np.array([math.comb(i + j, i) for j in range(first, last + 1)], float)
    assert_law(counts, sizes / sizes.sum())


def test_a_position_on_a_boundary_is_decided_by_further_bits():
    """Sizes 1, 1: the word 2^63 is exactly the boundary, and one below it needs more bits to tell."""
    assert envelopes.position(0, 0, 1, one_by_one(1 << 63)) == 1
    assert envelopes.position(0, 0, 1, one_by_one((1 << 63) - 1)) == 0
    thirds = ((1 << 64) - 1) // 3  # sizes 1, 1, 1: a third is no dyadic number
    assert envelopes.position(0, 0, 2, one_by_one(thirds, 0)) == 0
    assert envelopes.position(0, 0, 2, one_by_one(thirds, 1 << 63)) == 1


# Whole draws


CASES = [
    ([5, 4, 4, 1, 0], 2, 0.8, Fraction(1, 2), "gap-aware"),
    ([5, 4, 4, 1, 0], 2, 0.8, Fraction(1), "gap-aware"),
    ([5, 4, 4, 1, 0], 2, 0.8, Fraction(0), "paper"),
    ([1, 8, 7, 3, 2, 9, 4], 3, 0.6, Fraction(9, 10), "gap-aware"),
    ([1, 8, 7, 3, 2, 9, 4], 3, 0.4, Fraction(1, 2), "paper"),
    ([3, 3, 3, 3, 3], 2, 1.0, Fraction(1, 2), "gap-aware"),
    ([7, 6, 6, 6, 2], 4, 0.7, Fraction(0), "gap-aware"),
    ([2, 1], 1, 1.0, Fraction(1), "gap-aware"),
    ([0.5, 0.25, -1e300, 0.0], 2, 1.0, Fraction(1, 2), "gap-aware"),
]


def ranking_of(case):
    x, k, rate, gamma, loss = case
    return rank_scores(np.array(x), k, Fraction(rate), gamma, gap_aware=loss == "gap-aware")


def envelope_of(ranking) -> Any:
    with mock.patch.object(envelopes, "FEW", 0):
        return sets.proposals_of(ranking)


def race_of(case, noise, width=envelopes.WIDTH):
    """Classes are drawn through cells, as where there are many: tests/sampling/test_subset_few.py has the few."""
    wide = partial(envelopes.prepare, width=width)
    with mock.patch.multiple(envelopes, FEW=0, prepare=wide):
        return sets.prepare_subsets(ranking_of(case), noise)


def by(ranking, choose):
    """A race in which a class is chosen so."""
    return lambda stream: sets.pick_member(ranking, choose(stream), stream)


def many(race, source, draws):
    """So many independent winners."""
    stream = WordStream(source, 1024)
    return [race(stream) for _ in range(draws)]


def law_of(case, noise):
    x, k, rate, gamma, loss = case
    return subset_law([max(v, -1e6) for v in x], k, rate, float(gamma), noise, loss)


def at_rate(case, noise, rate):
    """The law at another rate, and so with other noise: one that must be refused."""
    x, k, own, gamma, loss = case
    return law_of((x, k, rate * own, gamma, loss), noise)


@full_size
@kinds
@pytest.mark.parametrize("case", CASES, ids=str)
def test_draws_have_the_law_of_all_subsets(case, noise):
    law = law_of(case, noise)
    tied = len(set(case[0])) == 1  # whatever the noise, all sets are alike
    wrong = None if tied else list(at_rate(case, noise, sized(2.5, full=1.3)).values())
    draws = sized(1200 if case is CASES[-1] else 400, full=40_000)  # the last: scores so near that rates differ little
    assert_law(counted(many(race_of(case, noise), Seeded(11), draws), law), list(law.values()), wrong=wrong)


@full_size
def test_a_wrong_law_would_be_noticed():
    law = law_of(CASES[0], GUMBEL)
    rows = many(race_of(CASES[0], EXPONENTIAL), Seeded(11), sized(5000, full=9000))
    assert_law(counted(rows, law), list(law_of(CASES[0], EXPONENTIAL).values()), wrong=list(law.values()))


@full_size
@kinds
@pytest.mark.parametrize("case", [CASES[0], CASES[3], CASES[5]], ids=str)
def test_wide_cells_and_exact_arithmetic_everywhere_change_nothing(case, noise, monkeypatch):
    for module in (envelopes, thinning):
        monkeypatch.setattr(module, "ERROR", 0.4)  # floats are almost never sure: Arb decides
    monkeypatch.setattr(envelopes, "ULPS", 1.0)
    law = law_of(case, noise)
    assert_law(
        counted(many(race_of(case, noise, width=9.0), Seeded(12), sized(200, full=4000)), law), list(law.values())
    )


def test_proposals_from_wide_cells_are_accepted_in_part():
    law, source = law_of(CASES[0], GUMBEL), Seeded(14)
    race = race_of(CASES[0], GUMBEL, width=9.0)
    assert_law(counted([np.sort(race(WordStream(source))) for _ in range(2_000)], law), list(law.values()))


def leave_out(monkeypatch, below):
    """Of the cells that matter, those whose log mass is that much below the largest are left out as well."""
    relevant = subsets.relevant

    def fewer(classes, **options):
        cells, left_out = relevant(classes, **options)
        kept = cells.upper > cells.upper.max() - below
        return cells.where(kept), float(np.logaddexp(left_out, log_sum(cells.where(~kept).upper)))

    monkeypatch.setattr(subsets, "relevant", fewer)


@full_size
@kinds
def test_the_residual_has_the_right_share(noise, monkeypatch):
    """All cells but the heaviest are left out: they come back through the residual weight, as often as they should."""
    leave_out(monkeypatch, below=0.6)
    for case in (CASES[0], CASES[1], CASES[3]):
        envelope = envelope_of(ranking_of(case))
        assert envelope.total > envelope.residual > envelope.total / 20
        rest = present(envelope.rest)()
        assert rest.total * Fraction(2) ** (envelope.shift - rest.shift) <= envelope.residual
        law = law_of(case, noise)
        assert_law(counted(many(race_of(case, noise), Seeded(13), sized(400, full=10_000)), law), list(law.values()))


@full_size
@kinds
def test_if_everything_is_left_out_it_still_comes_back(noise, monkeypatch):
    leave_out(monkeypatch, below=0.0)
    assert len(envelope_of(ranking_of(CASES[0])).cells) == 0
    law = law_of(CASES[0], noise)
    assert_law(counted(many(race_of(CASES[0], noise), Seeded(14), sized(400, full=10_000)), law), list(law.values()))


def test_the_residual_is_enough_however_small_the_rest(monkeypatch):
    """Masses far below 2^-128, some of 0 in floats, and the bound of the sieve itself."""
    for scores, k in (
        ([9000, 50, 0, 0, -7], 1),
        ([1e300, 0, -1e300], 1),
        ([300, 200, 100, 0, -100], 2),
        ([5, 4, 4, 1], 2),
    ):
        for negligible in (27.0, 1.0, -2.0):
            monkeypatch.setattr("shortlist.exact.subsets.LEFT_OUT_LOG", negligible)
            envelope = envelope_of(rank_scores(np.array(scores), k, Fraction(1), Fraction(1, 2), gap_aware=True))
            if envelope.rest is not None:
                rest = envelope.rest()
                assert rest.total * Fraction(2) ** (envelope.shift - rest.shift) <= envelope.residual
                assert rest.propose(WordStream(Seeded(1))).high < 1e-6


def class_law(classes, noise):
    """P[top], P[(i, j)] for classes of any size: exponential and Gumbel noise through their closed forms."""
    logs = np.array([
        math.lgamma(i + j + 1) - math.lgamma(i + 1) - math.lgamma(j + 1) - rise - fall
        for i, rise in enumerate(classes.rise)
        for j, fall in enumerate(classes.fall)
    ])  # fmt: skip
    if noise is GUMBEL:
        total = np.logaddexp(0.0, np.logaddexp.reduce(logs))
        return np.exp(np.append(-total, logs - total))
    losses = np.add.outer(classes.rise, classes.fall).ravel()
    node, share = np.polynomial.legendre.leggauss(60)
    log_end = min(0.0, math.log(60.0) - float(np.logaddexp.reduce(logs)))
    x, share = (node + 1) / 2, share / 2
    s = math.exp(log_end) * x
    if log_end < -50:  # the top k arrives at a time below e^-50, when nobody's hazard has changed yet
        masses = np.exp(logs + log_end)
        survive = np.exp(-masses.sum() * x)
        return np.append(math.exp(log_end) * (share @ survive), masses * (share @ survive))
    p = np.exp(-losses)[:, None]
    slow = np.where(p * s > 1e-9, -np.log1p(-p * s) / np.maximum(p * s, 1e-300), 1.0)
    survive = np.exp(-(np.exp(logs + log_end)[:, None] * x * slow).sum(axis=0))
    bad = np.exp(logs + log_end) * ((share * survive * (1 - s)) / (1 - p * s)).sum(axis=1)
    return np.append(math.exp(log_end) * (share @ survive), bad)


@full_size
@kinds
@pytest.mark.parametrize(
    ("k", "rest", "step", "log_mass"),
    [(3, 12, 14.0, -14), (3, 12, 1.0, 0), (3, 12, 0.02, 6), (12, 3000, 0.0005, 74), (400, 700, 0.001, 717)],
)
def test_the_mass_of_the_others_may_be_anything(noise, k, rest, step, log_mass):
    """Lambda from 1e-6 to 1e30 and far beyond: the class law is exact."""
    scores = np.concatenate([np.full(k, 1.0), 1.0 - step * np.arange(1, rest + 1)])
    ranking = rank_scores(scores, k, Fraction(1), Fraction(9, 10), gap_aware=True)
    envelope = envelope_of(ranking)
    assert math.log(envelope.total) - envelope.shift * math.log(2) == pytest.approx(log_mass, abs=1.5)
    stream, law = WordStream(Seeded(15), ahead=256), class_law(ranking.classes(), noise)
    assert law.sum() == pytest.approx(1, abs=1e-9)
    counts = np.zeros(len(law))
    for _ in range(sized(120, full=4000)):
        found = (sets.gumbel_class if noise is GUMBEL else sets.exponential_class)(envelope, stream)
        counts[0 if found is None else 1 + found[0] * rest + found[1]] += 1
    assert_law(counts, law)


def few(loss):
    """Two candidates, one set beside the top one, at that loss."""
    return envelope_of(rank_scores(np.array([loss, 0]), 1, Fraction(1), Fraction(1, 2), gap_aware=True))


def test_late_deadlines_go_through_many_slices():
    """With one equal rival both arrive at uniform times; deadlines near 1 pass slice after slice."""
    envelope = few(0)
    first_proposal = thinning.first_proposal
    for word in (2**64 - 2, 2**64 - 2**40):
        found = [first_proposal(envelope, Uniform(one_by_one(word).word), WordStream(Seeded(n))) for n in range(200)]
        assert found == [(0, 0)] * 200
    early = [first_proposal(envelope, Uniform(one_by_one(2**50).word), WordStream(Seeded(n))) for n in range(200)]
    assert early == [None] * 200


def test_times_that_floats_cannot_tell_apart_are_told_apart():
    half = Fraction(1, 2)
    assert thinning.later(Uniform(one_by_one(1 << 63, 5).word), half)
    assert not thinning.later(Uniform(one_by_one((1 << 63) - 1, 5).word), half)
    one, other = Uniform(one_by_one(77, 9).word), Uniform(one_by_one(77, 8).word)
    assert thinning.after(one, other)
    assert not thinning.after(Uniform(one_by_one(77, 8).word), Uniform(one_by_one(77, 9).word))


def test_an_arrival_encloses_its_time():
    arrival = thinning.Arrival(half := Fraction(1, 2), 3, 0)
    arrival.clocks.append(Uniform(one_by_one(1 << 63, 1 << 63).word))
    time = 0.5 + math.log(2) / 3
    assert arrival.low <= time <= arrival.high
    assert arrival.high - arrival.low < 1e-9
    arrival.refine()
    assert arrival.bits == 128
    assert abs(float(arrival.ball().mid()) - time) < 1e-12
    start = thinning.Arrival(half, 3, 0)
    start.clocks.append(Uniform(one_by_one(0).word))
    assert start.high > 1e300
    now = thinning.Arrival(half, 3, 0)
    now.clocks.append(Uniform(one_by_one(2**64 - 1).word))
    assert now.low == pytest.approx(0.5)


def test_a_coin_of_zero_and_a_vanishing_hazard_go_on_to_arb():
    proposal = few(0).propose(WordStream(Seeded(1)))
    assert uniforms.accept(one_by_one(0, 0), -math.inf, proposal.high, proposal.chance)
    arrival = thinning.Arrival(1 - Fraction(1, 2**60), 1, 0)
    arrival.clocks.append(Uniform(one_by_one(2**64 - 1).word))
    assert thinning.log_thinning(proposal.loss, arrival, 2)[0] == -math.inf


def test_a_top_set_of_vanishing_share_is_drawn_bit_by_bit():
    """Beside a mass of e^1226 the top k has weight 1 in the envelope and counts 2^shift of it: those bits must be 0."""
    scores = np.concatenate([np.full(400, 1.0), 1.0 - 0.001 * np.arange(1, 3001)])
    envelope = envelope_of(rank_scores(scores, 400, Fraction(1), Fraction(9, 10), gap_aware=True))
    assert envelope.shift < -1000
    assert sets.gumbel_class(envelope, one_by_one(*[0] * (1 - envelope.shift // 64 + 1))) is None
    assert sets.gumbel_class(envelope, one_by_one(0, 0, 5)) is not None


def test_candidates_at_minus_infinity_and_ties_are_ranked_in_the_callers_order():
    ranking = rank_scores(np.array([1.0, -np.inf, 2.0, 1.0]), 1, Fraction(1), Fraction(1), gap_aware=True)
    assert ranking.order.tolist() == [2, 0, 3]
    assert of_kind(np.ndarray, ranking.classes().fall).tolist() == [1.0, 1.0]
    assert ranking.loss(0, 2) == 1


STORED: tuple[type[Any], ...] = (np.int8, np.uint8, np.int32, np.int64, np.float64)
SPANS = [
    (dtype, span)
    for dtype in STORED
    for span in (0, 1, 200, 70_000, 2**24, 2**32 - 1, 2**32, 2**62)
    if np.dtype(dtype).kind == "f" or span <= int(np.iinfo(dtype).max) - int(np.iinfo(dtype).min)
]


@pytest.mark.parametrize(("dtype", "span"), SPANS)
def test_ranks_are_those_of_a_stable_sort(dtype, span):
    rng = np.random.default_rng(span % 97)
    least = 0 if np.dtype(dtype).kind == "f" else max(int(np.iinfo(dtype).min), -(2**61))
    some = [least + int(part) for part in rng.integers(0, span, 300, endpoint=True)]
    values = np.array([*some, *some[:50], least, least + span], dtype)
    ranking = rank_scores(values, 3, Fraction(1), Fraction(1, 2), gap_aware=True)
    assert ranking.order.tolist() == sorted(range(len(values)), key=lambda i: (-values[i].item(), i))


@pytest.mark.parametrize("noise", [GUMBEL, EXPONENTIAL, KINDS["laplace"]], ids=lambda noise: noise.name)
@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 2), Fraction(1)])
def test_runs_of_equal_scores_draw_what_the_whole_array_draws(noise, gamma):
    array, runs = np.array([9, 9, 4, 4, 4, 0]), Runs.of(np.array([9, 4, 0]), np.array([2, 3, 1]))
    rows = [
        many(sets.prepare_subsets(rank_scores(values, 3, Fraction(1, 2), gamma, gap_aware=True), noise), Seeded(1), 60)
        for values in (array, runs)
    ]
    assert [sorted(row) for row in np.array(rows[0]).tolist()] == [sorted(row) for row in np.array(rows[1]).tolist()]


def test_the_loss_of_a_set_is_that_of_the_first_rank_it_misses_and_the_last_it_holds():
    ranking = ranking_of(CASES[3])
    for ranks in combinations(range(7), 3):
        missed = next(n for n in range(4) if n not in ranks)
        outside = Fraction(ranking.scores[missed].item()) - Fraction(ranking.scores[3].item())
        inside = Fraction(ranking.scores[2].item()) - Fraction(ranking.scores[ranks[-1]].item())
        lost = ranking.outer * outside + ranking.inner * inside if missed < 3 else 0
        assert ranking.loss_of(ranks) == lost


def test_the_exact_loss_is_what_the_floats_enclose():
    big = np.array([2**62 + 3, 2**62, -(2**62), -(2**62) - 5])
    ranking = rank_scores(big, 2, Fraction(1, 3), Fraction(1, 4), gap_aware=True)
    classes = ranking.classes()
    for i in range(2):
        for j in range(2):
            exact = ranking.loss(i, 2 + j)
            assert float(exact) == pytest.approx(classes.rise[i] + classes.fall[j], rel=1e-14)
    outside = int(big[1 - 1]) - int(big[2])
    inside = int(big[1]) - int(big[3])
    assert ranking.loss(1, 3) == Fraction(3, 4) * outside / 3 + Fraction(1, 4) * inside / 3
    paper = rank_scores(big, 2, Fraction(1, 3), Fraction(1, 4), gap_aware=False)
    assert paper.loss(0, 3) == Fraction(1, 12) * inside


def test_a_race_is_prepared_once_and_drawn_often():
    race = race_of(CASES[3], GUMBEL)
    assert np.array_equal(*(many(race, Seeded(1), 5) for _ in range(2)))


# Any noise: the maximum of each group


CUSTOM = piecewise_noise([0, 1, 2], [Fraction(-1, 2), 0, -1])
ANY = [*KINDS.values(), CUSTOM]
every = pytest.mark.parametrize("noise", ANY, ids=[noise.name for noise in ANY])


def drawn_in_groups(case, noise, draws):
    ranking = ranking_of(case)
    return many(by(ranking, sets.groups_of(ranking, noise).draw), Seeded(21), draws)


@full_size
@every
@pytest.mark.parametrize("case", [CASES[0], CASES[1], CASES[3], CASES[5], CASES[8]], ids=str)
def test_group_maxima_have_the_law_of_all_subsets(case, noise):
    """Also for Gumbel and exponential noise, which are drawn in another way: an independent path."""
    law = law_of(case, noise)
    wrong = None if case is CASES[5] else list(at_rate(case, noise, sized(8.0, full=2.0)).values())
    rows = drawn_in_groups(case, noise, sized(150, full=10_000))
    assert_law(counted(rows, law), list(law.values()), wrong=wrong)


@full_size
@every
def test_group_maxima_decided_by_exact_arithmetic_change_nothing(noise, monkeypatch):
    def unsure(words, level):
        q, error = noise.quantile(words, level)
        return q, error + 0.8

    law = law_of(CASES[0], noise)
    vague = replace(noise, quantile=unsure)
    monkeypatch.setattr(groups, "BLOCK", 4)
    assert_law(counted(drawn_in_groups(CASES[0], vague, sized(120, full=3000)), law), list(law.values()))


@full_size
def test_other_noise_is_drawn_in_groups():
    logistic = KINDS["logistic"]
    law = law_of(CASES[3], logistic)
    rows = many(race_of(CASES[3], logistic), Seeded(22), sized(1500, full=3000))
    assert_law(counted(rows, law), list(law.values()), wrong=list(law_of(CASES[3], EXPONENTIAL).values()))


@full_size
def test_large_groups_are_exact_too():
    """Classes of up to C(43, 3) subsets, Gumbel noise, against the closed form."""
    scores = np.concatenate([np.full(4, 1.0), 1.0 - 0.05 * np.arange(1, 41)])
    ranking = rank_scores(scores, 4, Fraction(1), Fraction(9, 10), gap_aware=True)
    draw, stream = sets.groups_of(ranking, GUMBEL).draw, WordStream(Seeded(23))
    law, counts = class_law(ranking.classes(), GUMBEL), np.zeros(161)
    for _ in range(sized(800, full=2000)):
        found = draw(stream)
        counts[0 if found is None else 1 + found[0] * 40 + found[1]] += 1
    assert_law(counts, law)


def test_a_group_whose_uniform_is_extreme_goes_on_to_arb():
    ranking = ranking_of(CASES[0])
    group = sets.groups_of(ranking, KINDS["laplace"])
    for word in (0, 2**64 - 1):
        row, run, words = np.zeros(1, int), np.zeros(1, int), np.array([word], np.uint64)
        low, high = group._bounds(row, run, words)
        assert low[0] == -np.inf or high[0] == np.inf
    undrawn = group._finish(0, 0, Uniform(one_by_one(0).word))
    assert not undrawn.ball().is_finite()
