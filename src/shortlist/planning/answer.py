"""The answer of a plan: what each mechanism costs and reaches, best first, as a table, a picture and a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, get_args

from shortlist._reading import installed_frame
from shortlist._text import text_table
from shortlist.mechanisms.entries import METHODS
from shortlist.mechanisms.entry import histogram_from
from shortlist.mechanisms.plan_rows import Goal
from shortlist.pages.card import printed
from shortlist.pages.guarantee_in_words import in_full
from shortlist.pages.plan_plot import plot_plan
from shortlist.pages.rounding import bound_text, chance_text, cost_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GOALS: dict[str, str] = {
    "top": "the released set is exactly the true top k",
    "great": "the set holds the best tenth and nothing beyond rank 1.1 k",
    "good": "the set holds the best hundredth and nothing beyond rank 1.5 k",
    "recall": "expected share of the true top k in the set",
}


def checked_goal(goal: object) -> Goal:
    """A goal by its word."""
    if not isinstance(goal, str) or goal not in GOALS:
        raise ValueError(f"goal must be one of {', '.join(map(repr, get_args(Goal)))}, for example goal='top'")
    return goal  # type: ignore[return-value]


NUMBERS = ("epsilon", "rho", "delta", *GOALS)
"""Columns of numbers, as they are shown."""
BUDGETS = {"pure": "pure epsilon", "zcdp": "zCDP", "approx": "epsilon and delta"}
DOMAINS = {"known": "public candidates", "unknown": "names from the data"}
"""What rows call in a word, in a sentence."""
MOST = 1e6
"""An epsilon beyond this is none."""


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One mechanism under one budget: what it costs, and how far it gets."""

    mechanism: str
    method: str
    """The word for `method=`: with the same k and budget it builds the mechanism that was planned."""
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
    """A table of mechanisms, best first, and beside it the bound for all of them and where one collapses.

    `sl.plan` makes it.

    Parameters
    ----------
    k
        How many items.
    goal, target
        What was to be reached; `target` is None if an epsilon was given instead.
    described
        The data, in words.
    rows
        The table, best first.
    bound
        No pure budget below this epsilon reaches the target (Theorem 128, 166, Proposition 168); None where that is not
        proved: other goals, and scores that are no counts.
    collapse
        Below this epsilon wrong sets crowd out the right one in canonical top-k (Definition 124), not in the guarded
        default. None for k = 1.
    most
        How many items each person counts for; None where nobody was capped.

    Examples
    --------
    >>> import shortlist as sl
    >>> found = sl.plan(k=3, target=0.9, items=100, users=5_000, shape="zipf:1.1", budget="pure", domain="known")
    >>> found.best.epsilon == min(row.epsilon for row in found.rows) >= found.bound
    True
    """

    k: int
    goal: Goal
    target: float | None
    described: str
    rows: tuple[PlanRow, ...]
    bound: float | None
    collapse: float | None
    most: int | None = None

    @property
    def best(self) -> PlanRow:
        """The first row."""
        return self.rows[0]

    @property
    def why(self) -> str:
        """One sentence: who is first, by how much, and what to beware of."""
        return _sentence(self)

    @property
    def crossing(self) -> dict[str, int] | None:
        """The k from which `top_k` takes a noisy histogram of such capped counts and no selection, by what is asked.

        For an order under a `pure` budget and under others (`looser`), and for `values`; for a set alone it never does.
        None where nobody was capped.
        """
        if self.most is None:
            return None
        pure, looser = (histogram_from(self.most, pure=one) for one in (True, False))
        return {"pure": pure, "looser": looser, "values": histogram_from(self.most, pure=True, values=True)}

    def columns(self) -> dict[str, list[Any]]:
        """The table, column by column."""
        return {field.name: [getattr(row, field.name) for row in self.rows] for field in fields(PlanRow)}

    def to_frame(self) -> Any:
        """The table as a data frame, in whichever of polars, pandas and pyarrow is installed."""
        import narwhals as nw

        return nw.from_dict(self.columns(), backend=installed_frame()).to_native()

    def to_json(self) -> dict[str, Any]:
        """One object for programs: `rows` best first; what is not a number is null."""

        def plain(value: Any) -> Any:
            return None if isinstance(value, float) and not math.isfinite(value) else value

        rows = [{name: plain(getattr(row, name)) for name in PlanRow.__slots__} for row in self.rows]
        facts = {"k": self.k, "goal": self.goal, "target": self.target, "described": self.described}
        capped = {} if self.most is None else {"most": self.most, "crossing": self.crossing}
        beside = {"lower_bound": plain(self.bound), "collapse_point": plain(self.collapse), **capped, "why": self.why}
        return {**facts, "rows": rows, **beside}

    def texts(self) -> dict[str, list[str]]:
        """The table as a person reads it."""
        shown = {
            "mechanism": [row.mechanism for row in self.rows],
            "budget": [row.budget for row in self.rows],
            "domain": [row.domain for row in self.rows],
            "epsilon": [cost_text(row.epsilon) for row in self.rows],
            "rho": ["" if math.isnan(row.rho) else cost_text(row.rho) for row in self.rows],
            "delta": [in_full(row.delta) if row.delta else "" for row in self.rows],
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
            point = bound_text(self.collapse)
            lines.append(f"collapse point: below epsilon {point} wrong sets crowd out the right one in canonical top-k")
        return [*lines, *_crossing_lines(self)]

    def plot(self, ax: Axes | None = None) -> Axes:
        """The epsilon of each mechanism, or how far each gets, as bars. Returns a matplotlib Axes."""
        return plot_plan(self, ax)

    def __str__(self) -> str:
        return "\n".join([self.described, "", text_table(self.texts(), NUMBERS), "", *self.beside()])

    def _repr_html_(self) -> str:
        return printed(text_table(self.texts(), NUMBERS), [self.described], self.beside())


def _crossing_lines(plan: Plan) -> list[str]:
    """From which k a histogram is taken, and how it compares here with the best selection under each budget."""
    if plan.crossing is None:
        return []
    crossing = plan.crossing
    lines = [
        f"histogram: taken for an order from k = {crossing['pure']} on (pure) or k = {crossing['looser']} "
        f"(other budgets), with values from k = {crossing['values']}; for a set alone selection is"
    ]
    for budget in dict.fromkeys(row.budget for row in plan.rows):
        here = [row for row in plan.rows if row.budget == budget and row.domain == "known"]
        ours = [row for row in here if row.method == "histogram"]
        rivals = [row for row in here if row.method != "histogram"]
        if not ours or not rivals:
            continue
        mine, other = ours[0], rivals[0]  # the best come first
        if plan.target is None:
            lines.append(
                f"{budget}: {chance_text(mine.reached)} by a histogram, {chance_text(other.reached)} by selection"
            )
        elif math.isfinite(mine.epsilon):
            lines.append(
                f"{budget}: epsilon {cost_text(mine.epsilon)} by a histogram, {cost_text(other.epsilon)} by selection"
            )
    return lines


def _times(ratio: float) -> str:
    return bound_text(ratio, 2) if ratio < 100 else f"{math.floor(ratio):,}"


def _sentence(plan: Plan) -> str:
    best = plan.best
    fact = METHODS[best.method].fact
    unit = f"{BUDGETS[best.budget]}, {DOMAINS[best.domain]}"
    known = "" if fact is None else f"; {fact.sentence}"
    if plan.target is None:
        text = f"{best.mechanism} gets furthest: {chance_text(best.reached)} ({unit})"
    elif math.isinf(best.epsilon):
        return f"no mechanism reaches this target at any epsilon below {MOST:,.0f}: ask for recall instead"
    elif best.epsilon == 0:
        return f"chance or delta alone reaches this target, so any epsilon is enough. The aim: {GOALS[plan.goal]}"
    else:
        text = f"{best.mechanism} needs the least, epsilon {cost_text(best.epsilon)} ({unit})"
        peeling = [row.epsilon for row in plan.rows if row.method == "oneshot-gumbel" and row.budget == "pure"]
        if peeling and 0 < 1.05 * best.epsilon < peeling[0] < math.inf:
            text += f", {_times(peeling[0] / best.epsilon)} times less than peeling under a pure budget"
    if best.method == "canonical" and plan.collapse and best.epsilon < 1.5 * plan.collapse < math.inf:
        text += "; wrong sets crowd it out a little below: if the description may be off, take the guarded default"
    return f"{text}{known}. The aim: {GOALS[plan.goal]}"
