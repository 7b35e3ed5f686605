"""Broken mechanisms over sets, sequences and unknown lists of candidates: all by their exact laws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations, product
from math import ceil

from flint import arb

from shortlist.audit import Law
from shortlist.audit.certified.base import Point, choice_law, power, rational
from shortlist.privacy import ZCDP, ApproxDP, PureDP
from studies.broken.entry import Broken

Size = Callable[[int, int, int], Fraction]


def printed_size(k: int, h: int, t: int) -> Fraction:
    """As printed: (t - (h + 1)) / (k - (h + 1)) where (t - (h + 2)) / (k - (h + 1)) is meant (Proposition 138)."""
    size = Fraction(1)
    for new in range(k - 2, h - 1, -1):
        size *= Fraction(t - (new + 1), k - (new + 1))
    return size


def class_law(x: Point, k: int, rate: Fraction, gamma: Fraction, size: Size) -> Law:
    """A Gumbel class sampler in which class (h, t) weighs size(k, h, t), its members drawn uniformly."""
    order = sorted(range(len(x)), key=lambda item: (-x[item], item))
    s = [Fraction(x[item]) for item in order]
    weights = {tuple(range(k)): power(rational(rate * (gamma * s[k - 1] - (1 - gamma) * s[k - 1])))}
    for h, t in product(range(k), range(k + 1, len(x) + 1)):
        members = [(*range(h), *body, t - 1) for body in combinations(range(h + 1, t - 1), k - 1 - h)]
        share = power(rational(rate * (gamma * s[t - 1] - (1 - gamma) * s[h]))) * arb(rational(size(k, h, t)))
        weights |= dict.fromkeys(members, share / len(members))
    total = sum(weights.values(), start=arb(0))
    chances = {tuple(sorted(order[rank] for rank in ranks)): weight / total for ranks, weight in weights.items()}
    return Law(dict(sorted(chances.items())))


def printed_start(x: Point) -> Law:
    """gamma = 1, k = 1, epsilon .1: the best starts at x_[k] and not at (epsilon / 2) x_[k]."""
    best = max(range(len(x)), key=lambda i: (x[i], -i))
    rate = Fraction(1, 20)
    exponents = [Fraction(x[i]) if i == best else rate * Fraction(x[i]) for i in range(len(x))]
    return Law(dict(zip(range(len(x)), choice_law(exponents, "gumbel"), strict=True)))


def joint_law(x: Point, k: int, rate: Fraction) -> Law:
    """Sequences in proportion to e^(-rate loss)."""
    ranking = sorted(map(Fraction, x), reverse=True)
    orders = list(permutations(range(len(x)), k))
    losses = [max(ranking[place] - Fraction(x[i]) for place, i in enumerate(order)) for order in orders]
    return Law(dict(zip(orders, choice_law([-rate * loss for loss in losses], "gumbel"), strict=True)))


def twice_ahead(x: Point, k: int, rate: Fraction) -> Law:
    """Ordered canonical lists in which the right one is ahead by twice its gap (Theorem 187)."""
    ranking = sorted(map(Fraction, x), reverse=True)
    gap = min(ranking[i] - ranking[i + 1] for i in range(k))
    orders = list(permutations(range(len(x)), k))
    losses = [max(ranking[place] - Fraction(x[i]) for place, i in enumerate(order)) for order in orders]
    exponents = [rate * (2 * gap if loss <= 0 else -loss) for loss in losses]
    return Law(dict(zip(orders, choice_law(exponents, "gumbel"), strict=True)))


def no_bar(counts: Point) -> Law:
    """The exponential mechanism over the labels that are there: absent ones cannot be named."""
    there = [i for i, count in enumerate(counts) if count]
    if not there:
        return Law({-1: arb(1)})
    chances = choice_law([Fraction(counts[i]) for i in there], "gumbel")
    return Law(dict(zip(there, chances, strict=True)))


def barred(counts: Point, limit: int, delta: Fraction, *, above: int = 1, many: bool = True) -> Law:
    """LimitedDomainTopK with k = 1: a bar at c + above, as heavy as `limit` (or one) labels over delta."""
    ranking = sorted(counts, reverse=True)
    c = ranking[limit] if limit < len(ranking) else 0
    bar = ceil((limit if many else 1) * (1 - delta) / delta)
    weights = {i: power(rational(n)) for i, n in enumerate(counts) if n > c}
    weights[-1] = bar * power(rational(c + above))
    total = sum(weights.values(), start=arb(0))
    return Law({i: weights.get(i, arb(0)) / total for i in range(-1, len(counts))})


def _top(counts: Point, k: int) -> tuple[int, ...]:
    return tuple(sorted(sorted(range(len(counts)), key=lambda i: (-counts[i], i))[:k]))


def _tested(counts: Point, passing: Callable[[int], arb]) -> Law:
    """The top 1 if the gap passes the test, nothing otherwise."""
    first, second = sorted(counts, reverse=True)[:2]
    chance = passing(max(1, first - second))
    return Law({_top(counts, 1): chance, None: 1 - chance})


def at_least_one(counts: Point) -> Law:
    """Two-sided geometric noise of epsilon 1; passes if gap + noise - 7 >= 1, where > 1 was proved."""
    decay = power(rational(-1))

    def passing(gap: int) -> arb:
        need = 8 - gap  # P(noise >= need)
        if need > 0:
            return decay**need / (1 + decay)
        return 1 - decay ** (1 - need) / (1 + decay)

    return _tested(counts, passing)


STABLE = float(power(rational(-8)) / (1 + power(rational(-1))))
"""P(noise > 7): the delta that was proved for the strict test."""


def pate_add_remove(counts: Point) -> Law:
    """Votes for two labels under replacement, with algorithm 2 of the adaptive-k paper: it tests the one gap there is.

    A passing bound is above 1, of max(1, gap) plus Gaussian noise minus sigma sqrt(2 ln(1 / delta)), sigma = 1.5.
    """
    sigma, below = arb(3) / 2, (2 * arb(1000).log()).sqrt()

    def passing(gap: int) -> arb:
        return ((below - arb(gap - 1) / sigma) / arb(2).sqrt()).erfc() / 2

    return _tested(counts, passing)


ENTRIES = (
    Broken(
        name="canonical top-k, class sizes",
        what="the printed update of class sizes is off by one",
        source="the canonical paper, its Algorithm 1",  # (Proposition 138)
        claim=PureDP(0.1),
        law=lambda x: class_law(x, 3, Fraction(1, 20), Fraction(1, 2), printed_size),
        pairs=(((1, 0, 1, 0, 1, 0), (0, 1, 0, 1, 0, 1)), ((1, 1, 1, 0, 0, 0), (0, 0, 0, 1, 1, 1))),
    ),
    Broken(
        name="canonical top-k, start at gamma 1",
        what="the best set starts at x_[k], not at (epsilon / 2) x_[k]",
        source="the canonical paper, its Algorithm 1",  # (Proposition 139)
        claim=PureDP(0.1),
        law=printed_start,
        pairs=(((100, 99), (99, 100)),),
    ),
    Broken(
        name="joint with epsilon/2",
        what="exponent epsilon / 2 for general scores; epsilon / 4 is due",
        source="a slip: Gillenwater et al. 2022 have epsilon / 2 for counts, where it is due",  # (Proposition 141)
        law=lambda x: joint_law(x, 2, Fraction(1, 2)),
        pairs=(((9, 0, 9, 9, 3), (8, 1, 8, 10, 2)),),
    ),
    Broken(
        name="ordered list, twice ahead",
        what="the right list is ahead by twice its gap, which moves by 2",
        source="easily written: see docs/mechanisms/ordered-canonical.md",
        law=lambda x: twice_ahead(x, 2, Fraction(1, 2)),
        pairs=(((40, 10, 0), (41, 11, 0)),),
    ),
    Broken(
        name="unknown domain without a bar",
        what="the labels of the data are the candidates: a new one gives its owner away",
        source="a common slip: the list of candidates is private too",  # (Proposition 149)
        claim=ApproxDP(1.0, 1e-6),
        law=no_bar,
        pairs=(((5, 3, 0), (5, 3, 1)), ((0, 0, 0), (0, 0, 1))),
    ),
    Broken(
        name="bar without its +1",
        what="LimitedDomainTopK with the bar at c instead of c + 1",
        source="easily written: see docs/mechanisms/limited-domain.md",  # (Proposition 114)
        claim=ApproxDP(1.0, 0.05),
        law=lambda x: barred(x, 2, Fraction(1, 20), above=0),
        pairs=(((0, 0, 0), (1, 1, 0)),),
    ),
    Broken(
        name="bar without its limit",
        what="LimitedDomainTopK with delta for each label instead of all",
        source="easily written: see docs/mechanisms/limited-domain.md",  # (Proposition 114)
        claim=ApproxDP(1.0, 0.05),
        law=lambda x: barred(x, 2, Fraction(1, 20), many=False),
        pairs=(((0, 0, 0), (1, 1, 0)),),
    ),
    Broken(
        name=">= in the stability test",
        what="with whole noise a noisy gap of exactly 1 passes",
        source="a slip: the delta is that of noise above the threshold, not at it",  # (Proposition 147)
        claim=ApproxDP(1.0, STABLE * (1 + 1e-12)),
        law=at_least_one,
        pairs=(((4, 4, 0), (4, 5, 0)), ((5, 4, 0), (5, 5, 0))),
    ),
    Broken(
        name="PATE with add-remove parameters",
        what="a record replaces one teacher's votes: the gap moves by 2, the test was made for 1",
        source="the adaptive-k paper, its example 14",  # (Proposition 150)
        claim=ZCDP(1 / 1.5**2, 1e-3),
        law=pate_add_remove,
        pairs=(((6, 4), (5, 5)), ((4, 6), (5, 5)), ((6, 5), (5, 6))),
    ),
)
