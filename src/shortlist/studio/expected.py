"""How good the release would be if the counts looked as the analyst expects: `sl.plan` on made-up counts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from shortlist._text import about
from shortlist.mechanisms import KeySet
from shortlist.pages.summary import chance_text
from shortlist.planning.plans import counts_of_shape
from shortlist.privacy import ApproxDP, PureDP
from shortlist.scores import Scores
from shortlist.studio.forms import Offer
from shortlist.studio.planner import Planner

WORKING = "Working it out, on made-up counts …"
MOST_QUICK = 100
"""Of more items an exact distribution takes too long to be waited for."""
GUESS = 10_000
"""People, and items, where nobody said how many."""
MOST_ITEMS = 20_000
"""Counts beyond these are far behind the top, and would only take time."""


def forecast(plan: Offer, request: dict[str, Any], planner: Planner) -> dict[str, Any]:
    """In a sentence; and what each mechanism would reach with this budget, with the epsilon it would need.

    With `quick` in the request a rough estimate for the mechanism that will run, and nothing else: in this process, so
    for few items only.

    Raises
    ------
    ValueError
        naming the field, for a description that is none.
    """
    form, arguments, mechanism = plan.question, plan.question.arguments, plan.quote.mechanism
    if form.kind == "quantile":
        return {"told": QUANTILE}
    if isinstance(mechanism, KeySet) and form.k is None:
        votes = "shared votes (of a person with t names each has 1/sqrt(t))" if mechanism.weighted else "people"
        bar = f"A name comes out if it has about {about(mechanism.bar)} {votes}"  # to the digits of the release
        return {"told": f"{bar}; how many names that are, only the table knows."}
    if form.smallest:
        return {"told": SMALLEST}
    crowd = Crowd.of(plan, request)
    each = mechanism.guarantee  # of groups, that of one of them
    if not isinstance(each, PureDP | ApproxDP):
        return {"told": UNKNOWN}
    facts: dict[str, Any] = {
        "k": form.k,
        "items": min(crowd.items, MOST_ITEMS),
        "users": crowd.together,
        "shape": request.get("shape"),
        "budget": "approx" if isinstance(each, ApproxDP) else "pure",
        "domain": "known" if plan.quote.candidates else "unknown",
        "ordered": "ordered" in arguments,
        **({"delta": each.delta} if isinstance(each, ApproxDP) else {}),
    }
    estimate = _estimate(plan, facts)
    if request.get("quick") is True:
        right = "" if estimate is None else f"about {100 * estimate.right:.0f}%"
        if estimate is not None and not 0.01 <= estimate.right <= 0.99:
            right = "more than 99%" if estimate.right > 0.5 else "less than 1%"
        first = f"A first estimate: {right} that the list would be exactly right. " if right else ""
        return {"told": f"{first}{WORKING}"}
    answer = planner.ask(facts, each.epsilon)
    name = mechanism.name
    near = [row for row in answer["rows"] if name.startswith(row["mechanism"]) or name.endswith(row["mechanism"])]
    chosen = max(near, key=lambda one: len(one["mechanism"]), default=None)
    said = [_describe(answer["described"], chosen, plan, estimate), _numbers(facts), *crowd.words(plan)]
    return {
        **answer,
        "rows": [{**row, "runs": row is chosen} for row in answer["rows"]],
        "told": " ".join(said),
        "others": NO_COUNTS if "values" in arguments else BY_FACTS,
        "guessed": bool(crowd.guesses),
    }


class Crowd(NamedTuple):
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
        users, items = request.get("users"), plan.quote.candidates or request.get("items")
        guesses = tuple(name for name, number in (("people", users), ("items", items)) if number is None)
        users, items = GUESS if users is None else users, GUESS if items is None else items
        for name, number in (("users", users), ("items", items)):
            if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 10**10:
                raise ValueError(f"{name}: write a whole number, for example 50000")
        groups = len(plan.question.arguments.get("groups", ()))
        among = users * min(plan.question.arguments.get("groups_per_user", 1), groups) // groups if groups else users
        return cls(users, items, max(1, among), guesses)

    def words(self, plan: Offer) -> list[str]:
        """What the numbers stand for, as sentences."""
        arguments = plan.question.arguments
        groups = arguments.get("groups", ())
        each_in = arguments.get("groups_per_user", 1)
        each = f", each in {each_in}," if each_in > 1 else ""
        in_groups = (
            f"{self.users:,} people in {len(groups)} groups{each} are taken as {self.together:,} in every group; a "
            "smaller group has a worse list."
        )
        in_one = f"How many people a group has is not known: this is of a group of {self.users:,}."
        said = {
            in_groups: bool(groups),
            in_one: "by" in arguments and not groups,
            "People are here those who have rows that count.": "where" in arguments,
            f"Fewer than {plan.question.k} may come out: a name needs enough people.": plan.quote.candidates is None,
            f"{' and '.join(f'{GUESS:,} {what}' for what in self.guesses)} are only a guess.": bool(self.guesses),
        }
        return [sentence for sentence, holds in said.items() if holds]


class Estimate(NamedTuple):
    """What the exact distribution says of synthetic counts."""

    right: float
    """The chance of the exact list."""
    recall: float
    """The part of the list that belongs there, on average."""
    margin: float | None
    """Half of the interval of a count, if counts are released."""


def _estimate(plan: Offer, facts: dict[str, Any]) -> Estimate | None:
    """Of the mechanism that will run, where it has a law and few items are asked for."""
    law = getattr(plan.quote.mechanism, "quality", None)
    if law is None or facts["k"] is None or facts["k"] > MOST_QUICK:
        return None
    try:
        counts = counts_of_shape(facts["shape"], facts["items"], facts["users"], facts["k"])
        scores = Scores(counts, monotone=True, labels=range(len(counts)), public=facts["domain"] == "known")
        quality = law(scores)
        wanted = "values" in plan.question.arguments
        margins = plan.quote.mechanism.release(scores).margins if wanted else None
    except (ValueError, TypeError, ArithmeticError):  # the plan itself says why
        return None
    return Estimate(quality.top, quality.recall, margins[0].half_width if margins else None)


def _describe(described: str, chosen: dict[str, Any] | None, plan: Offer, estimate: Estimate | None) -> str:
    """What is to be expected of the mechanism that will run."""
    for shape, words in SHAPES.items():
        described = described.replace(shape, words)
    people = f" people{' in each group' if 'by' in plan.question.arguments else ''}"
    counts = f"With counts such as these ({described.replace(' users', people)})"
    if chosen is None and estimate is None:
        return f"{counts} there is no forecast of the mechanism that will run; others compare as follows."
    chance = estimate.right if chosen is None and estimate else float(chance_text(chosen["reached"] if chosen else 0.0))
    # Nobody needs to know how far below one in a thousand, or above all but one; none is certain.
    words = "less than 0.1%" if chance < 0.001 else "more than 99.9%" if chance > 0.999 else f"{100 * chance:.4g}%"
    said, k = f"{counts} the list would be exactly right with a chance of {words}", plan.question.k
    if estimate is not None and k is not None and k > 1:
        many = "nearly all" if estimate.recall > 1 - 0.05 / k else f"{estimate.recall * k:.1f}"
        said += f"; on average {many} of its {k} names belong there"
    if estimate is not None and estimate.margin is not None:
        said += f". A count would be off by at most {math.ceil(estimate.margin):,}, with 95%"
    return f"{said}."


def _numbers(facts: dict[str, Any]) -> str:
    """Three of the made-up counts, to be held against what is expected; nothing where there are no more than k."""
    counts, k = counts_of_shape(facts["shape"], facts["items"], facts["users"], facts["k"]), facts["k"]
    if k >= len(counts):
        return ""
    return (
        f"Number 1 has {counts[0]:,} people in them, number {k} has {counts[k - 1]:,} and number {k + 1} "
        f"has {counts[k]:,}: where yours lie closer together, the list is worse."
    )


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
