"""Bits are uniform, secure by default, and never repeat."""

import os
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from shortlist import testing
from shortlist.sampling import entropy
from tests.helpers.inside import SECURE, Seeded, word
from tests.helpers.support import assert_law

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("count", [0, 1, entropy.KERNEL_WORDS, entropy.KERNEL_WORDS + 1, 70_001])
def test_a_request_gives_that_many_fresh_words(count):
    first, second = SECURE.words(count), SECURE.words(count)
    assert first.dtype == np.uint64
    assert len(first) == len(second) == count
    assert len(np.unique(np.concatenate([first, second]))) == 2 * count


@pytest.mark.parametrize("count", [1, 7, entropy.KERNEL_WORDS])
def test_small_requests_are_the_kernels_own_bytes(count, monkeypatch):
    given: list[bytes] = []

    def urandom(size):
        given.append(os.getrandom(size))
        return given[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    words = SECURE.words(count)
    assert len(given) == 1
    assert words.tobytes() == given[0]


def test_large_requests_are_the_keystream_of_a_fresh_kernel_key(monkeypatch):
    keys = []

    def urandom(size):
        keys.append(os.getrandom(size))
        return keys[-1]

    monkeypatch.setattr(os, "urandom", urandom)
    entropy._parts.cache_clear()  # what is drawn when tests are collected has made them already
    for _ in range(2):
        words = SECURE.words(50_000)
        cipher = Cipher(algorithms.AES(keys[-1]), modes.CTR(bytes(16))).encryptor()
        assert words.tobytes() == cipher.update(bytes(400_000))
    assert len(keys) == 2
    assert all(len(key) == 32 for key in keys)
    assert keys[0] != keys[1]


@pytest.mark.parametrize("source", [SECURE, Seeded(11)], ids=["secure", "seeded"])
def test_every_bit_is_fair(source):
    words = source.words(400_000)
    ones = np.array([np.count_nonzero(words >> np.uint64(bit) & np.uint64(1)) for bit in range(64)])
    z = (ones - 200_000) / np.sqrt(100_000)
    assert np.abs(z).max() < 6.5


def test_bytes_of_the_cipher_are_uniform():
    counts = np.bincount(Seeded(5).words(200_000).view(np.uint8), minlength=256)
    assert_law(counts, np.full(256, 1 / 256), wrong=np.linspace(0.97, 1.03, 256) / 256)


def test_a_seeded_source_repeats_itself_and_says_so():
    one, two = testing.seeded(7), testing.seeded(7)
    assert np.array_equal(one.words(10), two.words(10))
    assert word(one) == word(two)
    assert not np.array_equal(testing.seeded(7).words(10), testing.seeded(8).words(10))
    assert repr(one) == "seeded(7)"
    assert not one.secure
    assert SECURE.secure


def test_a_seed_must_be_a_whole_number():
    with pytest.raises(TypeError):
        testing.seeded(1.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [4, entropy.KERNEL_WORDS + 4])
def test_forks_never_repeat_a_draw(count):
    SECURE.words(count)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, SECURE.words(count)[:4].tobytes())
        os._exit(0)
    mine = SECURE.words(count)[:4]
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(read, 32), np.uint64)
    assert not np.intersect1d(mine, theirs).size


def test_threads_never_repeat_a_draw():
    drawn = []
    threads = [threading.Thread(target=lambda: drawn.append(SECURE.words(5_000))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(np.unique(np.concatenate(drawn))) == 40_000
