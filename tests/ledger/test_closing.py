"""A ledger that was closed for good says so, and has nothing left."""

import pytest

import shortlist as sl
from shortlist.privacy import LedgerError


def test_a_closed_ledger_says_so_and_has_nothing_left(path):
    ledger = sl.Ledger(path, budget=sl.PureDP(2.0))
    ledger.charge(sl.PureDP(0.5))
    assert (ledger.closed, ledger.remaining.epsilon) == ("", 1.5)
    with pytest.raises(TypeError, match="ends this budget for good; if that is meant, say why"):
        ledger.close()
    assert not ledger.closed
    ledger.close("the quarter is over")
    day = ledger.entries(last=1)[0].time[:10]
    words = f"closed for good on {day}: the quarter is over; booked: epsilon 0.5 of 2, 1 release; no further charge"
    assert str(ledger).startswith(words)
    assert (ledger.standing.left, ledger.remaining.epsilon, ledger.spent.epsilon) == (0.0, 0.0, 0.5)
    for ask in (
        lambda: ledger.check(sl.PureDP(0.1)),
        lambda: ledger.standing_if(sl.PureDP(0.1)),
        lambda: ledger.plan(2),
    ):
        with pytest.raises(LedgerError, match="closed for good and books nothing more: the quarter is over"):
            ask()
