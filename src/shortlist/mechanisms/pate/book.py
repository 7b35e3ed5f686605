"""What every kind of PATE says of its queries: their number and their cost are fixed when it is made."""

from __future__ import annotations

from threading import Lock
from typing import ClassVar, NoReturn

from shortlist._runtime import this_process
from shortlist.mechanisms.checks import check_ledger
from shortlist.privacy import ZCDP, ApproxDP, Balance, BudgetExceeded, Guarantee, Ledger

UNIT = "training record (replaces one teacher's votes)"


class Book:
    """A number of queries fixed in advance, each with the same guarantee, and how many were asked.

    It counts in memory, so it cannot be pickled, copied in depth, or used in a forked child: each would have a whole
    budget of its own. A shallow copy of what holds it shares it.
    """

    __slots__ = ("_lock", "_process", "asked", "delta", "queries", "query", "teachers")

    def __init__(self, query: Guarantee, delta: float, queries: int) -> None:
        self.query, self.delta, self.queries = query, delta, queries
        self.asked = 0
        self.teachers: int | None = None
        self._lock = Lock()
        self._process = this_process()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a budget in memory must not be spent twice: it cannot be copied or pickled; use a ledger")

    def total(self) -> ApproxDP:
        return self.query.repeat(self.queries).as_approx(self.delta)

    def spent(self) -> ZCDP:
        return _as_zcdp(self.query.repeat(self.asked)) if self.asked else ZCDP(0.0)

    def charge(self, teachers: int, ledger: Ledger | None, mechanism: str, purpose: str) -> None:
        """Count the query, before the votes are looked at."""
        check_ledger(ledger)
        if self._process is not this_process():
            raise RuntimeError(
                "this budget belongs to the process that was forked and must not be spent twice: ask there, or divide "
                "the budget and make one object in each process"
            )
        with self._lock:
            if self.teachers not in (None, teachers):
                raise ValueError(f"votes must be of {self.teachers} teachers in every query: their number is fixed")
            if self.asked == self.queries:
                price, spent, left = (_balance(one) for one in (_as_zcdp(self.query), self.spent(), ZCDP(0.0)))
                raise BudgetExceeded(price, spent, left)
            if ledger is not None:
                ledger.charge(self.query, purpose=purpose, mechanism=mechanism, unit=UNIT)
            self.teachers = teachers
            self.asked += 1


class Paid:
    """What every kind of PATE says of its queries: their number and their cost are fixed when it is made."""

    __slots__ = ("_book",)

    _book: Book

    neighbours: ClassVar[str] = "replace"
    """One teacher's votes change arbitrarily: the only reading that protects a training record."""
    proof: ClassVar[str] = "docs/mechanisms/pate.md#proof"

    @property
    def query(self) -> Guarantee:
        """What one query costs, answered or not."""
        return self._book.query

    @property
    def guarantee(self) -> ApproxDP:
        """What all queries together promise one training record, at the total delta, by the tightest sound route."""
        return self._book.total()

    @property
    def spent(self) -> ZCDP:
        """What the queries so far have cost, answered or not: rho, and the delta of their tests."""
        return self._book.spent()

    @property
    def remaining(self) -> int:
        """How many queries are left."""
        return self._book.queries - self._book.asked


def _as_zcdp(guarantee: Guarantee) -> ZCDP:
    cost = guarantee.as_zcdp()
    assert cost is not None
    return cost


def _balance(cost: ZCDP) -> Balance:
    return Balance(None, cost.rho, None, cost.delta)
