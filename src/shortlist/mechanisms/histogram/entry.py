"""The entry of noisy histograms: for counts that were capped, a list with values at one price for every k."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.accounting.renyi import range_rho
from shortlist.mechanisms.checks import Budget
from shortlist.mechanisms.entry import Audited, Entry, Method, Named, Request
from shortlist.mechanisms.histogram.mechanism import NoisyHistogram
from shortlist.mechanisms.plan_rows import EVERY, Goal, Planned, as_goals, listed, reached
from shortlist.privacy import ZCDP, ApproxDP
from shortlist.scores import Scores


def _audited(k: int, budget: Budget) -> NoisyHistogram:
    """On so many scores that one person may move all of them: the cap is then no condition on neighbours."""
    return NoisyHistogram(k=k, most=k + 1, budget=budget)


def _built(request: Request) -> NoisyHistogram:
    if request.most is None:
        raise ValueError('method="histogram" needs scores of which each person has a few at most: count with most=3')
    return NoisyHistogram(k=request.size, most=request.most, budget=request.budget)


def _rows(k: int, most: int) -> Sequence[Planned]:
    """Under each budget with its own noise."""
    label = f"histogram, at most {most} a person"

    def histogram(epsilon: float, delta: float) -> NoisyHistogram:
        return NoisyHistogram(k=k, most=most, budget=ApproxDP(epsilon, delta))

    def law(scores: Scores, goal: Goal, epsilon: float, delta: float) -> float:
        return reached(goal)(histogram(epsilon, delta), scores)

    def qualities(scores: Scores, epsilon: float, delta: float) -> dict[Goal, float]:
        return as_goals(histogram(epsilon, delta).quality(scores))

    return (
        listed(label, "histogram", lambda p: NoisyHistogram(k=k, most=most, epsilon=p), ordered=True,
               currencies=("pure",)),
        listed(label, "histogram", lambda p: NoisyHistogram(k=k, most=most, budget=ZCDP(range_rho(p))), ordered=True,
               currencies=("zcdp",)),
        Planned(label, "histogram", True, 1, ("approx",), "known", EVERY, law, qualities, one_pair=True),
    )  # fmt: skip


ENTRY = Entry(
    kind=NoisyHistogram,
    page="noisy-histogram.md",
    summary="noise on every capped count, and the k largest of the noisy counts: one price for every k",
    gives="k items in order with values",
    budgets="pure, zCDP, (ε, δ)",
    methods=(
        Method(
            "histogram",
            _built,
            when=lambda request: request.histogram,
            why=lambda request: (
                f"NoisyHistogram: each user counts for at most {request.most} items, so noise on every count is "
                f"smaller than noise for {request.k} selected items; order and values cost nothing extra"
            ),
            values=True,
        ),
    ),
    capped=_rows,
    audited=Audited(
        law="shortlist.mechanisms.histogram.certified:law",
        sees_level=True,
        size=lambda mechanism: mechanism.most,
        names=(Named("histogram", _audited),),
    ),
)
