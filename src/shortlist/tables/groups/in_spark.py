"""Groups on Spark, counted and held in the cluster: the driver gets how many items have each score, and winners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import Window
from pyspark.sql import functions as sf

from shortlist._arrays import Frame
from shortlist.release_io import own_frame
from shortlist.tables.column_types import Row
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.groups.grouping import Grouping
from shortlist.tables.groups.held import Sizes, Spot
from shortlist.tables.question import Question
from shortlist.tables.remote_scores import Column
from shortlist.tables.spark_counting import capped, counted_by, hashed

WRONG = "the Spark DataFrame cannot be counted"


def count_groups(
    rows: Any, groups: Any | None, known: Any | None, own: bool, question: Question, types: list[str]
) -> SparkGroups:
    """The counts of every group; `known` are the public candidates, of each group its `own` or of all."""
    grouping = question.grouping
    assert grouping is not None
    by, keys = list(grouping.keys), list(question.keys)
    if groups is None:
        number = sf.row_number().over(Window.orderBy(*by)) - 1
        groups = rows.select(*by).distinct().select(number.cast("bigint").alias("n"), *by)
    groups = groups.persist()
    listed = rows.join(groups, by)
    if known is not None:
        listed = listed.join(known, ["n", *keys] if own else keys, "left_semi")
    chosen = kept_groups(listed, grouping)
    if question.cap is None:
        counts = counted_by(chosen, ("n", *keys), question)
    else:
        counts = capped(chosen.select("u", "n", *keys).distinct(), keys, question.cap, ("n",))
    held = counts.where("score <> 0").persist()
    return SparkGroups(held, groups, known, question.keys, grouping.keys, own, tuple(types), question.weighted)


def kept_groups(listed: Any, grouping: Grouping) -> Any:
    """Of rows (u, n, key, ..) those of the groups that each person keeps (grouping.py)."""
    by = grouping.keys
    many = listed.groupBy("u", "n", *by).agg(sf.count(sf.lit(1)).alias("many"))
    order = Window.partitionBy("u").orderBy(sf.col("many").desc(), hashed(grouping.salt, ("u", *by)), *by)
    places = many.select("u", "n", sf.row_number().over(order).alias("place"))
    return listed.join(places.where(sf.col("place") <= grouping.per_user).select("u", "n"), ["u", "n"], "left_semi")


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False, eq=False)
class SparkGroups:
    """A persisted DataFrame of (n, item, score), perhaps with weights, and one of (n, key)."""

    held: Any
    groups: Any
    known: Any | None
    items: tuple[str, ...]
    key: tuple[str, ...]
    own: bool
    types: tuple[str, ...]
    weighted: bool

    @property
    def frame(self) -> Frame:
        return own_frame("spark", list(self.types))

    def classes(self, column: Column) -> Sizes:
        some = self.held.where("weight > 0") if column == "weight" else self.held
        rows = in_one_sentence(WRONG, lambda: some.groupBy("n", column).count().collect())
        classes = np.array([tuple(row) for row in rows], np.int64).reshape(-1, 3)
        return classes[:, 0], classes[:, 1], classes[:, 2]

    def winners(self, spots: Sequence[Spot], column: Column) -> list[Row]:
        items: dict[int, Row] = {}
        for zero in (False, True):
            wanted = [(place, *spot) for place, spot in enumerate(spots) if (spot[1] == 0) == zero]
            if wanted:
                rows = self._at(wanted, column, self.items, zero=zero)
                items |= {row[0]: tuple(row[1:]) for row in rows}
        return [items[place] for place in range(len(spots)) if place in items]

    def counts(self, spots: Sequence[Spot]) -> list[int]:
        wanted = [(place, *spot) for place, spot in enumerate(spots)]
        return [row[1] for row in sorted(self._at(wanted, "weight", ("score",), zero=False))]

    def keys(self, groups: Sequence[int]) -> list[Row]:
        if not groups:
            return []
        some = self.groups.where(sf.col("n").isin(list(groups))).select("n", *self.key)
        keys = {row[0]: tuple(row[1:]) for row in in_one_sentence(WRONG, some.collect)}
        return [keys[group] for group in groups if group in keys]

    def _at(self, wanted: list[Any], column: Column, shown: Sequence[str], *, zero: bool) -> list[Any]:
        """(place, what is shown) of every spot."""

        def rows_at() -> list[Any]:
            session = self.held.sparkSession
            places = session.createDataFrame(wanted, f"place bigint, n bigint, {column} bigint, rank bigint")
            classes = places.select("n", column).distinct()
            rows = self._zeros(classes) if zero else self.held.join(classes, ["n", column], "left_semi")
            order = Window.partitionBy("n", column).orderBy(*self.items)
            ranked = rows.withColumn("rank", sf.row_number().over(order).cast("bigint"))
            named = ranked.join(sf.broadcast(places), ["n", column, "rank"])
            return [tuple(row) for row in named.select("place", *shown).collect()]

        return in_one_sentence(WRONG, rows_at)

    def _zeros(self, classes: Any) -> Any:
        """What nobody has, of the candidates of these groups."""
        assert self.known is not None
        offered = self.known.join(classes, "n") if self.own else self.known.crossJoin(classes)
        return offered.join(self.held, ["n", *self.items], "left_anti")
