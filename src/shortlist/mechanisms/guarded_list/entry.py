"""The entry of guarded lists: the default for a list of 8 to 100 items, of 20 to 100 under zCDP."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from shortlist.exact.noise_distributions import Noise
from shortlist.mechanisms.entry import Audited, Compared, Entry, Fact, Method, Request
from shortlist.mechanisms.guarded.budgets import nearly_one_shot_of
from shortlist.mechanisms.guarded_list.mechanism import SHARE, GuardedListTopK
from shortlist.mechanisms.plan_rows import EVERY, Goal, Planned, as_goals, listed, reached
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange
from shortlist.scores import Scores

FEWEST, MOST = 8, 100
"""Items: one-shot is as good for fewer, and for more the junk takes long to count."""

FEWEST_ZCDP = 20
"""Under zCDP a round of peeling costs 1 / sqrt k and not 1 / k of the whole: there is less to gain for few items."""


def takes(request: Request) -> bool:
    """Whether the rule of `method="auto"` takes guarded lists: by k and the budget alone."""
    fewest = FEWEST_ZCDP if isinstance(request.budget, ZCDP) else FEWEST
    return request.plain and request.ordered and fewest <= (request.k or 0) <= MOST


class Sought(GuardedListTopK):
    """The same with one-shot calibrated from a table, to one part in a thousand and never too well: for searches."""

    def _one_shot(self, d: int) -> tuple[Noise, Fraction]:
        return nearly_one_shot_of(self.guarantee, self.k, SHARE if self._is_guarded(d) else Fraction(0))


def _rows(k: int) -> Sequence[Planned]:
    if k == 1:
        return ()

    def law(scores: Scores, goal: Goal, epsilon: float, delta: float) -> float:
        return reached(goal)(Sought(k=k, budget=ApproxDP(epsilon, delta)), scores)

    def qualities(scores: Scores, epsilon: float, delta: float) -> dict[Goal, float]:
        return as_goals(GuardedListTopK(k=k, budget=ApproxDP(epsilon, delta)).quality(scores))

    def zcdp(p: float) -> GuardedListTopK:
        """Of a budget that one round of range p has."""
        budget = BoundedRange(p).as_zcdp()
        assert budget is not None, "bounded range has a rho"
        return GuardedListTopK(k=k, budget=budget)

    label, method = "guarded list", "guarded-list"
    return (
        listed(label, method, lambda p: GuardedListTopK(k=k, epsilon=p), ordered=True, currencies=("pure",)),
        listed(label, method, zcdp, ordered=True, currencies=("zcdp",)),
        Planned(label, method, True, 1, ("approx",), "known", EVERY, law, qualities, one_pair=True),
    )


def _twice(mechanism: GuardedListTopK) -> int:
    """How many scores an audit tries: with fewer there is no guard."""
    return 2 * mechanism.k


FACT = Fact(
    "on all shapes that were tried it cost at most .016 of recall beside one-shot alone",
    "docs/mechanisms/guarded-list.md",
)


def _why(request: Request) -> str:
    """Return the range of k for which this is the default."""
    fewest = FEWEST_ZCDP if isinstance(request.budget, ZCDP) else FEWEST
    return f"GuardedListTopK, the default for an ordered list of {fewest} to {MOST} items from public candidates"


ENTRY = Entry(
    kind=GuardedListTopK,
    page="guarded-list.md",
    summary="ordered canonical top-k that falls back to one-shot where wrong lists would crowd out the right one",
    gives="k items in order, and which way it went",
    budgets="pure, (ε, δ), zCDP",
    methods=(
        Method(
            "guarded-list",
            lambda request: GuardedListTopK(k=request.size, budget=request.budget),
            when=takes,
            why=_why,
            fact=FACT,
        ),
    ),
    compared=(Compared("guarded list", lambda k, epsilon: GuardedListTopK(k=k, epsilon=epsilon)),),
    planned=_rows,
    audited=Audited(law="shortlist.mechanisms.guarded_list.certified:law", one_by_one=True, k=2, size=_twice),
)
