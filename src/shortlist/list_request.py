"""What a question about lists asks for, from public facts alone; and what is shown of what was drawn."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from shortlist._arrays import check_flag
from shortlist._runtime import replace_fields, set_fields
from shortlist.accounting.checks import number
from shortlist.choose import checked_budget_of, mechanism_for
from shortlist.errors import bad_value
from shortlist.groups import GroupRequest
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.base import Budget
from shortlist.release import NOTHING_ELSE, Extras, Release
from shortlist.scores import GroupedScores, Scores


def group_request(groups: GroupedScores, k: Any, least: float | None = None, **plan: Any) -> GroupRequest:
    """What a question about groups asks for and costs, from public facts alone."""
    if not groups.public_groups and (plan.get("values") or plan.get("gaps")):
        raise bad_value("values and gaps need public groups: give $groups=[...] to count, or leave them out")
    budget = checked_budget_of(plan.pop("epsilon", None), plan.pop("delta", None), plan.pop("budget", None))
    facts: dict[str, Any] = {"public": groups.public, "most": groups.most}
    facts |= {"weighed": groups._template._weights is not None, **plan}

    def build(number: int | None, share: Budget) -> tuple[Mechanism, str, bool]:
        mechanism, why, keeps_order = mechanism_for(number, budget=share, **facts)
        return mechanism, why if facts.get("method", "auto") == "auto" else "", keeps_order

    def finish(release: Release, why: str, keeps_order: bool, number: int | None) -> Release:
        return finished(release, why, keeps_order, number, least)

    largest = check_flag("largest", plan.get("largest", True))
    return GroupRequest.of(groups, k, budget, build, finish, largest=largest)


def finished(release: Release, why: str, keeps_order: bool, k: int | None, least: float | None) -> Release:
    """What is shown of a release: explained, and without items whose noisy value is below the least."""
    release = explained(release, why, keeps_order, k)
    return release if least is None else left_out(release, least)


def turned(scores: Scores, largest: bool) -> Scores:
    """The scores as they are, or negated where the smallest are wanted."""
    return scores if largest else scores._negate()


def check_least(at_least: object, has_values: bool) -> float | None:
    """A least noisy value for whatever is shown; refused where no values are released that say something of it."""
    if at_least is None:
        return None
    if not has_values:
        raise bad_value("$at_least looks at the noisy count beside each item: write $values=True too, or leave it out")
    return number("at_least", at_least)


def left_out(release: Release, at_least: float) -> Release:
    """The release without items whose released value is below: a function of what was released, and free."""
    places = [i for i, value in enumerate(release.values or ()) if value >= at_least]
    picked: dict[str, Any] = {
        name: [cells[i] for i in places] for name in ("values", "margins", "gaps") if (cells := getattr(release, name))
    }
    return replace(
        release,
        items=None if release.items is None else [release.items[i] for i in places],
        indices=None if release.indices is None else [release.indices[i] for i in places],
        notes=(*release.notes, f"items with a noisy value below {at_least:,.12g} are left out"),
        extras=replace(release.extras, **picked),
    )


def explained(release: Release, why: str, keeps_order: bool, k: int | None) -> Release:
    """The release as it was planned: as a set unless its order was asked for, with the reason if the rule chose.

    It was drawn in this very call: nobody else holds it.
    """
    if release.ordered and not keeps_order:
        release = release.as_set()
    words = f"auto: {why}" if why else release.why
    wanted = None if k is None else int(k)
    extras = _nothing_but(wanted) if release.extras is NOTHING_ELSE else replace_fields(release.extras, asked=wanted)
    return set_fields(release, why=words, extras=extras)


@lru_cache
def _nothing_but(wanted: int | None) -> Extras:
    return replace_fields(NOTHING_ELSE, asked=wanted)


def shown_in_words(mechanism: Mechanism, keeps_order: bool, least: float | None) -> str:
    """What of a draw is shown beside what the mechanism says of itself, for a ledger: an approval is for that alone."""
    order = "as a set" if mechanism.ordered and not keeps_order else ""
    return "; ".join(filter(None, (order, left_out_in_words(least))))


def groups_in_words(request: GroupRequest, least: float | None) -> str:
    """The same of lists for groups, whose mechanisms are alike."""
    mechanism, _, keeps_order = next(iter(request.built.values()))
    return shown_in_words(mechanism, keeps_order, least)


def left_out_in_words(least: float | None) -> str:
    """The same of what is left out."""
    return "" if least is None else f"noisy values below {least!r} left out"
