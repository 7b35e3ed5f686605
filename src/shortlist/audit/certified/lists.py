"""The certified laws of ordered lists in one draw."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from math import ceil, factorial
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.audit.certified.base import Law, choice_law, choice_with_guard, noise_name, ordered_law, rational

if TYPE_CHECKING:
    from shortlist.mechanisms.lists import GuardedListTopK, JointTopK, OrderedCanonicalTopK
    from shortlist.scores import Scores


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


SLOPE, SWITCH_TAU = Fraction(1, 8), Fraction(40)


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
        left = 1 / (1 + (arb(rational(SLOPE)) * (lead - arb(rational(SWITCH_TAU)))).exp())
        won = [(1 - left) * p for p in choice_law(exponents, "gumbel")]
    else:
        crowd = arb(factorial(len(x)) // factorial(len(x) - k)).log()
        guard = _heaviest(x, k, rate, _least_held(k)) + arb(rational(_tau(crowd)))
        won, left = choice_with_guard(exponents, guard, Fraction(1, 100))
    chances: dict[Any, arb] = {(y, "canonical"): p for y, p in zip(lost, won, strict=True)}
    return Law(chances | {(y, "one-shot"): left * p for y, p in after.items()})


def _least_held(k: int) -> int:
    """A list of ranks that holds fewer of the k best is junk, but under zCDP (Definition 191)."""
    rho = Fraction(3, 5) if k < 20 else Fraction(4, 5) if k < 64 else Fraction(9, 10)
    return ceil(rho * k)


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


def _tau(crowd: arb) -> Fraction:
    """2 + floor(8 ln H) / 16, H at least 1."""
    return 2 + Fraction(_floor(8 * crowd.max(arb(1)).log()), 16)


def _floor(value: arb) -> int:
    whole = value.floor().unique_fmpz()
    assert whole is not None, "a constant of the guard needs more precision"
    return int(whole)
