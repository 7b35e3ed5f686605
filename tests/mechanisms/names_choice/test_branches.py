"""The bars of the noisy choice: levels that move together, and which way comes first where all bars are cleared."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shortlist import Scores
from shortlist.mechanisms import NamesChoice
from shortlist.privacy import ZCDP

WAYS = (
    NamesChoice(k=2, epsilon=1.0, delta=1e-3, most=4),
    NamesChoice(k=5, epsilon=4.0, delta=1e-6, most=64),
    NamesChoice(k=3, budget=ZCDP(0.5, 1e-4), most=64, in_order=True),
    NamesChoice(k=3, epsilon=2.0, delta=1e-6, limit=8),
)


def ranked(counts, size=6000):
    return [*sorted((int(n) for n in counts), reverse=True), *[0] * size]


@pytest.mark.parametrize("mechanism", WAYS)
def test_one_person_moves_every_bar_by_0_to_1(mechanism):
    rng = np.random.default_rng(5)
    for _ in range(60):
        counts = rng.integers(0, 12, 40) ** rng.integers(1, 4)
        more = counts + rng.integers(0, 2, 40)
        moved = [one.bar(ranked(more)) - one.bar(ranked(counts)) for one in mechanism.branches]
        assert all(Fraction(0) <= move <= 1 for move in moved)


def test_where_all_bars_are_cleared_sets_come_before_the_list():
    flat = Scores([1700 - 12 * i for i in range(52)], monotone=True)
    mechanism = NamesChoice(k=3, epsilon=0.4, delta=1e-6)
    ways: list[Any] = [one.mechanism for one in mechanism.branches]
    chances, recalls = mechanism.choice_probabilities(flat), [one.expected_recall(flat) for one in ways]
    assert recalls[-2] > recalls[-1] + 0.05  # the widest set, and the list
    assert chances[:-1].sum() > 0.9
    assert mechanism.expected_recall(flat) > recalls[-1] + 0.05


def test_where_sets_drown_the_list_comes_first():
    flat = Scores([1700 - i // 8 for i in range(800)], monotone=True)
    mechanism = NamesChoice(k=30, epsilon=0.5, delta=1e-6)
    assert mechanism.branches[-1].kind == "list"
    assert mechanism.choice_probabilities(flat)[-1] > 0.9


def test_a_long_list_does_not_stand_before_a_key_set():
    """Where both bars are cleared: the noise of a list grows with its length."""
    counts = ranked([9000] * 900)
    for k, before in ((20, True), (24, True), (25, False), (60, False)):
        *_, names, keys = NamesChoice(k=k, epsilon=1.0, delta=1e-6, most=64).branches
        assert (names.bar(counts) < keys.bar(counts)) == before
    for k in (20, 60):  # without a key set it is as before
        assert dict(NamesChoice(k=k, epsilon=1.0, delta=1e-6).branches[-1].marks)[k] == pytest.approx(-50)
