"""GuardedTopK: its law by enumeration, its price on a box, and that it does not collapse."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

import shortlist as sl
from shortlist import ApproxDP, PureDP, Scores
from shortlist.audit import Law, certify
from shortlist.exact.reals import ball
from shortlist.exact.subsets import rank_scores
from shortlist.mechanisms import CanonicalTopK, GuardedTopK, OneshotTopK
from shortlist.mechanisms import sets as mechanism
from shortlist.mechanisms.sets import junk_from, rho_of, share_of
from shortlist.sampling import sets as module
from shortlist.sampling.sets import prepare_guard
from shortlist.sampling.subsets import GuardArrivalTime
from shortlist.utility.sets import SetDistribution, chances_with_guard, cuts_of
from tests.helpers.inside import WordStream
from tests.helpers.support import assert_law, full_size, once_at_each_precision, sized
from tests.helpers.typed import noting, of_kind, present
from tests.mechanisms.canonical.by_formula import guarded_law, junk_mass

X = [5, 4, 4, 1, 0]
JUNK = {(1, 1), (1, 2)}
ORACLES = {  # (Table 161), exponential: P(f) and the sets 01, 03, 04, 12, 14
    (0.1, 0): (0.8034114377, [0.05207315, 0.01388507, 0.00918180, 0.03270921, 0.00610086]),
    (0.25, 2): (0.8852852146, [0.02919981, 0.00852944, 0.00569368, 0.01928657, 0.00380604]),
}


def small_guard(a, tau, x=X, k=2, rate=Fraction(4, 5), rho=Fraction(1, 2)):
    ranking = rank_scores(np.array(x), k, rate, Fraction(1, 2), gap_aware=True)
    return prepare_guard(ranking, Fraction(a), Fraction(tau), junk_from(k, len(x), rho))


@pytest.mark.parametrize(("a", "tau"), list(ORACLES))
def test_the_law_is_that_of_the_table(a, tau):
    law = guarded_law(X, 2, 0.8, a, tau, JUNK)
    assert law[None] == pytest.approx(ORACLES[a, tau][0], abs=1e-9)
    sets = [law[y] for y in ((0, 1), (0, 3), (0, 4), (1, 2), (1, 4))]
    np.testing.assert_allclose(sets, ORACLES[a, tau][1], atol=1e-8)


def counts(guard, law, draws, seed=1):
    source, index = sl.testing.seeded(seed), {y: i for i, y in enumerate(law)}
    found = np.zeros(len(law))
    for _ in range(draws):
        y = guard.draw(WordStream(source))
        found[index[None if y is None else tuple(sorted(y.tolist()))]] += 1
    return found


@full_size
@pytest.mark.parametrize(("a", "tau"), list(ORACLES))
def test_draws_follow_the_law(a, tau):
    law = guarded_law(X, 2, 0.8, a, tau, JUNK)
    wrong = guarded_law(X, 2, 0.8, a, tau + sized(1.5, full=0.7), JUNK)
    assert_law(
        counts(small_guard(Fraction(str(a)), tau), law, sized(6_000, full=40_000)),
        list(law.values()),
        wrong=list(wrong.values()),
    )


def test_draws_with_the_weight_of_the_junk_in_doubt_follow_the_law(monkeypatch):
    """Float bounds on v that are two nats apart: the exact sum decides."""
    law = guarded_law(X, 2, 0.8, 0.25, 2, JUNK)
    guard = small_guard(Fraction(1, 4), 2)
    loose = replace(guard, low=guard.low - 1, high=guard.high + 1)
    exact: list[Any] = []
    monkeypatch.setattr(module.Guard, "exact", noting(exact, once_at_each_precision(module.Guard.exact)))
    wrong = guarded_law(X, 2, 0.8, 0.25, 4, JUNK)
    assert_law(counts(loose, law, 3000), list(law.values()), wrong=list(wrong.values()))
    assert exact


def test_losses_that_one_float_cannot_tell_apart_are_summed_apart():
    """2^60 - 200 + 7 j: all losses are one float, and the exact weight of the junk is not that of the first."""
    x = np.array([2**60] * 3 + [200 - 7 * n for n in range(8)])
    guard = present(GuardedTopK(k=3, epsilon=2.0**-58)._run(Scores(x, monotone=True))).guard
    assert len(list(guard.junk.runs(-math.inf))) > len(guard.junk.first)
    with ctx.workprec(300):
        loss, k = guard.ranking.loss, 3
        junk = [(i, j) for i in range(3) for j in range(8) if j >= guard.junk.first[i]]
        mass = sum((comb(i + j, i) * (-ball(loss(i, k + j))).exp() for i, j in junk), arb(0))
        assert guard.exact().overlaps(ball(guard.tau) + mass.log())


def test_what_the_exact_weight_leaves_out_is_in_its_ball():
    """Most of the junk is too light for the precision: it is not summed, and the ball has room for it."""
    x = np.repeat(np.arange(400, 0, -5), 2)
    guard = present(GuardedTopK(k=30, epsilon=0.9)._run(Scores(x, monotone=True))).guard
    with ctx.workprec(500):
        runs = list(guard.junk.runs(-math.inf))
        mass = sum((size * (-ball(guard.ranking.loss(i, 30 + j))).exp() for i, j, size in runs), arb(0))
        whole = ball(guard.tau) + mass.log()
    for bits in (20, 64, 200):
        with ctx.workprec(bits):
            found = guard.exact()
            assert found.contains(whole)
            assert float(found.rad()) < 2.0 ** (8 - bits) * (1 + abs(guard.low))
    some = list(guard.junk.runs(guard.low - 40))
    assert 0 < len(some) < 0.7 * len(runs)


def test_a_word_of_zeros_is_refined():
    guard = small_guard(Fraction(1, 4), 2)

    class Zero:
        low, high, bits = 0.0, 1e-19, 64

    zero: Any = Zero()
    assert GuardArrivalTime(guard.low, guard.high, guard.exact, guard.a, zero).low == 0.0


def test_the_weight_of_the_junk_is_bracketed():
    guard = small_guard(Fraction(1, 4), 2)
    v = 2 + np.log(junk_mass(X, 2, 0.8, JUNK))
    assert guard.low <= v <= guard.high
    assert guard.high - guard.low < 1e-6
    assert float(guard.exact()) == pytest.approx(v, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "k", "epsilon", "v"),
    [
        ("NETFLIX.n17770", 10, 0.002, -13.92941120),
        ("MEDCOST.n4096", 10, 1.0, 12.54852509),
        ("PATENT.n4096", 100, 0.3, -250.45494874),
        ("INCOME.n4096", 100, 0.005, -40.11413560),
    ],
)
def test_the_weight_of_the_junk_on_real_data(shared_data, name, k, epsilon, v, monkeypatch):
    monkeypatch.setattr(mechanism, "gamma_of", lambda k, budget: Fraction(1, 2))  # as the table has it
    run = present(GuardedTopK(k=k, epsilon=epsilon)._run(Scores(np.load(shared_data / f"{name}.npy"), monotone=True)))
    assert run.guard.low - 1e-7 <= v <= run.guard.high + 1e-7


@pytest.mark.parametrize(
    ("name", "k", "epsilon", "a", "wanted"),
    [  # (Table 161): P(f), P(set and right), recall of the race branch
        ("NETFLIX.n17770", 10, 0.002, 1 / 8, (0.1553333, 0.82149724, 0.84171006)),
        ("MEDCOST.n4096", 10, 1.0, 1 / 8, (0.98548439, 3.8075e-7, 0.0014830517)),
        ("PATENT.n4096", 100, 0.3, 1 / 20, (3.4147875e-6, 0.71075302, 0.99403171)),
        ("INCOME.n4096", 100, 0.005, 1 / 20, (0.12815498, 0.87152131, 0.87184085)),
    ],
)
def test_utility_on_real_data_is_that_of_the_table(shared_data, name, k, epsilon, a, wanted, monkeypatch):
    monkeypatch.setattr(mechanism, "gamma_of", lambda k, budget: Fraction(1, 2))  # as the table has it
    run = present(GuardedTopK(k=k, epsilon=epsilon)._run(Scores(np.load(shared_data / f"{name}.npy"), monotone=True)))
    ranking, v = run.guard.ranking, (run.guard.low + run.guard.high) / 2
    law, guard = chances_with_guard(ranking.classes(), v, a, cuts_of(ranking))
    found = SetDistribution(ranking, law, 0).quality()
    np.testing.assert_allclose((guard, found.top, found.recall), wanted, rtol=1e-6, atol=2e-8)


@pytest.mark.parametrize("k", [3, 4, 5, 6])
def test_utility_matches_draws_on_both_sides_of_the_mirror(k):
    x = np.array([5, 4, 3, 3, 2, 1, 0, 0, 0])
    m, kth = GuardedTopK(k=k, epsilon=1.5), np.sort(x)[-k]
    draws = 12_000
    rows = m.release_many(x, monotone=True, draws=draws, rng=sl.testing.seeded(8)).indices
    found = m.quality(x, monotone=True)
    right = int((np.sort(x[rows], axis=1) == np.sort(x)[-k:]).all(axis=1).sum())
    assert_law([right, draws - right], [found.top, 1 - found.top], wrong=[found.top + 0.06, 0.94 - found.top])
    assert (x[rows] >= kth).mean() == pytest.approx(found.recall, abs=0.03)
    assert m.success_probability(x, monotone=True) == pytest.approx(found.top, abs=1e-9)


@full_size
@pytest.mark.parametrize("k", [3, 4, 5, 6])
@pytest.mark.parametrize("x", [[5, 4, 3, 3, 2, 1, 0, 0, 0], [9, 7, 6, 4, 4, 4, 4, 1, 0]], ids=["low tie", "tie across"])
def test_every_measure_of_utility_tells_the_same_story(k, x):
    m, scores = GuardedTopK(k=k, epsilon=1.5), Scores(x, monotone=True)
    correct, inclusion, quality = m.number_correct(scores), m.inclusion_probabilities(scores), m.quality(scores)
    assert correct.sum() == pytest.approx(1, abs=1e-8)
    assert inclusion.sum() == pytest.approx(k, abs=1e-8)
    assert correct @ np.arange(k + 1) / k == pytest.approx(quality.recall, abs=1e-8)
    kth = sorted(x)[-k]
    assert inclusion[np.array(x) >= kth].sum() / k == pytest.approx(quality.recall, abs=1e-8)
    rows = m.release_many(scores, draws=sized(2000, full=10_000), rng=sl.testing.seeded(9)).indices
    counts = np.bincount((np.array(x)[rows] >= kth).sum(axis=1), minlength=k + 1)
    assert_law(counts, correct / correct.sum(), wrong=correct[::-1] / correct.sum())
    assert_law(np.bincount(rows.ravel(), minlength=len(x)), inclusion / k, wrong=inclusion[::-1] / k)


def test_utility_matches_the_enumeration():
    """Ten sets of five candidates with their guard, by quadrature of its own."""
    law = guarded_law(X, 2, 0.8, 0.25, 2, JUNK)
    guard = small_guard(Fraction(1, 4), 2)
    chances, fallback = chances_with_guard(guard.ranking.classes(), (guard.low + guard.high) / 2, 0.25, (1,))
    assert fallback == pytest.approx(law[None], abs=1e-8)
    assert np.exp(chances.top) == pytest.approx(law[0, 1], abs=1e-8)


def test_without_a_guard_utility_is_that_of_canonical():
    m = GuardedTopK(k=2, epsilon=1.0)
    assert m.quality([5, 4, 1, 0, 0]) == CanonicalTopK(k=2, epsilon=1.0).quality([5, 4, 1, 0, 0])
    assert m.guard_probability([5, 4, 1, 0, 0]) == 0.0
    assert m.number_correct([5, 4, 1, 0, 0]).sum() == pytest.approx(1)
    assert m.inclusion_probabilities([5, 4, 1, 0, 0]).sum() == pytest.approx(2)
    assert 0 < GuardedTopK(k=3, epsilon=1.0).guard_probability([5, 4, 1, 0, 0, 0, 0, 0]) < 1


def test_the_junk_is_every_class_that_expects_too_many_wrong_items():
    for k, d, rho in [(5, 12, Fraction(2, 5)), (3, 9, Fraction(2, 5)), (40, 90, Fraction(1, 2))]:
        first = junk_from(k, d, rho)
        for i, j in product(range(k), range(d - k)):
            assert (j >= first[i]) == (i * j > ((1 - rho) * k - 1) * (i + j))


def test_the_public_constants():
    assert rho_of(31, PureDP(1.0)) == Fraction(2, 5)
    assert rho_of(32, PureDP(1.0)) == rho_of(319, PureDP(1.0)) == Fraction(1, 2)
    assert rho_of(320, PureDP(1.0)) == Fraction(3, 5)
    assert share_of(10, 17770) == Fraction(33, 256)
    assert share_of(10, 4096) == Fraction(37, 256)
    assert share_of(1000, 17770) == Fraction(4, 256)
    assert share_of(3, 6) == Fraction(64, 256)


def worst(monotone_shifts, a, tau, epsilon=1.0, d=5, k=2):
    """(largest |log ratio| of a set, of the guard) over a box of scores."""
    cache = {}

    def law(x):
        key = tuple(v - max(x) for v in x)
        if key not in cache:
            cache[key] = guarded_law(key, k, epsilon, a, tau, JUNK)
        return cache[key]

    sets = guard = 0.0
    for x in [(3, 2, 1, 1, 0), (2, 2, 1, 0, 0), (4, 4, 1, 1, 1), (1, 1, 1, 1, 1), (5, 3, 3, 0, 0)]:
        here = law(x)
        for shift in product(monotone_shifts, repeat=d):
            there = law(tuple(p + q for p, q in zip(x, shift, strict=True)))
            for y, p in here.items():
                ratio = abs(np.log(p / there[y]))
                sets, guard = (sets, max(guard, ratio)) if y is None else (max(sets, ratio), guard)
    return sets, guard


@pytest.mark.parametrize(("a", "tau"), [(0.25, 2.0), (0.1, 0.0)])
def test_a_set_costs_epsilon_and_the_guard_its_share(a, tau):
    sets, guard = worst((0, 1), a, tau)
    assert sets <= 1.0 + 1e-9
    assert guard <= a + 1e-9
    assert guard > 0.7 * a


def test_a_guard_with_plain_noise_would_cost_all_of_epsilon():
    """Hazard 1 instead of a: its victory alone costs more than the share a, and one-shot would still follow."""
    _, guard = worst((0, 1), 1.0, 0.0)
    assert guard > 0.5


def test_general_scores_cost_as_much_at_half_the_rate():
    sets, guard = worst((-1, 0, 1), 0.25, 2.0, epsilon=0.5)
    assert sets <= 1.0 + 1e-9
    assert guard <= 0.25 + 1e-9


def crowd(d=60, k=6, gap=3):
    return np.array([100 + gap * (k - i) for i in range(k)] + [100 - (3 * i) // 2 for i in range(d - k)])


def test_far_above_the_collapse_it_is_canonical_and_far_below_it_is_one_shot():
    scores = Scores(crowd(), monotone=True)
    high = [GuardedTopK(k=6, epsilon=8.0).release(scores).used for _ in range(50)]
    low = [GuardedTopK(k=6, epsilon=0.05).release(scores).used for _ in range(50)]
    assert high.count("canonical") >= 48
    assert low.count("one-shot") >= 40


def test_below_the_collapse_it_keeps_what_canonical_loses():
    """A spike of six candidates over a huge crowd, at an epsilon where canonical returns junk (Definition 124)."""
    values = np.concatenate([np.arange(40, 28, -2), np.zeros(3000, np.int64)])
    scores, truth = Scores(values, monotone=True), set(range(6))

    def recall(one):
        drawn = one.release_many(scores, draws=200, rng=sl.testing.seeded(4))
        rows = drawn.indices if isinstance(one, GuardedTopK) else drawn
        return np.mean([len(truth & set(row.tolist())) for row in rows]) / 6

    left = float(1 - share_of(6, len(values)))
    assert recall(CanonicalTopK(k=6, epsilon=1.0)) < 0.05
    assert (
        recall(GuardedTopK(k=6, epsilon=1.0)) > 0.9 * recall(OneshotTopK(k=6, epsilon=left, noise="exponential")) > 0.1
    )


def test_more_than_half_is_the_mirror_image():
    values = crowd(20, 6, 5)
    run = present(GuardedTopK(k=14, epsilon=1.0)._run(Scores(values, monotone=True)))
    assert run.mirrored
    mirrored = present(GuardedTopK(k=6, epsilon=1.0)._run(Scores(-values, monotone=True)))
    assert run.guard.low == pytest.approx(mirrored.guard.low)
    for seed in range(20):
        first = GuardedTopK(k=14, epsilon=1.0).release(values, monotone=True, rng=sl.testing.seeded(seed))
        second = GuardedTopK(k=6, epsilon=1.0).release(-values, monotone=True, rng=sl.testing.seeded(seed))
        assert sorted(present(first.indices) + present(second.indices)) == list(range(20))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float64, np.float32])
def test_every_stored_type_can_be_mirrored(dtype):
    values = np.array([100, 90, 80, 70, 5, 4, 3, 2, 1], dtype)
    assert GuardedTopK(k=6, epsilon=400.0).release(values, monotone=True).indices == [0, 1, 2, 3, 4, 5]
    lowest = np.array([-(2**63), 3, 2, 1, 5, 6, 7, 8])
    assert 0 not in present(GuardedTopK(k=5, epsilon=1.0).release(lowest, monotone=True).indices)


@pytest.mark.parametrize(("k", "d"), [(1, 9), (2, 9), (8, 9), (7, 9), (3, 6)])
def test_few_items_need_no_guard(k, d):
    values = np.arange(d) * 50
    release = GuardedTopK(k=k, epsilon=1.0).release(values, monotone=True)
    assert sorted(present(release.indices)) == list(range(d - k, d))


def test_all_candidates_cost_nothing():
    release = GuardedTopK(k=4, epsilon=1.0).release([3, 1, 2, 0], monotone=True)
    assert release.items == [0, 1, 2, 3]
    assert of_kind(ApproxDP, release.guarantee).epsilon == 0.0


def test_the_never_chosen_are_never_chosen():
    values = np.where(np.arange(30) % 2 == 0, np.arange(30.0), -np.inf)
    for seed in range(20):
        release = GuardedTopK(k=5, epsilon=0.01).release(values, rng=sl.testing.seeded(seed))
        assert all(i % 2 == 0 for i in present(release.indices))
        assert len(present(release.indices)) == 5


def test_a_release_is_a_sorted_set_and_says_which_way_it_went():
    release = GuardedTopK(k=3, epsilon=5.0).release(
        {"d": 90, "c": 80, "b": 70, "a": 1, "e": 0, "f": 0, "g": 0}, monotone=True, public=True
    )
    assert release.items == ["b", "c", "d"]
    assert not release.ordered
    assert release.used == "canonical"
    assert release.guarantee == release.charge == PureDP(5.0)


@full_size
@pytest.mark.parametrize("k", [3, 4])
def test_many_draws_have_the_law_of_the_set_and_the_way_it_went(k):
    x = [4, 3, 3, 1, 1, 0, 0]
    m, scores = GuardedTopK(k=k, epsilon=2.0), Scores(x, monotone=True)
    drawn = m.release_many(scores, draws=sized(10_000, full=50_000), rng=sl.testing.seeded(10))
    ways = [("canonical", "one-shot")[one] for one in present(drawn.chosen)[:, 0].tolist()]
    found = Counter(zip(map(tuple, drawn.indices.tolist()), ways, strict=True))
    law, wrong = (
        of_kind(Law, certify(one, scores)).chances for one in (m, GuardedTopK(k=k, epsilon=sized(2.5, full=2.2)))
    )
    assert set(found) <= set(law)
    laws = ([float(chances[y]) for y in law] for chances in (law, wrong))
    assert_law([found[y] for y in law], next(laws), wrong=next(laws))


def test_many_draws_of_one_way_only():
    values = np.arange(9) * 50
    sure = GuardedTopK(k=4, epsilon=10.0).release_many(values, draws=20, monotone=True)
    assert sure.indices.tolist() == [[5, 6, 7, 8]] * 20
    assert not present(sure.chosen).any()
    flat = GuardedTopK(k=4, epsilon=1e-9)
    one = [
        present(flat.release_many(values, draws=1, rng=sl.testing.seeded(n), monotone=True).chosen)[0, 0]
        for n in range(9)
    ]
    assert sum(one) > 4
    alone = GuardedTopK(k=2, epsilon=1.0).release_many(values, draws=20, monotone=True)  # without a guard
    assert alone.indices.tolist() == [[7, 8]] * 20
    assert present(alone.chosen).tolist() == [[0]] * 20


def test_scores_that_were_counted_are_not_studied():
    with pytest.raises(ValueError, match="as_public"):
        GuardedTopK(k=3, epsilon=1.0).release_many(Scores([1, 2, 3, 4])._as_counted(), draws=2)


def test_bounds_on_the_junk_are_as_tight_as_asked(monkeypatch):
    monkeypatch.setattr("shortlist.sampling.subsets.FEW", 0)
    junk = small_guard(Fraction(1, 4), 2, x=list(range(60, 0, -1)), k=10, rho=Fraction(2, 5)).junk
    for tolerance in (1e-2, 1e-9):
        monkeypatch.setattr(module, "WEIGHT_WIDTH", tolerance)
        low, high = junk.bounds()
        assert 0 <= high - low <= 3 * tolerance + 1e-11


def test_utility_far_below_the_collapse_is_a_number():
    """The mass of the classes left out is e^hundreds there; their chance is not."""
    scores = np.concatenate([np.full(400, 1.0), 1.0 - 0.001 * np.arange(1, 3001)])
    found = GuardedTopK(k=400, epsilon=0.5).quality(scores, monotone=True)
    assert 0.0 <= found.top <= found.recall <= 1.0
