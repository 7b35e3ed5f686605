"""Exactly uniform choices: with every word that the source may give."""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np

from shortlist.sampling import entropy
from tests.helpers.inside import WordStream


class Fixed:
    """A source that gives these words, and counts nothing else."""

    secure = False

    def __init__(self, leading):
        self.leading = list(leading)

    def words(self, count):
        """A stream takes from the end; the first bits of each word are the ones that are used."""
        given = [value << 61 for value in self.leading] + [0] * (count - len(self.leading))
        return np.array(given[::-1], np.uint64)


def test_a_shuffle_gives_every_order_equally_often():
    """With words that need no rejection: 2 and then 4 equal leading values for the last two, by hand for n = 3."""
    found: Counter[Any] = Counter()
    for first, second in product(range(4), range(2)):
        if first < 3:  # below(3) rejects the fourth value of two bits
            found[tuple(entropy.shuffle(3, WordStream(Fixed([2 * first, 4 * second]))))] += 1
    assert set(found.values()) == {1}
    assert len(found) == 6
