"""Groups of Ibis tables: expressions, cached in the backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np

from shortlist._arrays import Frame
from shortlist.exact.thresholds import UNIT
from shortlist.release_io import own_frame
from shortlist.tables.caps import Cap
from shortlist.tables.column_types import Kind, Row
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.groups.grouping import Grouping
from shortlist.tables.groups.held import Sizes, Spot
from shortlist.tables.ibis_columns import in_steps, passing, within
from shortlist.tables.question import LARGEST, SATURATED, Question
from shortlist.tables.remote_scores import Column

WRONG = "the Ibis table cannot be counted"


@dataclass(frozen=True, slots=True)
class Shown:
    """How counted columns are shown: texts were counted by their bytes."""

    text: Callable[[Any], Any]
    forms: Mapping[str, Kind]
    types: Mapping[Kind, str]

    def of(self, table: Any, name: str) -> Any:
        return self.text(table[name]) if self.forms[name] == "text" else table[name]


@dataclass(frozen=True, slots=True)
class Hashing:
    """The order of a person's items, or groups (caps.py)."""

    hash: Callable[[list[Any]], Any]
    written: Callable[[list[Any]], list[Any]]
    """The user and the items of a row as texts."""
    text: Callable[[Any], Any]

    def of(self, salt: str, words: list[Any]) -> Any:
        return self.hash([ibis.literal(salt), *words])


def count_groups(
    rows: Any, groups: Any | None, known: Any | None, own: bool, question: Question, shown: Shown, hashing: Hashing
) -> IbisGroups:
    """The counts of every group; `known` are the public candidates, of each group its `own` or of all."""
    grouping = question.grouping
    assert grouping is not None
    by, keys = list(grouping.keys), list(question.keys)
    if groups is None:
        some = rows.select(*by).distinct()
        groups = some.mutate(n=ibis.row_number().over(order_by=[some[key] for key in by]).cast("int64")).cache()
    listed = rows.inner_join(groups, by)
    listed = listed.select("u", "n", *by, *keys, *(["v"] if question.value is not None else []))
    if known is not None:
        listed = within(listed, known, ["n", *keys] if own else list(keys))
    chosen = kept_groups(listed, grouping, shown, hashing)
    counts = _counted(chosen, question) if question.cap is None else _capped(chosen, question, question.cap, hashing)
    held = counts.filter(counts.score != 0).cache()
    engine = IbisGroups(held, groups, known, question.keys, grouping.keys, own, shown, question.weighted)
    engine.check_names(listed=grouping.listed is not None)
    return engine


def kept_groups(listed: Any, grouping: Grouping, shown: Shown, hashing: Hashing) -> Any:
    """Of rows (u, n, key, ..) those of the groups that each person keeps (grouping.py)."""
    by = list(grouping.keys)
    many = listed.group_by(["u", "n", *by]).agg(many=listed.count())
    words = [hashing.written([many.u])[0], *(shown.of(many, key).cast("string") for key in by)]
    order = [ibis.desc(many.many), hashing.of(grouping.salt, words), *(many[key] for key in by)]
    places = many.mutate(place=ibis.row_number().over(group_by=many.u, order_by=order))
    return within(listed, places.filter(places.place < grouping.per_user), ["u", "n"])


def _counted(rows: Any, question: Question) -> Any:
    keys, clip = ["n", *question.keys], question.clip
    if clip is None:
        pairs = rows.select("u", *keys).distinct()  # for some backends count distinct users by a sketch
        return pairs.group_by(keys).agg(score=pairs.count())
    steps = in_steps(rows.v, clip.grid, SATURATED)
    stepped = rows.mutate(v=steps)
    persons = stepped.group_by(["u", *keys]).agg(v=stepped.v.sum())
    parts = persons.mutate(v=persons.v.clip(clip.low, clip.high))
    sums = parts.group_by(keys).agg(score=parts.v.sum())
    return sums.mutate(score=sums.score.clip(-LARGEST, LARGEST).cast("int64"))


def _capped(rows: Any, question: Question, cap: Cap, hashing: Hashing) -> Any:
    """What each person keeps in each group (caps.py)."""
    pairs = rows.select("u", "n", *question.keys).distinct()
    keys = [pairs[key] for key in question.keys]
    hashed, people = hashing.of(cap.salt, hashing.written([pairs.u, *keys])), [pairs.u, pairs.n]
    ranked = pairs.select(
        "n",
        *question.keys,
        keeps=ibis.row_number().over(group_by=people, order_by=[hashed, *keys]) < cap.most,
        held=pairs.count().over(group_by=people),
    )
    pairs = ranked.filter(ranked.keeps) if cap.caps_scores else ranked
    root = (float(UNIT**2) / ibis.least(pairs.held, cap.most)).floor().sqrt().floor().cast("int64")
    parts = {"score": pairs.count()}
    if cap.weighted:
        parts["weight"] = pairs.keeps.ifelse(root, 0).sum().cast("int64")
    return pairs.group_by(["n", *question.keys]).agg(**parts)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class IbisGroups:
    """Cached tables of (n, item, score), perhaps with weights, and of (n, key)."""

    held: Any
    groups: Any
    known: Any | None
    items: tuple[str, ...]
    key: tuple[str, ...]
    own: bool
    shown: Shown
    weighted: bool

    @property
    def frame(self) -> Frame:
        return own_frame("ibis", [self.shown.types[self.shown.forms[name]] for name in (*self.key, *self.items)])

    def check_names(self, *, listed: bool) -> None:
        """Refuse now what could not be named later: a text that is none."""
        for table, names in ((self.held, self.items), (self.groups, () if listed else self.key)):
            texts = [name for name in names if self.shown.forms[name] == "text"]
            if texts:
                table.agg(**{name: self.shown.of(table, name).length().max() for name in texts}).to_pyarrow()

    def classes(self, column: Column) -> Sizes:
        some = self.held.filter(self.held.weight > 0) if column == "weight" else self.held
        sizes = some.group_by(["n", column]).agg(size=some.count())
        table = in_one_sentence(WRONG, lambda: sizes.to_pyarrow().to_pydict())
        group, score, size = (np.array(table[name], np.int64) for name in ("n", column, "size"))
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
        return [scores[place][0] for place in sorted(scores)]

    def keys(self, groups: Sequence[int]) -> list[Row]:
        if not groups:
            return []
        some = self.groups.filter(self.groups.n.isin(list(groups)))
        wanted = some.select("n", **{name: self.shown.of(some, name) for name in self.key})
        keys = in_one_sentence(WRONG, lambda: _by_first(wanted, ("n", *self.key)))
        return [keys[group] for group in groups if group in keys]

    def _at(self, wanted: list[Any], column: Column, shown: Sequence[str], *, zero: bool) -> dict[int, Row]:
        """What is shown of every spot, by its place."""

        def rows_at() -> dict[int, Row]:
            columns = zip(*wanted, strict=True)
            with passing(self.held, dict(zip(("place", "n", column, "rank"), columns, strict=True))) as places:
                return self._rows_at(places, column, shown, zero=zero)

        return in_one_sentence(WRONG, rows_at)

    def _rows_at(self, places: Any, column: Column, shown: Sequence[str], *, zero: bool) -> dict[int, Row]:
        classes = places.select("n", column).distinct()
        rows = self._zeros(classes) if zero else within(self.held, classes, ["n", column])
        order = [rows[name] for name in self.items]
        ranked = rows.mutate(rank=ibis.row_number().over(group_by=[rows.n, rows[column]], order_by=order) + 1)
        named = ranked.inner_join(places, ["n", column, "rank"])
        parts = {name: self.shown.of(named, name) if name in self.shown.forms else named[name] for name in shown}
        return _by_first(named.select("place", **parts), ("place", *shown))

    def _zeros(self, classes: Any) -> Any:
        """What nobody has, of the candidates of these groups."""
        assert self.known is not None
        offered = self.known.inner_join(classes, "n") if self.own else self.known.cross_join(classes)
        return offered.anti_join(self.held, ["n", *self.items])


def _by_first(table: Any, names: Sequence[str]) -> dict[int, Row]:
    columns = table.to_pyarrow()
    rows = zip(*(columns[name].to_pylist() for name in names), strict=True)
    return {row[0]: tuple(row[1:]) for row in rows}
