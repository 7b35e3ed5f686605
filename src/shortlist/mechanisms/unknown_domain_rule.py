"""Which mechanism, where the candidates come from the data (Algorithm 117): by public facts alone.

It looks at k, the limit, the budget, the cap, whether an order is wanted, and whether rows were counted: never at a
count, nor at how many labels there are.
"""

from __future__ import annotations

from shortlist.exact.key_bars import MOST
from shortlist.mechanisms.canonical_limited.mechanism import CanonicalLimitedDomain
from shortlist.mechanisms.entry import FEW_NAMES, MANY_NAMES, Request
from shortlist.mechanisms.keys.mechanism import KeySet
from shortlist.mechanisms.limited_domain.mechanism import LimitedDomainTopK
from shortlist.mechanisms.names_choice.branches import limits
from shortlist.mechanisms.names_choice.mechanism import NamesChoice
from shortlist.mechanisms.unknown_domain import DeltaBudget
from shortlist.privacy import ApproxDP

FEW_ROUNDS = 3
"""Up to so many names a list has exponential noise under (epsilon, delta)."""


def list_of(request: Request) -> LimitedDomainTopK:
    """The list that this request may get.

    Exponential noise has the lower bar up to k = 3, where the rounds are added up as pure epsilons.
    """
    noise = "exponential" if _few(request) else "gumbel"
    return LimitedDomainTopK(k=request.size, budget=request.budget, limit=request.limit, noise=noise)


def set_of(request: Request) -> CanonicalLimitedDomain:
    """The set that this request may get."""
    return CanonicalLimitedDomain(k=request.size, budget=request.budget, limit=request.limit)


def keys_of(request: Request) -> KeySet:
    """The key set that this request may get: of what each person kept, or of the weights that came with the counts."""
    if request.most is None and not request.weighed:
        raise ValueError('method="keys" needs a cap on what one person brings: count a table, or count with most=3')
    plain = request.most is not None and (request.most <= FEW_NAMES or not request.weighed)
    return KeySet(
        most=request.most,
        weighted=not plain,
        values=request.values,
        k=request.k,
        in_order=request.ordered,
        budget=request.budget,
    )


def choice_of(request: Request) -> NamesChoice:
    """The noisy choice that this request may get."""
    most = (MOST if request.most is None else request.most) if request.weighed else None
    return NamesChoice(k=request.size, budget=request.budget, limit=request.limit, most=most, in_order=request.ordered)


def _few(request: Request) -> bool:
    """Whether a list has exponential noise."""
    return request.size <= FEW_ROUNDS and isinstance(request.budget, ApproxDP)


def keys_wanted(request: Request) -> bool:
    """When `method="auto"` takes `KeySet`."""
    return request.keys


def choice_wanted(request: Request) -> bool:
    """When `method="auto"` takes `NamesChoice`: from two names on, where there is something to choose from."""
    if request.listed or request.k is None or request.k == 1 or request.keys or request.measured:
        return False
    assert isinstance(request.budget, DeltaBudget)
    if request.budget.delta >= 0.5:
        return False
    keys = request.weighed and request.limit is None
    return keys or (not request.ordered and bool(limits(request.k, request.limit)))


def list_wanted(request: Request) -> bool:
    """When `method="auto"` takes `LimitedDomainTopK`: wherever k is given and nothing else answers."""
    return not (request.listed or request.k is None or request.keys or request.measured or choice_wanted(request))


def why_a_choice(request: Request) -> str:
    """The reason that a release gives: what was chosen from, and how high each bar stands."""
    branches = choice_of(request).branches
    heights = "; ".join(f"{one.used} ({one.height})" for one in branches)
    return f"NamesChoice, because no public list was given: a tenth of the budget chooses between {heights}"


def why_keys(request: Request) -> str:
    """The reason that a release of a key set gives."""
    if request.most is not None and request.most <= FEW_NAMES:
        return f"KeySet, because each user counts for at most {request.most} items: one low threshold serves all"
    return (
        f"KeySet, the default for more than {MANY_NAMES} items that are not public: its threshold does not rise with k"
    )


def why_a_list(request: Request) -> str:
    """The reason that a release of a list gives: one name, an order, or too many sets."""
    if request.size == 1:
        return "LimitedDomainTopK, the default for one item if no public list was given"
    if request.ordered:
        return "LimitedDomainTopK, the default for an ordered list if no public list was given"
    return "LimitedDomainTopK, because k is too large for sets. Counting rows with sl.count lowers the threshold"
