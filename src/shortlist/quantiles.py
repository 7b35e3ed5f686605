"""Private quantiles in one call: of an array, or of a table in any engine, paid for before a row is read."""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from shortlist._imports import late
from shortlist._reading import FRAMES, Frame, attempt, checked_flag, unpack
from shortlist.mechanisms import Quantile
from shortlist.mechanisms.checks import check_ledger, checked_budget, checked_source
from shortlist.mechanisms.unknown_domain import checked_delta_budget
from shortlist.paid_release import Booked
from shortlist.privacy import Guarantee, Ledger
from shortlist.release import Release
from shortlist.sampling.entropy import SECURE, Source
from shortlist.tables.value_frames import frame_dated, places_in_frame
from shortlist.tables.value_sql import file_dated, places_in_files, places_in_relation, relation_dated
from shortlist.tables.values import FIRST_DAY, PerUser, Placed, ValueQuestion, counted
from shortlist.votes import Bound, Grid, Votes

METHODS = {"auto": None, "exponential": "gumbel", "permute-and-flip": "exponential"}
"""The words for `method=`, and the noise of each."""

OPTIONAL = {
    "pyspark": ("shortlist.tables.value_spark", "spark_dated", "places_in_spark", Frame("spark")),
    "ibis": ("shortlist.tables.value_ibis", "ibis_dated", "places_in_ibis", Frame("ibis")),
}
"""Engines whose library may not be there."""

OUTSIDE = "whatever lies outside the range counts at its ends"
SHARED = "the rows of a person share one vote"


def quantile(
    rows: object,
    *,
    user: str | None = None,
    value: str | None = None,
    q: float | Fraction | Iterable[float | Fraction] = 0.5,
    lower: Bound | None = None,
    upper: Bound | None = None,
    step: Any = None,
    per_user: PerUser = "share",
    epsilon: float | None = None,
    delta: float | None = None,
    budget: Guarantee | None = None,
    method: str = "auto",
    unit: str = "user",
    memory: str | None = None,
    multiline: bool = False,
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
) -> Release:
    """Release a median, or other quantiles, of one number per person.

    Parameters
    ----------
    rows
        As in `sl.count`: a path or glob, a frame, a DuckDB relation, an Ibis table or a Spark DataFrame; or a list, an
        array or a series with one number for each person.
    user, value
        Columns by name, of a table; the values are numbers or dates. `user=None` says that each row is a person of its
        own: your word, as for an array. Rows without a user or a value are left out.
    q
        From 0 to 1: one number or several, increasing; 0.5 is the median.
    lower, upper
        The range: public numbers, or dates, that you choose. What lies outside counts at its ends.
    step
        How fine an answer is, a public number. Without it a day between dates, 1 where both ends are written as whole
        numbers (0, not 0.0), otherwise about a millionth of the range. Coarser is more accurate in rank.
    per_user
        What a person with several rows counts for: `"share"` shares one vote among them; `"median"` (the lower one),
        `"mean"`, `"min"`, `"max"` and `"sum"` make one number of them, in whole steps.
    epsilon, delta, budget
        What all of it may cost: `epsilon=1.0` is short for `budget=PureDP(1.0)`, and with `delta=1e-6` for
        `budget=ApproxDP(1.0, 1e-6)`; `ZCDP(rho)` is taken too.
    method
        `"permute-and-flip"`, for pure budgets, `"exponential"` for all; `"auto"` takes the first where it can.
    unit, memory, multiline
        As in `sl.count`.
    rng
        None is the secure source. `sl.testing.seeded(7)` repeats itself and marks the release as not private.
    ledger, purpose
        Where the charge is booked, durably, before a row is read; and what for.

    Returns
    -------
    Release
        with the quantiles as `values` (and `items`), in the order of `q`.

    Raises
    ------
    ValueError, TypeError, OSError
        in one sentence that shows nothing of the table; nothing is booked if a row was not read yet.
    BudgetExceeded
        if the ledger has no room: nothing is booked and nothing looked at.

    Examples
    --------
    >>> ages = [31, 44, 27, 65, 38] * 200
    >>> quantile(ages, q=0.5, lower=0, upper=120, epsilon=1.0).values
    [38]
    """
    request = QuantileRequest.of(
        rows, user=user, value=value, q=q, lower=lower, upper=upper, step=step, per_user=per_user, epsilon=epsilon,
        delta=delta, budget=budget, method=method, unit=unit, memory=memory, multiline=multiline,
    )  # fmt: skip
    source = checked_source(rng)
    check_ledger(ledger)
    paid = None if ledger is None else request.booked(ledger, purpose, source)
    return request.released(source, paid)


@dataclass(frozen=True, slots=True)
class QuantileRequest:
    """What was asked for, checked by public facts alone; and the rows, not read yet."""

    mechanism: Quantile
    empty: Votes
    """With the grid and all else that is public, and no vote."""
    place: Callable[[Callable[[float], None] | None], Placed]
    notes: tuple[str, ...]
    auto: bool

    @classmethod
    def of(
        cls,
        rows: object,
        *,
        user: str | None,
        value: str | None,
        q: object,
        lower: object,
        upper: object,
        step: object,
        per_user: str,
        epsilon: float | None,
        delta: float | None,
        budget: Guarantee | None,
        method: str,
        unit: str,
        memory: str | None,
        multiline: bool,
    ) -> QuantileRequest:
        if not isinstance(method, str) or method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}")
        paid = checked_budget(epsilon, budget) if delta is None else checked_delta_budget(epsilon, delta, budget)
        mechanism = Quantile(q=q, budget=paid, noise=METHODS[method])  # type: ignore[arg-type]
        if not isinstance(unit, str) or not unit:
            raise ValueError('unit must be a word, for example unit="user"')
        lines = checked_flag("multiline", multiline)
        notes: tuple[str, ...]
        if value is None and not isinstance(rows, str | os.PathLike):
            if user is not None or memory is not None or lines:
                raise TypeError('value must be the name of a column, for example value="age"')
            series = Series.of(rows, lower, upper, step)
            line, share, notes = Asked(series.grid, series.frame, series.places), 1, ()
            words = f"numbers in memory, {series.grid.in_words}"
        else:
            question = ValueQuestion.of(user, value, lower, upper, step, per_user)
            line, share, words = _table(rows, question, memory, lines), question.share, question.in_words(rows)
            notes = (SHARED,) if share > 1 else ()
        nothing = np.zeros(0, np.int64)
        empty = Votes.on(line.grid, nothing, nothing, share=share, unit=unit, frame=line.frame, source=words)
        return cls(mechanism, empty, line.places, (OUTSIDE, *notes), method == "auto")

    def booked(self, ledger: Ledger, purpose: str, source: Source = SECURE) -> Booked:
        """Check what can be checked without a row, then book."""
        ledger.check(ledger.with_room(self.mechanism.charge, self.mechanism.guarantee))
        return Booked.of(self.mechanism, self.empty, ledger, purpose, source)

    @property
    def why(self) -> str:
        """In words, by the public rule."""
        if not self.auto:
            return "named by the caller"
        if self.mechanism.noise == "exponential":
            return "auto: permute-and-flip has the smallest rank error of what keeps a pure budget"
        return "auto: the exponential mechanism costs less than its epsilon where budgets are not pure"

    def released(self, source: Source, paid: Booked | None, progress: Callable[[float], None] | None = None) -> Release:
        """Read, draw, and say why."""
        places, weights = self.place(progress)
        votes = self.empty.holding(places, weights)
        release = self.mechanism.release(votes, rng=source) if paid is None else paid.release(votes, source)
        return replace(release, why=self.why, notes=(*release.notes, *self.notes))


@dataclass(frozen=True, slots=True)
class Asked:
    """A table, looked at by names and types alone."""

    grid: Grid
    frame: Frame | None
    places: Callable[[Callable[[float], None] | None], Placed]


def _table(rows: Any, question: ValueQuestion, memory: str | None, multiline: bool) -> Asked:
    """By the kind of table."""
    family = {kind.__module__.partition(".")[0] for kind in type(rows).__mro__}
    if isinstance(rows, str | os.PathLike):
        path = os.fspath(rows)
        points = question.fitted(file_dated(path, question, memory, multiline))
        return Asked(points, None, lambda tell: places_in_files(path, question, points, memory, multiline, tell))
    if memory is not None:
        raise TypeError("memory is for files; a table in an engine or in memory has its own settings")
    if multiline:
        raise TypeError("multiline is for CSV files; a table in an engine or in memory has been read already")
    optional = next((OPTIONAL[library] for library in OPTIONAL if library in family), None)
    if optional is not None:
        module, dated, place, frame = optional
        points = question.fitted(late(module, dated)(rows, question))
        return Asked(points, frame, lambda tell: late(module, place)(rows, question, points))
    if family & {"duckdb", "_duckdb"}:
        points = question.fitted(relation_dated(rows, question))
        return Asked(points, Frame("duckdb"), lambda tell: places_in_relation(rows, question, points))
    library = next((kind for kind in FRAMES if kind in family), None)
    if library is not None:
        points = question.fitted(frame_dated(rows, question))
        return Asked(points, Frame(library), lambda tell: places_in_frame(rows, question, points))
    raise TypeError(
        "rows must be a path, a pandas, polars or pyarrow frame, a DuckDB relation, an Ibis table, a Spark DataFrame, "
        f"or (without user and value) a list of numbers, not a {type(rows).__name__}"
    )


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

    def places(self, progress: object) -> Placed:
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
