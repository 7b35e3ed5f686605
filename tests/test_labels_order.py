"""The order of a set says nothing, whatever its labels are."""

from collections import Counter
from itertools import permutations, product
from typing import Any

import pytest

import shortlist as sl
from shortlist.release import by_label
from tests.helpers.inside import SECURE
from tests.helpers.support import full_size, sized
from tests.helpers.typed import of_kind, present
from tests.sampling.test_uniforms import Fixed


class Named:
    """A label that reads like others of its kind, and does not compare."""

    def __init__(self, text, number):
        self.text, self.number = text, number

    def __str__(self):
        return self.text


def orders(items):
    """How often each order comes out, over every way the bits of the source can fall, without rejection."""
    found: Counter[Any] = Counter()
    for leading in product(range(8), repeat=4):
        order = by_label(items, None, Fixed(leading))
        found[tuple(items[i].number for i in order)] += 1
    return found


@full_size
def test_labels_that_read_alike_come_in_an_order_that_is_independent_of_their_rank():
    """Over all bits of the source the law of the order is the same, whichever order the mechanism gave."""
    labels = [Named("Crash", 1), Named("Crash", 2), Named("Crash", 3), Named("Apollo", 4)]
    laws = [orders(items) for items in [*permutations(labels)][:: sized(5, full=1)]]
    assert all(set(law) == set(laws[0]) for law in laws)
    assert len(laws[0]) == 6
    assert {order[0] for law in laws for order in law} == {4}


def test_the_law_is_the_same_for_every_order_of_the_mechanism():
    """Exactly: three bits of each word suffice, and every assignment of accepted words is equally likely."""
    labels = [Named("Crash", n) for n in range(3)]
    for items in permutations(labels):
        found: Counter[Any] = Counter()
        for first, second in product(range(3), range(2)):
            order = by_label(items, None, Fixed([2 * first, 4 * second]))
            found[tuple(items[i].number for i in order)] += 1
        assert found == dict.fromkeys(permutations(range(3)), 1)


@pytest.mark.parametrize("labels", [["b", "a", "c"], [3, "b", None], [(1, "x"), (1, "w"), (0, "z")]])
def test_labels_that_read_differently_are_sorted_without_chance(labels):
    wanted = [labels[i] for i in by_label(labels, None, SECURE)]
    for items in permutations(labels):
        assert [items[i] for i in by_label(items, None, SECURE)] == wanted


def test_labels_whose_text_fails_are_labels_too():
    class Mute:
        def __str__(self):
            raise RuntimeError("SECRET")

    one, other = Mute(), Mute()
    release = sl.top_k({one: 90, other: 80, "x": 0}, 2, epsilon=9.0, delta=1e-3, monotone=True, method="stable")
    assert release.items is None or set(release.items) <= {one, other, "x"}
    assert sorted(by_label([one, other], None, SECURE)) == [0, 1]


def test_a_private_list_of_alike_labels_does_not_come_best_first():
    """End to end: were the order the mechanism's, the best would stand first 200 times out of 200."""
    best, second = Named("Crash", 1), Named("Crash", 2)
    scores = sl.Scores({best: 9000, second: 8000}, monotone=True)
    firsts: Counter[int] = Counter()
    for _ in range(200):
        items = present(sl.top_k(scores, 2, epsilon=9.0, delta=1e-3).items)
        assert len(items) == 2
        firsts[of_kind(Named, items[0]).number] += 1
    assert min(firsts[1], firsts[2]) > 0  # fails by chance once in 2^199
