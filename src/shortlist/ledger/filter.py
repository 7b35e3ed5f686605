"""The filter: which charge may still be made, whatever the charges so far and whoever chose them.

The next charge may be chosen after seeing the last release, so "the tightest composition of what was charged" is
not an admission rule (Proposition 35). This one is (Theorem 37): two running sums, exact, against limits that were
fixed when the ledger was made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, Self

from shortlist.accounting.checked_numbers import up
from shortlist.accounting.guarantees import ApproxDP, ExPost, Guarantee, PureDP, ThinnedRange

Currency = Literal["pure", "zcdp"]
MOST_DIGITS = 2000
"""Of a numerator or a denominator: sums of floats within a budget have at most some 1,300."""
_FRACTION = re.compile(rf"[0-9]{{1,{MOST_DIGITS}}}(/[1-9][0-9]{{0,{MOST_DIGITS - 1}}})?")
CURRENCIES: tuple[Currency, ...] = ("pure", "zcdp")


@dataclass(frozen=True, slots=True)
class Amounts:
    """A charge, a running sum or a limit, exactly: epsilon of rule (a), the curve of rule (b), and the delta of both.

    `curve` is rho, or the Renyi divergence at the ledger's order. None says "not in this currency": a charge without
    such a form, a sum that such a charge has closed, a budget without such a rule.
    """

    epsilon: Fraction | None
    curve: Fraction | None
    delta: Fraction

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(_sum(self.epsilon, other.epsilon), _sum(self.curve, other.curve), self.delta + other.delta)

    def __sub__(self, other: Amounts) -> Amounts:
        return self + -1 * other

    def __rmul__(self, times: int) -> Amounts:
        epsilon, curve = (None if one is None else times * one for one in (self.epsilon, self.curve))
        return Amounts(epsilon, curve, times * self.delta)

    def where(self, limits: Amounts) -> Amounts:
        """The same in the currencies that the limits know."""
        return Amounts(
            None if limits.epsilon is None else self.epsilon,
            None if limits.curve is None else self.curve,
            self.delta,
        )

    def within(self, other: Amounts) -> bool:
        """Whether it costs no more in any currency. What has no form in one closes its rule, which nothing exceeds."""
        pairs = ((self.epsilon, other.epsilon), (self.curve, other.curve), (self.delta, other.delta))
        return all(most is None or (one is not None and one <= most) for one, most in pairs)

    def as_text(self) -> tuple[str | None, str | None, str]:
        """Exact text, for the file."""
        epsilon, curve = (None if one is None else str(one) for one in (self.epsilon, self.curve))
        return epsilon, curve, str(self.delta)

    @classmethod
    def from_text(cls, epsilon: str | None, curve: str | None, delta: str) -> Self:
        """What `as_text` wrote; a ValueError for anything else."""
        return cls(
            None if epsilon is None else _exact(epsilon), None if curve is None else _exact(curve), _exact(delta)
        )


def is_exact(text: str | None) -> bool:
    """Whether `as_text` may have written it."""
    return text is None or _FRACTION.fullmatch(text) is not None


@lru_cache(1024)
def _exact(text: str) -> Fraction:
    """What `str` makes of a fraction that is not negative."""
    if not is_exact(text):
        raise ValueError("this is no exact number")
    above, _, below = text.partition("/")
    return Fraction(int(above), int(below or 1))


ZERO = Amounts(Fraction(0), Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True, repr=False)
class Balance:
    """The filter's own numbers: epsilon by rule (a); rho (or `renyi`) by rule (b); delta, which both rules share.

    None: the ledger has no such rule, or the rule is closed, because something was charged that has no such form or
    more than it admits.

    Parameters
    ----------
    epsilon, rho, renyi
        By the rules, which are alternatives: it is enough that one of them holds.
    delta
        What comes on top of either.

    Examples
    --------
    >>> print(Balance(epsilon=0.5, rho=0.125, renyi=None, delta=1e-6))
    epsilon 0.5 or rho 0.125, and delta 1e-06
    """

    epsilon: float | None
    rho: float | None
    renyi: float | None
    delta: float

    def __repr__(self) -> str:
        known = {"epsilon": self.epsilon, "rho": self.rho, "renyi": self.renyi, "delta": self.delta}
        return f"Balance({', '.join(f'{name}={value!r}' for name, value in known.items() if value is not None)})"

    def __str__(self) -> str:
        """In words: the rules are alternatives, delta comes on top of either. Sums of decimals are shown as such.

        A last bit more or less is not shown: a charge of 1.1 is admitted where 1.0999999999999999 is left.
        """
        rules = {"epsilon": self.epsilon, "rho": self.rho, "renyi": self.renyi}
        either = " or ".join(f"{name} {value:.15g}" for name, value in rules.items() if value is not None)
        return f"{either or 'nothing'}{f', and delta {self.delta:.15g}' * (self.delta > 0)}"


class BudgetExceeded(Exception):  # noqa: N818 - the name users read
    """A charge that does not fit. Nothing was booked, nothing was looked at.

    Parameters
    ----------
    asked, spent, remaining
        `Balance` values: what the charge would have cost, and how the ledger stands.
    words
        The same for people: what was asked, how the ledger stands in one number, and what would fit.

    Examples
    --------
    >>> import tempfile
    >>> import shortlist as sl
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = sl.Ledger(f"{folder.name}/year.db", budget=sl.PureDP(1.0))
    >>> try:
    ...     sl.select([9, 1], epsilon=2.0, ledger=ledger)
    ... except sl.BudgetExceeded as refused:
    ...     refused.remaining
    Balance(epsilon=1.0, delta=0.0)
    >>> folder.cleanup()
    """

    def __init__(self, asked: Balance, spent: Balance, remaining: Balance, words: str = "") -> None:
        super().__init__(asked, spent, remaining, words)
        self.asked, self.spent, self.remaining, self.words = asked, spent, remaining, words

    def __str__(self) -> str:
        words = self.words or f"asked {self.asked}; spent {self.spent}; left {self.remaining}"
        return f"the budget has no room for this: {words}"


def cost_of(guarantee: Guarantee, order: float | None) -> Amounts:
    """What a guarantee costs in each currency: the sum over its parts, each rounded up.

    An (epsilon, delta) guarantee is a thinning of mass delta of an epsilon-DP one (Kairouz, Oh and Viswanath 2015), so
    it costs epsilon in rule (a), the rho of pure epsilon in rule (b), and delta beside them. Thinned rounds of bounded
    range cost their sum of epsilons in rule (a), for the same reason.

    Raises
    ------
    TypeError, ValueError
        if it is no guarantee, or a forged one.
    """
    if not isinstance(guarantee, Guarantee):
        raise TypeError("guarantee must be a guarantee: write ledger.charge(PureDP(0.5)), for example")
    total = ZERO
    for part, times in guarantee.charges:
        total += times * _cost_of_part(part, order)
    if min(total.delta, total.epsilon or 0, total.curve or 0) < 0:
        raise ValueError("a guarantee with negative numbers is forged: make it by its class")
    return total


def _cost_of_part(part: Guarantee, order: float | None) -> Amounts:
    pure, zcdp = part.as_pure(), part.as_zcdp()
    delta = Fraction(zcdp.delta if zcdp else 0)
    epsilon = Fraction(pure.epsilon) if pure else None
    if isinstance(part, ApproxDP):
        epsilon = Fraction(part.epsilon)
    elif isinstance(part, ThinnedRange):
        epsilon = Fraction(part.epsilon) * part.rounds
    elif zcdp and zcdp.rho == 0:
        epsilon = Fraction(0)
    if order is None:
        curve = Fraction(zcdp.rho) if zcdp else None
    elif zcdp and delta:
        curve = Fraction(order) * Fraction(zcdp.rho)
        if isinstance(part, ApproxDP) and part.epsilon:
            curve = min(curve, Fraction(PureDP(part.epsilon).rdp(order)))
    else:
        divergence = part.rdp(order)
        curve = Fraction(divergence) if divergence < math.inf else None
    return Amounts(epsilon, curve, delta)


def kept_of(actual: Guarantee, order: float | None) -> Amounts:
    """What a reservation keeps: of an `ExPost` outcome its realised cost, in rule (a) alone; else the whole cost."""
    return Amounts(Fraction(actual.cost), None, Fraction(0)) if isinstance(actual, ExPost) else cost_of(actual, order)


def fits(limits: Amounts, total: Amounts) -> bool:
    """Whether the sums respect the limits: (rule (a) or rule (b)) and delta."""
    return total.delta <= limits.delta and (
        _within(total.epsilon, limits.epsilon) or _within(total.curve, limits.curve)
    )


def has_form(limits: Amounts, cost: Amounts) -> bool:
    """Whether a charge can be counted by one of the rules at all, however small it is."""
    priced = cost.where(limits)
    return (priced.epsilon is not None or priced.curve is not None) and (limits.delta > 0 or cost.delta == 0)


def refund_of(reserved: Amounts, cost: Amounts, currencies: Collection[str]) -> Amounts:
    """What comes back of a reservation when only `kept` turned out to be used: in the proved currencies, never a delta.

    Raises
    ------
    ValueError
        if more is kept than was reserved: the worst case was not reserved.
    """
    epsilon = _given_back(reserved.epsilon, cost.epsilon) if "pure" in currencies else Fraction(0)
    curve = _given_back(reserved.curve, cost.curve) if "zcdp" in currencies else Fraction(0)
    if epsilon < 0 or curve < 0 or cost.delta > reserved.delta:
        raise ValueError("kept must not be more than was reserved: reserve the worst case before the call")
    return Amounts(epsilon, curve, Fraction(0))


def balance(amounts: Amounts, order: float | None, *, left: bool = False) -> Balance:
    """Amounts as floats: rounded up, or down for what is left."""

    def rounded(exact: Fraction) -> float:
        return 0.0 - up(-exact) if left else up(exact)

    epsilon, curve = (None if one is None else rounded(one) for one in (amounts.epsilon, amounts.curve))
    rho, renyi = (curve, None) if order is None else (None, curve)
    return Balance(epsilon, rho, renyi, rounded(amounts.delta))


def left_of(limits: Amounts, total: Amounts) -> Amounts:
    """What each rule still admits; None where it is closed."""
    left = limits - total
    epsilon, curve = (None if one is None or one < 0 else one for one in (left.epsilon, left.curve))
    return Amounts(epsilon, curve, left.delta)


def _sum(first: Fraction | None, second: Fraction | None) -> Fraction | None:
    if first is None or second is None:
        return None
    return first + second if second else first  # most deltas are 0


def _within(total: Fraction | None, limit: Fraction | None) -> bool:
    return total is not None and limit is not None and total <= limit


def _given_back(reserved: Fraction | None, cost: Fraction | None) -> Fraction:
    return Fraction(0) if reserved is None or cost is None else reserved - cost
