"""From a question to a release in one call, and the public rule behind `method="auto"`.

The rule looks at public facts alone: k, the budget, and whether an order is wanted. Never at a score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from shortlist.mechanisms import Mechanism, NoisyMax, OneshotTopK
from shortlist.mechanisms.base import checked_budget, checked_k
from shortlist.noise.entropy import Source
from shortlist.privacy import Guarantee, Ledger
from shortlist.release import Release

ONE = "permute-and-flip"
SEVERAL = "oneshot-exponential"

WHY = {
    ONE: "auto: for one winner and a pure budget, permute-and-flip never errs more than the exponential mechanism",
    SEVERAL: "auto: for a list and a pure budget, exponential noise needs the least epsilon of the one-shot kinds",
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
}


def select(
    scores: object,
    *,
    epsilon: float | None = None,
    budget: Guarantee | None = None,
    method: str = "auto",
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    **question: Any,
) -> Release:
    """Release one winner.

    Parameters
    ----------
    scores
        `Scores`, or plain values with `sensitivity=` and `monotone=` (and the other words of `Scores`).
    epsilon, budget
        What it may cost: `epsilon=1.0` is short for `budget=PureDP(1.0)`.
    method
        A mechanism by name, or `"auto"`.
    ledger, purpose
        Where the charge is booked, durably, before the scores are looked at; and what for.

    Examples
    --------
    >>> import shortlist as sl
    >>> sl.select([120, 3, 40], epsilon=1.0, monotone=True).index
    0
    """
    question = {"rng": rng, "ledger": ledger, "purpose": purpose, **question}
    return top_k(scores, 1, epsilon=epsilon, budget=budget, method=method, ordered=True, **question)


def top_k(
    scores: object,
    k: int,
    *,
    epsilon: float | None = None,
    budget: Guarantee | None = None,
    method: str = "auto",
    ordered: bool = False,
    rng: Source | None = None,
    ledger: Ledger | None = None,
    purpose: str = "",
    **question: Any,
) -> Release:
    """Release the k best candidates: as a set, or best first with `ordered=True`.

    Parameters
    ----------
    scores
        `Scores`, or plain values with `sensitivity=` and `monotone=` (and the other words of `Scores`).
    k
        How many.
    epsilon, budget
        What it may cost: `epsilon=1.0` is short for `budget=PureDP(1.0)`.
    method
        A mechanism by name, or `"auto"`.
    ordered
        Whether the order of the winners is released too.
    ledger, purpose
        Where the charge is booked, durably, before the scores are looked at; and what for.

    Examples
    --------
    >>> import shortlist as sl
    >>> sl.top_k({"ada": 900, "bob": 500, "cy": 20}, 2, epsilon=1.0, monotone=True, public=True).items
    ['ada', 'bob']
    """
    number = checked_k(k)
    chosen = (ONE if number == 1 else SEVERAL) if method == "auto" else method
    if chosen not in METHODS:
        raise ValueError(f"method={method!r} is not known; write one of 'auto', {', '.join(map(repr, METHODS))}")
    mechanism = METHODS[chosen](number, checked_budget(epsilon, budget))
    release = mechanism.release(scores, rng=rng, ledger=ledger, purpose=purpose, **question)
    if not ordered:
        release = release.as_set()
    return replace(release, why=WHY[chosen]) if method == "auto" else release
