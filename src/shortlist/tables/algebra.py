"""The algebra of counting, written once: narwhals runs it on frames in memory, in the backends of Ibis, and on Spark.

What a kind of table does in its own way stands in its own module: how cells are read and checked, the hash, how a
public list comes in, how results are kept and come out. Public lists come as frames; of the rows under our own names
(u, the items i0, i1, .., the key of a group g0, g1, .., a value v) no row lacks one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from shortlist._arrays import Indices
from shortlist.exact.thresholds import UNIT
from shortlist.scores import Grid
from shortlist.tables.columns import Kind, Row
from shortlist.tables.count import Aggregate, Column, Placed, Sizes, Table, split_by_group
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.question import FARTHEST, LARGEST, SATURATED, Cap, Clip, Columns, Grouping, Plan, Question

WHOLE = nw.Int64


class FrameAlgebra(Table):
    """One kind of table that narwhals knows. The source is of its own library; other frames are those of narwhals."""

    wrong: str
    """What its errors begin with."""
    exact = True
    """Whether it counts distinct users without a sketch."""
    source: Any
    types: dict[str, str]

    def columns(self) -> Columns:
        return Columns(tuple(self.types), self.types)

    def dry_count(self, plan: Plan) -> Rows:
        return type(self)(self.empty()).count(plan)  # type: ignore[call-arg]

    def count(self, plan: Plan, progress: object = None) -> Rows:
        if not self.weighs(plan):
            plan = replace(plan, question=replace(plan.question, cap=None))
        return in_one_sentence(self.wrong, lambda: _count(self, plan))

    def votes(self, plan: Plan, progress: object = None) -> list[Placed]:
        return in_one_sentence(self.wrong, lambda: _votes(self, plan))

    def empty(self) -> Any:
        """The source without rows."""
        return self.source.limit(0)

    def rows(self, plan: Plan) -> Any:
        """The rows that count, under our own names."""
        raise NotImplementedError

    def place(self, rows: Any, plan: Plan, grid: Grid) -> Any:
        """Put the place `i` on the grid in place of each value v, or whole steps where they are added up."""
        low, high, step = grid.ends
        if plan.question.adds:
            place = in_steps(nw.col("v"), step, 2.0 * FARTHEST)
        else:
            place = in_steps(nw.col("v").clip(low, high) - low, step, grid.size).clip(0, grid.size - 1)
        return rows.with_columns(i=place).drop("v")

    def listing(self, rows: Sequence[Row], kinds: Sequence[Kind], names: Sequence[str], beside: Any) -> Any:
        """A public list as a frame that can be joined with another one."""
        raise NotImplementedError

    @contextmanager
    def passing(self, rows: Sequence[Row], names: Sequence[str], beside: Any) -> Iterator[Any]:
        """Whole numbers as a frame that can be joined with another one, for as long as the body runs."""
        yield self.listing(rows, ["integer"] * len(names), names, beside)

    def distinct(self, rows: Any, names: list[str]) -> Any:
        """Each combination of these columns once."""
        return nw.from_native(nw.to_native(rows).select(*names).distinct())

    def semi(self, rows: Any, listed: Any, on: list[str]) -> Any:
        """The rows whose columns are among those listed."""
        return rows.join(listed, on=on, how="semi")

    def rank(self, rows: Any, among: list[str], order: list[str]) -> Any:
        """With `j`, the rank from 1 among equal `among` in this order, and `held`, how many there are."""
        j = nw.col(among[0]).cum_count().over(*among, order_by=order)
        return rows.with_columns(j=j.cast(WHOLE), held=nw.len().over(*among).cast(WHOLE))

    def first(self, rows: Any, among: list[str], words: list[str], salt: str, most: int, plan: Plan) -> Any:
        """With `keeps`, whether a row is one of the first `most` of equal `among`, and `held`. Those with the largest
        `many`, if there is that column, come first, then those with the smallest hash of the salt and the `words`."""
        rows = nw.from_native(self.hash(nw.to_native(rows), [salt, *words], plan.forms))
        if many := "many" in rows.collect_schema().names():
            rows = rows.with_columns(fewer=-nw.col("many"))
        order = [*["fewer"] * many, "h", *(name for name in words if name != "u")]
        return self.rank(rows, among, order).with_columns(keeps=nw.col("j") <= most)

    def hash(self, native: Any, words: list[str], forms: dict[str, Kind | None]) -> Any:
        """With `h`, the hash of the first of the words and of the columns that the others name."""
        raise NotImplementedError

    def cut(self, rows: Any) -> Any:
        """The same, kept as long as the caller holds it where a whole statement is too deep for SQLite's parser."""
        return rows

    def hold(self, rows: Any, forms: dict[str, Kind | None]) -> Any:
        """The same, kept in the engine until it is forgotten; what could not be named later is refused now."""
        raise NotImplementedError

    def names(self, rows: Any, columns: Sequence[str], forms: dict[str, Kind | None]) -> list[Row]:
        """Rows as Python values."""
        raise NotImplementedError

    def numbers(self, rows: Any, columns: Sequence[str]) -> list[Indices]:
        """Columns of whole numbers."""
        return list(np.array(self.names(rows, columns, {}), np.int64).reshape(-1, len(columns)).T)


def _count(table: FrameAlgebra, plan: Plan) -> Rows:
    question, cap = plan.question, plan.question.cap
    grouping, forms = question.grouping, plan.forms
    keys, rows, known, groups = list(question.keys), table.rows(plan), plan.query, None
    on = ["n"] * plan.own + keys
    within = ["n"] if grouping is not None else []
    if plan.lists is not None:
        kinds: list[Kind] = [*["integer"] * plan.own, *plan.kinds[: len(keys)]]  # type: ignore[list-item]
        known = table.listing(plan.candidate_rows(), kinds, on, rows)
    if grouping is not None:
        origin = table.cut(rows)
        groups, rows = _join_groups(table, origin, grouping, plan)
    early = known is not None and (grouping is not None or cap is not None)
    if early:  # items off the list use up nobody's place
        rows = table.semi(rows, known, on)
    if grouping is not None:
        rows = table.cut(_keep_groups(table, rows, groups, grouping, plan))
    if cap is not None:
        counts = _cap_items(table, rows, within, keys, cap, plan)
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
    return Rows(plan, table.frame(plan, held, groups), table, held, groups, known)


def _join_groups(table: FrameAlgebra, rows: Any, grouping: Grouping, plan: Plan) -> tuple[Any, Any]:
    """Return (n, key) of the public groups, or of those that are found, in order; and the rows with their n."""
    by = list(grouping.keys)
    if plan.groups is None:
        keys = table.distinct(rows, by).with_row_index("n", order_by=by).with_columns(nw.col("n").cast(WHOLE))
        groups = table.hold(keys, plan.forms)
    else:
        kinds: list[Kind] = ["integer", *(plan.forms[key] for key in by)]  # type: ignore[list-item]
        groups = table.listing([(n, *row) for n, row in enumerate(plan.groups)], kinds, ["n", *by], rows)
    return groups, rows.join(groups, on=by, how="inner")


def _keep_groups(table: FrameAlgebra, rows: Any, groups: Any, grouping: Grouping, plan: Plan) -> Any:
    """Keep the rows (u, n, ..) of the groups in which each user counts (question.py)."""
    if grouping.listed is not None and grouping.per_user >= len(grouping.listed):
        return rows
    many = rows.group_by("u", "n").agg(nw.len().alias("many")).with_columns(nw.col("many").cast(WHOLE))
    many = many.join(groups, on=["n"], how="inner")
    ranked = table.first(many, ["u"], ["u", *grouping.keys], grouping.salt, grouping.per_user, plan)
    return table.semi(rows, ranked.filter(nw.col("keeps")), ["u", "n"])


def _count_users(table: FrameAlgebra, rows: Any, on: list[str]) -> Any:
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


def _cap_items(table: FrameAlgebra, rows: Any, within: list[str], keys: list[str], cap: Cap, plan: Plan) -> Any:
    """Scores and weights of what each user keeps, in each group if there are such (question.py)."""
    pairs = table.distinct(rows, ["u", *within, *keys])
    some = table.first(pairs, ["u", *within], ["u", *keys], cap.salt, cap.most, plan)
    some = some.filter(nw.col("keeps")) if cap.caps_scores else some
    if not cap.weighted:
        return some.group_by([*within, *keys]).agg(nw.len().alias("score"))
    whole = (nw.lit(float(UNIT**2)) / nw.col("held").clip(1, cap.most)).floor().cast(nw.Float64)
    weight = nw.when(nw.col("keeps")).then(whole.sqrt().floor().cast(WHOLE)).otherwise(nw.lit(0, WHOLE))
    weighed = some.with_columns(weight=weight)
    return weighed.group_by([*within, *keys]).agg(nw.len().alias("score"), nw.col("weight").sum())


@dataclass(slots=True, repr=False, eq=False)
class Rows(Aggregate):
    """Rows (n, item, score), perhaps with weights, that an engine holds: a histogram's `Aggregate`."""

    table: FrameAlgebra
    held: Any
    groups: Any
    """(n, key)."""
    known: Any
    """The public candidates, with n where each group has its own."""

    def classes(self, column: Column) -> Sizes:
        some = self.held.filter(nw.col("weight") > 0) if column == "weight" else self.held
        sizes = some.group_by("n", column).agg(nw.len().alias("size"))
        group, score, size = in_one_sentence(self.table.wrong, lambda: self.table.numbers(sizes, ["n", column, "size"]))
        return group, score, size

    def find(self, wanted: Sequence[tuple[int, ...]], column: Column, shown: tuple[str, ...], zero: bool) -> list[Row]:
        items = list(self.plan.question.keys)

        def rows_at() -> list[Row]:
            with self.table.passing(wanted, ("place", "n", column, "rank"), self.held) as places:
                classes = self.table.distinct(places, ["n", column])
                if zero:  # what nobody has, of the candidates of these groups
                    own: dict[str, Any] = {"on": "n", "how": "inner"} if self.plan.own else {"how": "cross"}
                    rows = self.known.join(classes, **own).join(self.held, on=["n", *items], how="anti")
                else:
                    rows = self.table.semi(self.held, classes, ["n", column])
                ranked = self.table.rank(rows, ["n", column], items)
                on = ["n", column, "j"]
                named = ranked.join(places, left_on=on, right_on=["n", column, "rank"], how="inner")
                return self.table.names(named, ["place", *shown], self.plan.forms)

        return in_one_sentence(self.table.wrong, rows_at)

    def find_keys(self, groups: Sequence[int], key: tuple[str, ...]) -> list[Row]:
        some = self.groups.filter(nw.col("n").is_in(list(groups)))
        return in_one_sentence(self.table.wrong, lambda: self.table.names(some, ["n", *key], self.plan.forms))


def _votes(table: FrameAlgebra, plan: Plan) -> list[Placed]:
    question, grouping, grid = plan.question, plan.question.grouping, plan.question.grid
    assert grid is not None
    rows = table.place(table.rows(plan), plan, grid)
    group = ["n"] if grouping is not None else []
    if grouping is not None:
        origin = table.cut(rows)
        groups, rows = _join_groups(table, origin, grouping, plan)
        if question.user is not None:
            rows = table.cut(_keep_groups(table, rows, groups, grouping, plan))
    shares = _share(table, rows, question, grid, group)
    sums = shares.group_by([*group, "i"]).agg(nw.col("w").sum()).filter(nw.col("w") > 0)
    *of, places, weights = table.numbers(sums, [*group, "i", "w"])
    return split_by_group(of[0] if of else np.zeros_like(places), places, weights, plan.number or 0)


def _share(table: FrameAlgebra, rows: Any, question: Question, grid: Grid, group: list[str]) -> Any:
    """(i, w) of every user, and the group where there are such."""
    one, per_user, user = nw.lit(1, WHOLE), question.per_user, ["u", *group]
    own = nw.col("i")
    if question.user is None:
        return rows.select(*group, "i", w=one)
    if per_user in ("share", "median", "mean"):
        ranked, j, held = table.rank(rows, user, ["i"]), nw.col("j"), nw.col("held")
        if per_user == "median":
            return ranked.filter(j == (held + 1) // 2).select(*group, "i", w=one)
        if per_user == "share":
            token = j * question.share // held - (j - 1) * question.share // held
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
