"""From a question to a release in one call, and the public rule behind `method="auto"`.

The rule looks at public facts alone: k, the budget, and whether an order is wanted. Never at a score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

from shortlist._reading import checked_flag
from shortlist.knowledge import cited
from shortlist.mechanisms import (
    CanonicalTopK,
    GuardedTopK,
    GumbelTopKValues,
    JointTopK,
    MeasuredTopK,
    Mechanism,
    NoisyMax,
    OneshotTopK,
    TopKWithGaps,
)
from shortlist.mechanisms.checks import checked_budget, checked_k
from shortlist.mechanisms.unknown_domain import checked_delta_budget
from shortlist.privacy import Guarantee, Ledger, PureDP
from shortlist.release import Release
from shortlist.sampling.entropy import Source
from shortlist.scores import ScoreWords, as_scores
from shortlist.unknown_domain import UNKNOWN, automatic, has_delta

WHY = {
    "permute-and-flip": "for one winner and a pure budget it never errs more than the exponential mechanism",
    "exponential": "for one winner and a budget that is not pure, bounded range makes Gumbel noise the cheapest",
    "oneshot-exponential": "for a list and a pure budget, it needs the least epsilon of the one-shot kinds",
    "oneshot-gumbel": "for a list and a budget that is not pure, bounded range makes Gumbel noise the cheapest",
    "guarded": "for a set and a pure budget: canonical top-k, which needs the least epsilon, guarded from collapse",
    "canonical": "for a set and a budget that is not pure, canonical top-k with Gumbel noise needs the least",
    "gumbel-values": "values under an (epsilon, delta) budget: the items come free with Gumbel values",
    "gaps": "gaps come free with a list under a pure budget, and sharpen what is measured afterwards",
}


def _oneshot(noise: str) -> Callable[[int, Guarantee], Mechanism]:
    return lambda k, budget: OneshotTopK(k=k, budget=budget, noise=noise)


def _noisy_max(noise: str) -> Callable[[int, Guarantee], Mechanism]:
    def build(k: int, budget: Guarantee) -> Mechanism:
        if k != 1:
            raise ValueError('this method selects one winner; for several write method="oneshot-exponential"')
        return NoisyMax(budget=budget, noise=noise)

    return build


METHODS: dict[str, Callable[[int, Guarantee], Mechanism]] = {
    "permute-and-flip": _noisy_max("exponential"),
    "exponential": _noisy_max("gumbel"),
    "oneshot-gumbel": _oneshot("gumbel"),
    "peeling": _oneshot("gumbel"),
    "oneshot-exponential": _oneshot("exponential"),
    "oneshot-laplace": _oneshot("laplace"),
    "oneshot-logistic": _oneshot("logistic"),
    "oneshot-half-logistic": _oneshot("half-logistic"),
    "canonical": lambda k, budget: CanonicalTopK(k=k, budget=budget),
    "guarded": lambda k, budget: GuardedTopK(k=k, budget=budget),
    "joint": lambda k, budget: JointTopK(k=k, budget=budget),
    "gumbel-values": lambda k, budget: GumbelTopKValues(k=k, budget=budget),  # type: ignore[arg-type]
    "gaps": lambda k, budget: TopKWithGaps(k=k, budget=budget),
}
WITH_VALUES: dict[str, Callable[[int, Guarantee], Mechanism]] = {
    "gumbel-values": METHODS["gumbel-values"],
    "gaps": lambda k, budget: MeasuredTopK(k=k, budget=budget),
}


def _automatic(k: int, budget: Guarantee, ordered: bool, values: bool, gaps: bool) -> str:
    """The public rule."""
    if gaps or (values and isinstance(budget, PureDP)):
        return "gaps"
    if values:
        return "gumbel-values"
    pure = isinstance(budget, PureDP)
    if k == 1:
        return "permute-and-flip" if pure else "exponential"
    if ordered:
        return "oneshot-exponential" if pure else "oneshot-gumbel"
    return "guarded" if pure else "canonical"


def select(
    scores: object,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    budget: Guarantee | None = None,
    method: str = "auto",
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    **question: Unpack[ScoreWords],
) -> Release:
    """Release one winner.

    Parameters
    ----------
    scores
        `Scores`, or plain values with `sensitivity=` and `monotone=` (and the other words of `Scores`).
    epsilon, delta, budget
        What it may cost: `epsilon=1.0` is short for `budget=PureDP(1.0)`, and with `delta=1e-6` for
        `budget=ApproxDP(1.0, 1e-6)`. Candidates that come from the data need a delta.
    method
        A mechanism by name, or `"auto"`.
    rng
        None is the secure source. `sl.testing.seeded(7)` repeats itself and marks the release as not private.
    ledger, purpose
        Where the charge is booked, durably, before the scores are looked at; and what for.
    **question
        The other words of `Scores`, for plain values: `sensitivity`, `monotone`, `labels`, `public` and so on.

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
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    **question: Unpack[ScoreWords],
) -> Release:
    """Release the k best candidates: as a set, or best first with `ordered=True`.

    Parameters
    ----------
    scores
        `Scores`, or plain values with `sensitivity=` and `monotone=` (and the other words of `Scores`).
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
        Whether noisy values are released too. A pure budget selects with one half and measures with the other
        (`MeasuredTopK`); `ApproxDP(epsilon, delta)` releases Gumbel values. Either comes in order.
    gaps
        Whether the lead of each winner over the next is released too, in order; that needs a pure budget.
    limit
        For candidates that come from the data: how many rows may be looked at, a public number.
    rng
        None is the secure source. `sl.testing.seeded(7)` repeats itself and marks the release as not private.
    ledger, purpose
        Where the charge is booked, durably, before the scores are looked at; and what for.
    **question
        The other words of `Scores`, for plain values: `sensitivity`, `monotone`, `labels`, `public` and so on.

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
    asked = as_scores(scores, **question)
    plan: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "budget": budget, "method": method, "ordered": ordered,
            "values": values, "gaps": gaps, "limit": limit}  # fmt: skip
    mechanism, why, keeps_order = planned(k, public=asked.public, **plan)
    release = mechanism.release(asked, rng=rng, ledger=ledger, purpose=purpose)
    return explained(release, why if method == "auto" else "", keeps_order)


def explained(release: Release, why: str, keeps_order: bool) -> Release:
    """The release as it was planned: as a set unless its order was asked for, with the reason if the rule chose."""
    if release.ordered and not keeps_order:
        release = release.as_set()
    return replace(release, why=f"auto: {why}") if why else release


def planned(
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
) -> tuple[Mechanism, str, bool]:
    """(the mechanism that `top_k` takes, why, whether its order is released): from public facts alone.

    So what it will charge is known before there are scores; `public` is whether the candidates come from a public list.
    """
    number = None if k is None else checked_k(k)
    paid = checked_budget(epsilon, budget) if delta is None else checked_delta_budget(epsilon, delta, budget)
    ordered, values, gaps = checked_flag("ordered", ordered), checked_flag("values", values), checked_flag("gaps", gaps)
    if not isinstance(method, str) or method not in ("auto", *METHODS, *UNKNOWN):
        known = ", ".join(map(repr, [*METHODS, *UNKNOWN]))
        raise ValueError(f"method={method!r} is not known; write one of 'auto', {known}")
    named = method != "auto"
    if method in UNKNOWN or (not named and (number is None or not public) and has_delta(paid)):
        if values or gaps:
            raise ValueError("values and gaps need a public list of candidates and a fixed k: leave them out")
        mechanism, why = automatic(number, paid, ordered, limit, method if named else None)
        return mechanism, why, ordered
    if number is None:
        raise ValueError("k=None lets the data choose k, which needs a delta: write delta=1e-6, or a number for k")
    if limit is not None:
        raise ValueError(
            "limit is for candidates that are not public: leave it out, or name a mechanism that takes it, "
            'delta=1e-6, method="limited-domain"'
        )
    chosen = method if named else _automatic(number, paid, ordered, values, gaps)
    mechanism, why = _built(chosen, number, paid, values, gaps), f"{WHY.get(chosen, '')}{cited(chosen)}"
    return mechanism, why, ordered or values or chosen == "gaps"


def _built(chosen: str, k: int, paid: Guarantee, values: bool, gaps: bool) -> Mechanism:
    if values and chosen not in WITH_VALUES:
        raise ValueError(f'method={chosen!r} releases no values; write method="auto", "gumbel-values" or "gaps"')
    if gaps and chosen != "gaps":
        raise ValueError(f'method={chosen!r} releases no gaps; write method="auto" or "gaps"')
    return (WITH_VALUES if values else METHODS)[chosen](k, paid)
