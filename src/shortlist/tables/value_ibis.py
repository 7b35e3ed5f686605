"""Votes on a grid from Ibis tables: one expression in the backend."""

from __future__ import annotations

from typing import Any

import ibis
import numpy as np

from shortlist.tables.column_types import FIRST, LAST, check_user, kind_of
from shortlist.tables.errors import TableError, in_one_sentence
from shortlist.tables.ibis_columns import WRONG, Texts, day_of, number_of, user_of
from shortlist.tables.values import SATURATED, TOKENS, Placed, ValueQuestion, is_dated
from shortlist.votes import Grid


def ibis_dated(table: Any, question: ValueQuestion) -> bool:
    """From names and types alone."""
    if not hasattr(table, "schema"):
        raise TypeError("rows must be an Ibis table, not a column or a value")
    kinds = table.schema()
    question.check_columns(kinds.names)
    dated = is_dated(question.value, str(kinds[question.value]))
    if question.user is not None:
        check_user(question.user, str(kinds[question.user]))
        texts = in_one_sentence(WRONG, lambda: Texts.of(table, False))
        if not texts.parts(kinds[question.user]):
            raise TableError(
                f"{WRONG}: {texts.backend} may take texts for equal that differ, so that two people would share one "
                "vote; have users as whole numbers, or count elsewhere"
            )
    return dated


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


def _rows(table: Any, question: ValueQuestion, grid: Grid) -> Any:
    """(u, i), rows without a person or a number left out."""
    texts = Texts.of(table, False)
    wanted = {"v": _number(table[question.value], texts, grid)}
    if question.user is not None:
        wanted["u"] = user_of(table[question.user], texts)
    rows = table.select(**wanted)
    rows = rows.filter(*(rows[name].notnull() for name in wanted))
    if question.user is not None and kind_of(str(table.schema()[question.user])) == "text":
        rows = rows.filter(texts.shown(rows.u) != "")
    low, high, step = grid.ends
    if question.per_user == "sum" and question.user is not None:
        place = ((rows.v / step).clip(-SATURATED, SATURATED) + 0.5).floor().cast("int64")
    else:
        nearest = ((rows.v.clip(low, high) - low) / step + 0.5).floor()
        place = nearest.cast("int64").clip(0, grid.size - 1)
    return rows.mutate(i=place)


def _number(column: Any, texts: Texts, grid: Grid) -> Any:
    """A float; a day by its ordinal, and missing outside the years 1 to 9999."""
    if grid.kind != "date":
        return number_of(column, texts)
    day = day_of(column, texts)
    shown = day.year().between(FIRST.year, LAST.year).ifelse(day, None)
    return (shown.delta(ibis.literal(FIRST), unit="day") + 1).cast("float64")


def _votes(rows: Any, question: ValueQuestion, grid: Grid) -> Any:
    """(i, w) of every person, by a window of that person's rows alone."""
    one = ibis.literal(1).cast("int64")
    if question.user is None:
        return rows.select("i", w=one)
    if question.per_user in ("share", "median"):
        ranked = rows.select(
            "i",
            j=ibis.row_number().over(group_by=rows.u, order_by=rows.i).cast("int64"),
            n=rows.count().over(group_by=rows.u).cast("int64"),
        )
        if question.per_user == "median":
            own = ranked.filter(ranked.j == (ranked.n - 1) // 2)
            return own.select("i", w=one)
        return ranked.select("i", w=TOKENS * (ranked.j + 1) // ranked.n - TOKENS * ranked.j // ranked.n)
    if question.per_user == "mean":  # by quotients and remainders: the sum itself may not fit into 64 bits
        own = rows.select("u", "i", n=rows.count().over(group_by=rows.u).cast("int64"))
        wholes, rests = (own.i // own.n).cast("int64"), own.i % own.n
        people = own.group_by("u").agg(i=wholes.sum().cast("int64"), r=rests.sum().cast("int64"), n=own.n.max())
        return people.select(i=people.i + (people.r // people.n).cast("int64"), w=one)
    parts = {"min": rows.i.min(), "max": rows.i.max(), "sum": rows.i.sum().cast("int64")}
    people = rows.group_by("u").agg(i=parts[question.per_user])
    if question.per_user == "sum":
        return people.select(i=(people.i + grid.start).clip(0, grid.size - 1), w=one)
    return people.select("i", w=one)
