"""Questions against one noisy threshold: asked one at a time or all at once, exactly, with the rare paths forced."""

import copy
import dataclasses
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shortlist.exact import reals
from shortlist.mechanisms import SparseVector
from shortlist.sampling import thresholds as module
from tests.helpers.inside import EXPONENTIAL, LAPLACE, Draw, Seeded, total
from tests.helpers.support import assert_law, full_size, sized
from tests.helpers.typed import present
from tests.mechanisms.sparse_vector.by_formula import BELOW, patterns, transcript
from tests.sampling.test_race import coarse, without_floats

module.Test.__test__ = False  # type: ignore[attr-defined]
KINDS = [("exponential", False), ("exponential", True), ("laplace", False), ("laplace", True), ("geometric", True)]
every = pytest.mark.parametrize(("noise", "adaptive"), KINDS, ids=lambda x: str(x))
VALUES = [3, -2, 5, 0]


def rules_of(noise, adaptive, force=None, threshold=0, **more):
    rules = SparseVector(
        threshold=threshold, k=2, epsilon=2.0, noise=noise, adaptive=adaptive, theta=0.35, **{"monotone": True, **more}
    ).rules
    if force is None:
        return rules
    branches = [
        dataclasses.replace(b, test=dataclasses.replace(b.test, noise=force(b.test.noise))) for b in rules.branches
    ]
    return dataclasses.replace(rules, branches=tuple(branches))


def barrier_of(rules, source):
    return module.Barrier(rules.threshold, rules.threshold_scale, rules.noise, source, whole=rules.whole)


def online(rules, values, source):
    barrier = barrier_of(rules, source)
    questions = [module.Questions(barrier, branch.test) for branch in rules.branches]
    found, spent = [], 0
    for value in values:
        for branch, asked in zip(rules.branches, questions, strict=True):
            if asked.ask(value) is not None:
                found.append(branch.name)
                spent += branch.cost
                break
        else:
            found.append(BELOW)
        if rules.stops(spent):
            break
    return tuple(found)


def in_batch(rules, values, source, where=None):
    """`where`: the positions in `values` that count; all others are hopeless."""
    barrier = barrier_of(rules, source)
    where = list(range(len(values))) if where is None else where
    found: list[Any] = []
    spent = 0
    for index, number, _ in module.passing(values, barrier, [branch.test for branch in rules.branches]):
        place = where.index(index)
        found += [BELOW] * (place - len(found)) + [rules.branches[number].name]
        spent += rules.branches[number].cost
        if rules.stops(spent):
            return tuple(found)
    return tuple(found + [BELOW] * (len(where) - len(found)))


def law_of(rules, values=VALUES):
    return {p: transcript(rules, values[: len(p)], p) for p, _ in patterns(rules, len(values))}


def assert_patterns(drawn, rules, wrong):
    law, other = law_of(rules), law_of(wrong)
    counts = [drawn.count(p) for p in law]
    assert sum(counts) == len(drawn)
    assert_law(counts, list(law.values()), wrong=list(other.values()))


def wider(noise, adaptive):
    return rules_of(noise, adaptive, sensitivity=sized(3, full=2))


@full_size
@every
def test_questions_one_at_a_time_have_the_law(noise, adaptive):
    source, rules = Seeded(1), rules_of(noise, adaptive)
    assert_patterns(
        [online(rules, VALUES, source) for _ in range(sized(600, full=8000))], rules, wider(noise, adaptive)
    )


@full_size
@every
def test_questions_all_at_once_have_the_law(noise, adaptive):
    source, rules, values = Seeded(2), rules_of(noise, adaptive), np.array(VALUES)
    assert_patterns(
        [in_batch(rules, values, source) for _ in range(sized(350, full=5000))], rules, wider(noise, adaptive)
    )


STORED: list[tuple[str, bool, type[Any]]] = [(*one, kind) for one in KINDS for kind in (np.int64, np.int16)]
STORED += [(*one, kind) for one in KINDS[:4] for kind in (np.float64, np.float32)]


@full_size
@pytest.mark.parametrize(("noise", "adaptive", "kind"), STORED)
def test_skipping_the_hopeless_does_not_change_the_law(noise, adaptive, kind, monkeypatch):
    """Blocks of 32 in chunks of 64 and more; the four questions that count stand among 300 hopeless ones."""
    monkeypatch.setattr(module, "BLOCK", 32)
    monkeypatch.setattr(module, "FIRST_CHUNK", 64)
    monkeypatch.setattr(module, "GROWTH", 2)
    where = [0, 70, 71, 300]
    values = np.full(301, -200, kind)
    values[where] = VALUES
    if kind is np.float64:
        values[5] = -np.inf
        values[150:180] = -1e300
    source, rules = Seeded(3), rules_of(noise, adaptive)
    runs = sized(300, full=4000) if kind is np.int64 else sized(30, full=1000)
    drawn = [in_batch(rules, values, source, where) for _ in range(runs)]
    law = law_of(rules)
    counts = [drawn.count(p) for p in law]
    assert sum(counts) == runs
    assert_law(
        counts, list(law.values()), wrong=list(law_of(wider(noise, adaptive)).values()) if kind is np.int64 else None
    )


@full_size
@every
@pytest.mark.parametrize("force", [coarse, without_floats])
def test_comparisons_decided_in_balls_have_the_law(noise, adaptive, force):
    rules, forced = rules_of(noise, adaptive), rules_of(noise, adaptive, force)
    values, source = np.array(VALUES), Seeded(4)
    drawn = [online(forced, VALUES, source) for _ in range(sized(120, full=2000))]
    drawn += [in_batch(forced, values, source) for _ in range(sized(60, full=1000))]
    law = law_of(rules)
    assert_law([drawn.count(p) for p in law], list(law.values()))


@pytest.mark.parametrize("noise", [EXPONENTIAL, LAPLACE], ids=lambda noise: noise.name)
def test_a_gap_is_the_exact_real_correctly_rounded(noise):
    """The same bits, by hand at high precision."""
    source = Seeded(5)
    barrier = module.Barrier(0.1, Fraction(7, 3), noise, source)
    test = module.Test(noise, Fraction(5, 3), Fraction(1, 7), Fraction(0))
    for _ in range(20):
        draw = Draw(noise, int(source.words(1)[0]), 64, source)
        gap = barrier.gap(12345, test, draw)
        (scale, below), *_ = barrier._noise
        while min(draw.bits, below.bits) < 400:
            draw.refine()
            below.refine()
        offset = Fraction(12345) - Fraction(0.1) - Fraction(1, 7)
        low, high = reals.float_bounds(total(offset, [(Fraction(5, 3), draw), (-scale, below)]))
        assert low < gap < high
        assert np.nextafter(np.nextafter(low, np.inf), np.inf) == high  # the bounds are one float apart


def test_whole_gaps_are_whole_and_not_below_the_cut():
    source, rules = Seeded(6), rules_of("geometric", True)
    barrier = barrier_of(rules, source)
    seen = set()
    for branch in rules.branches:
        questions = module.Questions(barrier, branch.test)
        for _ in range(200):
            draw = questions.ask(9)
            if draw is not None:
                gap = barrier.gap(9, branch.test, draw)
                assert gap == int(gap) >= branch.test.cut
                seen.add(gap)
    assert len(seen) > 5


def test_floors_are_geometric_and_exact():
    source = Seeded(7)
    scale = Fraction(5, 2)
    drawn = [
        reals.floor_of(total(Fraction(0), [(scale, Draw(EXPONENTIAL, int(w), 64, source))])) for w in source.words(4000)
    ]
    rate = 1 / 2.5
    law = np.append(-np.expm1(-rate) * np.exp(-rate * np.arange(20)), np.exp(-rate * 20))
    wrong = np.append(0, law[:-1])
    wrong[-1] += 1 - wrong.sum()
    assert_law(np.bincount(np.minimum(drawn, 20), minlength=21), law, wrong=wrong)
    assert reals.floor_of(total(Fraction(-1, 2), [(Fraction(1, 10**9), Draw(EXPONENTIAL, 2**63, 64, source))])) == -1


@pytest.mark.parametrize("threshold", [-1e308, 1e308, 2**62, -(2**63), 0.5, 5e-324], ids=str)
@pytest.mark.parametrize(
    "scale", [Fraction(1, 10**320), Fraction(3), Fraction(10) ** 310], ids=["tiny", "three", "huge"]
)
def test_extreme_numbers_are_decided_as_their_exact_values(threshold, scale):
    """Far above always passes, far below never does, on both paths, whatever overflows on the way."""
    test = module.Test(EXPONENTIAL, scale, Fraction(0), Fraction(0))
    source = Seeded(8)
    for value in (-1.7e308, 0.0, 1.7e308):
        distance = (Fraction(value) - Fraction(threshold)) / scale
        if -60 < distance < 60:
            continue
        barrier = module.Barrier(threshold, scale, EXPONENTIAL, source)
        assert (module.Questions(barrier, test).ask(value) is not None) == (distance > 0)
        found = [index for index, _, _ in module.passing(np.array([value, -np.inf]), barrier, [test])]
        assert found == [0] * (distance > 0)
    for whole in (-(2**63), 0, 2**63 - 1):
        distance = (Fraction(whole) - Fraction(threshold)) / scale
        if not -60 < distance < 60:
            barrier = module.Barrier(threshold, scale, EXPONENTIAL, source)
            assert (module.Questions(barrier, test).ask(whole) is not None) == (distance > 0)
            found = [index for index, _, _ in module.passing(np.array([whole]), barrier, [test])]
            assert found == [0] * (distance > 0)


def test_one_threshold_noise_serves_all_questions():
    """A threshold with much noise and questions with little: all answers of a run agree."""
    source, test = Seeded(9), module.Test(EXPONENTIAL, Fraction(1, 1000), Fraction(0), Fraction(0))
    ways = []
    for _ in range(60):
        barrier = module.Barrier(0, Fraction(100), LAPLACE, source)
        questions = module.Questions(barrier, test)
        asked = {questions.ask(0) is not None for _ in range(30)}
        asked |= {len(list(module.passing(np.zeros(30), barrier, [test]))) == 30}
        assert len(asked) == 1
        ways.append(asked.pop())
    assert 10 < sum(ways) < 50


def test_noise_is_drawn_a_few_questions_ahead_and_used_once():
    source = Seeded(10)
    barrier = module.Barrier(0, Fraction(1), EXPONENTIAL, source)
    questions = module.Questions(barrier, module.Test(EXPONENTIAL, Fraction(1), Fraction(0), Fraction(-100)))
    words = [present(questions.ask(0)).value for _ in range(3000)]
    assert len(set(words)) == 3000


def test_the_noise_of_a_threshold_cannot_be_copied():
    barrier = module.Barrier(0, Fraction(1), EXPONENTIAL, Seeded(11))
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="drawn once"):
            way(barrier)
