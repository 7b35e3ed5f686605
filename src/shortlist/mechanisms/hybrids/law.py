"""The exact law of the hybrids: a race of items and a line, both with exponential noise (Proposition 263).

Both classes take the functions below `Hybrid` as their methods, by name.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, Unpack

import numpy as np

from shortlist._arrays import Floats
from shortlist.exact.line_race import LineRace
from shortlist.exact.noise_distributions import EXPONENTIAL
from shortlist.exact.partial_reals import rounded
from shortlist.exact.quality import Quality
from shortlist.exact.score_intervals import Contest
from shortlist.sampling.race_batch import Runner
from shortlist.scores import Scores, ScoreWords


def race_of(scores: Scores, threshold: int | float, k: int, scale: Fraction, line: Runner) -> LineRace:
    """Scores above the threshold in units of their noise, and where the line stands and how wide its noise is."""
    values = scores.values
    places = Contest(values, 1, scale, EXPONENTIAL, threshold).positions(values)
    start = rounded((line.centre - Fraction(threshold)) / scale)
    return LineRace(np.where(values == -np.inf, -np.inf, places), k, EXPONENTIAL, rounded(scale / line.scale), start)


class Hybrid(Protocol):
    """A mechanism that names at most k, those ahead of a noisy threshold."""

    def _studied(self, scores: object, question: ScoreWords, /) -> Scores: ...

    def _law(self, scores: Scores, /) -> LineRace: ...


def probabilities(self: Hybrid, scores: object, **question: Unpack[ScoreWords]) -> dict[tuple[int, ...], float]:
    """P[each set of at most k candidates], by their positions: exact, to 1e-9, where there are at most 100,000."""
    return self._law(self._studied(scores, question)).sets()


def success_probability(self: Hybrid, scores: object, **question: Unpack[ScoreWords]) -> float:
    """P[released are the k best of those above the threshold, or all of these if they are fewer]: exact, to 1e-9.

    Equal scores count as equal, and whoever is exactly at the threshold may be released or not.
    """
    return self._law(self._studied(scores, question)).right()


def quality(self: Hybrid, scores: object, **question: Unpack[ScoreWords]) -> Quality:
    """P[top], P[great], P[good] and the expected recall (Definition 118), of as many as are right: exact, to 1e-9.

    `top` is `success_probability`; where nobody is above the threshold all four are.
    """
    return self._law(self._studied(scores, question)).quality()


def inclusion_probabilities(self: Hybrid, scores: object, **question: Unpack[ScoreWords]) -> Floats:
    """P[candidate i is released], for every candidate: exact, to 1e-9."""
    return self._law(self._studied(scores, question)).inclusion()


def number_released(self: Hybrid, scores: object, **question: Unpack[ScoreWords]) -> Floats:
    """P[n items are released], n = 0..k: exact, to 1e-9. What it costs depends on this number."""
    return self._law(self._studied(scores, question)).numbers()
