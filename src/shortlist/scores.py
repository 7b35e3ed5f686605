"""The question: one number per candidate, and how far one person can move it.

Nothing here draws, and nothing here prints a score.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np

from shortlist._arrays import Values
from shortlist._reading import FrameKind, checked_flag, checked_labels, checked_values, unpack

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
        "_frame", "_from_table", "_labels", "_largest", "_monotone", "_neighbours", "_public", "_range", "_sensitivity",
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
        if isinstance(values, Scores):
            raise TypeError("these are Scores already; use them as they are")
        numbers, own_labels, self._frame = unpack(values)
        if labels is not None and own_labels is not None:
            raise ValueError("the values bring their own labels; leave labels= out, or pass plain values")
        plain = labels is None and own_labels is None and self._frame is None
        self._public = plain if public is None else checked_flag("public", public)
        self._values = checked_values(numbers, may_be_empty=not self._public)
        self._labels = checked_labels(own_labels if labels is None else labels, len(self._values))
        self._sensitivity = sensitivity
        self._monotone = checked_flag("monotone", monotone)
        if not isinstance(neighbours, str) or neighbours not in ("add-remove", "replace"):
            raise ValueError('neighbours must be "add-remove" or "replace"')
        self._neighbours: Neighbours = neighbours
        if monotone and neighbours == "replace":
            raise ValueError(
                'monotone=True does not hold with neighbours="replace": replacing a person can raise one score '
                'and lower another. Write monotone=False, or neighbours="add-remove" if that is what you protect'
            )
        self._largest, self._range = exact_sensitivities(sensitivity, monotone, neighbours)
        if not isinstance(unit, str) or not unit:
            raise ValueError('unit must be a word, for example unit="user"')
        self._unit = unit
        self._from_table = False

    @property
    def values(self) -> Values:
        """The scores themselves, read only. Private, unless the scores are public."""
        view = self._values.view()
        view.flags.writeable = False
        return view

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
    def largest_sensitivity(self) -> Fraction:
        """Delta: the most by which one person can move any one score, in either direction. Exact."""
        return self._largest

    @property
    def frame(self) -> FrameKind | None:
        """The kind of frame the values came in, if any."""
        return self._frame

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
        count = f"{len(self)} candidate{'s' * (len(self) != 1)}" if self._public else "candidates from data"
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


def exact_sensitivities(sensitivity: object, monotone: bool, neighbours: Neighbours) -> tuple[Fraction, Fraction]:
    """(Delta, R): the most one person moves one score, and one score against another.

    R = max over i, j of |(x_i - x'_i) - (x_j - x'_j)|; here, and only here, it is decided when a factor 2 is due.
    One number Delta: R = Delta if all scores move the same way, 2 Delta otherwise. A pair (down, up): adding a person
    moves every score within [-down, up], so R = down + up, or the larger of the two if monotone.
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
        both_ways = down + up
    else:
        down = up = _exact_sensitivity(sensitivity)
        both_ways = 2 * up
    largest = max(down, up)
    if largest == 0:
        raise ValueError("sensitivity must be positive: if nobody can move a score, nothing is private here")
    return largest, largest if monotone else both_ways


def _exact_sensitivity(value: object) -> Fraction:
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, int | float | Fraction | Decimal | np.integer | np.floating
    ):
        raise TypeError("sensitivity must be a number or a pair of numbers, for example sensitivity=1.0")
    try:
        exact = Fraction(value.item() if isinstance(value, np.integer | np.floating) else value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("sensitivity must be finite: the most that one person can move one score") from None
    if exact < 0:
        raise ValueError("sensitivity must not be negative: it is the most that one person can move one score")
    return exact
