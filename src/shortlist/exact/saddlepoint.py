"""A crowd seen from a level, tilted so that a wanted number of its items is expected above.

At the level z an item exceeds with chance p = S(z - s) and stays below with chance o = F(z - s). Under the tilt r it
exceeds with chance ``pi = p r / (o + p r)``. Tilting turns the coefficient of w^m in ``prod (o + p w)`` into e^Lambda
times the chance that m items exceed, ``Lambda = sum ln(o + p r) - m ln r``; that chance is not small if m is about
what is expected. The complement o is always F itself, never 1 - p.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shortlist._arrays import Floats, Indices, Mask
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.weighted_scores import Crowd

_LARGEST_LOG_TILT = 700.0

_FEW = 8
"""So many steps to a tilt are enough for a bound, which holds for every tilt."""


@dataclass(frozen=True, slots=True)
class Tilted:
    """A crowd at some levels (rows) under a tilt (ln r, one per row), site by site (columns).

    ``rest`` is min(pi, 1 - pi), ``major`` marks pi > 1/2, ``density`` is f / (o + p r), and ``log_products`` is
    sum ln(o + p r) minus one ln r for each item with pi > 1/2.
    """

    rest: Floats
    major: Mask
    density: Floats
    log_tilt: Floats
    log_products: Floats

    @property
    def chance(self) -> Floats:
        """pi: the chance of one item of each site to exceed the level, under the tilt."""
        return np.where(self.major, 1.0 - self.rest, self.rest)

    @property
    def spread(self) -> Floats:
        """pi (1 - pi): the variance of one item of each site."""
        return self.rest * (1.0 - self.rest)

    def log_scale(self, crowd: Crowd, number: int) -> Floats:
        """Lambda for the coefficient of w^number."""
        surplus = self.major @ crowd.weights + crowd.sure - number
        result: Floats = self.log_products + self.log_tilt * surplus
        return result

    def among(self, sites: Indices) -> Tilted:
        """The same at some of the sites; log_products still that of all."""
        return Tilted(
            self.rest[:, sites], self.major[:, sites], self.density[:, sites], self.log_tilt, self.log_products
        )


def tilt(crowd: Crowd, noise: Noise, nodes: Floats, target: float) -> Tilted:
    """The crowd tilted so that about ``target`` items are expected above each node.

    Where that cannot be reached the tilt stops at e^+-700, and the coefficients come out as the zeros they are.
    """
    x = nodes[:, None] - crowd.values
    log_p, log_o = noise.log_survival(x), noise.log_cdf(x)
    log_tilt = _solve(log_p - log_o, crowd.weights, target - crowd.sure)
    return _tilted(crowd, noise, x, (log_p, log_o), log_tilt)


def untilted(crowd: Crowd, noise: Noise, nodes: Floats) -> Tilted:
    """The crowd as it is: what is small then stays small, and is known to a part of the whole."""
    x = nodes[:, None] - crowd.values
    return _tilted(crowd, noise, x, (noise.log_survival(x), noise.log_cdf(x)), np.zeros(len(nodes)))


def _tilted(crowd: Crowd, noise: Noise, x: Floats, logs: tuple[Floats, Floats], log_tilt: Floats) -> Tilted:
    """At x = z - s, with (ln p, ln o) there, one row for each level."""
    log_p, log_o = logs
    tilted = log_p - log_o + log_tilt[:, None]
    major = tilted > 0
    odds = np.exp(-np.abs(tilted))
    log_q = np.where(major, log_p, log_o) + np.log1p(odds)
    density = np.exp(noise.log_density(x) - log_q - np.where(major, log_tilt[:, None], 0.0))
    return Tilted(odds / (1.0 + odds), major, density, log_tilt, log_q @ crowd.weights)


def log_bounds(crowd: Crowd, noise: Noise, levels: Floats, number: int, *, side: int) -> Floats:
    """ln of Chernoff's bound on P[at least (side=1) or at most (side=-1) ``number`` items exceed each level]."""
    x = levels[:, None] - crowd.values
    log_p, log_o = noise.log_survival(x), noise.log_cdf(x)
    log_odds = log_p - log_o
    log_tilt = _solve(log_odds, crowd.weights, number - crowd.sure, _FEW)
    log_q = np.maximum(log_p + log_tilt[:, None], log_o) + np.log1p(np.exp(-np.abs(log_odds + log_tilt[:, None])))
    return np.where(log_tilt * side > 0, log_q @ crowd.weights + (crowd.sure - number) * log_tilt, 0.0)


def _solve(log_odds: Floats, weights: Floats, target: float, most: int = 100) -> Floats:
    """ln r per row, with sum weights / (1 + e^-(log_odds + ln r)) near ``target``: safeguarded Newton.

    A tenth of a standard deviation is near enough: the tilt decides the conditioning, not the result.
    """
    rows = log_odds.shape[0]
    low, high = np.full(rows, -_LARGEST_LOG_TILT), np.full(rows, _LARGEST_LOG_TILT)
    guess = np.zeros(rows)
    for _ in range(most):
        odds = -(log_odds + guess[:, None])
        np.minimum(np.maximum(odds, -_LARGEST_LOG_TILT, out=odds), _LARGEST_LOG_TILT, out=odds)
        chance = 1.0 / (1.0 + np.exp(odds, out=odds))
        excess = chance @ weights - target
        variance = np.maximum((chance * (1.0 - chance)) @ weights, 1e-300)
        if np.all((np.abs(excess) <= 0.01 + 0.1 * np.sqrt(variance)) | (high - low < 0.01)):
            break
        low, high = np.where(excess < 0, guess, low), np.where(excess > 0, guess, high)
        longest = 2.0 + np.abs(guess)
        newton = guess - np.minimum(np.maximum(excess / variance, -longest), longest)
        guess = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
    return guess
