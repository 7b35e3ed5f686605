"""How good the release would be if the counts looked as the analyst expects: `sl.plan` on made-up counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shortlist._text import about
from shortlist.accounting.checks import chance_text
from shortlist.mechanisms import KeySet
from shortlist.planning.plans import shaped
from shortlist.privacy import ApproxDP, PureDP
from shortlist.scores import Scores
from shortlist.studio.forms import Offer
from shortlist.studio.planner import Planner
from shortlist.utility.effort import rough

WORKING = "Working it out, on made-up counts …"
MOST_QUICK = 100
"""Of more items even a rough law takes too long to be waited for."""
GUESS = 10_000
"""People, and items, where nobody said how many."""
MOST_ITEMS = 20_000
"""Counts beyond these are far behind the top, and would only take time."""


def expected(plan: Offer, request: dict[str, Any], planner: Planner) -> dict[str, Any]:
    """In a sentence; and what each mechanism would reach with this budget, with the epsilon it would need.

    With `quick` in the request a rough estimate for the mechanism that will run, and nothing else: in this process, so
    for few items only.

    Raises
    ------
    ValueError
        naming the field, for a description that is none.
    """
    arguments = plan.question.arguments
    if "q" in arguments:
        return {"told": QUANTILE}
    if isinstance(plan.mechanism, KeySet) and plan.question.k is None:
        return {"told": _bar(plan.mechanism)}
    if plan.question.smallest:
        return {"told": SMALLEST}
    crowd = Crowd.of(plan, request)
    each = plan.mechanism.guarantee  # of groups, that of one of them
    if not isinstance(each, PureDP | ApproxDP):
        return {"told": UNKNOWN}
    facts: dict[str, Any] = {
        "k": plan.question.k,
        "items": min(crowd.items, MOST_ITEMS),
        "users": crowd.together,
        "shape": request.get("shape"),
        "budget": "approx" if isinstance(each, ApproxDP) else "pure",
        "domain": "known" if plan.candidates else "unknown",
        "ordered": "ordered" in arguments,
        **({"delta": each.delta} if isinstance(each, ApproxDP) else {}),
    }
    forecast = _forecast(plan, facts)
    if request.get("quick") is True:
        return {"told": _estimate(forecast)}
    answer = planner.ask(facts, each.epsilon)
    chosen = _chosen(answer["rows"], plan.mechanism.name)
    rows = [{**row, "runs": row is chosen} for row in answer["rows"]]
    told = " ".join([_told(answer["described"], chosen, plan, forecast), _numbers(facts), *crowd.words(plan)])
    others = NO_COUNTS if "values" in arguments else BY_FACTS
    return {**answer, "rows": rows, "told": told, "others": others, "guessed": bool(crowd.guesses)}


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many people and items the made-up counts are of."""

    users: int
    items: int
    together: int
    """People who are counted together: all of them, or those of one group."""
    guesses: tuple[str, ...]
    """What nobody wrote."""

    @classmethod
    def of(cls, plan: Offer, request: dict[str, Any]) -> Crowd:
        """As the analyst describes it; what is left empty is guessed.

        Raises
        ------
        ValueError
            naming the field, for what is no number.
        """
        users, items = request.get("users"), plan.candidates or request.get("items")
        guesses = tuple(name for name, number in (("people", users), ("items", items)) if number is None)
        users, items = GUESS if users is None else users, GUESS if items is None else items
        for name, number in (("users", users), ("items", items)):
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 10**10:
                raise ValueError(f"{name}: write a whole number, for example 50000")
        groups = len(plan.question.groups)
        among = users * min(plan.question.arguments.get("groups_per_user", 1), groups) // groups if groups else users
        return cls(users, items, max(1, among), guesses)

    def words(self, plan: Offer) -> list[str]:
        """What the numbers stand for, as sentences."""
        question, said = plan.question, []
        each_in = question.arguments.get("groups_per_user", 1)
        if question.groups:
            each = f", each in {each_in}," if each_in > 1 else ""
            said.append(
                f"{self.users:,} people in {len(question.groups)} groups{each} are taken as {self.together:,} in every "
                "group; a smaller group has a worse list."
            )
        elif "by" in question.arguments:
            said.append(f"How many people a group has is not known: this is of a group of {self.users:,}.")
        if "where" in question.arguments:
            said.append("People are here those who have rows that count.")
        if plan.candidates is None:
            said.append(f"Fewer than {question.k} may come out: a name needs enough people.")
        if self.guesses:
            said.append(f"{' and '.join(f'{GUESS:,} {what}' for what in self.guesses)} are only a guess.")
        return said


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a rough law says of made-up counts."""

    right: float
    """The chance of the exact list."""
    recall: float
    """The part of the list that belongs there, on average."""
    margin: float | None
    """Half of the interval of a count, if counts are released."""


def _forecast(plan: Offer, facts: dict[str, Any]) -> Forecast | None:
    """Of the mechanism that will run, where it has a law and few items are asked for."""
    law = getattr(plan.mechanism, "quality", None)
    if law is None or facts["k"] is None or facts["k"] > MOST_QUICK:
        return None
    try:
        counts = shaped(facts["shape"], facts["items"], facts["users"], facts["k"])
        scores = Scores(counts, monotone=True, labels=range(len(counts)), public=facts["domain"] == "known")
        with rough():
            quality = law(scores)
        wanted = "values" in plan.question.arguments
        margins = plan.mechanism.release(scores).margins if wanted else None
    except (ValueError, TypeError, ArithmeticError):  # the plan itself says why
        return None
    return Forecast(quality.top, quality.recall, margins[0].half_width if margins else None)


def _estimate(forecast: Forecast | None) -> str:
    """To be shown until the plan is there."""
    if forecast is None:
        return WORKING
    right = forecast.right
    about = "more than 99%" if right > 0.99 else "less than 1%" if right < 0.01 else f"about {100 * right:.0f}%"
    return f"A first estimate: {about} that the list would be exactly right. {WORKING}"


def _chosen(rows: list[dict[str, Any]], name: str) -> dict[str, Any] | None:
    """The row of the mechanism that will run, if it has one."""
    near = [row for row in rows if name.startswith(row["mechanism"]) or name.endswith(row["mechanism"])]
    return max(near, key=lambda one: len(one["mechanism"]), default=None)


def _told(described: str, chosen: dict[str, Any] | None, plan: Offer, forecast: Forecast | None) -> str:
    """What is to be expected of the mechanism that will run."""
    for shape, words in SHAPES.items():
        described = described.replace(shape, words)
    people = f" people{' in each group' if 'by' in plan.question.arguments else ''}"
    counts = f"With counts such as these ({described.replace(' users', people)})"
    if chosen is not None:
        chance = float(chance_text(chosen["reached"]))
    elif forecast is not None:
        chance = forecast.right
    else:
        return f"{counts} there is no forecast of the mechanism that will run; others compare as follows."
    said = f"{counts} the list would be exactly right with a chance of {_percent(chance)}"
    k = plan.question.k
    if forecast is not None and k is not None and k > 1:
        said += f"; on average {_of(forecast.recall, k)} of its {k} names belong there"
    if forecast is not None and forecast.margin is not None:
        said += f". A count would be off by at most {math.ceil(forecast.margin):,}, with 95%"
    return f"{said}."


def _numbers(facts: dict[str, Any]) -> str:
    """Three of the made-up counts, to be held against what is expected; nothing where there are no more than k."""
    counts, k = shaped(facts["shape"], facts["items"], facts["users"], facts["k"]), facts["k"]
    if k >= len(counts):
        return ""
    return (
        f"Number 1 has {counts[0]:,} people in them, number {k} has {counts[k - 1]:,} and number {k + 1} "
        f"has {counts[k]:,}: where yours lie closer together, the list is worse."
    )


def _percent(chance: float) -> str:
    """Whoever has less than one chance in a thousand, or all but one, need not know how much less; none is certain."""
    return "less than 0.1%" if chance < 0.001 else "more than 99.9%" if chance > 0.999 else f"{100 * chance:.4g}%"


def _of(recall: float, k: int) -> str:
    """How many of k, in tenths; not all of them, if it is not all."""
    return "nearly all" if recall > 1 - 0.05 / k else f"{recall * k:.1f}"


def _bar(mechanism: KeySet) -> str:
    """In the word and to the digits that the release will have."""
    needs = f"A name comes out if it has about {about(mechanism.bar)}"
    votes = "shared votes (of a person with t names each has 1/sqrt(t))" if mechanism.weighted else "people"
    return f"{needs} {votes}; how many names that are, only the table knows."


SHAPES = {
    "zipf:0.8": "counts that fall slowly",
    "zipf:1.1": "counts that fall as they commonly do",
    "zipf:1.5": "counts that fall fast",
    "geometric:0.9": "counts that fall by a tenth at every rank",
}
"""What the page calls them."""
NO_COUNTS = "These give names alone; with counts more is needed, since part of epsilon pays for them."
BY_FACTS = "Which one runs is decided by public facts alone, and not by the counts: “Why” below says for what reason."
SMALLEST = (
    "Of the smallest there is no forecast: many items are often alike there, and which of them come out is chance. Try "
    "the same question on the made-up films first."
)
UNKNOWN = "For this budget there is no forecast; try the same question on the made-up films first."
QUANTILE = (
    "How far a quantile is off depends on how close together the values lie, which only the table knows. Try the same "
    "question on the made-up films first."
)
