"""What a ledger fixes when it is made: its budget, its curve and its split of delta, and the limits that follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Self

from shortlist.accounting.checked_numbers import number, up
from shortlist.accounting.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from shortlist.ledger.filter import Amounts

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
        if approval not in (None, False, True):
            raise TypeError("approval must be True or False")
        if mixed not in (None, False, True):
            raise TypeError("allow_mixed_neighbors must be True or False")
        flags = bool(approval), bool(mixed)
        if isinstance(budget, ApproxDP):
            share = number("split", 0.5 if split is None else split, below=math.nextafter(1.0, 2.0))
            converted = Fraction(share) * Fraction(budget.delta)
            place = None if order is None else number("order", order, least=1.0, above=True)
            curve = _curve_limit(budget.epsilon, converted, place)
            limits = Amounts(Fraction(budget.epsilon), curve, Fraction(budget.delta) - converted)
            return cls(budget, share, place, limits, *flags)
        if not isinstance(budget, PureDP | ZCDP):
            raise TypeError(
                "budget must be PureDP, ZCDP or ApproxDP: write budget=PureDP(3.0), or budget=ApproxDP(3.0, 1e-6) if "
                "names are to come from the data"
            )
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
            raise ValueError("split and order must be as the ledger was made")
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
        for name, word in given.items():
            fixed = getattr(self, "mixed" if name == "allow_mixed_neighbors" else name)
            if word is not None and word != fixed:
                raise ValueError(
                    f"{name} was fixed as {fixed} when this ledger was made and cannot change: leave {name}= out, or "
                    "make a new ledger in another file"
                )

    def __str__(self) -> str:
        said = (("split", self.split), ("order", self.order))
        words = [str(self.budget), *(f"{name} {value:g}" for name, value in said if value is not None)]
        return ", ".join(filter(None, [*words, self.mixed_words, self.approval_words]))

    @property
    def mixed_words(self) -> str:
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
            raise ValueError(f"order={order:g} admits nothing at this budget: write order={best:.3g}, for example")
        return limit
    best = _best_order(epsilon, delta)
    return max(_down(_divergence(epsilon, delta, best) / Fraction(best)), Fraction(0))


def converted_epsilon(curve: Fraction, delta: Fraction, order: float | None) -> float:
    """The epsilon that a sum of rho, or of Renyi divergence at `order`, has at this delta; rounded up."""
    if not curve:
        return 0.0
    if order is None:
        return ZCDP(up(curve)).epsilon_at(0.0 - up(-delta))
    with localcontext(prec=DIGITS):
        gain = Fraction(_exact_divergence(0.0, delta, Decimal(order)))
    return max(0.0, math.nextafter(up(curve - gain), math.inf))


def _at_most(number: Fraction | None, most: Fraction | None) -> bool:
    """Whether a stored limit is no more than another; without a limit the rule admits nothing."""
    return number is None or (most is not None and number <= most)


def _divergence(epsilon: float, delta: Fraction, order: float) -> Fraction:
    with localcontext(prec=DIGITS):
        return _down(Fraction(_exact_divergence(epsilon, delta, Decimal(order))))


def _exact_divergence(epsilon: float, delta: Fraction, order: Decimal) -> Decimal:
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
        low, high = 1 + (best - 1) * Decimal("0.999"), 1 + (best - 1) * Decimal("1.001")
        golden = (Decimal(5).sqrt() - 1) / 2

        def rho(order: Decimal) -> Decimal:
            return _exact_divergence(epsilon, delta, order) / order

        for _ in range(100):
            first, second = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, second) if rho(first) >= rho(second) else (first, high)
        return max(Fraction(rho(low)) * (1 - Fraction(1, 10**30)), Fraction(0))


def _best_order(epsilon: float, delta: Fraction) -> float:
    """About the order with the largest rho: r(a)/a rises, then falls, so golden sections find it."""
    with localcontext(prec=DIGITS):
        log_delta = float((Decimal(delta.numerator) / Decimal(delta.denominator)).ln())

    def rho(log_less: float) -> float:
        less = math.exp(log_less)
        gain = log_delta + log_less + (1 + less) * math.log1p(1 / less)
        return (epsilon + gain / less) / (1 + less)

    low, high = -30.0, min(60.0 - log_delta, 700.0)
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(80):
        first, second = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, second) if rho(first) >= rho(second) else (first, high)
    return 1 + math.exp((low + high) / 2)


def _down(exact: Fraction) -> Fraction:
    """A float strictly below `exact`, or 0 for 0: the one before the nearest."""
    return Fraction(math.nextafter(float(exact), -math.inf)) if exact else Fraction(0)
