"""Rows as whole numbers: what is summed over people is exact, and so is the bound on one person's part of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import column_or_1d
from sklearn.utils.validation import validate_data

from shortlist._arrays import Floats, Indices, Mask
from shortlist.exact.noise_distributions import LAPLACE
from shortlist.sampling.additive import add_whole_noise
from shortlist.sampling.entropy import Source

Result = TypeVar("Result")

PLAIN = "biufUS"
"""Types of arrays in which a label cannot change another's."""
CELL = 1 << 20
"""Steps between 0 and the clip of a single number."""
ROW = 1 << 10
"""Steps of a row's absolute sum: products of two are below its square."""
MOST_ROWS = 1 << 40
"""Sums of so many products fit into 64 bits."""


def checked_rows(X: Floats) -> Floats:
    """Refuse a table so long that sums would not fit; its length is public."""
    if len(X) > MOST_ROWS:
        raise ValueError("X must have at most 2^40 rows")
    return X


def clipped_cells(X: Floats, clip: float, *, signed: bool) -> Indices:
    """Each number clipped to [0, clip], or [-clip, clip], in whole steps of clip / CELL. What is no number is 0."""
    with np.errstate(all="ignore"):
        steps = np.rint(np.clip(np.nan_to_num(X / clip), -1.0 if signed else 0.0, 1.0) * CELL)
    return np.clip(steps.astype(np.int64), -CELL if signed else 0, CELL)


def bounded_rows(X: Floats, clip: float, most: int) -> Indices:
    """Rows in steps of clip / most, cut towards 0, scaled down where their absolute values sum to more than `most`."""
    with np.errstate(all="ignore"):
        rows = np.nan_to_num(X / clip, posinf=0.0, neginf=0.0)
        sums = np.abs(rows).sum(axis=1, keepdims=True)
        steps: Indices = np.trunc(np.nan_to_num(rows / np.maximum(sums, 1.0)) * most).astype(np.int64)
    steps[np.abs(steps).sum(axis=1) > most] = 0  # rounding above; a function of the row alone
    return steps


def noisy_sums(sums: Indices, *, sensitivity: int, epsilon: float, source: Source) -> Indices:
    """Whole sums plus exact Laplace noise of scale sensitivity / epsilon, rounded: epsilon-DP if one person moves
    the sums by at most `sensitivity` in all."""
    scale = Fraction(sensitivity) / Fraction(epsilon)
    return add_whole_noise(sums.ravel(), scale=scale, noise=LAPLACE, source=source).reshape(sums.shape)


def labels_of(y: Any) -> Any:
    """One label a row. An array of one plain type stays as it is; of anything else each label stays what it was.

    One odd label must not turn the others into text.
    """
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    made = np.asarray(y) if hasattr(y, "__array__") else None
    if made is not None and made.ndim != 1:  # scikit-learn's own refusals may show cells
        if made.ndim != 2 or made.shape[1] != 1:
            raise ValueError(f"y should be a 1d array, got one of {made.ndim} dimensions instead")
        if made.dtype.kind == "c":
            raise ValueError("Complex data not supported: y must be labels, one for each row")
        return column_or_1d(made, warn=True)
    if made is not None and made.dtype.kind in PLAIN:
        return made
    if isinstance(y, str | bytes) or not hasattr(y, "__len__"):
        raise TypeError("y must be a list or an array of labels, one for each row")
    cells = np.empty(len(y), object)
    for place, one in enumerate(y):
        cells[place] = one
    return cells


def signs(y: Any, classes: Sequence[Any]) -> Indices:
    """1 for the second class, -1 for the first, 0 for anything else; each by itself."""
    labels = labels_of(y)
    ways: Indices = same(labels, classes[1]).astype(np.int64) - same(labels, classes[0]).astype(np.int64)
    return ways


def same(labels: Any, other: Any) -> Mask:
    """Whether each label is the other, which may be one for all: what cannot be compared is not."""
    others = other if isinstance(other, np.ndarray) and other.shape == labels.shape else [other] * len(labels)
    return np.fromiter(map(_same, labels.tolist(), getattr(others, "tolist", lambda: others)()), np.bool_, len(labels))


def _same(one: object, other: object) -> bool:
    try:
        return bool(one == other)
    except Exception:
        return False


def check_table(X: Any) -> None:
    """Refuse what is no table of numbers or text, by its shape and type alone: scikit-learn would show its cells."""
    if issparse(X):
        return
    kinds = getattr(X, "dtypes", None) if hasattr(X, "columns") else None
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object) if kinds is None else None
    if array is not None and array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead. Reshape your data: array.reshape(-1, 1) if it has "
            "one feature, array.reshape(1, -1) if it has one row"
        )
    kind = "O" if array is None else array.dtype.kind
    if kind == "c":
        raise ValueError("Complex data not supported: X must be numbers")
    if kind not in "biufOUS":
        raise ValueError("X must be numbers, or text: convert it first")


def in_one_line(check: Callable[[], Result]) -> Result:
    """What scikit-learn gives; where it refuses a table, its first line alone, for cells may come after it."""
    try:
        return check()
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        line = str(error).partition("\n")[0]
    raise kind(line)


def numbers_of(X: Any) -> Any:
    """Rows whose cells are numbers. Where they may be anything, what is no number is missing, cell by cell, and raises
    nothing: an error would tell of it, and show it."""
    check_table(X)
    frame = hasattr(X, "columns") and hasattr(X, "dtypes")
    if frame and all(getattr(kind, "kind", "O") in "biuf" for kind in X.dtypes):
        return X
    if issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf"):
        return X
    cells = np.asarray(X, dtype=object)
    numbers = np.array([[_number(cell) for cell in row] for row in cells.tolist()], np.float64).reshape(cells.shape)
    return type(X)(numbers, columns=X.columns) if frame and hasattr(X, "iloc") else numbers


def valid_numbers(estimator: Any, X: Any, *, reset: bool = True) -> Floats:
    """The rows as floats, as many columns as the estimator has seen (`reset`: they are its first)."""
    words: dict[str, Any] = {"dtype": np.float64, "reset": reset, "ensure_all_finite": False}
    with np.errstate(all="ignore"):  # a number beyond all floats: a warning would tell of it
        numbers: Floats = in_one_line(lambda: validate_data(estimator, numbers_of(X), **words))
    return numbers


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except Exception:
        return math.nan


def two_classes(classes: object) -> tuple[Any, Any]:
    """Return the two labels, which are public knowledge. Whether `y` has them is private and is not checked."""
    if not isinstance(classes, Sequence | np.ndarray) or isinstance(classes, str) or len(classes) != 2:
        raise ValueError(
            'classes must be the two labels to compare, for example classes=(0, 1) or classes=("no", "yes")'
        )
    first, second = classes
    if first == second:
        raise ValueError("classes must be two different labels: write classes=(0, 1)")
    return first, second


def positive(name: str, value: object) -> float:
    """A finite number above 0."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool) or not isinstance(plain, int | float) or not 0 < plain < math.inf:
        raise ValueError(f"{name} must be a number above 0: write {name}=1.0, for example")
    return float(plain)
