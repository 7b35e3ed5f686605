"""The algebra of counting, written once: narwhals runs it on frames in memory, in the backends of Ibis, and on Spark.

What a kind of table does in its own way stands in its own module: how cells are read and checked, the hash, how a
public list comes in, how results are kept and come out. Public lists come as frames; of the rows under our own names
(u, the items i0, i1, .., the key of a group g0, g1, .., a value v) no row lacks one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import narwhals as nw
import numpy as np

from shortlist._arrays import Frame, Indices
from shortlist.exact.thresholds import UNIT
from shortlist.scores import Grid
from shortlist.tables.columns import Kind, Row
from shortlist.tables.count import Column, Sizes, Spot
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.question import LARGEST, SATURATED, Cap, Clip, Columns, Grouping, Plan, Question
from shortlist.tables.values import SATURATED_VALUES, TOKENS, Placed, ValuePlan, split_by_group

WHOLE = nw.Int64


class Table(Protocol):
    """One kind of table; its frames are those of narwhals."""

    wrong: str
    """What its errors begin with."""
    exact: bool
    """Whether it counts distinct users without a sketch."""

    def columns(self) -> Columns:
        """Names and types."""

    def query(self, candidates: Any, question: Question, kinds: tuple[Kind, ...]) -> tuple[Any, int] | None:
        """Public candidates that stay in the engine, as rows under our own names, and how many there are."""

    def weighs(self, plan: Plan | ValuePlan) -> bool:
        """Whether users' items can be put into the order of a hash here; refuse what needs it where they cannot."""

    def empty(self) -> Any:
        """The same without rows."""

    def rows(self, plan: Plan) -> Any:
        """The rows that count, under our own names."""

    def values(self, plan: ValuePlan) -> Any:
        """The rows that count: (u, the key of a group, i), i a place on the grid, or whole steps that are added up."""

    def listing(self, rows: Sequence[Row], kinds: Sequence[Kind], names: Sequence[str], beside: Any) -> Any:
        """A public list as a frame that can be joined with another one."""

    def passing(self, columns: dict[str, Sequence[int]], beside: Any) -> AbstractContextManager[Any]:
        """Whole numbers as a frame that can be joined with another one, for as long as the body runs."""

    def distinct(self, rows: Any, names: list[str]) -> Any:
        """Each combination of these columns once."""

    def semi(self, rows: Any, listed: Any, on: list[str]) -> Any:
        """The rows whose columns are among those listed."""

    def rank(self, rows: Any, among: list[str], order: list[str]) -> Any:
        """With `j`, the rank from 1 among equal `among` in this order, and `held`, how many there are."""

    def first(
        self, rows: Any, among: list[str], words: list[str], salt: str, most: int, forms: dict[str, Kind | None]
    ) -> Any:
        """With `keeps`, whether a row is one of the first `most` of equal `among`, and `held`. Those with the largest
        `many`, if there is that column, come first, then those with the smallest hash of the salt and the `words`."""

    def cut(self, rows: Any) -> Any:
        """The same, kept as long as the caller holds it where a whole statement is too deep for SQLite's parser."""

    def hold(self, rows: Any, forms: dict[str, Kind | None]) -> Any:
        """The same, kept in the engine until it is forgotten; what could not be named later is refused now."""

    def names(self, rows: Any, columns: Sequence[str], forms: dict[str, Kind | None]) -> list[Row]:
        """Rows as Python values."""

    def numbers(self, rows: Any, columns: Sequence[str]) -> list[Indices]:
        """Columns of whole numbers."""

    def frame(self, kinds: Sequence[Kind], held: Any) -> Frame:
        """How a released table is made."""


def dry_count(table: Table, plan: Plan) -> Rows:
    """Count a table without its rows: what an engine refuses is refused before anything is charged."""
    return count(type(table)(table.empty()), plan)  # type: ignore[call-arg]


def count(table: Table, plan: Plan, progress: object = None) -> Rows:
    """Count the rows of a table by item, in every group."""
    if not table.weighs(plan):
        plan = plan.ask(replace(plan.question, cap=None))
    return in_one_sentence(table.wrong, lambda: _count(table, plan))


def _count(table: Table, plan: Plan) -> Rows:
    question, cap = plan.question, plan.question.cap
    grouping, forms = question.grouping, plan.forms
    keys, rows = list(question.keys), table.rows(plan)
    known = groups = None
    if plan.lists is not None:
        numbered: tuple[Kind, ...] = ("integer",) if plan.own else ()
        names = ["n"] * plan.own + keys
        known = table.listing(plan.candidate_rows(), (*numbered, *plan.kinds[: len(keys)]), names, rows)
    elif plan.query is not None:
        known = plan.query
    on = ["n"] * plan.own + keys
    within = ["n"] if grouping is not None else []
    if grouping is not None:
        groups = _number_groups(table, rows, grouping, plan)
        groups = table.hold(groups, forms) if plan.groups is None else groups
        origin = table.cut(rows)
        rows = origin.join(groups, on=list(grouping.keys), how="inner")
    early = known is not None and (grouping is not None or cap is not None)
    if early:  # items off the list use up nobody's place
        rows = table.semi(rows, known, on)
    if grouping is not None:
        rows = table.cut(keep_groups(table, rows, groups, grouping, forms))
    if cap is not None:
        counts = _cap_items(table, rows, within, keys, cap, forms)
    elif question.clip is not None:
        counts = _sum_values(rows, within + keys, question.clip)
    else:
        counts = _count_users(table, rows, within + keys)
    if known is not None and not early:
        counts = table.semi(counts, known, keys)
    held = counts.filter(nw.col("score") != 0)
    if grouping is None:
        held = held.with_columns(n=nw.lit(0, WHOLE))
    held = table.hold(held, forms)
    frame = table.frame([*plan.kinds[len(keys) :], *plan.kinds[: len(keys)]], (held, groups, question))
    key = grouping.keys if grouping is not None else ()
    return Rows(table, held, groups, known, question.keys, key, plan.own, question.weighted, frame, forms)


def _number_groups(table: Table, rows: Any, grouping: Grouping, plan: Plan | ValuePlan) -> Any:
    """(n, key) of the public groups, or of those that are found, in order."""
    by = list(grouping.keys)
    if plan.groups is not None:
        kinds: list[Kind] = ["integer", *(plan.forms[key] for key in by)]  # type: ignore[list-item]
        return table.listing([(n, *row) for n, row in enumerate(plan.groups)], kinds, ["n", *by], rows)
    return table.distinct(rows, by).with_row_index("n", order_by=by).with_columns(nw.col("n").cast(WHOLE))


def keep_groups(table: Table, rows: Any, groups: Any, grouping: Grouping, forms: dict[str, Kind | None]) -> Any:
    """Keep the rows (u, n, ..) of the groups in which each user counts (question.py)."""
    if grouping.listed is not None and grouping.per_user >= len(grouping.listed):
        return rows
    many = rows.group_by("u", "n").agg(nw.len().alias("many")).with_columns(nw.col("many").cast(WHOLE))
    many = many.join(groups, on=["n"], how="inner")
    ranked = table.first(many, ["u"], ["u", *grouping.keys], grouping.salt, grouping.per_user, forms)
    return table.semi(rows, ranked.filter(nw.col("keeps")), ["u", "n"])


def _count_users(table: Table, rows: Any, on: list[str]) -> Any:
    """Distinct users for each combination of these columns."""
    if table.exact:
        return rows.group_by(on).agg(nw.col("u").n_unique().alias("score"))
    return table.distinct(rows, ["u", *on]).group_by(on).agg(nw.len().alias("score"))


def _sum_values(rows: Any, on: list[str], clip: Clip) -> Any:
    """Clipped sums for each combination of these columns."""
    steps = rows.with_columns(v=in_steps(nw.col("v"), clip.grid, SATURATED))
    users = steps.group_by("u", *on).agg(nw.col("v").sum())
    parts = users.with_columns(v=nw.col("v").clip(clip.low, clip.high))
    sums = parts.group_by(on).agg(nw.col("v").sum().alias("score"))
    return sums.with_columns(score=nw.col("score").clip(-LARGEST, LARGEST).cast(WHOLE))


def in_steps(number: nw.Expr, step: float, most: float) -> nw.Expr:
    """floor(number / step + 1/2) of a float, at most so many either way; held first, so that no quotient overflows."""
    return (number.clip(-most * step, most * step) / step + 0.5).floor().cast(WHOLE)


def _cap_items(
    table: Table, rows: Any, within: list[str], keys: list[str], cap: Cap, forms: dict[str, Kind | None]
) -> Any:
    """Scores and weights of what each user keeps, in each group if there are such (question.py)."""
    pairs = table.distinct(rows, ["u", *within, *keys])
    some = table.first(pairs, ["u", *within], ["u", *keys], cap.salt, cap.most, forms)
    some = some.filter(nw.col("keeps")) if cap.caps_scores else some
    if not cap.weighted:
        return some.group_by([*within, *keys]).agg(nw.len().alias("score"))
    whole = (nw.lit(float(UNIT**2)) / nw.col("held").clip(1, cap.most)).floor().cast(nw.Float64)
    weight = nw.when(nw.col("keeps")).then(whole.sqrt().floor().cast(WHOLE)).otherwise(nw.lit(0, WHOLE))
    weighed = some.with_columns(weight=weight)
    return weighed.group_by([*within, *keys]).agg(nw.len().alias("score"), nw.col("weight").sum())


def rank_by_window(rows: Any, among: list[str], order: list[str]) -> Any:
    """Rank by a window: `Table.rank` of an engine that has them."""
    j = nw.col(among[0]).cum_count().over(*among, order_by=order)
    return rows.with_columns(j=j.cast(WHOLE), held=nw.len().over(*among).cast(WHOLE))


def first_by_window(rows: Any, among: list[str], words: list[str], most: int) -> Any:
    """Choose by a window: `Table.first` of an engine, of rows that have the hash in the column h."""
    names = [name for name in words if name != "u"]
    if "many" in rows.collect_schema().names():
        rows, names = rows.with_columns(fewer=-nw.col("many")), ["fewer", "h", *names]
    else:
        names = ["h", *names]
    return rank_by_window(rows, among, names).with_columns(keeps=nw.col("j") <= most)


@dataclass(frozen=True, slots=True, weakref_slot=True, repr=False, eq=False)
class Rows:
    """Rows (n, item, score), perhaps with weights, that an engine holds: a histogram's `Aggregate`."""

    table: Table
    held: Any
    groups: Any
    """(n, key)."""
    known: Any
    """The public candidates, with n where each group has its own."""
    items: tuple[str, ...]
    key: tuple[str, ...]
    own: bool
    weighted: bool
    frame: Frame | None
    forms: dict[str, Kind | None]

    def classes(self, column: Column) -> Sizes:
        some = self.held.filter(nw.col("weight") > 0) if column == "weight" else self.held
        sizes = some.group_by("n", column).agg(nw.len().alias("size"))
        group, score, size = in_one_sentence(self.table.wrong, lambda: self.table.numbers(sizes, ["n", column, "size"]))
        return group, score, size

    def winners(self, spots: Sequence[Spot], column: Column) -> list[Row]:
        items: dict[int, Row] = {}
        for zero in (False, True):
            wanted = [(place, *spot) for place, spot in enumerate(spots) if (spot[1] == 0) == zero]
            if wanted:
                items |= self._at(wanted, column, self.items, zero=zero)
        return [items[place] for place in range(len(spots)) if place in items]

    def counts(self, spots: Sequence[Spot]) -> list[int]:
        scores = self._at([(place, *spot) for place, spot in enumerate(spots)], "weight", ("score",), zero=False)
        return [int(scores[place][0]) for place in sorted(scores)]

    def keys(self, groups: Sequence[int]) -> list[Row]:
        if not groups:
            return []
        some = self.groups.filter(nw.col("n").is_in(list(groups)))
        rows = in_one_sentence(self.table.wrong, lambda: self.table.names(some, ["n", *self.key], self.forms))
        keys = {row[0]: tuple(row[1:]) for row in rows}
        return [keys[group] for group in groups if group in keys]

    def _at(self, wanted: list[Any], column: Column, shown: Sequence[str], *, zero: bool) -> dict[int, Row]:
        """Return what is shown of every spot, by its place."""

        def rows_at() -> dict[int, Row]:
            columns = dict(zip(("place", "n", column, "rank"), zip(*wanted, strict=True), strict=True))
            with self.table.passing(columns, self.held) as places:  # type: ignore[arg-type]
                classes = self.table.distinct(places, ["n", column])
                rows = self._zeros(classes) if zero else self.table.semi(self.held, classes, ["n", column])
                ranked = self.table.rank(rows, ["n", column], list(self.items))
                on = ["n", column, "j"]
                named = ranked.join(places, left_on=on, right_on=["n", column, "rank"], how="inner")
                return {row[0]: tuple(row[1:]) for row in self.table.names(named, ["place", *shown], self.forms)}

        return in_one_sentence(self.table.wrong, rows_at)

    def _zeros(self, classes: Any) -> Any:
        """Return what nobody has, of the candidates of these groups."""
        offered = self.known.join(classes, on="n", how="inner") if self.own else self.known.join(classes, how="cross")
        return offered.join(self.held, on=["n", *self.items], how="anti")


def votes(table: Table, plan: ValuePlan, grid: Grid, progress: object = None) -> list[Placed]:
    """Return the votes on a grid of every group: one for each user in it, made of that user's rows there alone."""
    return in_one_sentence(table.wrong, lambda: _votes(table, plan, grid))


def _votes(table: Table, plan: ValuePlan, grid: Grid) -> list[Placed]:
    question, grouping, rows = plan.question, plan.question.grouping, table.values(plan)
    group = ["n"] if grouping is not None else []
    if grouping is not None:
        groups = _number_groups(table, rows, grouping, plan)
        origin = table.cut(rows)
        rows = origin.join(groups, on=list(grouping.keys), how="inner")
        if question.user is not None:
            rows = table.cut(keep_groups(table, rows, groups, grouping, plan.forms))
    shares = _share(table, rows, plan, grid, group)
    sums = shares.group_by([*group, "i"]).agg(nw.col("w").sum()).filter(nw.col("w") > 0)
    *of, places, weights = table.numbers(sums, [*group, "i", "w"])
    return split_by_group(of[0] if of else np.zeros_like(places), places, weights, plan.number)


def place_values(rows: Any, plan: ValuePlan) -> Any:
    """Put the place `i` on the grid in place of each value v, or whole steps where they are added up."""
    grid = plan.grid
    low, high, step = grid.ends
    if plan.question.adds:
        place = in_steps(nw.col("v"), step, SATURATED_VALUES)
    else:
        place = in_steps(nw.col("v").clip(low, high) - low, step, grid.size).clip(0, grid.size - 1)
    return rows.with_columns(i=place).drop("v")


def _share(table: Table, rows: Any, plan: ValuePlan, grid: Grid, group: list[str]) -> Any:
    """(i, w) of every user, and the group where there are such."""
    one, per_user, user = nw.lit(1, WHOLE), plan.question.per_user, ["u", *group]
    own = nw.col("i")
    if plan.question.user is None:
        return rows.select(*group, "i", w=one)
    if per_user in ("share", "median", "mean"):
        ranked, j, held = table.rank(rows, user, ["i"]), nw.col("j"), nw.col("held")
        if per_user == "median":
            return ranked.filter(j == (held + 1) // 2).select(*group, "i", w=one)
        if per_user == "share":
            token = j * TOKENS // held - (j - 1) * TOKENS // held
            return ranked.select(*group, "i", w=token.cast(WHOLE))
        # by quotients and remainders: the sum itself may not fit into 64 bits
        parts = ranked.with_columns(whole=(own // held).cast(WHOLE))
        parts = parts.with_columns(rest=own - nw.col("whole") * held)
        sums = parts.group_by(user).agg(nw.col("whole").sum(), nw.col("rest").sum(), held.max())
        return sums.select(*group, i=nw.col("whole").cast(WHOLE) + (nw.col("rest") // held).cast(WHOLE), w=one)
    ends = {"min": own.min(), "max": own.max(), "sum": own.sum()}
    users = rows.group_by(user).agg(ends[per_user])
    if per_user == "sum":
        own = (own.cast(WHOLE) + grid.start).clip(0, grid.size - 1)
    return users.select(*group, i=own, w=one)
