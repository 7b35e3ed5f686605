"""The exact law of the hybrids: a race of items and a line, both with exponential noise (Proposition 263)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from shortlist.exact.line_race import LineRace
from shortlist.exact.noise_distributions import EXPONENTIAL
from shortlist.exact.partial_reals import rounded
from shortlist.exact.score_intervals import Contest
from shortlist.sampling.threshold_runner import Runner
from shortlist.scores import Scores


def race_of(scores: Scores, threshold: int | float, k: int, scale: Fraction, line: Runner) -> LineRace:
    """Scores above the threshold in units of their noise, and where the line stands and how wide its noise is."""
    values = scores.values
    places = Contest(values, 1, scale, EXPONENTIAL, threshold).positions(values)
    start = rounded((line.centre - Fraction(threshold)) / scale)
    return LineRace(np.where(values == -np.inf, -np.inf, places), k, EXPONENTIAL, rounded(scale / line.scale), start)
