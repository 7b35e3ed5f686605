"""The public rule for candidates that come from the data (Algorithm 117).

It looks at k, the limit, the budget and whether an order is wanted: never at a count, nor at how many labels there are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

from shortlist.mechanisms import CanonicalLimitedDomain, LimitedDomainTopK, Mechanism, StableTopK
from shortlist.mechanisms.canonical_limited.mechanism import MOST_CLASSES
from shortlist.mechanisms.limited_domain.mechanism import offset_estimate
from shortlist.mechanisms.unknown_domain import DeltaBudget
from shortlist.privacy import ApproxDP, Guarantee

LARGE_DELTA = 1e-3


def has_delta(budget: Guarantee) -> bool:
    """Whether a name that came from the data may be released at all."""
    return isinstance(budget, DeltaBudget) and budget.delta > 0


def _list(k: int, budget: Guarantee, limit: int | None) -> LimitedDomainTopK:
    """Exponential noise has the lower bar up to k = 3, where the rounds are added up as pure epsilons."""
    few = k <= 3 and isinstance(budget, ApproxDP)
    return LimitedDomainTopK(k=k, budget=budget, limit=limit, noise="exponential" if few else "gumbel")


def _stable(k: int | None, budget: Guarantee, limit: int | None) -> StableTopK:
    return StableTopK(k=k, budget=budget, limit=limit, fill=k is not None)


def _needs_k(build: Callable[[int, Guarantee, int | None], Mechanism]) -> Callable[..., Mechanism]:
    def built(k: int | None, budget: Guarantee, limit: int | None) -> Mechanism:
        if k is None:
            raise ValueError('k=None needs method="stable", which lets the gaps decide; or give k=10')
        return build(k, budget, limit)

    return built


UNKNOWN: dict[str, Callable[[int | None, Guarantee, int | None], Mechanism]] = {
    "stable": _stable,
    "limited-domain": _needs_k(_list),
    "canonical-limited-domain": _needs_k(
        lambda k, budget, limit: CanonicalLimitedDomain(k=k, budget=budget, limit=limit)
    ),
}


def automatic(
    k: int | None, budget: Guarantee, ordered: bool, limit: int | None, method: str | None = None
) -> tuple[Mechanism, str]:
    """(the mechanism, why): the one named, or by the public rule."""
    if has_delta(budget) and budget.delta > LARGE_DELTA:  # type: ignore[attr-defined]
        warnings.warn(
            f"delta={budget.delta:g} lets one person's own item out with that chance; "  # type: ignore[attr-defined]
            "write a delta well below one over the number of people",
            stacklevel=4,
        )
    if ordered and method not in (None, "limited-domain"):
        raise ValueError(f'method={method!r} releases sets; for an order write method="limited-domain"')
    if method is not None:
        return UNKNOWN[method](k, budget, limit), ""
    if k is None:
        if ordered:
            raise ValueError("k=None releases a set: leave ordered= out, or give k=10")
        return _stable(k, budget, limit), "no k was given, so the gaps decide, and the stable set is released whole"
    if ordered:
        return _list(k, budget, limit), "an order without a public list: limited-domain top-k, which stops at its bar"
    return _unordered(k, budget, limit)


def _unordered(k: int, budget: Guarantee, limit: int | None) -> tuple[Mechanism, str]:
    """Canonical sets if twice their bar is not above that of the list, which starts from a lower count."""
    assert isinstance(budget, DeltaBudget)
    width = 2 * k if limit is None else limit
    if k * width > MOST_CLASSES or budget.delta >= 0.5:
        return _list(k, budget, limit), "a list, because so many sets cannot be weighed"
    one = CanonicalLimitedDomain(k=k, budget=budget, limit=limit)
    mine = float(one.offset)
    few = k <= 3 and isinstance(budget, ApproxDP)
    rows = max(1000, 10 * k) if limit is None else limit
    other = _list(k, budget, limit).offset if few else offset_estimate(k, rows, budget)
    if 2 * mine <= other:
        return one, (
            f"without a public list, a canonical set in one round: its bar stands {mine:.3g} users above the last row, "
            f"that of a list {other:.3g}"
        )
    return _list(k, budget, limit), (
        f"without a public list, a list: a canonical set's bar would stand {mine:.3g} users above its last row, that "
        f"of the list {other:.3g} above a lower one"
    )
