"""The question: one number per candidate, and how far one person can move it.

Nothing here draws, and nothing here prints a score.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, Self, SupportsIndex, TypedDict, Unpack

import numpy as np

from shortlist._arrays import Frame, Runs, Values, checked_flag, checked_labels, checked_values, unpack
from shortlist._table_names import Names, OnGrid, WeighedNames
from shortlist._text import kind_of_words
from shortlist.errors import bad_value
from shortlist.sensitivities import exact_sensitivities, of_a_float

Neighbours = Literal["add-remove", "replace"]
Number = int | float | Fraction | Decimal

HIDDEN = (
    "these scores were counted from people's rows, and {} would show them; release from them with top_k or select. If "
    "they are public or made up, say so: scores.as_public()"
)


class PlainWords(TypedDict, total=False):
    """The words of `Scores` beside its values: whatever takes plain values in place of `Scores` takes them too."""

    labels: Iterable[Hashable] | None
    sensitivity: Number | tuple[Number, Number]
    monotone: bool
    neighbours: Neighbours
    public: bool | None
    unit: str


class ScoreWords(PlainWords, total=False):
    """The same, and `largest=False` for the smallest, which may be said of `Scores` too: the words of mechanisms."""

    largest: bool


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
        positions. Labels (and series) may come from the data itself; if they do not, say `public=True`.
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
        "_capped", "_columns", "_frame", "_from_table", "_labels", "_largest", "_monotone", "_most", "_names",
        "_neighbours", "_public", "_range", "_sensitivity", "_size", "_source", "_turned", "_unit", "_values",
    )  # fmt: skip

    @kind_of_words("Scores")
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
        numbers, own_labels, kind = unpack(values)
        self._frame: Frame | None = kind
        if labels is not None and own_labels is not None:
            raise ValueError("the values bring their own labels; leave labels= out, or pass plain values")
        plain = labels is None and own_labels is None and self._frame is None
        self._public = plain if public is None else checked_flag("public", public)
        self._values: Values | None = checked_values(numbers, may_be_empty=not self._public)
        self._size = len(self._values)
        self._labels = checked_labels(own_labels if labels is None else labels, self._size)
        self._names: Names | None = None
        self._columns: tuple[str, ...] = ()
        self._most: int | None = None
        self._source = ""
        self._capped: WeighedNames | None = None
        self._sensitivity = sensitivity
        self._monotone = checked_flag("monotone", monotone)
        if not isinstance(neighbours, str) or neighbours not in ("add-remove", "replace"):
            raise ValueError('neighbours must be "add-remove" or "replace"')
        self._neighbours: Neighbours = neighbours
        if monotone and neighbours == "replace":
            raise bad_value(
                '$monotone=True does not hold with neighbours="replace": replacing a person can raise one score '
                'and lower another. Write $monotone=False, or neighbours="add-remove" if that is what you protect'
            )
        exact = of_a_float if type(sensitivity) is float else exact_sensitivities
        self._largest, self._range = exact(sensitivity, monotone, neighbours)
        if not isinstance(unit, str) or not unit:
            raise bad_value('$unit must be a word, for example $unit="user"')
        self._unit = unit
        self._from_table = False
        self._turned = False  # negated, for the smallest

    @property
    def values(self) -> Values:
        """The scores themselves, read only. Of scores counted from people's rows only after `as_public()`."""
        if self._from_table:
            raise ValueError(HIDDEN.format("their values"))
        return self._numbers

    @property
    def labels(self) -> Sequence[Hashable]:
        """The candidates' names, or positions. Of scores counted from people's rows only after `as_public()`."""
        if self._from_table and not (self._public and self.numbered):
            raise ValueError(HIDDEN.format("their labels (and the order of these)"))
        if self._names is not None:
            return self._names.names(range(self._size))
        return range(self._size) if self._labels is None else self._labels

    def __len__(self) -> int:
        if self._from_table and not self._public:
            raise ValueError(HIDDEN.format("how many there are"))
        return self._size

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        if self._from_table:
            raise TypeError(HIDDEN.format("a copy or pickle, which holds all of them,"))
        return super().__reduce_ex__(protocol)

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
    def most(self) -> int | None:
        """How many candidates one person counts for at most, where that was capped: `count(..., most=3)`."""
        return self._most

    @property
    def range_sensitivity(self) -> Fraction:
        """R: the most by which one person can move one score *against* another (Definition 2). Exact."""
        return self._range

    @property
    def largest_sensitivity(self) -> Fraction:
        """Delta: the most by which one person can move any one score, in either direction. Exact."""
        return self._largest

    @property
    def frame(self) -> Frame | None:
        """The kind of frame the values came in, if any."""
        return self._frame

    @property
    def from_table(self) -> bool:
        """Whether the values were counted from people's rows, and so may not be studied directly."""
        return self._from_table

    @property
    def numbered(self) -> bool:
        """Whether positions mean something public. Those of candidates held in a table tell their rank: they do not."""
        return self._names is None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that make a candidate, where there are several: its label is then a tuple."""
        return self._columns

    @property
    def _numbers(self) -> Values:
        """The scores for mechanisms and laws, read only: private, unless they are public."""
        if self._values is None:
            assert self._runs is not None
            self._values = self._runs.expanded()
        view = self._values.view()
        view.flags.writeable = False
        return view

    @property
    def _runs(self) -> Runs | None:
        """The scores of candidates held in a table, best first, by their distinct numbers; None otherwise. Private."""
        return None if self._names is None else Runs.of(self._names.scores, self._names.sizes)

    @property
    def _sequence(self) -> Values | Runs:
        """The scores, by their distinct numbers where they come so. Private."""
        runs = self._runs
        return self._numbers if runs is None else runs

    @property
    def _choosable(self) -> int:
        """How many candidates may be chosen, those above -inf: public, as which ones they are."""
        if self._values is None or self._values.dtype.kind != "f" or not self.numbered:
            return self._size
        return int(np.count_nonzero(self._values > -np.inf))

    @property
    def _has_names(self) -> bool:
        return not (self._names is None and self._labels is None)

    def _named(self, positions: Sequence[int], *, by_weight: bool) -> list[Hashable]:
        """Return the labels at these positions of the scores, or of the capped weights that came with them.

        Ask for winners alone. A position in one ranking names another item in the other, so each caller says which.
        """
        if by_weight:
            assert self._capped is not None
            return self._capped.names(positions)
        if self._names is not None:
            return self._names.names(positions)
        labels = range(self._size) if self._labels is None else self._labels
        return list(map(labels.__getitem__, positions))

    @classmethod
    def _held(
        cls,
        names: Names,
        *,
        sensitivity: Number | tuple[Number, Number],
        monotone: bool,
        public: bool,
        unit: str,
        grid: float | None,
        frame: Frame | None,
        columns: tuple[str, ...],
        most: int | None = None,
        weights: WeighedNames | None = None,
        source: str = "",
    ) -> Self:
        """Scores counted from people's rows under add/remove; in steps of `grid`, a power of two, if they are sums.

        With `most`, each is how many people kept that candidate; `weights` are its capped weights, where they are made;
        `source` says which table and columns, for a ledger.
        """
        scores = cls([0], sensitivity=sensitivity, monotone=monotone, public=public, unit=unit)
        scores._values, scores._size = None, int(names.sizes.sum())
        scores._names = names if grid is None else OnGrid(names, grid)
        scores._frame, scores._columns, scores._from_table = frame, columns, True
        scores._most, scores._capped, scores._source = most, weights, source
        return scores

    def as_public(self) -> Self:
        """The same scores, declared to be public or made up: `values`, `labels`, `len` and exact laws show them."""
        return self._with("_from_table", False)

    def _as_counted(self) -> Self:
        """The same scores, marked as counted from people's rows."""
        return self._with("_from_table", True)

    def _with(self, slot: str, value: object) -> Self:
        copy = object.__new__(type(self))
        for name in Scores.__slots__:
            setattr(copy, name, value if name == slot else getattr(self, name))
        return copy

    def __repr__(self) -> str:
        count = f"{self._size} candidate{'s' * (self._size != 1)}" if self._public else "candidates from data"
        capped = [] if self._most is None else [f"most={self._most}"]
        parts = [count, *capped, f"sensitivity={self._sensitivity}", *["monotone"] * self._monotone, self._neighbours]
        return f"Scores({', '.join(parts)}{', public' if self._public else ''})"


def as_scores(scores: object, **question: Unpack[PlainWords]) -> Scores:
    """`scores` as it is, or plain values with `sensitivity=` and `monotone=` (and the like) around them."""
    if not isinstance(scores, Scores):
        return Scores(scores, **question)
    if question:
        raise TypeError(f"{', '.join(question)}: already said by the Scores object; give it there")
    return scores
