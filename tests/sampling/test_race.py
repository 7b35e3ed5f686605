"""The race has the exact law of its noise on every path, the rare ones forced."""

import dataclasses
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest

from shortlist.exact import reals as contest
from shortlist.noise import piecewise_noise
from shortlist.sampling import race as module
from shortlist.sampling import skipping
from tests.helpers.inside import EXPONENTIAL, KINDS, Seeded, make_plan, race, skip_race
from tests.helpers.support import SIGNIFICANCE, assert_law, full_size, histogram, p_value, sized
from tests.helpers.typed import noting

CUSTOM = piecewise_noise([0, 1, 2], [Fraction(-1, 2), 0, -1])
ALL = [*KINDS.values(), CUSTOM]
every = pytest.mark.parametrize("noise", ALL, ids=[noise.name for noise in ALL])


def winner_law(values, scale, noise):
    """P[i wins] by one-dimensional integrals, independent of shortlist's own laws."""
    return _winner_law(tuple(np.asarray(values, float).tolist()), float(scale), noise)


@cache
def _winner_law(values, scale, noise):
    s = (np.array(values) - max(values)) / scale
    distinct, inverse = np.unique(s, return_inverse=True)
    count = np.bincount(inverse)

    edges = sorted({-8.0, 0.0, 45.0, *(v + k for v in distinct for k in (noise.kinks or (0,)) if -8 < v + k < 45)})
    panels = np.concatenate([np.linspace(a, b, int(2 * (b - a)) + 2)[:-1] for a, b in pairwise(edges)] + [[45.0]])
    node, weight = np.polynomial.legendre.leggauss(20)
    half = np.diff(panels)[:, None] / 2
    z, weight = (panels[:-1, None] + half * (1 + node)).reshape(-1, 1), (half * weight).ravel()
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        logs = noise.log_cdf(z - distinct)
        others = (count * logs).sum(axis=1, keepdims=True) - logs
        density = np.nan_to_num(np.exp(noise.log_density(z - distinct) + others), nan=0.0)
    return (weight @ density)[inverse]


def plackett_luce(values, scale, k):
    weights = np.exp((np.asarray(values, float) - max(values)) / float(scale))
    law = {}
    for order in permutations(range(len(values)), k):
        left, p = weights.sum(), 1.0
        for i in order:
            p *= weights[i] / left
            left -= weights[i]
        law[order] = p
    return law


def without_floats(noise):
    """The same noise, with a float stage that is never sure: every decision goes through Arb."""

    def unsure(words, level):
        q, error = noise.quantile(words, level)
        return q, np.full_like(error, np.inf)

    return dataclasses.replace(noise, quantile=unsure, rough=None)


def coarse(noise):
    """The same noise, with a float stage that is often unsure."""

    def unsure(words, level):
        q, error = noise.quantile(words, level)
        return q, error + 0.25

    return dataclasses.replace(noise, quantile=unsure, rough=None)


SMALL = [3, 2, 0, 0, -4]


@full_size
@every
def test_many_races_at_once_have_the_law(noise):
    law = winner_law(SMALL, 2, noise)
    rows = module.race_many(np.array(SMALL), k=1, scale=Fraction(2), noise=noise, source=Seeded(1), draws=200_000)
    assert_law(histogram(rows, 5), law, wrong=winner_law(SMALL, 2.1, noise))


@full_size
@every
@pytest.mark.parametrize("force", [coarse, without_floats])
def test_many_races_decided_in_balls_have_the_law(noise, force):
    draws = sized(150, full=2000)
    rows = module.race_many(np.array(SMALL), k=1, scale=Fraction(2), noise=force(noise), source=Seeded(2), draws=draws)
    assert_law(histogram(rows, 5), winner_law(SMALL, 2, noise), wrong=winner_law(SMALL, sized(24, full=4), noise))


@full_size
@every
@pytest.mark.parametrize("work", ["adaptive", "fixed"])
def test_single_races_have_the_law(noise, work):
    source = Seeded(3)
    winners = [
        race(np.array(SMALL), k=1, scale=Fraction(2), noise=noise, source=source, work=work).indices
        for _ in range(sized(400, full=10_000))
    ]
    assert_law(histogram(winners, 5), winner_law(SMALL, 2, noise), wrong=winner_law(SMALL, sized(12, full=2.6), noise))


@full_size
@pytest.mark.parametrize("path", ["many", "single", "balls", "skip", "fallback"])
def test_ordered_winners_follow_plackett_luce(path):
    """Gumbel noise, top 2 in order, on every path; all but the first five candidates are hopeless."""
    values, noise = np.array([2, 1, 0, 1, -1] + [-500] * 140), KINDS["gumbel"]
    law = plackett_luce(values[:5], 1, 2)
    source, draws = Seeded(4), sized(700, full=10_000)
    rows: Any
    if path == "many":
        rows = module.race_many(values[:5], k=2, scale=Fraction(1), noise=noise, source=source, draws=200_000)
    elif path == "balls":
        rows = module.race_many(
            values[:5], k=2, scale=Fraction(1), noise=without_floats(noise), source=source, draws=draws
        )
    elif path == "single":
        rows = [race(values, k=2, scale=Fraction(1), noise=noise, source=source).indices for _ in range(draws)]
    else:
        plan = make_plan(values, 2, Fraction(1), noise, 32, threshold=1.0 if path == "fallback" else None)
        rows = [skip_race(plan, source).indices for _ in range(draws)]
    index = {order: i for i, order in enumerate(law)}
    counts = np.bincount([index[tuple(map(int, row))] for row in rows], minlength=len(law))
    wrong = plackett_luce(values[:5], sized(2, full=1.6), 2)
    assert_law(counts, list(law.values()), wrong=list(wrong.values()))


SPIKY = np.array([40] + [25, 24, 24] * 11 + [20] * 40 + [0] * 60 + [38, 12, 12])
"""137 candidates: a spike, a crowd below it, a tail, and a short last block with a runner-up in it."""


@full_size
@every
@pytest.mark.parametrize("threshold", [None, 1.0, 3.0, -6.0], ids=["chosen", "low", "high", "everything"])
def test_skipping_has_the_law_wherever_the_threshold_is(noise, threshold):
    """A high threshold is seldom passed: then the rest is revealed conditionally. A low one hits everybody."""
    law = winner_law(SPIKY, 6, noise)
    plan = make_plan(SPIKY, 1, Fraction(6), noise, 32, threshold)
    source = Seeded(5)
    winners = [skip_race(plan, source).indices for _ in range(sized(250, full=6000))]
    assert_law(histogram(winners, len(SPIKY)), law, wrong=winner_law(SPIKY, sized(24, full=8), noise))


@full_size
@every
def test_skipping_decided_in_balls_has_the_law(noise):
    plan = make_plan(SPIKY, 1, Fraction(6), coarse(noise), 32, 1.5)
    source = Seeded(6)
    winners = [skip_race(plan, source).indices for _ in range(sized(200, full=4000))]
    law, wrong = winner_law(SPIKY, 6, noise), winner_law(SPIKY, sized(30, full=9), noise)
    assert_law(histogram(winners, len(SPIKY)), law, wrong=wrong)


CROWD = np.array([0.0] + [-3.17] * 63)
"""One candidate ahead of a crowd that stands a little more than six halvings below a threshold of 1."""


def leader_and_crowd(noise, draws):
    """How often the leader and the crowd win by skipping, and how often they should."""
    plan = make_plan(CROWD, 1, Fraction(1), noise, 32, 1.0)
    source = Seeded(5)
    wins = sum(int(skip_race(plan, source).indices[0] == 0) for _ in range(draws))
    chance = winner_law(CROWD, 1, noise)[0]
    return [wins, draws - wins], [chance, 1 - chance]


@full_size
def test_revealing_the_rest_with_fresh_words_would_be_caught(monkeypatch):
    """The mistake of starting again: the rest drawn without the condition that it was not hit."""
    noise = KINDS["exponential"]
    draws = sized(1500, full=3000)
    assert p_value(*leader_and_crowd(noise, draws)) > SIGNIFICANCE
    monkeypatch.setattr(skipping, "_not_hit", lambda level, source: source.words(len(level)).copy())
    assert p_value(*leader_and_crowd(noise, draws)) < SIGNIFICANCE


@full_size
def test_the_plain_tail_bound_would_be_caught_for_half_logistic():
    """S(x) <= e^-x is false for half-logistic noise: skipping by it loses half of the exceedances."""
    noise = KINDS["half-logistic"]
    wrong = dataclasses.replace(noise, decay=KINDS["exponential"].decay)
    draws = sized(7000, full=20_000)
    assert p_value(*leader_and_crowd(noise, sized(2000, full=draws))) > SIGNIFICANCE
    assert p_value(*leader_and_crowd(wrong, draws)) < SIGNIFICANCE


@every
def test_one_candidate_always_wins(noise):
    assert race(np.array([5]), k=1, scale=Fraction(1), noise=noise, source=Seeded(1)).indices.tolist() == [0]
    assert (
        module.race_many(np.array([-3.5]), k=1, scale=Fraction(1), noise=noise, source=Seeded(1), draws=9) == 0
    ).all()


@every
def test_two_tied_candidates_win_equally_often(noise):
    rows = module.race_many(np.array([7, 7]), k=1, scale=Fraction(1), noise=noise, source=Seeded(2), draws=200_000)
    assert_law(histogram(rows, 2), [0.5, 0.5], wrong=[0.49, 0.51])


@full_size
@every
@pytest.mark.parametrize("d", [3, 129])
def test_tied_candidates_are_exchangeable_on_every_path(noise, d):
    source = Seeded(9)
    winners: Any
    if d == 3:
        winners = module.race_many(np.zeros(3), k=1, scale=Fraction(1), noise=noise, source=source, draws=100_000)
    else:
        plan = make_plan(np.full(d, 2**60), 1, Fraction(1), noise, 32)
        winners = [skip_race(plan, source).indices for _ in range(sized(1000, full=10_000))]
    assert_law(histogram(winners, d), np.full(d, 1 / d), wrong=np.linspace(0.3, 1.7, d) / d)


HUGE = [
    ([1e300, -1e300, 0.0], Fraction(1)),
    ([1.7e308, -1.7e308, 1.6e308], Fraction(5e-324)),
    ([2**62, -(2**62), 0], Fraction(1, 10**6)),
    ([2**62, -(2**62), 0], Fraction(1, 10**290)),
]


@every
@pytest.mark.parametrize(("values", "scale"), HUGE)
def test_gaps_beyond_all_noise_decide_alone(noise, values, scale):
    best = np.argsort(-np.array(values))
    for seed in range(20):
        finish = race(np.array(values), k=3, scale=scale, noise=noise, source=Seeded(seed))
        assert finish.indices.tolist() == best.tolist()


@every
@pytest.mark.parametrize("scale", [Fraction(5e-324), Fraction(1, 2**1060)])
def test_subnormal_scales_have_the_law(noise, scale):
    unit = float(scale)
    values = np.array([2 * unit, unit, 0.0])
    rows = module.race_many(values, k=1, scale=scale, noise=noise, source=Seeded(3), draws=30_000)
    assert_law(histogram(rows, 3), winner_law([2, 1, 0], 1, noise), wrong=winner_law([2, 1, 0], 1.2, noise))


@every
def test_a_huge_scale_chooses_evenly(noise):
    for values in (np.array([1e308, 0.0, -1e308]), np.array([2**62, 0, -(2**62)])):
        rows = module.race_many(values, k=1, scale=Fraction(10) ** 400, noise=noise, source=Seeded(4), draws=30_000)
        assert_law(histogram(rows, 3), np.full(3, 1 / 3), wrong=[0.36, 0.33, 0.31])


@every
def test_integers_above_2_to_the_53_keep_their_differences(noise):
    """2^60 and 2^60 + 2 are one float: a cast would tie them."""
    values = np.array([2**60 + 2, 2**60, 2**60 - 1])
    rows = module.race_many(values, k=1, scale=Fraction(1), noise=noise, source=Seeded(5), draws=30_000)
    assert_law(histogram(rows, 3), winner_law([2, 0, -1], 1, noise), wrong=np.full(3, 1 / 3))


@every
def test_differences_that_leave_64_bits_are_handled(noise):
    values = np.array([2**63 - 1, -(2**63), 2**63 - 3])
    rows = module.race_many(values, k=2, scale=Fraction(2), noise=noise, source=Seeded(6), draws=20_000)
    assert not (rows == 1).any()
    assert_law(histogram(rows[:, 0], 3)[[0, 2]], winner_law([2, 0], 2, noise), wrong=[0.5, 0.5])


@every
@pytest.mark.parametrize("work", ["adaptive", "fixed"])
def test_all_candidates_can_be_asked_for(noise, work):
    values = np.array([5, 1, 1, 9])
    for seed in range(30):
        finish = race(values, k=4, scale=Fraction(1), noise=noise, source=Seeded(seed), work=work)
        assert sorted(finish.indices.tolist()) == [0, 1, 2, 3]
    assert sorted(module.race_many(values, k=4, scale=Fraction(1), noise=noise, source=Seeded(1), draws=1)[0]) == [
        0,
        1,
        2,
        3,
    ]


@every
def test_candidates_at_minus_infinity_never_win(noise):
    values = np.array([-np.inf, 0.0, -np.inf, -1e300])
    for seed in range(30):
        finish = race(values, k=2, scale=Fraction(1), noise=noise, source=Seeded(seed))
        assert finish.indices.tolist() == [1, 3]
    rows = module.race_many(values, k=2, scale=Fraction(10) ** 300, noise=noise, source=Seeded(1), draws=3000)
    assert set(rows.ravel().tolist()) == {1, 3}
    crowd = np.full(200, -np.inf)
    crowd[[7, 150]] = 1.0
    plan = make_plan(crowd, 2, Fraction(1), noise, 32, threshold=4.0)
    assert all(set(skip_race(plan, Seeded(seed)).indices.tolist()) == {7, 150} for seed in range(30))


@full_size
@every
def test_long_races_are_cut_into_chunks_without_changing_the_law(noise, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 32)
    question = {"noise": noise, "source": Seeded(7), "work": "fixed"}
    rows = [race(SPIKY, k=1, scale=Fraction(6), **question).indices for _ in range(sized(250, full=4000))]
    law, wrong = winner_law(SPIKY, 6, noise), winner_law(SPIKY, sized(24, full=9), noise)
    assert_law(histogram(rows, len(SPIKY)), law, wrong=wrong)
    for _ in range(20):
        assert len(set(race(SPIKY, k=40, scale=Fraction(6), **question).indices.tolist())) == 40


@pytest.mark.parametrize("k", [1, 40])
def test_a_race_in_chunks_draws_what_the_same_race_draws_whole(k, monkeypatch):
    """The same words, whether all candidates are looked at together or a few at a time."""
    question = {"k": k, "scale": Fraction(6), "noise": EXPONENTIAL, "work": "fixed"}
    whole = [race(SPIKY, source=Seeded(seed), **question).indices.tolist() for seed in range(20)]
    monkeypatch.setattr(module, "CHUNK", 32)
    assert [race(SPIKY, source=Seeded(seed), **question).indices.tolist() for seed in range(20)] == whole


def test_large_inputs_skip_and_small_ones_do_not():
    values = np.zeros(module.SKIP_FROM, np.int64)
    rows = module.race_many(values, k=1, scale=Fraction(1), noise=KINDS["gumbel"], source=Seeded(1), draws=40)
    assert len(set(rows.ravel().tolist())) > 35
    finish = race(values, k=1, scale=Fraction(1), noise=KINDS["gumbel"], source=Seeded(1))
    assert 0 <= finish.indices[0] < len(values)


@every
def test_equal_positions_give_equal_draws_for_integers_and_floats(noise):
    """The same words choose the same winners whatever type holds the scores, and wherever zero is."""
    values = np.array([5, 3, 3, 1, -2] * 20)
    wanted = race(values, k=7, scale=Fraction(1), noise=noise, source=Seeded(11)).indices
    for same in (values.astype(float), values.astype(np.int16), values + 10**15, values.astype(np.float32)):
        assert np.array_equal(race(same, k=7, scale=Fraction(1), noise=noise, source=Seeded(11)).indices, wanted)


@every
def test_an_outlier_does_not_send_the_crowd_to_exact_arithmetic(noise, monkeypatch):
    """Centred on the k-th largest score, only the outlier itself is far away and rounded coarsely."""
    compared: list[Any] = []
    monkeypatch.setattr(contest, "compare", noting(compared, contest.compare))
    values = np.full(3000, 5.0)
    values[0] = 1e30
    race(values, k=3, scale=Fraction(1), noise=noise, source=Seeded(1))
    module.race_many(values, k=3, scale=Fraction(1), noise=noise, source=Seeded(1), draws=3)
    assert len(compared) < 10


def test_the_callers_floating_point_settings_do_not_matter():
    for values in (np.array([1.7e308, -1.7e308, 5e-324]), np.zeros(9000), np.full(9000, 1.7e308)):
        with np.errstate(all="raise"):
            for noise in KINDS.values():
                race(values, k=1, scale=Fraction(1), noise=noise, source=Seeded(1))
                module.race_many(values, k=1, scale=Fraction(1), noise=noise, source=Seeded(1), draws=2)


@every
def test_strides_do_not_matter(noise):
    values = np.arange(9000) % 97
    wide = np.zeros((9000, 3), np.int64)
    wide[:, 1] = values
    for view in (wide[:, 1], values[::-1][::-1]):
        one = race(view, k=3, scale=Fraction(1), noise=noise, source=Seeded(2)).indices
        assert one.tolist() == race(values, k=3, scale=Fraction(1), noise=noise, source=Seeded(2)).indices.tolist()


@every
def test_values_and_gaps_are_the_winners_own(noise):
    """values() falls, gaps() are the differences, and both are nearer to the exact real than any other float."""
    values = np.array([10, 4, 8, 7])
    for seed in range(40):
        finish = race(values, k=3, scale=Fraction(3, 7), noise=noise, source=Seeded(seed))
        noisy, gaps = finish.values(), finish.gaps()
        assert noisy == sorted(noisy, reverse=True)
        assert len(gaps) == 2
        np.testing.assert_allclose(gaps, -np.diff(noisy), atol=1e-12)
        assert finish.values() == noisy


@full_size
@every
def test_the_largest_noisy_score_has_its_law(noise):
    """P[max <= z] = product of the cdfs, on the skipping path and decided in balls."""
    edges = np.linspace(-2, 5, 15)
    source = Seeded(13)
    plan = make_plan(SPIKY, 1, Fraction(6), noise, 32)
    tops = [(skip_race(plan, source).values()[0] - 40) / 6 for _ in range(sized(400, full=5000))]
    s = (SPIKY - 40) / 6

    def law(scale):
        with np.errstate(invalid="ignore"):
            cdf = [np.exp(noise.log_cdf(edge - s * scale).sum()) for edge in edges]
        return np.diff(np.concatenate([[0], cdf, [1]]))

    assert_law(np.bincount(np.searchsorted(edges, tops), minlength=16), law(1.0), wrong=law(sized(0.4, full=0.6)))


@full_size
@pytest.mark.parametrize("k", [1, 3])
def test_a_few_candidates_among_blocks_that_never_finish(k):
    """Fewer blocks than k have anybody who may win: the centre is then no block's maximum."""
    small, values = np.arange(20.0), np.full(50_000, -np.inf)
    values[7:27] = small
    run = module.prepare(values, k=k, scale=Fraction(4), noise=EXPONENTIAL)
    found = [run(Seeded(seed)).indices[0] - 7 for seed in range(sized(400, full=5000))]
    law, wrong = winner_law(small, 4, EXPONENTIAL), winner_law(small, sized(10, full=8), EXPONENTIAL)
    assert_law(histogram(found, 20), law, wrong=wrong)
