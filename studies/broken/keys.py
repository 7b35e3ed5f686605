"""Broken key sets: names from the data by a noisy bar, each with one thing left out; all by their exact laws.

One person with t labels, j of them nobody else's, is all that decides. On the labels that others hold too, what a
release tells of that person is one Gaussian number of shift mu; a new label shows the person as soon as it is named.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from math import expm1, isqrt, log1p, sqrt
from statistics import NormalDist

from flint import arb

from shortlist.audit import Law
from shortlist.audit.certified.base import Point
from shortlist.privacy import ZCDP, ApproxDP
from studies.broken.entry import Broken

CELLS = 40
"""A Gaussian number is shown to 1/CELLS of its deviation."""
SIGMA, TINY = 4.226791228773, 1e-6
"""The deviation for epsilon 1 and delta 1e-6, where one person's weights have length 1."""
USERS = 2.657044945229
"""The deviation for epsilon 1 and delta 0.01 and two labels a person, in people."""


def person(t: int, j: int, shift: float, sigma: float, bar: float, *, more: float = 0.0) -> Callable[[Point], Law]:
    """The law without (0,) and with (1,) somebody who moves t labels by `shift`, j of them new.

    `more` is the squared rate of what else is told of the labels that are there, under Gaussian noise of its own.
    """
    mu = sqrt(shift * shift * (t - j) / (sigma * sigma) + more)

    @cache
    def law(x: Point) -> Law:
        there = x[0] == 1
        chance = (arb(bar - shift) / (arb(sigma) * arb(2).sqrt())).erfc() / 2
        silent = (1 - chance) ** j if there else arb(1)
        centre = arb(mu) if there else arb(0)

        def above(cell: int) -> arb:
            return ((arb(cell) / CELLS - centre) / arb(2).sqrt()).erfc() / 2

        low, high = -9 * CELLS, int((mu + 9) * CELLS)
        ends = [arb(1), *map(above, range(low, high)), arb(0)]
        cells = {n: silent * (a - b) for n, (a, b) in enumerate(pairwise(ends))}
        return Law({"named": 1 - silent, **cells})

    return law


def counts_law(counts: Point, sigma: float, bar: int) -> Law:
    """Two labels with Gaussian noise rounded to whole people, named from the bar on."""

    def sums(count: int) -> dict[int | None, arb]:
        if count == 0:
            return {None: arb(1)}
        top = 2 * bar + 12
        ends = [((arb(v - 0.5) - count) / (arb(sigma) * arb(2).sqrt())).erfc() / 2 for v in range(bar, top + 1)]
        parts: dict[int | None, arb] = {bar + n: ends[n] - ends[n + 1] for n in range(len(ends) - 1)}
        return {None: 1 - ends[0], **parts, top: ends[-1]}

    first, second = (sums(int(count)) for count in counts)
    return Law({(a, b): p * q for a, p in first.items() for b, q in second.items()})


def always_shorter(counts: Point) -> Law:
    """Truncated geometric noise for epsilon 1 and delta 0.01, cut at 3 where 4 is proved; one label a person."""
    reach = 3
    weights = {x: arb(-abs(x)).exp() for x in range(-reach, reach + 1)}
    total = sum(weights.values(), start=arb(0))
    if counts[0] == 0:
        return Law({None: arb(1)})
    chances = {counts[0] + x: weight / total for x, weight in weights.items() if counts[0] + x > reach}
    return Law({None: 1 - sum(chances.values(), start=arb(0)), **chances})


def geometric_law(counts: Point, epsilon: int, reach: int) -> Law:
    """Two labels, each with truncated geometric noise of that epsilon, named above its end."""
    weights = {x: (arb(-abs(x)) * epsilon).exp() for x in range(-reach, reach + 1)}
    total = sum(weights.values(), start=arb(0))

    def sums(count: int) -> dict[int | None, arb]:
        sure: dict[int | None, arb] = {}
        sure |= {count + x: weight / total for x, weight in weights.items() if count and count + x > reach}
        return {None: 1 - sum(sure.values(), start=arb(0)), **sure}

    first, second = (sums(int(count)) for count in counts)
    return Law({(a, b): p * q for a, p in first.items() for b, q in second.items()})


def number_told(counts: Point) -> Law:
    """Nothing is named, and how many labels there are is told."""
    return Law({sum(1 for count in counts if count): arb(1)})


def _z(t: int, delta: float) -> float:
    return -NormalDist().inv_cdf(-expm1(log1p(-delta) / t))


def weight(t: int) -> float:
    return isqrt((1 << 40) // t) / (1 << 20)


ALONE = (((0,), (1,)),)
ONE, HUNDREDTH = ApproxDP(1.0, TINY), ApproxDP(1.0, 0.01)
HARMONIC = sqrt(sum(1 / rank for rank in range(1, 17)))
BY_HAND = "easily written: see docs/mechanisms/keys.md"

ENTRIES = (
    Broken(
        name="keys, bar one lower",
        what="the bar is rounded down to whole people, or told one person too low",
        source=BY_HAND,
        law=lambda x: counts_law(x, USERS, 8),
        pairs=(((0, 0), (1, 1)), ((8, 8), (9, 9)), ((0, 9), (1, 10))),
        claim=HUNDREDTH,
    ),
    Broken(
        name="keys, noise for one label",
        what="a person keeps two labels, and the noise is that of one",
        source=BY_HAND,
        law=lambda x: counts_law(x, USERS / sqrt(2), 9),
        pairs=(((8, 8), (9, 9)), ((12, 12), (13, 13))),
        claim=HUNDREDTH,
    ),
    Broken(
        name="keys, weight 1 for each label",
        what="16 labels of weight 1 under the noise for weights of length 1",
        source=BY_HAND,
        law=person(16, 0, 1.0, SIGMA, 1.0 + SIGMA * _z(16, TINY)),
        pairs=ALONE,
        claim=ONE,
    ),
    Broken(
        name="keys, bar for one new label",
        what="the bar is 1 + sigma z for one new label, where a person may bring 16",
        source=BY_HAND,
        law=person(16, 16, weight(16), SIGMA, 1.0 + SIGMA * _z(1, TINY)),
        pairs=ALONE,
        claim=ONE,
    ),
    Broken(
        name="keys, bar for the most labels alone",
        what="the bar is that of 16 labels of weight 1/4; one label of weight 1 passes it more often",
        source=BY_HAND,
        law=person(1, 1, 1.0, 0.5, weight(16) + 0.5 * _z(16, 0.01)),
        pairs=ALONE,
        claim=ApproxDP(12.0, 0.01),
    ),
    Broken(
        name="keys, bar without the weight",
        what="the bar is max sigma z_t, without what the new label itself weighs",
        source=BY_HAND,
        law=person(1, 1, 1.0, 0.5, max(0.5 * _z(t, 0.01) for t in range(1, 17))),
        pairs=ALONE,
        claim=ApproxDP(12.0, 0.01),
    ),
    Broken(
        name="keys, weights by rank",
        what="a person's n-th label weighs 1/sqrt(n): together they are longer than 1",
        source=BY_HAND,
        law=person(1, 0, HARMONIC, SIGMA, 30.0),
        pairs=ALONE,
        claim=ONE,
    ),
    Broken(
        name="keys of uncapped counts",
        what="40 labels of one person move by 1, and the noise is that of a cap of 16",
        source=BY_HAND,
        law=person(40, 0, 1.0, SIGMA * 4, 100.0),
        pairs=ALONE,
        claim=ONE,
    ),
    Broken(
        name="keys, two salts for one charge",
        what="counts are capped twice with two salts, and both key sets are released for the price of one",
        source=BY_HAND,
        law=person(1, 0, 1.0, SIGMA, 30.0, more=1 / SIGMA**2),
        pairs=ALONE,
        claim=ONE,
    ),
    Broken(
        name="keys, measured under the bar of names alone",
        what="counts are measured too, and the bar is that of names: a person over the cap with 16 new labels",
        source=BY_HAND,
        law=person(16, 16, weight(16), 16.508028482348, weight(16) + 16.508028482348 * _z(16, 0.01),
                   more=1 / (16.508028482348 * sqrt(3)) ** 2),
        pairs=ALONE,
        claim=ApproxDP(0.05, 0.01),
    ),
    Broken(
        name="keys, geometric noise cut too early",
        what="truncated geometric noise always ends one earlier, without the coin",
        source=BY_HAND,
        law=always_shorter,
        pairs=(((0,), (1,)),),
        claim=HUNDREDTH,
    ),
    Broken(
        name="keys, geometric noise of one label for two",
        what="a person keeps two labels, and each has the noise of all of epsilon and all of delta",
        source=BY_HAND,
        law=lambda x: geometric_law(x, 1, 4),
        pairs=(((0, 0), (1, 1)), ((6, 6), (7, 7))),
        claim=HUNDREDTH,
    ),
    Broken(
        name="keys, one delta for two sets",
        what="two key sets of different labels share epsilon and rho, and each has a bar for all of delta",
        source=BY_HAND,
        law=person(2, 2, 1.0, USERS, 1.0 + USERS * _z(1, 0.01)),
        pairs=ALONE,
        claim=HUNDREDTH,
    ),
    Broken(
        name="keys, booked by the noise alone",
        what="a ledger books rho = 1/(2 sigma^2) and no delta: a new label that is named shows its person",
        source=BY_HAND,
        law=person(1, 1, 1.0, SIGMA, 1.0 + SIGMA * _z(1, TINY)),
        pairs=ALONE,
        claim=ZCDP(0.5 / SIGMA**2),
    ),
    Broken(
        name="keys, a second look at the same sums",
        what="the noisy sums are kept, and asked again with a bar two deviations lower",
        source=BY_HAND,
        law=person(1, 1, 1.0, SIGMA, 1.0 + SIGMA * (_z(1, TINY) - 2)),
        pairs=ALONE,
        claim=ONE,
    ),
    Broken(
        name="keys, number of labels told",
        what="how many labels there are is printed beside the key set",
        source=BY_HAND,
        law=number_told,
        pairs=(((1, 1, 0), (1, 1, 1)),),
        claim=ONE,
    ),
)  # fmt: skip
