"""Laws of a random number of runs: their formulas against sums of their chances, and what they refuse."""

import math

import numpy as np
import pytest
from flint import arb, ctx

from shortlist import tuned
from shortlist.privacy import Binomial, Capped, NegativeBinomial, Poisson
from studies.broken.run_numbers import chances, generating

LAWS = [
    NegativeBinomial(mean=3, eta=-0.5),
    NegativeBinomial(mean=10),
    NegativeBinomial(mean=10, eta=0.5),
    NegativeBinomial(mean=3, eta=1),
    NegativeBinomial(mean=2, eta=2),
    Poisson(0.7),
    Poisson(10),
    Binomial(20, 0.5),
    Binomial(1, 0.3),
    Binomial(7, 1.0),
    Capped(NegativeBinomial(mean=10), 50),
    Capped(Poisson(10), 4),
    Capped(Binomial(20, 0.5), 9),
]


@pytest.mark.parametrize("runs", LAWS, ids=repr)
def test_slopes_moments_and_misses_are_those_of_the_chances(runs):
    with ctx.workprec(200):
        known = np.array([float(one) for one in chances(runs, 900 if runs.most is None else runs.most)])
        f = generating(runs)
        for x in (0.0, 0.3, 0.9):
            assert float(f(arb(x))) == pytest.approx(np.polyval(known[::-1], x), rel=1e-9, abs=1e-12)
    k = np.arange(len(known))
    assert runs.none == pytest.approx(known[0], rel=1e-12, abs=1e-300)
    for x in (0.05, 0.5, 0.97):
        slope = float(np.sum(k[1:] * known[1:] * x ** (k[1:] - 1)))
        assert math.exp(runs.log_slope(np.array([x]))[0]) == pytest.approx(slope, rel=1e-9)
        assert runs.hit_probability(np.array([1 - x]))[0] == pytest.approx(
            float(np.sum(known * -np.expm1(k * np.log(x)))), rel=1e-9
        )
    assert math.exp(runs.log_slope(np.array([1.0]))[0]) == pytest.approx(runs.mean, rel=1e-9)
    t = 1e-3
    if not (isinstance(runs, NegativeBinomial) and runs.gamma < 0.01):
        moment = float(np.log(np.sum(known * np.exp(k * t))))
        assert runs.log_moment(np.array([t]))[0] == pytest.approx(moment, rel=1e-6)


def test_gamma_of_a_mean():
    found = {eta: NegativeBinomial(mean=10, eta=eta).gamma for eta in (-0.5, 0, 0.5, 1, 2)}
    known = {-0.5: 0.002770083102493, 0: 0.02691825960068, 0.5: 0.0625, 1: 0.1, 2: 0.1708203932499}
    assert found == pytest.approx(known, rel=1e-12)
    assert NegativeBinomial(mean=100).gamma == pytest.approx(0.00154211507489, rel=1e-11)
    assert NegativeBinomial(mean=10).mean == pytest.approx(10, rel=1e-14)


def test_the_first_chances():
    known = {
        0.0: [0.269182596, 0.1309683345, 0.0849619299, 0.062006177, 0.0482696629],
        0.5: [0.15625, 0.1098632812, 0.0858306885, 0.0704079866, 0.0594067387],
        -0.5: [0.5263157895, 0.1312144627],
    }
    for eta, wanted in known.items():
        found = [float(one) for one in chances(NegativeBinomial(mean=10, eta=eta), 5)][1 : len(wanted) + 1]
        assert found == pytest.approx(wanted, abs=1e-10)


def test_how_likely_the_best_of_twenty_is_tried():
    laws: list[tuned.RunLaw] = [NegativeBinomial(mean=10, eta=eta) for eta in (-0.5, 0, 1)]
    found = [float(one.hit_probability(np.array(0.05))) for one in [*laws, Poisson(10), Binomial(20, 0.5)]]
    assert found == pytest.approx([0.186605, 0.285560, 0.344828, 0.393469, 0.397312], abs=1e-6)


def test_pure_costs():
    laws: list[tuned.RunLaw] = [NegativeBinomial(mean=10), NegativeBinomial(mean=10, eta=1), NegativeBinomial(mean=100)]
    laws += [Poisson(10), Binomial(20, 0.5), Binomial(10, 1.0)]
    ones = [1.93923576, 2.59134408, 1.99638401, 5.62117157, 6.90045171, 10]
    tenths = [0.1947494, 0.26359128, 0.19969154, 0.59958375, 0.73286459, 1]
    assert [round(tuned.pure_cost(runs, 1.0) or 0, 8) for runs in laws] == ones
    assert [round(tuned.pure_cost(runs, 0.1) or 0, 8) for runs in laws] == tenths
    assert tuned.pure_cost(Capped(Poisson(10), 4), 1.0) is None


def test_a_capped_mean():
    assert round(Capped(NegativeBinomial(mean=10), 50).mean, 7) == 7.7005165


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: NegativeBinomial(mean=1), "mean must be"),
        (lambda: NegativeBinomial(mean=10, eta=-1), "eta must be"),
        (lambda: NegativeBinomial(mean=10, eta=1e-9), "eta must be 0"),
        (lambda: NegativeBinomial(gamma=1e-12), "at most 1,000,000 runs"),
        (lambda: NegativeBinomial(gamma=1.0), "gamma must be"),
        (lambda: Poisson(0), "mean must be"),
        (lambda: Binomial(20, 0.0), "p must be"),
        (lambda: Binomial(20, 1.5), "p must be"),
        (lambda: Binomial(0, 0.5), "n must be"),
        (lambda: Binomial(10**7, 0.5), "n must be"),
        (lambda: Capped(Poisson(3), 0), "cap must be"),
        (lambda: Capped(Poisson(3), 10**6), "cap must be"),
        (lambda: Capped(Binomial(5, 1.0), 3), "cap must leave"),
    ],
)
def test_what_is_refused(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_a_law_is_said_one_way():
    with pytest.raises(TypeError, match="either mean= or gamma="):
        NegativeBinomial()
    with pytest.raises(TypeError, match="either mean= or gamma="):
        NegativeBinomial(mean=10, gamma=0.1)
    with pytest.raises(TypeError, match="runs must be"):
        Capped(Capped(Poisson(3), 5), 4)  # type: ignore[arg-type]
    assert eval(repr(NegativeBinomial(mean=7, eta=0.5))) == NegativeBinomial(mean=7, eta=0.5)
