"""From a question to a release in one call, and the public rule behind `method="auto"`.

The rule looks at public facts alone: k, the budget, and whether an order is wanted. Never at a score.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Unpack, cast

from shortlist._imports import late
from shortlist._reading import checked_flag
from shortlist.accounting.checked_numbers import number
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.checks import check_ledger, checked_budget, checked_k, checked_source
from shortlist.mechanisms.entries import METHODS
from shortlist.mechanisms.entry import Method, Request
from shortlist.mechanisms.unknown_domain import checked_delta_budget, checked_limit
from shortlist.paid_release import Booked
from shortlist.privacy import Guarantee, Ledger
from shortlist.release import Release
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores, ScoreWords, as_scores
from shortlist.smallest import smallest_first
from shortlist.table_words import TABLE_WORDS, TableWords

if TYPE_CHECKING:
    from shortlist.table_release import Table

LARGE_DELTA = 1e-3


def select(
    scores: object,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    budget: Guarantee | None = None,
    method: str = "auto",
    largest: bool = True,
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    **question: Unpack[TableWords],
) -> Release:
    """Release one winner.

    Parameters
    ----------
    scores
        `Scores`; or plain values with `sensitivity=` and `monotone=` (and the other words of `Scores`); or a table with
        `user=` and `item=` (and the other words of `count`).
    epsilon, delta, budget
        What it may cost: `epsilon=1.0` is short for `budget=PureDP(1.0)`, and with `delta=1e-6` for
        `budget=ApproxDP(1.0, 1e-6)`. Candidates that come from the data need a delta.
    method
        A mechanism by name, or `"auto"`.
    largest
        False for the candidate with the smallest score, of a public list.
    rng
        None is the secure source. `sl.testing.seeded(7)` repeats itself and marks the release as not private.
    ledger, purpose
        Where the charge is booked, durably, before the scores are looked at, or a row of a table; and what for.
    **question
        The other words of `Scores`, for plain values: `sensitivity`, `monotone`, `labels`, `public` and so on; those of
        `count`, for a table: `user`, `item`, `candidates`, `most` and so on.

    Returns
    -------
    Release
        with the winner as `item`, and as `index` where positions are public.

    Raises
    ------
    ValueError, TypeError
        from public facts alone, if the question does not fit; nothing is booked or looked at.
    BudgetExceeded
        if the ledger has no room: nothing is booked and nothing looked at.

    Examples
    --------
    >>> import shortlist as sl
    >>> sl.select([120, 3, 40], epsilon=1.0, monotone=True).index
    0
    """
    return top_k(
        scores,
        1,
        epsilon=epsilon,
        delta=delta,
        budget=budget,
        method=method,
        ordered=True,
        largest=largest,
        rng=rng,
        ledger=ledger,
        purpose=purpose,
        **question,
    )


def top_k(
    scores: object,
    k: int | None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    budget: Guarantee | None = None,
    method: str = "auto",
    ordered: bool = False,
    values: bool = False,
    gaps: bool = False,
    limit: int | None = None,
    at_least: float | None = None,
    largest: bool = True,
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    **question: Unpack[TableWords],
) -> Release:
    """Release the k best candidates: as a set, or best first with `ordered=True`.

    Parameters
    ----------
    scores
        `Scores`; or plain values with `sensitivity=` and `monotone=` (and the other words of `Scores`); or a table with
        `user=` and `item=` (and the other words of `count`).
    k
        How many; None lets the gaps decide (`StableTopK`), and needs a delta.
    epsilon, delta, budget
        What it may cost: `epsilon=1.0` is short for `budget=PureDP(1.0)`, and with `delta=1e-6` for
        `budget=ApproxDP(1.0, 1e-6)`. Candidates that come from the data need a delta.
    method
        A mechanism by name, or `"auto"`.
    ordered
        Whether the order of the winners is released too.
    values
        Whether a noisy value of each very item is released too, with its margin. Of scores with a cap of at most k
        (`count(..., most=3)`) they come with the names (`NoisyHistogram`); otherwise some are selected with one part of
        the budget and measured with the other (`MeasuredTopK` for a pure one, else `MeasuredSet`). They come in order.
    gaps
        Whether the lead of each winner over the next is released too, in order; that needs a pure budget.
    limit
        For candidates that come from the data: how many rows may be looked at, a public number.
    at_least
        With `values`: leave out items whose noisy value is below it. It looks at released values alone.
    largest
        False for the k smallest scores, the smallest first where they come in order; the candidates must be public.
        Everything else is as for the largest: `values` and `margins` are of the scores themselves, `gaps` are leads.
    rng
        None is the secure source. `sl.testing.seeded(7)` repeats itself and marks the release as not private.
    ledger, purpose
        Where the charge is booked, durably, before the scores are looked at, or a row of a table; and what for.
    **question
        The other words of `Scores`, for plain values: `sensitivity`, `monotone`, `labels`, `public` and so on; those of
        `count`, for a table: `user`, `item`, `candidates`, `most` and so on.

    Returns
    -------
    Release
        with the winners as `items`, the guarantee, the mechanism and why it was chosen.

    Raises
    ------
    ValueError, TypeError
        from public facts alone, if the question does not fit; nothing is booked or looked at.
    BudgetExceeded
        if the ledger has no room: nothing is booked and nothing looked at.

    Examples
    --------
    >>> import shortlist as sl
    >>> sl.top_k({"ada": 900, "bob": 500, "cy": 20}, 2, epsilon=1.0, monotone=True, public=True).items
    ['ada', 'bob']
    """
    table = _table(scores, question) if TABLE_WORDS & question.keys() else None
    data = as_scores(scores, **cast(ScoreWords, question)) if table is None else table.uncounted()
    plan: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "budget": budget, "method": method, "ordered": ordered,
            "values": values, "gaps": gaps, "limit": limit, "largest": largest}  # fmt: skip
    most, weighed = data._most, data._capped is not None
    mechanism, why, keeps_order = mechanism_for(k, public=data.public, most=most, weighed=weighed, **plan)
    least = check_least(at_least, bool(values) and method != "gumbel-values")
    data = data if largest else turned(data, largest)
    if table is None:
        release = mechanism.release(data, rng=rng, ledger=ledger, purpose=purpose)
    else:
        source = checked_source(rng)
        check_ledger(ledger)
        paid = None if ledger is None else Booked.of(mechanism, data, ledger, purpose, source)
        counted = turned(table.counted(), largest)
        release = mechanism.release(counted, rng=source) if paid is None else paid.release(counted, source)
    release = explained(release, why if method == "auto" else "", keeps_order, k)
    return release if least is None else left_out(release, least)


def _table(rows: object, question: TableWords) -> Table:
    """A table and what is asked of it; what counts tables is loaded when there is one."""
    table: Table = late("shortlist.table_release", "Table").of(rows, question)
    return table


def turned(scores: Scores, largest: bool) -> Scores:
    """The scores as they are, or negated where the smallest are wanted."""
    return scores if largest else smallest_first(scores)


def check_least(at_least: object, has_values: bool) -> float | None:
    """A least noisy value for whatever is shown; refused where no values are released that say something of it."""
    if at_least is None:
        return None
    if not has_values:
        raise ValueError("at_least looks at the noisy count beside each item: write values=True too, or leave it out")
    return number("at_least", at_least)


def left_out(release: Release, at_least: float) -> Release:
    """The release without items whose released value is below: a function of what was released, and free."""
    places = [i for i, value in enumerate(release.values or ()) if value >= at_least]
    picked: dict[str, Any] = {
        name: [cells[i] for i in places] for name in ("values", "margins", "gaps") if (cells := getattr(release, name))
    }
    return replace(
        release,
        items=None if release.items is None else [release.items[i] for i in places],
        indices=None if release.indices is None else [release.indices[i] for i in places],
        notes=(*release.notes, f"items with a noisy value below {at_least:g} are left out"),
        extras=replace(release.extras, **picked),
    )


def explained(release: Release, why: str, keeps_order: bool, k: int | None) -> Release:
    """The release as it was planned: as a set unless its order was asked for, with the reason if the rule chose."""
    if release.ordered and not keeps_order:
        release = release.as_set()
    words = f"auto: {why}" if why else release.why
    return replace(release, why=words, extras=replace(release.extras, asked=None if k is None else int(k)))


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
    wanted = None if k is None else checked_k(k)
    paid = checked_budget(epsilon, budget) if delta is None else checked_delta_budget(epsilon, delta, budget)
    ordered, values, gaps = checked_flag("ordered", ordered), checked_flag("values", values), checked_flag("gaps", gaps)
    if not isinstance(method, str) or method not in ("auto", *METHODS):
        raise ValueError(f"method={method!r} is not known; write one of 'auto', {', '.join(map(repr, METHODS))}")
    rows = None if limit is None else checked_limit(limit, 1)
    request = Request(wanted, paid, ordered, values, gaps, public, rows, most, weighed)
    named = None if method == "auto" else METHODS[method]
    chosen, why = by_rule(request) if named is None else (named, "")
    unlisted = not request.listed if chosen.domain == "either" else chosen.domain == "unknown"
    if not checked_flag("largest", largest):
        _check_smallest(request, chosen, unlisted)
    (_check_unlisted if unlisted else _check_listed)(request, named)
    return chosen.build(request), why, ordered or values or chosen.gaps


@lru_cache
def by_rule(request: Request) -> tuple[Method, str]:
    """(the method whose own public rule holds, why): the same for the same public facts, so it is remembered."""
    method = next(method for method in METHODS.values() if method.when(request))
    return method, method.reason(request)


def _check_smallest(request: Request, chosen: Method, unlisted: bool) -> None:
    """Whether the smallest are defined, and the mechanism takes negated scores."""
    if not request.public:
        raise ValueError(
            "largest=False needs a public list of candidates: of names that come from the data the smallest count "
            "would be one person's own. Give candidates=, or public=True if the labels are public"
        )
    if request.k is None:
        raise ValueError("largest=False needs a fixed k: write k=10")
    if unlisted or chosen.largest_only:
        raise ValueError(
            f'method={chosen.name!r} is about the largest scores alone; with largest=False write method="auto"'
        )


def _check_unlisted(request: Request, named: Method | None) -> None:
    """Where the candidates, or how many of them, come from the data."""
    if request.gaps:
        raise ValueError("gaps need a public list of candidates and a fixed k: leave them out")
    if request.values and (request.k is None or not (named is None or named.values)):
        raise ValueError(
            'values need a fixed k, and method="auto", "keys" or "measured-set": write k=10, or leave values= out'
        )
    delta = getattr(request.budget, "delta", 0.0)
    if delta > LARGE_DELTA:
        warnings.warn(
            f"delta={delta:g} lets one person's own item out with that chance; "
            "write a delta well below one over the number of people",
            stacklevel=_calls_inside(),
        )
    if request.ordered and named is not None and not named.ordered:
        raise ValueError(f'method={named.name!r} releases sets; for an order write method="limited-domain"')
    if request.ordered and named is None and request.k is None:
        raise ValueError("k=None releases a set: leave ordered= out, or give k=10")


def _calls_inside() -> int:
    """How far a warning of whoever calls this is from the line that called the package, by `select` or `top_k`."""
    frame, calls = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "shortlist":
        frame, calls = frame.f_back, calls + 1
    return calls


def _check_listed(request: Request, named: Method | None) -> None:
    """Where the candidates are a public list."""
    if request.k is None:
        raise ValueError("k=None lets the data choose k, which needs a delta: write delta=1e-6, or a number for k")
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
