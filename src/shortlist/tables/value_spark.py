"""Votes on a grid from Spark DataFrames, by the DataFrame API alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from pyspark.sql import Window
from pyspark.sql import functions as sf

from shortlist.scores import Grid
from shortlist.tables.column_types import FIRST, LAST, check_user, kind_of
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.groups.in_spark import kept_groups
from shortlist.tables.spark import TYPES, WRONG, column_of, item_of, listed_rows, user_of
from shortlist.tables.values import (
    FIRST_DAY,
    SATURATED,
    TOKENS,
    Looked,
    Placed,
    PlacedGroups,
    ValueQuestion,
    is_dated,
    parted,
)


def look_at_spark(table: Any, question: ValueQuestion) -> Looked:
    """From names and types alone."""
    if not hasattr(table, "dtypes"):
        raise TypeError("rows must be a Spark DataFrame, not a column or a session")
    question.check_columns(table.columns)
    kinds = dict(table.dtypes)
    if question.user is not None:
        check_user(question.user, kinds[question.user])
    return question.looked_at(is_dated(question.value, kinds[question.value]), kinds, TYPES)


def places_in_spark(table: Any, question: ValueQuestion, grid: Grid) -> Placed:
    """Added up in the cluster, in whole numbers."""

    def placed() -> Placed:
        votes = _votes(_rows(table, question, grid), question, grid)
        counts = votes.groupBy("i").agg(sf.sum("w").alias("w")).where("w > 0").orderBy("i").collect()
        return np.array([row[0] for row in counts], np.int64), np.array([row[1] for row in counts], np.int64)

    return in_one_sentence(WRONG, placed)


def groups_in_spark(table: Any, question: ValueQuestion, grid: Grid) -> PlacedGroups:
    """The same for every group."""
    grouping = question.grouping
    assert grouping is not None
    listed, by = question.listed(dict(table.dtypes))
    numbered = [(n, *row) for n, row in enumerate(listed)]

    def placed() -> PlacedGroups:
        groups = listed_rows(table, numbered, ["integer", *by], ("n", *grouping.keys))
        rows = _rows(table, question, grid).join(sf.broadcast(groups), list(grouping.keys))
        rows = rows if question.user is None else kept_groups(rows, grouping)
        votes = _votes(rows, question, grid, ["n"])
        counts = votes.groupBy("n", "i").agg(sf.sum("w").alias("w")).where("w > 0").collect()
        columns = np.array([tuple(row) for row in counts], np.int64).reshape(-1, 3)
        return parted(columns[:, 0], columns[:, 1], columns[:, 2], len(listed))

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
    if question.grouping is not None:
        forms = zip(question.keys.items(), question.grouping.kinds(kinds), strict=True)
        wanted += [item_of(column_of(name), form).alias(ours) for (ours, name), form in forms]
    rows = table.select(*wanted).dropna()
    if question.user is not None and kind_of(kinds[question.user]) == "text":
        rows = rows.where(sf.col("u") != "")
    low, high, step = (sf.lit(end) for end in grid.ends)
    if question.per_user == "sum" and question.user is not None:
        steps = _held(sf.col("v") / step, sf.lit(-SATURATED), sf.lit(SATURATED))
        return rows.withColumn("i", sf.floor(steps + sf.lit(0.5)).cast("bigint"))
    nearest = sf.floor((_held(sf.col("v"), low, high) - low) / step + sf.lit(0.5)).cast("bigint")
    return rows.withColumn("i", _held(nearest, _whole(0), _whole(grid.size - 1)))


def _votes(rows: Any, question: ValueQuestion, grid: Grid, group: Sequence[str] = ()) -> Any:
    """(i, w) of every person, and the group where there are such, by a window of that person's rows (there) alone."""
    if question.user is None:
        return rows.select(*group, "i", _whole(1).alias("w"))
    person = ["u", *group]
    if question.per_user in ("share", "median"):
        people = Window.partitionBy(*person)
        ranked = rows.select(
            *group,
            "i",
            sf.row_number().over(people.orderBy("i")).cast("bigint").alias("j"),
            sf.count(sf.lit(1)).over(people).alias("held"),
        )
        if question.per_user == "median":
            return ranked.where(sf.expr("j = (held + 1) div 2")).select(*group, "i", _whole(1).alias("w"))
        token = sf.expr(f"({TOKENS} * j) div held - ({TOKENS} * (j - 1)) div held")
        return ranked.select(*group, "i", token.alias("w"))
    if question.per_user == "mean":  # by quotients and remainders: the sum itself may not fit into 64 bits
        counts = rows.select(*person, "i", sf.count(sf.lit(1)).over(Window.partitionBy(*person)).alias("held"))
        parts = {"i": sf.sum(sf.expr("i div held")), "r": sf.sum(sf.expr("i % held")), "held": sf.max("held")}
        sums = counts.groupBy(*person).agg(*(part.alias(name) for name, part in parts.items()))
        return sums.select(*group, sf.expr("i + r div held").alias("i"), _whole(1).alias("w"))
    ways = {"min": sf.min("i"), "max": sf.max("i"), "sum": sf.sum("i")}
    people = rows.groupBy(*person).agg(ways[question.per_user].alias("i"))
    own = sf.col("i")
    if question.per_user == "sum":
        own = _held(own + _whole(grid.start), _whole(0), _whole(grid.size - 1))
    return people.select(*group, own.alias("i"), _whole(1).alias("w"))
