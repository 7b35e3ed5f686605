"""Votes on a grid from Spark DataFrames, by the DataFrame API alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.sql import Window
from pyspark.sql import functions as sf

from shortlist.tables.column_types import FIRST, LAST, check_user, kind_of
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.spark import WRONG, column_of, user_of
from shortlist.tables.values import FIRST_DAY, SATURATED, TOKENS, Placed, ValueQuestion, is_dated
from shortlist.votes import Grid


def spark_dated(table: Any, question: ValueQuestion) -> bool:
    """From names and types alone."""
    if not hasattr(table, "dtypes"):
        raise TypeError("rows must be a Spark DataFrame, not a column or a session")
    question.check_columns(table.columns)
    kinds = dict(table.dtypes)
    if question.user is not None:
        check_user(question.user, kinds[question.user])
    return is_dated(question.value, kinds[question.value])


def places_in_spark(table: Any, question: ValueQuestion, grid: Grid) -> Placed:
    """Added up in the cluster, in whole numbers."""

    def placed() -> Placed:
        votes = _votes(_rows(table, question, grid), question, grid)
        counts = votes.groupBy("i").agg(sf.sum("w").alias("w")).where("w > 0").orderBy("i").collect()
        return np.array([row[0] for row in counts], np.int64), np.array([row[1] for row in counts], np.int64)

    return in_one_sentence(WRONG, placed)


def _whole(number: int) -> Any:
    return sf.lit(number).cast("bigint")


def _held(column: Any, low: Any, high: Any) -> Any:
    return sf.greatest(sf.least(column, high), low)


def _rows(table: Any, question: ValueQuestion, grid: Grid) -> Any:
    """(u, i), rows without a person or a number left out."""
    kinds, column = dict(table.dtypes), column_of(question.value)
    if grid.kind == "date":
        day = sf.when(sf.year(column).between(FIRST.year, LAST.year), column)
        number = (sf.unix_date(day) + sf.lit(FIRST_DAY)).cast("double")
    else:
        double = column.cast("double")
        number = sf.when(~sf.isnan(double), double)
    wanted = [number.alias("v")]
    if question.user is not None:
        wanted.append(user_of(question.user, kinds[question.user]).alias("u"))
    rows = table.select(*wanted).dropna()
    if question.user is not None and kind_of(kinds[question.user]) == "text":
        rows = rows.where(sf.col("u") != "")
    low, high, step = (sf.lit(end) for end in grid.ends)
    if question.per_user == "sum" and question.user is not None:
        steps = _held(sf.col("v") / step, sf.lit(-SATURATED), sf.lit(SATURATED))
        return rows.withColumn("i", sf.floor(steps + sf.lit(0.5)).cast("bigint"))
    nearest = sf.floor((_held(sf.col("v"), low, high) - low) / step + sf.lit(0.5)).cast("bigint")
    return rows.withColumn("i", _held(nearest, _whole(0), _whole(grid.size - 1)))


def _votes(rows: Any, question: ValueQuestion, grid: Grid) -> Any:
    """(i, w) of every person, by a window of that person's rows alone."""
    if question.user is None:
        return rows.select("i", _whole(1).alias("w"))
    if question.per_user in ("share", "median"):
        people = Window.partitionBy("u")
        ranked = rows.select(
            "i",
            sf.row_number().over(people.orderBy("i")).cast("bigint").alias("j"),
            sf.count(sf.lit(1)).over(people).alias("n"),
        )
        if question.per_user == "median":
            return ranked.where(sf.expr("j = (n + 1) div 2")).select("i", _whole(1).alias("w"))
        return ranked.select("i", sf.expr(f"({TOKENS} * j) div n - ({TOKENS} * (j - 1)) div n").alias("w"))
    if question.per_user == "mean":  # by quotients and remainders: the sum itself may not fit into 64 bits
        counts = rows.select("u", "i", sf.count(sf.lit(1)).over(Window.partitionBy("u")).alias("n"))
        sums = [sf.sum(sf.expr("i div n")).alias("i"), sf.sum(sf.expr("i % n")).alias("r"), sf.max("n").alias("n")]
        return counts.groupBy("u").agg(*sums).select(sf.expr("i + r div n").alias("i"), _whole(1).alias("w"))
    parts = {"min": sf.min("i"), "max": sf.max("i"), "sum": sf.sum("i")}
    people = rows.groupBy("u").agg(parts[question.per_user].alias("i"))
    own = sf.col("i")
    if question.per_user == "sum":
        own = _held(own + _whole(grid.start), _whole(0), _whole(grid.size - 1))
    return people.select(own.alias("i"), _whole(1).alias("w"))
