"""What all mechanisms for an unknown list of candidates share: budgets with a delta, counts, and the working list.

The code below looks at the largest counts only, so that it works as well on the head of a histogram. Labels come
from the data: none is ever touched before it has won, and no error, repr or note tells how many there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shortlist._arrays import Indices, Runs, Values
from shortlist._text import about, ordinal
from shortlist.accounting.checks import number
from shortlist.exact.partial_reals import rounded_down
from shortlist.mechanisms.checks import checked_k, plain_budget
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, PureDP
from shortlist.scores import Scores

DeltaBudget = ZCDP | ApproxDP

LARGEST_LIMIT = 2**31 - 1
LEAST_DELTA = 1e-280
"""Below it a share of delta would be lost to underflow."""


def bar_in_words(offset: float, rank: int) -> str:
    """Where a name must stand to be released, in words: by public numbers. The bar itself is private."""
    return f"{about(offset)} people above the {ordinal(rank)}"


def checked_delta_budget(epsilon: float | None, delta: float | None, budget: Guarantee | None) -> DeltaBudget:
    """(epsilon, delta), or a budget with a delta: without one no label may be named (Proposition 107)."""
    example = "write epsilon=1.0, delta=1e-6, or budget=ZCDP(rho=0.05, delta=1e-6)"
    if (epsilon is None) == (budget is None):
        both = "" if budget is None else "; dataclasses.replace takes budget=ApproxDP(1.0, 1e-6)"
        raise TypeError(f"give either epsilon= and delta=, or budget=: {example}{both}")
    budget = PureDP(epsilon) if epsilon is not None else budget
    if not isinstance(budget, PureDP | ZCDP | ApproxDP):
        raise TypeError(f"budget must be ApproxDP(epsilon, delta) or ZCDP(rho, delta): {example}")
    budget = plain_budget(budget)
    if delta is not None:
        own = getattr(budget, "delta", 0.0)
        if own not in (0.0, delta):
            raise ValueError("delta was given twice, and not the same: leave delta= out, the budget has one")
        delta = number("delta", delta, above=True, below=1.0)
        budget = ZCDP(budget.rho, delta) if isinstance(budget, ZCDP) else ApproxDP(budget.epsilon, delta)
    if isinstance(budget, PureDP) or budget.delta == 0:
        raise ValueError(
            "without a delta no name can be released here: a name that one person brought would tell of that person. "
            f"{example[0].upper()}{example[1:]}"
        )
    if budget.delta < LEAST_DELTA:
        raise ValueError("delta is too small to be shared by the parts that need it: write delta=1e-6, for example")
    if (budget.rho if isinstance(budget, ZCDP) else budget.epsilon) == 0:
        raise ValueError("the budget must be greater than 0, for example epsilon=1.0")
    return budget


def checked_small_delta(epsilon: float | None, delta: float | None, budget: Guarantee | None) -> DeltaBudget:
    """The same, with a delta below 1/2."""
    checked = checked_delta_budget(epsilon, delta, budget)
    if checked.delta >= 0.5:
        raise ValueError("delta must be below 1/2: write delta=1e-6, for example")
    return checked


def checked_limit(limit: object, least: int) -> int:
    """A public number of rows to look at, at least as many as are wanted."""
    try:
        number = checked_k(limit)
    except (TypeError, ValueError):
        raise _limit_error(least) from None
    if not least <= number <= LARGEST_LIMIT:
        raise _limit_error(least)
    return number


def _limit_error(least: int) -> ValueError:
    return ValueError(
        f"limit must be a whole number from {least} (no fewer than k) to 2^31 - 1, chosen without a look at the data: "
        f"write limit={2 * least}, for example"
    )


def check_counts(scores: Scores) -> None:
    """Refuse what are not counts of distinct users under add/remove, from public facts alone.

    Whether a number is below 0 depends on the scores, so it is not refused: such a number counts 0.
    """
    if scores.neighbours != "add-remove":
        raise ValueError(
            'this needs counts under add/remove: write neighbours="add-remove" (replacing a person moves counts both '
            "ways)"
        )
    if not scores.monotone or scores.largest_sensitivity != 1 or isinstance(scores.sensitivity, tuple | list):
        raise ValueError(
            "this needs counts of distinct users, which one person moves by at most 1 and all the same way: write "
            "sensitivity=1, monotone=True (clipped sums and other scores will not do)"
        )
    if not scores.numbered:  # from a table
        if scores._names is None or scores._names.scores.dtype.kind == "f":
            raise ValueError("this needs counts of distinct users, not clipped sums: count without value=")
        return
    if scores._numbers.dtype.kind == "f":
        raise ValueError("this needs whole-number counts, not floats: convert them, for example with .astype(int)")
    if not scores.public and scores._size and not scores._has_names:
        raise ValueError("candidates that are not public need names: give labels=, or say public=True for positions")


def largest_counts(counts: Values | Runs, size: int) -> tuple[Indices, Indices]:
    """(positions, counts) of the `size` largest counts, in decreasing order, or of all there are.

    Which of the tied counts at the end are in is arbitrary: whoever uses it must not depend on that.
    """
    if isinstance(counts, Runs):
        first = np.arange(min(size, len(counts)))
        return first, counts[first]
    positions = np.arange(len(counts))
    if size < len(counts):
        positions = np.argpartition(counts, len(counts) - size)[len(counts) - size :]
    # ~ and not -, for the least of all 64-bit integers has no negative
    positions = positions[np.argsort(~counts[positions].astype(np.int64), kind="stable")]
    return positions, counts[positions].astype(np.int64)


def sorted_counts(counts: Values | Runs, size: int) -> list[int]:
    """The `size` largest counts in decreasing order, followed by zeros: an absent label counts 0, or below."""
    largest: list[int] = np.maximum(largest_counts(counts, size)[1], 0).tolist()
    return largest + [0] * (size - len(largest))


@dataclass(frozen=True, slots=True)
class Listing:
    """The strict working list T = {i : count_i > c}, c the count of row limit + 1 (0 if there is none).

    It has at most `limit` labels, and it is a function of the histogram: ties at the boundary all fall out, so no tie
    rule exists that could tell something.
    """

    positions: Indices
    counts: Indices
    """In decreasing order."""
    beyond: int
    """c, the count of row limit + 1; 0 if there is none."""


def listing(counts: Values | Runs, limit: int) -> Listing:
    """The strict working list of a histogram; of its limit + 1 largest counts it is the same."""
    positions, largest = largest_counts(counts, limit + 1)
    largest = np.maximum(largest, 0)  # an absent label counts 0, or below
    beyond = int(largest[limit]) if len(largest) > limit else 0
    listed = int(np.count_nonzero(largest > beyond))
    return Listing(positions[:listed], largest[:listed], beyond)


def part_of(delta: float, share: Fraction) -> float:
    """share * delta, rounded down."""
    return rounded_down(share * Fraction(delta))


def check_column(scores: Scores, most: int, *, weighted: bool) -> None:
    """Sums to which a person brings at most `most` labels, or the reason why not: from public facts.

    A histogram cannot be capped afterwards, so scores that were counted must know their cap; of plain numbers the
    caller says it.
    """
    capped = scores._capped if weighted else None
    cap = scores.most if capped is None else capped.most
    if (not scores.numbered or cap is not None) and cap != most:
        raise ValueError(
            f"this needs counts to which each person brings at most {most} labels: count with most={most} (a table of "
            "counts cannot be capped afterwards)"
        )
    if capped is not None:
        return
    if not weighted:
        check_counts(scores)
        return
    if scores.neighbours != "add-remove" or not scores.monotone or scores.largest_sensitivity != 1 << 20:
        raise ValueError(
            "this needs weighted sums in units of 2^-20, under add/remove: count a table, or write sensitivity=2**20, "
            "monotone=True for such whole numbers"
        )
    if scores.numbered and scores._numbers.dtype.kind == "f":
        raise ValueError("weighted sums are whole numbers of 2^-20: convert them, for example with .astype(int)")
