"""Who may answer the question, and what the same law costs in each currency.

Every law here has one parameter, the pure epsilon p it would cost (k rounds of e cost p = k e). A method whose rounds
have bounded range converts: rho = rounds e^2 / 8, and (epsilon, delta) by the tightest accountant. So one search for p
serves all budgets.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from shortlist.exact.stability_test import OptimalTest
from shortlist.mechanisms import CanonicalTopK, GuardedTopK, JointTopK, OneshotTopK
from shortlist.mechanisms.limited_domain.law import BarredRace, canonical_limited_domain
from shortlist.mechanisms.oneshot.mechanism import epsilon_of_a_round
from shortlist.planning.compare import Studied
from shortlist.planning.goals import Goal, reached
from shortlist.planning.limited_domain_search import SLACK, rates
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, calibrate
from shortlist.scores import Scores

Currency = Literal["pure", "zcdp", "approx"]
Domain = Literal["known", "unknown"]

CURRENCIES: tuple[Currency, ...] = ("pure", "zcdp", "approx")
DOMAINS: tuple[Domain, ...] = ("known", "unknown")
GAMMA = 0.85
"""Of CanonicalLimitedDomain, its default."""


Law = Callable[[Scores, Goal, float, float], float]
RaceLaw = Callable[[Scores, Goal, float, float], float]
"""(scores, goal, e of a round, delta of the bar) -> how far a list gets."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A method, the currencies in which it competes, and how far it gets at a pure epsilon p."""

    label: str
    method: str
    ordered: bool
    rounds: int
    currencies: tuple[Currency, ...]
    domain: Domain
    goals: tuple[Goal, ...]
    law: Law
    """(scores, goal, p, the delta of its bar or test) -> how far it gets."""
    qualities: Callable[[Scores, float, float], dict[Goal, float]]
    """(scores, p, that delta) -> how far it gets towards each of its goals, at once."""
    one_pair: bool = False
    """Whether its law takes (epsilon, delta) as they are given: p is epsilon, and nothing is converted here."""
    race: RaceLaw | None = None
    """Of a list that splits delta itself, the law of its calibrated parameters: its search calibrates as it goes."""

    def own_delta(self, currency: Currency, delta: float) -> float:
        """The delta that its law is given: all of it where nothing is converted here, half for its bar elsewhere."""
        return delta if self.one_pair and currency == "approx" else delta / 2


EVERY: tuple[Goal, ...] = ("top", "great", "good", "recall")


def contestants(k: int, domain: Domain, ordered: bool) -> list[Contestant]:
    """All methods that release k items of such a domain, in order if that is wanted."""
    listed = _known(k) if domain == "known" else _unknown(k)
    return [one for one in listed if one.ordered or not ordered]


def _known(k: int) -> list[Contestant]:
    one = k == 1
    lists = [
        _known_one(
            "permute-and-flip" if one else "one-shot, exponential",
            "permute-and-flip" if one else "oneshot-exponential",
            True, 1, ("pure",), lambda p: OneshotTopK(k=k, epsilon=p, noise="exponential"),
        ),
        _known_one(
            "exponential mechanism" if one else "one-shot, Gumbel (peeling)",
            "exponential" if one else "oneshot-gumbel",
            True, k, CURRENCIES, lambda p: OneshotTopK(k=k, epsilon=p, noise="gumbel"),
        ),
        _known_one("one-shot, Laplace", "oneshot-laplace", True, 1, ("pure",),
                   lambda p: OneshotTopK(k=k, epsilon=p, noise="laplace")),
        _known_one("joint", "joint", True, 1, CURRENCIES, lambda p: JointTopK(k=k, epsilon=p)),
    ]  # fmt: skip
    if one:
        return lists
    return [
        _known_one("canonical", "canonical", False, 1, ("pure",), lambda p: CanonicalTopK(k=k, epsilon=p)),
        _known_one("canonical, Gumbel", "canonical", False, 1, ("zcdp", "approx"),
                   lambda p: CanonicalTopK(k=k, epsilon=p, noise="gumbel")),
        _known_one("guarded (default)", "guarded", False, 1, ("pure",), lambda p: GuardedTopK(k=k, epsilon=p)),
        *lists,
    ]  # fmt: skip


def _known_one(
    label: str,
    method: str,
    ordered: bool,
    rounds: int,
    currencies: tuple[Currency, ...],
    build: Callable[[float], Studied],
) -> Contestant:
    def law(scores: Scores, goal: Goal, p: float, delta: float) -> float:
        return reached(goal)(build(p), scores)

    def qualities(scores: Scores, p: float, delta: float) -> dict[Goal, float]:
        found = build(p).quality(scores)
        return {"top": found.top, "great": found.great, "good": found.good, "recall": found.recall}

    return Contestant(label, method, ordered, rounds, currencies, "known", EVERY, law, qualities)


def _unknown(k: int) -> list[Contestant]:
    def race(scores: Scores, goal: Goal, e: float, delta: float) -> float:
        found = BarredRace.of(scores.values, k, e, delta, max(1000, 10 * k))
        return found.top() if goal == "top" else found.recall()

    def limited(scores: Scores, goal: Goal, p: float, delta: float) -> float:
        return race(scores, goal, p / k, delta)

    def calibrated(scores: Scores, goal: Goal, epsilon: float, delta: float) -> float:
        return race(scores, goal, *rates(k, epsilon, delta))

    def canonical(scores: Scores, goal: Goal, p: float, delta: float) -> float:
        found = canonical_limited_domain(scores.values, k, p, delta, 2 * k, GAMMA)
        return found.top if goal == "top" else found.recall

    def stable(scores: Scores, goal: Goal, p: float, delta: float) -> float:
        largest = np.partition(scores.values, len(scores) - np.array([k, k + 1]))[::-1]
        gap = int(largest[k - 1]) - int(largest[k])
        return float(OptimalTest(Fraction(p), Fraction(delta)).chance(gap))

    def each_of(law: Law, goals: tuple[Goal, ...]) -> Callable[[Scores, float, float], dict[Goal, float]]:
        return lambda scores, p, delta: {goal: law(scores, goal, p, delta) for goal in goals}

    both: tuple[Goal, ...] = ("top", "recall")
    paid: tuple[Currency, ...] = ("zcdp", "approx")
    return [
        Contestant("canonical, limited domain", "canonical-limited-domain", False, 1, paid, "unknown", both, canonical,
                   each_of(canonical, both), one_pair=True),
        Contestant("limited domain, Gumbel", "limited-domain", True, k, ("zcdp",), "unknown", both, limited,
                   each_of(limited, both)),
        Contestant("limited domain, Gumbel", "limited-domain", True, k, ("approx",), "unknown", both, calibrated,
                   each_of(calibrated, both), one_pair=True, race=race),
        Contestant("stable, all or nothing", "stable", False, 1, ("approx",), "unknown", EVERY, stable,
                   each_of(stable, EVERY), one_pair=True),
    ]  # fmt: skip


def cost(contestant: Contestant, currency: Currency, p: float, delta: float) -> tuple[float, float]:
    """(epsilon, rho) of a release with pure epsilon p; rho is NaN outside zCDP, epsilon is at delta; rounded up.

    In the unknown domain half of delta is the bar's under zCDP, so the other half converts.
    """
    if not 0 < p < math.inf:
        return p, math.nan if currency != "zcdp" else p
    if currency == "pure":
        return p, math.nan
    if contestant.one_pair and currency == "approx":
        return p, math.nan
    each = BoundedRange(p / contestant.rounds)
    left = delta / 2 if contestant.domain == "unknown" else delta
    if currency == "approx":
        whole = each if contestant.rounds == 1 else each.repeat(contestant.rounds)
        return min(p, whole.epsilon_at(left)) * SLACK, math.nan
    rho = contestant.rounds * (p / contestant.rounds) ** 2 / 8 * SLACK
    return ZCDP(rho).epsilon_at(left), rho


def affordable(contestant: Contestant, currency: Currency, epsilon: float, delta: float) -> tuple[float, float]:
    """(p, rho): the largest pure epsilon of a release that costs at most epsilon (at delta) in that currency."""
    if currency == "pure" or (contestant.one_pair and currency == "approx"):
        return epsilon, math.nan
    left = delta / 2 if contestant.domain == "unknown" else delta
    if currency == "approx":
        return contestant.rounds * epsilon_of_a_round(contestant.rounds, ApproxDP(epsilon, left)), math.nan
    rho = calibrate(ZCDP, ApproxDP(epsilon, left))
    return contestant.rounds * math.sqrt(8 * rho / contestant.rounds) * (1 - 1e-12), rho
