"""The public rule behind `method="auto"`, and what a named method builds.

It looks at public facts alone: k, the budget, and whether an order is wanted. Never at a score.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from shortlist._text import suggest
from shortlist.errors import bad_value
from shortlist.mechanisms import KeySet, Mechanism, Quantile, base
from shortlist.mechanisms.base import FEW_NAMES, MANY_NAMES, Budget, Request
from shortlist.mechanisms.partition import choice_of, offers_choice
from shortlist.mechanisms.race import quick_epsilon_of_a_round
from shortlist.mechanisms.registry import ENTRIES, METHODS, Method
from shortlist.mechanisms.sets import worth_delta
from shortlist.privacy import ZCDP, ApproxDP, PureDP
from shortlist.query import Query
from shortlist.scores import check_smallest

FEWEST_GUARDED, MOST_GUARDED = 8, 100
"""Items of a guarded list: one-shot is as good for fewer, and for more the junk takes long to count."""
FEWEST_GUARDED_ZCDP = 20
"""Under zCDP a round of peeling costs 1 / sqrt k and not 1 / k of the whole: there is less to gain for few items."""
MEASURED = (
    "measured-set",
    "MeasuredSet, the default for values: it selects items, then measures each with fresh noise",
)
LARGEST_ONLY = {
    method.name for entry in ENTRIES if getattr(entry.kind, "largest_only", False) for method in entry.methods
}
"""Methods that take no negated scores."""
QUANTILE_NOISE = {"auto": None, "exponential": "gumbel", "permute-and-flip": "exponential"}
"""The methods of `quantile`, and the noise of each."""


class Facts(NamedTuple):
    """What is public of a source and matters for the choice."""

    public: bool = True
    """Whether the candidates are a public list."""
    most: int | None = None
    """How many candidates one user counts for, where that is bounded."""
    weighed: bool = False
    """Whether rows are counted without a public list, which makes capped weights too."""


class Choice(NamedTuple):
    """What will draw."""

    mechanism: Mechanism
    why: str
    """Empty if the caller named it."""
    keeps_order: bool
    """Whether its order is released."""
    names_from_data: bool = False
    """Whether delta is the probability that an item which one user alone has comes out."""


def choose(query: Query, facts: Facts, k: int | None, budget: Budget) -> Choice:
    """Return the mechanism that answers one list of a query, from public facts alone: its cost is known before scores.

    For the smallest (`largest=False`) the mechanism gets negated scores.
    """
    if query.call == "quantile":
        return _choose_quantile(query, budget)
    if query.call == "keys":
        return _choose_keys(query, budget)
    wanted = None if k is None else base.check_k(k)
    limit = None if query.limit is None else base.check_limit(query.limit, 1)
    request = Request(
        wanted, budget, query.ordered, query.values, query.gaps, facts.public, limit, facts.most, facts.weighed
    )
    return choose_mechanism(request, query.method, query.largest)


def choose_mechanism(request: Request, method: str = "auto", largest: bool = True) -> Choice:
    """Return the mechanism of this method for a list, or the one that the rule takes."""
    if not isinstance(method, str) or method not in ("auto", *METHODS):
        near = suggest(method, METHODS) if isinstance(method, str) else ""
        known = near or f"; write one of 'auto', {', '.join(map(repr, METHODS))}"
        raise bad_value(f"$method={method!r} is not known{known}")
    return _build(request, method, largest)


@lru_cache
def _build(request: Request, method: str, largest: bool) -> Choice:
    named = None if method == "auto" else METHODS[method]
    name, why = choose_method(request) if named is None else (method, "")
    chosen = METHODS[name]
    unlisted = not request.has_public_list if chosen.domain == "either" else chosen.domain == "unknown"
    if not largest:
        check_smallest(request.public)
        if chosen.name in LARGEST_ONLY:
            raise bad_value(
                f'$method={chosen.name!r} is about the largest scores alone; with $largest=False write $method="auto"'
            )
    (_check_unlisted if unlisted else _check_listed)(request, named)
    mechanism = chosen.build(request)
    if request.ordered and not (mechanism.ordered or request.values) and request.k != 1:
        raise bad_value(f'$method={chosen.name!r} releases a set: for its order write $method="auto"')
    return Choice(mechanism, why, request.ordered or request.values or chosen.gaps, unlisted)


def _choose_quantile(query: Query, budget: Budget) -> Choice:
    if not isinstance(query.method, str) or query.method not in QUANTILE_NOISE:
        raise bad_value(f"$method must be one of {', '.join(map(repr, QUANTILE_NOISE))}")
    mechanism = Quantile(q=query.q, budget=budget, noise=QUANTILE_NOISE[query.method])  # type: ignore[arg-type]
    why = "Quantile with Gumbel noise (the exponential mechanism), the default under budgets that are not pure"
    if mechanism.noise == "exponential":
        why = "Quantile with exponential noise (permute-and-flip), the default under pure DP"
    return Choice(mechanism, why if query.method == "auto" else "", True)


def _choose_keys(query: Query, budget: Budget) -> Choice:
    mechanism = KeySet(most=query.most, budget=budget, weighted=query.weighted, values=query.values)
    why = f"each person counts for at most {mechanism.most} names: Gaussian noise, and counts come free"
    if mechanism.weighted:
        why = f"each person shares one vote among up to {mechanism.most} names, so the bar is the same for all of them"
    elif mechanism.most is not None and mechanism.most <= FEW_NAMES and not isinstance(budget, ZCDP):
        why = f"each person counts for at most {mechanism.most}: truncated geometric noise has the lowest bar"
    return Choice(mechanism, why, True)


def choose_method(request: Request) -> tuple[str, str]:
    """Return the method that `method="auto"` stands for, and why: from public facts alone, one branch after another."""
    k, budget = request.k, request.budget
    if not request.has_public_list:
        return _choose_unlisted(request)
    pure, many = isinstance(budget, PureDP), "for an ordered list of this length"
    if request.gaps:
        return "gaps", "gaps were requested, and a pure budget releases them with the list at no extra cost"
    if _favours_histogram(request):
        return "histogram", (
            f"NoisyHistogram: each user counts for at most {request.most} items, so noise on every count is "
            f"smaller than noise for {k} selected items; order and values cost nothing extra"
        )
    if request.values:
        return MEASURED
    if k == 1 and pure:
        return "permute-and-flip", (
            "NoisyMax with exponential noise (permute-and-flip), the default for one winner under pure DP"
        )
    if k == 1:
        return "exponential", (
            "NoisyMax with Gumbel noise (the exponential mechanism), the default for one winner under this budget"
        )
    if not request.ordered:
        return "guarded", "GuardedTopK, the default for an unordered set from public candidates"
    fewest = FEWEST_GUARDED_ZCDP if isinstance(budget, ZCDP) else FEWEST_GUARDED
    if fewest <= request.size <= MOST_GUARDED:
        return "guarded-list", (
            f"GuardedListTopK, the default for an ordered list of {fewest} to {MOST_GUARDED} items from public "
            "candidates"
        )
    if pure:
        return "oneshot-exponential", f"OneshotTopK with exponential noise, the default {many} under pure DP"
    if isinstance(budget, ApproxDP) and not _gains_by_delta(request.size, budget):
        return "oneshot-exponential", (
            "OneshotTopK with exponential noise: for this list and epsilon, the delta would not reduce the noise"
        )
    return "oneshot-gumbel", f"OneshotTopK with Gumbel noise, the default {many} under this budget"


def _choose_unlisted(request: Request) -> tuple[str, str]:
    """Return the same where the candidates, or how many of them, come from the data."""
    k, most = request.k, request.most
    if k is None:
        return "stable", "StableTopK, because k=None: the data choose k where the scores drop"
    # the threshold of a key set is the same for every k; under a limit, or with a delta of 1/2 or more, it has none
    key_set = request.limit is None and getattr(request.budget, "delta", 0.0) < 0.5
    if key_set and most is not None and most <= FEW_NAMES:
        return "keys", f"KeySet, because each user counts for at most {most} items: one low threshold serves all"
    if key_set and request.weighed and k > MANY_NAMES:
        return "keys", (
            f"KeySet, the default for more than {MANY_NAMES} items that are not public: its threshold does not rise "
            "with k"
        )
    if request.values:
        return MEASURED
    if offers_choice(request):
        heights = "; ".join(f"{one.used} ({one.height})" for one in choice_of(request).branches)
        return "names-choice", (
            f"NamesChoice, because no public list was given: a tenth of the budget chooses between {heights}"
        )
    if k == 1:
        return "limited-domain", "LimitedDomainTopK, the default for one item if no public list was given"
    if request.ordered:
        return "limited-domain", "LimitedDomainTopK, the default for an ordered list if no public list was given"
    return "limited-domain", (
        "LimitedDomainTopK, because k is too large for sets. Counting rows with sl.count lowers the threshold"
    )


def _favours_histogram(request: Request) -> bool:
    """Return whether noise on every capped count is smaller than what an order, or values, cost by selection.

    Values are measured with noise for k counts there. An order costs exponential noise of scale k R / epsilon,
    against Laplace noise of scale m Delta / epsilon; beyond pure budgets Gumbel noise of variance
    pi^2 k R^2 / (48 rho), against Gaussian noise of m Delta^2 / (2 rho). For a set alone selection needs less.
    """
    if request.most is None or not request.public or not (request.ordered or request.values):
        return False
    pure = isinstance(request.budget, PureDP)
    return request.size >= histogram_from(request.most, pure=pure, values=request.values)


def histogram_from(most: int, *, pure: bool, values: bool = False) -> int:
    """Return the least k for which a noisy histogram answers, if a user counts for `most` items (Algorithm 222).

    With values k >= m; for an order k >= sqrt(2) m under a pure budget and k >= 8 m / 3 under others.
    """
    if values:
        return most
    return math.isqrt(2 * most * most - 1) + 1 if pure else -(-8 * most // 3)


def _gains_by_delta(k: int, budget: ApproxDP) -> bool:
    """Return whether Gumbel noise is the better one for a list of k.

    It needs a larger e for the same recall (`worth_delta`). The e of k rounds under a delta is rounded down here, so
    that a delta is never a loss.
    """
    return bool(Fraction(quick_epsilon_of_a_round(k, budget)) >= worth_delta(k) * Fraction(budget.epsilon) / k)


def _check_unlisted(request: Request, named: Method | None) -> None:
    """Refuse what does not fit where the candidates, or how many of them, come from the data."""
    if request.gaps:
        raise ValueError("gaps need a public list of candidates and a fixed k: leave them out")
    if request.values and (request.k is None or not (named is None or named.values)):
        raise bad_value(
            'values need a fixed k, and $method="auto", "keys" or "measured-set": write $k=10, or leave $values= out'
        )
    if request.ordered and named is not None and not named.ordered:
        raise bad_value(f'$method={named.name!r} releases sets; for an order write $method="limited-domain"')
    if request.ordered and named is None and request.k is None:
        raise bad_value("$k=None releases a set: leave $ordered= out, or give $k=10")


def _check_listed(request: Request, named: Method | None) -> None:
    """Refuse what does not fit where the candidates are a public list."""
    if request.k is None:
        raise bad_value(
            "$k=None: the data choose how many, and that needs a delta: write $delta=1e-6, or a number, as $k=5"
        )
    if request.limit is not None:
        raise bad_value(
            "$limit is for candidates that are not public: leave it out, or name a mechanism that takes it, "
            '$delta=1e-6, $method="limited-domain"'
        )
    if named is None:
        return
    for what, wanted, can in (("values", request.values, named.values), ("gaps", request.gaps, named.gaps)):
        if wanted and not can:
            fitting = (method for method in METHODS.values() if method.domain != "unknown" and getattr(method, what))
            able = " or ".join(f'"{method.name}"' for method in fitting)
            raise bad_value(f'$method={named.name!r} releases no {what}; write $method="auto" or {able}')
