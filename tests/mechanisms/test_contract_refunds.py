"""Outcome-dependent costs and the ledger: the worst case is booked first, and comes back in pure ledgers only."""

import multiprocessing
import os

import pytest

import shortlist as sl
from shortlist import BudgetExceeded, Ledger, PureDP
from shortlist.mechanisms import HybridSparseVector, HybridTopK, SparseVector, TopKWithGaps
from shortlist.privacy import ZCDP, ApproxDP
from tests.helpers.inside import pure_rho

FAR = 10**6
MECHANISMS = [HybridTopK, HybridSparseVector, SparseVector]


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "budget.db", budget=PureDP(3.0)) as opened:
        yield opened


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_pure_ledger_takes_back_what_the_outcome_did_not_use(ledger, mechanism):
    m = mechanism(threshold=0, k=4, epsilon=1.0)
    release = m.release([FAR, -FAR, -FAR], ledger=ledger, purpose="chart")
    assert 0 < release.cost < 1
    assert ledger.spent.epsilon == release.cost
    assert ledger.verify() == 2


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("budget", [ZCDP(2.0), ApproxDP(3.0, 1e-6)])
def test_other_currencies_are_charged_in_full(tmp_path, mechanism, budget):
    m = mechanism(threshold=0, k=4, epsilon=1.0)
    with Ledger(tmp_path / "budget.db", budget=budget) as ledger:
        release = m.release([FAR, -FAR, -FAR], ledger=ledger)
        assert ledger.spent.rho == pytest.approx(pure_rho(1.0))  # whatever came out
        assert ledger.spent.epsilon in (None, release.cost)


def test_a_mechanism_of_fixed_cost_gets_nothing_back(ledger):
    TopKWithGaps(k=1, epsilon=1.0).release([3, 1, 2], ledger=ledger)
    assert ledger.spent.epsilon == 1.0
    sl.top_k([3, 1, 2], 1, epsilon=0.5, values=True, ledger=ledger)
    assert ledger.spent.epsilon == 1.5


def test_a_stream_books_its_worst_case_before_it_reads_and_settles_when_it_stops(ledger):
    m = SparseVector(threshold=0, k=4, epsilon=1.0)
    stream = m.stream(iter([FAR, -FAR]), ledger=ledger, purpose="alarms")
    assert ledger.spent.epsilon == 1.0
    assert next(stream).above
    assert ledger.spent.epsilon == 1.0
    assert not next(stream).above
    assert list(stream) == []
    assert ledger.spent.epsilon == stream.cost < 1
    stream.close()  # once is enough
    assert ledger.verify() == 2


def test_a_stream_that_ends_by_its_own_rule_settles_too(ledger):
    m = SparseVector(threshold=0, k=4, epsilon=1.0, adaptive=True)
    stream = m.stream([FAR] * 9, ledger=ledger)
    assert len(list(stream)) == 7
    assert ledger.spent.epsilon == stream.cost < 1


def test_a_source_that_fails_costs_what_was_answered(ledger):
    def values():
        yield FAR
        raise OSError("gone")

    m = SparseVector(threshold=0, k=4, epsilon=1.0)
    stream = m.stream(values(), ledger=ledger)
    with pytest.raises(OSError, match="gone"):
        list(stream)
    assert ledger.spent.epsilon == stream.cost == pytest.approx(float(m.rules.first + m.rules.each))


def test_a_stream_that_is_left_stays_paid_in_full_and_a_with_block_settles(ledger):
    m = SparseVector(threshold=0, k=4, epsilon=1.0)
    next(m.stream([-FAR, -FAR], ledger=ledger))
    assert ledger.spent.epsilon == 1.0
    with m.stream(ledger=ledger) as stream:
        stream.ask(-FAR)
    assert stream.stopped
    assert ledger.spent.epsilon == pytest.approx(1.0 + stream.cost)
    with m.stream(ledger=ledger):
        pass  # no question was asked
    assert ledger.spent.epsilon == pytest.approx(1.0 + stream.cost)


def test_nothing_is_read_and_nothing_booked_where_there_is_no_room(ledger):
    values = iter([FAR])
    with pytest.raises(BudgetExceeded):
        SparseVector(threshold=0, k=4, epsilon=3.5).stream(values, ledger=ledger)
    with pytest.raises(TypeError, match="iterable"):
        SparseVector(threshold=0, k=4, epsilon=1.0).stream(7, ledger=ledger)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Ledger"):
        SparseVector(threshold=0, k=4, epsilon=1.0).stream(values, ledger="budget.db")  # type: ignore[arg-type]
    assert list(values) == [FAR]
    assert ledger.spent.epsilon == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_cannot_settle_the_stream_of_its_parent(ledger):
    stream = SparseVector(threshold=0, k=4, epsilon=1.0).stream(ledger=ledger)
    stream.ask(-FAR)

    def child(pipe):
        try:
            stream.close()
        except RuntimeError as error:
            pipe.send(str(error))

    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=child, args=(theirs,))
    process.start()
    assert ours.poll(30)
    assert "forked" in ours.recv()
    process.join(30)
    assert ledger.spent.epsilon == 1.0
