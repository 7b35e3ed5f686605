"""How Spark counts rows under our own names: distinct people, clipped sums, and what each person keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Window
from pyspark.sql import functions as sf

from shortlist.exact.thresholds import UNIT
from shortlist.tables.caps import BETWEEN, Cap
from shortlist.tables.question import LARGEST, SATURATED, Clip, Question


def counted_by(rows: Any, columns: Sequence[str], question: Question) -> Any:
    """Distinct users, or clipped sums, for each combination of these columns."""
    if question.clip is None:
        return rows.groupBy(*columns).agg(sf.countDistinct("u").alias("score"))
    persons = rows.withColumn("v", _steps(question.clip)).groupBy("u", *columns).agg(sf.sum("v").alias("v"))
    parts = persons.withColumn("v", _within("v", question.clip.low, question.clip.high))
    sums = parts.groupBy(*columns).agg(sf.sum("v").alias("score"))
    return sums.withColumn("score", _within("score", -LARGEST, LARGEST))


def hashed(salt: str, columns: Sequence[str]) -> Any:
    """The hash by which a person's items, or groups, are put into an order (caps.py)."""
    return sf.md5(sf.concat_ws(BETWEEN, sf.lit(salt), *(sf.col(name).cast("string") for name in columns)))


def capped(pairs: Any, keys: Sequence[str], cap: Cap, within: Sequence[str] = ()) -> Any:
    """Scores and weights of what each person keeps (caps.py), in each group if the pairs are `within` groups."""
    people = Window.partitionBy("u", *within)
    keeps = sf.row_number().over(people.orderBy(hashed(cap.salt, ("u", *keys)), *keys)) <= cap.most
    held = sf.least(sf.count(sf.lit(1)).over(people), sf.lit(cap.most).cast("bigint"))
    ranked = pairs.select(*within, *keys, keeps.alias("keeps"), held.alias("held"))
    weight = sf.floor(sf.sqrt(sf.floor(sf.lit(float(UNIT**2)) / sf.col("held")))).cast("bigint")
    parts = [sf.count(sf.lit(1)).alias("score")]
    if cap.weighted:
        parts.append(sf.sum(sf.when(sf.col("keeps"), weight).otherwise(sf.lit(0).cast("bigint"))).alias("weight"))
    return (ranked.where("keeps") if cap.caps_scores else ranked).groupBy(*within, *keys).agg(*parts)


def _steps(clip: Clip) -> Any:
    scaled = sf.col("v") * sf.lit(clip.steps)
    held = sf.greatest(sf.least(scaled, sf.lit(SATURATED)), sf.lit(-SATURATED))
    return sf.floor(held + sf.lit(0.5)).cast("bigint")


def _within(name: str, low: int, high: int) -> Any:
    return sf.greatest(sf.least(sf.col(name), sf.lit(high).cast("bigint")), sf.lit(low).cast("bigint"))
