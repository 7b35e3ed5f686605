"""What a query reads after it is paid for: a table, or one number for each person.

Loaded by name when a table is met: it needs libraries that a list of scores does not. A source tells what is public of
it by the arguments alone (`preview`), then by the names and types of its columns (`schema`), and is read last (`read`).
"""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist._arrays import Frame, attempt, unpack
from shortlist.errors import bad_type
from shortlist.execute import Facts
from shortlist.mechanisms.partition import Recounted
from shortlist.query import OPTIONS, Query
from shortlist.scores import GroupedScores, Scores
from shortlist.tables.columns import FIRST_DAY, list_in_words
from shortlist.tables.count import OpenTable, Progress, add_places, votes_of
from shortlist.tables.files import check_public
from shortlist.tables.question import Plan, Question

NOT_VALUES = "rows must be a table with user= and value=, or a list of numbers or of dates, one for each person"


def open_source(query: Query) -> Table | Series:
    """Return what a query is about, checked as far as it goes without a row.

    Raises
    ------
    ValueError, TypeError
        naming the argument.
    """
    rows, written = query.source, query.written
    if query.call == "quantile":
        question = Question.of_values(query)
        return Series(query, question) if question.value is None else Table(query, OpenTable(rows, question))
    if written and isinstance(rows, Scores | GroupedScores):
        names = ", ".join(sorted(name for name in written if OPTIONS[name].part == "table"))
        near = "; did you mean $values=True?" if query.written.get("value") is True else ""
        raise bad_type(f"${names}: for a table; these are Scores, which are counted already: leave it out{near}")
    unfit = [name for name in written if OPTIONS[name].part == "scores" and name != "unit"]
    if unfit:
        raise TypeError(f"{', '.join(unfit)}: of a table this follows from the count; leave it out")
    question = Question.of(query)
    listed = question.candidates
    if question.user and isinstance(listed, str | os.PathLike) and isinstance(rows, str | os.PathLike):
        check_public(os.fspath(listed), os.fspath(rows), question.user)
    return Table(query, OpenTable(rows, question))


@dataclass(frozen=True, slots=True)
class Table:
    """A table of which items are counted, or in which people vote with their numbers for a quantile."""

    query: Query
    table: OpenTable

    @property
    def size(self) -> int | None:
        """How many candidates there are, where the list is public and known without an engine."""
        return self.table.size

    @property
    def note(self) -> str:
        """What a ledger notes of the public list."""
        return list_in_words(self.table.question.candidates, self.table.question.items)

    def preview(self) -> Scores | GroupedScores | Facts | None:
        """Return what is public by the arguments alone; None where only an engine knows the candidates."""
        question = self.table.question
        if question.grid is None and question.grouping is None:
            public = question.candidates is not None
            return Facts(public, question.most, weighed=not public)
        known = self.table.preview()
        return None if known is None else self._negate(known)

    def schema(self) -> Any:
        return self._negate(self.table.schema())

    def read(self, progress: Progress | None) -> Any:
        scores = self.table.count(progress)
        return self._recount(scores) if self.query.call == "keys" else self._negate(scores)

    def _negate(self, scores: Any) -> Any:
        return scores if self.query.largest else scores._negate()

    def _recount(self, scores: Scores) -> Scores:
        """Return scores that count again, where many names come out: the people who hold these very names."""
        weights, question = scores._weights, self.table.question
        if weights is None or self.query.weighted not in (None, True) or question.most is not None:
            return scores

        def again(names: list[Hashable], most: int) -> list[int]:
            counts = OpenTable(self.table.source, replace(question, most=most, candidates=names)).count().as_public()
            people = dict(zip(counts.labels, counts.values.tolist(), strict=True))
            return [people[name] for name in names]

        return scores._with_weights(Recounted(weights, again))


@dataclass(frozen=True, slots=True)
class Series:
    """One number, or one date, for each person, in memory. Its cells are read last; missing ones are left out."""

    query: Query
    question: Question

    size = None
    note = ""

    def preview(self) -> Any:
        return votes_of(Plan(self.question))

    def schema(self) -> Any:
        return votes_of(Plan(self.question), self._array()[1])

    def read(self, progress: Progress | None) -> Any:
        (array, frame), grid, dated = self._array(), self.question.grid, self.question.dated
        assert grid is not None
        kind = "datetime64[D]" if dated else "float64"
        if array.dtype.kind == "O":  # cell by cell: an error would tell of one
            numbers = np.array([(_day if dated else _number)(cell) for cell in array.tolist()], kind)
        else:
            with np.errstate(all="ignore"):
                numbers = array.astype(kind)
        there = numbers[~(np.isnat if dated else np.isnan)(numbers)]
        points = grid.places(there.astype(np.int64).astype(np.float64) + FIRST_DAY if dated else there)
        empty: Any = votes_of(Plan(self.question), frame)
        return empty._with_votes(*add_places(points, np.ones_like(points)))

    def _array(self) -> tuple[np.ndarray[Any, Any], Frame | None]:
        """Return (the series as an array, the kind of its library), by its type alone: no cell is looked at."""
        rows, unfit = self.query.source, "USVcmbiuf" if self.question.dated else "USVcmM"
        if isinstance(rows, str | bytes | Mapping | np.ma.MaskedArray):
            raise TypeError(NOT_VALUES)
        frame = attempt(lambda: unpack(rows[:0])[2], (IndexError, KeyError, TypeError, ValueError), NOT_VALUES)
        if isinstance(rows, np.ndarray):
            array = rows
        elif isinstance(rows, list | tuple):
            array = np.empty(len(rows), object)
            for place, cell in enumerate(rows):
                array[place] = cell
        else:
            if any(word in str(getattr(rows, "dtype", getattr(rows, "type", ""))).lower() for word in ("str", "utf8")):
                raise TypeError(NOT_VALUES)
            words = {"zero_copy_only": False} if type(rows).__module__.startswith("pyarrow") else {}
            array = attempt(lambda: rows.to_numpy(**words), (AttributeError, TypeError, ValueError), NOT_VALUES)
        if array.ndim != 1 or array.dtype.kind in unfit:
            raise TypeError(NOT_VALUES)
        return array, frame


def _number(cell: Any) -> float:
    """Return a number as a float, one beyond them all as infinite; missing if it is not a number."""
    numbers = int | float | Fraction | Decimal | np.integer | np.floating | np.bool_
    try:
        return float(cell) if isinstance(cell, numbers) else math.nan
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
    except Exception:
        return math.nan


def _day(cell: Any) -> Any:
    """Return a date; missing if it is not a date."""
    try:
        if isinstance(cell, dt.date):
            return np.datetime64(cell.date() if isinstance(cell, dt.datetime) else cell, "D")
        return cell.astype("datetime64[D]") if isinstance(cell, np.datetime64) else np.datetime64("NaT")
    except Exception:
        return np.datetime64("NaT")
