"""The entry of the noisy choice: the default for sets of names from the data, and for an order of counted rows."""

from __future__ import annotations

from collections.abc import Sequence

from shortlist.mechanisms.entry import MANY_NAMES, Audited, Entry, Fact, Method, Named
from shortlist.mechanisms.names_choice.mechanism import NamesChoice
from shortlist.mechanisms.plan_rows import Planned, unlisted_each
from shortlist.mechanisms.unknown_domain_rule import choice_of, choice_wanted, why_a_choice


def _rows(k: int) -> Sequence[Planned]:
    """Of counts without weights, where the rule takes it for rows too."""
    if not 1 < k <= MANY_NAMES:
        return ()
    return unlisted_each("noisy choice", "names-choice", lambda budget: NamesChoice(k=k, budget=budget))


def _weighed(k: int, most: int) -> Sequence[Planned]:
    """With a key set among its ways, as rows get it."""
    if not 1 < k <= MANY_NAMES:
        return ()
    return unlisted_each("noisy choice", "names-choice", lambda budget: NamesChoice(k=k, budget=budget, most=most))


ENTRY = Entry(
    kind=NamesChoice,
    page="names-choice.md",
    summary="a noisy choice between sets, a list and a key set of names from the data, then the one that was chosen",
    gives="at most k items, and which way it went",
    budgets="(ε, δ), zCDP with a δ",
    methods=(
        Method(
            "names-choice",
            choice_of,
            when=choice_wanted,
            why=why_a_choice,
            fact=Fact("no fixed mechanism does well on flat, steep and long data alike", "docs/names.md"),
            domain="unknown",
        ),
    ),
    planned=_rows,
    weighed=_weighed,
    audited=Audited(
        law="shortlist.mechanisms.names_choice.certified:law",
        inputs="histograms",
        sees_level=True,
        one_by_one=True,
        names=(Named("names-choice", lambda k, budget: NamesChoice(k=k, budget=budget)),),
    ),
)
