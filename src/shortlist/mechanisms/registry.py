"""The methods of `top_k` and `select` by name: what each builds, and which wishes it can meet.

How each mechanism is audited stands beside its law in `shortlist.audit.certified`, what is known of a method
beforehand and its rows of `plan` and `compare` in `shortlist.planning.rows`, and exact distributions in
`shortlist.utility`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from shortlist.errors import bad_value
from shortlist.mechanisms.base import Mechanism, Request
from shortlist.mechanisms.gaps import GumbelTopKValues, MeasuredTopK, TopKWithGaps
from shortlist.mechanisms.lists import GuardedListTopK, JointTopK, OrderedCanonicalTopK
from shortlist.mechanisms.partition import choice_of, keys_of, list_of
from shortlist.mechanisms.race import NoisyMax, OneshotTopK
from shortlist.mechanisms.sets import CanonicalTopK, GuardedTopK
from shortlist.mechanisms.stable import StableTopK
from shortlist.mechanisms.unknown_domain import CanonicalLimitedDomain
from shortlist.mechanisms.values import MeasuredSet, NoisyHistogram
from shortlist.privacy import ApproxDP, PureDP

Build = Callable[[Request], Mechanism]


@dataclass(frozen=True, slots=True)
class Method:
    """A name for `method=` of `top_k`, and what it builds; `execute.py` has the rule of `"auto"`."""

    name: str
    build: Build
    domain: Literal["known", "unknown", "either"] = "known"
    ordered: bool = True
    """Whether it can release an order, in an unknown domain."""
    values: bool = False
    gaps: bool = False
    """Whether it can release values, and gaps."""
    largest_only: bool = False
    """Whether it takes no negated scores, as its mechanism says."""


def _winner(noise: str) -> Build:
    def build(request: Request) -> NoisyMax:
        if request.k != 1:
            raise bad_value('this method selects one winner; for several write $method="oneshot-exponential"')
        return NoisyMax(budget=request.budget, noise=noise)

    return build


def _of(kind: Callable[..., Mechanism], *public: str, **words: Any) -> Build:
    """Return what builds this mechanism of k items, with these facts of the request."""
    return lambda request: kind(
        k=request.size, budget=request.budget, **{name: getattr(request, name) for name in public}, **words
    )


def _pure_list(request: Request) -> OneshotTopK:
    """Exponential noise: a pure budget of the same epsilon keeps one with a delta, which it leaves alone."""
    budget = PureDP(request.budget.epsilon) if isinstance(request.budget, ApproxDP) else request.budget
    return OneshotTopK(k=request.size, budget=budget, noise="exponential")


def _histogram(request: Request) -> NoisyHistogram:
    if request.most is None:
        raise bad_value('$method="histogram" needs scores of which each person has a few at most: count with $most=3')
    return NoisyHistogram(k=request.size, most=request.most, budget=request.budget)


def _gaps(request: Request) -> TopKWithGaps | MeasuredTopK:
    kind = MeasuredTopK if request.values else TopKWithGaps
    return kind(k=request.size, budget=request.budget)


def _stable(request: Request) -> StableTopK:
    return StableTopK(k=request.k, budget=request.budget, limit=request.limit, fill=request.k is not None)


FROM_DATA: dict[str, Any] = {"domain": "unknown", "largest_only": True}

_METHODS = (
    Method("permute-and-flip", _winner("exponential")),
    Method("exponential", _winner("gumbel")),
    Method("oneshot-gumbel", _of(OneshotTopK, noise="gumbel")),
    Method("peeling", _of(OneshotTopK, noise="gumbel")),
    Method("oneshot-exponential", _pure_list),
    Method("oneshot-laplace", _of(OneshotTopK, noise="laplace")),
    Method("oneshot-logistic", _of(OneshotTopK, noise="logistic")),
    Method("oneshot-half-logistic", _of(OneshotTopK, noise="half-logistic")),
    Method("joint", _of(JointTopK)),
    Method("canonical", _of(CanonicalTopK)),
    Method("guarded", _of(GuardedTopK)),
    Method("ordered-canonical", _of(OrderedCanonicalTopK)),
    Method("guarded-list", _of(GuardedListTopK)),
    Method("gumbel-values", _of(GumbelTopKValues), values=True),
    Method("histogram", _histogram, values=True),
    Method("gaps", _gaps, values=True, gaps=True),
    Method("measured-set", _of(MeasuredSet, "limit"), domain="either", values=True),
    Method("stable", _stable, domain="unknown", ordered=False),
    Method("all-or-nothing", _of(StableTopK), domain="unknown", ordered=False),
    Method("limited-domain", list_of, **FROM_DATA),
    Method("canonical-limited-domain", _of(CanonicalLimitedDomain, "limit"), ordered=False, **FROM_DATA),
    Method("keys", keys_of, values=True, **FROM_DATA),
    Method("names-choice", choice_of, **FROM_DATA),
)
METHODS: dict[str, Method] = {method.name: method for method in _METHODS}
"""By the names for `method=`, in the order of messages."""
