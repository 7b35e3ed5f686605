"""The entry of noisy histograms: for counts that were capped, a list with values at one price for every k."""

from __future__ import annotations

from shortlist.mechanisms.checks import Budget
from shortlist.mechanisms.entry import Audited, Entry, Named
from shortlist.mechanisms.histogram.mechanism import NoisyHistogram


def _audited(k: int, budget: Budget) -> NoisyHistogram:
    """On so many scores that one person may move all of them: the cap is then no condition on neighbours."""
    return NoisyHistogram(k=k, most=k + 1, budget=budget)


ENTRY = Entry(
    kind=NoisyHistogram,
    page="noisy-histogram.md",
    summary="noise on every capped count, and the k largest of the noisy counts: one price for every k",
    gives="k items in order with values",
    budgets="pure, zCDP, (ε, δ)",
    audited=Audited(
        law="shortlist.mechanisms.histogram.certified:law",
        sees_level=True,
        size=lambda mechanism: mechanism.most,
        names=(Named("histogram", _audited),),
    ),
)
