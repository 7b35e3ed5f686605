"""A list or a set, where the candidates come from the data (Algorithm 117): by the heights of their bars.

It looks at k, the limit, the budget and whether an order is wanted: never at a count, nor at how many labels there are.
"""

from __future__ import annotations

from functools import lru_cache

from shortlist.exact.partial_reals import rounded
from shortlist.mechanisms.canonical_limited.mechanism import MOST_CLASSES, CanonicalLimitedDomain
from shortlist.mechanisms.entry import Request
from shortlist.mechanisms.limited_domain.mechanism import LimitedDomainTopK, default_limit, offset_estimate
from shortlist.mechanisms.unknown_domain import DeltaBudget
from shortlist.privacy import ApproxDP


def list_of(request: Request) -> LimitedDomainTopK:
    """The list that this request may get.

    Exponential noise has the lower bar up to k = 3, where the rounds are added up as pure epsilons.
    """
    noise = "exponential" if _few(request) else "gumbel"
    return LimitedDomainTopK(k=request.size, budget=request.budget, limit=request.limit, noise=noise)


def set_of(request: Request) -> CanonicalLimitedDomain:
    """The set that this request may get."""
    return CanonicalLimitedDomain(k=request.size, budget=request.budget, limit=request.limit)


def _few(request: Request) -> bool:
    """Whether a list has exponential noise."""
    return request.size <= 3 and isinstance(request.budget, ApproxDP)


@lru_cache
def bars(request: Request) -> tuple[float, float] | None:
    """How far the bar of a set stands above its last row, and that of a list; None if sets cannot be weighed."""
    k, budget = request.size, request.budget
    assert isinstance(budget, DeltaBudget)
    width = 2 * k if request.limit is None else request.limit
    if k * width > MOST_CLASSES or budget.delta >= 0.5:
        return None
    rows = default_limit(k) if request.limit is None else request.limit
    other = list_of(request).offset if _few(request) else offset_estimate(k, rows, budget)
    return rounded(set_of(request).offset), other


def set_wanted(request: Request) -> bool:
    """When `method="auto"` takes `CanonicalLimitedDomain`: if twice its bar is not above that of the list.

    Twice, because the list starts from a lower count.
    """
    if request.listed or request.k is None or request.ordered or request.measured or (heights := bars(request)) is None:
        return False
    mine, other = heights
    return 2 * mine <= other


def list_wanted(request: Request) -> bool:
    """When `method="auto"` takes `LimitedDomainTopK`: wherever k is given and it does not take a set."""
    return not request.listed and request.k is not None and not request.measured and not set_wanted(request)


def why_a_set(request: Request) -> str:
    """The reason that a release of a set gives: both bars."""
    mine, other = bars(request) or (0.0, 0.0)
    return (
        f"without a public list, a canonical set in one round: its bar stands {mine:.3g} users above the last row, "
        f"that of a list {other:.3g}"
    )


def why_a_list(request: Request) -> str:
    """The reason that a release of a list gives: the order, too many sets, or both bars."""
    if request.ordered:
        return "an order without a public list: limited-domain top-k, which stops at its bar"
    if (heights := bars(request)) is None:
        return "a list, because so many sets cannot be weighed"
    return (
        f"without a public list, a list: a canonical set's bar would stand {heights[0]:.3g} users above its last row, "
        f"that of the list {heights[1]:.3g} above a lower one"
    )
