"""Sparse vectors that measure what was above with what is left of one budget (Theorem 272)."""

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from shortlist import BudgetExceeded, Ledger, PureDP, Release
from shortlist.audit import prove_mechanism
from shortlist.mechanisms import SparseVector
from shortlist.testing import seeded
from tests.helpers.support import assert_law
from tests.helpers.typed import present

ONE: dict[str, Any] = {"threshold": 1, "k": 1, "epsilon": 1.0, "measure": 0.5}


@pytest.mark.parametrize("monotone", [True, False])
@pytest.mark.parametrize("noise", ["exponential", "laplace", "geometric"])
@pytest.mark.parametrize("more", [{}, {"adaptive": True, "measure": 0.25}])
def test_epsilon_pays_for_answers_gaps_and_values_on_a_box(noise, monotone, more):
    mechanism = SparseVector(**{**ONE, **more}, noise=noise, monotone=monotone)
    proof = prove_mechanism(mechanism, d=2, monotone=monotone)
    assert proof.holds, proof
    assert proof.log_ratio > 0.7


def test_a_measurement_that_takes_more_than_is_left_is_refuted(monkeypatch):
    """The planted bugs: noise for one number where two are measured, and all of epsilon for the measurements."""
    mechanism, right = SparseVector(**{**ONE, "k": 2, "measure": 0.8}, monotone=True), SparseVector._measuring
    assert prove_mechanism(mechanism, d=2, monotone=True).holds
    for wrong in (lambda n, spent: right(mechanism, n, spent) / n, lambda n, spent: n / Fraction(1)):
        monkeypatch.setattr(SparseVector, "_measuring", lambda self, n, spent, wrong=wrong: wrong(n, spent))
        assert not prove_mechanism(mechanism, d=2, monotone=True).holds


def test_what_is_left_is_shared_by_what_was_above():
    mechanism = SparseVector(threshold=100, k=4, epsilon=2.0, measure=0.25, monotone=True)
    rules = mechanism.rules
    assert rules.epsilon == Fraction(3, 2)
    for n in (1, 4):
        spent = n * rules.each
        left = 2 - rules.first - spent
        assert mechanism._measuring(n, spent) == n / left
        assert left >= Fraction(1, 2)
    few = mechanism.release([9000, 0, 0, 0], rng=seeded(1))
    many = mechanism.release([9000] * 4, rng=seeded(1))
    assert few.items == [0]
    assert 3 * present(few.margins)[0].half_width < present(many.margins)[0].half_width
    assert few.cost == many.cost == 2.0
    assert all(float(value).is_integer() for value in present(many.values))
    nothing = mechanism.release([0, 0], rng=seeded(1))
    assert (nothing.items, nothing.values, nothing.margins) == ([], [], [])
    assert nothing.cost == pytest.approx(float(rules.first))


@pytest.mark.parametrize("scores", [[130, 90, 100, 95], [130.5, 90.25, 100.0, 95.0]])
def test_values_have_the_law_that_is_stated(scores):
    """Error in units of its scale, whatever was above; by `release_many` and by `release`."""
    mechanism = SparseVector(threshold=100, k=2, epsilon=0.5, adaptive=True, measure=0.5, monotone=True)
    drawn = mechanism.release_many(scores, draws=6_300, rng=seeded(2))
    reals, tests = present(drawn.reals), present(drawn.chosen)
    width = drawn.indices.shape[1]
    errors, rules = [], mechanism.rules
    for row, real, test in zip(drawn.indices, reals, tests, strict=True):
        n = int((row >= 0).sum())
        spent = sum((rules.branches[t].cost for t in test[:n].tolist()), start=Fraction(0))
        scale = float(mechanism._measuring(n, spent)) if n else 1.0
        errors += ((real[width : width + n] - np.array(scores)[row[:n]]) / scale).tolist()
        assert np.isnan(real[width + n :]).all()
    if isinstance(scores[0], float):  # the size of Laplace noise by its quartiles
        found = np.bincount(np.searchsorted(-np.log([0.75, 0.5, 0.25]), np.abs(errors)), minlength=4)
        assert_law(found, [0.25] * 4, wrong=[0.29, 0.25, 0.23, 0.23])
    else:
        assert np.mean(np.square(errors)) == pytest.approx(2.0, rel=0.05)
    assert len(errors) > 10_000
    assert abs(np.mean(np.sign(errors))) < 5 / len(errors) ** 0.5


def test_margins_hold_given_the_selection_where_those_of_combined_values_fail():
    """Many questions far below: those that come out were lifted by their noise, and the gaps carry it along."""
    scores = [0] * 400
    mechanism = SparseVector(threshold=40, k=3, epsilon=1.0, measure=0.5, monotone=True)
    fresh, combined = [], []
    source = seeded(5)
    for _ in range(300):
        release = mechanism.release(scores, rng=source)
        if not release.items:
            continue
        margin = present(release.margins)[0]
        fresh += [abs(value) <= margin.half_width for value in present(release.values)]
        law = present(release.answers)[0]._law
        variance = 1 / (1 / margin.error**2 + 1 / present(law).variance)
        together = release.refine(present(release.values), variance=margin.error**2)
        combined += [abs(value) <= 2 * variance**0.5 for value in together]
    assert len(fresh) > 300
    assert np.mean(fresh) > 0.91
    assert np.mean(combined) < 0.5


def test_combined_values_are_nearer_for_questions_that_are_clearly_above():
    scores, source = [10_000] * 10, seeded(6)
    mechanism = SparseVector(threshold=100, k=10, epsilon=1.0, measure=0.5, monotone=True)
    fresh, combined = [], []
    for _ in range(400):
        release = mechanism.release(scores, rng=source)
        variance = present(release.margins)[0].error ** 2
        fresh += [value - 10_000 for value in present(release.values)]
        combined += [value - 10_000 for value in release.refine(present(release.values), variance=variance)]
    gap = present(present(release.answers)[0]._law).variance
    assert np.var(combined) == pytest.approx(variance * gap / (variance + gap), rel=0.1)
    assert np.var(combined) < 0.6 * np.var(fresh)


def test_a_ledger_is_charged_once_and_gets_back_what_nothing_was_measured_with(tmp_path):
    mechanism = SparseVector(threshold=100, k=2, epsilon=1.0, measure=0.5, monotone=True)
    with Ledger(tmp_path / "budget.db", budget=PureDP(2.0)) as ledger:
        release = mechanism.release([5000, 0, 9000], ledger=ledger, rng=seeded(1))
        assert ledger.spent.epsilon == 1.0
        mechanism.release([0, 0], ledger=ledger, rng=seeded(1))
        assert ledger.spent.epsilon == pytest.approx(1.0 + float(mechanism.rules.first))
        with pytest.raises(BudgetExceeded):
            mechanism.release([5000], ledger=ledger)
        assert "measure=0.5" in ledger.entries()[0].mechanism
    assert Release.from_json(release.to_json()) == dataclasses.replace(release)
    assert release.notes[-1].startswith("each value is a fresh measurement")
    assert "measured" in release.mechanism


def test_a_stream_measures_nothing_and_older_records_read_as_they_did():
    with pytest.raises(ValueError, match="leave it out for a stream"):
        SparseVector(**ONE).stream([1])
    for share in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="measure must be"):
            SparseVector(**{**ONE, "measure": share})
    assert "measure" not in repr(SparseVector(threshold=1, k=1, epsilon=1.0))
    assert eval(repr(SparseVector(**ONE)), {"SparseVector": SparseVector, "PureDP": PureDP}) == SparseVector(**ONE)


def test_the_order_of_questions_is_not_taken_for_ranks():
    """A later answer may well be larger: nothing disagrees there."""
    release = SparseVector(threshold=100, k=3, epsilon=1.0, measure=0.5, monotone=True).release(
        {"a": 2950, "b": 4870}, public=True, rng=seeded(1)
    )
    assert present(release.values)[0] < present(release.values)[1]
    assert "disagree" not in str(release)
    assert release.notes[0].startswith("in the order of the questions")
