"""How good the release would be if the counts looked as the analyst expects: `sl.plan` on made-up counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from shortlist._text import about
from shortlist.exact.effort import rough
from shortlist.mechanisms import KeySet
from shortlist.pages.rounding import chance_text
from shortlist.planning.shapes import shaped
from shortlist.privacy import ApproxDP, PureDP
from shortlist.scores import Scores
from shortlist.studio.form import Form, Offer
from shortlist.studio.planner import Planner
from shortlist.studio.quantile_form import QuantileForm

WORKING = "Working it out, on made-up counts …"
MOST_QUICK = 100
"""Of more items even a rough law takes too long to be waited for."""
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
    if isinstance(plan.question, QuantileForm):
        return {"told": QUANTILE}
    if isinstance(plan.mechanism, KeySet) and plan.question.k is None:
        return {"told": _bar(plan.mechanism)}
    if plan.question.smallest:
        return {"told": SMALLEST}
    users = request.get("users")
    if users is None:
        return {"told": EMPTY}
    items = plan.candidates or request.get("items") or 10_000
    for name, number in (("users", users), ("items", items)):
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= 10**10:
            raise ValueError(f"{name}: write a whole number, for example 50000")
    each = plan.mechanism.guarantee  # of groups, that of one of them
    if not isinstance(each, PureDP | ApproxDP):
        return {"told": UNKNOWN}
    facts: dict[str, Any] = {
        "k": plan.question.k,
        "items": min(items, MOST_ITEMS),
        "users": users,
        "shape": request.get("shape"),
        "budget": "approx" if isinstance(each, ApproxDP) else "pure",
        "domain": "known" if plan.candidates else "unknown",
        "ordered": plan.question.ordered,
        **({"delta": each.delta} if isinstance(each, ApproxDP) else {}),
    }
    forecast = _forecast(plan, facts)
    if request.get("quick") is True:
        return {"told": _estimate(forecast)}
    answer = planner.ask(facts, each.epsilon)
    return {**answer, "told": _told(answer, plan, forecast)}


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
        wanted = isinstance(plan.question, Form) and plan.question.values
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


def _told(answer: dict[str, Any], plan: Offer, forecast: Forecast | None) -> str:
    """What is to be expected of the mechanism that will run."""
    name = plan.mechanism.name
    rows = [row for row in answer["rows"] if name.startswith(row["mechanism"]) or name.endswith(row["mechanism"])]
    described = answer["described"]
    for shape, words in SHAPES.items():
        described = described.replace(shape, words)
    counts = f"With counts such as these ({described}{', in each group' if plan.question.by else ''})"
    if rows:
        chance = float(chance_text(max(rows, key=lambda one: len(one["mechanism"]))["reached"]))
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


def _percent(chance: float) -> str:
    """Whoever has less than one chance in a thousand need not know how much less."""
    return "less than 0.1%" if chance < 0.001 else f"{100 * chance:.4g}%"


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
    "zipf:1.1": "counts that fall as usual",
    "zipf:1.5": "counts that fall fast",
    "geometric:0.9": "counts that fall by a tenth at every rank",
}
"""What the page calls them."""
EMPTY = "Write under “How good will it be?” how many people you expect: then the plan says how good the list would be."
SMALLEST = (
    "Of the smallest there is no forecast: many items are often alike there, and which of them come out is chance. Try "
    "the same question on the made-up films first."
)
UNKNOWN = "For this budget there is no forecast; try the same question on the made-up films first."
QUANTILE = (
    "How far a quantile is off depends on how close together the values lie, which only the table knows. Try the same "
    "question on the made-up films first."
)
