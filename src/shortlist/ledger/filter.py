"""How charges add up, exactly, and on what terms a ledger admits them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, Self, TypeVar

from shortlist._runtime import lazy_import
from shortlist.accounting.curves import up
from shortlist.accounting.guarantees import ZCDP, ApproxDP, ExPost, Guarantee, PureDP, ThinnedRange, number
from shortlist.errors import bad_type, bad_value
from shortlist.exact.search import bisect, neighbours

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
        epsilon = None if limits.epsilon is None else self.epsilon
        return Amounts(epsilon, None if limits.curve is None else self.curve, self.delta)

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
        first, second = (None if text is None else _exact(text) for text in (epsilon, curve))
        return cls(first, second, _exact(delta))


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


def outcome_cost(actual: Guarantee, order: float | None) -> Amounts:
    """What a reservation keeps: of an `ExPost` outcome its realised cost, in rule (a) alone; else the whole cost."""
    return Amounts(Fraction(actual.cost), None, Fraction(0)) if isinstance(actual, ExPost) else cost_of(actual, order)


def fits(limits: Amounts, total: Amounts) -> bool:
    """Whether the sums respect the limits: (rule (a) or rule (b)) and delta."""
    rules = (total.epsilon, limits.epsilon), (total.curve, limits.curve)
    admitted = any(one is not None and most is not None and one <= most for one, most in rules)
    return total.delta <= limits.delta and admitted


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
    left = reserved - cost
    epsilon = (left.epsilon or Fraction(0)) if "pure" in currencies else Fraction(0)
    curve = (left.curve or Fraction(0)) if "zcdp" in currencies else Fraction(0)
    if epsilon < 0 or curve < 0 or cost.delta > reserved.delta:
        raise ValueError("kept must not be more than was reserved: reserve the worst case before the call")
    return Amounts(epsilon, curve, Fraction(0))


def balance(amounts: Amounts, order: float | None, *, left: bool = False) -> Balance:
    """Amounts as floats: rounded up, or down for what is left."""
    to_float = down if left else up
    epsilon, curve = (None if one is None else to_float(one) for one in (amounts.epsilon, amounts.curve))
    rho, renyi = (curve, None) if order is None else (None, curve)
    return Balance(epsilon, rho, renyi, to_float(amounts.delta))


def left_of(limits: Amounts, total: Amounts) -> Amounts:
    """What each rule still admits; None where it is closed."""
    left = limits - total
    epsilon, curve = (None if one is None or one < 0 else one for one in (left.epsilon, left.curve))
    return Amounts(epsilon, curve, left.delta)


def _sum(first: Fraction | None, second: Fraction | None) -> Fraction | None:
    if first is None or second is None:
        return None
    return first + second if second else first  # most deltas are 0


KINDS: dict[str, Callable[..., PureDP | ZCDP | ApproxDP]] = {"PureDP": PureDP, "ZCDP": ZCDP, "ApproxDP": ApproxDP}
DIGITS = 80
"""Of the one computation with logarithms: far beyond the float it is rounded down to."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A budget, the share of its delta kept for conversion, the Renyi order if any, the exact limits, whether
    somebody else must approve, and whether charges of both neighboring relations are added up."""

    budget: PureDP | ZCDP | ApproxDP
    split: float | None
    order: float | None
    limits: Amounts
    approval: bool = False
    mixed: bool = False

    @classmethod
    def of(
        cls, budget: object, split: object, order: object, approval: bool | None = None, mixed: bool | None = None
    ) -> Self:
        """The limits of each rule.

        PureDP(epsilon): rule (a) alone. ZCDP(rho, delta): rule (b) alone. ApproxDP(epsilon, delta): rule (a) with
        epsilon, or rule (b) with the largest rho whose conversion fits (epsilon, split delta); (1 - split) delta is
        what the charges' own deltas may add up to, in either rule.

        Raises
        ------
        TypeError, ValueError
            naming the argument, for a budget of another kind or a split or order that it has no use for.
        """
        for name, flag in (("approval", approval), ("allow_mixed_neighbors", mixed)):
            if flag not in (None, False, True):
                raise bad_type(f"${name} must be True or False")
        flags = bool(approval), bool(mixed)
        if isinstance(budget, ApproxDP):
            share = number("split", 0.5 if split is None else split, below=math.nextafter(1.0, 2.0))
            converted = Fraction(share) * Fraction(budget.delta)
            place = None if order is None else number("order", order, least=1.0, above=True)
            curve = _curve_limit(budget.epsilon, converted, place)
            limits = Amounts(Fraction(budget.epsilon), curve, Fraction(budget.delta) - converted)
            return cls(budget, share, place, limits, *flags)
        if not isinstance(budget, PureDP | ZCDP):
            raise bad_type("$budget is of a wrong kind: write $budget=PureDP(3.0), or $budget=ApproxDP(3.0, 1e-6)")
        if split is not None or order is not None:
            raise ValueError("split and order belong to an ApproxDP budget: leave them out, or give that budget")
        if isinstance(budget, PureDP):
            return cls(budget, None, None, Amounts(Fraction(budget.epsilon), None, Fraction(0)), *flags)
        return cls(budget, None, None, Amounts(None, Fraction(budget.rho), Fraction(budget.delta)), *flags)

    def limits_for(self, before: Amounts, cost: Amounts, *, first: bool) -> Amounts:
        """The limits that a charge of this cost is held against, after these sums; `first` if none was made before.

        Rule (a) needs no delta for conversion (Theorem 215), so the first charge of an `ApproxDP` ledger may have a
        delta above the share that is kept for charges. From then on rule (b) is closed, and all of delta is for the
        charges' own (Theorem 217). No later charge may choose so: the choice must not follow from an output
        (Proposition 216).
        """
        share = self.limits.delta
        chosen = before.delta > share or (first and cost.delta > share)
        if chosen and share and isinstance(self.budget, ApproxDP):
            return Amounts(self.limits.epsilon, None, Fraction(self.budget.delta))
        return self.limits

    def as_json(self) -> dict[str, Any]:
        """For the file."""
        fields = {name: getattr(self.budget, name) for name in type(self.budget).__slots__}
        kind = type(self.budget).__name__
        limits = self.limits.as_text()
        flags = {name: True for name in ("approval", "mixed") if getattr(self, name)}
        return {"budget": {"kind": kind, **fields}, "split": self.split, "order": self.order, "limits": limits, **flags}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Self:
        """What `as_json` wrote: its limits as they were fixed, if they keep the budget.

        Raises
        ------
        ValueError, TypeError, KeyError
            if it was not written so, or a limit is above what the budget admits.
        """
        fields = dict(content["budget"])
        flags = [content.get(name, False) for name in ("approval", "mixed")]
        if not all(isinstance(flag, bool) for flag in flags):
            raise TypeError("approval and mixed must be true or false")
        fresh = cls.of(KINDS[fields.pop("kind")](**fields), content["split"], content["order"], *flags)
        limits = Amounts.from_text(*content["limits"])
        if (fresh.split, fresh.order) != (content["split"], content["order"]):
            raise bad_value("$split and $order must be as the ledger was made")
        fresh._check_limits(limits)
        return replace(fresh, limits=limits)

    def _check_limits(self, stored: Amounts) -> None:
        """Refuse limits above those of the budget.

        Another version or machine may have found a rho some last bits higher, by another order; it is refused unless
        the conversion certainly admits it.
        """
        most = self.limits
        if isinstance(self.budget, ApproxDP) and self.order is None and not _at_most(stored.curve, most.curve):
            share = Fraction(self.split or 0) * Fraction(self.budget.delta)
            most = replace(most, curve=_largest_rho(self.budget.epsilon, share))
        if not all(_at_most(getattr(stored, name), getattr(most, name)) for name in ("epsilon", "curve", "delta")):
            raise ValueError("limits must not be above those of the budget")

    def check_same(
        self,
        budget: Guarantee | None,
        split: float | None,
        order: float | None,
        approval: bool | None = None,
        mixed: bool | None = None,
    ) -> None:
        """Refuse to go on with other terms than those the ledger was made with."""
        given = {"budget": budget, "split": split, "order": order, "approval": approval, "allow_mixed_neighbors": mixed}
        fixed = (self.budget, self.split, self.order, self.approval, self.mixed)
        for (name, wanted), there in zip(given.items(), fixed, strict=True):
            if wanted is not None and wanted != there:
                raise bad_value(f"{name} was fixed as {there} and cannot change: leave ${name}= out, or make another")

    def __str__(self) -> str:
        said = (("split", self.split), ("order", self.order))
        words = [str(self.budget), *(f"{name} {value:g}" for name, value in said if value is not None)]
        return ", ".join(filter(None, [*words, self.relation_words, self.approval_words]))

    @property
    def relation_words(self) -> str:
        """That charges of both neighboring relations are added up, if they are."""
        return "charges of both neighboring relations are added up" if self.mixed else ""

    @property
    def approval_words(self) -> str:
        """Who else has to agree to a release, if anybody has."""
        return "each release waits until another person has approved it" if self.approval else ""


def _curve_limit(epsilon: float, delta: Fraction, order: float | None) -> Fraction:
    """The largest sum of rho, or of Renyi divergence at `order`, that is (epsilon, delta)-DP; rounded down.

    Divergence at most r at order a gives delta = e^{(a-1)(r - epsilon)} (1 - 1/a)^a / (a-1), so r = epsilon +
    [ln(delta (a-1)) - a ln(1 - 1/a)] / (a-1). For zCDP, r = a rho, at the order that admits the most.
    """
    if delta == 0:
        return Fraction(0)
    if order is not None:
        limit = _divergence(epsilon, delta, order)
        if limit <= 0:
            best = _best_order(epsilon, delta)
            raise bad_value(f"$order={order:g} admits nothing at this budget: write $order={best:.3g}, for example")
        return limit
    best = _best_order(epsilon, delta)
    return max(_down(_divergence(epsilon, delta, best) / Fraction(best)), Fraction(0))


def _at_most(number: Fraction | None, most: Fraction | None) -> bool:
    """Whether a stored limit is no more than another; without a limit the rule admits nothing."""
    return number is None or (most is not None and number <= most)


def _divergence(epsilon: float, delta: Fraction, order: float) -> Fraction:
    with localcontext(prec=DIGITS):
        return _down(Fraction(exact_divergence(epsilon, delta, Decimal(order))))


def exact_divergence(epsilon: float, delta: Fraction, order: Decimal) -> Decimal:
    """To nearly as many digits as the context has."""
    share = Decimal(delta.numerator) / Decimal(delta.denominator)
    gain = (share * (order - 1)).ln() - order * (1 - 1 / order).ln()
    return Decimal(epsilon) + gain / (order - 1)


def _largest_rho(epsilon: float, delta: Fraction) -> Fraction:
    """A rho that is certainly (epsilon, delta)-DP, and within 30 digits the largest: by golden sections, exactly."""
    if delta == 0:
        return Fraction(0)
    best = Decimal(_best_order(epsilon, delta))
    with localcontext(prec=DIGITS):

        def rho(order: Decimal) -> Decimal:
            return exact_divergence(epsilon, delta, order) / order

        low, high = 1 + (best - 1) * Decimal("0.999"), 1 + (best - 1) * Decimal("1.001")
        low, _ = _narrow_to_peak(rho, low, high, (Decimal(5).sqrt() - 1) / 2, 100)
        return max(Fraction(rho(low)) * (1 - Fraction(1, 10**30)), Fraction(0))


def _best_order(epsilon: float, delta: Fraction) -> float:
    """About the order with the largest rho: r(a)/a rises, then falls, so golden sections find it."""
    with localcontext(prec=DIGITS):
        log_delta = float((Decimal(delta.numerator) / Decimal(delta.denominator)).ln())

    def rho(log_less: float) -> float:
        less = math.exp(log_less)
        gain = log_delta + log_less + (1 + less) * math.log1p(1 / less)
        return (epsilon + gain / less) / (1 + less)

    low, high = _narrow_to_peak(rho, -30.0, min(60.0 - log_delta, 700.0), (math.sqrt(5) - 1) / 2, 80)
    return 1 + math.exp((low + high) / 2)


_Number = TypeVar("_Number", float, Decimal)


def _narrow_to_peak(
    function: Callable[[_Number], _Number], low: _Number, high: _Number, golden: _Number, steps: int
) -> tuple[_Number, _Number]:
    """Narrow (low, high) to the peak of a function that rises, then falls, by that many golden sections."""
    for _ in range(steps):
        first, second = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, second) if function(first) >= function(second) else (first, high)
    return low, high


def _down(exact: Fraction) -> Fraction:
    """A float strictly below `exact`, or 0 for 0: the one before the nearest."""
    return Fraction(math.nextafter(float(exact), -math.inf)) if exact else Fraction(0)


RELATIONS = ("add-remove", "replace")
"""Neighboring relations: which data sets a guarantee compares."""
STATED = {"(add-remove)": "add-remove", "(replace)": "replace", "(replaces one teacher's votes)": "replace"}
"""How the unit of an entry ends if it states its relation. PATE writes the last of them."""


def relation_of(unit: str) -> str:
    """Return the neighboring relation that a unit of privacy ends with, in parentheses; "" if it states none."""
    return next((relation for words, relation in STATED.items() if unit.endswith(words)), "")


@dataclass(frozen=True, slots=True)
class State:
    """Where a ledger stands: how many entries, the hash of the last one, the running sums, how many charges; where it
    was closed, why or where it goes on, in words; and the neighboring relation of its first charge that states one."""

    number: int
    head: str
    total: Amounts
    charges: int
    closed: str = ""
    neighbors: str = ""


HAIR = Fraction(1, 2**40)
"""By which part a release may exceed what is left and still be meant: ten times the float 0.1 is more than 1."""


def down(exact: Fraction) -> float:
    """The largest float that is not above it."""
    return 0.0 - up(-exact)


def countable_costs(terms: Terms, guarantees: Sequence[Guarantee]) -> list[tuple[Guarantee, Amounts]]:
    """Those of several true statements of one release that can be counted against these terms, with what they cost.

    Raises
    ------
    TypeError, ValueError
        with the reason of the first, if there is none.
    """
    costs = [(one, cost_of(one, terms.order)) for one in guarantees]
    if counted := [(one, cost) for one, cost in costs if has_form(terms.limits, cost)]:
        return counted
    guarantee, cost = costs[0]
    if cost.delta and not getattr(terms.budget, "delta", 0.0):
        reason = (
            "it has a delta, as names from the data need one, and this budget was made without. Make another ledger "
            "with a delta: `shortlist ledger init` with --delta 1e-5$<, or budget=ApproxDP(epsilon, 1e-5) in Python>"
        )
    elif cost.delta and not terms.limits.delta:
        reason = "it has a delta, and this ledger keeps none for the charges' own"
    else:
        reason = guarantee.why_not() or "there is no such form"
        reason += "; for a budget with a delta, charge its pair at one fixed beforehand: guarantee.as_approx(1e-8)"
    raise bad_value(f"{guarantee} cannot be counted against {terms}: {reason}")


def sums_after(terms: Terms, before: State, cost: Amounts) -> tuple[Amounts, Amounts] | None:
    """Return (what is charged, the sums after it) of a charge; None if it does not fit."""
    limits = terms.limits_for(before.total, cost, first=not before.charges)
    total = (before.total + cost).where(limits)
    return (cost.where(limits), total) if fits(limits, total) else None


def admit(terms: Terms, before: State, cost: Amounts) -> tuple[Amounts, Amounts]:
    """Return (what is charged, the sums after it) of a charge that fits.

    Raises
    ------
    BudgetExceeded
        if it does not.
    """
    if (sums := sums_after(terms, before, cost)) is not None:
        return sums
    raise lazy_import("shortlist.pages.standing", "refusal")(terms, before, cost)


def check_neighbors(terms: Terms, before: State, unit: str) -> None:
    """Refuse a charge whose unit states another neighboring relation than the first charge that stated one.

    Raises
    ------
    ValueError
        with the reason. A ledger made with `allow_mixed_neighbors` refuses none.
    """
    stated, first = relation_of(unit), before.neighbors
    if terms.mixed or not stated or not first or stated == first:
        return
    raise bad_value(
        f'this ledger counts charges for neighbours="{first}", and this one is for "{stated}". Their sum bounds the '
        "loss of neither: a charge of epsilon under add-remove is up to 2 epsilon when a user is replaced, and one "
        "under replace promises nothing when a user is added or removed. Use another ledger for this one; or make a "
        "ledger with $allow_mixed_neighbors=True, if the sum need not bound the loss. Nothing was charged"
    )


def after_charge(terms: Terms, before: State, *guarantees: Guarantee, unit: str = "") -> State:
    """Where a ledger would stand after a charge of the first that has room.

    It raises as `check_neighbors`, `countable_costs` and `admit` do.
    """
    check_neighbors(terms, before, unit)
    costs = [cost for _, cost in countable_costs(terms, guarantees)]
    cost = costs[first_fitting(terms, before, costs)]
    return replace(before, total=admit(terms, before, cost)[1], charges=before.charges + 1)


def first_fitting(terms: Terms, before: State, costs: Sequence[Amounts]) -> int:
    """Which of several costs is the first that would be admitted; the first of all, if none is."""
    fitting = [place for place, cost in enumerate(costs) if sums_after(terms, before, cost)]
    return fitting[0] if fitting else 0


def clip_to_left(terms: Terms, before: State, budget: PureDP | ApproxDP | ZCDP) -> PureDP | ApproxDP | ZCDP:
    """The budget, or as much of it as is left where only rounding stands between the two.

    Ten times the float 0.1 is more than 1. Whoever divides a budget into decimals means what is left of it, and a
    release that is drawn for less keeps what it was asked to keep. Nothing is booked here, and no limit is moved.
    """
    if is_admitted(terms, before, budget):
        return budget
    less = budget
    if not isinstance(budget, PureDP):  # the delta that is left, where that is a hair less
        limits = terms.limits_for(before.total, cost_of(budget, terms.order), first=not before.charges)
        left = down(limits.delta - before.total.delta)
        if (1 - HAIR) * Fraction(budget.delta) <= Fraction(left) < Fraction(budget.delta):
            less = replace(budget, delta=left)
    name = "rho" if isinstance(budget, ZCDP) else "epsilon"
    size: float = getattr(budget, name)

    def with_size(size: float) -> PureDP | ApproxDP | ZCDP:
        changed: dict[str, Any] = {name: size}
        return replace(less, **changed)

    def too_much(size: float) -> bool:
        return not is_admitted(terms, before, with_size(size))

    if not too_much(size):
        return less
    least = up((1 - HAIR) * Fraction(size))
    return budget if too_much(least) else with_size(bisect(too_much, least, size, neighbours)[0])


def is_admitted(terms: Terms, before: State, guarantee: Guarantee) -> bool:
    """Whether a guarantee would be charged."""
    cost = cost_of(guarantee, terms.order)
    return has_form(terms.limits, cost) and sums_after(terms, before, cost) is not None


def balance_left(terms: Terms, total: Amounts) -> Balance:
    """What each rule still admits, rounded down."""
    limits = terms.limits_for(total, ZERO, first=False)
    return balance(left_of(limits, total.where(limits)), terms.order, left=True)
