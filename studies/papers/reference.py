"""REFERENCE CODE, never offered as mechanisms: the papers' competitors, to compare with on public or made-up counts.

Noise is computed in floats from the words of a seeded source, so nothing here protects anybody. Each function says
what its authors claim and whether the claim is proved here. Counts come largest first; a draw is a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist.sampling.entropy import Source


def uniform(source: Source, size: int) -> Floats:
    return np.ldexp(source.words(size).astype(np.float64) + 0.5, -64)


def laplace(source: Source, scale: float, size: int) -> Floats:
    u: Floats = uniform(source, size) - 0.5
    result: Floats = -scale * np.sign(u) * np.log1p(-2 * np.abs(u))
    return result


def exponential(source: Source, scale: float, size: int) -> Floats:
    result: Floats = -scale * np.log(uniform(source, size))
    return result


def gumbel(source: Source, scale: float, size: int) -> Floats:
    result: Floats = -scale * np.log(-np.log(uniform(source, size)))
    return result


def gaussian(source: Source, sigma: float, size: int) -> Floats:
    from scipy.special import ndtri

    result: Floats = sigma * ndtri(uniform(source, size))
    return result


def geometric(source: Source, scale: float, size: int) -> Floats:
    """On 0, 1, 2, ..: P(n) = (1 - q) q^n with q = e^{-1/scale}."""
    return np.floor(exponential(source, scale, size))


NOISES: dict[str, Callable[[Source, float, int], Floats]] = {
    "laplace": laplace, "exponential": exponential, "gumbel": gumbel, "gaussian": gaussian, "geometric": geometric,
}  # fmt: skip


def noisy_max_with_value(values: Floats, scale: float, noise: str, source: Source) -> tuple[int, float]:
    """Report noisy max with a fresh noisy value. Laplace 2 / epsilon each: epsilon-DP for monotone scores."""
    winner = int(np.argmax(values + NOISES[noise](source, scale, len(values))))
    return winner, float(values[winner] + NOISES[noise](source, scale, 1)[0])


def peeling(values: Floats, k: int, scale: float, noise: str, source: Source) -> Indices:
    """k rounds of noisy max without the winners so far, fresh noise in every round: the literal algorithm."""
    left = values.astype(np.float64)
    winners = np.empty(k, dtype=np.int64)
    for i in range(k):
        winners[i] = np.argmax(left + NOISES[noise](source, scale, len(left)))
        left[winners[i]] = -np.inf
    return winners


def peeling_with_values(values: Floats, k: int, scale: float, noise: str, source: Source) -> tuple[Indices, Floats]:
    """Peeling, and a fresh noisy value for each winner: the competitors of the Gumbel paper."""
    winners = peeling(values, k, scale, noise, source)
    return winners, values[winners] + NOISES[noise](source, scale, k)


def cdp_peeling(values: Floats, k: int, rho: float, draws: int, source: Source) -> Indices:
    """EM-CDP: the k largest under Gumbel noise of scale sqrt(k / (8 rho)): rho-zCDP, k rounds of bounded range."""
    scale = math.sqrt(k / (8 * rho))
    noisy = values + gumbel(source, scale, draws * len(values)).reshape(draws, -1)
    return np.argpartition(-noisy, k - 1, axis=1)[:, :k]


def stable_rank(gaps: Floats, penalty: Floats, rho: float, delta: float, source: Source) -> int | None:
    """Algorithm 2 of the adaptive-k paper: the rank of a large gap by Gumbel noise, then a Gaussian test; None: failed.

    rho-zCDP with a delta (proved): half of rho for the choice, half for the test, 1 / (2 sigma^2) = rho / 2.
    """
    rank = int(np.argmax(gaps + penalty + gumbel(source, 1 / math.sqrt(rho), len(gaps))))
    sigma = 1 / math.sqrt(rho)
    shown = max(1.0, float(gaps[rank])) + gaussian(source, sigma, 1)[0] - sigma * math.sqrt(2 * math.log(1 / delta))
    return rank + 1 if shown > 1 else None


def stable_fixed(values: Floats, k: int, rho: float, delta: float, weight: float, source: Source) -> Indices:
    """Algorithm 3 of the adaptive-k paper, StableTopK with a fixed k, its fallback being EM-CDP with half of rho.

    The split of the fallback is the sound reading (rho / 2 over all its rounds). The fallback looks at all counts, so
    this is for public candidates only.
    """
    gaps = values[:-1] - values[1:]
    penalty = -weight * np.abs(np.arange(1, len(values)) - k)
    rank = stable_rank(gaps, penalty, rho / 2, delta, source)
    if rank is None:
        return cdp_peeling(values, k, rho / 2, 1, source).ravel()
    if rank >= k:
        return np.arange(k) if rank == k else cdp_peeling(values[:rank], k, rho / 2, 1, source).ravel()
    rest = cdp_peeling(values[rank:], k - rank, rho / 2, 1, source).ravel() + rank
    return np.concatenate([np.arange(rank), rest])


def top_stable(values: Floats, k: int, epsilon: float, delta: float, source: Source) -> int:
    """TS (Carvalho, Wang, Gondara and Miao, 2020) as its abstract and the adaptive-k paper describe it: our reading.

    A sparse vector with one answer goes over the ranks k, k - 1, .., 1 and asks whether the gap behind the rank exceeds
    1 by a margin; the top items down to the first such rank are the answer, 0 if there is none. With Lap(4 / epsilon)
    on the gaps, Lap(2 / epsilon) on the margin (4 ln(k / delta) + 2 ln(1 / delta)) / epsilon, a set that a neighbour
    would change passes with probability at most delta, so this reading is (epsilon, delta)-DP; the original may differ.
    """
    distance = np.maximum(values[:k] - values[1 : k + 1] - 1.0, 0.0)[::-1]
    margin = (4 * math.log(k / delta) + 2 * math.log(1 / delta)) / epsilon + laplace(source, 2 / epsilon, 1)[0]
    passed = np.flatnonzero(distance + laplace(source, 4 / epsilon, k) > margin)
    return int(k - passed[0]) if len(passed) else 0


def whole_gaps_of_top_k(values: Floats, k: int, scale: float, draws: int, source: Source) -> tuple[Indices, Floats]:
    """Noisy top k of whole values with geometric noise and the k - 1 gaps between its winners, a row for each draw.

    With ties to the lowest index it is not private if the gap behind rank k is released; here it is not, and ties are
    broken at random. Who is 30 scales behind the k-th value is left out: one wins in fewer than e^-18 of all draws.
    """
    places = np.flatnonzero(values > np.partition(values, -k)[-k] - 30 * scale)
    noisy = values[places] + geometric(source, scale, draws * len(places)).reshape(draws, -1)
    order = np.argsort(-noisy - uniform(source, noisy.size).reshape(noisy.shape) / 2, axis=1)[:, :k]
    gaps: Floats = -np.diff(np.take_along_axis(noisy, order, axis=1), axis=1)
    return places[order], gaps


def gnmax(votes: Floats, sigma: float, source: Source) -> Floats:
    """PATE with Gaussian noise (GNMax) on the number of teachers that vote for each label, queries x labels.

    rho = (squared L2 distance that one teacher can move) / (2 sigma^2) a query; without data-dependent bounds.
    """
    noisy: Floats = votes + gaussian(source, sigma, votes.size).reshape(votes.shape)
    return noisy


def clipped_votes(votes: Floats, tau: float) -> Floats:
    """PATE-tau: each teacher's votes for one query (the last axis) scaled down to a sum of at most tau."""
    total = votes.sum(axis=-1, keepdims=True)
    result: Floats = votes * np.minimum(1.0, tau / np.maximum(total, 1e-300))
    return result
