"""KeySet: the law of its draws, its utility, its refusals, and that it says nothing private."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import shortlist as sl
from shortlist import ZCDP, ApproxDP
from shortlist.exact.thresholds import UNIT, weight
from shortlist.mechanisms import KeySet
from shortlist.sampling.unknown_domain import draw_keys
from shortlist.testing import seeded
from tests.helpers.support import SIGNIFICANCE, assert_law, full_size, p_value, sized
from tests.helpers.typed import present

COUNTS = [40, 12, 9, 9, 6, 3, 1]
NAMES = {f"label {i}": n for i, n in enumerate(COUNTS)}
SOME = [
    KeySet(most=1, epsilon=1.0, delta=0.01),
    KeySet(most=2, epsilon=1.0, delta=0.05),
    KeySet(most=3, epsilon=1.0, delta=0.05),
    KeySet(most=2, budget=ZCDP(0.2, 0.05)),
]
some = pytest.mark.parametrize("mechanism", SOME, ids=repr)


def scores():
    return sl.Scores(NAMES, monotone=True, public=False)


@full_size
@some
def test_labels_are_named_with_their_chances(mechanism):
    draws = sized(20_000, full=400_000)
    found = mechanism.release_many(scores(), draws=draws, rng=seeded(1))
    named = np.bincount(found.indices[found.indices >= 0], minlength=len(COUNTS))
    for chance, n in zip(mechanism.inclusion_probabilities(scores()), named.tolist(), strict=True):
        other = chance + (0.03 if chance < 0.5 else -0.03)
        assert_law([n, draws - n], [chance, 1 - chance], wrong=[other, 1 - other])


@full_size
@pytest.mark.traced
@some
def test_sums_follow_their_law(mechanism):
    draws = sized(40_000, full=400_000)
    found = mechanism.release_many({"only": 12}, monotone=True, draws=draws, rng=seeded(2))
    sums = np.where(found.indices[:, 0] < 0, -1, found.reals[:, 0]).astype(int)
    noises, share = mechanism._noises(), 0.0 if mechanism._coin is None else float(mechanism._coin.chance())
    law: dict[int, float] = {}
    for noise, part in zip(noises, (1 - share, share), strict=False):
        if mechanism._coin is None:
            ends = noise.reaches(np.array([12]), np.arange(noise.step, noise.step + 80))[0].tolist()
        else:
            ends = noise.reaches(12 - np.arange(0, 80), np.array([noise.step]))[:, 0].tolist()
        masses = -np.diff([*ends, 0.0])
        for n, mass in enumerate(masses):
            law[noise.step + n] = law.get(noise.step + n, 0.0) + part * mass
    law[-1] = 1 - sum(law.values())
    keys = sorted(law)
    counted = np.array([np.count_nonzero(sums == key) for key in keys])
    shifted = {key: law.get(key - 1, 0.0) for key in keys}
    assert counted.sum() == draws
    assert_law(counted, [law[key] for key in keys])
    total = sum(shifted.values())
    assert p_value(counted, [shifted[key] / total for key in keys]) < SIGNIFICANCE


@full_size
@some
def test_single_releases_follow_the_law_of_many(mechanism):
    source, draws = seeded(3), sized(200, full=20_000)
    named = np.zeros(len(COUNTS), int)
    for _ in range(draws):
        release = mechanism.release(scores(), rng=source)
        for label in present(release.items):
            named[int(str(label).split()[1])] += 1
        values = present(release.values)
        assert values == sorted(values, reverse=True)
        assert len(present(release.margins)) == len(values)
        assert min(values, default=99) >= mechanism.bar - 1
    for chance, n in zip(mechanism.inclusion_probabilities(scores()), named.tolist(), strict=True):
        assert_law([n, draws - n], [chance, 1 - chance])


@full_size
def test_labels_of_one_score_are_alike():
    mechanism = KeySet(most=3, epsilon=1.0, delta=0.05)
    column = np.array([12, 9]), np.array([5, 300])
    noise, source = mechanism._noises()[0], seeded(4)
    found = np.concatenate([draw_keys(*column, noise, source)[0] for _ in range(sized(2_000, full=20_000))])
    for start, end in ((0, 5), (5, 305)):
        here = np.bincount(found[(found >= start) & (found < end)] - start, minlength=end - start)
        assert_law(here, np.full(end - start, 1 / (end - start)))


def test_labels_far_below_the_bar_cost_nothing():
    class Counting(type(seeded(0))):  # type: ignore[misc]
        used = 0

        def words(self, count):
            Counting.used += count
            return super().words(count)

    mechanism = KeySet(most=3, epsilon=1.0, delta=1e-14)
    _, sums = draw_keys(np.array([900, 2, 1]), np.array([4, 10**7, 10**9]), mechanism._noises()[0], Counting(5))
    assert len(sums) == 4
    assert Counting.used < 2_000


@full_size
def test_a_rare_label_is_named_as_rarely_as_it_should():
    """Below the bar by three deviations, with skips at a high level."""
    mechanism, many = KeySet(most=3, epsilon=1.0, delta=1e-3), 10**6
    at = 2
    chance = float(mechanism.chances(np.array([at]))[0])
    assert chance < 1e-3
    draws = sized(20, full=200)
    noise, source = mechanism._noises()[0], seeded(6)
    n = sum(len(draw_keys(np.array([at]), np.array([many]), noise, source)[1]) for _ in range(draws))
    trials = many * draws
    assert_law([n, trials - n], [chance, 1 - chance], wrong=[1.1 * chance, 1 - 1.1 * chance])


def test_a_limit_keeps_the_largest_sums():
    mechanism = KeySet(most=3, epsilon=1.0, delta=0.05, k=2)
    for n in range(20):
        release = mechanism.release(scores(), rng=seeded(n))
        assert len(release) <= 2
        assert "label 0" in release
    found = mechanism.release_many(scores(), draws=500, rng=seeded(1))
    assert found.indices.shape[1] == 2
    with pytest.raises(ValueError, match="leave k= out"):
        mechanism.inclusion_probabilities(scores())


def test_equal_sums_come_in_an_order_that_was_drawn():
    mechanism = KeySet(most=1, epsilon=1.0, delta=1e-6)
    first = {
        present(mechanism.release({"a": 500, "b": 500, "c": 500}, monotone=True, rng=seeded(n)).items)[0]
        for n in range(40)
    }
    assert first == {"a", "b", "c"}


def test_without_values_it_is_a_set():
    release = KeySet(most=3, epsilon=1.0, delta=0.05, values=False).release(scores(), rng=seeded(1))
    assert not release.ordered
    assert release.values is None
    assert release.items == sorted(map(str, present(release.items)))


def test_weighted_sums_are_whole_numbers_of_a_millionth():
    mechanism = KeySet(epsilon=1.0, delta=0.05, values=False)
    sums = {"a": 40 * UNIT, "b": 3 * weight(3), "c": weight(64)}
    question: dict[str, Any] = {"monotone": True, "sensitivity": UNIT}
    assert mechanism.release(sums, rng=seeded(1), **question).items == ["a"]
    assert mechanism.inclusion_probabilities(sums, **question)[1] == pytest.approx(
        mechanism.chances(np.array([3 * weight(3)]))[0]
    )
    with pytest.raises(ValueError, match="units of 2\\^-20"):
        mechanism.release(sums, monotone=True)
    with pytest.raises(ValueError, match=r"convert them"):
        mechanism.release({"a": 1.5}, **question)


def test_expected_numbers():
    mechanism = KeySet(most=3, epsilon=1.0, delta=0.05)
    chances = mechanism.inclusion_probabilities(scores())
    assert mechanism.expected_names(scores()) == pytest.approx(chances.sum())
    assert mechanism.expected_recall(scores()) == pytest.approx(chances.mean())
    assert mechanism.expected_recall(scores(), top=2) == pytest.approx(chances[:2].mean())
    assert mechanism.expected_recall({}, public=False, monotone=True) == 0.0


def test_what_does_not_fit_is_refused_by_name():
    with pytest.raises(ValueError, match="most must be a whole number from 1 to 4096"):
        KeySet(most=5000, epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="without a delta"):
        KeySet(most=1, epsilon=1.0)
    with pytest.raises(ValueError, match="delta must be below 1/2"):
        KeySet(most=1, epsilon=1.0, delta=0.5)
    with pytest.raises(TypeError, match="weighted"):
        KeySet(most=1, epsilon=1.0, delta=1e-6, weighted="yes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="write values=False"):
        KeySet(epsilon=1.0, delta=1e-6).release({"a": 5}, sensitivity=UNIT, monotone=True)
    with pytest.raises(ValueError, match="counts of distinct users"):
        KeySet(most=1, epsilon=1.0, delta=1e-6).release({"a": 5}, public=False)
    with pytest.raises(ValueError, match="add/remove"):
        KeySet(most=1, epsilon=1.0, delta=1e-6).release({"a": 5}, neighbours="replace")


def test_nothing_private_is_said():
    mechanism = KeySet(most=3, epsilon=1.0, delta=1e-6)
    assert mechanism.release({}, monotone=True, public=False).items == []
    few = mechanism.release({"secret": 3}, monotone=True, rng=seeded(1))
    none = mechanism.release({}, monotone=True, public=False, rng=seeded(1))
    assert (few.items, few.notes, few.values) == ([], none.notes, []) == (none.items, none.notes, none.values)
    assert "secret" not in few.to_json()


def test_the_note_tells_of_values_near_the_bar():
    mechanism = KeySet(most=3, epsilon=1.0, delta=0.05)
    release = next(
        found
        for n in range(50)
        if len(found := mechanism.release({"a": 10}, monotone=True, rng=seeded(n)))
        and present(found.values)[0] < mechanism.bar + 2 * mechanism.error
    )
    assert any("near the bar: a name" in note for note in release.notes)
    far = mechanism.release({"a": 9000}, monotone=True, rng=seeded(2))
    assert not any("near the bar" in note for note in far.notes)


def test_every_budget_pays_itself():
    for budget in (ApproxDP(1.0, 1e-6), ZCDP(0.05, 1e-6)):
        for mechanism in (KeySet(most=1, budget=budget), KeySet(budget=budget), KeySet(most=9, budget=budget)):
            assert mechanism.guarantee == mechanism.charge == budget


@full_size
def test_values_near_the_bar_are_too_high_by_what_is_said():
    """sigma phi(a) / Phi(-a) above the truth, a = (reach - x) / sigma."""
    mechanism = KeySet(most=16, epsilon=1.0, delta=1e-3)
    sigma, reach = float(mechanism._bar.sigma), float(mechanism._bar.reach)
    draws = sized(40_000, full=400_000)
    for deviations, said in ((-1, 1.525), (0, 0.798), (1, 0.288), (2, 0.055)):
        x = round(reach + deviations * sigma)
        a = (reach - x) / sigma
        exact = sigma * norm.pdf(a) / norm.sf(a)
        assert norm.pdf(deviations) / norm.cdf(deviations) == pytest.approx(said, abs=1e-3)
        found = mechanism.release_many({"a": x}, monotone=True, draws=draws, rng=seeded(7))
        values = present(found.reals)[found.indices[:, 0] >= 0, 0]
        above = values.mean() - x
        assert abs(above - exact) < 6 * values.std() / len(values) ** 0.5


@pytest.mark.traced
@pytest.mark.parametrize(("most", "people"), [(1, 5), (3, 9)])
def test_of_one_label_its_chance_is_all_there_is_to_know(most, people):
    mechanism, alone = KeySet(most=most, epsilon=1.0, delta=0.01, k=1), sl.Scores([people], monotone=True)
    (chance,) = KeySet(most=most, epsilon=1.0, delta=0.01).inclusion_probabilities(alone)
    assert 0.1 < chance < 0.99
    assert mechanism.success_probability(alone) == pytest.approx(chance, abs=1e-8)
    assert mechanism.expected_recall(alone) == pytest.approx(chance, abs=1e-8)
    assert mechanism.expected_names(alone) == pytest.approx(chance, abs=1e-8)
