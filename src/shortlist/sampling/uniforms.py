"""Uniform numbers drawn bit by bit, and what is drawn from them alone.

Exactly uniform choices: words one by one, integers below a bound, subsets, orders.

Drawing one of many with chances in proportion to masses that are known as exact expressions.

Floats give every mass an integer share that is surely above it; a proposal in proportion to the shares is accepted
with the exact ratio of mass to share, decided in balls where floats are not enough. So the law is the exact one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Indices, Words
from shortlist.exact.reals import Uniform, ball, formula, is_positive
from shortlist.sampling.entropy import Source

if TYPE_CHECKING:
    from flint import arb

FEW = 32
"""So many members of a subset are drawn one by one, more of them in bulk."""


HALF = 1 << 32
"""Values of half a word."""


class WordStream:
    """Random words one by one, fetched a few at a time. It lives as long as one call and is never shared."""

    __slots__ = ("_ahead", "_source", "_words")

    def __init__(self, source: Source, ahead: int = 16) -> None:
        self._source = source
        self._ahead = ahead
        self._words: list[int] = []

    def word(self) -> int:
        if not self._words:
            self._words = self._source.words(self._ahead).tolist()
        return self._words.pop()

    def uniform(self) -> Uniform:
        """A number of which the next word is known; further bits of it are drawn when they are needed."""
        return Uniform(self.word)

    def words(self, count: int) -> Words:
        return self._source.words(count)

    def below(self, bound: int) -> int:
        """Uniform among 0, .., bound - 1: the leading bits of words, rejected from the bound on."""
        bits = (bound - 1).bit_length()
        while True:
            value = 0
            for _ in range(0, bits, 64):
                value = (value << 64) | self.word()
            value >>= -bits % 64
            if value < bound:
                return value

    def all_zero(self, bits: int) -> bool:
        """Whether that many random bits are all 0: true with probability 2^-bits."""
        while bits >= 64:
            if self.word():
                return False
            bits -= 64
        return not bits or not self.word() >> (64 - bits)


def subset(size: int, count: int, stream: WordStream) -> Indices:
    """A uniform subset of `count` of 0, .., size - 1, in increasing order.

    The first `count` different values of a stream of independent uniform ones are, by symmetry, a uniform subset. If
    more than half is wanted, what is left out is drawn instead.
    """
    if 2 * count > size:
        inside = np.ones(size, np.bool_)
        inside[subset(size, size - count, stream)] = False
        return np.flatnonzero(inside)
    if count <= FEW or size >= HALF:
        few: set[int] = set()
        while len(few) < count:
            few.add(stream.below(size))
        return np.array(sorted(few), np.int64)
    sample = np.empty(0, np.int64)
    while True:
        sample = np.append(sample, _about(size, count + count * count // size + FEW, stream))
        keys = np.sort((sample << 32) | np.arange(len(sample)))  # by value, equal ones by the time they were drawn
        values, when = keys >> 32, keys & (HALF - 1)
        first = np.append(True, values[1:] > values[:-1])
        values, when = values[first], when[first]
        if len(values) >= count:
            members: Indices = values[when <= np.partition(when, count - 1)[count - 1]]
            return members


def shuffle(count: int, stream: WordStream) -> list[int]:
    """0, .., count - 1 in a uniform order."""
    order = list(range(count))
    for last in range(count - 1, 0, -1):
        other = stream.below(last + 1)
        order[last], order[other] = order[other], order[last]
    return order


def many_below(size: int, count: int, stream: WordStream) -> Indices:
    """So many independent uniform values among 0, .., size - 1, for size < 2^32."""
    values = np.zeros(count, np.int64) if size == 1 else np.empty(0, np.int64)
    while len(values) < count:
        values = np.append(values, _about(size, count - len(values), stream))
    return values[:count]


def _about(size: int, about: int, stream: WordStream) -> Indices:
    """About that many of them, from half a word each.

    Of the 2^32 values h, those with h size mod 2^32 >= 2^32 mod size give each floor(h size / 2^32) equally often
    (Lemire 2019); the others are thrown away.
    """
    product = stream.words(about // 2 + 1).view(np.uint32).astype(np.uint64) * np.uint64(size)
    fair = (product & np.uint64(HALF - 1)) >= HALF % size
    return (product[fair] >> np.uint64(32)).astype(np.int64)


SHARES = 1 << 52
"""The shares add up to about so many."""

SHARE_SLACK = 2e-4
"""By how much shares are raised; the logarithms must be right to half of it."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Integer shares of the masses e^logs, all above SHARES e^(log - unit)."""

    logs: Floats
    unit: float
    sums: Indices

    def propose(self, stream: WordStream) -> int:
        """One place, in proportion to the shares."""
        return int(np.searchsorted(self.sums, stream.below(int(self.sums[-1])), side="right"))

    def accept(self, place: int, mass: Callable[[], arb], stream: WordStream, log_mass: float | None = None) -> bool:
        """A coin with the chance SHARES mass / (share e^unit); the mass is that of the place, or less."""
        share = int(self.sums[place]) - (int(self.sums[place - 1]) if place else 0)
        coin = Uniform(stream.word)
        ratio = (
            (float(self.logs[place]) if log_mass is None else log_mass) - self.unit + math.log(SHARES) - math.log(share)
        )
        if math.log(coin.high) < ratio - SHARE_SLACK:
            return True
        factor, unit = Fraction(SHARES, share), Fraction(self.unit)
        return is_positive(formula(lambda: ball(factor) * mass() * (-ball(unit)).exp() - coin.ball(), [coin]))


def shares(logs: Floats) -> Shares:
    """The shares of masses whose logarithms are known to within half of SHARE_SLACK (-inf for none)."""
    top = float(logs.max())
    unit = top + float(np.log(np.exp(logs - top).sum()))
    return Shares(logs, unit, np.cumsum(np.floor(np.exp(logs - unit + SHARE_SLACK) * SHARES).astype(np.int64) + 1))
