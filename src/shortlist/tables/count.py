"""From a table to scores, in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, overload

from shortlist._arrays import describe_type
from shortlist._runtime import lazy_import
from shortlist._text import kind_of_words
from shortlist.errors import bad_type, bad_value
from shortlist.scores import GroupedScores, Remote, Scores
from shortlist.tables.dialect import TextForm
from shortlist.tables.files import check_file, check_groups_of_file, count_files
from shortlist.tables.frames import count_frame
from shortlist.tables.groups.held import GroupHeld, NoGroups
from shortlist.tables.groups.scored import scores_of_groups
from shortlist.tables.public_lists import check_public_list
from shortlist.tables.question import Question
from shortlist.tables.relations import count_relation
from shortlist.tables.remote_scores import Engine, Held, Uncounted, Weights

Progress = Callable[[float], None]
"""Told the share of the work that is done, from 0 to 1."""

OPTIONAL = {
    "pyspark": ("shortlist.tables.spark", "count_spark"),
    "ibis": ("shortlist.tables.ibis", "count_ibis"),
}
"""Engines whose library may not be there: their modules are imported when a table of theirs is met."""


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


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table and a question about it, before a row is read. Made by `open_table`."""

    source: Any
    question: Question
    candidates: object
    unit: str
    memory: str | None
    text: TextForm

    def schema(self) -> Any:
        """What `count` would give, with no row read: all that is public is right, and every score is 0.

        A mechanism checks it, and a ledger books the charge by it, before a row of the table is looked at.
        """
        if not isinstance(self.source, str | os.PathLike):
            return replace(self, source=_emptied(self.source)).count()
        file = os.fspath(self.source), self.question, self.candidates, self.memory, self.text
        capped = self.question.capped(self.candidates is not None)
        held: Engine | GroupHeld
        if self.question.grouping is None:
            held = Uncounted(check_file(*file) or 0, capped.weighted)
        else:
            number, listed = check_groups_of_file(*file)
            held = GroupHeld(NoGroups(capped.weighted), listed, number)
        return _scored(held, capped, self.candidates, self.unit, self.text.in_words(self.source))

    def count(self, progress: Progress | None = None) -> Any:
        """Read the rows: `Scores`, or `GroupedScores` where the question names groups."""
        capped = self.question.capped(self.candidates is not None)
        held = _engine(self.source, capped, self.candidates, self.memory, self.text, progress)
        return _scored(held, capped, self.candidates, self.unit, self.text.in_words(self.source))


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
    check_asked(question, candidates, unit)
    return OpenTable(source, question, candidates, unit, memory, TextForm.of(multiline, separator))


def _emptied(table: Any) -> Any:
    """The same table without its rows."""
    for way in ("limit", "head"):
        cut: Callable[[int], Any] | None = getattr(table, way, None)
        if callable(cut):
            empty = cut(0)
            if not isinstance(table, type(empty)):  # a dataset, or a frame in groups, gives a frame and is none
                raise _no_table(table)
            return empty
    return table.slice(0, 0) if callable(getattr(table, "slice", None)) else table


def check_asked(question: Question, candidates: object, unit: str) -> None:
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


def _scored(
    engine: Engine | GroupHeld, question: Question, candidates: object, unit: str, table: str
) -> Scores | GroupedScores:
    if isinstance(engine, GroupHeld):
        return scores_of_groups(engine, question, candidates, unit, table)
    clip, cap = question.clip, question.cap
    weights = Weights(engine, cap.most) if cap is not None and engine.weighted else None
    return Scores._of_table(
        Remote(Held.of(engine), weights, 1 if clip is None else float(clip.grid)),
        sensitivity=1.0 if clip is None else clip.sensitivity,
        monotone=clip is None or clip.monotone,
        public=candidates is not None,
        unit=unit,
        frame=engine.frame,
        columns=question.items if len(question.items) > 1 else (),
        most=question.most,
        source=question.in_words(table),
    )


def _engine(
    source: Any,
    question: Question,
    candidates: object,
    memory: str | None,
    text: TextForm,
    progress: Progress | None,
) -> Engine | GroupHeld:
    """The engine for that kind of table."""
    family = {kind.__module__.partition(".")[0] for kind in type(source).__mro__}
    if isinstance(source, str | os.PathLike):
        return count_files(os.fspath(source), question, candidates, memory, text, progress)
    if memory is not None:
        raise bad_type("$memory is for files; a table in an engine or in memory has its own settings")
    text.check_unused()
    optional = next((OPTIONAL[library] for library in OPTIONAL if library in family), None)
    if optional is not None:
        count_optional: Callable[[Any, Question, object], Engine | GroupHeld] = lazy_import(*optional)
        return count_optional(source, question, candidates)
    if family & {"duckdb", "_duckdb"} and hasattr(source, "columns"):
        return count_relation(source, question, candidates)
    if family & {"pandas", "polars", "pyarrow"}:
        return count_frame(source, question, candidates)
    raise _no_table(source)


def _no_table(source: object) -> TypeError:
    name = type(source).__name__
    words = "; con.sql(...) gives a relation" if name == "DuckDBPyConnection" else ""
    return TypeError(
        "source must be a path, a pandas, polars or pyarrow frame, a DuckDB relation, an Ibis table or a Spark "
        f"DataFrame, not {describe_type(source)}{words}"
    )
