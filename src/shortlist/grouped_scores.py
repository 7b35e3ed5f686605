"""The question, once for every group: scores with a key each, and in how many groups one person is.

Nothing here draws, and nothing here prints a score or a key that is not public.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Self

from shortlist._arrays import Frame, checked_flag
from shortlist._table_names import NamesOfGroups
from shortlist.errors import bad_type, bad_value
from shortlist.scores import HIDDEN, PlainWords, Scores, as_scores

MANY = 1_000_000
"""Lists of scores in one call."""


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

    __slots__ = ("_by", "_frame", "_keys", "_make", "_names", "_parts", "_per_user", "_size", "_template")

    _by: tuple[str, ...]
    _frame: Frame | None
    _keys: tuple[Hashable, ...] | None
    _make: Callable[[int], Scores]
    _names: NamesOfGroups | None
    _parts: dict[Hashable, int]
    _per_user: int
    _size: int | None
    _template: Scores

    def __init__(self) -> None:
        raise bad_type('groups are counted: sl.count(rows, $user=.., $item=.., $by="country")')

    @classmethod
    def _of(
        cls,
        template: Scores,
        make: Callable[[int], Scores],
        *,
        names: NamesOfGroups | None,
        keys: Sequence[Hashable] | None,
        by: tuple[str, ...],
        per_user: int,
        frame: Frame | None,
        size: int | None = None,
    ) -> Self:
        """`make` gives the scores of a group by its number; `template` has what is public of all of them."""
        made = object.__new__(cls)
        made._template = template
        made._make = make
        made._names = names
        made._keys = None if keys is None else tuple(keys)
        made._by = by
        made._per_user = per_user
        made._frame = frame
        made._size = size
        made._parts = {} if keys is None else {key: n for n, key in enumerate(keys)}
        return made

    @classmethod
    def _of_vectors(cls, vectors: Sequence[Any], parallel: object, question: PlainWords) -> Self:
        """Lists of scores, keyed 0, 1, ..: one person may be in all of them, or in one alone if they are `parallel`."""
        one_each = checked_flag("parallel", parallel)
        if not 1 <= len(vectors) <= MANY:
            raise bad_value(f"$scores: give 1 to {MANY:,} lists of scores")
        parts = [as_scores(vector, **({} if isinstance(vector, Scores) else question)) for vector in vectors]
        facts = {(one.neighbours, one.unit, one.public, one.most, one._capped is None, one.columns) for one in parts}
        if len(facts) > 1:  # the mechanism is chosen by them, once for all lists
            raise bad_value(
                "$scores: all lists must be alike in unit, neighbours, whether they are public, most and item columns"
            )
        if one_each and parts[0].neighbours == "replace":
            raise ValueError(
                'parallel=True is for neighbours="add-remove": a person who is replaced leaves one list and enters '
                "another"
            )
        most = 1 if one_each else len(parts)
        return cls._of(
            parts[0], parts.__getitem__, names=None, keys=range(len(parts)), by=(), per_user=most,
            frame=parts[0].frame,
        )  # fmt: skip

    def _with(self, template: Scores, make: Callable[[int], Scores], names: NamesOfGroups | None) -> Self:
        """The same groups with other scores."""
        return self._of(
            template, make, names=names, keys=self._keys, by=self._by, per_user=self._per_user, frame=self._frame,
            size=self._size,
        )  # fmt: skip

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that make the key of a group."""
        return self._by

    @property
    def groups_per_user(self) -> int:
        """In how many groups one person counts, at most."""
        return self._per_user

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """The public keys, in the order given; of keys that come from the data a ValueError."""
        if self._keys is None:
            raise ValueError(HIDDEN.format("which groups there are"))
        return self._keys

    @property
    def public(self) -> bool:
        """Whether the candidates are public knowledge."""
        return self._template.public

    @property
    def public_groups(self) -> bool:
        """Whether the keys are."""
        return self._keys is not None

    @property
    def unit(self) -> str:
        """What one "person" is."""
        return self._template.unit

    @property
    def neighbours(self) -> str:
        """Which pairs of data sets count as differing in one person."""
        return self._template.neighbours

    @property
    def most(self) -> int | None:
        """How many candidates one person counts for in each group, at most, where that was capped."""
        return self._template.most

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.groups)

    def __contains__(self, key: object) -> bool:
        return key in self.groups

    def __getitem__(self, key: Hashable) -> Scores:
        """The scores of one group, to be released on their own, at a charge of their own."""
        if key not in self.groups:
            raise KeyError(key)
        return self._make(self._parts[key])

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self._template.from_table:
            raise TypeError(HIDDEN.format("a copy or pickle, which holds all of them,"))
        return super().__reduce_ex__(protocol)

    @property
    def _number(self) -> int:
        """How many groups there are: private, unless the keys are public."""
        if self._keys is not None:
            return len(self._keys)
        assert self._names is not None
        return self._names.number

    def __repr__(self) -> str:
        count = "groups from data" if self._keys is None else f"{len(self._keys)} group{'s' * (len(self._keys) != 1)}"
        by = f" by {', '.join(self._by)}" if self._by else ""
        listed = "candidates by group" if self._size is None else f"{self._size} candidates"
        candidates = listed if self.public else "candidates from data"
        capped = "" if self.most is None else f", most={self.most}"
        public = ", public" if self.public else ""
        return f"GroupedScores({count}{by}, {self._per_user} per user, {candidates}{capped}{public})"
