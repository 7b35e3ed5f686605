"""Where random bits come from: the kernel, a cipher keyed by it, or (tests only) a seeded cipher.

Small requests go to the kernel's secure generator. Larger ones run AES-256 in counter mode under a key that
the kernel gives for that one request. Nothing random outlives a request, so that forks and threads can
never repeat a draw.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from shortlist._arrays import Words
from shortlist._runtime import IMPORTS

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import AEADEncryptionContext, Cipher, CipherContext
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CTR

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
