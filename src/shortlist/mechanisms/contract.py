"""What every mechanism is: a frozen description that knows its guarantee before it sees data.

A mechanism says how it draws (`_draw`); the way from scores to a release is here, once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Generic, TypeVar, Unpack, cast, dataclass_transform, final

import numpy as np

from shortlist._arrays import Floats, Indices
from shortlist._runtime import changed, refuse_changes
from shortlist._text import kind_of_words
from shortlist.extras import NOTHING_ELSE, Extras
from shortlist.ledger.filter import Currency
from shortlist.ledger.ledger import Receipt, Reservation
from shortlist.mechanisms.booking import give_back, noted, source_of
from shortlist.mechanisms.checks import check_ledger, check_studied, checked_source
from shortlist.mechanisms.score_notes import score_notes
from shortlist.privacy import Guarantee, Ledger
from shortlist.release import Release
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores, ScoreWords
from shortlist.smallest import question_of, turned_back

Described = TypeVar("Described", bound=type)
Paid = TypeVar("Paid", bound=Guarantee)

UNSAID: Any = None
"""The default of a budget: then a short form must say it."""
SHORT_FORMS = {"epsilon", "delta", "scale", "mu"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a mechanism drew: the positions of the winners, best first, and whatever is released beside them."""

    indices: list[int] | None
    """None where a test did not pass: then nothing is named."""
    extras: Extras = NOTHING_ELSE
    notes: tuple[str, ...] = ()
    by_weight: bool = False
    """Whether positions are those of the capped weights that came with the scores."""


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

    def as_they_were(self, scores: Scores, first: int = 0) -> Draws:
        """With reals from this column on as values of the scores themselves, where these were negated."""
        if not scores._turned or self.reals is None:
            return self
        return replace(self, reals=np.column_stack([self.reals[:, :first], 0.0 - self.reals[:, first:]]))


class Mechanism(ABC):
    """A random choice among candidates, described once and for all: it knows its guarantee before it sees data.

    What the methods take, wherever they take it: `scores` is `Scores`, or plain values with the other words of `Scores`
    as `question` (`sensitivity=1.0`, `monotone=True`); `draws` is how many independent draws; `rng` is None for the
    secure source, or `sl.testing.seeded(7)` for tests. `largest=False` beside the scores is for the smallest ones of a
    public list, as in `top_k`; what has a meaning or a proof for the largest alone refuses it. Exact laws
    (`probabilities`, `success_probability`, `quality` and their kin) and `release_many` are functions of the scores,
    for public or made-up ones: they refuse scores that were counted from rows before `as_public()`.

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

    largest_only: ClassVar[bool] = False
    """Whether what it says has no meaning for the smallest, or no proof: then `largest=False` is refused."""

    @property
    def treats_alike(self) -> bool:
        """Whether this one does: `exchangeable`, unless its parameters tell candidates apart."""
        return self.exchangeable

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

    def _asked(self, scores: object, question: ScoreWords) -> Scores:
        """The question, from what the caller passed."""
        return question_of(scores, question)

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
        return self.charge if outcome.extras.kept is None else outcome.extras.kept

    @final
    def _studied(self, scores: object, question: ScoreWords) -> Scores:
        """A question about public scores, for exact laws and repeated draws."""
        scores = self._asked(scores, question)
        check_studied(scores)
        self._check_turned(scores)
        self._check(scores)
        return scores

    @final
    def _check_turned(self, scores: Scores) -> None:
        """Refuse negated scores where they mean nothing."""
        if scores._turned and self.largest_only:
            raise ValueError(f"{self.name} is about the largest scores alone: leave largest=False out")

    @final
    def _reserve(
        self, ledger: Ledger | None, terms: tuple[Guarantee, Guarantee], purpose: str, unit: str, source: str = ""
    ) -> Reservation | None:
        """Book the charge, before anything is looked at; or the guarantee, where only that has room (Theorem 223)."""
        if ledger is None:
            return None
        guarantee, charge = terms
        words = {"purpose": purpose, "mechanism": repr(self), "unit": unit, "source": source}
        return ledger.reserve(charge, guarantee, refundable=self.refundable, **words)

    @final
    def release(
        self,
        scores: object,
        *,
        rng: Source | None = None,
        ledger: Ledger | None = None,
        purpose: str = "",
        **question: Unpack[ScoreWords],
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
        scores = self._asked(scores, question)
        source = checked_source(rng)
        check_ledger(ledger)
        reservation = self._booked(scores, ledger, purpose, secure=source.secure)
        return self._drawn(scores, source, reservation)

    @abstractmethod
    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Indices | Draws:
        """So many independent draws, exact and fast, for study and audit of public scores: nothing is booked."""

    @final
    def _booked(
        self, scores: Scores, ledger: Ledger | None, purpose: str, *, secure: bool = True, said: str = ""
    ) -> Reservation | None:
        """Refuse a question that does not fit, then book its charge: by public facts alone, so before rows are read."""
        if not (self.treats_alike or scores.numbered):
            raise ValueError(
                f"{self.name} asks its candidates one after another, in an order that must be public; candidates "
                "counted from a table have none. Choose a mechanism that treats them alike, as top_k does"
            )
        self._check_turned(scores)
        self._check(scores)
        if ledger is None:
            return None
        unit = f"{scores.unit} ({scores.neighbours})"
        source = noted(source_of(scores), largest=not scores._turned, secure=secure, said=said)
        return self._reserve(ledger, self._terms(scores), purpose, unit, source)

    @final
    def _drawn(self, scores: Scores, source: Source, reservation: Reservation | None) -> Release:
        """One exact draw from a question that was accepted, and paid for where there is a ledger."""
        with np.errstate(all="ignore"):  # whatever a caller makes of floats that run out would tell of the scores
            outcome = self._draw(scores, source)
        finer = reservation is not None and reservation.guarantee == self._terms(scores)[1]
        if reservation is not None and self.refundable and finer:  # what is kept is told of the finer statement alone
            give_back(reservation, self._kept(outcome))
        items = None
        if outcome.indices is not None:
            items = scores._named(outcome.indices, by_weight=outcome.by_weight)
        if reservation is None:
            return self._told(scores, outcome, items, source.secure, None)
        release = self._told(scores, outcome, items, source.secure, reservation.receipt())
        return replace(release, charge=reservation.guarantee)

    @final
    def _told(
        self, scores: Scores, outcome: Outcome, items: list[Hashable] | None, secure: bool, receipt: Receipt | None
    ) -> Release:
        """What was drawn, as a release, once the winners are named."""
        guarantee, charge = self._terms(scores)
        extras = turned_back(outcome.extras) if scores._turned else outcome.extras
        if scores.public and scores._has_names:
            extras = changed(extras, candidates=scores._size)
        release = Release(
            items=items,
            # places in a private list, or by rank, must not even break ties
            indices=outcome.indices if scores.numbered and scores.public else None,
            ordered=self.ordered,
            guarantee=guarantee,
            charge=charge,
            mechanism=f"{self.name}, on negated scores" if scores._turned else self.name,
            why="named by the caller",
            unit=scores.unit,
            neighbours=scores.neighbours,
            secure=secure,
            frame=scores.frame,
            notes=(*score_notes(scores, values=outcome.extras.values is not None), *outcome.notes),
            receipt=receipt,
            item_columns=scores.columns,
            extras=extras,
        )
        return release if self.ordered else release.as_set()


class Budgeted(Mechanism, Generic[Paid]):
    """A mechanism that is paid with one budget: its guarantee.

    `budget` is checked and kept when the mechanism is made, whichever way it was written: `epsilon=` and `delta=` are
    short forms of the constructor. `dataclasses.replace(mechanism, budget=...)` gives it another one. A dataclass
    made of a mechanism takes `budget=` and has no short forms.
    """

    __slots__ = ()

    budget: Guarantee

    @property
    def guarantee(self) -> Paid:
        """What one person is promised: the budget."""
        return cast(Paid, self.budget)

    @property
    def epsilon(self) -> float:
        """The epsilon of the budget, where it has one."""
        return self._of_budget("epsilon")

    @property
    def delta(self) -> float:
        """The delta of the budget, where it has one."""
        return self._of_budget("delta")

    def _of_budget(self, name: str) -> float:
        if not hasattr(self.budget, name):
            raise AttributeError(f"this mechanism is paid with {self.budget}, which has no {name}; read .budget")
        number: float = getattr(self.budget, name)
        return number

    def _pay(self, budget: Paid) -> None:
        """Keep a budget that was checked, in a mechanism that is being made."""
        object.__setattr__(self, "budget", budget)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def described(cls: Described) -> Described:
    """A frozen description: a dataclass whose `InitVar` fields are short forms that its constructor alone knows.

    What was written in short is not kept, so equality, repr, pickles and `dataclasses.replace` see what was meant, and
    `epsilon` is that of the budget.
    """
    record: Any = dataclass(frozen=True, slots=True, kw_only=True)(cls)
    short = SHORT_FORMS & record.__dataclass_fields__.keys() - {one.name for one in fields(record)}
    for name in short:
        del record.__dataclass_fields__[name]  # or replace() would read it and write it beside the budget
        delattr(record, name)  # its default None, or it would hide that of the budget
    record.__post_init__.__defaults__ = (None,) * len(short)  # a dataclass made of this one has none to pass on
    refuse_changes(record, "a mechanism cannot be changed, nor its {}: dataclasses.replace makes another one")
    record.__init__ = kind_of_words(cls.__name__)(record.__init__)
    return cast(Described, record)
