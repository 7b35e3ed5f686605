"""What a quantile is asked of: a table in any engine, or one number for each person; by names and types alone."""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist._arrays import FRAMES, Engine, Frame, attempt, named_type, unpack
from shortlist._runtime import late
from shortlist.errors import bad_type
from shortlist.tables.dialect import TextForm
from shortlist.tables.groups.grouping import plain_key
from shortlist.tables.value_frames import groups_in_frame, look_at_frame, places_in_frame
from shortlist.tables.value_sql import (
    groups_in_files,
    groups_in_relation,
    look_at_file,
    look_at_relation,
    places_in_files,
    places_in_relation,
)
from shortlist.tables.values import FIRST_DAY, Looked, Placed, ValueQuestion, counted
from shortlist.votes import Grid

Progress = Callable[[float], None]

OPTIONAL: dict[str, tuple[str, str, str, str, Engine]] = {
    "pyspark": ("shortlist.tables.value_spark", "look_at_spark", "places_in_spark", "groups_in_spark", "spark"),
    "ibis": ("shortlist.tables.value_ibis", "look_at_ibis", "places_in_ibis", "groups_in_ibis", "ibis"),
}
"""Engines whose library may not be there."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A table, looked at by names and types alone."""

    grid: Grid
    frame: Frame | None
    places: Callable[[Progress | None], Any]
    """Reads the rows: `Placed`, or `PlacedGroups` where there are groups."""
    keys: tuple[Hashable, ...] = ()
    """The public keys of the groups, in the kinds of their columns."""


def asked_of_table(rows: Any, question: ValueQuestion, memory: str | None, text: TextForm) -> Asked:
    """What is public of a table, and how it is read, by the kind of table."""
    family = {kind.__module__.partition(".")[0] for kind in type(rows).__mro__}
    if isinstance(rows, str | os.PathLike):
        path = os.fspath(rows)
        files = groups_in_files if question.grouping is not None else places_in_files
        looked = look_at_file(path, question, memory, text)
        return _asked(question, looked, None, lambda grid, tell: files(path, question, grid, memory, text, tell))
    if memory is not None:
        raise bad_type("$memory is for files; a table in an engine or in memory has its own settings")
    text.check_unused()
    optional = next((OPTIONAL[library] for library in OPTIONAL if library in family), None)
    if optional is not None:
        module, look, place, place_groups, engine = optional
        way = place if question.grouping is None else place_groups
        looked = late(module, look)(rows, question)
        return _asked(question, looked, engine, lambda grid, tell: late(module, way)(rows, question, grid))
    if family & {"duckdb", "_duckdb"}:
        relation = groups_in_relation if question.grouping is not None else places_in_relation
        looked = look_at_relation(rows, question)
        return _asked(question, looked, "duckdb", lambda grid, tell: relation(rows, question, grid))
    library = next((kind for kind in FRAMES if kind in family), None)
    if library is not None:
        frame = groups_in_frame if question.grouping is not None else places_in_frame
        return _asked(question, look_at_frame(rows, question), library, lambda grid, tell: frame(rows, question, grid))
    raise TypeError(
        "rows must be a path, a pandas, polars or pyarrow frame, a DuckDB relation, an Ibis table, a Spark DataFrame, "
        f"or (without user and value) a list of numbers, not {named_type(rows)}"
    )


def _asked(question: ValueQuestion, looked: Looked, engine: Engine | None, place: Callable[..., Any]) -> Asked:
    grid = question.fitted(looked.dated)
    frame = None if engine is None else Frame(engine, looked.types)
    return Asked(grid, frame, lambda tell: place(grid, tell), tuple(map(plain_key, looked.keys)))


@dataclass(frozen=True, slots=True)
class Series:
    """One number, or one date, for each person."""

    numbers: np.ndarray[Any, Any]
    grid: Grid
    frame: Frame | None

    @classmethod
    def of(cls, rows: object, lower: object, upper: object, step: object) -> Series:
        """Numbers or dates, as the range has them; missing ones (None, NaN) are left out."""
        wrong = "rows must be a table with user= and value=, or a list of numbers or of dates, one for each person"
        array, frame = _declared(rows, wrong)
        grid = Grid.of(lower, upper, step)
        kind = "datetime64[D]" if grid.kind == "date" else "float64"
        if array.dtype.kind == "O":  # cell by cell: an error would tell of one
            read = _day if grid.kind == "date" else _number
            return cls(np.array([read(cell) for cell in array.tolist()], kind), grid, frame)
        if array.dtype.kind in ("USVcmbiuf" if grid.kind == "date" else "USVcmM"):
            raise TypeError(wrong)
        with np.errstate(all="ignore"):
            return cls(array.astype(kind), grid, frame)

    def places(self, progress: Progress | None) -> Placed:
        if self.grid.kind == "date":
            there = self.numbers[~np.isnat(self.numbers)].astype(np.int64)
            values = there.astype(np.float64) + FIRST_DAY
        else:
            values = self.numbers[~np.isnan(self.numbers)]
        points = self.grid.places(values)
        return counted(points, np.ones_like(points))


def _declared(rows: Any, wrong: str) -> tuple[np.ndarray[Any, Any], Frame | None]:
    """(the series as an array, the kind of its library), by its type alone: no cell is looked at."""
    if isinstance(rows, str | bytes | Mapping | np.ma.MaskedArray):
        raise TypeError(wrong)
    frame = attempt(lambda: unpack(rows[:0])[2], (IndexError, KeyError, TypeError, ValueError), wrong)
    if isinstance(rows, np.ndarray):
        array = rows
    elif isinstance(rows, list | tuple):
        array = np.empty(len(rows), object)
        for place, cell in enumerate(rows):
            array[place] = cell
    else:
        if any(word in str(getattr(rows, "dtype", getattr(rows, "type", ""))).lower() for word in ("str", "utf8")):
            raise TypeError(wrong)
        words = {"zero_copy_only": False} if type(rows).__module__.startswith("pyarrow") else {}
        array = attempt(lambda: rows.to_numpy(**words), (AttributeError, TypeError, ValueError), wrong)
    if array.ndim != 1:
        raise TypeError(wrong)
    return array, frame


def _number(cell: Any) -> float:
    """A number as a float, one beyond them all as infinite; missing if it is none."""
    if not isinstance(cell, int | float | Fraction | Decimal | np.integer | np.floating | np.bool_):
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf
    except Exception:
        return math.nan


def _day(cell: Any) -> Any:
    """A date; missing if it is none."""
    try:
        if isinstance(cell, dt.date):
            return np.datetime64(cell.date() if isinstance(cell, dt.datetime) else cell, "D")
        return cell.astype("datetime64[D]") if isinstance(cell, np.datetime64) else np.datetime64("NaT")
    except Exception:
        return np.datetime64("NaT")
