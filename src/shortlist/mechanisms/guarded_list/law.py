"""Exact utility of a guarded list (Theorem 194): the race of all lists, and one-shot if the guard arrives first."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.quality import Quality
from shortlist.exact.score_intervals import Contest, kth_largest
from shortlist.exact.sequence_classes import Ladder
from shortlist.exact.sequence_laws import SequenceLaw, levels
from shortlist.exact.sequence_races import race_chances
from shortlist.mechanisms.guarded.law import mixed
from shortlist.mechanisms.oneshot.law import inclusion_probabilities, number_correct, quality, right_probability


@dataclass(frozen=True, slots=True)
class Utility:
    """How good what a guarded race of lists gives is."""

    law: SequenceLaw
    """That of the race, if a list wins."""
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
        v: float,
        a: float,
        values: Values,
        noise: Noise,
        scale: Fraction,
    ) -> Utility:
        """The utility of a race with a guard at v, of rate a; -inf if there is none, inf if one-shot is used anyway."""
        support = levels(steps, rate)
        chances = np.zeros(len(support.losses)) if v == np.inf else race_chances(support, v, a)
        placed = Contest(values, steps.k, scale, noise, kth_largest(values, steps.k)).positions(values)
        seen = np.where(values == -np.inf, -np.inf, placed)
        return cls(SequenceLaw(support, chances), candidates, seen, noise)

    @property
    def k(self) -> int:
        return self.law.support.steps.k

    @property
    def guard(self) -> float:
        """P[the guard wins]."""
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
