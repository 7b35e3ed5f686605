"""A method in a plan: in which currencies it competes, and how far it gets at a pure epsilon p.

Every law here has one parameter, the pure epsilon p it would cost (k rounds of e cost p = k e), so that one search for
p serves all budgets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from shortlist._arrays import Floats
from shortlist.accounting.curves import range_rho
from shortlist.privacy import ZCDP, ApproxDP
from shortlist.scores import Scores

if TYPE_CHECKING:
    from shortlist.utility.quality import Quality

Currency = Literal["pure", "zcdp", "approx"]
Domain = Literal["known", "unknown"]
Goal = Literal["top", "great", "good", "recall"]

CURRENCIES: tuple[Currency, ...] = ("pure", "zcdp", "approx")
DOMAINS: tuple[Domain, ...] = ("known", "unknown")
EVERY: tuple[Goal, ...] = ("top", "great", "good", "recall")

PlanLaw = Callable[[Scores, Goal, float, float], float]
"""(scores, goal, p, the delta of its bar or test) -> how far it gets."""
RaceLaw = Callable[[Scores, Goal, float, float], float]
"""(scores, goal, e of a round, delta of the bar) -> how far a list gets."""


class Studied(Protocol):
    """A mechanism whose exact utility is known: what a row for a public list is computed from."""

    @property
    def name(self) -> str: ...

    def success_probability(self, scores: object) -> float: ...

    def quality(self, scores: object) -> Quality: ...

    def inclusion_probabilities(self, scores: object) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Planned:
    """A method, the currencies in which it competes, and how far it gets at a pure epsilon p."""

    label: str
    method: str
    ordered: bool
    rounds: int
    currencies: tuple[Currency, ...]
    domain: Domain
    goals: tuple[Goal, ...]
    law: PlanLaw
    qualities: Callable[[Scores, float, float], dict[Goal, float]]
    """(scores, p, that delta) -> how far it gets towards each of its goals, at once."""
    one_pair: bool = False
    """Whether its law takes (epsilon, delta) as they are given: p is epsilon, and nothing is converted here."""
    race: RaceLaw | None = None
    """Of a list that splits delta itself, the law of its calibrated parameters: its search calibrates as it goes."""

    def own_delta(self, currency: Currency, delta: float) -> float:
        """The delta that its law is given: all of it where nothing is converted here, half for its bar elsewhere."""
        return delta if self.one_pair and currency == "approx" else delta / 2


def listed(
    label: str,
    method: str,
    build: Callable[[float], Studied],
    *,
    ordered: bool,
    rounds: int = 1,
    currencies: tuple[Currency, ...] = CURRENCIES,
) -> Planned:
    """A row for a public list of candidates, by the exact laws of the mechanism that `build` makes of p."""

    def law(scores: Scores, goal: Goal, p: float, delta: float) -> float:
        return reached(goal)(build(p), scores)

    def qualities(scores: Scores, p: float, delta: float) -> dict[Goal, float]:
        return as_goals(build(p).quality(scores))

    return Planned(label, method, ordered, rounds, currencies, "known", EVERY, law, qualities)


def unlisted(
    label: str,
    method: str,
    law: PlanLaw,
    *,
    ordered: bool = False,
    rounds: int = 1,
    currencies: tuple[Currency, ...],
    goals: tuple[Goal, ...] = ("top", "recall"),
    one_pair: bool = False,
    race: RaceLaw | None = None,
) -> Planned:
    """A row for candidates that come from the data, by one law for all its goals."""

    def qualities(scores: Scores, p: float, delta: float) -> dict[Goal, float]:
        return {goal: law(scores, goal, p, delta) for goal in goals}

    return Planned(label, method, ordered, rounds, currencies, "unknown", goals, law, qualities, one_pair, race)


class Recalling(Protocol):
    """A mechanism for names from the data whose exact utility is known."""

    def success_probability(self, scores: object) -> float: ...

    def expected_recall(self, scores: object) -> float: ...


def unlisted_each(
    label: str, method: str, build: Callable[[ZCDP | ApproxDP], Recalling | None], *, ordered: bool = False
) -> tuple[Planned, ...]:
    """Rows under zCDP, given the rho of one round of range p, and under (p, delta), of what `build` makes of them.

    Where it makes nothing, nothing is reached.
    """

    def row(currency: Currency) -> Planned:
        def law(scores: Scores, goal: Goal, p: float, delta: float) -> float:
            mechanism = build(ApproxDP(p, delta) if currency == "approx" else ZCDP(range_rho(p), delta))
            if mechanism is None:
                return 0.0
            return mechanism.success_probability(scores) if goal == "top" else mechanism.expected_recall(scores)

        return unlisted(label, method, law, ordered=ordered, currencies=(currency,), one_pair=currency == "approx")

    return row("zcdp"), row("approx")


def as_goals(quality: Quality) -> dict[Goal, float]:
    """How far towards each goal."""
    return {"top": quality.top, "great": quality.great, "good": quality.good, "recall": quality.recall}


def recall_of(mechanism: Any, scores: Scores) -> float:
    """The expected share of the true top k: the chances of all that score as much as the k-th, added up."""
    values, k = scores.values, int(mechanism.k)
    correct = values >= np.partition(values, len(values) - k)[len(values) - k]
    return min(1.0, float(mechanism.inclusion_probabilities(scores)[correct].sum()) / k)


def reached(goal: Goal) -> Callable[[Any, Scores], float]:
    """How far a mechanism gets towards the goal on given scores: a chance, or an expected share."""
    if goal == "top":
        return lambda mechanism, scores: float(mechanism.success_probability(scores))
    if goal == "recall":
        return recall_of
    return lambda mechanism, scores: float(getattr(mechanism.quality(scores), goal))
