"""Numbers of tuning to all digits that are known of them, and those of dp-accounting where it is installed."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from shortlist import tuned
from shortlist.accounting import curves
from shortlist.privacy import ZCDP, Binomial, Capped, NegativeBinomial, Poisson, PureDP, Tuned
from studies.broken.run_numbers import chances

TEN, GEOMETRIC, HUNDRED = NegativeBinomial(mean=10), NegativeBinomial(mean=10, eta=1), NegativeBinomial(mean=100)


def digits(value, known):
    """Whether a value is the known one in all its digits."""
    places = len(known.split(".")[1].split("e")[0])
    exponent = int(known.split("e")[1]) if "e" in known else 0
    return abs(float(value) - float(known)) <= 0.5000001 * 10.0 ** (exponent - places)


@pytest.mark.parametrize(
    ("mean", "eta", "gamma"),
    [(10, -0.5, ".002770083102493"), (10, 0, ".02691825960068"), (10, 0.5, ".0625000000000"), (10, 1, ".1000000000000"),
     (10, 2, ".1708203932499"), (100, 0, ".00154211507489")],
)  # fmt: skip
def test_gamma(mean, eta, gamma):
    assert digits(NegativeBinomial(mean=mean, eta=eta).gamma, gamma)


@pytest.mark.parametrize(
    ("eta", "known"),
    [(0.0, ".2691825960 .1309683345 .0849619299 .0620061770 .0482696629"),
     (0.5, ".1562500000 .1098632812 .0858306885 .0704079866 .0594067387"), (-0.5, ".5263157895 .1312144627")],
)  # fmt: skip
def test_chances(eta, known):
    law = chances(NegativeBinomial(mean=10, eta=eta), 5)[1:]
    assert all(digits(chance, one) for chance, one in zip(law, known.split(), strict=False))


def test_pure_costs():
    laws: list[tuned.RunLaw] = [TEN, GEOMETRIC, HUNDRED, Poisson(10), Binomial(20, 0.5), Binomial(10, 1.0)]
    ones = ["1.93923576", "2.59134408", "1.99638401", "5.62117157", "6.90045171", "10.00000000"]
    tenths = [".19474940", ".26359128", ".19969154", ".59958375", ".73286459", "1.00000000"]
    for runs, one, tenth in zip(laws, ones, tenths, strict=True):
        assert digits(tuned.pure_cost(runs, 1.0), one)
        assert digits(tuned.pure_cost(runs, 0.1), tenth)


def test_the_best_of_twenty():
    laws: list[tuned.RunLaw] = [NegativeBinomial(mean=10, eta=-0.5), TEN, GEOMETRIC, Poisson(10), Binomial(20, 0.5)]
    for runs, known in zip(laws, [".186605", ".285560", ".344828", ".393469", ".397312"], strict=True):
        assert digits(runs.hit_probability(np.array(0.05)), known)


def test_a_pure_run_by_its_profile():
    r = Tuned(PureDP(1.0), TEN).epsilon_at(0) - 1
    assert digits(r, ".9392357593")
    below = (math.e - math.exp(1.5 - r)) / (math.e + 1)  # the profile of randomised response
    assert digits(TEN.hit_probability(np.array(below)), ".6476565")
    assert digits(Capped(TEN, 50).mean, "7.7005165")
    assert digits(Tuned(PureDP(1.0), Capped(TEN, 50)).epsilon_at(0), "1.93923572")


def test_the_largest_ratio_of_slopes_of_a_gaussian_run_is_at_most_what_a_coarser_grid_gave():
    """200 epsilons there; here 300, and tangents of Renyi balls of 60 orders: below it, by under a hundredth."""
    one = curves.Curves(
        renyi=lambda orders: orders / 8, pairs=(curves.gaussian(0.125),), witness=lambda order: (), rho=0.125
    )
    where = tuned.base_of(type("OneRun", (), {"curves": lambda _: ((one, 1),)})()).region
    for runs, coarse, fine in ((GEOMETRIC, 0.89285, 0.89217), (TEN, 0.68431, 0.68352), (HUNDRED, 1.14832, 1.14271)):
        assert 0.99 * fine < tuned._Ratios.of(where, runs).largest <= coarse


def test_a_zcdp_run_against_the_published_bound():
    for runs, order_8, epsilon, published_8, published in (
        (GEOMETRIC, 2.2328, 3.6076, "3.2249", "4.5451"), (TEN, 2.0152, 3.3739, "2.5484", "3.8685"),
    ):  # fmt: skip
        promised = Tuned(ZCDP(0.125), runs)
        assert promised.rdp(8.0) <= order_8
        assert promised.epsilon_at(1e-6) <= epsilon
        assert digits(steinke(runs, 8.0), published_8)
        assert float(published) - 2e-4 < least_epsilon(runs, 1e-6) <= float(published)  # that is of a grid of orders


def steinke(runs, order):
    """D_a + (1 + eta) min_b [(1 - 1/b) D_b + ln(1/gamma)/b] + ln(m)/(a - 1), D_a = a/8: b = sqrt(8 ln(1/gamma))."""
    b = math.sqrt(8 * math.log(1 / runs.gamma))
    spent = (b - 1) / 8 + math.log(1 / runs.gamma) / b
    return order / 8 + (1 + runs.eta) * spent + math.log(runs.mean) / (order - 1)


def least_epsilon(runs, delta):
    """The usual conversion, at its best order."""

    def at(log):
        order = 1 + math.exp(log)
        return steinke(runs, order) + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)

    return minimize_scalar(at, bounds=(-3, 6), method="bounded", options={"xatol": 1e-9}).fun


PUBLISHED = [(TEN, 8, "2.548365"), (TEN, 32, "5.293701"), (GEOMETRIC, 8, "3.224916")]


@pytest.mark.parametrize(("runs", "order", "known"), PUBLISHED)
def test_the_published_bound_is_that_of_dp_accounting(runs, order, known):
    assert float(known) - 1e-5 < steinke(runs, float(order)) <= float(known)  # that is of a grid of orders
    rdp = pytest.importorskip("dp_accounting.rdp", reason="dp-accounting is not installed")
    events = pytest.importorskip("dp_accounting.dp_event")
    orders = [*(1 + np.geomspace(1e-2, 1e2, 4000)), order]
    one = events.RepeatAndSelectDpEvent(events.GaussianDpEvent(2.0), 10, runs.eta)
    theirs = dict(zip(orders, rdp.RdpAccountant(orders).compose(one)._rdp, strict=True))
    assert theirs[order] == pytest.approx(steinke(runs, float(order)), abs=1e-6)
