"""Exact comparisons: how good each mechanism is at each epsilon, and the epsilon that each needs.

Nothing is simulated. These numbers are functions of the scores, so they are for public or made-up scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Unpack

from shortlist._arrays import find_frame_library
from shortlist.accounting.guarantees import number
from shortlist.errors import bad_value
from shortlist.mechanisms.base import check_k, check_public_scores, check_whole
from shortlist.pages.plots import plot_comparison
from shortlist.pages.texts import text_table
from shortlist.pages.theme import print_table
from shortlist.planning.rows import EVERY as GOALS
from shortlist.planning.rows import contestants, list_rivals
from shortlist.planning.search import least_epsilon_reaching
from shortlist.privacy import ZCDP, ApproxDP, PureDP
from shortlist.scores import QuestionOptions, as_scores
from shortlist.utility.lower_bound import most_success

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Row:
    """One mechanism at one epsilon: how likely it is right, great, good (Definition 118); and its expected recall."""

    mechanism: str
    epsilon: float
    top: float
    great: float
    good: float
    recall: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """Exact qualities, one row for each mechanism and epsilon. `sl.compare` makes it.

    Parameters
    ----------
    k
        How many items.
    rows
        The table, mechanism by mechanism.
    limit
        (epsilon, the most that P[top] can be for any mechanism), for counts; empty for other scores.

    Examples
    --------
    >>> table = compare([9, 7, 4, 1], k=2, epsilon=2.0, monotone=True)
    >>> [row.mechanism for row in table.rows][-2:], len(table.limit)
    (['ordered canonical', 'guarded list'], 1)
    """

    k: int
    rows: tuple[Row, ...]
    limit: tuple[tuple[float, float], ...] = ()

    def columns(self) -> dict[str, list[Any]]:
        """The table, column by column."""
        return {field.name: [getattr(row, field.name) for row in self.rows] for field in fields(Row)}

    def to_frame(self) -> Any:
        """The table as a data frame, in whichever of polars, pandas and pyarrow is installed."""
        import narwhals as nw

        return nw.from_dict(self.columns(), backend=find_frame_library()).to_native()

    def plot(self, ax: Axes | None = None) -> Axes:
        """P[the released set is a true top k] over epsilon, one curve for each mechanism. Returns a matplotlib Axes."""
        return plot_comparison(self, ax)

    def __str__(self) -> str:
        shown = {
            name: [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells]
            for name, cells in self.columns().items()
        }
        return text_table(shown)

    def _repr_html_(self) -> str:
        return print_table(str(self))


def compare(
    scores: object,
    k: int,
    *,
    epsilon: float | Iterable[float],
    delta: float | None = None,
    most: int | None = None,
    **question: Unpack[QuestionOptions],
) -> Comparison:
    """Every mechanism that fits, at every epsilon: exact success, quality and recall on public scores.

    For a public list under pure budgets; where names come from the data, under (epsilon, delta).

    Parameters
    ----------
    scores
        Public or made-up `Scores`, or plain values. Scores counted from rows are refused before `as_public()`.
    k
        How many items.
    epsilon
        One number, or several: a row for each.
    delta
        Where names come from the data (`public=False`, or `sl.count(..).as_public()` without candidates), and there
        alone: then the mechanisms without a public list are compared, by success and recall; key sets and the noisy
        choice with its key set where weights came with the counts.
    most
        Each person counts for so many items, as `count(..., most=3)` makes it: then a noisy histogram is compared too.
    **question
        The other words of `Scores`, for plain values: `sensitivity`, `monotone`, `labels`, `public` and so on; and
        `largest=False` for the smallest.

    Returns
    -------
    Comparison
        with `rows`, `limit` (what no mechanism can exceed, for counts), `plot()`, `to_frame()`.

    Raises
    ------
    ValueError, TypeError
        for scores that are not public, or numbers out of range.

    Examples
    --------
    >>> table = compare([9, 7, 4, 1], k=2, epsilon=[0.5, 2.0], monotone=True)
    >>> max(table.rows, key=lambda row: row.top).mechanism
    'canonical'
    """
    data, size = as_scores(scores, **question), check_k(k)
    check_public_scores(data)
    grid = sorted(PureDP(one).epsilon for one in (epsilon if isinstance(epsilon, Iterable) else [epsilon]))
    if not grid:
        raise bad_value("$epsilon must be a number or a list of numbers, for example $epsilon=[0.1, 0.3, 1.0]")
    if data.public:
        if delta is not None:
            raise bad_value("$delta is for names that come from the data; a public list is compared under pure budgets")
        paid, rivals = 0.0, list_rivals(size, data.most if most is None else check_whole("most", most, "$most=3"))
    else:
        if delta is None:
            raise bad_value(
                "these names come from the data: write the delta of the releases too, for example $delta=1e-6"
            )
        paid = number("delta", delta, above=True, below=0.5)
        shared = None if data._weights is None else data._weights.most
        rivals = [one for one in contestants(size, "unknown", False, data.most, shared) if one.one_pair]
    unknown = dict.fromkeys(GOALS, math.nan)  # where it is not known how far one gets towards a goal
    rows = [Row(one.label, e, **unknown | dict(one.qualities(data, e, paid))) for one in rivals for e in grid]
    # the lower bound on the chance to fail (Theorem 128) was proved for counts, add or remove a person
    counts = data.public and data.values.dtype.kind != "f" and data.monotone and data.range_sensitivity == 1
    limit = zip(grid, most_success(data.values, size, grid), strict=True) if counts and size < len(data) else ()
    return Comparison(size, tuple(rows), tuple(limit))


def epsilon_for(mechanism: Any, scores: object, *, target: float, **question: Unpack[QuestionOptions]) -> float:
    """The least epsilon at which the mechanism releases a true top k with probability `target`.

    The currency is that of the mechanism: for `PureDP` its epsilon, for `ApproxDP(epsilon, delta)` the epsilon at that
    very delta, for `ZCDP(rho, delta)` the least rho. Rounded up by less than one part in a million; infinite if none
    reaches the target.

    Parameters
    ----------
    mechanism
        One with a budget and a `success_probability`, such as `CanonicalTopK(k=10, epsilon=1.0)`; its epsilon (or rho)
        is the one that is sought.
    scores
        Public or made-up `Scores`, or plain values. Scores counted from rows are refused before `as_public()`.
    target
        A probability between 0 and 1.
    **question
        The other words of `Scores`, for plain values: `sensitivity`, `monotone`, `labels`, `public` and so on.

    Returns
    -------
    float
        An epsilon; a rho where the budget is `ZCDP`.

    Raises
    ------
    ValueError, TypeError
        for scores that are not public, a target that is no probability, or a mechanism whose success is not known.

    Examples
    --------
    >>> from shortlist.mechanisms import NoisyMax
    >>> round(epsilon_for(NoisyMax(epsilon=1.0), [10, 3], target=0.99, monotone=True), 4)
    0.5589
    """
    if not isinstance(target, int | float) or isinstance(target, bool) or not 0 < target < 1:
        raise bad_value("$target must be a probability between 0 and 1, for example $target=0.99")
    budget, data = getattr(mechanism, "budget", None), as_scores(scores, **question)
    check_public_scores(data)
    if not isinstance(budget, PureDP | ApproxDP | ZCDP) or not hasattr(mechanism, "success_probability"):
        raise TypeError(
            f"mechanism must be one like CanonicalTopK(k=10, epsilon=1.0), not {type(mechanism).__name__}: "
            "one with a budget and a known success probability"
        )
    like: Any = replace  # budgets and mechanisms are dataclasses
    word = "rho" if isinstance(budget, ZCDP) else "epsilon"

    def chance(size: float) -> float:
        return float(like(mechanism, budget=like(budget, **{word: size})).success_probability(data))

    return least_epsilon_reaching(chance, target, width=5e-7)
