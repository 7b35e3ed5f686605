"""Exact utility of a guarded list (Theorem 194, 227): the draw of a list, and one-shot where there is none."""

from __future__ import annotations

from dataclasses import dataclass

from shortlist._arrays import Floats
from shortlist.exact.quality import Quality
from shortlist.exact.sequence_laws import SequenceLaw
from shortlist.mechanisms.guarded.law import matters, mixed
from shortlist.mechanisms.oneshot.law import OneshotLaw


@dataclass(frozen=True, slots=True)
class Utility:
    """How good what a guarded race or a switch of lists gives is."""

    lists: SequenceLaw
    """That of the list, unless one-shot is used: what its chances lack of 1 is one-shot's."""
    one_shot: OneshotLaw

    @property
    def guard(self) -> float:
        """P[one-shot is used]."""
        return max(0.0, 1.0 - float(self.lists.chances.sum()))

    def success(self) -> float:
        """P[the set is right]."""
        right, guard = self.lists.success(), self.guard
        return right + guard * self.one_shot.success() if matters(guard) else right

    def quality(self) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the set."""
        lists, guard = self.lists.quality(), self.guard
        return mixed(lists, guard, self.one_shot.quality()) if matters(guard) else lists

    def number_correct(self) -> Floats:
        """P[c of the items are correct], c = 0..k."""
        return self.lists.number_correct() + self.guard * self.one_shot.number_correct()

    def inclusion(self) -> Floats:
        """P[candidate is released], for every candidate."""
        lists, guard = self.lists.inclusion(), self.guard
        return lists + guard * self.one_shot.inclusion() if matters(guard) else lists
