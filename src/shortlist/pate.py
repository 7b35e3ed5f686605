"""Labels on which a crowd of models agrees: `PATE` and `MultiLabelPATE`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from threading import Lock
from typing import ClassVar, Literal, NoReturn

import numpy as np

from shortlist import privacy
from shortlist._arrays import Indices, attempt, sort_rows
from shortlist._runtime import this_process
from shortlist.accounting.curves import up
from shortlist.accounting.guarantees import count, number
from shortlist.errors import bad_type, bad_value
from shortlist.exact.noise import GAUSSIAN, GUMBEL
from shortlist.exact.thresholds import GaussianTest, quantile_above, rate_below
from shortlist.mechanisms import base, stable
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.privacy import ZCDP, ApproxDP, BoundedRange, Guarantee, Ledger
from shortlist.sampling.entropy import Source
from shortlist.sampling.race import race_many
from shortlist.scores import Scores

__all__ = ["PATE", "MultiLabelPATE"]

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

    def cost(self, queries: int) -> ZCDP:
        """Return what that many queries cost."""
        cost = self.query.repeat(queries).as_zcdp() if queries else ZCDP(0.0)
        assert cost is not None
        return cost

    def charge(self, teachers: int, ledger: Ledger | None, mechanism: str, purpose: str) -> None:
        """Count the query, before the votes are looked at."""
        base.check_ledger(ledger)
        if self._process is not this_process():
            raise RuntimeError(
                "this budget belongs to the process that was forked: ask there, or give each one a share"
            )
        with self._lock:
            if self.teachers not in (None, teachers):
                raise ValueError(f"votes must be of {self.teachers} teachers in every query: their number is fixed")
            if self.asked == self.queries:
                costs = (self.cost(queries) for queries in (1, self.asked, 0))
                price, spent, left = (privacy.Balance(None, one.rho, None, one.delta) for one in costs)
                raise privacy.BudgetExceeded(price, spent, left)
            if ledger is not None:
                ledger.charge(self.query, purpose=purpose, mechanism=mechanism, unit=UNIT)
            self.teachers = teachers
            self.asked += 1


class _Teachers:
    """Queries to teachers: their number and their cost are fixed when it is made."""

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
        return self._book.query.repeat(self._book.queries).as_approx(self._book.delta)

    @property
    def spent(self) -> ZCDP:
        """What the queries so far have cost, answered or not: rho, and the delta of their tests."""
        return self._book.cost(self._book.asked)

    @property
    def remaining(self) -> int:
        """How many queries are left."""
        return self._book.queries - self._book.asked

    def _describe(self, **facts: object) -> str:
        words = ", ".join(f"{name}={value!r}" for name, value in facts.items() if value is not None)
        return f"{type(self).__qualname__}({words})"

    def _ballots(self, votes: object) -> Indices:
        """Check the shape of the votes, and what is public of this query."""
        raise NotImplementedError

    def _draw(self, ballots: Indices, source: Source, draws: int) -> base.Draws:
        raise NotImplementedError

    def _ask(self, votes: object, rng: Source | None, ledger: Ledger | None, purpose: str) -> base.Draws:
        """Answer one query, once it is charged."""
        ballots, source = self._ballots(votes), base.check_source(rng)
        self._book.charge(len(ballots), ledger, repr(self), purpose)
        with np.errstate(all="ignore"):
            return self._draw(ballots, source, 1)

    def label_many(self, votes: object, *, draws: int, rng: Source | None = None) -> base.Draws:
        """So many independent `draws` of the answer, for study and audit of public votes: nothing is booked.

        With several labels `chosen` has two columns: how many labels, and whether they have passed the test.
        """
        ballots, source = self._ballots(votes), base.check_source(rng)
        return self._draw(ballots, source, base.check_whole("draws", draws, "draws=1000"))


NOBODY = -1
"""What a vote is that is not a whole number: no class, and no label."""
MANY = 2.0**62
"""Beyond it no float is a class."""


class MultiLabelPATE(_Teachers):
    """The labels that a stable majority of teachers gives: a set of any size, or None if there is none.

    The votes for each label are counted; `LargeGap` chooses how many labels, at half of a query's rho, and the top-j
    set is released if it passes the Gaussian test, at the other half. One teacher's votes may all change: every count
    moves by one either way, sorted counts too, gaps by two, and two gaps in opposite directions at once. So

        j = argmax u(j) + r(j) + Gumbel(4 / e),  e of rho_q / 2;   pass with Phi((max(2, u(j)) - 2) rate - z),

    rate = sqrt(rho_q) / 2, Phi(-z) = delta_q. Each query costs rho_q = rho / queries and delta_q = delta / (2 queries),
    whether it is answered or not; the other half of delta is for conversion. With k fixed nothing chooses: all of rho
    goes to the test, rate = sqrt(rho_q / 2), and k labels are released, or None.

    `sigma_1`, `sigma` and `delta_t` in place of `rho` give the noise itself: N(0, sigma_1^2) on the gaps, a test of
    deviation sigma, and its delta. A query is then delta_t-approximate (2 limit / sigma_1^2 + 2 / sigma^2)-zCDP
    (Theorem 271). Gumbel noise, from `rho`, costs less.

    Parameters
    ----------
    rho, delta, epsilon
        The totals over all queries. `epsilon=3.0` in place of `rho=` takes the rho that is (epsilon, delta)-DP.
    queries
        How many; one more raises `BudgetExceeded`.
    k
        How many labels each query has; None lets the gaps decide.
    regularizer, limit
        As in `LargeGap`, where the gaps decide: which numbers of labels are preferred, and the largest. Public.
    sigma_1, sigma, delta_t
        Deviations in votes, and the delta of each test: together less than `delta`. `sigma_1` needs `limit`, or leave
        it out and write `k`.

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

    __slots__ = ("_gap", "_test", "delta_t", "k", "limit", "regularizer", "rho", "sigma", "sigma_1")

    def __init__(
        self,
        rho: float | None = None,
        delta: float | None = None,
        queries: int | None = None,
        *,
        epsilon: float | None = None,
        k: int | None = None,
        regularizer: stable.Regularizer | None = None,
        limit: int | None = None,
        sigma_1: float | None = None,
        sigma: float | None = None,
        delta_t: float | None = None,
    ) -> None:
        by_noise = any(one is not None for one in (sigma_1, sigma, delta_t))
        if not by_noise:
            self.rho, total, number_of = _check_totals(rho, delta, queries, epsilon, Fraction(1, 2))
        self.k = None if k is None else base.check_k(k)
        self.regularizer, self.limit = regularizer, limit
        if self.k is not None and (regularizer is not None or limit is not None):
            raise bad_value("regularizer and limit choose how many labels: leave them out, or leave $k= out")
        stable.store_ranks(self, 1)
        self._gap: float | None = None
        self.sigma_1, self.sigma, self.delta_t = sigma_1, sigma, delta_t
        if by_noise:
            total, number_of = _check_delta(delta, queries)
            cost = self._pay_for_noise(total, number_of, stated=rho is not None or epsilon is not None)
        else:
            share = Fraction(1, number_of)
            own, for_test = base.part_of(total, share / 2), base.part_of(self.rho, share)
            if self.k is None:
                for_test = base.part_of(self.rho, share / 2)
                self._gap = epsilon_of_a_round(1, ZCDP(for_test))
            self._test = GaussianTest(rate_below(for_test, 4), quantile_above(own), 2)
            cost = ZCDP(up(2 * self._test.rate**2), own)
            cost = cost if self._gap is None else privacy.compose(BoundedRange(self._gap), cost)
        self._book = Book(cost, total, number_of)

    def _pay_for_noise(self, total: float, queries: int, *, stated: bool) -> Guarantee:
        """Return what a query with noise of the given deviations costs; a teacher moves gaps by up to 2 either way."""
        if stated:
            raise bad_type("the noise says what it costs: leave $rho= and $epsilon= out, or leave the deviations out")
        self.sigma_1, sigma, delta_t = stable.check_deviations(self.k, self.sigma_1, self.sigma, self.delta_t)
        self.sigma, self.delta_t = sigma, delta_t
        if queries * Fraction(delta_t) >= Fraction(total):
            raise bad_value("$delta must be greater than queries * delta_t: write a larger delta, or a smaller delta_t")
        self._test = GaussianTest(1 / Fraction(sigma), quantile_above(delta_t), 2)
        in_ranges = None if self.sigma_1 is None else Fraction(self.sigma_1) / 2
        query = stable.noise_cost(in_ranges, self.limit, 2 / Fraction(sigma) ** 2, delta_t).whole
        self.rho = up(queries * Fraction(query.rho))
        return query

    @property
    def _scale(self) -> Fraction:
        """Of the noise on the gaps, which one teacher moves by up to 2 either way."""
        return Fraction(self.sigma_1 or 0) if self._gap is None else 4 / Fraction(self._gap)

    def __repr__(self) -> str:
        given = {"rho": self.rho if self.sigma is None else None, "delta": self._book.delta}
        limit = None if self.sigma_1 is None else self.limit
        noise = {"sigma_1": self.sigma_1, "limit": limit, "sigma": self.sigma, "delta_t": self.delta_t}
        return self._describe(**given, queries=self._book.queries, k=self.k, **noise)

    def label(
        self, votes: object, *, rng: Source | None = None, ledger: Ledger | None = None, purpose: str = ""
    ) -> frozenset[int] | None:
        """The labels of one query: column numbers of `votes`, teachers x labels, 0 or 1; None if it is not stable.

        Anything else than 1 is no vote: to refuse it would tell of that vote.
        `rng` is None for the secure source; `ledger` books the query, with its `purpose`, before the votes are read.

        Raises
        ------
        BudgetExceeded
            if all queries were asked, or the ledger has no room: nothing is looked at.
        RuntimeError
            in a forked child, where the budget would be spent twice: nothing is looked at.
        """
        sets = self._ask(votes, rng, ledger, purpose)
        assert sets.chosen is not None
        return frozenset(sets.indices[0].tolist()) - {-1} if sets.chosen[0, 1] else None

    def _ballots(self, votes: object) -> Indices:
        ballots: Indices = (_as_array(votes, 2, "teachers x labels, each 0 or 1") == 1).astype(np.int64)
        self._shifts(ballots.shape[1])
        return ballots

    def _shifts(self, labels: int) -> list[Fraction | None]:
        """The regularizer of that many labels; with k fixed no other number may be chosen."""
        if self.k is not None:
            if self.k > labels:
                raise bad_value(f"$k={self.k} is more than the {labels} labels of these votes: choose a smaller k")
            return [None] * (self.k - 1) + [Fraction(0)]
        shifts = stable.offsets(self.regularizer, labels if self.limit is None else self.limit)[:labels]
        if all(one is None for one in shifts):
            raise ValueError("regularizer must leave at least one number of labels that may be chosen")
        return shifts

    @np.errstate(all="ignore")
    def _draw(self, ballots: Indices, source: Source, draws: int) -> base.Draws:
        counts, shifts = ballots.sum(axis=0, dtype=np.int64), self._shifts(ballots.shape[1])
        largest = base.sort_counts(counts, len(counts) + 1)
        noise = GUMBEL if self.sigma_1 is None else GAUSSIAN
        if self.k is None:
            ranks = stable.large_gaps(largest, shifts, self._scale, source, draws, noise)
        else:
            ranks = np.full(draws, self.k)
        sets = stable.stable_sets(Scores(counts, monotone=True), ranks, len(shifts), self._test, source)
        return base.Draws(sort_rows(sets.indices), None, sets.chosen)


class PATE(_Teachers):
    """One label for each query: the class with the most votes under Gumbel noise, or under Gaussian noise.

    Each teacher votes for one class. Replacing a teacher's vote takes one from a class and gives it to another: R = 2,
    so a query with noise of scale 2 / e is e-bounded range; e is the largest that costs at most rho / queries. With
    Gaussian noise of deviation sigma a query is 1 / sigma^2-zCDP, whatever the number of classes (Theorem 271).

    Parameters
    ----------
    rho, delta, epsilon
        The total over all queries, and the delta at which `guarantee` states it. `epsilon=3.0` in place of `rho=` takes
        the rho that is (epsilon, delta)-DP.
    queries
        How many; one more raises `BudgetExceeded`.
    classes
        How many classes there are: public.
    noise
        `"gumbel"` or `"gaussian"`: of about the same deviation, and Gaussian noise errs less where the lead is large.
    sigma
        In place of `rho`: the deviation of Gaussian noise, in votes.

    See docs/mechanisms/pate.md for the proof.

    Examples
    --------
    >>> pate = PATE(rho=0.5, delta=1e-6, queries=10, classes=3)
    >>> pate.label([2] * 240 + [0] * 10)
    2
    >>> PATE(sigma=40.0, delta=1e-6, queries=100, classes=10).query
    ZCDP(rho=0.000625, delta=0.0)
    """

    __slots__ = ("classes", "rho", "sigma")

    def __init__(
        self,
        rho: float | None = None,
        delta: float | None = None,
        queries: int | None = None,
        *,
        classes: int,
        epsilon: float | None = None,
        noise: Literal["gumbel", "gaussian"] | None = None,
        sigma: float | None = None,
    ) -> None:
        if noise not in (None, "gaussian", *(["gumbel"] if sigma is None else [])):
            raise ValueError('noise must be "gumbel" or "gaussian", and sigma= is for Gaussian noise')
        self.classes, self.sigma = count("classes", classes), None
        if sigma is not None:
            if rho is not None or epsilon is not None:
                raise bad_type("the noise says what it costs: leave $rho= and $epsilon= out, or leave sigma= out")
            total, number_of = _check_delta(delta, queries)
            self.sigma = number("sigma", sigma, above=True)
        else:
            whole, total, number_of = _check_totals(rho, delta, queries, epsilon, Fraction(1))
            if noise == "gaussian":  # the least deviation s, or nearly, with 1 / s^2 <= rho
                share = base.part_of(whole, Fraction(1, number_of))
                if not share:
                    raise ValueError("rho is too small to be shared by so many queries: write a larger rho")
                self.sigma = 1 / math.sqrt(share)
                while 1 / Fraction(self.sigma) ** 2 > Fraction(share):
                    self.sigma = math.nextafter(self.sigma, math.inf)
        if self.sigma is not None:  # a vote that is replaced moves two counts by one, their vector by sqrt(2)
            query = stable.cost_of_noise(1 / Fraction(self.sigma) ** 2)
            self.rho, self._book = up(number_of * Fraction(query.rho)), Book(query, total, number_of)
            return
        budget = ZCDP(whole) if epsilon is None else ApproxDP(epsilon, total)
        self._book = Book(BoundedRange(epsilon_of_a_round(number_of, budget)), total, number_of)
        # as rounds of bounded range they may cost more rho than any mechanism of that epsilon
        self.rho = whole if epsilon is None else self._book.cost(number_of).rho

    def __repr__(self) -> str:
        given = {"rho": self.rho if self.sigma is None else None, "sigma": self.sigma}
        return self._describe(**given, delta=self._book.delta, queries=self._book.queries, classes=self.classes)

    def label(
        self, votes: object, *, rng: Source | None = None, ledger: Ledger | None = None, purpose: str = ""
    ) -> int:
        """The class of one query, from `votes`: one class number (0, 1, ..) for each teacher.

        A vote for anything else counts for no class: to refuse it would tell of that vote.
        `rng` is None for the secure source; `ledger` books the query, with its `purpose`, before the votes are read.

        Raises
        ------
        BudgetExceeded
            if all queries were asked, or the ledger has no room: nothing is looked at.
        RuntimeError
            in a forked child, where the budget would be spent twice: nothing is looked at.
        """
        return int(self._ask(votes, rng, ledger, purpose).indices[0, 0])

    def _ballots(self, votes: object) -> Indices:
        return _as_array(votes, 1, "one class number for each teacher")

    def _draw(self, ballots: Indices, source: Source, draws: int) -> base.Draws:
        valid = ballots[(ballots >= 0) & (ballots < self.classes)]
        scores = Scores(np.bincount(valid, minlength=self.classes), neighbours="replace")
        noise, scale = GAUSSIAN, Fraction(self.sigma or 0)
        if isinstance(self.query, BoundedRange):
            noise, scale = GUMBEL, scores.range_sensitivity / Fraction(self.query.epsilon)
        return base.Draws(race_many(scores.values, k=1, scale=scale, noise=noise, source=source, draws=draws))


def _check_totals(
    rho: object, delta: object, queries: object, epsilon: object, share: Fraction
) -> tuple[float, float, int]:
    """rho, or the largest that is (epsilon, delta)-DP with that share of delta for conversion; delta; queries."""
    total, number_of = _check_delta(delta, queries)
    if (rho is None) == (epsilon is None):
        raise bad_type("give either $rho= or $epsilon=, the total over all queries, for example $epsilon=3.0")
    if epsilon is None:
        return number("rho", rho, above=True), total, number_of
    budget = ApproxDP(number("epsilon", epsilon, above=True), base.part_of(total, share))
    return privacy.calibrate(ZCDP, budget), total, number_of


def _check_delta(delta: object, queries: object) -> tuple[float, int]:
    """The total delta, and the number of queries that share it."""
    total, number_of = number("delta", delta, above=True, below=1.0), count("queries", queries)
    if total / number_of < base.LEAST_DELTA:
        raise bad_value("delta is too small to be shared by so many queries: write $delta=1e-6, for example")
    return total, number_of


def _as_array(votes: object, dimensions: int, what: str) -> Indices:
    """Return whole numbers in the shape asked for; what is not whole becomes `NOBODY`.

    Shapes and types are checked. The numbers are not: an error would tell of the votes, and cost nothing.
    """
    if not isinstance(votes, Sequence | np.ndarray) or isinstance(votes, str | bytes):
        raise TypeError(f"votes must be a list or an array: {what}")
    ballots = attempt(lambda: np.asarray(votes), ValueError, f"votes must be as many for every teacher: {what}")
    if ballots.ndim != dimensions or not ballots.size:
        raise ValueError(f"votes must have {dimensions} dimension{'s' * (dimensions > 1)} and not be empty: {what}")
    kinds = int | float | np.integer | np.floating
    if ballots.dtype == object and all(isinstance(vote, kinds) for vote in ballots.flat):
        # an integer beyond 64 bits is among them; a comparison with NaN is false
        valid = [vote if abs(vote) < MANY else NOBODY for vote in ballots.flat]
        ballots = np.array(valid, float).reshape(ballots.shape)
    if ballots.dtype.kind == "f":
        whole = (ballots == np.floor(ballots)) & (np.abs(ballots) < MANY)
        ballots = np.where(whole, ballots, NOBODY).astype(np.int64)
    if ballots.dtype.kind not in "biu":
        raise ValueError(f"votes must be whole numbers: {what}")
    return ballots.astype(np.int64)
