"""What every mechanism is: a frozen description that knows its guarantee before it sees data.

A mechanism says how it draws (`_draw`); the way from scores to a release is here, once.
"""

from __future__ import annotations

import math
import operator
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from shortlist._arrays import Floats, Indices, Values
from shortlist.estimates import Answer, ChainedGaps, ThresholdGaps
from shortlist.exact.noise_distributions import Noise, noise_named
from shortlist.ledger.filter import Currency
from shortlist.ledger.ledger import Reservation
from shortlist.privacy import ZCDP, ApproxDP, ExPost, Guarantee, Ledger, LedgerError, PureDP
from shortlist.release import Release
from shortlist.sampling.entropy import SECURE, Secure, Seeded, Source
from shortlist.scores import Scores, as_scores

Budget = PureDP | ZCDP | ApproxDP


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a mechanism drew: the positions of the winners, best first, and whatever is released beside them."""

    indices: list[int] | None
    """None where a test did not pass: then nothing is named."""
    values: list[float] | None = None
    soft_max: float | None = None
    used: str | None = None
    notes: tuple[str, ...] = ()
    gaps: list[float] | None = None
    answers: list[Answer] | None = None
    p_value: float | None = None
    stopped: bool | None = None
    kept: ExPost | None = None
    """What this very outcome cost, where a ledger that reserved the charge may take back the rest (Theorem 38)."""
    evidence: ChainedGaps | ThresholdGaps | None = None
    k: int | None = None
    """How many items, where the mechanism chose that."""


@dataclass(frozen=True, slots=True)
class Draws:
    """Independent draws of public scores, one row each, where a draw is more than k positions."""

    indices: Indices
    """The positions of the winners, best first (or sorted, if the order is not released); -1 where there are fewer."""
    reals: Floats | None = None
    """Gaps or values, in the order of a release: exact numbers, rounded down to a grid; NaN where there are fewer.

    The grid is a power of two about 2^-20 times the scale of the noise: fine for study, and fast.
    """
    chosen: Indices | None = None
    """What else was chosen, in whole numbers: a rank, a branch, which way it went."""

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[Indices, Floats]]) -> Draws:
        """Positions and reals that were drawn some rows at a time."""
        positions, reals = zip(*rows, strict=True)
        return cls(np.concatenate(positions), np.concatenate(reals))


class Mechanism(ABC):
    """A random choice among candidates, described once and for all: it knows its guarantee before it sees data.

    What the methods take, wherever they take it: `scores` is `Scores`, or plain values with the other words of `Scores`
    as `question` (`sensitivity=1.0`, `monotone=True`); `draws` is how many independent draws; `rng` is None for the
    secure source, or `sl.testing.seeded(7)` for tests. Exact laws (`probabilities`, `success_probability`, `quality`
    and their kin) and `release_many` are functions of the scores, for public or made-up ones: they refuse scores that
    were counted from rows before `as_public()`.

    Examples
    --------
    >>> from shortlist.mechanisms import NoisyMax
    >>> mechanism = NoisyMax(epsilon=1.0)
    >>> mechanism.guarantee, mechanism.release([900, 20, 500], monotone=True).index
    (PureDP(epsilon=1.0), 0)
    """

    __slots__ = ()

    proof: ClassVar[str]
    """Where the proof of the guarantee stands."""

    exchangeable: ClassVar[bool] = False
    """Whether the law treats candidates alike: renaming them renames the output and changes nothing else.

    Candidates that are held in a table have no order but that of their scores, so only such mechanisms may see them.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The mechanism in a few words, for the record."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What one person is promised."""

    @property
    def charge(self) -> Guarantee:
        """What a ledger books: the guarantee, or a finer statement of it."""
        return self.guarantee

    @property
    def refundable(self) -> tuple[Currency, ...]:
        """The currencies in which a ledger may give back what an output shows unused: where that is proved."""
        return ()

    @property
    @abstractmethod
    def ordered(self) -> bool:
        """Whether the order of the released items is part of the release."""

    def _asked(self, scores: object, question: dict[str, Any]) -> Scores:
        """The question, from what the caller passed."""
        return as_scores(scores, **question)

    @abstractmethod
    def _check(self, scores: Scores) -> None:
        """Refuse a question that does not fit, from public facts alone."""

    def _terms(self, scores: Scores) -> tuple[Guarantee, Guarantee]:
        """(guarantee, charge) for this question, from public facts alone: those of the mechanism, or finer ones."""
        return self.guarantee, self.charge

    @abstractmethod
    def _draw(self, scores: Scores, source: Source) -> Outcome:
        """One exact draw."""

    def _kept(self, outcome: Outcome) -> Guarantee:
        """What of the charge this output has used, for mechanisms that are `refundable`."""
        return self.charge if outcome.kept is None else outcome.kept

    @final
    def _studied(self, scores: object, question: dict[str, Any]) -> Scores:
        """A question about public scores, for exact laws and repeated draws."""
        asked = self._asked(scores, question)
        check_studied(asked)
        self._check(asked)
        return asked

    @final
    def _reserve(self, ledger: Ledger | None, charge: Guarantee, purpose: str, unit: str) -> Reservation | None:
        """Book the charge, before anything is looked at."""
        if ledger is None:
            return None
        return ledger.reserve(charge, refundable=self.refundable, purpose=purpose, mechanism=repr(self), unit=unit)

    @final
    def release(
        self,
        scores: object,
        *,
        rng: Source | None = None,
        ledger: Ledger | None = None,
        purpose: str = "",
        **question: Any,
    ) -> Release:
        """One exact draw.

        Parameters
        ----------
        scores
            `Scores`, or plain values with `sensitivity=` and `monotone=` (and the other words of `Scores`).
        rng
            None is the secure source. `sl.testing.seeded(7)` repeats itself and marks the release as not private.
        ledger, purpose
            Where the charge is booked, durably, before the scores are looked at; and what for.

        Raises
        ------
        BudgetExceeded
            if the ledger has no room: nothing is booked and nothing looked at.
        """
        asked = self._asked(scores, question)
        source = checked_source(rng)
        check_ledger(ledger)
        reservation = self._booked(asked, ledger, purpose)
        return self._drawn(asked, source, reservation)

    @abstractmethod
    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Any
    ) -> Indices | Draws:
        """So many independent draws, exact and fast, for study and audit of public scores: nothing is booked."""

    @final
    def _booked(self, asked: Scores, ledger: Ledger | None, purpose: str) -> Reservation | None:
        """Refuse a question that does not fit, then book its charge: by public facts alone, so before rows are read."""
        if not (asked.numbered or self.exchangeable):
            raise ValueError(
                f"{self.name} asks its candidates one after another, in an order that must be public; candidates "
                "counted from a table have none. Choose a mechanism that treats them alike, as top_k does"
            )
        self._check(asked)
        return self._reserve(ledger, self._terms(asked)[1], purpose, f"{asked.unit} ({asked.neighbours})")

    @final
    def _drawn(self, asked: Scores, source: Source, reservation: Reservation | None) -> Release:
        """One exact draw from a question that was accepted, and paid for where there is a ledger."""
        guarantee, charge = self._terms(asked)
        outcome = self._draw(asked, source)
        if reservation is not None and self.refundable:
            give_back(reservation, self._kept(outcome))
        release = Release(
            items=None if outcome.indices is None else asked._named(outcome.indices),
            indices=outcome.indices if asked.numbered else None,
            ordered=self.ordered,
            guarantee=guarantee,
            charge=charge,
            mechanism=self.name,
            why="named by the caller",
            unit=asked.unit,
            neighbours=asked.neighbours,
            secure=source.secure,
            frame=asked.frame,
            item_columns=asked.columns,
            values=outcome.values,
            soft_max=outcome.soft_max,
            used=outcome.used,
            notes=outcome.notes,
            gaps=outcome.gaps,
            answers=outcome.answers,
            p_value=outcome.p_value,
            stopped=outcome.stopped,
            kept=outcome.kept,
            receipt=None if reservation is None else reservation.receipt(),
            evidence=outcome.evidence,
            k=outcome.k,
        )
        if not asked.public:
            release = release.without_positions()  # before sorting: places in a private list must not break ties
        return release if self.ordered else release.as_set()


def give_back(reservation: Reservation, kept: Guarantee) -> None:
    """Refund what the outcome did not use; if that fails, the release stands and stays paid in full."""
    try:
        reservation.refund(kept)
    except LedgerError as error:
        with suppress(UserWarning):  # where warnings are errors, what was paid for must come out all the same
            warnings.warn(f"the release stands, its refund is lost: {error}", stacklevel=3)


def check_ledger(ledger: object) -> None:
    if not isinstance(ledger, Ledger | None):
        raise TypeError('ledger must be a Ledger: write ledger=Ledger("budget.db")')


def checked_source(rng: object) -> Source:
    if rng is None:
        return SECURE
    if isinstance(rng, Secure | Seeded):
        return rng
    raise TypeError("rng must be None (secure) or sl.testing.seeded(n) (tests only); other generators leak")


def checked_budget(epsilon: float | None, budget: Guarantee | None) -> Budget:
    """`epsilon=` is short for `budget=PureDP(epsilon)`; one of them must be given, or both saying the same."""
    if epsilon is not None and budget in (None, PureDP(epsilon)):
        return PureDP(epsilon)
    if (epsilon is None) == (budget is None):
        raise TypeError("give either epsilon= or budget=, for example epsilon=1.0")
    if not isinstance(budget, PureDP | ZCDP | ApproxDP):
        raise TypeError("budget must be PureDP(..), ZCDP(..) or ApproxDP(..), for example budget=PureDP(1.0)")
    return budget


def store_budget(mechanism: Any) -> None:
    """Keep a pure budget as `epsilon` and any other as `budget`, so that equal mechanisms are equal."""
    budget = checked_budget(mechanism.epsilon, mechanism.budget)
    object.__setattr__(mechanism, "epsilon", budget.epsilon if isinstance(budget, PureDP) else None)
    object.__setattr__(mechanism, "budget", None if isinstance(budget, PureDP) else budget)


def stored_budget(mechanism: Any) -> Budget:
    """What `store_budget` kept."""
    budget: Budget = PureDP(mechanism.epsilon) if mechanism.budget is None else mechanism.budget
    return budget


def checked_pure(mechanism: str, budget: Guarantee) -> PureDP:
    """A pure budget, or the reason why no other is possible."""
    if not isinstance(budget, PureDP):
        raise TypeError(f"{mechanism} keeps pure budgets only (a gap has no bounded range); write epsilon=1.0")
    return budget


def checked_k(k: object) -> int:
    return _checked_whole("k", k, "k=10")


def checked_draws(draws: object) -> int:
    return _checked_whole("draws", draws, "draws=1000")


def _checked_whole(name: str, value: object, example: str) -> int:
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} must be a whole number, for example {example}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1")
    return number


def checked_threshold(threshold: object) -> int | float:
    """A finite number, exactly as given."""
    value = threshold.item() if isinstance(threshold, np.generic) else threshold
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("threshold must be a number, for example threshold=100")
    if not -(2**63) <= value < 2**63 if isinstance(value, int) else not math.isfinite(value):
        raise ValueError("threshold must be finite, and a whole one must fit into 64 bits; write threshold=100")
    return value


def checked_noise(noise: str | Noise) -> Noise:
    return noise if isinstance(noise, Noise) else noise_named(noise)


def checked_work(work: object) -> None:
    if not isinstance(work, str) or work not in ("adaptive", "fixed"):
        raise ValueError('work must be "adaptive" (fast) or "fixed" (the same for all scores)')


def check_known_candidates(scores: Scores, k: int) -> None:
    """The candidates must be public, and at least k of them choosable."""
    if not scores.public:
        raise ValueError(
            "the list of candidates comes from the data, and no pure-DP release of names exists then: if the list is "
            "public knowledge, say public=True (or count with candidates=[...]); otherwise give delta=1e-6, which "
            "selects an unknown-domain mechanism"
        )
    if k > scores._size:
        raise ValueError(f"k={k} is more than the {scores._size} candidates; choose a smaller k")
    if scores.numbered and not _at_least(scores._numbers, k):
        raise ValueError(f"k={k} is more than the candidates that may be chosen (those above -inf)")


def _at_least(values: Values, k: int) -> bool:
    """Whether at least k values are above -inf, looking no further than needed."""
    if values.dtype.kind != "f":
        return True
    found = 0
    for start in range(0, len(values), 1 << 16):
        found += int(np.count_nonzero(values[start : start + (1 << 16)] > -np.inf))
        if found >= k:
            return True
    return False


def check_studied(scores: Scores) -> None:
    """Exact utility and repeated draws are functions of the scores: they are for public scores."""
    if scores.from_table:
        raise ValueError(
            "this is computed from the scores themselves and would show people's data; if these scores are public or "
            "made up, say so: scores.as_public()"
        )
