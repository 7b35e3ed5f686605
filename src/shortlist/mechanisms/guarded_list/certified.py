"""The certified law of guarded lists: a race of all lists and the guard, from the definition (Definition 191)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from math import ceil, factorial
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.certified.curves import rational
from shortlist.certified.law import Law
from shortlist.certified.races import choice_law, guarded_choice, ordered_law
from shortlist.mechanisms.ordered_canonical.certified import losses

if TYPE_CHECKING:
    from shortlist.mechanisms.guarded_list.mechanism import GuardedListTopK
    from shortlist.scores import Scores


def law(mechanism: GuardedListTopK, scores: Scores) -> Law:
    """(list, the way it went); k is at most 2 where there is a guard."""
    x, k = scores.values.tolist(), mechanism.k
    lost, rate = losses(x, k), mechanism._rate(scores)
    exponents = [-rate * loss for loss in lost.values()]
    if not any(_is_junk(order, k) for order in permutations(range(len(x)), k)):
        return Law({(y, "canonical"): p for y, p in zip(lost, choice_law(exponents, "exponential"), strict=True)})
    crowd = arb(factorial(len(x)) // factorial(len(x) - k)).log()
    guard = _heaviest(x, k, rate) + arb(rational(_tau(crowd)))
    won, left = guarded_choice(exponents, guard, _hazard(crowd))
    chances: dict[Any, arb] = {(y, "canonical"): p for y, p in zip(lost, won, strict=True)}
    after = ordered_law(x, k, "exponential", mechanism._one_shot_scale(scores, len(x)))  # how much noise there is
    return Law(chances | {(y, "one-shot"): left * p for y, p in after.items()})


def _is_junk(ranks: Sequence[int], k: int) -> bool:
    """Whether a list of ranks holds fewer than rho of the k best (Definition 191)."""
    rho = Fraction(2, 5) if k < 32 else Fraction(1, 2) if k < 320 else Fraction(3, 5)
    return sum(rank < k for rank in ranks) < ceil(rho * k)


def _heaviest(x: Sequence[float], k: int, rate: Fraction) -> arb:
    """max over t of ln #{junk lists of ranks that lose at most t} - rate t; the right list has no lead here."""
    best = sorted((Fraction(value) for value in x), reverse=True)
    missed = sorted(
        max(best[place] - best[rank] for place, rank in enumerate(ranks))
        for ranks in permutations(range(len(x)), k)
        if _is_junk(ranks, k)
    )
    found: arb | None = None
    for number, loss in enumerate(missed, start=1):
        value = arb(number).log() - arb(rational(rate * max(loss, Fraction(0))))
        found = value if found is None else found.max(value)
    assert found is not None
    return found


def _hazard(crowd: arb) -> Fraction:
    """a = max(1, floor(256 min(1/4, 1.2 / sqrt(H)))) / 256, H at least 1."""
    share = arb(rational(Fraction(6, 5))) / crowd.max(arb(1)).sqrt()
    return Fraction(1, 4) if share >= arb(rational(Fraction(1, 4))) else Fraction(max(1, _floor(256 * share)), 256)


def _tau(crowd: arb) -> Fraction:
    """2 + floor(8 ln H) / 16, H at least 1."""
    return 2 + Fraction(_floor(8 * crowd.max(arb(1)).log()), 16)


def _floor(value: arb) -> int:
    whole = value.floor().unique_fmpz()
    assert whole is not None, "a constant of the guard needs more precision"
    return int(whole)
