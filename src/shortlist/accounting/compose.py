"""Compose privacy curves: convolution of privacy losses, the accountant, and the profile of a whole composition.

Products of dominating pairs, by Fourier transform, with every error bounded.

Each pair becomes a law on a grid of losses by *connecting the dots* (Doroshenko et al. 2022): its profile
is replaced by chords in e^x between grid points, which lie above it because it is convex there; a chord's
pair has its losses on the grid points alone. The laws are tilted by e^{tilt * loss} before they are
transformed, so that the rounding errors of the transform are relative to the delta sought and not to one.
What is cut off, wrapped around or rounded is bounded and added.

The one place where guarantees are composed.

A list of charges fixed in advance, whatever the order in which they are made and however each is chosen
after the results of those before it, has every bound that follows; the answer is the best of them.

- *sum*: epsilons of pure guarantees add up, deltas of common thinnings are paid beside them.
- *Renyi*: divergences add up at every order; the best order is taken at the end.
- *product*: dominating pairs multiply. Guarantees that are a set of laws rather than one pair (bounded
  range, zCDP, Renyi) may be put together as one pair that covers all their applications, if everything else
  is a product of pairs: the worst order makes the pairs first, because the mean of a maximum is at least
  the maximum of the means (docs/accounting.md).

Bounds from below, trade-offs and the profile of all charges on the whole line stand in `shortlist.bounds`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.accounting import curves as privacy_curves
from shortlist.accounting.curves import ULP, Curves, Pair, Profile, Renyi, renyi_delta, renyi_epsilon, sum_up
from shortlist.exact.search import find_crossing

POINTS = 2**16
"""Grid points wanted in the window; the transform may be longer by what the alignment of the grid needs."""
NODES = 2**14
"""At how many points the profiles are evaluated, all together."""
PARTS = 16
"""The weightiest pair's largest loss is a multiple of so many steps, unless the grid is coarser than that."""
SMALLEST = 1e-280
"""Losses below it, or above its inverse, are left to the other routes."""
FAR = 40.0
"""-ln of the tilted mass that may lie outside the transform's window."""


@dataclass(frozen=True, slots=True)
class Atoms:
    """One pair on the grid: `masses` at `places` * step, `infinite` where the loss is infinite."""

    places: Indices
    masses: Floats
    infinite: float
    times: int

    def losses(self, step: float) -> Floats:
        """Where the masses are."""
        return self.places.astype(np.float64) * step

    def log_moment(self, tilt: float, step: float) -> float:
        """ln E[e^{tilt * loss}; finite] of all `times` together."""
        logs = self._log_tilted(tilt, step)
        top = float(logs.max())
        return self.times * (top + math.log(float(np.exp(logs - top).sum())))

    def tilt_masses(self, tilt: float, step: float) -> Floats:
        """The masses times e^{tilt * loss}, made to sum to one."""
        logs = self._log_tilted(tilt, step)
        weights: Floats = np.exp(logs - logs.max())
        return weights / float(weights.sum())

    def _log_tilted(self, tilt: float, step: float) -> Floats:
        """In logarithms: the product may be far below the smallest float where its sum is not."""
        with np.errstate(divide="ignore"):
            logs: Floats = tilt * self.losses(step) + np.log(self.masses)
        return logs


@dataclass(frozen=True, slots=True)
class Mixture:
    """The total loss, tilted: P(loss = x) is e^{log_moment - tilt x} masses(x), each give or take `noise`."""

    losses: Floats
    masses: Floats
    noise: float
    tilt: float
    log_moment: float
    infinite: float
    cut: float
    rounding: float
    shift: float = 0.0
    small: float = 0.0

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta at `epsilon`; one where the window does not reach down to it."""
        if self.losses.size and epsilon < self.losses[0]:
            return 1.0
        over, weights, scale = self._weights(epsilon)
        finite = scale * (float(np.sum(weights * (self.masses[over] + self.noise))) + math.exp(-FAR))
        return min(1.0, (finite + self.cut + self.infinite) * self.rounding)

    def delta_lower(self, epsilon: float) -> float:
        """A lower bound on delta at `epsilon` for the product of the pairs themselves."""
        over, weights, scale = self._weights(epsilon + self.shift)
        finite = scale * (float(np.sum(weights * np.maximum(self.masses[over] - self.noise, 0.0))) - 2 * math.exp(-FAR))
        return max(0.0, (finite + self.infinite - 2 * self.small) * (1 - 1e-4))

    def _weights(self, epsilon: float) -> tuple[slice, Floats, float]:
        """(1 - e^{-d}) e^{-tilt d} for losses epsilon + d, d > 0; and e^{log_moment - tilt epsilon}."""
        first, last = np.searchsorted(self.losses, [epsilon, epsilon + FAR / self.tilt])
        over = slice(int(first), int(last))
        excess = self.losses[over] - epsilon
        exponent = min(self.log_moment - self.tilt * epsilon, 700.0)
        return over, -np.expm1(-excess) * np.exp(-self.tilt * excess), math.exp(exponent)


EVERYTHING = Mixture(np.zeros(0), np.zeros(0), 0.0, 1.0, 0.0, infinite=1.0, cut=0.0, rounding=1.0, small=1.0)
"""All is revealed, or nearly: delta is at most one, and nothing is said from below."""


def reach(pair: Pair, small: float) -> float:
    """A loss beyond which, on both sides, about `small` is left: the pair's bound unless that is far away."""
    x = np.geomspace(1e-9, 1e4, 600)
    floor = float(pair.profile(np.array([1e9]))[0])
    right = pair.profile(x) - floor <= small
    left = pair.profile(-x) + np.expm1(-x) <= max(small, 1e-14)
    far = float(x[int(np.argmax(right & left))]) if (right & left).any() else float(x[-1])
    return max(pair.bound, 1e-9) if pair.bound < PARTS * far else far


def connect(pair: Pair, far: float, step: float, nodes: int) -> Atoms:
    """The pair on the grid: chords of its profile between about `nodes` grid points in [-far, far].

    With v_j the profile at x_j and S_j = (v_{j+1} - v_j) / (e^{x_{j+1} - x_j} - 1), the chords' pair has P
    mass S_j - e^{x_j - x_{j-1}} S_{j-1} at x_j and v at the last point where the loss is infinite. A point
    whose mass is not clearly positive is left out: the chord over the gap is still above every convex
    function below the v that are kept.
    """
    half = max(1, math.ceil(far / step * (1 - 1e-12)))
    stride = max(1, math.ceil(2 * half / nodes))
    inner = stride * np.arange(-(half // stride), half // stride + 1)
    end = np.full(int(half % stride > 0), half)
    places = np.concatenate([-end, inner, end])
    values = np.minimum(pair.profile(places.astype(np.float64) * step), 1.0)
    while True:
        gaps, rises = np.diff(places) * step, np.diff(values)
        slopes = rises / np.expm1(np.minimum(gaps, 700.0))
        before = np.concatenate([values[:1] - 1.0, rises / -np.expm1(-gaps)])
        masses = np.concatenate([slopes, [0.0]]) - before
        room = np.minimum(np.concatenate([gaps, [1.0]]), np.concatenate([[1.0], gaps]))
        unclear = masses <= 32 * ULP * values / np.minimum(room, 1.0)
        if not unclear.any() or places.size == 1:
            break
        keep = ~unclear | (np.cumsum(unclear) % 2 == 0)
        places, values = places[keep], values[keep]
    return Atoms(places, np.maximum(masses, 0.0), float(values[-1]), pair.times)


def _spread_of(profile: Profile, x: Floats) -> Floats:
    """How far at most a loss is moved to end at each point: the wider gap beside it that holds losses.

    None do where the profile is its own chord; a convex function that meets its chord inside a gap is the
    chord.
    """
    gaps, values = np.diff(x), profile(x)
    chord = values[:-1] + np.diff(values) / (1 + np.exp(np.minimum(gaps / 2, 700.0)))
    curved: Floats = np.where(chord - profile(x[:-1] + gaps / 2) > 1e-12 * chord, gaps, 0.0)
    return np.maximum(np.append(curved, 0.0), np.insert(curved, 0, 0.0))


def _shift(pairs: Sequence[Pair], laws: Sequence[Atoms], step: float, small: float) -> float:
    """What all errors of moving losses to the grid do not exceed together, but for a mass `small`.

    Moving a loss inside a gap of width w adds an error e with E[e^{-e} | loss] = 1 in a window of width w,
    so that its mean is at most w^2/8 and E[e^{r e} | loss] <= e^{(r + r^2) w^2/8} (Hoeffding's lemma).
    Chernoff's bound, the best r of many.
    """
    squares = [_spread_of(pair.profile, law.losses(step)) ** 2 / 8 for pair, law in zip(pairs, laws, strict=True)]

    def bound(rate: float) -> float:
        cost = -math.log(small)
        for law, square in zip(laws, squares, strict=True):
            growth = np.expm1(np.minimum((rate + rate**2) * square, 700.0))
            cost += law.times * math.log1p(float(np.sum(law.masses * growth)))
        return cost / rate

    widest = max(float(square.max()) for square in squares)
    return min(bound(float(rate)) for rate in np.geomspace(1e-3, 25 / math.sqrt(widest), 200)) if widest else 0.0


def convolve(pairs: Sequence[Pair], tilt: float, small: float, *, from_below: bool = False) -> Mixture:
    """The total loss of all pairs. The tails cut off may have the mass `small` in all; it is added to delta.

    `from_below` prepares `delta_lower` too.

    A first pass on coarse grids finds where the tilted total lies; a second computes it on one grid that
    fits, and that divides the largest loss of the pair that matters most, whose atoms then need not be
    moved at all.
    """
    count = sum(pair.times for pair in pairs)
    fars = [reach(pair, small / count) for pair in pairs]
    if not all(SMALLEST < far < 1 / SMALLEST for far in fars):
        return EVERYTHING
    coarse = [(connect(pair, far, far / 500, 1000), far / 500) for pair, far in zip(pairs, fars, strict=True)]
    if not all(law.masses.any() for law, _ in coarse):
        return EVERYTHING
    moments = [_moments(law, tilt, step) for law, step in coarse]
    centre = sum(mean for mean, _ in moments)
    deviation = max(math.sqrt(sum(variance for _, variance in moments)), 1e-6 * max(fars))
    half = _half_width(coarse, tilt, centre, deviation)
    step = 2 * half / POINTS
    if not 0 < step < math.inf or abs(centre) > 2**50 * step:
        return EVERYTHING
    anchor = fars[max(range(len(pairs)), key=lambda i: moments[i][1])]
    if anchor > step:
        parts = math.ceil(anchor / step)
        step = anchor / (PARTS * math.ceil(parts / PARTS) if parts >= PARTS else parts) * (1 + 4 * ULP)
    length = 2 ** math.ceil(math.log2(2 * half / step))
    nodes = max(NODES // len(pairs), 2048)
    laws = [connect(pair, far, step, nodes) for pair, far in zip(pairs, fars, strict=True)]
    mixture = _transform(laws, min(tilt, 0.05 / step), step, length)
    if not from_below:
        return mixture
    return replace(mixture, shift=_shift(pairs, laws, step, small), small=small)


def _moments(law: Atoms, tilt: float, step: float) -> tuple[float, float]:
    """Mean and variance of the tilted loss, all `times` together."""
    weights, losses = law.tilt_masses(tilt, step), law.losses(step)
    mean = float(weights @ losses)
    return law.times * mean, law.times * float(weights @ (losses - mean) ** 2)


def _half_width(laws: list[tuple[Atoms, float]], tilt: float, centre: float, deviation: float) -> float:
    """How far from its centre the tilted total may be but for e^{-FAR}: Chernoff's bound, both sides."""

    def log_moment(at: float) -> float:
        return sum(law.log_moment(at, step) for law, step in laws)

    here = log_moment(tilt)
    return max(
        min(
            (log_moment(tilt + side * more) - here - side * more * centre + FAR) / more
            for more in more_tilts(deviation)
        )
        for side in (-1, 1)
    )


def more_tilts(deviation: float) -> list[float]:
    """Tilts to try in Chernoff's bound: about 9 / deviation is best for a bell."""
    return [2.0**power / deviation for power in range(-3, 8)]


def _transform(laws: list[Atoms], tilt: float, step: float, length: int) -> Mixture:
    """The convolution, and bounds on what it misses.

    Rounding: a transform errs by at most 8 u log2(length) in root mean square for masses that sum to one;
    in a product of powers that error is multiplied by the derivative, and the mean over frequencies of
    their product is bounded by Cauchy and Schwarz.
    """
    moments = [_moments(law, tilt, step) for law in laws]
    first = round(sum(mean for mean, _ in moments) / step) - length // 2
    product = np.ones(length // 2 + 1, dtype=np.complex128)
    sizes = []
    for law in laws:
        line = np.zeros(length)
        np.add.at(line, law.places % length, law.tilt_masses(tilt, step))
        spectrum = np.fft.rfft(line)
        product *= spectrum**law.times
        sizes.append(np.log(np.maximum(np.abs(spectrum), 1e-300)))
    total = sum((law.times * size for law, size in zip(laws, sizes, strict=True)), np.zeros(1))
    change = sum((law.times * np.exp(total - size) for law, size in zip(laws, sizes, strict=True)), np.zeros(1))
    noise = 4 * ULP * math.log2(length) * (1 + math.sqrt(2 * float(np.mean(change**2))))
    places = first + np.arange(length)
    losses = places.astype(np.float64) * step
    deviation = max(math.sqrt(sum(variance for _, variance in moments)), step)
    top = float(losses[-1])
    cut = min(
        sum(law.log_moment(tilt + more, step) for law in laws) - (tilt + more) * top for more in more_tilts(deviation)
    )
    return Mixture(
        losses=losses,
        masses=np.maximum(np.fft.irfft(product, length)[places % length], 0.0),
        noise=noise,
        tilt=tilt,
        log_moment=sum(law.log_moment(tilt, step) for law in laws),
        infinite=-math.expm1(sum(law.times * math.log1p(-law.infinite) for law in laws)),
        cut=math.exp(min(cut, 0.0)),
        rounding=1 + 1e-11 + 64 * ULP * sum(law.times for law in laws),
    )


LEAST = 5e-324
"""The smallest float: below the pure epsilon no delta is 0."""

CLOSE = 1e-11
"""Relative width to which an epsilon is sought."""

Charges: TypeAlias = Sequence[tuple[Curves, int]]


def pure_total(charges: Charges) -> float:
    """The sum of the bounds on the loss, rounded up; infinite if one has none."""
    return sum_up([(curves.pure, times) for curves, times in charges])


def rho_total(charges: Charges) -> float:
    """The sum of the rhos, rounded up; infinite if one has none."""
    return sum_up([(curves.rho, times) for curves, times in charges])


def thinning_total(charges: Charges) -> float:
    """1 - prod (1 - delta): the mass of the joint thinning, rounded up."""
    log_rest = sum(times * math.log1p(-curves.delta) for curves, times in charges)
    return min(sum_up([(curves.delta, times) for curves, times in charges]), -math.expm1(log_rest) * (1 + 1e-14), 1.0)


def renyi_total(charges: Charges) -> Renyi:
    """The sum of the Renyi curves, rounded up."""

    def renyi(orders: Floats) -> Floats:
        total = np.zeros(orders.shape)
        for curves, times in charges:
            total = total + times * curves.renyi(orders)
        return total * (1 + 1e-15 * len(charges))

    return renyi


@np.errstate(all="ignore")
def delta_upper(charges: Charges, epsilon: float) -> float:
    """The least delta that any route proves at `epsilon`, rounded up."""
    thinning = thinning_total(charges)
    if epsilon >= pure_total(charges):
        return thinning
    by_renyi, order = renyi_delta(renyi_total(charges), epsilon)
    delta = min(1.0, thinning + by_renyi)
    return max(min([delta, *(curve(epsilon) for curve in upper_curves(charges, order, delta))]), LEAST)


@np.errstate(all="ignore")
def epsilon_upper(charges: Charges, delta: float) -> float:
    """The least epsilon that any route proves at `delta`, rounded up; infinite if none proves any."""
    thinning = thinning_total(charges)
    epsilon = pure_total(charges) if thinning <= delta else math.inf
    if delta == 0:
        return epsilon
    order = 2.0
    if delta > thinning:
        by_renyi, order = renyi_epsilon(renyi_total(charges), delta - thinning)
        epsilon = min(epsilon, by_renyi)
    for curve in upper_curves(charges, order, delta):
        epsilon = last_above(curve, delta, epsilon)
    return epsilon


def plans(charges: Charges, small: float = 0.0, *, renyi: bool = True) -> list[list[Pair]]:
    """Ways to cover all charges by a product of pairs, sharp where a delta is above `small`.

    Without one that says no more than the Renyi sum, where `renyi` is False.
    """
    apart = [pair for charge in charges if not charge[0].joint for pair in _pairs_of(charge)]
    joint = [charge for charge in charges if charge[0].joint]
    if not joint:
        return [apart]
    # one pair for all of them may say no more than the sum of their Renyi curves
    by_renyi = len(joint) > 1 or joint[0][1] > 1 or joint[0][0].by_renyi
    covers = [[*apart, _together(joint)]] if renyi or apart or not by_renyi else []
    in_blocks = [(charge, charge[0].blocks) for charge in joint if charge[0].blocks is not None]
    if in_blocks:
        largest, blocks = max(in_blocks, key=lambda item: item[0][1] * item[0][0].pure ** 2)
        others = [pair for charge in joint if charge is not largest for pair in _pairs_of(charge)]
        covers.append([*apart, *others, blocks(largest[1], small)])
    return covers


def _pairs_of(charge: tuple[Curves, int]) -> list[Pair]:
    curves, times = charge
    return [Pair(profile, times, curves.pure) for profile in curves.pairs]


def _together(joint: Charges) -> Pair:
    """One pair for all applications of guarantees with Renyi curves."""
    if len(joint) == 1 and joint[0][1] == 1:
        return _pairs_of(joint[0])[0]
    thinning, pure = thinning_total(joint), pure_total(joint)
    half = privacy_curves.renyi_profile(renyi_total(joint))
    both = privacy_curves.symmetric(lambda x: np.where(x >= pure, thinning, np.minimum(thinning + half(x), 1.0)))
    return Pair(both, 1, pure)


def upper_curves(
    charges: Charges, order: float, delta: float, *, renyi: bool = False
) -> list[Callable[[float], float]]:
    """For each plan, delta as a function of epsilon: exact for one pair, sharp near `delta` for a product.

    Without that of the Renyi sum alone, unless `renyi` says so: most look at it themselves.
    """
    return [
        value_of(plan[0].profile)
        if len(plan) == 1 and plan[0].times == 1
        else convolve(plan, order - 1, small_mass(delta)).delta
        for plan in plans(charges, small_mass(delta), renyi=renyi)
    ]


def value_of(profile: Profile) -> Callable[[float], float]:
    return lambda x: min(1.0, float(profile(np.array([x]))[0]))


def small_mass(delta: float) -> float:
    """Mass that may be cut off where a delta of this size is sought."""
    return max(delta * 1e-9, 1e-300)


SHARES = (0.999, 0.995, 0.99, 0.98, 0.97, 0.95, 0.92, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.3, 0.1)
"""Where a lower curve is looked at whose rounding hides it at 0."""


def last_above(curve: Callable[[float], float], delta: float, ceiling: float, *, inside: bool = False) -> float:
    """Where the falling `curve` crosses `delta`, or `ceiling`: a point beyond, or before it if `inside`."""

    def excess(x: float) -> float:
        return math.log(max(curve(x), 1e-320)) - math.log(delta)

    low, high = (0.0, excess(0.0)), (1.0, excess(1.0))
    if low[1] <= 0:
        points = (share * ceiling for share in SHARES) if inside and math.isfinite(ceiling) else ()
        return next((x for x in points if excess(x) > 0), 0.0)
    while high[1] > 0:
        if high[0] >= min(ceiling, 1e6):
            return high[0] if inside else ceiling
        farther = min(2 * high[0], ceiling)
        low, high = high, (farther, excess(farther))
    near, far = find_crossing(excess, low, high, CLOSE * high[0])
    return near if inside else min(far, ceiling)
