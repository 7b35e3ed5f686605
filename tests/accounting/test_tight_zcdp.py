"""The least rho of bounded range and of pure DP, rounded up; and its inverse, rounded down (Theorem 164)."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from shortlist import Ledger, Scores
from shortlist.accounting import curves
from shortlist.audit import certify, prove_mechanism
from shortlist.mechanisms import CanonicalTopK, JointTopK, LargeGap, NoisyMax, OneshotTopK
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.pate import PATE, MultiLabelPATE
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, ExPost, Guarantee, PureDP, ThinnedRange, calibrate
from tests.helpers.inside import largest_range, pure_rho, range_rho
from tests.helpers.typed import of_kind, present

RANGE = [(0.1, ".00124982642746"), (0.5, ".0311420922612"), (1, ".123301561482"), (2, ".474474647071"),
         (5, "2.41771961265"), (12, "8.51516093698")]  # fmt: skip
PURE = [
    (0.1, ".00499583749579"),
    (0.5, ".122459331202"),
    (1, ".46211715726"),
    (2, "1.52318831191"),
    (5, "4.93307149076"),
]
INVERSE = [
    (0.05, 0.634213800808, 0.317551437388),
    (0.5, 2.05596711126, 1.04362689559),
    (2, 4.45277239834, 2.39935728052),
]
SCALES = [
    5e-324,
    1e-320,
    1e-200,
    1e-160,
    1e-30,
    1e-9,
    1e-4,
    math.nextafter(curves.SMALL, 0),
    curves.SMALL,
    0.1,
    0.7,
    3.0,
    40.0,
    800.0,
    1e9,
]
ORDERS = [1.000001, 1.0001, 1.01, 1.1, 1.5, 2, 3, 5, 10, 30, 100, 200]


def exact(value: float | Fraction) -> arb:
    fraction = Fraction(value)
    return arb(fmpq(fraction.numerator, fraction.denominator))


def softplus(x: arb) -> arb:
    return x.exp().log1p()


def range_value(epsilon: float) -> arb:
    """KL of the worst window by its definition: t - P(t - epsilon) epsilon at e^t = (e^epsilon - 1) / epsilon."""
    e = exact(epsilon)
    t = (e.expm1() / e).log()
    return t - t.expm1() / e.expm1() * e


def pure_value(epsilon: float) -> arb:
    """KL of randomised response: epsilon (P(yes) - P(no))."""
    e = exact(epsilon)
    yes = e.exp() / (1 + e.exp())
    return e * (yes - (1 - yes))


def two_point(c: arb, width: arb, order: float) -> arb:
    """D_a / a of the laws on two losses `width` apart, Q having logit c."""
    a = exact(order)
    whole = softplus(c + a * width) - softplus(c) - a * (softplus(c + width) - softplus(c))
    return whole / (a * (a - 1))


def worst_window(epsilon: float, order: float) -> arb:
    """The greatest D_a / a under bounded range, at its stationary point (Theorem 16)."""
    e, a = exact(epsilon), exact(order)
    under = (a / (a - 1) * ((1 - a) * e).expm1() / (-a * e).expm1()).log()
    high = -(-under).expm1() / -(-e).expm1()  # P(loss = e - under)
    moment = high * ((a - 1) * (e - under)).exp() + (1 - high) * (-(a - 1) * under).exp()
    return moment.log() / (a * (a - 1))


def digits(found: float, wanted: str) -> bool:
    """Whether it is the printed number, to its last digit."""
    return abs(Fraction(found) - Fraction(wanted)) <= Fraction(6, 10) * Fraction(10) ** -len(wanted.partition(".")[2])


def test_the_table_of_values():
    assert all(digits(range_rho(epsilon), printed) for epsilon, printed in RANGE)
    assert all(digits(pure_rho(epsilon), printed) for epsilon, printed in PURE)
    for rho, wide, pure in INVERSE:
        assert largest_range(rho) == pytest.approx(wide, rel=1e-11)
        assert calibrate(PureDP, ZCDP(rho)) == pytest.approx(pure, rel=1e-9)


@pytest.mark.parametrize(("rho", "value"), [(range_rho, range_value), (pure_rho, pure_value)], ids=["range", "pure"])
@pytest.mark.parametrize("epsilon", SCALES)
def test_values_are_rounded_up_and_by_no_more_than_a_float(rho, value, epsilon):
    with ctx.workprec(6000 if epsilon < 1e-6 else 600):
        true, found = value(epsilon), rho(epsilon)
        assert true <= exact(found) or found == epsilon, "no divergence is above epsilon"
        assert epsilon > 700 or exact(math.nextafter(found, 0)) <= true * (1 + arb(2) ** -60)
        assert found <= epsilon


def test_three_terms_are_never_too_small_and_two_never_too_large():
    with ctx.workprec(400):
        for epsilon in np.geomspace(1e-6, 50, 40):
            z = exact(float(epsilon)) ** 2
            for value, (one, two, three) in ((range_value, (8, 576, 25920)), (pure_value, (2, 24, 240))):
                true = value(float(epsilon))
                assert z / one - z**2 / two < true < z / one - z**2 / two + z**3 / three
                assert true < z / one


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 5, 12])
def test_renyi_divergence_over_its_order_falls_in_the_order_to_forty_digits(epsilon):
    with ctx.workprec(300):
        for curve, limit in (
            (lambda a: worst_window(epsilon, a), range_value(epsilon)),
            (lambda a: two_point(-exact(epsilon), 2 * exact(epsilon), a), pure_value(epsilon)),
        ):
            heights = [limit, *(curve(order) for order in ORDERS)]
            assert all(later < earlier for earlier, later in pairwise(heights))
            assert curve(1 + 1e-15) / limit > 1 - arb(10) ** -12


def test_random_windows_stay_below_it_at_every_order():
    """Two-point laws of every window, which are the extreme ones, and some of three losses."""
    rng = np.random.default_rng(1)
    with ctx.workprec(200):
        for epsilon in rng.uniform(0.05, 8, 40):
            rho, wide = exact(range_rho(float(epsilon))), exact(float(epsilon))
            for c in rng.uniform(-10, 10, 12):
                assert all(two_point(exact(float(c)), wide, order) < rho for order in (1.0001, 1.3, 2, 7, 60))
    for _ in range(400):
        epsilon = rng.uniform(0.1, 6)
        null, losses = rng.dirichlet(np.ones(3)), epsilon * np.array([0, rng.uniform(), 1])
        law = null * np.exp(losses) / (null @ np.exp(losses))
        assert law @ np.log(law / null) <= range_rho(epsilon)
        for order in (1.1, 2.0, 9.0):
            assert math.log(law**order @ null ** (1 - order)) / (order - 1) <= order * range_rho(epsilon)


@pytest.mark.parametrize("rounds", [1, 3, 10, 1000])
@pytest.mark.parametrize("rho", [1e-300, 1e-9, 0.05, 0.1, 0.5, 2.0, 77.0, 1e6, 1e308])
def test_the_inverse_is_the_largest_float_that_fits(rho, rounds):
    found = largest_range(rho, rounds)
    assert rounds * Fraction(range_rho(found)) <= Fraction(rho)
    assert rounds * Fraction(range_rho(math.nextafter(found, math.inf))) > Fraction(rho) or found == 1e308
    assert present(BoundedRange(found).repeat(rounds).as_zcdp()).rho <= rho
    assert found >= math.sqrt(8) * math.sqrt(rho / rounds) * (1 - 1e-14), "never less than by an eighth"


def test_a_rho_that_no_round_fits_is_refused():
    assert largest_range(0.0) == largest_range(5e-324, 2) == 0.0
    with pytest.raises(ValueError, match="no parameter fits the budget"):
        epsilon_of_a_round(2, ZCDP(5e-324))


@pytest.mark.parametrize(
    ("guarantee", "rho"),
    [
        (BoundedRange(1.0), 0.12330156148224454),
        (PureDP(1.0), 0.4621171572600098),
        (ExPost(1.0, 0.25), 0.4621171572600098),
        (ApproxDP(1.0, 1e-6), 0.4621171572600098),
        (ThinnedRange(1.0, 3, 1e-6), 0.36990468444673366),
        (BoundedRange(1.0).repeat(3), 0.36990468444673366),
    ],
)
def test_every_guarantee_says_the_tight_number(guarantee: Guarantee, rho):
    assert present(guarantee.as_zcdp()).rho == rho
    if not present(guarantee.as_zcdp()).delta:
        for order in (1 + 1e-9, 1.001, 2.0, 50.0):
            assert guarantee.rdp(order) <= order * rho * (1 + 1e-14)


def test_what_a_zcdp_budget_calibrates_is_the_inverse():
    assert of_kind(BoundedRange, CanonicalTopK(k=3, budget=ZCDP(0.5)).charge).epsilon == largest_range(0.5)
    assert of_kind(BoundedRange, JointTopK(k=3, budget=ZCDP(0.5)).charge).epsilon == largest_range(0.5)
    assert of_kind(BoundedRange, LargeGap(budget=ZCDP(0.5), limit=9).charge).epsilon == largest_range(0.5)
    assert OneshotTopK(k=10, budget=ZCDP(0.5)).charge == BoundedRange(largest_range(0.5, 10)).repeat(10)
    assert PATE(rho=0.5, delta=1e-6, queries=10, classes=3).query == BoundedRange(largest_range(0.5, 10))
    many = MultiLabelPATE(rho=0.5, delta=1e-6, queries=10)
    assert present(many.query.repeat(10).as_zcdp()).rho <= 0.5


# On the mechanisms themselves


def divergence(mechanism: NoisyMax, here: list[float], there: list[float]) -> arb:
    """KL of the certified laws on two neighbours, the worse of the two ways."""
    one, two = (of_law(mechanism, x) for x in (here, there))
    ways = [sum((p * (p / q).log() for p, q in zip(a, b, strict=True)), arb(0)) for a, b in ((one, two), (two, one))]
    return ways[0] if ways[0] > ways[1] else ways[1]


def of_law(mechanism: NoisyMax, x: list[float]) -> list[arb]:
    law = certify(mechanism, Scores(x, sensitivity=1, monotone=True))
    return [law.chances[outcome] for outcome in sorted(law.chances, key=repr)]  # type: ignore[union-attr]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_the_exponential_mechanism_reaches_it_and_no_more(epsilon):
    """One of two candidates moves by one person, from the place that is worst."""
    mechanism = NoisyMax(epsilon=epsilon, noise="gumbel")
    t = math.log(math.expm1(epsilon) / epsilon)
    null = math.expm1(t - epsilon) / math.expm1(-epsilon) * math.exp(-t)  # Q(loss = t)
    logit = math.log(null / (1 - null)) / epsilon
    with ctx.workprec(160):
        found = divergence(mechanism, [logit, 0.0], [logit + 1.0, 0.0])
        assert found <= exact(range_rho(epsilon))
        assert found >= exact(range_rho(epsilon)) * (1 - arb(10) ** -9)
        others = [divergence(mechanism, [x, 0.0, 1.0], [x + 1.0, 0.0, 2.0]) for x in (-2.0, 0.0, 0.5, 3.0)]
        assert all(one <= exact(range_rho(epsilon)) for one in others)


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize(
    "mechanism",
    [
        NoisyMax(budget=ZCDP(0.5), noise="gumbel"),
        OneshotTopK(k=2, budget=ZCDP(0.5)),
        CanonicalTopK(k=2, budget=ZCDP(0.5)),
    ],
    ids=["one winner", "ordered", "set"],
)
def test_a_budget_of_zcdp_holds_on_a_box(mechanism, monotone):
    proof = prove_mechanism(mechanism, claim=ZCDP(0.5), monotone=monotone)
    assert proof.holds, proof.violation
    assert not prove_mechanism(mechanism, claim=ZCDP(0.1), monotone=monotone).holds


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_permute_and_flip_has_not_the_rho_of_bounded_range_and_has_that_of_pure(epsilon):
    flip = NoisyMax(epsilon=epsilon, noise="exponential")
    assert not prove_mechanism(flip, claim=ZCDP(range_rho(epsilon)), monotone=True).holds
    assert prove_mechanism(flip, claim=ZCDP(pure_rho(epsilon)), monotone=True).holds
    assert present(flip.charge.as_zcdp()).rho == pure_rho(epsilon)


def test_a_ledger_books_the_tight_number_and_admits_what_an_eighth_would_not(tmp_path):
    with Ledger(tmp_path / "one.db", budget=ZCDP(1.478)) as ledger:
        for _ in range(3):  # at an eighth of the square only two
            ledger.charge(BoundedRange(2.0))
        assert ledger.spent.rho == pytest.approx(3 * 0.474474647071, rel=1e-11)
