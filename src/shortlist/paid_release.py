"""A release from a table that is paid for first: the charge is on the disk before a row of the table is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shortlist.ledger.ledger import Reservation
from shortlist.mechanisms import Mechanism
from shortlist.privacy import Ledger
from shortlist.release import Release
from shortlist.sampling.entropy import SECURE, Source
from shortlist.scores import Scores, ScoreWords
from shortlist.tables.count import counted, uncounted
from shortlist.tables.question import Question


class TableWords(ScoreWords, total=False):
    """The words of `Scores` for plain values, and those of `count` for a table: `user` and `item` make it one."""

    user: str
    item: str | Iterable[str]
    candidates: object
    value: str | None
    clip: tuple[float, float] | None
    most: int | None
    memory: str | None
    multiline: bool


READING = ("unit", "memory", "multiline")
TABLE_WORDS = TableWords.__annotations__.keys() - ScoreWords.__annotations__.keys()
"""Whoever writes one of these means a table."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table and what is asked of it, checked as far as it goes without a row."""

    rows: object
    question: Question
    candidates: object
    reading: dict[str, Any]

    @classmethod
    def of(cls, rows: object, words: Mapping[str, Any]) -> Table:
        """By the words of the caller.

        Raises
        ------
        ValueError, TypeError
            naming the word.
        """
        if isinstance(rows, Scores):
            raise TypeError("user, item and the like are for a table; these are Scores, so leave such words out")
        unfit = [word for word in words if word in ScoreWords.__annotations__ and word not in READING]
        if unfit:
            raise TypeError(f"{', '.join(unfit)}: of a table this follows from the count; leave it out")
        unknown = next((word for word in words if word not in TableWords.__annotations__), None)
        if unknown is not None:
            raise TypeError(f"{unknown} is no word that is known here")
        asked = [words.get(name) for name in ("user", "item", "value", "clip", "most")]
        known = words.get("candidates")
        listed = list(known) if isinstance(known, Iterator) else known  # it is read twice
        return cls(rows, Question.of(*asked), listed, {name: words[name] for name in READING if name in words})

    def uncounted(self) -> Scores:
        """What is public of the scores, with no row read."""
        return uncounted(self.rows, self.question, self.candidates, **self.reading)

    def counted(self) -> Scores:
        return counted(self.rows, self.question, self.candidates, **self.reading)


@dataclass(slots=True)
class Booked:
    """A charge for scores that are not counted yet. Whatever happens to the count, it stays; it pays for one draw."""

    mechanism: Mechanism
    accepted: Scores
    reservation: Reservation
    used: bool = False

    @classmethod
    def of(cls, mechanism: Mechanism, accepted: Scores, ledger: Ledger, purpose: str) -> Booked:
        """Book what a release will cost, by what is public of it (`uncounted`).

        Raises
        ------
        ValueError, TypeError
            if the question does not fit the mechanism: nothing is booked.
        BudgetExceeded, LedgerError
            as the ledger would: nothing is booked.
        """
        reservation = mechanism._booked(accepted, ledger, purpose)
        assert reservation is not None
        return cls(mechanism, accepted, reservation)

    def release(self, scores: Scores, source: Source = SECURE) -> Release:
        """One exact draw from the scores that were paid for; what it shows unused goes back where that is proved."""
        if self.used:
            raise ValueError("this charge has paid for its draw already; book another one")
        self.mechanism._booked(scores, None, "")
        if self.mechanism._terms(scores) != self.mechanism._terms(self.accepted):
            raise ValueError("the candidates changed between the charge and the count; nothing was drawn")
        self.used = True
        return self.mechanism._drawn(scores, source, self.reservation)
