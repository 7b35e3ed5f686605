"""Exact utility: how likely a mechanism is right, and how much of what it releases is.

One module for each family of mechanisms. `DISTRIBUTIONS` of a module says, by the name of a class, which function
makes the exact distribution of its output from (mechanism, public scores). The mechanisms themselves do not import
this package: `shortlist.mechanisms.utility` asks here when a user calls a method such as `success_probability`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from shortlist._arrays import Floats, Indices

FAMILIES = {"gaps": "race", "values": "race", "partition": "key_ranking", "quantiles": "stable"}
"""Modules of `shortlist.mechanisms` whose distributions stand in a module of another name here."""


def distribution(mechanism: object, scores: object) -> Any:
    """Return the exact distribution of what a mechanism releases for these public scores, which it has accepted.

    A class that is made of a mechanism has the distribution of that mechanism.
    """
    for kind in type(mechanism).__mro__:
        package, _, family = kind.__module__.rpartition(".")
        if package == "shortlist.mechanisms" and family != "base":
            table = import_module(f"shortlist.utility.{FAMILIES.get(family, family)}").DISTRIBUTIONS
            if kind.__name__ in table:
                return table[kind.__name__](mechanism, scores)
    raise TypeError(f"no exact distribution is known of {type(mechanism).__name__}")


_ONLY: ContextVar[str | None] = ContextVar("only", default=None)
"""The one number that is asked for."""


@contextmanager
def searching(only: str) -> Iterator[None]:
    """Compute only this number of `quality`: a search asks for it again and again.

    >>> with searching("recall"):
    ...     is_wanted("recall"), is_wanted("top")
    (True, False)
    """
    token = _ONLY.set(only)
    try:
        yield
    finally:
        _ONLY.reset(token)


def is_wanted(name: str) -> bool:
    """Return whether this number of a `Quality` is to be computed."""
    return _ONLY.get() in (None, name)


@dataclass(frozen=True, slots=True)
class Quality:
    """What a mechanism that returns k of d items achieves, the items ranked by score.

    A set *holds the head h* if it contains every item that is among ranks 1 to h however ties are broken, and
    *reaches t* if it contains none that is beyond rank t however they are broken. So a right set is great, and a great
    one good.
    """

    top: float
    """P[the k best], equal scores taken as equal."""
    great: float
    """P[head at least k/10 and reach at most 1.1 k]."""
    good: float
    """P[head at least k/100 and reach at most 1.5 k]."""
    recall: float
    """Expected share of correct items, an item being correct if its score is at least the k-th best."""


def quality_by(
    top: Callable[[], float], great: Callable[[], float], good: Callable[[], float], recall: Callable[[], float]
) -> Quality:
    """A quality of these numbers, each computed on its own; NaN for one that a search does not ask for."""
    parts = {"top": top, "great": great, "good": good, "recall": recall}
    return Quality(**{name: part() if is_wanted(name) else math.nan for name, part in parts.items()})


def mix(parts: Iterable[tuple[float, Quality]]) -> Quality:
    """What is expected of ways that are gone with these chances."""
    ways = list(parts)
    return Quality(*(float(sum(chance * getattr(one, name) for chance, one in ways)) for name in Quality.__slots__))


NEVER = 1e-10
"""A guard that wins with less chance is left out: a hundredth of what laws are exact to."""


@dataclass(frozen=True, slots=True)
class GuardedDistribution:
    """How good what a guarded race gives is."""

    race: Any
    """Its distribution, whose chances add up to what the guard leaves."""
    guard: float
    """P[the guard wins]."""
    fallback: Callable[[], Any]
    """The distribution of what is released then."""
    chosen: Indices
    """The candidates that both speak of, among all of the caller's."""
    size: int

    def success(self) -> float:
        return float(self._both("success"))

    def quality(self) -> Quality:
        return self._both("quality")

    def number_correct(self) -> Floats:
        return np.asarray(self._both("number_correct"))

    def inclusion(self) -> Floats:
        result = np.zeros(self.size)
        result[self.chosen] = self._both("inclusion")
        return result

    def _both(self, number: str) -> Any:
        race = getattr(self.race, number)()
        if self.guard <= NEVER:
            return race
        after = getattr(self.fallback(), number)()
        return mix([(1.0, race), (self.guard, after)]) if isinstance(race, Quality) else race + self.guard * after


def great_ranks(k: int) -> tuple[int, int]:
    """(h, t): a set is great if it contains ranks 1..h and nothing beyond rank t."""
    return -(-k // 10), 11 * k // 10


def good_ranks(k: int) -> tuple[int, int]:
    """(h, t): a set is good if it contains ranks 1..h and nothing beyond rank t."""
    return -(-k // 100), 3 * k // 2


def widen_by_ties(scores: Any, head: int, reach: int) -> tuple[int, int]:
    """The ranks 1 to h, and those up to t, of which ties leave no doubt: `scores` are sorted, the best first.

    >>> widen_by_ties([9, 7, 7, 7, 2], 2, 3)  # who is second and who fourth is a matter of taste
    (1, 4)
    """
    values = np.asarray(scores[: len(scores)])
    if 0 < head < len(values) and values[head - 1] == values[head]:
        head = int(np.argmax(values[:head] == values[head]))
    if reach < len(values):
        reach += int(np.count_nonzero(values[reach:] == values[reach - 1]))
    return head, reach


def ranks_within(scores: Any, k: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """(h, t) of great and of good sets of k, ties counting as equal; `scores` are sorted, the best first."""
    return widen_by_ties(scores, *great_ranks(k)), widen_by_ties(scores, *good_ranks(k))
