"""The certified distributions of sets, and of ordered lists in one draw."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import ceil, comb, factorial
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.audit.certified import base
from shortlist.audit.certified.base import Entry, Law, add, choice_law, noise_name, ordered_law, power, rational

if TYPE_CHECKING:
    from shortlist.mechanisms.lists import GuardedListTopK, JointTopK, OrderedCanonicalTopK
    from shortlist.mechanisms.sets import CanonicalTopK, GuardedTopK
    from shortlist.scores import Scores


def _ends(x: Sequence[Any], k: int) -> Iterator[tuple[tuple[int, ...], Fraction, Fraction]]:
    """(every k-subset, its worst score, the best one outside)."""
    for subset in combinations(range(len(x)), k):
        outside = max(Fraction(x[i]) for i in range(len(x)) if i not in subset)
        yield subset, min(Fraction(x[i]) for i in subset), outside


def utilities(x: Sequence[Any], k: int, gamma: Fraction, *, paper: bool = False) -> dict[tuple[int, ...], Fraction]:
    """u(y) = g min(inside) - (1-g) max(outside) of every k-subset, straight from the definition (Definition 62)."""
    return {y: gamma * worst - (1 - gamma) * (max(worst, best) if paper else best) for y, worst, best in _ends(x, k)}


def utilities_in_users(x: Sequence[Any], k: int, span: Fraction) -> dict[tuple[int, ...], Fraction]:
    """u(y) = -ceil(max(M - m, 0) / span) span / 2: minus the users that y needs, each of whom moves M - m by span."""
    return {y: -ceil(max(best - worst, Fraction(0)) / span) * span / 2 for y, worst, best in _ends(x, k)}


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
    return _won(mechanism, utilities(x, k, gamma, paper=mechanism.loss == "paper"), rate)


def _won(mechanism: CanonicalTopK, u: dict[tuple[int, ...], Fraction], rate: Fraction) -> Law:
    """None is exponential noise under a pure budget and Gumbel noise under any other."""
    usual = "exponential" if type(mechanism.guarantee).__name__ == "PureDP" else "gumbel"
    noise = usual if mechanism.noise is None else noise_name(mechanism.noise)
    return Law(dict(zip(u, choice_law([rate * value for value in u.values()], noise), strict=True)))


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
        whole = mechanism._canonical  # the whole budget: exponential noise where it is pure, Gumbel noise elsewhere
        alone = sets_law(whole, x, Fraction(1) if len(x) == mechanism.k else whole._rate(scores))
        return Law({(y, "canonical"): p for y, p in alone.chances.items()})
    rate, one_shot = mechanism._rate(scores), mechanism._one_shot(scores, k, len(x))  # which noise and how much
    x = [-value for value in x] if mirrored else x
    u = {y: rate * value for y, value in utilities(x, k, _gamma(k, budget)).items()}
    ranks = sorted(range(len(x)), key=lambda i: (-x[i], i))
    junk = {y for y in u if _is_junk(*_class(y, ranks), k, rho)}
    law, left = (_switch if budget == "ZCDP" else _race_guard)(u, junk, _hazard(k, len(x)))
    chances: dict[Any, arb] = {(y, "canonical"): p for y, p in zip(u, law, strict=True)}
    after = base.set_law(x, k, noise_name(one_shot.noise), one_shot.scale)
    chances |= {(y, "one-shot"): left * p for y, p in after.items()}
    if mirrored:
        chances = {(tuple(i for i in range(len(x)) if i not in y), used): p for (y, used), p in chances.items()}
    return Law(chances)


def _race_guard(u: Utilities, junk: Sets, hazard: Fraction) -> tuple[list[arb], arb]:
    """(P[each set wins], P[the guard does]): its score is tau above the weight of the junk (Definition 72)."""
    return base.choice_with_guard(list(u.values()), arb(rational(TAU)) + _weight(u, junk).log(), hazard)


def _switch(u: Utilities, junk: Sets, _: Fraction) -> tuple[list[arb], arb]:
    """(P[canonical, and each set], P[one-shot]): the switch, then Gumbel noise on the sets (Definition 171)."""
    lead = _weight(u, u.keys() - junk).log() - _weight(u, junk).log()
    one_shot = _switch_chance(lead, SLOPE, SWITCH_TAU)
    return [(1 - one_shot) * p for p in choice_law(list(u.values()), "gumbel")], one_shot


def _switch_chance(lead: arb, slope: Fraction, tau: Fraction) -> arb:
    """P[one-shot] by how far the best is ahead of the junk."""
    return 1 / (1 + (arb(rational(slope)) * (lead - arb(rational(tau)))).exp())


def _weight(u: Utilities, sets: Sets) -> arb:
    return add(power(rational(u[y])) for y in sets)


def _hazard(k: int, d: int) -> Fraction:
    """a = max(1, floor(256 min(1/4, 1.2 / sqrt(ln C(d, k))))) / 256 (Definition 72)."""
    share = arb(rational(Fraction(6, 5))) / arb(comb(d, k)).log().sqrt()
    if share >= arb(rational(Fraction(1, 4))):
        return Fraction(1, 4)
    return Fraction(max(1, _floor(256 * share)), 256)


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


# Ordered lists in one draw


def joint_law(mechanism: JointTopK, scores: Scores) -> Law:
    """{sequence: chance} for all ordered sequences of k."""
    x = [Fraction(value) for value in scores.values.tolist()]
    ranking, rate = sorted(x, reverse=True), mechanism._rate(scores)
    orders = list(permutations(range(len(x)), mechanism.k))
    losses = [max(ranking[place] - x[i] for place, i in enumerate(order)) for order in orders]
    return Law(dict(zip(orders, choice_law([-rate * loss for loss in losses], "gumbel"), strict=True)))


def ordered_canonical_law(mechanism: OrderedCanonicalTopK, scores: Scores) -> Law:
    """{list: chance} for all ordered lists of k."""
    lost, rate = losses(scores.values.tolist(), mechanism.k), mechanism._rate(scores)
    chances = choice_law([-rate * loss for loss in lost.values()], noise_name(mechanism._kind))
    return Law(dict(zip(lost, chances, strict=True)))


def losses(x: Sequence[float], k: int) -> dict[tuple[int, ...], Fraction]:
    """The loss of every ordered list of k: its worst miss, or minus the least gap if the list is right."""
    exact = [Fraction(value) for value in x]
    best = sorted(exact, reverse=True)
    gap = min((best[i] - best[i + 1] for i in range(min(k, len(x) - 1))), default=Fraction(0))
    table = {}
    for order in permutations(range(len(x)), k):
        missed = max(best[place] - exact[i] for place, i in enumerate(order))
        table[order] = missed if missed > 0 else -gap
    return table


LIST_SLOPE, LIST_SWITCH_TAU = Fraction(1, 8), Fraction(40)


def law_of_guarded_list(mechanism: GuardedListTopK, scores: Scores) -> Law:
    """(list, the way it went); k is at most 2 where there is a guard."""
    x, k, zcdp = scores.values.tolist(), mechanism.k, type(mechanism.guarantee).__name__ == "ZCDP"
    lost, rate = losses(x, k), mechanism._rate(scores)
    exponents = [-rate * loss for loss in lost.values()]
    if k == 1:
        alone = choice_law(exponents, "gumbel" if zcdp else "exponential")
        return Law({(y, "canonical"): p for y, p in zip(lost, alone, strict=True)})
    noise, scale = noise_name(mechanism._one_shot(len(x))[0]), mechanism._one_shot_scale(scores, len(x))  # how much
    after = ordered_law(x, k, noise, scale)
    if len(x) < 2 * k or getattr(mechanism.guarantee, "epsilon", 1.0) == 0:
        return Law({(y, "one-shot"): p for y, p in after.items()})
    if zcdp:
        lead = arb(rational(max(exponents))) - _heaviest(x, k, rate, ceil(Fraction(9, 10) * k))
        left = _switch_chance(lead, LIST_SLOPE, LIST_SWITCH_TAU)
        won = [(1 - left) * p for p in choice_law(exponents, "gumbel")]
    else:
        crowd = arb(factorial(len(x)) // factorial(len(x) - k)).log()
        tau = 2 + Fraction(_floor(8 * crowd.max(arb(1)).log()), 16)
        rho = Fraction(3, 5) if k < 20 else Fraction(4, 5) if k < 64 else Fraction(9, 10)  # lists that hold less: junk
        guard = _heaviest(x, k, rate, ceil(rho * k)) + arb(rational(tau))
        won, left = base.choice_with_guard(exponents, guard, Fraction(1, 100))
    chances: dict[Any, arb] = {(y, "canonical"): p for y, p in zip(lost, won, strict=True)}
    return Law(chances | {(y, "one-shot"): left * p for y, p in after.items()})


def _heaviest(x: Sequence[float], k: int, rate: Fraction, held: int) -> arb:
    """max over t of ln #{junk lists of ranks that lose at most t} - rate t; the right list has no lead here."""
    best = sorted((Fraction(value) for value in x), reverse=True)
    missed = sorted(
        max(best[place] - best[rank] for place, rank in enumerate(ranks))
        for ranks in permutations(range(len(x)), k)
        if sum(rank < k for rank in ranks) < held
    )
    heaviest: arb | None = None
    for number, loss in enumerate(missed, start=1):
        value = arb(number).log() - arb(rational(rate * max(loss, Fraction(0))))
        heaviest = value if heaviest is None else heaviest.max(value)
    assert heaviest is not None
    return heaviest


def _floor(value: arb) -> int:
    whole = value.floor().unique_fmpz()
    assert whole is not None, "a constant of the guard needs more precision"
    return int(whole)


ENTRIES = (
    Entry("JointTopK", joint_law, ("joint",)),
    Entry("CanonicalTopK", canonical_law, ("canonical",)),
    Entry("GuardedTopK", law_of_guarded_set, ("guarded",), relabelled=True, k=3, size=lambda one: 2 * one.k),
    Entry("OrderedCanonicalTopK", ordered_canonical_law, ("ordered-canonical",)),
    Entry("GuardedListTopK", law_of_guarded_list, ("guarded-list",), k=2, size=lambda one: 2 * one.k),
)
