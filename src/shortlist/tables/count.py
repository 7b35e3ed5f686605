"""From a table to scores, or to the votes of a quantile: names and types come first, then the rows are read.

What is counted is a grouped histogram that stays in its engine: Python sees how many items have each score, and the
winners' names. Every table is one: rows of (group, item, score), perhaps with a weight. One list is one group, with the
number 0. An item of a group is a score class and a rank inside it. Positions go to a mechanism, which treats candidates
alike, so any fixed way to number the candidates of a class gives the same distribution (docs/tables.md#names). Items of
a public list that nobody has are not held: they are in the class of 0, and are asked for only where one of them wins.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, overload

import numpy as np

from shortlist._arrays import FRAMES, Frame, Indices, describe_type
from shortlist._runtime import kind_of_words, lazy_import
from shortlist.errors import bad_type, bad_value
from shortlist.scores import Grid, GroupedScores, Pick, Remote, Scores
from shortlist.tables.columns import Row, TextForm, check_public_list, family_of
from shortlist.tables.question import Columns, Plan, Question, plain_key
from shortlist.tables.values import Placed, ValuePlan, ValueQuestion

Column = Literal["score", "weight"]
"""By which of its numbers an item is found. Weights are made where an engine is `weighted`; items that weigh nothing
are not found by them."""
Spot = tuple[int, int, int]
"""(group, score, rank inside its class, from 1)."""
Sizes = tuple[Indices, Indices, Indices]
"""Group, score and how many items have it there, side by side, in any order."""
CHANGED = "the table changed between counting and naming the winners; count again"


class Aggregate(Protocol):
    """The rows (group, item, score), of scores that are not 0, held where they were made until they are forgotten.

    Scores and weights were made of the same rows in one pass, and naming the winners reads what is held, never the
    rows.
    """

    @property
    def frame(self) -> Frame | None:
        """How a released table is made in the caller's own kind: with the columns of the key first."""

    @property
    def weighted(self) -> bool:
        """Whether items have weights."""

    def classes(self, column: Column) -> Sizes:
        """Of the scores, or of the weights above 0."""

    def winners(self, spots: Sequence[Spot], column: Column) -> list[Row]:
        """The items there, in this order: the only names that travel."""

    def counts(self, spots: Sequence[Spot]) -> list[int]:
        """The scores of the items at these spots of the weights, in this order."""

    def keys(self, groups: Sequence[int]) -> list[Row]:
        """The keys of these groups, in this order, where they come from the data: of those that are listed."""


@dataclass(frozen=True, slots=True)
class NoRows:
    """A table before anything is counted: all that is public of it is right, and nobody is in it."""

    weighted: bool = False
    frame: Frame | None = None

    def classes(self, column: Column) -> Sizes:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing

    def winners(self, spots: Sequence[Spot], column: Column) -> list[Row]:
        raise RuntimeError("nothing was counted yet")

    def counts(self, spots: Sequence[Spot]) -> list[int]:
        raise RuntimeError("nothing was counted yet")

    def keys(self, groups: Sequence[int]) -> list[Row]:
        raise RuntimeError("nothing was counted yet")


@dataclass(frozen=True, slots=True, repr=False)
class Classes:
    """The classes of every group, best first, one group after the other."""

    scores: Indices
    sizes: Indices
    starts: Indices
    """Where each group begins, and the end."""

    @classmethod
    def of(cls, sizes: Sizes, groups: int, offered: Indices | None) -> Classes:
        """Return the classes; of `offered` candidates in each group those that were not found score 0."""
        group, score, size = sizes
        if offered is not None:
            left = offered - np.bincount(group, size, minlength=groups).astype(np.int64)
            rest = np.flatnonzero(left > 0)
            group, score = np.append(group, rest), np.append(score, np.zeros(len(rest), np.int64))
            size = np.append(size, left[rest])
        order = np.lexsort((-score, group))
        return cls(score[order], size[order], np.searchsorted(group[order], np.arange(groups + 1)))


class Histogram:
    """The names behind the positions of every group. Private."""

    __slots__ = ("_classes", "engine", "listed", "number")

    def __init__(
        self, engine: Aggregate, number: int | None, listed: list[Row] | None = None, offered: Indices | None = None
    ) -> None:
        """`number` counts the groups (None: those that were found), `listed` are their public keys, `offered` says how
        many public candidates each has."""
        self.engine = engine
        self.listed = listed
        classes = engine.classes("score")
        self.number = int(classes[0].max(initial=-1)) + 1 if number is None else number
        self._classes: dict[Column, Classes] = {"score": Classes.of(classes, self.number, offered)}

    def classes(self, column: Column) -> Classes:
        """Read when they are needed."""
        if column not in self._classes:
            self._classes[column] = Classes.of(self.engine.classes(column), self.number, None)
        return self._classes[column]

    def keys(self, groups: Sequence[int]) -> list[Hashable]:
        """Return the keys of these groups."""
        rows = self.engine.keys(groups) if self.listed is None else [self.listed[group] for group in groups]
        if len(rows) != len(groups):
            raise RuntimeError(CHANGED)
        return list(map(plain_key, rows))

    def names(self, picks: Sequence[Pick]) -> list[list[Hashable]]:
        """Return the items of many groups in one question (two, if some were found by weight)."""
        items: dict[tuple[int, int], Hashable] = {}
        columns: tuple[Column, ...] = ("score", "weight")
        for column in columns:
            wanted = [n for n, pick in enumerate(picks) if pick.by_weight == (column == "weight")]
            places = [(n, i) for n in wanted for i in range(len(picks[n].positions))]
            spots = [spot for n in wanted for spot in self.spots(picks[n].group, picks[n].positions, column)]
            rows = self.engine.winners(spots, column) if spots else []
            if len(rows) != len(spots):
                raise RuntimeError(CHANGED)
            items |= dict(zip(places, map(plain_key, rows), strict=True))
        return [[items[n, i] for i in range(len(pick.positions))] for n, pick in enumerate(picks)]

    def spots(self, group: int, positions: Sequence[int], column: Column) -> list[Spot]:
        """Return these positions of a group, as the engine knows them."""
        part = Ranking(self, group, column)
        sizes = part.sizes
        ends, where = np.cumsum(sizes), np.asarray(positions, np.int64)
        which = np.searchsorted(ends, where, side="right")
        ranks = where - (ends - sizes)[which] + 1
        return [(group, score, rank) for score, rank in zip(part.scores[which].tolist(), ranks.tolist(), strict=True)]


class Ranking:
    """The items of one group, best first, by their scores or by their weights; of the group -1 there are none.

    Weights are whole numbers of 2^-20, of items that have some. One user, added, raises the weights of t <= most items
    by weight(t) each, and no other: the squares of what they add are 1 at most in all (Theorem 195). Private, as scores
    are.
    """

    __slots__ = ("_column", "_group", "_histogram", "most")

    def __init__(self, histogram: Histogram, group: int, column: Column = "score", most: int = 0) -> None:
        """`most` says how many items of a user were weighed, at most: public."""
        self._histogram, self._group, self._column, self.most = histogram, group, column, most

    @property
    def engine(self) -> Aggregate:
        """Where the names are."""
        return self._histogram.engine

    @property
    def scores(self) -> Indices:
        """The distinct scores, decreasing."""
        classes = self._histogram.classes(self._column)
        return classes.scores[classes.starts[self._group] : classes.starts[self._group + 1]]

    @property
    def sizes(self) -> Indices:
        """How many items have each."""
        classes = self._histogram.classes(self._column)
        return classes.sizes[classes.starts[self._group] : classes.starts[self._group + 1]]

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        """Return the items at these positions."""
        return self._histogram.names([Pick(self._group, positions, self._column == "weight")])[0]

    def counts(self, positions: Sequence[int]) -> list[int]:
        """Return the scores of the items at these positions of the weights."""
        if not len(positions):
            return []
        counts = self.engine.counts(self._histogram.spots(self._group, positions, "weight"))
        if len(counts) != len(positions):
            raise RuntimeError(CHANGED)
        return counts


def scores_of(engine: Aggregate, plan: Plan, unit: str, table: str) -> Scores | GroupedScores:
    """Return what was counted as scores: of one list, or of every group, made when they are asked for."""
    question = plan.question
    clip, cap, grouping, offered = question.clip, question.cap, question.grouping, plan.candidate_counts
    histogram = Histogram(engine, plan.number, plan.groups, offered)
    most = cap.most if cap is not None and engine.weighted else None
    factor: int | float = 1 if clip is None else float(clip.grid)

    def content(group: int) -> Remote:
        weights = None if most is None else Ranking(histogram, group, "weight", most)
        return Remote(Ranking(histogram, group), weights, factor)

    scores = Scores._of_table(
        content(0 if grouping is None else -1),
        sensitivity=1.0 if clip is None else clip.sensitivity,
        monotone=clip is None or clip.monotone,
        public=plan.public,
        unit=unit,
        frame=engine.frame if grouping is None else None,
        columns=question.items if len(question.items) > 1 else (),
        most=question.most,
        source=question.in_words(table),
    )
    if grouping is None:
        return scores
    sizes = set() if offered is None else set(offered.tolist())
    return GroupedScores._of(
        scores,
        lambda group: scores._with_content(content(group)),
        None if plan.groups is None else map(plain_key, plan.groups),
        by=grouping.by,
        groups_per_user=grouping.per_user,
        _names=histogram,
        _frame=engine.frame,
        _listed=sizes.pop() if len(sizes) == 1 else None,
    )


Progress = Callable[[float], None]
"""Told the share of the work that is done, from 0 to 1."""

ENGINES: dict[str, tuple[str, str]] = {
    "pyspark": ("shortlist.tables.spark", "SparkTable"),
    "ibis": ("shortlist.tables.ibis", "IbisTable"),
    "duckdb": ("shortlist.tables.duckdb", "RelationTable"),
    "_duckdb": ("shortlist.tables.duckdb", "RelationTable"),
    **dict.fromkeys(FRAMES, ("shortlist.tables.frames", "FrameTable")),
}
"""By the library of a table: its engine is imported when such a table is met."""


@overload
def count(
    source: object,
    *,
    user: str,
    item: str | Iterable[str],
    candidates: object = None,
    value: str | None = None,
    clip: tuple[float, float] | None = None,
    most: int | None = None,
    where: str | None = None,
    by: None = None,
    unit: str = "user",
    memory: str | None = None,
    multiline: bool = False,
    separator: str | None = None,
) -> Scores: ...


@overload
def count(
    source: object,
    *,
    user: str,
    item: str | Iterable[str],
    candidates: object = None,
    value: str | None = None,
    clip: tuple[float, float] | None = None,
    most: int | None = None,
    where: str | None = None,
    by: str | Iterable[str],
    groups: Iterable[Hashable] | None = None,
    groups_per_user: int | None = None,
    unit: str = "user",
    memory: str | None = None,
    multiline: bool = False,
    separator: str | None = None,
) -> GroupedScores: ...


@kind_of_words("count", epsilon="; a count costs nothing yet: give epsilon to top_k, select or keys")
def count(
    source: object,
    *,
    user: str,
    item: str | Iterable[str],
    candidates: object = None,
    value: str | None = None,
    clip: tuple[float, float] | None = None,
    most: int | None = None,
    where: str | None = None,
    by: str | Iterable[str] | None = None,
    groups: Iterable[Hashable] | None = None,
    groups_per_user: int | None = None,
    unit: str = "user",
    memory: str | None = None,
    multiline: bool = False,
    separator: str | None = None,
) -> Scores | GroupedScores:
    """Distinct users per item, or clipped sums, counted where the table is.

    Promise: adding or removing all rows of one user moves every count by at most 1, and all of them the same way. A
    user may touch any number of items in any number of rows. With `most=m` each user keeps m distinct items at most,
    chosen by that user's own rows and a fresh salt, and an item's count is how many users kept it: then at most m
    counts move (docs/tables.md#caps). With `value`, the sum over
    users of clip(a user's values for the item, added up): one user moves a sum by at most R = max(high, 0) -
    min(low, 0), in the integers that are really added (docs/tables.md#sums).

    Rows whose user or item is missing (null, or NaN) are dropped, and with `value` those without a number.

    Parameters
    ----------
    source
        A path or glob of parquet, CSV (`.csv`, `.tsv`) or JSON lines (`.jsonl`, `.ndjson`), read by DuckDB out of core;
        a pandas, polars or pyarrow frame; a DuckDB relation, an Ibis table or a Spark DataFrame. Fields of CSV and
        JSON lines are read as text, whatever they look like: one person's row must not change another's.
    user, item
        Columns by name. Several item columns make one candidate: `item=["artist", "title"]`. Items are text, whole
        numbers, truth values or dates, by the declared type of the column (docs/tables.md#kinds); others are refused.
    candidates
        The public list of items: a list, a series, a frame, a path (a text file with one a line, or a table file with
        the item columns), or a query of the same engine; its values must fit the kind of the item column. Items outside
        it are ignored, missing ones score 0. Without it the candidates come from the data, and only releases with a
        delta exist.
    value, clip
        The column to be summed, and the bounds on what one user adds to one item.
    most
        How many distinct items of each user count, 1 to 4096: a public number. Items off the list of candidates use
        none of it up. Not with `value`.
    where
        Which rows count, as text: `"week >= 40 AND country IN ('CH', 'DE')"`. A small language of its own, meant alike
        in every engine (docs/tables.md#filters); it looks at one row at a time, so it costs nothing.
    by, groups, groups_per_user
        A column, or several, whose values make groups with a list each; the public list of their keys, or None if the
        keys come from the data (then the candidates must too); and in how many groups one person counts, 1 if not said.
        A person with rows in more of them keeps those with the most rows (docs/tables.md#groups). With public groups
        `candidates` may be a mapping from key to list.
    unit
        What one user is, for the record.
    memory
        How much DuckDB may use for files before it goes to disk, for example `"512MB"`.
    multiline
        Whether quoted fields of a CSV file may hold line breaks. Without it one line is one row, and a file that says
        otherwise is refused: a quote that one person left open would swallow the lines after it. Say True only for a
        file whose writer you trust to quote.
    separator
        What stands between the fields of a CSV file: a comma if not said. It is never guessed from the rows.

    Returns
    -------
    Scores
        for `top_k`, `select` and every mechanism. They show nothing of the counts before `as_public()`. With `by`,
        `GroupedScores` for `top_k` and `select`: one list for each group, and one charge.

    Raises
    ------
    ValueError, TypeError, OSError
        One sentence, which shows nothing of the table.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"who": [1, 1, 2, 3], "what": ["tea", "tea", "tea", "milk"]})
    >>> scores = count(rows, user="who", item="what", candidates=["tea", "milk", "water"])
    >>> scores
    Scores(3 candidates, sensitivity=1.0, monotone, add-remove, public)
    """
    check_public_list("candidates", candidates, source)
    check_public_list("groups", groups, source)
    question = Question.of(user, item, value, clip, most, where, by, groups, groups_per_user)
    table = open_table(source, question, candidates, unit=unit, memory=memory, multiline=multiline, separator=separator)
    counts: Scores | GroupedScores = table.count()
    return counts


def table_of(source: Any, wanted: tuple[str, ...], memory: str | None, text: TextForm) -> Any:
    """Return a table for its engine, by its kind; its names and types alone are looked at."""
    if isinstance(source, str | os.PathLike):
        return lazy_import("shortlist.tables.duckdb", "FileTable")(os.fspath(source), wanted, memory, text)
    if memory is not None:
        raise bad_type("$memory is for files; a table in an engine or in memory has its own settings")
    text.check_unused()
    family = family_of(source)
    library = next((library for library in ENGINES if library in family), None)
    if library is None or ("duckdb" in library and not hasattr(source, "columns")):
        raise _refuse_table(source)
    return lazy_import(*ENGINES[library])(source)


def _refuse_table(source: object) -> TypeError:
    name = type(source).__name__
    words = "; con.sql(...) gives a relation" if name == "DuckDBPyConnection" else ""
    return TypeError(
        "source must be a path, a pandas, polars or pyarrow frame, a DuckDB relation, an Ibis table or a Spark "
        f"DataFrame, not {describe_type(source)}{words}"
    )


@dataclass(slots=True)
class OpenTable:
    """A table and a question about it, before a row is read. Made by `open_table`."""

    source: Any
    question: Question
    candidates: object
    unit: str
    memory: str | None
    text: TextForm
    _facts: tuple[Any, Plan] | None = None

    def _plan(self) -> tuple[Any, Plan]:
        """(the table, the question with a fresh salt): public lists are fitted once."""
        question = self.question.with_cap(self.candidates is not None)
        if self._facts is None:
            table = table_of(self.source, self.question.columns, self.memory, self.text)
            self._facts = table, Plan.of(self.question, table.columns(), self.candidates, table.query)
        table, plan = self._facts
        return table, plan.ask(question)

    def schema(self) -> Any:
        """Return what `count` would give, with no row read: all that is public is right, and every score is 0.

        A mechanism checks it, and a ledger charges by it, before a row of the table is looked at.
        """
        table, plan = self._plan()
        return scores_of(table.dry_count(plan), plan, self.unit, self.text.in_words(self.source))

    def count(self, progress: Progress | None = None) -> Any:
        """Read the rows: `Scores`, or `GroupedScores` where the question names groups."""
        table, plan = self._plan()
        return scores_of(table.count(plan, progress), plan, self.unit, self.text.in_words(self.source))


def open_table(
    source: object,
    question: Question,
    candidates: object = None,
    *,
    unit: str = "user",
    memory: str | None = None,
    multiline: bool = False,
    separator: str | None = None,
) -> OpenTable:
    """Check what is asked of a table, as far as the words tell; `schema` and `count` look at it."""
    check_question(question, candidates, unit)
    return OpenTable(source, question, candidates, unit, memory, TextForm.of(multiline, separator))


def check_question(question: Question, candidates: object, unit: str) -> None:
    """Refuse what does not go together, by the words alone."""
    if question.grouping is not None and question.grouping.listed is None and candidates is not None:
        raise bad_value(
            "groups from the data do not go with public candidates: a list of k items for a group would tell that "
            "somebody is in it. Give the public groups too, $groups=[...], or leave candidates out and give a delta"
        )
    if question.clip is not None and candidates is None:
        raise ValueError("sums need candidates: no mechanism takes sums of items that only the data knows")
    if not isinstance(unit, str) or not unit:
        raise bad_value('$unit must be a word, for example $unit="user"')


def schema_of_groups(question: Question, candidates: int | None, unit: str) -> GroupedScores:
    """Return what is public of the scores of groups, by the question alone: not even a header is read.

    `candidates` is how many there are in each group, where they are public.
    """
    assert question.grouping is not None
    capped, listed = question.with_cap(candidates is not None), question.grouping.listed
    sizes = None if candidates is None or listed is None else (candidates,)
    plan = Plan(capped, Columns((), {}), (), None, None if listed is None else list(listed), sizes=sizes)
    scores: Any = scores_of(NoRows(capped.weighted), plan, unit, "")
    return scores  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class OpenValues:
    """A table whose names and types alone were looked at."""

    grid: Grid
    frame: Frame | None
    places: Callable[[Progress | None], list[Placed]]
    """Reads the rows: the votes of every group, or of all users where there are no groups."""
    keys: tuple[Hashable, ...] = ()
    """The public keys of the groups, in the kinds of their columns."""


def open_values(rows: Any, question: ValueQuestion, memory: str | None, text: TextForm) -> OpenValues:
    """Return what is public of a table of values, and how it is read."""
    table = table_of(rows, question.columns, memory, text)
    plan = ValuePlan.of(question, table.columns())
    grid, keys = plan.grid, tuple(map(plain_key, plan.groups or ()))
    frame = None
    if table.engine is not None:
        frame = Frame(table.engine, tuple(table.kinds[kind] for kind in plan.kinds if kind in table.kinds))
    if not isinstance(rows, str | os.PathLike):
        table.weighs(plan)
    return OpenValues(grid, frame, lambda tell: table.votes(plan, grid, tell), keys)
