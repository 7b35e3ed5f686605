"""The certified law of canonical sets in one round (Definition 62)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.certified.law import Law, noise_name
from shortlist.certified.races import choice_law

if TYPE_CHECKING:
    from shortlist.mechanisms.canonical.mechanism import CanonicalTopK
    from shortlist.scores import Scores


def utilities(x: Sequence[Any], k: int, gamma: Fraction, *, paper: bool = False) -> dict[tuple[int, ...], Fraction]:
    """u(y) = g min(inside) - (1-g) max(outside) of every k-subset, straight from the definition (Definition 62)."""
    result = {}
    for subset in combinations(range(len(x)), k):
        inside = min(Fraction(x[i]) for i in subset)
        outside = max(Fraction(x[i]) for i in range(len(x)) if i not in subset)
        result[subset] = gamma * inside - (1 - gamma) * (max(inside, outside) if paper else outside)
    return result


def rounded_utilities(x: Sequence[Any], k: int, span: Fraction) -> dict[tuple[int, ...], Fraction]:
    """u(y) = -ceil(max(M - m, 0) / span) span / 2: minus the users that y needs, each of whom moves M - m by span."""
    result = {}
    for subset in combinations(range(len(x)), k):
        inside = min(Fraction(x[i]) for i in subset)
        outside = max(Fraction(x[i]) for i in range(len(x)) if i not in subset)
        result[subset] = -ceil(max(outside - inside, Fraction(0)) / span) * span / 2
    return result


def public_gamma(k: int, d: int) -> Fraction:
    """The public rule: 1 for one winner, 0.9 for two, 1/2 beyond, and the complement for the losers (Definition 62)."""
    if 2 * k > d:
        return 1 - public_gamma(d - k, d)
    return Fraction(1) if k <= 1 else Fraction(9, 10) if k == 2 else Fraction(1, 2)


def law(mechanism: CanonicalTopK, scores: Scores) -> Law:
    """{set: chance} for all sets of k."""
    if mechanism.loss == "rounded" and mechanism.k < len(scores):
        u = rounded_utilities(scores.values.tolist(), mechanism.k, scores.range_sensitivity)
        return _won(mechanism, u, mechanism._rate(scores))
    return sets_law(mechanism, scores.values.tolist(), mechanism._rate(scores))


def sets_law(mechanism: CanonicalTopK, x: Sequence[Any], rate: Fraction) -> Law:
    """All sets of k, in a race of rate times utility plus noise."""
    k = mechanism.k
    if k == len(x):
        return Law({tuple(range(k)): arb(1)})
    gamma = public_gamma(k, len(x)) if mechanism.gamma is None else Fraction(mechanism.gamma)
    u = utilities(x, k, gamma, paper=mechanism.loss == "paper")
    return _won(mechanism, u, rate)


def _won(mechanism: CanonicalTopK, u: dict[tuple[int, ...], Fraction], rate: Fraction) -> Law:
    return Law(dict(zip(u, choice_law([rate * value for value in u.values()], _noise(mechanism)), strict=True)))


def _noise(mechanism: CanonicalTopK) -> str:
    """None is exponential noise under a pure budget and Gumbel noise under any other."""
    if mechanism.noise is not None:
        return noise_name(mechanism.noise)
    return "exponential" if type(mechanism.guarantee).__name__ == "PureDP" else "gumbel"
