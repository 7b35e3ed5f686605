"""The certified law of stable sets: a rank, its test, and what fills up (Theorem 102, 103, 104, 270)."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from flint import arb

from shortlist.certified.curves import rational
from shortlist.certified.law import Law
from shortlist.certified.races import set_law
from shortlist.mechanisms.canonical import certified as canonical
from shortlist.mechanisms.canonical_limited import certified as canonical_limited
from shortlist.mechanisms.large_gap.certified import rank_law

if TYPE_CHECKING:
    from shortlist.mechanisms.stable.mechanism import StableTopK
    from shortlist.scores import Scores


def law(mechanism: StableTopK, scores: Scores) -> Law:
    """(rank, its set or None): the set is named with the chance that its test passes, which a tie never does.

    Where it is filled up: (rank, whether the test passed, the labels).
    """
    counts, test = scores.values.tolist(), mechanism._parts.test
    unit = Fraction(scores.range_sensitivity)
    if mechanism.k is not None and not mechanism.fill:
        ranks = {mechanism.k: arb(1)}
    else:
        noise = "gaussian" if mechanism.sigma_1 else "gumbel"
        ranks = rank_law(mechanism, scores, mechanism._scale(scores), noise)
    order = sorted(range(len(counts)), key=lambda i: (-counts[i], i))
    chances: dict[Any, arb] = {}
    for j, chance in ranks.items():
        ranking = [*(counts[i] for i in order), *[0] * (j + 1)]
        lead = (Fraction(ranking[j - 1]) - Fraction(ranking[j])) / unit
        success = passing(str(mechanism.test), test, lead.numerator // lead.denominator)
        ways: dict[tuple[int, ...] | None, arb] = {None: chance * (1 - success)}
        if not success.is_zero():
            ways[tuple(sorted(order[:j]))] = chance * success
        for members, share in ways.items():
            if not mechanism.fill:
                chances[j, members] = share
                continue
            for labels, part in _filled(mechanism, scores, members or ()).items():
                chances[j, members is not None, labels] = share * part
    return Law(chances)


def _filled(mechanism: StableTopK, scores: Scores, stable: tuple[int, ...]) -> dict[tuple[int, ...], arb]:
    """k labels of the stable set, or that set and as many others as make k: canonical rounds."""
    k, counts = mechanism.k, scores.values.tolist()
    assert k is not None
    if len(stable) == k:
        return {stable: arb(1)}
    inside = len(stable) > k
    base = () if inside else stable
    among = list(stable) if inside else [i for i in range(len(counts)) if i not in stable]
    values, size = [counts[i] for i in among], k - len(base)
    one_round: Any = mechanism._filling(size, public=scores.public or inside)
    if mechanism.fill == "peeling":
        peeled = set_law(values, size, "gumbel", one_round._scale(scores))
        return {tuple(sorted((*base, *(among[i] for i in y)))): part for y, part in peeled.items()}
    if scores.public or inside:
        law = canonical.sets_law(one_round, values, one_round._rate(scores))
    else:
        law = canonical_limited.sets_law(one_round, values)
    return {tuple(sorted((*base, *(among[i] for i in y)))): part for y, part in law.chances.items()}


def passing(name: str, test: Any, gap: int) -> arb:
    """The chance of passing, from the formulas (Theorem 102, 103): the optimal test by its recursion."""
    if gap == 0:
        return arb(0)
    if name == "gaussian":
        above = max(gap, test.slack) - test.slack
        far = (arb(test.z) - arb(rational(test.rate)) * arb(above)) / arb(2).sqrt()
        return far.erfc() / 2
    e, delta = arb(rational(test.epsilon)), arb(rational(test.delta))
    if name == "laplace":
        need = (1 / (2 * delta)).log() - e * (gap - 1)
        return (-need).exp() / 2 if need >= 0 else 1 - need.exp() / 2
    chance = arb(0)
    for _ in range(gap):
        steps = (e.exp() * chance + delta, 1 - (-e).exp() * (1 - chance - delta), arb(1))
        chance = min(steps, key=float)
    return chance
