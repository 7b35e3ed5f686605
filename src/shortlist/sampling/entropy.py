"""Random bits, and uniform choices made of them.

The kernel's secure generator gives small requests. Larger ones run AES-256 in counter mode under a key that the kernel
gives for that one request. Nothing random outlives a request, so that forks and threads can never repeat a draw. Tests
alone use a seeded cipher.

One of many is drawn in proportion to masses that are known as exact expressions: floats give every mass an integer
share that is surely above it, and a proposal in proportion to the shares is accepted with the exact ratio of both.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from shortlist._arrays import Floats, Indices, Words
from shortlist._runtime import IMPORTS
from shortlist.exact.reals import Partial, Uniform, ball, shows

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import AEADEncryptionContext, Cipher, CipherContext
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CTR
    from flint import arb

    Encryptor = CipherContext | AEADEncryptionContext

KERNEL_WORDS = 384
"""Up to so many words (3 KiB) the kernel itself is faster than setting up a cipher."""

_ZEROS = bytes(1 << 18)


class Source(Protocol):
    """A source of independent uniform bits."""

    @property
    def secure(self) -> bool:
        """Whether the bits are fit for protecting people."""
        ...

    def words(self, count: int) -> Words:
        """`count` independent uniform 64-bit words."""
        ...


class Secure:
    """The default: the operating system's generator, or AES-256-CTR under a fresh kernel key."""

    __slots__ = ()
    secure = True

    def words(self, count: int) -> Words:
        if count <= KERNEL_WORDS:
            return np.frombuffer(os.urandom(8 * count), np.uint64)
        return _keystream(_encryptor(os.urandom(32)), count)


class Seeded:
    """A repeatable source for tests: AES-256-CTR under a key derived from a number anybody can guess."""

    __slots__ = ("_encryptor", "_seed")
    secure = False

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._encryptor = _encryptor(hashlib.sha256(f"shortlist.testing.seeded({seed})".encode()).digest())

    def __repr__(self) -> str:
        return f"seeded({self._seed})"

    def words(self, count: int) -> Words:
        return _keystream(self._encryptor, count)


SECURE = Secure()


def _encryptor(key: bytes) -> Encryptor:
    cipher, algorithm, mode = _parts()
    return cipher(algorithm(key), mode).encryptor()


@cache
def _parts() -> tuple[type[Cipher[CTR]], type[AES], CTR]:
    """AES in counter mode from 0: the same for every key."""
    with IMPORTS:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    return Cipher, algorithms.AES, modes.CTR(bytes(16))


def _keystream(encryptor: Encryptor, count: int) -> Words:
    """The cipher's next `count` words: the encryption of zeros, written in place."""
    out = np.empty(count + 2, np.uint64)  # the cipher asks for one block of room beyond its output
    buffer = memoryview(out.data).cast("B")
    for start in range(0, 8 * count, len(_ZEROS)):
        size = min(len(_ZEROS), 8 * count - start)
        encryptor.update_into(memoryview(_ZEROS)[:size], buffer[start : start + size + 15])
    return out[:count]


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


def accept(
    stream: WordStream, low: float, high: float, chance: Callable[[], arb], lazy: Sequence[Partial] = ()
) -> bool:
    """Return True with a probability whose logarithm is surely between `low` and `high`: that of `chance`, in balls.

    It may depend on `lazy` numbers, which draw more bits of themselves where it is not known well enough.
    """
    coin = stream.uniform()
    if math.log(coin.high) < low:
        return True
    if coin.low and math.log(coin.low) > high:
        return False
    return shows(chance, coin, lazy)


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
            return values[when <= np.partition(when, count - 1)[count - 1]]


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


def pick(ends: Indices, ticket: int) -> tuple[int, int]:
    """(where a ticket falls among weights that end there, one after the other; that weight)."""
    place = int(ends.searchsorted(ticket, side="right"))
    return place, int(ends[place]) - (int(ends[place - 1]) if place else 0)


@dataclass(frozen=True, slots=True)
class Shares:
    """Integer shares of the masses e^logs, all above SHARES e^(log - unit)."""

    logs: Floats
    unit: float
    sums: Indices

    def propose(self, stream: WordStream) -> int:
        """One place, in proportion to the shares."""
        return pick(self.sums, stream.below(int(self.sums[-1])))[0]

    def accept(self, place: int, mass: Callable[[], arb], stream: WordStream, log_mass: float | None = None) -> bool:
        """Return True with probability SHARES mass / (share e^unit).

        The mass is that of the place, or less: then `log_mass` is its logarithm, or a lower bound on it.
        """
        share = int(self.sums[place]) - (int(self.sums[place - 1]) if place else 0)
        most = float(self.logs[place])
        least = most if log_mass is None else log_mass
        factor, unit = Fraction(SHARES, share), Fraction(self.unit)
        scale = math.log(SHARES) - math.log(share) - self.unit
        low, high = least + scale - SHARE_SLACK, most + scale + SHARE_SLACK
        return accept(stream, low, high, lambda: ball(factor) * mass() * (-ball(unit)).exp())


def shares(logs: Floats) -> Shares:
    """The shares of masses whose logarithms are known to within half of SHARE_SLACK (-inf for none)."""
    top = float(logs.max())
    unit = top + float(np.log(np.exp(logs - top).sum()))
    return Shares(logs, unit, np.cumsum(np.floor(np.exp(logs - unit + SHARE_SLACK) * SHARES).astype(np.int64) + 1))
