"""The rows of a plan and of a comparison: which mechanism competes, in which currencies, and what it costs there.

Every row has one parameter, the pure epsilon p it would cost (k rounds of e cost p = k e). A method whose rounds have
bounded range converts: its rho is `rounds` times that of a round of e, and (epsilon, delta) follows by the tightest
accountant. So one search for p serves all budgets. Other rows are built from the budget of each currency itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from shortlist.accounting.curves import largest_range, range_rho
from shortlist.mechanisms.base import MANY_NAMES, Budget, Request
from shortlist.mechanisms.lists import OrderedCanonicalTopK
from shortlist.mechanisms.partition import FEW_ROUNDS, KeySet
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.mechanisms.registry import METHODS
from shortlist.mechanisms.sets import CanonicalTopK
from shortlist.mechanisms.unknown_domain import LimitedDomainTopK
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, PureDP, calibrate
from shortlist.scores import Scores

Currency = Literal["pure", "zcdp", "approx"]
Domain = Literal["known", "unknown"]
Goal = Literal["top", "great", "good", "recall"]

CURRENCIES: tuple[Currency, ...] = ("pure", "zcdp", "approx")
DOMAINS: tuple[Domain, ...] = ("known", "unknown")
EVERY: tuple[Goal, ...] = ("top", "great", "good", "recall")
NAMES_GOALS: tuple[Goal, ...] = ("top", "recall")
PURE: tuple[Currency, ...] = ("pure",)
LOOSER: tuple[Currency, ...] = ("zcdp", "approx")

SLACK = 1 + 4e-6
"""On every converted cost. Calibration finds e from below, to 1.5 parts in a million, lists leave a tenth of one to
spare, and epsilon grows with no more than the square of e: a mechanism that is given this epsilon has the e that was
tried."""

MORE = 10**9
"""More items than anybody asks for."""


@dataclass(frozen=True, slots=True)
class Row:
    """A method in plans and comparisons, whatever k is."""

    label: str
    method: str
    """For `method=` of `top_k`: with the same k and budget it builds the mechanism that is planned."""
    currencies: tuple[Currency, ...]
    ordered: bool = False
    in_rounds: bool = False
    """Whether it is k rounds of bounded range."""
    converts: bool = True
    """Whether it is built from p alone and its cost converted; otherwise from the budget of each currency."""
    ks: tuple[int, int] = (1, MORE)
    domain: Domain = "known"
    goals: tuple[Goal, ...] = EVERY
    needs: Literal["", "cap", "weights"] = ""
    """What must be known of the counts."""
    build: Callable[[Request], Any] | None = None
    """What it is built by, if not by its method."""


def _names_row(label: str, method: str, currencies: tuple[Currency, ...], **words: Any) -> Row:
    """Return a row for names that come from the data."""
    usual: dict[str, Any] = {"converts": False, "domain": "unknown", "goals": NAMES_GOALS}
    return Row(label, method, currencies, **usual | words)


def _canonical(request: Request) -> CanonicalTopK:
    return CanonicalTopK(k=request.size, budget=request.budget, noise="gumbel")


def _ordered_canonical(request: Request) -> OrderedCanonicalTopK:
    return OrderedCanonicalTopK(k=request.size, budget=request.budget, noise="gumbel")


def _list_of_names(request: Request) -> LimitedDomainTopK:
    return LimitedDomainTopK(k=request.size, budget=request.budget)


def _key_set_of_votes(request: Request) -> KeySet:
    return KeySet(most=request.most, weighted=True, k=request.k, values=False, budget=request.budget)


SEVERAL = (2, MORE)
HISTOGRAM, LIST = "histogram, at most {most} a person", "limited domain, Gumbel"
ROWS = (
    Row("permute-and-flip", "permute-and-flip", PURE, ordered=True, ks=(1, 1)),
    Row("exponential mechanism", "exponential", CURRENCIES, ordered=True, ks=(1, 1)),
    Row("one-shot, exponential", "oneshot-exponential", PURE, ordered=True, in_rounds=True, ks=SEVERAL),
    Row("one-shot, Gumbel", "oneshot-gumbel", CURRENCIES, ordered=True, in_rounds=True, ks=SEVERAL),
    Row("one-shot, Laplace", "oneshot-laplace", PURE, ordered=True, in_rounds=True),
    Row("joint", "joint", CURRENCIES, ordered=True),
    Row("canonical", "canonical", PURE, ks=SEVERAL),
    Row("canonical, Gumbel", "canonical", LOOSER, ks=SEVERAL, build=_canonical),
    Row("guarded", "guarded", CURRENCIES, converts=False, ks=SEVERAL),
    Row("ordered canonical", "ordered-canonical", PURE, ordered=True, ks=SEVERAL),
    Row("ordered canonical, Gumbel", "ordered-canonical", LOOSER, ordered=True, ks=SEVERAL, build=_ordered_canonical),
    Row("guarded list", "guarded-list", CURRENCIES, ordered=True, converts=False, ks=SEVERAL),
    Row(HISTOGRAM, "histogram", CURRENCIES, ordered=True, converts=False, needs="cap"),
    _names_row("stable, all or nothing", "all-or-nothing", ("approx",), goals=EVERY),
    _names_row(LIST, "limited-domain", ("zcdp",), ordered=True, in_rounds=True, build=_list_of_names),
    _names_row("limited domain, exponential", "limited-domain", ("approx",), ordered=True, ks=(1, FEW_ROUNDS)),
    _names_row(LIST, "limited-domain", ("approx",), ordered=True, in_rounds=True, ks=(FEW_ROUNDS + 1, MORE)),
    _names_row("canonical, limited domain", "canonical-limited-domain", LOOSER),
    _names_row("noisy choice", "names-choice", LOOSER, ks=(2, MANY_NAMES)),
    _names_row("key set, at most {most} a person", "keys", LOOSER, ordered=True, needs="cap"),
    _names_row("key set of shared votes", "keys", LOOSER, needs="weights", build=_key_set_of_votes),
)
"""In this order they stand in comparisons."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A row for one k, in currencies that have one search, and how far it gets at a pure epsilon p."""

    row: Row
    label: str
    rounds: int
    currencies: tuple[Currency, ...]
    request: Request
    """All but the budget."""

    @property
    def one_pair(self) -> bool:
        """Whether it takes (epsilon, delta) as they are given: p is epsilon, and nothing is converted here."""
        return not self.row.converts and self.currencies == ("approx",)

    @property
    def splits_delta(self) -> bool:
        """Whether it is a list whose calibration is slow and whose race is fast: its search calibrates as it goes."""
        return self.one_pair and self.rounds > 1

    def own_delta(self, currency: Currency, delta: float) -> float:
        """The delta that its law is given: all of it where nothing is converted here, half for its bar elsewhere."""
        return delta if self.one_pair and currency == "approx" else delta / 2

    def mechanism(self, p: float, delta: float) -> Any:
        """Return the mechanism of this p; None where no table is large enough for its threshold."""
        budget: Budget = PureDP(p)
        if not self.row.converts and self.currencies == ("approx",):
            budget = ApproxDP(p, delta)
        elif not self.row.converts and self.currencies == ("zcdp",):
            rho = self.rounds * range_rho(p / self.rounds)
            budget = ZCDP(rho, delta if self.row.domain == "unknown" else 0.0)
        build = METHODS[self.row.method].build if self.row.build is None else self.row.build
        mechanism = build(replace(self.request, budget=budget))
        return mechanism if getattr(mechanism, "fits_tables", True) else None

    def reach(self, scores: Scores, goal: Goal, p: float, delta: float) -> float:
        """Return how far it gets towards the goal: a probability, or an expected share."""
        mechanism = self.mechanism(p, delta)
        return 0.0 if mechanism is None else _reach(mechanism, scores, goal)

    def qualities(self, scores: Scores, p: float, delta: float) -> dict[Goal, float]:
        """Return how far it gets towards each of its goals."""
        mechanism = self.mechanism(p, delta)
        if mechanism is None or self.row.goals != EVERY:
            return {goal: 0.0 if mechanism is None else _reach(mechanism, scores, goal) for goal in self.row.goals}
        quality = mechanism.quality(scores)
        return {goal: getattr(quality, goal) for goal in EVERY}


def _reach(mechanism: Any, scores: Scores, goal: Goal) -> float:
    if goal == "top":
        return float(mechanism.success_probability(scores))
    if goal == "recall" and hasattr(mechanism, "expected_recall"):
        return float(mechanism.expected_recall(scores))
    if goal == "recall" and hasattr(mechanism, "inclusion_probabilities"):
        values, k = scores.values, int(mechanism.k)
        correct = values >= np.partition(values, len(values) - k)[len(values) - k]
        return min(1.0, float(mechanism.inclusion_probabilities(scores)[correct].sum()) / k)
    return float(getattr(mechanism.quality(scores), goal))


def compared(k: int, most: int | None) -> list[Contestant]:
    """Return who is compared on a public list under pure budgets, whatever k is; a histogram where there is a cap."""
    rows = [row for row in ROWS if row.domain == "known" and row.ks[1] > 1 and (not row.needs or most is not None)]
    return [one for row in rows for one in _contestants(row, k, most, None) if "pure" in one.currencies]


def contestants(
    k: int, domain: Domain, ordered: bool, most: int | None = None, shared: int | None = None
) -> list[Contestant]:
    """Return all rows that release k items of such a domain, in order if that is wanted; sets first.

    With those that need a cap, where each person counts for `most` items; and those of capped weights, where these came
    with the counts and each person shares a vote among at most `shared` items.
    """
    known = {"": 0, "cap": most, "weights": shared}
    rows = [
        row
        for row in ROWS
        if row.domain == domain and row.ks[0] <= k <= row.ks[1] and (row.ordered or not ordered)
        if known[row.needs] is not None
    ]
    return [one for row in sorted(rows, key=lambda row: row.ordered) for one in _contestants(row, k, most, shared)]


def _contestants(row: Row, k: int, most: int | None, shared: int | None) -> Iterator[Contestant]:
    request = Request(
        k,
        PureDP(1.0),
        public=row.domain == "known",
        most=most if row.needs == "cap" else shared,
        weighed=row.needs != "cap" and shared is not None,
    )
    label, rounds = row.label.format(most=request.most), k if row.in_rounds else 1
    each = [row.currencies] if row.converts else [(currency,) for currency in row.currencies]
    return (Contestant(row, label, rounds, currencies, request) for currencies in each)


def cost(contestant: Contestant, currency: Currency, p: float, delta: float) -> tuple[float, float]:
    """(epsilon, rho) of a release with pure epsilon p; rho is NaN outside zCDP, epsilon is at delta; rounded up.

    In the unknown domain half of delta is the bar's under zCDP, so the other half converts.
    """
    if not 0 < p < math.inf:
        return p, math.nan if currency != "zcdp" else p
    if currency == "pure" or (contestant.one_pair and currency == "approx"):
        return p, math.nan
    rounds = contestant.rounds
    each, left = BoundedRange(p / rounds), delta / 2 if contestant.row.domain == "unknown" else delta
    if currency == "approx":
        whole = each if rounds == 1 else each.repeat(rounds)
        return min(p, whole.epsilon_at(left)) * SLACK, math.nan
    rho = rounds * range_rho(p / rounds) * SLACK
    return ZCDP(rho).epsilon_at(left), rho


def affordable(contestant: Contestant, currency: Currency, epsilon: float, delta: float) -> tuple[float, float]:
    """(p, rho): the largest pure epsilon of a release that costs at most epsilon (at delta) in that currency."""
    if currency == "pure" or (contestant.one_pair and currency == "approx"):
        return epsilon, math.nan
    rounds, left = contestant.rounds, delta / 2 if contestant.row.domain == "unknown" else delta
    if currency == "approx":
        return rounds * epsilon_of_a_round(rounds, ApproxDP(epsilon, left)), math.nan
    rho = calibrate(ZCDP, ApproxDP(epsilon, left))
    return rounds * largest_range(rho, rounds), rho


FACTS = {
    "permute-and-flip": "its failures are half those of the exponential mechanism where one rival decides",
    "exponential": "bounded range costs a quarter of the rho of any other noise",
    "oneshot-gumbel": "k rounds of bounded range compose with the square root of k",
    "oneshot-exponential": "on six public data sets it needed 0.78 to 0.93 of the epsilon of peeling for the same "
    "chance",
    "joint": "its loss is never better than canonical's",
    "canonical": "it needed 9.6, 110 and 765 times less epsilon than peeling for the top 10, 100 and 1,000 of Netflix",
    "guarded": "for the true top 10, 100 or 1,000 of six public data sets it needed at most 1.29 times the epsilon "
    "of canonical",
    "ordered-canonical": "for the exact order of eight public lists it needed 0.43 to 0.56 of the epsilon of joint",
    "guarded-list": "on all shapes that were tried it cost at most .016 of recall beside one-shot alone",
    "stable": "where the scores fall off behind rank k, its cost does not grow with k",
    "limited-domain": "a list that ends at its bar, and pays for the rounds it used",
    "canonical-limited-domain": "its bar is lower than that of a list from k = 2 on, at delta = 1e-6",
    "names-choice": "no fixed mechanism does well on flat, steep and long data alike",
}
"""What is known of a method beforehand, from an exact distribution on public data: docs/planning.md and its own page
have the tables."""
