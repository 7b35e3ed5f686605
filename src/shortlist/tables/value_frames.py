"""Votes on a grid from pandas, polars and pyarrow frames: in memory already, so the rest is numpy."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist._reading import FrameKind
from shortlist.tables.column_types import FIRST, LAST, check_user, is_float
from shortlist.tables.columns import OBJECTS, declared_types, is_text, names_of, own_columns
from shortlist.tables.errors import in_one_sentence
from shortlist.tables.frame_caps import people_of
from shortlist.tables.frames import WRONG, library_of
from shortlist.tables.values import FIRST_DAY, Placed, ValueQuestion, is_dated, shared, steps
from shortlist.votes import Grid


def frame_dated(source: Any, question: ValueQuestion) -> bool:
    """From names and types alone."""
    library = library_of(source)
    if not {kind.__name__ for kind in type(source).__mro__} & {"DataFrame", "LazyFrame", "Table"}:
        raise TypeError(f"rows must be a frame with the columns of users and values, not a {type(source).__name__}")
    names, types = in_one_sentence(WRONG, lambda: (names_of(source, library), declared_types(source, library)))
    question.check_columns(names)
    if question.user is not None:
        check_user(question.user, "string" if types[question.user] == OBJECTS else types[question.user])
    return is_dated(question.value, types[question.value])


def places_in_frame(source: Any, question: ValueQuestion, grid: Grid) -> Placed:
    """Rows without a person or a number are left out."""
    library = library_of(source)

    def placed() -> Placed:
        people, values = _rows(source, library, question, grid)
        adds = question.per_user == "sum" and question.user is not None
        return shared(people, steps(values, grid) if adds else grid.places(values), question, grid)

    return in_one_sentence(WRONG, placed)


def _rows(source: Any, library: FrameKind, question: ValueQuestion, grid: Grid) -> tuple[Indices | None, Floats]:
    """(a number for the person of each row, its value; a day by its ordinal)."""
    types, dated = declared_types(source, library), grid.kind == "date"
    value = "d" if dated else "v"
    names = {value: question.value} | ({} if question.user is None else {"u": question.user})
    wanted = {value: nw.col(value) if dated else nw.col(value).cast(nw.Float64)}
    filters = [nw.col(value).is_between(FIRST, LAST) if dated else ~nw.col(value).is_nan()]
    if question.user is not None:
        real = is_float(types[question.user])
        wanted["u"] = nw.col("u") + 0.0 if real else nw.col("u")  # one zero
        filters += [~nw.col("u").is_nan()] if real else []
        filters += [nw.col("u") != ""] if is_text(types[question.user]) else []
    rows = own_columns(source, library, types, names).select(**wanted).drop_nulls().filter(*filters)
    rows = rows.collect() if isinstance(rows, nw.LazyFrame) else rows
    people = None if question.user is None else people_of(rows)
    numbers = rows[value].to_numpy()
    if dated:
        return people, numbers.astype("datetime64[D]").astype(np.int64).astype(np.float64) + FIRST_DAY
    return people, numbers.astype(np.float64)
