"""Noisy max and one-shot top-k against `np.max` (M) and numpy's own float Gumbel argmax (G)."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from functools import partial
from time import perf_counter

import numpy as np

from bench.shapes import SHAPES, shape
from bench.timing import interleaved, ratio
from shortlist import Scores
from shortlist.exact.noise import KINDS
from shortlist.mechanisms import NoisyMax, OneshotTopK
from shortlist.sampling import skipping
from shortlist.sampling.entropy import SECURE
from shortlist.sampling.race import prepare

EPSILON = 0.1


def gumbel_argmax(values, rng, scale):
    return np.argmax(values + rng.gumbel(size=len(values)) * scale)


def mechanism(k, noise):
    return NoisyMax(epsilon=EPSILON, noise=noise) if k == 1 else OneshotTopK(k=k, epsilon=EPSILON, noise=noise)


def contestants(values, k, noises):
    rng = np.random.default_rng(1)
    runs = {"M": values.max, "G": partial(gumbel_argmax, values, rng, k / EPSILON)}
    for noise in noises:
        runs[noise] = partial(mechanism(k, noise).release, values, monotone=True)
    return runs


TARGETS = {  # at most so many M, so many G
    (10**4, 1): (None, 2.5),
    (10**6, 1): (None, 0.08),
    (10**6, 100): (None, 0.12),
    (10**7, 1): (2.0, 0.05),
    (10**7, 100): (2.5, 0.05),
}


def zipf_table():
    """Shuffled Zipf counts, each noise; the whole public call from a plain array to a release."""
    yield "| d | k | noise | times M: min (median) | times G: min (median) | target |"
    yield "|---|---|---|---|---|---|"
    for (d, k), (most_m, most_g) in TARGETS.items():
        values = shape("zipf", d)
        times = interleaved(contestants(values, k, KINDS), 60 if d < 10**7 else 25, before=values.max)
        target = f"{most_m} M, {most_g} G" if most_m else f"{most_g} G"
        for noise in KINDS:
            yield f"| {d:,} | {k} | {noise} | {ratio(times, noise, 'M')} | {ratio(times, noise, 'G')} | {target} |"


def worst_table():
    """The worst shapes. Target: 0.15 G."""
    yield "| shape | d | k | noise | times G: min (median) |"
    yield "|---|---|---|---|---|"
    for name in SHAPES[1:]:
        for d in (10**6, 10**7):
            for k in (1, 100):
                values = shape(name, d)
                times = interleaved(contestants(values, k, KINDS), 15 if d < 10**7 else 7, before=values.max)
                slowest = max(KINDS, key=lambda noise: min(times[noise]))
                yield f"| {name} | {d:,} | {k} | {slowest} (the slowest) | {ratio(times, slowest, 'G')} |"


def fallback_table(draws=5_000):
    """How often a draw had to reveal all candidates. Limit: 1e-4."""
    yield "| shape | d | k | fallbacks in " + f"{draws:,} draws of each noise |"
    yield "|---|---|---|---|"
    revealed = 0
    reveal = skipping.SkipPlan.reveal

    def counting(plan, hits, source):
        nonlocal revealed
        revealed += 1
        return reveal(plan, hits, source)

    skipping.SkipPlan.reveal = counting
    try:
        for name in (*SHAPES, "peak", "periodic"):
            for d, k in ((20_000, 1), (20_000, 10)):
                values, row = shape(name, d), []
                for noise in KINDS.values():
                    revealed = 0
                    run = prepare(values, k=k, scale=Fraction(10 * k), noise=noise)
                    for _ in range(draws):
                        run(SECURE)
                    row.append(f"{noise.name} {revealed}")
                yield f"| {name} | {d:,} | {k} | {', '.join(row)} |"
    finally:
        skipping.SkipPlan.reveal = reveal


class Counting:
    secure = True

    def __init__(self):
        self.count = 0

    def words(self, count):
        self.count += count
        return SECURE.words(count)


def frugal_table():
    """Memory beyond the input at d = 10^7 (limit 5%), and random words at d = 10^6 (limit 100,000)."""
    yield "| shape | k | most extra memory | random words |"
    yield "|---|---|---|---|"
    for name in SHAPES:
        large, million = shape(name, 10**7), shape(name, 10**6)
        for k in (1, 100):
            extra, words = 0.0, 0
            for noise in KINDS:
                tracemalloc.start()
                mechanism(k, noise).release(large, monotone=True)
                extra = max(extra, tracemalloc.get_traced_memory()[1] / large.nbytes)
                tracemalloc.stop()
                source = Counting()
                mechanism(k, noise)._draw(Scores(million, monotone=True), source)
                words = max(words, source.count)
            yield f"| {name} | {k} | {extra:.2%} | {words:,} |"


def many_table():
    """Independent draws in one call, d = 5. Target: 1,000,000 a second."""
    yield "| noise | draws a second |"
    yield "|---|---|"
    values = np.array([5, 4, 3, 3, 0])
    for noise in KINDS:
        many = NoisyMax(epsilon=1.0, noise=noise)
        many.release_many(values, draws=1000)
        start = perf_counter()
        many.release_many(values, draws=2_000_000)
        yield f"| {noise} | {2e6 / (perf_counter() - start):,.0f} |"


TABLES = {
    "zipf": zipf_table,
    "worst": worst_table,
    "fallback": fallback_table,
    "frugal": frugal_table,
    "many": many_table,
}
