"""What certified distributions are made of: curves and races, in interval arithmetic."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from itertools import accumulate, combinations, permutations
from itertools import product as product_itertools
from math import prod
from typing import Any, Literal, Protocol, Self

from flint import acb, arb, arb_poly, fmpq

Point = tuple[Any, ...]
"""Scores, or counts, of small neighbours."""

GAPS = (0.0, 0.3, 1.0, 2.5, 30.0)
"""Where densities of gaps are compared, in units of the noise."""


@dataclass(frozen=True, slots=True)
class Law:
    """The certified law of one release: a ball for every outcome.

    `density`: outcomes have real parts, and the balls are densities at some of them, so only their ratios mean
    something. `costs`: what each outcome is said to cost, where that depends on the outcome (Definition 22).
    """

    chances: Mapping[Any, arb]
    density: bool = False
    costs: Mapping[Any, float] | None = None


class RealLaw(Protocol):
    """A law over outcomes with real parts whose log ratios have no bound: its divergences from its like are certified.

    Both are rounded up. The moment is that of the Renyi divergence, log_moment / (order - 1).
    """

    def stick(self, other: Self, epsilon: float) -> float: ...

    def log_moment(self, other: Self, order: float) -> float: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A mechanism: its certified law, and how it is built for an audit, proved on a box and attacked by its draws."""

    kind: str
    """The class, by name: nothing of it is used here."""
    law: Callable[[Any, Any], Law | RealLaw]
    methods: tuple[str, ...] = ()
    """Those of `method=` that build it."""
    examples: Mapping[str, Mapping[str, Any] | Callable[[int], Mapping[str, Any]]] = field(default_factory=dict)
    """More names for `shortlist audit`, each with the arguments of the class beside k and the budget, or those by k."""
    inputs: Literal["scores", "histograms", "line", "votes"] = "scores"
    """Histograms are counts of labels that come from the data: neighbors are one more user. A line has counts of
    users along it: neighbors are one more, whose vote may be shared between two places. Votes are of teachers."""
    sees_level: bool = False
    """Whether a number that is added to all scores changes its distribution."""
    relabelled: bool = False
    """Whether outcomes are (sorted set, something else), so that one order of the scores is enough for all."""
    ranks: bool = False
    """Whether its numbers are ranks and not positions of candidates."""
    at_threshold: bool = False
    """Whether scores are to be tried around its threshold."""
    k: int = 1
    """The k that is audited if none is given."""
    size: Callable[[Any], int] | None = None
    """How many scores to try; None: k winners and two losers."""


def round_up(ball: arb) -> float:
    """A float no smaller than anything in the ball.

    Raises
    ------
    ArithmeticError
        where the ball holds no number: what is not known must not pass for small.
    """
    if ball.is_nan():
        raise ArithmeticError("a number could not be enclosed: more precision is needed")
    return round_outward(ball.upper(), +1)


def round_outward(value: arb, way: int) -> float:
    """The next float that way; what is impossible is known to be so, and stays 0."""
    return 0.0 if value.is_zero() else math.nextafter(float(value), way * math.inf)


def noise_name(noise: Any) -> str:
    """A noise by its name, whether it was given by that or as an object."""
    return str(getattr(noise, "name", noise))


def gap_grid(k: int, scale: Fraction) -> list[tuple[float, ...]]:
    """k gaps, each anywhere on the grid."""
    return list(product_itertools([gap * float(scale) for gap in GAPS], repeat=k))


Poly = dict[fmpq, arb]
"""{rate: coefficient}: the sum of coefficient e^(rate z)."""

PRECISION = 160
"""Bits of the balls; results are trusted to what their radii say, whatever this is."""


def rational(value: int | float | Fraction) -> fmpq:
    """The number itself: floats are binary fractions."""
    exact = Fraction(value)
    return fmpq(exact.numerator, exact.denominator)


@dataclass(frozen=True, slots=True)
class Curve:
    """polys[i] on knots[i - 1] <= z < knots[i]; the first piece starts at -inf, the last one ends at +inf."""

    knots: tuple[fmpq, ...]
    polys: tuple[Poly, ...]

    def __mul__(self, other: Curve) -> Curve:
        return self._with(other, _times)

    def __add__(self, other: Curve) -> Curve:
        return self._with(other, _plus)

    def complement(self) -> Curve:
        """1 minus this."""
        return Curve(self.knots, tuple(_plus(ONE, _times(poly, MINUS)) for poly in self.polys))

    def scale(self, factor: arb) -> Curve:
        return Curve(self.knots, tuple(_times(poly, {fmpq(0): factor}) for poly in self.polys))

    def _with(self, other: Curve, join: Callable[[Poly, Poly], Poly]) -> Curve:
        knots = tuple(sorted({*self.knots, *other.knots}))
        starts: list[fmpq | None] = [None, *knots]
        return Curve(knots, tuple(join(self._from(start), other._from(start)) for start in starts))

    def _from(self, start: fmpq | None) -> Poly:
        return self.polys[0 if start is None else bisect_right(self.knots, start)]

    def integral(self) -> arb:
        """Over the whole line. Pieces that reach to infinity must vanish there."""
        return self._total(arb)

    def sum(self) -> arb:
        """Over all whole z; the knots must be whole."""
        return self._total(lambda rate: power(rate) - 1)

    def _total(self, divisor: Callable[[fmpq], arb]) -> arb:
        """e^(rate z) over what its integral, or its sum over whole z, is divided by, at the ends of each piece."""
        total = arb(0)
        for poly, low, high in zip(self.polys, (None, *self.knots), (*self.knots, None), strict=True):
            for rate, coefficient in poly.items():
                if (high is None and rate >= 0) or (low is None and rate <= 0):
                    raise ArithmeticError("this does not converge")
                if rate == 0:
                    assert low is not None and high is not None  # noqa: PT018
                    total += coefficient * arb(high - low)
                    continue
                top, bottom = (arb(0) if end is None else power(rate * end) for end in (high, low))
                total += coefficient * (top - bottom) / divisor(rate)
        return total


def product(curves: Iterable[Curve]) -> Curve:
    """The product of all curves, at every z."""
    return reduce(lambda one, two: one * two, curves)


def _times(one: Poly, two: Poly) -> Poly:
    result: Poly = {}
    for (rate, factor), (other, coefficient) in product_itertools(one.items(), two.items()):
        result[rate + other] = result.get(rate + other, arb(0)) + factor * coefficient
    return result


def _plus(one: Poly, two: Poly) -> Poly:
    return {rate: one.get(rate, arb(0)) + two.get(rate, arb(0)) for rate in {**one, **two}}


def power(rate: fmpq) -> arb:
    """e^rate."""
    return arb(rate).exp()


# The noises whose survival functions are of this kind

Pieces = tuple[tuple[fmpq, ...], tuple[Poly, ...]]
ONE: Poly = {fmpq(0): arb(1)}
MINUS: Poly = {fmpq(0): arb(-1)}
_EXPONENTIAL: Pieces = ((fmpq(0),), (ONE, {fmpq(-1): arb(1)}))
_LAPLACE: Pieces = ((fmpq(0),), ({fmpq(0): arb(1), fmpq(1): arb(-1) / 2}, {fmpq(-1): arb(1) / 2}))
NAMED = {"exponential": _EXPONENTIAL, "laplace": _LAPLACE}


def survival(noise: Pieces, scale: fmpq, at: fmpq) -> Curve:
    """P(at + scale N > z), as a function of z."""
    knots, polys = noise
    moved = ({rate / scale: power(-rate / scale * at) * factor for rate, factor in poly.items()} for poly in polys)
    return Curve(tuple(at + scale * knot for knot in knots), tuple(moved))


def below(noise: Pieces, scale: fmpq, at: fmpq) -> Curve:
    """P(at + scale N <= z)."""
    return survival(noise, scale, at).complement()


def density(noise: Pieces, scale: fmpq, at: fmpq) -> Curve:
    """The density of at + scale N at z: minus the derivative of the survival function."""
    curve = survival(noise, scale, at)
    return Curve(curve.knots, tuple({r: -arb(r) * c for r, c in poly.items() if r != 0} for poly in curve.polys))


Number = int | float | Fraction
Chances = dict[tuple[int, ...], arb]


def ordered_law(x: Sequence[Number], k: int, noise: str | Pieces, scale: Number) -> Chances:
    """{(i_1, .., i_k): P[they are the k largest of x_i + scale N_i, in that order]}; k <= 2 unless noise is Gumbel."""
    s = list(map(rational, x))
    wide = rational(scale)
    if noise == "gumbel":
        return {order: _plackett_luce(order, s, wide) for order in permutations(range(len(s)), k)}
    if k > 2:
        raise ValueError("the order of more than two winners is enumerated for Gumbel noise only")
    race = _race(noise, wide, s)
    law = {}
    for order in permutations(range(len(s)), k):
        others = [i for i in range(len(s)) if i not in order]
        law[order] = race([order[-1]], others, list(order[:-1]))
    return law


def set_law(x: Sequence[Number], k: int, noise: str | Pieces, scale: Number) -> Chances:
    """{sorted set: P[it holds the k largest]}: an integral over the finish of the best loser."""
    s, wide = list(map(rational, x)), rational(scale)
    if len(s) == k:
        return {tuple(range(k)): arb(1)}
    if noise == "gumbel":
        return gather((tuple(sorted(order)), chance) for order, chance in ordered_law(x, k, noise, scale).items())
    race = _race(noise, wide, s)
    law = {}
    for members in combinations(range(len(s)), k):
        losers = [i for i in range(len(s)) if i not in members]
        law[members] = add(race([best], [j for j in losers if j != best], list(members)) for best in losers)
    return law


def gather(parts: Iterable[tuple[Any, arb]]) -> dict[Any, arb]:
    """Add up the probabilities of each outcome."""
    law: dict[Any, arb] = {}
    for outcome, chance in parts:
        law[outcome] = law.get(outcome, arb(0)) + chance
    return law


def independent(tables: Iterable[Mapping[Any, arb]]) -> Iterator[tuple[tuple[Any, ...], arb]]:
    """The probability of every combination of independent outcomes."""
    for parts in product_itertools(*(table.items() for table in tables)):
        yield tuple(outcome for outcome, _ in parts), prod((chance for _, chance in parts), start=arb(1))


def add(parts: Iterable[arb]) -> arb:
    """The sum of balls."""
    return sum(parts, start=arb(0))


def gap_density(x: Sequence[Number], order: Sequence[int], gaps: Sequence[Number], noise: Pieces, scale: Number) -> arb:
    """The density of "these win, in this order and by these gaps", the last one being to the best loser."""
    s, wide = list(map(rational, x)), rational(scale)
    winners = product(density(noise, wide, s[i] - ahead) for i, ahead in zip(order, leads(gaps), strict=True))
    losers = [j for j in range(len(s)) if j not in order]
    return best_of(winners, [s[j] for j in losers], noise, wide).integral()


def best_of(factor: Curve, places: Sequence[fmpq], noise: Pieces, scale: fmpq) -> Curve:
    """factor(z) times the density at z of the largest of places + scale N."""
    curves = []
    for best in range(len(places)):
        others = [below(noise, scale, place) for j, place in enumerate(places) if j != best]
        curves.append(product([factor, density(noise, scale, places[best]), *others]))
    return reduce(lambda one, two: one + two, curves)


def leads(gaps: Sequence[Number]) -> list[fmpq]:
    """How far each winner is ahead of the best loser."""
    return list(accumulate(map(rational, reversed(gaps))))[::-1]


def choice_law(exponents: Sequence[Number], noise: str) -> list[arb]:
    """P[candidate i has the largest exponent_i + N_i] for many candidates: Gumbel or exponential noise of scale 1."""
    best = max(exponents)
    chance = [power(rational(Fraction(one) - Fraction(best))) for one in exponents]
    if noise == "gumbel":
        whole = add(chance)
        return [one / whole for one in chance]
    return [
        p * add(coefficient / (r + 1) for r, coefficient in enumerate(without.coeffs()))
        for p, without in _left_out(chance)
    ]


def choice_with_guard(exponents: Sequence[Number], guard: arb, share: Fraction) -> tuple[list[arb], arb]:
    """(P[candidate i wins], P[the guard does]): exponential noise of rate 1, of rate `share` for the guard at `guard`.

    In s = e^-finish, candidate i arrives before s with probability p_i s, the guard with (s e^v)^a; all finish by
    the smaller of 1 and e^-v.
    """
    best = max(exponents)
    chance = [power(rational(Fraction(one) - Fraction(best))) for one in exponents]
    v, a = guard - arb(rational(best)), arb(rational(share))
    end = arb(1) if v <= 0 else (-v).exp()
    if not (v <= 0 or v >= 0):
        raise ArithmeticError("the guard ties with the best candidate: more precision is needed")
    law = [
        p
        * add(
            coefficient * (end ** (r + 1) / (r + 1) - (a * v).exp() * end ** (r + 1 + a) / (r + 1 + a))
            for r, coefficient in enumerate(without.coeffs())
        )
        for p, without in _left_out(chance)
    ]
    return law, 1 - add(law)


def _left_out(chance: list[arb]) -> list[tuple[arb, arb_poly]]:
    """(p_i, prod_{j != i} (1 - p_j s)) for every i; equal chances share their product."""
    products: dict[str, arb_poly] = {}
    result = []
    for i, p in enumerate(chance):
        key = p.str(50)
        if key not in products:
            rest = arb_poly([1])
            for j, other in enumerate(chance):
                if j != i:
                    rest *= arb_poly([1, -other])
            products[key] = rest
        result.append((p, products[key]))
    return result


def _plackett_luce(order: Sequence[int], s: list[fmpq], scale: fmpq) -> arb:
    weights = [power((value - max(s)) / scale) for value in s]
    chance = arb(1)
    for place, i in enumerate(order):
        chance *= weights[i] / add(w for j, w in enumerate(weights) if j not in order[:place])
    return chance


Race = Callable[[list[int], list[int], list[int]], arb]
"""The integral over z of the densities of some, times the chances that others are below z, and some above."""


def _race(noise: str | Pieces, scale: fmpq, s: list[fmpq]) -> Race:
    if noise == "gaussian":
        return _gaussian_race([value / scale for value in s])
    if isinstance(noise, str) and noise not in NAMED:
        return _smooth_race(noise, [value / scale for value in s])
    pieces = NAMED[noise] if isinstance(noise, str) else noise
    at = [density(pieces, scale, value) for value in s]
    under = [below(pieces, scale, value) for value in s]
    over = [survival(pieces, scale, value) for value in s]

    def race(here: list[int], lower: list[int], higher: list[int]) -> arb:
        factors = [at[i] for i in here] + [under[i] for i in lower] + [over[i] for i in higher]
        return product(factors).integral()

    return race


def _gaussian_race(s: list[fmpq]) -> Race:
    """Integrals of normal densities and distribution functions, which are entire; what lies beyond is bounded."""
    reach = 12
    start, end = arb(min(s) - reach), arb(max(s) + reach)
    beyond = (arb(reach) / arb(2).sqrt()).erfc()  # the density's mass outside, whatever the other factors are

    def race(here: list[int], lower: list[int], higher: list[int]) -> arb:
        (place,) = here

        def integrand(z: acb, _: bool) -> acb:
            value = (-((z - arb(s[place])) ** 2) / 2).exp() / (2 * arb.pi()).sqrt()
            for i in lower:
                value *= ((arb(s[i]) - z) / arb(2).sqrt()).erfc() / 2
            for i in higher:
                value *= ((z - arb(s[i])) / arb(2).sqrt()).erfc() / 2
            return value

        inside = acb.integral(integrand, start, end, rel_tol=arb(2) ** -60, abs_tol=arb(2) ** -60).real
        return inside + arb(0).union(beyond)

    return race


# Logistic and half-logistic noise. With a = e^-(z - s): density w.r.t. z over a, distribution function, survival.

Rational = Callable[[acb], acb]
_FALLING: dict[str, tuple[Rational, Rational, Rational]] = {
    "logistic": (lambda a: 1 / (1 + a) ** 2, lambda a: 1 / (1 + a), lambda a: a / (1 + a)),
    "half-logistic": (lambda a: 2 / (1 + a) ** 2, lambda a: (1 - a) / (1 + a), lambda a: 2 * a / (1 + a)),
}


def _smooth_race(noise: str, s: list[fmpq]) -> Race:
    if noise not in _FALLING:
        raise ValueError(f"no certified distribution is known for {noise} noise")

    def race(here: list[int], lower: list[int], higher: list[int]) -> arb:
        if noise == "logistic":  # symmetric: below 0 it is the mirror image, with lower and higher exchanged
            turned = [-value for value in s]
            return _panel(noise, s, here, lower, higher, 0, 1) + _panel(noise, turned, here, higher, lower, 0, 1)
        least = max(s[i] for i in here + lower)
        levels = [*sorted({s[i] for i in higher if s[i] > least}, reverse=True), least]
        whole, start = arb(0), arb(0)
        for bottom in levels:
            end = power(-bottom)
            unsure = [i for i in higher if s[i] <= bottom]  # whoever starts above this panel is higher for sure
            whole += _panel(noise, s, here, lower, unsure, start, end)
            start = end
        return whole

    return race


def _panel(
    noise: str, s: list[fmpq], here: list[int], lower: list[int], higher: list[int], start: arb | int, end: arb | int
) -> arb:
    """The integral over t = e^-z from start to end. There is one density in it, whose e^-z cancels dz = -dt / t."""
    rise, under, over = _FALLING[noise]
    weight = [power(value) for value in s]

    def integrand(t: acb, _: bool) -> acb:
        value = acb(1)
        for i in here:
            value *= weight[i] * rise(t * weight[i])
        for i in lower:
            value *= under(t * weight[i])
        for i in higher:
            value *= over(t * weight[i])
        return value

    return acb.integral(integrand, start, end).real
