"""Spark, by the DataFrame API alone, so that Spark Connect works. The counts are persisted in the cluster."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as sf

from shortlist._reading import Frame
from shortlist.tables.candidates import as_text, known_rows
from shortlist.tables.held import Place
from shortlist.tables.question import LARGEST, SATURATED, Clip, Question
from shortlist.tables.reading import in_one_sentence

WRONG = "the Spark DataFrame cannot be counted"
NESTED = ("array", "map", "struct", "variant")
NUMERIC = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "boolean")


def count_spark(table: Any, question: Question, candidates: object) -> SparkCounts:
    """The counts, persisted until the scores are forgotten."""
    if not hasattr(table, "dtypes"):
        raise TypeError("source must be a Spark DataFrame, not a column or a session")
    question.check_columns(table.columns)
    kinds = dict(table.dtypes)
    for item in question.items:
        if kinds[item].startswith(NESTED):
            raise ValueError(f"item={item!r} holds nested values; choose columns of text, numbers or dates")
    if question.value is not None and not kinds[question.value].startswith(NUMERIC):
        raise ValueError(f"value={question.value!r} must be a column of numbers; convert it first")
    known = None if candidates is None else _known(table, candidates, kinds, question)
    with in_one_sentence(WRONG):
        counts = _counted(_rows(table, kinds, question), question)
        held = (counts if known is None else _matched(counts, known, question)).persist()
    result = SparkCounts(held, question.keys)
    weakref.finalize(result, _forget, held)
    return result


def _column(name: str) -> Any:
    return sf.col("`" + name.replace("`", "``") + "`")


def _key(name: str, kind: str) -> Any:
    """A user or an item: missing floats are missing, and there is one zero."""
    column = _column(name)
    return sf.when(~sf.isnan(column), column + sf.lit(0.0).cast(kind)) if kind in ("float", "double") else column


def _rows(table: Any, kinds: dict[str, str], question: Question) -> Any:
    names = {"u": question.user, **dict(zip(question.keys, question.items, strict=True))}
    wanted = [_key(theirs, kinds[theirs]).alias(ours) for ours, theirs in names.items()]
    if question.value is not None:
        number = _column(question.value).cast("double")
        wanted.append(sf.when(~sf.isnan(number), number).alias("v"))
    return table.select(*wanted).dropna()


def _counted(rows: Any, question: Question) -> Any:
    if question.clip is None:
        return rows.groupBy(*question.keys).agg(sf.countDistinct("u").alias("score"))
    persons = rows.withColumn("v", _steps(question.clip)).groupBy("u", *question.keys).agg(sf.sum("v").alias("v"))
    parts = persons.withColumn("v", _within("v", question.clip.low, question.clip.high))
    sums = parts.groupBy(*question.keys).agg(sf.sum("v").alias("score"))
    return sums.withColumn("score", _within("score", -LARGEST, LARGEST))


def _steps(clip: Clip) -> Any:
    scaled = sf.col("v") * sf.lit(clip.steps)
    held = sf.greatest(sf.least(scaled, sf.lit(SATURATED)), sf.lit(-SATURATED))
    return sf.floor(held + sf.lit(0.5)).cast("bigint")


def _within(name: str, low: int, high: int) -> Any:
    return sf.greatest(sf.least(sf.col(name), sf.lit(high).cast("bigint")), sf.lit(low).cast("bigint"))


def _known(table: Any, candidates: Any, kinds: dict[str, str], question: Question) -> Any:
    """The candidates as a DataFrame with the items' own types."""
    types = {key: kinds[item] for key, item in zip(question.keys, question.items, strict=True)}
    if type(candidates).__module__.startswith("pyspark"):
        if any(item not in candidates.columns for item in question.items):
            raise ValueError("candidates: the query must have the item columns, by the same names")
        own = dict(candidates.dtypes)
        listed = candidates.select(
            *(_key(item, own[item]).alias(key) for key, item in zip(question.keys, question.items, strict=True))
        ).dropna()
    else:
        rows = [tuple(as_text(part) for part in row) for row in known_rows(candidates, question.items)]
        schema = ", ".join(f"{key} string" for key in question.keys)
        listed = table.sparkSession.createDataFrame(rows, schema)
    return listed.select(*(listed[key].cast(kind).alias(key) for key, kind in types.items())).dropna().distinct()


def _matched(counts: Any, known: Any, question: Question) -> Any:
    joined = known.join(counts, list(question.keys), "left")
    return joined.select(*question.keys, sf.coalesce("score", sf.lit(0).cast("bigint")).alias("score"))


def _forget(held: Any) -> None:
    with contextlib.suppress(Exception):  # the session may be gone
        held.unpersist()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class SparkCounts:
    """A persisted DataFrame of (item, score)."""

    counts: Any
    keys: tuple[str, ...]

    @property
    def frame(self) -> Frame:
        session = self.counts.sparkSession

        def make(columns: dict[str, list[Any]]) -> Any:
            return session.createDataFrame(list(zip(*columns.values(), strict=True)), list(columns))

        return make

    def classes(self) -> list[tuple[int, int]]:
        with in_one_sentence(WRONG):
            return [(row[0], row[1]) for row in self.counts.groupBy("score").count().collect()]

    def winners(self, places: Sequence[Place]) -> list[tuple[object, ...]]:
        rows = [(n, score, rank) for n, (score, rank) in enumerate(places)]
        with in_one_sentence(WRONG):
            wanted = self.counts.sparkSession.createDataFrame(rows, "n int, score bigint, rank int")
            tied = self.counts.where(sf.col("score").isin(sorted({score for score, _ in places})))
            order = Window.partitionBy("score").orderBy(*self.keys)
            named = tied.withColumn("rank", sf.row_number().over(order)).join(sf.broadcast(wanted), ["score", "rank"])
            found = named.orderBy("n").select(*self.keys).collect()
        return [tuple(row) for row in found]
