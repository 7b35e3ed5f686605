"""Where to integrate over the level z, with which nodes, and when to stop refining.

Noises without kinks have analytic integrands that vanish at both ends: the trapezoidal rule converges
geometrically. The others are cut at *every* kink s_i + kink inside the range, and Gauss-Legendre is used between
the cuts: a panel much shorter than the features of the integrand needs only few nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from shortlist._arrays import Floats
from shortlist.exact.effort import among, is_rough
from shortlist.exact.noise_distributions import Noise
from shortlist.exact.weighted_scores import Levels

NEGLIGIBLE_LOG = -41.0
"""Ranges end where less than e^-41 (about 1e-18) of the mass lies beyond."""

SEARCHED_NEGLIGIBLE_LOG = -30.0
"""The same in a search, which asks for no more than a law's stated accuracy: 1e-13."""

ROUGHLY_NEGLIGIBLE_LOG = -18.0
"""The same where a rough law is enough."""

_KINKS_PER_BLOCK = 32
_WIDEST_BLOCK = 2.0
_FEWEST_PANELS = 8
_FEWEST_NODES = 64
_REFINEMENTS = 6
_DOUBLED: Floats = np.array([0.0, 1.0, 3.0, 7.0, 15.0])
"""How many steps from where it begins the end of a range is sought at once."""
_LOOKS = 5
"""And at how many levels between two."""
_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class Block:
    """Some nodes and weights of a rule, and the levels between which they lie."""

    levels: Levels
    nodes: Floats
    weights: Floats


def find_range(below: Callable[[Floats], Floats], above: Callable[[Floats], Floats], guess: Levels) -> Levels:
    """Levels [a, b] with below(a) and above(b) at most NEGLIGIBLE_LOG, each end about 5% too far out.

    ``below(z)`` bounds the logarithm of the mass below z and increases; ``above`` is its mirror. Each is asked for
    several levels at once.
    """
    low, high = _outside(below, guess, -1.0), _outside(above, guess, 1.0)
    low_inside, high_inside = high, low
    for _ in range(_ROUNDS):
        margin = 0.05 * max(high_inside - low_inside, 0.0)
        if low_inside - low <= margin and high - high_inside <= margin:
            break
        low, low_inside = _between(below, low, low_inside, margin)
        high, high_inside = _between(above, high, high_inside, margin)
    return low, high


def _outside(mass: Callable[[Floats], Floats], guess: Levels, side: float) -> float:
    """A level beyond which the mass is negligible: by steps that double."""
    end, step = guess[0] if side < 0 else guess[1], side * max(1.0, guess[1] - guess[0])
    while True:
        levels: Floats = end + step * _DOUBLED
        enough = mass(levels) <= _least()
        if enough.any():
            return float(levels[enough.argmax()])
        step *= float(_DOUBLED[-1]) + 1.0
        end, step = float(levels[-1]) + step, 2.0 * step


def _between(mass: Callable[[Floats], Floats], end: float, inside: float, margin: float) -> Levels:
    """The same, nearer to each other; as they are if they are near."""
    if abs(inside - end) <= margin:
        return end, inside
    levels = np.linspace(inside, end, _LOOKS + 2)
    enough = mass(levels[1:-1]) <= _least()
    first = int(enough.argmax()) + 1 if enough.any() else _LOOKS + 1
    return float(levels[first]), float(levels[first - 1])


def _least() -> float:
    return among(NEGLIGIBLE_LOG, SEARCHED_NEGLIGIBLE_LOG, ROUGHLY_NEGLIGIBLE_LOG)


def blocks(values: Sequence[Floats], levels: Levels, noise: Noise, refinement: int) -> Iterator[Block]:
    """A rule for integrals over ``levels``, in blocks into which few kinks of items at any of ``values`` fall.

    Every refinement doubles the nodes.
    """
    if not noise.kinks:
        yield from _trapezoidal(levels, refinement)
        return
    low, high = levels
    widest = min(1.0, (high - low) / 14)
    cuts = _cuts(np.concatenate(values), levels, noise)
    edges = np.concatenate([_split(start, stop, widest) for start, stop in pairwise(cuts)] + [[high]])
    passed = np.searchsorted(cuts, edges)
    first = 0
    while first < edges.size - 1:
        full = np.searchsorted(passed, passed[first] + _KINKS_PER_BLOCK)
        wide = np.searchsorted(edges, edges[first] + _WIDEST_BLOCK, side="right") - 1
        last = int(np.clip(min(full, max(wide, first + _FEWEST_PANELS)), first + 1, edges.size - 1))
        yield _gauss(edges[first : last + 1], widest, refinement)
        first = last


def _cuts(values: Floats, levels: Levels, noise: Noise) -> Floats:
    """The ends of the range and the kinks between them, those closer than rounding taken as one."""
    at = (values[:, None] + np.asarray(noise.kinks)).ravel()
    at = np.unique(at[(at > levels[0]) & (at < levels[1])])
    cuts = np.concatenate([[levels[0]], at, [levels[1]]])
    apart = np.diff(cuts) > 1e-14 * min(1.0, levels[1] - levels[0]) + 4 * np.spacing(np.abs(cuts[:-1]))
    return np.concatenate([cuts[:-1][apart], [levels[1]]])


def _split(start: float, stop: float, widest: float) -> Floats:
    """The left edges of panels from start to stop: even, or, over a very long way, growing away from both ends."""
    length = stop - start
    if length <= 64 * widest:
        return np.linspace(start, stop, max(1, int(np.ceil(length / widest))), endpoint=False)
    distance = [0.0]
    while distance[-1] < length / 2:
        distance.append(distance[-1] + max(widest, distance[-1] / 8))
    near = np.minimum(distance, length / 2)
    return np.unique(np.concatenate([start + near, stop - near[1:]]))


def _gauss(edges: Floats, widest: float, refinement: int) -> Block:
    """Six nodes (doubled at each refinement) on the widest panels, fewer on short ones."""
    width = np.diff(edges)
    digits = 0.84 + np.log10(np.maximum(widest / width, 1.0))
    count = np.ceil((3.0 if is_rough() else 5.0) / digits).astype(np.int64) * 2**refinement
    rules = [_legendre(int(n)) for n in count]
    nodes = [start + size * node for start, size, (node, _) in zip(edges[:-1], width, rules, strict=True)]
    weights = [size * weight for size, (_, weight) in zip(width, rules, strict=True)]
    return Block((float(edges[0]), float(edges[-1])), np.concatenate(nodes), np.concatenate(weights))


@cache
def _legendre(n: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre with n nodes on [0, 1]."""
    node, weight = np.polynomial.legendre.leggauss(n)
    return (node + 1) / 2, weight / 2


def _trapezoidal(levels: Levels, refinement: int) -> Iterator[Block]:
    low, high = levels
    widest, fewest = (0.6, 16) if is_rough() else (0.3, 32)
    count = int(np.ceil((high - low) / min(widest, (high - low) / fewest))) * 2**refinement
    node = np.linspace(low, high, count + 1)
    step = (high - low) / count
    size = max(_FEWEST_NODES, int(_WIDEST_BLOCK / step))
    for first in range(0, node.size, size):
        part = node[first : first + size]
        yield Block((float(part[0]), float(part[-1])), part, np.full(part.size, step))


def refined(evaluate: Callable[[int], Floats], settled: Callable[[Floats, Floats], bool]) -> Floats:
    """evaluate(0), evaluate(1), ... until ``settled(previous, current)``; the last of them.

    Errors fall geometrically in the number of nodes, so doubling it about squares them: the value returned is far
    more accurate than the change that was accepted. Raises ArithmeticError rather than return a worse one. Where a
    rough law is enough, the first is.
    """
    previous = evaluate(0)
    if is_rough():
        return previous
    for refinement in range(1, _REFINEMENTS):
        current = evaluate(refinement)
        if settled(previous, current):
            return current
        previous = current
    raise ArithmeticError("the law did not settle to its stated accuracy: is the noise smooth between its kinks?")
