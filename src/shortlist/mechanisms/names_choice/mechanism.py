"""Names from the data, at most k: a noisy choice of the mechanism, then the one that was chosen (Theorem 210)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats, checked_flag, sorted_rows
from shortlist.accounting.checks import count
from shortlist.exact.key_bars import LARGEST_MOST
from shortlist.exact.quality import Quality
from shortlist.mechanisms.checks import checked_draws, checked_k, checked_source
from shortlist.mechanisms.contract import UNSAID, Budgeted, Draws, Outcome, described
from shortlist.mechanisms.entry import MANY_NAMES
from shortlist.mechanisms.names_choice.branches import Branch, Parts, branches, limits
from shortlist.mechanisms.names_choice.sampler import Choice
from shortlist.mechanisms.unknown_domain import (
    DeltaBudget,
    check_column,
    check_counts,
    checked_limit,
    checked_small_delta,
    sorted_counts,
)
from shortlist.privacy import Guarantee
from shortlist.sampling.entropy import Source
from shortlist.scores import Scores, ScoreWords

MANY_WORDS = (
    f"for more than {MANY_NAMES} names a key set has the lower bar, and it needs rows whose people are capped: "
    "sl.count the rows themselves, or ask sl.keys"
)
"""Of plain counts: public facts alone."""


@described
class NamesChoice(Budgeted[DeltaBudget]):
    """At most k names from the data, by whichever of several mechanisms a noisy choice takes.

    A tenth of epsilon (a hundredth of rho) pays for the choice: with probability in proportion to e^(-epsilon_0 b_c)
    between canonical sets at limits 2k, 8k, 32k .., a limited-domain list, and where capped weights came with the
    counts a key set. b_c is the bar of a set with 1/epsilon_0 added (no lower than where larger ranks drown it), of a
    list its bar (no lower than the k-th count, for few names a little below), and of a key set the k-th largest count.
    Then the chosen one runs with the rest of the budget. Which one it was is released.

    Promise: the choice is epsilon_0-bounded range, since one person moves all b_c by 0 to 1 in one direction; together
    it is (epsilon, delta)-DP, or delta-approximate rho-zCDP. delta is paid once, whichever way it goes. Nothing is
    ever given back.

    Parameters
    ----------
    k
        How many names at most.
    epsilon, delta, budget
        `epsilon=1.0, delta=1e-6` is short for `budget=ApproxDP(1.0, 1e-6)`; `ZCDP(rho, delta)` is taken too.
    limit
        How many rows may be looked at: then one limit of sets, and a list, are chosen from.
    most
        The cap of the weights that came with the counts, 64 if nobody asked for another; None: there are none, and no
        key set is chosen.
    in_order
        Whether the order is released: then a list or a key set is chosen.

    Raises
    ------
    ValueError, TypeError
        naming the argument; for scores that are not whole-number counts under add/remove, before they are looked at.

    Examples
    --------
    >>> mechanism = NamesChoice(k=2, epsilon=1.0, delta=1e-6)
    >>> mechanism.release({"ada": 900, "bob": 500, "cy": 20}, monotone=True).items
    ['ada', 'bob']
    """

    k: int
    epsilon: InitVar[float | None] = None
    delta: InitVar[float | None] = None
    budget: Guarantee = UNSAID
    limit: int | None = None
    most: int | None = None
    in_order: bool = False

    proof: ClassVar[str] = "docs/mechanisms/names-choice.md#proof"
    largest_only: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        self._pay(checked_small_delta(epsilon, delta, self.budget))
        if self.limit is not None:
            object.__setattr__(self, "limit", checked_limit(self.limit, self.k))
        if self.most is not None:
            object.__setattr__(self, "most", count("most", self.most, LARGEST_MOST))
        object.__setattr__(self, "in_order", checked_flag("in_order", self.in_order))
        Parts.of(self.guarantee)
        keys = self.most is not None and self.limit is None
        if not (keys or (limits(self.k, self.limit) and not self.in_order)):
            raise ValueError("there is nothing to choose from here but a list: LimitedDomainTopK makes it, for less")

    @property
    def name(self) -> str:
        return f"top-{self.k} of names from the data, by a noisy choice"

    @property
    def ordered(self) -> bool:
        return self.in_order

    @property
    def rate(self) -> float:
        """epsilon_0: the bounded range of the choice. Public."""
        return Parts.of(self.guarantee).choice

    @property
    def branches(self) -> tuple[Branch, ...]:
        """What is chosen from: public."""
        return _branches(self)

    def _check(self, scores: Scores) -> None:
        check_counts(scores)
        if self.most is not None and self.limit is None:
            check_column(scores, self.most, weighted=True)
        _branches(self)  # a budget that nothing fits is refused before it is booked

    def _choice(self, scores: Scores) -> Choice:
        """From the counts at the ranks that bars look at."""
        ways = self.branches
        counts = sorted_counts(scores._sequence, max(rank for one in ways for rank, _ in one.marks))
        return Choice([one.bar(counts) for one in ways], Fraction(self.rate))

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        chosen = self.branches[self._choice(scores).draw(source)]
        drawn = chosen.mechanism._draw(scores, source)
        assert drawn.indices is not None
        notes = tuple(self._notes(chosen, len(drawn.indices)))
        return replace(drawn, extras=replace(drawn.extras, used=chosen.used, stopped=None), notes=notes)

    def _notes(self, chosen: Branch, names: int) -> list[str]:
        """Which way it went, and why fewer came: from the outcome and public numbers. The bar itself is private."""
        how = "needs about" if chosen.kind == "keys" else "must stand about"
        notes = [f"a noisy choice took {chosen.used}: a name {how} {chosen.height}"]
        if names < self.k:
            same = "that bar is the same for every k" if chosen.kind == "keys" else "a smaller k lowers that bar"
            notes.append(f"fewer than {self.k} names reached the bar: {same}, a larger budget lowers it")
        if self.k > MANY_NAMES and self.most is None and self.limit is None:
            notes.append(MANY_WORDS)
        return notes

    def choice_probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[each of the branches is chosen], for public scores: exact, to 1e-12."""
        return self._choice(self._studied(scores, question)).chances()

    def success_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the names are a true top k], ties counting as equal: exact, to 1e-9.

        Where a key set may be chosen, of public scores with the weights that came with them: `count(..).as_public()`.
        """
        return self._mean(scores, question, lambda mechanism, data: mechanism.success_probability(data))

    def expected_recall(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """The expected share of a true top k: exact, to 1e-9, for the same scores."""
        return self._mean(scores, question, lambda mechanism, data: mechanism.expected_recall(data))

    def quality(self, scores: object, **question: Unpack[ScoreWords]) -> Quality:
        """P[top], P[great], P[good] and the expected recall (Definition 118), without key sets: exact, to 1e-9."""
        if any(one.kind == "keys" for one in self.branches):
            raise ValueError("the quality of key sets is not known in closed form: ask for expected_recall, or draw")
        scores = self._studied(scores, question)
        chances = self._choice(scores).chances()
        ways: list[Any] = [one.mechanism for one in self.branches]
        parts = [(p, one.quality(scores)) for p, one in zip(chances, ways, strict=True) if p]
        return Quality(*(float(sum(p * getattr(part, word) for p, part in parts)) for word in Quality.__slots__))

    def _mean(self, scores: object, question: ScoreWords, law: Callable[[Any, Scores], float]) -> float:
        """Over the branches, by their chances."""
        scores = self._studied(scores, question)
        chances = self._choice(scores).chances()
        return float(sum(p * law(one.mechanism, scores) for p, one in zip(chances, self.branches, strict=True) if p))

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """The positions of independent draws, for study and audit of public scores, and which branch was chosen.

        Best first, or sorted if the order is not released; -1 where there are fewer than k.
        """
        scores, source, count = self._studied(scores, question), checked_source(rng), checked_draws(draws)
        chosen = self._choice(scores).draw_many(source, count)
        rows = np.full((count, self.k), -1, np.int64)
        for n, branch in enumerate(self.branches):
            ours = np.flatnonzero(chosen == n)
            if len(ours):
                draw = branch.mechanism.release_many(scores, draws=len(ours), rng=source)
                places = draw.indices if isinstance(draw, Draws) else draw
                rows[ours, : places.shape[1]] = places
        return Draws(rows if self.in_order else sorted_rows(rows), chosen=chosen)


@lru_cache
def _branches(mechanism: NamesChoice) -> tuple[Branch, ...]:
    """What is chosen from; the same for the same public facts, so it is remembered."""
    return branches(
        mechanism.k,
        Parts.of(mechanism.guarantee),
        limit=mechanism.limit,
        most=mechanism.most,
        in_order=mechanism.in_order,
    )
