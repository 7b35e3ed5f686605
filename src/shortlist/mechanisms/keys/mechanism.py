"""A key set: every name that enough people hold, from counts to which each person brings a capped part (Theorem 199).

The bar does not grow with how many names come back, and does not depend on the data. Labels whose noisy sum reaches it
are named; all others are as if they were not there.
"""

from __future__ import annotations

import math
from dataclasses import InitVar, replace
from fractions import Fraction
from typing import ClassVar, Unpack

import numpy as np

from shortlist._arrays import Floats, Indices, Values, checked_flag, sorted_rows
from shortlist._text import about
from shortlist.accounting.checks import count
from shortlist.exact.key_bars import HIGHEST_BAR, LARGEST_MOST, MOST, Cap, KeyBar, pair_bar, thinned_bar
from shortlist.exact.key_ranking import Ranked, ranked_keys
from shortlist.exact.margins import Margin, gaussian_margin, geometric_margin
from shortlist.exact.noise_distributions import GAUSSIAN
from shortlist.exact.truncated_geometric import PublicCoin, public_coin
from shortlist.extras import Extras
from shortlist.mechanisms.checks import checked_draws, checked_k, checked_source
from shortlist.mechanisms.contract import UNSAID, Budgeted, Draws, Outcome, described
from shortlist.mechanisms.keys.column import Column, by_score, people_of, sums_and_right, sums_of
from shortlist.mechanisms.keys.sampler import GaussianKeys, GeometricKeys, KeyNoise, NamedKeys, named_keys
from shortlist.mechanisms.unknown_domain import DeltaBudget, check_column, checked_small_delta
from shortlist.privacy import ZCDP, Guarantee
from shortlist.sampling.additive import add_whole_noise
from shortlist.sampling.entropy import Source
from shortlist.sampling.uniforms import WordStream, shuffled
from shortlist.scores import Scores, ScoreWords

FEW = 2
"""Up to so many labels a person, geometric noise has the lower bar."""


@described
class KeySet(Budgeted[DeltaBudget]):
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
    budget: Guarantee = UNSAID
    weighted: bool | None = None
    values: bool = True
    k: int | None = None
    in_order: bool = False

    proof: ClassVar[str] = "docs/mechanisms/keys.md#proof"
    largest_only: ClassVar[bool] = True
    exchangeable: ClassVar[bool] = True

    def __post_init__(self, epsilon: float | None, delta: float | None) -> None:
        self._pay(checked_small_delta(epsilon, delta, self.budget))
        weighted = self.most is None if self.weighted is None else checked_flag("weighted", self.weighted)
        object.__setattr__(self, "weighted", weighted)
        object.__setattr__(self, "most", count("most", MOST if self.most is None else self.most, LARGEST_MOST))
        object.__setattr__(self, "values", checked_flag("values", self.values))
        object.__setattr__(self, "in_order", checked_flag("in_order", self.in_order))
        if self.k is not None:
            object.__setattr__(self, "k", checked_k(self.k))

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
        return geometric_margin(self._coin.noises()[0]).error

    @property
    def _cap(self) -> Cap:
        assert self.most is not None
        return Cap(self.most, bool(self.weighted))

    @property
    def _measures(self) -> bool:
        """Whether the counts of what was named are measured with a part of the budget."""
        return self.values and bool(self.weighted)

    @property
    def _bar(self) -> KeyBar:
        """The Gaussian noise and its bar."""
        budget = self.guarantee
        if isinstance(budget, ZCDP):
            return thinned_bar(budget.rho, budget.delta, self._cap, self._measures)
        return pair_bar(budget.epsilon, budget.delta, self._cap, self._measures)

    @property
    def _coin(self) -> PublicCoin | None:
        """The coin that decides where truncated geometric noise ends; None for Gaussian noise.

        Every label of a person gets its share of epsilon and of delta.
        """
        budget = self.guarantee
        if self.weighted or self._cap.most > FEW or isinstance(budget, ZCDP):
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
            raise ValueError(
                "the budget is too small for any table: write a larger epsilon (or rho), or a larger delta"
            )
        check_column(scores, self._cap.most, weighted=bool(self.weighted))
        if self._measures and scores.numbered:
            raise ValueError(
                "values=True measures how many people hold each name, which weighted sums do not tell: count a table, "
                "or write values=False"
            )

    def _draw(self, scores: Scores, source: Source) -> Outcome:
        by_weight = bool(self.weighted) and scores._capped is not None
        return replace(self._outcome(scores, source), by_weight=by_weight)

    def _outcome(self, scores: Scores, source: Source) -> Outcome:
        column = Column.of(scores, self._cap)
        noises, coin = self._noises(), self._coin
        noise = noises[0 if coin is None else int(coin.tosses(1, source)[0])]
        names = named_keys(column.scores, column.sizes, noise, source)
        order = self._ranking(names, source)
        places = column.places(names.position[order])
        if self._measures:
            return self._measured(scores, places, source)
        words = self._words(float(noise.step * self._cap.grid))
        if not self.values:
            return Outcome(places, notes=(words,))
        people = [float(step) for step in names.sums[order].tolist()]
        margin = self._margin(noise)
        near = float(noise.step) + 2 * margin.error
        notes = (words, *([near_the_bar(near)] if min(people, default=near) < near else []))
        return Outcome(places, Extras(values=people, margins=[margin] * len(people)), notes)

    def _ranking(self, names: NamedKeys, source: Source) -> list[int]:
        """The largest sums first, equal ones in an order that was drawn: theirs would tell what they are made of."""
        drawn = shuffled(len(names.sums), WordStream(source))
        ranked = sorted(drawn, key=lambda i: -int(names.sums[i]))
        return ranked if self.k is None else ranked[: self.k]

    def _margin(self, noise: KeyNoise) -> Margin:
        if isinstance(noise, GeometricKeys):
            return geometric_margin(noise.noise)
        return gaussian_margin(self._bar.sigma, self._cap.grid)

    def _measured(self, scores: Scores, places: list[int], source: Source) -> Outcome:
        """How many people hold each name, with fresh noise for as many of the names as one person may count for."""
        people, cap = people_of(scores, places)
        deviation = self._measured_deviation(cap)
        counts = add_whole_noise(np.array(people, np.int64), scale=deviation, noise=GAUSSIAN, source=source).tolist()
        drawn = shuffled(len(places), WordStream(source))
        order = sorted(drawn, key=lambda i: -counts[i])
        margins = [gaussian_margin(deviation, Fraction(1))] * len(order)
        fewer = f"; whoever holds more than {cap} of these names counts for {cap} of them" * (cap < len(places))
        notes = (self._words(self.bar), f"values are people who hold the name, measured afresh{fewer}")
        values = [float(counts[i]) for i in order]
        return Outcome([places[i] for i in order], Extras(values=values, margins=margins), notes)

    def _measured_deviation(self, names: int) -> Fraction:
        """The deviation of the noise on counts that are measured, where one person may hold so many of the names."""
        measured = self._bar.measured
        assert measured is not None
        deviation = Fraction(math.sqrt(max(names, 1))) * measured
        while deviation**2 < names * measured**2:
            deviation = Fraction(math.nextafter(float(deviation), math.inf))
        return deviation

    def _words(self, bar: float) -> str:
        kind = "shared votes (1/sqrt(t) for each of a person's t names)" if self.weighted else "people"
        return f"a name needs about {about(bar)} {kind}, under noise of deviation {self.error:.3g}"

    def release_many(
        self, scores: object, *, draws: int, rng: Source | None = None, **question: Unpack[ScoreWords]
    ) -> Draws:
        """The names of independent draws, for study and audit of public sums: as wide as the widest, -1 beyond.

        In order of the noisy sums, which are the reals, where values are released; sorted otherwise.
        """
        scores, source, count = self._studied(scores, question), checked_source(rng), checked_draws(draws)
        column, noises, coin = Column.of(scores, self._cap), self._noises(), self._coin
        side = np.zeros(count, np.int64) if coin is None else coin.tosses(count, source).astype(np.int64)
        rows: list[tuple[Indices, Values, Indices]] = []
        for which, noise in enumerate(noises):
            ours = np.flatnonzero(side == which)
            if len(ours):
                names = named_keys(column.scores, column.sizes, noise, source, len(ours))
                rows.append((ours[names.draw], self._by_score(scores, column.places(names.position)), names.sums))
        return self._rows(count, *map(np.concatenate, zip(*rows, strict=True)), source=source)

    def _by_score(self, scores: Scores, places: list[int]) -> Indices:
        """Return positions among public scores, where what was drawn are places in the ranking by their weights."""
        ranks = np.array(places, np.int64)
        return by_score(scores)[ranks] if self.weighted and scores._capped is not None else ranks

    def _rows(self, count: int, draw: Indices, place: Indices, sums: Indices, *, source: Source) -> Draws:
        key = source.words(len(draw))
        ranked = self.ordered or self.k is not None
        order = np.lexsort((key, -sums, draw)) if ranked else np.lexsort((place, draw))
        draw, place, sums = draw[order], place[order], sums[order]
        column = np.arange(len(draw)) - np.searchsorted(draw, draw)
        few = column < (len(draw) if self.k is None else self.k)
        width = max(1, int(column[few].max(initial=0)) + 1)
        indices, reals = np.full((count, width), -1, np.int64), np.full((count, width), np.nan)
        indices[draw[few], column[few]] = place[few]
        reals[draw[few], column[few]] = sums[few] * float(self._cap.grid)
        if self.ordered:
            return Draws(indices, reals if self.values else None)
        return Draws(sorted_rows(indices))

    def inclusion_probabilities(self, scores: object, **question: Unpack[ScoreWords]) -> Floats:
        """P[named] of every label, without a limit k: exact, to 1e-12."""
        if self.k is not None:
            raise ValueError("exact chances are known without a limit: leave k= out, or draw with release_many")
        return self.chances(sums_of(self._studied(scores, question), self._cap))

    def chances(self, sums: Values) -> Floats:
        """P[a label with this sum is named], for `sums` in people (in units of 2^-20, if weighted); 0 at 0."""
        chances = sum(share * noise.chances(np.asarray(sums)) for share, noise in self._sides())
        return np.where(np.asarray(sums) > 0, chances, 0.0)

    def expected_names(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """How many labels are named, on average: exact, to 1e-9."""
        if self.k is not None:
            return self._ranked(scores, question).names
        return float(self.inclusion_probabilities(scores, **question).sum())

    def success_probability(self, scores: object, **question: Unpack[ScoreWords]) -> float:
        """P[the names are a true top k], ties counting as equal; by people, where weights came with counts: to 1e-9."""
        return self._ranked(scores, question).top

    def expected_recall(self, scores: object, *, top: int | None = None, **question: Unpack[ScoreWords]) -> float:
        """The expected share of a true top k; without a k, of the `top` largest sums, or of all labels: to 1e-9."""
        if self.k is not None and top in (None, self.k):
            return self._ranked(scores, question).right / self.k
        values = sums_of(self._studied(scores, question), self._cap)
        there = int(np.count_nonzero(values > 0))
        wanted = there if top is None else checked_k(top)
        if not wanted:
            return 0.0
        chances = np.sort(self.inclusion_probabilities(scores, **question))[::-1]  # they rise with the sums
        return float(chances[:wanted].sum()) / wanted

    def _sides(self) -> tuple[tuple[float, KeyNoise], ...]:
        """(how often, which noise): one, or the two sides of the coin."""
        noises, coin = self._noises(), self._coin
        less = 0.0 if coin is None else float(coin.chance().mid())
        return tuple(zip((1 - less, less), noises, strict=False))

    def _ranked(self, scores: object, question: ScoreWords) -> Ranked:
        """How many of the k largest are named, how many of these are right, and P[all are] (Theorem 220)."""
        if self.k is None:
            raise ValueError("a true top k needs a k: write k=10, for example")
        known = sums_and_right(self._studied(scores, question), self._cap, self.k)
        sides = [(share, ranked_keys(*known, self.k, noise)) for share, noise in self._sides() if share]
        names, right, top = (sum(share * getattr(one, what) for share, one in sides) for what in Ranked.__slots__)
        return Ranked(names, right, top)


def near_the_bar(below: float) -> str:
    """What is said where values may be too high, with a public number."""
    return (
        f"near the bar: a name whose value is below {below:.4g} is often seen only because its noise was high; such "
        "values are too high on average"
    )
