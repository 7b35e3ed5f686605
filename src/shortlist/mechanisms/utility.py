"""Exact utility as methods, written once for every mechanism whose law is a value of its own.

A class takes the methods that it has by name (`quality = utility.quality`) and says in `_law` which law its releases
have for these scores. Everything is exact, to 1e-8 or better, and nothing is drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Unpack

from shortlist._arrays import Floats
from shortlist.scores import QuestionOptions, Scores

if TYPE_CHECKING:
    from shortlist.utility.quality import Quality


class Law(Protocol):
    """The law of the k items that are released, for one question."""

    def success(self) -> float: ...

    def quality(self) -> Quality: ...

    def number_correct(self) -> Floats: ...

    def inclusion(self) -> Floats: ...


class LawOfSets(Protocol):
    """A law by which the chances of all sets can be listed."""

    def sets(self) -> dict[tuple[int, ...], float]: ...


class Known(Protocol):
    """A mechanism whose law is known."""

    def _validate_public(self, scores: object, question: QuestionOptions, /) -> Scores: ...

    def _law(self, scores: Scores, /) -> Law: ...


class KnownSets(Protocol):
    """A mechanism of which the chances of all sets are known."""

    def _validate_public(self, scores: object, question: QuestionOptions, /) -> Scores: ...

    def _law(self, scores: Scores, /) -> LawOfSets: ...


def probabilities(self: KnownSets, scores: object, **question: Unpack[QuestionOptions]) -> dict[tuple[int, ...], float]:
    """P[each set of k candidates], whatever its order: exact, to 1e-9, where there are at most 100,000 sets."""
    return self._law(self._validate_public(scores, question)).sets()


def success_probability(self: Known, scores: object, **question: Unpack[QuestionOptions]) -> float:
    """P[the released items are a true top k], ties counting as equal: exact, to 1e-8."""
    return self._law(self._validate_public(scores, question)).success()


def quality(self: Known, scores: object, **question: Unpack[QuestionOptions]) -> Quality:
    """P[top], P[great], P[good] and the expected recall of the released items (Definition 118): exact, to 1e-8."""
    return self._law(self._validate_public(scores, question)).quality()


def number_correct(self: Known, scores: object, **question: Unpack[QuestionOptions]) -> Floats:
    """P[c of the released items score at least the k-th largest], c = 0..k: exact, to 1e-8."""
    return self._law(self._validate_public(scores, question)).number_correct()


def inclusion_probabilities(self: Known, scores: object, **question: Unpack[QuestionOptions]) -> Floats:
    """P[candidate i is released], for every candidate: exact, to 1e-8."""
    return self._law(self._validate_public(scores, question)).inclusion()
