"""The entry of key sets: every name that enough people hold, and the default for many names, or for a small cap."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.mechanisms.checks import Budget
from shortlist.mechanisms.entry import Audited, Entry, Method, Named
from shortlist.mechanisms.keys.mechanism import KeySet
from shortlist.mechanisms.plan_rows import Currency, Goal, Planned, budgets_of, unlisted
from shortlist.mechanisms.unknown_domain_rule import keys_of, keys_wanted, why_keys
from shortlist.scores import Scores


def _built(most: int) -> Named:
    def build(k: int, budget: Budget) -> KeySet:
        return KeySet(most=most, budget=budget)

    return Named("keys" if most == 3 else f"keys-{most}", build)


def _labels(mechanism: KeySet) -> int:
    """How many labels an audit tries: nobody may bring more than count."""
    assert mechanism.most is not None
    return min(3, mechanism.most)


def _rows(k: int, most: int) -> Sequence[Planned]:
    """The k largest of what each person kept."""

    def row(currency: Currency) -> Planned:
        def law(scores: Scores, goal: Goal, p: float, delta: float) -> float:
            mechanism = KeySet(most=most, k=k, values=False, budget=budgets_of(delta)[currency](p))
            if not mechanism.fits_tables:
                return 0.0
            return mechanism.success_probability(scores) if goal == "top" else mechanism.expected_recall(scores)

        label = f"key set, at most {most} a person"
        return unlisted(label, "keys", law, ordered=True, currencies=(currency,), one_pair=currency == "approx")

    return row("zcdp"), row("approx")


ENTRY = Entry(
    kind=KeySet,
    page="keys.md",
    summary="every label whose noisy sum reaches a bar, from counts to which a person brings a capped part",
    gives="names with noisy counts, or a set",
    budgets="(ε, δ), zCDP with a δ",
    methods=(Method("keys", keys_of, when=keys_wanted, why=why_keys, domain="unknown", values=True),),
    capped=_rows,
    audited=Audited(
        law="shortlist.mechanisms.keys.certified:law",
        inputs="histograms",
        sees_level=True,
        size=_labels,
        names=(_built(3), _built(2)),
    ),
)
