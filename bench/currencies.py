"""Sets in every currency: the published law, peeling, canonical, the default of 0.1.0 and today's, and the limit.

The published law is the fast variant of the canonical paper (g = 1, Gumbel noise). The default of 0.1.0 was guarded
under a pure budget alone, with g = 1/2 for every k, and canonical under any other. The limit is that of all
mechanisms, and known for pure budgets only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from bench.canonical import NAMES, counts, epsilon_for
from bench.looser import DELTA, collapse
from shortlist import Scores
from shortlist.exact.noise import EXPONENTIAL, GUMBEL
from shortlist.exact.subsets import rank_scores
from shortlist.mechanisms import CanonicalTopK, GuardedTopK, OneshotTopK
from shortlist.mechanisms.sets import TAU, Guarding, share_of
from shortlist.planning.comparison import epsilon_for as budget_for
from shortlist.planning.search import least_epsilon_reaching
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, PureDP
from shortlist.sampling.sets import Guard, prepare_guard
from shortlist.utility.lower_bound import least_epsilon, most_recall

KS = (10, 100, 1000)
TARGET = 0.99
HALF = Fraction(1, 2)
MULTIPLES = (0.5, 1.1)


class Before(GuardedTopK):
    """The guarded default of 0.1.0, under a pure budget: g = 1/2."""

    def _chooser(self, scores: Scores, values: Any, public: Guarding) -> Guard:
        ranking = rank_scores(values, public.k, self._rate(scores), HALF, gap_aware=True)
        return prepare_guard(ranking, share_of(public.k, public.d), TAU, public.junk)


PURE = (Before, GuardedTopK)


def cases() -> Iterator[tuple[str, int, Any, Scores]]:
    """(label, k, counts, scores), where the data is present."""
    for k in KS:
        for name in NAMES:
            values = counts(name)
            if values is not None:
                yield f"{name.partition('.')[0].title()} {k}", k, values, Scores(values, monotone=True)


def least(chance: Callable[[float], float], near: float) -> float:
    """The least parameter with a chance of .99, to a part in a thousand."""
    return least_epsilon_reaching(chance, TARGET, start=near, width=1e-3, step=0.1)


def needs(values: Any, k: int, scores: Scores) -> Iterator[tuple[str, list[float | None]]]:
    """(currency, what each needs for a 99% chance of the true set), in epsilon or rho."""
    published, canonical, plain = (
        epsilon_for(values, k, noise, gamma) for noise, gamma in ((GUMBEL, 1), (GUMBEL, HALF), (EXPONENTIAL, HALF))
    )
    rounds = least(lambda e: OneshotTopK(k=k, epsilon=k * e).success_probability(scores), canonical)
    old, new = (least(lambda e, kind=kind: kind(k=k, epsilon=e).success_probability(scores), plain) for kind in PURE)
    yield "epsilon", [published, k * rounds, plain, old, new, least_epsilon(values, k, TARGET)]
    laws = [(published, 1), (rounds, k), (canonical, 1)]
    costs: list[float | None] = [_cost(*law, lambda one: one.epsilon_at(DELTA)) for law in laws]
    new = budget_for(GuardedTopK(k=k, budget=ApproxDP(plain, DELTA)), scores, target=TARGET)
    yield f"epsilon, delta = {DELTA:g}", [*costs, costs[2], new, None]
    rhos = [_cost(*law, lambda one: one.as_zcdp().rho) for law in laws]
    new = least(lambda rho: GuardedTopK(k=k, budget=ZCDP(rho)).success_probability(scores), rhos[2])
    yield "rho", [*rhos, rhos[2], new, None]


def _cost(e: float, rounds: int, measured: Callable[[Any], float]) -> float:
    """Of so many rounds of range e; infinite where no e is enough."""
    return measured(BoundedRange(e).repeat(rounds)) if math.isfinite(e) else math.inf


def epsilon_currencies_table() -> Iterator[str]:
    """What a 99% chance of exactly the true top k needs in every currency (counts, add-remove)."""
    yield "| data, k | in | published law | peeling | canonical | default of 0.1.0 | **default** | limit |"
    yield "|---|---|---|---|---|---|---|---|"
    for label, k, values, scores in cases():
        for currency, numbers in needs(values, k, scores):
            cells = " | ".join("" if one is None else f"{one:.3g}" for one in numbers)
            yield f"| {label} | {currency} | {cells} |"


def recalls(k: int, budget: PureDP | ApproxDP | ZCDP, scores: Scores) -> list[float]:
    """Of the published law, peeling, canonical, the default of 0.1.0 and today's."""
    found = [
        float(one.quality(scores).recall)
        for one in (
            CanonicalTopK(k=k, budget=budget, gamma=1.0, noise="gumbel"),
            OneshotTopK(k=k, budget=budget),
            CanonicalTopK(k=k, budget=budget),
            GuardedTopK(k=k, budget=budget),
        )
    ]
    old = float(Before(k=k, budget=budget).quality(scores).recall) if isinstance(budget, PureDP) else found[2]
    return [*found[:3], old, found[3]]


def guarded_currencies_table() -> Iterator[str]:
    """Recall of published law / peeling / canonical / default of 0.1.0 / default, by currency; rho = epsilon^2 / 8."""
    yield "| data, k | epsilon | pure | limit | (epsilon, 1e-6) | zCDP |"
    yield "|---|---|---|---|---|---|"
    for label, k, values, scores in cases():
        for epsilon in (multiple * collapse(scores, k) for multiple in MULTIPLES):
            budgets = PureDP(epsilon), ApproxDP(epsilon, DELTA), ZCDP(epsilon**2 / 8)
            found = [recalls(k, budget, scores) for budget in budgets]
            cells = [" / ".join(f"{one:.3f}" for one in row[:4]) + f" / **{row[4]:.3f}**" for row in found]
            cells.insert(1, f"{most_recall(values, k, epsilon):.3f}")
            yield f"| {label} | {epsilon:.3g} | {' | '.join(cells)} |"


TABLES = {"epsilon-currencies": epsilon_currencies_table, "guarded-currencies": guarded_currencies_table}
