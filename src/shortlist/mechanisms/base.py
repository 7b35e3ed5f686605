"""What every mechanism is: a frozen description that knows its guarantee before it sees data.

A mechanism says how it draws (`_draw`); the way from scores to a release is here, once, with the checks of arguments
that all mechanisms share.
"""

from __future__ import annotations

import math
import operator
import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar, Unpack, cast, dataclass_transform, final

import numpy as np

from shortlist._arrays import Floats, Indices, Runs, Values
from shortlist._runtime import kind_of_words, present, refuse_changes, replace_fields, set_fields
from shortlist._text import about, ordinal
from shortlist.accounting.curves import up
from shortlist.accounting.guarantees import count, number
from shortlist.errors import PrivacyWarning, bad_type, bad_value
from shortlist.exact.noise import EXPONENTIAL, GUMBEL, Noise, noise_named
from shortlist.exact.reals import floor_to_float
from shortlist.ledger.filter import Currency
from shortlist.ledger.ledger import Reservation
from shortlist.privacy import ZCDP, ApproxDP, Guarantee, Ledger, LedgerError, PureDP
from shortlist.release import NOTHING_ELSE, Extras, Release, undo_negation
from shortlist.sampling.entropy import SECURE, Secure, Seeded, Source
from shortlist.scores import SMALLEST_NOTE, Pick, QuestionOptions, Scores, as_scores

Budget = PureDP | ZCDP | ApproxDP
"""What may be paid with."""
PlainBudget = TypeVar("PlainBudget", PureDP, ZCDP, ApproxDP, Budget)
Paid = TypeVar("Paid", bound=Guarantee)


def check_ledger(ledger: object) -> None:
    """Refuse what is neither a ledger nor None."""
    if ledger is not None and not isinstance(ledger, Ledger):
        raise bad_type('$ledger must be a Ledger: write $ledger=Ledger("budget.db")')


def check_source(rng: object) -> Source:
    """The secure source for None; of other sources only seeded ones of ours."""
    if rng is None:
        return SECURE
    if isinstance(rng, Secure | Seeded):
        return rng
    raise TypeError("rng must be None (secure) or sl.testing.seeded(n) (tests only); other generators leak")


def check_budget(
    epsilon: float | None,
    budget: Guarantee | None,
    scale: float | None = None,
    rounds: int = 1,
    example: str = "$epsilon=1.0",
) -> Budget:
    """`epsilon=` is short for `budget=PureDP(epsilon)`; one of them must be given, or both saying the same,
    as `dataclasses.replace` does.

    `scale=` is short for the epsilon of which noise of that scale, in units of R, pays for so many rounds.
    """
    if scale is not None:
        if epsilon is not None or budget is not None:
            raise bad_type("scale= says what it costs: leave $epsilon= and $budget= out, or leave scale= out")
        epsilon = up(rounds / Fraction(number("scale", scale, above=True)))
    short = None if epsilon is None else PureDP(epsilon)
    if short is not None and budget in (None, short):
        return short
    if (epsilon is None) == (budget is None):
        both = "" if budget is None else "; dataclasses.replace takes $budget=PureDP(1.0)"
        raise bad_type(f"give either $epsilon= or $budget=, for example {example}{both}")
    if not isinstance(budget, PureDP | ZCDP | ApproxDP):
        raise bad_type("$budget must be PureDP(..), ZCDP(..) or ApproxDP(..), for example $budget=PureDP(1.0)")
    return plain_budget(budget)


def plain_budget(budget: PlainBudget) -> PlainBudget:
    """The same number in its family itself: a class made of it may say that it costs less than what is drawn for it."""
    families: tuple[type[Guarantee], ...] = (PureDP, ZCDP, ApproxDP)
    if type(budget) in families:
        return budget
    family: Any = next(one for one in families if isinstance(budget, one))
    return cast(PlainBudget, family(*(getattr(budget, one.name) for one in fields(family))))


def check_pure_budget(
    mechanism: str, epsilon: float | None, budget: Guarantee | None, scale: float | None = None, rounds: int = 1
) -> PureDP:
    """A pure budget, or the reason why no other is possible."""
    budget = check_budget(epsilon, budget, scale, rounds)
    if not isinstance(budget, PureDP):
        raise bad_type(f"{mechanism} keeps pure budgets only (a gap has no bounded range); write $epsilon=1.0")
    return budget


def check_k(k: object) -> int:
    """A whole number of items, 1 or more."""
    return check_whole("k", k, "k=10")


def check_whole(name: str, value: object, example: str) -> int:
    """A whole number, 1 or more."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise bad_type(f"${name} must be a whole number, for example {example}") from None
    if number < 1:
        raise bad_value(f"${name} must be at least 1")
    return number


def check_weights(name: str, weights: object) -> tuple[Fraction, ...]:
    """Public positive numbers, exactly as given."""
    if not isinstance(weights, Iterable) or isinstance(weights, str | bytes):
        raise bad_type(f"${name} must be one positive number for each candidate: write ${name}=[1, 2, 1], for example")
    plain = [one.item() if isinstance(one, np.generic) else one for one in weights]
    if any(isinstance(one, bool) or not isinstance(one, int | float | Fraction) for one in plain) or not all(
        0 < one < math.inf for one in plain
    ):
        raise bad_value(f"${name} must be positive numbers: write ${name}=[1, 2, 1], for example")
    return tuple(map(Fraction, plain))


def check_share(name: str, share: object, *, zero: bool = True) -> Fraction | float:
    """A number from 0 (not 0 itself, if not `zero`) to 1, exactly as given; numbers of numpy as Python's own."""
    plain = share.item() if isinstance(share, np.integer | np.floating) else share
    if isinstance(plain, int | float | Fraction) and type(plain) is not bool and 0 <= plain <= 1 and (plain or zero):
        return plain
    room = "between 0 and 1" if zero else "above 0 and at most 1"
    raise ValueError(f"{name} must be a number {room}, for example {name}=0.5")


def check_threshold(threshold: object) -> int | float:
    """A finite number, exactly as given."""
    value = threshold.item() if isinstance(threshold, np.generic) else threshold
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("threshold must be a number, for example threshold=100")
    if not -(2**63) <= value < 2**63 if isinstance(value, int) else not math.isfinite(value):
        raise ValueError("threshold must be finite, and a whole one must fit into 64 bits; write threshold=100")
    return value


def check_noise(noise: str | Noise) -> Noise:
    """A noise by its name, or as it is."""
    return noise if isinstance(noise, Noise) else noise_named(noise)


def noise_for(noise: str | Noise | None, budget: Budget) -> Noise:
    """The noise that was said; where none was, exponential for a pure budget and Gumbel for any other."""
    if noise is not None:
        return check_noise(noise)
    return EXPONENTIAL if isinstance(budget, PureDP) else GUMBEL


def check_noise_keeps(noise: Noise, budget: Budget) -> None:
    """Refuse a budget that is not pure for noise without a bounded range."""
    if not isinstance(budget, PureDP) and not noise.bounded_range:
        raise ValueError(f'{noise.name} noise keeps pure budgets only; for {budget} write noise="gumbel"')


def check_work(work: object) -> None:
    """Refuse a word for the work that is not known."""
    if not isinstance(work, str) or work not in ("adaptive", "fixed"):
        raise ValueError('work must be "adaptive" (fast) or "fixed" (the same for all scores)')


def check_known_candidates(scores: Scores, k: int) -> None:
    """The candidates must be public, and at least k of them choosable."""
    if not scores.public:
        raise bad_value(
            "the names come from the data, and that needs a delta: write $delta=1e-6 too; or, if the list of names is "
            "public knowledge, $candidates=[...] where the rows are counted, public=True for scores of your own"
        )
    if k > scores._size:
        raise bad_value(f"$k={k} is more than the {scores._size} candidates; choose a smaller k")
    if not scores._content.has_choosable(k):
        raise bad_value(f"$k={k} is more than the candidates that may be chosen (those above -inf)")


def check_public_scores(scores: Scores) -> None:
    """Exact utility and repeated draws are functions of the scores: they are for public scores."""
    if scores.from_table:
        raise ValueError("this would show people's data; if it is public or made up, say so: scores.as_public()")


DeltaBudget = ZCDP | ApproxDP

FEW_NAMES = 2
"""Where a person counts for so many names at most, geometric noise has the lowest bar."""
MANY_NAMES = 64
"""Beyond so many names the bar of every mechanism without a cap is higher."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is public of a question to `top_k`: all that the choice of a mechanism may look at."""

    k: int | None
    budget: Budget
    ordered: bool = False
    values: bool = False
    gaps: bool = False
    public: bool = True
    """Whether the candidates are a public list."""
    limit: int | None = None
    most: int | None = None
    """How many candidates one person counts for, where that was capped."""
    weighed: bool = False
    """Whether capped weights came with the counts: where rows were counted without a public list."""

    @property
    def has_public_list(self) -> bool:
        """Whether a public list and a fixed k answer it: the only way without a delta."""
        has_delta = isinstance(self.budget, DeltaBudget) and self.budget.delta > 0
        return not has_delta or (self.public and self.k is not None)

    @property
    def size(self) -> int:
        """k, where one must be given."""
        if self.k is None:
            raise bad_value('$k=None needs $method="stable", which lets the gaps decide; or give $k=10')
        return self.k


LARGEST_LIMIT = 2**31 - 1
LEAST_DELTA = 1e-280
"""Below it a share of delta would be lost to underflow."""


def bar_in_words(offset: float, rank: int) -> str:
    """Where a name must stand to be released, in words: by public numbers. The bar itself is private."""
    return f"{about(offset)} people above the {ordinal(rank)}"


def check_delta_budget(
    epsilon: float | None, delta: float | None, budget: Guarantee | None, *, below: float = 1.0
) -> DeltaBudget:
    """(epsilon, delta), or a budget with a delta: without one no label may be named (Proposition 107)."""
    example = "$epsilon=1.0, $delta=1e-6, or $budget=ZCDP(rho=0.05, delta=1e-6)"
    budget = check_budget(epsilon, budget, example=example)
    if delta is not None:
        own = getattr(budget, "delta", 0.0)
        if own not in (0.0, delta):
            raise bad_value("delta was given twice, and not the same: leave $delta= out, the budget has one")
        delta = number("delta", delta, above=True, below=1.0)
        budget = ZCDP(budget.rho, delta) if isinstance(budget, ZCDP) else ApproxDP(budget.epsilon, delta)
    if isinstance(budget, PureDP) or budget.delta == 0:
        raise bad_value(
            "without a delta no name can be released here: a name that one person brought would tell of that person. "
            f"Write {example}"
        )
    if budget.delta < LEAST_DELTA:
        raise bad_value("delta is too small to be shared by the parts that need it: write $delta=1e-6, for example")
    if (budget.rho if isinstance(budget, ZCDP) else budget.epsilon) == 0:
        raise bad_value("the budget must be greater than 0, for example $epsilon=1.0")
    if budget.delta >= below:
        raise bad_value("$delta must be below 1/2: write $delta=1e-6, for example")
    return budget


def check_limit(limit: object, least: int) -> int:
    """A public number of rows to look at, at least as many as are wanted."""
    return count("limit", limit, LARGEST_LIMIT, least)


def check_counts(scores: Scores) -> None:
    """Refuse what are not counts of distinct users under add/remove, from public facts alone.

    Whether a number is below 0 depends on the scores, so it is not refused: such a number counts 0.
    """
    if scores.neighbours != "add-remove":
        raise ValueError('this needs counts under add/remove: write neighbours="add-remove"')
    if not scores.monotone or scores.largest_sensitivity != 1 or isinstance(scores.sensitivity, tuple | list):
        raise bad_value(
            "this needs counts of distinct users, which one person moves by at most 1 and all the same way: write "
            "sensitivity=1, $monotone=True (clipped sums and other scores will not do)"
        )
    if not scores.numbered:  # from a table
        if scores._names is None or scores._names.scores.dtype.kind == "f":
            raise bad_value("this needs counts of distinct users, not clipped sums: count without $value=")
        return
    if scores._numbers.dtype.kind == "f":
        raise ValueError("this needs whole-number counts, not floats: convert them, for example with .astype(int)")
    if not scores.public and scores._size and not scores._has_names:
        raise ValueError("candidates that are not public need names: give labels=, or say public=True for positions")


def largest_counts(counts: Values | Runs, size: int) -> tuple[Indices, Indices]:
    """(positions, counts) of the `size` largest counts, in decreasing order, or of all there are.

    Which of the tied counts at the end are in is arbitrary: whoever uses it must not depend on that.
    """
    if isinstance(counts, Runs):
        first = np.arange(min(size, len(counts)))
        return first, counts[first]
    positions = np.arange(len(counts))
    if size < len(counts):
        positions = np.argpartition(counts, len(counts) - size)[len(counts) - size :]
    # ~ and not -, for the least of all 64-bit integers has no negative
    positions = positions[np.argsort(~counts[positions].astype(np.int64), kind="stable")]
    return positions, counts[positions].astype(np.int64)


def sort_counts(counts: Values | Runs, size: int) -> list[int]:
    """The `size` largest counts in decreasing order, followed by zeros: an absent label counts 0, or below."""
    largest: list[int] = np.maximum(largest_counts(counts, size)[1], 0).tolist()
    return largest + [0] * (size - len(largest))


@dataclass(frozen=True, slots=True)
class Listing:
    """The strict working list T = {i : count_i > c}, c the count of row limit + 1 (0 if there is none).

    It has at most `limit` labels, and it is a function of the histogram: ties at the boundary all fall out, so no tie
    rule exists that could tell something.
    """

    positions: Indices
    counts: Indices
    """In decreasing order."""
    beyond: int
    """c, the count of row limit + 1; 0 if there is none."""


def listing(counts: Values | Runs, limit: int) -> Listing:
    """The strict working list of a histogram; of its limit + 1 largest counts it is the same."""
    positions, largest = largest_counts(counts, limit + 1)
    largest = np.maximum(largest, 0)  # an absent label counts 0, or below
    beyond = int(largest[limit]) if len(largest) > limit else 0
    listed = int(np.count_nonzero(largest > beyond))
    return Listing(positions[:listed], largest[:listed], beyond)


def part_of(delta: float, share: Fraction) -> float:
    """share * delta, rounded down."""
    return floor_to_float(share * Fraction(delta))


def check_column(scores: Scores, most: int, *, weighted: bool) -> None:
    """Sums to which a person brings at most `most` labels, or the reason why not: from public facts.

    A histogram cannot be capped afterwards, so scores that were counted must know their cap; of plain numbers the
    caller says it.
    """
    capped = scores._weights if weighted else None
    cap = scores.most if capped is None else capped.most
    if (not scores.numbered or cap is not None) and cap != most:
        raise bad_value(f"this needs counts of at most {most} labels a person: count a table with $most={most}")
    if capped is not None:
        return
    if not weighted:
        check_counts(scores)
        return
    if scores.neighbours != "add-remove" or not scores.monotone or scores.largest_sensitivity != 1 << 20:
        raise bad_value(
            "this needs weighted sums in units of 2^-20, under add/remove: count a table, or write sensitivity=2**20, "
            "$monotone=True for such whole numbers"
        )
    if scores.numbered and scores._numbers.dtype.kind == "f":
        raise ValueError("weighted sums are whole numbers of 2^-20: convert them, for example with .astype(int)")


def ledger_note(source: str, *, largest: bool = True, secure: bool = True, said: str = "") -> str:
    """What a ledger notes of a question: its table and columns, and what else whoever approves it would ask."""
    facts = source, said, "" if largest else "the smallest", "" if secure else "not private: seeded randomness"
    return "; ".join(filter(None, facts))


def source_of(scores: Scores) -> str:
    """The table and its columns; of numbers that no table is known of, how far one person moves them, as was said."""
    said = ", monotone" if scores.monotone else ""
    return scores._source or f"numbers in memory, sensitivity {scores.sensitivity!r}{said}"


def by_score(scores: Scores) -> Indices:
    """Where the labels stand among public scores, by their places among the weights."""
    weights = present(scores._weights)
    where = {label: place for place, label in enumerate(scores.labels)}
    return np.array([where[label] for label in weights.names(range(int(weights.sizes.sum())))], np.int64)


def refund(reservation: Reservation, charge: Guarantee) -> None:
    """Refund what the outcome did not use; if that fails, the release stands and stays paid in full."""
    try:
        reservation.refund(charge)
    except LedgerError as error:
        with suppress(UserWarning):  # where warnings are errors, what was paid for must come out all the same
            warnings.warn(f"the release stands, its refund is lost: {error}", PrivacyWarning, stacklevel=3)


def score_notes(scores: Scores, *, values: bool) -> tuple[str, ...]:
    """Which end of the scores it is about; and with values, what counts are counts of where each person keeps a few."""
    said = [SMALLEST_NOTE] if scores._negated else []
    if values and scores.most is not None:
        items = "1 item" if scores.most == 1 else f"{scores.most:,} items"
        own = f"each {scores.unit} counts for {items} at most, drawn from their own"
        said.append(f"{own}: without this cap counts can be higher")
    return tuple(said)


Described = TypeVar("Described", bound=type)

MISSING: Any = None
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
    """Gaps and then values, in the order of a release; NaN where there are fewer."""
    chosen: Indices | None = None
    """What else was chosen, in whole numbers: a rank, a branch, which way it went."""


def pad(rows: Iterable[Sequence[float] | None], nothing: float, least: int = 0) -> Floats:
    """Rows of any length as a table, at least so wide; `nothing` where they are shorter."""
    full = [row or () for row in rows]
    width = max(least, *map(len, full))
    return np.array([[*row, *[nothing] * (width - len(row))] for row in full], np.float64)


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
    def is_permutation_invariant(self) -> bool:
        """Whether this one does: `exchangeable`, unless its parameters tell candidates apart."""
        return self.exchangeable

    title: ClassVar[str]
    """`name`, with parameters in braces."""

    @property
    def name(self) -> str:
        """The mechanism in a few words, for the record."""
        return self.title.format(self)

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
    def ordered(self) -> bool:
        """Whether the order of the released items is part of the release."""
        return True

    def _question(self, scores: object, question: QuestionOptions) -> Scores:
        """The question, from what the caller passed."""
        return as_scores(scores, **question)

    @abstractmethod
    def _check(self, scores: Scores) -> None:
        """Refuse a question that does not fit, from public facts alone."""

    def _privacy_cost(self, scores: Scores) -> tuple[Guarantee, Guarantee]:
        """(guarantee, charge) for this question, from public facts alone: those of the mechanism, or finer ones."""
        return self.guarantee, self.charge

    @abstractmethod
    def _draw(self, scores: Scores, source: Source) -> Outcome:
        """One exact draw."""

    def _way(self, outcome: Outcome) -> Sequence[int] | None:
        """What else was chosen, for `Draws.chosen`."""
        return None

    def _draw_many(self, scores: Scores, draws: int, source: Source) -> Indices | Draws:
        """Draw one after the other; at once where that is far faster, and what is drawn is positions alone."""
        with np.errstate(all="ignore"):
            outcomes = [self._draw(scores, source) for _ in range(draws)]
        names = by_score(scores) if any(one.by_weight for one in outcomes) else ()
        rows = [[names[i] for i in one.indices or ()] if one.by_weight else one.indices or () for one in outcomes]
        size = min(getattr(self, "k", None) or 1, scores._size)
        indices = pad(rows if self.ordered else map(sorted, rows), -1, size).astype(np.int64)
        extras = [undo_negation(one.extras) if scores._negated else one.extras for one in outcomes]
        columns = ([one.gaps for one in extras], [one.values for one in extras])
        reals = [pad(column, np.nan, size) for column in columns if any(one is not None for one in column)]
        ways = [way for one in outcomes if (way := self._way(one)) is not None]
        chosen = pad(ways, -1).astype(np.int64) if ways else None
        return Draws(indices, np.hstack(reals) if reals else None, chosen) if reals or ways else indices

    def _final_charge(self, outcome: Outcome) -> Guarantee:
        """What of the charge this output has used, for mechanisms that are `refundable`."""
        return self.charge if outcome.extras.kept is None else outcome.extras.kept

    @final
    def _validate_public(self, scores: object, question: QuestionOptions) -> Scores:
        """A question about public scores, for exact laws and repeated draws."""
        scores = self._question(scores, question)
        check_public_scores(scores)
        self._accept(scores)
        return scores

    @final
    def _accept(self, scores: Scores) -> None:
        """Refuse a question that does not fit, and negated scores where they mean nothing: from public facts alone."""
        if scores._negated and self.largest_only:
            raise bad_value(f"{self.name} is about the largest scores alone: leave $largest=False out")
        self._check(scores)

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
        **question: Unpack[QuestionOptions],
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
        scores = self._question(scores, question)
        source = check_source(rng)
        check_ledger(ledger)
        cost, unit = self._price(scores), f"{scores.unit} ({scores.neighbours})"
        note = ledger_note(source_of(scores), largest=not scores._negated, secure=source.secure)
        reservation = self._reserve(ledger, cost, purpose, unit, note)
        return self._sample_and_release(scores, source, reservation, cost)

    @final
    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[QuestionOptions]
    ) -> Any:
        """So many independent draws, for study and audit of public scores: nothing is booked.

        An array of positions, a row for each draw: best first, or sorted if the order is not released, and -1 where
        there are fewer. Of mechanisms that release more it is `Draws`, of a single winner or a rank one number each.
        """
        scores, source = self._validate_public(scores, question), check_source(rng)
        return self._draw_many(scores, check_whole("draws", draws, "draws=1000"), source)

    @final
    def _price(self, scores: Scores) -> tuple[Guarantee, Guarantee]:
        """Return (guarantee, charge) of a question, or refuse it: by public facts alone, so before rows are read."""
        if not (scores.numbered or self.is_permutation_invariant):
            raise ValueError(
                f"{self.name} asks its candidates one after another, in an order that must be public; candidates "
                "counted from a table have none. Choose a mechanism that treats them alike, as top_k does"
            )
        self._accept(scores)
        return self._privacy_cost(scores)

    @final
    def _sample_and_release(
        self, scores: Scores, source: Source, reservation: Reservation | None, cost: tuple[Guarantee, Guarantee]
    ) -> Release:
        """One exact draw from a question that was accepted at this cost, and paid for where there is a ledger."""
        with np.errstate(all="ignore"):  # whatever a caller makes of floats that run out would tell of the scores
            outcome = self._draw(scores, source)
        finer = reservation is not None and reservation.guarantee == cost[1]
        if reservation is not None and self.refundable and finer:  # what is kept is told of the finer statement alone
            refund(reservation, self._final_charge(outcome))
        items = None
        if outcome.indices is not None:
            items = scores._name([Pick(0, outcome.indices, outcome.by_weight)])[0]
        release = self._make_release(scores, outcome, items, cost, secure=source.secure)
        if reservation is None:
            return release
        return set_fields(release, charge=reservation.guarantee, receipt=reservation.receipt())

    @final
    def _make_release(
        self,
        scores: Scores,
        outcome: Outcome,
        items: list[Hashable] | None,
        cost: tuple[Guarantee, Guarantee],
        *,
        secure: bool,
    ) -> Release:
        """What was drawn, as a release, once the winners are named."""
        guarantee, charge = cost
        extras = undo_negation(outcome.extras) if scores._negated else outcome.extras
        if scores.public and scores._has_names:
            extras = replace_fields(extras, candidates=scores._size)
        release = Release(
            items=items,
            # places in a private list, or by rank, must not even break ties
            indices=outcome.indices if scores.numbered and scores.public else None,
            ordered=self.ordered,
            guarantee=guarantee,
            charge=charge,
            mechanism=f"{self.name}, on negated scores" if scores._negated else self.name,
            why="named by the caller",
            unit=scores.unit,
            neighbours=scores.neighbours,
            secure=secure,
            frame=scores.frame,
            notes=(*score_notes(scores, values=outcome.extras.values is not None), *outcome.notes),
            item_columns=scores.columns,
            extras=extras,
        )
        return release if release.ordered else release.as_set()


class Budgeted(Mechanism, Generic[Paid]):
    """A mechanism that is paid with one budget: its guarantee.

    `budget` is checked and kept when the mechanism is made, whichever way it was written: `epsilon=` and `delta=` are
    short forms of the constructor. `dataclasses.replace(mechanism, budget=...)` gives it another one. A dataclass
    made of a mechanism takes `budget=` and has no short forms.
    """

    __slots__ = ()

    budget: Guarantee

    later: ClassVar[tuple[tuple[str, ...], ...]] = ()
    """Parameters that came later: `repr` shows them where one of a group was given, so that older records stay true."""

    def __repr__(self) -> str:
        words = {one.name: getattr(self, one.name) for one in fields(self)}  # type: ignore[arg-type]
        defaults = {one.name: one.default for one in fields(self)}  # type: ignore[arg-type]
        hidden = {name for group in self.later if all(words[n] == defaults[n] for n in group) for name in group}
        shown = (f"{name}={value!r}" for name, value in words.items() if name not in hidden)
        return f"{type(self).__qualname__}({', '.join(shown)})"

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
        return getattr(self.budget, name)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def mechanism_class(cls: Described) -> Described:
    """A frozen description: a dataclass whose `InitVar` fields are short forms that its constructor alone knows.

    What was written in short is not kept, so equality, repr, pickles and `dataclasses.replace` see what was meant, and
    `epsilon` is that of the budget.
    """
    record: Any = dataclass(frozen=True, slots=True, kw_only=True, repr=False)(cls)
    short = SHORT_FORMS & record.__dataclass_fields__.keys() - {one.name for one in fields(record)}
    for name in short:
        del record.__dataclass_fields__[name]  # or replace() would read it and write it beside the budget
        delattr(record, name)  # its default None, or it would hide that of the budget
    record.__post_init__.__defaults__ = (None,) * len(short)  # a dataclass made of this one has none to pass on
    refuse_changes(record, "a mechanism cannot be changed, nor its {}: dataclasses.replace makes another one")
    record.__init__ = kind_of_words(cls.__name__)(record.__init__)
    return cast(Described, record)
