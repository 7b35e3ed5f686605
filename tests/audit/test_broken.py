"""Every broken mechanism is caught, and each of them mended is not."""

import dataclasses
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from flint import arb

import shortlist as sl
from shortlist import ApproxDP, PureDP
from shortlist.audit import Law, prove
from shortlist.audit.certified import base
from shortlist.privacy import ZCDP, Tuned
from studies.broken import CATALOGUE, accounting, catch, groups, guarded, options, sets, thresholds, tuning
from tests.helpers import outsiders
from tests.helpers.support import full_size, sized


@pytest.mark.parametrize("entry", CATALOGUE, ids=[entry.name for entry in CATALOGUE])
def test_it_is_caught(entry):
    caught = catch(entry, seed=1)
    assert caught.convicted
    if entry.run is not None:
        assert "auditor" in caught.by
    if entry.law is not None:
        assert "box" in caught.by


def test_there_are_enough_of_them_and_each_says_what_is_wrong():
    assert len(CATALOGUE) >= 24
    assert len({entry.name for entry in CATALOGUE}) == len(CATALOGUE)
    assert all(entry.what and entry.source and (entry.run or entry.law) for entry in CATALOGUE)


def named(name):
    return next(entry for entry in CATALOGUE if entry.name == name)


def mended(name, **change):
    return catch(dataclasses.replace(named(name), **change), seed=1)


def test_mended_they_are_not_convicted():
    """The same neighbours and the same claims, with the one fault put right."""
    right = lambda k, h, t: Fraction(comb(t - h - 2, k - 1 - h))  # noqa: E731
    assert not mended(
        "canonical top-k, class sizes", law=lambda x: sets.class_law(x, 3, Fraction(1, 20), Fraction(1, 2), right)
    ).by
    assert not mended("joint with epsilon/2", law=lambda x: sets.joint_law(x, 2, Fraction(1, 4))).by
    for name in ("bar without its +1", "bar without its limit"):
        assert not mended(name, law=lambda x: sets.barred(x, 2, Fraction(1, 20))).by
    assert not mended("missing factor 2", run=None, law=lambda x: Law(base.ordered_law(x, 1, "gumbel", 2))).by
    assert not mended("replace called monotone", run=None, law=lambda x: Law(base.ordered_law(x, 1, "gumbel", 2))).by
    assert not mended("count ignored", claim=PureDP(5.0)).by
    teachers_come_and_go = (((6, 4), (5, 4)), ((6, 4), (6, 3)), ((5, 4), (5, 5)), ((6, 4), (5, 3)))
    assert not mended("PATE with add-remove parameters", pairs=teachers_come_and_go).by
    assert not mended("the adaptive-k paper's conversion", claim=ApproxDP(ZCDP(0.5).epsilon_at(1e-6), 1e-6)).by
    assert not mended("per-round fixed-k budget", claim=ZCDP(10 * 0.4 / 8)).by
    assert not mended("ledger that adds up the tightest composition", claim=ApproxDP(1.0, 0.0689)).by


def test_options_that_are_paid_for_are_not_convicted():
    assert not mended(
        "groups, winners by weight named by count",
        run=None,
        law=lambda x: groups.winner_by_weight(x, named_by_count=False),
    ).by
    assert not mended(
        "lead of a winner, from a race of its own", law=lambda x: options.winner_and_lead(x, given=True)
    ).by
    assert not mended("hybrid refunded by its items alone", law=lambda x: options.refunded(x, threshold=True)).by
    assert not mended("smallest count of names from the data", law=lambda x: options.rarest(x, public=True)).by
    delta = ApproxDP(1.0, 1e-3).for_group(3)
    assert not mended("delta of a group, added up", claim=delta).by


def test_tuning_that_is_paid_for_is_not_convicted():
    for name in ("tuning, the number of runs told", "tuning until the score is good", "tuning, failures raised"):
        assert not mended(name, law=tuning.best).by
    assert not mended("tuning for the price of one run", claim=Tuned(PureDP(1.0), tuning.TEN)).by
    assert not mended("tuning, nothing run forgotten", claim=Tuned(PureDP(0.1), tuning.FEW)).by
    assert not mended("tuning a fixed number of runs", claim=PureDP(10.0)).by


def test_a_guard_and_a_switch_that_are_paid_for_are_not_convicted():
    assert not mended("guard's fallback at the full budget", law=lambda x: guarded.raced(x, guarded.LEFT)).by
    assert not mended("switch that is not charged", law=lambda x: guarded.switched(x, guarded.PAID)).by
    assert not mended("switch of lists that is not charged", law=lambda x: guarded.switched_lists(x, 0.4**0.5)).by

    def as_a_set(x):
        law: dict[frozenset[int], arb] = {}
        for order, chance in guarded.order_of_the_rest(x).chances.items():
            law[frozenset(order)] = law.get(frozenset(order), arb(0)) + chance
        return Law(law)

    assert not mended("order of those whom the losers leave", law=as_a_set).by


def test_a_sparse_vector_without_the_faults_is_not_convicted():
    def right(x, draws, rng):
        return thresholds._first(thresholds._answers(x, draws, rng))

    for name in ("sparse vector, threshold noise redrawn", "sparse vector, no threshold noise"):
        assert not mended(name, run=right).by


def test_float_noise_on_a_public_grid_is_not_convicted():
    def gridded(x, draws, rng):
        return np.round((x[0] + rng.laplace(size=draws)) * 1024) / 1024

    assert not mended("float noise", run=gridded).by


def test_the_oracles_of_the_errata():
    """The numbers that the catalogue's entries are known for, from certified laws."""

    def log_ratio(name):
        entry = named(name)
        return prove(entry.law, entry.pairs, entry.claim).log_ratio

    def stick(law, pair, epsilon):
        return prove(law, [pair], ApproxDP(epsilon, 0.0), epsilons=[epsilon]).hockey_stick

    assert log_ratio("canonical top-k, start at gamma 1") == pytest.approx(95.05, abs=1e-9)
    assert log_ratio("joint with epsilon/2") == pytest.approx(1.5117, abs=1e-4)
    assert log_ratio("order under custom noise") == pytest.approx(3.0056, abs=1e-4)
    new = ((0, 0, 0), (1, 1, 0))
    assert stick(lambda x: sets.barred(x, 2, Fraction(1, 20), above=0), new, 1.0) == pytest.approx(0.12516, abs=1e-5)
    assert stick(lambda x: sets.barred(x, 2, Fraction(1, 20), many=False), new, 1.0) == pytest.approx(0.09524, abs=1e-5)
    assert stick(accounting.tightest_composition, ((0,), (1,)), 1.0) == pytest.approx(0.0689, abs=1e-4)
    four_hundred = stick(lambda x: accounting.repeated(x, 400, 0.1), ((0.5, 0), (0, 0.5)), accounting.PRINTED)
    assert four_hundred == pytest.approx(1.817e-5, rel=1e-3)


OUTSIDERS = [
    outsiders.broken_capped_rejection,
    outsiders.broken_shared_uniform_top2,
    outsiders.broken_regret_certificate,
]


@full_size
@pytest.mark.parametrize("broken", OUTSIDERS, ids=lambda broken: broken.__name__)
def test_what_others_broke_is_caught(broken):
    found = sl.audit(broken, claim=PureDP(1.0), trials=sized(60_000, full=1_000_000), confidence=0.999999, seed=1)
    assert found.violated
