"""Gaps and thresholds: the speed of the sparse vector, what gaps save, and adaptive against plain."""

from __future__ import annotations

from functools import partial
from time import perf_counter

import numpy as np

from bench.shapes import shape
from bench.timing import interleaved, ratio
from shortlist import Scores
from shortlist.mechanisms import SparseVector, TopKWithGaps

NOISES = ("exponential", "laplace", "geometric")


def batch_table():
    """Batch sparse vector, d = 10^7, Zipf counts, almost all far below. Target: 2.5 times `np.max` (M)."""
    yield "| noise | adaptive | times M: min (median) |"
    yield "|---|---|---|"
    values = shape("zipf", 10**7)
    ways = {
        (noise, adaptive): SparseVector(
            threshold=200_000, k=10, epsilon=0.1, noise=noise, adaptive=adaptive, monotone=True
        )
        for noise in NOISES
        for adaptive in (False, True)
    }
    times = interleaved({"M": values.max} | {way: partial(m.release, values) for way, m in ways.items()}, 25)
    for noise, adaptive in ways:
        yield f"| {noise} | {'yes' if adaptive else 'no'} | {ratio(times, (noise, adaptive), 'M')} |"


def stream_table(questions=300_000):
    """Streaming, one question at a time from a Python iterable, few of them above. Target: 100,000 answers a second."""
    yield "| noise | adaptive | answers a second |"
    yield "|---|---|---|"
    values = shape("zipf", questions).tolist()
    for noise in NOISES:
        for adaptive in (False, True):
            m = SparseVector(threshold=2_000_000, k=10, epsilon=0.1, noise=noise, adaptive=adaptive, monotone=True)
            start = perf_counter()
            count = sum(1 for _ in m.stream(values))
            yield f"| {noise} | {'yes' if adaptive else 'no'} | {count / (perf_counter() - start):,.0f} |"


def reduction_table(gaps=250_000, measurements=20):
    """Squared error that gaps save: k counts, half of epsilon to measure, order certain. Target: theory within 1%."""
    yield "| k | noise | releases | less error: measured | theory | relative difference | standard error |"
    yield "|---|---|---|---|---|---|---|"
    rng = np.random.default_rng(1)
    for k in (2, 3, 5, 10, 25):
        truth = np.arange(k + 1, 0, -1) * 10_000 * k
        scores, scale = Scores(truth, monotone=True), k / 0.5
        for noise, theory in (("laplace", (k - 1) / (2 * k)), ("exponential", (2 * k - 2) / (3 * k))):
            m, saved = TopKWithGaps(k=k, epsilon=0.5, noise=noise), []
            for _ in range(gaps // k):
                release = m.release(scores)
                error = rng.laplace(scale=scale, size=(measurements, k))
                refined = [release.refine(truth[:k] + one, variance=2 * scale**2) for one in error]
                saved.append(np.mean(error**2) - np.mean((np.array(refined) - truth[:k]) ** 2))
            found, spread = np.mean(saved) / (2 * scale**2), np.std(saved) / (2 * scale**2) / len(saved) ** 0.5
            yield (
                f"| {k} | {noise} | {len(saved):,} | {found:.4f} | {theory:.4f} | {found / theory - 1:+.2%} "
                f"| {spread / theory:.2%} |"
            )


def f_measure(found, above):
    """(precision, F-measure) of the reported positions against the true ones."""
    right = len(set(found) & above)
    precision, recall = right / max(len(found), 1), right / len(above)
    return precision, 2 * precision * recall / max(precision + recall, 1e-300)


def left_after(m, release, k):
    """The share of epsilon that is left after the first k answers "above"; None if there were fewer."""
    spent = [answer.cost for answer in release.answers[:k]]
    return 1 - (float(m.rules.first) + sum(spent)) / m.epsilon if len(spent) == k else None


def adaptive_table(runs=300, items=1657):
    """Adaptive against plain, epsilon 0.7, Zipf counts, threshold at rank 2k to 8k. Paper: 40% left, 1.5 times F."""
    yield "| k | answers: plain, adaptive | precision | F-measure | ratio of F | left after k adaptive answers |"
    yield "|---|---|---|---|---|---|"
    rng = np.random.default_rng(2)
    counts = np.floor(400_000 / np.arange(1, items + 1)).astype(np.int64)
    for k in (2, 6, 12, 18, 24):
        rows = {False: [], True: []}
        left = []
        for _ in range(runs):
            values, threshold = rng.permutation(counts), int(counts[rng.integers(2 * k, 8 * k + 1)])
            above = set(np.flatnonzero(values > threshold).tolist())
            for adaptive in (False, True):
                m = SparseVector(threshold=threshold, k=k, epsilon=0.7, adaptive=adaptive, monotone=True)
                release = m.release(values)
                rows[adaptive].append((len(release.items), *f_measure(release.indices, above)))
                if adaptive:
                    left.append(left_after(m, release, k))
        (n, p, f), (many, q, g) = (np.mean(rows[adaptive], axis=0) for adaptive in (False, True))
        budget = np.mean([one for one in left if one is not None])
        yield f"| {k} | {n:.1f}, {many:.1f} | {p:.3f}, {q:.3f} | {f:.3f}, {g:.3f} | {g / f:.2f} | {budget:.0%} |"


TABLES = {
    "threshold-batch": batch_table,
    "threshold-stream": stream_table,
    "gap-savings": reduction_table,
    "threshold-adaptive": adaptive_table,
}
