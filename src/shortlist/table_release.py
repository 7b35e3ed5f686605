"""`top_k` and `select` of a table: what is public of it is checked first, then the charge, then its rows.

Loaded by name when a table is met: it needs libraries that a list of scores does not.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from shortlist.choose import mechanism_for, warn_if_absurd
from shortlist.errors import bad_type
from shortlist.groups import GroupRequest
from shortlist.list_request import finished, group_request, groups_in_words, shown_in_words, turned
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.base import check_ledger, check_source
from shortlist.paid_release import Booked
from shortlist.privacy import Ledger, Reservation
from shortlist.release import GroupedRelease, Release
from shortlist.sampling.entropy import Source
from shortlist.scores import GroupedScores, Scores, ScoresOptions
from shortlist.table_words import TABLE_WORDS
from shortlist.tables.candidates import listed_in_words
from shortlist.tables.count import OpenTable, Progress, check_asked, open_table
from shortlist.tables.file_sources import rows_of_file
from shortlist.tables.files import check_public
from shortlist.tables.groups.scored import schema_of_groups
from shortlist.tables.public_lists import check_public_list
from shortlist.tables.question import Question

READING = ("unit", "memory", "multiline", "separator")


@dataclass(frozen=True, slots=True)
class Table:
    """A table and what is asked of it, checked as far as it goes without a row."""

    rows: object
    question: Question
    candidates: object
    reading: dict[str, Any]
    progress: Progress | None = None

    @classmethod
    def of(cls, rows: object, words: Mapping[str, Any]) -> Table:
        """By the words of the caller.

        Raises
        ------
        ValueError, TypeError
            naming the word.
        """
        if isinstance(rows, Scores | GroupedScores):
            written = ", ".join(sorted(TABLE_WORDS & words.keys()))
            near = "; did you mean $values=True?" if words.get("value") is True else ""
            raise bad_type(f"${written}: for a table; these are Scores, which are counted already: leave it out{near}")
        unfit = [word for word in words if word in ScoresOptions.__annotations__ and word not in READING]
        if unfit:
            raise TypeError(f"{', '.join(unfit)}: of a table this follows from the count; leave it out")
        for name in ("candidates", "groups"):
            check_public_list(name, words.get(name), rows)
        names = ("user", "item", "value", "clip", "most", "where", "by", "groups", "groups_per_user")
        columns = [words.get(name) for name in names]
        known = words.get("candidates")
        listed = list(known) if isinstance(known, Iterator) else known  # it is read twice
        reading = {name: words[name] for name in READING if name in words}
        return cls(rows, Question.of(*columns), listed, reading, checked_progress(words.get("progress")))

    @property
    def _unit(self) -> str:
        """Whose privacy, as a ledger notes it."""
        return f"{self.reading.get('unit', 'user')} (add-remove)"

    def check(self) -> None:
        """Refuse what does not go together; as a public list, the file of the table itself or one with its people."""
        check_asked(self.question, self.candidates, self.reading.get("unit", "user"))
        if isinstance(self.candidates, str | os.PathLike) and isinstance(self.rows, str | os.PathLike):
            check_public(os.fspath(self.candidates), os.fspath(self.rows), self.question.user)

    def released(
        self,
        k: Any,
        least: float | None,
        plan: dict[str, Any],
        *,
        allow_large: bool,
        rng: Source | None,
        ledger: Ledger | None,
        purpose: str,
    ) -> Release | GroupedRelease:
        """Check, book, count, draw, in that order."""
        source = check_source(rng)
        check_ledger(ledger)
        if self.question.grouping is not None:
            return self._lists(k, least, plan, allow_large, source, ledger, purpose)
        mechanism, why, keeps_order = self.mechanism(k, plan)
        warn_if_absurd(mechanism.guarantee, allow_large)
        self.check()
        largest, paid = bool(plan["largest"]), None
        if ledger is not None:
            # before the header is looked at
            ledger.check(mechanism.charge, mechanism.guarantee, unit=self._unit, fresh=False)
        accepted = turned(self.open().schema(), largest)
        if ledger is not None:
            said = self._in_words(shown_in_words(mechanism, keeps_order, least))
            paid = Booked.of(mechanism, accepted, ledger, purpose, source, said)
        with reading(self.progress, paid):
            scores = self.open().count(self.progress)
        scores = turned(scores, largest)
        release = mechanism.release(scores, rng=source) if paid is None else paid.release(scores, source)
        return finished(release, why if plan["method"] == "auto" else "", keeps_order, k, least)

    def _lists(
        self,
        k: Any,
        least: float | None,
        plan: dict[str, Any],
        allow_large: bool,
        source: Source,
        ledger: Ledger | None,
        purpose: str,
    ) -> GroupedRelease:
        """The same for a list of every group: one charge."""
        self.check()
        unread = None if ledger is None else self.unread(k, least, plan)
        if ledger is not None and unread is not None:
            ledger.check(
                unread.charge, unread.guarantee, unit=self._unit, fresh=False
            )  # before the header is looked at
        request = group_request(self.open().schema(), k, least, **plan)
        warn_if_absurd(request.guarantee, allow_large)
        said = "" if ledger is None else self._in_words(groups_in_words(request, least))
        reservation = request.booked(ledger, purpose, source, said)
        with reading(self.progress, reservation):
            scores = self.open().count(self.progress)
        return request.released(scores, source, reservation)

    def mechanism(self, k: Any, plan: dict[str, Any]) -> tuple[Mechanism, str, bool]:
        """(what draws, why, whether its order is released), by the words alone."""
        public = self.candidates is not None
        weighed = self.question.capped(public).weighted
        return mechanism_for(k, public=public, most=self.question.most, weighed=weighed, **plan)

    def unread(self, k: Any, least: float | None, plan: dict[str, Any]) -> GroupRequest | None:
        """What lists of groups ask for and cost, by the words alone; None where only an engine knows the candidates."""
        number = self.number_of_candidates()
        if number is None and self.candidates is not None:
            return None
        unit = self.reading.get("unit", "user")
        return group_request(schema_of_groups(self.question, number, unit), k, least, **plan)

    def number_of_candidates(self) -> int | None:
        """How many there are, where the list is public and told without an engine."""
        listed = self.candidates
        if isinstance(listed, str | os.PathLike):
            return len(set(rows_of_file(os.fspath(listed), self.question.items)))
        return len(set(map(_hashable, listed))) if isinstance(listed, list | tuple | set | frozenset) else None

    def open(self) -> OpenTable:
        """The table, whose names and types alone are looked at until it is counted."""
        return open_table(self.rows, self.question, self.candidates, **self.reading)

    def _in_words(self, shown: str) -> str:
        """What a ledger notes beside the table and its columns."""
        return "; ".join(filter(None, (listed_in_words(self.candidates, self.question.items), shown)))


def _hashable(one: object) -> object:
    return tuple(one) if isinstance(one, list) else one


def checked_progress(progress: Any) -> Progress | None:
    """Something to be told how far it is, or nothing."""
    if progress is not None and not callable(progress):
        raise TypeError("progress must be a function of one number, the share of the rows that were read")
    told: Progress | None = progress
    return told


@contextmanager
def reading(progress: Progress | None, paid: Booked | Reservation | None) -> Iterator[None]:
    """What was asked for is paid, and reading begins. What goes wrong then says that the charge stays."""
    if progress is not None:
        progress(0.0)
    try:
        yield
    except BaseException as error:
        if paid is not None:
            entry = (paid.reservation if isinstance(paid, Booked) else paid).number
            error.add_note(f"The ledger was charged before a row was read, and the charge stays: entry {entry}.")
        raise
