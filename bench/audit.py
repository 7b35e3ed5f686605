"""The long audit: every mechanism under attack, the catalogue, and how tight and fast the auditor is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice, permutations
from typing import Any

import shortlist as sl
from shortlist import ZCDP, ApproxDP, PureDP
from shortlist.accounting.guarantees import Guarantee
from shortlist.audit import Proof, neighbours, prove_mechanism, prove_pate
from shortlist.audit.attack import (
    Target,
    default_pairs,
    default_size,
    mechanism_named,
    mechanism_names,
    scores_of,
    source_of,
    target_of,
)
from shortlist.audit.entries import entry_of
from shortlist.audit.events import read_each, read_many
from shortlist.audit.prove import with_two_votes
from shortlist.exact.noise import KINDS
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
from shortlist.mechanisms.base import Mechanism
from shortlist.pate import PATE, MultiLabelPATE
from studies.broken import catch_all


def claimed(claim: Guarantee) -> str:
    """A claim in few letters, for tables."""
    return str(claim).replace("epsilon=", "").replace("delta=", "").replace("rho=", "")


def _takes_counts(mechanism: Any) -> bool:
    how = entry_of(mechanism)
    return how is not None and how.inputs == "histograms"


def _with_monotone_scores(mechanism: Any) -> Any:
    """The same mechanism; a sparse vector knows of its scores."""
    return replace(mechanism, monotone=True) if isinstance(mechanism, SparseVector) else mechanism


TIGHT, MANY, SETS, SOME = 10_000_000, 14_300_000, 286_000, 20_000
"""Trials of an audit: seven tenths of them test its event, so that every strongest event has 10,000,000.

Where draws are made one by one, which is slow, strongest events have 200,000.
"""
LEVELLED = LargeGap, SparseVector, HybridTopK, HybridSparseVector
BOTH = [
    NoisyMax(epsilon=1.0),
    OneshotTopK(k=2, epsilon=1.0),
    TopKWithGaps(k=1, epsilon=1.0),
    GumbelTopKValues(k=1, budget=ApproxDP(1.0, 1e-3)),
    SparseVector(threshold=0, k=1, epsilon=1.0),
    HybridTopK(threshold=0, k=1, epsilon=1.0),
    HybridSparseVector(threshold=0, k=1, epsilon=1.0),
    LargeGap(epsilon=1.0),
]
"""Audited with general and with monotone scores."""
GENERAL = [
    *(NoisyMax(epsilon=1.0, noise=noise) for noise in KINDS if noise != "exponential"),
    NoisyMax(budget=ApproxDP(1.0, 0.01), noise="gaussian"),
    *(OneshotTopK(k=2, epsilon=1.0, noise=noise) for noise in KINDS if noise != "gumbel"),
    CanonicalTopK(k=2, epsilon=1.0),
    CanonicalTopK(k=2, epsilon=1.0, noise="gumbel"),
    GuardedTopK(k=3, epsilon=1.0),
    GuardedTopK(k=3, budget=ApproxDP(1.0, 0.05)),
    JointTopK(k=2, epsilon=1.0),
    TopKWithGaps(k=1, epsilon=1.0, noise="laplace"),
    TopKWithGaps(k=2, epsilon=1.0),
    MeasuredTopK(k=1, epsilon=1.0),
    ExponentialWithGap(epsilon=1.0),
    GumbelTopKValues(k=2, budget=ApproxDP(1.0, 1e-3)),
    SparseVector(threshold=0, k=1, epsilon=1.0, noise="laplace"),
    SparseVector(threshold=0, k=1, epsilon=1.0, noise="geometric"),
    SparseVector(threshold=0, k=1, epsilon=1.0, adaptive=True),
]
MONOTONE = [
    StableTopK(k=1, epsilon=1.0, delta=0.05),
    StableTopK(budget=ZCDP(0.5, 0.05), limit=2),
    LimitedDomainTopK(k=1, epsilon=1.0, delta=0.05, limit=2),
    LimitedDomainTopK(k=1, epsilon=1.0, delta=0.05, limit=2, noise="exponential"),
    CanonicalLimitedDomain(k=2, epsilon=1.0, delta=0.05),
]
"""Counts of users, with labels that one user may bring."""


def _unlisted() -> Iterator[Any]:
    """Mechanisms of which nothing is listed above, as `shortlist audit` builds them by name, with and without delta."""
    listed = tuple(type(one) for one in [*BOTH, *GENERAL, *MONOTONE])
    for name in mechanism_names():
        for claim in (PureDP(1.0), ApproxDP(1.0, 0.05)):
            with suppress(TypeError, ValueError):  # a claim that it does not take
                mechanism = mechanism_named(name, None, claim)
                if not isinstance(mechanism, listed):
                    yield mechanism


OTHERS = list(_unlisted())
EVERY = [
    *((one, False) for one in [*BOTH, *GENERAL]),
    *((_with_monotone_scores(one), True) for one in [*BOTH, *MONOTONE]),
    *((one, _takes_counts(one)) for one in OTHERS),
]

VOTES = [[0, 0], [1, 0], [0, 1], [1, 1]]
BALLOTS = [
    ([*[[1, 0]] * many, *[[0, 1]] * few, one], [*[[1, 0]] * many, *[[0, 1]] * few, other])
    for many in (1, 2, 4)
    for few in (0, 1, 2)
    for one, other in permutations(VOTES, 2)
]
"""Votes of a few teachers on two labels, one of whom changes all of hers."""
CLASSES = [([*[0] * many, *[1] * few, 0], [*[0] * many, *[1] * few, 1]) for many in (0, 1, 3) for few in (0, 1, 3)]
"""The same where everyone names one class."""


def _label(mechanism: Any) -> str:
    shown = {name: getattr(mechanism, name, None) for name in ("k", "most", "noise")}
    words = ", ".join(f"{name}={value}" for name, value in shown.items() if isinstance(value, int | str))
    return f"{type(mechanism).__name__}({words}{', adaptive' * getattr(mechanism, 'adaptive', False)})"


@cache
def _box(mechanism: Any, monotone: bool) -> str:
    d, top = (6, 1) if isinstance(mechanism, GuardedTopK) else (4, 2) if getattr(mechanism, "k", 1) == 2 else (3, 2)
    if mechanism in OTHERS:
        d, top = min(default_size(mechanism), 6), 3 if _takes_counts(mechanism) else 1
    elif isinstance(mechanism, LEVELLED) or _takes_counts(mechanism):
        d, top = 3, 3  # they see how high the scores are, and the auditor tries threes
    elif isinstance(mechanism, NoisyMax | OneshotTopK):
        top = 3
    elif isinstance(mechanism, MeasuredTopK | TopKWithGaps) and mechanism.k + (type(mechanism) is MeasuredTopK) > 1:
        d, top = mechanism.k + 1, 2
    return _shown(prove_mechanism(mechanism, d=d, top=top, monotone=monotone))


def _shown(proof: Proof) -> str:
    if not proof.holds:
        return "BROKEN"
    return f"{proof.log_ratio:.4f}, proved" if proof.log_ratio < 99 else "proved"


def _row(mechanism: Any, target: Target, trials: int, monotone: bool) -> str:
    every = default_pairs(mechanism, default_size(mechanism), monotone=monotone)
    pairs = list(islice(every, max(24, trials // 4000)))  # the most telling come first
    found = sl.audit(target, claim=mechanism.guarantee, trials=trials, pairs=pairs)
    words = _label(mechanism), "monotone" if monotone else "general", claimed(mechanism.guarantee)
    return _cells(words, _box(mechanism, monotone), found)


def _query(name: str, pate: PATE | MultiLabelPATE, delta: float, pairs: list[Any], proof: Proof) -> str:
    """One query of a crowd, against what it costs."""

    def draw(votes: Any, draws: int, seed: int | None) -> Any:
        return read_many(pate.label_many(votes, draws=draws, rng=source_of(seed)), draws)

    claim = pate.query.as_approx(delta)
    found = sl.audit(Target(name, draw, 250_000, True, True), claim=claim, trials=MANY, pairs=pairs)
    return _cells((f"{name}, a query", "votes", claimed(claim)), _shown(proof), found)


def _cells(words: tuple[str, ...], box: str, found: Any) -> str:
    verdict = "**violated**" if found.violated else "not refuted"
    figures = f"{found.tested:,}", f"{found.epsilon_lower:.4f}", f"{found.rate:,.0f}"
    return f"| {' | '.join((*words, box, *figures, verdict))} |"


HEAD = (
    "| mechanism | scores | claim | largest log ratio on its box | event tried | epsilon at least | draws/s | verdict |"
)
RULE = "|---|---|---|---|---|---|---|---|"


def _single_releases(mechanism: Any, monotone: bool) -> Target:
    """Draws one release after the other: slower, and all that a release shows."""
    one = with_two_votes(mechanism)

    def draw(x: Any, draws: int, seed: int | None) -> Any:
        scores, source = scores_of(one, x, monotone, 1), source_of(seed)
        return read_each([one.release(scores, rng=source) for _ in range(draws)])

    return Target(f"releases of {one!r}", draw, 1_000, True, True)


def _draws_one_by_one(mechanism: Any) -> bool:
    return type(mechanism)._draw_many is Mechanism._draw_many


def sets() -> Iterator[str]:
    """Mechanisms that draw one by one under attack by their own draws, confidence 99.9%."""
    yield from (HEAD, RULE)
    for mechanism, monotone in EVERY:
        if _draws_one_by_one(mechanism):
            yield _row(mechanism, target_of(mechanism, monotone=monotone), SETS, monotone)


def long_run() -> Iterator[str]:
    """All other mechanisms under attack by their own draws, many at a time, confidence 99.9%."""
    yield from (HEAD, RULE)
    for mechanism, monotone in EVERY:
        if not _draws_one_by_one(mechanism):
            yield _row(mechanism, target_of(mechanism, monotone=monotone), MANY, monotone)
    crowd, classes = MultiLabelPATE(rho=0.5, delta=0.1, queries=1), PATE(rho=0.125, delta=1e-6, queries=1, classes=2)
    yield _query("MultiLabelPATE", crowd, 0.1, BALLOTS, prove_pate(crowd, labels=2))
    pure = classes.query.as_pure()
    assert pure is not None
    winner = OneshotTopK(k=1, budget=pure, noise="gumbel")
    yield _query("PATE", classes, 0.0, CLASSES, prove_mechanism(winner, d=2, top=4))


def releases() -> Iterator[str]:
    """All mechanisms under attack, one release after the other, confidence 99.9%."""
    yield from (HEAD, RULE)
    for mechanism, monotone in EVERY:
        yield _row(mechanism, _single_releases(mechanism, monotone), SOME, monotone)


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
        cells = (entry.name, entry.what, entry.source, claimed(entry.claim), caught.by or "NOT CAUGHT", trials, told)
        yield f"| {' | '.join(cells)} |"


def tightness() -> Iterator[str]:
    """How near the bound comes to the exact log ratio of the same box: 10,000,000 trials, confidence 99.9%."""
    yield "| mechanism | epsilon | exact log ratio on the box | epsilon at least | share | draws/s |"
    yield "|---|---|---|---|---|---|"
    for noise in ("exponential", "gumbel", "laplace"):
        for epsilon in (1.0, 1.5, 2.0):
            yield _tight(NoisyMax(epsilon=epsilon, noise=noise), epsilon, 3)
    yield _tight(OneshotTopK(k=2, epsilon=1.0), 1.0, 4)
    found = sl.audit(NoisyMax(epsilon=1.0), trials=TIGHT, d=5)
    yield f"| NoisyMax(noise=exponential), d = 5 | 1 | - | {found.epsilon_lower:.4f} | - | {found.rate:,.0f} |"


def _tight(mechanism: Any, epsilon: float, d: int) -> str:
    exact = prove_mechanism(mechanism, d=d, top=2).log_ratio
    found = sl.audit(mechanism, trials=TIGHT, pairs=neighbours(d, 2))
    bound = found.epsilon_lower
    return (
        f"| {_label(mechanism)} | {epsilon:g} | {exact:.4f} | {bound:.4f} | {bound / exact:.4f} | {found.rate:,.0f} |"
    )


TABLES = {
    "audit": long_run,
    "audit-sets": sets,
    "audit-releases": releases,
    "audit-catalogue": catalogue,
    "audit-tightness": tightness,
}
