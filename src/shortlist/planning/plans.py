"""Which mechanism, and how much epsilon: the answer before anything is spent.

A plan is computed from a described shape or from public scores, never from private ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.knowledge import FACTS
from shortlist.laws.collapse import collapse_point
from shortlist.laws.lower_bound import least_epsilon
from shortlist.mechanisms.base import check_studied, checked_k
from shortlist.mechanisms.canonical import default_gamma
from shortlist.planning.contestants import (
    CURRENCIES,
    DOMAINS,
    Contestant,
    Currency,
    affordable,
    contestants,
    cost,
)
from shortlist.planning.goals import GOALS, Goal, checked_goal
from shortlist.planning.lists import least_epsilon_of_a_list
from shortlist.planning.rounding import bound_text, chance_text, cost_text
from shortlist.planning.search import least_epsilon_reaching
from shortlist.planning.shapes import shaped
from shortlist.privacy.checks import flag, number
from shortlist.scores import Scores, as_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 1e-3
"""Epsilons in a plan are rounded up by at most a thousandth."""

MOST = 1e6
"""An epsilon beyond this is none."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One mechanism under one budget: what it costs, and how far it gets."""

    mechanism: str
    method: str
    """The word for `method=`."""
    budget: str
    """`pure`, `zcdp` or `approx`."""
    domain: str
    """`known`: the candidates are public; `unknown`: they come from the data."""
    ordered: bool
    epsilon: float
    """What it costs: pure, or at `delta`; infinite if no epsilon is enough."""
    rho: float
    """The same in zCDP, where that is the budget; NaN elsewhere."""
    delta: float
    reached: float
    """How far it gets towards the goal."""
    top: float = math.nan
    great: float = math.nan
    good: float = math.nan
    recall: float = math.nan
    """All it reaches at a given epsilon; NaN where that was not asked or is not known."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A table of mechanisms, best first, and beside it the bound for all of them and where one collapses."""

    k: int
    goal: Goal
    target: float | None
    """What was to be reached; None if an epsilon was given instead."""
    described: str
    rows: tuple[PlanRow, ...]
    bound: float | None
    """No mechanism with a pure budget reaches the target below this epsilon (U4); None where that is not proved."""
    collapse: float | None
    """Below this epsilon canonical top-k returns junk (U6); the guarded default does not. None for k = 1."""

    @property
    def best(self) -> PlanRow:
        """The first row."""
        return self.rows[0]

    @property
    def why(self) -> str:
        """One sentence: who is first, by how much, and what to beware of."""
        return _sentence(self)

    def columns(self) -> dict[str, list[Any]]:
        """The table, column by column."""
        return {field.name: [getattr(row, field.name) for row in self.rows] for field in fields(PlanRow)}

    def to_frame(self) -> Any:
        """The table as a data frame, in whichever of polars, pandas and pyarrow is installed."""
        import narwhals as nw

        from shortlist.release import installed_frame

        return nw.from_dict(self.columns(), backend=installed_frame()).to_native()

    def to_json(self) -> dict[str, Any]:
        """One object for programs: `rows` best first; what is not a number is null."""

        def plain(value: Any) -> Any:
            return None if isinstance(value, float) and not math.isfinite(value) else value

        rows = [{name: plain(getattr(row, name)) for name in PlanRow.__slots__} for row in self.rows]
        facts = {"k": self.k, "goal": self.goal, "target": self.target, "described": self.described}
        beside = {"lower_bound": plain(self.bound), "collapse_point": plain(self.collapse), "why": self.why}
        return {**facts, "rows": rows, **beside}

    def texts(self) -> dict[str, list[str]]:
        """The table as a person reads it."""
        shown = {
            "mechanism": [row.mechanism for row in self.rows],
            "budget": [row.budget for row in self.rows],
            "domain": [row.domain for row in self.rows],
            "epsilon": [cost_text(row.epsilon) for row in self.rows],
            "rho": ["" if math.isnan(row.rho) else cost_text(row.rho) for row in self.rows],
            "delta": [f"{row.delta:g}" if row.delta else "" for row in self.rows],
            "gives": ["list" if row.ordered else "set" for row in self.rows],
        }
        if self.target is None:
            for goal in GOALS:
                cells = [getattr(row, goal) for row in self.rows]
                shown[goal] = ["" if math.isnan(cell) else chance_text(cell) for cell in cells]
        return shown

    def beside(self) -> list[str]:
        """The lines under the table."""
        lines = [self.why]
        if self.bound:
            lines.append(f"lower bound: no pure epsilon below {bound_text(self.bound)} is enough, for any mechanism")
        if self.collapse is not None and 0 < self.collapse < math.inf:
            lines.append(f"collapse point: below epsilon {bound_text(self.collapse)} canonical top-k returns junk")
        return lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """The epsilon of each mechanism, or how far each gets, as bars. Returns a matplotlib Axes."""
        from shortlist.report.plans import plot_plan

        return plot_plan(self, ax)

    def __str__(self) -> str:
        from shortlist.release import text_table

        return "\n".join([self.described, "", text_table(self.texts()), "", *self.beside()])

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def plan(
    *,
    k: int,
    target: float | None = None,
    goal: Goal | str = "top",
    epsilon: float | None = None,
    items: int | None = None,
    users: int | None = None,
    shape: str | None = None,
    scores: object = None,
    delta: float = 1e-6,
    budget: str | Iterable[str] = CURRENCIES,
    domain: str | Iterable[str] = DOMAINS,
    ordered: bool = False,
    **question: Any,
) -> Plan:
    """The epsilon that each mechanism needs for a target, or how far each gets with an epsilon; best first.

    Parameters
    ----------
    k
        How many items.
    target, goal
        `goal="top"`: all of the top k, with probability `target` (0.99 if left out); `"great"` and `"good"`: nearly
        so (SPEC 23); `"recall"`: that expected share of the top k (0.9 if left out).
    epsilon
        Instead of a target: what each mechanism reaches when it may cost so much.
    items, users, shape
        The data in a word: `"zipf:1.1"`, `"geometric:0.9"` or `"flat:200"` (the k best lead by 200 users), over so
        many items and users. Counts, one user added or removed.
    scores
        Or PUBLIC scores, with `sensitivity=` and `monotone=` as everywhere. Scores counted from rows are refused.
    delta
        For zCDP and approximate budgets, and for unknown domains.
    budget, domain, ordered
        `"pure"`, `"zcdp"`, `"approx"`, or several; `"known"`, `"unknown"`, or both (unknown domains need counts);
        whether the order must be released too.

    Returns
    -------
    Plan
        with `rows`, `best`, `why`, `bound`, `collapse`, `plot()`, `to_frame()`.

    Examples
    --------
    >>> found = plan(k=10, target=0.99, items=1000, users=50_000, shape="zipf:1.1", budget="pure")
    >>> found.best.mechanism, round(found.best.epsilon, 4), found.best.epsilon >= found.bound
    ('canonical', 0.0107, True)
    """
    size, aim = checked_k(k), checked_goal(goal)
    asked, described = _question(size, items, users, shape, scores, question)
    choices = int(np.count_nonzero(asked.values > -math.inf))
    if size >= choices:
        raise ValueError(f"k={size} of {choices} items: nothing is chosen and nothing spent; choose a smaller k")
    wanted = _target(target, aim, epsilon)
    spent = None if epsilon is None else number("epsilon", epsilon, above=True)
    room = number("delta", delta, above=True, below=1.0)
    if room >= 0.5:
        raise ValueError("delta must be below 1/2: write delta=1e-6, for example")
    currencies, domains = _several("budget", budget, CURRENCIES), _several("domain", domain, DOMAINS)
    counts, listed = _are_counts(asked), flag("ordered", ordered)
    entrants = [one for place in domains for one in contestants(size, place, listed)  # type: ignore[arg-type]
                if (asked.public if place == "known" else counts) and aim in one.goals]  # fmt: skip
    bound = least_epsilon(asked.values, size, wanted) if counts and wanted is not None and aim == "top" else None
    rows = [row for one in entrants for row in _rows(one, asked, aim, wanted, spent, room, currencies, bound)]
    if not rows:
        raise ValueError(
            "no mechanism fits: an unknown domain needs counts (whole numbers, none negative, one person added or "
            "removed), a delta, and goal='top' or 'recall'"
        )
    rows.sort(key=lambda row: (row.epsilon, -row.reached) if wanted is not None else (-row.reached, row.epsilon))
    gamma = float(default_gamma(size, len(asked)))
    collapse = None if size == 1 else collapse_point(asked.values, size, gamma, float(asked.range_sensitivity))
    return Plan(size, aim, wanted, described, tuple(rows), bound, collapse)


def _rows(
    one: Contestant,
    scores: Scores,
    goal: Goal,
    target: float | None,
    epsilon: float | None,
    delta: float,
    currencies: tuple[str, ...],
    bound: float | None,
) -> list[PlanRow]:
    """The rows of one contestant: one search, or one law for each budget."""
    usable = [currency for currency in one.currencies if currency in currencies]
    if not usable:
        return []

    def needed(currency: Currency, target: float) -> float:
        own, start = one.own_delta(currency, delta), _start(one, bound)
        if one.race is not None:
            law = partial(one.race, scores, goal)
            return least_epsilon_of_a_list(law, one.rounds, own, target, start=start, width=WIDTH, most=MOST)
        p = least_epsilon_reaching(lambda p: one.law(scores, goal, p, own), target, start=start, width=WIDTH)
        return math.inf if p > MOST else p

    rows: list[PlanRow] = []
    found: dict[float, float] = {}
    every: dict[Goal, float] = {}
    for currency in usable:
        own = one.own_delta(currency, delta) if one.domain == "unknown" else 0.0
        if target is not None:
            if own not in found:
                found[own] = needed(currency, target)
            (paid, rho), got = cost(one, currency, found[own], delta), target
        else:
            p, rho = affordable(one, currency, epsilon or 0.0, delta)
            every = one.qualities(scores, p, one.own_delta(currency, delta))
            paid, got = epsilon or 0.0, every[goal]
        used = 0.0 if currency == "pure" else delta
        rows.append(PlanRow(one.label, one.method, currency, one.domain, one.ordered, paid, rho, used, got, **every))
    return rows


def _start(one: Contestant, bound: float | None) -> float:
    """Where the search begins: a little above the bound, and far above it for lists."""
    return (bound or 0.1) * (10.0 if one.ordered else 1.3)


def _question(
    k: int, items: int | None, users: int | None, shape: str | None, scores: object, question: dict[str, Any]
) -> tuple[Scores, str]:
    if (shape is None) == (scores is None):
        raise TypeError("describe the data: shape='zipf:1.1' with items= and users=, or public scores=")
    if scores is not None:
        if items is not None or users is not None:
            raise TypeError("items and users belong to shape=; scores bring their own")
        asked = as_scores(scores, **question)
        check_studied(asked)
        names = "" if asked.public else ", names not public"
        return asked, f"top {k} of {len(asked):,} given scores{names}"
    if question:
        raise TypeError(f"{', '.join(question)}: for scores= only; a shape is counts, one user added or removed")
    values = shaped(shape, items, users, k)
    return Scores(values, monotone=True), f"top {k} of {len(values):,} items, {users:,} users, {shape}"


def _target(target: float | None, goal: Goal, epsilon: float | None) -> float | None:
    if epsilon is not None:
        if target is not None:
            raise TypeError("give target= (what is needed?) or epsilon= (what is reached?), not both")
        return None
    wanted = (0.9 if goal == "recall" else 0.99) if target is None else target
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 < wanted < 1:
        raise ValueError("target must be between 0 and 1, for example target=0.99")
    return float(wanted)


def _several(name: str, given: object, known: tuple[str, ...]) -> tuple[str, ...]:
    asked = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else ()
    if not asked or not all(isinstance(one, str) and one in known for one in asked):
        raise ValueError(f"{name} must be one or more of {', '.join(map(repr, known))}")
    return tuple(dict.fromkeys(asked))


def _are_counts(scores: Scores) -> bool:
    """Numbers of people, one of whom is added or removed: what the bound and unknown domains are proved for."""
    if not scores.monotone or scores.range_sensitivity != 1 or scores.neighbours != "add-remove":
        return False
    return scores.values.dtype.kind != "f" and int(scores.values.min()) >= 0


def _times(ratio: float) -> str:
    return bound_text(ratio, 2) if ratio < 100 else f"{math.floor(ratio):,}"


def _sentence(found: Plan) -> str:
    best = found.best
    fact = FACTS.get(best.method)
    known = "" if fact is None else f" ({fact.sentence})"
    unit = f"{best.budget}, {best.domain} domain"
    if found.target is None:
        text = f"{best.mechanism} gets furthest: {chance_text(best.reached)} ({unit}){known}"
    elif math.isinf(best.epsilon):
        return f"no mechanism reaches this target at any epsilon below {MOST:,.0f}: ask for recall instead"
    elif best.epsilon == 0:
        return f"chance or delta alone reaches this target, so any epsilon is enough. The aim: {GOALS[found.goal]}"
    else:
        text = f"{best.mechanism} needs the least, epsilon {cost_text(best.epsilon)} ({unit}){known}"
        peeling = [row.epsilon for row in found.rows if row.method == "oneshot-gumbel" and row.budget == "pure"]
        if peeling and 0 < 1.05 * best.epsilon < peeling[0] < math.inf:
            text += f", {_times(peeling[0] / best.epsilon)} times less than peeling under a pure budget"
    if best.method == "canonical" and found.collapse and best.epsilon < 1.5 * found.collapse < math.inf:
        text += "; that is near its collapse point: if the description may be off, take the guarded default"
    return f"{text}. The aim: {GOALS[found.goal]}"
