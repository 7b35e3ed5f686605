"""Labels on which a crowd of teachers agrees, without telling what any one training record said (Theorem 105).

One record lies in one teacher's shard. Adding, removing or changing it retrains that teacher, whose votes on every
query may then change arbitrarily; the number of teachers is public and stays. So neighbours *replace one teacher's
votes*. Add/remove, the reading of the paper, is wrong for this purpose and is not offered.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from threading import Lock
from typing import ClassVar, NoReturn

import numpy as np

from shortlist._arrays import Indices
from shortlist._process import this_process
from shortlist._reading import attempt
from shortlist.accounting.checked_numbers import count, number, up
from shortlist.exact.stability_test import GaussianTest, quantile_above, rate_below
from shortlist.mechanisms.checks import check_ledger, checked_draws, checked_source
from shortlist.mechanisms.contract import Draws
from shortlist.mechanisms.large_gap.mechanism import Regularizer, large_gaps, offsets, store_ranks
from shortlist.mechanisms.oneshot.mechanism import OneshotTopK, epsilon_of_a_round
from shortlist.mechanisms.stable.mechanism import tested_sets
from shortlist.mechanisms.unknown_domain import LEAST_DELTA, part_of, sorted_counts
from shortlist.privacy import ZCDP, ApproxDP, Balance, BoundedRange, BudgetExceeded, Guarantee, Ledger, compose
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores

UNIT = "training record (replaces one teacher's votes)"


class _Book:
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


class _Paid:
    """What every kind of PATE says of its queries: their number and their cost are fixed when it is made."""

    __slots__ = ("_book",)

    _book: _Book

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


class MultiLabelPATE(_Paid):
    """The labels that a stable majority of teachers gives: a set of any size, or None if there is none.

    The votes for each label are counted; `LargeGap` chooses how many labels, at half of a query's rho, and the top-j
    set is released if it passes the Gaussian test, at the other half. One teacher's votes may all change: every count
    moves by one either way, sorted counts too, gaps by two, and two gaps in opposite directions at once. So

        j = argmax u(j) + r(j) + Gumbel(4 / e),  e of rho_q / 2;   pass with Phi((max(2, u(j)) - 2) rate - z),

    rate = sqrt(rho_q) / 2, Phi(-z) = delta_q. Each query costs rho_q = rho / queries and delta_q = delta / (2 queries),
    whether it is answered or not; the other half of delta is for conversion.

    Parameters
    ----------
    rho, delta
        The totals over all queries.
    queries
        How many; one more raises `BudgetExceeded`.
    regularizer, limit
        As in `LargeGap`: which numbers of labels are preferred, and the largest. Public.

    Raises
    ------
    ValueError, TypeError
        naming the argument, before any vote is looked at.

    See docs/mechanisms/pate.md for the proof.

    Examples
    --------
    >>> votes = [[1, 1, 0]] * 240 + [[1, 0, 1]] * 10
    >>> pate = MultiLabelPATE(rho=0.5, delta=1e-6, queries=10)
    >>> sorted(pate.label(votes))
    [0, 1]
    >>> round(pate.spent.rho, 6), pate.spent.delta  # a tenth of rho, and of the half of delta that the tests have
    (0.05, 5e-08)
    """

    __slots__ = ("_gap", "_test", "limit", "regularizer", "rho")

    def __init__(
        self,
        rho: float,
        delta: float,
        queries: int,
        *,
        regularizer: Regularizer | None = None,
        limit: int | None = None,
    ) -> None:
        self.rho, total, number_of = _checked_totals(rho, delta, queries)
        self.regularizer, self.limit = regularizer, limit
        store_ranks(self, 1)
        share = Fraction(1, 2 * number_of)
        half, own = part_of(self.rho, share), part_of(total, share)
        self._gap = epsilon_of_a_round(1, ZCDP(half))
        self._test = GaussianTest(rate_below(half, 2), quantile_above(own), 2)
        cost = compose(BoundedRange(self._gap), ZCDP(up(2 * self._test.rate**2), own))
        self._book = _Book(cost, total, number_of)

    @property
    def _scale(self) -> Fraction:
        """Of the noise on the gaps, which one teacher moves by up to 2 either way."""
        return 4 / Fraction(self._gap)

    def __repr__(self) -> str:
        book = self._book
        return f"MultiLabelPATE(rho={self.rho!r}, delta={book.delta!r}, queries={book.queries})"

    def label(
        self, votes: object, *, rng: Source | None = None, ledger: Ledger | None = None, purpose: str = ""
    ) -> frozenset[int] | None:
        """The labels of one query: column numbers of `votes`, teachers x labels, 0 or 1; None if it is not stable.

        `rng` is None for the secure source; `ledger` books the query, with its `purpose`, before the votes are read.

        Raises
        ------
        BudgetExceeded
            if all queries were asked, or the ledger has no room: nothing is looked at.
        RuntimeError
            in a forked child, where the budget would be spent twice: nothing is looked at.
        """
        ballots = _checked_votes(votes)
        source = checked_source(rng)
        shifts = self._added(ballots.shape[1])
        self._book.charge(len(ballots), ledger, repr(self), purpose)
        sets = self._drawn(ballots, shifts, source, 1)
        assert sets.chosen is not None
        return frozenset(sets.indices[0].tolist()) - {-1} if sets.chosen[0, 1] else None

    def label_many(self, votes: object, *, draws: int, rng: Source | None = None) -> Draws:
        """So many independent `draws` of the answer, for study and audit of public votes: nothing is booked.

        `chosen` has two columns: how many labels, and whether they have passed the test.
        """
        ballots, source = _checked_votes(votes), checked_source(rng)
        return self._drawn(ballots, self._added(ballots.shape[1]), source, checked_draws(draws))

    def _added(self, labels: int) -> list[Fraction | None]:
        """The regularizer of that many labels."""
        shifts = offsets(self.regularizer, labels if self.limit is None else self.limit)[:labels]
        if all(one is None for one in shifts):
            raise ValueError("regularizer must leave at least one number of labels that may be chosen")
        return shifts

    def _drawn(self, ballots: Indices, shifts: list[Fraction | None], source: Source, draws: int) -> Draws:
        counts = ballots.sum(axis=0, dtype=np.int64)
        largest = sorted_counts(counts, len(counts) + 1)
        ranks = large_gaps(largest, shifts, self._scale, source, draws)
        return tested_sets(counts, ranks, len(shifts), self._test, source)


class PATE(_Paid):
    """One label for each query: the class with the most votes under Gumbel noise, an exponential mechanism.

    Each teacher votes for one class. Replacing a teacher's vote takes one from a class and gives it to another: R = 2,
    so a query with noise of scale 2 / e is e-bounded range; e is the largest that costs at most rho / queries.

    Parameters
    ----------
    rho, delta
        The total over all queries, and the delta at which `guarantee` states it.
    queries
        How many; one more raises `BudgetExceeded`.
    classes
        How many classes there are: public.

    See docs/mechanisms/pate.md for the proof.

    Examples
    --------
    >>> pate = PATE(rho=0.5, delta=1e-6, queries=10, classes=3)
    >>> pate.label([2] * 240 + [0] * 10)
    2
    """

    __slots__ = ("_mechanism", "classes", "rho")

    def __init__(self, rho: float, delta: float, queries: int, *, classes: int) -> None:
        self.rho, total, number_of = _checked_totals(rho, delta, queries)
        self.classes = count("classes", classes)
        self._mechanism = OneshotTopK(k=1, epsilon=epsilon_of_a_round(number_of, ZCDP(self.rho)), noise="gumbel")
        self._book = _Book(self._mechanism.charge, total, number_of)

    def __repr__(self) -> str:
        book = self._book
        return f"PATE(rho={self.rho!r}, delta={book.delta!r}, queries={book.queries}, classes={self.classes})"

    def label(
        self, votes: object, *, rng: Source | None = None, ledger: Ledger | None = None, purpose: str = ""
    ) -> int:
        """The class of one query, from `votes`: one class number (0, 1, ..) for each teacher.

        `rng` is None for the secure source; `ledger` books the query, with its `purpose`, before the votes are read.

        Raises
        ------
        BudgetExceeded
            if all queries were asked, or the ledger has no room: nothing is looked at.
        RuntimeError
            in a forked child, where the budget would be spent twice: nothing is looked at.
        """
        ballots = self._checked_votes(votes)
        source = checked_source(rng)
        self._book.charge(len(ballots), ledger, repr(self), purpose)
        winners = self._mechanism._draw(self._counted(ballots), source).indices
        assert winners is not None
        return winners[0]

    def label_many(self, votes: object, *, draws: int, rng: Source | None = None) -> Draws:
        """So many independent `draws` of the answer, for study and audit of public votes: nothing is booked."""
        scores = self._counted(self._checked_votes(votes))
        return Draws(self._mechanism.release_many(scores, draws=draws, rng=rng))

    def _checked_votes(self, votes: object) -> Indices:
        ballots = _as_array(votes, 1, "one class number for each teacher")
        if ballots.min() < 0 or ballots.max() >= self.classes:
            raise ValueError(f"votes must be whole numbers from 0 to classes - 1 = {self.classes - 1}")
        return ballots

    def _counted(self, ballots: Indices) -> Scores:
        return Scores(np.bincount(ballots, minlength=self.classes), neighbours="replace")


def _checked_totals(rho: object, delta: object, queries: object) -> tuple[float, float, int]:
    totals = number("rho", rho, above=True), number("delta", delta, above=True, below=1.0), count("queries", queries)
    if totals[1] / totals[2] < LEAST_DELTA:
        raise ValueError("delta is too small to be shared by so many queries: write delta=1e-6, for example")
    return totals


def _as_zcdp(guarantee: Guarantee) -> ZCDP:
    cost = guarantee.as_zcdp()
    assert cost is not None
    return cost


def _balance(cost: ZCDP) -> Balance:
    return Balance(None, cost.rho, None, cost.delta)


def _checked_votes(votes: object) -> Indices:
    ballots = _as_array(votes, 2, "teachers x labels, each 0 or 1")
    if ((ballots != 0) & (ballots != 1)).any():
        raise ValueError("votes must be 0 or 1: one row for each teacher, one column for each label")
    return ballots


def _as_array(votes: object, dimensions: int, what: str) -> Indices:
    """Whole numbers in the shape asked for; errors show no vote."""
    if not isinstance(votes, Sequence | np.ndarray) or isinstance(votes, str | bytes):
        raise TypeError(f"votes must be a list or an array: {what}")
    ballots = attempt(lambda: np.asarray(votes), ValueError, f"votes must be as many for every teacher: {what}")
    if ballots.ndim != dimensions or not ballots.size:
        raise ValueError(f"votes must have {dimensions} dimension{'s' * (dimensions > 1)} and not be empty: {what}")
    if ballots.dtype.kind == "f" and np.isfinite(ballots).all() and (ballots == np.floor(ballots)).all():
        ballots = ballots.astype(np.int64)
    if ballots.dtype.kind not in "biu":
        raise ValueError(f"votes must be whole numbers: {what}")
    return ballots.astype(np.int64)
