"""The entry of key sets: every name that enough people hold, and the default for many names, or for a small cap."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.mechanisms.entry import Audited, Entry, Method, Named
from shortlist.mechanisms.keys.mechanism import KeySet
from shortlist.mechanisms.plan_rows import Planned, unlisted_each
from shortlist.mechanisms.unknown_domain import DeltaBudget
from shortlist.mechanisms.unknown_domain_rule import keys_of, keys_wanted, why_keys


def _labels(mechanism: KeySet) -> int:
    """How many labels an audit tries: nobody may bring more than count."""
    assert mechanism.most is not None
    return min(3, mechanism.most)


def _rows(k: int, most: int) -> Sequence[Planned]:
    """The k largest of what each person kept."""

    def build(budget: DeltaBudget) -> KeySet | None:
        mechanism = KeySet(most=most, k=k, values=False, budget=budget)
        return mechanism if mechanism.fits_tables else None

    return unlisted_each(f"key set, at most {most} a person", "keys", build, ordered=True)


def _weighed(k: int, most: int) -> Sequence[Planned]:
    """The k largest of the votes that each person shares."""

    def build(budget: DeltaBudget) -> KeySet | None:
        mechanism = KeySet(most=most, weighted=True, k=k, values=False, budget=budget)
        return mechanism if mechanism.fits_tables else None

    return unlisted_each("key set of shared votes", "keys", build)


ENTRY = Entry(
    kind=KeySet,
    page="keys.md",
    summary="every label whose noisy sum reaches a bar, from counts to which a person brings a capped part",
    gives="names with noisy counts, or a set",
    budgets="(ε, δ), zCDP with a δ",
    methods=(Method("keys", keys_of, when=keys_wanted, why=why_keys, domain="unknown", values=True),),
    capped=_rows,
    weighed=_weighed,
    audited=Audited(
        law="shortlist.mechanisms.keys.certified:law",
        inputs="histograms",
        sees_level=True,
        size=_labels,
        names=(
            Named("keys", lambda k, budget: KeySet(most=3, budget=budget)),
            Named("keys-2", lambda k, budget: KeySet(most=2, budget=budget)),
        ),
    ),
)
