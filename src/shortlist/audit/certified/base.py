"""What certified distributions are made of: curves and races, in interval arithmetic."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations, permutations
from itertools import product as product_itertools
from typing import Any, Protocol, Self

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
    name: str = noise if isinstance(noise, str) else noise.name
    return name


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
        return Curve(self.knots, tuple(_plus({fmpq(0): arb(1)}, _scale(poly, arb(-1))) for poly in self.polys))

    def scale(self, factor: arb) -> Curve:
        return Curve(self.knots, tuple(_scale(poly, factor) for poly in self.polys))

    def _with(self, other: Curve, join: Callable[[Poly, Poly], Poly]) -> Curve:
        knots = tuple(sorted({*self.knots, *other.knots}))
        starts: list[fmpq | None] = [None, *knots]
        return Curve(knots, tuple(join(self._from(start), other._from(start)) for start in starts))

    def _from(self, start: fmpq | None) -> Poly:
        return self.polys[0 if start is None else bisect_right(self.knots, start)]

    def integral(self) -> arb:
        """Over the whole line. Pieces that reach to infinity must vanish there."""
        return self._total(_integral)

    def sum(self) -> arb:
        """Over all whole z; the knots must be whole."""
        return self._total(_sum)

    def _total(self, piece: Callable[[Poly, fmpq | None, fmpq | None], arb]) -> arb:
        edges: list[fmpq | None] = [None, *self.knots, None]
        total = arb(0)
        for poly, low, high in zip(self.polys, edges[:-1], edges[1:], strict=True):
            if poly:
                total += piece(poly, low, high)
        return total


def product(curves: Iterable[Curve]) -> Curve:
    """The product of all curves, at every z."""
    return reduce(lambda one, two: one * two, curves)


def _times(one: Poly, two: Poly) -> Poly:
    result: Poly = {}
    for rate, factor in one.items():
        for other, coefficient in two.items():
            both = rate + other
            old = result.get(both)
            result[both] = factor * coefficient if old is None else old + factor * coefficient
    return result


def _plus(one: Poly, two: Poly) -> Poly:
    result = dict(one)
    for rate, coefficient in two.items():
        old = result.get(rate)
        result[rate] = coefficient if old is None else old + coefficient
    return result


def _scale(poly: Poly, factor: arb) -> Poly:
    return {rate: coefficient * factor for rate, coefficient in poly.items()}


def power(rate: fmpq) -> arb:
    """e^rate."""
    return arb(rate).exp()


def _integral(poly: Poly, low: fmpq | None, high: fmpq | None) -> arb:
    total = arb(0)
    for rate, coefficient in poly.items():
        if rate == 0:
            if low is None or high is None:
                raise ArithmeticError("this integral does not converge")
            total += coefficient * arb(high - low)
            continue
        if (high is None and rate > 0) or (low is None and rate < 0):
            raise ArithmeticError("this integral does not converge")
        top = power(rate * high) if high is not None else arb(0)
        bottom = power(rate * low) if low is not None else arb(0)
        total += coefficient * (top - bottom) / arb(rate)
    return total


def _sum(poly: Poly, low: fmpq | None, high: fmpq | None) -> arb:
    """Over whole z with low <= z < high."""
    total = arb(0)
    for rate, coefficient in poly.items():
        if low is None or (high is None and rate >= 0):
            raise ArithmeticError("this sum does not converge")
        if rate == 0:
            assert high is not None
            total += coefficient * arb(high - low)
            continue
        top = power(rate * high) if high is not None else arb(0)
        total += coefficient * (top - power(rate * low)) / (power(rate) - 1)
    return total


# The noises whose survival functions are of this kind

Pieces = tuple[tuple[fmpq, ...], tuple[Poly, ...]]
ONE: Poly = {fmpq(0): arb(1)}
_EXPONENTIAL: Pieces = ((fmpq(0),), (ONE, {fmpq(-1): arb(1)}))
_LAPLACE: Pieces = ((fmpq(0),), ({fmpq(0): arb(1), fmpq(1): arb(-1) / 2}, {fmpq(-1): arb(1) / 2}))
NAMED = {"exponential": _EXPONENTIAL, "laplace": _LAPLACE}


def custom(knots: Sequence[int | float | Fraction], slopes: Sequence[int | float | Fraction]) -> Pieces:
    """The survival function of `piecewise_noise(knots, slopes)`."""
    at, fall = [rational(knot) for knot in knots], [rational(slope) for slope in slopes]
    height, polys = fmpq(0), [ONE]
    for place, (start, slope) in enumerate(zip(at, fall, strict=True)):
        polys.append({slope: power(height - slope * start)})
        if place + 1 < len(at):
            height += slope * (at[place + 1] - start)
    return tuple(at), tuple(polys)


def survival(noise: Pieces, scale: fmpq, at: fmpq) -> Curve:
    """P(at + scale N > z), as a function of z."""
    return _place(noise, scale, at, derivative=False)


def below(noise: Pieces, scale: fmpq, at: fmpq) -> Curve:
    """P(at + scale N <= z)."""
    return survival(noise, scale, at).complement()


def density(noise: Pieces, scale: fmpq, at: fmpq) -> Curve:
    """The density of at + scale N at z."""
    return _place(noise, scale, at, derivative=True)


def _place(noise: Pieces, scale: fmpq, at: fmpq, *, derivative: bool) -> Curve:
    knots, polys = noise
    curve = []
    for poly in polys:
        one: Poly = {}
        for rate, coefficient in poly.items():
            steep = rate / scale
            if derivative and rate == 0:
                continue
            factor = coefficient * power(-steep * at)
            one[steep] = -factor * arb(steep) if derivative else factor
        curve.append(one)
    return Curve(tuple(at + scale * knot for knot in knots), tuple(curve))


Number = int | float | Fraction
Chances = dict[tuple[int, ...], arb]


def ordered_law(x: Sequence[Number], k: int, noise: str | Pieces, scale: Number) -> Chances:
    """{(i_1, .., i_k): P[they are the k largest of x_i + scale N_i, in that order]}; k <= 2 unless noise is Gumbel."""
    s = _races_placed(x)
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
    s, wide = _races_placed(x), rational(scale)
    if len(s) == k:
        return {tuple(range(k)): arb(1)}
    if noise == "gumbel":
        law: Chances = {}
        for order, chance in ordered_law(x, k, noise, scale).items():
            key = tuple(sorted(order))
            law[key] = law.get(key, arb(0)) + chance
        return law
    race = _race(noise, wide, s)
    law = {}
    for members in combinations(range(len(s)), k):
        losers = [i for i in range(len(s)) if i not in members]
        law[members] = sum(
            (race([best], [j for j in losers if j != best], list(members)) for best in losers), start=arb(0)
        )
    return law


def gap_density(x: Sequence[Number], order: Sequence[int], gaps: Sequence[Number], noise: Pieces, scale: Number) -> arb:
    """The density of "these win, in this order and by these gaps", the last one being to the best loser."""
    s, wide = _races_placed(x), rational(scale)
    winners = product(density(noise, wide, s[i] - ahead) for i, ahead in zip(order, leads(gaps), strict=True))
    losers = [j for j in range(len(s)) if j not in order]
    return best_of(winners, [s[j] for j in losers], noise, wide).integral()


def best_of(factor: Curve, places: Sequence[fmpq], noise: Pieces, scale: fmpq) -> Curve:
    """factor(z) times the density at z of the largest of places + scale N."""
    total: Curve | None = None
    for best in range(len(places)):
        others = [below(noise, scale, place) for j, place in enumerate(places) if j != best]
        one = product([factor, density(noise, scale, places[best]), *others])
        total = one if total is None else total + one
    assert total is not None
    return total


def leads(gaps: Sequence[Number]) -> list[fmpq]:
    """How far each winner is ahead of the best loser."""
    total, result = fmpq(0), []
    for gap in reversed(gaps):
        total += rational(gap)
        result.append(total)
    return result[::-1]


def choice_law(exponents: Sequence[Number], noise: str) -> list[arb]:
    """P[candidate i has the largest exponent_i + N_i] for many candidates: Gumbel or exponential noise of scale 1."""
    best = max(exponents)
    chance = [power(rational(Fraction(one) - Fraction(best))) for one in exponents]
    if noise == "gumbel":
        total = sum(chance, start=arb(0))
        return [one / total for one in chance]
    return [p * sum(_moments(without), start=arb(0)) for p, without in _left_out(chance)]


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
    law = []
    for p, without in _left_out(chance):
        total = arb(0)
        for r, coefficient in enumerate(without.coeffs()):
            total += coefficient * (end ** (r + 1) / (r + 1) - (a * v).exp() * end ** (r + 1 + a) / (r + 1 + a))
        law.append(p * total)
    return law, 1 - sum(law, start=arb(0))


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


def _moments(poly: arb_poly) -> list[arb]:
    return [coefficient / (r + 1) for r, coefficient in enumerate(poly.coeffs())]


def _races_placed(x: Sequence[Number]) -> list[fmpq]:
    return [rational(value) for value in x]


def _plackett_luce(order: Sequence[int], s: list[fmpq], scale: fmpq) -> arb:
    weights = [power((value - max(s)) / scale) for value in s]
    rest, chance = sum(weights, start=arb(0)), arb(1)
    gone: set[int] = set()
    for i in order:
        chance *= weights[i] / rest
        gone.add(i)
        rest = sum((w for j, w in enumerate(weights) if j not in gone), start=arb(0))
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
        total, start = arb(0), arb(0)
        for bottom in levels:
            end = power(-bottom)
            unsure = [i for i in higher if s[i] <= bottom]  # whoever starts above this panel is higher for sure
            total += _panel(noise, s, here, lower, unsure, start, end)
            start = end
        return total

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
