"""Votes on a grid from pandas, polars and pyarrow frames: in memory already, so the rest is numpy."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from shortlist._arrays import Floats, FrameKind, Indices
from shortlist.scores import Grid
from shortlist.tables.column_types import FIRST, LAST, check_user, is_float
from shortlist.tables.columns import OBJECTS, WIDE, by_name, declared_types, is_text, names_of, own_columns, written
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.frame_caps import people_of
from shortlist.tables.frames import WRONG, library_of
from shortlist.tables.groups.in_frames import listed_frame, stays
from shortlist.tables.values import (
    FIRST_DAY,
    Looked,
    Placed,
    PlacedGroups,
    ValueQuestion,
    is_dated,
    shared,
    shared_in_groups,
    steps,
)


def look_at_frame(source: Any, question: ValueQuestion) -> Looked:
    """From names and types alone."""
    library = library_of(source)
    if not {kind.__name__ for kind in type(source).__mro__} & {"DataFrame", "LazyFrame", "Table"}:
        raise TypeError(f"rows must be a frame with the columns of users and values, not a {type(source).__name__}")
    names, types = in_one_sentence(WRONG, lambda: (names_of(source, library), declared_types(source, library)))
    question.check_columns(names)
    if question.user is not None:
        check_user(question.user, "string" if types[question.user] == OBJECTS else types[question.user])
    dated = is_dated(question.value, types[question.value])
    return question.looked_at(dated, by_name(types), written=written(types))


def places_in_frame(source: Any, question: ValueQuestion, grid: Grid) -> Placed:
    """Rows without a person or a number are left out."""
    library = library_of(source)

    def placed() -> Placed:
        people, values = _arrays(_kept(source, library, question, grid), question, grid)
        return shared(people, _places(values, question, grid), question, grid)

    return in_one_sentence(WRONG, placed)


def groups_in_frame(source: Any, question: ValueQuestion, grid: Grid) -> PlacedGroups:
    """The same for every group."""
    library, grouping = library_of(source), question.grouping
    assert grouping is not None
    types = declared_types(source, library)
    listed, _ = question.listed(by_name(types), written(types))

    def placed() -> PlacedGroups:
        rows = _kept(source, library, question, grid)
        known = listed_frame(listed, rows, list(grouping.keys), library).with_row_index("group")
        rows = rows.join(known, on=list(grouping.keys), how="inner")
        people, values = _arrays(rows, question, grid)
        groups = rows["group"].to_numpy().astype(np.int64)
        if people is not None:
            inside = np.flatnonzero(stays(rows, people, groups, grouping, known))
            people, values, groups = people[inside], values[inside], groups[inside]
        return shared_in_groups(people, groups, _places(values, question, grid), question, grid, len(listed))

    return in_one_sentence(WRONG, placed)


def _places(values: Floats, question: ValueQuestion, grid: Grid) -> Indices:
    adds = question.per_user == "sum" and question.user is not None
    return steps(values, grid) if adds else grid.places(values)


def _kept(source: Any, library: FrameKind, question: ValueQuestion, grid: Grid) -> Any:
    """The rows that count, under our own names."""
    types, dated = declared_types(source, library), grid.kind == "date"
    value = "d" if dated else "v"
    names = {value: question.value} | ({} if question.user is None else {"u": question.user}) | question.keys
    wanted = {value: nw.col(value) if dated else nw.col(value).cast(nw.Float64)}
    filters = [nw.col(value).is_between(FIRST, LAST) if dated else ~nw.col(value).is_nan()]
    if question.grouping is not None:
        kinds = zip(question.keys, question.grouping.kinds(by_name(types)), strict=True)
        for key, kind in kinds:
            wanted[key] = nw.col(key).cast(WIDE[kind]) if kind in WIDE else nw.col(key)
            filters += [nw.col(key).is_between(FIRST, LAST)] if kind == "date" else []
    if question.user is not None:
        real = is_float(types[question.user])
        wanted["u"] = nw.col("u") + 0.0 if real else nw.col("u")  # one zero
        filters += [~nw.col("u").is_nan()] if real else []
        filters += [nw.col("u") != ""] if is_text(types[question.user]) else []
    rows = own_columns(source, library, types, names).select(**wanted).drop_nulls().filter(*filters)
    return rows.collect() if isinstance(rows, nw.LazyFrame) else rows


def _arrays(rows: Any, question: ValueQuestion, grid: Grid) -> tuple[Indices | None, Floats]:
    """(a number for the person of each row, its value; a day by its ordinal)."""
    people = None if question.user is None else people_of(rows)
    dated = grid.kind == "date"
    numbers = rows["d" if dated else "v"].to_numpy()
    if dated:
        return people, numbers.astype("datetime64[D]").astype(np.int64).astype(np.float64) + FIRST_DAY
    return people, numbers.astype(np.float64)
