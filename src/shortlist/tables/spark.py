"""Spark, by the DataFrame API alone, so that Spark Connect works. The counts are persisted in the cluster."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import Window
from pyspark.sql import functions as sf

from shortlist._arrays import Frame
from shortlist._files import as_text
from shortlist.errors import bad_value
from shortlist.release_io import own_frame
from shortlist.tables.candidates import known_rows
from shortlist.tables.caps import Cap
from shortlist.tables.column_types import (
    FIRST,
    LAST,
    Kind,
    Row,
    check_user,
    is_float,
    is_number,
    item_kind,
    kind_of,
)
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.groups.grouping import candidates_of_groups
from shortlist.tables.groups.held import GroupHeld
from shortlist.tables.groups.in_spark import SparkGroups, count_groups
from shortlist.tables.question import Question
from shortlist.tables.remote_scores import Column, Place
from shortlist.tables.spark_counting import capped, counted_by
from shortlist.tables.where.conditions import form_of
from shortlist.tables.where.in_spark import in_spark

WRONG = "the Spark DataFrame cannot be counted"
TYPES: dict[Kind, str] = {"text": "string", "integer": "bigint", "boolean": "boolean", "date": "date"}


def count_spark(table: Any, question: Question, candidates: object) -> SparkCounts | GroupHeld:
    """The counts, persisted until the scores are forgotten."""
    if not hasattr(table, "dtypes"):
        raise TypeError("source must be a Spark DataFrame, not a column or a session")
    question.check_columns(table.columns)
    kinds = dict(table.dtypes)
    check_user(question.user, kinds[question.user])
    forms = [item_kind(item, kinds[item]) for item in question.items]
    if question.value is not None and not is_number(kinds[question.value]):
        raise bad_value(f"$value={question.value!r} must be a column of numbers; convert it first")
    some = _kept(table, kinds, question)
    if question.grouping is not None:
        return _groups(some, kinds, forms, question, candidates)
    known = None if candidates is None else _known(table, candidates, forms, question)

    def counted() -> Any:
        rows = _rows(some, kinds, forms, question)
        counts = _counted(rows, question) if question.cap is None else _capped(rows, known, question, question.cap)
        return (counts if known is None else _matched(counts, known, question)).persist()

    held = in_one_sentence(WRONG, counted)
    result = SparkCounts(held, question.keys, tuple(forms), question.weighted)
    weakref.finalize(result, _forget, held)
    return result


def _groups(table: Any, kinds: dict[str, str], forms: list[Kind], question: Question, candidates: object) -> GroupHeld:
    """The counts of every group."""
    assert question.grouping is not None
    by = question.grouping.kinds(kinds)
    listed = question.grouping.fitted(by)
    lists = candidates_of_groups(candidates, listed)
    known, offered = None, None
    if lists is not None:
        each = [known_rows(one, question.items, forms) for one in lists]
        rows = [(n, *row) for n, one in enumerate(each) for row in one]
        known = listed_rows(table, rows, ["integer", *forms], ("n", *question.keys))
        offered = np.array(list(map(len, each)), np.int64)
    elif candidates is not None:
        assert listed is not None
        known = _known(table, candidates, forms, question).persist()
        offered = np.full(len(listed), in_one_sentence(WRONG, known.count), np.int64)
    groups = None
    if listed is not None:
        numbered = [(n, *row) for n, row in enumerate(listed)]
        groups = listed_rows(table, numbered, ["integer", *by], ("n", *question.grouping.keys))

    def counted() -> SparkGroups:
        rows = _rows(table, kinds, [*forms, *by], question)
        named = rows.where(sf.col("u").cast("string") != "")
        return count_groups(named, groups, known, lists is not None, question, [TYPES[kind] for kind in (*by, *forms)])

    engine = in_one_sentence(WRONG, counted)
    for held in (engine.held, engine.groups, *([] if known is None else [known])):
        weakref.finalize(engine, _forget, held)
    return in_one_sentence(WRONG, lambda: GroupHeld(engine, listed, offered))


def _kept(table: Any, kinds: dict[str, str], question: Question) -> Any:
    """The rows that count."""
    if question.where is None:
        return table
    return table.where(in_spark(question.where.typed(lambda name: form_of(name, kinds[name])), column_of))


def column_of(name: str) -> Any:
    return sf.col("`" + name.replace("`", "``") + "`")


def user_of(name: str, kind: str) -> Any:
    """Missing floats are missing, and there is one zero."""
    column = column_of(name)
    return sf.when(~sf.isnan(column), column + sf.lit(0.0).cast(kind)) if is_float(kind) else column


def _items(forms: list[Kind], question: Question) -> list[Any]:
    """The items, and with their forms the keys of groups, in the form their labels have."""
    parts = zip(question.labels.items(), forms, strict=False)
    return [item_of(column_of(item), form).alias(key) for (key, item), form in parts]


def item_of(column: Any, form: Kind) -> Any:
    """Bytes that are no UTF-8 are refused: Spark would show others in their place. In words of our own, for Spark logs
    what its `validate_utf8` says, and that quotes the cell."""
    if form == "text":
        text = column.cast("string")
        whole = text.isNull() | sf.is_valid_utf8(text)
        return sf.when(whole, text).otherwise(sf.raise_error(sf.lit("not valid UTF8")).cast("string"))
    shown = sf.when(sf.year(column).between(FIRST.year, LAST.year), column) if form == "date" else column
    return shown.cast(TYPES[form])


def _rows(table: Any, kinds: dict[str, str], forms: list[Kind], question: Question) -> Any:
    wanted = [user_of(question.user, kinds[question.user]).alias("u"), *_items(forms, question)]
    if question.value is not None:
        number = column_of(question.value).cast("double")
        wanted.append(sf.when(~sf.isnan(number), number).alias("v"))
    return table.select(*wanted).dropna()


def _capped(rows: Any, known: Any, question: Question, cap: Cap) -> Any:
    """Scores and weights of what each person keeps (caps.py), of the known items alone if there are such."""
    some = rows if known is None else rows.join(known, list(question.keys), "left_semi")
    pairs = some.where(sf.col("u").cast("string") != "").distinct()
    return capped(pairs, question.keys, cap)


def _counted(rows: Any, question: Question) -> Any:
    return counted_by(rows, question.keys, question)


def _known(table: Any, candidates: Any, forms: list[Kind], question: Question) -> Any:
    """The candidates as a DataFrame with the items' own kinds."""
    if type(candidates).__module__.startswith("pyspark"):
        own = dict(candidates.dtypes)
        if any(item not in own for item in question.items):
            raise bad_value("$candidates: the query must have the item columns, by the same names")
        if [kind_of(own[item]) for item in question.items] != forms:
            raise bad_value("$candidates: the query's columns must be of the same kinds as the item columns; cast them")
        return candidates.select(*_items(forms, question)).dropna().distinct()
    return listed_rows(table, known_rows(candidates, question.items, forms), forms, question.keys)


def listed_rows(table: Any, rows: list[Row], forms: list[Kind], keys: Sequence[str]) -> Any:
    """Public rows as a DataFrame of these kinds."""
    texts = [tuple(map(as_text, row)) for row in rows]
    listed = table.sparkSession.createDataFrame(texts, ", ".join(f"{key} string" for key in keys))
    return listed.select(*(listed[key].cast(TYPES[form]).alias(key) for key, form in zip(keys, forms, strict=True)))


def _matched(counts: Any, known: Any, question: Question) -> Any:
    joined = known.join(counts, list(question.keys), "left")
    return joined.select(*question.keys, sf.coalesce("score", sf.lit(0).cast("bigint")).alias("score"))


def _forget(held: Any) -> None:
    with contextlib.suppress(Exception):  # the session may be gone
        held.unpersist()


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False)
class SparkCounts:
    """A persisted DataFrame of (item, score), perhaps with weights."""

    held: Any
    keys: tuple[str, ...]
    forms: tuple[Kind, ...]
    weighted: bool

    @property
    def frame(self) -> Frame:
        return own_frame("spark", [TYPES[form] for form in self.forms])

    def classes(self, column: Column = "score") -> list[tuple[int, int]]:
        some = self.held.where("weight > 0") if column == "weight" else self.held
        rows = in_one_sentence(WRONG, lambda: some.groupBy(column).count().collect())
        return [(row[0], row[1]) for row in rows]

    def winners(self, places: Sequence[Place], column: Column = "score") -> list[tuple[object, ...]]:
        return self._at(places, column, self.keys)

    def counts(self, places: Sequence[Place]) -> list[int]:
        return [row[0] for row in self._at(places, "weight", ("score",))]

    def _at(self, places: Sequence[Place], column: Column, shown: Sequence[str]) -> list[Any]:
        rows = [(n, score, rank) for n, (score, rank) in enumerate(places)]

        def named_rows() -> Any:
            wanted = self.held.sparkSession.createDataFrame(rows, f"n int, {column} bigint, rank int")
            tied = self.held.where(sf.col(column).isin(sorted({score for score, _ in places})))
            order = Window.partitionBy(column).orderBy(*self.keys)
            named = tied.withColumn("rank", sf.row_number().over(order)).join(sf.broadcast(wanted), [column, "rank"])
            return named.orderBy("n").select(*shown).collect()

        return [tuple(row) for row in in_one_sentence(WRONG, named_rows)]
