"""The question: one number per candidate, how far one person can move it, and what is public; of one list or of many.

Nothing here draws, and nothing here prints a score.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self, SupportsIndex, TypedDict, Unpack

import numpy as np

from shortlist._arrays import Floats, Frame, Indices, Runs, Values, as_labels, as_values, check_flag, unpack
from shortlist._runtime import forward, kind_of_words, replace_fields, set_fields
from shortlist.errors import Text, bad_type, bad_value

Neighbours = Literal["add-remove", "replace"]
Number = int | float | Fraction | Decimal
Bound = Number | datetime.date
PerUser = Literal["share", "median", "mean", "min", "max", "sum"]
"""What several rows of one person count for, in a quantile."""

HIDDEN = (
    "these scores were counted from people's rows, and {} would show them; release from them with top_k or select. If "
    "they are public or made up, say so: scores.as_public()"
)
SMALLEST_NOTE = "these are the smallest, not the largest"
MANY = 1_000_000
"""Lists of scores in one call."""
MOST_POINTS = 1 << 40
"""The most points that a grid may have."""
FINE = 1 << 20
"""A grid of real numbers has this many steps, or up to twice as many, unless a step is given."""


class ScoresOptions(TypedDict, total=False):
    """The words of `Scores` beside its values: whatever takes plain values in place of `Scores` takes them too."""

    labels: Iterable[Hashable] | None
    sensitivity: Number | tuple[Number, Number]
    monotone: bool
    neighbours: Neighbours
    public: bool | None
    unit: str


class QuestionOptions(ScoresOptions, total=False):
    """The same, and `largest=False` for the smallest, which may be said of `Scores` too: the words of mechanisms."""

    largest: bool


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far one person can move a score, and one score against another: exactly, from what the caller says of it."""

    given: Number | tuple[Number, Number]
    """The most one person can move any one score; or a pair: adding a person moves it so far down, and so far up."""
    monotone: bool
    """Whether one person moves all scores the same way."""
    neighbours: Neighbours
    spans: tuple[tuple[Fraction, Fraction], ...]
    """Intervals (lowest, highest): one person moves every score by an amount that lies in one of them, the same for
    all scores. With -move for every move, since neighboring is symmetric."""
    largest: Fraction
    """Delta: the most one person moves one score."""
    range: Fraction
    """R = max over i, j of |(x_i - x'_i) - (x_j - x'_j)|: the most one score moves against another (Definition 2)."""

    @classmethod
    def of(cls, given: Any, monotone: bool, neighbours: Any) -> Sensitivity:
        """Return the sensitivity that a caller states. This is the only place that decides on the factor 2.

        One number Delta: R = Delta if monotone, 2 Delta otherwise. A pair (down, up): R = down + up, or the larger if
        monotone.
        """
        if isinstance(given, tuple | list):
            if len(given) != 2:
                raise ValueError("sensitivity must be one number or a pair (down, up)")
            if neighbours == "replace":
                raise ValueError(
                    'a pair of sensitivities says what adding a person does; with neighbours="replace" give the most '
                    "that replacing a person can move one score"
                )
            down, up = map(_exact_sensitivity, given)
        else:
            down = up = _exact_sensitivity(given)
        if not down and not up:
            raise ValueError("sensitivity must be positive: if nobody can move a score, nothing is private here")
        none = Fraction(0)
        one_way = [(none, up), (-down, none)] if monotone else [(-down, up)]
        spans = tuple(dict.fromkeys([*one_way, *((-high, -low) for low, high in one_way)]))
        largest = max(high for _, high in spans)
        return cls(given, monotone, neighbours, spans, largest, max(high - low for low, high in spans))


_sensitivity_of_float = lru_cache(Sensitivity.of)
"""The same, remembered; for floats alone, since True is no sensitivity and would be found as 1.0."""


def _exact_sensitivity(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, Number | np.integer | np.floating):
        raise TypeError("sensitivity must be a number or a pair of numbers, for example sensitivity=1.0")
    try:
        exact = Fraction(value.item() if isinstance(value, np.integer | np.floating) else value)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("sensitivity must be finite: the most that one person can move one score") from None
    if exact < 0:
        raise ValueError("sensitivity must not be negative: it is the most that one person can move one score")
    return exact


class Names(Protocol):
    """Candidates whose names stay where they are (`shortlist.tables`): positions are score classes, best first."""

    @property
    def scores(self) -> Values:
        """The distinct scores, decreasing."""

    @property
    def sizes(self) -> Indices:
        """How many candidates have each."""

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        """The candidates at these positions."""


class WeighedNames(Names, Protocol):
    """The same candidates by their capped weights: `scores` are whole numbers of 2^-20, and those of weight 0 are left
    out. One person, added, adds to `most` of them at most, and by squares that are 1 at most in all (Theorem 195)."""

    @property
    def most(self) -> int:
        """How many of a person's candidates were weighed, at most: public."""

    def counts(self, positions: Sequence[int]) -> list[int]:
        """The scores, as `Scores` have them, of the candidates at these positions."""


class Pick(NamedTuple):
    """Positions in one group: of its scores, or of its capped weights."""

    group: int
    positions: Sequence[int]
    by_weight: bool = False


class NamesOfGroups(Protocol):
    """The names of many groups, asked for together: one question for all winners."""

    @property
    def number(self) -> int:
        """How many groups there are: private, unless their keys are public."""

    def keys(self, groups: Sequence[int]) -> list[Hashable]:
        """The keys of these groups: of those that are listed, for they travel."""

    def names(self, picks: Sequence[Pick]) -> list[list[Hashable]]:
        """The candidates that were picked, group by group."""


@dataclass(frozen=True, eq=False, repr=False)
class Listed:
    """Numbers of the caller, read only, and their labels where they have any."""

    numbers: Values
    labels: Sequence[Hashable] | None = None
    size: int = field(init=False)

    numbered = True
    remote = weights = runs = None

    def __post_init__(self) -> None:
        set_fields(self, numbers=self.numbers.view(), size=len(self.numbers))
        self.numbers.flags.writeable = False

    def __reduce__(self) -> tuple[Any, ...]:
        return Listed, (self.numbers, self.labels)

    @cached_property
    def choosable(self) -> int:
        if self.numbers.dtype.kind != "f":
            return self.size
        parts = (self.numbers[start : start + (1 << 16)] for start in range(0, self.size, 1 << 16))  # no copy of all
        return sum(int(np.count_nonzero(part > -np.inf)) for part in parts)

    def has_choosable(self, k: int) -> bool:
        """Return whether at least k may be chosen; mostly the first ones tell."""
        return int(np.count_nonzero(self.numbers[: 1 << 12] > -np.inf)) >= k or self.choosable >= k

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        labels = range(self.size) if self.labels is None else self.labels
        return list(map(labels.__getitem__, positions))

    def negate(self) -> Listed:
        values = self.numbers
        if values.dtype.kind != "f":
            # the least of all 64-bit integers has no negative: one more moves no score further than it moved
            return Listed(-np.maximum(values.astype(np.int64), -np.iinfo(np.int64).max), self.labels)
        if np.isneginf(values).any():
            raise bad_value(
                "a score of -inf is of a candidate that may never be chosen, and also the smallest: with "
                "$largest=False leave such candidates out"
            )
        return Listed(-values, self.labels)


@dataclass(frozen=True, eq=False, repr=False)
class Remote:
    """Candidates whose names stay in the table they were counted from, best score first."""

    ranking: Names
    weights: WeighedNames | None = None
    """The capped weights that came with the counts, where they are made."""
    factor: int | float = 1
    """By what the numbers of the table are multiplied: a power of two is exact, and -1 turns the order around."""

    numbered = False
    labels = None

    @property
    def remote(self) -> Remote:
        return self

    @property
    def scores(self) -> Values:
        """The distinct scores, decreasing."""
        scores = self.ranking.scores
        if self.factor != 1 or isinstance(self.factor, float):  # sums are floats, also in steps of 1.0
            scores = (scores.astype(np.float64) if isinstance(self.factor, float) else scores) * self.factor
        return scores if self.factor > 0 else scores[::-1]

    @property
    def sizes(self) -> Indices:
        """How many candidates have each."""
        return self.ranking.sizes if self.factor > 0 else self.ranking.sizes[::-1]

    @cached_property
    def size(self) -> int:
        return int(self.ranking.sizes.sum())

    @property
    def runs(self) -> Runs:
        """The scores by their distinct numbers."""
        return Runs.of(self.scores, self.sizes)

    choosable = forward("size")

    def has_choosable(self, k: int) -> bool:
        return self.size >= k

    @cached_property
    def numbers(self) -> Values:
        numbers = self.runs.expand()
        numbers.flags.writeable = False
        return numbers

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        return self.ranking.names(positions if self.factor > 0 else mirror(positions, self.size))

    def negate(self) -> Remote:
        return Remote(self.ranking, self.weights, -self.factor)


def mirror(positions: Sequence[int], size: int) -> list[int]:
    """The same positions, counted from the other end."""
    return [size - 1 - int(position) for position in positions]


NOT_LISTED = "these are votes on a grid of points: ask for a quantile of them"


@dataclass(frozen=True, eq=False, repr=False)
class Votes:
    """Weights on the points of a grid, those of one person limited in all: scores of which most are 0 and not stored.

    A person who is added adds whole weights to some points, in all at most the sensitivity.
    """

    grid: Grid
    places: Indices
    """Distinct and increasing."""
    weights_there: Indices
    """The weight at each of these places: above 0."""

    numbered = True
    remote = labels = weights = runs = None
    size = choosable = forward("grid.size")

    def has_choosable(self, k: int) -> bool:
        return self.grid.size >= k

    @property
    def numbers(self) -> Values:
        raise TypeError(NOT_LISTED)

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        return list(map(self.grid.point, positions))

    def negate(self) -> Votes:
        raise TypeError(NOT_LISTED)


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
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

    _content: Listed | Remote | Votes
    _sensitivity: Sensitivity
    """How far one person can move the scores."""
    public: bool
    """Whether the list of candidates is public knowledge."""
    unit: str
    """What one "person" is."""
    most: int | None
    """How many candidates one person counts for at most, where that was capped: `count(..., most=3)`."""
    frame: Frame | None
    """The kind of frame the values came in, if any."""
    columns: tuple[str, ...]
    """The columns that make a candidate, where there are several: its label is then a tuple."""
    from_table: bool
    """Whether the values were counted from people's rows, and so may not be studied directly."""
    _source: str
    """Which table and columns, for a ledger."""
    _negated: bool
    """Whether every score was negated, for the smallest."""

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
        if labels is not None and own_labels is not None:
            raise ValueError("the values bring their own labels; leave labels= out, or pass plain values")
        plain = labels is None and own_labels is None and kind is None
        is_public = plain if public is None else check_flag("public", public)
        array = as_values(numbers, may_be_empty=not is_public)
        content = Listed(array, as_labels(own_labels if labels is None else labels, len(array)))
        self._fill(content, sensitivity, monotone, neighbours, public=is_public, unit=unit, frame=kind)

    def _fill(
        self, content: Listed | Remote | Votes, sensitivity: Any, monotone: bool, neighbours: Any, **facts: Any
    ) -> None:
        """Check what the caller says of one person, and set all fields; `facts` are the others."""
        check_flag("monotone", monotone)
        if not isinstance(neighbours, str) or neighbours not in ("add-remove", "replace"):
            raise ValueError('neighbours must be "add-remove" or "replace"')
        if monotone and neighbours == "replace":
            raise bad_value(
                '$monotone=True does not hold with neighbours="replace": replacing a person can raise one score '
                'and lower another. Write $monotone=False, or neighbours="add-remove" if that is what you protect'
            )
        state = _sensitivity_of_float if type(sensitivity) is float else Sensitivity.of
        moves = state(sensitivity, bool(monotone), neighbours)
        unit, nothing = facts["unit"], {"most": None, "frame": None, "columns": (), "from_table": False, "_source": ""}
        if not isinstance(unit, str) or not unit:
            raise bad_value('$unit must be a word, for example $unit="user"')
        set_fields(self, _content=content, _sensitivity=moves, _negated=False, **nothing | facts)

    @classmethod
    def _of_table(cls, content: Remote | Votes, *, source: str = "", **facts: Any) -> Self:
        """Return scores counted from people's rows under add/remove; `source` names table and columns, for a ledger."""
        scores = object.__new__(cls)
        scores._fill(content, neighbours="add-remove", from_table=True, _source=source, **facts)
        return scores

    def _with_content(self, content: Listed | Remote | Votes) -> Self:
        """The same question about other numbers."""
        return replace_fields(self, _content=content)

    def _with_votes(self, places: Indices, weights: Indices) -> Self:
        """The same question about other votes on the same grid."""
        assert isinstance(self._content, Votes)
        return self._with_content(Votes(self._content.grid, places, weights))

    def _with_weights(self, weights: WeighedNames) -> Self:
        """The same scores with other capped weights."""
        assert isinstance(self._content, Remote)
        return self._with_content(Remote(self._content.ranking, weights, self._content.factor))

    sensitivity: ClassVar[Number | tuple[Number, Number]] = forward("_sensitivity.given")
    """The most one person can move any one score, as given."""
    monotone: ClassVar[bool] = forward("_sensitivity.monotone")
    """Whether one person moves all scores the same way."""
    neighbours: ClassVar[Neighbours] = forward("_sensitivity.neighbours")
    """Which pairs of data sets count as differing in one person."""
    range_sensitivity: ClassVar[Fraction] = forward("_sensitivity.range")
    """R: the most by which one person can move one score *against* another (Definition 2). Exact."""
    largest_sensitivity: ClassVar[Fraction] = forward("_sensitivity.largest")
    """Delta: the most by which one person can move any one score, in either direction. Exact."""
    numbered: ClassVar[bool] = forward("_content.numbered")
    """Whether positions mean something public. Those of candidates held in a table tell their rank: they do not."""

    _size: ClassVar[int] = forward("_content.size")
    _numbers: ClassVar[Values] = forward("_content.numbers")
    """The scores for mechanisms and laws, read only: private, unless they are public."""
    _names: ClassVar[Remote | None] = forward("_content.remote")
    """The candidates that are held in a table, by their distinct scores; None for others. Private."""
    _weights: ClassVar[WeighedNames | None] = forward("_content.weights")
    """The capped weights that came with the counts, where they are made. Private."""
    _runs: ClassVar[Runs | None] = forward("_content.runs")
    """The scores of candidates held in a table, best first, by their distinct numbers; None otherwise. Private."""
    _labels: ClassVar[Sequence[Hashable] | None] = forward("_content.labels")
    _choosable: ClassVar[int] = forward("_content.choosable")
    """How many candidates may be chosen, those above -inf: public, as which ones they are."""

    _number = 1
    """How many groups there are: one list is one group."""

    @property
    def values(self) -> Values:
        """The scores themselves, read only. Of scores counted from people's rows only after `as_public()`."""
        if self.from_table:
            raise ValueError(HIDDEN.format("their values"))
        return self._content.numbers

    @property
    def labels(self) -> Sequence[Hashable]:
        """The candidates' names, or positions. Of scores counted from people's rows only after `as_public()`."""
        if self.from_table and not (self.public and self.numbered):
            raise ValueError(HIDDEN.format("their labels (and the order of these)"))
        if self._names is not None:
            return self._names.names(range(self._size))
        return range(self._size) if self._labels is None else self._labels

    def __len__(self) -> int:
        if self.from_table and not self.public:
            raise ValueError(HIDDEN.format("how many there are"))
        return self._size

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        if self.from_table:
            raise TypeError(HIDDEN.format("a copy or pickle, which holds all of them,"))
        return object.__reduce_ex__(self, protocol)

    @property
    def _sequence(self) -> Values | Runs:
        """The scores, by their distinct numbers where they come so. Private."""
        return self._numbers if (runs := self._runs) is None else runs

    @property
    def _has_names(self) -> bool:
        return self._names is not None or self._labels is not None

    @property
    def _template(self) -> Scores:
        """What is public of all groups."""
        return self

    def _group(self, number: int) -> Scores:
        """The scores of a group."""
        return self

    def _name(self, picks: Sequence[Pick]) -> list[list[Hashable]]:
        """Return the labels at these positions of the scores, or of the capped weights that came with them.

        Ask for winners alone. A position in one ranking names another item in the other, so each pick says which.
        """
        named = []
        for pick in picks:
            names = self._weights if pick.by_weight else self._content
            assert names is not None, "there are no weights to find an item by"
            named.append(names.names(pick.positions))
        return named

    def _negate(self) -> Self:
        """The same question with every score negated; a release from it shows values as they were (Proposition 214).

        Raises
        ------
        ValueError
            if the candidates are not public, or some may never be chosen: which ones these are is public.
        """
        check_smallest(self.public)
        return replace_fields(self, _content=self._content.negate(), _negated=True)

    def as_public(self) -> Self:
        """The same scores, declared to be public or made up: `values`, `labels`, `len` and exact laws show them."""
        return replace_fields(self, from_table=False)

    def _as_counted(self) -> Self:
        """The same scores, marked as counted from people's rows."""
        return replace_fields(self, from_table=True)

    def __repr__(self) -> str:
        count = f"{self._size} candidate{'s' * (self._size != 1)}" if self.public else "candidates from data"
        capped = [] if self.most is None else [f"most={self.most}"]
        parts = [count, *capped, f"sensitivity={self.sensitivity}", *["monotone"] * self.monotone, self.neighbours]
        return f"Scores({', '.join(parts)}{', public' if self.public else ''})"


def places_of(scores: Scores) -> tuple[Indices, Indices]:
    """(the places that hold weight, increasing; their weights): of votes, or of counts place by place. Private."""
    if isinstance(scores._content, Votes):
        return scores._content.places, scores._content.weights_there
    counts = scores._numbers
    there = np.flatnonzero(counts > 0)
    return there, counts[there].astype(np.int64)


def check_smallest(public: bool) -> None:
    """Refuse the smallest of a list that comes from the data."""
    if not public:
        raise bad_value(
            "$largest=False needs a public list of candidates: of names that come from the data the smallest count "
            "would be one person's own. Give $candidates=, or public=True if the labels are public"
        )


def as_scores(scores: object, *, largest: bool = True, **question: Unpack[ScoresOptions]) -> Scores:
    """`scores` as it is, or plain values with their words; `largest=False` negates them, for the smallest."""
    if not isinstance(scores, Scores):
        scores = Scores(scores, **question)
    elif question:
        raise TypeError(f"{', '.join(question)}: already said by the Scores object; give it there")
    return scores if largest is True or check_flag("largest", largest) else scores._negate()


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class GroupedScores:
    """Scores of many groups, one person in at most `groups_per_user` of them. Made by `sl.count(..., by=...)`.

    It reads like a mapping from key to `Scores` where the keys are public. A release of all groups together is charged
    once, for the groups that one person may be in (Theorem 230); groups that are taken out and released one by one are
    charged one by one.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"who": [1, 1, 2], "what": ["tea", "tea", "milk"], "where": ["CH", "CH", "DE"]})
    >>> import shortlist as sl
    >>> groups = sl.count(rows, user="who", item="what", by="where", groups=["CH", "DE"], candidates=["tea", "milk"])
    >>> groups, len(groups), groups["CH"].public
    (GroupedScores(2 groups by where, 1 per user, 2 candidates, public), 2, True)
    """

    by: tuple[str, ...]
    """The columns that make the key of a group."""
    groups_per_user: int
    """In how many groups one person counts, at most."""
    _template: Scores
    """What is public of all groups."""
    _make: Callable[[int], Scores]
    """The scores of a group, by its number."""
    _names: NamesOfGroups | None
    """The names of all groups, where they stay in one table."""
    _keys: dict[Hashable, int] | None
    """The public keys, in the order given, and the number of each."""
    _frame: Frame | None
    _listed: int | None
    """How many candidates there are in each group, where they are public and as many in all."""
    _negated: bool

    def __init__(self) -> None:
        raise bad_type('groups are counted: sl.count(rows, $user=.., $item=.., $by="country")')

    @classmethod
    def _of(
        cls, template: Scores, make: Callable[[int], Scores], keys: Iterable[Hashable] | None, **facts: Any
    ) -> Self:
        """`make` gives the scores of a group by its number, `template` is public of all; `facts` are other fields."""
        numbers = None if keys is None else {key: n for n, key in enumerate(keys)}
        nothing: dict[str, Any] = {"_names": None, "_listed": None, "_negated": False}
        return set_fields(object.__new__(cls), _template=template, _make=make, _keys=numbers, **nothing | facts)

    @classmethod
    def _of_vectors(cls, vectors: Sequence[Any], parallel: object, question: ScoresOptions) -> Self:
        """Lists of scores, keyed 0, 1, ..: one person may be in all of them, or in one alone if they are `parallel`."""
        one_each = check_flag("parallel", parallel)
        if not 1 <= len(vectors) <= MANY:
            raise bad_value(f"$scores: give 1 to {MANY:,} lists of scores")
        parts = [as_scores(vector, **({} if isinstance(vector, Scores) else question)) for vector in vectors]
        kinds = {(one.neighbours, one.unit, one.public, one.most, one._weights is None, one.columns) for one in parts}
        if len(kinds) > 1:  # the mechanism is chosen by them, once for all lists
            raise bad_value("$scores: all lists must be alike in unit, neighbours, public, most and item columns")
        if one_each and parts[0].neighbours == "replace":
            raise ValueError('parallel=True is for neighbours="add-remove": a person who is replaced changes lists')
        facts = {"by": (), "groups_per_user": 1 if one_each else len(parts), "_frame": parts[0].frame}
        return cls._of(parts[0], parts.__getitem__, range(len(parts)), **facts)

    def _with_votes(self, votes: Sequence[tuple[Indices, Indices]]) -> Self:
        """The same question about other votes on the same grid, those of every group."""
        return replace_fields(self, _make=lambda number: self._template._with_votes(*votes[number]))

    def _negate(self) -> Self:
        """The same question with every score of every group negated."""
        return replace_fields(self, _template=self._template._negate(), _negated=True)

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """The public keys, in the order given; of keys that come from the data a ValueError."""
        if self._keys is None:
            raise ValueError(HIDDEN.format("which groups there are"))
        return tuple(self._keys)

    public: ClassVar[bool] = forward("_template.public")
    """Whether the candidates are public knowledge."""
    unit: ClassVar[str] = forward("_template.unit")
    """What one "person" is."""
    neighbours: ClassVar[Neighbours] = forward("_template.neighbours")
    """Which pairs of data sets count as differing in one person."""
    most: ClassVar[int | None] = forward("_template.most")
    """How many candidates one person counts for in each group, at most, where that was capped."""
    _weights: ClassVar[WeighedNames | None] = forward("_template._weights")

    @property
    def public_groups(self) -> bool:
        """Whether the keys are."""
        return self._keys is not None

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.groups)

    def __contains__(self, key: object) -> bool:
        return key in self.groups

    def __getitem__(self, key: Hashable) -> Scores:
        """The scores of one group, to be released on their own, at a charge of their own."""
        if key not in self.groups or self._keys is None:
            raise KeyError(key)
        return self._group(self._keys[key])

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._template.from_table:
            raise TypeError(HIDDEN.format("a copy or pickle, which holds all of them,"))
        return object.__reduce_ex__(self, protocol)

    @property
    def _number(self) -> int:
        """How many groups there are: private, unless the keys are public."""
        if self._keys is not None:
            return len(self._keys)
        assert self._names is not None
        return self._names.number

    def _group(self, number: int) -> Scores:
        """The scores of a group, by its number."""
        scores = self._make(number)
        return scores._negate() if self._negated else scores

    def _name(self, picks: Sequence[Pick]) -> list[list[Hashable]]:
        """The winners of every group: they travel, and no others do."""
        if self._names is None:
            return [self._group(pick.group)._name([pick])[0] for pick in picks]
        if self._negated:
            picks = [one._replace(positions=mirror(one.positions, self._make(one.group)._size)) for one in picks]
        return self._names.names(picks)

    def __repr__(self) -> str:
        count = "groups from data" if self._keys is None else f"{len(self._keys)} group{'s' * (len(self._keys) != 1)}"
        by = f" by {', '.join(self.by)}" if self.by else ""
        listed = "candidates by group" if self._listed is None else f"{self._listed} candidates"
        candidates = listed if self.public else "candidates from data"
        capped = "" if self.most is None else f", most={self.most}"
        public = ", public" if self.public else ""
        return f"GroupedScores({count}{by}, {self.groups_per_user} per user, {candidates}{capped}{public})"


NO_RANGE = Text("$lower= and $upper= are public numbers you choose, never the smallest and the largest of the data")


Kind = Literal["whole", "real", "date"]


@dataclass(frozen=True, slots=True)
class Grid:
    """The points lower + i step, i = 0, .., size - 1: whole numbers, real ones, or days (by their ordinal)."""

    kind: Kind
    lower: Fraction
    step: Fraction
    size: int

    @classmethod
    def of(cls, lower: object, upper: object, step: object = None) -> Grid:
        """The grid from `lower` to `upper`: a function of these alone, never of a column or of its type.

        Without a step: a day between dates; 1 between bounds that are written as whole numbers (0, not 0.0); otherwise
        the power of two next below (upper - lower) / 2^20.

        Raises
        ------
        ValueError, TypeError
            naming the argument.
        """
        dated = _is_date(lower)
        if lower is None or upper is None:
            raise TypeError(NO_RANGE)
        if dated != _is_date(upper):
            raise bad_type("$lower and $upper must be two numbers or two dates")
        first, last = _exact("lower", lower), _exact("upper", upper)
        whole = all(isinstance(bound, int | np.integer) for bound in (lower, upper))
        if first >= last:
            raise bad_value("$lower must be below $upper")
        wide = _exact_step(step, dated) if step is not None else _step(first, last, dated or whole)
        size = (last - first) // wide + 1
        if size > MOST_POINTS:
            raise ValueError("step is too fine: more than 2^40 points lie between lower and upper; write a larger step")
        if size < 2:
            raise bad_value("$step must not be larger than upper - lower")
        integral = first.denominator == wide.denominator == 1
        return cls("date" if dated else "whole" if integral else "real", first, wide, size)

    def point(self, place: int) -> int | float | datetime.date:
        """The point at this place, as a release shows it."""
        exact = self.lower + place * self.step
        if self.kind == "date":
            return datetime.date.fromordinal(int(exact))
        return int(exact) if self.kind == "whole" else float(exact)

    @property
    def in_words(self) -> str:
        """All of it, for the record: who approves a question approves this range and no other."""
        if self.kind == "date":
            return f"from {self.point(0)} to {self.point(self.size - 1)} by {self.step} days"
        return f"from {_text(self.lower)} to {_text(self.lower + (self.size - 1) * self.step)} by {_text(self.step)}"

    @property
    def ends(self) -> tuple[float, float, float]:
        """(lower, upper, step) for the arithmetic of rows, which looks at one row alone."""
        return float(self.lower), float(self.lower + (self.size - 1) * self.step), float(self.step)

    def places(self, values: Floats) -> Indices:
        """The nearest place of each value; what lies outside moves to the ends. NaN must be gone."""
        low, high, step = self.ends
        nearest = np.floor((np.clip(values, low, high) - low) / step + 0.5)
        return np.clip(nearest, 0, self.size - 1).astype(np.int64)

    @property
    def start(self) -> int:
        """By how many steps a sum of whole steps, counted from 0, is shifted to be a place: floor(1/2 - lower/step)."""
        return math.floor(Fraction(1, 2) - self.lower / self.step)


def _text(number: Fraction) -> str:
    """Exactly: as a decimal, where one stands for it."""
    short = repr(float(number)).removesuffix(".0")
    return short if Fraction(short) == number else str(number)


def read_bound(text: str) -> int | float | datetime.date:
    """A number as it is written, or a day.

    Raises
    ------
    ValueError
        for anything else.
    """
    if re.fullmatch(r"[+-]?[0-9]{1,40}", text):
        return int(text)
    for read in (datetime.date.fromisoformat, float):
        try:
            return read(text)
        except ValueError:
            continue
    raise ValueError("write a number, or a date such as 2024-01-31")


def _is_date(bound: object) -> bool:
    return isinstance(bound, datetime.date) and not isinstance(bound, datetime.datetime)


def _exact(name: str, bound: object) -> Fraction:
    """A bound as it was written: 0.1 is a tenth. Days are their ordinals."""
    if isinstance(bound, datetime.date):
        if isinstance(bound, datetime.datetime):
            raise bad_type(f"${name} must be a date without a time, or a number")
        return Fraction(bound.toordinal())
    value = bound.item() if isinstance(bound, np.generic) else bound
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal):
        raise bad_type(f"${name} must be a number or a date, for example ${name}=0")
    try:
        exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    except (ValueError, OverflowError):
        raise bad_value(f"${name} must be finite") from None
    if abs(exact) > 2**500 or (exact and abs(exact) < Fraction(1, 2**500)):
        raise bad_value(f"${name} must be of an ordinary size: change the unit of the values")
    return exact


def _exact_step(step: object, dated: bool) -> Fraction:
    if dated and isinstance(step, datetime.timedelta):
        step = Fraction(step / datetime.timedelta(days=1))
    wide = _exact("step", step)
    if isinstance(step, datetime.date) or wide <= 0:
        raise bad_value("$step must be above 0, for example $step=1")
    if dated and wide.denominator != 1:
        raise bad_value("step of dates must be whole days, for example $step=7")
    return wide


def _step(first: Fraction, last: Fraction, whole: bool) -> Fraction:
    if whole:
        return Fraction(1)
    most = (last - first) / FINE
    wide = Fraction(2) ** (most.numerator.bit_length() - most.denominator.bit_length())
    while wide > most:
        wide /= 2
    return wide
