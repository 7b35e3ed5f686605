"""Partition selection, and the choice between it and top-k over an unknown domain."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import InitVar, dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices, Values, check_flag
from shortlist._runtime import lazy_import, present, set_fields
from shortlist._text import about
from shortlist.accounting.guarantees import count
from shortlist.errors import bad_value
from shortlist.exact.geometric import PublicCoin, public_coin
from shortlist.exact.noise import GAUSSIAN
from shortlist.exact.reals import floor_to_float, to_float
from shortlist.exact.subsets import log_choose
from shortlist.exact.thresholds import HIGHEST_BAR, LARGEST_MOST, MOST, Cap, KeyBar, pair_bar, zcdp_bar
from shortlist.mechanisms import base, unknown_domain, utility
from shortlist.mechanisms.race import epsilon_of_a_round
from shortlist.mechanisms.utility import estimates
from shortlist.privacy import ZCDP, ApproxDP, Guarantee
from shortlist.release import Extras
from shortlist.sampling.entropy import Source, WordStream, shuffle
from shortlist.sampling.thresholds import add_whole_noise
from shortlist.sampling.unknown_domain import Choice, GaussianKeys, GeometricKeys, KeyNoise, draw_keys
from shortlist.scores import QuestionOptions, Scores

__all__ = ["KeySet", "NamesChoice"]


class Recounted:
    """As the weights of a table, but for how many people hold what was named.

    Up to `most` names a person can hold all of them, and the counts of the table do. Beyond, `again` counts the rows
    once more: of each person at most `most` of these very names.
    """

    __slots__ = ("_again", "_weights")

    def __init__(self, weights: Any, again: Callable[[list[Hashable], int], list[int]]) -> None:
        self._weights = weights
        self._again = again

    def __getattr__(self, name: str) -> Any:
        return getattr(self._weights, name)

    def people(self, positions: Sequence[int]) -> tuple[list[int], int]:
        """(how many people hold each, of how many of them one person counts at most)."""
        if len(positions) <= self.most:
            return self.counts(positions), len(positions)
        return self._again(self.names(positions), self.most), self.most


def column_of(scores: Scores, cap: Cap) -> tuple[Values, Indices, Indices | None]:
    """Capped sums by their distinct numbers, decreasing; how many have each; where each label stands in the scores."""
    held = scores._weights if cap.weighted else scores._names
    if held is not None:
        return held.scores, held.sizes, None
    values = np.maximum(scores._numbers.astype(np.int64), 0)  # an absent label counts 0, or below
    distinct, sizes = np.unique(values, return_counts=True)
    return distinct[::-1], sizes[::-1], np.argsort(-values, kind="stable")


def people_of(scores: Scores, places: list[int]) -> tuple[list[int], int]:
    """(how many people hold each of these, of how many of them one person counts at most)."""
    held = present(scores._weights)
    if isinstance(held, Recounted):
        return held.people(places)
    return held.counts(places), len(places) if scores.most is None else min(len(places), scores.most)


NEAR_THE_BAR = (
    "near the bar: a name whose value is below {:.4g} is often seen only because its noise was high; such values are "
    "too high on average"
)
SHARED_VOTES = "shared votes (1/sqrt(t) for each of a person's t names)"


@base.mechanism_class
class KeySet(base.Budgeted[base.DeltaBudget]):
    """Every label whose noisy sum reaches a public bar, from sums to which a person brings at most `most` labels.

    Sums are counts of the people who keep the label, or weighted ones: a person who keeps t labels adds 1/sqrt(t) to
    each, in whole units of 2^-20. Noise is Gaussian, and rounded to whole people (weighted sums to 1/16); under
    (epsilon, delta) and up to two labels a person it is truncated geometric, whose end a public coin decides.

    Promise: (epsilon, delta)-DP, all of delta in the noise and in the bar, or delta-approximate rho-zCDP with
    rho = 1/(2 sigma^2) for sums of one person's length 1: whatever labels a person brings, new ones among them.

    Parameters
    ----------
    most
        How many labels of one person count, at most 4096; None is 64. Scores counted from a table must have been
        capped so; of plain counts you say by it that nobody was counted for more.
    epsilon, delta, budget
        `epsilon=1.0, delta=1e-6` is short for `budget=ApproxDP(1.0, 1e-6)`; `ZCDP(rho, delta)` is taken too.
    weighted
        Whether a person's labels share their weight; None: if no `most` was given.
    values
        Whether a noisy count comes with each name. Counts come free; where the sums are weighted, a quarter of the
        budget measures how many people hold what was named.
    k
        At most so many names, those with the largest noisy sums; None is all that reach the bar.
    in_order
        Whether names without values come in the order of their noisy sums: it costs nothing.

    Raises
    ------
    ValueError, TypeError
        naming the argument; for scores that are not capped whole-number counts, before they are looked at.

    Examples
    --------
    >>> mechanism = KeySet(most=1, epsilon=1.0, delta=1e-6)
    >>> mechanism.release({"ada": 900, "bob": 500, "cy": 2}, monotone=True).items
    ['ada', 'bob']
    """

    most: int | None = None
    epsilon: InitVar[float | None] = None
    delta: InitVar[float | None] = None
    budget: Guarantee = base.MISSING
    weighted: bool | None = None
    values: bool = True
    k: int | None = None
    in_order: bool = False

    proof: ClassVar[str] = "docs/mechanisms/keys.md#proof"
    largest_only: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        set_fields(
            self,
            budget=base.check_delta_budget(epsilon, delta, self.budget, below=0.5),
            weighted=self.most is None if self.weighted is None else check_flag("weighted", self.weighted),
            most=count("most", MOST if self.most is None else self.most, LARGEST_MOST),
            values=check_flag("values", self.values),
            in_order=check_flag("in_order", self.in_order),
            k=None if self.k is None else base.check_k(self.k),
        )

    @property
    def name(self) -> str:
        what = "weighted key set" if self.weighted else "key set"
        noise = "truncated geometric" if self._coin is not None else "Gaussian"
        limit = "" if self.k is None else f", the {self.k} largest,"
        return f"{what}{limit} of at most {self.most} labels a person, with {noise} noise"

    @property
    def ordered(self) -> bool:
        """With values the order is told by them; without values it is a set, unless an order was asked for."""
        return self.values or self.in_order

    @property
    def bar(self) -> float:
        """What a label's noisy sum must reach, in people (weighted ones, if they are). Public."""
        return float(self._bar.bar if self._coin is None else self._coin.reach + 1)

    @property
    def error(self) -> float:
        """The standard deviation of the noise on a sum, in people. Public."""
        if self._coin is None:
            return float(self._bar.sigma)
        return estimates.geometric_margin(self._coin.noises()[0]).error

    @property
    def _cap(self) -> Cap:
        return Cap(present(self.most), bool(self.weighted))

    @property
    def _measures(self) -> bool:
        """Whether the counts of what was named are measured with a part of the budget."""
        return self.values and bool(self.weighted)

    @property
    def _bar(self) -> KeyBar:
        """The Gaussian noise and its bar."""
        budget = self.guarantee
        if isinstance(budget, ZCDP):
            return zcdp_bar(budget.rho, budget.delta, self._cap, self._measures)
        return pair_bar(budget.epsilon, budget.delta, self._cap, self._measures)

    @property
    def _coin(self) -> PublicCoin | None:
        """The coin that decides where truncated geometric noise ends; None for Gaussian noise.

        Every label of a person gets its share of epsilon and of delta.
        """
        budget = self.guarantee
        if self.weighted or self._cap.most > base.FEW_NAMES or isinstance(budget, ZCDP):
            return None
        return public_coin(Fraction(budget.epsilon) / self._cap.most, Fraction(budget.delta) / self._cap.most)

    def _noises(self) -> tuple[KeyNoise, ...]:
        """One, or one for each side of the coin."""
        if self._coin is None:
            return (GaussianKeys(self._bar, self._cap.unit),)
        return tuple(map(GeometricKeys, self._coin.noises()))

    @property
    def fits_tables(self) -> bool:
        """Whether the bar is so low that some table could reach it: public."""
        try:
            return self.bar <= HIGHEST_BAR
        except ValueError:  # it was not even searched for
            return False

    def _check(self, scores: Scores) -> None:
        if not self.fits_tables:
            raise ValueError("the budget is too small for any table: write a larger epsilon (or rho), or delta")
        base.check_column(scores, self._cap.most, weighted=bool(self.weighted))
        if self._measures and scores.numbered:
            raise bad_value("$values=True needs a table, as weighted sums are no counts: or write $values=False")

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        by_weight = bool(self.weighted) and scores._weights is not None
        noise = self._noises()[bool(self._coin and self._coin.toss(source))]
        scored, sizes, where = column_of(scores, self._cap)
        positions, sums = draw_keys(scored, sizes, noise, source)
        order = self._rank(sums.tolist(), source)
        ranks = positions[order]
        places: list[int] = (ranks if where is None else where[ranks]).tolist()
        if self._measures:
            return self._measure(scores, places, source)
        words = self._words(float(noise.step * self._cap.grid))
        if not self.values:
            return base.Outcome(places, notes=(words,), by_weight=by_weight)
        people = [float(step) for step in sums[order].tolist()]
        margin = self._margin(noise)
        near = float(noise.step) + 2 * margin.error
        notes = (words, *([NEAR_THE_BAR.format(near)] if min(people, default=near) < near else []))
        return base.Outcome(places, Extras(values=people, margins=[margin] * len(people)), notes, by_weight)

    def _rank(self, sums: Sequence[float] | Indices, source: Source) -> list[int]:
        """The largest sums first, equal ones in an order that was drawn: theirs would tell what they are made of."""
        order = sorted(shuffle(len(sums), WordStream(source)), key=lambda i: -sums[i])
        return order if self.k is None else order[: self.k]

    def _margin(self, noise: KeyNoise) -> estimates.Margin:
        if isinstance(noise, GeometricKeys):
            return estimates.geometric_margin(noise.noise)
        return estimates.gaussian_margin(self._bar.sigma, self._cap.grid)

    def _measure(self, scores: Scores, places: list[int], source: Source) -> base.Outcome:
        """How many people hold each name, with fresh noise for as many of the names as one person may count for."""
        people, cap = people_of(scores, places)
        deviation = self._measuring_deviation(cap)
        counts = add_whole_noise(np.array(people, np.int64), scale=deviation, noise=GAUSSIAN, source=source).tolist()
        order = self._rank(counts, source)
        margins = [estimates.gaussian_margin(deviation, Fraction(1))] * len(order)
        fewer = f"; whoever holds more than {cap} of these names counts for {cap} of them" * (cap < len(places))
        notes = (self._words(self.bar), f"values are people who hold the name, measured afresh{fewer}")
        values = [float(counts[i]) for i in order]
        return base.Outcome([places[i] for i in order], Extras(values=values, margins=margins), notes, by_weight=True)

    def _measuring_deviation(self, names: int) -> Fraction:
        """The deviation of the noise on counts that are measured, where one person may hold so many of the names."""
        measured = present(self._bar.measured)
        deviation = Fraction(math.sqrt(max(names, 1))) * measured
        while deviation**2 < names * measured**2:
            deviation = Fraction(math.nextafter(float(deviation), math.inf))
        return deviation

    def _words(self, bar: float) -> str:
        kind = SHARED_VOTES if self.weighted else "people"
        return f"a name needs about {about(bar)} {kind}, under noise of deviation {self.error:.3g}"

    inclusion_probabilities = utility.inclusion_probabilities
    success_probability = utility.success_probability

    def chances(self, sums: Values) -> Floats:
        """P[a label with this sum is named], for `sums` in people (in units of 2^-20, if weighted); 0 at 0."""
        return lazy_import("shortlist.utility.key_ranking", "naming_chances")(self, sums)

    def expected_names(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """How many labels are named, on average: exact, to 1e-9."""
        return utility.distribution(self, scores, question).names()

    def expected_recall(self, scores: object, *, top: int | None = None, **question: Unpack[QuestionOptions]) -> float:
        """The expected share of a true top k; without a k, of the `top` largest sums, or of all labels: to 1e-9."""
        return utility.distribution(self, scores, question).recall(top)


SHARE = Fraction(1, 10)
"""Of epsilon, for the choice; of rho its square."""
WIDEST = 2600
"""Limits of sets go up to it, or to 10 k."""
SPREAD = tuple(map(Fraction, ("1/10", "1/4", "1/2", "1", "2", "3", *(str(2**n - 1) for n in range(3, 32)))))
"""At ranks k + k f, f one of these, a set is asked whether the sets of such ranks drown it."""
CROWD = 3
"""So many times what a crowd of sets weighs is held against them: where sets drown they do so all at once."""
SETS_AHEAD, LIST_AHEAD = 8, 5
"""Where all bars are cleared, sets and the list stand so many times 1/epsilon_0 before the key set."""
LONG = 24
"""Beyond so many names a list stands no longer before a key set: its noise grows with k, that of a key set does not."""
FEW_ROUNDS = 3
"""Up to so many names a list has exponential noise under (epsilon, delta): it has the lower bar."""
FAR = Fraction(1 << 2000)
"""For what is beyond all floats."""

Kind = Literal["sets", "list", "keys"]


@dataclass(frozen=True, slots=True)
class Branch:
    """A mechanism that may be chosen, and its bar: the largest of h_(rank) + number over its marks."""

    kind: Kind
    mechanism: base.Mechanism
    marks: tuple[tuple[int, Fraction], ...]
    """(rank, a public number)."""
    row: int
    """The rank above which a name must stand; 0 for a key set."""
    offset: float
    """By how many people, about; for a key set so many shared votes are needed."""

    @property
    def used(self) -> str:
        """Which way it went, as a release says."""
        return {"sets": f"a set of the first {self.row - 1:,}", "list": "a list", "keys": "a key set"}[self.kind]

    @property
    def height(self) -> str:
        """Where its bar stands, in words and public numbers."""
        if self.kind == "keys":
            return f"{about(self.offset)} {SHARED_VOTES}"
        return base.bar_in_words(self.offset, self.row)

    def bar(self, counts: Sequence[int]) -> Fraction:
        """By counts in decreasing order, with zeros beyond them. Private."""
        return max(counts[rank - 1] + number for rank, number in self.marks)


def share(budget: base.DeltaBudget) -> tuple[float, base.DeltaBudget]:
    """Return the bounded range of the choice, and what is left for the mechanism that is chosen.

    Each is rounded down, so that together they fit.
    """
    whole = Fraction(budget.rho if isinstance(budget, ZCDP) else budget.epsilon)
    first = floor_to_float((SHARE**2 if isinstance(budget, ZCDP) else SHARE) * whole)
    rest = floor_to_float(whole - Fraction(first))
    if not (first and rest):
        raise ValueError("the budget is too small to be shared by a choice and a release; choose a larger one")
    if isinstance(budget, ZCDP):
        return epsilon_of_a_round(1, ZCDP(first)), ZCDP(rest, budget.delta)
    return first, ApproxDP(rest, budget.delta)


def limits(k: int, limit: int | None) -> tuple[int, ...]:
    """The limits of sets: 2k, 8k, 32k .. up to 2600 or 10 k, or the one that was given; so that they can be weighed."""
    if limit is not None:
        wanted: Iterable[int] = (limit,)
    else:
        wanted = (2 * k * 4**n for n in range(16) if 2 * k * 4**n <= max(WIDEST, 10 * k))
    return tuple(rows for rows in wanted if k * rows <= unknown_domain.MOST_CLASSES)


def set_branch(k: int, rows: int, budget: base.DeltaBudget, slack: Fraction) -> Branch:
    """Its bar, and for larger ranks where the sets that reach so far would outweigh the top k: no lower than that."""
    mechanism = unknown_domain.CanonicalLimitedDomain(k=k, budget=budget, limit=rows)
    inner = unknown_domain.GAMMA * Fraction(mechanism._round)
    ranks = sorted({k + max(1, round(k * f)) for f in SPREAD if k + max(1, round(k * f)) <= rows})
    crowd = log_choose(np.full(len(ranks), k), np.array(ranks, np.int64) - k).tolist()
    heavy, ahead = CROWD / inner, SETS_AHEAD * slack
    drowned = ((rank, heavy * Fraction(more) - ahead) for rank, more in zip(ranks, crowd, strict=True))
    marks = ((rows + 1, slack + 1 + mechanism.offset), *drowned)
    return Branch("sets", mechanism, marks, rows + 1, 1 + to_float(mechanism.offset))


def list_branch(k: int, rows: int, budget: base.DeltaBudget, ahead: Fraction | int, in_order: bool) -> Branch:
    """For few names in order with exponential noise, whose bar is lower; of Gumbel noise the exact law is known.

    However far its bar is cleared, it stands no lower than `ahead` below the k-th count: sets may then be better.
    """
    if in_order and _few(k, budget):
        mechanism = unknown_domain.LimitedDomainTopK(k=k, budget=budget, limit=rows, noise="exponential")
        offset = mechanism._bar[0]
    else:
        mechanism = unknown_domain.quick_list(k, rows, budget)
        offset = Fraction(mechanism.offset) if math.isfinite(mechanism.offset) else FAR
    marks = ((rows + 1, 1 + offset), (k, Fraction(-ahead)))
    return Branch("list", mechanism, marks, rows + 1, 1 + to_float(offset))


def _keys(k: int, most: int, budget: base.DeltaBudget, in_order: bool) -> Branch:
    """Its bar is not compared: the k-th count is, which moves as all other bars do."""
    mechanism = KeySet(most=most, weighted=True, values=False, k=k, in_order=in_order, budget=budget)
    return Branch("keys", mechanism, ((k, Fraction(0)),), 0, mechanism.bar)


MANY_WORDS = (
    f"for more than {base.MANY_NAMES} names a key set has the lower bar, and it needs rows whose people are capped: "
    "sl.count the rows themselves, or ask sl.keys"
)
"""Of plain counts: public facts alone."""


@base.mechanism_class
class NamesChoice(base.Budgeted[base.DeltaBudget]):
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
    budget: Guarantee = base.MISSING
    limit: int | None = None
    most: int | None = None
    in_order: bool = False

    proof: ClassVar[str] = "docs/mechanisms/names-choice.md#proof"
    title: ClassVar[str] = "top-{0.k} of names from the data, by a noisy choice"
    largest_only: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        k = base.check_k(self.k)
        set_fields(
            self,
            k=k,
            budget=base.check_delta_budget(epsilon, delta, self.budget, below=0.5),
            limit=None if self.limit is None else base.check_limit(self.limit, k),
            most=None if self.most is None else count("most", self.most, LARGEST_MOST),
            in_order=check_flag("in_order", self.in_order),
        )
        share(self.guarantee)
        keys = self.most is not None and self.limit is None
        if not (keys or (limits(self.k, self.limit) and not self.in_order)):
            raise ValueError("there is nothing to choose from here but a list: LimitedDomainTopK makes it, for less")

    @property
    def ordered(self) -> bool:
        return self.in_order

    @property
    def rate(self) -> float:
        """epsilon_0: the bounded range of the choice. Public."""
        return share(self.guarantee)[0]

    @property
    @lru_cache  # noqa: B019 (of equal mechanisms they are the same, and to find them may take long)
    def branches(self) -> tuple[Branch, ...]:
        """What is chosen from: sets at several limits, not for an order; a list; a key set where there are weights."""
        k, limit, (rate, rest) = self.k, self.limit, share(self.guarantee)
        slack = 1 / Fraction(rate)
        sets = [] if self.in_order else [set_branch(k, rows, rest, slack) for rows in limits(k, limit)]
        keys = [] if self.most is None or limit is not None else [_keys(k, self.most, rest, self.in_order)]
        ahead = 0 if keys and k > LONG else LIST_AHEAD * slack
        rows = unknown_domain.default_limit(k) if limit is None else limit
        return (*sets, list_branch(k, rows, rest, ahead, self.in_order), *keys)

    def _check(self, scores: Scores) -> None:
        base.check_counts(scores)
        if self.most is not None and self.limit is None:
            base.check_column(scores, self.most, weighted=True)
        self.branches  # noqa: B018 (a budget that nothing fits is refused before it is booked)

    def _choice(self, scores: Scores) -> Choice:
        """From the counts at the ranks that bars look at."""
        ways = self.branches
        counts = base.sort_counts(scores._sequence, max(rank for one in ways for rank, _ in one.marks))
        return Choice([one.bar(counts) for one in ways], Fraction(self.rate))

    def _draw(self, scores: Scores, source: Source) -> base.Outcome:
        chosen = self.branches[self._choice(scores).draw(WordStream(source))]
        drawn = chosen.mechanism._draw(scores, source)
        notes = tuple(self._notes(chosen, len(present(drawn.indices))))
        return replace(drawn, extras=replace(drawn.extras, used=chosen.used, stopped=None), notes=notes)

    def _notes(self, chosen: Branch, names: int) -> list[str]:
        """Which way it went, and why fewer came: from the outcome and public numbers. The bar itself is private."""
        how = "needs about" if chosen.kind == "keys" else "must stand about"
        notes = [f"a noisy choice took {chosen.used}: a name {how} {chosen.height}"]
        if names < self.k:
            same = "that bar is the same for every k" if chosen.kind == "keys" else "a smaller k lowers that bar"
            notes.append(f"fewer than {self.k} names reached the bar: {same}, a larger budget lowers it")
        if self.k > base.MANY_NAMES and self.most is None and self.limit is None:
            notes.append(MANY_WORDS)
        return notes

    def _way(self, outcome: base.Outcome) -> list[int]:
        """Which branch was chosen."""
        return [[one.used for one in self.branches].index(outcome.extras.used or "")]

    def choice_probabilities(self, scores: object, **question: Unpack[QuestionOptions]) -> Floats:
        """P[each of the branches is chosen], for public scores: exact, to 1e-12."""
        return self._choice(self._validate_public(scores, question)).chances()

    def success_probability(self, scores: object, **question: Unpack[QuestionOptions]) -> float:
        """P[the names are a true top k], ties counting as equal: exact, to 1e-9.

        Where a key set may be chosen, of public scores with the weights that came with them: `count(..).as_public()`.
        """
        return utility.success_probability(self, scores, **question)

    expected_recall = utility.expected_recall
    quality = utility.quality


def list_of(request: base.Request) -> unknown_domain.LimitedDomainTopK:
    """The list that this request may get.

    Exponential noise has the lower bar up to k = 3, where the rounds are added up as pure epsilons.
    """
    noise = "exponential" if _few(request.size, request.budget) else "gumbel"
    return unknown_domain.LimitedDomainTopK(k=request.size, budget=request.budget, limit=request.limit, noise=noise)


def keys_of(request: base.Request) -> KeySet:
    """The key set that this request may get: of what each person kept, or of the weights that came with the counts."""
    if request.most is None and not request.weighed:
        raise bad_value('$method="keys" needs a cap on what one person brings: count a table, or count with $most=3')
    plain = request.most is not None and (request.most <= base.FEW_NAMES or not request.weighed)
    return KeySet(
        most=request.most,
        weighted=not plain,
        values=request.values,
        k=request.k,
        in_order=request.ordered,
        budget=request.budget,
    )


def choice_of(request: base.Request) -> NamesChoice:
    """The noisy choice that this request may get."""
    most = (MOST if request.most is None else request.most) if request.weighed else None
    return NamesChoice(k=request.size, budget=request.budget, limit=request.limit, most=most, in_order=request.ordered)


def offers_choice(request: base.Request) -> bool:
    """Whether a noisy choice for names from the data has several ways to choose from: from two names on."""
    if request.k in (None, 1) or not isinstance(request.budget, base.DeltaBudget) or request.budget.delta >= 0.5:
        return False
    key_set = request.weighed and request.limit is None
    return key_set or (not request.ordered and bool(limits(request.size, request.limit)))


def _few(k: int, budget: Guarantee) -> bool:
    """Whether a list has exponential noise."""
    return k <= FEW_ROUNDS and isinstance(budget, ApproxDP)
