"""Broken noisy maxima and top-k: wrong noise, wrong charge, too much released."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq

from shortlist.audit import Law
from shortlist.audit.certified.base import ONE, Pieces, Point, ordered_law, power, rational, set_law
from shortlist.privacy import ZCDP, ApproxDP
from studies.broken.entry import Broken

Rng = Any
Array = Any


def coarse(values: Array) -> Array:
    """On a grid that does not depend on the scores: what is then caught is not the low-order bits."""
    return np.floor(values * 16) / 16


def _value_with_noisy_max(x: Array, draws: int, rng: Rng) -> tuple[Array, Array]:
    noisy = x + rng.laplace(scale=2.0, size=(draws, len(x)))
    return noisy.argmax(1), coarse(noisy.max(1))


def _missing_factor_two(x: Array, draws: int, rng: Rng) -> Array:
    return (x + rng.gumbel(scale=1.0, size=(draws, len(x)))).argmax(1)


def _k_not_charged(x: Array, draws: int, rng: Rng) -> Array:
    return np.argsort(-(x + rng.gumbel(scale=1.0, size=(draws, len(x)))), axis=1)[:, :3]


def _minimum(x: Array, draws: int, rng: Rng) -> Array:
    return (x + rng.gumbel(scale=2.0, size=(draws, len(x)))).argmin(1)


def _seeded(x: Array, draws: int) -> Array:
    same = np.random.default_rng(7).gumbel(scale=2.0, size=len(x))
    return np.repeat((x + same).argmax(), draws)


def _fresh_value(x: Array, draws: int, rng: Rng) -> tuple[Array, Array]:
    winner = (x + rng.laplace(scale=2.0, size=(draws, len(x)))).argmax(1)
    return winner, coarse(x[winner] + rng.laplace(scale=2.0, size=draws))


def _double_divided(x: Array, draws: int, rng: Rng) -> Array:
    noisy = x + rng.exponential(scale=1.0, size=(draws, len(x)))  # 2 R / epsilon was due, and divided by 1/2 again
    return np.sort(np.argsort(-noisy, axis=1)[:, :2], axis=1)


def _partition_order(x: Array, draws: int, rng: Rng) -> Array:
    """The set is drawn right, at scale 2 R / epsilon; it comes back in the order of a partition of the scores."""
    order = np.argpartition(-x, 1)
    noisy = x[order] + rng.gumbel(scale=4.0, size=(draws, len(x)))
    picked = np.sort(np.argsort(-noisy, axis=1)[:, :2], axis=1)
    return order[picked]


def _geometric_ties(x: Array, draws: int, rng: Rng) -> Array:
    noisy = x + rng.geometric(-np.expm1(-0.5), size=(draws, len(x))) - 1
    winner = noisy.argmax(1)  # the lowest index among those tied
    ranking = np.sort(noisy, axis=1)
    return np.stack([winner, (ranking[:, -1] - ranking[:, -2]).astype(np.int64)], axis=1)


def _laplace_in_floats(x: Array, draws: int, rng: Rng) -> Array:
    return x[0] + rng.laplace(scale=1.0, size=draws)


def _clipped_rows(rows: Array, draws: int, rng: Rng) -> Array:
    """Rows are (user, item, value): each is clipped to [0, 1], and one user has many rows."""
    totals = np.zeros(3)
    for _, item, value in rows:
        totals[item] += min(max(value, 0.0), 1.0)
    return (totals + rng.exponential(scale=2.0, size=(draws, 3))).argmax(1)


def _gaussian(x: Array, draws: int, rng: Rng) -> Array:
    return (x + rng.normal(scale=2.0, size=(draws, len(x)))).argmax(1) < len(x) // 2


def _no_gap_price(x: Point) -> Law:
    return Law(ordered_law(x, 1, "exponential", 1))


def custom(knots: Sequence[int | float | Fraction], slopes: Sequence[int | float | Fraction]) -> Pieces:
    """The survival function of `piecewise_noise(knots, slopes)`."""
    at, fall = [rational(knot) for knot in knots], [rational(slope) for slope in slopes]
    height, polys = fmpq(0), [ONE]
    for place, (start, slope) in enumerate(zip(at, fall, strict=True)):
        polys.append({slope: power(height - slope * start)})
        if place + 1 < len(at):
            height += slope * (at[place + 1] - start)
    return tuple(at), tuple(polys)


HAZARD = custom([0, 5, 10, 15, 20, 25, 30, 35], [-1, 0, -1, 0, -1, 0, -1, -1])


def _order_of_custom_noise(x: Point) -> Law:
    return Law(ordered_law(x, 2, HAZARD, 1))


_BASE = [("alice", item, 1.0) for item in (0, 0, 0, 1, 1, 1, 2, 2)]
_MOVED = [*_BASE, *[("bob", 0, 1.0)] * 6]
_APART = ((0, 0, 0, 0, 0), (1, -1, -1, -1, -1))
_FLAT20 = ((0,) * 20, (1,) + (-1,) * 19)

ENTRIES = (
    Broken(
        name="noisy max returns its value",
        what="the winning noisy score is released with the winner, for the price of the winner",
        source="a common slip: report noisy max releases the index alone",
        run=_value_with_noisy_max,
        pairs=(((0,) * 5, (-1,) * 5), _APART),
    ),
    Broken(
        name="missing factor 2",
        what="scale Delta / epsilon although scores may move both ways",
        source="the Gumbel paper, its section 3.1, for general scores",  # (Proposition 134)
        run=_missing_factor_two,
        law=lambda x: Law(ordered_law(x, 1, "gumbel", 1)),
        pairs=(_APART, ((2, 0, 0), (1, 1, 1))),
    ),
    Broken(
        name="k not charged",
        what="top-k with the noise of one winner",
        source="a common slip",  # (Proposition 145)
        run=_k_not_charged,
        law=lambda x: Law(ordered_law(x, 3, "gumbel", 1)),
        pairs=(((0, 0, 0, 0, 0), (1, 1, 1, 0, 0)),),
    ),
    Broken(
        name="max and min swapped",
        what="the least noisy score wins, under noise made for the largest",
        source="a slip: for a minimum the scores are negated, not the comparison",
        run=_minimum,
        pairs=(((0, 0, 0, 0), (1, -1, -1, -1)), ((1, 0, 0, 0), (-1, 1, 1, 1))),
    ),
    Broken(
        name="seeded noise reused",
        what="the generator is seeded inside the call: every call adds the same noise",
        source="a common slip",
        run=_seeded,
        pairs=tuple(((a, b, 0), (a - 1, b + 1, 0)) for a in range(-2, 6) for b in range(-2, 4)),
    ),
    Broken(
        name="fresh value at half price",
        what="winner and a fresh value, both Lap(2 Delta / epsilon), called epsilon-DP without a condition",
        source="the Gumbel paper, its section 3.1, citing another: it costs 1.5 epsilon",  # (Proposition 56)
        run=_fresh_value,
        pairs=(_FLAT20,),
        trials=400_000,
    ),
    Broken(
        name="double-divided sensitivity",
        what="scores are divided by their sensitivity 1/2, and the rate once more",
        source="the canonical paper, its Algorithm 2 as printed",  # (Proposition 140)
        run=_double_divided,
        law=lambda x: Law(set_law(x, 2, "exponential", 1)),
        pairs=(((0, 0, 0, 0), (1, 1, 0, 0)), ((1, 1, 0, 0), (1, 1, 1, 1))),
    ),
    Broken(
        name="order released from argpartition",
        what="a set comes back in the order in which a partition of the true scores left it",
        source="a common slip: a partial sort tells an order",  # (Proposition 61)
        run=_partition_order,
        pairs=(((2, 1, 0, 0), (1, 2, 0, 0)), ((1, 1, 0, 0), (0, 2, 0, 0))),
    ),
    Broken(
        name="order under custom noise",
        what="noise of hazard at most 1 protects the set, not the order",
        source="a slip: a set under any Lipschitz noise, read as a list",  # (Proposition 61)
        law=_order_of_custom_noise,
        pairs=(((5, 0, 5), (5.25, 0.25, 4.75)),),
    ),
    Broken(
        name="geometric ties",
        what="whole noise, ties to the lowest index, gap to the best loser released",
        source="a slip: lists with gaps are proved for continuous noise, without ties",  # (Proposition 83)
        run=_geometric_ties,
        pairs=(((0, 0, 0), (1, -1, -1)),),
    ),
    Broken(
        name="float noise",
        what="numpy's Laplace added to a float: low-order bits tell what it was added to",
        source="Mironov 2012; any textbook implementation",
        run=_laplace_in_floats,
        pairs=(((0.0,), (1.0,)),),
    ),
    Broken(
        name="clipping by row",
        what="each row is clipped, and one user may bring many rows",
        source="a common slip: the user's sum is to be clipped, not her rows",  # (Theorem 132)
        run=_clipped_rows,
        pairs=((_BASE, _MOVED),),
    ),
    Broken(
        name="replace called monotone",
        what="one person changes her vote; the noise is that of add-remove",
        source="a common slip: counts move in one direction only if people come or go",  # (Proposition 4)
        run=_missing_factor_two,
        law=lambda x: Law(ordered_law(x, 1, "gumbel", 1)),
        pairs=(((3, 0, 0), (2, 1, 0)),),
    ),
    Broken(
        name="permute-and-flip at an eighth",
        what="charged epsilon^2 / 8 as if it had bounded range",
        source="a common slip: it has no bounded range",  # (Proposition 142)
        claim=ZCDP(0.125),
        law=_no_gap_price,
        pairs=(((0, -0.5), (-0.5, 0)),),
    ),
    Broken(
        name="Gaussian noisy max, free of dimension",
        what="called sqrt(8) Delta / sigma-GDP, whatever the number of candidates",
        source="the Gumbel paper, its section 3.2, for general scores",  # (Proposition 137)
        claim=ApproxDP(1.67, 0.161),
        run=_gaussian,
        pairs=(((0,) * 1000, (1,) * 500 + (-1,) * 500),),
        trials=20_000,
    ),
)
