"""The certified distributions of races, and of selected items with values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, permutations, product
from typing import TYPE_CHECKING, Any, Self

from flint import arb, arb_series, ctx, fmpq

from shortlist.audit.certified import base, sets, unknown_domain
from shortlist.audit.certified.base import Entry, Law, add, gap_grid, noise_name, ordered_law, power, rational, round_up

if TYPE_CHECKING:
    from shortlist.mechanisms.gaps import ExponentialWithGap, GumbelTopKValues, MeasuredTopK, TopKWithGaps
    from shortlist.mechanisms.race import NoisyMax, OneshotTopK
    from shortlist.mechanisms.values import MeasuredSet, NoisyHistogram
    from shortlist.scores import Scores


def noisy_max_law(mechanism: NoisyMax, scores: Scores) -> Law:
    """{(winner,): chance}: one-shot top-k of one; with a prior w_i e^(x_i / scale) / sum, none at -inf."""
    x, scale = scores.values.tolist(), mechanism._scale(scores)
    if mechanism.prior is None:
        return Law(ordered_law(x, 1, noise_name(mechanism.noise), scale))
    shares = [
        arb(0) if one == -math.inf else arb(rational(weight)) * power(rational(one) / rational(scale))
        for weight, one in zip(mechanism.prior, x, strict=True)
    ]
    whole = add(shares)
    return Law({(i,): share / whole for i, share in enumerate(shares)})


def oneshot_law(mechanism: OneshotTopK, scores: Scores) -> Law:
    """The list where its law is enumerated in order, the set elsewhere."""
    noise = noise_name(mechanism.noise)
    race = ordered_law if mechanism.ordered and (mechanism.k <= 2 or noise == "gumbel") else base.set_law
    return Law(race(scores.values.tolist(), mechanism.k, noise, mechanism._scale(scores)))


def gaps_law(mechanism: TopKWithGaps, scores: Scores) -> Law:
    """The density of (order, gaps), on a grid of gaps."""
    return Law(_densities(mechanism, scores, mechanism._scale(scores)), density=True)


def law_of_measured_top_k(mechanism: MeasuredTopK, scores: Scores) -> Law:
    """The density of (order, gaps, measurements), of which values and gaps are a one-to-one function."""
    selection, measurement = mechanism._scales(scores)
    x, scale = [rational(value) for value in scores.values.tolist()], rational(measurement)
    densities = {}
    for (order, gaps), value in _densities(mechanism, scores, selection).items():
        for measurements in product((-8, 0, 8), repeat=mechanism.k):
            distance = sum((abs(fmpq(at) - x[i]) for i, at in zip(order, measurements, strict=True)), start=fmpq(0))
            densities[order, gaps, measurements] = value * power(-distance / scale)
    return Law(densities, density=True)


def _densities(mechanism: TopKWithGaps | MeasuredTopK, scores: Scores, scale: Fraction) -> dict[Any, arb]:
    x, noise = scores.values.tolist(), base.NAMED[mechanism.noise]
    return {
        (order, gaps): base.gap_density(x, order, gaps, noise, scale)
        for order in permutations(range(len(x)), mechanism.k)
        for gaps in gap_grid(mechanism.k, scale)
    }


def exponential_gap_law(mechanism: ExponentialWithGap, scores: Scores) -> Law:
    """The joint density of winner and gap is logistic: e^(theta - g) / (1 + e^(theta - g))^2 (Theorem 86).

    Of a given winner divided by its chance, 1 / (1 + e^-theta).
    """
    labels = list(scores.labels)
    given = None if mechanism.winner is None else labels.index(mechanism.winner)
    scale = mechanism._scale(scores)
    m = [rational(Fraction(value) / scale) for value in scores.values.tolist()]
    densities: dict[Hashable, arb] = {}
    for s in range(len(m)) if given is None else (given,):
        theta = arb(m[s]) - add(power(m[j]) for j in range(len(m)) if j != s).log()
        for gap in base.GAPS:
            odds = (theta - arb(gap)).exp()
            densities[s, gap] = odds / (1 + odds) ** 2
            if given is not None:
                densities[s, gap] *= 1 + (-theta).exp()
    return Law(densities, density=True)


Pairs = tuple[tuple[Fraction, Fraction], ...]
"""(x_i / scale, y_i / scale) of clocks."""
Means = list[tuple[arb, int]]
"""Different ones, and how many waits have each."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The first k of clocks with rates e^exponent: which ring, and when."""

    exponents: tuple[Fraction, ...]
    k: int

    def stick(self, other: Self, epsilon: float) -> float:
        """sup over events S of P(S) - e^epsilon P'(S), rounded up."""
        return _stick(self._beside(other), self.k, Fraction(epsilon))

    def log_moment(self, other: Self, order: float) -> float:
        """ln of the sum over orders, and integral over waits, of density^order other^(1 - order); rounded up."""
        with ctx.workprec(base.PRECISION):
            orders = _orders(self._beside(other), self.k)
            return round_up(add(one.times * one.moment(Fraction(order)) for one in orders).log())

    def _beside(self, other: Self) -> Pairs:
        """Clocks that are renamed, or all run faster by the same factor under both laws, tell the same."""
        top = max(self.exponents)
        return tuple(sorted((x - top, y - top) for x, y in zip(self.exponents, other.exponents, strict=True)))


def gumbel_values_law(mechanism: GumbelTopKValues, scores: Scores) -> Clocks:
    """The clocks of these scores under the mechanism's own noise."""
    scale = mechanism.scale(scores)
    return Clocks(tuple(Fraction(value) / scale for value in scores.values.tolist()), mechanism.k)


@dataclass(frozen=True, slots=True)
class _Order:
    """Clocks in the order in which k of them ring; `times` orders are like it."""

    times: int
    rung: Pairs
    rates: list[tuple[arb, arb]]
    """(W_j, V_j)"""
    here: Means
    there: Means
    p: arb
    q: arb

    def stick(self, epsilon: Fraction) -> arb:
        c = epsilon - sum((x - y for x, y in self.rung), Fraction(0))
        return self.p * _above(self.here, c) - power(rational(epsilon)) * self.q * _above(self.there, c)

    def moment(self, order: Fraction) -> arb:
        a, value = arb(rational(order)), arb(1)
        for (x, y), (here, there) in zip(self.rung, self.rates, strict=True):
            rate = a * here + (1 - a) * there
            if not rate > 0:
                return arb(math.inf)
            value *= power(rational(order * x + (1 - order) * y)) / rate
        return value


@lru_cache(maxsize=4096)
def _stick(clocks: Pairs, k: int, epsilon: Fraction) -> float:
    with ctx.workprec(base.PRECISION):
        return round_up(add(one.times * one.stick(epsilon) for one in _orders(clocks, k)))


@lru_cache
def _orders(clocks: Pairs, k: int) -> list[_Order]:
    """All orders of k rings, those of like clocks together."""
    counts: Counter[Pairs] = Counter()
    for order in permutations(range(len(clocks)), k):
        rest = (pair for i, pair in enumerate(clocks) if i not in order)
        counts[(*(clocks[i] for i in order), *rest)] += 1
    return [_order(one, k, times) for one, times in counts.items()]


def _order(clocks: Pairs, k: int, times: int) -> _Order:
    """The first k ring, the others do not."""
    rates, kinds, p, q = [], Counter[int](), arb(1), arb(1)
    for j, (x, y) in enumerate(clocks[:k]):
        running = [one for one, _ in clocks[j:]], [two for _, two in clocks[j:]]
        here, there = (add(power(rational(one)) for one in side) for side in running)
        p, q = p * power(rational(x)) / here, q * power(rational(y)) / there
        rates.append((here, there))
        if sorted(running[0]) != sorted(running[1]):
            kinds[next(i for i in range(j + 1) if _proportional(clocks[i:], clocks[j:]))] += 1
    means = [(rates[j][1] / rates[j][0] - 1, n) for j, n in kinds.items()]
    others = [(1 - rates[j][0] / rates[j][1], n) for j, n in kinds.items()]
    return _Order(times, clocks[:k], rates, means, others, p, q)


def _proportional(some: Pairs, others: Pairs) -> bool:
    """Whether W / V is the same number for both, that is W V' = W' V."""
    products = (sorted(x + y for x, _ in one for _, y in two) for one, two in ((some, others), (others, some)))
    return next(products) == next(products)


def _above(means: Means, c: Fraction) -> arb:
    """P[X > c], X the sum of independent exponential variables of these means."""
    if not means:
        return arb(int(c < 0))
    if c < 0:
        return 1 - _above([(-mean, n) for mean, n in means], -c)
    at = [place for place, (_, n) in enumerate(means) for _ in range(n)]

    def difference(first: int, last: int) -> arb:
        one, two = at[first], at[last]
        if one == two:
            return _derivative(means[one][0], c, len(at) - 1, last - first)
        return (difference(first + 1, last) - difference(first, last - 1)) / (means[two][0] - means[one][0])

    return difference(0, len(at) - 1)


def _derivative(mean: arb, c: Fraction, n: int, order: int) -> arb:
    """The Taylor coefficient of m^n e^(-c / m) [m > 0] at the mean."""
    if mean < 0:
        return arb(0)
    if not mean > 0:
        raise ArithmeticError("a mean could not be told from 0: more precision is needed")
    m = arb_series([mean, 1], order + 1)
    value = (-arb(rational(c)) * (1 / m)).exp()  # 0 / m is an error of python-flint before 0.9
    for _ in range(n):
        value *= m
    return value[order]


# Selected items with values


@dataclass(frozen=True, slots=True)
class GaussianCounts:
    """Counts with Gaussian noise, in units of its deviation."""

    places: tuple[Fraction, ...]

    def stick(self, other: Self, epsilon: float) -> float:
        """sup over events S of P(S) - e^epsilon P'(S) of all noisy counts, rounded up."""
        square = self._square(other)
        with ctx.workprec(base.PRECISION):
            e, mu, root = arb(rational(epsilon)), arb(rational(square)).sqrt(), arb(2).sqrt()
            if not square:
                return max(0.0, round_up(1 - e.exp()))
            here, there = ((e / mu - mu / 2) / root).erfc() / 2, ((e / mu + mu / 2) / root).erfc() / 2
            return max(0.0, round_up(here - e.exp() * there))

    def log_moment(self, other: Self, order: float) -> float:
        """ln of the integral of density^order other^(1 - order), rounded up."""
        with ctx.workprec(base.PRECISION):
            r = arb(rational(order))
            return round_up(r * (r - 1) * arb(rational(self._square(other))) / 2)

    def _square(self, other: Self) -> Fraction:
        return sum(((x - y) ** 2 for x, y in zip(self.places, other.places, strict=True)), Fraction(0))


GRID = tuple(Fraction(n, 4) for n in (-12, -2, 0, 1, 3, 4, 7, 20))
"""Where sums are compared, in units of the noise."""


def histogram_law(mechanism: NoisyHistogram, scores: Scores) -> GaussianCounts | Law:
    """The counts under the mechanism's own noise."""
    noisy = mechanism.noise(scores)
    places = tuple(Fraction(value) / noisy.scale for value in scores.values.tolist())
    if noisy.noise.name == "gaussian":
        return GaussianCounts(places)
    table: dict[Any, arb] = {}
    for order in permutations(range(len(places)), mechanism.k):
        losers = [places[i] for i in range(len(places)) if i not in order]
        for sums in combinations(sorted(GRID, reverse=True), mechanism.k):
            here = sum((abs(v - places[i]) for i, v in zip(order, sums, strict=True)), Fraction(0))
            density = power(rational(-here))
            for x in losers:
                density *= _below(sums[-1] - x)
            table[order, sums] = density
    return Law(table, density=True)


def _below(z: Fraction) -> arb:
    """P[N <= z] of Laplace noise of scale 1."""
    tail = power(rational(-abs(z))) / 2
    return 1 - tail if z > 0 else tail


LOW, HIGH = -9, 12
"""Values below and above are not told apart."""


def law_of_measured_set(mechanism: MeasuredSet, scores: Scores) -> Law:
    """{(set, its values in the order of their positions): chance}, for whole scores.

    The set comes with the way it was selected: by the guard, or by the branch for candidates that come from the data.
    """
    parts: Any = mechanism._parts(scores.public)
    x = scores.values.tolist()
    if scores.public:
        selected = sets.law_of_guarded_set(parts.selection, scores)
    else:
        selected = unknown_domain.both_law(parts.selection, x, None)
    chances: dict[Any, arb] = {}
    for outcome, chance in selected.chances.items():
        members = outcome[0] if scores.public else outcome[-1]
        scale = parts.noise(len(members), scores.largest_sensitivity) if members else None
        tables = [_values(x[i], scale, parts.epsilon is None) for i in members]
        for values, part in base.independent(tables):
            chances[outcome, values] = chance * part
    return Law(dict(sorted(chances.items(), key=lambda one: repr(one[0]))))


def _values(count: int, scale: Any, gaussian: bool) -> dict[int, arb]:
    """P[value], cut at both ends."""
    width = arb(rational(scale))

    def at_least(value: int) -> arb:
        if gaussian:
            return ((arb(value - 0.5) - count) / (width * arb(2).sqrt())).erfc() / 2
        distance = value - count
        a = (-1 / width).exp()
        return a**distance / (1 + a) if distance >= 1 else 1 - a ** (1 - distance) / (1 + a)

    ends = [arb(1), *map(at_least, range(LOW + 1, HIGH + 1)), arb(0)]
    return {LOW + n: ends[n] - ends[n + 1] for n in range(len(ends) - 1)}


ENTRIES = (
    Entry(
        "NoisyMax",
        noisy_max_law,
        ("permute-and-flip", "exponential"),
        {f"noisy-max-{one}": {"noise": one} for one in ("laplace", "logistic", "half-logistic", "gaussian")},
    ),
    Entry(
        "OneshotTopK",
        oneshot_law,
        ("peeling", *(f"oneshot-{one}" for one in ("gumbel", "exponential", "laplace", "logistic", "half-logistic"))),
    ),
    Entry("GumbelTopKValues", gumbel_values_law, ("gumbel-values",), sees_level=True),
    Entry(
        "NoisyHistogram",
        histogram_law,
        ("histogram",),
        {"histogram": lambda k: {"most": k + 1}},
        sees_level=True,
        size=lambda mechanism: mechanism.most,
    ),
    Entry("TopKWithGaps", gaps_law, ("gaps",)),
    Entry("MeasuredTopK", law_of_measured_top_k, examples={"measured": {}}, sees_level=True),
    Entry("MeasuredSet", law_of_measured_set, ("measured-set",), sees_level=True),
    Entry(
        "ExponentialWithGap",
        exponential_gap_law,
        examples={"exponential-with-gap": {}, "gap-of-a-winner": {"winner": 0}},
    ),
)
