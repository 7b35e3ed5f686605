"""GuardedTopK under (epsilon, delta) and zCDP: oracles by enumeration, prices on a box, draws against exact laws."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

import shortlist as sl
from shortlist import ApproxDP, BudgetExceeded, Ledger, PureDP, Scores
from shortlist.audit import Law, certify, prove_mechanism
from shortlist.exact.noise import GUMBEL
from shortlist.exact.reals import ball
from shortlist.exact.subsets import rank_scores
from shortlist.mechanisms import CanonicalTopK, GuardedTopK
from shortlist.mechanisms import sets as budgets
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.mechanisms.sets import GuardedRace, OneShot, junk_from, rho_of, share_of
from shortlist.privacy import ZCDP, BoundedRange
from shortlist.sampling import sets as module
from shortlist.sampling.sets import prepare_guard
from shortlist.utility.sets import guarded_set
from tests.helpers.inside import WordStream
from tests.helpers.support import assert_law, full_size, in_suite, once_at_each_precision, sized
from tests.helpers.typed import noting, of_kind, present
from tests.mechanisms.guarded.by_formula import as_sets, masses, raced, recall, renyi, stick, switched

PURE, APPROX, RHO = PureDP(1.0), ApproxDP(1.0, 1e-6), ZCDP(1.0)
X, MOVED = [5, 4, 4, 1, 0], [5, 4, 4, 2, 1]
JUNK = {(1, 1), (1, 2)}
SETS = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 4)]


def ranking(x, k, rate):
    return rank_scores(np.array(x), k, Fraction(rate), Fraction(1, 2), gap_aware=True)


def small_race(x, guard, scale):
    return GuardedRace(np.arange(len(x)), np.array(x), guard, OneShot(GUMBEL, Fraction(scale)), False)


def small_switch(x=X, k=2, rate=Fraction(4, 5), tau=1, rho=Fraction(1, 2)):
    return module.prepare_switch(ranking(x, k, rate), Fraction(1, 4), Fraction(tau), junk_from(k, len(x), rho))


# The race before peeling, (Table 176)


def test_sets_of_the_race_before_peeling_are_those_of_the_table():
    law = raced(X, 2, 0.8, 0.25, 2, JUNK, 0.4)
    sets = as_sets(law)
    wanted = [0.2716583482, 0.2716583482, 0.0752665903, 0.0499558747, 0.1672727130, 0.0460499659, 0.0460499659,
              0.0305405632, 0.0305405632, 0.0110070672]  # fmt: skip
    np.testing.assert_allclose([sets[y] for y in SETS], wanted, atol=1e-9)
    assert recall(law, X, 2) == pytest.approx(0.8497911712, abs=1e-9)
    guard = prepare_guard(ranking(X, 2, Fraction(4, 5)), Fraction(1, 4), Fraction(2), junk_from(2, 5, Fraction(1, 2)))
    found = guarded_set(small_race(X, guard, Fraction(5, 2)), len(X))
    assert found.quality().recall == pytest.approx(0.8497911712, abs=1e-8)
    assert found.guard == pytest.approx(0.8852852146, abs=1e-8)
    gumbel = raced(X, 2, 0.8, 0.25, 2, JUNK, 0.4, gumbel=True)
    assert as_sets(gumbel)[0, 1] == pytest.approx(0.2713231396, abs=1e-9)
    assert recall(gumbel, X, 2) == pytest.approx(0.8494545742, abs=1e-9)


@pytest.mark.parametrize(("gumbel", "wanted"), [(False, 0.0031147437), (True, 0.0031021211)])
def test_what_the_race_before_peeling_costs_is_what_the_table_says(gumbel, wanted):
    here, there = (raced(x, 2, 0.8, 0.25, 2, JUNK, 0.4, gumbel=gumbel) for x in (X, MOVED))
    assert stick(here, there, 0.5) == 0
    assert stick(there, here, 0.5) == pytest.approx(wanted, abs=1e-9)
    assert stick(here, there, 0.8) == stick(there, here, 0.8) == 0


def test_delta_is_nearly_reached():
    here, there = (raced(x, 2, 0.5, 0.1, 2, JUNK, 0.586975283, gumbel=True) for x in ([0] * 5, [0, 0, 0, 1, 1]))
    assert stick(here, there, 0.5) == pytest.approx(0.0317259353, abs=1e-9)
    assert 0.7 * 0.05 < stick(there, here, 0.5) <= 0.05


def test_peeling_with_the_whole_budget_would_break_it():
    """At ((1 - a) epsilon, delta) nothing is over; at (epsilon, delta) seven times delta is."""
    pair = [3, 1, 3, 1, 1], [3, 2, 3, 2, 2]
    for share, wanted in ((1.0, 0.0072692864), (0.75, 0.0)):
        e = epsilon_of_a_round(2, ApproxDP(2.0 * share, 0.001))
        here, there = (raced(x, 2, 2.0, 0.25, 0, JUNK, e, gumbel=True) for x in pair)
        assert max(stick(here, there, 2.0), stick(there, here, 2.0)) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    ("k", "budget", "e"),
    [(2, (0.6, 0.01), 0.480404323), (2, (0.6, 1e-6), 0.306181745), (2, (0.75, 0.001), 0.453580416),
     (10, (219 / 256, 1e-6), 0.132477124)],
)  # fmt: skip
def test_peeling_has_the_e_of_the_table(k, budget, e):
    assert epsilon_of_a_round(k, ApproxDP(*budget)) == pytest.approx(e, rel=1e-6)


def test_the_fallback_has_what_the_guard_leaves_and_all_of_delta():
    share = share_of(10, 4096)
    noise, e = budgets.one_shot_of(ApproxDP(1.0, 1e-6), 10, share)
    assert noise == GUMBEL
    assert float(e) == pytest.approx(0.132477124, rel=1e-6)
    left = ApproxDP(float(1 - share), 1e-6)
    assert left.excess(BoundedRange(float(e)).repeat(10)) <= 0
    assert budgets.one_shot_of(PureDP(1.0), 10, share)[1] == (1 - share) / 10


def test_where_delta_is_not_worth_it_the_fallback_is_that_of_the_pure_budget():
    """The public rule: Gumbel noise where its e is at least 7/5 (k < 8) or 6/5 of that of exponential noise."""
    share = share_of(3, 4096)
    for epsilon, same in ((1e-4, False), (1.0, True)):
        approx, pure = (budgets.one_shot_of(one, 3, share) for one in (ApproxDP(epsilon, 1e-6), PureDP(epsilon)))
        assert (approx == pure) == same
    x = np.array([9, 7, 6, 4, 3, 2, 2, 1, 0])
    both = GuardedTopK(k=3, epsilon=1.0), GuardedTopK(k=3, budget=ApproxDP(1.0, 1e-6))
    assert both[0].quality(x) == both[1].quality(x)
    drawn = [one.release_many(x, draws=50, rng=sl.testing.seeded(3)).indices for one in both]
    assert (drawn[0] == drawn[1]).all()


# The switch, (Table 176)


@pytest.mark.parametrize(
    ("rate", "tau", "lead", "phi", "wanted"),
    [(0.8, 1, 1.3657763154, 0.5228451027, 0.8632994195), (0.8, 16, 1.3657763154, 0.0251223051, 0.9103336793),
     (2.0, 0, 3.7577749455, 0.7189872811, 0.9796056673)],
)  # fmt: skip
def test_the_switch_is_that_of_the_table(rate, tau, lead, phi, wanted):
    law = switched(X, 2, rate, 0.25, tau, JUNK)
    heavy, rest = masses(X, 2, rate, JUNK)
    assert math.log(rest / heavy) == pytest.approx(lead, abs=1e-9)
    assert sum(p for (way, _), p in law.items() if way == "canonical") == pytest.approx(phi, abs=1e-9)
    assert recall(law, X, 2) == pytest.approx(wanted, abs=1e-9)
    switch = small_switch(rate=Fraction(rate), tau=tau)
    assert switch.low <= (lead - tau) / 4 + 1e-9
    assert switch.high >= (lead - tau) / 4 - 1e-9
    assert switch.high - switch.low < 1e-6
    found = guarded_set(small_race(X, switch, Fraction(math.sqrt(2) / rate)), len(X))
    assert found.guard == pytest.approx(1 - phi, abs=1e-8)
    assert found.quality().recall == pytest.approx(wanted, abs=1e-8)


def test_sets_after_the_switch_are_those_of_the_table():
    sets = as_sets(switched(X, 2, 0.8, 0.25, 1, JUNK))
    wanted = [0.2900895208, 0.2900895208, 0.0659994201, 0.0414199990, 0.1653356450, 0.0391756865, 0.0391756865,
              0.0248993367, 0.0248993367, 0.0189158477]  # fmt: skip
    np.testing.assert_allclose([sets[y] for y in SETS], wanted, atol=1e-9)


def test_what_the_switch_costs_is_what_the_table_says():
    here, there = (switched(x, 2, 0.8, 0.25, 1, JUNK) for x in (X, MOVED))
    for order, one, two in ((1.5, 0.0350473016, 0.0424761268), (2, 0.0445163228, 0.0592980683),
                            (4, 0.0737812712, 0.1403543484), (16, 0.1352245297, 0.7155824581)):  # fmt: skip
        assert renyi(here, there, order) == pytest.approx(one, abs=1e-9)
        assert renyi(there, here, order) == pytest.approx(two, abs=1e-9)
        assert max(one, two) <= 0.085 * order


def test_rho_is_nearly_reached():
    rho, junk = 0.005, {(i, j) for i in range(2) for j in range(4) if 2 * i * j > 0 * (i + j)}
    rate = math.sqrt(8 * rho * 16 / 17)
    here, there = (switched(x, 2, rate, 0.25, 12, junk) for x in ([0, 0, 0, 1, 1, 0], [1, 0, 1, 1, 2, 0]))
    assert renyi(here, there, 1.5) / (1.5 * rho) == pytest.approx(0.90449305, abs=1e-6)
    assert renyi(there, here, 1.5) / (1.5 * rho) == pytest.approx(0.90291535, abs=1e-6)


def test_a_switch_that_is_not_charged_would_break_rho():
    rho, junk, pair = 0.3, {(2, 1)}, ([4, 7, 7, 6, 3], [4, 8, 7, 7, 3])
    found = {}
    for share in (1.0, 0.5):
        rate = math.sqrt(8 * rho * share)
        here, there = (switched(x, 3, rate, 1.0, 4, junk) for x in pair)
        found[share] = max(renyi(here, there, 2), renyi(there, here, 2)) / (2 * rho)
    assert found[1.0] == pytest.approx(1.41849066, abs=1e-6)
    assert found[0.5] == pytest.approx(0.59247643, abs=1e-6)


def test_the_switch_is_not_to_be_composed_as_bounded_ranges():
    """One round of e is not dominated by k rounds of e / sqrt k: the hockey stick of that composition is too small."""
    pair = (60, 60, 30, 30, 30, 0, 0, 0), (60, 60, 31, 30, 30, 0, 0, 0)
    e = 2 * math.log(2)
    junk = {(i, j) for i in range(3) for j in range(5) if 5 * i * j > 4 * (i + j)}
    here, there = (switched(x, 3, e, 0.25, 16, junk) for x in pair)
    composed = BoundedRange(e / 4).compose(BoundedRange(e / math.sqrt(3)).repeat(3))
    for epsilon, true in ((0.0, 0.3329), (0.1, 0.2979), (0.3, 0.2163)):
        found = max(stick(here, there, epsilon), stick(there, here, epsilon))
        assert found == pytest.approx(true, abs=1e-4)
        assert composed.delta_at(epsilon) < found - 0.01
        assert found <= ZCDP(17 / 16 * e**2 / 8).delta_at(epsilon)


def test_the_budget_of_the_switch():
    """rho = .1: one seventeenth for the choice, sixteen for what follows."""
    e, (noise, of_a_round) = float(budgets.rate_of(ZCDP(0.1))), budgets.one_shot_of(ZCDP(0.1), 10, Fraction(1, 4))
    assert noise == GUMBEL
    for follows in (BoundedRange(e), BoundedRange(float(of_a_round)).repeat(10)):
        spent = follows.compose(BoundedRange(e / 4))
        assert 0.999999 * 0.1 <= present(spent.as_zcdp()).rho <= 0.1
    assert GuardedTopK(k=10, budget=ZCDP(0.1, 1e-6)).charge == ZCDP(0.1)


# On real data


@pytest.mark.parametrize(
    ("name", "k", "budget", "one_shot", "wanted"),
    [
        ("MEDCOST.n4096", 10, ApproxDP(1.0, 1e-6), 0.98350784, 0.777031),
        ("HEPTH.n4096", 10, ZCDP(0.02), 1 - 0.39416749, 0.93500123),
    ],
)
def test_recall_on_real_data_is_that_of_the_table(shared_data, name, k, budget, one_shot, wanted, monkeypatch):
    from shortlist.mechanisms import sets as here

    monkeypatch.setattr(here, "guarding_of", here.guarding_of.__wrapped__)
    monkeypatch.setattr(here, "rho_of", lambda k, budget: Fraction(1, 2))  # as the table has it
    monkeypatch.setattr(here, "gamma_of", lambda k, budget: Fraction(1, 2))
    if isinstance(budget, ZCDP):  # the table was made with e^2 / 8 of bounded range e, which is a little too much
        e = Fraction(0.3880570001)
        monkeypatch.setattr(here, "rate_of", lambda budget: e)
        monkeypatch.setattr(here, "one_shot_of", lambda budget, k, share: (GUMBEL, e / Fraction(k**0.5)))
    scores, found = Scores(np.load(shared_data / f"{name}.npy"), monotone=True), GuardedTopK(k=k, budget=budget)
    assert found.guard_probability(scores) == pytest.approx(one_shot, abs=2e-6)
    assert found.quality(scores).recall == pytest.approx(wanted, abs=2e-6)


# Prices, on a box of neighbours, of the library's own laws

EVERY = [ApproxDP(0.5, 0.02), ApproxDP(1.0, 0.2), ApproxDP(1.0, 1e-6), ZCDP(0.005), ZCDP(0.3), ZCDP(4.0)]


@full_size
@pytest.mark.parametrize("budget", in_suite(EVERY, 0, 1, 3, 4), ids=str)
@pytest.mark.parametrize(("k", "d"), [(3, 6), pytest.param(4, 7, marks=pytest.mark.long)])
def test_it_keeps_its_budget_on_a_box(budget, k, d):
    """Monotone neighbours and general ones: in the suite in turn, so that each currency meets both."""
    for monotone in sized((EVERY.index(budget) % 2 == 0,), full=(True, False)):
        proof = prove_mechanism(GuardedTopK(k=k, budget=budget), d=d, top=1, monotone=monotone)
        assert proof.holds, proof.violation
        assert proof.log_ratio > 0


WRONGLY: dict[str, Any] = {
    "_rate": lambda rate: 2 * rate,
    "_one_shot": lambda one_shot: replace(one_shot, scale=one_shot.scale / 2),
}


@pytest.mark.parametrize("budget", [ApproxDP(0.5, 0.02), ZCDP(0.3)], ids=str)
@pytest.mark.parametrize("part", WRONGLY)
def test_a_wrong_calibration_is_refuted(budget, part, monkeypatch):
    plain, wrong = getattr(GuardedTopK, part), WRONGLY[part]
    monkeypatch.setattr(GuardedTopK, part, lambda *words: wrong(plain(*words)))
    assert not prove_mechanism(GuardedTopK(k=3, budget=budget), d=6, top=1, monotone=True).holds


# Draws


CASES = [(ApproxDP(0.8, 0.05), ApproxDP(1.3, 0.05)), (ZCDP(1.0), ZCDP(1.6))]


@full_size
@pytest.mark.parametrize(
    ("k", "budget", "other"),
    [pytest.param(k, *one, marks=[] if k == 3 + at else [pytest.mark.long])
     for at, one in enumerate(CASES) for k in (3, 4)],
    ids=str,
)  # fmt: skip
def test_many_draws_have_the_law_of_the_set_and_the_way_it_went(k, budget, other):
    x = [14, 11, 10, 5, 4, 1, 0]
    m, scores = GuardedTopK(k=k, budget=budget), Scores(x, monotone=True)
    assert m._one_shot(scores, 3, 7).noise == GUMBEL
    drawn = m.release_many(scores, draws=sized(10_000, full=50_000), rng=sl.testing.seeded(10))
    ways = [("canonical", "one-shot")[one] for one in present(drawn.chosen)[:, 0].tolist()]
    assert 0.02 < ways.count("canonical") / len(ways) < 0.98
    found = Counter(zip(map(tuple, drawn.indices.tolist()), ways, strict=True))
    law, wrong = (of_kind(Law, certify(GuardedTopK(k=k, budget=one), scores)).chances for one in (budget, other))
    assert set(found) <= set(law)
    laws = [[float(chances[y]) for y in law] for chances in (law, wrong)]
    assert_law([found[y] for y in law], laws[0], wrong=laws[1])


@full_size
@pytest.mark.parametrize("budget", [ApproxDP(0.8, 0.05), ZCDP(2.0)], ids=str)
def test_single_releases_have_the_law_of_many(budget):
    x = [14, 11, 10, 5, 4, 1, 0]
    m, source = GuardedTopK(k=3, budget=budget), sl.testing.seeded(5)
    draws, off = sized(250, full=6000), sized(0.22, full=0.14)
    right = sum(m.release(x, monotone=True, rng=source).items == [0, 1, 2] for _ in range(draws))
    chance = m.success_probability(x, monotone=True)
    assert_law([right, draws - right], [chance, 1 - chance], wrong=[chance - off, 1 + off - chance])


def wanted_of(switch, law):
    """{set or None: chance} of a switch."""
    return {y: p for (way, y), p in law.items() if way == "canonical"} | {
        None: sum(p for (way, _), p in law.items() if way == "one-shot")
    }


def counted(switch, law, draws, seed=1):
    source, index = sl.testing.seeded(seed), {y: i for i, y in enumerate(law)}
    found = np.zeros(len(law))
    for _ in range(draws):
        y = switch.draw(WordStream(source))
        found[index[None if y is None else tuple(sorted(y.tolist()))]] += 1
    return found


@full_size
def test_a_switch_whose_lead_is_in_doubt_follows_the_law(monkeypatch):
    """Float bounds that are a nat apart: the exact sums, made once for each precision, decide on the same coin."""
    switch = small_switch()
    loose = replace(switch, low=switch.low - 0.5, high=switch.high + 0.5)
    exact: list[Any] = []
    monkeypatch.setattr(module.Switch, "exact", noting(exact, once_at_each_precision(module.Switch.exact)))
    law, wrong = (wanted_of(switch, switched(X, 2, 0.8, 0.25, tau, JUNK)) for tau in (1, 2))
    assert_law(counted(loose, law, sized(2500, full=12_000)), list(law.values()), wrong=list(wrong.values()))
    assert exact
    plain, doubtful = (counted(one, law, 300, seed=4)[-1] for one in (switch, loose))
    assert abs(plain - doubtful) < 60


@pytest.mark.traced
def test_the_exact_lead_is_the_sum_over_all_classes():
    x = np.array([90, 80, 77, 70, 61, 60, 60, 44, 30, 20, 9, 8, 7, 3, 2, 2, 1, 0])
    switch = small_switch(x, k=5, rate=Fraction(1, 10), rho=Fraction(2, 5))
    with ctx.workprec(200):
        loss, first = switch.ranking.loss, switch.junk.first
        heavy, rest = arb(0), arb(1)
        for i, j in product(range(5), range(len(x) - 5)):
            mass = math.comb(i + j, i) * (-ball(loss(i, 5 + j))).exp()
            heavy, rest = (heavy + mass, rest) if j >= first[i] else (heavy, rest + mass)
        odds = ((rest.log() - heavy.log()) - 1) / 4
        assert switch.exact().overlaps(odds)
        assert float(switch.exact().rad()) < 1e-30
        assert switch.low <= float(odds) <= switch.high


@pytest.mark.traced
def test_a_coin_of_which_nothing_is_known_is_refined():
    switch, asked = small_switch(), []

    class Coin:
        low, high, bits = 0.0, 1.0, 64

        def ball(self):
            return arb(0.25) if self.bits > 64 else arb(0.5, 0.5)

        def refine(self):
            asked.append(self.bits)
            self.bits += 64

    coin: Any = Coin()
    assert module.is_below(coin, switch.low, switch.high, switch.exact)
    assert asked


# What it says and what it books


@pytest.mark.parametrize(("k", "budget"), in_suite(product((3, 4, 6), (ApproxDP(0.8, 0.05), ZCDP(1.0))), 0, 5), ids=str)
def test_every_measure_of_utility_tells_the_same_story(k, budget):
    x = [9, 7, 6, 4, 4, 4, 4, 1, 0]
    m, scores = GuardedTopK(k=k, budget=budget), Scores(x, monotone=True)
    correct, inclusion, quality = m.number_correct(scores), m.inclusion_probabilities(scores), m.quality(scores)
    assert correct.sum() == pytest.approx(1, abs=1e-8)
    assert inclusion.sum() == pytest.approx(k, abs=1e-8)
    assert correct @ np.arange(k + 1) / k == pytest.approx(quality.recall, abs=1e-8)
    assert inclusion[np.array(x) >= sorted(x)[-k]].sum() / k == pytest.approx(quality.recall, abs=1e-8)
    law = of_kind(Law, certify(m, scores)).chances.items()
    held = [sum(float(p) for (y, _), p in law if i in y) for i in range(len(x))]
    np.testing.assert_allclose(inclusion, held, atol=1e-8)


@pytest.mark.parametrize("budget", [ApproxDP(1.0, 1e-3), ZCDP(0.2)], ids=str)
def test_it_books_its_budget_and_never_a_bounded_range(budget):
    x = np.arange(12)
    release = GuardedTopK(k=4, budget=budget).release(x, monotone=True)
    assert release.guarantee == release.charge == budget
    without = GuardedTopK(k=2, budget=budget).release(x, monotone=True)
    assert without.guarantee == budget
    assert without.charge == CanonicalTopK(k=2, budget=budget).charge  # there it is that mechanism
    assert GuardedTopK(k=12, budget=budget).release(x, monotone=True).charge == ApproxDP(0.0, 0.0)


def test_a_ledger_takes_what_it_has_room_for(tmp_path):
    x = np.arange(12)
    with Ledger(tmp_path / "a.db", budget=ApproxDP(1.0, 1e-6)) as ledger:
        assert sl.top_k(x, k=4, epsilon=1.0, delta=1e-6, monotone=True, ledger=ledger).mechanism == "guarded top-4"
        with pytest.raises(BudgetExceeded):
            sl.top_k(x, k=4, epsilon=0.1, monotone=True, ledger=ledger)
    with Ledger(tmp_path / "z.db", budget=ZCDP(0.5)) as ledger:
        sl.top_k(x, k=4, budget=ZCDP(0.3), monotone=True, ledger=ledger)
        assert ledger.spent.rho == pytest.approx(0.3)
        with pytest.raises(BudgetExceeded):
            sl.top_k(x, k=4, budget=ZCDP(0.3), monotone=True, ledger=ledger)


def test_a_budget_that_nothing_fits_is_refused_before_it_is_booked(tmp_path):
    with Ledger(tmp_path / "l.db", budget=ApproxDP(1.0, 1e-6)) as ledger:
        for budget in (ZCDP(0.0), ApproxDP(0.0, 0.0)):
            with pytest.raises(ValueError, match="fits"):
                GuardedTopK(k=4, budget=budget).release(np.arange(12), monotone=True, ledger=ledger)
        assert not list(ledger.entries())


def test_without_an_epsilon_there_is_no_guard():
    m, x = GuardedTopK(k=4, budget=ApproxDP(0.0, 1e-3)), np.arange(12)
    assert m.guard_probability(x, monotone=True) == 0
    assert m.quality(x, monotone=True) == CanonicalTopK(k=4, budget=m.budget).quality(x, monotone=True)
    assert of_kind(Law, certify(GuardedTopK(k=3, budget=ApproxDP(0.0, 1e-3)), Scores([3, 2, 1, 1, 0, 0, 0]))).chances


@pytest.mark.parametrize("budget", [ApproxDP(1e-4, 1e-6), ZCDP(1e-9)], ids=str)
def test_the_mirrored_set_has_no_order_and_the_never_chosen_stay_out(budget):
    values = np.where(np.arange(24) % 2 == 0, np.arange(24.0), -np.inf)
    for k, seed in product((4, 8), range(6)):
        m = GuardedTopK(k=k, budget=budget)
        release = m.release(values, rng=sl.testing.seeded(seed))
        assert release.used == "one-shot"
        assert not release.ordered
        indices = present(release.indices)
        assert indices == sorted(indices)
        assert len(indices) == k
        assert all(i % 2 == 0 for i in indices)


def test_more_than_half_is_the_mirror_image():
    values = np.array([60, 59, 57, 30, 25, 20, 12, 8, 5, 4, 2, 1, 0, 0])
    for budget in (ApproxDP(0.5, 1e-3), ZCDP(0.5)):
        many, few = GuardedTopK(k=10, budget=budget), GuardedTopK(k=4, budget=budget)
        for seed in range(10):
            first = many.release(values, monotone=True, rng=sl.testing.seeded(seed))
            second = few.release(-values, monotone=True, rng=sl.testing.seeded(seed))
            assert sorted(present(first.indices) + present(second.indices)) == list(range(14))


def test_what_is_junk_is_public():
    levels = {kind: [rho_of(k, kind) for k in (3, 11, 12, 31, 32, 39, 40, 319, 320)] for kind in (PURE, APPROX, RHO)}
    assert levels[PURE] == [Fraction(2, 5)] * 4 + [Fraction(1, 2)] * 4 + [Fraction(3, 5)]
    assert levels[APPROX] == [Fraction(2, 5)] * 4 + [Fraction(3, 5)] * 5
    assert levels[RHO] == [Fraction(9, 20)] * 2 + [Fraction(3, 4)] * 4 + [Fraction(9, 10)] * 3


@pytest.mark.parametrize("seed", range(6))
def test_the_bounds_of_no_collapse_hold_under_zcdp(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.integers(0, 30, 9))[::-1]
    m = GuardedTopK(k=3, budget=ZCDP(float(rng.choice([0.05, 0.5, 3.0]))))
    run = present(m._run(Scores(x, monotone=True)))
    found = guarded_set(run, len(x))
    law, one_shot = found.race.law, found.guard
    plain = 1 / (1 + math.exp(2 * (run.guard.low + run.guard.high) + 16))  # P_J, from t (lead - tau)
    junk = plain * (1 - one_shot)
    assert junk <= 0.0103
    assert one_shot <= (math.exp(16) * plain / (1 - plain)) ** 0.25 * (1 + 1e-6)
    assert math.exp(law.top) <= 1 - one_shot
