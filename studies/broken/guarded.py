"""Broken guards: a look at the scores that is not paid for, and an order that nobody paid for. By their exact laws."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

from flint import arb

from shortlist.audit import Law
from shortlist.audit.certified.base import Point, choice_law, choice_with_guard, ordered_law, power, rational
from shortlist.audit.certified.sets import losses
from shortlist.privacy import ZCDP, ApproxDP
from studies.broken.entry import Broken

Class = tuple[int, int]
Chosen = tuple[int, ...]


def utilities(x: Point, k: int, rate: Fraction) -> dict[Chosen, Fraction]:
    """rate (min inside - max outside) / 2 of every set (Definition 62)."""
    return {
        y: rate * (Fraction(min(x[i] for i in y)) - Fraction(max(x[i] for i in range(len(x)) if i not in y))) / 2
        for y in combinations(range(len(x)), k)
    }


def split(x: Point, k: int, rate: Fraction, junk: Collection[Class]) -> tuple[arb, arb]:
    """(the weight of the junk, that of all other sets) (Definition 72)."""
    order = sorted(range(len(x)), key=lambda i: (-x[i], i))
    heavy, rest = arb(0), arb(0)
    for y, value in utilities(x, k, rate).items():
        ranks = sorted(order.index(i) for i in y)
        missing = next((rank for rank in range(k) if rank not in ranks), k)
        weight = power(rational(value))
        if missing < k and (k - 1 - missing, ranks[-1] - k) in junk:
            heavy += weight
        else:
            rest += weight
    return heavy, rest


def _joined(u: dict[Chosen, Fraction], sets: list[arb], fallback: arb, lists: dict[Chosen, arb]) -> Law:
    chances: dict[Any, arb] = {("canonical", y): p for y, p in zip(u, sets, strict=True)}
    return Law(chances | {("one-shot", y): fallback * p for y, p in lists.items()})


def raced(x: Point, e: float) -> Law:
    """Two of five at epsilon 2: sets and a guard of hazard 1/4, then peeling with e where it wins (Theorem 170)."""
    u = utilities(x, 2, Fraction(2))
    heavy, _ = split(x, 2, Fraction(2), {(1, 1), (1, 2)})
    sets, fallback = choice_with_guard(list(u.values()), heavy.log(), Fraction(1, 4))
    return _joined(u, sets, fallback, ordered_law(x, 2, "gumbel", 1 / Fraction(e)))


def switched(x: Point, e: float) -> Law:
    """Three of five: a switch of slope 1, then canonical with e or peeling with e / sqrt 3 (Theorem 173)."""
    u = utilities(x, 3, Fraction(e))
    heavy, rest = split(x, 3, Fraction(e), {(2, 1)})
    fallback = 1 / (1 + (rest.log() - heavy.log() - 4).exp())
    sets = [(1 - fallback) * p for p in choice_law(list(u.values()), "gumbel")]
    return _joined(u, sets, fallback, ordered_law(x, 3, "gumbel", 1 / Fraction(e / 3**0.5)))


def switched_lists(x: Point, e: float) -> Law:
    """Two of four in order: a switch of slope 1, then ordered canonical or peeling (Theorem 226)."""
    u = {y: -Fraction(e) / 2 * lost for y, lost in losses(x, 2).items()}
    best = sorted((Fraction(value) for value in x), reverse=True)
    wrong = sorted(
        max(best[0] - best[i], best[1] - best[j], Fraction(0)) for i, j in permutations(range(4), 2) if {i, j} != {0, 1}
    )
    weights = [arb(n).log() - arb(rational(Fraction(e) / 2 * loss)) for n, loss in enumerate(wrong, start=1)]
    heaviest = weights[0]
    for weight in weights[1:]:
        heaviest = heaviest.max(weight)
    fallback = 1 / (1 + (arb(rational(max(u.values()))) - heaviest).exp())
    lists = [(1 - fallback) * p for p in choice_law(list(u.values()), "gumbel")]
    return _joined(u, lists, fallback, ordered_law(x, 2, "gumbel", 1 / Fraction(e / 2**0.5)))


def order_of_the_rest(x: Point) -> Law:
    """Three of four by drawing the loser, at epsilon 1; the three are told in the order of their noise."""
    turned = [-value for value in x]
    return Law({order[:0:-1]: p for order, p in ordered_law(turned, 4, "gumbel", 1).items()})  # the last is the best


WHOLE, LEFT = 1.119944801, 0.857581955
"""e of two rounds that fit (2, .001), and (3/2, .001)."""

UNPAID, PAID = 2.4**0.5, 1.2**0.5
"""e of a round that fits rho = .3, and half of it."""

ENTRIES = (
    Broken(
        name="guard's fallback at the full budget",
        what="peeling at (epsilon, delta) after a guard that has cost epsilon / 4 already",
        source="easily written: see docs/mechanisms/guarded.md",  # (Theorem 170)
        claim=ApproxDP(2.0, 0.001),
        law=lambda x: raced(x, WHOLE),
        pairs=(((3, 1, 3, 1, 1), (3, 2, 3, 2, 2)),),
    ),
    Broken(
        name="switch that is not charged",
        what="a choice between two mechanisms by the scores, and either with the whole of rho",
        source="easily written: see docs/mechanisms/guarded.md",  # (Theorem 173)
        claim=ZCDP(0.3),
        law=lambda x: switched(x, UNPAID),
        pairs=(((4, 7, 7, 6, 3), (4, 8, 7, 7, 3)),),
    ),
    Broken(
        name="switch of lists that is not charged",
        what="a choice between ordered canonical and peeling by the scores, and either with the whole of rho",
        source="easily written: see docs/mechanisms/guarded-list.md",  # (Theorem 226)
        claim=ZCDP(0.1),
        law=lambda x: switched_lists(x, 0.8**0.5),
        pairs=(((1, 0, 0, 3), (0, 0, 0, 2)),),
    ),
    Broken(
        name="order of those whom the losers leave",
        what="the loser is drawn and paid for, and the other three are published in the order of their noise",
        source="easily written: see docs/mechanisms/guarded.md",  # (Definition 72)
        law=order_of_the_rest,
        pairs=(((3, 3, 3, -9), (4, 4, 4, -9)),),
    ),
)
