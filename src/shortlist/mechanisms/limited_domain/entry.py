"""The entry of limited-domain top-k: a list of labels that come from the data, the default for an order of them."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.mechanisms.entry import Audited, Entry, Fact, Method, Named, Request
from shortlist.mechanisms.limited_domain.law import BarredRace
from shortlist.mechanisms.limited_domain.mechanism import LimitedDomainTopK, default_limit
from shortlist.mechanisms.plan_rows import Goal, Planned, unlisted
from shortlist.mechanisms.unknown_domain_rule import FEW_ROUNDS, list_of, list_wanted, why_a_list
from shortlist.privacy import ApproxDP, ThinnedRange
from shortlist.scores import Scores

LABEL = "limited domain, Gumbel"
FEW = "limited domain, exponential"


def rates(k: int, epsilon: float, delta: float) -> tuple[float, float]:
    """(e of a round, delta of the bar) as the mechanism calibrates them for ApproxDP(epsilon, delta)."""
    charge = LimitedDomainTopK(k=k, budget=ApproxDP(epsilon, delta)).charge
    assert isinstance(charge, ThinnedRange)
    return charge.epsilon, charge.delta


def _rows(k: int) -> Sequence[Planned]:
    def race(scores: Scores, goal: Goal, e: float, delta: float) -> float:
        field = BarredRace.of(scores.values, k, e, delta, default_limit(k))
        return field.top() if goal == "top" else field.recall()

    def by_rounds(scores: Scores, goal: Goal, p: float, delta: float) -> float:
        return race(scores, goal, p / k, delta)

    def calibrated(scores: Scores, goal: Goal, epsilon: float, delta: float) -> float:
        return race(scores, goal, *rates(k, epsilon, delta))

    def few(scores: Scores, goal: Goal, epsilon: float, delta: float) -> float:
        mechanism = list_of(Request(k, ApproxDP(epsilon, delta), public=False))
        return mechanism.success_probability(scores) if goal == "top" else mechanism.expected_recall(scores)

    zcdp = unlisted(LABEL, "limited-domain", by_rounds, ordered=True, rounds=k, currencies=("zcdp",))
    if k <= FEW_ROUNDS:  # as `list_of` builds it
        return zcdp, unlisted(FEW, "limited-domain", few, ordered=True, currencies=("approx",), one_pair=True)
    return (
        zcdp,
        unlisted(LABEL, "limited-domain", calibrated, ordered=True, rounds=k, currencies=("approx",), one_pair=True,
                 race=race),
    )  # fmt: skip


ENTRY = Entry(
    kind=LimitedDomainTopK,
    page="limited-domain.md",
    summary="a list of labels that come from the data, which ends at a noisy bar",
    gives="at most k items in order, and whether the bar ended them; costs less if fewer",
    budgets="(ε, δ), zCDP with a δ",
    methods=(
        Method(
            "limited-domain",
            list_of,
            when=list_wanted,
            why=why_a_list,
            fact=Fact("a list that ends at its bar, and pays for the rounds it used", "docs/planning.md"),
            domain="unknown",
        ),
    ),
    planned=_rows,
    audited=Audited(
        law="shortlist.mechanisms.limited_domain.certified:law",
        inputs="histograms",
        sees_level=True,
        names=(
            Named("limited-domain", lambda k, budget: LimitedDomainTopK(k=k, budget=budget, limit=k + 1)),
            Named(
                "limited-domain-exponential",
                lambda k, budget: LimitedDomainTopK(k=k, budget=budget, limit=k + 1, noise="exponential"),
            ),
        ),
    ),
)
