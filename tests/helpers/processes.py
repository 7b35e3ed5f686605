"""Forked children for tests of crashes and races, and a mechanism that tells when it looks at the data."""

from __future__ import annotations

import os
import pickle
import traceback
from dataclasses import dataclass

from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.base import Outcome
from shortlist.privacy import Guarantee, PureDP


def start(work, *arguments):
    """Run work(*arguments) in a forked child; returns its process number and the pipe its result comes through."""
    result, out = os.pipe()
    child = os.fork()
    if child:
        os.close(out)
        return child, result
    try:
        os.close(result)
        try:
            found = True, work(*arguments)
        except BaseException:
            found = False, traceback.format_exc()
        os.write(out, pickle.dumps(found))
    finally:
        os._exit(0)


def finish(child, result):
    """Wait for a child and return what it returned, or None if it was killed."""
    with os.fdopen(result, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    good, value = pickle.loads(found) if found else (True, None)
    assert good, value
    return value


def in_child(work, *arguments):
    return finish(*start(work, *arguments))


@dataclass(frozen=True, slots=True)
class Looking(Mechanism):
    """Writes a byte to a pipe at the moment it looks at the scores. Its first candidate wins."""

    epsilon: float
    pipe: int

    @property
    def name(self) -> str:
        return "looking"

    @property
    def guarantee(self) -> Guarantee:
        return PureDP(self.epsilon)

    @property
    def ordered(self) -> bool:
        return True

    def _check(self, scores):
        pass

    def _draw(self, scores, source):
        os.write(self.pipe, b".")
        return Outcome([0])


def release_until_killed(ledger, epsilon, pipe):
    """Release as fast as the ledger lets us, saying so at every look."""
    while True:
        Looking(epsilon, pipe).release([1, 2], ledger=ledger)
