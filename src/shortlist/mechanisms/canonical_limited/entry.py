"""The entry of canonical sets of a limited domain: labels that come from the data, by name or by a choice."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.mechanisms.canonical_limited.law import canonical_limited_domain
from shortlist.mechanisms.canonical_limited.mechanism import GAMMA, CanonicalLimitedDomain
from shortlist.mechanisms.entry import Audited, Entry, Fact, Method, Named
from shortlist.mechanisms.plan_rows import Goal, Planned, unlisted
from shortlist.mechanisms.unknown_domain_rule import set_of
from shortlist.scores import Scores


def _rows(k: int) -> Sequence[Planned]:
    def law(scores: Scores, goal: Goal, p: float, delta: float) -> float:
        quality = canonical_limited_domain(scores.values, k, p, delta, 2 * k, float(GAMMA))
        return quality.top if goal == "top" else quality.recall

    label, method = "canonical, limited domain", "canonical-limited-domain"
    return (unlisted(label, method, law, currencies=("zcdp", "approx"), one_pair=True),)


ENTRY = Entry(
    kind=CanonicalLimitedDomain,
    page="canonical-limited-domain.md",
    summary="a set of labels that come from the data, in one round",
    gives="a set of at most k",
    budgets="(ε, δ), zCDP with a δ",
    methods=(
        Method(
            "canonical-limited-domain",
            set_of,
            fact=Fact("its bar is lower than that of a list from k = 2 on, at delta = 1e-6", "docs/planning.md"),
            domain="unknown",
            ordered=False,
        ),
    ),
    planned=_rows,
    audited=Audited(
        law="shortlist.mechanisms.canonical_limited.certified:law",
        inputs="histograms",
        sees_level=True,
        one_by_one=True,
        names=(Named("canonical-limited-domain", lambda k, budget: CanonicalLimitedDomain(k=k, budget=budget)),),
    ),
)
