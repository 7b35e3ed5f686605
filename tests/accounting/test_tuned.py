"""The guarantee of the best of a random number of runs: oracles, random base laws, and a box of neighbours."""

import math
from functools import cache, partial

import numpy as np
import pytest
from flint import arb, ctx

from shortlist import tuned
from shortlist.accounting import compose as accountant
from shortlist.accounting import curves
from shortlist.audit import neighbours, prove
from shortlist.audit.certified import base as balls
from shortlist.privacy import (
    ZCDP,
    ApproxDP,
    Binomial,
    BoundedRange,
    Capped,
    GumbelDP,
    Mixed,
    NegativeBinomial,
    Poisson,
    PureDP,
    RenyiDP,
    Tuned,
    compose,
)
from studies.broken.run_numbers import best_law, generating
from tests.helpers.inside import range_rho
from tests.helpers.support import full_size, in_suite, sized

TEN = NegativeBinomial(mean=10)
GEOMETRIC = NegativeBinomial(mean=10, eta=1)
LAWS: list[tuned.RunLaw] = [
    TEN,
    GEOMETRIC,
    NegativeBinomial(mean=5, eta=-0.5),
    Poisson(0.7),
    Poisson(6),
    Binomial(6, 0.6),
    Capped(NegativeBinomial(mean=10), 20),
]


class OneRun:
    """What a run promises, by its curves alone."""

    def __init__(self, one):
        self.one = one

    def curves(self):
        return ((self.one, 1),)


@cache
def gauss(runs):
    """Of a Gaussian run with mu = 1/2."""
    one = curves.Curves(
        renyi=lambda orders: orders / 8, pairs=(curves.gaussian(0.125),), witness=lambda order: (), rho=0.125
    )
    return tuned.best_curves(OneRun(one), runs)


def at(profile, x):
    return float(profile(np.array([x]))[0])


def test_a_pure_run():
    assert Tuned(PureDP(1.0), TEN).as_pure() == PureDP(1.9392357593486378)
    found = Tuned(PureDP(1.0), TEN)
    assert found.delta_at(1.5) <= PureDP(found.epsilon_at(0)).delta_at(1.5) < 0.6476566
    assert found.delta_at(1.94) == 0
    assert round(Tuned(PureDP(1.0), Capped(TEN, 50)).epsilon_at(0), 8) == 1.93923572
    assert Tuned(PureDP(1.0), Binomial(10, 1.0)).epsilon_at(0) == 10


def test_a_gaussian_run_is_charged_no_more_than_is_known():
    known = {
        GEOMETRIC: (3.7704e-5, [1.7955, 2.0354, 2.9522]),
        TEN: (5.5968e-6, [1.6983, 1.8836, 2.7721]),
        NegativeBinomial(mean=100): (3.1051e-3, [math.inf] * 3),
    }
    for runs, (delta, orders) in known.items():
        assert 0.9 * delta < at(gauss(runs).pairs[0], 3.0) <= delta
        assert (gauss(runs).renyi(np.array([4.0, 8.0, 16.0])) <= 1.0001 * np.array(orders)).all()


def test_a_gaussian_run_against_the_worst_order_of_outcomes_that_was_found():
    """A bound, an attack that reaches that far, and what was published before."""
    for runs, attack, ours, published in (
        (GEOMETRIC, 3.229, 3.383, 3.993),
        (TEN, 3.059, 3.175, 3.531),
        (NegativeBinomial(mean=100), 3.699, 3.856, 4.215),
    ):
        found = accountant.epsilon_upper(((gauss(runs), 1),), 1e-6)
        assert attack < found <= ours < published


def test_a_run_known_by_its_renyi_curve():
    for runs, divergence, epsilon in ((GEOMETRIC, 2.2328, 3.6076), (TEN, 2.0152, 3.3739)):
        found = Tuned(ZCDP(0.125), runs)
        assert 0.98 * divergence < found.rdp(8.0) <= divergence
        assert 0.98 * epsilon < found.epsilon_at(1e-6) <= epsilon


def published(runs, orders, divergence, order):
    """D_a + (1 + eta) [(1 - 1/b) D_b + ln(1/gamma)/b] + ln(m)/(a - 1), at the best b: what was known before."""
    b = orders
    spent = (1 + runs.eta) * np.min((1 - 1 / b) * divergence(b) + math.log(1 / runs.gamma) / b)
    return divergence(order) + spent + math.log(runs.mean) / (order - 1)


def test_the_published_renyi_bound_is_that_of_dp_accounting_and_ours_is_never_worse():
    orders = 1 + np.geomspace(1e-2, 1e3, 2000)
    line = lambda order: order / 8  # noqa: E731
    known = {(TEN, 8.0): 2.548365, (TEN, 32.0): 5.293701, (GEOMETRIC, 8.0): 3.224916}
    for (runs, order), wanted in known.items():
        assert published(runs, orders, line, order) == pytest.approx(wanted, abs=2e-5)
    for runs in (TEN, GEOMETRIC, NegativeBinomial(mean=30, eta=-0.5)):
        for order in (1.5, 2.0, 4.0, 8.0, 32.0):
            assert Tuned(ZCDP(0.125), runs).rdp(order) <= published(runs, orders, line, order) + 1e-9


def winner(chances, order, runs):
    """The law of the winner in floats: outcomes in rising order of their scores, none first."""
    ranked = chances[order]
    below = np.concatenate([[0.0], np.cumsum(ranked)])
    below[-1] = 1.0
    reached = 1 - runs.hit_probability(1 - below)
    return np.concatenate([[runs.none], np.diff(reached)])


def stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def renyi(p, q, order):
    there = (p > 0) | (q > 0)
    logs = order * np.log(p[there]) + (1 - order) * np.log(q[there])
    return float(np.logaddexp.reduce(logs)) / (order - 1)


def pairs_of_laws(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        d = int(rng.integers(2, 7))
        p, q = rng.dirichlet(np.full(d, rng.choice([0.3, 1.0, 5.0])), size=2) + 1e-4
        yield p / p.sum(), q / q.sum(), rng.permutation(d)


@pytest.mark.parametrize("runs", [law for law in LAWS if not isinstance(law, Capped)], ids=repr)
def test_no_pure_pair_of_laws_exceeds_its_claim_and_some_come_near(runs):
    nearest = 0.0
    for p, q, order in pairs_of_laws(1500, 1):
        epsilon = float(np.abs(np.log(p / q)).max())
        one, two = winner(p, order, runs), winner(q, order, runs)
        there = (one > 0) | (two > 0)
        found = float(np.abs(np.log(one[there] / two[there])).max())
        claimed = tuned.pure_cost(runs, epsilon)
        assert claimed is not None
        assert found <= claimed + 1e-9
        nearest = max(nearest, found / claimed)
    assert nearest > 0.8


def test_the_pure_claim_is_reached_in_the_limit():
    """An outcome of vanishing mass at the corner: less than the formula would be too little."""
    for runs in LAWS[:6]:
        high, low, tiny = math.e / (1 + math.e), 1 / (1 + math.e), 1e-7
        p = np.array([high * (1 - tiny), tiny * math.e, 0.0])
        q = np.array([low * (1 - tiny), tiny, 0.0])
        p[2], q[2] = 1 - p.sum(), 1 - q.sum()
        one, two = (winner(law, np.arange(3), runs) for law in (p, q))
        claimed = Tuned(PureDP(1.0), runs).epsilon_at(0.0)
        assert claimed - 1e-3 < math.log(one[2] / two[2]) <= claimed + 1e-5


@full_size
@pytest.mark.parametrize("runs", in_suite(LAWS, 0, 2, 4, 6), ids=repr)
def test_no_pair_of_laws_exceeds_its_renyi_curve_and_its_profile(runs):
    for p, q, order in pairs_of_laws(sized(3, full=200), 2):

        def curve(orders, p=p, q=q):
            return np.array([max(renyi(p, q, float(a)), renyi(q, p, float(a))) for a in orders]) * (1 + 1e-12)

        def half(x, p=p, q=q):
            return np.array([max(stick(p, q, e), stick(q, p, e)) for e in x.ravel()]).reshape(x.shape) * (1 + 1e-12)

        base = curves.Curves(renyi=curve, pairs=(curves.symmetric(half),), witness=lambda a: (), pure=math.inf)
        claim = tuned.best_curves(OneRun(base), runs)
        laws = winner(p, order, runs), winner(q, order, runs)
        for one, two in (laws, laws[::-1]):
            for a in (1.5, 2.0, 5.0):
                assert renyi(one, two, a) <= float(claim.renyi(np.array([a]))[0]) + 1e-9
            for epsilon in (0.1, 0.7, 1.5):
                assert stick(one, two, epsilon) <= at(claim.pairs[0], epsilon) + 1e-9


EPSILON = 0.8


def one_run(x):
    """One of two candidates, 1 to 3; its score is drawn by the exponential mechanism; and at 0 the second fails."""
    found = {}
    for place, (share, value) in enumerate(zip((balls.rational(0.25), balls.rational(0.75)), x, strict=True)):
        weights = [balls.power(-balls.rational(EPSILON / 2) * balls.rational(abs(score - value))) for score in range(3)]
        for score, weight in enumerate(weights):
            failed = place == 1 and score == 0
            outcome = (place, "failed") if failed else (place, score)
            found[outcome] = (-math.inf if failed else score, arb(share) * weight / sum(weights, arb(0)))
    return found


@cache
def best_of(runs, x):
    """Whatever is claimed of it, the law is one."""
    with ctx.workprec(balls.PRECISION):
        return best_law(one_run(x), generating(runs))


@pytest.mark.parametrize("base", [PureDP(EPSILON), BoundedRange(EPSILON), ZCDP(range_rho(EPSILON))], ids=repr)
@pytest.mark.parametrize("runs", LAWS, ids=repr)
def test_two_candidates_keep_the_claim_on_a_box(base, runs):
    law = partial(best_of, runs)
    proof = prove(law, neighbours(2, 2, everywhere=True), Tuned(base, runs))
    assert proof.holds, proof
    if isinstance(base, PureDP):  # what the box sees of a law is the same under every base
        assert prove(law, neighbours(2, 2, everywhere=True), PureDP(proof.least_log_ratio * 0.99)).violation


def test_a_mixture_of_runs():
    mixed = Mixed(((PureDP(0.5), 3), (PureDP(1.0), 1)))
    assert mixed.as_pure() == PureDP(1.0)
    assert mixed.delta_at(0.5) == pytest.approx(PureDP(1.0).delta_at(0.5) / 4, rel=1e-9)
    moment = (3 * math.exp(PureDP(0.5).rdp(2.0)) + math.exp(PureDP(1.0).rdp(2.0))) / 4
    assert mixed.rdp(2.0) == pytest.approx(math.log(moment), rel=1e-9)
    assert Tuned(mixed, TEN).as_pure() == Tuned(PureDP(1.0), TEN).as_pure()
    assert Tuned(mixed, TEN).epsilon_at(1e-2) < Tuned(PureDP(1.0), TEN).epsilon_at(1e-2)
    thinned = Mixed(((ApproxDP(0.5, 1e-6), 1), (PureDP(0.5), 1)))
    assert thinned.as_pure() is None
    assert thinned.delta_at(0.5) == pytest.approx(5e-7, rel=1e-9)


def test_a_run_with_a_delta_has_a_profile_alone():
    found = Tuned(ApproxDP(1.0, 1e-7), TEN)
    assert (found.as_pure(), found.as_zcdp(), found.rdp(2.0)) == (None, None, math.inf)
    assert found.epsilon_at(1e-5) <= Tuned(PureDP(1.0), TEN).epsilon_at(0) + 1e-6
    assert found.delta_at(3.0) == pytest.approx(1e-6, rel=1e-3)  # ten runs on average
    assert "delta of its own" in found.why_not()


def test_runs_of_other_kinds():
    for base in (compose(BoundedRange(0.3).repeat(3), PureDP(0.1)), GumbelDP(0.2), RenyiDP([2, 8], [0.1, 0.5])):
        alone, found = base.epsilon_at(1e-5), Tuned(base, TEN).epsilon_at(1e-5)
        assert alone <= found < math.inf


def test_one_run_always_costs_what_it_costs():
    for base in (PureDP(0.7), ZCDP(0.1)):
        assert Tuned(base, Binomial(1, 1.0)).epsilon_at(1e-6) == pytest.approx(base.epsilon_at(1e-6), rel=1e-6)
    assert Tuned(ZCDP(0.1), Binomial(4, 1.0)).epsilon_at(1e-6) <= ZCDP(0.1).repeat(4).epsilon_at(1e-6) * (1 + 1e-9)


def test_the_zcdp_that_follows_holds_at_every_order():
    for base, runs in ((ZCDP(0.125), GEOMETRIC), (ZCDP(0.01), Poisson(5)), (PureDP(0.5), TEN)):
        found = Tuned(base, runs)
        zcdp = found.as_zcdp()
        assert zcdp is not None
        assert all(found.rdp(order) <= order * zcdp.rho * (1 + 1e-9) for order in 1 + np.geomspace(1e-5, 1e6, 60))


class _Steep:
    """Slopes whose ratio is e^.5 at a step, where cells are tight, and a little less near 1, where they are loose."""

    def log_slope(self, x):
        return np.where(x > 0.5, 0.5, 0.0) + np.maximum(x - 0.95, 0.0) * 480


def test_cells_that_are_not_cut_finer_count_as_they_are():
    ratios = tuned._Ratios.of(tuned.Region.of(np.array([1e-3]), np.array([1.0])), _Steep())  # type: ignore[arg-type]
    assert 0.5 <= ratios.largest <= 0.5 + 1e-9


def test_a_base_or_a_law_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="base must be"):
        Tuned(1.0, TEN)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="runs must be"):
        Tuned(PureDP(1.0), 10)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="parts must be"):
        Mixed(((1.0, 1),))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="weights"):
        Mixed(((PureDP(1.0), 0),))
