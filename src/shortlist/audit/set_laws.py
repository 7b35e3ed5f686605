"""Certified laws of sets in one round: canonical, guarded and joint top-k (Definition 62, 72, 76)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

from flint import arb

from shortlist.audit.enumeration import Law
from shortlist.certified.curves import power, rational
from shortlist.certified.races import choice_law, guarded_choice, set_law
from shortlist.mechanisms import CanonicalTopK, GuardedTopK, JointTopK
from shortlist.mechanisms.canonical.mechanism import default_gamma
from shortlist.scores import Scores


def utilities(x: Sequence[Any], k: int, gamma: Fraction, *, paper: bool = False) -> dict[tuple[int, ...], Fraction]:
    """u(y) = g min(inside) - (1-g) max(outside) of every k-subset, straight from the definition (Definition 62)."""
    result = {}
    for chosen in combinations(range(len(x)), k):
        inside = min(Fraction(x[i]) for i in chosen)
        outside = max(Fraction(x[i]) for i in range(len(x)) if i not in chosen)
        result[chosen] = gamma * inside - (1 - gamma) * (max(inside, outside) if paper else outside)
    return result


def canonical(mechanism: CanonicalTopK, scores: Scores) -> Law:
    x = scores.values.tolist()
    if mechanism.k == len(x):
        return Law({tuple(range(len(x))): arb(1)})
    gamma = default_gamma(mechanism.k, len(x)) if mechanism.gamma is None else Fraction(mechanism.gamma)
    u = utilities(x, mechanism.k, gamma, paper=mechanism.loss == "paper")
    rate = mechanism._rate(scores)
    return Law(dict(zip(u, choice_law([rate * value for value in u.values()], mechanism._kind.name), strict=True)))


def joint(mechanism: JointTopK, scores: Scores) -> Law:
    x = [Fraction(value) for value in scores.values.tolist()]
    ranked, rate = sorted(x, reverse=True), mechanism._rate(scores)
    orders = list(permutations(range(len(x)), mechanism.k))
    losses = [max(ranked[place] - x[i] for place, i in enumerate(order)) for order in orders]
    return Law(dict(zip(orders, choice_law([-rate * loss for loss in losses], "gumbel"), strict=True)))


def guarded(mechanism: GuardedTopK, scores: Scores) -> Law:
    """(set, the way it went); without a guard it is canonical top-k, and for k > d / 2 the losers are chosen."""
    run, x = mechanism._prepared(scores), scores.values.tolist()
    if run is None:
        return Law({(y, "canonical"): p for y, p in canonical(mechanism._canonical, scores).chances.items()})
    guard, ranking = run.guard, run.guard.ranking
    x, k = [-value for value in x] if run.mirrored else x, ranking.k
    rate = ranking.inner + ranking.outer
    u = {y: rate * value for y, value in utilities(x, k, ranking.inner / rate).items()}
    junk = sum((power(rational(u[y])) for y in u if _is_junk(y, x, k, guard.first)), start=arb(0))
    law, left = guarded_choice(list(u.values()), arb(rational(guard.tau)) + junk.log(), guard.a)
    chances: dict[Any, arb] = {(y, "canonical"): p for y, p in zip(u, law, strict=True)}
    chances |= {(y, "one-shot"): left * p for y, p in set_law(x, k, "exponential", run.scale).items()}
    if run.mirrored:
        chances = {(tuple(i for i in range(len(x)) if i not in y), used): p for (y, used), p in chances.items()}
    return Law(chances)


def _is_junk(chosen: tuple[int, ...], x: Sequence[Any], k: int, junk: Any) -> bool:
    """Whether the set's class (first rank missing, worst rank held) is junk; ties are ranked by position."""
    order = sorted(range(len(x)), key=lambda i: (-x[i], i))
    ranks = sorted(order.index(i) for i in chosen)
    if ranks == list(range(k)):
        return False
    missing = next(rank for rank in range(len(x)) if rank not in ranks)
    return bool(ranks[-1] - k >= junk[k - 1 - missing])
