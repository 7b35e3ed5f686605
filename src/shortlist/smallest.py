"""The smallest scores as the largest of negated ones: `largest=False` of top_k and select (Proposition 214)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from shortlist._arrays import Indices, Values, checked_flag
from shortlist._table_names import Names, NamesOfGroups, Pick
from shortlist.grouped_scores import GroupedScores
from shortlist.scores import PlainWords, Scores, ScoreWords, as_scores

LARGEST = np.iinfo(np.int64).max
NOTE = "these are the smallest, not the largest"


def question_of(scores: object, question: ScoreWords) -> Scores:
    """The question to a mechanism: `Scores`, or plain values with their words; `largest=False` negates them."""
    if not question:
        return as_scores(scores)
    plain = cast(PlainWords, {word: said for word, said in question.items() if word != "largest"})
    data = as_scores(scores, **plain)
    return data if checked_flag("largest", question.get("largest", True)) else smallest_first(data)


def smallest_first(scores: Scores) -> Scores:
    """The same question with every score negated; a release from it shows values as they were.

    Raises
    ------
    ValueError
        if the candidates are not public, or some may never be chosen: which ones these are is public.
    """
    check_smallest(scores.public)
    if scores._names is not None:
        turned = scores._with("_values", None)._with("_names", Backwards(scores._names))
    else:
        turned = scores._with("_values", _negated(scores._numbers))
    return turned._with("_turned", True)


def check_smallest(public: bool) -> None:
    """Refuse the smallest of a list that comes from the data."""
    if not public:
        raise ValueError(
            "largest=False needs a public list of candidates: of names that come from the data the smallest count "
            "would be one person's own. Give candidates=, or public=True if the labels are public"
        )


def _negated(values: Values) -> Values:
    if values.dtype.kind == "f":
        if np.isneginf(values).any():
            raise ValueError(
                "a score of -inf is of a candidate that may never be chosen, and also the smallest: with largest=False "
                "leave such candidates out"
            )
        return -values
    # the least of all 64-bit integers has no negative: one more moves no score further than it moved
    return -np.maximum(values.astype(np.int64), -LARGEST)


@dataclass(frozen=True, slots=True, repr=False)
class Backwards:
    """The same candidates of a table, the smallest score first."""

    _names: Names

    @property
    def scores(self) -> Values:
        return -self._names.scores[::-1]

    @property
    def sizes(self) -> Indices:
        return self._names.sizes[::-1]

    def names(self, positions: Sequence[int]) -> list[Hashable]:
        last = int(self._names.sizes.sum()) - 1
        return self._names.names([last - int(position) for position in positions])


def smallest_of_groups(groups: GroupedScores) -> GroupedScores:
    """The same question with every score of every group negated."""
    names = None if groups._names is None else BackwardsInGroups(groups._names, groups._make)
    template = smallest_first(groups._template)
    return groups._with(template, lambda group: smallest_first(groups._make(group)), names)


@dataclass(frozen=True, slots=True, repr=False)
class BackwardsInGroups:
    """The same candidates of many groups, the smallest score of each group first."""

    _names: NamesOfGroups
    _make: Callable[[int], Scores]

    @property
    def number(self) -> int:
        return self._names.number

    def keys(self, groups: Sequence[int]) -> list[Hashable]:
        return self._names.keys(groups)

    def names(self, picks: Sequence[Pick]) -> list[list[Hashable]]:
        return self._names.names([pick._replace(positions=self._turned(pick)) for pick in picks])

    def _turned(self, pick: Pick) -> list[int]:
        last = self._make(pick.group)._size - 1
        return [last - int(position) for position in pick.positions]
