"""`top_k` and `select` of a table: what is public of it is checked first, then the charge, then its rows.

Loaded by name when a table is met: it needs libraries that a list of scores does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shortlist.grouped_scores import GroupedScores
from shortlist.scores import PlainWords, Scores
from shortlist.table_words import TABLE_WORDS
from shortlist.tables.count import counted, counted_groups, uncounted, uncounted_groups
from shortlist.tables.question import Question

READING = ("unit", "memory", "multiline", "separator")


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
        if isinstance(rows, Scores | GroupedScores):
            written = ", ".join(sorted(TABLE_WORDS & words.keys()))
            near = "; did you mean values=True?" if words.get("value") is True else ""
            raise TypeError(f"{written}: for a table; these are Scores, which are counted already: leave it out{near}")
        unfit = [word for word in words if word in PlainWords.__annotations__ and word not in READING]
        if unfit:
            raise TypeError(f"{', '.join(unfit)}: of a table this follows from the count; leave it out")
        names = ("user", "item", "value", "clip", "most", "where", "by", "groups", "groups_per_user")
        columns = [words.get(name) for name in names]
        known = words.get("candidates")
        listed = list(known) if isinstance(known, Iterator) else known  # it is read twice
        return cls(rows, Question.of(*columns), listed, {name: words[name] for name in READING if name in words})

    def uncounted(self) -> Scores:
        """What is public of the scores, with no row read."""
        return uncounted(self.rows, self.question, self.candidates, **self.reading)

    def counted(self) -> Scores:
        return counted(self.rows, self.question, self.candidates, **self.reading)

    def uncounted_groups(self) -> GroupedScores:
        """What is public of the scores of groups, with no row read."""
        return uncounted_groups(self.rows, self.question, self.candidates, **self.reading)

    def counted_groups(self) -> GroupedScores:
        return counted_groups(self.rows, self.question, self.candidates, **self.reading)
