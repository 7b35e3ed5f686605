"""From a table to scores, or to the votes of a quantile: names and types come first, then the rows are read.

What is counted is a grouped histogram that stays in its engine: Python sees how many items have each score, and the
winners' names. Every table is one: rows of (group, item, score), perhaps with a weight. One list is one group, with the
number 0. An item of a group is a score class and a rank inside it. Positions go to a mechanism, which treats candidates
alike, so any fixed way to number the candidates of a class gives the same distribution (docs/tables.md#names). Items of
a public list that nobody has are not held: they are in the class of 0, and are asked for only where one of them wins.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, ClassVar, Literal, TypedDict, Unpack, overload

import numpy as np

from shortlist._arrays import FRAMES, Engine, Frame, Indices, describe_type
from shortlist._runtime import kind_of_words, lazy_import
from shortlist.errors import bad_type
from shortlist.scores import GroupedScores, Pick, Remote, Scores, Votes
from shortlist.tables.columns import Kind, Row, family_of, read_rows
from shortlist.tables.question import Columns, Plan, Question, plain_key

Column = Literal["score", "weight"]
"""By which of its numbers an item is found. Weights are made where a cap is `weighted`; items that weigh nothing
are not found by them."""
Spot = tuple[int, int, int]
"""(group, score, rank inside its class, from 1)."""
Sizes = tuple[Indices, Indices, Indices]
"""Group, score and how many items have it there, side by side, in any order."""
Placed = tuple[Indices, Indices]
"""The votes of a group: (places that hold weight, increasing; their weights)."""
CHANGED = "the table changed between counting and naming the winners; count again"


Progress = Callable[[float], None]
"""Told the share of the work that is done, from 0 to 1."""


@dataclass(slots=True, weakref_slot=True, eq=False, repr=False)
class Aggregate:
    """The rows (group, item, score), of scores that are not 0, held where they were made until they are forgotten.

    Scores and weights were made of the same rows in one pass, and naming the winners reads what is held, never the
    rows. This one is of a table before anything is counted: all that is public of it is right, and nobody is in it.
    """

    plan: Plan
    """What was asked: items have weights where the cap of its question says so."""
    frame: Frame | None
    """How a released table is made in the caller's own kind: with the columns of the key first."""

    def classes(self, column: Column) -> Sizes:
        """Of the scores, or of the weights above 0."""
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing

    def find(self, wanted: Sequence[tuple[int, ...]], column: Column, shown: tuple[str, ...], zero: bool) -> list[Row]:
        """(place, what is shown) for every (place, *spot) of items that were found, or of candidates that score 0."""
        raise NotImplementedError

    def find_keys(self, groups: Sequence[int], key: tuple[str, ...]) -> list[Row]:
        """(n, key) of these groups, in any order."""
        raise NotImplementedError

    def winners(self, spots: Sequence[Spot], column: Column) -> list[Row]:
        """The items there, in this order: the only names that travel."""
        items: dict[int, Row] = {}
        for zero in (False, True):
            wanted = [(place, *spot) for place, spot in enumerate(spots) if (spot[1] == 0) == zero]
            rows = self.find(wanted, column, self.plan.question.keys, zero) if wanted else []
            items |= {place: tuple(item) for place, *item in rows}
        return [items[place] for place in range(len(spots)) if place in items]

    def counts(self, spots: Sequence[Spot]) -> list[int]:
        """The scores of the items at these spots of the weights, in this order."""
        wanted = [(place, *spot) for place, spot in enumerate(spots)]
        return [int(score) for _, score in sorted(self.find(wanted, "weight", ("score",), False))]

    def keys(self, groups: Sequence[int]) -> list[Row]:
        """The keys of these groups, in this order, where they come from the data: of those that are listed."""
        grouping = self.plan.question.grouping
        rows = [] if grouping is None or not groups else self.find_keys(groups, grouping.keys)
        keys = {group: tuple(key) for group, *key in rows}
        return [keys[group] for group in groups if group in keys]


class Table:
    """One kind of table, before a row of it is read."""

    engine: Engine | None = None
    """What releases are made of; None for plain Python."""
    kinds: ClassVar[Mapping[Any, str]] = {}
    """What a column of each kind is called there."""

    def columns(self) -> Columns:
        """Names and types."""
        raise NotImplementedError

    def query(self, question: Question, kinds: tuple[Kind, ...]) -> tuple[Any, int] | None:
        """Public candidates that stay in the engine, as rows under our own names, and how many there are."""
        return None

    def weighs(self, plan: Plan) -> bool:
        """Whether users' items can be put into the order of a hash here; refuse what needs it where they cannot."""
        return True

    def frame(self, plan: Plan, counts: Any = None, groups: Any = None) -> Frame | None:
        """How a released table is made: with the columns of the key first."""
        items = len(plan.question.items)
        kinds = [self.kinds[kind] for kind in (*plan.kinds[items:], *plan.kinds[:items])]
        return None if self.engine is None else Frame.of(self.engine, kinds)

    def dry_count(self, plan: Plan) -> Aggregate:
        """Count without the rows: what an engine refuses is refused before anything is charged."""
        return Aggregate(plan, None)

    def count(self, plan: Plan, progress: Progress | None = None) -> Aggregate:
        """Count the rows by item, in every group."""
        raise NotImplementedError

    def votes(self, plan: Plan, progress: Progress | None = None) -> list[Placed]:
        """Return the votes on a grid of every group: one for each user in it, made of that user's rows there alone."""
        raise NotImplementedError


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

    __slots__ = ("_classes", "engine", "number")

    def __init__(self, engine: Aggregate) -> None:
        self.engine, plan, classes = engine, engine.plan, engine.classes("score")
        self.number = int(classes[0].max(initial=-1)) + 1 if plan.number is None else plan.number
        self._classes: dict[Column, Classes] = {"score": Classes.of(classes, self.number, plan.candidate_counts)}

    def part(self, group: int, column: Column) -> tuple[Indices, Indices]:
        """(the distinct scores of a group, decreasing; how many items have each): weights are read when needed."""
        if column not in self._classes:
            self._classes[column] = Classes.of(self.engine.classes(column), self.number, None)
        classes = self._classes[column]
        own = slice(classes.starts[group], classes.starts[group + 1])
        return classes.scores[own], classes.sizes[own]

    def keys(self, groups: Sequence[int]) -> list[Hashable]:
        """Return the keys of these groups."""
        listed = self.engine.plan.groups
        rows = self.engine.keys(groups) if listed is None else [listed[group] for group in groups]
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
        scores, sizes = self.part(group, column)
        ends, where = np.cumsum(sizes), np.asarray(positions, np.int64)
        which = np.searchsorted(ends, where, side="right")
        ranks = where - (ends - sizes)[which] + 1
        return [(group, score, rank) for score, rank in zip(scores[which].tolist(), ranks.tolist(), strict=True)]


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
    def scores(self) -> Indices:
        """The distinct scores, decreasing."""
        return self._histogram.part(self._group, self._column)[0]

    @property
    def sizes(self) -> Indices:
        """How many items have each."""
        return self._histogram.part(self._group, self._column)[1]

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        """Return the items at these positions."""
        return self._histogram.names([Pick(self._group, positions, self._column == "weight")])[0]

    def counts(self, positions: Sequence[int]) -> list[int]:
        """Return the scores of the items at these positions of the weights."""
        if not len(positions):
            return []
        counts = self._histogram.engine.counts(self._histogram.spots(self._group, positions, "weight"))
        if len(counts) != len(positions):
            raise RuntimeError(CHANGED)
        return counts


def scores_of(aggregate: Aggregate, source: object = "") -> Scores | GroupedScores:
    """Return what was counted as scores: of one list, or of every group, made when they are asked for."""
    plan, question, histogram = aggregate.plan, aggregate.plan.question, Histogram(aggregate)
    clip, cap, grouping = question.clip, question.cap, question.grouping
    most = cap.most if cap is not None and cap.weighted else None
    factor: int | float = 1 if clip is None else float(clip.grid)

    def content(group: int) -> Remote:
        weights = None if most is None else Ranking(histogram, group, "weight", most)
        return Remote(Ranking(histogram, group), weights, factor)

    scores = Scores._of_table(
        content(0 if grouping is None else -1),
        sensitivity=1.0 if clip is None else clip.sensitivity,
        monotone=clip is None or clip.monotone,
        public=plan.public,
        unit=question.unit,
        frame=aggregate.frame if grouping is None else None,
        columns=question.items if len(question.items) > 1 else (),
        most=question.most,
        source=question.in_words(source),
    )
    sizes = set(plan.sizes or ())
    return _group_scores(
        scores, plan, lambda group: scores._with_content(content(group)), _names=histogram, _frame=aggregate.frame,
        _listed=sizes.pop() if len(sizes) == 1 else None,
    )  # fmt: skip


def votes_of(plan: Plan, frame: Frame | None = None, source: object = "") -> Scores | GroupedScores:
    """Return all that is public of the votes on a grid, and no vote: of one list, or of every group."""
    question, nothing = plan.question, np.zeros(0, np.int64)
    assert question.grid is not None
    facts: dict[str, Any] = {"monotone": True, "public": True, "unit": question.unit, "frame": frame}
    content, words = Votes(question.grid, nothing, nothing), question.in_words(source)
    empty = Scores._of_table(content, sensitivity=question.share, source=words, **facts)
    return _group_scores(empty, plan, lambda group: empty, _frame=frame, _listed=question.grid.size)


def split_by_group(groups: Indices, places: Indices, weights: Indices, number: int) -> list[Placed]:
    """Return votes of each group that were added up by group and place, in any order."""
    order = np.lexsort((places, groups))
    groups, places, weights = groups[order], places[order], weights[order]
    ends = np.searchsorted(groups, np.arange(number + 1))
    return [(places[ends[n] : ends[n + 1]], weights[ends[n] : ends[n + 1]]) for n in range(number)]


def add_places(places: Indices, weights: Indices) -> Placed:
    """Added up by place; those without weight left out."""
    if not len(places):
        return places, weights
    if np.any(places[1:] < places[:-1]):
        order = np.argsort(places, kind="stable")
        places, weights = places[order], weights[order]
    starts = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
    places, weights = places[starts], np.add.reduceat(weights, starts)
    return places[weights > 0], weights[weights > 0]


def _group_scores(scores: Scores, plan: Plan, make: Callable[[int], Scores], **facts: Any) -> Scores | GroupedScores:
    """Return the scores of one list as they are, or those of every group."""
    grouping = plan.question.grouping
    if grouping is None:
        return scores
    keys = None if plan.groups is None else map(plain_key, plan.groups)
    return GroupedScores._of(scores, make, keys, by=grouping.by, groups_per_user=grouping.per_user, **facts)


ENGINES: dict[str, tuple[str, str]] = {
    "pyspark": ("shortlist.tables.spark", "SparkTable"),
    "ibis": ("shortlist.tables.ibis", "IbisTable"),
    "duckdb": ("shortlist.tables.duckdb", "RelationTable"),
    "_duckdb": ("shortlist.tables.duckdb", "RelationTable"),
    **dict.fromkeys(FRAMES, ("shortlist.tables.frames", "FrameTable")),
}
"""By the library of a table: its engine is imported when such a table is met."""


class CountOptions(TypedDict, total=False):
    """The options of `count` beside those that say what kind of scores comes out."""

    candidates: object
    value: str | None
    clip: tuple[float, float] | None
    most: int | None
    where: str | None
    unit: str
    memory: str | None
    multiline: bool
    separator: str | None


@overload
def count(
    source: object, *, user: str, item: str | Iterable[str], by: None = None, **options: Unpack[CountOptions]
) -> Scores: ...
@overload
def count(
    source: object,
    *,
    user: str,
    item: str | Iterable[str],
    by: str | Iterable[str],
    groups: Iterable[Hashable] | None = None,
    groups_per_user: int | None = None,
    **options: Unpack[CountOptions],
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
    return OpenTable(source, Question.of(SimpleNamespace(**locals()))).count()


def table_of(source: Any, question: Question) -> Any:
    """Return a `Table` for its engine, by its kind; its names and types alone are looked at."""
    if isinstance(source, str | os.PathLike):
        return lazy_import("shortlist.tables.duckdb", "FileTable")(os.fspath(source), question)
    text = question.text
    for name, given in (("memory", question.memory), ("multiline", text.multiline), ("separator", text.separator)):
        if given:
            raise bad_type(f"${name} is for files; a table in an engine or in memory has its own settings")
    family = family_of(source)
    library = next((library for library in ENGINES if library in family), None)
    if library is None or ("duckdb" in library and not hasattr(source, "columns")):
        words = "; con.sql(...) gives a relation" if type(source).__name__ == "DuckDBPyConnection" else ""
        raise TypeError(
            "source must be a path, a pandas, polars or pyarrow frame, a DuckDB relation, an Ibis table or a Spark "
            f"DataFrame, not {describe_type(source)}{words}"
        )
    return lazy_import(*ENGINES[library])(source)


@dataclass(slots=True)
class OpenTable:
    """A table and a question about it. It is looked at when something is asked: at names and types, then at rows."""

    source: Any
    question: Question
    _facts: tuple[Table, Plan] | None = None

    def _plan(self) -> tuple[Table, Plan]:
        """(the table, the question with a fresh salt): public lists are fitted once."""
        question = self.question.with_salts()
        if self._facts is None:
            table = table_of(self.source, question)
            self._facts = table, Plan.of(question, table.columns(), table.query)
        table, plan = self._facts
        return table, replace(plan, question=question)

    def schema(self) -> Any:
        """Return what `count` would give, with no row read: all that is public is right, and every score is 0.

        A mechanism checks it, and a ledger charges by it, before a row of the table is looked at.
        """
        table, plan = self._plan()
        if plan.question.grid is None:
            return scores_of(table.dry_count(plan), self.source)
        table.weighs(plan)
        types = tuple(table.kinds[kind] for kind in plan.kinds if kind in table.kinds)
        return votes_of(plan, None if table.engine is None else Frame(table.engine, types), self.source)

    def count(self, progress: Progress | None = None) -> Any:
        """Read the rows: `Scores`, or `GroupedScores` where the question names groups."""
        table, plan = self._plan()
        if plan.question.grid is None:
            return scores_of(table.count(plan, progress), self.source)
        empty = self.schema()
        votes = table.votes(plan, progress)
        return empty._with_votes(votes) if isinstance(empty, GroupedScores) else empty._with_votes(*votes[0])

    def preview(self) -> Scores | GroupedScores | None:
        """Return what is public by the question alone, of votes or of the scores of groups: not even a header is read.

        None where only an engine knows how many candidates there are.
        """
        question = self.question.with_salts()
        listed = None if question.grouping is None else question.grouping.listed
        plan = Plan(question, groups=None if listed is None else list(listed))
        if question.grid is not None:
            return votes_of(plan)
        size = self.size
        if question.candidates is not None and size is None:
            return None
        plan = replace(plan, sizes=None if size is None or listed is None else (size,))
        return scores_of(Aggregate(plan, None))

    @property
    def size(self) -> int | None:
        """How many candidates there are, where the list is public and known without an engine."""
        listed = self.question.candidates
        plain = isinstance(listed, str | os.PathLike | list | tuple | set | frozenset)
        return len(set(map(repr, read_rows(listed, self.question.items)))) if plain else None
