"""The entry of guarded top-k: a set, the default under every budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shortlist.mechanisms.entry import Audited, Compared, Entry, Fact, Method, Traced
from shortlist.mechanisms.guarded.budgets import budget_with_rounds, nearly_one_shot_of
from shortlist.mechanisms.guarded.law import Utility
from shortlist.mechanisms.guarded.mechanism import GuardedTopK, OneShot, share_of
from shortlist.mechanisms.oneshot.mechanism import quick_epsilon_of_a_round
from shortlist.mechanisms.plan_rows import EVERY, Goal, Planned, as_goals, listed, reached
from shortlist.privacy import ApproxDP, BoundedRange
from shortlist.scores import Scores


class Sought(GuardedTopK):
    """The same with one-shot calibrated from a table, to one part in a thousand and never too well: for searches."""

    def _one_shot(self, scores: Scores, k: int, d: int) -> OneShot:
        noise, e = nearly_one_shot_of(self.guarantee, k, share_of(k, d))
        return OneShot(noise, scores.range_sensitivity / e)


def by_rounds(mechanism: GuardedTopK, scores: Scores) -> Traced | None:
    """Its chance of the right set by the e of a round of one-shot, which tells epsilon at once."""
    budget, public = mechanism.guarantee, mechanism._guarding(scores)
    if not isinstance(budget, ApproxDP) or not budget.delta or public is None:
        return None
    k, share, delta = public.k, share_of(public.k, public.d), budget.delta

    def at(e: float) -> tuple[float, float]:
        whole, (noise, less) = budget_with_rounds(e, k, share, delta)
        one = replace(mechanism, budget=whole)
        run = one._followed(scores, public, OneShot(noise, scores.range_sensitivity / less))
        return whole.epsilon, Utility(run, len(scores)).success()

    return Traced(lambda epsilon: quick_epsilon_of_a_round(k, ApproxDP(epsilon, delta)), at)


def _rows(k: int) -> Sequence[Planned]:
    if k == 1:
        return ()

    def zcdp(p: float) -> GuardedTopK:
        """Of a budget that one round of range p has."""
        budget = BoundedRange(p).as_zcdp()
        assert budget is not None, "bounded range has a rho"
        return GuardedTopK(k=k, budget=budget)

    def law(scores: Scores, goal: Goal, epsilon: float, delta: float) -> float:
        return reached(goal)(Sought(k=k, budget=ApproxDP(epsilon, delta)), scores)

    def qualities(scores: Scores, epsilon: float, delta: float) -> dict[Goal, float]:
        return as_goals(GuardedTopK(k=k, budget=ApproxDP(epsilon, delta)).quality(scores))

    name = "guarded"
    return (
        listed(name, name, lambda p: GuardedTopK(k=k, epsilon=p), ordered=False, currencies=("pure",)),
        listed(name, name, zcdp, ordered=False, currencies=("zcdp",)),
        Planned(name, name, False, 1, ("approx",), "known", EVERY, law, qualities, one_pair=True),
    )


def _twice(mechanism: GuardedTopK) -> int:
    """How many scores an audit tries: with fewer there is no guard."""
    return 2 * mechanism.k


FACT = Fact(
    "for the true top 10, 100 or 1,000 of six public data sets it needed at most 1.29 times the epsilon of canonical",
    "docs/planning.md",
)

ENTRY = Entry(
    kind=GuardedTopK,
    page="guarded.md",
    summary="canonical top-k that falls back to one-shot where wrong sets would crowd out the right one",
    gives="a set of k, and which way it went",
    budgets="pure, (ε, δ), zCDP",
    methods=(
        Method(
            "guarded",
            lambda request: GuardedTopK(k=request.size, budget=request.budget),
            when=lambda request: request.plain and request.k != 1 and not request.ordered,
            why="GuardedTopK, the default for an unordered set from public candidates",
            fact=FACT,
        ),
    ),
    compared=(Compared("guarded", lambda k, epsilon: GuardedTopK(k=k, epsilon=epsilon)),),
    planned=_rows,
    traced=by_rounds,
    audited=Audited(
        law="shortlist.mechanisms.guarded.certified:law", relabelled=True, one_by_one=True, k=3, size=_twice
    ),
)
