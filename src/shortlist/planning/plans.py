"""Which mechanism, at which epsilon, for data described in a word."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import numpy as np

from shortlist._arrays import Indices, Values, find_frame_library
from shortlist._runtime import IMPORTS
from shortlist.accounting.guarantees import count, flag, number
from shortlist.errors import bad_type, bad_value
from shortlist.execute import histogram_from
from shortlist.mechanisms.base import check_k, check_public_scores, check_whole
from shortlist.mechanisms.sets import default_gamma
from shortlist.pages.plots import plot_plan
from shortlist.pages.summary import bound_text, chance_text, cost_text, in_full
from shortlist.pages.texts import text_table
from shortlist.pages.theme import print_table
from shortlist.planning.rows import CURRENCIES, DOMAINS, FACTS, Contestant, Goal, affordable, contestants, cost
from shortlist.planning.search import least_epsilon_reaching
from shortlist.scores import QuestionOptions, Scores, as_scores
from shortlist.utility import ranks_within, searching
from shortlist.utility.lower_bound import least_epsilon, least_epsilon_for_recall

Word = TypeVar("Word", bound=str)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


GOALS: dict[str, str] = {
    "top": "the released set is exactly the true top k",
    "great": "the set holds the best tenth and nothing beyond rank 1.1 k",
    "good": "the set holds the best hundredth and nothing beyond rank 1.5 k",
    "recall": "expected share of the true top k in the set",
}


NUMBERS = ("epsilon", "rho", "delta", *GOALS)
"""Columns of numbers, as they are shown."""
BUDGETS = {"pure": "pure epsilon", "zcdp": "zCDP", "approx": "epsilon and delta"}
DOMAIN_TEXTS = {"known": "public candidates", "unknown": "names from the data"}
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
        best = self.best
        unit = f"{BUDGETS[best.budget]}, {DOMAIN_TEXTS[best.domain]}"
        known = f"; {FACTS[best.method]}" if best.method in FACTS else ""
        if self.target is None:
            text = f"{best.mechanism} gets furthest: {chance_text(best.reached)} ({unit})"
        elif math.isinf(best.epsilon):
            return f"no mechanism reaches this target at any epsilon below {MOST:,.0f}: ask for recall instead"
        elif best.epsilon == 0:
            return f"chance or delta alone reaches this target, so any epsilon is enough. The aim: {GOALS[self.goal]}"
        else:
            text = f"{best.mechanism} needs the least, epsilon {cost_text(best.epsilon)} ({unit})"
            peeling = [row.epsilon for row in self.rows if row.method == "oneshot-gumbel" and row.budget == "pure"]
            if peeling and 0 < 1.05 * best.epsilon < peeling[0] < math.inf:
                ratio = peeling[0] / best.epsilon
                times = bound_text(ratio, 2) if ratio < 100 else f"{math.floor(ratio):,}"
                text += f", {times} times less than peeling under a pure budget"
        if best.method == "canonical" and self.collapse and best.epsilon < 1.5 * self.collapse < math.inf:
            text += "; wrong sets crowd it out a little below: if the description may be off, take the guarded default"
        return f"{text}{known}. The aim: {GOALS[self.goal]}"

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

        return nw.from_dict(self.columns(), backend=find_frame_library()).to_native()

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
            **{name: [str(getattr(row, name)) for row in self.rows] for name in ("mechanism", "budget", "domain")},
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
        if (crossing := self.crossing) is None:
            return lines
        lines.append(
            f"histogram: taken for an order from k = {crossing['pure']} on (pure) or k = {crossing['looser']} "
            f"(other budgets), with values from k = {crossing['values']}; for a set alone selection is"
        )
        for budget in dict.fromkeys(row.budget for row in self.rows):
            here = [row for row in self.rows if row.budget == budget and row.domain == "known"]
            ours = next((row for row in here if row.method == "histogram"), None)  # the best come first
            rival = next((row for row in here if row.method != "histogram"), None)
            if ours is None or rival is None or math.isinf(ours.epsilon):
                continue
            unit = "" if self.target is None else "epsilon "
            one, two = (cost_text(row.epsilon) if unit else chance_text(row.reached) for row in (ours, rival))
            lines.append(f"{budget}: {unit}{one} by a histogram, {two} by selection")
        return lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """The epsilon of each mechanism, or how far each gets, as bars. Returns a matplotlib Axes."""
        return plot_plan(self, ax)

    def __str__(self) -> str:
        return "\n".join([self.described, "", text_table(self.texts(), NUMBERS), "", *self.beside()])

    def _repr_html_(self) -> str:
        return print_table(text_table(self.texts(), NUMBERS), [self.described], self.beside())


MOST_ITEMS = 10_000_000


def counts_of_shape(shape: object, items: object, users: object, k: int) -> Indices:
    """How many users hold each item, the most popular first.

    * ``zipf:S``: users / i^S hold the i-th item;
    * ``geometric:Q``: users Q^(i-1), 0 < Q < 1;
    * ``flat:STEP``: everybody holds each of the k best, and STEP users fewer each of the others.

    Examples
    --------
    >>> counts_of_shape("zipf:1", 4, 120, 2)
    array([120,  60,  40,  30])
    >>> counts_of_shape("flat:20", 4, 120, 2)
    array([120, 120, 100, 100])
    """
    kind, _, text = shape.partition(":") if isinstance(shape, str) else ("", "", "")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if kind not in ("zipf", "geometric", "flat") or not 0 <= value < np.inf:
        raise bad_value("$shape must be a word and a number, for example 'zipf:1.1', 'geometric:0.9' or 'flat:200'")
    number, people = count("items", items), count("users", users)
    if number > MOST_ITEMS:
        raise bad_value(f"$items must be at most {MOST_ITEMS:,}: a plan computes exact laws over all of them")
    rank = np.arange(1.0, number + 1)
    if kind == "zipf":
        with np.errstate(over="ignore"):  # nobody holds items so rare
            counts = people / rank**value
    elif kind == "geometric":
        if not 0 < value < 1:
            raise bad_value("$shape: a geometric ratio is between 0 and 1, for example 'geometric:0.9'")
        counts = people * value ** (rank - 1)
    else:
        if value != int(value) or value > people:
            raise bad_value("$shape: a step is a whole number of users, at most users, for example 'flat:200'")
        counts = np.where(rank <= k, people, people - value)
    return np.floor(counts).astype(np.int64)


def collapse_point(values: Values, k: int, gamma: float, range_sensitivity: float = 1.0) -> float:
    """max over (i, j) of R ln C(i + j, i) / ((1 - g) A_i + g B_j); infinite if a tie makes a crowd out of the top set.

    Parameters
    ----------
    values
        The scores, in any order.
    k, gamma
        How many are chosen, and the weight of the worst score inside.

    Examples
    --------
    >>> step = np.repeat([100, 0], [100, 3996])  # 100 of 4,096 at 100, the rest at 0
    >>> round(collapse_point(step, 100, 0.5), 2)
    4.63
    """
    with IMPORTS:
        from scipy.special import gammaln

    x = np.sort(np.asarray(values, np.float64))[::-1]
    x = x[x > -np.inf]
    if not 1 <= k < len(x):
        return 0.0
    log_factorial = gammaln(np.arange(len(x) + 1) + 1.0)
    fall = gamma * (x[k - 1] - x[k:])
    j = np.arange(len(fall))
    largest = 0.0
    for i in range(1, k):
        sets = log_factorial[i + j] - log_factorial[i] - log_factorial[j]
        loss = (1.0 - gamma) * (x[k - 1 - i] - x[k]) + fall
        crowded = (sets > 0) & (loss <= 0)
        if crowded.any():
            return math.inf
        apart = loss > 0
        if apart.any():
            largest = max(largest, float((sets[apart] / loss[apart]).max()))
    return range_sensitivity * largest


LEAST = 1e-9
"""An epsilon below this gives nothing away, and picks nothing."""
LEAST_DELTA = 1e-100
"""A delta below this changes no plan but for the worse: nothing is left of it when it is shared."""
BOUNDS = {"top": least_epsilon, "recall": least_epsilon_for_recall}
"""No pure budget below reaches the target: for these goals that is proved."""
WIDTH = 1e-3
"""Epsilons in a plan are rounded up by at most a thousandth."""


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
    most: int | None = None,
    **question: Unpack[QuestionOptions],
) -> Plan:
    """The epsilon that each mechanism needs for a target, or how far each gets with an epsilon; best first.

    Parameters
    ----------
    k
        How many items.
    target, goal
        `goal="top"`: all of the top k, with probability `target` (0.99 if left out); `"great"` and `"good"`: nearly
        so (Definition 118); `"recall"`: that expected share of the top k (0.9 if left out).
    epsilon
        Instead of a target: what each mechanism reaches when it may cost so much, from 1e-9 to a million.
    items, users, shape
        The data in a word: `"zipf:1.1"`, `"geometric:0.9"` or `"flat:200"` (the k best lead by 200 users), over so
        many items and users. Counts, one user added or removed.
    scores
        Or PUBLIC scores, with `sensitivity=` and `monotone=` as everywhere. Scores counted from rows are refused.
    delta
        For zCDP and approximate budgets, and for unknown domains; from 1e-100 to below 1/2.
    budget, domain, ordered
        `"pure"`, `"zcdp"`, `"approx"`, or several; `"known"`, `"unknown"`, or both (unknown domains need counts);
        whether the order must be released too.
    most
        Each person counts for so many items, as `count(..., most=3)` makes it: rows for a noisy histogram and a key set
        of such counts, beside the others on the same counts. A shape in which people hold more is scaled down, as if
        all held equally many. Public scores that were counted with a cap bring it along.
    **question
        The other words of `Scores`, for public scores: `sensitivity`, `monotone`.

    Returns
    -------
    Plan
        with `rows`, `best`, `why`, `bound`, `collapse`, `plot()`, `to_frame()`.

    Raises
    ------
    ValueError, TypeError
        for a description that makes no data, a target or budget out of range, or scores that are not public.

    Examples
    --------
    >>> answer = plan(k=10, target=0.99, items=1000, users=50_000, shape="zipf:1.1", budget="pure")
    >>> answer.best.mechanism, round(answer.best.epsilon, 4), answer.best.epsilon >= answer.bound
    ('canonical', 0.0107, True)
    """
    size = check_k(k)
    if not isinstance(goal, str) or goal not in GOALS:
        raise bad_value(f"$goal must be one of {', '.join(map(repr, GOALS))}, for example $goal='top'")
    data, described, cap = _question(size, items, users, shape, scores, most, question)
    choices = int(np.count_nonzero(data.values > -math.inf))
    if size >= choices:
        raise bad_value(f"$k={size} of {choices} items: nothing is chosen and nothing spent; choose a smaller k")
    word: Goal = goal  # type: ignore[assignment]
    wanted: float | None = None
    if epsilon is None:
        wanted = (0.9 if word == "recall" else 0.99) if target is None else target
        if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 < wanted < 1:
            raise bad_value("$target must be between 0 and 1, for example $target=0.99")
    elif target is not None:
        raise bad_type("give $target= (what is needed?) or $epsilon= (what is reached?), not both")
    spent = None if epsilon is None else number("epsilon", epsilon, above=True)
    if spent is not None and not LEAST <= spent <= MOST:
        raise bad_value(f"$epsilon must be from {LEAST:g} to {MOST:,.0f} in a plan: write $epsilon=1.0, for example")
    room = number("delta", delta, above=True, below=1.0)
    if not LEAST_DELTA <= room < 0.5:
        raise bad_value(f"$delta must be at least {LEAST_DELTA:g} and below 1/2: write $delta=1e-6, for example")
    currencies, domains = _several("budget", budget, CURRENCIES), _several("domain", domain, DOMAINS)
    counts, listed = _are_counts(data), flag("ordered", ordered)
    shared = None if data._weights is None else data._weights.most
    entrants = [one for place in domains for one in contestants(size, place, listed, cap, shared)
                if (data.public if place == "known" else counts) and word in one.row.goals]  # fmt: skip
    bound = BOUNDS[word](data.values, size, wanted) if counts and wanted is not None and word in BOUNDS else None
    aim, last = Aim(data, word, wanted, spent, room, currencies, bound or 0.1), Tries()
    by_entrant: dict[Contestant, list[PlanRow]] = {}
    with searching(word) if spent is None else nullcontext():
        for one in sorted(entrants, key=lambda one: one.rounds == 1):  # rounds first, on which others fall back
            by_entrant[one] = _rows(one, aim, last)
    rows = [row for one in entrants for row in by_entrant[one]]
    if not rows:
        raise bad_value(
            "no mechanism fits: an unknown domain needs counts (whole numbers, none negative, one person added or "
            "removed), a delta, and $goal='top' or 'recall'"
        )
    rows.sort(key=lambda row: (row.epsilon, -row.reached) if wanted is not None else (-row.reached, row.epsilon))
    gamma = float(default_gamma(size, len(data)))
    collapse = None if size == 1 else collapse_point(data.values, size, gamma, float(data.range_sensitivity))
    return Plan(size, word, wanted, described, tuple(rows), bound, collapse, cap)


@dataclass(frozen=True, slots=True)
class Aim:
    """What is asked of every contestant."""

    scores: Scores
    goal: Goal
    target: float | None
    epsilon: float | None
    """One of the two."""
    delta: float
    currencies: tuple[str, ...]
    bound: float
    """Above it searches begin."""


Tries = dict[tuple[str, bool, bool], float]
"""Where the last search of a kind ended."""


def first_try(one: Contestant, bound: float, last: Tries) -> tuple[float, float]:
    """(a pure epsilon, or the epsilon or range of its currency, at which a search begins; how far in ln to the next).

    Where the last search of its kind ended, or at first above the bound.
    """
    rounds, domain, ordered = one.rounds > 1, one.row.domain, one.row.ordered
    if p := last.get((domain, ordered, rounds)):
        return p, 0.15
    if ordered and not rounds and (p := last.get((domain, False, False))):
        return 2 * p, 0.3  # a list in one round needs about twice what its set does
    if rounds and (p := last.get(("known", ordered, True))):
        return 2 * p, 0.7  # rounds and a threshold need one to three times what rounds do
    return bound * (6.0 if ordered else 1.3), 0.7


def _least(one: Contestant, aim: Aim, target: float, delta: float, last: Tries) -> float:
    """The least p at which a contestant reaches the target with its delta."""
    if one.row.domain == "known" and _is_certain(aim.scores.values, one.request.size, aim.goal):
        return 0.0
    start, step = first_try(one, aim.bound, last)
    reach = partial(one.reach, aim.scores, aim.goal, delta=delta)
    p = least_epsilon_reaching(reach, target, start=start, step=step, width=WIDTH)
    if 0 < p <= MOST:
        last[one.row.domain, one.row.ordered, one.rounds > 1] = p
    return math.inf if p > MOST else p


def _rows(one: Contestant, aim: Aim, last: Tries) -> list[PlanRow]:
    """The rows of one contestant: one search, or one law for each budget."""
    rows: list[PlanRow] = []
    solutions: dict[float, float] = {}
    every: dict[Goal, float] = {}
    for currency in one.currencies:
        if currency not in aim.currencies:
            continue
        own = one.own_delta(currency, aim.delta)
        if aim.target is not None:
            own_bar = own if one.row.domain == "unknown" else 0.0
            if own_bar not in solutions:
                solutions[own_bar] = _least(one, aim, aim.target, own, last)
            (paid, rho), got = cost(one, currency, solutions[own_bar], aim.delta), aim.target
        else:
            paid = aim.epsilon or 0.0
            p, rho = affordable(one, currency, paid, aim.delta)
            every = one.qualities(aim.scores, p, own)
            got = every[aim.goal]
        used, row = 0.0 if currency == "pure" else aim.delta, one.row
        rows.append(PlanRow(one.label, row.method, currency, row.domain, row.ordered, paid, rho, used, got, **every))
    return rows


def _question(
    k: int,
    items: int | None,
    users: int | None,
    shape: str | None,
    scores: object,
    most: int | None,
    question: QuestionOptions,
) -> tuple[Scores, str, int | None]:
    """(the scores, the data in words, how many items a person counts for)."""
    if (shape is None) == (scores is None):
        raise bad_type("describe the data: $shape='zipf:1.1' with $items= and $users=, or public $scores=")
    cap = None if most is None else check_whole("most", most, "$most=3")
    if scores is not None:
        if items is not None or users is not None:
            raise bad_type("items and users belong to $shape=; scores bring their own")
        data = as_scores(scores, **question)
        check_public_scores(data)
        if cap is None:
            cap = data.most
        elif data.most not in (None, cap):
            raise bad_value(f"$most={cap}: these scores were counted with $most={data.most}; leave it out")
        if cap is not None and not _are_counts(data):
            raise bad_value("$most is for counts of people, whole numbers and one person added or removed")
        names = "" if data.public else ", names not public"
        return data, f"top {k} of {len(data):,} given scores{names}{_cap_text(cap)}", cap
    if question:
        raise bad_type(f"{', '.join(question)}: for $scores= only; a shape is counts, one user added or removed")
    values = counts_of_shape(shape, items, users, k)
    if cap is not None and (held := int(values.sum())) > cap * int(users or 0):
        values = np.floor(values * (cap * int(users or 0) / held)).astype(np.int64)
    described = f"top {k} of {len(values):,} items, {users:,} users, {shape}{_cap_text(cap)}"
    return Scores(values, monotone=True), described, cap


def _is_certain(values: Values, k: int, goal: Goal) -> bool:
    """Whether k items reach the goal whichever come out, as where the rest are ties: nothing is needed."""
    ranking = np.sort(values[values > -math.inf])[::-1]
    if goal in ("top", "recall"):
        return bool(ranking[0 if goal == "top" else k - 1] == ranking[-1])
    return ranks_within(ranking, k)[goal == "good"] == (0, len(ranking))


def _cap_text(most: int | None) -> str:
    return "" if most is None else f", at most {most} a person"


def _several(name: str, given: object, known: tuple[Word, ...]) -> tuple[Word, ...]:
    names: tuple[Any, ...] = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else ()
    if not names or not all(isinstance(one, str) and one in known for one in names):
        raise bad_value(f"${name} must be one or more of {', '.join(map(repr, known))}")
    return tuple(dict.fromkeys(names))


def _are_counts(scores: Scores) -> bool:
    """Numbers of people, one of whom is added or removed: what the bound and unknown domains are proved for."""
    if not scores.monotone or scores.range_sensitivity != 1 or scores.neighbours != "add-remove":
        return False
    return scores.values.dtype.kind != "f" and int(scores.values.min()) >= 0
