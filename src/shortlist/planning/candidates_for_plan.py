"""Who may answer the question, and what the same law costs in each currency.

Every law has one parameter, the pure epsilon p it would cost (k rounds of e cost p = k e). A method whose rounds have
bounded range converts: its rho is `rounds` times that of a round of e, and (epsilon, delta) follows by the tightest
accountant. So one search for p serves all budgets.
"""

from __future__ import annotations

import math

from shortlist.accounting.renyi import largest_range, range_rho
from shortlist.mechanisms.entries import ENTRIES
from shortlist.mechanisms.oneshot.mechanism import epsilon_of_a_round
from shortlist.mechanisms.plan_rows import Currency, Domain, Planned
from shortlist.planning.limited_domain_search import SLACK
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, calibrate


def contestants(
    k: int, domain: Domain, ordered: bool, most: int | None = None, shared: int | None = None
) -> list[Planned]:
    """All methods that release k items of such a domain, in order if that is wanted; sets first.

    With those that need a cap, where each person counts for `most` items; and as they are with capped weights, where
    these came with the counts and each person shares a vote among at most `shared` items.
    """
    capped = [] if most is None else [one for entry in ENTRIES for one in entry.capped(k, most)]
    weighed = [] if shared is None else [one for entry in ENTRIES for one in entry.weighed(k, shared)]
    better = {(one.label, one.currencies) for one in weighed}
    plain = [one for entry in ENTRIES for one in entry.planned(k) if (one.label, one.currencies) not in better]
    listed = [one for one in (*plain, *weighed, *capped) if one.domain == domain]
    return sorted((one for one in listed if one.ordered or not ordered), key=lambda one: one.ordered)


def cost(contestant: Planned, currency: Currency, p: float, delta: float) -> tuple[float, float]:
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
    rho = contestant.rounds * range_rho(p / contestant.rounds) * SLACK
    return ZCDP(rho).epsilon_at(left), rho


def affordable(contestant: Planned, currency: Currency, epsilon: float, delta: float) -> tuple[float, float]:
    """(p, rho): the largest pure epsilon of a release that costs at most epsilon (at delta) in that currency."""
    if currency == "pure" or (contestant.one_pair and currency == "approx"):
        return epsilon, math.nan
    left = delta / 2 if contestant.domain == "unknown" else delta
    if currency == "approx":
        return contestant.rounds * epsilon_of_a_round(contestant.rounds, ApproxDP(epsilon, left)), math.nan
    rho = calibrate(ZCDP, ApproxDP(epsilon, left))
    return contestant.rounds * largest_range(rho, contestant.rounds), rho
