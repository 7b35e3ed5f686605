"""The filter against adversaries whose exact divergence is computed, and its rules one by one."""

import math
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from shortlist.ledger.filter import ZERO, Amounts, Terms, cost_of, fits, has_form, refund_of
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, GumbelDP, PureDP, RenyiDP, compose
from tests.helpers.typed import present


def two_point(high, low):
    """Losses `high` and `low` only: (mass on D, mass on D') of each outcome."""
    p = math.expm1(low) / math.expm1(low - high)
    return ((p, p * math.exp(-high)), (1 - p, (1 - p) * math.exp(-low)))


def thinned(delta, law):
    return ((delta, 0.0), (0.0, delta), *(((1 - delta) * p, (1 - delta) * q) for p, q in law))


def binned_gaussian(rho, cuts=(-0.5, 0.5, 1.5)):
    """The Gaussian mechanism, told only in which bin it fell."""
    edges = np.array([-np.inf, *cuts, np.inf])
    return tuple(zip(np.diff(ndtr(edges)), np.diff(ndtr(edges - math.sqrt(2 * rho))), strict=True))


def pure(epsilon):
    return PureDP(epsilon), two_point(epsilon, -epsilon)


def approx(epsilon, delta):
    return ApproxDP(epsilon, delta), thinned(delta, two_point(epsilon, -epsilon) if epsilon else ((1.0, 1.0),))


def ranged(epsilon, share):
    return BoundedRange(epsilon), two_point(share * epsilon, (share - 1) * epsilon)


def gaussian(rho, delta=0.0):
    return ZCDP(rho, delta), thinned(delta, binned_gaussian(rho)) if delta else binned_gaussian(rho)


def filtered(terms):
    """The admission rule of a ledger with these terms."""

    def admits(charges):
        total = sum((cost_of(guarantee, terms.order) for guarantee, _ in charges), ZERO).where(terms.limits)
        return fits(terms.limits, total)

    return admits


def by_composition(budget):
    """The WRONG rule: the tightest composition of what was charged, the exact one, fits."""

    def admits(charges):
        outcomes = [(math.prod(p for p, _ in path), math.prod(q for _, q in path))
                    for path in product(*(law for _, law in charges))]  # fmt: skip
        found = sum(max(0.0, p - math.exp(budget.epsilon) * q) for p, q in outcomes)
        return found <= budget.delta * (1 + 1e-4)

    return admits


def worst(admits, menu, epsilon, rounds):
    """sup over all adaptive adversaries of H_epsilon of the whole interaction, exactly, by recursion over transcripts.

    `menu` are pairs (guarantee, law). The adversary sees the transcript, picks what the rule admits, or stops.
    """
    allowed = cache(lambda taken: admits([menu[i] for i in taken]))

    @cache
    def value(ratio, taken):
        """The most that can still be made of one unit of mass on D against `ratio` on D'."""
        best = max(0.0, 1 - math.exp(epsilon) * ratio)
        if len(taken) == rounds:
            return best
        for i, (_, law) in enumerate(menu):
            more = tuple(sorted((*taken, i)))
            if allowed(more):
                best = max(best, sum(p * value(round(ratio * q / p, 13), more) for p, q in law if p))
        return best

    return value(1.0, ())


MENUS = {
    "the counterexample": [pure(0.5), pure(0.6313), approx(0.0, 0.05)],
    "pure and reveals": [pure(0.25), pure(0.5), pure(0.75), approx(0.0, 0.01), approx(0.0, 0.025)],
    "one sided": [ranged(0.5, 0.1), ranged(0.5, 0.5), ranged(1.0, 0.3), approx(0.2, 0.02), approx(0.0, 0.02)],
    "gaussian": [gaussian(0.03), gaussian(0.1), gaussian(0.01, 0.02), pure(0.4), approx(0.3, 0.005)],
}
BUDGETS = [
    (ApproxDP(1.0, 0.05), 0.5, None),
    (ApproxDP(1.0, 0.05), 0.0, None),
    (ApproxDP(1.0, 0.05), 1.0, None),
    (ApproxDP(0.5, 0.1), 0.8, None),
    (ApproxDP(1.0, 0.05), 0.5, 4.0),
]


@pytest.mark.parametrize("menu", MENUS.values(), ids=MENUS)
@pytest.mark.parametrize(("budget", "split", "order"), BUDGETS)
def test_no_adaptive_adversary_exceeds_the_budget(menu, budget, split, order):
    admits = filtered(Terms.of(budget, split, order))
    assert worst(admits, menu, budget.epsilon, rounds=5) <= budget.delta * (1 + 1e-9)


def test_a_ledger_that_composes_what_happened_is_overdrawn_by_the_same_adversary():
    budget = ApproxDP(1.0, 0.05)
    found = worst(by_composition(budget), MENUS["the counterexample"], 1.0, rounds=2)
    assert found == pytest.approx(0.0689, abs=1e-4)
    assert worst(by_composition(budget), MENUS["pure and reveals"], 1.0, rounds=4) > budget.delta


def test_the_filter_is_not_empty():
    """What the adversaries may do is worth something: with all of delta for reveals, they reach the budget."""
    admits = filtered(Terms.of(ApproxDP(1.0, 0.05), 0.0, None))
    assert worst(admits, MENUS["the counterexample"], 1.0, rounds=3) == pytest.approx(0.05)


@pytest.mark.parametrize("menu", ["pure and reveals", "one sided"])
def test_a_pure_ledger_bounds_every_transcript(menu):
    admits = filtered(Terms.of(PureDP(1.25), None, None))
    charges = [
        item for item in MENUS[menu] if has_form(Terms.of(PureDP(1.25), None, None).limits, cost_of(item[0], None))
    ]
    assert worst(admits, charges, 1.25, rounds=5) <= 1e-12


@pytest.mark.parametrize("budget", [ZCDP(0.15), ZCDP(0.15, 0.03)])
def test_a_zcdp_ledger_keeps_the_whole_curve(budget):
    admits = filtered(Terms.of(budget, None, None))
    for epsilon in (0.2, 0.7, 1.5):
        assert worst(admits, MENUS["gaussian"], epsilon, rounds=4) <= budget.delta_at(epsilon)


@pytest.mark.parametrize("seed", range(40))
def test_a_random_adversary_that_adapts_to_outputs_stays_within_the_budget(seed):
    """Random charges chosen anew at every node of the tree of transcripts; its divergence is summed exactly."""
    rng = np.random.default_rng(seed)
    budget = ApproxDP(float(rng.uniform(0.3, 2)), float(rng.uniform(1e-3, 0.1)))
    terms = Terms.of(budget, float(rng.uniform()), None if seed % 2 else float(rng.uniform(15, 30)))

    def asked():
        epsilon, delta = float(rng.uniform(0.05, 0.8)), float(rng.uniform(0, budget.delta / 2))
        return [pure, lambda e: ranged(e, float(rng.uniform(0.1, 0.9))), lambda e: approx(e, delta),
                lambda e: gaussian(e * e / 4, delta)][rng.integers(4)](epsilon)  # fmt: skip

    def divergence(p, q, total, rounds):
        for _ in range(3 if rounds else 0):
            guarantee, law = asked()
            more = (total + cost_of(guarantee, terms.order)).where(terms.limits)
            if fits(terms.limits, more):
                return sum(divergence(p * one, q * other, more, rounds - 1) for one, other in law)
        return max(0.0, p - math.exp(budget.epsilon) * q)

    assert divergence(1.0, 1.0, ZERO.where(terms.limits), 5) <= budget.delta * (1 + 1e-9)


def test_after_the_first_answer_of_the_counterexample_not_both_second_questions_are_open():
    for split in (0.0, 0.25, 0.5, 0.75, 1.0):
        for order in (None, 6.0, 9.0):
            if split == 0.0 and order:
                continue
            admits = filtered(Terms.of(ApproxDP(1.0, 0.05), split, order))
            assert admits([pure(0.5)])
            both = admits([pure(0.5), pure(0.6313)]) and admits([pure(0.5), approx(0.0, 0.05)])
            assert not both


def test_a_refund_by_realised_cost_is_pure_only():
    """The likely outcome has log ratio 0.05 and may be refunded to that in rule (a). Refunded to 0.05^2/2 in rule (b)
    it could be asked 80 times, each time losing 0.05.
    """
    (p, q), (r, s) = two_point(0.05, -1.0)
    outcomes = [(p, q, PureDP(0.05)), (r, s, PureDP(1.0))]
    reserved = cost_of(PureDP(1.0), None)

    def divergence(limits, epsilon, currencies, mass=1.0, other=1.0, total=ZERO):
        if not fits(limits, (total + reserved).where(limits)):
            return max(0.0, mass - math.exp(epsilon) * other)
        found = 0.0
        for on, off, kept in outcomes:
            after = total + reserved - refund_of(reserved, cost_of(kept, None), currencies)
            found += divergence(limits, epsilon, currencies, mass * on, other * off, after)
        return found

    assert divergence(Terms.of(PureDP(2.0), None, None).limits, 2.0, ("pure",)) <= 1e-12
    budget = ZCDP(0.6)
    limits = Terms.of(budget, None, None).limits
    assert divergence(limits, 2.5, ("pure",)) <= budget.delta_at(2.5)
    assert divergence(limits, 2.5, ("pure", "zcdp")) > 2 * budget.delta_at(2.5)


def test_the_limit_of_rho_is_the_tight_conversion():
    terms = Terms.of(ApproxDP(5.221534, 1e-6), 1.0, None)
    assert float(present(terms.limits.curve)) == pytest.approx(0.5, abs=1e-6)
    assert Terms.of(ApproxDP(0.0, 5e-324), 1.0, None).limits.curve == 0, "beyond the floats nothing is promised"
    for budget in (ApproxDP(3.0, 1e-6), ApproxDP(0.1, 1e-9), ApproxDP(50.0, 1e-3), ApproxDP(0.0, 0.2)):
        rho = float(present(Terms.of(budget, 1.0, None).limits.curve))
        assert ZCDP(rho).delta_at(budget.epsilon) <= budget.delta * (1 + 1e-6)
        assert ZCDP(rho * (1 + 1e-6)).delta_at(budget.epsilon) > budget.delta


def test_a_renyi_order_admits_what_the_same_order_admits_as_rho_and_more():
    by_rho = Terms.of(ApproxDP(3.0, 1e-6), None, None)
    by_order = Terms.of(ApproxDP(3.0, 1e-6), None, 9.356427)
    for guarantee in (PureDP(0.2), BoundedRange(0.3), ZCDP(0.01), ApproxDP(0.2, 1e-9), ZCDP(0.01, 1e-9)):
        rhos, divergences = cost_of(guarantee, None).curve, cost_of(guarantee, by_order.order).curve
        assert present(by_order.limits.curve) // present(divergences) >= present(by_rho.limits.curve) // present(rhos)
    assert has_form(by_order.limits, cost_of(GumbelDP(0.05), by_order.order))
    assert has_form(by_order.limits, cost_of(RenyiDP([8.0, 16.0], [0.1, 0.3]), by_order.order))


def test_sums_are_exact_so_that_no_drift_admits_too_much():
    limits = Terms.of(PureDP(1.0), None, None).limits
    ten = sum((cost_of(PureDP(0.1), None) for _ in range(10)), ZERO)
    assert math.fsum([0.1] * 10) == 1.0
    assert not fits(limits, ten), "ten floats 0.1 are more than 1"
    tiny = cost_of(PureDP(5e-324), None)
    assert not fits(limits, cost_of(PureDP(1.0), None) + tiny)
    assert fits(limits, cost_of(PureDP(math.nextafter(1.0, 0.0)), None) + tiny)


def test_costs_are_never_rounded_down():
    for epsilon in (0.1, 0.3, 1e-9, 7.7):
        z = Fraction(epsilon) ** 2  # two terms of the series are below it, one is above it
        for guarantee, (first, second) in ((PureDP(epsilon), (2, 24)), (BoundedRange(epsilon), (8, 576))):
            assert (
                z / first - z**2 / second
                <= present(cost_of(guarantee, None).curve)
                <= z / first * (1 + Fraction(1, 2**52))
            )
    assert cost_of(ApproxDP(0.3, 0.1).repeat(3), None) == 3 * cost_of(ApproxDP(0.3, 0.1), None)
    whole = compose(ApproxDP(0.0, 1e-6), BoundedRange(0.1).repeat(7))
    assert cost_of(whole, None) == cost_of(ApproxDP(0.0, 1e-6), None) + 7 * cost_of(BoundedRange(0.1), None)


def test_a_form_that_is_missing_is_missing_in_the_sum():
    assert cost_of(ZCDP(0.1), None).epsilon is None
    assert cost_of(GumbelDP(0.1), None) == Amounts(None, None, Fraction(0))
    assert cost_of(ZCDP(0.0, 0.1), None).epsilon == 0
    assert (cost_of(PureDP(0.1), None) + cost_of(ZCDP(0.1), None)).epsilon is None


def test_a_rho_is_never_more_than_its_epsilon():
    """Half of its square, which is no float, would have closed rule (b)."""
    assert cost_of(PureDP(1e200), None) == Amounts(Fraction(1e200), Fraction(1e200), Fraction(0))


@pytest.mark.parametrize(
    ("budget", "split", "order", "reason"),
    [
        (3.0, None, None, "budget is of a wrong kind"),
        (GumbelDP(0.1), None, None, "budget is of a wrong kind"),
        (PureDP(1.0), 0.5, None, "belong to an ApproxDP budget"),
        (ApproxDP(1.0, 1e-6), 1.5, None, "split must be"),
        (ApproxDP(1.0, 1e-6), math.nan, None, "split must be"),
        (ApproxDP(1.0, 1e-6), 0.5, 1.0, "order must be"),
        (ApproxDP(1.0, 1e-6), 0.5, 1.5, "admits nothing"),
    ],
)
def test_terms_that_make_no_ledger_are_refused(budget, split, order, reason):
    with pytest.raises((TypeError, ValueError), match=reason):
        Terms.of(budget, split, order)
