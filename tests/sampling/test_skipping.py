"""Survival-bit skipping: the tests are independent, exact, and safe for every candidate."""

from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from scipy.stats import binom

from shortlist.sampling import race as sampling_race
from shortlist.sampling import skipping
from tests.helpers.inside import KINDS, SECURE, Contest, Seeded, levels, make_plan, race, skip_race, word
from tests.helpers.laws import winner_probabilities
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import of_kind

named = pytest.mark.parametrize("noise", KINDS.values(), ids=list(KINDS))


@full_size
@pytest.mark.parametrize("at_once", ["enough", "one"])
@pytest.mark.parametrize(("trials", "level"), [(7, 1), (12, 2), (40, 4), (5, 6)])
def test_successes_are_independent_coin_flips(trials, level, at_once, monkeypatch):
    """By the number of successes and their places, also where the words drawn at once do not suffice."""
    if at_once == "one":
        monkeypatch.setattr(skipping, "enough_words", lambda trials, level: 1)
    source, p, runs = Seeded(trials), 2.0**-level, sized(2_000, full=50_000)
    number, place = np.zeros(trials + 1), np.zeros(trials)
    for _ in range(runs):
        found = skipping.successes(trials, level, word(source), source)
        assert (np.diff(found) > 0).all()
        number[len(found)] += 1
        place[found] += 1
    law, wrong = (binom.pmf(np.arange(trials + 1), trials, chance) for chance in (p, sized(2.0, full=1.2) * p))
    assert_law(number, law, wrong=wrong)
    z = (place - runs * p) / np.sqrt(runs * p * (1 - p))
    assert np.abs(z).max() < 6


@pytest.mark.parametrize("level", [4, 8])
def test_neighbouring_trials_are_not_correlated(level):
    hits = np.zeros(1 << 20, bool)
    hits[skipping.successes(len(hits), level, word(Seeded(7)), Seeded(8))] = True
    p = 2.0**-level
    for lag in (1, 2, 3):
        together = np.count_nonzero(hits[lag:] & hits[:-lag])
        assert abs(together - len(hits) * p * p) < 6.5 * np.sqrt(len(hits)) * p


def test_a_rare_success_is_as_likely_through_the_short_cut():
    """With trials * 2^-level small almost every call ends on its first word: the rest must still be exact."""
    source, trials, level = Seeded(4), 3, 6
    found = np.concatenate([skipping.successes(trials, level, word(source), source) for _ in range(30_000)])
    law = np.full(trials, 1 / trials)
    assert_law(np.bincount(found, minlength=trials), law, wrong=np.array([0.5, 0.25, 0.25]))
    expected = 30_000 * trials * 2.0**-level
    assert abs(len(found) - expected) < 6.5 * np.sqrt(expected)


@full_size
def test_the_exact_path_of_a_skip_has_the_same_law(monkeypatch):
    monkeypatch.setattr(skipping, "failure_error", lambda v, ratio, level: np.full_like(ratio, np.inf))
    source, trials, level = Seeded(6), 12, 2
    number = np.zeros(trials + 1)
    for _ in range(sized(1500, full=3000)):
        number[len(skipping.successes(trials, level, word(source), source))] += 1
    law, wrong = (binom.pmf(np.arange(trials + 1), trials, p) for p in (0.25, sized(0.3, full=0.28)))
    assert_law(number, law, wrong=wrong)


def test_float_and_exact_skips_agree_word_by_word():
    from shortlist.exact.reals import failures_before_success

    for level in (1, 5, 24):
        words = Seeded(level).words(200)
        counted = skipping._failures(words, level, 1 << 62, SECURE)
        exact = [failures_before_success(int(word), level, SECURE) for word in words]
        assert counted.tolist() == exact


def test_no_trials_and_certain_trials():
    assert skipping.successes(0, 5, 0, SECURE).tolist() == []
    assert skipping.successes(3, 0, 0, SECURE).tolist() == [0, 1, 2]


@named
def test_a_level_never_promises_more_zero_bits_than_the_tail_allows(noise):
    heights = np.concatenate([np.linspace(-60, 20, 2001), [-1e300, 1e300]])
    for threshold in (-9.0, 0.0, 3.25, 44.0):
        level = levels(noise, heights, threshold)
        with np.errstate(over="ignore"):
            log_chance = noise.log_survival(threshold - heights)
        assert (log_chance <= -level * np.log(2) + 1e-9).all()
        assert set(level.tolist()) <= set(skipping.LEVELS.tolist())
        assert level[-2] == skipping.LEVELS[-1]
        assert level[-1] == 0


@pytest.mark.parametrize(("d", "block"), [(512, 32), (5000, 128), (40_007, 128), (40_007, 2048), (40_960, 4096)])
@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("threshold", [None, -30.0, 3.0, 44.0, 190.0])
def test_every_candidate_is_tested_exactly_once(d, block, k, threshold):
    values = np.sort(Seeded(d).words(d) % np.uint64(1000)).astype(np.int64)
    plan = make_plan(values, k, Fraction(5), KINDS["laplace"], block, threshold)
    members = [batch.members(np.arange(batch.trials)) for batch in plan.batches]
    assert np.array_equal(np.sort(np.concatenate(members)), np.arange(d))
    above = {
        1: -1,
        skipping.SMALL: skipping.OPEN_SMALL,
        512: skipping.OPEN_RUN,
        block: skipping.OPEN_RUN if block <= 512 else skipping.OPEN_BLOCK,
    }
    for batch in plan.batches:
        assert batch.level > above[batch.length] or batch.length == block == skipping.SMALL
        inside = values[batch.members(np.arange(batch.trials))]
        own = levels(plan.contest.noise, plan.contest.positions(inside), plan.threshold)
        assert (own >= batch.level).all()


@full_size
@named
@pytest.mark.parametrize("block", [64, 1024])
def test_winners_from_opened_blocks_have_the_law(noise, block):
    """One spike in each block, so that all are opened; most winners then come from runs or from columns of them."""
    d = 2048
    spikes = np.arange(0, d, block) + 5
    values = np.zeros(d, np.int64)
    values[spikes] = 3
    plan = make_plan(values, 1, Fraction(1), noise, block, threshold=5.3 - 3)  # the centre is at the spikes
    lengths = {(batch.length, batch.stride) for batch in plan.batches}
    assert lengths >= {(skipping.SMALL, min(block, 512) // skipping.SMALL)} | ({(512, 1)} if block > 512 else set())
    source = Seeded(block)
    won = np.bincount([int(skip_race(plan, source).indices[0]) for _ in range(sized(500, full=10_000))], minlength=d)
    law = winner_probabilities(values.astype(float), noise)
    cell = np.where(values > 0, 64, np.arange(d) % 64)
    cells, expected = np.bincount(cell, won, 65), np.bincount(cell, law, 65)
    more = sized(0.7, full=0.15)
    wrong = expected * np.where(np.arange(65) % 2, 1 + more, 1 - more)
    assert_law(cells, expected, wrong=wrong / wrong.sum())


@pytest.mark.parametrize("shape", ["shuffled", "up", "down", "tied", "one block"])
@pytest.mark.parametrize("k", [1, 5, 30])
def test_the_centre_is_near_the_kth_largest_score(shape, k):
    """At least k scores reach it, and at most SMALL k stand more than one unit of noise above it."""
    values = (Seeded(3).words(20_011) % np.uint64(100_000)).astype(np.int64)
    values = {
        "shuffled": values,
        "up": np.sort(values),
        "down": -np.sort(-values),
        "tied": np.full_like(values, 9),
        "one block": np.where(np.arange(len(values)) < 32, values + 10**6, values),
    }[shape]
    plan = make_plan(values, k, Fraction(10), KINDS["gumbel"], 32)
    assert np.count_nonzero(values >= plan.contest.centre) >= k
    assert np.count_nonzero(values > plan.contest.centre + 10) <= skipping.SMALL * k


@pytest.mark.parametrize("k", [1, 10])
@named
def test_few_large_scores_in_the_sample_do_not_raise_the_threshold(noise, k):
    """Sorted down, the first of the sample are the very largest scores: they must not stand for all."""
    zipf = (1e7 / np.arange(1, 200_001)).astype(np.int64)
    for values in (zipf, zipf[::-1].copy()):
        run = of_kind(partial, sampling_race.prepare(values, k=k, scale=Fraction(10 * k), noise=noise))
        plan = run.args[0]
        chance = np.exp(noise.log_survival(plan.threshold - plan.contest.positions(values)))
        assert np.sort(chance)[-k:].sum() > 0.999 * k or chance.sum() > k + 5 * np.sqrt(k)


def test_a_block_is_chosen_by_public_sizes_alone():
    assert skipping.block_size(10**7, 1) == 4096
    assert skipping.block_size(10**7, 100) == 2048
    assert skipping.block_size(10**6, 100) == 512
    assert skipping.block_size(16 * 32, 1) == skipping.SMALL
    assert skipping.block_size(16 * 32 - 1, 1) is None


@named
def test_the_threshold_is_passed_by_enough_candidates_on_every_shape(noise):
    d = 50_000
    zipf = (1e6 / np.arange(1, d + 1)).astype(np.int64)
    shapes = [np.zeros(d, np.int64), zipf, np.arange(d), np.where(np.arange(d) == 77, 10**6, 0)]
    for values in shapes:
        for k in (1, 40):
            contest = Contest(values, k, Fraction(20), noise, int(np.sort(values)[-k]))
            threshold = skipping.choose_threshold(contest, values.reshape(-1, 50).max(axis=1))
            expected = np.exp(noise.log_survival(threshold - contest.positions(values))).sum()
            assert expected >= k * (1 - 1.01e-5)


def test_the_rest_is_revealed_given_that_it_was_not_hit():
    plan = make_plan(np.zeros(skipping.CHUNK + 500, np.int64), 1, Fraction(1), KINDS["exponential"], 32, 1.5)
    source = Seeded(12)
    hits = plan.draw(source)
    seen = list(plan.reveal(hits, source))
    index, words, level = (np.concatenate(part) for part in zip(*seen, strict=True))
    assert np.array_equal(index, np.arange(skipping.CHUNK + 500))
    order = np.argsort(hits.index)
    assert np.array_equal(words[hits.index[order]], hits.words[order])
    assert np.array_equal(level[hits.index[order]], hits.level[order])
    rest = np.setdiff1d(index, hits.index)
    (tested,) = {batch.level for batch in plan.batches if len(batch.starts)} - {0} or {0}
    if tested:
        assert (words[rest] >> np.uint64(64 - tested) > 0).all()
    top = np.bincount((words[rest] >> np.uint64(60)).astype(int), minlength=16)
    law = np.full(16, 2.0**-4)
    law[0] -= 2.0**-tested if tested else 0
    assert_law(top, law / law.sum(), wrong=np.full(16, 1 / 16) if 0 < tested <= 6 else None)


def test_a_word_that_would_have_been_a_hit_is_drawn_again_until_it_is_not():
    level = np.repeat([0, 1, 2, 6], 20_000)
    words = skipping._not_hit(level, Seeded(2))
    for j in (1, 2, 6):
        mine = words[level == j]
        assert (mine >> np.uint64(64 - j) > 0).all()
        cells = (mine >> np.uint64(58)).astype(int)
        law = np.where(np.arange(64) < 2 ** (6 - j), 0, 1 / (64 - 2 ** (6 - j)))
        assert_law(np.bincount(cells, minlength=64), law, wrong=np.full(64, 1 / 64))


class Counting:
    secure = True

    def __init__(self):
        self.count = 0

    def words(self, count):
        self.count += count
        return SECURE.words(count)


@named
@pytest.mark.parametrize("shape", ["zipf", "uniform", "tied", "up", "down", "peak", "periodic"])
def test_a_million_candidates_need_fewer_than_100_000_random_words(noise, shape):
    for k in (1, 100):
        source = Counting()
        race(million(shape), k=k, scale=Fraction(10), noise=noise, source=source)
        assert source.count < 100_000


@cache
def million(shape):
    d = 10**6
    zipf = (1e6 / np.arange(1, d + 1) ** 0.8).astype(np.int64)
    values = {
        "zipf": lambda: zipf[np.argsort(Seeded(1).words(d))],
        "uniform": lambda: np.ldexp(Seeded(1).words(d).astype(float), -64),
        "tied": lambda: np.zeros(d),
        "up": lambda: zipf[::-1],
        "down": lambda: zipf,
        "peak": lambda: np.where(np.arange(d) == 4711, 1e6, 0.0),
        "periodic": lambda: np.where(np.arange(d) % 4096 < 8, 60, 0),
    }[shape]()
    values.flags.writeable = False  # the next noise gets the same array
    return values


def test_races_prepare_once_and_draw_independently():
    values = np.zeros(20_000, np.int64)
    run, source = sampling_race.prepare(values, k=1, scale=Fraction(1), noise=KINDS["gumbel"]), Seeded(5)
    winners = [int(run(source).indices[0]) for _ in range(50)]
    assert len(set(winners)) > 45
    assert isinstance(make_plan(values, 1, Fraction(1), KINDS["gumbel"], 64).draw(Seeded(1)), skipping.Hits)
