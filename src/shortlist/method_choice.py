"""The public rule behind `method="auto"`.

It looks at public facts alone: k, the budget, and whether an order is wanted. Never at a score.
"""

from __future__ import annotations

import sys
import warnings
from functools import lru_cache
from typing import TypedDict

import numpy as np

from shortlist._arrays import checked_flag, checked_flags
from shortlist._text import Advice, meant
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.base import (
    Budget,
    check_ledger,
    checked_budget,
    checked_delta_budget,
    checked_k,
    checked_limit,
)
from shortlist.mechanisms.entry import Method, Request
from shortlist.mechanisms.registry import ENTRIES, METHODS
from shortlist.pages.summary import ABSURD, epsilon_of
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, Ledger, PureDP
from shortlist.smallest import check_smallest

LARGE_DELTA = 1e-3
LARGEST_ONLY = {
    method.name for entry in ENTRIES if getattr(entry.kind, "largest_only", False) for method in entry.methods
}
"""Methods that take no negated scores."""
REMEMBERED = frozenset({type(None), bool, int, float, str, np.int64, np.float64, PureDP, ZCDP, ApproxDP})
"""Kinds of words that never change and are equal where they mean the same; of a class made of one nobody knows that."""


class BudgetWords(TypedDict):
    """What may be spent, as it is written."""

    epsilon: float | None
    delta: float | None
    budget: Guarantee | None


def checked_budget_of(epsilon: float | None, delta: float | None, budget: Guarantee | None) -> Budget:
    """What may be spent, whichever way it was written."""
    return checked_budget(epsilon, budget) if delta is None else checked_delta_budget(epsilon, delta, budget)


def budget_within(
    ledger: Ledger | None, epsilon: float | None, delta: float | None, budget: Guarantee | None
) -> BudgetWords:
    """The same words; where a ledger has a hair less than they ask for, what it has (`Ledger.within`)."""
    check_ledger(ledger)
    words: BudgetWords = {"epsilon": epsilon, "delta": delta, "budget": budget}
    if ledger is None:
        return words
    whole = checked_budget_of(epsilon, delta, budget)
    part = ledger.within(whole)
    return words if part == whole else {"epsilon": None, "delta": None, "budget": part}


def mechanism_for(
    k: int | None,
    *,
    public: bool,
    epsilon: float | None = None,
    delta: float | None = None,
    budget: Guarantee | None = None,
    method: str = "auto",
    ordered: bool = False,
    values: bool = False,
    gaps: bool = False,
    limit: int | None = None,
    most: int | None = None,
    weighed: bool = False,
    largest: bool = True,
) -> tuple[Mechanism, str, bool]:
    """(the mechanism that `top_k` takes, why, whether its order is released): from public facts alone.

    So what it will charge is known before there are scores; `public` is whether the candidates come from a public list,
    `most` how many of them one person counts for, where that is capped, and `weighed` whether rows are counted without
    such a list, which makes capped weights too. For the smallest (`largest=False`) the mechanism gets negated scores.
    """
    words = (k, public, epsilon, delta, budget, method, ordered, values, gaps, limit, most, weighed, largest)
    choose = _chosen if REMEMBERED.issuperset(map(type, words)) else _chosen.__wrapped__
    mechanism, why, keeps_order, own_name = choose(*words)
    if own_name > LARGE_DELTA:
        warnings.warn(
            f"delta={own_name:g} lets one person's own item out with that chance; "
            "write a delta well below one over the number of people",
            Advice,
            stacklevel=_calls_inside(),
        )
    return mechanism, why, keeps_order


@lru_cache(typed=True)
def _chosen(
    k: int | None,
    public: bool,
    epsilon: float | None,
    delta: float | None,
    budget: Guarantee | None,
    method: str,
    ordered: bool,
    values: bool,
    gaps: bool,
    limit: int | None,
    most: int | None,
    weighed: bool,
    largest: bool,
) -> tuple[Mechanism, str, bool, float]:
    """`mechanism_for`, and the chance that one's own item comes out: by public facts alone, so it is remembered."""
    wanted = None if k is None else checked_k(k)
    paid = checked_budget_of(epsilon, delta, budget)
    ordered, values, gaps, largest = checked_flags(ordered=ordered, values=values, gaps=gaps, largest=largest)
    if not isinstance(method, str) or method not in ("auto", *METHODS):
        near = meant(method, METHODS) if isinstance(method, str) else ""
        known = near or f"; write one of 'auto', {', '.join(map(repr, METHODS))}"
        raise ValueError(f"method={method!r} is not known{known}")
    rows = None if limit is None else checked_limit(limit, 1)
    request = Request(wanted, paid, ordered, values, gaps, public, rows, most, weighed)
    named = None if method == "auto" else METHODS[method]
    chosen, why = by_rule(request) if named is None else (named, "")
    unlisted = not request.listed if chosen.domain == "either" else chosen.domain == "unknown"
    if not largest:
        check_smallest(public)
        if chosen.name in LARGEST_ONLY:
            raise ValueError(
                f'method={chosen.name!r} is about the largest scores alone; with largest=False write method="auto"'
            )
    (_check_unlisted if unlisted else _check_listed)(request, named)
    mechanism = chosen.build(request)
    if ordered and not (mechanism.ordered or values) and wanted != 1:
        raise ValueError(f'method={chosen.name!r} releases a set: for its order write method="auto"')
    own_name = getattr(paid, "delta", 0.0) if unlisted else 0.0
    return mechanism, why, ordered or values or chosen.gaps, own_name


def by_rule(request: Request) -> tuple[Method, str]:
    """(the method whose own public rule holds, why)."""
    method = next(method for method in METHODS.values() if method.when(request))
    return method, method.reason(request)


def _check_unlisted(request: Request, named: Method | None) -> None:
    """Where the candidates, or how many of them, come from the data."""
    if request.gaps:
        raise ValueError("gaps need a public list of candidates and a fixed k: leave them out")
    if request.values and (request.k is None or not (named is None or named.values)):
        raise ValueError(
            'values need a fixed k, and method="auto", "keys" or "measured-set": write k=10, or leave values= out'
        )
    if request.ordered and named is not None and not named.ordered:
        raise ValueError(f'method={named.name!r} releases sets; for an order write method="limited-domain"')
    if request.ordered and named is None and request.k is None:
        raise ValueError("k=None releases a set: leave ordered= out, or give k=10")


def warn_if_absurd(guarantee: Guarantee, allow_large: bool) -> None:
    """Say it once where an epsilon promises nothing, unless that was written down."""
    if not checked_flag("allow_large", allow_large) and epsilon_of(guarantee) > ABSURD:
        warnings.warn(
            f"an epsilon above {ABSURD:g} promises nobody anything: see sl.risk({epsilon_of(guarantee):g}), and write "
            "a smaller one; or allow_large=True if the data are public or made up",
            Advice,
            stacklevel=_calls_inside(),
        )


def _calls_inside() -> int:
    """How far a warning of whoever calls this is from the line that called the package, by `select` or `top_k`."""
    frame, calls = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "shortlist":
        frame, calls = frame.f_back, calls + 1
    return calls


def _check_listed(request: Request, named: Method | None) -> None:
    """Where the candidates are a public list."""
    if request.k is None:
        raise ValueError(
            "k=None: the data choose how many, and that needs a delta: write delta=1e-6, or a number, as k=5"
        )
    if request.limit is not None:
        raise ValueError(
            "limit is for candidates that are not public: leave it out, or name a mechanism that takes it, "
            'delta=1e-6, method="limited-domain"'
        )
    if named is None:
        return
    for what, wanted, can in (("values", request.values, named.values), ("gaps", request.gaps, named.gaps)):
        if wanted and not can:
            fitting = (method for method in METHODS.values() if method.domain != "unknown" and getattr(method, what))
            able = " or ".join(f'"{method.name}"' for method in fitting)
            raise ValueError(f'method={named.name!r} releases no {what}; write method="auto" or {able}')
