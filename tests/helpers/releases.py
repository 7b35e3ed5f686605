"""Mechanisms of every kind in the registry, by what they are for: what must hold of all of them is tested on these.

The settings below are tested beside it. A kind that has none of them is here with its first example of the registry.
"""

from __future__ import annotations

from typing import Any

from shortlist import ZCDP, ApproxDP
from shortlist.audit.entries import entry_of, examples
from shortlist.mechanisms import (
    CanonicalLimitedDomain,
    CanonicalTopK,
    ExponentialWithGap,
    GuardedListTopK,
    GuardedTopK,
    GumbelTopKValues,
    HybridSparseVector,
    HybridTopK,
    JointTopK,
    KeySet,
    LargeGap,
    LimitedDomainTopK,
    MeasuredSet,
    MeasuredTopK,
    Mechanism,
    NamesChoice,
    NoisyHistogram,
    NoisyMax,
    OneshotTopK,
    OrderedCanonicalTopK,
    Quantile,
    SparseVector,
    StableTopK,
    TopKWithGaps,
)
from shortlist.mechanisms.registry import METHODS
from tests.helpers.typed import present

APPROX = ApproxDP(2.0, 1e-4)
EXAMPLES: dict[str, Any] = {name: mechanism for name, mechanism, _ in examples()}
"""What the registry has: one mechanism of every name."""

METHOD_NAMES = tuple(METHODS)
"""Every name for `method=` of `top_k`."""

PUBLIC: dict[str, Mechanism] = {
    "one winner": NoisyMax(epsilon=2.0),
    "one winner, Gaussian": NoisyMax(noise="gaussian", budget=APPROX),
    "ordered": OneshotTopK(k=2, epsilon=2.0),
    "ordered, zCDP": OneshotTopK(k=2, budget=ZCDP(0.5)),
    "set": CanonicalTopK(k=2, epsilon=2.0),
    "set, approximate": CanonicalTopK(k=2, budget=APPROX),
    "guarded set": GuardedTopK(k=2, epsilon=2.0),
    "guarded set, approximate": GuardedTopK(k=3, budget=APPROX),
    "guarded set, zCDP": GuardedTopK(k=3, budget=ZCDP(0.5)),
    "joint": JointTopK(k=2, epsilon=2.0),
    "ordered canonical": OrderedCanonicalTopK(k=2, epsilon=2.0),
    "ordered canonical, zCDP": OrderedCanonicalTopK(k=2, budget=ZCDP(0.5)),
    "guarded list": GuardedListTopK(k=2, epsilon=2.0),
    "Gumbel values": GumbelTopKValues(k=2, budget=APPROX),
    "gaps": TopKWithGaps(k=2, epsilon=2.0),
    "values": MeasuredTopK(k=2, epsilon=2.0),
    "exponential with gap": ExponentialWithGap(epsilon=2.0),
    "hybrid": HybridTopK(threshold=4000, k=2, epsilon=2.0),
    "hybrid, stopped": HybridTopK(threshold=90_000, k=2, epsilon=2.0),
    "large gap": LargeGap(epsilon=2.0),
    "measured set": MeasuredSet(k=2, budget=APPROX),
}
"""For a public list of candidates."""

CAPPED: dict[str, Mechanism] = {
    "histogram": NoisyHistogram(k=2, most=6, epsilon=2.0),
    "histogram, approximate": NoisyHistogram(k=2, most=6, budget=APPROX),
}
"""For a public list, of which one person counts for six at most."""

NUMBERED: dict[str, Mechanism] = {
    "sparse vector": SparseVector(threshold=4000, k=2, epsilon=2.0, monotone=True),
    "sparse vector, whole": SparseVector(threshold=4000, k=2, epsilon=2.0, noise="geometric", monotone=True),
    "sparse vector, adaptive": SparseVector(threshold=4000, k=2, epsilon=2.0, adaptive=True, monotone=True),
    "hybrid sparse vector": HybridSparseVector(threshold=4000, k=2, epsilon=2.0),
}
"""For a public list in a public order."""

UNKNOWN: dict[str, Mechanism] = {
    "stable": StableTopK(budget=APPROX),
    "stable, filled": StableTopK(k=2, budget=APPROX, fill=True),
    "stable, failed": StableTopK(k=4, budget=APPROX),
    "stable, zCDP": StableTopK(k=2, budget=ZCDP(0.5, 1e-4)),
    "limited domain": LimitedDomainTopK(k=2, budget=APPROX),
    "limited domain, zCDP": LimitedDomainTopK(k=4, budget=ZCDP(0.5, 1e-4)),
    "limited domain, exponential": LimitedDomainTopK(k=2, budget=APPROX, noise="exponential"),
    "canonical limited domain": CanonicalLimitedDomain(k=2, budget=APPROX),
    "noisy choice": NamesChoice(k=2, budget=APPROX),
    "noisy choice, zCDP": NamesChoice(k=4, budget=ZCDP(0.5, 1e-4)),
}
"""For candidates that come from the data."""

WEIGHED: dict[str, Mechanism] = {
    "key set": KeySet(budget=APPROX),
    "key set, names alone": KeySet(budget=APPROX, values=False),
}
"""For candidates that come from a table, where each person's part is weighed."""

LINES: dict[str, Mechanism] = {
    "quantile": Quantile(q=0.5, epsilon=2.0),
    "quantiles": Quantile(q=(0.25, 0.5, 0.75), budget=APPROX),
}
"""For counts of people along a public line."""

FAMILIES = (PUBLIC, CAPPED, NUMBERED, UNKNOWN, WEIGHED, LINES)


def _add_kinds() -> None:
    """Add an example of every kind that has no setting above to the family of its inputs."""
    families = {"scores": PUBLIC, "histograms": UNKNOWN, "line": LINES}
    for name, mechanism in EXAMPLES.items():
        if not any(type(one) is type(mechanism) for family in FAMILIES for one in family.values()):
            families[present(entry_of(mechanism)).inputs][name] = mechanism


_add_kinds()
