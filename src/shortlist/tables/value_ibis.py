"""Votes on a grid from Ibis tables: one expression in the backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ibis
import numpy as np

from shortlist.scores import Grid
from shortlist.tables.caps import BETWEEN
from shortlist.tables.column_types import FIRST, LAST, check_user, kind_of
from shortlist.tables.errors import TableError, in_one_sentence
from shortlist.tables.groups.in_ibis import Hashing, Shown, kept_groups
from shortlist.tables.ibis import listed_rows
from shortlist.tables.ibis_columns import TYPES, WRONG, Texts, Written, day_of, in_steps, item_of, user_of, value_of
from shortlist.tables.values import SATURATED, TOKENS, Looked, Placed, PlacedGroups, ValueQuestion, is_dated, parted


def look_at_ibis(table: Any, question: ValueQuestion) -> Looked:
    """From names and types alone."""
    if not hasattr(table, "schema"):
        raise TypeError("rows must be an Ibis table, not a column or a value")
    kinds = table.schema()
    question.check_columns(kinds.names)
    dated = is_dated(question.value, str(kinds[question.value]))
    if question.grouping is not None:
        _check_groups(table, question)
    if question.user is not None:
        check_user(question.user, str(kinds[question.user]))
        texts = in_one_sentence(WRONG, lambda: Texts.of(table, False))
        if not texts.parts(kinds[question.user]):
            raise TableError(
                f"{WRONG}: {texts.backend} may take texts for equal that differ, so that two people would share one "
                "vote; have users as whole numbers, or count elsewhere"
            )
    return question.looked_at(dated, _declared(table), TYPES)


def places_in_ibis(table: Any, question: ValueQuestion, grid: Grid) -> Placed:
    """Added up in the backend, in whole numbers."""

    def placed() -> Placed:
        votes = _votes(_rows(table, question, grid), question, grid)
        counts = votes.group_by("i").agg(w=votes.w.sum().cast("int64")).to_pyarrow()
        places, weights = (np.asarray(counts[name].to_numpy(), np.int64) for name in ("i", "w"))
        some = np.flatnonzero(weights > 0)
        order = some[np.argsort(places[some])]
        return places[order], weights[order]

    return in_one_sentence(WRONG, placed)


def _declared(table: Any) -> dict[str, str]:
    return {name: str(kind) for name, kind in table.schema().items()}


def _check_groups(table: Any, question: ValueQuestion) -> None:
    _, by = question.listed(_declared(table))
    texts = in_one_sentence(WRONG, lambda: Texts.of(table, "text" in by))
    if question.user is not None and not texts.hashes(table):
        raise TableError(f"{WRONG}: {texts.backend} has no MD5 here, by which by= chooses; count elsewhere")


def groups_in_ibis(table: Any, question: ValueQuestion, grid: Grid) -> PlacedGroups:
    """The same for every group."""
    grouping = question.grouping
    assert grouping is not None
    declared = _declared(table)
    listed, by = question.listed(declared)
    texts = Texts.of(table, "text" in by)
    numbered = [(n, *row) for n, row in enumerate(listed)]
    shown = Shown(texts.shown, dict(zip(grouping.keys, by, strict=True)), TYPES)

    def placed() -> PlacedGroups:
        groups = listed_rows(numbered, ["integer", *by], texts, ("n", *grouping.keys))
        held = _rows(table, question, grid).cache()  # all in one statement is too deep for SQLite's parser
        rows = held.inner_join(groups, list(grouping.keys))
        rows = rows.select(*([] if question.user is None else ["u"]), "n", *grouping.keys, "i")
        if question.user is not None:
            written = Written(texts, (kind_of(declared[question.user]),))
            hashing = Hashing(lambda words: texts.hash(ibis.literal(BETWEEN).join(words)), written.of, texts.shown)
            rows = kept_groups(rows, grouping, shown, hashing).select("u", "n", "i")
        votes = _votes(rows, question, grid, ["n"])
        counts = votes.group_by(["n", "i"]).agg(w=votes.w.sum().cast("int64")).to_pyarrow()
        columns = [np.asarray(counts[name].to_numpy(), np.int64) for name in ("n", "i", "w")]
        some = np.flatnonzero(columns[2] > 0)
        return parted(columns[0][some], columns[1][some], columns[2][some], len(listed))

    return in_one_sentence(WRONG, placed)


def _rows(table: Any, question: ValueQuestion, grid: Grid) -> Any:
    """(u, i), rows without a person or a number left out."""
    texts = Texts.of(table, False)
    wanted = {"v": _number(table[question.value], texts, grid)}
    if question.user is not None:
        wanted["u"] = user_of(table[question.user], texts)
    if question.grouping is not None:
        forms = zip(question.keys.items(), question.grouping.kinds(_declared(table)), strict=True)
        wanted |= {ours: item_of(table[name], form, texts) for (ours, name), form in forms}
    rows = table.select(**wanted)
    rows = rows.filter(*(rows[name].notnull() for name in wanted))
    if question.user is not None and kind_of(str(table.schema()[question.user])) == "text":
        rows = rows.filter(texts.shown(rows.u) != "")
    low, high, step = grid.ends
    if question.per_user == "sum" and question.user is not None:
        place = in_steps(rows.v, step, SATURATED)
    else:
        place = in_steps(rows.v.clip(low, high) - low, step, grid.size).clip(0, grid.size - 1)
    return rows.mutate(i=place)


def _number(column: Any, texts: Texts, grid: Grid) -> Any:
    """A float; a day by its ordinal, and missing outside the years 1 to 9999."""
    if grid.kind != "date":
        return value_of(column, texts)
    day = day_of(column, texts)
    shown = day.year().between(FIRST.year, LAST.year).ifelse(day, None)
    return (shown.delta(ibis.literal(FIRST), unit="day") + 1).cast("float64")


def _votes(rows: Any, question: ValueQuestion, grid: Grid, group: Sequence[str] = ()) -> Any:
    """(i, w) of every person, and the group where there are such, by a window of that person's rows (there) alone."""
    one = ibis.literal(1).cast("int64")
    if question.user is None:
        return rows.select(*group, "i", w=one)
    person = ["u", *group]
    among = [rows[name] for name in person]
    if question.per_user in ("share", "median"):
        ranked = rows.select(
            *group,
            "i",
            j=ibis.row_number().over(group_by=among, order_by=rows.i).cast("int64"),
            held=rows.count().over(group_by=among).cast("int64"),
        )
        if question.per_user == "median":
            own = ranked.filter(ranked.j == (ranked.held - 1) // 2)
            return own.select(*group, "i", w=one)
        token = TOKENS * (ranked.j + 1) // ranked.held - TOKENS * ranked.j // ranked.held
        return ranked.select(*group, "i", w=token)
    if question.per_user == "mean":  # by quotients and remainders: the sum itself may not fit into 64 bits
        own = rows.select(*person, "i", held=rows.count().over(group_by=among).cast("int64"))
        wholes, rests = (own.i // own.held).cast("int64"), own.i % own.held
        sums = {"i": wholes.sum().cast("int64"), "r": rests.sum().cast("int64"), "held": own.held.max()}
        people = own.group_by(person).agg(**sums)
        return people.select(*group, i=people.i + (people.r // people.held).cast("int64"), w=one)
    parts = {"min": rows.i.min(), "max": rows.i.max(), "sum": rows.i.sum().cast("int64")}
    people = rows.group_by(person).agg(i=parts[question.per_user])
    if question.per_user == "sum":
        return people.select(*group, i=(people.i + grid.start).clip(0, grid.size - 1), w=one)
    return people.select(*group, "i", w=one)
