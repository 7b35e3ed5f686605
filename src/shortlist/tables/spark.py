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
from shortlist._sql import as_text
from shortlist.exact.key_bars import UNIT
from shortlist.released_frames import own_frame
from shortlist.tables.candidates import known_rows
from shortlist.tables.caps import BETWEEN, Cap
from shortlist.tables.column_types import (
    FIRST,
    LAST,
    Kind,
    check_user,
    is_float,
    is_number,
    item_kind,
    kind_of,
)
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.question import LARGEST, SATURATED, Clip, Question
from shortlist.tables.remote_scores import Column, Place

WRONG = "the Spark DataFrame cannot be counted"
TYPES: dict[Kind, str] = {"text": "string", "integer": "bigint", "boolean": "boolean", "date": "date"}


def count_spark(table: Any, question: Question, candidates: object) -> SparkCounts:
    """The counts, persisted until the scores are forgotten."""
    if not hasattr(table, "dtypes"):
        raise TypeError("source must be a Spark DataFrame, not a column or a session")
    question.check_columns(table.columns)
    kinds = dict(table.dtypes)
    check_user(question.user, kinds[question.user])
    forms = [item_kind(item, kinds[item]) for item in question.items]
    if question.value is not None and not is_number(kinds[question.value]):
        raise ValueError(f"value={question.value!r} must be a column of numbers; convert it first")
    known = None if candidates is None else _known(table, candidates, forms, question)

    def counted() -> Any:
        rows = _rows(table, kinds, forms, question)
        counts = _counted(rows, question) if question.cap is None else _capped(rows, known, question, question.cap)
        return (counts if known is None else _matched(counts, known, question)).persist()

    held = in_one_sentence(WRONG, counted)
    result = SparkCounts(held, question.keys, tuple(forms), question.weighted)
    weakref.finalize(result, _forget, held)
    return result


def column_of(name: str) -> Any:
    return sf.col("`" + name.replace("`", "``") + "`")


def user_of(name: str, kind: str) -> Any:
    """Missing floats are missing, and there is one zero."""
    column = column_of(name)
    return sf.when(~sf.isnan(column), column + sf.lit(0.0).cast(kind)) if is_float(kind) else column


def _items(forms: list[Kind], question: Question) -> list[Any]:
    """The items in the form their labels have."""
    parts = zip(question.keys, question.items, forms, strict=True)
    return [_item(column_of(item), form).alias(key) for key, item, form in parts]


def _item(column: Any, form: Kind) -> Any:
    """Bytes that are no UTF-8 are refused: Spark would show others in their place."""
    if form == "text":
        return sf.validate_utf8(column.cast("string"))
    shown = sf.when(sf.year(column).between(FIRST.year, LAST.year), column) if form == "date" else column
    return shown.cast(TYPES[form])


def _rows(table: Any, kinds: dict[str, str], forms: list[Kind], question: Question) -> Any:
    wanted = [user_of(question.user, kinds[question.user]).alias("u"), *_items(forms, question)]
    if question.value is not None:
        number = column_of(question.value).cast("double")
        wanted.append(sf.when(~sf.isnan(number), number).alias("v"))
    return table.select(*wanted).dropna()


def _counted(rows: Any, question: Question) -> Any:
    if question.clip is None:
        return rows.groupBy(*question.keys).agg(sf.countDistinct("u").alias("score"))
    persons = rows.withColumn("v", _steps(question.clip)).groupBy("u", *question.keys).agg(sf.sum("v").alias("v"))
    parts = persons.withColumn("v", _within("v", question.clip.low, question.clip.high))
    sums = parts.groupBy(*question.keys).agg(sf.sum("v").alias("score"))
    return sums.withColumn("score", _within("score", -LARGEST, LARGEST))


def _capped(rows: Any, known: Any, question: Question, cap: Cap) -> Any:
    """Scores and weights of what each person keeps (caps.py), of the known items alone if there are such."""
    some = rows if known is None else rows.join(known, list(question.keys), "left_semi")
    texts = [sf.col(name).cast("string") for name in ("u", *question.keys)]
    pairs = some.where(texts[0] != "").distinct()
    people = Window.partitionBy("u")
    order = people.orderBy(sf.md5(sf.concat_ws(BETWEEN, sf.lit(cap.salt), *texts)), *question.keys)
    keeps = sf.row_number().over(order) <= cap.most
    held = sf.least(sf.count(sf.lit(1)).over(people), sf.lit(cap.most).cast("bigint"))
    ranked = pairs.select(*question.keys, keeps.alias("keeps"), held.alias("held"))
    weight = sf.floor(sf.sqrt(sf.floor(sf.lit(float(UNIT**2)) / sf.col("held")))).cast("bigint")
    parts = [sf.count(sf.lit(1)).alias("score")]
    if cap.weighted:
        parts.append(sf.sum(sf.when(sf.col("keeps"), weight).otherwise(sf.lit(0).cast("bigint"))).alias("weight"))
    return (ranked.where("keeps") if cap.caps_scores else ranked).groupBy(*question.keys).agg(*parts)


def _steps(clip: Clip) -> Any:
    scaled = sf.col("v") * sf.lit(clip.steps)
    held = sf.greatest(sf.least(scaled, sf.lit(SATURATED)), sf.lit(-SATURATED))
    return sf.floor(held + sf.lit(0.5)).cast("bigint")


def _within(name: str, low: int, high: int) -> Any:
    return sf.greatest(sf.least(sf.col(name), sf.lit(high).cast("bigint")), sf.lit(low).cast("bigint"))


def _known(table: Any, candidates: Any, forms: list[Kind], question: Question) -> Any:
    """The candidates as a DataFrame with the items' own kinds."""
    if type(candidates).__module__.startswith("pyspark"):
        own = dict(candidates.dtypes)
        if any(item not in own for item in question.items):
            raise ValueError("candidates: the query must have the item columns, by the same names")
        if [kind_of(own[item]) for item in question.items] != forms:
            raise ValueError("candidates: the query's columns must be of the same kinds as the item columns; cast them")
        return candidates.select(*_items(forms, question)).dropna().distinct()
    rows = [tuple(map(as_text, row)) for row in known_rows(candidates, question.items, forms)]
    listed = table.sparkSession.createDataFrame(rows, ", ".join(f"{key} string" for key in question.keys))
    return listed.select(*(listed[key].cast(TYPES[form]) for key, form in zip(question.keys, forms, strict=True)))


def _matched(counts: Any, known: Any, question: Question) -> Any:
    joined = known.join(counts, list(question.keys), "left")
    return joined.select(*question.keys, sf.coalesce("score", sf.lit(0).cast("bigint")).alias("score"))


def _forget(held: Any) -> None:
    with contextlib.suppress(Exception):  # the session may be gone
        held.unpersist()


@dataclass(frozen=True, slots=True, weakref_slot=True)
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
