"""The question: one number per candidate, and how far one person can move it.

Nothing here draws, and nothing here prints a score.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np

from shortlist._arrays import Values

Neighbours = Literal["add-remove", "replace"]
Number = int | float | Fraction | Decimal


class Scores:
    """One score per candidate, larger is better.

    Parameters
    ----------
    values
        A list, a one-dimensional array of integers or floats, a pandas, polars or pyarrow series, or a mapping
        from label to score. Integers stay exact; an array is not copied, so leave it alone while it is in use.
        -inf marks a candidate that may never be chosen (which ones must be public knowledge).
    labels
        One distinct name per candidate. Without labels a candidate's name is its position.
    sensitivity
        The most one person can move any one score; or a pair `(down, up)`: adding a person moves a score by at
        most `down` downwards and `up` upwards. It must hold for the numbers as stored.
    monotone
        Whether one person moves all scores the same way, as counts do when a person is added or removed.
    neighbours
        What "one person" means: `"add-remove"` or `"replace"`.
    public
        Whether the list of candidates is public knowledge. A plain array is public: its candidates are its
        positions. Labels (and series) came from somewhere, so they must say `public=True`.
    unit
        What one "person" is, for the record.

    Raises
    ------
    ValueError, TypeError
        At once and before anything is drawn, for input that is no list of scores.

    Examples
    --------
    >>> Scores([9, 4, 7], monotone=True).range_sensitivity
    Fraction(1, 1)
    >>> Scores({"ada": 9, "bob": 4}, public=True)
    Scores(2 candidates, sensitivity=1.0, add-remove, public)
    """

    __slots__ = (
        "_frame", "_from_table", "_labels", "_monotone", "_neighbours", "_public", "_range", "_sensitivity",
        "_unit", "_values",
    )  # fmt: skip

    def __init__(
        self,
        values: object,
        *,
        labels: Iterable[Hashable] | None = None,
        sensitivity: Number | tuple[Number, Number] = 1.0,
        monotone: bool = False,
        neighbours: Neighbours = "add-remove",
        public: bool | None = None,
        unit: str = "user",
    ) -> None:
        numbers, own_labels, self._frame = _unpack(values)
        if labels is not None and own_labels is not None:
            raise ValueError("the values bring their own labels; leave labels= out, or pass plain values")
        self._values = _checked_values(numbers)
        self._labels = _checked_labels(own_labels if labels is None else labels, len(self._values))
        self._sensitivity = sensitivity
        self._monotone = _checked_flag("monotone", monotone)
        if neighbours not in ("add-remove", "replace"):
            raise ValueError('neighbours must be "add-remove" or "replace"')
        self._neighbours: Neighbours = neighbours
        if monotone and neighbours == "replace":
            raise ValueError(
                'monotone=True does not hold with neighbours="replace": replacing a person can raise one score '
                'and lower another. Write monotone=False, or neighbours="add-remove" if that is what you protect'
            )
        self._range = _range_sensitivity(sensitivity, monotone, neighbours)
        plain = self._labels is None and self._frame is None
        self._public = plain if public is None else _checked_flag("public", public)
        if not isinstance(unit, str) or not unit:
            raise ValueError('unit must be a word, for example unit="user"')
        self._unit = unit
        self._from_table = False

    @property
    def values(self) -> Values:
        """The scores themselves, read only. Private, unless the scores are public."""
        return self._values

    @property
    def labels(self) -> Sequence[Hashable]:
        """The candidates' names; their positions where they have none. Private, unless `public`."""
        return range(len(self._values)) if self._labels is None else self._labels

    @property
    def sensitivity(self) -> Number | tuple[Number, Number]:
        """The most one person can move any one score, as given."""
        return self._sensitivity

    @property
    def monotone(self) -> bool:
        """Whether one person moves all scores the same way."""
        return self._monotone

    @property
    def neighbours(self) -> Neighbours:
        """Which pairs of data sets count as differing in one person."""
        return self._neighbours

    @property
    def public(self) -> bool:
        """Whether the list of candidates is public knowledge."""
        return self._public

    @property
    def unit(self) -> str:
        """What one "person" is."""
        return self._unit

    @property
    def range_sensitivity(self) -> Fraction:
        """R: the most by which one person can move one score *against* another (SPEC 0). Exact."""
        return self._range

    @property
    def from_table(self) -> bool:
        """Whether the values were counted from people's rows, and so may not be studied directly."""
        return self._from_table

    def as_public(self) -> Self:
        """The same scores, declared to be public or made up: exact utility may then be computed from them."""
        return self._with("_from_table", False)

    def _as_counted(self) -> Self:
        """The same scores, marked as counted from people's rows."""
        return self._with("_from_table", True)

    def _with(self, slot: str, value: object) -> Self:
        copy = object.__new__(type(self))
        for name in Scores.__slots__:
            setattr(copy, name, value if name == slot else getattr(self, name))
        return copy

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        if self._public:
            count = f"{len(self)} candidate{'s' * (len(self) != 1)}"
        else:
            count = "candidates from data"
        parts = [
            count,
            f"sensitivity={self._sensitivity}",
            *(["monotone"] * self._monotone),
            self._neighbours,
        ]
        return f"Scores({', '.join(parts)}{', public' if self._public else ''})"


def as_scores(scores: object, **question: Any) -> Scores:
    """`scores` as it is, or plain values with `sensitivity=` and `monotone=` (and the like) around them."""
    if not isinstance(scores, Scores):
        return Scores(scores, **question)
    if question:
        raise TypeError(f"{', '.join(question)}: already said by the Scores object; give it there")
    return scores


def _unpack(values: object) -> tuple[object, Iterable[Hashable] | None, str | None]:
    """(numbers, their own labels, the kind of frame they came in)."""
    if isinstance(values, Scores):
        raise TypeError("these are Scores already; use them as they are")
    if isinstance(values, Mapping):
        return list(values.values()), list(values), None
    library = type(values).__module__.partition(".")[0]
    if library not in ("pandas", "polars", "pyarrow"):
        return values, None, None
    import narwhals as nw

    try:
        series = nw.from_native(values, series_only=True)  # type: ignore[call-overload]
    except TypeError:
        raise TypeError(
            "scores must be one series, not a whole table; pick the column with the scores"
        ) from None
    if series.null_count():
        raise ValueError("scores must not be missing; fill the gaps or drop those candidates")
    labels = None
    if library == "pandas" and not _counts_positions(values):
        labels = values.index.tolist()  # type: ignore[attr-defined]
    return series.to_numpy(), labels, library


def _counts_positions(series: Any) -> bool:
    """Whether a pandas index is the default one, 0, 1, 2, .."""
    index = series.index
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _checked_values(values: object) -> Values:
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError("scores must not be masked; fill the gaps or drop those candidates")
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError("scores must be one-dimensional: one number per candidate") from None
    if array.ndim != 1:
        raise ValueError(
            f"scores must be one-dimensional, one number per candidate, not {array.ndim}-dimensional"
        )
    if array.size == 0:
        raise ValueError("scores must not be empty: there is nothing to choose from")
    if array.dtype.kind == "c":
        raise TypeError(
            "scores must be real numbers, not complex ones; take the part that ranks the candidates"
        )
    if array.dtype.kind == "O" and all(isinstance(value, int) for value in array):
        raise ValueError("integer scores must fit into 64 bits; subtract a public constant or divide by one")
    if array.dtype.kind not in "biuf":
        raise TypeError("scores must be integers or floats; convert them, for example with .astype(float)")
    if array.dtype.kind == "f":
        array = _checked_floats(array, values)
    elif array.dtype.kind == "b":
        array = array.view(np.uint8)
    elif array.dtype == np.uint64:
        if array.max() > np.uint64(2**63 - 1):
            raise ValueError("integer scores must fit into 64 bits with a sign; subtract a public constant")
        array = array.view(np.int64)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    array = array.view()
    array.flags.writeable = False
    return array


def _checked_floats(array: Values, given: object) -> Values:
    if array.dtype.itemsize > 8:
        raise TypeError("scores must be floats of at most 64 bits; convert them with .astype(float)")
    if not isinstance(given, np.ndarray) and any(
        isinstance(value, int) and abs(value) > 2**53
        for value in given  # type: ignore[attr-defined]
    ):
        raise ValueError("integers above 2^53 and floats do not mix exactly; give all scores as integers")
    top = array.max()
    if np.isnan(top):
        raise ValueError("scores must not be NaN; drop those candidates or give them a score")
    if top == np.inf:
        raise ValueError(
            "scores must not be +inf; only -inf is allowed, for a candidate that may never be chosen"
        )
    if top == -np.inf:
        raise ValueError("every score is -inf: no candidate may be chosen")
    return array.astype(np.float64) if array.dtype.itemsize < 4 else array


def _checked_labels(labels: Iterable[Hashable] | None, d: int) -> Sequence[Hashable] | None:
    if labels is None:
        return None
    if isinstance(labels, str | bytes):
        raise TypeError("labels must be one name per candidate, not a single string")
    to_list = (
        getattr(labels, "tolist", None)
        or getattr(labels, "to_list", None)
        or getattr(labels, "to_pylist", None)
    )
    names = tuple(to_list() if to_list else labels)
    if len(names) != d:
        raise ValueError("labels must be as many as the scores: one name per candidate")
    try:
        distinct = len(set(names))
    except TypeError:
        raise TypeError("labels must be hashable, such as strings, numbers or tuples") from None
    if distinct != d:
        raise ValueError("labels must be distinct: add up the scores of a candidate that occurs twice")
    return names


def _checked_flag(name: str, value: object) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False")
    return bool(value)


def _range_sensitivity(sensitivity: object, monotone: bool, neighbours: Neighbours) -> Fraction:
    """R = max over i, j of |(x_i - x'_i) - (x_j - x'_j)|: the one place that knows when a factor 2 is due.

    One number Delta: R = Delta if all scores move the same way, 2 Delta otherwise. A pair (down, up): adding a
    person moves every score within [-down, up], so R = down + up, or the larger of the two if monotone.
    """
    if isinstance(sensitivity, tuple | list):
        if len(sensitivity) != 2:
            raise ValueError("sensitivity must be one number or a pair (down, up)")
        if neighbours == "replace":
            raise ValueError(
                'a pair of sensitivities says what adding a person does; with neighbours="replace" give the most '
                "that replacing a person can move one score"
            )
        down, up = (_exact_sensitivity(one) for one in sensitivity)
        result = max(down, up) if monotone else down + up
    else:
        delta = _exact_sensitivity(sensitivity)
        result = delta if monotone else 2 * delta
    if result == 0:
        raise ValueError("sensitivity must be positive: if nobody can move a score, nothing is private here")
    return result


def _exact_sensitivity(value: object) -> Fraction:
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | Fraction | Decimal | np.number
    ):
        raise TypeError("sensitivity must be a number or a pair of numbers, for example sensitivity=1.0")
    try:
        exact = Fraction(value.item() if isinstance(value, np.number) else value)
    except (ValueError, OverflowError):
        raise ValueError("sensitivity must be finite: the most that one person can move one score") from None
    if exact < 0:
        raise ValueError(
            "sensitivity must not be negative: it is the most that one person can move one score"
        )
    return exact
