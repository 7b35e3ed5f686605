"""What a quantile is asked of, where it is no table: one number, or one date, for each person."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist._arrays import Frame, attempt, unpack
from shortlist.scores import Grid
from shortlist.tables.values import FIRST_DAY, Placed, add_places

Progress = Callable[[float], None]


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

    def places(self, progress: Progress | None) -> list[Placed]:
        if self.grid.kind == "date":
            there = self.numbers[~np.isnat(self.numbers)].astype(np.int64)
            values = there.astype(np.float64) + FIRST_DAY
        else:
            values = self.numbers[~np.isnan(self.numbers)]
        points = self.grid.places(values)
        return [add_places(points, np.ones_like(points))]


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
