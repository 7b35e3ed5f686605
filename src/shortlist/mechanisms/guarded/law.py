"""Exact utility of guarded top-k (Theorem 123, 174): the race of all subsets, unless the guard arrives first.

The guard arrives at e^-v U^(1/a), so it has not arrived at time s with chance F(s) = (1 - (s e^v)^a)_+. Every integral
of `subset_chances` gets that factor. F is not smooth at 0, so the integrals are taken in ln s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from shortlist._arrays import Floats, Mask, Values
from shortlist.exact.effort import is_rough
from shortlist.exact.noise_distributions import GUMBEL
from shortlist.exact.quality import Quality, quality_by, ranks_within
from shortlist.exact.ranked_subsets import Ranking, ranked
from shortlist.exact.subset_chances import Chances, chances, covered, log_integral, survival_of, thinned
from shortlist.exact.subset_classes import Classes
from shortlist.mechanisms.canonical.law import cuts_of, inclusion_of, number_correct_of, quality_of, right_of
from shortlist.mechanisms.guarded.switch import Switch
from shortlist.mechanisms.oneshot.law import OneshotLaw, number_correct, within_ranks

if TYPE_CHECKING:
    from shortlist.mechanisms.guarded.mechanism import GuardedRace

NEVER, NEVER_ROUGHLY = 1e-10, 1e-7
"""A guard that wins with less chance is left out: a hundredth of what laws are exact to."""
PANELS = 40
"""Panels of one nat below the end of the integrals: what lies below them is less than e^-40."""


def guarded_chances(classes: Classes, v: float, a: float, cuts: tuple[int, ...] = ()) -> tuple[Chances, float]:
    """(the law of the class that wins, the chance of the guard) under exponential noise."""
    cells, left_out = covered(classes, cuts)
    mass = 0.5 * (cells.lower + cells.upper)
    loss = classes.rise[cells.row] + 0.5 * (classes.fall[cells.first] + classes.fall[cells.last])
    end, _ = survival_of(mass, loss, np.zeros(1))
    node, weight = _log_panels(min(end, -v))
    _, survival = survival_of(mass, loss, np.exp(node - end))
    still_out = survival + np.log(-np.expm1(np.minimum(a * (node + v), 0.0)))
    top = log_integral(end, still_out, weight * np.exp(node - end))
    cell = mass + thinned(loss, end, still_out, np.exp(node - end), weight * np.exp(node - end))
    guard = max(0.0, 1.0 - math.exp(top) - float(np.exp(cell).sum()))
    # a subset left out wins before the integrals end, with p s far below 1: at most with twice its mass times that end
    return Chances(classes, cells, cell, top, math.exp(min(left_out + end, -1.0) + math.log(2.0))), guard


def switched_chances(classes: Classes, log_odds: float, cuts: tuple[int, ...] = ()) -> tuple[Chances, float]:
    """(the law of the class that wins under Gumbel noise where canonical is chosen, the chance of one-shot)."""
    law, log_chance = chances(classes, GUMBEL, cuts), -float(np.logaddexp(0.0, -log_odds))
    chosen = replace(law, cell=law.cell + log_chance, top=law.top + log_chance)
    return chosen, math.exp(-float(np.logaddexp(0.0, log_odds)))


def _log_panels(end: float) -> tuple[Floats, Floats]:
    """Gauss nodes and weights for an integral over ln s up to `end`."""
    node, weight = np.polynomial.legendre.leggauss(8)
    middles = end - 0.5 - np.arange(PANELS)
    return (middles[:, None] + node / 2).ravel(), np.tile(weight / 2, PANELS)


def mixed(race: Quality, guard: float, fallback: Quality) -> Quality:
    """What the race gives, and what follows if the guard wins."""
    return Quality(*(getattr(race, name) + guard * getattr(fallback, name) for name in Quality.__slots__))


def matters(guard: float) -> bool:
    """Whether the guard is likely enough to ask what follows: without it a chance is less by at most as much."""
    return guard > (NEVER_ROUGHLY if is_rough() else NEVER)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What is left of d candidates when one-shot picks k of them, by their negated scores: d - k."""

    gone: OneshotLaw
    """That of the losers, who are picked."""

    @property
    def k(self) -> int:
        return len(self.gone.s) - self.gone.k

    def quality(self) -> Quality:
        """P[top], P[great], P[good] and the expected recall of the k that are left."""
        s, losers, noise = self.gone.s, self.gone.k, self.gone.noise
        d, (great, good) = len(s), ranks_within(np.sort(s), self.k)

        def within(head: int, reach: int) -> float:
            return within_ranks(s, losers, max(d - reach, 0), d - head, noise)

        return quality_by(
            self.gone.success,
            lambda: within(*great),
            lambda: within(*good),
            lambda: min(1.0, float(self.inclusion()[~self._wrong()].sum()) / self.k),
        )

    def number_correct(self) -> Floats:
        """P[c of the k that are left score at least the k-th largest], c = 0..k."""
        wrong, result = int(self._wrong().sum()), np.zeros(self.k + 1)
        if not wrong:
            result[self.k] = 1.0
            return result
        gone = number_correct(self.gone.s, self.gone.k, self.gone.noise, wrong)  # how many wrong ones were picked
        picked = np.arange(max(wrong - self.k, 0), min(wrong, self.gone.k) + 1)
        result[self.k - wrong + picked] = gone[picked]
        return result

    def inclusion(self) -> Floats:
        """P[candidate is left], for every candidate."""
        return 1.0 - self.gone.inclusion()

    def _wrong(self) -> Mask:
        """Who scores below the k-th largest."""
        wrong: Mask = self.gone.s > np.sort(self.gone.s)[self.k - 1]
        return wrong


def negated(values: Values) -> Values:
    """Scores in reverse, up to a shift that changes nothing; for integers without overflow."""
    return -values if values.dtype.kind == "f" else ~values


@dataclass(frozen=True, slots=True)
class Utility:
    """How good what a guarded race gives is: the race by its classes, and one-shot if the guard wins."""

    run: GuardedRace
    size: int
    """How many candidates the caller has, with those that are never chosen."""

    def success(self) -> float:
        """P[the set is right]: it is right for the winners iff it is for the losers."""
        ranking = self.run.guard.ranking
        law, guard = self.chances(ranking)
        right = right_of(ranking, law)
        return right + guard * self._one_shot.success() if matters(guard) else right

    def quality(self) -> Quality:
        """Of the items kept: the race by its classes, and one-shot if the guard wins."""
        ranking = self._seen()
        law, guard = self.chances(ranking)
        race = quality_of(ranking, law)
        return mixed(race, guard, self._fallback.quality()) if matters(guard) else race

    def number_correct(self) -> Floats:
        """P[c of the items kept are correct], c = 0..k."""
        ranking = self._seen()
        law, guard = self.chances(ranking)
        return number_correct_of(ranking, law) + guard * self._fallback.number_correct()

    def inclusion(self) -> Floats:
        """P[candidate is kept], for every candidate of the caller."""
        ranking, result = self._seen(), np.zeros(self.size)
        law, guard = self.chances(ranking)
        race = inclusion_of(ranking, law, len(self.run.chosen))
        result[self.run.chosen] = race + guard * self._fallback.inclusion() if matters(guard) else race
        return result

    @property
    def guard(self) -> float:
        """P[the guard wins]."""
        return self.chances(self.run.guard.ranking)[1]

    def chances(self, ranking: Ranking) -> tuple[Chances, float]:
        """(the law of the class of the set, seen from that ranking; the chance of the guard)."""
        guard, classes, cuts = self.run.guard, ranking.classes(), cuts_of(ranking)
        if isinstance(guard, Switch):
            return switched_chances(classes, (guard.low + guard.high) / 2, cuts)
        low, high = guard.bounds(fine=True)
        return guarded_chances(classes, (low + high) / 2, float(guard.a), cuts)

    def _seen(self) -> Ranking:
        """The ranking of the winners: mirrored, the classes are those of the losers with i and j exchanged."""
        ranking = self.run.guard.ranking
        if not self.run.mirrored:
            return ranking
        k, rate = len(self.run.finite) - ranking.k, ranking.inner + ranking.outer
        return ranked(negated(self.run.finite), k, rate, ranking.outer / rate, gap_aware=True)

    @property
    def _one_shot(self) -> OneshotLaw:
        """The law of those whom one-shot picks, if the guard wins."""
        fallback = self.run.fallback
        return OneshotLaw.of(self.run.finite, self.run.guard.ranking.k, fallback.scale, fallback.noise)

    @property
    def _fallback(self) -> OneshotLaw | Leftovers:
        """The law of the items that are kept then: those that it picks, or the others where it picks the losers."""
        return Leftovers(self._one_shot) if self.run.mirrored else self._one_shot
