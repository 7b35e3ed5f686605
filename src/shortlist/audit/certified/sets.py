"""The certified laws of sets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, comb
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.audit.certified.base import Law, choice_law, choice_with_guard, noise_name, power, rational, set_law

if TYPE_CHECKING:
    from shortlist.mechanisms.sets import CanonicalTopK, GuardedTopK
    from shortlist.scores import Scores


def utilities(x: Sequence[Any], k: int, gamma: Fraction, *, paper: bool = False) -> dict[tuple[int, ...], Fraction]:
    """u(y) = g min(inside) - (1-g) max(outside) of every k-subset, straight from the definition (Definition 62)."""
    result = {}
    for subset in combinations(range(len(x)), k):
        inside = min(Fraction(x[i]) for i in subset)
        outside = max(Fraction(x[i]) for i in range(len(x)) if i not in subset)
        result[subset] = gamma * inside - (1 - gamma) * (max(inside, outside) if paper else outside)
    return result


def utilities_in_users(x: Sequence[Any], k: int, span: Fraction) -> dict[tuple[int, ...], Fraction]:
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


def canonical_law(mechanism: CanonicalTopK, scores: Scores) -> Law:
    """{set: chance} for all sets of k."""
    if mechanism.loss == "rounded" and mechanism.k < len(scores):
        u = utilities_in_users(scores.values.tolist(), mechanism.k, scores.range_sensitivity)
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


Chosen = tuple[int, ...]
Utilities = Mapping[Chosen, Fraction]
Sets = Collection[Chosen]

TAU, SWITCH_TAU, SLOPE = Fraction(2), Fraction(16), Fraction(1, 4)
HALF = Fraction(1, 2)


def law_of_guarded_set(mechanism: GuardedTopK, scores: Scores) -> Law:
    """(set, the way it went); without a guard it is canonical top-k, and for k > d / 2 the losers are chosen."""
    x = scores.values.tolist()
    k, mirrored = min(mechanism.k, len(x) - mechanism.k), 2 * mechanism.k > len(x)
    budget = type(mechanism.guarantee).__name__
    rho = _rho(k, budget)
    looks = getattr(mechanism.guarantee, "epsilon", 1.0) > 0
    if k <= 2 or not looks or not any(_is_junk(i, j, k, rho) for i in range(k) for j in range(len(x) - k)):
        return _without_guard(mechanism, scores)
    rate, one_shot = mechanism._rate(scores), mechanism._one_shot(scores, k, len(x))  # which noise and how much
    x = [-value for value in x] if mirrored else x
    u = {y: rate * value for y, value in utilities(x, k, _gamma(k, budget)).items()}
    ranks = sorted(range(len(x)), key=lambda i: (-x[i], i))
    junk = {y for y in u if _is_junk(*_class(y, ranks), k, rho)}
    law, left = (_switch if budget == "ZCDP" else _race_guard)(u, junk, _hazard(k, len(x)))
    chances: dict[Any, arb] = {(y, "canonical"): p for y, p in zip(u, law, strict=True)}
    after = set_law(x, k, noise_name(one_shot.noise), one_shot.scale)
    chances |= {(y, "one-shot"): left * p for y, p in after.items()}
    if mirrored:
        chances = {(tuple(i for i in range(len(x)) if i not in y), used): p for (y, used), p in chances.items()}
    return Law(chances)


def _race_guard(u: Utilities, junk: Sets, hazard: Fraction) -> tuple[list[arb], arb]:
    """(P[each set wins], P[the guard does]): its score is tau above the weight of the junk (Definition 72)."""
    return choice_with_guard(list(u.values()), arb(rational(TAU)) + _weight(u, junk).log(), hazard)


def _switch(u: Utilities, junk: Sets, _: Fraction) -> tuple[list[arb], arb]:
    """(P[canonical, and each set], P[one-shot]): the switch, then Gumbel noise on the sets (Definition 171)."""
    lead = _weight(u, u.keys() - junk).log() - _weight(u, junk).log()
    one_shot = 1 / (1 + (arb(rational(SLOPE)) * (lead - arb(rational(SWITCH_TAU)))).exp())
    return [(1 - one_shot) * p for p in choice_law(list(u.values()), "gumbel")], one_shot


def _weight(u: Utilities, sets: Sets) -> arb:
    return sum((power(rational(u[y])) for y in sets), start=arb(0))


def _without_guard(mechanism: GuardedTopK, scores: Scores) -> Law:
    """Canonical top-k with the whole budget: exponential noise where it is pure, Gumbel noise elsewhere."""
    x, k = scores.values.tolist(), mechanism.k
    if k == len(x):
        return Law({(tuple(range(k)), "canonical"): arb(1)})
    u = utilities(x, k, public_gamma(k, len(x)))
    rate = mechanism._canonical._rate(scores)
    noise = "exponential" if type(mechanism.guarantee).__name__ == "PureDP" else "gumbel"
    law = choice_law([rate * value for value in u.values()], noise)
    return Law({(y, "canonical"): p for y, p in zip(u, law, strict=True)})


def _hazard(k: int, d: int) -> Fraction:
    """a = max(1, floor(256 min(1/4, 1.2 / sqrt(ln C(d, k))))) / 256 (Definition 72)."""
    share = arb(rational(Fraction(6, 5))) / arb(comb(d, k)).log().sqrt()
    if share >= arb(rational(Fraction(1, 4))):
        return Fraction(1, 4)
    whole = (256 * share).floor().unique_fmpz()
    assert whole is not None, "the hazard of the guard needs more precision"
    return Fraction(max(1, int(whole)), 256)


def _gamma(k: int, budget: str) -> Fraction:
    """g: 3/5 for 3 to 30 items, 1/2 for more and under zCDP (Definition 251)."""
    return HALF if budget == "ZCDP" or k > 30 else Fraction(3, 5)


def _rho(k: int, budget: str) -> Fraction:
    """Sets with an expected recall below it are junk (Definition 72, 169, 171)."""
    if budget == "ZCDP":
        return Fraction(9, 20) if k < 12 else Fraction(3, 4) if k < 40 else Fraction(9, 10)
    if budget == "ApproxDP":
        return Fraction(2, 5) if k < 32 else Fraction(3, 5)
    return Fraction(2, 5) if k < 32 else HALF if k < 320 else Fraction(3, 5)


def _is_junk(i: int, j: int, k: int, rho: Fraction) -> bool:
    """Whether sets of class (i, j) expect more than (1 - rho) k wrong members, 1 + i j / (i + j) (Definition 72)."""
    return i * j > ((1 - rho) * k - 1) * (i + j)


def _class(chosen: Chosen, ranked: Sequence[int]) -> tuple[int, int]:
    """(i, j): the first rank missing is k - i, the worst held is k + 1 + j, from 1; (0, 0) for the top k itself."""
    k, ranks = len(chosen), sorted(ranked.index(i) for i in chosen)
    if ranks == list(range(k)):
        return 0, 0
    missing = next(rank for rank in range(len(ranked)) if rank not in ranks)
    return k - 1 - missing, ranks[-1] - k
