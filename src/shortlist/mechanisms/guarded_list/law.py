"""Exact utility of a guarded list (Theorem 194, 227): the draw of a list, and one-shot where there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.quality import Quality
from shortlist.exact.score_intervals import Contest, kth_largest
from shortlist.exact.sequence_classes import Ladder
from shortlist.exact.sequence_laws import Levels, SequenceLaw, levels
from shortlist.mechanisms.guarded.law import mixed
from shortlist.mechanisms.oneshot.law import inclusion_probabilities, number_correct, quality, right_probability


@dataclass(frozen=True, slots=True)
class Utility:
    """How good what a guarded race or a switch of lists gives is."""

    law: SequenceLaw
    """That of the list, unless one-shot is used."""
    candidates: Indices
    positions: Floats
    """The scores of all candidates in units of one-shot's noise; -inf for those that are never chosen."""
    noise: Noise
    """That of one-shot."""

    @classmethod
    def of(
        cls,
        steps: Ladder,
        rate: Fraction,
        candidates: Indices,
        chances: Callable[[Levels], Floats],
        values: Values,
        noise: Noise,
        scale: Fraction,
    ) -> Utility:
        """The utility of lists whose levels have these chances; what they lack of 1 is one-shot's."""
        support = levels(steps, rate)
        placed = Contest(values, steps.k, scale, noise, kth_largest(values, steps.k)).positions(values)
        seen = np.where(values == -np.inf, -np.inf, placed)
        return cls(SequenceLaw(support, chances(support)), candidates, seen, noise)

    @property
    def k(self) -> int:
        return self.law.support.steps.k

    @property
    def guard(self) -> float:
        """P[one-shot is used]."""
        return max(0.0, 1.0 - float(self.law.chances.sum()))

    def success(self) -> float:
        """P[the set is right]."""
        return self.law.success() + self.guard * right_probability(self.positions, self.k, self.noise)

    def quality(self) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the set."""
        return mixed(self.law.quality(), self.guard, quality(self.positions, self.k, self.noise))

    def number_correct(self) -> Floats:
        """P[c of the items are correct], c = 0..k."""
        return self.law.number_correct() + self.guard * number_correct(self.positions, self.k, self.noise)

    def inclusion(self) -> Floats:
        """P[candidate is released], for every candidate."""
        race = self.law.inclusion(self.candidates, len(self.positions))
        return race + self.guard * inclusion_probabilities(self.positions, self.k, self.noise)
