"""Private quantiles: one point of an ordered public grid for each q, by the exponential mechanism or permute-and-flip.

One quantile has one price (Theorem 244); several cost the levels of a recursion (Theorem 247).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import InitVar
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats
from shortlist._runtime import set_fields
from shortlist._text import about
from shortlist.accounting.guarantees import number
from shortlist.errors import bad_type, bad_value
from shortlist.mechanisms import base, utility
from shortlist.mechanisms.race import charge_of_rounds, epsilon_of_a_round
from shortlist.privacy import Guarantee
from shortlist.release import Extras
from shortlist.sampling.entropy import Source, WordStream
from shortlist.sampling.quantiles import Node, Recursion
from shortlist.scores import QuestionOptions, Scores, Votes, places_of

if TYPE_CHECKING:
    from shortlist.utility.stable import Run

__all__ = ["Quantile"]

MOST_Q = 1023
"""Quantiles of one release."""
FINEST = 10_000
"""The largest denominator of a q."""
NAMES = {"exponential": "permute-and-flip", "gumbel": "exponential mechanism"}


@base.mechanism_class
class Quantile(base.Budgeted[base.Budget]):
    """A point of the grid for each q, of a rank near q n: n people, each with one vote that may be shared among points.

    The score of a point is -max(below - q n, q n - at or below, 0), the distance of q n from the ranks it covers: 0
    exactly on the q-quantiles. Promise: the budget. One person moves two scores against each other by at most
    R = 2 max(q, 1 - q), or 1 for q = 0 and 1. Several q are released by a recursion of L = ceil(log2(m + 1)) levels,
    each with epsilon / L (or the largest e of which L rounds fit the budget): at the point that came out the votes are
    cut, those on it go half to each side, and the rest is asked on either side.

    Parameters
    ----------
    q
        From 0 to 1: one number, or several, increasing; at most four digits after the point, or fractions.
    epsilon, budget
        `epsilon=1.0` is short for `budget=PureDP(1.0)`; `ZCDP(rho)` and `ApproxDP(epsilon, delta)` are taken too.
    noise
        `"exponential"` is permute-and-flip, which has the smaller error and takes pure budgets; `"gumbel"` is the
        exponential mechanism; None takes the first where it can.
    votes_per_user
        How much one user adds to all counts together: 1 where each user counts at one point. `sensitivity` says how
        far one user moves any single count, so None takes that times the number of points. Votes that were counted
        from a table know it: leave it out.

    Raises
    ------
    ValueError, TypeError
        naming the argument; for scores that are no counts along a line, before they are looked at.

    Examples
    --------
    >>> ages = [0, 400, 900, 300, 2]  # people by decade: one vote each
    >>> Quantile(q=0.5, epsilon=1.0, votes_per_user=1).release(ages, monotone=True).item
    2
    """

    q: float | Fraction | tuple[float | Fraction, ...]
    epsilon: InitVar[float | None] = None
    budget: Guarantee = base.MISSING
    noise: str | None = None
    votes_per_user: int | float | None = None

    proof: ClassVar[str] = "docs/mechanisms/quantile.md#proof"
    largest_only: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None) -> None:
        set_fields(self, q=check_q(self.q), budget=base.check_budget(epsilon, self.budget))
        kind = base.noise_for(self.noise, self.guarantee)
        if kind.name not in NAMES:
            raise ValueError('noise must be "exponential" (permute-and-flip) or "gumbel" (the exponential mechanism)')
        base.check_noise_keeps(kind, self.guarantee)
        set_fields(self, noise=kind.name)
        if self.votes_per_user is not None:
            number("votes_per_user", self.votes_per_user, above=True)
            set_fields(self, votes_per_user=np.array(self.votes_per_user).item())
        if epsilon_of_a_round(self.levels, self.guarantee) == 0:
            raise ValueError("epsilon is too small to be shared by the levels; choose a larger epsilon")

    @property
    def name(self) -> str:
        many = f"quantile {float(self._q[0]):g}" if len(self._q) == 1 else f"{len(self._q)} quantiles"
        return f"{many} by {NAMES[str(self.noise)]}"

    @property
    def levels(self) -> int:
        """L: how often a vote is asked, in parts that add up to one vote each time."""
        return len(self._q).bit_length()

    @property
    def epsilon_of_a_level(self) -> float:
        """e: the epsilon of one of the L levels, rounded down."""
        return epsilon_of_a_round(self.levels, self.guarantee)

    @property
    def charge(self) -> Guarantee:
        """With Gumbel noise L rounds of bounded range, which says more than the budget; otherwise the budget."""
        return charge_of_rounds(self.levels, base.check_noise(str(self.noise)).bounded_range, self.guarantee)

    @property
    def _q(self) -> tuple[Fraction, ...]:
        return tuple(map(_exact, self.q if isinstance(self.q, tuple) else (self.q,)))

    def _check(self, scores: Scores) -> None:
        if scores.neighbours != "add-remove":
            raise ValueError('how many people there are is private here: write neighbours="add-remove"')
        if not scores.public:
            raise ValueError("the points of the grid must be public: give counts without labels or public")
        if not scores.monotone or isinstance(scores.sensitivity, tuple):
            raise bad_value("these must be counts to which one user only adds: write $monotone=True")
        if isinstance(scores._content, Votes):
            if self.votes_per_user is not None:
                raise ValueError("votes_per_user is known for votes that were counted from a table: leave it out")
        elif self.votes_per_user is not None and self.votes_per_user < scores.largest_sensitivity:
            raise ValueError("votes_per_user must not be below sensitivity, which is for one count alone")
        if not isinstance(scores._content, Votes) and scores._numbers.dtype.kind == "f":
            raise TypeError("quantiles are of whole counts: give how many people have each point, as integers")

    def _recursion(self, scores: Scores) -> tuple[Node, Recursion]:
        """(all votes, in units that can be halved once for each level but the last; how they are asked)."""
        shift = self.levels - 1
        places, weights = places_of(scores)
        if not scores.from_table:  # counts whose sums would not fit are cut at a public bound: nobody moves more
            weights = np.minimum(weights, 2**61 // max(scores._size, 1) >> shift)
        root = Node(0, scores._size - 1, places, weights << shift)
        whole = Fraction(self.epsilon_of_a_level) / (self._votes(scores) * 2**shift)
        return root, Recursion(self._q, lambda q: whole / spread(q), str(self.noise) == "exponential")

    def _votes(self, scores: Scores) -> Fraction:
        """How much one user adds to all counts together."""
        if isinstance(scores._content, Votes):
            return scores.largest_sensitivity
        if self.votes_per_user is None:
            return scores.largest_sensitivity * scores._size
        return Fraction(self.votes_per_user)

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        root, recursion = self._recursion(scores)
        points = recursion.draw(root, WordStream(source))
        return base.Outcome(points, Extras(q=[float(one) for one in self._q]), self._notes(scores))

    def _notes(self, scores: Scores) -> tuple[str, ...]:
        """From public facts alone: how far the rank may be off."""
        least = self.votes_per_user is None and not isinstance(scores._content, Votes) and scores._size > 1
        every = ("one user may count at every point; if each counts at one, votes_per_user=1 needs less noise",) * least
        if len(self._q) > 1:
            return every
        error = self.rank_error(scores._size, 0.05) * float(self._votes(scores) / scores.largest_sensitivity)
        people = f"{math.ceil(error):,}" if error < 1e15 else about(error)
        return (f"with a chance of 95% its rank is within {people} people of the rank asked for, or better", *every)

    def rank_error(self, points: int, beta: float) -> float:
        """(R / e) ln(points / beta): how far off, in people of one vote each, the rank of one quantile may be.

        Parameters
        ----------
        points
            How many the grid has.
        beta
            The chance, at most, that it is further off.
        """
        return float(spread(self._q[0])) / self.epsilon_of_a_level * math.log(points / beta)

    def runs(self, scores: object, **question: Unpack[QuestionOptions]) -> list[Run]:
        """The law of one quantile, by runs of places that share one score: exact, to 1e-12."""
        return utility.distribution(self, scores, question).runs()

    def probabilities(self, scores: object, **question: Unpack[QuestionOptions]) -> Floats:
        """P[place i is released] of one quantile, for every place of a small grid: exact, to 1e-12."""
        return utility.winner_probabilities(self, scores, **question)

    def sequence_probabilities(
        self, scores: object, **question: Unpack[QuestionOptions]
    ) -> dict[tuple[int, ...], float]:
        """{places: chance} of all that can come out, on a small grid: exact, to 1e-12."""
        return utility.probabilities(self, scores, **question)

    def expected_error(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """E[distance of q n from the ranks of the released place], in people, of one quantile: exact, to 1e-9."""
        return sum(run.chance * run.error for run in self.runs(scores, **question))

    def success_probability(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """P[the released place is a q-quantile], of one quantile: exact, to 1e-12."""
        return sum(run.chance for run in self.runs(scores, **question) if run.error == 0)


def spread(q: Fraction) -> Fraction:
    """R: the most by which one person moves two scores against each other."""
    return Fraction(1) if q in (0, 1) else 2 * max(q, 1 - q)


def check_q(q: object) -> float | Fraction | tuple[float | Fraction, ...]:
    """One q, or several that increase."""
    several = [q] if isinstance(q, str) or not isinstance(q, Iterable) else list(q)
    if not several:
        raise bad_value("$q must not be empty: write $q=0.5, or $q=[0.25, 0.5, 0.75]")
    if len(several) > MOST_Q:
        raise ValueError(f"q has more than {MOST_Q} numbers; ask for fewer")
    checked = [_check_one(one) for one in several]
    if any(_exact(one) >= _exact(two) for one, two in pairwise(checked)):
        raise bad_value("$q must increase: write $q=[0.25, 0.5, 0.75]")
    return tuple(checked) if len(checked) > 1 else checked[0]


def _check_one(q: object) -> float | Fraction:
    value = q.item() if isinstance(q, np.generic) else q
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise bad_type("$q must be a number from 0 to 1, or several, for example $q=0.5")
    if not 0 <= value <= 1:
        raise bad_value("$q must be from 0 to 1, for example $q=0.5")
    if _exact(value).denominator > FINEST:
        raise bad_value("$q must have at most four digits after the point, or be a fraction: write $q=0.3333")
    return value if isinstance(value, Fraction) else float(value)


def _exact(q: float | Fraction) -> Fraction:
    """As it is written: 0.1 is a tenth."""
    return q if isinstance(q, Fraction) else Fraction(repr(q))
