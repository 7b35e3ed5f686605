"""The entry of key sets: every name that enough people hold, and the default for many names, or for a small cap."""

from __future__ import annotations

from shortlist.mechanisms.checks import Budget
from shortlist.mechanisms.entry import Audited, Entry, Method, Named
from shortlist.mechanisms.keys.mechanism import KeySet
from shortlist.mechanisms.unknown_domain_rule import keys_of, keys_wanted, why_keys


def _built(most: int) -> Named:
    def build(k: int, budget: Budget) -> KeySet:
        return KeySet(most=most, budget=budget)

    return Named("keys" if most == 3 else f"keys-{most}", build)


def _labels(mechanism: KeySet) -> int:
    """How many labels an audit tries: nobody may bring more than count."""
    assert mechanism.most is not None
    return min(3, mechanism.most)


ENTRY = Entry(
    kind=KeySet,
    page="keys.md",
    summary="every label whose noisy sum reaches a bar, from counts to which a person brings a capped part",
    gives="names with noisy counts, or a set",
    budgets="(ε, δ), zCDP with a δ",
    methods=(Method("keys", keys_of, when=keys_wanted, why=why_keys, domain="unknown", values=True),),
    audited=Audited(
        law="shortlist.mechanisms.keys.certified:law",
        inputs="histograms",
        sees_level=True,
        size=_labels,
        names=(_built(3), _built(2)),
    ),
)
