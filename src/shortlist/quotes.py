"""What a call would run and cost, before it is made: from public facts alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any

from shortlist._arrays import check_flag
from shortlist.api import check_words, select, top_k
from shortlist.choose import checked_budget_of, mechanism_for
from shortlist.from_data import KeyRequest, keys
from shortlist.groups import GroupRequest, grouped
from shortlist.list_request import check_least, group_request, turned
from shortlist.mechanisms import Mechanism
from shortlist.privacy import Guarantee
from shortlist.quantile_request import planned, quantile_request
from shortlist.quantiles import quantile
from shortlist.scores import GroupedScores, Scores, as_scores
from shortlist.table_release import Table
from shortlist.table_words import TABLE_WORDS
from shortlist.tables.groups.grouping import Grouping
from shortlist.tables.values import ValueQuestion

PAYING = ("ledger", "purpose", "rng", "allow_large", "progress")
"""Words that change nothing of what runs and what it costs."""
PLANNING = ("epsilon", "delta", "budget", "method", "ordered", "values", "gaps", "limit", "largest")


@dataclass(frozen=True, slots=True)
class Quote:
    """What a call would run and cost.

    Parameters
    ----------
    mechanism
        What would draw; for groups whose k differ, that of the first.
    why
        Why it was chosen, in words; nothing if the caller named it.
    guarantee
        What one person is promised of all of it.
    charge
        What a ledger would book, if it has room for that: the guarantee, or a finer statement of it; once the header
        of the table is looked at, it may be finer still, for the number of candidates is sure then.
    candidates
        How many candidates there are, where they are public and told without an engine.

    Examples
    --------
    >>> import shortlist as sl
    >>> sl.quote(sl.top_k, [900, 20, 500], k=2, epsilon=1.0, monotone=True).guarantee
    PureDP(epsilon=1.0)
    """

    mechanism: Mechanism
    why: str
    guarantee: Guarantee
    charge: Guarantee
    candidates: int | None = None


def quote(release: Callable[..., Any], rows: object, *k: Any, header: bool = False, **words: Any) -> Quote:
    """What a call of `top_k`, `select`, `keys` or `quantile` would run and cost; no row is read, nothing is booked.

    Promise: it follows from public facts alone. Of a table not even the names of the columns are looked at, unless
    `header=True` says so; of a public list of candidates the number counts.

    Parameters
    ----------
    release
        `sl.top_k`, `sl.select`, `sl.keys` or `sl.quantile`.
    rows, k
        What is given to it first, as it would be.
    header
        True: look at the names and types of the table's columns too, as the call itself does before it books.
    **words
        All other words of that call. `ledger`, `purpose`, `rng`, `allow_large` and `progress` may be among them, and
        change nothing.

    Returns
    -------
    Quote
        with the mechanism, why it is chosen, the guarantee and what a ledger would book.

    Raises
    ------
    ValueError, TypeError, OSError
        as the call itself would, from public facts alone.

    Examples
    --------
    >>> import shortlist as sl
    >>> words = {"user": "user_id", "item": "film", "candidates": ["Alien", "Heat", "Ran"], "epsilon": 0.5}
    >>> sl.quote(sl.top_k, "rentals.csv", k=2, **words).guarantee
    PureDP(epsilon=0.5)
    """
    if release not in (top_k, select, keys, quantile):
        raise TypeError("release must be sl.top_k, sl.select, sl.keys or sl.quantile")
    bound = signature(release).bind(rows, *k, **{name: word for name, word in words.items() if name not in PAYING})
    bound.apply_defaults()
    words = {name: word for name, word in bound.arguments.items() if name not in PAYING}
    looks = check_flag("header", header)
    if release is keys:
        return _keys(words, looks)
    if release is quantile:
        return _quantiles(words, looks)
    return _list({"k": 1, "ordered": True, **words} if release is select else words, looks)


def _list(words: dict[str, Any], looks: bool) -> Quote:
    scores, k, question = words["scores"], words["k"], words["question"]
    plan = {name: words[name] for name in PLANNING if name in words}
    check_words(question)
    table = Table.of(scores, question) if TABLE_WORDS & question.keys() else None
    groups = grouped(scores if table is None else None, words.get("parallel", False), {} if table else question)
    has_values = check_flag("values", words.get("values", False)) and words["method"] != "gumbel-values"
    least = check_least(words.get("at_least"), has_values)
    if table is None:
        return _of_scores(scores, groups, k, least, plan, question)
    table.check()
    number = table.number_of_candidates()
    if table.question.grouping is None:
        mechanism, why, _ = table.mechanism(k, plan)
        if looks:
            return _of_accepted(mechanism, _why(why, plan), table.open().schema(), plan)
        return Quote(mechanism, _why(why, plan), mechanism.guarantee, mechanism.charge, number)
    request = None if looks else table.unread(k, least, plan)
    return _of_groups(request or group_request(table.open().schema(), k, least, **plan), number)


def _of_scores(
    scores: object, groups: GroupedScores | None, k: Any, least: float | None, plan: dict[str, Any], question: Any
) -> Quote:
    """Of scores that are there, or of plain values."""
    if groups is not None:
        return _of_groups(group_request(groups, k, least, **plan), None)
    data = as_scores(scores, **question)
    facts: dict[str, Any] = {"public": data.public, "most": data.most, "weighed": data._weights is not None}
    mechanism, why, _ = mechanism_for(k, **facts, **plan)
    return _of_accepted(mechanism, _why(why, plan), data, plan)


def _of_accepted(mechanism: Mechanism, why: str, scores: Scores, plan: dict[str, Any]) -> Quote:
    """By all that is public of the scores, which a mechanism may know finer terms for."""
    data = turned(scores, bool(plan["largest"]))
    mechanism._check_and_reserve(data, None, "")
    return Quote(mechanism, why, *mechanism._privacy_cost(data), len(scores) if scores.public else None)


def _of_groups(request: GroupRequest, number: int | None) -> Quote:
    return Quote(request.mechanism, request.why, request.guarantee, request.charge, number)


def _why(why: str, plan: dict[str, Any]) -> str:
    return why if plan["method"] == "auto" else ""


def _keys(words: dict[str, Any], looks: bool) -> Quote:
    rows = words.pop("rows")
    request = KeyRequest.of(**words)
    if looks:
        request.open(rows).schema()
    return Quote(request.mechanism, request.why, request.mechanism.guarantee, request.mechanism.charge)


def _quantiles(words: dict[str, Any], looks: bool) -> Quote:
    if looks:
        quantile_request(**words)
    ends = (words["lower"], words["upper"], words["step"], words["per_user"])
    grouping = Grouping.of(words["by"], words["groups"], words["groups_per_user"])
    budget, question = checked_budget_of(words["epsilon"], words["delta"], words["budget"]), None
    if words["value"] is not None:
        question = ValueQuestion.of(words["user"], words["value"], *ends, grouping)
    mechanism, why, charge = planned(question, words["q"], budget, words["unit"], words["method"])
    return Quote(mechanism, why, budget, charge)
