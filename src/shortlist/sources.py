"""What a query reads after it is paid for: a table, or one number for each person.

Loaded by name when a table is met: it needs libraries that a list of scores does not. A source tells what is public of
it by the arguments alone (`preview`), then by the names and types of its columns (`schema`), and is read last (`read`).
"""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from shortlist._arrays import Frame, attempt, unpack
from shortlist.errors import bad_type, bad_value
from shortlist.execute import Facts
from shortlist.mechanisms.partition import Recounted
from shortlist.query import OPTIONS, Query
from shortlist.scores import Grid, GroupedScores, Scores, Votes
from shortlist.tables.columns import PLAIN, TextForm, check_public_list, list_in_words
from shortlist.tables.count import (
    OpenTable,
    OpenValues,
    Progress,
    open_table,
    open_values,
    schema_of_groups,
)
from shortlist.tables.files import check_public, rows_of_file
from shortlist.tables.question import Grouping, Question, plain_key
from shortlist.tables.values import FIRST_DAY, Placed, ValueQuestion, add_places

NOT_VALUES = "rows must be a table with user= and value=, or a list of numbers or of dates, one for each person"


def _open(query: Query, question: Question, candidates: object) -> OpenTable:
    """Check what is asked of a table, as far as the words tell."""
    reading: dict[str, Any] = {"memory": query.memory, "multiline": query.multiline, "separator": query.separator}
    return open_table(query.source, question, candidates, unit=query.unit, **reading)


def _read_once(listed: object) -> object:
    """Return the same public list, or a list for each group, that can be read twice: counted by and noted."""
    if isinstance(listed, Mapping):
        return {key: _read_once(one) for key, one in listed.items()}
    return list(listed) if isinstance(listed, Iterator) else listed


@dataclass(frozen=True, slots=True)
class Table:
    """A table of which items are counted, and what is asked of it, checked as far as it goes without a row."""

    query: Query
    question: Question
    candidates: object
    table: OpenTable

    @classmethod
    def of(cls, query: Query) -> Table:
        """Return the table of a query.

        Raises
        ------
        ValueError, TypeError
            naming the argument.
        """
        rows, written = query.source, query.written
        if written and isinstance(rows, Scores | GroupedScores):
            names = ", ".join(sorted(name for name in written if OPTIONS[name].part == "table"))
            near = "; did you mean $values=True?" if query.written.get("value") is True else ""
            raise bad_type(f"${names}: for a table; these are Scores, which are counted already: leave it out{near}")
        unfit = [name for name in written if OPTIONS[name].part == "scores" and name != "unit"]
        if unfit:
            raise TypeError(f"{', '.join(unfit)}: of a table this follows from the count; leave it out")
        check_public_list("candidates", query.candidates, rows)
        check_public_list("groups", query.groups, rows)
        columns = query.user, query.item, query.value, query.clip, query.most, query.where
        question = Question.of(*columns, query.by, query.groups, query.groups_per_user)
        listed = _read_once(query.candidates)
        table = _open(query, question, listed)
        if isinstance(listed, str | os.PathLike) and isinstance(rows, str | os.PathLike):
            check_public(os.fspath(listed), os.fspath(rows), question.user)
        return cls(query, question, listed, table)

    @property
    def size(self) -> int | None:
        """How many candidates there are, where the list is public and known without an engine."""
        listed = self.candidates
        if isinstance(listed, str | os.PathLike):
            return len(set(rows_of_file(os.fspath(listed), self.question.items)))
        if not isinstance(listed, list | tuple | set | frozenset):
            return None
        return len({tuple(one) if isinstance(one, list) else one for one in listed})

    @property
    def note(self) -> str:
        """What a ledger notes of the public list."""
        return list_in_words(self.candidates, self.question.items)

    def preview(self) -> GroupedScores | Facts | None:
        """Return what is public of the groups, or of one list; None where only an engine knows the candidates."""
        public = self.candidates is not None
        if self.question.grouping is None:
            return Facts(public, self.question.most, self.question.with_cap(public).weighted)
        size = self.size
        return None if size is None and public else self._negate(schema_of_groups(self.question, size, self.query.unit))

    def schema(self) -> Any:
        return self._negate(self.table.schema())

    def read(self, progress: Progress | None) -> Any:
        scores = self.table.count(progress)
        return self._recount(scores) if self.query.call == "keys" else self._negate(scores)

    def _negate(self, scores: GroupedScores) -> GroupedScores:
        return scores if self.query.largest else scores._negate()

    def _recount(self, scores: Scores) -> Scores:
        """Return scores that count again, where many names come out: the people who hold these very names."""
        weights = scores._weights
        if weights is None or self.query.weighted not in (None, True) or self.query.most is not None:
            return scores

        def again(names: list[Hashable], most: int) -> list[int]:
            counts = _open(self.query, replace(self.question, most=most), names).count().as_public()
            people = dict(zip(counts.labels, counts.values.tolist(), strict=True))
            return [people[name] for name in names]

        return scores._with_weights(Recounted(weights, again))


@dataclass(frozen=True)
class Values:
    """One number, or several, for each person: in a table, or in memory. Its votes are read for `quantile`."""

    query: Query
    question: ValueQuestion | None
    """None for a series in memory."""
    text: TextForm

    size = None
    note = ""

    @classmethod
    def of(cls, query: Query) -> Values:
        """Return the values of a query; a ValueError or TypeError names the argument that is wrong."""
        rows = query.source
        check_public_list("groups", query.groups, rows)
        grouping = Grouping.of(query.by, query.groups, query.groups_per_user)
        text = TextForm.of(query.multiline, query.separator)
        if not isinstance(query.unit, str) or not query.unit:
            raise bad_value('$unit must be a word, for example $unit="user"')
        if query.value is None and grouping is None and not isinstance(rows, str | os.PathLike):
            if query.user is not None or query.memory is not None or text != PLAIN:
                raise bad_type('$value must be the name of a column, for example $value="age"')
            return cls(query, None, text)
        ends = query.lower, query.upper, query.step, query.per_user
        return cls(query, ValueQuestion.of(query.user, query.value, *ends, grouping), text)

    def preview(self) -> Scores | GroupedScores:
        query, question = self.query, self.question
        if question is None:
            return self._votes(OpenValues(Grid.of(query.lower, query.upper, query.step), None, _read_nothing), "")
        listed = () if question.grouping is None else tuple(map(plain_key, question.grouping.listed or ()))
        return self._votes(OpenValues(question.grid, None, _read_nothing, listed), "")

    def schema(self) -> Scores | GroupedScores:
        if self.question is None:
            return self._votes(self._line, f"numbers in memory, {self._line.grid.in_words}")
        return self._votes(self._line, self.question.in_words(self.text.in_words(self.query.source)))

    def read(self, progress: Progress | None) -> Any:
        empty: Any = self.schema()
        votes = self._line.places(progress)
        return empty._with_votes(votes) if isinstance(empty, GroupedScores) else empty._with_votes(*votes[0])

    @cached_property
    def _line(self) -> OpenValues:
        """The values, of which the names and types of columns alone were looked at."""
        if self.question is None:
            return _series(self.query)
        return open_values(self.query.source, self.question, self.query.memory, self.text)

    def _votes(self, line: OpenValues, words: str) -> Scores | GroupedScores:
        """Return all that is public, and no vote: of one list, or of every group."""
        nothing = np.zeros(0, np.int64)
        facts: dict[str, Any] = {"monotone": True, "public": True, "unit": self.query.unit, "frame": line.frame}
        share = 1 if self.question is None else self.question.share
        empty = Scores._of_table(Votes(line.grid, nothing, nothing), sensitivity=share, source=words, **facts)
        grouping = None if self.question is None else self.question.grouping
        if grouping is None:
            return empty
        return GroupedScores._of(
            empty, lambda group: empty, line.keys, by=grouping.by, groups_per_user=grouping.per_user,
            _frame=line.frame, _listed=line.grid.size,
        )  # fmt: skip


def _read_nothing(progress: Progress | None) -> list[Placed]:
    return []


def _series(query: Query) -> OpenValues:
    """Return one number, or one date, for each person; its cells are read later, and missing ones are left out."""
    array, frame = _array_of(query.source)
    grid = Grid.of(query.lower, query.upper, query.step)
    dated = grid.kind == "date"
    if array.dtype.kind in ("USVcmbiuf" if dated else "USVcmM"):
        raise TypeError(NOT_VALUES)

    def read(progress: Progress | None) -> list[Placed]:
        kind = "datetime64[D]" if dated else "float64"
        if array.dtype.kind == "O":  # cell by cell: an error would tell of one
            numbers = np.array([(_day if dated else _number)(cell) for cell in array.tolist()], kind)
        else:
            with np.errstate(all="ignore"):
                numbers = array.astype(kind)
        there = numbers[~(np.isnat if dated else np.isnan)(numbers)]
        points = grid.places(there.astype(np.int64).astype(np.float64) + FIRST_DAY if dated else there)
        return [add_places(points, np.ones_like(points))]

    return OpenValues(grid, frame, read)


def _array_of(rows: Any) -> tuple[np.ndarray[Any, Any], Frame | None]:
    """Return (the series as an array, the kind of its library), by its type alone: no cell is looked at."""
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
    if array.ndim != 1:
        raise TypeError(NOT_VALUES)
    return array, frame


def _number(cell: Any) -> float:
    """Return a number as a float, one beyond them all as infinite; missing if it is not a number."""
    if not isinstance(cell, int | float | Fraction | Decimal | np.integer | np.floating | np.bool_):
        return math.nan
    try:
        return float(cell)
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
