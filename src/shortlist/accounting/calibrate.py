"""Find the least noise that fits a budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from shortlist.accounting.checks import number
from shortlist.accounting.guarantees import Guarantee
from shortlist.exact.search import find_crossing


class Budget(Protocol):
    """PureDP, ZCDP and ApproxDP: guarantees that can say whether another one is within them.

    Examples
    --------
    >>> from shortlist.privacy import PureDP
    >>> PureDP(1.0).excess(PureDP(0.5)) < 0 < PureDP(1.0).excess(PureDP(2.0))
    True
    """

    def excess(self, guarantee: Guarantee) -> float:
        """How far `guarantee` is beyond this budget, as a logarithm: it fits if that is not positive."""
        ...


LARGEST = 700.0
"""Parameters are sought between e^-700 and e^700."""


def calibrate(guarantee_of: Callable[[float], Guarantee], budget: Budget, *, near: float = 1.0) -> float:
    """The largest parameter whose guarantee fits `budget`; rounded down, so that noise is rounded up.

    Parameters
    ----------
    guarantee_of
        From an epsilon per round, a mu, or any parameter that costs more the larger it is, to what it promises.
    budget
        PureDP, ZCDP or ApproxDP.
    near
        Where to begin; the nearer, the faster.

    Returns
    -------
    float
        x with budget.excess(guarantee_of(x)) <= 0, checked; no number above x (1 + 1e-9) has it.

    Raises
    ------
    ValueError
        if no parameter fits, with the reason.

    Examples
    --------
    >>> from shortlist.privacy import ApproxDP, GumbelDP
    >>> scale = 1 / calibrate(lambda mu: GumbelDP(mu, k=10), ApproxDP(epsilon=1.0, delta=1e-5))
    >>> round(scale, 4)
    16.7012
    """

    if not hasattr(budget, "excess"):
        raise TypeError("budget must be PureDP(..), ZCDP(..) or ApproxDP(..)")

    def excess(log_x: float) -> float:
        return min(max(budget.excess(guarantee_of(math.exp(log_x))), -50.0), 50.0)

    first = min(max(math.log(number("near", near, above=True)), -LARGEST / 2), LARGEST / 2)
    start = (first, excess(first))
    down, step = start[1] > 0, 0.01
    while abs(start[0]) < LARGEST:
        step = min(max(min(abs(start[1]), 5.0), 1.5 * step), LARGEST - abs(start[0]))
        next_x = start[0] - step if down else start[0] + step
        end = (next_x, excess(next_x))
        if (end[1] > 0) != down:
            low, high = (end, start) if down else (start, end)
            return math.exp(find_crossing(excess, low, high, 1e-10)[0])
        start = end
    if not down:
        raise ValueError(f"every parameter fits the budget {budget}: there is no largest one")
    raise ValueError(f"no parameter fits the budget {budget}: {guarantee_of(1.0).why_not() or 'write a larger budget'}")
