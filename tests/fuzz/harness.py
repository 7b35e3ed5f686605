"""What atheris feeds: parsers and `Scores` may refuse anything, but only by a ValueError or a TypeError of their own.

`python -m tests.fuzz.scores -max_total_time=60` runs one under atheris; `make audit` runs both for a short while, and
`tests/fuzz/test_harness.py` feeds them random bytes on every commit.
"""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from typing import Any

import numpy as np

import shortlist as sl
from shortlist import Scores
from shortlist.audit import attack, events
from shortlist.ledger.filter import Terms
from shortlist.noise import piecewise_noise
from shortlist.privacy import ApproxDP, PureDP

REFUSALS = (TypeError, ValueError)


class Bytes:
    """Consumes bytes as values of many kinds: the same on any input, with or without atheris."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, n: int) -> bytes:
        piece = self._data[self._at : self._at + n].ljust(n, b"\0")
        self._at += n
        return piece

    def byte(self) -> int:
        return self.take(1)[0]

    def real(self) -> float:
        return struct.unpack("<d", self.take(8))[0]

    def whole(self) -> int:
        return struct.unpack("<q", self.take(8))[0]

    def text(self) -> str:
        return self.take(self.byte() % 8).decode("utf-8", "replace")

    def value(self, depth: int = 0) -> object:
        kind = self.byte() % (12 if depth < 2 else 9)
        if kind == 9:
            return [self.value(depth + 1) for _ in range(self.byte() % 5)]
        if kind == 10:
            return {self.text(): self.value(depth + 1) for _ in range(self.byte() % 5)}
        if kind == 11:
            dtype = ("i1", "u8", "f2", "f4", ">f8", "c16", "bool", "O", "S3")[self.byte() % 9]
            with np.errstate(all="ignore"):
                return np.array([self.whole() % 100 for _ in range(self.byte() % 5)]).astype(dtype)
        plain = (
            self.real,
            self.whole,
            self.text,
            bool,
            lambda: None,
            lambda: np.float32(self.byte()),
            lambda: 10 ** self.byte(),
            lambda: Decimal(self.byte()),
            lambda: np.int16(self.byte()),
        )
        return plain[kind]()


def fuzz_scores(data: bytes) -> None:
    """Any values and any words around them; what is accepted can be released from."""
    feed = Bytes(data)
    values = feed.value()
    words: dict[str, Any] = {}
    for name in ("labels", "sensitivity", "monotone", "neighbours", "public", "unit"):
        if feed.byte() % 4 == 0:
            words[name] = feed.value()
    try:
        scores = Scores(values, **words)
    except REFUSALS:
        return
    assert isinstance(repr(scores), str)
    assert scores.range_sensitivity > 0
    try:
        release = sl.select(scores, epsilon=1.0, rng=sl.testing.seeded(1))
    except REFUSALS:
        assert not scores.public or len(scores) == 0
        return
    assert 0 <= release.index < len(scores)


def fuzz_parsers(data: bytes) -> None:
    """Notes of a ledger and of an audit, custom noise, budgets, names, and whatever functions return."""
    feed = Bytes(data)
    which = feed.byte() % 6
    try:
        if which == 0:
            Terms.from_json(json.loads(feed.take(64).rstrip(b"\0")))
        elif which == 1:
            events.Event.from_json({"trees": [], "cells": feed.value(), "likely": feed.value(), "width": 0})
        elif which == 2:
            knots = [feed.real() for _ in range(feed.byte() % 4)]
            piecewise_noise(knots, [feed.real() for _ in range(feed.byte() % 4)])
        elif which == 3:
            epsilon, delta = feed.real(), feed.real()
            assert PureDP(epsilon).epsilon > 0
            assert ApproxDP(epsilon, delta).delta_at(1.0) >= 0
        elif which == 4:
            attack.mechanism_named(feed.text(), feed.byte(), PureDP(1.0))
        else:
            assert len(events.read_each([feed.value(), feed.value()])) == 2
    except REFUSALS:
        return
    except KeyError:
        if which > 1:  # only files of ours that were damaged may lack a key
            raise
