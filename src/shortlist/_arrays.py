"""Kinds of arrays, scores by their distinct values, and what callers pass, read and checked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from shortlist._runtime import IMPORTS
from shortlist.errors import Text, bad_type, bad_value

Floats: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.int64]
Words: TypeAlias = NDArray[np.uint64]
Mask: TypeAlias = NDArray[np.bool_]
Values: TypeAlias = NDArray[Any]
"""Scores as stored: one dimension, any integer type up to 64 bits, float32 or float64."""


def sort_rows(positions: Indices) -> Indices:
    """Every row sorted, with -1, where a position is missing, at its end."""
    beyond = np.iinfo(np.int64).max
    rows = np.sort(np.where(positions < 0, beyond, positions), axis=1)
    return np.where(rows == beyond, -1, rows)


Result = TypeVar("Result")
TOO_WIDE = (
    "integer scores must fit into 64 bits: subtract a public constant from all of them; or divide all of them by a "
    "public whole number and round sensitivity / number up, as in [score // 1024 for score in scores] with "
    "sensitivity=1"
)
NOT_BINARY = Text(
    "$scores must be integers or floats, not fractions or decimals: floats would round them, and two of them could "
    "then differ by more than the sensitivity. Multiply them and sensitivity by one public number that makes all of "
    "them whole, as in [int(3 * score) for score in scores] with sensitivity=3 for thirds"
)
MIXED = "integers above 2^53 and floats do not mix exactly; give all scores as integers"
NOT_NUMBERS = Text("$scores must be integers or floats; convert them, for example with .astype(float)")
ROWS = '; of the rows of a table name the columns too: $user="user_id", $item="film"'
FrameKind = Literal["polars", "pandas", "pyarrow"]
Engine = Literal["polars", "pandas", "pyarrow", "duckdb", "ibis", "spark"]
FRAMES: tuple[FrameKind, ...] = ("polars", "pandas", "pyarrow")
ARROW = ("string", "large_string", "int64", "uint64", "bool", "date32[day]")
FRAME_TYPES: dict[Engine, tuple[str, ...]] = {
    "polars": ("String", "Int64", "UInt64", "Boolean", "Date"),
    "pandas": ("str", "string", "object", "int64", "uint64", "bool", "Int64", "UInt64", "boolean",
               *(f"{word}[pyarrow]" for word in ARROW)),
    "pyarrow": ARROW,
    "duckdb": ("VARCHAR", "BIGINT", "UBIGINT", "BOOLEAN", "DATE"),
    "ibis": ("string", "int64", "uint64", "boolean", "date"),
    "spark": ("string", "bigint", "boolean", "date"),
}  # fmt: skip
"""What an item column may be in each engine: a closed list, so that no name of a type can tell anything of the data."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The caller's own kind of frame, in words that are public and nothing but words.

    `engine` is a library by name; `types` are its own names for the types of the item columns (`FRAME_TYPES`), or none
    where they are to be told from the items.
    """

    engine: Engine
    types: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.engine not in get_args(Engine) or type(self.engine) is not str:
            raise ValueError(f"engine must be one of {', '.join(get_args(Engine))}")
        if type(self.types) is not tuple or not all(type(word) is str and len(word) <= 32 for word in self.types):
            raise ValueError('types must be a tuple of short words, for example ("int64",)')

    @classmethod
    def of(cls, engine: Engine, types: list[str]) -> Frame:
        """Return a frame of these types; without the types if one of them is not on the list."""
        return cls(engine, tuple(types) if set(types) <= set(FRAME_TYPES[engine]) else ())


def find_frame_library() -> FrameKind:
    """The first library that is there."""
    from importlib.util import find_spec

    for library in FRAMES:
        if find_spec(library):
            return library
    raise ImportError(f"a data frame needs one of {', '.join(FRAMES)}; install one, for example: pip install polars")


def unpack(values: object) -> tuple[object, Iterable[Hashable] | None, Frame | None]:
    """(numbers, their own labels, the kind of frame they came in)."""
    if type(values) in (np.ndarray, list, tuple):
        return values, None, None
    if isinstance(values, Mapping):
        return list(values.values()), list(values), None
    family = {kind.__module__.partition(".")[0] for kind in type(values).__mro__}
    library = next((kind for kind in FRAMES if kind in family), None)
    if library is None:
        return values, None, None
    with IMPORTS:
        import narwhals as nw

    if library == "pyarrow":
        import pyarrow as pa

        values = pa.chunked_array([values]) if isinstance(values, pa.Array) else values  # which narwhals knows
    wrong = f"$scores must be one series of numbers, not {describe_type(values)}; pick the column with the scores{ROWS}"
    series: Any = attempt(lambda: nw.from_native(values, series_only=True), TypeError, wrong)
    if series.null_count():
        raise bad_value("$scores must not be missing; fill the gaps or drop those candidates")
    labels, index = None, getattr(values, "index", None) if library == "pandas" else None
    if index is not None and not (type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1):
        labels = index.tolist()
    return attempt(series.to_numpy, Exception, NOT_NUMBERS), labels, Frame(library)  # each library has its own errors


def describe_type(value: object) -> str:
    """What kind of thing it is, as a part of a sentence.

    >>> describe_type(3), describe_type("x"), describe_type(None)
    ('an int', 'a str', 'None')
    """
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0].lower() in 'aeio' else 'a'} {name}"


def attempt(action: Callable[[], Result], fails: type[Exception] | tuple[type[Exception], ...], message: str) -> Result:
    """What the action gives; or an error like those in which it fails, in our words and without theirs.

    It is raised outside of `except`, for `from None` hides the other one and keeps it as `__context__`.
    """
    try:
        return action()
    except fails as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
    raise kind(Text(message))


def as_values(values: object, *, may_be_empty: bool = False) -> Values:
    """The values as an array. Where the candidates come from the data, that there are none is private: no error."""
    array = values if type(values) is np.ndarray else _as_array(values)
    if array.ndim != 1:
        raise bad_value(f"$scores must be one-dimensional, one number per candidate, not {array.ndim}-dimensional")
    if array.size == 0:
        if may_be_empty:
            return np.zeros(0, np.int64)
        raise bad_value("$scores must not be empty: there is nothing to choose from")
    if array.dtype.kind == "O":
        raise _refusal_of(array.tolist())
    if array.dtype.kind not in "biuf":
        raise TypeError(NOT_NUMBERS)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind == "f":
        return _as_floats(array, values)
    if array.dtype.kind == "b":
        return array.view(np.uint8)
    if array.dtype == np.uint64:
        if array.max() > np.uint64(2**63 - 1):
            raise ValueError(TOO_WIDE)
        return array.view(np.int64)
    return array


def _refusal_of(cells: Iterable[object]) -> Exception:
    """Why these are not scores, by their types: nothing is converted that a float or 64 bits would not hold exactly."""
    cells = list(cells)
    kinds = set(map(type, cells))
    if any(issubclass(kind, Fraction | Decimal) for kind in kinds):
        return TypeError(NOT_BINARY)
    if all(issubclass(kind, int | np.integer) for kind in kinds):
        wide = any(not -(2**63) <= int(cell) < 2**63 for cell in cells)  # type: ignore[call-overload]
        return ValueError(TOO_WIDE) if wide else TypeError(NOT_NUMBERS)
    if all(issubclass(kind, int | np.integer | float | np.floating) for kind in kinds):
        return ValueError(MIXED)
    return TypeError(NOT_NUMBERS)


def _as_array(values: object) -> Values:
    if isinstance(values, np.ma.MaskedArray):
        raise bad_type("$scores must not be masked; fill the gaps or drop those candidates")
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str | bytes):
        table = isinstance(values, str) or hasattr(values, "columns")
        kind = f"{describe_type(values)}{ROWS if table else ''}"
        raise bad_type(f"$scores must be a list, an array, a series or a mapping, not {kind}")
    flat = "$scores must be one-dimensional: one number per candidate"
    return attempt(partial(np.asarray, values), ValueError, flat)


def _as_floats(array: Values, scores: object) -> Values:
    if array.dtype.itemsize > 8:
        raise bad_type("$scores must be floats of at most 64 bits; convert them with .astype(float)")
    if not isinstance(scores, np.ndarray) and any(
        isinstance(value, int | np.integer) and abs(int(value)) > 2**53
        for value in scores  # type: ignore[attr-defined]
    ):
        raise _refusal_of(scores)  # type: ignore[arg-type]
    top = array.max()
    if np.isnan(top):
        raise bad_value("$scores must not be NaN; drop those candidates or give them a score")
    if top == np.inf:
        raise bad_value("$scores must not be +inf; only -inf is allowed, for a candidate that may never be chosen")
    if top == -np.inf:
        raise ValueError("every score is -inf: no candidate may be chosen")
    return array.astype(np.float64) if array.dtype.itemsize < 4 else array


def as_labels(labels: Iterable[Hashable] | None, d: int) -> Sequence[Hashable] | None:
    """The d labels as a tuple, distinct and hashable; None if none were given. Errors show no label."""
    if labels is None:
        return None
    if isinstance(labels, str | bytes | set | frozenset) or not isinstance(labels, Iterable):
        raise TypeError("labels must be a list with one name per candidate, in the order of the scores")
    to_list = next((getattr(labels, way) for way in ("tolist", "to_list", "to_pylist") if hasattr(labels, way)), None)
    names = tuple(to_list() if to_list else labels)
    if len(names) != d:
        raise ValueError("labels must be as many as the scores: one name per candidate")
    unfit = "labels must be hashable, such as strings, numbers or tuples"
    distinct = attempt(lambda: len(set(names)), TypeError, unfit)
    if distinct != d or any(name != name for name in names):  # NaN differs from itself
        raise ValueError("labels must be distinct: add up the scores of a candidate that occurs twice, and name NaN")
    return names


def check_flag(name: str, value: object) -> bool:
    """True or False, of Python or numpy; nothing else is taken for one."""
    if not isinstance(value, bool | np.bool_):
        raise bad_type(f"${name} must be True or False")
    return bool(value)


@dataclass(frozen=True, slots=True, repr=False)
class Runs:
    """`values[r]` from where run r - 1 ends up to `ends[r]`."""

    values: Values
    ends: Indices

    @classmethod
    def of(cls, values: Values, sizes: Indices) -> Runs:
        return cls(values, np.cumsum(sizes))

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def __getitem__(self, place: Any) -> Any:
        """The numbers at these places; a slice from a place on is a view, one up to a place is an array."""
        if not isinstance(place, slice):
            return self.values[np.searchsorted(self.ends, place, side="right")]
        start = place.start or 0
        if place.stop is not None:
            return self[np.arange(start, place.stop)]
        first = int(np.searchsorted(self.ends, start, side="right"))
        return Runs(self.values[first:], self.ends[first:] - start)

    def searchsorted(self, values: Values, side: Literal["left", "right"] = "left") -> Indices:
        """Where each value would go; the runs must increase."""
        return np.append(0, self.ends)[np.searchsorted(self.values, values, side=side)]

    def expand(self) -> Values:
        """All numbers: one by one, whole ones in 4 bytes if they fit."""
        values = self.values
        if values.dtype.kind == "i" and values.min(initial=0) >= -(2**31) and values.max(initial=0) < 2**31:
            values = values.astype(np.int32)
        return np.repeat(values, np.diff(self.ends, prepend=0))
