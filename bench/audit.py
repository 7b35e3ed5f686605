"""The long audit: every mechanism under attack, the catalogue, and how tight and fast the auditor is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import numpy as np

import shortlist as sl
from shortlist import ZCDP, ApproxDP
from shortlist.audit.broken import catch_all
from shortlist.audit.laws import MAKERS, prove_mechanism, utilities
from shortlist.audit.outputs import read_many
from shortlist.audit.targets import Target, default_size, source_of
from shortlist.commands.audit import claimed
from shortlist.mechanisms import (
    CanonicalLimitedDomain,
    CanonicalTopK,
    ExponentialWithGap,
    GuardedTopK,
    GumbelTopKValues,
    HybridSparseVector,
    HybridTopK,
    JointTopK,
    LargeGap,
    LimitedDomainTopK,
    MeasuredTopK,
    NoisyMax,
    OneshotTopK,
    SparseVector,
    StableTopK,
    TopKWithGaps,
)
from shortlist.mechanisms.canonical import default_gamma
from shortlist.noise.kinds import EXPONENTIAL, GUMBEL, KINDS, LAPLACE, Noise
from shortlist.scores import Scores

MANY, SOME = 10_000_000, 5_000
NOISES = list(KINDS)
FAST = [
    *(NoisyMax(epsilon=1.0, noise=noise) for noise in NOISES),
    NoisyMax(budget=ApproxDP(1.0, 0.01), noise="gaussian"),
    *(OneshotTopK(k=2, epsilon=1.0, noise=noise) for noise in NOISES),
]
"""Their `release_many` is the release itself, many at a time."""
SLOW = [
    CanonicalTopK(k=2, epsilon=1.0),
    CanonicalTopK(k=2, epsilon=1.0, noise="gumbel"),
    GuardedTopK(k=3, epsilon=1.0),
    JointTopK(k=2, epsilon=1.0),
    TopKWithGaps(k=1, epsilon=1.0),
    TopKWithGaps(k=1, epsilon=1.0, noise="laplace"),
    MeasuredTopK(k=1, epsilon=1.0),
    ExponentialWithGap(epsilon=1.0),
    GumbelTopKValues(k=1, budget=ApproxDP(1.0, 1e-3)),
    SparseVector(threshold=0, k=1, epsilon=1.0),
    SparseVector(threshold=0, k=1, epsilon=1.0, noise="laplace"),
    SparseVector(threshold=0, k=1, epsilon=1.0, noise="geometric"),
    SparseVector(threshold=0, k=1, epsilon=1.0, adaptive=True),
    HybridTopK(threshold=0, k=1, epsilon=1.0),
    HybridSparseVector(threshold=0, k=1, epsilon=1.0),
    LargeGap(epsilon=1.0),
    StableTopK(k=1, epsilon=1.0, delta=0.05),
    StableTopK(budget=ZCDP(0.5, 0.05), limit=2),
    LimitedDomainTopK(k=1, epsilon=1.0, delta=0.05, limit=2),
    LimitedDomainTopK(k=1, epsilon=1.0, delta=0.05, limit=2, noise="exponential"),
    CanonicalLimitedDomain(k=2, epsilon=1.0, delta=0.05),
]
"""One `release` after the other."""


# The same laws, many at a time: the noise's own quantiles of secure words, put together in floats, hence on a grid (the
# auditor convicted these floats by their low-order bits before there was one)

GRID = 2.0**16


def _finishes(noise: Noise, scale: Fraction, places: list[float], draws: int, source: Any) -> Any:
    words = source.words(draws * len(places))
    quantiles, _ = noise.quantile(words, 0)
    return np.array(places) + float(scale) * quantiles.reshape(draws, len(places))


def _winner_and_gap(z: Any) -> tuple[Any, Any]:
    ranked = np.sort(z, axis=1)
    return z.argmax(1), ranked[:, -1] - ranked[:, -2]


def _quantile_draws(mechanism: Any) -> Callable[[list[float], int, Any], Any] | None:
    """(scores, draws, source) -> arrays, for k = 1 and general scores of sensitivity 1."""
    exponents = _exponents(mechanism)
    if exponents is not None:
        kind = mechanism._kind if isinstance(mechanism, CanonicalTopK) else GUMBEL

        def choice(x: list[float], n: int, source: Any) -> Any:
            return _finishes(kind, Fraction(1), exponents(x), n, source).argmax(1), np.empty((n, 0))

        return choice
    if isinstance(mechanism, TopKWithGaps):
        noise = KINDS[mechanism.noise]
        return lambda x, n, source: _winner_and_gap(_finishes(noise, Fraction(2), x, n, source))
    if isinstance(mechanism, ExponentialWithGap):
        return lambda x, n, source: _winner_and_gap(_finishes(GUMBEL, Fraction(2), x, n, source))
    if isinstance(mechanism, MeasuredTopK):

        def measured(x: list[float], n: int, source: Any) -> Any:
            winner, gap = _winner_and_gap(_finishes(EXPONENTIAL, Fraction(4), x, n, source))
            return winner, np.stack(
                [gap, np.array(x)[winner] + _finishes(LAPLACE, Fraction(2), [0.0], n, source)[:, 0]], 1
            )

        return measured
    if isinstance(mechanism, GumbelTopKValues):
        scale = mechanism.scale(Scores([0, 1]))

        def values(x: list[float], n: int, source: Any) -> Any:
            z = _finishes(GUMBEL, scale, x, n, source)
            return z.argmax(1), z.max(1)

        return values
    if isinstance(mechanism, SparseVector) and not mechanism.adaptive:
        return _sparse(mechanism)
    if isinstance(mechanism, HybridTopK):

        def hybrid(x: list[float], n: int, source: Any) -> Any:
            winner, gap = _winner_and_gap(_finishes(EXPONENTIAL, Fraction(2), [0.0, *x], n, source))
            return winner, np.where(winner == 0, np.nan, gap)

        return hybrid
    if isinstance(mechanism, HybridSparseVector):
        first, each = mechanism.shares(Scores([0, 1]))

        def above(x: list[float], n: int, source: Any) -> Any:
            line = _finishes(EXPONENTIAL, 1 / first, [0.0], n, source)[:, 0] - float(1 / first)
            z = _finishes(EXPONENTIAL, 2 / each, x, n, source) - float(2 / each)
            gap = z.max(1) - line
            return np.where(gap > 0, z.argmax(1), -1), np.where(gap > 0, gap, np.nan)

        return above
    return None


def _exponents(mechanism: Any) -> Callable[[list[float]], list[float]] | None:
    """Of mechanisms that are one noisy maximum over sets, sequences or ranks, general scores of sensitivity 1."""
    if isinstance(mechanism, CanonicalTopK):
        return lambda x: [float(u) / 2 for u in utilities(x, mechanism.k, default_gamma(mechanism.k, len(x))).values()]
    if isinstance(mechanism, JointTopK):

        def joint(x: list[float]) -> list[float]:
            best, orders = sorted(x, reverse=True), permutations(range(len(x)), mechanism.k)
            return [-max(best[place] - x[i] for place, i in enumerate(order)) / 4 for order in orders]

        return joint
    if isinstance(mechanism, LargeGap):
        return lambda x: [(one - two) / 4 for one, two in pairwise(sorted(x, reverse=True))]
    return None


def _sparse(mechanism: SparseVector) -> Callable[[list[float], int, Any], Any]:
    rules = mechanism.rules
    test = rules.branches[0].test
    whole = np.floor if rules.whole else lambda z: z

    def run(x: list[float], n: int, source: Any) -> Any:
        line = whole(_finishes(rules.noise, rules.threshold_scale, [0.0], n, source))
        gaps = np.array(x) + whole(_finishes(test.noise, test.scale, [0.0] * len(x), n, source)) - line
        gaps = gaps - float(test.centre)
        passed = gaps >= float(test.cut)
        first = np.where(passed.any(1), passed.argmax(1), -1)
        return first, np.where(first >= 0, gaps[np.arange(n), first], np.nan)

    return run


def by_quantiles(mechanism: Any) -> Target | None:
    draws_of = _quantile_draws(mechanism)
    if draws_of is None:
        return None

    def draw(x: Any, draws: int, seed: int | None) -> Any:
        code, real = draws_of([float(value) for value in x], draws, source_of(seed))
        return read_many((code, np.floor(real * GRID) / GRID), draws)

    return Target(f"{mechanism!r} by quantiles", draw, 250_000, True, True)


def _label(mechanism: Any) -> str:
    shown = {"k": getattr(mechanism, "k", None), "noise": getattr(mechanism, "noise", None)}
    words = ", ".join(f"{name}={value}" for name, value in shown.items() if value is not None)
    return f"{type(mechanism).__name__}({words}{', adaptive' * getattr(mechanism, 'adaptive', False)})"


def _box(mechanism: Any) -> str:
    if not isinstance(mechanism, tuple(MAKERS)):
        return "-"
    d, top = (6, 1) if isinstance(mechanism, GuardedTopK) else (4, 2) if getattr(mechanism, "k", 1) == 2 else (3, 2)
    if isinstance(mechanism, StableTopK | LimitedDomainTopK | CanonicalLimitedDomain):
        d, top = 3, 3
    elif isinstance(mechanism, LargeGap | SparseVector | HybridTopK | HybridSparseVector):
        d, top = 3, 3  # they see how high the scores are, and the auditor tries threes
    elif isinstance(mechanism, MeasuredTopK):
        d, top = 2, 2
    proof = prove_mechanism(mechanism, d=d, top=top)
    return (
        f"{proof.log_ratio:.4f}, proved"
        if proof.holds and proof.log_ratio < 99
        else "proved"
        if proof.holds
        else "BROKEN"
    )


def _row(mechanism: Any, target: Any, trials: int, how: str) -> str:
    found = sl.audit(target, claim=mechanism.guarantee, trials=trials, d=default_size(mechanism))
    verdict = "**violated**" if found.violated else "not refuted"
    return (
        f"| {_label(mechanism)} | {claimed(mechanism.guarantee)} | {_box(mechanism)} | {how} | {trials:,} | "
        f"{found.epsilon_lower:.4f} | {found.rate:,.0f} | {verdict} |"
    )


HEAD = "| mechanism | claim | largest log ratio on its box | draws | trials | epsilon at least | draws/s | verdict |"
RULE = "|---|---|---|---|---|---|---|---|"


def long_run() -> Iterator[str]:
    """Our mechanisms under attack, many draws at a time, confidence 99.9%."""
    yield from (HEAD, RULE)
    for mechanism in FAST:
        yield _row(mechanism, mechanism, MANY, "release_many")
    for mechanism in SLOW:
        target = by_quantiles(mechanism)
        if target is not None:
            yield _row(mechanism, target, MANY, "quantiles")


def releases() -> Iterator[str]:
    """Our mechanisms under attack, one release after the other, confidence 99.9%."""
    yield from (HEAD, RULE)
    for mechanism in SLOW:
        yield _row(mechanism, mechanism, SOME, "release")


def catalogue() -> Iterator[str]:
    """The catalogue of broken mechanisms, confidence 99.9999%."""
    yield "| broken mechanism | what is wrong | where | claim | caught by | trials | epsilon at least; the box |"
    yield "|---|---|---|---|---|---|---|"
    for caught in catch_all(seed=1):
        entry = caught.entry
        says = caught.evidence.partition(": ")[2].partition(" on ")[0]
        bound = "" if caught.epsilon_lower is None else f"{caught.epsilon_lower:.3f}"
        trials = f"{caught.trials:,}" if caught.trials else "exact"
        told = "; ".join(part for part in (bound, says) if part)
        cells = (entry.name, entry.what, entry.found, claimed(entry.claim), caught.by or "NOT CAUGHT", trials, told)
        yield f"| {' | '.join(cells)} |"


def tightness() -> Iterator[str]:
    """How near the bound comes to the exact log ratio of the same box: 10,000,000 trials, confidence 99.9%."""
    yield "| mechanism | epsilon | exact log ratio on the box | epsilon at least | share | draws/s |"
    yield "|---|---|---|---|---|---|"
    for noise in ("exponential", "gumbel", "laplace"):
        for epsilon in (1.0, 1.5, 2.0):
            yield _tight(NoisyMax(epsilon=epsilon, noise=noise), epsilon, 3)
    yield _tight(OneshotTopK(k=2, epsilon=1.0), 1.0, 4)
    found = sl.audit(NoisyMax(epsilon=1.0), trials=MANY, d=5)
    yield f"| NoisyMax(noise=exponential), d = 5 | 1 | - | {found.epsilon_lower:.4f} | - | {found.rate:,.0f} |"


def _tight(mechanism: Any, epsilon: float, d: int) -> str:
    exact = prove_mechanism(mechanism, d=d, top=2).log_ratio
    found = sl.audit(mechanism, trials=MANY, d=d)
    bound = found.epsilon_lower
    return (
        f"| {_label(mechanism)} | {epsilon:g} | {exact:.4f} | {bound:.4f} | {bound / exact:.4f} | {found.rate:,.0f} |"
    )


TABLES = {"audit": long_run, "audit-releases": releases, "audit-catalogue": catalogue, "audit-tightness": tightness}
